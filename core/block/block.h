/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of this directory: their attach functions for the table in bdev.c, see
 * bdev_start(). */
#pragma once
#include "bdev.h"

int ram_attach(struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);
int null_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);
int file_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);
int input_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);
int output_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);
struct paths_keys { /* preset with the defaults */
	uint32_t loss_ms, quiesce_ms;
	uint8_t policy;     /* enum paths_policy */
	unsigned others;    /* number of path= keys */
	bool search;        /* paths=auto */
	unsigned preferred; /* 0: the URI's own address; else which path= key, from 1 on */
};
/* Parse the keys path, paths, policy, preferred, loss and quiesce of a network URI. */
int paths_keys(struct uri *, struct paths_keys *, struct diag *);
/* Attach the disks of a network URI and of its path= keys as one disk. */
int paths_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);

/* bdev.c: return whether bdev_limits.exposed, or bdev_ops.search, is to be expected */
bool bdev_exposed(const struct uri *);
bool bdev_lists_paths(const struct uri *);

/* orphan.c: retry the requests that wait for an orphan. */
void lane_gate_fired(struct loop_timer *);
