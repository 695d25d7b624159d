/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Orphans: commands that their client may have given up while the disk still has a request of them,
 * which it may execute at any time until it answers. Nothing of that client that overlaps may
 * overtake it, nor any change, or a client that reconnects and rewrites the range would later read
 * the old data. Other clients' reads go on. */
#include "block.h"
#include <errno.h>

#define RETRY_MS 5  /* the disk is late anyway: a wake-up across threads would not help */
#define RETRIES  64 /* per turn, to leave time for other events */

static bool overlaps(const struct io *io, uint64_t off, uint64_t len)
{
	return io->off < off + len && off < io->off + io->len;
}

/* older: than the orphan that io belongs to; true if io has none. What the disk has ends by itself,
 * whatever else waits. Otherwise older ones come first, so no two wait for each other. */
static bool must_wait(const struct io *io, const struct bdev_orphan *orphan, bool older)
{
	const struct bdev_orphan *own = io->own;
	bool same = !orphan->client || (own && own->client == orphan->client);
	bool alone = own && own->bdev && own->order == BDEV_ALONE;

	if (orphan->order == BDEV_ALONE)
		return (older || !alone) && overlaps(io, orphan->off, orphan->len);
	if (same && older && !alone && overlaps(io, orphan->off, orphan->len))
		return true;
	return (same || alone || orphan->order == BDEV_ALL || bdev_changes_blocks(io->kind)) &&
	       overlaps(io, orphan->at, orphan->at_len);
}

/* Set what the disk has of an orphan. */
static void set_request(struct bdev_orphan *orphan, const struct io *io)
{
	bool changes = io && !orphan->gated && bdev_changes_blocks(io->kind);

	orphan->at = changes ? io->off : 0;
	orphan->at_len = changes ? io->len : 0;
}

static bool must_be_gated(struct bdev *bdev, const struct io *io)
{
	struct bdev_orphan *own = io->own;
	bool begun, older, waits = false;

	pthread_mutex_lock(&bdev->orphan_lock);
	begun = own && own->bdev;
	older = !begun;
	for (const struct bdev_orphan *orphan = bdev->orphan; orphan && io->len && !waits;
		orphan = orphan->next) {
		if (orphan == own)
			older = true;
		else
			waits = must_wait(io, orphan, older);
	}
	if (own)
		own->gated = waits;
	if (begun)
		set_request(own, io);
	pthread_mutex_unlock(&bdev->orphan_lock);
	return waits;
}

bool bdev_gate(struct lane *lane, struct io *io)
{
	if (!must_be_gated(lane->bdev, io))
		return false;
	io->status = 0;
	io->next = NULL;
	*lane->gated_end = io;
	lane->gated_end = &io->next;
	if (!lane->gate.on)
		loop_timer_set(
			lane->loop, &lane->gate, loop_now(lane->loop) + RETRY_MS * 1000000ull);
	return true;
}

static struct io *gated_first(struct lane *lane)
{
	struct io *io = lane->gated;

	lane->gated = io->next;
	if (!lane->gated)
		lane->gated_end = &lane->gated;
	return io;
}

void lane_gate_fired(struct loop_timer *timer)
{
	struct lane *lane = container_of(timer, struct lane, gate);
	struct io **end = lane->gated_end;

	/* those that must wait again are appended after `end` */
	for (unsigned i = 0; i < RETRIES && lane->gated; i++) {
		bool last = end == &lane->gated->next;
		struct io *io = gated_first(lane);

		if (io->own)
			io->own->gated = false;
		if (io->status == -ECANCELED)
			io->done(io);
		else
			bdev_submit(lane, io);
		if (last)
			break;
	}
	if (lane->gated && !lane->gate.on)
		loop_timer_set(
			lane->loop, &lane->gate, loop_now(lane->loop) + RETRY_MS * 1000000ull);
}

bool bdev_cancel_gated(struct lane *lane, struct io *io)
{
	struct io *at = lane->gated;

	while (at && at != io)
		at = at->next;
	if (!at)
		return false;
	io->status = -ECANCELED;
	io->detail = 0;
	return true;
}

bool bdev_cancel(struct lane *lane, struct io *io)
{
	return bdev_cancel_gated(lane, io) || (lane->ops->cancel && lane->ops->cancel(lane, io));
}

static void put_on(struct bdev *bdev, struct bdev_orphan *orphan)
{
	orphan->next = bdev->orphan;
	bdev->orphan = orphan;
}

static void take_off(struct bdev *bdev, const struct bdev_orphan *orphan)
{
	struct bdev_orphan **at = &bdev->orphan;

	while (*at != orphan)
		at = &(*at)->next;
	*at = orphan->next;
}

/* One that is to be alone is behind all that have begun: they don't wait for each other. */
void bdev_orphan(struct bdev *bdev, struct bdev_orphan *orphan, enum bdev_order order,
	const struct io *io, uint64_t off, uint64_t len)
{
	pthread_mutex_lock(&bdev->orphan_lock);
	if (orphan->bdev && order == BDEV_ALONE && orphan->order != BDEV_ALONE) {
		take_off(bdev, orphan);
		put_on(bdev, orphan);
	}
	if (!orphan->bdev) {
		orphan->bdev = bdev;
		orphan->order = BDEV_CLIENT;
		put_on(bdev, orphan);
		__atomic_add_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	}
	if (orphan->order != BDEV_ALONE) {
		if (order > orphan->order)
			orphan->order = (uint8_t)order;
		orphan->off = off;
		orphan->len = len;
	}
	set_request(orphan, io);
	pthread_mutex_unlock(&bdev->orphan_lock);
}

void bdev_orphan_end(struct bdev_orphan *orphan)
{
	struct bdev *bdev = orphan->bdev;

	if (!bdev)
		return;
	pthread_mutex_lock(&bdev->orphan_lock);
	take_off(bdev, orphan);
	orphan->bdev = NULL;
	__atomic_sub_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bdev->orphan_lock);
}
