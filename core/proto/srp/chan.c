/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One SRP channel of an initiator (SRP r16a; over RDMA/CM like Linux). The login is in the private
 * data of the connection manager. A command is one SEND of 64 bytes, followed by short write data
 * if the target accepts immediate data; otherwise the target accesses the data by the pool's key.
 */
#include "names.h"
#include "srp.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IU (sizeof(struct srp_cmd) + sizeof(struct srp_direct))
#define RX 320 /* longest response: 36 bytes, 4 of response data, 252 of sense, rounded up */
/* Longest message without immediate data: Linux 6.12 cuts sense data to this, less 36. */
#define IU_PLAIN 320
#define OTHERS   (SRP_ANSWERS + 1) /* besides commands: answers, one task function */
#define ABORT_MS 10000             /* time for the answer to ABORT TASK */
/* The channel fails after this many checks, at this interval, of a window that stays closed. */
#define STALLS   6
#define STALL_MS 5000
/* SCSI status, also set after a successful ABORT TASK */
#define TASK_ABORTED 0x40

static void chan_fail(struct scsi_sess *sess, const struct diag *why)
{
	struct srp_chan *chan = (struct srp_chan *)sess;

	if (sess->state != SCSI_SESS_OPENING && sess->state != SCSI_SESS_UP)
		return;
	sess->why = *why;
	sess->state = SCSI_SESS_CLOSING;
	if (sess->inflight.used)
		ep_abandon(chan->ep);
	else
		chan->ep->ops->close(chan->ep);
}

static void breach(struct srp_chan *chan, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO, "%s", text);
	chan_fail(&chan->base, &why);
}

/* The tag differs from those of earlier commands in this slot, so that a repeated or late response
 * does not match. Bit 63 is set in the tags of task management functions. */
static uint64_t tag_of(const struct srp_slot *slot)
{
	return (uint64_t)slot->generation << 16 | slot->base.flight.tag;
}

static bool is_answer(const struct srp_chan *chan, const struct ep_op *op)
{
	const uint8_t *at = (const uint8_t *)op, *from = (const uint8_t *)chan->answer;

	return at >= from && at < from + sizeof(chan->answer);
}

/* Reserve one request for an abort. */
static void set_limit(struct srp_chan *chan)
{
	int64_t window = chan->window - (chan->abort.slot && chan->window);

	inflight_limit(&chan->base.inflight, window < chan->room ? (uint32_t)window : chan->room);
}

static void check_stall(struct loop_timer *timer)
{
	struct srp_chan *chan = container_of(timer, struct srp_chan, stall);
	struct diag why = { 0 };

	chan->stalls = chan->base.inflight.waiting ? chan->stalls + 1 : 0;
	if (chan->stalls < STALLS) {
		loop_timer_set(chan->base.loop, timer, loop_now(chan->base.loop) + STALL_MS * MSEC);
		return;
	}
	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "the target takes no command for %u s",
		STALLS * STALL_MS / 1000);
	chan_fail(&chan->base, &why);
}

/* The request limit is the number of further requests. Together with those in flight it is a
 * window: each response shrinks it by one, the REQUEST LIMIT DELTA adds to it. False: invalid
 * delta. */
static bool move_window(struct srp_chan *chan, uint32_t delta, int ended)
{
	int64_t window = chan->window + (int32_t)delta - ended;

	if (window < 0 || window > INT32_MAX) {
		breach(chan, "the target changes the request limit to an impossible value");
		return false;
	}
	chan->window = window;
	set_limit(chan);
	if (window) {
		loop_timer_del(chan->base.loop, &chan->stall);
	} else if (!chan->stall.on) {
		chan->stalls = 0;
		loop_timer_set(
			chan->base.loop, &chan->stall, loop_now(chan->base.loop) + STALL_MS * MSEC);
	}
	return true;
}

static void flush(struct loop_work *work)
{
	struct srp_chan *chan = container_of(work, struct srp_chan, flush);

	if (chan->base.state != SCSI_SESS_UP)
		return;
	for (struct ep_op *op = chan->ring.chain; op; op = op->next)
		if (!is_answer(chan, op))
			container_of(op, struct srp_slot, op)->queued = false;
	ring_flush(&chan->ring);
}

static void post(struct srp_chan *chan, struct ep_op *op)
{
	if (!chan->ring.chain)
		loop_work_add(chan->base.loop, &chan->flush);
	ring_add(&chan->ring, op);
}

/* Send ABORT TASK once the request limit allows it. The command's tag is not reused before the
 * response, as the target may still look for it. */
static void send_abort(struct srp_chan *chan)
{
	struct srp_answer *task = &chan->answer[SRP_ANSWERS];
	const struct srp_slot *slot = chan->abort.slot;
	struct srp_tsk_mgmt iu = { .opcode = SRP_TSK_MGMT, .function = SRP_TSK_ABORT_TASK };

	if (!slot || chan->abort.sent || task->busy || chan->base.inflight.used >= chan->window)
		return;
	chan->abort.sent = task->busy = true;
	iu.tag = put_be64(++chan->abort.tag);
	iu.task_tag = put_be64(tag_of(slot));
	memcpy(iu.lun, ((const struct srp_cmd *)(const void *)slot->iu)->lun, sizeof(iu.lun));
	memcpy(task->iu, &iu, sizeof(iu));
	task->op = (struct ep_op){ .nsge = 1, .sge = { { task->iu, sizeof(iu), chan->lkey } } };
	post(chan, &task->op);
}

/* Abort and repeat a command without a response, once. If that fails too, or if no command was
 * answered since the last abort, the channel is dead. */
static void command_timeout(struct inflight *inflight, struct inflight_slot *flight)
{
	struct srp_chan *chan = container_of(inflight, struct srp_chan, base.inflight);
	struct srp_slot *slot = (struct srp_slot *)flight;
	struct diag why = { 0 };
	uint64_t now = loop_now(chan->base.loop);

	if (chan->abort.slot && chan->abort.slot != slot) {
		inflight_extend(inflight, flight, now + ABORT_MS * MSEC);
		return;
	}
	if (!chan->abort.slot && !chan->abort.fruitless && !slot->queued && !flight->replied &&
		chan->window > 1 && chan->base.ev->should_abort &&
		chan->base.ev->should_abort(&chan->base, flight->owner)) {
		chan->abort.slot = slot;
		chan->abort.fruitless = true;
		set_limit(chan);
		inflight_extend(inflight, flight, now + ABORT_MS * MSEC);
		send_abort(chan);
		return;
	}
	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time",
		chan->base.ev->name(flight->owner));
	chan_fail(&chan->base, &why);
}

static void put_id(const struct srp_conf *conf, uint8_t to[16], const uint8_t id[16])
{
	unsigned guid = conf->rev10 ? 0 : 8;

	memcpy(to + guid, id + 8, 8);
	memcpy(to + 8 - guid, id, 8);
}

static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct srp_chan *chan = ep->user;
	const struct srp_conf *conf = chan->conf;
	uint32_t room = ep->caps.send < ep->caps.recv ? ep->caps.send : ep->caps.recv;
	uint8_t *rx = chan->pool->base + (chan->base.inflight.count + OTHERS) * IU;
	struct srp_login_cm login = { .opcode = SRP_LOGIN_REQ,
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT),
		.flags = chan->first ? 0 : SRP_MULTI_CHANNEL };
	int err;

	if (room <= OTHERS || !ep->caps.sge)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device allows only %u requests per connection", room);
	chan->room = room - OTHERS;
	if (chan->room > chan->base.inflight.count)
		chan->room = chan->base.inflight.count;
	err = ep->ops->reg(ep, chan->pool, EP_LOCAL, &ep->why);
	if (err)
		return err;
	chan->registered = true;
	chan->lkey = chan->pool->key[ep->dom].lkey;
	ring_start(&chan->ring, ep, chan->pool, rx, RX, RX, chan->room + OTHERS);
	if (chan->imm && ep->caps.sge > 1) {
		login.flags |= SRP_IMMEDIATE;
		login.imm_offset = put_be16(IU);
		login.it_iu_len = put_be32((uint32_t)IU + chan->imm);
	} else {
		login.it_iu_len = put_be32(IU_PLAIN);
		chan->imm = 0;
	}
	put_id(conf, login.initiator, conf->initiator);
	put_id(conf, login.target, conf->target);
	if (addr_service(&conf->base.dst)) {
		struct srp_login_req req = { .opcode = login.opcode,
			.it_iu_len = login.it_iu_len,
			.formats = login.formats,
			.flags = login.flags,
			.imm_offset = login.imm_offset };

		memcpy(req.initiator, login.initiator, sizeof(req.initiator));
		memcpy(req.target, login.target, sizeof(req.target));
		memcpy(priv, &req, sizeof(req));
		return sizeof(req);
	}
	memcpy(priv, &login, sizeof(login));
	return sizeof(login);
}

static void parse_instance(struct srp_chan *chan, const struct srp_login_rsp *rsp, unsigned len)
{
	struct srp_login_instance own;

	chan->instance = 0;
	if (len < sizeof(*rsp) + sizeof(own))
		return;
	memcpy(&own, rsp + 1, sizeof(own));
	if (!memcmp(own.magic, SRP_INSTANCE_MAGIC, sizeof(own.magic)))
		chan->instance = get_be64(own.instance);
}

static int parse_login_rsp(
	struct srp_chan *chan, const struct srp_login_rsp *rsp, unsigned len, struct diag *why)
{
	uint32_t most;

	if (len < sizeof(*rsp) || rsp->opcode != SRP_LOGIN_RSP)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"the connection was accepted without an SRP login response");
	parse_instance(chan, rsp, len);
	most = get_be32(rsp->it_iu_len);
	if (most < IU)
		return diag_set(why, DIAG_UNSUPPORTED, EMSGSIZE,
			"the target takes messages of %u bytes at most: commands have %zu", most,
			IU);
	most -= IU;
	if (!(rsp->flags & SRP_IMMEDIATE))
		chan->imm = 0;
	else if (chan->imm > most)
		chan->imm = most;
	chan->window = (int32_t)get_be32(rsp->delta);
	if (chan->window <= 0)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"login response with request limit %lld: must be positive",
			(long long)chan->window);
	move_window(chan, 0, 0);
	return 0;
}

static void up(struct ep *ep)
{
	struct srp_chan *chan = ep->user;
	struct diag why = { 0 };

	chan->base.peer = ep->peer;
	snprintf(chan->route, sizeof(chan->route), "%s", ep->route);
	chan->backend = ep->ops->name;
	if (parse_login_rsp(chan, (const void *)ep->priv, ep->priv_len, &why)) {
		chan_fail(&chan->base, &why);
		return;
	}
	chan->base.state = SCSI_SESS_UP;
	chan->base.ev->up(&chan->base);
}

static bool parse_rsp(struct srp_slot *slot, const struct srp_rsp *rsp, uint32_t len)
{
	uint32_t data = rsp->flags & SRP_RSP_DATA ? get_be32(rsp->data_len) : 0,
		 sense = rsp->flags & SRP_RSP_SENSE ? get_be32(rsp->sense_len) : 0, out = 0, in = 0;

	len -= sizeof(*rsp);
	if (data > len || sense > len - data)
		return false;
	if (rsp->flags & SRP_RSP_OUT_UNDER)
		out = get_be32(rsp->out_residual);
	if (rsp->flags & SRP_RSP_IN_UNDER)
		in = get_be32(rsp->in_residual);
	slot->base.status = rsp->status;
	slot->base.overflow = rsp->flags & (SRP_RSP_OUT_OVER | SRP_RSP_IN_OVER);
	slot->base.moved = out < slot->data_len && in < slot->data_len
				   ? slot->data_len - (out > in ? out : in)
				   : 0;
	slot->base.sense_len = (uint16_t)(sense < SCSI_SENSE_MAX ? sense : SCSI_SENSE_MAX);
	memcpy(slot->base.sense, (const uint8_t *)(rsp + 1) + data, slot->base.sense_len);
	return true;
}

/* Whether the target did not execute the request: RSP_CODE (SRP r16a, 6.10), the last of four
 * bytes.
 */
static bool refused(const struct srp_rsp *rsp, uint32_t len)
{
	const uint8_t *data = (const uint8_t *)(rsp + 1);

	return rsp->flags & SRP_RSP_DATA && len >= sizeof(*rsp) + 4 &&
	       get_be32(rsp->data_len) >= 4 && data[3];
}

/* The command was answered before, or has no effect from here on. */
static void finish_abort(struct srp_chan *chan, struct ep_rx *rx)
{
	const struct srp_rsp *rsp = (const void *)rx->p;
	struct srp_slot *slot = chan->abort.slot;
	struct diag why = { 0 };

	if (!slot->held && refused(rsp, rx->len)) {
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time, and no abort",
			chan->base.ev->name(slot->base.flight.owner));
		chan_fail(&chan->base, &why);
		return;
	}
	chan->abort.slot = NULL;
	chan->abort.sent = false;
	/* an aborted command has no response of its own */
	if (!move_window(chan, get_be32(rsp->delta), slot->held ? 1 : 2))
		return;
	ring_repost(&chan->ring, rx);
	if (!slot->held) {
		slot->base.status = TASK_ABORTED;
		slot->base.moved = slot->base.sense_len = 0;
		slot->base.flight.replied = true;
	}
	slot->held = false;
	if (!slot->base.flight.unsent)
		chan->base.ev->reply(&chan->base, &slot->base);
}

static void handle_rsp(struct srp_chan *chan, struct ep_rx *rx)
{
	const struct srp_rsp *rsp = (const void *)rx->p;
	struct srp_slot *slot;
	uint64_t tag;

	if (rx->len < sizeof(*rsp)) {
		breach(chan, "response is shorter than 36 bytes");
		return;
	}
	tag = get_be64(rsp->tag);
	if (chan->abort.sent && tag == chan->abort.tag) {
		finish_abort(chan, rx);
		return;
	}
	slot = inflight_find(&chan->base.inflight, (uint16_t)tag);
	if (!slot || slot->queued || tag != tag_of(slot))
		breach(chan, "response to a command that is not in flight");
	else if (!parse_rsp(slot, rsp, rx->len))
		breach(chan, "response is shorter than the sense data that it announces");
	else if (refused(rsp, rx->len))
		breach(chan, "the target calls a command invalid");
	else if (move_window(chan, get_be32(rsp->delta), 1)) {
		ring_repost(&chan->ring, rx);
		chan->abort.fruitless = false;
		slot->held = slot == chan->abort.slot && chan->abort.sent;
		if (slot == chan->abort.slot && !slot->held) {
			chan->abort.slot = NULL;
			set_limit(chan);
		}
		if (inflight_replied(&slot->base.flight) && !slot->held)
			chan->base.ev->reply(&chan->base, &slot->base);
		send_abort(chan);
	}
}

/* Handle SRP_CRED_REQ and SRP_AER_REQ. */
static void handle_request(struct srp_chan *chan, struct ep_rx *rx)
{
	const struct srp_cred_req *req = (const void *)rx->p;
	bool event = req->opcode == SRP_AER_REQ;
	struct srp_answer *answer = chan->answer;
	struct srp_plain rsp = { .opcode = event ? SRP_AER_RSP : SRP_CRED_RSP };

	if (rx->len < (event ? sizeof(struct srp_aer_req) : sizeof(*req))) {
		breach(chan, "the target's request is too short");
		return;
	}
	while (answer->busy)
		if (++answer == chan->answer + SRP_ANSWERS) {
			breach(chan, "the target does not wait for answers to its requests");
			return;
		}
	if (!move_window(chan, get_be32(req->delta), 0))
		return;
	rsp.tag = req->tag;
	memcpy(answer->iu, &rsp, sizeof(rsp));
	answer->busy = true;
	answer->op =
		(struct ep_op){ .nsge = 1, .sge = { { answer->iu, sizeof(rsp), chan->lkey } } };
	post(chan, &answer->op);
	ring_repost(&chan->ring, rx);
	send_abort(chan);
	if (event && chan->base.ev->event)
		chan->base.ev->event(&chan->base);
}

static void handle_logout(struct srp_chan *chan, const struct srp_t_logout *logout, uint32_t len)
{
	struct diag why = { 0 };

	if (len < sizeof(*logout))
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target logged out");
	else
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target logged out (reason %#x)",
			get_be32(logout->reason));
	chan_fail(&chan->base, &why);
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct srp_chan *chan = ep->user;

	if (chan->base.state != SCSI_SESS_UP)
		return;
	if (rx->invalidated) {
		breach(chan, "the target invalidated a key that was not advertised");
		return;
	}
	switch (rx->len ? rx->p[0] : -1) {
	case SRP_RSP:
		handle_rsp(chan, rx);
		break;
	case SRP_CRED_REQ:
	case SRP_AER_REQ:
		handle_request(chan, rx);
		break;
	case SRP_T_LOGOUT:
		handle_logout(chan, (const void *)rx->p, rx->len);
		break;
	default:
		breach(chan, "message of a type that no target sends");
	}
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct srp_chan *chan = ep->user;
	struct srp_slot *slot;

	if (is_answer(chan, op)) {
		container_of(op, struct srp_answer, op)->busy = false;
		return;
	}
	slot = container_of(op, struct srp_slot, op);
	if (inflight_sent(&slot->base.flight) && !slot->held && chan->base.state == SCSI_SESS_UP)
		chan->base.ev->reply(&chan->base, &slot->base);
}

static void idle(struct ep *ep)
{
	struct srp_chan *chan = ep->user;

	if (chan->base.state != SCSI_SESS_UP)
		return;
	if (chan->base.ev->idle)
		chan->base.ev->idle(&chan->base);
	if (chan->ring.repost)
		loop_work_add(chan->base.loop, &chan->flush);
}

static uint32_t reject_reason(const struct ep *ep)
{
	const struct srp_login_rej *rej = (const void *)ep->priv;

	return ep->rejected && ep->priv_len >= sizeof(*rej) && rej->opcode == SRP_LOGIN_REJ
		       ? get_be32(rej->reason)
		       : 0;
}

static int dial(struct srp_chan *chan, struct diag *diag);

/* A target with short buffers rejects a login with immediate data: retry without. */
static bool retry_without_imm(struct srp_chan *chan, struct diag *why)
{
	struct ep *ep = chan->ep;

	if (chan->base.state != SCSI_SESS_OPENING || !chan->imm ||
		reject_reason(ep) != SRP_REJ_IU_TOO_LONG)
		return false;
	if (chan->registered)
		ep->ops->unreg(ep, chan->pool);
	ep->ops->free(ep);
	chan->ep = NULL;
	chan->registered = false;
	chan->imm = 0;
	return !dial(chan, why);
}

static void down(struct ep *ep)
{
	struct srp_chan *chan = ep->user;
	uint32_t reason = reject_reason(ep);
	struct diag why = ep->why;

	if (retry_without_imm(chan, &why))
		return;
	if (chan->base.state != SCSI_SESS_CLOSING)
		chan->base.why = why;
	if (chan->base.state == SCSI_SESS_OPENING && reason)
		srp_login_refused(&chan->base.why, reason, chan->first);
	diag_ctx(&chan->base.why, "%s", chan->conf->base.where);
	chan->base.state = SCSI_SESS_DOWN;
	loop_timer_del(chan->base.loop, &chan->stall);
	for (unsigned tag = 0; tag < chan->base.inflight.count; tag++) {
		struct srp_slot *slot = inflight_slot(&chan->base.inflight, tag);

		if (slot->base.flight.owner)
			chan->base.ev->lost(&chan->base,
				inflight_drop(&chan->base.inflight, &slot->base.flight));
	}
	chan->base.ev->down(&chan->base);
}

static const struct ep_events events = { requested, up, received, sent, idle, down };

static int dial(struct srp_chan *chan, struct diag *diag)
{
	const struct srp_conf *conf = chan->conf;
	uint64_t now = loop_clock();
	struct ep_dial to = { .dst = conf->base.dst,
		.src = conf->base.src,
		.dev = conf->dev[0] ? conf->dev : NULL,
		.backend = conf->backend,
		.tos = conf->base.tos,
		.no_crc = conf->no_crc };

	if (chan->base.deadline_ns)
		to.timeout_ms = chan->base.deadline_ns > now
					? (uint32_t)((chan->base.deadline_ns - now) / MSEC) + 1
					: 1;
	/* the target reads our memory (ird), we don't read its */
	to.caps = (struct ep_caps){ .send = chan->base.inflight.count + OTHERS,
		.recv = chan->base.inflight.count + OTHERS,
		.sge = 2,
		.inline_max = IU,
		.ord = 1,
		.ird = 16 };
	return ep_dial(&chan->ep, chan->base.loop, &to, &events, chan, diag);
}

static void chan_fini(struct scsi_sess *);

static int chan_open(
	struct scsi_sess *sess, const struct scsi_conf *base, unsigned number, struct diag *diag)
{
	struct srp_chan *chan = (struct srp_chan *)sess;
	const struct srp_conf *conf = (const struct srp_conf *)base;
	unsigned sends = base->depth + OTHERS;
	int err;

	sess->state = SCSI_SESS_OPENING;
	sess->deadline_ns = base->timeout_ms ? loop_clock() + base->timeout_ms * MSEC : 0;
	chan->conf = conf;
	chan->first = !number;
	chan->imm = conf->imm;
	chan->flush.run = flush;
	chan->stall.fire = check_stall;
	chan->abort.tag = 1ull << 63;
	err = ring_init(&chan->ring, sends, diag);
	if (!err)
		err = pool_new(&chan->pool, (uint32_t)(sends * (IU + RX)), 1, diag);
	if (!err)
		err = inflight_init(&sess->inflight, sess->loop, base->depth,
			sizeof(struct srp_slot), command_timeout, diag);
	for (unsigned i = 0; !err && i < sends; i++) {
		uint8_t *iu = chan->pool->base + i * IU;

		if (i < base->depth)
			((struct srp_slot *)inflight_slot(&sess->inflight, i))->iu = iu;
		else
			chan->answer[i - base->depth].iu = iu;
	}
	if (!err)
		err = dial(chan, diag);
	if (!err)
		return 0;
	chan->ep = NULL;
	chan_fini(sess);
	return err;
}

static void chan_send(struct scsi_sess *sess, struct scsi_slot *base, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct scsi_data *data)
{
	struct srp_chan *chan = (struct srp_chan *)sess;
	struct srp_slot *slot = (struct srp_slot *)base;
	const struct ep_caps *caps = &chan->ep->caps;
	struct srp_cmd *cmd = (void *)slot->iu;
	struct srp_direct *desc = (void *)(cmd + 1);

	*cmd = (struct srp_cmd){ .opcode = SRP_CMD, .tag = put_be64(tag_of(slot)) };
	memcpy(cmd->lun, lun, sizeof(cmd->lun));
	memcpy(cmd->cdb, cdb, sizeof(cmd->cdb));
	slot->data_len = data->len;
	slot->op = (struct ep_op){ .nsge = 1, .sge = { { cmd, IU, chan->lkey } } };
	*desc = (struct srp_direct){ 0 };
	if (data->out && data->len && data->len <= chan->imm) {
		be32 len = put_be32(data->len);

		cmd->format = SRP_IMM << 4;
		memcpy(desc, &len, sizeof(len));
		slot->op.sge[slot->op.nsge++] =
			(struct ep_sge){ data->p, data->len, data->pool->key[chan->ep->dom].lkey };
	} else {
		if (data->len) {
			cmd->format = data->out ? SRP_DIRECT << 4 : SRP_DIRECT;
			desc->va = put_be64(pool_raddr(data->pool, chan->ep->dom, data->p));
			desc->key = put_be32(data->pool->key[chan->ep->dom].rkey);
			desc->len = put_be32(data->len);
		}
		if (caps->inline_max >= IU)
			slot->op.flags = EP_INLINE | EP_UNSIGNALED;
	}
	slot->base.flight.unsent = !(slot->op.flags & EP_UNSIGNALED);
	slot->queued = true;
	post(chan, &slot->op);
}

static void *chan_end(struct scsi_sess *sess, struct scsi_slot *slot)
{
	if (sess->state != SCSI_SESS_UP)
		return NULL;
	((struct srp_slot *)slot)->generation++;
	return inflight_drop(&sess->inflight, &slot->flight);
}

static int chan_map(struct scsi_sess *sess, struct pool *pool, struct diag *diag)
{
	struct srp_chan *chan = (struct srp_chan *)sess;

	if (sess->state != SCSI_SESS_UP)
		return diag_set(diag, DIAG_CLOSED, ENOTCONN, "the channel is not connected");
	return chan->ep->ops->reg(chan->ep, pool, EP_REMOTE_READ | EP_REMOTE_WRITE, diag);
}

static void chan_unmap(struct scsi_sess *sess, struct pool *pool)
{
	struct srp_chan *chan = (struct srp_chan *)sess;

	chan->ep->ops->unreg(chan->ep, pool);
}

static void chan_fini(struct scsi_sess *sess)
{
	struct srp_chan *chan = (struct srp_chan *)sess;

	if (!chan->conf)
		return;
	loop_work_del(sess->loop, &chan->flush);
	loop_timer_del(sess->loop, &chan->stall);
	if (chan->registered)
		chan->ep->ops->unreg(chan->ep, chan->pool);
	if (chan->ep)
		chan->ep->ops->free(chan->ep);
	if (chan->pool)
		pool_free(chan->pool);
	inflight_fini(&sess->inflight);
	ring_fini(&chan->ring);
	*chan = (struct srp_chan){ 0 };
}

static void chan_identify(
	const struct scsi_sess *base, unsigned number, struct bdev_session *session)
{
	const struct srp_chan *chan = (const struct srp_chan *)base;
	const uint8_t *initiator = chan->conf->initiator;
	char target[sizeof(session->target)] = "";
	be64 extension;

	if (chan->instance)
		snprintf(target, sizeof(target), "%016" PRIx64, chan->instance);
	if (number) {
		uint32_t lane = strcmp(target, session->target) ? UINT32_MAX : 1;

		__atomic_store_n(&session->lane[number - 1], lane, __ATOMIC_RELAXED);
		return;
	}
	memcpy(session->target, target, sizeof(target));
	hex_text(session->host, initiator + 8, 8);
	memcpy(&extension, initiator, sizeof(extension));
	session->random = get_be64(extension);
	session->keeps_identity = true;
}

const struct scsi_carrier srp_carrier = { .sess_size = sizeof(struct srp_chan),
	.sessions = "channels",
	.open = chan_open,
	.send = chan_send,
	.end = chan_end,
	.fail = chan_fail,
	.fini = chan_fini,
	.identify = chan_identify,
	.map = chan_map,
	.unmap = chan_unmap };

int srp_login_refused(struct diag *diag, uint32_t reason, bool first)
{
	static const struct {
		uint32_t reason;
		uint8_t code;
		const char *text, *hint;
	} rows[] = {
		{ SRP_REJ_NO_CHANNEL, DIAG_REFUSED, "the target can't establish a channel", NULL },
		{ SRP_REJ_RESOURCES, DIAG_REFUSED, "the target has no resources, or is not enabled",
			NULL },
		{ SRP_REJ_IU_TOO_LONG, DIAG_UNSUPPORTED, "the target takes only shorter messages",
			NULL },
		{ SRP_REJ_NO_ASSOCIATION, DIAG_NOT_FOUND,
			"the target has no such ID_EXT and IOC_GUID",
			"list targets with: rdmastor srp-discover" },
		{ SRP_REJ_FORMAT, DIAG_UNSUPPORTED,
			"the target does not support direct and indirect descriptors", NULL },
		{ SRP_REJ_NO_MULTI, DIAG_UNSUPPORTED,
			"the target does not support several channels", NULL },
		{ SRP_REJ_CHANNELS, DIAG_AUTH,
			"the target has no channel left, or does not allow this initiator",
			"add the initiator to the target's access list" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].reason != reason)
			continue;
		diag_set(diag, rows[i].code,
			rows[i].code == DIAG_AUTH               ? EACCES
			: !first && reason == SRP_REJ_RESOURCES ? EAGAIN
								: ECONNREFUSED,
			"%s: %s (reason 0x%08x)", first ? "login" : "further channel", rows[i].text,
			reason);
		return rows[i].hint ? diag_hint(diag, "%s", rows[i].hint) : -diag->err;
	}
	return diag_set(diag, DIAG_REFUSED, ECONNREFUSED,
		"the target refused the login (reason 0x%08x)", reason);
}
