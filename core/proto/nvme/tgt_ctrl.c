/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Controllers: who may connect to what, which queues belong together, and their common end.
 * Everything here runs on the target's loop; the queues are reached by messages, in order. */
#include "tgt.h"
#include <stdio.h>
#include <stdlib.h>

static struct nvmf_connect_reply refuse(uint32_t status)
{
	return (struct nvmf_connect_reply){ .status = status };
}

static struct nvmf_connect_reply bad_data(size_t at)
{
	return (struct nvmf_connect_reply){
		.status = NVMF_PARAM, .ipo = (uint16_t)at, .ipo_data = true
	};
}
#define BAD_DATA(field) bad_data(offsetof(struct nvmf_connect_data, field))

static const struct nvme_tgt_subsys *find_subsys(const struct nvme_target *target, const char *nqn)
{
	for (unsigned i = 0; i < target->subsystems; i++)
		if (!strcmp(target->subsys[i].nqn, nqn))
			return &target->subsys[i];
	return NULL;
}

static struct nvme_tgt_ctrl *find_ctrl(const struct nvme_target *target, uint16_t cntlid)
{
	struct nvme_tgt_ctrl *ctrl = target->ctrls;

	while (ctrl && ctrl->cntlid != cntlid)
		ctrl = ctrl->next;
	return ctrl;
}

static void adopt(struct nvme_tgt_ctrl *ctrl, struct nvme_tgt_queue *queue)
{
	queue->sibling = ctrl->queues;
	ctrl->queues = queue;
	queue->bound = ctrl;
	if (queue->ask.qid)
		ctrl->qids |= 1ull << (queue->ask.qid - 1);
}

static void free_when_left(struct nvme_tgt_ctrl *ctrl)
{
	struct nvme_tgt_ctrl **at = &ctrl->target->ctrls;

	if (ctrl->queues || ctrl->noticing || ctrl->resetting || ctrl->fences)
		return;
	while (*at != ctrl)
		at = &(*at)->next;
	*at = ctrl->next;
	free(ctrl);
}

/* A host that connects again may have given up an earlier association that is still alive here.
 * What that one has at the disks becomes orphans before the host can write over the new one. */
struct fence {
	struct loop_msg hop;
	struct nvme_tgt_ctrl *ctrl; /* the new one */
	struct nvme_tgt_queue *queue;
};

static void fence_back(struct loop_msg *msg)
{
	struct fence *fence = container_of(msg, struct fence, hop);
	struct nvme_tgt_ctrl *ctrl = fence->ctrl;

	free(fence);
	if (--ctrl->fences)
		return;
	for (struct nvme_tgt_queue *queue = ctrl->waiting; queue; queue = queue->wait_next)
		loop_post(ctrl->target->loop, &queue->ask_hop);
	ctrl->waiting = NULL;
	free_when_left(ctrl);
}

static void fence_run(struct loop_msg *msg)
{
	struct fence *fence = container_of(msg, struct fence, hop);

	nvme_tgt_queue_fence(fence->queue);
	msg->run = fence_back;
	loop_post(fence->ctrl->target->loop, msg);
}

/* A queue found here stays valid until the work posted now has run. */
static bool fence_host(struct nvme_tgt_ctrl *ctrl)
{
	for (struct nvme_tgt_ctrl *other = ctrl->target->ctrls; other; other = other->next) {
		if (other == ctrl || other->subsys != ctrl->subsys ||
			strcmp(other->hostnqn, ctrl->hostnqn) ||
			memcmp(other->hostid, ctrl->hostid, sizeof(ctrl->hostid)))
			continue;
		for (struct nvme_tgt_queue *queue = other->queues; queue; queue = queue->sibling) {
			struct fence *fence = queue->ask.qid ? malloc(sizeof(*fence)) : NULL;

			if (queue->ask.qid && !fence)
				return false;
			if (!fence)
				continue;
			*fence = (struct fence){
				.hop.run = fence_run, .ctrl = ctrl, .queue = queue
			};
			ctrl->fences++;
			loop_post(queue->loop, &fence->hop);
		}
	}
	return true;
}

static struct nvmf_connect_reply connect_admin(struct nvme_target *target,
	const struct nvme_tgt_subsys *subsys, struct nvme_tgt_queue *queue)
{
	const struct nvmf_connect *ask = &queue->ask;
	struct nvme_tgt_ctrl *ctrl;

	if (ask->cntlid != NVMF_CNTLID_ANY)
		return BAD_DATA(cntlid); /* controllers are made on demand only */
	ctrl = calloc(1, sizeof(*ctrl) + target->io_size + 8);
	if (!ctrl)
		return refuse(NVMF_BUSY);
	do
		target->last_cntlid =
			target->last_cntlid >= NVMF_CNTLID_MAX ? 1 : target->last_cntlid + 1;
	while (find_ctrl(target, target->last_cntlid));
	ctrl->target = target;
	ctrl->subsys = subsys;
	ctrl->cntlid = target->last_cntlid;
	ctrl->kato_ms = ask->kato_ms;
	memcpy(ctrl->hostid, ask->hostid, sizeof(ctrl->hostid));
	memcpy(ctrl->hostnqn, ask->hostnqn, sizeof(ctrl->hostnqn));
	memcpy(ctrl->subnqn, ask->subnqn, sizeof(ctrl->subnqn));
	ctrl->lower = (uint8_t *)(((uintptr_t)(ctrl + 1) + 7) & ~(uintptr_t)7);
	ctrl->admin = queue;
	ctrl->loop = queue->loop;
	ctrl->next = target->ctrls;
	target->ctrls = ctrl;
	if (subsys->count && !fence_host(ctrl)) {
		ctrl->dying = true;
		free_when_left(ctrl);
		return refuse(NVMF_BUSY);
	}
	adopt(ctrl, queue);
	loop_trace(target->loop, "%s: controller %u of %s for %s", queue->name, ctrl->cntlid,
		ctrl->subnqn, ctrl->hostnqn);
	return (struct nvmf_connect_reply){ .cntlid = ctrl->cntlid };
}

static struct nvmf_connect_reply connect_io(struct nvme_target *target,
	const struct nvme_tgt_subsys *subsys, struct nvme_tgt_queue *queue)
{
	const struct nvmf_connect *ask = &queue->ask;
	struct nvme_tgt_ctrl *ctrl = find_ctrl(target, ask->cntlid);

	if (!ctrl || ctrl->dying || ctrl->subsys != subsys)
		return BAD_DATA(cntlid);
	if (strcmp(ctrl->hostnqn, ask->hostnqn))
		return BAD_DATA(hostnqn);
	if (memcmp(ctrl->hostid, ask->hostid, sizeof(ctrl->hostid)))
		return BAD_DATA(hostid);
	if (ask->qid > NVME_TGT_QUEUES || nvme_tgt_is_discovery(ctrl))
		return (struct nvmf_connect_reply){ .status = NVMF_PARAM,
			.ipo = offsetof(struct nvmf_connect_sqe, qid) };
	if (ctrl->qids & 1ull << (ask->qid - 1) ||
		!__atomic_load_n(&ctrl->enabled, __ATOMIC_ACQUIRE))
		return refuse(NVME_SEQUENCE);
	if (ctrl->admin->carrier != queue->carrier)
		return BAD_DATA(cntlid);
	adopt(ctrl, queue);
	loop_trace(
		target->loop, "%s: queue %u of controller %u", queue->name, ask->qid, ctrl->cntlid);
	return (struct nvmf_connect_reply){ .cntlid = ctrl->cntlid };
}

bool nvme_tgt_ctrl_connect(struct nvme_tgt_queue *queue)
{
	struct nvme_target *target = queue->target;
	const struct nvmf_connect *ask = &queue->ask;
	const struct nvme_tgt_subsys *subsys = find_subsys(target, ask->subnqn);
	struct nvme_tgt_ctrl *ctrl = ask->qid ? find_ctrl(target, ask->cntlid) : NULL;

	if (ctrl && ctrl->fences) {
		queue->wait_next = ctrl->waiting;
		ctrl->waiting = queue;
		return false;
	}
	if (target->stopping)
		queue->answer = refuse(NVMF_BUSY);
	else if (!subsys)
		queue->answer = BAD_DATA(subnqn);
	else if (!ask->hostnqn[0])
		queue->answer = BAD_DATA(hostnqn);
	else if (subsys->count && !nvme_tgt_host_allowed(target, ask->hostnqn))
		queue->answer = refuse(NVMF_HOST);
	else
		queue->answer = ask->qid ? connect_io(target, subsys, queue)
					 : connect_admin(target, subsys, queue);
	if (queue->answer.status)
		loop_trace(target->loop, "%s: '%s' refused for '%s': status %xh/%02xh", queue->name,
			ask->subnqn, ask->hostnqn, queue->answer.status >> 8 & 7,
			queue->answer.status & 0xff);
	return true;
}

void nvme_tgt_queue_kill(struct nvme_tgt_queue *queue)
{
	if (queue->killed)
		return;
	queue->killed = true;
	queue->kill_hop.run = nvme_tgt_queue_killed;
	loop_post(queue->loop, &queue->kill_hop);
}

void nvme_tgt_queue_end(struct nvme_tgt_queue *queue)
{
	if (queue->ended)
		return;
	queue->ended = true;
	queue->end_hop.run = nvme_tgt_queue_ended;
	loop_post(queue->loop, &queue->end_hop);
}

static void kill_queues(struct nvme_tgt_ctrl *ctrl, const struct nvme_tgt_queue *but)
{
	for (struct nvme_tgt_queue *queue = ctrl->queues; queue; queue = queue->sibling)
		if (queue != but)
			nvme_tgt_queue_kill(queue);
}

void nvme_tgt_ctrl_leave(struct nvme_tgt_queue *queue)
{
	struct nvme_tgt_ctrl *ctrl = queue->bound;
	struct nvme_tgt_queue **at;

	if (!ctrl)
		return;
	for (at = &ctrl->queues; *at != queue; at = &(*at)->sibling)
		;
	*at = queue->sibling;
	if (queue->ask.qid) {
		ctrl->qids &= ~(1ull << (queue->ask.qid - 1));
		if (!ctrl->qids && ctrl->target->stopping && !ctrl->dying)
			nvme_tgt_queue_end(ctrl->admin);
	} else {
		ctrl->dying = true;
		kill_queues(ctrl, NULL);
	}
	free_when_left(ctrl);
}

void nvme_tgt_ctrl_reset(struct loop_msg *msg)
{
	struct nvme_tgt_ctrl *ctrl = container_of(msg, struct nvme_tgt_ctrl, reset);

	__atomic_store_n(&ctrl->resetting, false, __ATOMIC_RELEASE);
	kill_queues(ctrl, ctrl->admin);
	free_when_left(ctrl);
}

static void notice(struct nvme_tgt_ctrl *ctrl)
{
	ctrl->noticing = true;
	ctrl->notice.run = nvme_tgt_ctrl_noticed;
	loop_post(ctrl->loop, &ctrl->notice);
}

void nvme_tgt_ctrl_notice_back(struct loop_msg *msg)
{
	struct nvme_tgt_ctrl *ctrl = container_of(msg, struct nvme_tgt_ctrl, notice);

	ctrl->noticing = false;
	if (!ctrl->dying && __atomic_load_n(&ctrl->news, __ATOMIC_RELAXED))
		notice(ctrl);
	free_when_left(ctrl);
}

void nvme_tgt_ctrl_notify(struct nvme_target *target, const struct nvme_tgt_disk *disk)
{
	for (struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next) {
		bool mine = disk ? disk->nsid <= ctrl->subsys->count &&
					    ctrl->subsys->ns[disk->nsid - 1] == disk
				 : nvme_tgt_is_discovery(ctrl);

		if (!mine || ctrl->dying)
			continue;
		__atomic_fetch_or(&ctrl->news, disk ? 1ull << (disk->nsid - 1) : NVME_TGT_NEWS_DISC,
			__ATOMIC_RELEASE);
		if (!ctrl->noticing)
			notice(ctrl);
	}
}
