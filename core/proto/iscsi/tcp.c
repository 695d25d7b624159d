/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDUs over a TCP connection: of logins and discovery sessions, and in the full feature phase of a
 * session, with which digests begin. There, data is received into and sent from the command's
 * buffer. */
#include "carrier.h"
#include "ini.h"
#include "min.h"
#include "pdu.h"
#include <errno.h>
#include <stdlib.h>

#define OUTS       8 /* Data-Out PDUs of a command in flight */
#define STAGE      65536
#define RECV_LIMIT 65536u

struct tcp_slot {
	struct iscsi_slot base; /* first */
	struct iscsi_tcp_pdu cmd, outs[OUTS];
	uint8_t sending; /* outs in flight */
	uint32_t sn;     /* R2TSN or DataSN expected next */
	/* the burst being sent, with its end; an R2T received before that end */
	uint32_t ttt, end, datasn, next_ttt, next_end;
	bool r2t_pending;
};

struct tcp_send {
	struct iscsi_tcp_pdu pdu;
	bool busy;
	uint8_t data[ISCSI_PDU_DATA];
};

struct tcp {
	struct iscsi_carrier_conn conn; /* first */
	struct stream *stream;
	bool in_session; /* else it is allocated alone */
	bool terminated;
	uint32_t recv_max; /* until the full feature phase of a session */
	struct iscsi_tcp_rx rx;
	struct iscsi_bhs bhs; /* of the PDU being received */
	struct tcp_send send[ISCSI_CARRIER_SENDS];
	uint8_t stage[STAGE];
	uint8_t data[RECV_LIMIT];
};

struct tcp_sess {
	struct iscsi_sess base; /* first */
	struct tcp tcp;
};

static struct tcp *tcp_of(struct iscsi_sess *sess)
{
	return &((struct tcp_sess *)sess)->tcp;
}

static struct iscsi_sess *sess_of(struct tcp *tcp)
{
	return &container_of(tcp, struct tcp_sess, tcp)->base;
}

static void put_pdu(const struct tcp *tcp, struct iscsi_tcp_pdu *pdu, const void *bhs,
	const void *data, uint32_t len)
{
	iscsi_tcp_put(pdu, bhs, data, len, tcp->rx.header_digest, tcp->rx.data_digest);
}

/* ---- Control-type PDUs, in both phases. */

static int send_control(
	struct iscsi_carrier_conn *conn, const void *bhs, const void *data, uint32_t len)
{
	struct tcp *tcp = (struct tcp *)conn;
	struct tcp_send *send = tcp->send;

	if (len > ISCSI_PDU_DATA)
		return -EMSGSIZE;
	while (send < tcp->send + ISCSI_CARRIER_SENDS && send->busy)
		send++;
	if (send == tcp->send + ISCSI_CARRIER_SENDS)
		return -ENOBUFS;
	if (len)
		memcpy(send->data, data, len);
	put_pdu(tcp, &send->pdu, bhs, send->data, len);
	send->busy = true;
	stream_send(tcp->stream, &send->pdu.out);
	return 0;
}

/* It may hold a secret. */
static void wipe(struct tcp_send *send)
{
	const struct iscsi_bhs *bhs = (const void *)send->pdu.head;

	explicit_bzero(send->data, get_be24(bhs->data_len));
	send->busy = false;
}

static void terminate(struct iscsi_carrier_conn *conn)
{
	struct tcp *tcp = (struct tcp *)conn;

	if (tcp->stream)
		stream_free(tcp->stream);
	for (unsigned i = 0; i < ISCSI_CARRIER_SENDS; i++)
		wipe(&tcp->send[i]);
	if (!tcp->in_session)
		free(tcp);
}

/* ---- Login and discovery. */

static const struct stream_events login_events;

static void fail(struct tcp *tcp, const struct diag *why)
{
	if (tcp->terminated)
		return;
	tcp->terminated = true;
	tcp->conn.why = *why;
	tcp->conn.ev->connection_terminate_notify(&tcp->conn);
}

static void up(struct stream *stream)
{
	struct tcp *tcp = stream->user;

	tcp->conn.peer = stream->peer;
	memcpy(tcp->conn.route, stream->route, sizeof(tcp->conn.route));
	tcp->conn.ev->up(&tcp->conn);
}

static void login_sent(struct stream *stream, struct stream_out *out)
{
	(void)stream;
	wipe(container_of(out, struct tcp_send, pdu.out));
}

static void login_down(struct stream *stream)
{
	struct diag closed = { 0 };

	diag_set(&closed, DIAG_CLOSED, ECONNRESET, "connection closed by the target");
	fail(stream->user, stream->why.err ? &stream->why : &closed);
}

static bool login_pdu(struct iscsi_tcp_rx *rx, bool wrong)
{
	struct tcp *tcp = container_of(rx, struct tcp, rx);

	(void)wrong;
	tcp->conn.ev->control_notify(&tcp->conn, &tcp->bhs, tcp->data, rx->len);
	return !tcp->terminated && tcp->stream->ev == &login_events;
}

static bool login_header(struct iscsi_tcp_rx *rx, const uint8_t *p, bool wrong, uint8_t **to)
{
	struct tcp *tcp = container_of(rx, struct tcp, rx);
	struct diag why = { 0 };

	(void)wrong;
	memcpy(&tcp->bhs, p, ISCSI_BHS);
	if (tcp->bhs.ahs_len)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"unexpected additional header segment in a PDU: is it an iSCSI target?");
	else if (rx->len > tcp->recv_max)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"data segment of %u bytes exceeds the limit of %u", rx->len, tcp->recv_max);
	if (why.err)
		fail(tcp, &why);
	*to = tcp->data;
	return !why.err;
}

static int login_part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	return iscsi_tcp_rx_part(cutter, p, have, login_header, login_pdu);
}

static bool login_payload(struct cutter *cutter)
{
	return iscsi_tcp_rx_payload(cutter, login_pdu);
}

static void login_readable(struct stream *stream)
{
	struct tcp *tcp = stream->user;

	if (tcp->terminated)
		return;
	if (cutter_receive(&tcp->rx.cutter, stream))
		stream_close(stream);
	else if (stream->ev != &login_events) /* PDUs behind the login */
		stream->ev->readable(stream);
}

static const struct stream_events login_events = {
	.up = up, .readable = login_readable, .sent = login_sent, .down = login_down
};

/* ---- Full feature phase: sending. */

/* A multiple of 4, so that no padding is needed. */
static uint32_t segment(const struct iscsi_sess *sess)
{
	return sess->dial.result.agreed.max_xmit & ~3u;
}

/* Send Data-Out PDUs of the burst, as many as there are headers for; sent() continues. A burst is
 * completed even if the response arrives before. */
static void send_burst(struct iscsi_sess *sess, struct tcp_slot *ts)
{
	struct tcp *tcp = tcp_of(sess);
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
		put_pdu(tcp, &ts->outs[count], &out, slot->data.p + slot->at, len);
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
	struct tcp *tcp = tcp_of(sess);
	struct tcp_slot *ts = (struct tcp_slot *)slot;
	const struct iscsi_agreed_params *agreed = &sess->dial.result.agreed;
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
	put_pdu(tcp, &ts->cmd, &slot->cmd, slot->data.p, now);
	slot->base.flight.unsent = 1;
	stream_send(tcp->stream, &ts->cmd.out);
	send_burst(sess, ts);
}

/* ---- Full feature phase: receiving. */

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
	else if (len > sess->dial.result.agreed.max_burst)
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
	struct iscsi_sess *sess = &container_of(rx, struct tcp_sess, tcp.rx)->base;

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
	if (sess->len > sess->dial.result.agreed.max_recv)
		iscsi_sess_protocol_error(
			sess, "data segment exceeds the limit that was agreed on");
	return sess->base.state == SCSI_SESS_UP;
}

static bool pdu_complete(struct iscsi_tcp_rx *rx, bool wrong)
{
	struct iscsi_sess *sess = &container_of(rx, struct tcp_sess, tcp.rx)->base;

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

static void readable(struct stream *stream)
{
	struct tcp *tcp = stream->user;
	struct iscsi_sess *sess = sess_of(tcp);

	if (sess->base.state != SCSI_SESS_UP)
		return;
	sess->silent_beats = 0;
	if (cutter_receive(&tcp->rx.cutter, stream) && sess->base.state == SCSI_SESS_UP)
		stream_close(stream);
	if (sess->base.state == SCSI_SESS_UP)
		sess->base.ev->idle(&sess->base);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct iscsi_sess *sess = sess_of(stream->user);
	const struct iscsi_bhs *bhs =
		(const void *)container_of(out, struct iscsi_tcp_pdu, out)->head;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	struct tcp_slot *ts;

	if (opcode != ISCSI_SCSI_CMD && opcode != ISCSI_DATA_OUT) {
		wipe(container_of(out, struct tcp_send, pdu.out)); /* maybe of the login */
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
	iscsi_sess_down(sess_of(stream->user), &stream->why);
}

/* ---- The connection. */

static void enable(struct iscsi_carrier_conn *conn, uint32_t recv_max)
{
	static const struct stream_events events = {
		.readable = readable, .sent = sent, .down = down
	};
	static const struct cutter_events pdus = { part, payload, iscsi_tcp_rx_landed };
	struct tcp *tcp = (struct tcp *)conn;
	const struct iscsi_agreed_params *agreed;

	tcp->recv_max = recv_max;
	if (!tcp->in_session)
		return;
	agreed = &sess_of(tcp)->dial.result.agreed;
	tcp->rx.header_digest = agreed->header_digest;
	tcp->rx.data_digest = agreed->data_digest;
	tcp->rx.cutter.ev = &pdus;
	tcp->stream->ev = &events;
}

static int start(struct tcp *tcp, struct loop *loop, const struct stream_dial *to,
	const struct iscsi_carrier_events *ev, void *user, struct diag *diag)
{
	static const struct iscsi_carrier_ops ops = { send_control, enable, terminate };
	static const struct cutter_events pdus = { .part = login_part, .payload = login_payload };
	int err;

	tcp->conn = (struct iscsi_carrier_conn){
		.ops = &ops, .ev = ev, .loop = loop, .user = user, .recv_limit = RECV_LIMIT
	};
	tcp->terminated = false;
	tcp->recv_max = ISCSI_PDU_DATA;
	tcp->rx = (struct iscsi_tcp_rx){ 0 };
	cutter_init(&tcp->rx.cutter, &pdus, tcp->stage, STAGE);
	err = stream_dial(&tcp->stream, loop, to, &login_events, tcp, diag);
	if (err) {
		tcp->stream = NULL;
		terminate(&tcp->conn);
	}
	return err;
}

static struct stream_dial dial_to(
	const struct iscsi_conf *conf, const struct addr *at, uint32_t timeout_ms)
{
	struct stream_dial to = { .dst = *at, .timeout_ms = timeout_ms };

	if (conf) {
		to.src = conf->base.src;
		to.iface = conf->iface[0] ? conf->iface : NULL;
		to.tos = conf->base.tos;
	}
	return to;
}

int iscsi_tcp(struct iscsi_carrier_conn **out, struct loop *loop, const struct iscsi_conf *conf,
	const struct addr *addr, uint32_t timeout_ms, const struct iscsi_carrier_events *ev,
	void *user, struct diag *diag)
{
	struct stream_dial to = dial_to(conf, addr, timeout_ms);
	struct tcp *tcp = calloc(1, sizeof(*tcp));

	if (!tcp)
		return diag_sys(diag, ENOMEM, "iSCSI connection");
	*out = &tcp->conn;
	return start(tcp, loop, &to, ev, user, diag);
}

static int connect_to(struct iscsi_sess *sess, const struct addr *at, uint32_t timeout_ms,
	const struct iscsi_carrier_events *ev, struct diag *diag)
{
	struct stream_dial to = dial_to(sess->conf, at, timeout_ms);

	tcp_of(sess)->in_session = true;
	sess->dial.conn = &tcp_of(sess)->conn;
	return start(tcp_of(sess), sess->base.loop, &to, ev, &sess->dial, diag);
}

/* With commands in flight: nothing in the socket may reach the target later. */
static void close_now(struct iscsi_sess *sess)
{
	(sess->base.inflight.used ? stream_reset : stream_close)(tcp_of(sess)->stream);
}

static const struct iscsi_sess_carrier carrier = { .id = ISCSI_TCP,
	.can_abort = true,
	.ordered = true,
	.slot_size = sizeof(struct tcp_slot),
	.connect = connect_to,
	.command = send_command,
	.r2t = handle_r2t,
	.close = close_now };

static int open_tcp(
	struct scsi_sess *sess, const struct scsi_conf *conf, unsigned number, struct diag *diag)
{
	return iscsi_sess_open(sess, conf, &carrier, number, diag);
}

const struct scsi_carrier iscsi_tcp_carrier = { .sess_size = sizeof(struct tcp_sess),
	.sessions = "sessions",
	.pings = true,
	.open = open_tcp,
	.send = iscsi_sess_send,
	.end = iscsi_sess_end,
	.fail = iscsi_sess_fail,
	.logout = iscsi_sess_logout,
	.fini = iscsi_sess_fini,
	.identify = iscsi_sess_identify };
