/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The hash of a running copy. Pieces are read in any order; each is hashed by a thread, in order,
 * while it is written. */
#pragma once
#include "copy_run.h"
#include "diag.h"
#include "io_threads.h"
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
	struct io_threads io_threads; /* a single thread: one job at a time */
	struct io_thread_job job;
	struct slot *slot; /* slot of the piece being hashed; NULL: none */
	uint64_t at;       /* offset up to which all is hashed */
	int err;           /* result of the thread */
};

int copy_hash_start(struct copy *, struct diag *);
/* Hash the piece of the slot, which is in its buffer or known to be zero, after all before it. Then
 * copy_end_piece() follows if the piece has ended. No-op unless the hash is on. */
void copy_hash_piece(struct slot *);
/* The copy has failed: retire the slots that only wait for their turn. */
void copy_hash_abandon(struct copy *);
/* Get the digest once everything is hashed. 0 or -errno. */
int copy_hash_finish(struct copy *, uint8_t digest[32]);
void copy_hash_stop(struct copy *); /* no job is running; allowed when not started */
