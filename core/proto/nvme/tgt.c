/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NVMe target as a whole: build subsystems from options, and provide the frame with the
 * protocol's functions. */
#include "tgt.h"
#include <errno.h>
#include <stdlib.h>

#define BUFFER  131072 /* also the minimum: half of a buffer holds the largest block */
#define BUFFERS 64
#define DEPTH   128

_Static_assert(
	NVME_TARGET_DISKS <= TARGET_DISKS && NVME_TARGET_LISTENS <= TARGET_LISTENS, "the frame's");

static void ways_changed(struct target *base)
{
	struct nvme_target *target = (struct nvme_target *)base;

	__atomic_fetch_add(&target->genctr, 1, __ATOMIC_RELEASE);
	nvme_tgt_ctrl_notify(target, NULL);
}

static void work(struct target_cmd *base)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;

	cmd->op->work(cmd);
}

static bool is_admin(const struct nvme_tgt_queue *queue)
{
	return queue->ctrl && !queue->qid;
}

static void closing(struct target_conn *conn)
{
	struct nvme_tgt_queue *queue = (struct nvme_tgt_queue *)conn;

	if (is_admin(queue))
		nvme_tgt_ctrl_kill_io(queue->ctrl);
}

static void down(struct target_conn *conn)
{
	struct nvme_tgt_queue *queue = (struct nvme_tgt_queue *)conn;

	if (is_admin(queue))
		nvme_tgt_ctrl_quit(queue->ctrl);
}

static bool busy(const struct target_conn *conn)
{
	const struct nvme_tgt_queue *queue = (const struct nvme_tgt_queue *)conn;

	return is_admin(queue) && queue->ctrl->shutting;
}

/* Evict an admin queue last, as all other queues of its controller end with it. */
static bool later(const struct target_conn *conn)
{
	const struct nvme_tgt_queue *queue = (const struct nvme_tgt_queue *)conn;

	return queue->bound && !queue->ask.qid && queue->bound->qids;
}

static const struct target_proto proto = { .name = "nvme",
	.hello = "Connect command",
	.stream = nvme_tgt_tcp_incoming,
	.rdma = nvme_tgt_rdma_incoming,
	.ways = ways_changed,
	.decode = nvme_tgt_decode,
	.work = work,
	.complete = nvme_tgt_complete,
	.status = nvme_tgt_status,
	.closing = closing,
	.down = down,
	.busy = busy,
	.later = later,
	.left = nvme_tgt_ctrl_leave };

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
		struct nvme_tgt_ns *ns = &target->ns[i];
		struct nvme_tgt_subsys *subsys;

		if (!conf->nqn[0] || strlen(conf->nqn) > NVMF_NQN_MAX)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"NQN '%.300s': length must be 1 to %u bytes", conf->nqn,
				NVMF_NQN_MAX);
		if (!strcmp(conf->nqn, NVMF_DISCOVERY_NQN))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"'%s' is reserved for the discovery service", conf->nqn);
		subsys = subsys_of(target, conf->nqn);
		subsys->ns[subsys->count++] = ns;
		*ns = (struct nvme_tgt_ns){ .conf = conf,
			.disk = &target->base.disk[i],
			.nsid = subsys->count,
			.shift = (uint8_t)__builtin_ctz(conf->bdev->lim.block) };
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

static int start(
	struct nvme_target *target, struct loop *loop, uint32_t timeout_ms, struct diag *diag)
{
	const struct nvme_target_options *opt = &target->opt;
	struct target_options base = { .disks = opt->disks,
		.listens = opt->listens,
		.loops = opt->loops,
		.nloops = opt->nloops,
		.buffer = opt->buffer,
		.buffers = opt->buffers ? opt->buffers : BUFFERS,
		.connections = opt->connections ? opt->connections : NVME_TGT_CONNECTIONS,
		.announced = NVME_TGT_QUEUES,
		.listed = opt->hosts,
		.open_ms = NVME_TGT_CONNECT_MS,
		.stall_ms = opt->stall_ms ? opt->stall_ms : NVME_TGT_STALL_MS,
		.full = opt->full,
		.user = opt->user };

	for (unsigned i = 0; i < opt->disks; i++) {
		base.disk[i].bdev = opt->disk[i].bdev;
		base.disk[i].ro = opt->disk[i].ro;
	}
	for (unsigned i = 0; i < opt->listens; i++)
		base.listen[i] = opt->listen[i];
	return target_start(&target->base, loop, &proto, &base, timeout_ms, diag);
}

int nvme_target_start(struct nvme_target **out, struct loop *loop,
	const struct nvme_target_options *opt, uint32_t timeout_ms, struct diag *diag)
{
	struct nvme_target *target = calloc(1, sizeof(*target));
	int err;

	if (!target)
		return diag_sys(diag, ENOMEM, "target");
	target->opt = *opt;
	target->opt.buffer = power_of_2(opt->buffer);
	target->opt.depth = opt->depth ? opt->depth : DEPTH;
	target->genctr = 1;
	err = add_disks(target, diag);
	if (!err)
		err = start(target, loop, timeout_ms, diag);
	if (err) {
		free(target);
		return err;
	}
	*out = target;
	return 0;
}

unsigned nvme_target_ways(const struct nvme_target *target, unsigned listen, struct addr *bound)
{
	return target_ways(&target->base, listen, bound);
}

void nvme_target_get_status(const struct nvme_target *target, struct nvme_target_status *status)
{
	*status = (struct nvme_target_status){ .turned_away = target_refused(&target->base) };
	target_get_count(&target->base, &status->count);
	for (const struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next) {
		status->hosts += !nvme_tgt_is_discovery(ctrl) && !ctrl->dying;
		status->queues += (unsigned)__builtin_popcountll(ctrl->qids);
	}
}

void nvme_target_resized(struct nvme_target *target, struct bdev *bdev)
{
	for (unsigned i = 0; i < target->opt.disks; i++)
		if (target->base.disk[i].bdev == bdev && target_resized(&target->base, i))
			nvme_tgt_ctrl_notify(target, &target->ns[i]);
}

int nvme_target_stop(struct nvme_target *target, uint32_t timeout_ms, struct diag *diag)
{
	int err = target ? target_stop(&target->base, timeout_ms, diag) : 0;

	if (err != -EINPROGRESS)
		free(target);
	return err;
}
