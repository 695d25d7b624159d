/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The bytes of an NBD connection: incoming through the cutter, first for the handshake, then
 * requests; outgoing for the handshake. */
#include "srv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int enter(struct nbd_srv_handshake *handshake, unsigned export, struct diag *diag)
{
	struct nbd_srv_conn *c = handshake->user;

	c->export = &handshake->export[export];
	c->lim = &c->export->bdev->lim;
	if (c->conn.worker->lane[export]->state != LANE_UP)
		return diag_set(diag, DIAG_CLOSED, ENOTCONN, "the disk is gone");
	return nbd_srv_room(c, diag);
}

static void serve_export(struct nbd_srv_conn *c)
{
	c->features = nbd_srv_flags(c->export, c->structured);
	nbd_srv_admit(c);
	loop_trace(c->conn.loop, "%s: serving export '%s'%s%s", c->conn.name, c->export->name,
		c->structured ? ", structured replies" : "",
		c->meta ? ", " NBD_META_ALLOCATION : "");
}

static void handshake_done(struct nbd_srv_conn *c)
{
	free(c->handshake);
	c->handshake = NULL;
	c->cutter.ev = &nbd_srv_stream;
}

/* Handle one message; the next is read once the answer to it was sent. */
static int handshake_part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct nbd_srv_conn *c = container_of(cutter, struct nbd_srv_conn, cutter);
	struct nbd_srv_handshake *h = c->handshake;
	size_t used;

	if (h->out_len || h->state >= NBD_HANDSHAKE_STARTTLS)
		return CUTTER_STOP;
	used = nbd_srv_handshake_feed(h, p, have);
	c->plain = h->plain && !h->secured;
	if (h->out_len || h->state >= NBD_HANDSHAKE_STARTTLS) {
		cutter_stop(cutter);
		target_conn_wake(&c->conn);
	}
	return (int)used;
}

/* The client waits for the reply before it begins TLS: what was received behind the option could
 * have been inserted by anyone. */
static void start_tls(struct nbd_srv_conn *c)
{
	const struct stream_tls tls = { .creds = nbd_server_of(c)->opt.tls,
		.client = c->conn.admission.peer_addr->network };
	struct diag why = { 0 };

	if (c->securing)
		return;
	c->securing = true;
	if (c->cutter.from < c->cutter.to)
		target_conn_fail(&c->conn, DIAG_PROTOCOL, EPROTO, "data before the TLS handshake");
	else if (stream_start_tls(c->conn.stream, &tls, &why))
		target_conn_fail(&c->conn, why.code, why.err, why.text);
}

static void secured(struct stream *stream)
{
	struct nbd_srv_conn *c = stream->user;

	c->cipher = stream_tls_cipher(stream);
	c->psk = stream_tls_is_psk(stream);
	snprintf(c->identity, sizeof(c->identity), "%s", stream_tls_peer(stream));
	nbd_srv_handshake_secured(c->handshake);
	target_conn_wake(&c->conn);
}

/* Once the client has got the last answer, ask for its place: until it is admitted, it may have to
 * make room for another one. */
static void handshake_turn(struct nbd_srv_conn *c)
{
	struct nbd_srv_handshake *h = c->handshake;

	if (h->sending || c->fencing)
		return;
	if (h->state == NBD_HANDSHAKE_DONE && !c->ready) {
		c->structured = h->structured;
		c->meta = h->meta == h->chosen + 1;
		if (c->conn.state == TARGET_OPENING)
			serve_export(c);
	} else if (h->out_len) {
		h->sending = true;
		h->reply = (struct stream_out){ .iov = { { h->out, h->out_len } }, .niov = 1 };
		stream_send(c->conn.stream, &h->reply);
	} else if (h->state == NBD_HANDSHAKE_STARTTLS) {
		start_tls(c);
	} else if (h->state == NBD_HANDSHAKE_END) {
		target_conn_fail(
			&c->conn, DIAG_CLOSED, ECONNABORTED, "handshake ended by the client");
	} else if (h->state == NBD_HANDSHAKE_DONE) {
		handshake_done(c);
	} else {
		cutter_resume(&c->cutter);
	}
}

/* At the end of each turn in which something changed. */
static void resume(struct target_conn *conn)
{
	struct nbd_srv_conn *c = (struct nbd_srv_conn *)conn;

	if (c->handshake)
		handshake_turn(c);
	if (!c->handshake && !target_conn_is_closing(conn)) {
		nbd_srv_silence(c);
		nbd_srv_requests(c);
		nbd_srv_ordered_run(c);
	}
	if (target_conn_is_closing(conn))
		return;
	/* While the stage is full, the end of the stream can't be read. But requests left by a
	 * client that has disconnected must not be executed once there is room again: another
	 * client may have written there since. So watch for the disconnect. */
	stream_set_interest(conn->stream, conn->state >= TARGET_ENDING  ? STREAM_HUP
					  : cutter_has_room(&c->cutter) ? STREAM_READ
									: STREAM_RDHUP);
}

/* Requests without a command or buffer stay in the stage, so that the socket is polled less
 * often. */
static void readable(struct stream *stream)
{
	struct nbd_srv_conn *c = stream->user;
	struct cutter *cutter = &c->cutter;
	int err;

	if (c->conn.state >= TARGET_ENDING)
		return;
	if (!cutter_has_room(cutter)) {
		stream_set_interest(stream, STREAM_RDHUP);
		return;
	}
	err = cutter->stopped ? cutter_receive_ahead(cutter, stream)
			      : cutter_receive(cutter, stream);
	if (err)
		target_stream_ended(&c->conn);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct nbd_srv_conn *c = stream->user;

	if (!c->handshake || out != &c->handshake->reply) {
		nbd_srv_replied(container_of(out, struct nbd_srv_cmd, out));
		return;
	}
	c->handshake->sending = false;
	c->handshake->out_len = 0;
	target_conn_wake(&c->conn);
}

static const struct stream_events events = {
	.readable = readable, .sent = sent, .secured = secured, .down = target_stream_down
};

static int conn_open(struct target_conn *conn, struct diag *diag)
{
	static const struct cutter_events messages = { .part = handshake_part };
	struct nbd_srv_conn *c = (struct nbd_srv_conn *)conn;
	int err;

	loop_trace(conn->loop, "%s: connected", conn->name);
	cutter_init(
		&c->cutter, c->handshake ? &messages : &nbd_srv_stream, c->stage, sizeof(c->stage));
	c->cutter.rounds =
		1; /* read little per turn, so that the client can use the first answers */
	c->sending_end = &c->sending;
	c->held_end = &c->held;
	c->buffer = conn->target->opt.buffer;
	if (c->handshake)
		c->handshake->enter = enter;
	err = c->owner ? nbd_srv_room(c, diag) : 0;
	if (err)
		close(conn->fd);
	else
		err = target_stream_open(conn, &events, diag);
	if (err) {
		free(c->handshake);
		free(c->reqs);
		return err;
	}
	if (c->owner)
		serve_export(c); /* otherwise detected by its handshake */
	target_conn_wake(conn);
	return 0;
}

/* The payload follows in the stream. It is a single piece, as the disk's block size divides a
 * buffer. */
static void pull(struct target_cmd *cmd, uint32_t len)
{
	cutter_payload(&((struct nbd_srv_conn *)cmd->conn)->cutter, cmd->p, len);
}

static void push(struct target_cmd *cmd, uint32_t len, bool last)
{
	(void)len;
	(void)last;
	nbd_srv_reply((struct nbd_srv_cmd *)cmd);
}

static void reply(struct target_cmd *cmd)
{
	nbd_srv_reply((struct nbd_srv_cmd *)cmd);
}

static void conn_close(struct target_conn *conn)
{
	struct nbd_srv_conn *c = (struct nbd_srv_conn *)conn;

	if (c->sending)
		stream_close(conn->stream);
	else
		stream_shutdown(conn->stream);
}

static void conn_free(struct target_conn *conn)
{
	struct nbd_srv_conn *c = (struct nbd_srv_conn *)conn;

	stream_free(conn->stream);
	free(c->handshake);
	free(c->reqs);
}

const struct target_carrier nbd_srv_carrier = {
	.name = "stream",
	.cmd_size = sizeof(struct nbd_srv_cmd),
	.open = conn_open,
	.pull = pull,
	.push = push,
	.reply = reply,
	.resume = resume,
	.moved = target_stream_moved,
	.hung_up = target_stream_hung_up,
	.close = conn_close,
	.reset = target_stream_reset,
	.free = conn_free,
};
