/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fence a lost path to a target by another portal of the same portal group: session reinstatement
 * (RFC 7143, 6.3.5). A login with the ISID of each lost session ends that session, and succeeds
 * once its commands have ended.
 *
 * Another target of the same name, which may serve the same disk, would accept these logins, too.
 * So first ask for a second connection of each lost session, by its TSIH: it has agreed on one, so
 * only a target that knows it answers that these are too many (11.13.5). */
#include "ini.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FENCE_MS 2000

struct fence_sess {
	struct iscsi_fence *fence;
	struct scsi_sess *sess; /* of the carrier */
	unsigned number;
	uint16_t tsih;
};

struct iscsi_fence {
	struct iscsi_fence **at;
	struct scsi_disk *disk; /* the one that fences */
	struct bdev_fence *of;
	uint64_t port; /* of the lost path */
	struct loop_timer limit;
	struct loop_work work;
	bool reinstating; /* all lost sessions are known */
	int err;
	unsigned count, pending;
	struct fence_sess sess[BDEV_SESSION_LANES];
};

static void end_login(struct iscsi_fence *fence, int err)
{
	if (!fence->err)
		fence->err = err;
	if (fence->err || !--fence->pending)
		loop_work_add(fence->disk->bdev.loop, &fence->work);
}

static void up(struct scsi_sess *base)
{
	const struct iscsi_login_result *result = &((struct iscsi_sess *)base)->dial.result;
	struct iscsi_fence *fence = ((struct fence_sess *)base->user)->fence;
	bool same_group = !result->redirects && result->agreed.tpgt == fence->disk->bdev.session.id;

	/* A target that accepts a second connection ignores the TSIH, or what was agreed on. */
	end_login(fence, fence->reinstating && same_group ? 0 : -EOPNOTSUPP);
}

static void down(struct scsi_sess *base)
{
	const struct iscsi_login_result *result = &((struct iscsi_sess *)base)->dial.result;
	struct iscsi_fence *fence = ((struct fence_sess *)base->user)->fence;

	loop_trace(base->loop, "%s of a lost session: %s",
		fence->reinstating ? "reinstatement" : "second connection", base->why.text);
	if (fence->reinstating)
		end_login(fence, base->why.err ? -base->why.err : -ENOTCONN);
	else
		end_login(fence, result->status == ISCSI_TOO_MANY && !result->redirects ? 0
				 : result->status == ISCSI_NO_SESSION                   ? -ENOENT
								      : -EOPNOTSUPP);
}

static void idle(struct scsi_sess *base)
{
	(void)base;
}

static void close_all(struct iscsi_fence *fence)
{
	for (struct fence_sess *fs = fence->sess; fs < fence->sess + fence->count; fs++) {
		fence->disk->carrier->fini(fs->sess);
		memset(fs->sess, 0, fence->disk->carrier->sess_size);
	}
}

static int open_all(struct iscsi_fence *fence)
{
	static const struct scsi_sess_events events = { .up = up, .idle = idle, .down = down };
	const struct scsi_disk *disk = fence->disk;
	int err = 0;

	fence->pending = fence->count;
	for (struct fence_sess *fs = fence->sess; !err && fs < fence->sess + fence->count; fs++) {
		fs->sess->ev = &events;
		fs->sess->loop = disk->bdev.loop;
		fs->sess->user = fs;
		fs->sess->port = fence->port;
		((struct iscsi_sess *)fs->sess)->tsih = fence->reinstating ? 0 : fs->tsih;
		err = disk->carrier->open(fs->sess, disk->conf, fs->number, NULL);
	}
	return err;
}

void iscsi_fence_free(struct iscsi_fence *fence)
{
	if (!fence)
		return;
	close_all(fence);
	loop_timer_del(fence->disk->bdev.loop, &fence->limit);
	loop_work_del(fence->disk->bdev.loop, &fence->work);
	for (unsigned i = 0; i < fence->count; i++)
		free(fence->sess[i].sess);
	*fence->at = NULL;
	free(fence);
}

static void next_step(struct loop_work *work)
{
	struct iscsi_fence *fence = container_of(work, struct iscsi_fence, work);
	struct bdev_fence *of = fence->of;
	int err = fence->err;

	close_all(fence);
	if (!err && !fence->reinstating) {
		fence->reinstating = true;
		err = open_all(fence);
		if (!err)
			return;
	}
	iscsi_fence_free(fence);
	of->done(of, err);
}

static void timed_out(struct loop_timer *timer)
{
	end_login(container_of(timer, struct iscsi_fence, limit), -ETIMEDOUT);
}

/* Only lanes write. Return the error of one that can't be fenced. */
static int add_lanes(struct iscsi_fence *fence, const struct bdev_session *lost)
{
	for (unsigned i = 0; i < BDEV_SESSION_LANES; i++) {
		struct fence_sess *fs = &fence->sess[fence->count];

		if (!lost->lane[i])
			continue;
		if (lost->lane[i] > UINT16_MAX)
			return -EOPNOTSUPP;
		*fs = (struct fence_sess){
			.fence = fence, .number = i + 1, .tsih = (uint16_t)lost->lane[i]
		};
		fs->sess = calloc(1, fence->disk->carrier->sess_size);
		if (!fs->sess)
			return -ENOMEM;
		fence->count++;
	}
	return fence->count ? 0 : -EOPNOTSUPP;
}

int iscsi_fence_start(struct iscsi_fence **at, struct scsi_disk *disk, struct bdev_fence *of)
{
	const struct bdev_session *lost = &of->session, *own = &disk->bdev.session;
	struct iscsi_fence *fence;
	int err;

	if (strcmp(lost->target, own->target) || strcmp(lost->host, own->host) ||
		lost->id != own->id || lost->random == own->random)
		return -EOPNOTSUPP;
	if (*at)
		return -EBUSY;
	fence = calloc(1, sizeof(*fence));
	if (!fence)
		return -ENOMEM;
	*fence = (struct iscsi_fence){ .at = at,
		.disk = disk,
		.of = of,
		.port = lost->random,
		.limit.fire = timed_out,
		.work.run = next_step };
	*at = fence;
	err = add_lanes(fence, lost);
	if (!err)
		err = open_all(fence);
	if (err) {
		iscsi_fence_free(fence);
		return err;
	}
	loop_timer_set(disk->bdev.loop, &fence->limit, loop_clock() + FENCE_MS * MSEC);
	return 0;
}
