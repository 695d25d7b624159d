/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Login and discovery over TCP. No digests: they begin with the full feature phase. */
#include "carrier.h"
#include "pdu.h"
#include <errno.h>
#include <stdlib.h>

#define RECV_LIMIT 65536u

struct tcp_send {
	struct iscsi_tcp_pdu pdu;
	bool busy;
	uint8_t data[ISCSI_PDU_DATA];
};

struct tcp {
	struct iscsi_carrier_conn conn;
	struct stream *stream;
	struct tcp_send send[ISCSI_CARRIER_SENDS];
	bool terminated;
	bool held; /* leave further PDUs to the stream's next owner */
	struct iscsi_tcp_rx rx;
	struct iscsi_bhs bhs; /* of the PDU being received */
	uint32_t recv_max;
	uint8_t head[ISCSI_BHS];
	uint8_t data[RECV_LIMIT];
};

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

static void sent(struct stream *stream, struct stream_out *out)
{
	(void)stream;
	container_of(out, struct tcp_send, pdu.out)->busy = false;
}

static void down(struct stream *stream)
{
	struct diag closed = { 0 };

	diag_set(&closed, DIAG_CLOSED, ECONNRESET, "connection closed by the target");
	fail(stream->user, stream->why.err ? &stream->why : &closed);
}

static bool pdu_complete(struct iscsi_tcp_rx *rx, bool wrong)
{
	struct tcp *tcp = container_of(rx, struct tcp, rx);

	(void)wrong;
	tcp->conn.ev->control_notify(&tcp->conn, &tcp->bhs, tcp->data, rx->len);
	return !tcp->terminated && !tcp->held;
}

static bool parse_header(struct iscsi_tcp_rx *rx, const uint8_t *p, bool wrong, uint8_t **to)
{
	struct tcp *tcp = container_of(rx, struct tcp, rx);
	struct diag why = { 0 };

	(void)wrong;
	if (tcp->held)
		return false;
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

	if (!tcp->terminated && !tcp->held && cutter_receive(&tcp->rx.cutter, stream))
		stream_close(stream);
}

static const struct stream_events events = {
	.up = up, .readable = readable, .sent = sent, .down = down
};

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
	iscsi_tcp_put(&send->pdu, bhs, send->data, len, false, false);
	send->busy = true;
	stream_send(tcp->stream, &send->pdu.out);
	return 0;
}

static void enable(struct iscsi_carrier_conn *conn, uint32_t recv_max)
{
	((struct tcp *)conn)->recv_max = recv_max;
}

static void terminate(struct iscsi_carrier_conn *conn)
{
	struct tcp *tcp = (struct tcp *)conn;

	if (tcp->stream)
		stream_free(tcp->stream);
	explicit_bzero(tcp->send, sizeof(tcp->send));
	free(tcp);
}

void iscsi_tcp_hold(struct iscsi_carrier_conn *conn)
{
	((struct tcp *)conn)->held = true;
}

struct stream *iscsi_tcp_detach(
	struct iscsi_carrier_conn *conn, uint8_t early[ISCSI_BHS], uint32_t *len)
{
	struct tcp *tcp = (struct tcp *)conn;
	struct stream *stream = tcp->stream;

	*len = tcp->rx.cutter.to - tcp->rx.cutter.from;
	memcpy(early, tcp->head + tcp->rx.cutter.from, *len);
	tcp->stream = NULL;
	terminate(conn);
	return stream;
}

static const struct iscsi_carrier_ops ops = { send_control, enable, terminate };

int iscsi_tcp(struct iscsi_carrier_conn **out, struct loop *loop, const struct addr *addr,
	uint32_t timeout_ms, const struct iscsi_carrier_events *ev, void *user, struct diag *diag)
{
	struct stream_dial to = { .dst = *addr, .timeout_ms = timeout_ms };

	return iscsi_tcp_from(out, loop, &to, ev, user, diag);
}

int iscsi_tcp_from(struct iscsi_carrier_conn **out, struct loop *loop, const struct stream_dial *to,
	const struct iscsi_carrier_events *ev, void *user, struct diag *diag)
{
	static const struct cutter_events pdus = { .part = part, .payload = payload };
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	int err;

	if (!tcp)
		return diag_sys(diag, ENOMEM, "iSCSI connection");
	cutter_init(&tcp->rx.cutter, &pdus, tcp->head, sizeof(tcp->head));
	tcp->conn = (struct iscsi_carrier_conn){
		.ops = &ops, .ev = ev, .loop = loop, .user = user, .recv_limit = RECV_LIMIT
	};
	tcp->recv_max = ISCSI_PDU_DATA;
	err = stream_dial(&tcp->stream, loop, to, &events, tcp, diag);
	if (err) {
		tcp->stream = NULL;
		terminate(&tcp->conn);
		return err;
	}
	*out = &tcp->conn;
	return 0;
}
