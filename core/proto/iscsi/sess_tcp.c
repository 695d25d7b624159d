/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session's PDUs over a TCP connection. Data is received into and sent from the command's buffer.
 */
#include "carrier.h"
#include "ini.h"
#include "min.h"
#include "pdu.h"

#define OUTS  8 /* Data-Out PDUs of a command in flight */
#define STAGE 65536

struct tcp_slot {
	struct iscsi_slot base; /* first */
	struct iscsi_tcp_pdu cmd, outs[OUTS];
	uint8_t sending; /* outs in flight */
	uint32_t sn;     /* R2TSN or DataSN expected next */
	/* the burst being sent, with its end; an R2T received before that end */
	uint32_t ttt, end, datasn, next_ttt, next_end;
	bool r2t_pending;
};

struct tcp_sess {
	struct iscsi_sess base; /* first */
	struct stream *stream;
	struct iscsi_tcp_rx rx;
	uint8_t stage[STAGE];
	struct {
		struct iscsi_tcp_pdu pdu;
		bool busy;
	} control[ISCSI_CONTROLS];
};

/* ---- Sending. */

static void put_pdu(const struct iscsi_sess *sess, struct iscsi_tcp_pdu *pdu, const void *bhs,
	const void *data, uint32_t len)
{
	iscsi_tcp_put(pdu, bhs, data, len, sess->agreed.header_digest, sess->agreed.data_digest);
}

static bool send_control(struct iscsi_sess *sess, void *bhs)
{
	struct tcp_sess *tcp = (struct tcp_sess *)sess;

	for (unsigned i = 0; i < ISCSI_CONTROLS; i++) {
		if (tcp->control[i].busy)
			continue;
		tcp->control[i].busy = true;
		put_pdu(sess, &tcp->control[i].pdu, bhs, NULL, 0);
		stream_send(tcp->stream, &tcp->control[i].pdu.out);
		return true;
	}
	return false;
}

/* A multiple of 4, so that no padding is needed. */
static uint32_t segment(const struct iscsi_sess *sess)
{
	return sess->agreed.max_xmit & ~3u;
}

/* Send Data-Out PDUs of the burst, as many as there are headers for; sent() continues. A burst is
 * completed even if the response arrives before. */
static void send_burst(struct iscsi_sess *sess, struct tcp_slot *ts)
{
	struct tcp_sess *tcp = (struct tcp_sess *)sess;
	struct iscsi_slot *slot = &ts->base;
	unsigned count = 0;

	if (ts->sending)
		return;
	if (slot->at == ts->end && ts->r2t_pending && !slot->base.flight.replied) {
		ts->r2t_pending = false;
		ts->ttt = ts->next_ttt;
		ts->end = ts->next_end;
		ts->datasn = 0;
	}
	for (; slot->at < ts->end && count < OUTS; count++) {
		uint32_t len = min_u32(ts->end - slot->at, segment(sess));
		struct iscsi_data_out out = { .opcode = ISCSI_DATA_OUT,
			.flags = slot->at + len == ts->end ? ISCSI_FINAL : 0,
			.itt = put_be32(slot->itt),
			.ttt = put_be32(ts->ttt),
			.exp_statsn = put_be32(sess->exp_statsn),
			.datasn = put_be32(ts->datasn++),
			.offset = put_be32(slot->at) };

		memcpy(out.lun, slot->cmd.lun, sizeof(out.lun));
		put_pdu(sess, &ts->outs[count], &out, slot->data.p + slot->at, len);
		slot->at += len;
		if (count)
			ts->outs[count - 1].out.next = &ts->outs[count].out;
	}
	if (!count)
		return;
	ts->sending = (uint8_t)count;
	slot->base.flight.unsent += (uint8_t)count;
	stream_send(tcp->stream, &ts->outs[0].out);
}

static void send_command(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	struct tcp_sess *tcp = (struct tcp_sess *)sess;
	struct tcp_slot *ts = (struct tcp_slot *)slot;
	const struct iscsi_negotiated *agreed = &sess->agreed;
	uint32_t first = min_u32(slot->data.len, agreed->first_burst & ~3u), now = 0;

	ts->sending = 0;
	ts->ttt = ISCSI_NO_TAG;
	ts->sn = ts->datasn = 0;
	ts->r2t_pending = false;
	slot->at = ts->end = 0;
	if (slot->data.out) {
		now = agreed->immediate_data ? min_u32(first, segment(sess)) : 0;
		slot->at = ts->end = now;
		if (!agreed->initial_r2t && first > now) {
			ts->end = first;
			slot->cmd.flags &= (uint8_t)~ISCSI_FINAL;
		}
	}
	put_pdu(sess, &ts->cmd, &slot->cmd, slot->data.p, now);
	slot->base.flight.unsent = 1;
	stream_send(tcp->stream, &ts->cmd.out);
	send_burst(sess, ts);
}

/* ---- Receiving. */

static void handle_r2t(struct iscsi_sess *sess)
{
	const struct iscsi_r2t *r2t = (const void *)&sess->bhs;
	struct iscsi_slot *slot = iscsi_sess_find_slot(sess, get_be32(r2t->itt));
	struct tcp_slot *ts = (struct tcp_slot *)slot;
	uint32_t at = get_be32(r2t->offset), len = get_be32(r2t->desired);

	if (!slot || !slot->data.out)
		iscsi_sess_protocol_error(sess, "request for data of no write in flight");
	else if (ts->r2t_pending || get_be32(r2t->r2tsn) != ts->sn || at != ts->end || !len ||
		 len > slot->data.len - at || get_be32(r2t->ttt) == ISCSI_NO_TAG)
		iscsi_sess_protocol_error(
			sess, "request for data out of order, or beyond the end of a write");
	else if (len > sess->agreed.max_burst)
		iscsi_sess_protocol_error(sess, "request for more data than was agreed on");
	else {
		ts->r2t_pending = true;
		ts->sn++;
		ts->next_ttt = get_be32(r2t->ttt);
		ts->next_end = at + len;
		send_burst(sess, ts);
	}
}

/* Return where the data of a Data-In goes; NULL: nowhere. */
static uint8_t *find_data_in(struct iscsi_sess *sess)
{
	const struct iscsi_data_in *in = (const void *)&sess->bhs;
	struct iscsi_slot *slot = iscsi_sess_find_slot(sess, get_be32(in->itt));
	struct tcp_slot *ts = (struct tcp_slot *)slot;

	/* DataPDUInOrder=Yes: no byte counts twice. */
	if (!slot || slot->data.out || get_be32(in->datasn) != ts->sn ||
		get_be32(in->offset) != slot->at || sess->len > slot->data.len - slot->at) {
		iscsi_sess_protocol_error(
			sess, "data of no read in flight, out of order, or beyond its end");
		return NULL;
	}
	ts->sn++;
	sess->data_slot = slot;
	return sess->len ? slot->data.p + slot->at : NULL;
}

static bool parse_header(struct iscsi_tcp_rx *rx, const uint8_t *p, bool wrong, uint8_t **to)
{
	struct tcp_sess *tcp = container_of(rx, struct tcp_sess, rx);
	struct iscsi_sess *sess = &tcp->base;

	if (sess->base.state != SCSI_SESS_UP)
		return false;
	memcpy(&sess->bhs, p, ISCSI_BHS);
	sess->len = rx->len;
	sess->data_slot = NULL;
	*to = sess->text;
	if (wrong)
		iscsi_sess_protocol_error(sess, "header digest of a PDU is wrong");
	else if (sess->bhs.ahs_len)
		iscsi_sess_protocol_error(sess, "unexpected additional header segment in a PDU");
	else if (ISCSI_OPCODE(sess->bhs.opcode) == ISCSI_DATA_IN)
		*to = find_data_in(sess);
	else if (sess->len > sizeof(sess->text))
		iscsi_sess_protocol_error(
			sess, "data segment of a PDU without data of a disk is too long");
	if (sess->len > sess->agreed.max_recv)
		iscsi_sess_protocol_error(
			sess, "data segment exceeds the limit that was agreed on");
	return sess->base.state == SCSI_SESS_UP;
}

static bool pdu_complete(struct iscsi_tcp_rx *rx, bool wrong)
{
	struct iscsi_sess *sess = &container_of(rx, struct tcp_sess, rx)->base;

	if (wrong)
		iscsi_sess_protocol_error(sess, "data digest of a PDU is wrong");
	else if (sess->base.state == SCSI_SESS_UP)
		iscsi_sess_dispatch(sess);
	return sess->base.state == SCSI_SESS_UP;
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	return iscsi_tcp_rx_part(cutter, p, have, parse_header, pdu_complete);
}

static bool payload(struct cutter *cutter)
{
	return iscsi_tcp_rx_payload(cutter, pdu_complete);
}

/* ---- The connection. */

static void readable(struct stream *stream)
{
	struct tcp_sess *tcp = stream->user;
	struct scsi_sess *sess = &tcp->base.base;

	if (sess->state != SCSI_SESS_UP)
		return;
	tcp->base.silent_beats = 0;
	if (cutter_receive(&tcp->rx.cutter, stream) && sess->state == SCSI_SESS_UP)
		stream_close(stream);
	if (sess->state == SCSI_SESS_UP)
		sess->ev->idle(sess);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct tcp_sess *tcp = stream->user;
	struct iscsi_sess *sess = &tcp->base;
	struct iscsi_tcp_pdu *pdu = container_of(out, struct iscsi_tcp_pdu, out);
	const struct iscsi_bhs *bhs = (const void *)pdu->head;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	struct tcp_slot *ts;

	if (opcode != ISCSI_SCSI_CMD && opcode != ISCSI_DATA_OUT) {
		for (unsigned i = 0; i < ISCSI_CONTROLS; i++)
			if (pdu == &tcp->control[i].pdu)
				tcp->control[i].busy = false;
		return;
	}
	ts = inflight_slot(&sess->base.inflight, get_be32(bhs->itt) & ISCSI_ITT_TAG);
	ts->sending -= opcode == ISCSI_DATA_OUT;
	if (sess->base.state == SCSI_SESS_UP && ts->base.data.out)
		send_burst(sess, ts);
	iscsi_sess_sent(sess, &ts->base);
}

static void down(struct stream *stream)
{
	iscsi_sess_down(stream->user, &stream->why);
}

static void none(struct stream *stream)
{
	(void)stream;
}

static const struct stream_events stream_events = { none, readable, sent, down };
static const struct cutter_events pdus = { part, payload, iscsi_tcp_rx_landed };

static int connect_to(struct iscsi_sess *sess, const struct addr *at, uint32_t timeout_ms,
	const struct iscsi_carrier_events *ev, struct diag *diag)
{
	const struct iscsi_conf *conf = sess->conf;
	struct stream_dial to = { .dst = *at,
		.src = conf->base.src,
		.iface = conf->iface[0] ? conf->iface : NULL,
		.tos = conf->base.tos,
		.timeout_ms = timeout_ms };

	return iscsi_tcp_from(&sess->dial.conn, sess->base.loop, &to, ev, &sess->dial, diag);
}

static int start(struct iscsi_sess *sess, struct iscsi_carrier_conn *conn, struct diag *diag)
{
	struct tcp_sess *tcp = (struct tcp_sess *)sess;
	uint8_t early[ISCSI_BHS];
	uint32_t len;

	(void)diag;
	tcp->stream = iscsi_tcp_detach(conn, early, &len);
	tcp->stream->ev = &stream_events;
	tcp->stream->user = tcp;
	tcp->rx.header_digest = sess->agreed.header_digest;
	tcp->rx.data_digest = sess->agreed.data_digest;
	cutter_init(&tcp->rx.cutter, &pdus, tcp->stage, STAGE);
	memcpy(tcp->stage, early, len);
	tcp->rx.cutter.to = len;
	return 0;
}

static void run(struct iscsi_sess *sess)
{
	readable(((struct tcp_sess *)sess)->stream);
}

/* With commands in flight: nothing in the socket may reach the target later. */
static void close_now(struct iscsi_sess *sess)
{
	struct tcp_sess *tcp = (struct tcp_sess *)sess;

	if (sess->base.inflight.used)
		stream_reset(tcp->stream);
	else
		stream_close(tcp->stream);
}

static void fini(struct iscsi_sess *sess)
{
	struct tcp_sess *tcp = (struct tcp_sess *)sess;

	if (tcp->stream)
		stream_free(tcp->stream);
}

static const struct iscsi_sess_carrier carrier = { .id = ISCSI_TCP,
	.can_abort = true,
	.ordered = true,
	.slot_size = sizeof(struct tcp_slot),
	.connect = connect_to,
	.hold = iscsi_tcp_hold,
	.start = start,
	.run = run,
	.command = send_command,
	.control = send_control,
	.r2t = handle_r2t,
	.close = close_now,
	.fini = fini };

static int open_tcp(
	struct scsi_sess *sess, const struct scsi_conf *conf, unsigned number, struct diag *diag)
{
	return iscsi_sess_open(sess, conf, &carrier, number, diag);
}

const struct scsi_carrier iscsi_tcp_carrier = { .sess_size = sizeof(struct tcp_sess),
	.sessions = "sessions",
	.open = open_tcp,
	.send = iscsi_sess_send,
	.end = iscsi_sess_end,
	.fail = iscsi_sess_fail,
	.logout = iscsi_sess_logout,
	.fini = iscsi_sess_fini };
