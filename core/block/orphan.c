/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Orphans: commands that their client may have abandoned while the disk still has a request of
 * them, which it may execute at any time until it completes. Neither overlapping requests of that
 * client nor any changes may overtake it, or a client that reconnects and rewrites the range would
 * later read the old data. Reads of other clients are not delayed. */
#include "block.h"
#include <errno.h>

#define RETRY_NS 1000000ull /* a wake-up across threads would gain little, as the disk is slow */
#define RETRIES  64         /* per turn, to leave time for other events */

/* Of the newest orphan; atomic. One count for all disks, as a command may use several. */
static uint64_t last_number;

static bool overlaps(const struct io *io, uint64_t off, uint64_t len)
{
	return io->off < off + len && off < io->off + io->len;
}

/* A request that arrived before the orphan was made does not wait: as far as this host can tell,
 * both commands were in flight at the same time. Clients that leave later delay no request, and
 * there are no deadlocks. An exclusive command waits for every overlapping request at the disk. */
static bool must_wait(const struct io *io, const struct bdev_orphan *orphan)
{
	const struct bdev_orphan *own = io->own;
	bool older = !own || orphan->number <= own->arrived;
	bool same = !orphan->client || (own && own->client == orphan->client);
	bool exclusive = own && own->bdev && own->order == BDEV_EXCLUSIVE;

	if (orphan->order == BDEV_EXCLUSIVE)
		return (older || !exclusive) && overlaps(io, orphan->off, orphan->len);
	if (exclusive)
		return overlaps(io, orphan->at, orphan->at_len);
	if (older && same && overlaps(io, orphan->off, orphan->len))
		return true;
	return older && (same || orphan->order == BDEV_ALL || bdev_changes_blocks(io->kind)) &&
	       overlaps(io, orphan->at, orphan->at_len);
}

/* Set the request of an orphan that is at the disk. */
static void set_request(struct bdev_orphan *orphan, const struct io *io)
{
	bool changes = io && !orphan->gated && bdev_changes_blocks(io->kind);

	orphan->at = changes ? io->off : 0;
	orphan->at_len = changes ? io->len : 0;
}

static bool must_be_gated(struct bdev *bdev, const struct io *io)
{
	struct bdev_orphan *own = io->own;
	bool waits = false;

	pthread_mutex_lock(&bdev->orphan_lock);
	if (own && !own->arrived)
		own->arrived = __atomic_load_n(&last_number, __ATOMIC_SEQ_CST);
	for (const struct bdev_orphan *orphan = bdev->orphan; orphan && io->len && !waits;
		orphan = orphan->next)
		waits = orphan != own && must_wait(io, orphan);
	if (own)
		own->gated = waits;
	if (own && own->bdev)
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
		loop_timer_set(lane->loop, &lane->gate, loop_now(lane->loop) + RETRY_NS);
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

/* Those that must wait again are appended after the end of this pass, which may take several
 * turns. */
void lane_gate_fired(struct loop_timer *timer)
{
	struct lane *lane = container_of(timer, struct lane, gate);

	if (!lane->gate_pass)
		lane->gate_pass = lane->gated_end;
	for (unsigned i = 0; i < RETRIES && lane->gate_pass; i++) {
		struct io *io = gated_first(lane);

		if (lane->gate_pass == &io->next)
			lane->gate_pass = NULL;
		if (io->own)
			io->own->gated = false;
		if (io->status == -ECANCELED)
			io->done(io);
		else
			bdev_submit(lane, io);
	}
	if (lane->gate_pass)
		loop_timer_set(lane->loop, &lane->gate, loop_now(lane->loop) + 1);
	else if (lane->gated)
		loop_timer_set(lane->loop, &lane->gate, loop_clock() + RETRY_NS);
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

static void add_orphan(struct bdev *bdev, struct bdev_orphan *orphan)
{
	orphan->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_SEQ_CST);
	orphan->next = bdev->orphan;
	bdev->orphan = orphan;
}

static void remove_orphan(struct bdev *bdev, const struct bdev_orphan *orphan)
{
	struct bdev_orphan **at = &bdev->orphan;

	while (*at != orphan)
		at = &(*at)->next;
	*at = orphan->next;
}

/* An exclusive command counts as arrived when it becomes one, so that of two only the later one
 * waits for the other. */
void bdev_orphan(struct bdev *bdev, struct bdev_orphan *orphan, enum bdev_order order,
	const struct io *io, uint64_t off, uint64_t len)
{
	pthread_mutex_lock(&bdev->orphan_lock);
	if (orphan->bdev && order == BDEV_EXCLUSIVE && orphan->order != BDEV_EXCLUSIVE) {
		remove_orphan(bdev, orphan);
		add_orphan(bdev, orphan);
	}
	if (!orphan->bdev) {
		orphan->bdev = bdev;
		orphan->order = BDEV_CLIENT;
		add_orphan(bdev, orphan);
		__atomic_add_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	}
	if (order == BDEV_EXCLUSIVE || !orphan->arrived)
		orphan->arrived = orphan->number;
	if (orphan->order != BDEV_EXCLUSIVE) {
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

	orphan->arrived = 0;
	if (!bdev)
		return;
	pthread_mutex_lock(&bdev->orphan_lock);
	remove_orphan(bdev, orphan);
	orphan->bdev = NULL;
	__atomic_sub_fetch(&bdev->orphans, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bdev->orphan_lock);
}
