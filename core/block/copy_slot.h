/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by copy.c (order and end of a copy) and copy_slot.c (one range). */
#pragma once
#include "copy_feed.h"
#include "copy_hash.h"
#include "copy_map.h"
#include "copy_run.h"
#include "copy_save.h"
#include "min.h"

#define COPY_LANES 4 /* lanes to the source, whose queues or connections work in parallel */

struct copy;
struct slot {
	struct copy *copy;
	struct lane *lane; /* to the source */
	struct slot *next; /* next idle slot */
	struct io in,
		out; /* verify: both are reads; otherwise `in` reads, `out` writes or zeroes */
	bool in_busy, out_busy, cancelled; /* cancelled: `out` */
	/* other: the destination's data when verifying; part: the segment of buf being written */
	struct buf buf, other, part;
	uint64_t off, end; /* the rest of the slot's range */
	uint32_t len;      /* the current piece, at off */
	uint32_t put;      /* bytes of the piece written so far */
	bool zero;         /* the range is known to be zero and is not read */
	bool bad;          /* the piece could not be read */
	bool hash_only;    /* finished by an earlier run: read it for the hash only */
	bool hashing;      /* the piece is not hashed yet */
	bool ended;        /* all but hashing is done; then `status` is set */
	uint8_t status;
};

struct copy {
	struct loop *loop;
	const struct copy_options *opt;
	struct bdev *src, *dst;
	struct lane *in[COPY_LANES], *out;
	unsigned ins;
	struct pool *pool;
	uint8_t *lower;
	struct slot *slot, *idle;
	uint32_t depth, request, unit, busy;
	struct copy_map map;
	struct copy_saver saver; /* its thread runs only with a map */
	struct copy_feed feed;
	struct copy_hash hash;
	struct buf tail; /* the block of the destination in which the source ends */
	struct copy_progress *progress;
	uint64_t started, saved;
	uint64_t phase_at, phase_done; /* start time of the phase (copy or verify), and the bytes
					  done before */
	uint64_t differs;              /* lowest differing byte; UINT64_MAX: none */
	struct loop_timer tick;
	/* once rc is set: its time, time of the last completed request, `busy` at that time */
	uint64_t ending, answered;
	uint32_t pending;
	struct io flush;
	bool flushing, dirty, sparse, verify;
	int rc; /* once set, requests in flight complete and no new ones start */
	struct diag *diag;
	volatile int done;
};

/* copy.c */
void copy_go(struct copy *); /* start requests on idle slots, and detect the end */
void copy_stop_with(struct copy *, int rc);
void copy_io_failed(struct copy *, const struct bdev *, const struct io *, const char *what);
/* copy_slot.c */
/* Limit len to the end of a stream. False: the stream ended before off. */
bool copy_in_stream(struct copy *, uint64_t off, uint64_t *len);
void copy_looked_at(struct copy *, uint64_t off, uint64_t len, uint8_t status);
/* Assign the first part of the range to an idle slot. Return the end of that part. */
uint64_t copy_begin_range(struct copy *, uint64_t off, uint64_t len, bool zero, bool hash_only);
void copy_end_piece(struct slot *); /* the ended piece is hashed now */

static inline uint32_t copy_most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Return the longest IO_ZERO of whole units; 0: not supported by the destination. */
static inline uint32_t copy_zero_most(const struct copy *copy)
{
	return copy->dst->lim.max[IO_ZERO] / copy->unit * copy->unit;
}
