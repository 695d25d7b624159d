/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk that can answer every request immediately (memory): the bdev, its lanes, and a fair share
 * of the loop. `serve` executes the requests. */
#pragma once
#include "bdev.h"

struct instant {
	struct bdev bdev;
	struct loop_work announce;
	/* called from any thread; returns the status, and sets detail for MAP */
	int (*serve)(struct instant *, struct io *);
	void (*drop)(struct instant *); /* frees the owner's struct */
};

/* The owner has allocated the struct around it and set serve, drop and bdev.lim. UP follows. */
void instant_start(struct instant *, const char *name, struct loop *);
/* Parse SIZE and block= of the URI, set lim, and call uri_done(). */
int instant_geometry(struct bdev_limits *, struct uri *, const struct bdev_env *, struct diag *);
