/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session of the initiator in its full feature phase (RFC 7143), over one TCP connection: data
 * lands in the buffer of its command and is sent from there. An error in any PDU ends the session
 * (ErrorRecoveryLevel 0). */
#include "carrier.h"
#include "crc32c.h"
#include "ini.h"
#include "login.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC      1000000ull
#define LOGOUT_MS 1000

static void breach(struct iscsi_sess *sess, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO, "%s", text);
	iscsi_sess_fail(sess, &why);
}

/* ---- Sending. */

static void put_pdu(struct iscsi_sess *sess, struct iscsi_pdu *pdu, void *bhs, const uint8_t *data,
	uint32_t len)
{
	((struct iscsi_bhs *)bhs)->data_len = put_be24(len);
	memcpy(pdu->head, bhs, ISCSI_BHS);
	pdu->out = (struct stream_out){ .niov = 1, .iov = { { pdu->head, ISCSI_BHS } } };
	if (sess->agreed.header_digest) {
		le32 crc = put_le32(crc32c(0, pdu->head, ISCSI_BHS));

		memcpy(pdu->head + ISCSI_BHS, &crc, sizeof(crc));
		pdu->out.iov[0].iov_len += sizeof(crc);
	}
	if (!len)
		return;
	pdu->out.iov[pdu->out.niov++] = (struct iovec){ (void *)(uintptr_t)data, len };
	if (sess->agreed.data_digest) {
		pdu->digest = put_le32(crc32c(0, data, len));
		pdu->out.iov[pdu->out.niov++] = (struct iovec){ &pdu->digest, ISCSI_DIGEST };
	}
}

/* A PDU without a slot and without data. */
static void send_control(struct iscsi_sess *sess, void *bhs)
{
	for (unsigned i = 0; i < ISCSI_CONTROLS; i++) {
		if (sess->control[i].busy)
			continue;
		sess->control[i].busy = true;
		put_pdu(sess, &sess->control[i].pdu, bhs, NULL, 0);
		stream_send(sess->stream, &sess->control[i].pdu.out);
		return;
	}
	breach(sess, "the target does not wait for answers to its NOP-Ins");
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Whole words, as all data of commands is: no PDU needs padding. */
static uint32_t segment(const struct iscsi_sess *sess)
{
	return sess->agreed.max_xmit & ~3u;
}

/* Data-Outs of the burst, as many as there are headers for; the next when these have left. A burst
 * is sent to its end even if the response comes before. */
static void send_burst(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	unsigned count = 0;

	if (slot->sending)
		return;
	if (slot->at == slot->end && slot->asked && !slot->flight.replied) {
		slot->asked = false;
		slot->ttt = slot->next_ttt;
		slot->end = slot->next_end;
		slot->datasn = 0;
	}
	for (; slot->at < slot->end && count < ISCSI_OUTS; count++) {
		uint32_t len = least(slot->end - slot->at, segment(sess));
		struct iscsi_data_out out = { .opcode = ISCSI_DATA_OUT,
			.flags = slot->at + len == slot->end ? ISCSI_FINAL : 0,
			.itt = put_be32(slot->flight.tag),
			.ttt = put_be32(slot->ttt),
			.exp_statsn = put_be32(sess->exp_statsn),
			.datasn = put_be32(slot->datasn++),
			.offset = put_be32(slot->at) };

		memcpy(out.lun, ((struct iscsi_bhs *)slot->cmd.head)->lun, sizeof(out.lun));
		put_pdu(sess, &slot->outs[count], &out, slot->data.p + slot->at, len);
		slot->at += len;
		if (count)
			slot->outs[count - 1].out.next = &slot->outs[count].out;
	}
	if (!count)
		return;
	slot->sending = (uint8_t)count;
	slot->flight.unsent += (uint8_t)count;
	stream_send(sess->stream, &slot->outs[0].out);
}

void iscsi_sess_send(struct iscsi_sess *sess, struct iscsi_slot *slot, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct iscsi_data *data)
{
	const struct iscsi_agreed *agreed = &sess->agreed;
	uint32_t first = least(data->len, agreed->first_burst & ~3u), now = 0;
	struct iscsi_scsi_cmd cmd = { .opcode = ISCSI_SCSI_CMD,
		.flags = ISCSI_FINAL | ISCSI_SIMPLE,
		.itt = put_be32(slot->flight.tag),
		.expected = put_be32(data->len),
		.cmdsn = put_be32(sess->cmdsn++),
		.exp_statsn = put_be32(sess->exp_statsn) };

	slot->data = *data;
	slot->sending = 0;
	slot->at = slot->end = slot->moved = slot->datasn = 0;
	slot->ttt = ISCSI_NO_TAG;
	slot->asked = false;
	slot->sense_len = 0;
	memcpy(cmd.lun, lun, sizeof(cmd.lun));
	memcpy(cmd.cdb, cdb, sizeof(cmd.cdb));
	if (data->len)
		cmd.flags |= data->out ? ISCSI_CMD_WRITE : ISCSI_CMD_READ;
	if (data->out) {
		now = agreed->immediate_data ? least(first, segment(sess)) : 0;
		slot->at = slot->end = now;
		if (!agreed->initial_r2t && first > now) {
			slot->end = first;
			cmd.flags &= (uint8_t)~ISCSI_FINAL;
		}
	}
	put_pdu(sess, &slot->cmd, &cmd, data->p, now);
	slot->flight.unsent = 1;
	stream_send(sess->stream, &slot->cmd.out);
	send_burst(sess, slot);
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

	inflight_limit(&sess->inflight, room < UINT16_MAX ? sess->inflight.used + room : room);
}

static struct iscsi_slot *find_slot(struct iscsi_sess *sess, be32 itt)
{
	return inflight_find(&sess->inflight, get_be32(itt));
}

static void over(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	if (inflight_replied(&slot->flight))
		sess->ev->reply(sess, slot);
}

/* What the target has moved, by its word. */
static void residual(struct iscsi_slot *slot, uint8_t flags, be32 count)
{
	uint32_t rest = flags & ISCSI_UNDERFLOW ? get_be32(count) : 0,
		 most = slot->data.out ? slot->data.len : slot->at;

	slot->moved = rest < slot->data.len ? slot->data.len - rest : 0;
	slot->moved = least(slot->moved, most);
}

static void took_response(struct iscsi_sess *sess)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	struct iscsi_slot *slot = find_slot(sess, rsp->itt);
	uint32_t sense = sess->len < 2 ? 0 : (uint32_t)(sess->text[0] << 8 | sess->text[1]);

	if (!slot) {
		breach(sess, "response to a command that is not in flight");
	} else if (rsp->response) {
		breach(sess, "the target failed to execute a command");
	} else if (sense && sense > sess->len - 2) {
		breach(sess, "response is shorter than the sense data that it announces");
	} else {
		slot->status = rsp->status;
		slot->sense_len = (uint16_t)least(sense, ISCSI_SENSE);
		memcpy(slot->sense, sess->text + 2, slot->sense_len);
		residual(slot, rsp->flags, rsp->residual);
		over(sess, slot);
	}
}

static void took_r2t(struct iscsi_sess *sess)
{
	const struct iscsi_r2t *r2t = (const void *)&sess->bhs;
	struct iscsi_slot *slot = find_slot(sess, r2t->itt);
	uint32_t at = get_be32(r2t->offset), len = get_be32(r2t->desired);

	if (!slot || !slot->data.out)
		breach(sess, "request for data of no write in flight");
	else if (slot->asked || at != slot->end || !len || len > slot->data.len - at ||
		 get_be32(r2t->ttt) == ISCSI_NO_TAG)
		breach(sess, "request for data out of order, or beyond the end of a write");
	else if (len > sess->agreed.max_burst)
		breach(sess, "request for more data than was agreed on");
	else {
		slot->asked = true;
		slot->next_ttt = get_be32(r2t->ttt);
		slot->next_end = at + len;
		send_burst(sess, slot);
	}
}

static void took_async(struct iscsi_sess *sess)
{
	const struct iscsi_async *async = (const void *)&sess->bhs;
	struct diag why = { 0 };

	switch (async->event) {
	case ISCSI_ASYNC_SCSI:
		if (sess->ev->event)
			sess->ev->event(sess);
		return;
	case ISCSI_ASYNC_LOGOUT:
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target asks for a logout");
		iscsi_sess_logout(sess, &why);
		return;
	case ISCSI_ASYNC_DROP:
	case ISCSI_ASYNC_DROP_ALL:
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "the target ends the session");
		iscsi_sess_fail(sess, &why);
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
	if (get_be32(in->ttt) != ISCSI_NO_TAG)
		send_control(sess, &out);
}

/* All of a PDU is here. */
static void took_pdu(struct iscsi_sess *sess)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	const struct iscsi_data_in *in = (const void *)&sess->bhs;
	uint8_t opcode = ISCSI_OPCODE(rsp->opcode);
	struct diag why = { 0 };
	bool numbered = opcode == ISCSI_DATA_IN  ? in->flags & ISCSI_STATUS
			: opcode == ISCSI_NOP_IN ? get_be32(rsp->itt) != ISCSI_NO_TAG
						 : opcode != ISCSI_R2T;

	took_window(sess, rsp);
	if (numbered)
		sess->exp_statsn = get_be32(rsp->statsn) + 1;
	switch (opcode) {
	case ISCSI_SCSI_RSP:
		took_response(sess);
		break;
	case ISCSI_DATA_IN:
		sess->in->at += sess->len;
		if (!(in->flags & ISCSI_STATUS))
			break;
		sess->in->status = in->status;
		residual(sess->in, in->flags, in->residual);
		over(sess, sess->in);
		break;
	case ISCSI_R2T:
		took_r2t(sess);
		break;
	case ISCSI_NOP_IN:
		took_nop(sess);
		break;
	case ISCSI_ASYNC:
		took_async(sess);
		break;
	case ISCSI_LOGOUT_RSP:
		iscsi_sess_fail(sess, &sess->why);
		break;
	case ISCSI_REJECT:
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "the target rejects a PDU: %s",
			iscsi_reject_word(((const struct iscsi_reject *)rsp)->reason));
		iscsi_sess_fail(sess, &why);
		break;
	default:
		breach(sess, "PDU of a type that was not asked for");
	}
	if (sess->state == ISCSI_SESS_UP)
		fit_window(sess);
}

/* Where the data of a Data-In belongs, NULL: nowhere. */
static uint8_t *place(struct iscsi_sess *sess)
{
	const struct iscsi_data_in *in = (const void *)&sess->bhs;
	struct iscsi_slot *slot = find_slot(sess, in->itt);

	/* In order, as was agreed: so that no byte counts twice. */
	if (!slot || slot->data.out || get_be32(in->offset) != slot->at ||
		sess->len > slot->data.len - slot->at) {
		breach(sess, "data of no read in flight, out of order, or beyond its end");
		return NULL;
	}
	sess->in = slot;
	return slot->data.p + slot->at;
}

static bool wants_pdus(const struct iscsi_sess *sess)
{
	return sess->state == ISCSI_SESS_UP && !sess->tail;
}

static int take_head(struct iscsi_sess *sess, const uint8_t *p, uint32_t have)
{
	uint32_t len = ISCSI_BHS + (sess->agreed.header_digest ? ISCSI_DIGEST : 0);
	uint8_t *to = sess->text;
	le32 crc;

	if (have < len)
		return 0;
	memcpy(&sess->bhs, p, ISCSI_BHS);
	memcpy(&crc, p + len - sizeof(crc), sizeof(crc));
	sess->len = get_be24(sess->bhs.data_len);
	sess->in = NULL;
	if (len > ISCSI_BHS && get_le32(crc) != crc32c(0, p, ISCSI_BHS))
		breach(sess, "header digest of a PDU is wrong");
	else if (sess->bhs.ahs_len)
		breach(sess, "unexpected additional header segment in a PDU");
	else if (ISCSI_OPCODE(sess->bhs.opcode) == ISCSI_DATA_IN)
		to = place(sess);
	else if (sess->len > sizeof(sess->text))
		breach(sess, "data segment of a PDU without data of a disk is too long");
	if (sess->len > sess->agreed.max_recv)
		breach(sess, "data segment exceeds the limit that was agreed on");
	if (sess->state != ISCSI_SESS_UP)
		return CUTTER_STOP;
	sess->crc = 0;
	sess->tail = sess->len && (sess->agreed.data_digest || sess->len & 3);
	if (sess->len)
		cutter_payload(&sess->cutter, to, sess->len);
	else
		took_pdu(sess);
	if (sess->state != ISCSI_SESS_UP)
		cutter_stop(&sess->cutter);
	return (int)len;
}

/* Behind the data: padding, and its digest, which covers both (11.2.3). */
static int take_tail(struct iscsi_sess *sess, const uint8_t *p, uint32_t have)
{
	uint32_t pad = -sess->len & 3, len = pad + (sess->agreed.data_digest ? ISCSI_DIGEST : 0);
	le32 crc;

	if (have < len)
		return 0;
	sess->tail = false;
	if (sess->agreed.data_digest) {
		memcpy(&crc, p + pad, sizeof(crc));
		if (get_le32(crc) != crc32c(sess->crc, p, pad)) {
			breach(sess, "data digest of a PDU is wrong");
			return CUTTER_STOP;
		}
	}
	took_pdu(sess);
	if (sess->state != ISCSI_SESS_UP)
		cutter_stop(&sess->cutter);
	return (int)len;
}

static int take_part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct iscsi_sess *sess = container_of(cutter, struct iscsi_sess, cutter);

	if (sess->state != ISCSI_SESS_UP)
		return CUTTER_STOP;
	return sess->tail ? take_tail(sess, p, have) : take_head(sess, p, have);
}

static void data_landed(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	struct iscsi_sess *sess = container_of(cutter, struct iscsi_sess, cutter);

	if (sess->agreed.data_digest)
		sess->crc = crc32c(sess->crc, p, len);
}

static bool data_whole(struct cutter *cutter)
{
	struct iscsi_sess *sess = container_of(cutter, struct iscsi_sess, cutter);

	if (wants_pdus(sess))
		took_pdu(sess);
	return sess->state == ISCSI_SESS_UP;
}

/* ---- The connection. */

static void readable(struct stream *stream)
{
	struct iscsi_sess *sess = stream->user;

	if (sess->state != ISCSI_SESS_UP)
		return;
	if (cutter_receive(&sess->cutter, stream) && sess->state == ISCSI_SESS_UP)
		stream_close(stream);
	if (sess->state == ISCSI_SESS_UP)
		sess->ev->idle(sess);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct iscsi_sess *sess = stream->user;
	struct iscsi_pdu *pdu = container_of(out, struct iscsi_pdu, out);
	const struct iscsi_bhs *bhs = (const void *)pdu->head;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	struct iscsi_slot *slot;

	if (opcode != ISCSI_SCSI_CMD && opcode != ISCSI_DATA_OUT) {
		for (unsigned i = 0; i < ISCSI_CONTROLS; i++)
			if (pdu == &sess->control[i].pdu)
				sess->control[i].busy = false;
		return;
	}
	slot = inflight_slot(&sess->inflight, get_be32(bhs->itt));
	slot->sending -= opcode == ISCSI_DATA_OUT;
	if (sess->state == ISCSI_SESS_UP && slot->data.out)
		send_burst(sess, slot);
	if (inflight_sent(&slot->flight) && sess->state == ISCSI_SESS_UP)
		sess->ev->reply(sess, slot);
}

static void end_session(struct iscsi_sess *sess)
{
	loop_timer_del(sess->loop, &sess->timer);
	diag_ctx(&sess->why, "%s", sess->conf->where);
	sess->state = ISCSI_SESS_DOWN;
	for (unsigned tag = 0; tag < sess->inflight.count; tag++) {
		struct iscsi_slot *slot = inflight_slot(&sess->inflight, tag);

		if (slot->flight.owner)
			sess->ev->lost(sess, inflight_drop(&sess->inflight, &slot->flight));
	}
	sess->ev->down(sess);
}

static void down(struct stream *stream)
{
	struct iscsi_sess *sess = stream->user;

	if (sess->state == ISCSI_SESS_UP && !sess->logging_out) {
		sess->why = stream->why;
		if (!sess->why.err)
			diag_set(&sess->why, DIAG_CLOSED, ECONNRESET,
				"connection closed by the target");
	}
	end_session(sess);
}

static void none(struct stream *stream)
{
	(void)stream;
}

static const struct stream_events stream_events = { none, readable, sent, down };
static const struct cutter_events pdus = { take_part, data_whole, data_landed };

static void late(struct inflight *inflight, struct inflight_slot *slot)
{
	struct iscsi_sess *sess = container_of(inflight, struct iscsi_sess, inflight);
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no answer to a command in time: %s",
		sess->ev->name(slot->owner));
	iscsi_sess_fail(sess, &why);
}

/* ---- From the login to the full feature phase, and the end. */

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct datamover_events *events, struct diag *diag)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);
	const struct iscsi_conf *conf = sess->conf;
	struct stream_dial to = { .dst = dial->result.at,
		.src = conf->src,
		.iface = conf->iface[0] ? conf->iface : NULL,
		.tos = conf->tos,
		.timeout_ms = timeout_ms };

	return iscsi_tcp_from(&dial->dm, dial->loop, &to, events, dial, diag);
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	const struct iscsi_agreed *agreed = &dial->result.agreed;

	container_of(dial, struct iscsi_sess, dial)->cmdsn = dial->login->cmdsn;
	iscsi_tcp_hold(dial->dm);
	/* those that were offered, and left to us to insist on */
	if (!agreed->pdu_in_order || !agreed->sequence_in_order)
		return diag_set(
			diag, DIAG_UNSUPPORTED, ENOTSUP, "the target does not keep data in order");
	return 1;
}

static void dialled(struct iscsi_dial *dial)
{
	struct iscsi_sess *sess = container_of(dial, struct iscsi_sess, dial);
	uint8_t early[ISCSI_BHS];
	uint32_t len;

	if (dial->why.err) {
		if (!sess->why.err)
			sess->why = dial->why;
		/* A disk's URI says what options of other commands do. */
		if (sess->why.code == DIAG_AUTH && !sess->conf->from.auth.user)
			diag_hint(&sess->why, "the target may require CHAP: add "
					      "user=NAME&secret-file=FILE to the URI");
		else if (strstr(sess->why.hint, "--chap-algs"))
			diag_hint(&sess->why, "check user and secret; if it is tgt, which mistakes "
					      "SHA-256 for SHA1, add auth=md5 to the URI");
		end_session(sess);
		return;
	}
	sess->at = dial->result.at;
	sess->agreed = dial->result.agreed;
	memcpy(sess->way, dial->result.way, sizeof(sess->way));
	sess->stream = iscsi_tcp_take(dial->dm, early, &len);
	dial->dm = NULL;
	sess->stream->ev = &stream_events;
	sess->stream->user = sess;
	sess->exp_statsn = sess->agreed.exp_statsn;
	cutter_init(&sess->cutter, &pdus, sess->stage, ISCSI_STAGE);
	memcpy(sess->stage, early, len);
	sess->cutter.to = len;
	/* One command until the first PDU shows the window. */
	sess->max_cmdsn = sess->cmdsn;
	fit_window(sess);
	sess->state = ISCSI_SESS_UP;
	sess->ev->up(sess);
	if (sess->state == ISCSI_SESS_UP)
		readable(sess->stream);
}

static const struct iscsi_dial_ops dial_ops = {
	.connect = connect_to, .logged_in = logged_in, .done = dialled
};

int iscsi_sess_open(struct iscsi_sess *sess, struct loop *loop, const struct iscsi_conf *conf,
	const struct iscsi_sess_events *ev, struct diag *diag)
{
	uint64_t end = conf->timeout_ms ? loop_clock() + conf->timeout_ms * MSEC : 0;
	int err;

	*sess = (struct iscsi_sess){
		.ev = ev, .conf = conf, .loop = loop, .state = ISCSI_SESS_OPENING, .at = conf->dst
	};
	err = inflight_init(
		&sess->inflight, loop, conf->depth, sizeof(struct iscsi_slot), late, diag);
	if (err)
		return err;
	sess->dial = (struct iscsi_dial){ .ops = &dial_ops,
		.loop = loop,
		.target = conf->target,
		.from = &conf->from,
		.offer = &conf->offer,
		.carrier = ISCSI_TCP,
		.stays = true,
		.until = end,
		.portal = conf->dst };
	iscsi_dial_start(&sess->dial);
	return 0;
}

void *iscsi_sess_end(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	void *owner;

	if (sess->state != ISCSI_SESS_UP)
		return NULL;
	owner = inflight_drop(&sess->inflight, &slot->flight);
	fit_window(sess);
	return owner;
}

void iscsi_sess_fail(struct iscsi_sess *sess, const struct diag *why)
{
	if (sess->state != ISCSI_SESS_OPENING && sess->state != ISCSI_SESS_UP)
		return;
	if (!sess->logging_out)
		sess->why = *why;
	if (sess->state == ISCSI_SESS_OPENING) {
		sess->state = ISCSI_SESS_CLOSING;
		iscsi_dial_finish(&sess->dial, &sess->why);
		return;
	}
	sess->state = ISCSI_SESS_CLOSING;
	/* With requests on their way, none of them may arrive later. */
	if (sess->inflight.used)
		stream_reset(sess->stream);
	else
		stream_close(sess->stream);
}

static void logout_late(struct loop_timer *timer)
{
	struct iscsi_sess *sess = container_of(timer, struct iscsi_sess, timer);

	iscsi_sess_fail(sess, &sess->why);
}

void iscsi_sess_logout(struct iscsi_sess *sess, const struct diag *why)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG - 1),
		.cmdsn = put_be32(sess->cmdsn),
		.exp_statsn = put_be32(sess->exp_statsn) };

	if (sess->state != ISCSI_SESS_UP || sess->inflight.used) {
		iscsi_sess_fail(sess, why);
		return;
	}
	if (sess->logging_out)
		return;
	sess->logging_out = true;
	sess->why = *why;
	inflight_limit(&sess->inflight, 0);
	send_control(sess, &req);
	sess->timer.fire = logout_late;
	loop_timer_set(sess->loop, &sess->timer, loop_now(sess->loop) + LOGOUT_MS * MSEC);
}

void iscsi_sess_fini(struct iscsi_sess *sess)
{
	if (!sess->loop)
		return;
	loop_timer_del(sess->loop, &sess->timer);
	iscsi_dial_end(&sess->dial);
	if (sess->stream)
		stream_free(sess->stream);
	inflight_fini(&sess->inflight);
	*sess = (struct iscsi_sess){ 0 };
}
