/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session of the initiator in full feature phase (RFC 7143), over any carrier (struct
 * iscsi_sess_carrier): sequence numbers, command window, commands in flight and their responses. An
 * error in any PDU ends the session (ErrorRecoveryLevel 0). */
#include "dial.h"
#include "ini.h"
#include "login.h"
#include "min.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Beats without a PDU are counted, four of them in the time of conf.detect_ms: the second one pings
 * the target, the fourth one declares it dead. */
#define DETECT_MS     20000
#define BEATS_PING    1
#define BEATS_DEAD    3
#define SHUT_MS       30000 /* limit for a closed window while commands wait */
#define ABORT_MS      10000
#define ABORT_TURN_MS 100
#define LOGOUT_MS     1000
#define LOGOUT_MAX_MS 30000
/* Further commands wait for their abort, as a carrier sends few PDUs at once, among them pings. */
#define ABORTS_MAX (ISCSI_CARRIER_SENDS / 2)
/* How far a StatSN may be ahead of the one that is expected: more than a target has in flight. */
#define STATSN_AHEAD_MAX 65536
/* ITTs of requests without a slot. An abort has the ITT of its command with the highest bit set. */
#define ITT_LOGOUT (ISCSI_NO_TAG - 1)
#define ITT_PING   (ISCSI_NO_TAG - 2)
#define ITT_ABORT  0x80000000

static void log_out(struct iscsi_sess *, const struct diag *why, uint32_t ms);

void iscsi_sess_protocol_error(struct iscsi_sess *sess, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO, "%s", text);
	iscsi_sess_fail(&sess->base, &why);
}

/* ---- Sending. */

static void send_control(struct iscsi_sess *sess, void *bhs)
{
	struct iscsi_carrier_conn *conn = sess->dial.conn;

	if (conn->ops->send_control(conn, bhs, NULL, 0))
		iscsi_sess_protocol_error(
			sess, "the target does not wait for answers to its NOP-Ins");
}

static void ping(struct iscsi_sess *sess)
{
	struct iscsi_nop nop = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ITT_PING),
		.ttt = put_be32(ISCSI_NO_TAG),
		.sn = put_be32(sess->cmdsn),
		.exp_sn = put_be32(sess->exp_statsn) };

	sess->ping_outstanding = true;
	send_control(sess, &nop);
}

static void send_logout(struct iscsi_sess *sess)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ITT_LOGOUT),
		.cmdsn = put_be32(sess->cmdsn),
		.exp_statsn = put_be32(sess->exp_statsn) };

	send_control(sess, &req);
}

static void send_abort(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	const struct iscsi_scsi_cmd *cmd = &slot->cmd;
	struct iscsi_task_req req = { .opcode = ISCSI_TASK_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL | ISCSI_ABORT_TASK,
		.itt = put_be32(slot->itt | ITT_ABORT),
		.ref_itt = cmd->itt,
		.cmdsn = put_be32(sess->cmdsn),
		.exp_statsn = put_be32(sess->exp_statsn),
		.ref_cmdsn = cmd->cmdsn };

	memcpy(req.lun, cmd->lun, sizeof(req.lun));
	slot->aborting = true;
	sess->aborts++;
	sess->aborting++;
	send_control(sess, &req);
}

static uint32_t next_itt(const struct iscsi_slot *slot)
{
	return ((slot->itt + ISCSI_ITT_TAG + 1) & ~ITT_ABORT & ~ISCSI_ITT_TAG) |
	       slot->base.flight.tag;
}

void iscsi_sess_send(struct scsi_sess *base, struct scsi_slot *base_slot, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct scsi_data *data)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;
	struct iscsi_slot *slot = (struct iscsi_slot *)base_slot;
	struct iscsi_scsi_cmd *cmd = &slot->cmd;

	*cmd = (struct iscsi_scsi_cmd){ .opcode = ISCSI_SCSI_CMD,
		.flags = ISCSI_FINAL | ISCSI_SIMPLE,
		.itt = put_be32(slot->itt = next_itt(slot)),
		.expected = put_be32(data->len),
		.cmdsn = put_be32(sess->cmdsn++),
		.exp_statsn = put_be32(sess->exp_statsn) };
	slot->data = *data;
	slot->base.moved = 0;
	slot->aborting = slot->base.overflow = false;
	slot->base.sense_len = 0;
	memcpy(cmd->lun, lun, sizeof(cmd->lun));
	memcpy(cmd->cdb, cdb, sizeof(cmd->cdb));
	if (data->len)
		cmd->flags |= data->out ? ISCSI_CMD_WRITE : ISCSI_CMD_READ;
	sess->carrier->command(sess, slot);
}

/* ---- Receiving. */

static bool serial_less(uint32_t a, uint32_t b) /* RFC 1982 */
{
	return a != b && b - a < UINT32_C(1) << 31;
}

/* Every PDU of a target has these fields at the same offset. Stale or absurd values (4.2.2.1) are
 * ignored. */
static void update_window(struct iscsi_sess *sess, const struct iscsi_scsi_rsp *rsp)
{
	uint32_t exp = get_be32(rsp->exp_cmdsn), max = get_be32(rsp->max_cmdsn);

	if (!serial_less(max, exp - 1) && serial_less(sess->max_cmdsn, max))
		sess->max_cmdsn = max;
}

/* Return whether the session continues. A large difference is an error (RFC 7143, 4.2.2.2). */
static bool receive_statsn(struct iscsi_sess *sess, uint32_t statsn)
{
	uint32_t ahead = statsn - sess->exp_statsn;

	if (!sess->carrier->ordered && serial_less(statsn, sess->exp_statsn))
		return true;
	if (ahead > (sess->carrier->ordered ? 0 : STATSN_AHEAD_MAX)) {
		iscsi_sess_protocol_error(sess, "the target's status numbers are out of order");
		return false;
	}
	sess->exp_statsn = statsn + 1;
	return true;
}

/* Limit the commands in flight to what the window allows. */
static void fit_window(struct iscsi_sess *sess)
{
	uint32_t room = sess->logging_out ? 0 : sess->max_cmdsn - sess->cmdsn + 1;

	if (room < sess->max_cmds)
		room += sess->base.inflight.used;
	inflight_limit(&sess->base.inflight, min_u32(room, sess->max_cmds));
}

struct iscsi_slot *iscsi_sess_find_slot(struct iscsi_sess *sess, uint32_t itt)
{
	struct iscsi_slot *slot = inflight_find(&sess->base.inflight, itt & ISCSI_ITT_TAG);

	return slot && slot->itt == itt ? slot : NULL;
}

static void complete(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	if (inflight_replied(&slot->base.flight))
		sess->base.ev->reply(&sess->base, &slot->base);
}

/* Set the number of bytes transferred, as the target reports it. */
static void residual(struct iscsi_slot *slot, uint8_t flags, be32 count)
{
	uint32_t rest = flags & ISCSI_UNDERFLOW ? get_be32(count) : 0,
		 most = slot->data.out ? slot->data.len : slot->at;

	slot->base.overflow = flags & ISCSI_OVERFLOW;
	slot->base.moved = rest < slot->data.len ? slot->data.len - rest : 0;
	slot->base.moved = min_u32(slot->base.moved, most);
}

static void handle_response(struct iscsi_sess *sess)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	struct iscsi_slot *slot = iscsi_sess_find_slot(sess, get_be32(rsp->itt));
	uint32_t sense = sess->len < 2 ? 0 : (uint32_t)(sess->text[0] << 8 | sess->text[1]);

	if (!slot) {
		iscsi_sess_protocol_error(sess, "response to a command that is not in flight");
	} else if (sense && sense > sess->len - 2) {
		iscsi_sess_protocol_error(
			sess, "response is shorter than the sense data that it announces");
	} else {
		/* 11.4.3: with a response code there is no status: the command has failed */
		slot->base.status = rsp->response ? SCSI_CHECK_CONDITION : rsp->status;
		slot->base.sense_len = rsp->response ? 0 : (uint16_t)min_u32(sense, SCSI_SENSE_MAX);
		memcpy(slot->base.sense, sess->text + 2, slot->base.sense_len);
		residual(slot, rsp->flags, rsp->residual);
		if (!slot->base.status && slot->data.out && slot->at < slot->base.moved)
			iscsi_sess_protocol_error(
				sess, "success of a write before the target has taken its data");
		else
			complete(sess, slot);
	}
}

static void command_timeout(struct iscsi_sess *sess, const struct iscsi_slot *slot)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no answer to a command in time: %s",
		sess->base.ev->name(slot->base.flight.owner));
	iscsi_sess_fail(&sess->base, &why);
}

/* The target will not execute the command any more: it was aborted, or is unknown. Any response to
 * it would have arrived before. */
static void handle_task_response(struct iscsi_sess *sess)
{
	const struct iscsi_task_rsp *rsp = (const void *)&sess->bhs;
	uint32_t itt = get_be32(rsp->itt);
	struct iscsi_slot *slot = iscsi_sess_find_slot(sess, itt & ~ITT_ABORT);

	if (!(itt & ITT_ABORT) || !sess->aborts) {
		iscsi_sess_protocol_error(sess, "PDU of a type that was not asked for");
		return;
	}
	sess->aborts--;
	if (!slot || !slot->aborting)
		return;
	if (rsp->response != ISCSI_TASK_COMPLETE && rsp->response != ISCSI_TASK_NONE) {
		command_timeout(sess, slot);
		return;
	}
	slot->base.status = SCSI_TASK_ABORTED;
	slot->base.moved = 0;
	complete(sess, slot);
}

static void handle_async(struct iscsi_sess *sess)
{
	const struct iscsi_async *async = (const void *)&sess->bhs;
	uint32_t seconds = get_be16(async->parameter[2]);
	struct diag why = { 0 };

	switch (async->event) {
	case ISCSI_ASYNC_SCSI:
		if (sess->base.ev->event)
			sess->base.ev->event(&sess->base);
		return;
	case ISCSI_ASYNC_LOGOUT:
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target asks for a logout");
		log_out(sess, &why, min_u32(seconds * 1000 + 1, LOGOUT_MAX_MS));
		return;
	case ISCSI_ASYNC_DROP:
	case ISCSI_ASYNC_DROP_ALL:
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target ends the session");
		iscsi_sess_fail(&sess->base, &why);
		return;
	default: /* negotiation, vendor specific: need no answer */
		return;
	}
}

static void handle_nop(struct iscsi_sess *sess)
{
	const struct iscsi_nop *in = (const void *)&sess->bhs;
	struct iscsi_nop out = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.ttt = in->ttt,
		.sn = put_be32(sess->cmdsn),
		.exp_sn = put_be32(sess->exp_statsn) };

	memcpy(out.lun, in->lun, sizeof(out.lun));
	if (get_be32(in->itt) != ISCSI_NO_TAG) {
		if (!sess->ping_outstanding || get_be32(in->itt) != ITT_PING)
			iscsi_sess_protocol_error(sess, "answer to a ping that was not asked for");
		sess->ping_outstanding = false;
	} else if (get_be32(in->ttt) != ISCSI_NO_TAG) {
		send_control(sess, &out);
	}
}

void iscsi_sess_dispatch(struct iscsi_sess *sess)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	const struct iscsi_data_in *in = (const void *)&sess->bhs;
	uint8_t opcode = ISCSI_OPCODE(rsp->opcode);
	struct diag why = { 0 };
	bool numbered = opcode == ISCSI_DATA_IN  ? in->flags & ISCSI_STATUS
			: opcode == ISCSI_NOP_IN ? get_be32(rsp->itt) != ISCSI_NO_TAG
						 : opcode != ISCSI_R2T;

	if (numbered && !receive_statsn(sess, get_be32(rsp->statsn)))
		return;
	update_window(sess, rsp);
	switch (opcode) {
	case ISCSI_SCSI_RSP:
		handle_response(sess);
		break;
	case ISCSI_DATA_IN:
		if (!sess->data_slot) { /* over iSER the target uses RDMA writes */
			iscsi_sess_protocol_error(sess, "PDU of a type that was not asked for");
			break;
		}
		sess->data_slot->at += sess->len;
		if (!(in->flags & ISCSI_STATUS))
			break;
		sess->data_slot->base.status = in->status;
		residual(sess->data_slot, in->flags, in->residual);
		complete(sess, sess->data_slot);
		break;
	case ISCSI_R2T:
		if (sess->carrier->r2t)
			sess->carrier->r2t(sess);
		else
			iscsi_sess_protocol_error(sess, "PDU of a type that was not asked for");
		break;
	case ISCSI_NOP_IN:
		handle_nop(sess);
		break;
	case ISCSI_ASYNC:
		handle_async(sess);
		break;
	case ISCSI_TASK_RSP:
		handle_task_response(sess);
		break;
	case ISCSI_LOGOUT_RSP:
		if (!sess->logging_out)
			iscsi_sess_protocol_error(
				sess, "answer to a logout that was not asked for");
		else
			iscsi_sess_fail(&sess->base, &sess->base.why);
		break;
	case ISCSI_REJECT:
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "the target rejects a PDU: %s",
			iscsi_reject_text(((const struct iscsi_reject *)rsp)->reason));
		iscsi_sess_fail(&sess->base, &why);
		break;
	default:
		iscsi_sess_protocol_error(sess, "PDU of a type that was not asked for");
	}
	if (sess->base.state == SCSI_SESS_UP)
		fit_window(sess);
}

/* ---- The connection. */

void iscsi_sess_sent(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	if (!inflight_sent(&slot->base.flight) || sess->base.state != SCSI_SESS_UP)
		return;
	sess->base.ev->reply(&sess->base, &slot->base);
	if (sess->base.state == SCSI_SESS_UP)
		sess->base.ev->idle(&sess->base);
}

static uint32_t beat_ms(const struct iscsi_sess *sess)
{
	uint32_t detect_ms = sess->conf->base.detect_ms;

	return (detect_ms ? detect_ms : DETECT_MS) / 4;
}

static void beat_set(struct iscsi_sess *sess)
{
	loop_timer_set(
		sess->base.loop, &sess->beat, loop_now(sess->base.loop) + beat_ms(sess) * MSEC);
}

/* Detects a target that vanishes while nothing is in flight, which TCP notices after minutes, and a
 * window that stays closed: waiting commands have no time limit. */
static void beat(struct loop_timer *timer)
{
	struct iscsi_sess *sess = container_of(timer, struct iscsi_sess, beat);
	bool is_shut = sess->base.inflight.waiting && !sess->base.inflight.used;
	char seconds[DIAG_SECONDS];
	struct diag why = { 0 };

	sess->shut_ms = is_shut ? sess->shut_ms + beat_ms(sess) : 0;
	if (sess->silent_beats == BEATS_DEAD)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no answer to a ping in %s",
			diag_seconds((BEATS_DEAD - BEATS_PING) * beat_ms(sess), seconds));
	else if (sess->shut_ms >= SHUT_MS)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "the target takes no command for %s",
			diag_seconds(SHUT_MS, seconds));
	if (why.err) {
		iscsi_sess_fail(&sess->base, &why);
		return;
	}
	if (sess->silent_beats++ == BEATS_PING && !sess->ping_outstanding && !sess->logging_out)
		ping(sess);
	beat_set(sess);
}

static void end_session(struct iscsi_sess *sess)
{
	loop_timer_del(sess->base.loop, &sess->timer);
	loop_timer_del(sess->base.loop, &sess->beat);
	diag_ctx(&sess->base.why, "%s", sess->conf->base.where);
	sess->base.state = SCSI_SESS_DOWN;
	for (unsigned tag = 0; tag < sess->base.inflight.count; tag++) {
		struct iscsi_slot *slot = inflight_slot(&sess->base.inflight, tag);

		if (slot->base.flight.owner)
			sess->base.ev->lost(&sess->base,
				inflight_drop(&sess->base.inflight, &slot->base.flight));
	}
	sess->base.ev->down(&sess->base);
}

void iscsi_sess_down(struct iscsi_sess *sess, const struct diag *why)
{
	if (sess->base.state == SCSI_SESS_UP && !sess->logging_out) {
		sess->base.why = *why;
		if (!why->err)
			diag_set(&sess->base.why, DIAG_CLOSED, ECONNRESET,
				"connection closed by the target");
	}
	end_session(sess);
}

static void on_timeout(struct inflight *inflight, struct inflight_slot *first)
{
	struct iscsi_sess *sess = container_of(inflight, struct iscsi_sess, base.inflight);
	struct iscsi_slot *slot = container_of(first, struct iscsi_slot, base.flight);

	if (!sess->carrier->can_abort || slot->aborting || first->replied || sess->logging_out ||
		!sess->base.ev->should_abort) {
		command_timeout(sess, slot);
		return;
	}
	if (sess->aborting == ABORTS_MAX) {
		inflight_extend(inflight, first, loop_now(sess->base.loop) + ABORT_TURN_MS * MSEC);
		return;
	}
	if (!sess->base.ev->should_abort(&sess->base, first->owner)) {
		command_timeout(sess, slot);
		return;
	}
	inflight_extend(inflight, first, loop_now(sess->base.loop) + ABORT_MS * MSEC);
	send_abort(sess, slot);
}

/* ---- From the login to the full feature phase, and the end. */

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct iscsi_carrier_events *events, struct diag *diag)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);

	return sess->carrier->connect(sess, &dial->result.at, timeout_ms, events, diag);
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);
	const struct iscsi_agreed_params *agreed = &dial->result.agreed;

	/* offered as Yes; a target may still answer No */
	if (!agreed->pdu_in_order || !agreed->sequence_in_order)
		return diag_set(
			diag, DIAG_UNSUPPORTED, ENOTSUP, "the target does not keep data in order");
	if (!dial->portal.others)
		sess->base.peer = dial->portal;
	sess->cmdsn = dial->login->cmdsn;
	sess->exp_statsn = agreed->exp_statsn;
	sess->max_cmdsn = agreed->max_cmdsn;
	if (serial_less(sess->max_cmdsn, sess->cmdsn - 1))
		sess->max_cmdsn = sess->cmdsn - 1;
	sess->max_cmds = sess->base.inflight.count;
	dial->conn->ops->enable_full_feature(dial->conn, agreed->max_recv);
	sess->enabled = true;
	sess->base.state = SCSI_SESS_UP;
	fit_window(sess);
	sess->beat.fire = beat;
	beat_set(sess);
	sess->base.ev->up(&sess->base);
	if (sess->base.state == SCSI_SESS_UP && !sess->base.inflight.limit)
		ping(sess); /* its answer has the window */
	return 1;
}

/* Replace hints at options: a disk has keys of its URI. */
static void rewrite_hint(struct diag *why)
{
	char hint[sizeof(why->hint)];
	const char *option;

	memcpy(hint, why->hint, sizeof(hint));
	option = strstr(hint, ISCSI_CHAP_MD5_OPTION);
	if (option)
		diag_hint(why, "%.*sauth=md5 in the URI", (int)(option - hint), hint);
	else if (strstr(hint, "--secret-file"))
		diag_hint(why,
			"%sthe target may require CHAP: add user=NAME&secret-file=FILE to "
			"the URI",
			why->code == DIAG_CLOSED ? "is this an iSCSI port? If so, " : "");
}

static void dialled(struct iscsi_dial *dial)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);

	if (sess->enabled)
		return;
	if (!sess->base.why.err)
		sess->base.why = dial->why;
	rewrite_hint(&sess->base.why);
	end_session(sess);
}

static const struct iscsi_dial_ops dial_ops = {
	.connect = connect_to, .logged_in = logged_in, .done = dialled
};

/* 11.12.5: 24 random bits, and a qualifier that ends with the session's number. */
static void put_isid(uint8_t isid[6], uint64_t port, unsigned number)
{
	_Static_assert(SCSI_SESSIONS < 1 << 7, "it fits, with 24 + 9 bits of the port");
	isid[0] = 0x80;
	wire_put_be(isid + 1, 5, (port & SCSI_PORT_MASK) << 7 | number);
}

int iscsi_sess_open(struct scsi_sess *base, const struct scsi_conf *base_conf,
	const struct iscsi_sess_carrier *carrier, unsigned number, struct diag *diag)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;
	const struct iscsi_conf *conf = (const struct iscsi_conf *)base_conf;
	int err;

	base->state = SCSI_SESS_OPENING;
	base->deadline_ns = base_conf->timeout_ms ? loop_clock() + base_conf->timeout_ms * MSEC : 0;
	sess->carrier = carrier;
	sess->conf = conf;
	put_isid(sess->isid, base->port, number);
	sess->dial = (struct iscsi_dial){ .ops = &dial_ops,
		.loop = base->loop,
		.target = conf->target,
		.from = &conf->from,
		.offered = &conf->offered,
		.isid = sess->isid,
		.tsih = sess->tsih,
		.carrier = carrier->id,
		.keep_open = true,
		.until = base->deadline_ns,
		.portal = base_conf->dst };
	err = inflight_init(&base->inflight, base->loop, base_conf->depth, carrier->slot_size,
		on_timeout, diag);
	if (!err)
		iscsi_dial_start(&sess->dial);
	return err;
}

void iscsi_sess_identify(
	const struct scsi_sess *base, unsigned number, struct bdev_session *session)
{
	const struct iscsi_sess *sess = (const struct iscsi_sess *)base;
	const struct iscsi_login_result *result = &sess->dial.result;
	bool known = result->agreed.tpgt >= 0 && !result->redirects;

	if (number) {
		uint32_t lane = known && result->agreed.tpgt == session->id && result->agreed.tsih
					? result->agreed.tsih
					: UINT32_MAX;

		__atomic_store_n(&session->lane[number - 1], lane, __ATOMIC_RELAXED);
	} else if (known) {
		snprintf(session->target, sizeof(session->target), "%s", sess->conf->target);
		snprintf(session->host, sizeof(session->host), "%s", sess->conf->initiator);
		session->id = (uint16_t)result->agreed.tpgt;
		session->random = base->port;
		session->keeps_identity = true;
	}
}

void *iscsi_sess_end(struct scsi_sess *base, struct scsi_slot *base_slot)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;
	struct iscsi_slot *slot = (struct iscsi_slot *)base_slot;
	void *owner;

	if (base->state != SCSI_SESS_UP)
		return NULL;
	owner = inflight_drop(&base->inflight, &base_slot->flight);
	sess->aborting -= slot->aborting;
	slot->aborting = false;
	fit_window(sess);
	if (sess->logging_out && !base->inflight.used)
		send_logout(sess);
	return owner;
}

void iscsi_sess_fail(struct scsi_sess *base, const struct diag *why)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;

	if (base->state != SCSI_SESS_OPENING && base->state != SCSI_SESS_UP)
		return;
	if (!sess->logging_out)
		base->why = *why;
	if (sess->base.state == SCSI_SESS_OPENING) {
		sess->base.state = SCSI_SESS_CLOSING;
		iscsi_dial_finish(&sess->dial, &sess->base.why);
		return;
	}
	sess->base.state = SCSI_SESS_CLOSING;
	sess->carrier->close(sess);
}

static void logout_timed_out(struct loop_timer *timer)
{
	struct iscsi_sess *sess = container_of(timer, struct iscsi_sess, timer);

	iscsi_sess_fail(&sess->base, &sess->base.why);
}

/* End the session: wait for commands in flight, then log out, all within ms. */
static void log_out(struct iscsi_sess *sess, const struct diag *why, uint32_t ms)
{
	if (sess->base.state != SCSI_SESS_UP) {
		iscsi_sess_fail(&sess->base, why);
		return;
	}
	if (sess->logging_out)
		return;
	sess->logging_out = true;
	sess->base.why = *why;
	inflight_limit(&sess->base.inflight, 0);
	sess->timer.fire = logout_timed_out;
	loop_timer_set(sess->base.loop, &sess->timer, loop_now(sess->base.loop) + ms * MSEC);
	if (!sess->base.inflight.used)
		send_logout(sess);
}

void iscsi_sess_logout(struct scsi_sess *base, const struct diag *why)
{
	log_out((struct iscsi_sess *)base, why, LOGOUT_MS);
}

/* A lane is freed without a logout before: send the request without waiting for the response. */
void iscsi_sess_fini(struct scsi_sess *base)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;

	if (!sess->conf)
		return;
	loop_timer_del(base->loop, &sess->timer);
	loop_timer_del(base->loop, &sess->beat);
	if (base->state == SCSI_SESS_UP && !sess->logging_out && !base->inflight.used) {
		send_logout(sess);
		sess->carrier->close(sess);
	}
	iscsi_dial_end(&sess->dial);
	inflight_fini(&base->inflight);
	sess->conf = NULL;
}
