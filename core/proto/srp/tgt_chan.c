/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A channel of the target (SRP r16a over RDMA/CM, immediate data of SRP-2). A receive is posted
 * again before the response to its message is sent, and each response returns one request to the
 * request limit. So the limit stays that of the login, and SRP_CRED_REQ is not needed. */
#include "tgt.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE  4096u
#define SPARE (SRP_TGT_TASKS + 1) /* sends besides commands: task management, one event */

enum { TASK_DONE = 0, FIELDS_INVALID = 2, TASK_UNSUPPORTED = 4, TASK_FAILED = 5 };

static struct srp_tgt_chan *chan_of(const struct target_conn *conn)
{
	return (struct srp_tgt_chan *)(uintptr_t)conn;
}

static struct srp_tgt_cmd *cmd_of(const struct target_cmd *cmd)
{
	return (struct srp_tgt_cmd *)(uintptr_t)cmd;
}

static void broken(struct srp_tgt_chan *chan, const char *text)
{
	if (!target_conn_is_closing(&chan->base))
		target_conn_fail(&chan->base, DIAG_PROTOCOL, EPROTO, text);
}

static uint8_t *reply_at(const struct srp_tgt_chan *chan, unsigned index)
{
	return chan->base.pool->base + chan->replies_at + (size_t)index * SRP_TGT_REPLY;
}

static struct ep_op send_of(const struct srp_tgt_chan *chan, uint8_t *p, uint32_t len)
{
	return (struct ep_op){ .nsge = 1,
		.flags = chan->base.ep->caps.inline_max >= len ? EP_INLINE : 0,
		.sge = { { p, len, chan->base.pool->key[chan->base.ep->dom].lkey } } };
}

/* --- data */

/* A dropped command has no response to return its request: the next response of the channel does,
 * at the latest that of the function that aborted it. */
static void dropped(struct target_cmd *base)
{
	target_rdma_forget(base);
	chan_of(base->conn)->req_lim_delta++;
}

static be32 next_delta(struct srp_tgt_chan *chan)
{
	uint32_t delta = 1 + chan->req_lim_delta;

	chan->req_lim_delta = 0;
	return put_be32(delta);
}

static struct ep_op *make_reply(struct target_cmd *base)
{
	struct srp_tgt_chan *chan = chan_of(base->conn);
	struct srp_tgt_cmd *cmd = cmd_of(base);
	const struct scsi_cmd *scsi = &cmd->scsi;
	struct srp_rsp *rsp = target_rdma_reply_buf(base);

	*rsp = (struct srp_rsp){ .opcode = SRP_RSP,
		.delta = next_delta(chan),
		.tag = cmd->tag,
		.status = scsi->status };
	if (scsi->residual && scsi->expected_out) {
		rsp->flags |= scsi->overflow ? SRP_RSP_OUT_OVER : SRP_RSP_OUT_UNDER;
		rsp->out_residual = put_be32(scsi->residual);
	} else if (scsi->residual) {
		rsp->flags |= scsi->overflow ? SRP_RSP_IN_OVER : SRP_RSP_IN_UNDER;
		rsp->in_residual = put_be32(scsi->residual);
	}
	if (scsi->sense_len) {
		rsp->flags |= SRP_RSP_SENSE;
		rsp->sense_len = put_be32(scsi->sense_len);
		memcpy(rsp + 1, scsi->sense, scsi->sense_len);
	}
	return target_rdma_make_reply(base, (uint32_t)sizeof(*rsp) + scsi->sense_len, EP_SEND, 0);
}

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	target_rdma_push(base, len, last ? make_reply(base) : NULL);
}

static void reply(struct target_cmd *base)
{
	ring_add(&base->conn->rdma.ring, make_reply(base));
}

/* --- commands */

static struct xfer_seg seg_of(const struct srp_direct *desc)
{
	return (struct xfer_seg){ get_be64(desc->va), get_be32(desc->key), get_be32(desc->len) };
}

/* Copy the descriptors, so that the peer can't change them any more. False: shorter than the data.
 */
static bool copy_descriptors(struct srp_tgt_cmd *cmd, const struct srp_direct *list, unsigned count)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < count; i++) {
		cmd->seg[i] = seg_of(&list[i]);
		sum += cmd->seg[i].len;
	}
	cmd->scsi.base.rdma->segs = count;
	return cmd->room <= sum;
}

/* A table that is not wholly in the message is read from the initiator's memory: until then the
 * table is the only segment. */
static bool parse_indirect(
	struct srp_tgt_chan *chan, struct srp_tgt_cmd *cmd, struct rd *in, unsigned count)
{
	const struct srp_direct *table = rd_take(in, sizeof(*table)), *list;
	const be32 *len = rd_take(in, sizeof(*len));
	uint32_t bytes;

	list = rd_take(in, count * sizeof(*list));
	if (in->bad)
		return false;
	bytes = get_be32(table->len);
	cmd->room = get_be32(*len);
	if (bytes == count * sizeof(*list))
		return copy_descriptors(cmd, list, count);
	if (bytes < count * sizeof(*list) || bytes > SRP_TGT_TABLE || bytes % sizeof(*list))
		return false;
	chan->fetching = cmd;
	cmd->seg[0] = seg_of(table);
	return true;
}

/* Immediate data begins at the offset that the login has set. */
static bool parse_immediate(const struct srp_tgt_chan *chan, struct srp_tgt_cmd *cmd, struct rd *in)
{
	const struct ep_rx *rx = cmd->scsi.base.rdma->rx;
	const be32 *len = rd_take(in, sizeof(*len));

	if (!len || !chan->imm_offset || in->p > rx->p + chan->imm_offset ||
		chan->imm_offset > rx->len || get_be32(*len) > rx->len - chan->imm_offset)
		return false;
	cmd->imm_data = rx->p + chan->imm_offset;
	cmd->room = get_be32(*len);
	return true;
}

/* Parse the data descriptors; false: invalid. */
static bool parse_data(struct srp_tgt_chan *chan, struct srp_tgt_cmd *cmd)
{
	struct target_rdma_cmd *rdma = cmd->scsi.base.rdma;
	const struct srp_cmd *iu = (const void *)rdma->rx->p;
	uint8_t out = iu->format >> 4, in_ = iu->format & 0xf, format = out ? out : in_;
	struct rd in = rd_init(iu + 1, rdma->rx->len - sizeof(*iu));
	const struct srp_direct *desc;

	cmd->imm_data = NULL;
	cmd->room = rdma->segs = 0;
	rd_take(&in, iu->add_cdb & ~3u);
	if (in.bad || (out && in_))
		return false;
	switch (format) {
	case SRP_NO_DATA:
		return true;
	case SRP_DIRECT:
		desc = rd_take(&in, sizeof(*desc));
		if (!desc)
			return false;
		cmd->seg[0] = seg_of(desc);
		rdma->segs = 1;
		cmd->room = cmd->seg[0].len;
		return true;
	case SRP_INDIRECT:
		return parse_indirect(chan, cmd, &in, out ? iu->out_descs : iu->in_descs);
	case SRP_IMM:
		return out && parse_immediate(chan, cmd, &in);
	default:
		return false;
	}
}

static void run_command(struct srp_tgt_chan *chan, struct srp_tgt_cmd *cmd)
{
	struct scsi_cmd *scsi = &cmd->scsi;
	const struct srp_cmd *iu = (const void *)scsi->base.rdma->rx->p;
	uint32_t extra = iu->add_cdb & ~3u;

	scsi->nexus = chan->nexus;
	memcpy(scsi->lun, iu->lun, sizeof(scsi->lun));
	memset(scsi->cdb, 0, sizeof(scsi->cdb));
	if (extra > sizeof(scsi->cdb) - sizeof(iu->cdb))
		extra = sizeof(scsi->cdb) - sizeof(iu->cdb);
	memcpy(scsi->cdb, iu->cdb, sizeof(iu->cdb));
	memcpy(scsi->cdb + sizeof(iu->cdb), iu + 1, extra);
	scsi->cdb_len = (uint8_t)(sizeof(iu->cdb) + extra);
	scsi->attr = (iu->attr & 7) == 1   ? SCSI_HEAD
		     : (iu->attr & 7) == 2 ? SCSI_ORDERED
		     : (iu->attr & 7) == 4 ? SCSI_ACA
					   : SCSI_SIMPLE;
	scsi->tag = get_be64(iu->tag);
	scsi->expected_out = iu->format >> 4 ? cmd->room : 0;
	scsi->expected_in = iu->format & 0xf ? cmd->room : 0;
	scsi_run(scsi);
}

#define BAD_DATA "command with invalid data descriptors"

/* The table was read. resume() handles the messages behind its command. */
static void fetched(struct xfer *x)
{
	struct target_rdma_cmd *rdma = container_of(x, struct target_rdma_cmd, xfer);
	struct srp_tgt_cmd *cmd = cmd_of(rdma->cmd);
	struct srp_tgt_chan *chan = chan_of(rdma->cmd->conn);
	const struct srp_direct *list = (const void *)(chan->base.pool->base + chan->table_at);

	chan->fetching = NULL;
	x->moved = target_rdma_moved;
	target_cmd_disarm_timeout(rdma->cmd);
	target_conn_wake(&chan->base);
	if (copy_descriptors(cmd, list, rdma->segs))
		run_command(chan, cmd);
	else
		broken(chan, BAD_DATA);
}

static bool begin_command(struct srp_tgt_chan *chan, struct ep_rx *rx)
{
	const struct srp_cmd *iu = (const void *)rx->p;
	struct target_cmd *base = target_cmd_alloc(&chan->base);
	struct srp_tgt_cmd *cmd = (struct srp_tgt_cmd *)base;
	struct pool *pool = chan->base.pool;
	struct buf table = { pool->base + chan->table_at, SRP_TGT_TABLE, pool };
	uint32_t bytes;

	if (!base)
		return false;
	base->rdma->rx = rx;
	base->rdma->seg = cmd->seg;
	cmd->tag = iu->tag;
	if (!parse_data(chan, cmd)) {
		broken(chan, BAD_DATA);
	} else if (chan->fetching) {
		bytes = cmd->seg[0].len;
		base->rdma->segs = bytes / sizeof(struct srp_direct);
		base->rdma->xfer.moved = fetched;
		target_cmd_arm_timeout(base);
		target_rdma_read(base, &table, cmd->seg, 0, bytes);
	} else {
		run_command(chan, cmd);
	}
	return true;
}

/* Immediate data is either the whole data of a command or none. */
uint32_t srp_tgt_decode(struct target_cmd *base)
{
	struct srp_tgt_cmd *cmd = cmd_of(base);
	uint32_t status = scsi_decode(base);

	if (!status && base->data_len && base->flags & TARGET_OUT && cmd->imm_data) {
		base->immediate = true;
		base->p = cmd->imm_data;
		base->pool = base->conn->pool;
	}
	return status;
}

/* --- task management */

static void send_task(struct srp_tgt_task *task, uint8_t code)
{
	struct srp_tgt_chan *chan = task->chan;
	uint8_t *p = reply_at(chan, chan->base.slots + (unsigned)(task - chan->task));
	struct srp_rsp *rsp = (void *)p;

	*rsp = (struct srp_rsp){ .opcode = SRP_RSP,
		.delta = next_delta(chan),
		.tag = task->tag,
		.flags = SRP_RSP_DATA,
		.data_len = put_be32(4) };
	memcpy(rsp + 1, (uint8_t[]){ 0, 0, 0, code }, 4);
	task->reply = send_of(chan, p, sizeof(*rsp) + 4);
	ring_add(&chan->base.rdma.ring, &task->reply);
	target_conn_wake(&chan->base);
}

static void task_done(struct scsi_tmf *tmf)
{
	static const uint8_t codes[] = { [SCSI_TMF_DONE] = TASK_DONE,
		[SCSI_TMF_NO_TASK] = TASK_FAILED,
		[SCSI_TMF_NO_LUN] = TASK_FAILED,
		[SCSI_TMF_UNSUPPORTED] = TASK_UNSUPPORTED };

	if (!target_conn_is_closing(&((struct srp_tgt_task *)tmf)->chan->base))
		send_task((struct srp_tgt_task *)tmf, codes[tmf->answer]);
}

static int function_of(uint8_t code)
{
	switch (code) {
	case SRP_TSK_ABORT_TASK:
		return SCSI_ABORT_TASK;
	case SRP_TSK_ABORT_TASK_SET:
		return SCSI_ABORT_TASK_SET;
	case SRP_TSK_CLEAR_TASK_SET:
		return SCSI_CLEAR_TASK_SET;
	case SRP_TSK_LUN_RESET:
		return SCSI_LUN_RESET;
	case SRP_TSK_CLEAR_ACA:
		return SCSI_CLEAR_ACA;
	default:
		return -1;
	}
}

static bool begin_task(struct srp_tgt_chan *chan, struct ep_rx *rx)
{
	const struct srp_tsk_mgmt *iu = (const void *)rx->p;
	struct srp_tgt_task *task = chan->task;
	int function;

	if (rx->len < sizeof(*iu)) {
		broken(chan, "task management request is too short");
		return true;
	}
	while (task->busy)
		if (++task == chan->task + SRP_TGT_TASKS)
			return false;
	function = function_of(iu->function);
	*task = (struct srp_tgt_task){ .tmf = { .function = (uint8_t)function,
					       .tag = get_be64(iu->task_tag),
					       .done = task_done },
		.chan = chan,
		.tag = iu->tag,
		.busy = true };
	memcpy(task->tmf.lun, iu->lun, sizeof(iu->lun));
	ring_repost(&chan->base.rdma.ring, rx);
	if (function < 0)
		send_task(task, TASK_UNSUPPORTED);
	else
		scsi_tmf(chan->nexus, &task->tmf);
	return true;
}

/* --- events */

static void send_event(struct srp_tgt_chan *chan)
{
	static const uint8_t sense[18] = { [0] = 0x70, [2] = 6, [7] = 10, [12] = 0x2a, [13] = 9 };
	struct srp_aer_req *req;
	uint8_t *p;

	if (chan->event.unsent || chan->event.unanswered || !chan->event.due ||
		chan->base.state != TARGET_LIVE)
		return; /* the memory of a channel that has ended may be freed */
	p = reply_at(chan, chan->base.slots + SRP_TGT_TASKS);
	req = (void *)p;
	*req = (struct srp_aer_req){ .opcode = SRP_AER_REQ, .sense_len = put_be32(sizeof(sense)) };
	req->lun[1] = (uint8_t)__builtin_ctz(chan->event.due);
	memcpy(req + 1, sense, sizeof(sense));
	chan->event.due &= chan->event.due - 1;
	chan->event.unsent = chan->event.unanswered = true;
	chan->event.op = send_of(chan, p, sizeof(*req) + sizeof(sense));
	ring_add(&chan->base.rdma.ring, &chan->event.op);
	target_conn_wake(&chan->base);
}

void srp_tgt_event(struct loop_msg *hop)
{
	struct srp_tgt_chan *chan = container_of(hop, struct srp_tgt_chan, event.hop);

	chan->event.due |= __atomic_exchange_n(&chan->event.pending, 0, __ATOMIC_ACQ_REL);
	send_event(chan);
}

static void handle_aer_rsp(struct srp_tgt_chan *chan, struct ep_rx *rx)
{
	if (rx->len < sizeof(struct srp_plain) || !chan->event.unanswered) {
		broken(chan, "response to a request that was not sent");
		return;
	}
	chan->event.unanswered = false;
	ring_repost(&chan->base.rdma.ring, rx);
	send_event(chan);
	target_conn_wake(&chan->base);
}

/* --- messages */

/* False: it must wait for the admission, or for a free command or task management function. */
static bool receive(struct target_conn *conn, struct ep_rx *rx)
{
	struct srp_tgt_chan *chan = chan_of(conn);

	if (!rx->len) {
		broken(chan, "empty message");
		return true;
	}
	if (conn->state != TARGET_LIVE || chan->fetching)
		return false;
	switch (rx->p[0]) {
	case SRP_CMD:
		if (rx->len >= sizeof(struct srp_cmd))
			return begin_command(chan, rx);
		broken(chan, "command is shorter than 48 bytes");
		return true;
	case SRP_TSK_MGMT:
		return begin_task(chan, rx);
	case SRP_AER_RSP:
		handle_aer_rsp(chan, rx);
		return true;
	case SRP_I_LOGOUT:
		ring_repost(&chan->base.rdma.ring, rx);
		target_conn_finish(&chan->base);
		return true;
	default:
		broken(chan, "message of a type that no initiator sends");
		return true;
	}
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	target_rdma_received(ep, rx, receive);
}

/* The target stops and all commands were answered: send SRP_T_LOGOUT. */
static void log_out(struct srp_tgt_chan *chan)
{
	struct target_cmd *base = target_cmd_alloc(&chan->base);
	struct srp_t_logout logout = { .opcode = SRP_T_LOGOUT };

	chan->logged_out = true;
	base->rdma->rx = NULL;
	memcpy(target_rdma_reply_buf(base), &logout, sizeof(logout));
	base->state = TARGET_CMD_REPLY;
	target_cmd_arm_timeout(base);
	ring_add(&chan->base.rdma.ring, target_rdma_make_reply(base, sizeof(logout), EP_SEND, 0));
}

static void resume(struct target_conn *conn)
{
	struct srp_tgt_chan *chan = chan_of(conn);

	target_rdma_resume(conn, receive);
	if (conn->state == TARGET_ENDING && target_stopping(conn->target) && !conn->used &&
		!chan->logged_out)
		log_out(chan);
}

static struct srp_tgt_task *task_of(struct srp_tgt_chan *chan, const struct ep_op *op)
{
	for (unsigned i = 0; i < SRP_TGT_TASKS; i++)
		if (op == &chan->task[i].reply)
			return &chan->task[i];
	return NULL;
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct srp_tgt_chan *chan = ep->user;
	struct srp_tgt_task *task;

	if (xfer_sent(&chan->base.rdma.port, op))
		return;
	task = task_of(chan, op);
	if (task) {
		task->busy = false;
		if (chan->base.rdma.backlog)
			target_conn_wake(&chan->base);
	} else if (op == &chan->event.op) {
		chan->event.unsent = false;
		send_event(chan);
	} else {
		target_cmd_replied(target_rdma_cmd_of(op));
	}
}

/* --- the channel */

/* The device is known: allocate as many commands as it supports. */
static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct srp_tgt_chan *chan = ep->user;
	struct target_conn *conn = &chan->base;
	unsigned slots = target_rdma_depth(ep, SRP_TGT_DEPTH, 1, SPARE);
	struct target_rdma_layout layout = { .receives_at = PAGE - chan->imm_offset,
		.stride = chan->stride,
		.receive = chan->iu_len,
		.count = slots + 1,
		.replies_at = chan->replies_at,
		.reply = SRP_TGT_REPLY };
	struct srp_login_rsp rsp = { .opcode = SRP_LOGIN_RSP,
		.tag = chan->login.tag,
		.it_iu_len = put_be32(chan->iu_len),
		.ti_iu_len = put_be32(SRP_TGT_REPLY),
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT) };
	struct srp_login_instance own = { .instance = put_be64(srp_tgt_of(chan)->instance) };
	int err;

	conn->ep = ep;
	if (!slots)
		return -ENOSPC;
	err = target_rdma_alloc(conn, slots, &ep->why);
	if (!err)
		err = target_rdma_start(conn, &layout, EP_READ_SINK, &ep->why);
	if (err)
		return err;
	rsp.delta = put_be32(slots);
	rsp.flags = chan->imm_offset ? SRP_IMMEDIATE : 0;
	if (chan->other_channels)
		rsp.flags |= chan->login.flags & SRP_MULTI_CHANNEL ? SRP_CHANNELS_STAY
								   : SRP_CHANNELS_ENDED;
	memcpy(own.magic, SRP_INSTANCE_MAGIC, sizeof(own.magic));
	memcpy(priv, &rsp, sizeof(rsp));
	memcpy(priv + sizeof(rsp), &own, sizeof(own));
	return sizeof(rsp) + sizeof(own);
}

static void up(struct ep *ep)
{
	struct srp_tgt_chan *chan = ep->user;

	target_rdma_up(ep);
	if (chan->base.state == TARGET_OPENING)
		srp_tgt_admit(chan);
}

void srp_tgt_admitted(struct loop_msg *hop)
{
	struct srp_tgt_chan *chan = container_of(hop, struct srp_tgt_chan, hop);
	struct target_conn *conn = &chan->base;
	struct diag why = { 0 };
	int err = 0;

	chan->admit_pending = false;
	target_conn_wake(conn);
	if (conn->state != TARGET_OPENING)
		return;
	if (chan->refused) {
		target_conn_fail(conn, DIAG_BUSY, EBUSY, chan->refused);
		return;
	}
	for (unsigned i = 0; !err && i < chan->base.target->opt.disks; i++)
		err = target_conn_map(conn, i, &why);
	if (err)
		target_conn_fail(conn, why.code, why.err, why.text);
	else
		target_conn_live(conn, conn->slots);
}

static const struct ep_events events = { requested, up, received, sent, target_rdma_idle,
	target_rdma_down };

static void chan_free(struct target_conn *conn)
{
	struct srp_tgt_chan *chan = chan_of(conn);

	target_rdma_free(conn);
	scsi_nexus_free(chan->nexus);
}

static int make_nexus(struct srp_tgt_chan *chan, struct diag *diag)
{
	struct scsi_nexus_conf conf = {
		.target = srp_tgt_of(chan)->scsi,
		.conn = &chan->base,
		.id_len = 24,
		.name_at = 16, /* the GUID, behind the identifier extension */
		.name_len = 8,
		.joins = chan->other_channels && chan->login.flags & SRP_MULTI_CHANNEL,
	};

	conf.id[0] = SCSI_SRP;
	memcpy(conf.id + 8, chan->login.initiator, sizeof(chan->login.initiator));
	return scsi_nexus_new(&chan->nexus, &conf, diag);
}

/* Place receives so that immediate data begins at a page boundary, aligned for the disk. */
static int chan_open(struct target_conn *conn, struct diag *diag)
{
	struct srp_tgt_chan *chan = chan_of(conn);
	uint32_t offset = get_be16(chan->login.imm_offset);
	int err;

	if (chan->login.flags & SRP_IMMEDIATE && offset >= sizeof(struct srp_cmd) + sizeof(be32) &&
		offset <= PAGE)
		chan->imm_offset = offset;
	chan->iu_len = get_be32(chan->login.it_iu_len);
	chan->stride = (2 * PAGE - 1 - chan->imm_offset + chan->iu_len) / PAGE * PAGE;
	chan->replies_at = chan->stride * (SRP_TGT_DEPTH + 1);
	chan->table_at = chan->replies_at + (SRP_TGT_DEPTH + SPARE) * SRP_TGT_REPLY;
	err = pool_new(&conn->pool, (uint32_t)(chan->table_at + SRP_TGT_TABLE), 1, diag);
	if (!err)
		err = make_nexus(chan, diag);
	if (err)
		return target_rdma_reject(conn, err);
	/* a response to our SRP_AER_REQ does not count for the request limit */
	return target_rdma_accept(
		conn, &events, 2 * SRP_TGT_DEPTH + SPARE, SRP_TGT_DEPTH + 1, SRP_TGT_REPLY, diag);
}

const struct target_carrier srp_tgt_carrier = { .name = "rdma",
	.cmd_size = sizeof(struct srp_tgt_cmd),
	.open = chan_open,
	.pull = target_rdma_pull,
	.push = push,
	.reply = reply,
	.forget = dropped,
	.flush = target_rdma_flush,
	.resume = resume,
	.moved = target_rdma_progress,
	.hung_up = target_rdma_hung_up,
	.close = target_rdma_close,
	.reset = target_rdma_reset,
	.free = chan_free };
