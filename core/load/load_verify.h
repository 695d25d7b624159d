/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data that identifies where and when it was written: each 8 bytes are computed from a seed, their
 * offset and a generation. So zeroes, older data, and data of another place can be told apart. */
#pragma once
#include "load.h"

#define LOAD_VERIFY_BLOCKS (1ull << 32) /* most; each takes two bytes */

struct verify { /* state of a part of the disk */
	uint64_t seed, offset, blocks;
	uint32_t bs;
	uint64_t disk_size; /* of the disk in bytes, and its block size: for the file */
	uint32_t disk_block;
	uint16_t *generation; /* per block; 0 = unknown. Populated on write */
	bool from_state;      /* of another run, by load_state_read() */
};

int load_verify_init(struct verify *, uint64_t seed, uint64_t offset, uint64_t blocks, uint32_t bs,
	struct diag *);
void load_verify_fini(struct verify *);
/* Blocks of it, for one job. It must outlive them, and they need no fini. */
struct verify load_verify_part(const struct verify *, uint64_t first, uint64_t blocks);
/* p: bs bytes */
void load_verify_fill(const struct verify *, uint64_t block, uint16_t generation, uint8_t *p);
/* The generation of the next write. */
uint16_t load_verify_next(const struct verify *, uint64_t block);
bool load_verify_same(const struct verify *, uint64_t block, const uint8_t *p);
/* Report the first wrong byte of a block that was read, and where its data belongs. Returns its
 * offset on the disk. */
uint64_t load_verify_explain(
	const struct verify *, uint64_t block, const uint8_t *p, struct diag *);

/* Write it to a file. */
int load_state_write(const struct verify *, const char *path, struct diag *);
/* Read it, with blocks for load_verify_fini(); without only the header. DIAG_USAGE: not such a
 * file, or damaged. */
int load_state_read(struct verify *, bool blocks, const char *path, struct diag *);
