/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk that completes every request immediately (memory). serve() executes requests, a limited
 * number per loop iteration. */
#pragma once
#include "bdev.h"

struct instant {
	struct bdev bdev;
	struct loop_work announce;
	/* called from any thread; returns the status, and sets detail for MAP */
	int (*serve)(struct instant *, struct io *);
	void (*drop)(struct instant *); /* free the struct around it */
};

/* Start it, with serve, drop and bdev.lim set; BDEV_UP follows. */
void instant_start(struct instant *, const char *name, struct loop *);
/* Parse SIZE and block= of the URI, set lim, and call uri_done(). */
int instant_geometry(struct bdev_limits *, struct uri *, const struct bdev_env *, struct diag *);
