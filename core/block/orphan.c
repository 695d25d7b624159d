/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Orphans: commands whose submitter has left while the disk still holds them. The disk may execute
 * such a write at any time until it answers. No overlapping request may overtake it, or a client
 * that reconnects and rewrites the range would later read the old data. */
#include "block.h"
#include <errno.h>
#include <string.h>

#define RETRY_MS 5  /* the disk is late anyway: a wake-up across threads would not help */
#define RETRIES  64 /* per turn, to leave time for other events */

/* An io that is an orphan itself waits only for older ones, which follow it in the list. */
static bool overlaps_orphan(struct bdev *bdev, const struct io *io)
{
	const struct bdev_orphan *orphan;

	pthread_mutex_lock(&bdev->orphan_lock);
	orphan = io->own && io->own->bdev ? io->own->next : bdev->orphan;
	for (; orphan; orphan = orphan->next)
		if (io->off < orphan->off + orphan->len && orphan->off < io->off + io->len)
			break;
	pthread_mutex_unlock(&bdev->orphan_lock);
	return orphan;
}

bool bdev_gate(struct lane *lane, struct io *io)
{
	if (!io->len || !overlaps_orphan(lane->bdev, io))
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

static bool cancel_gated(struct lane *lane, struct io *io)
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
	return cancel_gated(lane, io) || (lane->ops->cancel && lane->ops->cancel(lane, io));
}

void bdev_orphan(struct bdev *bdev, struct bdev_orphan *orphan, uint64_t off, uint64_t len)
{
	pthread_mutex_lock(&bdev->orphan_lock);
	*orphan =
		(struct bdev_orphan){ .bdev = bdev, .off = off, .len = len, .next = bdev->orphan };
	bdev->orphan = orphan;
	__atomic_add_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bdev->orphan_lock);
}

static void take_off(struct bdev *bdev, const struct bdev_orphan *orphan)
{
	struct bdev_orphan **at = &bdev->orphan;

	while (*at != orphan)
		at = &(*at)->next;
	*at = orphan->next;
}

void bdev_orphan_renew(struct bdev_orphan *orphan)
{
	struct bdev *bdev = orphan->bdev;

	pthread_mutex_lock(&bdev->orphan_lock);
	take_off(bdev, orphan);
	orphan->next = bdev->orphan;
	bdev->orphan = orphan;
	pthread_mutex_unlock(&bdev->orphan_lock);
}

void bdev_orphan_end(struct bdev_orphan *orphan)
{
	struct bdev *bdev = orphan->bdev;

	if (!bdev)
		return;
	pthread_mutex_lock(&bdev->orphan_lock);
	take_off(bdev, orphan);
	__atomic_sub_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bdev->orphan_lock);
	memset(orphan, 0, sizeof(*orphan));
}
