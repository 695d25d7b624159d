/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What each file of this room provides for the table in bdev.c. */
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
/* Attach the disks of a network URI and of its path= keys as one disk. Reads the keys path, loss
 * and timeout of the URI. */
struct paths_keys { /* of the paths of a disk; preset with the defaults */
	uint32_t loss_ms, quiesce_ms;
	unsigned others; /* path= keys */
};
int paths_keys(struct uri *, struct paths_keys *, struct diag *);
int paths_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);

/* bdev.c: whether to expect bdev_limits.exposed of it */
bool bdev_exposed(const struct uri *);

/* orphan.c: retry the ios that wait for an orphan. */
void lane_gate_fired(struct loop_timer *);
