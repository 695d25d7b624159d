/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Start and stop of a ublk device and its queues. ublk_make.c chooses or creates the device. */
#include "ublk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELETE_MS 2000 /* time for others to close it: it is deleted as soon as they do */

void ublk_pause(struct loop *loop, unsigned ms)
{
	static const volatile int never;

	loop_wait(loop, &never, loop_clock() + ms * MSEC);
}

int ublk_cmd(struct ublk *u, uint32_t op, uint64_t data, void *payload, uint16_t len)
{
	return ublk_ctl_run(&u->ctl, op, u->info.dev_id, data, payload, len, u->deadline);
}

int ublk_failed(const struct ublk *u, int rc, const char *what, struct diag *diag)
{
	if (rc == -ETIMEDOUT)
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"the kernel did not %s /dev/ublkb%u in time", what, u->info.dev_id);
	return diag_sys(diag, -rc, "%s /dev/ublkb%u", what, u->info.dev_id);
}

static void queue_drained(struct loop_msg *msg)
{
	struct ublk *u = container_of(msg, struct ublk_queue, drained)->ublk;

	if (++u->drained < u->opened)
		return;
	u->all_drained = 1;
	if (u->started && !u->stopping)
		u->opt.ended(u, u->opt.user);
}

/* Without this tag the device can't be started. */
static void queue_failed(struct loop_msg *msg)
{
	struct ublk_queue *q = container_of(msg, struct ublk_queue, failed);

	if (!q->ublk->started)
		ublk_ctl_give_up(&q->ublk->ctl, q->refused);
}

/* Run each queue, if it has a thread of its own, on the CPUs its requests come from. */
static void ask_affinity(struct ublk *u)
{
	if (u->opt.nloops < 2 || u->opt.nloops < u->info.queues)
		return;
	u->cpus = calloc(u->info.queues, sizeof(*u->cpus));
	for (unsigned i = 0; u->cpus && i < u->info.queues; i++)
		if (ublk_cmd(u, UBLK_CTL_GET_QUEUE_AFFINITY, i, &u->cpus[i], sizeof(u->cpus[i])) <
			0)
			memset(&u->cpus[i], 0xff, sizeof(u->cpus[i]));
}

static int open_queues(struct ublk *u, struct diag *diag)
{
	int rc = 0;

	u->queue = calloc(u->info.queues, sizeof(*u->queue));
	if (!u->queue)
		return diag_sys(diag, ENOMEM, "%u queues", u->info.queues);
	for (unsigned i = 0; !rc && i < u->info.queues; i++) {
		struct ublk_queue *q = &u->queue[i];
		struct ublk_place place = { .queue = q,
			.bdev = u->opt.bdev,
			.info = &u->info,
			.cdev = u->cdev,
			.diag = diag };

		q->ublk = u;
		q->index = i;
		q->loop = u->opt.loops[i % u->opt.nloops];
		q->home = u->loop;
		q->quiet_ns = u->quiet_ns;
		q->ro = u->params.attrs & UBLK_ATTR_READ_ONLY;
		q->drained.run = queue_drained;
		q->failed.run = queue_failed;
		place.cpus = u->cpus ? &u->cpus[i] : NULL;
		rc = loop_call(u->loop, q->loop, ublk_queue_open, &place);
		u->opened += !rc;
	}
	return rc;
}

static void close_queues(struct ublk *u)
{
	while (u->opened) {
		struct ublk_queue *q = &u->queue[--u->opened];

		loop_call(u->loop, q->loop, ublk_queue_close, q);
	}
	if (u->cdev >= 0)
		close(u->cdev);
	u->cdev = -1;
}

static void ublk_free(struct ublk *u)
{
	close_queues(u);
	ublk_pause(u->loop, 1); /* handle messages of the queues that are in flight */
	ublk_ctl_close(&u->ctl);
	free(u->queue);
	free(u->cpus);
	free(u);
}

/* The start waits for a request to a disk that does not answer, or for a tag that will not be
 * fetched: fail both, so that the process can end. */
static void fail_start(struct ublk *u)
{
	for (unsigned i = 0; i < u->opened; i++)
		loop_call(u->loop, u->queue[i].loop, ublk_queue_fail, &u->queue[i]);
	u->ctl.done = 0;
	loop_wait(u->loop, &u->ctl.done, loop_clock() + DELETE_MS * MSEC);
}

/* Delete a device that did not start; one that was taken over stays for another attempt. False: the
 * disk or the kernel still uses our memory. */
static bool undo(struct ublk *u)
{
	if (u->ctl.pending)
		fail_start(u);
	for (unsigned i = 0; i < u->opened; i++)
		if (u->queue[i].ours)
			return false;
	close_queues(u);
	if (u->ctl.pending) { /* the command ends with its ring */
		ublk_ctl_close(&u->ctl);
		if (ublk_ctl_open(&u->ctl, u->loop, u->opt.dev, NULL))
			return false;
		u->ctl.with_path = u->info.flags & UBLK_FEATURE_UNPRIVILEGED;
	}
	u->deadline = loop_clock() + DELETE_MS * MSEC;
	if (u->added)
		ublk_cmd(u, UBLK_CTL_DEL_DEV, 0, NULL, 0);
	if (u->ctl.pending)
		return false;
	ublk_free(u);
	return true;
}

static int bring_up(struct ublk *u, struct diag *diag)
{
	int rc;

	ask_affinity(u);
	rc = open_queues(u, diag);
	if (rc)
		return rc;
	rc = ublk_cmd(u, u->recovered ? UBLK_CTL_END_USER_RECOVERY : UBLK_CTL_START_DEV,
		(uint64_t)getpid(), NULL, 0);
	if (rc < 0)
		return ublk_failed(u, rc, "start", diag);
	u->started = true;
	return 0;
}

int ublk_start(struct ublk **out, struct loop *loop, const struct ublk_options *opt,
	uint32_t timeout_ms, struct diag *diag)
{
	struct ublk *u;
	int rc;

	*out = NULL;
	if (opt->bdev->lim.block > 1u << UBLK_PAGE_SHIFT)
		return diag_set(diag, DIAG_UNSUPPORTED, EINVAL,
			"block size %u is not supported by ublk: must be 512 to 4096",
			opt->bdev->lim.block);
	u = calloc(1, sizeof(*u));
	if (!u)
		return diag_sys(diag, ENOMEM, "ublk device");
	u->loop = loop;
	u->opt = *opt;
	u->cdev = -1;
	u->deadline = timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
	rc = ublk_ctl_open(&u->ctl, loop, opt->dev, diag);
	if (rc) {
		free(u);
		return rc;
	}
	if (opt->unprivileged || !(u->ctl.features & UBLK_FEATURE_USER_RECOVERY_REISSUE))
		u->opt.key = 0;
	rc = ublk_make(u, diag);
	if (!rc)
		rc = bring_up(u, diag);
	if (rc && undo(u))
		return rc;
	*out = u;
	return rc;
}

void ublk_fill_info(const struct ublk_dev_info *dev, struct ublk_info *info)
{
	*info = (struct ublk_info){ .id = dev->dev_id,
		.live = dev->state == UBLK_LIVE,
		.pid = dev->pid,
		.queues = dev->queues };
	info->depth = dev->depth;
	info->buffer = dev->max_bytes;
	info->ours = dev->key & UBLK_KEY_OURS;
}

void ublk_info(const struct ublk *u, struct ublk_info *info)
{
	ublk_fill_info(&u->info, info);
	info->live = !u->all_drained;
	info->pid = getpid();
	info->recovered = u->recovered;
	info->size = u->params.sectors << UBLK_SECTOR_SHIFT;
	for (unsigned i = 0; i < u->opened; i++) {
		const struct ublk_queue *q = &u->queue[i];

		info->requests += __atomic_load_n(&q->requests, __ATOMIC_RELAXED);
		info->count.reads += __atomic_load_n(&q->count.reads, __ATOMIC_RELAXED);
		info->count.writes += __atomic_load_n(&q->count.writes, __ATOMIC_RELAXED);
		info->count.read_bytes += __atomic_load_n(&q->count.read_bytes, __ATOMIC_RELAXED);
		info->count.written_bytes +=
			__atomic_load_n(&q->count.written_bytes, __ATOMIC_RELAXED);
		info->count.errors += __atomic_load_n(&q->count.errors, __ATOMIC_RELAXED);
	}
}

struct flush {
	struct ublk *u;
	struct diag *diag;
};

static int flush_disk(struct loop *loop, void *arg)
{
	struct flush *flush = arg;

	(void)loop;
	return bdev_flush(flush->u->queue[0].lane, flush->u->deadline, flush->diag);
}

/* Flush the device's page cache, then stop the device once its requests are answered. */
static int stop_device(struct ublk *u, uint32_t timeout_ms, struct diag *diag)
{
	int rc = u->params.attrs & UBLK_ATTR_READ_ONLY
			 ? 0
			 : ublk_sync(u->loop, u->opt.dev, u->info.dev_id, u->deadline),
	    stopped;

	if (rc != -ETIMEDOUT) {
		stopped = ublk_cmd(u, UBLK_CTL_STOP_DEV, 0, NULL, 0);
		if (stopped == -ETIMEDOUT || !loop_wait(u->loop, &u->all_drained, u->deadline))
			rc = -ETIMEDOUT;
	}
	if (rc == -ETIMEDOUT)
		return diag_set(diag, DIAG_TIMEOUT, EINPROGRESS,
			"data of /dev/ublkb%u may not be on the disk: no answer within %g s",
			u->info.dev_id, timeout_ms / 1000.);
	return rc < 0 ? diag_sys(diag, -rc, "data of /dev/ublkb%u may not be on the disk: flush",
				u->info.dev_id)
		      : 0;
}

int ublk_stop(struct ublk *u, uint32_t timeout_ms, struct diag *diag)
{
	struct flush flush = { .u = u };
	int err = 0, flushed = 0;

	if (!u)
		return 0;
	u->stopping = true;
	u->deadline = loop_clock() + timeout_ms * MSEC;
	if (!u->all_drained)
		err = stop_device(u, timeout_ms, diag);
	if (err == -EINPROGRESS)
		return err;
	flush.diag = err ? NULL : diag;
	if (!(u->params.attrs & UBLK_ATTR_READ_ONLY) && u->opt.bdev->lim.max[IO_FLUSH])
		flushed = loop_call(u->loop, u->queue[0].loop, flush_disk, &flush);
	if (flushed == -EINPROGRESS)
		return flushed;
	err = err ? err : flushed;
	close_queues(u);
	u->deadline = loop_clock() + DELETE_MS * MSEC;
	ublk_cmd(u, UBLK_CTL_DEL_DEV, 0, NULL, 0);
	if (!u->ctl.pending)
		ublk_free(u);
	return err;
}
