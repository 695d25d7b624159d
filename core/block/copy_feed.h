/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose the next range to copy: the ranges to do of the map, split at the holes that the source
 * reports. */
#pragma once
#include "bdev.h"
#include "copy_map.h"

enum feed { FEED_END, FEED_WAIT, FEED_DATA, FEED_ZERO };

struct copy_feed {
	const struct copy_map *map;
	const char *letters; /* extents to visit */
	uint64_t at;         /* everything before it was handed out */
	uint32_t unit; /* ranges begin and end at multiples of this, or at the end of the source */
	struct lane *lane; /* of the source; NULL: don't ask for holes */
	struct io io;      /* IO_MAP in flight */
	struct buf buf;
	bool map_pending;
	uint64_t run_at; /* where run[run] begins */
	uint32_t run, runs;
	/* the map has arrived after FEED_WAIT: call feed_next() again */
	void (*map_done)(struct copy_feed *);
};

/* buf: for the result of IO_MAP; lower: for its io.lower. holes: ask the source for them. */
void feed_init(struct copy_feed *, struct lane *, const struct copy_map *, uint32_t unit,
	struct buf, void *lower, bool holes);
void feed_rewind(struct copy_feed *, const char *letters);
/* Get the next range, limited to one kind (data or zeroes). It is consumed by feed_take(). */
enum feed feed_next(struct copy_feed *, uint64_t *off, uint64_t *len);
static inline void feed_take(struct copy_feed *feed, uint64_t end)
{
	feed->at = end;
}
