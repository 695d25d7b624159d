/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The hash of a copy while it runs. Pieces are read in any order; each is hashed on a thread, once
 * all before it are, while it is written. */
#pragma once
#include "copy.h"
#include "diag.h"
#include "hands.h"
#include <mbedtls/sha256.h>

struct copy;
struct slot;

struct copy_hash {
	enum copy_hash_kind kind; /* COPY_NO_HASH: off */
	mbedtls_sha256_context sha256;
	/* with COPY_BLKHASH: of the block that has `fill` bytes so far; of a block of zeroes */
	mbedtls_sha256_context block;
	uint32_t fill;
	uint8_t zero_block[32];
	struct hands hands; /* a single thread: one job at a time */
	struct hand_job job;
	struct slot *slot; /* whose piece the thread has; NULL = none */
	uint64_t at;       /* everything before it is hashed */
	int err;           /* of the thread */
};

int copy_hash_start(struct copy *, struct diag *);
/* The piece of the slot is in its buffer, or known to be zero: hash it when its turn comes. It ends
 * no earlier, see copy_end_piece(). Nothing happens unless the hash is on. */
void copy_hash_piece(struct slot *);
/* The copy has failed: retire the slots that only wait for their turn. */
void copy_hash_abandon(struct copy *);
/* Everything is hashed: the digest. 0 or -errno. */
int copy_hash_finish(struct copy *, uint8_t digest[32]);
void copy_hash_stop(struct copy *); /* no job is running; allowed when not started */
