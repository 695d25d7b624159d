/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rows of bdev.c's table: what each file of this room gives to it. */
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
/* Over the bdevs of one network URI and its path= keys. Asks the URI for path, loss and timeout. */
int paths_attach(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);

/* bdev.c: whether bdev_limits.exposed is to be expected of it */
bool bdev_exposed(const struct uri *);

/* orphan.c: tries the ios that wait for an orphan again. */
void lane_gate_fired(struct loop_timer *);
