/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data that says where and when it was written: each 8 bytes are made of a seed, their offset and a
 * generation, so that what is read can be told from zeroes, from older data, and from data of
 * another place. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdint.h>

struct verify { /* of one job's part of the disk */
	uint64_t seed, offset, blocks;
	uint32_t bs;
	uint16_t *generation; /* per block; 0 = not known. Populated as it is written */
};

int load_verify_init(struct verify *, uint64_t seed, uint64_t offset, uint64_t blocks, uint32_t bs,
	struct diag *);
void load_verify_fini(struct verify *);
/* bs bytes */
void load_verify_fill(const struct verify *, uint64_t block, uint16_t generation, uint8_t *p);
/* The generation that follows. */
uint16_t load_verify_next(const struct verify *, uint64_t block);
bool load_verify_same(const struct verify *, uint64_t block, const uint8_t *p);
/* Names the first wrong byte of what was read, and what it is instead. Gives its offset on the
 * disk. */
uint64_t load_verify_explain(
	const struct verify *, uint64_t block, const uint8_t *p, struct diag *);
