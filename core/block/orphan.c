/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Writes whose submitter has left while the disk still had them. Such a write may be executed at any time until the disk
 * answers, so nothing that overlaps it may pass it: a client that reconnects and writes anew would find the old data later. */
#include "block.h"
#include <errno.h>
#include <string.h>

#define RETRY_MS 5 /* the disk is late already: a wake-up across threads would gain nothing */

static bool changes_blocks(const struct io *io)
{
	return io->kind == IO_WRITE || io->kind == IO_TRIM || io->kind == IO_ZERO;
}

/* The newest orphan is the first in the list. One that is not yet sent itself waits only for older ones. */
static bool overlaps_orphan(struct bdev *bdev, const struct io *io)
{
	const struct io *orphan;

	pthread_mutex_lock(&bdev->orphan_lock);
	orphan = io->orphan.bdev ? io->orphan.next : bdev->orphan;
	for (; orphan; orphan = orphan->orphan.next)
		if (io->off < orphan->off + orphan->len && orphan->off < io->off + io->len)
			break;
	pthread_mutex_unlock(&bdev->orphan_lock);
	return orphan;
}

bool bdev_gate(struct lane *lane, struct io *io)
{
	struct io **end = &lane->gated;

	if (!io->len || !overlaps_orphan(lane->bdev, io))
		return false;
	io->status = 0;
	io->next = NULL;
	while (*end)
		end = &(*end)->next;
	*end = io;
	if (!lane->gate.on)
		loop_timer_set(lane->loop, &lane->gate, loop_now(lane->loop) + RETRY_MS * 1000000ull);
	return true;
}

void lane_gate_fired(struct loop_timer *timer)
{
	struct lane *lane = container_of(timer, struct lane, gate);
	struct io *io = lane->gated, *next;

	lane->gated = NULL;
	for (; io; io = next) {
		next = io->next;
		if (io->status == -ECANCELED)
			io->done(io);
		else
			bdev_submit(lane, io);
	}
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

static void orphan_done(struct io *io)
{
	struct bdev *bdev = io->orphan.bdev;
	struct io **at = &bdev->orphan;

	pthread_mutex_lock(&bdev->orphan_lock);
	while (*at != io)
		at = &(*at)->orphan.next;
	*at = io->orphan.next;
	__atomic_sub_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bdev->orphan_lock);
	io->done = io->orphan.done;
	memset(&io->orphan, 0, sizeof(io->orphan));
	io->done(io);
}

void bdev_orphan(struct lane *lane, struct io *io)
{
	struct bdev *bdev = lane->bdev;

	if (!changes_blocks(io) || io->orphan.bdev)
		return;
	io->orphan.bdev = bdev;
	io->orphan.done = io->done;
	io->done = orphan_done;
	pthread_mutex_lock(&bdev->orphan_lock);
	io->orphan.next = bdev->orphan;
	bdev->orphan = io;
	__atomic_add_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bdev->orphan_lock);
}

void bdev_abandon(struct lane *lane, struct io *io)
{
	if (cancel_gated(lane, io))
		return;
	bdev_orphan(lane, io);
	bdev_cancel(lane, io);
}
