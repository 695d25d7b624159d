/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A part of a disk, as the keys offset=, size= and part= of its URI say. */
#pragma once
#include "bdev.h"

struct part_want {
	bool on;
	uint32_t number;       /* of a partition; 0: none */
	uint64_t offset, size; /* within it, or the disk; size 0: up to the end */
};
/* Marks the keys as used, before the scheme asks for its own. */
int part_keys(struct uri *, struct part_want *, struct diag *);
/* A disk that is this part of `whole`, which is UP, and which it owns after success. Runs the loop
 * to read the partition table. timeout_ms: of each read, 0 = none. */
int part_open(struct bdev **, struct bdev *whole, const struct part_want *, uint32_t timeout_ms,
	struct diag *);
