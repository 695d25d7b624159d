/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk that can answer every request where it stands (memory): the bdev, its lanes, and turns
 * shared fairly with the rest of the loop. What a request does is left to `serve`. */
#pragma once
#include "bdev.h"

struct instant {
	struct bdev bdev;
	struct loop_work announce;
	/* any thread; the status, and detail for MAP */
	int (*serve)(struct instant *, struct io *);
	void (*drop)(struct instant *); /* frees the owner's struct */
};

/* The owner has allocated the struct around it and set serve, drop and bdev.lim; UP follows. */
void instant_start(struct instant *, const char *name, struct loop *);
/* Asks the URI for SIZE and block=, and fills lim from them; ends with uri_done(). */
int instant_geometry(struct bdev_limits *, struct uri *, const struct bdev_env *, struct diag *);
