/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A part of a disk, by the keys offset=, size= and part= of its URI. */
#pragma once
#include "bdev.h"

struct part_range {
	bool on;
	uint32_t number;       /* partition number; 0: none */
	uint64_t offset, size; /* within the partition or disk; size 0: up to its end */
};
/* Parse and consume the keys, before the scheme parses its own. */
int part_keys(struct uri *, struct part_range *, struct diag *);
/* Open a part of `whole`, which is UP; after success it owns `whole`. Runs the loop to read the
 * partition table. timeout_ms: limit of each read, 0: none. */
int part_open(struct bdev **, struct bdev *whole, const struct part_range *, uint32_t timeout_ms,
	struct diag *);
