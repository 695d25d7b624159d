/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is to be looked at next: the map of what has been copied, cut by what the source says of its
 * holes. */
#pragma once
#include "bdev.h"
#include "copy_map.h"

enum feed { FEED_END, FEED_WAIT, FEED_DATA, FEED_ZERO };

struct copy_feed {
	const struct copy_map *map;
	const char *letters; /* extents to visit */
	uint64_t at;         /* everything before it was given out */
	uint32_t unit; /* ranges begin and end at multiples of it, or at the end of the source */
	struct lane *lane; /* of the source; NULL = holes are of no interest */
	struct io io;      /* IO_MAP in flight */
	struct buf buf;
	bool asking;
	uint64_t run_at; /* where run[run] begins */
	uint32_t run, runs;
	void (*asked)(struct copy_feed *); /* the answer to FEED_WAIT is there: ask again */
};

/* buf: where the source's answers are kept; lower: the source's, for one io. holes: the source
 * shall be asked for them. */
void feed_init(struct copy_feed *, struct lane *, const struct copy_map *, uint32_t unit,
	struct buf, void *lower, bool holes);
void feed_rewind(struct copy_feed *, const char *letters);
/* The next range, at most as long as what it is (data or zeroes) allows. Not taken until
 * feed_take(). */
enum feed feed_next(struct copy_feed *, uint64_t *off, uint64_t *len);
static inline void feed_take(struct copy_feed *feed, uint64_t end)
{
	feed->at = end;
}
