/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of a controller's admin queue (Base 2.1, section 5), and Fabrics commands (section 6):
 * properties, features, events, keep-alive, shutdown. Identify data and logs are in tgt_identify.c
 * and tgt_log.c. */
#include "tgt.h"
#include <errno.h>
#include <stdio.h>

static uint32_t cdw(le32 value)
{
	return get_le32(value);
}

static uint32_t check_nothing(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	(void)cmd;
	(void)len;
	return NVME_OK;
}

/* Keep-alive: a host without any admin command in time counts as dead. */
static void keep_fired(struct loop_timer *timer)
{
	struct nvme_tgt_ctrl *ctrl = container_of(timer, struct nvme_tgt_ctrl, keep);

	target_conn_fail(&ctrl->admin->base, DIAG_TIMEOUT, ETIMEDOUT,
		"keep-alive timeout: nothing received from the host");
}

/* A host may keep its own controllers as long as it likes, but not discovery controllers, which any
 * peer can get. */
static uint32_t kato(const struct nvme_tgt_ctrl *ctrl, uint32_t ms)
{
	return nvme_tgt_is_discovery(ctrl) && ms - 1 >= NVME_TGT_DISC_KATO_MS
		       ? NVME_TGT_DISC_KATO_MS
		       : ms;
}

void nvme_tgt_ctrl_restart_keep_alive(struct nvme_tgt_ctrl *ctrl)
{
	uint32_t ms = kato(ctrl, ctrl->kato_ms);

	ctrl->keep.fire = keep_fired;
	if (ms)
		loop_timer_set(ctrl->loop, &ctrl->keep,
			loop_now(ctrl->loop) + (ms + (uint64_t)NVME_TGT_GRACE_MS) * MSEC);
	else
		loop_timer_del(ctrl->loop, &ctrl->keep);
}

static void keep_alive(struct nvme_tgt_cmd *cmd)
{
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

/* Report each event once, then not again until its log was read (5.1.2). That of a reservation
 * can't be disabled by the feature. */
static void send_events(struct nvme_tgt_ctrl *ctrl)
{
	static const struct {
		uint32_t bit, type, notice, log;
	} events[] = {
		{ NVME_EVENT_ANA, NVME_AER_NOTICE, NVME_NOTICE_ANA, NVME_LOG_ANA },
		{ NVME_EVENT_NS_ATTR, NVME_AER_NOTICE, NVME_NOTICE_NS_CHANGED,
			NVME_LOG_CHANGED_NS },
		{ NVME_EVENT_DISC_LOG, NVME_AER_NOTICE, NVME_NOTICE_DISC_CHANGED,
			NVME_LOG_DISCOVERY },
		{ NVME_TGT_EVENT_NOTE, NVME_AER_IO, 0, NVME_LOG_RESERVATION },
	};
	uint32_t due = ctrl->due & (ctrl->event_mask | NVME_TGT_EVENT_NOTE) & ~ctrl->masked;
	struct nvme_tgt_cmd *cmd;

	for (unsigned i = 0; i < sizeof(events) / sizeof(*events) && ctrl->events; i++) {
		if (!(due & events[i].bit))
			continue;
		ctrl->due &= ~events[i].bit;
		ctrl->masked |= events[i].bit;
		cmd = ctrl->event[--ctrl->events];
		cmd->base.state = TARGET_CMD_WORK;
		nvme_tgt_cmd_result(
			cmd, events[i].type | events[i].notice << 8 | events[i].log << 16);
		nvme_tgt_cmd_worked(cmd, NVME_OK);
	}
}

void nvme_tgt_ctrl_unmask(struct nvme_tgt_ctrl *ctrl, uint32_t bit)
{
	ctrl->masked &= ~bit;
	send_events(ctrl);
}

void nvme_tgt_ctrl_noticed(struct loop_msg *msg)
{
	struct nvme_tgt_ctrl *ctrl = container_of(msg, struct nvme_tgt_ctrl, notice);
	uint64_t pending_events = __atomic_exchange_n(&ctrl->pending_events, 0, __ATOMIC_ACQUIRE);

	if (!ctrl->admin_down) {
		ctrl->changed |= (uint32_t)pending_events;
		ctrl->due |= ((uint32_t)pending_events ? NVME_EVENT_NS_ATTR : 0) |
			     (pending_events & NVME_TGT_PENDING_DISC ? NVME_EVENT_DISC_LOG : 0) |
			     (pending_events & NVME_TGT_PENDING_ANA ? NVME_EVENT_ANA : 0) |
			     (pending_events & NVME_TGT_PENDING_NOTE ? NVME_TGT_EVENT_NOTE : 0);
		send_events(ctrl);
	}
	msg->run = nvme_tgt_ctrl_notice_back;
	loop_post(ctrl->target->base.loop, msg);
}

static void event_request(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;

	if (ctrl->events == NVME_TGT_AERS) {
		nvme_tgt_cmd_worked(cmd, NVME_AER_LIMIT);
		return;
	}
	cmd->base.state = TARGET_CMD_PARKED;
	ctrl->event[ctrl->events++] = cmd;
	send_events(ctrl);
}

void nvme_tgt_ctrl_forget(struct nvme_tgt_ctrl *ctrl, const struct nvme_tgt_cmd *event)
{
	unsigned i = 0;

	while (ctrl->event[i] != event)
		i++;
	ctrl->event[i] = ctrl->event[--ctrl->events];
}

/* Shutdown: flush the disks, one after another. */
static void shut_next(struct nvme_tgt_ctrl *ctrl);

static void shut_done(struct io *io)
{
	struct nvme_tgt_ctrl *ctrl = container_of(io, struct nvme_tgt_ctrl, shut);

	ctrl->shutting = NULL;
	ctrl->shut_failed |= io->status;
	if (ctrl->admin_down)
		target_conn_wake(&ctrl->admin->base);
	else
		shut_next(ctrl);
}

static void shut_next(struct nvme_tgt_ctrl *ctrl)
{
	while (ctrl->shut_at < ctrl->subsys->count) {
		const struct target_disk *disk = ctrl->subsys->ns[ctrl->shut_at++]->disk;

		if (disk->bdev->lim.max[IO_FLUSH] && !disk->ro) {
			ctrl->shut = (struct io){
				.kind = IO_FLUSH, .done = shut_done, .lower = ctrl->lower
			};
			ctrl->shutting = disk;
			bdev_submit(ctrl->admin->base.worker->lane[disk->index], &ctrl->shut);
			return;
		}
	}
	if (!NVME_CC_SHN(ctrl->cc))
		return; /* there was a reset in the meantime */
	/* "Complete" would let the host power off. So report "in progress" with a fatal status, so
	 * that the host does not wait (3.1.4.6). */
	if (ctrl->shut_failed)
		ctrl->csts |= NVME_CSTS_CFS;
	else
		ctrl->csts = (ctrl->csts & ~(3u << 2)) | NVME_SHST_COMPLETE << 2;
}

void nvme_tgt_ctrl_quit(struct nvme_tgt_ctrl *ctrl)
{
	ctrl->admin_down = true;
	ctrl->events = 0;
	loop_timer_del(ctrl->loop, &ctrl->keep);
	if (ctrl->shutting)
		bdev_cancel(ctrl->admin->base.worker->lane[ctrl->shutting->index], &ctrl->shut);
}

/* Properties (3.1.4). */
static uint64_t capabilities(const struct nvme_tgt_ctrl *ctrl)
{
	uint64_t entries = ctrl->target->base.opt.depth - 1, ready = 30; /* unit: 500 ms */

	return entries | NVME_CAP_CQR | ready << 24 | (uint64_t)NVME_CSS_NVM << 37;
}

static uint32_t check_property(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	(void)len;
	return nvme_tgt_queue_of(cmd)->qid ? NVME_INVALID_OPCODE : NVME_OK;
}

static void property_get(struct nvme_tgt_cmd *cmd)
{
	const struct nvmf_property_sqe *sqe = (const void *)&cmd->sqe;
	const struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	bool wide = sqe->attrib & 1;
	uint32_t status = NVME_OK;
	uint64_t value = 0;

	switch (cdw(sqe->offset)) {
	case NVME_CAP:
		value = capabilities(ctrl);
		status = wide ? NVME_OK : NVME_INVALID_FIELD;
		break;
	case NVME_VS:
		value = NVME_TGT_VERSION;
		break;
	case NVME_CC:
		value = ctrl->cc;
		break;
	case NVME_CSTS:
		value = ctrl->csts;
		break;
	default:
		status = NVME_INVALID_FIELD;
	}
	if (wide && cdw(sqe->offset) != NVME_CAP)
		status = NVME_INVALID_FIELD;
	nvme_tgt_cmd_result(cmd, status ? 0 : value);
	nvme_tgt_cmd_worked(cmd, status);
}

void nvme_tgt_ctrl_kill_io(struct nvme_tgt_ctrl *ctrl)
{
	if (__atomic_exchange_n(&ctrl->resetting, true, __ATOMIC_ACQ_REL))
		return;
	ctrl->reset.run = nvme_tgt_ctrl_reset;
	loop_post(ctrl->target->base.loop, &ctrl->reset);
}

static void disable(struct nvme_tgt_ctrl *ctrl)
{
	struct nvme_tgt_cmd *cmd;

	__atomic_store_n(&ctrl->enabled, false, __ATOMIC_RELEASE);
	ctrl->csts = 0;
	/* the host's event requests end with its use of the controller */
	while (ctrl->events) {
		cmd = ctrl->event[--ctrl->events];
		target_cmd_forget(&cmd->base);
	}
	nvme_tgt_ctrl_kill_io(ctrl);
}

static void enable(struct nvme_tgt_ctrl *ctrl, uint32_t cc)
{
	uint32_t sizes = cc & (0xffu << 16);

	/* A discovery controller has no I/O queues, so their entry sizes are not set. */
	if (NVME_CC_CSS(cc) || NVME_CC_MPS(cc) ||
		(sizes != (NVME_CC_IOSQES | NVME_CC_IOCQES) &&
			!(nvme_tgt_is_discovery(ctrl) && !sizes))) {
		ctrl->csts = NVME_CSTS_CFS;
		return;
	}
	ctrl->csts = NVME_CSTS_RDY;
	__atomic_store_n(&ctrl->enabled, true, __ATOMIC_RELEASE);
}

static void configure(struct nvme_tgt_ctrl *ctrl, uint32_t cc)
{
	uint32_t before = ctrl->cc;

	ctrl->cc = cc;
	if (cc & NVME_CC_EN && !(before & NVME_CC_EN))
		enable(ctrl, cc);
	if (!(cc & NVME_CC_EN) && before & NVME_CC_EN)
		disable(ctrl);
	if (NVME_CC_SHN(cc) && !NVME_CC_SHN(before)) {
		ctrl->csts = (ctrl->csts & ~(3u << 2)) | NVME_SHST_RUNNING << 2;
		ctrl->shut_at = 0;
		ctrl->shut_failed = false;
		if (!ctrl->shutting)
			shut_next(ctrl);
	} else if (!NVME_CC_SHN(cc)) {
		ctrl->csts &= ~(3u << 2);
	}
}

static void property_set(struct nvme_tgt_cmd *cmd)
{
	const struct nvmf_property_sqe *sqe = (const void *)&cmd->sqe;

	if (sqe->attrib & 1 || cdw(sqe->offset) != NVME_CC) {
		nvme_tgt_cmd_worked(cmd, NVME_INVALID_FIELD);
		return;
	}
	configure(nvme_tgt_queue_of(cmd)->ctrl, (uint32_t)get_le64(sqe->value));
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

static uint32_t check_connect(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);

	if (queue->first_connect || queue->base.state != TARGET_OPENING)
		return NVME_SEQUENCE;
	queue->first_connect = cmd;
	*len = sizeof(struct nvmf_connect_data);
	return NVME_OK;
}

static void post_connect(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, connect_hop);

	if (!nvme_tgt_ctrl_connect(queue))
		return;
	msg->run = nvme_tgt_queue_connected;
	loop_post(queue->base.loop, msg);
}

static void connect_work(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);
	const struct nvmf_connect_sqe *sqe = (const void *)&cmd->sqe;
	struct nvmf_connect_reply no = nvmf_connect_refusal(sqe, (const void *)cmd->base.p);

	if (queue->base.state != TARGET_OPENING) {
		nvme_tgt_cmd_worked(cmd, NVME_SEQUENCE);
		return;
	}
	if (!no.status && get_le16(sqe->sqsize) >= queue->max_depth)
		no = (struct nvmf_connect_reply){ .status = NVMF_PARAM,
			.ipo = offsetof(struct nvmf_connect_sqe, sqsize) };
	if (!no.status && queue->io_only && !get_le16(sqe->qid))
		no = (struct nvmf_connect_reply){ .status = NVMF_PARAM,
			.ipo = offsetof(struct nvmf_connect_sqe, qid) };
	if (no.status) {
		nvmf_connect_reply_put(&cmd->cqe, &no);
		nvme_tgt_cmd_worked(cmd, no.status);
		return;
	}
	if (nvmf_connect_get(&queue->connect, sqe, cmd->base.p, cmd->base.piece, NULL)) {
		nvme_tgt_cmd_worked(cmd, NVME_INVALID_FIELD);
		return;
	}
	queue->connect_cmd = cmd;
	queue->connect_hop.run = post_connect;
	loop_post(queue->base.target->loop, &queue->connect_hop);
}

/* Disconnect of an I/O queue (6.4): the host closes the connection itself. */
static uint32_t check_disconnect(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	(void)len;
	return nvme_tgt_queue_of(cmd)->qid ? NVME_OK : NVME_INVALID_OPCODE;
}

static void disconnect(struct nvme_tgt_cmd *cmd)
{
	target_conn_finish(cmd->base.conn);
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

/* Features (5.1.25). */
static uint32_t check_feature(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t dw10 = cdw(cmd->sqe.cdw10);

	if (cmd->sqe.opcode == NVME_ADMIN_SET_FEATURES)
		return dw10 >> 31 ? NVME_FEATURE_UNSAVEABLE : NVME_OK;
	if (dw10 >> 8 & 7)
		return NVME_INVALID_FIELD; /* only the current value is supported */
	if ((dw10 & 0xff) == NVME_FEATURE_HOST_ID) {
		if (!(cdw(cmd->sqe.cdw11) & 1))
			return NVME_INVALID_FIELD; /* a host ID of 8 bytes is not used with fabrics
						    */
		*len = sizeof(nvme_tgt_queue_of(cmd)->ctrl->hostid);
	}
	return NVME_OK;
}

static bool caches(const struct nvme_tgt_ctrl *ctrl)
{
	for (unsigned i = 0; i < ctrl->subsys->count; i++)
		if (ctrl->subsys->ns[i]->disk->bdev->lim.max[IO_FLUSH])
			return true;
	return false;
}

static void get_feature(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	uint32_t value = 0, status = NVME_OK;

	switch (cdw(cmd->sqe.cdw10) & 0xff) {
	case NVME_FEATURE_QUEUES:
		value = (NVME_TGT_QUEUES - 1) << 16 | (NVME_TGT_QUEUES - 1);
		break;
	case NVME_FEATURE_WRITE_CACHE:
		value = caches(ctrl) && !ctrl->write_through;
		break;
	case NVME_FEATURE_ASYNC_EVENT:
		value = ctrl->event_mask;
		break;
	case NVME_FEATURE_KATO:
		value = ctrl->kato_ms;
		break;
	case NVME_FEATURE_HOST_ID:
		memcpy(cmd->base.p, ctrl->hostid, sizeof(ctrl->hostid));
		break;
	case NVME_FEATURE_RESERVE_NOTICES:
		status = nvme_tgt_notice_mask_get(ctrl, cdw(cmd->sqe.nsid), &value);
		break;
	case NVME_FEATURE_RESERVE_PERSISTENCE:
		status = nvme_tgt_persistence_get(ctrl, cdw(cmd->sqe.nsid), &value);
		break;
	case NVME_FEATURE_ARBITRATION:
	case NVME_FEATURE_POWER:
	case NVME_FEATURE_TEMPERATURE:
	case NVME_FEATURE_ERROR_RECOVERY:
	case NVME_FEATURE_ATOMICITY:
		break;
	default:
		status = NVME_INVALID_FIELD;
	}
	nvme_tgt_cmd_result(cmd, value);
	nvme_tgt_cmd_worked(cmd, status);
}

static uint32_t set_feature_to(struct nvme_tgt_cmd *cmd, uint32_t value)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	uint32_t nsid = cdw(cmd->sqe.nsid);

	switch (cdw(cmd->sqe.cdw10) & 0xff) {
	case NVME_FEATURE_QUEUES:
		if ((value & 0xffff) == 0xffff || value >> 16 == 0xffff)
			return NVME_INVALID_FIELD;
		nvme_tgt_cmd_result(cmd, (NVME_TGT_QUEUES - 1) << 16 | (NVME_TGT_QUEUES - 1));
		return NVME_OK;
	case NVME_FEATURE_WRITE_CACHE:
		if (!caches(ctrl))
			return NVME_INVALID_FIELD;
		__atomic_store_n(&ctrl->write_through, !(value & 1), __ATOMIC_RELAXED);
		return NVME_OK;
	case NVME_FEATURE_ASYNC_EVENT:
		ctrl->event_mask = value;
		send_events(ctrl);
		return NVME_OK;
	case NVME_FEATURE_KATO:
		ctrl->kato_ms = value = kato(ctrl, value);
		nvme_tgt_ctrl_restart_keep_alive(ctrl);
		nvme_tgt_cmd_result(cmd, value);
		return NVME_OK;
	case NVME_FEATURE_HOST_ID: /* 5.1.25.2.13: over fabrics Connect sets it */
		return NVME_SEQUENCE;
	case NVME_FEATURE_RESERVE_NOTICES:
		return nvme_tgt_notice_mask_set(ctrl, nsid, value);
	case NVME_FEATURE_ARBITRATION:
	case NVME_FEATURE_POWER:
	case NVME_FEATURE_TEMPERATURE:
	case NVME_FEATURE_ERROR_RECOVERY:
	case NVME_FEATURE_ATOMICITY:
		return NVME_FEATURE_FIXED;
	default:
		return NVME_INVALID_FIELD;
	}
}

static void set_feature(struct nvme_tgt_cmd *cmd)
{
	if ((cdw(cmd->sqe.cdw10) & 0xff) == NVME_FEATURE_RESERVE_PERSISTENCE)
		nvme_tgt_persistence_set(cmd);
	else
		nvme_tgt_cmd_worked(cmd, set_feature_to(cmd, cdw(cmd->sqe.cdw11)));
}

const struct nvme_tgt_op nvme_tgt_admin_ops[] = {
	{ NVME_ADMIN_GET_LOG, OP_IN | OP_DISCOVERY, "get log page", nvme_tgt_log_check,
		nvme_tgt_log_work },
	{ NVME_ADMIN_IDENTIFY, OP_IN | OP_WHOLE | OP_DISCOVERY, "identify", nvme_tgt_identify_check,
		nvme_tgt_identify_work },
	{ NVME_ADMIN_ABORT, 0, "abort", check_nothing, nvme_tgt_abort },
	{ NVME_ADMIN_CROSS_RESET, 0, "cross-controller reset", check_nothing,
		nvme_tgt_cross_reset },
	{ NVME_ADMIN_SET_FEATURES, OP_DISCOVERY, "set features", check_feature, set_feature },
	{ NVME_ADMIN_GET_FEATURES, OP_IN | OP_WHOLE | OP_DISCOVERY, "get features", check_feature,
		get_feature },
	{ NVME_ADMIN_ASYNC_EVENT, OP_DISCOVERY, "asynchronous event request", check_nothing,
		event_request },
	{ NVME_ADMIN_KEEP_ALIVE, OP_EARLY | OP_DISCOVERY, "keep-alive", check_nothing, keep_alive },
	{ 0 },
};

const struct nvme_tgt_op nvme_tgt_fabrics_ops[] = {
	{ NVMF_PROPERTY_SET, OP_EARLY | OP_DISCOVERY, "property set", check_property,
		property_set },
	{ NVMF_CONNECT, OP_OUT | OP_WHOLE, "connect", check_connect, connect_work },
	{ NVMF_PROPERTY_GET, OP_EARLY | OP_DISCOVERY, "property get", check_property,
		property_get },
	{ NVMF_AUTH_SEND, OP_OUT | OP_WHOLE | OP_AUTH, "authentication send", nvme_tgt_auth_check,
		nvme_tgt_auth_send },
	{ NVMF_AUTH_RECEIVE, OP_IN | OP_WHOLE | OP_AUTH, "authentication receive",
		nvme_tgt_auth_check, nvme_tgt_auth_receive },
	{ NVMF_DISCONNECT, OP_EARLY, "disconnect", check_disconnect, disconnect },
	{ 0 },
};
