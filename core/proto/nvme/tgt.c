/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target as a whole: subsystems out of options, workers with their lanes and buffers,
 * connections handed out to them, and the orderly stop. Everything here but the worker_ functions
 * runs on the target's loop. */
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC    1000000ull
#define BUFFER  131072 /* also the least: half of one holds the largest block */
#define BUFFERS 64
#define DEPTH   128
#define TELL_MS 10000
/* For the disks to return what they held, and for RDMA connections, which wait 500 ms for the peer
 * to close its end. */
#define CANCEL_MS 1500

static void turned_away(struct nvme_target *target, const struct diag *why)
{
	uint64_t now = loop_clock();

	target->turned_away++;
	if (!target->opt.full || (target->told_ns && now - target->told_ns < TELL_MS * MSEC))
		return;
	target->told_ns = now;
	target->opt.full(why, target->opt.user);
}

/* Ends the connection that has had the longest time for its Connect: peers that only hold places
 * keep no host out. */
static bool evict(struct nvme_target *target)
{
	struct nvme_tgt_queue *oldest = NULL;

	for (struct nvme_tgt_queue *queue = target->queues; queue; queue = queue->peer_next)
		if (!queue->bound && !queue->killed)
			oldest = queue;
	if (!oldest)
		return false;
	oldest->evicted = true;
	target->evicted++;
	nvme_tgt_queue_kill(oldest);
	return true;
}

bool nvme_tgt_room(struct nvme_target *target)
{
	struct diag why = { 0 };

	if (target->stopping)
		return false;
	if (target->connections - target->evicted < target->opt.connections)
		return true;
	if (target->evicted < NVME_TGT_LEAVING && evict(target))
		return true;
	diag_set(&why, DIAG_BUSY, EBUSY, "host refused: all %u connections are in use",
		target->opt.connections);
	turned_away(target, &why);
	return false;
}

/* Not told: whoever says nothing shall not fill the operator's screen. */
void nvme_tgt_dropped(struct nvme_target *target)
{
	target->turned_away++;
}

bool nvme_tgt_starved(struct nvme_target *target, const struct diag *why)
{
	if (target->evicted || evict(target))
		return true;
	turned_away(target, why);
	return false;
}

void nvme_tgt_queue_begin(struct nvme_target *target, struct nvme_tgt_queue *queue,
	const struct nvme_tgt_carrier *carrier, const struct addr *peer)
{
	struct nvme_tgt_worker *best = &target->worker[0];
	char text[ADDR_TEXT];

	for (unsigned i = 1; i < target->workers; i++)
		if (target->worker[i].count < best->count)
			best = &target->worker[i];
	best->count++;
	target->connections++;
	target->idle = 0;
	queue->carrier = carrier;
	queue->target = target;
	queue->worker = best;
	queue->loop = best->loop;
	queue->peer = *peer;
	snprintf(queue->name, sizeof(queue->name), "nvme+%s host %s", carrier->name,
		addr_text(peer, text));
	queue->peer_next = target->queues;
	queue->peer_link = &target->queues;
	if (queue->peer_next)
		queue->peer_next->peer_link = &queue->peer_next;
	target->queues = queue;
	queue->hop.run = nvme_tgt_queue_open;
	loop_post(best->loop, &queue->hop);
}

/* The last way: over here, once more through the worker so that nothing posted to it before is
 * missed, and gone. */
static void gone(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, hop);
	struct nvme_target *target = queue->target;

	queue->worker->count--;
	target->evicted -= queue->evicted;
	target->idle = !--target->connections;
	free(queue);
}

static void buried(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, hop);

	msg->run = gone;
	loop_post(queue->target->loop, msg);
}

void nvme_tgt_queue_over(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, hop);

	*queue->peer_link = queue->peer_next;
	if (queue->peer_next)
		queue->peer_next->peer_link = queue->peer_link;
	nvme_tgt_ctrl_leave(queue);
	msg->run = buried;
	loop_post(queue->loop, msg);
}

struct job { /* of a worker, through loop_call() */
	struct nvme_tgt_worker *worker;
	struct diag *diag;
	uint64_t deadline;
	bool kept; /* a disk still has a flush of ours */
};

static int worker_close(struct loop *loop, void *arg)
{
	struct nvme_tgt_worker *worker = ((struct job *)arg)->worker;

	(void)loop;
	for (unsigned i = 0; i < worker->lanes; i++) {
		if (i < worker->mapped)
			lane_unmap(worker->lane[i], worker->store.pool);
		lane_close(worker->lane[i]);
	}
	worker->lanes = worker->mapped = 0;
	xfer_store_fini(&worker->store);
	return 0;
}

static int worker_open(struct loop *loop, void *arg)
{
	struct job *job = arg;
	struct nvme_tgt_worker *worker = job->worker;
	struct nvme_target *target = worker->target;
	int err = xfer_store_init(
		&worker->store, loop, target->opt.buffer, (uint16_t)target->opt.buffers, job->diag);

	while (!err && worker->lanes < target->opt.disks) {
		err = lane_open(&worker->lane[worker->lanes], target->disk[worker->lanes].bdev,
			loop, job->diag);
		if (err)
			break;
		err = lane_map(worker->lane[worker->lanes++], worker->store.pool, job->diag);
		worker->mapped += !err;
	}
	if (err)
		worker_close(loop, job);
	return err;
}

static int worker_flush(struct loop *loop, void *arg)
{
	struct job *job = arg;
	struct nvme_target *target = job->worker->target;
	int result = 0;

	(void)loop;
	for (unsigned i = 0; i < target->opt.disks; i++) {
		int err;

		if (target->disk[i].ro || !target->disk[i].bdev->lim.max[IO_FLUSH])
			continue;
		err = bdev_flush(job->worker->lane[i], job->deadline, result ? NULL : job->diag);
		job->kept |= err == -EINPROGRESS;
		result = result ? result : err;
	}
	return result;
}

static void target_free(struct nvme_target *target)
{
	ways_close(target->listen, target->opt.listens);
	for (unsigned i = 0; i < target->workers; i++) {
		struct job job = { .worker = &target->worker[i] };

		loop_call(target->loop, job.worker->loop, worker_close, &job);
	}
	free(target->worker);
	free(target);
}

static struct nvme_tgt_subsys *subsys_of(struct nvme_target *target, const char *nqn)
{
	for (unsigned i = 0; i < target->subsystems; i++)
		if (!strcmp(target->subsys[i].nqn, nqn))
			return &target->subsys[i];
	target->subsys[target->subsystems].nqn = nqn;
	return &target->subsys[target->subsystems++];
}

static int add_disks(struct nvme_target *target, struct diag *diag)
{
	subsys_of(target, NVMF_DISCOVERY_NQN);
	for (unsigned i = 0; i < target->opt.disks; i++) {
		const struct nvme_target_disk *conf = &target->opt.disk[i];
		struct nvme_tgt_disk *disk = &target->disk[i];
		struct nvme_tgt_subsys *subsys;

		if (!conf->nqn[0] || strlen(conf->nqn) > NVMF_NQN_MAX)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"NQN '%.300s': length must be 1 to %u bytes", conf->nqn,
				NVMF_NQN_MAX);
		if (!strcmp(conf->nqn, NVMF_DISCOVERY_NQN))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"'%s' is reserved for the discovery service", conf->nqn);
		subsys = subsys_of(target, conf->nqn);
		*disk = (struct nvme_tgt_disk){ .conf = conf,
			.bdev = conf->bdev,
			.index = i,
			.size = conf->bdev->lim.size,
			.shift = (uint8_t)__builtin_ctz(conf->bdev->lim.block),
			.ro = conf->ro || conf->bdev->lim.ro };
		subsys->ns[subsys->count++] = disk;
		disk->nsid = subsys->count;
		if (conf->bdev->lim.io_size > target->io_size)
			target->io_size = conf->bdev->lim.io_size;
	}
	return 0;
}

static int start_workers(struct nvme_target *target, struct diag *diag)
{
	target->worker = calloc(target->opt.nloops, sizeof(*target->worker));
	if (!target->worker)
		return diag_sys(diag, ENOMEM, "%u workers", target->opt.nloops);
	for (; target->workers < target->opt.nloops; target->workers++) {
		struct nvme_tgt_worker *worker = &target->worker[target->workers];
		struct job job = { .worker = worker, .diag = diag };
		int err;

		worker->target = target;
		worker->loop = target->opt.loops[target->workers];
		err = loop_call(target->loop, worker->loop, worker_open, &job);
		if (err)
			return err;
	}
	return 0;
}

static uint32_t power_of_2(uint32_t least)
{
	uint32_t value = BUFFER;

	while (value < least && value < NVME_TGT_MAX_DATA)
		value *= 2;
	return value;
}

int nvme_target_start(struct nvme_target **out, struct loop *loop,
	const struct nvme_target_options *opt, uint32_t timeout_ms, struct diag *diag)
{
	struct nvme_target *target = calloc(1, sizeof(*target));
	int err;

	if (!target)
		return diag_sys(diag, ENOMEM, "target");
	target->loop = loop;
	target->opt = *opt;
	target->opt.buffer = power_of_2(opt->buffer);
	target->opt.buffers = opt->buffers ? opt->buffers : BUFFERS;
	target->opt.depth = opt->depth ? opt->depth : DEPTH;
	target->opt.stall_ms = opt->stall_ms ? opt->stall_ms : NVME_TGT_STALL_MS;
	target->opt.connections = opt->connections ? opt->connections : NVME_TGT_CONNECTIONS;
	target->idle = 1;
	target->genctr = 1;
	err = add_disks(target, diag);
	if (!err)
		err = start_workers(target, diag);
	if (!err)
		err = nvme_tgt_listen(target, timeout_ms, diag);
	if (err) {
		target_free(target);
		return err;
	}
	*out = target;
	return 0;
}

unsigned nvme_target_ways(const struct nvme_target *target, unsigned listen, struct addr *bound)
{
	*bound = target->listen[listen].bound;
	return target->listen[listen].up;
}

void nvme_tgt_count(const struct nvme_target *target, struct nvme_target_status *status)
{
	*status = (struct nvme_target_status){ 0 };
	for (unsigned i = 0; i < target->workers; i++) {
		const struct nvme_tgt_worker *worker = &target->worker[i];

		status->reads += __atomic_load_n(&worker->reads, __ATOMIC_RELAXED);
		status->writes += __atomic_load_n(&worker->writes, __ATOMIC_RELAXED);
		status->read_bytes += __atomic_load_n(&worker->read_bytes, __ATOMIC_RELAXED);
		status->written_bytes += __atomic_load_n(&worker->written_bytes, __ATOMIC_RELAXED);
		status->errors += __atomic_load_n(&worker->errors, __ATOMIC_RELAXED);
	}
}

void nvme_target_get_status(const struct nvme_target *target, struct nvme_target_status *status)
{
	nvme_tgt_count(target, status);
	status->turned_away = target->turned_away;
	for (const struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next) {
		status->hosts += !nvme_tgt_is_discovery(ctrl) && !ctrl->dying;
		status->queues += (unsigned)__builtin_popcountll(ctrl->qids);
	}
}

void nvme_target_resized(struct nvme_target *target, struct bdev *bdev)
{
	for (unsigned i = 0; i < target->opt.disks; i++) {
		struct nvme_tgt_disk *disk = &target->disk[i];

		if (disk->bdev != bdev || disk->size == bdev->lim.size)
			continue;
		__atomic_store_n(&disk->size, bdev->lim.size, __ATOMIC_RELAXED);
		nvme_tgt_ctrl_notify(target, disk);
	}
}

static void each_queue(struct nvme_target *target, void (*fn)(struct nvme_tgt_queue *))
{
	for (struct nvme_tgt_queue *queue = target->queues; queue; queue = queue->peer_next)
		fn(queue);
}

/* An admin queue goes last: with it go all others of its controller. */
static void end(struct nvme_tgt_queue *queue)
{
	if (!queue->bound || queue->ask.qid || !queue->bound->qids)
		nvme_tgt_queue_end(queue);
}

/* Answers what is in flight, as long as hosts take it and the disks do it; false = a disk holds on
 * to something. */
static bool drain(struct nvme_target *target, uint64_t deadline, bool *late)
{
	each_queue(target, end);
	if (loop_wait(target->loop, &target->idle, deadline))
		return true;
	*late = true;
	each_queue(target, nvme_tgt_queue_kill);
	return loop_wait(target->loop, &target->idle, loop_clock() + CANCEL_MS * MSEC);
}

int nvme_target_stop(struct nvme_target *target, uint32_t timeout_ms, struct diag *diag)
{
	struct job job = { .diag = diag, .deadline = loop_clock() + timeout_ms * MSEC };
	bool late = false;
	int err;

	if (!target)
		return 0;
	__atomic_store_n(&target->stopping, true, __ATOMIC_RELAXED);
	ways_close(target->listen, target->opt.listens);
	if (!drain(target, job.deadline, &late)) /* the disk may still write to what a connection
						    owns: nothing can be freed */
		return diag_set(diag, DIAG_TIMEOUT, EINPROGRESS,
			"data may not be on the disk: no answer within %g s", timeout_ms / 1000.);
	job.worker = &target->worker[0];
	err = loop_call(target->loop, job.worker->loop, worker_flush, &job);
	if (late && !err)
		err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"requests aborted: hosts or disks did not answer within %g s",
			timeout_ms / 1000.);
	if (job.kept)
		return -EINPROGRESS;
	target_free(target);
	return err;
}
