/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Controllers: which host may connect to what, which queues belong together, and how they end
 * together. All of this runs on the target's loop; queues get messages, in order. */
#include "psk.h"
#include "tgt.h"
#include <errno.h>
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

struct nvme_tgt_ctrl *nvme_tgt_ctrl_find(
	const struct nvme_target *target, uint16_t cntlid, uint8_t ciu)
{
	struct nvme_tgt_ctrl *ctrl = find_ctrl(target, cntlid);

	return ctrl && ctrl->ciu == ciu ? ctrl : NULL;
}

/* Later instances of a controller ID have another CIU. False: all IDs are in use. */
static bool next_id(struct nvme_target *target)
{
	unsigned min = target->base.opt.cntlid_min, max = target->base.opt.cntlid_max;

	for (unsigned left = max - min + 1; left; left--) {
		if (target->last_cntlid < min) {
			target->last_cntlid = (uint16_t)min;
		} else if (target->last_cntlid < max) {
			target->last_cntlid++;
		} else {
			target->last_cntlid = (uint16_t)min;
			target->ciu = target->ciu == UINT8_MAX ? 1 : target->ciu + 1;
		}
		if (!find_ctrl(target, target->last_cntlid))
			return true;
	}
	return false;
}

static void add_queue(struct nvme_tgt_ctrl *ctrl, struct nvme_tgt_queue *queue)
{
	queue->sibling = ctrl->queues;
	ctrl->queues = queue;
	queue->bound = ctrl;
	if (queue->connect.qid)
		ctrl->qids |= 1ull << (queue->connect.qid - 1);
}

static void free_ctrl(struct nvme_tgt_ctrl *ctrl)
{
	if (ctrl)
		free(ctrl->identity);
	free(ctrl);
}

static void free_if_unused(struct nvme_tgt_ctrl *ctrl)
{
	struct nvme_tgt_ctrl **at = &ctrl->target->ctrls;

	if (ctrl->queues)
		return;
	nvme_tgt_reserve_leave(ctrl); /* no message about reservations is posted from now on */
	if (ctrl->noticing || ctrl->resetting || ctrl->fencing ||
		__atomic_load_n(&ctrl->noted, __ATOMIC_ACQUIRE))
		return;
	while (*at != ctrl)
		at = &(*at)->next;
	*at = ctrl->next;
	nvme_tgt_reset_ended(ctrl->target, ctrl->cntlid);
	free_ctrl(ctrl);
}

/* If a host reconnects, what its earlier associations still have at the disks must be fenced before
 * the host can write over the new one. */
static bool same_host(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct nvme_tgt_ctrl *ctrl = container_of(fence, struct nvme_tgt_ctrl, fence),
				   *other = ((const struct nvme_tgt_queue *)conn)->ctrl;

	return other && other != ctrl && other->subsys == ctrl->subsys &&
	       !strcmp(other->hostnqn, ctrl->hostnqn) &&
	       !memcmp(other->hostid, ctrl->hostid, sizeof(ctrl->hostid));
}

static void fence_back(struct target_fence *fence)
{
	struct nvme_tgt_ctrl *ctrl = container_of(fence, struct nvme_tgt_ctrl, fence);

	ctrl->fencing = false;
	for (struct nvme_tgt_queue *queue = ctrl->waiting; queue; queue = queue->wait_next)
		loop_post(fence->home, &queue->connect_hop);
	ctrl->waiting = NULL;
	free_if_unused(ctrl);
}

static void fence_host(struct nvme_tgt_ctrl *ctrl)
{
	struct target *target = &ctrl->target->base;

	ctrl->fencing = true;
	ctrl->fence.match = same_host;
	ctrl->fence.done = fence_back;
	ctrl->fence.home = target->loop;
	target_fence(target, &ctrl->fence);
}

/* The queue's own is freed on another thread, before the controller. */
static bool keep_identity(struct nvme_tgt_ctrl *ctrl, const struct nvme_tgt_queue *queue)
{
	ctrl->identity = queue->identity ? strdup(queue->identity) : NULL;
	return !queue->identity || ctrl->identity;
}

static struct nvmf_connect_reply connect_admin(struct nvme_target *target,
	const struct nvme_tgt_subsys *subsys, struct nvme_tgt_queue *queue)
{
	const struct nvmf_connect *req = &queue->connect;
	struct nvme_tgt_ctrl *ctrl;

	if (req->cntlid != NVMF_CNTLID_ANY)
		return BAD_DATA(cntlid); /* controllers are only created dynamically */
	if (!subsys->count && req->depth > NVME_TGT_ADMIN_DEPTH)
		return (struct nvmf_connect_reply){ .status = NVMF_PARAM,
			.ipo = offsetof(struct nvmf_connect_sqe, sqsize) };
	ctrl = calloc(1, sizeof(*ctrl) + target->base.io_size + 8);
	if (!ctrl || !keep_identity(ctrl, queue) || !next_id(target) ||
		(subsys->count && !queue->authenticates &&
			!target_admit(&queue->base, req->hostnqn, true))) {
		free_ctrl(ctrl);
		return refuse(NVMF_BUSY);
	}
	ctrl->concatenated = queue->concatenated;
	ctrl->pending = queue->authenticates;
	ctrl->authenticates = ctrl->pending || ctrl->concatenated;
	if (!subsys->count)
		target_admit_discovery(&queue->base);
	ctrl->target = target;
	ctrl->subsys = subsys;
	ctrl->cntlid = target->last_cntlid;
	ctrl->ciu = target->ciu;
	ctrl->port = queue->base.port;
	ctrl->kato_ms = req->kato_ms;
	memcpy(ctrl->hostid, req->hostid, sizeof(ctrl->hostid));
	memcpy(ctrl->hostnqn, req->hostnqn, sizeof(ctrl->hostnqn));
	memcpy(ctrl->subnqn, req->subnqn, sizeof(ctrl->subnqn));
	nvme_tgt_reserve_join(ctrl);
	ctrl->lower = (uint8_t *)(((uintptr_t)(ctrl + 1) + 7) & ~(uintptr_t)7);
	ctrl->admin = queue;
	ctrl->loop = queue->base.loop;
	ctrl->next = target->ctrls;
	target->ctrls = ctrl;
	if (subsys->count && !ctrl->pending)
		fence_host(ctrl);
	add_queue(ctrl, queue);
	loop_trace(target->base.loop, "%s: controller %u of %s for %s", queue->base.name,
		ctrl->cntlid, ctrl->subnqn, ctrl->hostnqn);
	return (struct nvmf_connect_reply){ .cntlid = ctrl->cntlid };
}

static bool is_owner(const struct nvme_tgt_ctrl *ctrl, const struct nvmf_connect *req)
{
	return !strcmp(ctrl->hostnqn, req->hostnqn) &&
	       !memcmp(ctrl->hostid, req->hostid, sizeof(ctrl->hostid));
}

/* A host that has to authenticate learns nothing about controllers of others. */
static struct nvmf_connect_reply check_io(const struct nvme_target *target,
	const struct nvme_tgt_subsys *subsys, const struct nvme_tgt_queue *queue)
{
	const struct nvmf_connect *req = &queue->connect;
	const struct nvme_tgt_ctrl *ctrl = find_ctrl(target, req->cntlid);

	if (!ctrl || ctrl->dying || ctrl->subsys != subsys ||
		(queue->authenticates && !is_owner(ctrl, req)))
		return BAD_DATA(cntlid);
	if (strcmp(ctrl->hostnqn, req->hostnqn))
		return BAD_DATA(hostnqn);
	if (memcmp(ctrl->hostid, req->hostid, sizeof(ctrl->hostid)))
		return BAD_DATA(hostid);
	if (req->qid > NVME_TGT_QUEUES || nvme_tgt_is_discovery(ctrl))
		return (struct nvmf_connect_reply){ .status = NVMF_PARAM,
			.ipo = offsetof(struct nvmf_connect_sqe, qid) };
	if (ctrl->qids & 1ull << (req->qid - 1) ||
		!__atomic_load_n(&ctrl->enabled, __ATOMIC_ACQUIRE))
		return refuse(NVME_SEQUENCE);
	/* the controller has the state of one listener, and what authenticated its host */
	if (ctrl->concatenated != queue->concatenated ||
		ctrl->admin->base.carrier != queue->base.carrier || ctrl->port != queue->base.port)
		return BAD_DATA(cntlid);
	return (struct nvmf_connect_reply){ .cntlid = ctrl->cntlid };
}

static bool admit_io(struct nvme_target *target, struct nvme_tgt_queue *queue)
{
	const struct nvmf_connect *req = &queue->connect;
	struct nvme_tgt_ctrl *ctrl = find_ctrl(target, req->cntlid);

	if (!target_admit(&queue->base, req->hostnqn, false))
		return false;
	add_queue(ctrl, queue);
	loop_trace(target->base.loop, "%s: queue %u of controller %u", queue->base.name, req->qid,
		ctrl->cntlid);
	return true;
}

static struct nvmf_connect_reply connect_io(struct nvme_target *target,
	const struct nvme_tgt_subsys *subsys, struct nvme_tgt_queue *queue)
{
	struct nvmf_connect_reply reply = check_io(target, subsys, queue);

	if (!reply.status && !queue->authenticates && !admit_io(target, queue))
		return refuse(NVMF_BUSY);
	return reply;
}

static bool admit_admin(struct nvme_tgt_queue *queue)
{
	struct nvme_tgt_ctrl *ctrl = queue->bound;

	if (!target_admit(&queue->base, ctrl->hostnqn, true))
		return false;
	ctrl->pending = false;
	fence_host(ctrl);
	return true;
}

/* A controller's host that uses a generated PSK replaces it. */
static bool keep_generated(struct nvme_tgt_queue *queue, struct nvme_psk *psk)
{
	const struct nvme_hosts *hosts = queue->base.target->opt.chap.hosts;
	struct nvme_tgt_ctrl *ctrl = queue->bound;
	char *identity;

	if (!ctrl->concatenated)
		return !nvme_tls_add_generated(hosts, psk, NULL);
	identity = strdup(psk->identity);
	if (!identity || nvme_tls_add_generated(hosts, psk, ctrl->identity)) {
		free(identity);
		return false;
	}
	free(ctrl->identity);
	ctrl->identity = identity;
	return true;
}

/* What Connect has checked may have changed. */
bool nvme_tgt_ctrl_admit(struct nvme_tgt_queue *queue, struct nvme_psk *psk)
{
	struct nvme_target *target = nvme_tgt_of(queue);
	const struct nvme_tgt_subsys *subsys = find_subsys(target, queue->connect.subnqn);

	const struct nvme_host *host = nvme_tgt_host_find(queue);

	if (target->base.stopping || !host || !host->secret[0].len)
		return false;
	if (psk->len)
		return keep_generated(queue, psk);
	if (!queue->connect.qid)
		return !queue->bound->dying && admit_admin(queue);
	return !check_io(target, subsys, queue).status && admit_io(target, queue);
}

/* For the log, limited: a name says nothing about who sent it. */
static void report_refusal(const struct nvme_tgt_queue *queue, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_AUTH, EACCES, "%s: %s", queue->base.name, text);
	target_admission_report_refusal(queue->base.target->admission, &why);
}

static void report_plain(const struct nvme_tgt_queue *queue)
{
	char text[NVMF_NQN_MAX + 64];

	snprintf(text, sizeof(text), "host '%s' refused, as it does not use TLS",
		queue->connect.hostnqn);
	report_refusal(queue, text);
}

static struct nvmf_connect_reply connect_disk(struct nvme_target *target,
	const struct nvme_tgt_subsys *subsys, struct nvme_tgt_queue *queue)
{
	enum nvme_tgt_host_verdict verdict = nvme_tgt_host_check(queue);
	bool replaces_psk = queue->concatenated && !queue->connect.qid;
	struct nvmf_connect_reply reply;

	if (nvme_tgt_host_needs_tls(queue))
		report_plain(queue);
	if (verdict == NVME_TGT_HOST_REFUSE)
		return refuse(NVMF_HOST);
	queue->authenticates = verdict == NVME_TGT_HOST_AUTHENTICATE;
	if (queue->authenticates || replaces_psk) {
		queue->new_auth = nvme_tgt_auth_new(queue);
		if (!queue->new_auth)
			return refuse(NVMF_BUSY);
	}
	reply = queue->connect.qid ? connect_io(target, subsys, queue)
				   : connect_admin(target, subsys, queue);
	reply.auth = queue->authenticates && !reply.status;
	reply.secure = reply.auth && nvme_tgt_host_must_concatenate(queue);
	if (reply.status) {
		nvme_tgt_auth_free(queue->new_auth);
		queue->new_auth = NULL;
	}
	return reply;
}

bool nvme_tgt_ctrl_connect(struct nvme_tgt_queue *queue)
{
	struct nvme_target *target = nvme_tgt_of(queue);
	const struct nvmf_connect *req = &queue->connect;
	const struct nvme_tgt_subsys *subsys = find_subsys(target, req->subnqn);
	struct nvme_tgt_ctrl *ctrl = req->qid ? find_ctrl(target, req->cntlid) : NULL;
	size_t at;

	if (ctrl && ctrl->fencing) {
		queue->wait_next = ctrl->waiting;
		ctrl->waiting = queue;
		return false;
	}
	if (target->base.stopping)
		queue->connect_reply = refuse(NVMF_BUSY);
	else if (!subsys)
		queue->connect_reply = BAD_DATA(subnqn);
	else if (!req->hostnqn[0])
		queue->connect_reply = BAD_DATA(hostnqn);
	else if (!nvme_tgt_host_is_named(queue, &at))
		queue->connect_reply = bad_data(at);
	else if (subsys->count)
		queue->connect_reply = connect_disk(target, subsys, queue);
	else
		queue->connect_reply = req->qid ? connect_io(target, subsys, queue)
						: connect_admin(target, subsys, queue);
	if (queue->connect_reply.status)
		loop_trace(target->base.loop, "%s: '%s' refused for '%s': status %xh/%02xh",
			queue->base.name, req->subnqn, req->hostnqn,
			queue->connect_reply.status >> 8 & 7, queue->connect_reply.status & 0xff);
	return true;
}

void nvme_tgt_log_changed(struct nvme_target *target)
{
	__atomic_fetch_add(&target->genctr, 1, __ATOMIC_RELEASE);
	nvme_tgt_ctrl_notify(target, NULL);
}

static void kill_queues(struct nvme_tgt_ctrl *ctrl, const struct nvme_tgt_queue *but)
{
	for (struct nvme_tgt_queue *queue = ctrl->queues; queue; queue = queue->sibling)
		if (queue != but)
			target_conn_kill(&queue->base, "its controller has ended");
}

/* Its other queues follow. */
void nvme_serve_hosts(struct target *base, const struct nvme_hosts *hosts)
{
	struct nvme_target *target = (struct nvme_target *)base;
	uint8_t tls;

	target->base.opt.chap.hosts = hosts;
	for (struct target_conn *conn = base->conns; conn; conn = conn->peer_next) {
		const struct nvme_tgt_queue *queue = (const struct nvme_tgt_queue *)conn;

		if (__atomic_load_n(&queue->has_keys, __ATOMIC_RELAXED) && !queue->ctrl)
			target_conn_kill(conn, "it began with keys that were replaced");
	}
	tls = (uint8_t)nvme_tgt_tls_use(&target->base.opt);
	if (__atomic_exchange_n(&target->tls, tls, __ATOMIC_RELAXED) != tls)
		nvme_tgt_log_changed(target);
	for (struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next)
		if (!nvme_tgt_is_discovery(ctrl) && !ctrl->pending && !ctrl->dying &&
			nvme_tgt_host_changed(ctrl, hosts))
			target_conn_kill(&ctrl->admin->base,
				"its host has to prove itself in another way now");
}

/* Its host has lost the connections. */
void nvme_tgt_ctrl_cut(struct nvme_tgt_ctrl *ctrl)
{
	ctrl->dying = true;
	for (struct nvme_tgt_queue *queue = ctrl->queues; queue; queue = queue->sibling)
		target_conn_cut(&queue->base, "another controller of the host has reset its own");
}

void nvme_tgt_ctrl_remove_queue(struct target_conn *conn)
{
	struct nvme_tgt_queue *queue = (struct nvme_tgt_queue *)conn;
	struct nvme_tgt_ctrl *ctrl = queue->bound;
	struct nvme_tgt_queue **at;

	nvme_tgt_auth_free(queue->new_auth);
	if (queue->securing && conn->why.code == DIAG_AUTH)
		report_refusal(queue, conn->why.text);
	if (!ctrl)
		return;
	for (at = &ctrl->queues; *at != queue; at = &(*at)->sibling)
		;
	*at = queue->sibling;
	if (queue->connect.qid) {
		ctrl->qids &= ~(1ull << (queue->connect.qid - 1));
		if (!ctrl->qids && ctrl->target->base.stopping && !ctrl->dying)
			target_conn_end(&ctrl->admin->base);
	} else {
		ctrl->dying = true;
		kill_queues(ctrl, NULL);
	}
	free_if_unused(ctrl);
}

void nvme_tgt_ctrl_reset(struct loop_msg *msg)
{
	struct nvme_tgt_ctrl *ctrl = container_of(msg, struct nvme_tgt_ctrl, reset);

	__atomic_store_n(&ctrl->resetting, false, __ATOMIC_RELEASE);
	kill_queues(ctrl, ctrl->admin);
	free_if_unused(ctrl);
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
	if (!ctrl->dying && __atomic_load_n(&ctrl->pending_events, __ATOMIC_RELAXED))
		notice(ctrl);
	free_if_unused(ctrl);
}

static void add_event(struct nvme_tgt_ctrl *ctrl, uint64_t bit)
{
	if (ctrl->dying)
		return;
	__atomic_fetch_or(&ctrl->pending_events, bit, __ATOMIC_RELEASE);
	if (!ctrl->noticing)
		notice(ctrl);
}

void nvme_tgt_ctrl_noted(struct loop_msg *msg)
{
	struct nvme_tgt_ctrl *ctrl = container_of(msg, struct nvme_tgt_ctrl, note);

	__atomic_store_n(&ctrl->noted, false, __ATOMIC_RELEASE);
	add_event(ctrl, NVME_TGT_PENDING_NOTE);
	free_if_unused(ctrl);
}

void nvme_tgt_ctrl_notify_access(struct nvme_target *target, unsigned group)
{
	for (struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next)
		if (target_port_group(&target->base, ctrl->port) == group &&
			!nvme_tgt_is_discovery(ctrl))
			add_event(ctrl, NVME_TGT_PENDING_ANA);
}

void nvme_tgt_ctrl_notify(struct nvme_target *target, const struct nvme_tgt_ns *ns)
{
	for (struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next) {
		bool mine =
			ns ? ns->nsid <= ctrl->subsys->count && ctrl->subsys->ns[ns->nsid - 1] == ns
			   : nvme_tgt_is_discovery(ctrl);

		if (mine)
			add_event(ctrl, ns ? 1ull << (ns->nsid - 1) : NVME_TGT_PENDING_DISC);
	}
}
