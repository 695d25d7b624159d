/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session of the initiator in its full feature phase (RFC 7143): numbers, window, commands in
 * flight and their responses, whatever carries the PDUs (struct iscsi_mover). An error in any PDU
 * ends the session (ErrorRecoveryLevel 0). */
#include "ini.h"
#include "login.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC 1000000ull
/* Each beat without a PDU counts: at the second one the target is pinged, and at the fourth it is
 * dead. */
#define BEAT_MS       5000
#define BEATS_PING    1
#define BEATS_DEAD    3
#define BEATS_SHUT    6 /* so long a window may leave no room for those that wait */
#define ABORT_MS      10000
#define LOGOUT_MS     1000
#define LOGOUT_MAX_MS 30000
/* Task tags of requests without a slot; an abort has that of its command and the highest bit. */
#define ITT_LOGOUT (ISCSI_NO_TAG - 1)
#define ITT_PING   (ISCSI_NO_TAG - 2)
#define ITT_ABORT  0x80000000

static void log_out(struct iscsi_sess *, const struct diag *why, uint32_t ms);

void iscsi_sess_breach(struct iscsi_sess *sess, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO, "%s", text);
	iscsi_sess_fail(&sess->base, &why);
}

/* ---- Sending. */

static void send_control(struct iscsi_sess *sess, void *bhs)
{
	if (!sess->mover->control(sess, bhs))
		iscsi_sess_breach(sess, "the target does not wait for answers to its NOP-Ins");
}

static void ping(struct iscsi_sess *sess)
{
	struct iscsi_nop nop = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ITT_PING),
		.ttt = put_be32(ISCSI_NO_TAG),
		.sn = put_be32(sess->cmdsn),
		.exp_sn = put_be32(sess->exp_statsn) };

	sess->pinging = true;
	send_control(sess, &nop);
}

static void ask_logout(struct iscsi_sess *sess)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ITT_LOGOUT),
		.cmdsn = put_be32(sess->cmdsn),
		.exp_statsn = put_be32(sess->exp_statsn) };

	send_control(sess, &req);
}

static void ask_abort(struct iscsi_sess *sess, struct iscsi_slot *slot)
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
	send_control(sess, &req);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
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
	sess->mover->command(sess, slot);
}

/* ---- Receiving. */

static bool serial_less(uint32_t a, uint32_t b) /* RFC 1982 */
{
	return a != b && b - a < UINT32_C(1) << 31;
}

/* Numbers that all PDUs of targets have at one place; those of a PDU that is out of date, or absurd
 * (4.2.2.1), change nothing. */
static void took_window(struct iscsi_sess *sess, const struct iscsi_scsi_rsp *rsp)
{
	uint32_t exp = get_be32(rsp->exp_cmdsn), max = get_be32(rsp->max_cmdsn);

	if (!serial_less(max, exp - 1) && serial_less(sess->max_cmdsn, max))
		sess->max_cmdsn = max;
}

/* As many commands more as the window has room for. */
static void fit_window(struct iscsi_sess *sess)
{
	uint32_t room = sess->logging_out ? 0 : sess->max_cmdsn - sess->cmdsn + 1;

	if (room < sess->most)
		room += sess->base.inflight.used;
	inflight_limit(&sess->base.inflight, least(room, sess->most));
}

struct iscsi_slot *iscsi_sess_slot(struct iscsi_sess *sess, uint32_t itt)
{
	struct iscsi_slot *slot = inflight_find(&sess->base.inflight, itt & ISCSI_ITT_TAG);

	return slot && slot->itt == itt ? slot : NULL;
}

static void over(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	if (inflight_replied(&slot->base.flight))
		sess->base.ev->reply(&sess->base, &slot->base);
}

/* What the target has moved, by its word. */
static void residual(struct iscsi_slot *slot, uint8_t flags, be32 count)
{
	uint32_t rest = flags & ISCSI_UNDERFLOW ? get_be32(count) : 0,
		 most = slot->data.out ? slot->data.len : slot->at;

	slot->base.overflow = flags & ISCSI_OVERFLOW;
	slot->base.moved = rest < slot->data.len ? slot->data.len - rest : 0;
	slot->base.moved = least(slot->base.moved, most);
}

static void took_response(struct iscsi_sess *sess)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	struct iscsi_slot *slot = iscsi_sess_slot(sess, get_be32(rsp->itt));
	uint32_t sense = sess->len < 2 ? 0 : (uint32_t)(sess->text[0] << 8 | sess->text[1]);

	if (!slot) {
		iscsi_sess_breach(sess, "response to a command that is not in flight");
	} else if (sense && sense > sess->len - 2) {
		iscsi_sess_breach(
			sess, "response is shorter than the sense data that it announces");
	} else {
		/* 11.4.3: with a response code there is no status, and the command has failed */
		slot->base.status = rsp->response ? SCSI_CHECK_CONDITION : rsp->status;
		slot->base.sense_len = rsp->response ? 0 : (uint16_t)least(sense, SCSI_SENSE_MAX);
		memcpy(slot->base.sense, sess->text + 2, slot->base.sense_len);
		residual(slot, rsp->flags, rsp->residual);
		if (!slot->base.status && slot->data.out && slot->at < slot->base.moved)
			iscsi_sess_breach(
				sess, "success of a write before the target has taken its data");
		else
			over(sess, slot);
	}
}

static void too_late(struct iscsi_sess *sess, const struct iscsi_slot *slot)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no answer to a command in time: %s",
		sess->base.ev->name(slot->base.flight.owner));
	iscsi_sess_fail(&sess->base, &why);
}

/* An aborted command can't be executed later; one that the target does not know neither. All that
 * was on its way of the answer came first. */
static void took_aborted(struct iscsi_sess *sess)
{
	const struct iscsi_task_rsp *rsp = (const void *)&sess->bhs;
	uint32_t itt = get_be32(rsp->itt);
	struct iscsi_slot *slot = iscsi_sess_slot(sess, itt & ~ITT_ABORT);

	if (!(itt & ITT_ABORT) || !sess->aborts) {
		iscsi_sess_breach(sess, "PDU of a type that was not asked for");
		return;
	}
	sess->aborts--;
	if (!slot || !slot->aborting)
		return;
	if (rsp->response != ISCSI_TASK_COMPLETE && rsp->response != ISCSI_TASK_NONE) {
		too_late(sess, slot);
		return;
	}
	slot->base.status = SCSI_TASK_ABORTED;
	slot->base.moved = 0;
	over(sess, slot);
}

static void took_async(struct iscsi_sess *sess)
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
		log_out(sess, &why, least(seconds * 1000 + 1, LOGOUT_MAX_MS));
		return;
	case ISCSI_ASYNC_DROP:
	case ISCSI_ASYNC_DROP_ALL:
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target ends the session");
		iscsi_sess_fail(&sess->base, &why);
		return;
	default: /* negotiation, a vendor's own: without an answer the target decides */
		return;
	}
}

static void took_nop(struct iscsi_sess *sess)
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
		if (!sess->pinging || get_be32(in->itt) != ITT_PING)
			iscsi_sess_breach(sess, "answer to a ping that was not asked for");
		sess->pinging = false;
	} else if (get_be32(in->ttt) != ISCSI_NO_TAG) {
		send_control(sess, &out);
	}
}

void iscsi_sess_took(struct iscsi_sess *sess)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	const struct iscsi_data_in *in = (const void *)&sess->bhs;
	uint8_t opcode = ISCSI_OPCODE(rsp->opcode);
	struct diag why = { 0 };
	bool numbered = opcode == ISCSI_DATA_IN  ? in->flags & ISCSI_STATUS
			: opcode == ISCSI_NOP_IN ? get_be32(rsp->itt) != ISCSI_NO_TAG
						 : opcode != ISCSI_R2T;

	if (numbered && sess->mover->ordered && get_be32(rsp->statsn) != sess->exp_statsn) {
		iscsi_sess_breach(sess, "the target's status numbers are out of order");
		return;
	}
	if (numbered && !serial_less(get_be32(rsp->statsn), sess->exp_statsn))
		sess->exp_statsn = get_be32(rsp->statsn) + 1;
	took_window(sess, rsp);
	switch (opcode) {
	case ISCSI_SCSI_RSP:
		took_response(sess);
		break;
	case ISCSI_DATA_IN:
		if (!sess->in) { /* over iSER the target writes it itself */
			iscsi_sess_breach(sess, "PDU of a type that was not asked for");
			break;
		}
		sess->in->at += sess->len;
		if (!(in->flags & ISCSI_STATUS))
			break;
		sess->in->base.status = in->status;
		residual(sess->in, in->flags, in->residual);
		over(sess, sess->in);
		break;
	case ISCSI_R2T:
		if (sess->mover->r2t)
			sess->mover->r2t(sess);
		else
			iscsi_sess_breach(sess, "PDU of a type that was not asked for");
		break;
	case ISCSI_NOP_IN:
		took_nop(sess);
		break;
	case ISCSI_ASYNC:
		took_async(sess);
		break;
	case ISCSI_TASK_RSP:
		took_aborted(sess);
		break;
	case ISCSI_LOGOUT_RSP:
		if (!sess->logging_out)
			iscsi_sess_breach(sess, "answer to a logout that was not asked for");
		else
			iscsi_sess_fail(&sess->base, &sess->base.why);
		break;
	case ISCSI_REJECT:
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "the target rejects a PDU: %s",
			iscsi_reject_word(((const struct iscsi_reject *)rsp)->reason));
		iscsi_sess_fail(&sess->base, &why);
		break;
	default:
		iscsi_sess_breach(sess, "PDU of a type that was not asked for");
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

/* Without a beat only TCP would notice, after minutes, a target that vanishes while nothing is in
 * flight; and those that wait for a window have no time limit. */
static void beat(struct loop_timer *timer)
{
	struct iscsi_sess *sess = container_of(timer, struct iscsi_sess, beat);
	bool is_shut = sess->base.inflight.waiting && !sess->base.inflight.used;
	struct diag why = { 0 };

	sess->shut = is_shut ? sess->shut + 1 : 0;
	if (sess->silent == BEATS_DEAD)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no answer to a ping in %u s",
			(BEATS_DEAD - BEATS_PING) * BEAT_MS / 1000);
	else if (sess->shut == BEATS_SHUT)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "the target takes no command for %u s",
			BEATS_SHUT * BEAT_MS / 1000);
	if (why.err) {
		iscsi_sess_fail(&sess->base, &why);
		return;
	}
	if (sess->silent++ == BEATS_PING && !sess->pinging && !sess->logging_out)
		ping(sess);
	loop_timer_set(sess->base.loop, timer, loop_now(sess->base.loop) + BEAT_MS * MSEC);
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

static void late(struct inflight *inflight, struct inflight_slot *first)
{
	struct iscsi_sess *sess = container_of(inflight, struct iscsi_sess, base.inflight);
	struct iscsi_slot *slot = container_of(first, struct iscsi_slot, base.flight);

	if (!sess->mover->aborts || slot->aborting || first->replied || sess->logging_out ||
		!sess->base.ev->late || !sess->base.ev->late(&sess->base, first->owner)) {
		too_late(sess, slot);
		return;
	}
	inflight_extend(inflight, first, loop_now(sess->base.loop) + ABORT_MS * MSEC);
	ask_abort(sess, slot);
}

/* ---- From the login to the full feature phase, and the end. */

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct datamover_events *events, struct diag *diag)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);

	return sess->mover->connect(sess, &dial->result.at, timeout_ms, events, diag);
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);
	const struct iscsi_agreed *agreed = &dial->result.agreed;

	sess->cmdsn = dial->login->cmdsn;
	sess->mover->hold(dial->dm);
	/* those that were offered, and left to us to insist on */
	if (!agreed->pdu_in_order || !agreed->sequence_in_order)
		return diag_set(
			diag, DIAG_UNSUPPORTED, ENOTSUP, "the target does not keep data in order");
	return 1;
}

static void dialled(struct iscsi_dial *dial)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);
	struct datamover *dm = dial->dm;
	struct diag why = { 0 };

	if (!dial->portal.others)
		sess->base.peer = dial->portal;
	/* or it was given up just when it was logged in */
	if (dial->why.err || sess->base.state != SCSI_SESS_OPENING) {
		if (!sess->base.why.err)
			sess->base.why = dial->why;
		/* A disk's URI says what options of other commands do. */
		if (strstr(sess->base.why.hint, "--secret-file"))
			diag_hint(&sess->base.why,
				"%sthe target may require CHAP: add user=NAME&secret-file=FILE to "
				"the URI",
				sess->base.why.code == DIAG_CLOSED
					? "is this an iSCSI port? If so, "
					: "");
		else if (strstr(sess->base.why.hint, "--chap-algs"))
			diag_hint(&sess->base.why,
				"check user and secret; if it is tgt, which mistakes "
				"SHA-256 for SHA1, add auth=md5 to the URI");
		end_session(sess);
		return;
	}
	sess->at = dial->result.at;
	sess->agreed = dial->result.agreed;
	memcpy(sess->way, dial->result.way, sizeof(sess->way));
	sess->exp_statsn = sess->agreed.exp_statsn;
	sess->max_cmdsn = sess->agreed.max_cmdsn;
	if (serial_less(sess->max_cmdsn, sess->cmdsn - 1))
		sess->max_cmdsn = sess->cmdsn - 1;
	sess->most = sess->base.inflight.count;
	sess->base.state = SCSI_SESS_UP;
	dial->dm = NULL;
	if (sess->mover->start(sess, dm, &why)) {
		iscsi_sess_fail(&sess->base, &why);
		return;
	}
	fit_window(sess);
	sess->beat.fire = beat;
	loop_timer_set(sess->base.loop, &sess->beat, loop_now(sess->base.loop) + BEAT_MS * MSEC);
	sess->base.ev->up(&sess->base);
	if (sess->base.state == SCSI_SESS_UP && !sess->base.inflight.limit)
		ping(sess); /* the answer shows the window */
	if (sess->base.state == SCSI_SESS_UP)
		sess->mover->run(sess);
}

static const struct iscsi_dial_ops dial_ops = {
	.connect = connect_to, .logged_in = logged_in, .done = dialled
};

/* 11.12.5: 24 random bits and a qualifier, which ends with the number of the session. */
static void put_isid(uint8_t isid[6], uint64_t port, unsigned number)
{
	_Static_assert(SCSI_SESSIONS < 1 << 7, "it fits, with 24 + 9 bits of the port");
	isid[0] = 0x80;
	wire_put_be(isid + 1, 5, (port & SCSI_PORT_MASK) << 7 | number);
}

int iscsi_sess_open(struct scsi_sess *base, const struct scsi_conf *base_conf,
	const struct iscsi_mover *mover, unsigned number, struct diag *diag)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;
	const struct iscsi_conf *conf = (const struct iscsi_conf *)base_conf;
	int err;

	base->state = SCSI_SESS_OPENING;
	base->deadline_ns = base_conf->timeout_ms ? loop_clock() + base_conf->timeout_ms * MSEC : 0;
	sess->mover = mover;
	sess->conf = conf;
	sess->at = base_conf->dst;
	put_isid(sess->isid, conf->port.number, number);
	sess->dial = (struct iscsi_dial){ .ops = &dial_ops,
		.loop = base->loop,
		.target = conf->target,
		.from = &conf->from,
		.offer = &conf->offer,
		.isid = sess->isid,
		.carrier = mover->carrier,
		.stays = true,
		.until = base->deadline_ns,
		.portal = base_conf->dst };
	err = inflight_init(
		&base->inflight, base->loop, base_conf->depth, mover->slot_size, late, diag);
	if (!err)
		iscsi_dial_start(&sess->dial);
	return err;
}

void *iscsi_sess_end(struct scsi_sess *base, struct scsi_slot *slot)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;
	void *owner;

	if (base->state != SCSI_SESS_UP)
		return NULL;
	owner = inflight_drop(&base->inflight, &slot->flight);
	fit_window(sess);
	if (sess->logging_out && !base->inflight.used)
		ask_logout(sess);
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
	sess->mover->close(sess);
}

static void logout_late(struct loop_timer *timer)
{
	struct iscsi_sess *sess = container_of(timer, struct iscsi_sess, timer);

	iscsi_sess_fail(&sess->base, &sess->base.why);
}

/* Ends the session after the commands in flight have ended and the target has been asked, within
 * that time. */
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
	sess->timer.fire = logout_late;
	loop_timer_set(sess->base.loop, &sess->timer, loop_now(sess->base.loop) + ms * MSEC);
	if (!sess->base.inflight.used)
		ask_logout(sess);
}

void iscsi_sess_leave(struct scsi_sess *base, const struct diag *why)
{
	log_out((struct iscsi_sess *)base, why, LOGOUT_MS);
}

/* A lane is not left, only freed: a word to the target without waiting for its answer. */
void iscsi_sess_fini(struct scsi_sess *base)
{
	struct iscsi_sess *sess = (struct iscsi_sess *)base;

	if (!sess->conf)
		return;
	loop_timer_del(base->loop, &sess->timer);
	loop_timer_del(base->loop, &sess->beat);
	iscsi_dial_end(&sess->dial);
	if (base->state == SCSI_SESS_UP && !sess->logging_out && !base->inflight.used) {
		ask_logout(sess);
		sess->mover->close(sess);
	}
	sess->mover->fini(sess);
	inflight_fini(&base->inflight);
	sess->conf = NULL;
}
