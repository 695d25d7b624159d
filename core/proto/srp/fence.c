/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fence a lost path to a target by another path to it: a login with the initiator port of the lost
 * path ends its channels (SRP r16a, 5.1). SRP does not say when their commands end, and Linux's
 * target does not wait for them. So this is for rdmastor's target only, which has ended them before
 * it executes the first command of the new channel. Its login response says which target it is:
 * another one with the same identifiers, which may serve the same disk, knows no such channels. */
#include "srp.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FENCE_MS 2000

struct srp_fence {
	struct srp_fence **at;
	struct scsi_disk *disk; /* the one that fences */
	struct bdev_fence *of;
	struct srp_conf conf; /* that of the disk, with the initiator port of the lost path */
	struct srp_chan chan;
	struct loop_timer limit;
	struct loop_work work;
	int err;
};

static void end_fence(struct srp_fence *fence, int err)
{
	fence->err = err;
	loop_work_add(fence->disk->bdev.loop, &fence->work);
}

/* The response to any command proves that the channel is admitted. */
static void up(struct scsi_sess *base)
{
	static const uint8_t lun[8], test_unit_ready[SCSI_INI_CDB];
	struct srp_fence *fence = base->user;
	struct bdev_session now = { 0 };
	struct scsi_slot *slot;

	srp_carrier.identify(base, 0, &now);
	slot = strcmp(now.target, fence->of->session.target)
		       ? NULL
		       : inflight_take(
				 &base->inflight, fence, loop_now(base->loop) + FENCE_MS * MSEC);
	if (slot)
		srp_carrier.send(base, slot, lun, test_unit_ready, &(struct scsi_data){ 0 });
	else
		end_fence(fence, -ENOENT);
}

static void reply(struct scsi_sess *base, struct scsi_slot *slot)
{
	if (srp_carrier.end(base, slot))
		end_fence(base->user, 0);
}

static void lost(struct scsi_sess *base, void *owner)
{
	(void)base;
	(void)owner;
}

static const char *name(const void *owner)
{
	(void)owner;
	return "test unit ready";
}

static void idle(struct scsi_sess *base)
{
	(void)base;
}

static void down(struct scsi_sess *base)
{
	loop_trace(base->loop, "login for a lost path: %s", base->why.text);
	end_fence(base->user, base->why.err ? -base->why.err : -ENOTCONN);
}

void srp_fence_free(struct srp_fence *fence)
{
	struct loop *loop;

	if (!fence)
		return;
	loop = fence->disk->bdev.loop;
	srp_carrier.fini(&fence->chan.base);
	loop_timer_del(loop, &fence->limit);
	loop_work_del(loop, &fence->work);
	*fence->at = NULL;
	free(fence);
}

static void finish(struct loop_work *work)
{
	struct srp_fence *fence = container_of(work, struct srp_fence, work);
	struct bdev_fence *of = fence->of;
	int err = fence->err;

	srp_fence_free(fence);
	of->done(of, err);
}

static void timed_out(struct loop_timer *timer)
{
	end_fence(container_of(timer, struct srp_fence, limit), -ETIMEDOUT);
}

/* Whether all channels of the lost path are at the target that this disk reaches, and belong to
 * another initiator port of this host. */
static bool can_fence(const struct bdev_session *lost, const struct bdev_session *own)
{
	if (strcmp(lost->target, own->target) || strcmp(lost->host, own->host) ||
		lost->random == own->random)
		return false;
	for (unsigned i = 0; i < BDEV_SESSION_LANES; i++)
		if (lost->lane[i] == UINT32_MAX)
			return false;
	return true;
}

int srp_fence_start(struct srp_fence **at, struct scsi_disk *disk, struct bdev_fence *of)
{
	static const struct scsi_sess_events events = {
		.up = up, .reply = reply, .lost = lost, .name = name, .idle = idle, .down = down
	};
	struct loop *loop = disk->bdev.loop;
	struct srp_fence *fence;
	int err;

	if (!can_fence(&of->session, &disk->bdev.session))
		return -EOPNOTSUPP;
	if (*at)
		return -EBUSY;
	fence = calloc(1, sizeof(*fence));
	if (!fence)
		return -ENOMEM;
	*fence = (struct srp_fence){ .at = at,
		.disk = disk,
		.of = of,
		.conf = *(const struct srp_conf *)(const void *)disk->conf,
		.chan.base = { .ev = &events, .loop = loop, .user = fence },
		.limit.fire = timed_out,
		.work.run = finish };
	*at = fence;
	wire_put_be(fence->conf.initiator, 8, of->session.random);
	fence->conf.base.depth = 1;
	err = srp_carrier.open(&fence->chan.base, &fence->conf.base, 0, NULL);
	if (err) {
		srp_fence_free(fence);
		return err;
	}
	loop_timer_set(loop, &fence->limit, loop_clock() + FENCE_MS * MSEC);
	return 0;
}
