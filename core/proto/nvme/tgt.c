/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NVMe target as a whole: build subsystems from options, and provide the frame with the
 * protocol's functions. */
#include "tgt.h"
#include <errno.h>
#include <stdlib.h>

#define BUFFER 131072 /* at least: half of a buffer holds the largest block */

static void transports_changed(struct target *base)
{
	nvme_tgt_log_changed((struct nvme_target *)base);
}

static void work(struct target_cmd *base)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;

	if (cmd->abandoned)
		nvme_tgt_cmd_worked(cmd, cmd->abandoned);
	else
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

	if (queue->auth)
		nvme_tgt_auth_down(queue->auth);
	if (is_admin(queue))
		nvme_tgt_ctrl_quit(queue->ctrl);
}

static bool busy(const struct target_conn *conn)
{
	const struct nvme_tgt_queue *queue = (const struct nvme_tgt_queue *)conn;

	return is_admin(queue) && queue->ctrl->shutting;
}

/* Evict an admin queue last, as all other queues of its controller end with it. */
static bool stop_last(const struct target_conn *conn)
{
	const struct nvme_tgt_queue *queue = (const struct nvme_tgt_queue *)conn;

	return queue->bound && !queue->connect.qid && queue->bound->qids;
}

static bool is_client(const struct nvme_tgt_ctrl *ctrl)
{
	return !nvme_tgt_is_discovery(ctrl) && !ctrl->dying && !ctrl->pending;
}

static void count_clients(const struct target *base, struct target_status *status)
{
	const struct nvme_target *target = (const struct nvme_target *)base;

	status->clients = 0;
	for (const struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next) {
		status->clients += is_client(ctrl);
		status->queues += (unsigned)__builtin_popcountll(ctrl->qids);
	}
}

static void show_host(const struct nvme_tgt_ctrl *ctrl, nvme_each_host *each, void *arg)
{
	const char *identity = ctrl->admin->identity;
	struct nvme_psk_names names = { 0 };
	struct nvme_served_host host = { .hostnqn = ctrl->hostnqn,
		.generated = ctrl->concatenated,
		.subnqn = ctrl->subnqn,
		.address = &ctrl->admin->base.peer,
		.identity = identity,
		.authenticated = ctrl->authenticates };

	if (identity && nvme_psk_parse(identity, strlen(identity), &names))
		host.cipher = names.len == 48 ? "TLS_AES_256_GCM_SHA384" : "TLS_AES_128_GCM_SHA256";
	each(&host, arg);
}

void nvme_serve_each_host(const struct target *base, nvme_each_host *each, void *arg)
{
	const struct nvme_target *target = (const struct nvme_target *)base;

	for (const struct nvme_tgt_ctrl *ctrl = target->ctrls; ctrl; ctrl = ctrl->next)
		if (is_client(ctrl))
			show_host(ctrl, each, arg);
}

static void resized(struct target *base, struct target_disk *disk)
{
	struct nvme_target *target = (struct nvme_target *)base;

	nvme_tgt_ctrl_notify(target, &target->ns[disk->index]);
}

static void access_changed(struct target *base, unsigned group)
{
	nvme_tgt_ctrl_notify_access((struct nvme_target *)base, group);
}

static void target_free(struct target *base)
{
	struct nvme_target *target = (struct nvme_target *)base;

	for (unsigned i = 0; i < TARGET_DISKS; i++)
		reservations_put(target->ns[i].reservations);
	free(target);
}

static const struct target_proto proto = { .name = "nvme",
	.handshake_name = "Connect command, or authentication",
	.depth = 128,
	.connections = NVME_TGT_CONNECTIONS,
	.open_ms = NVME_TGT_CONNECT_MS,
	.stall_ms = NVME_TGT_STALL_MS,
	.announced = NVME_TGT_QUEUES,
	.stream = nvme_tgt_tcp_incoming,
	.rdma = nvme_tgt_rdma_incoming,
	.transports_changed = transports_changed,
	.decode = nvme_tgt_decode,
	.work = work,
	.complete = nvme_tgt_complete,
	.status = nvme_tgt_status,
	.closing = closing,
	.down = down,
	.busy = busy,
	.stop_last = stop_last,
	.closed = nvme_tgt_ctrl_remove_queue,
	.count_clients = count_clients,
	.resized = resized,
	.access_changed = access_changed,
	.preempted = nvme_tgt_preempted,
	.free = target_free };

static struct nvme_tgt_subsys *subsys_of(struct nvme_target *target, const char *nqn)
{
	for (unsigned i = 0; i < target->subsystems; i++)
		if (!strcmp(target->subsys[i].nqn, nqn))
			return &target->subsys[i];
	target->subsys[target->subsystems].nqn = nqn;
	return &target->subsys[target->subsystems++];
}

static int add_disks(
	struct nvme_target *target, const struct target_options *opt, struct diag *diag)
{
	subsys_of(target, NVMF_DISCOVERY_NQN);
	for (unsigned i = 0; i < opt->disks; i++) {
		const struct target_disk_options *conf = &opt->disk[i];
		struct nvme_tgt_ns *ns = &target->ns[i];
		struct nvme_tgt_subsys *subsys;

		if (!conf->name[0] || strlen(conf->name) > NVMF_NQN_MAX)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"NQN '%.300s': length must be 1 to %u bytes", conf->name,
				NVMF_NQN_MAX);
		if (!strcmp(conf->name, NVMF_DISCOVERY_NQN))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"'%s' is reserved for the discovery service", conf->name);
		subsys = subsys_of(target, conf->name);
		subsys->ns[subsys->count++] = ns;
		*ns = (struct nvme_tgt_ns){ .conf = &target->base.opt.disk[i],
			.disk = &target->base.disk[i],
			.nsid = subsys->count,
			.reservations = reservations_get(conf->bdev),
			.shift = (uint8_t)__builtin_ctz(conf->bdev->lim.block) };
		if (!ns->reservations)
			return diag_sys(diag, ENOMEM, "reservations");
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

int nvme_serve(struct target **out, struct loop *loop, const struct target_options *given,
	uint32_t timeout_ms, struct diag *diag)
{
	struct nvme_target *target = calloc(1, sizeof(*target));
	struct target_options opt = *given;
	int err;

	if (!target)
		return diag_sys(diag, ENOMEM, "target");
	opt.buffer = power_of_2(given->buffer);
	if (!opt.cntlid_max)
		opt.cntlid_max = NVMF_CNTLID_MAX;
	if (!opt.cntlid_min)
		opt.cntlid_min = 1;
	target->genctr = 1;
	target->ciu = 1;
	target->has_hosts_file = opt.chap.hosts;
	target->tls = (uint8_t)nvme_tgt_tls_use(&opt);
	nvme_tgt_reset_init(target);
	err = add_disks(target, &opt, diag);
	if (err) {
		target_free(&target->base);
		return err;
	}
	err = target_start(&target->base, loop, &proto, &opt, timeout_ms, diag);
	if (!err)
		*out = &target->base;
	return err;
}
