/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Verifiable patterns: what `bench --verify` writes, and how it reports a mismatch. */
#include "load_verify.h"
#include "wire.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define GENERATION_SHIFT 48 /* offsets have fewer bits */

/* A bijection (the finalizer of splitmix64): the word can be mapped back to its input. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t unmix(uint64_t x)
{
	x = (x ^ x >> 31 ^ x >> 62) * 0x319642b2d24d8ec3u;
	x = (x ^ x >> 27 ^ x >> 54) * 0x96de1b173f119089u;
	return x ^ x >> 30 ^ x >> 60;
}

static uint64_t word(const struct verify *verify, uint64_t off, uint16_t generation)
{
	return mix(verify->seed ^ ((uint64_t)generation << GENERATION_SHIFT) ^ off);
}

int load_verify_init(struct verify *verify, uint64_t seed, uint64_t offset, uint64_t blocks,
	uint32_t bs, struct diag *diag)
{
	size_t len;
	void *p = MAP_FAILED;

	*verify = (struct verify){ .seed = seed, .offset = offset, .blocks = blocks, .bs = bs };
	if (!__builtin_mul_overflow(blocks, sizeof(*verify->generation), &len))
		p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return diag_set(diag, DIAG_NO_MEMORY, ENOMEM,
			"--verify: no memory to track %" PRIu64 " blocks", blocks);
	verify->generation = p;
	return 0;
}

void load_verify_fini(struct verify *verify)
{
	if (verify->generation)
		munmap(verify->generation, verify->blocks * sizeof(*verify->generation));
	verify->generation = NULL;
}

struct verify load_verify_part(const struct verify *whole, uint64_t first, uint64_t blocks)
{
	struct verify part = *whole;

	part.offset += first * part.bs;
	part.blocks = blocks;
	part.generation += first;
	return part;
}

uint16_t load_verify_next(const struct verify *verify, uint64_t block)
{
	uint16_t next = (uint16_t)(verify->generation[block] + 1);

	return next ? next : 1;
}

void load_verify_fill(const struct verify *verify, uint64_t block, uint16_t generation, uint8_t *p)
{
	uint64_t off = verify->offset + block * verify->bs;

	for (uint32_t i = 0; i < verify->bs; i += 8) {
		le64 w = put_le64(word(verify, off + i, generation));
		memcpy(p + i, &w, sizeof(w));
	}
}

static uint32_t first_wrong(const struct verify *verify, uint64_t block, const uint8_t *p)
{
	uint64_t off = verify->offset + block * verify->bs;

	for (uint32_t i = 0; i < verify->bs; i += 8) {
		uint64_t should = word(verify, off + i, verify->generation[block]);
		le64 is;

		memcpy(&is, p + i, sizeof(is));
		if (get_le64(is) != should)
			return i + (uint32_t)__builtin_ctzll(get_le64(is) ^ should) / 8;
	}
	return verify->bs;
}

bool load_verify_same(const struct verify *verify, uint64_t block, const uint8_t *p)
{
	return first_wrong(verify, block, p) == verify->bs;
}

/* What a word is made of but for its offset: the seed and the generation. */
static uint64_t origin(uint64_t off, const uint8_t *p)
{
	le64 w;

	memcpy(&w, p, sizeof(w));
	return unmix(get_le64(w)) ^ off;
}

/* By another seed, every word of a block that was written here has the same origin. */
static bool is_of_another_run(uint64_t off, const uint8_t *p)
{
	return origin(off, p) == origin(off + 8, p + 8);
}

static void what_instead(const struct verify *verify, uint64_t block, uint64_t at, uint64_t is,
	const uint8_t *p, char text[120])
{
	uint64_t made_of = unmix(is) ^ verify->seed,
		 off = made_of & ((1ull << GENERATION_SHIFT) - 1);
	uint16_t generation = (uint16_t)(made_of >> GENERATION_SHIFT);
	uint64_t end = verify->offset + verify->blocks * verify->bs;

	if (!is)
		snprintf(text, 120, "zeroes");
	else if (off == at && generation && generation < verify->generation[block])
		snprintf(text, 120, "an older write to it, %u write%s ago",
			verify->generation[block] - generation,
			verify->generation[block] - generation == 1 ? "" : "s");
	else if (off % 8 == at % 8 && off >= verify->offset && off < end && generation)
		snprintf(text, 120, "data written to byte %" PRIu64, off);
	else if (is_of_another_run(verify->offset + block * verify->bs, p))
		snprintf(text, 120, "data that another run wrote there");
	else
		snprintf(text, 120, "data that %s didn't write",
			verify->from_state ? "the run of the state" : "this run");
}

uint64_t load_verify_explain(
	const struct verify *verify, uint64_t block, const uint8_t *p, struct diag *diag)
{
	uint32_t wrong = first_wrong(verify, block, p), start = wrong & ~7u;
	uint64_t off = verify->offset + block * verify->bs;
	char instead[120];
	le64 is;

	memcpy(&is, p + start, sizeof(is));
	what_instead(verify, block, off + start, get_le64(is), p, instead);
	diag_set(diag, DIAG_MISMATCH, EIO, "byte %" PRIu64 ": read back wrong data: %s",
		off + wrong, instead);
	return off + wrong;
}
