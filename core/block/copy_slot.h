/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Between copy.c (what is to be done, and whether it goes on) and copy_slot.c (how one range gets
 * across). */
#pragma once
#include "copy.h"
#include "copy_feed.h"
#include "copy_map.h"
#include "copy_save.h"

#define COPY_LANES 4 /* to the source: its queues, or connections, serve side by side */

struct copy;
struct slot {
	struct copy *copy;
	struct lane *lane; /* to the source */
	struct slot *next; /* of the idle */
	struct io in, out; /* verify: reads of both; otherwise read, then write or zero */
	bool in_busy, out_busy;
	/* other: the destination's bytes, for verify; part: the piece of buf being written */
	struct buf buf, other, part;
	uint64_t off, end; /* what is left of the slot's range */
	uint32_t len;      /* the piece in work, at off */
	uint32_t put;      /* bytes of the piece that are written */
	bool zero;         /* the range is known to be zero: nothing is read */
	bool bad;          /* the piece could not be read */
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
	struct copy_saver saver; /* without a map there is no crew in it */
	struct copy_feed feed;
	struct buf tail; /* the destination's block that the source ends in */
	struct copy_progress *progress;
	uint64_t started, saved;
	uint64_t phase_at, phase_done; /* copying, or verifying: since when, after how many bytes */
	uint64_t differs;              /* lowest differing byte, UINT64_MAX = none */
	struct loop_timer tick;
	struct io flush;
	bool flushing, dirty, sparse, verify;
	int rc; /* once set, what is in flight ends and nothing new begins */
	struct diag *diag;
	volatile int over;
};

/* copy.c */
void copy_go(struct copy *); /* keeps the slots busy, and sees when nothing is left to do */
void copy_stop_with(struct copy *, int rc);
void copy_io_failed(struct copy *, const struct bdev *, const struct io *, const char *what);
/* copy_slot.c */
/* False where a stream has ended before off; otherwise cuts len at its end. */
bool copy_in_stream(struct copy *, uint64_t off, uint64_t *len);
void copy_looked_at(struct copy *, uint64_t off, uint64_t len, uint8_t status);
/* Hands the range to an idle slot; gives where it ends, as it may be too long for one. */
uint64_t copy_begin_range(struct copy *, uint64_t off, uint64_t len, bool zero);

static inline uint64_t copy_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint32_t copy_most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The longest IO_ZERO that keeps to whole units; 0 = the destination knows no such request. */
static inline uint32_t copy_zero_most(const struct copy *copy)
{
	return copy->dst->lim.max[IO_ZERO] / copy->unit * copy->unit;
}
