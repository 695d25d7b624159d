/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The cursor of a copy. The source is queried for holes in windows; sources that don't support that
 * are copied whole. */
#include "copy_feed.h"
#include "min.h"

#define WINDOW (1u << 30) /* bytes per query: bounds the time of a slow answer */

static struct map_run *runs(struct copy_feed *feed)
{
	return (struct map_run *)(void *)feed->buf.p;
}

/* If the source fails to report holes, read it as if it had none. */
static void answered(struct io *io)
{
	struct copy_feed *feed = container_of(io, struct copy_feed, io);

	feed->map_pending = false;
	feed->run = 0;
	feed->runs = io->status ? 0 : io->detail;
	feed->run_at = io->off;
	if (!feed->runs)
		feed->lane = NULL;
	feed->map_done(feed);
}

void feed_init(struct copy_feed *feed, struct lane *lane, const struct copy_map *map, uint32_t unit,
	struct buf buf, void *lower, bool holes)
{
	feed->map = map;
	feed->unit = unit;
	feed->buf = buf;
	feed->io.lower = lower;
	feed->io.done = answered;
	feed->lane = holes && lane->bdev->lim.max[IO_MAP] ? lane : NULL;
}

void feed_rewind(struct copy_feed *feed, const char *letters)
{
	feed->letters = letters;
	feed->at = 0;
	feed->run = feed->runs = 0;
}

static void ask_holes(struct copy_feed *feed, uint64_t off)
{
	const struct bdev_limits *lim = &feed->lane->bdev->lim;
	uint64_t len = min_u64(min_u64(lim->max[IO_MAP], WINDOW), feed->map->size - off);

	feed->io.kind = IO_MAP;
	feed->io.flags = 0;
	feed->io.off = off;
	feed->io.len = len - len % lim->block;
	feed->io.buf = &feed->buf;
	feed->map_pending = true;
	bdev_submit(feed->lane, &feed->io);
}

/* Advance to the run that contains off; false if the answer does not reach it. */
static bool find_run(struct copy_feed *feed, uint64_t off)
{
	if (!feed->runs || off < feed->run_at)
		return false;
	while (feed->run < feed->runs && off - feed->run_at >= runs(feed)[feed->run].len)
		feed->run_at += runs(feed)[feed->run++].len;
	return feed->run < feed->runs;
}

enum feed feed_next(struct copy_feed *feed, uint64_t *off, uint64_t *len)
{
	const struct map_run *run;
	uint64_t rest;

	if (feed->map_pending)
		return FEED_WAIT;
	if (!copy_map_next(feed->map, feed->at, feed->letters, off, len))
		return FEED_END;
	if (!feed->lane)
		return FEED_DATA;
	if (!find_run(feed, *off)) {
		ask_holes(feed, *off);
		return FEED_WAIT;
	}
	run = &runs(feed)[feed->run];
	rest = feed->run_at + run->len - *off;
	if (run->flags & MAP_ZERO) {
		/* a partial unit of zeroes is copied together with the data next to it */
		uint64_t whole = *off + rest >= feed->map->size ? rest : rest - rest % feed->unit;

		if (whole) {
			*len = min_u64(*len, whole);
			return FEED_ZERO;
		}
	}
	rest += feed->unit - 1;
	*len = min_u64(*len, min_u64(rest - rest % feed->unit, feed->map->size - *off));
	return FEED_DATA;
}
