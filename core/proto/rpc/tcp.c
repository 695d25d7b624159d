/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RPC over TCP: messages as records (RFC 5531, 11). The local port is below 1024 if permitted, as
 * servers require that of root. */
#include "conn.h"
#include "cutter.h"
#include "stream.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define REPLY_MAX  (1u << 20)
#define PORT_LOW   665 /* lower ports belong to known services */
#define PORT_HIGH  1023
#define PORT_TRIES 20

struct tcp {
	struct rpc rpc;
	struct stream *stream;
	struct stream_out out;
	be32 mark; /* of the call */
	struct cutter cutter;
	uint8_t head[4]; /* of the fragment being received */
	bool last;       /* it is the last one of the reply */
	uint8_t *reply;
	uint32_t reply_len;
};

static void fail(struct tcp *tcp, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO, "%s", text);
	rpc_down(&tcp->rpc, &why);
	stream_close(tcp->stream);
}

static void up(struct stream *stream)
{
	struct tcp *tcp = stream->user;

	tcp->rpc.peer = stream->peer;
	memcpy(tcp->rpc.route, stream->route, sizeof(tcp->rpc.route));
	rpc_notify(&tcp->rpc);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	(void)stream;
	(void)out;
}

static void down(struct stream *stream)
{
	struct tcp *tcp = stream->user;
	struct diag closed = { 0 };

	diag_set(&closed, DIAG_CLOSED, ECONNRESET, "connection closed by the server");
	rpc_down(&tcp->rpc, stream->why.err ? &stream->why : &closed);
}

/* An unexpected second record stays in the socket until the next call. */
static bool fragment_ended(struct cutter *cutter)
{
	struct tcp *tcp = container_of(cutter, struct tcp, cutter);

	if (!tcp->last)
		return true;
	tcp->rpc.reply = rd_init(tcp->reply, tcp->reply_len);
	tcp->reply_len = 0;
	rpc_notify(&tcp->rpc);
	return false;
}

static int fragment(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct tcp *tcp = container_of(cutter, struct tcp, cutter);
	uint32_t mark, len;

	if (have < sizeof(tcp->head))
		return 0;
	mark = (uint32_t)wire_be(p, sizeof(tcp->head));
	len = mark & ~RPC_LAST_FRAGMENT;
	tcp->last = mark & RPC_LAST_FRAGMENT;
	if (len > REPLY_MAX - tcp->reply_len)
		fail(tcp, "RPC reply exceeds 1 MiB");
	else if (!len && !tcp->last)
		fail(tcp, "empty fragment in an RPC reply");
	if (tcp->rpc.down)
		return CUTTER_STOP;
	if (len)
		cutter_payload(cutter, tcp->reply + tcp->reply_len, len);
	else if (!fragment_ended(cutter))
		cutter_stop(cutter);
	tcp->reply_len += len;
	return sizeof(tcp->head);
}

static void readable(struct stream *stream)
{
	struct tcp *tcp = stream->user;

	if (cutter_receive(&tcp->cutter, stream))
		stream_close(stream);
}

static const struct stream_events events = {
	.up = up, .readable = readable, .sent = sent, .down = down
};

static void tcp_send(struct rpc *rpc, const void *message, size_t len)
{
	struct tcp *tcp = (struct tcp *)rpc;

	tcp->mark = put_be32(RPC_LAST_FRAGMENT | (uint32_t)len);
	tcp->out = (struct stream_out){ .iov = { { &tcp->mark, sizeof(tcp->mark) },
						{ (void *)message, len } },
		.niov = 2,
		.unsignaled = true };
	stream_send(tcp->stream, &tcp->out);
}

static void tcp_close(struct rpc *rpc)
{
	struct tcp *tcp = (struct tcp *)rpc;

	if (tcp->stream)
		stream_free(tcp->stream);
	free(tcp->reply);
	free(tcp);
}

static const struct rpc_carrier carrier = { tcp_send, tcp_close };

static int dial(struct tcp *tcp, struct loop *loop, struct stream_dial *to, struct diag *diag)
{
	uint16_t start = 0;
	int err = -EACCES;

	getrandom(&start, sizeof(start), GRND_NONBLOCK);
	for (unsigned i = 0; !geteuid() && i < PORT_TRIES; i++) {
		to->src = (struct addr){ .len = to->dst.len };
		to->src.ss.ss_family = to->dst.ss.ss_family;
		addr_set_port(
			&to->src, (uint16_t)(PORT_LOW + (start + i) % (PORT_HIGH - PORT_LOW + 1)));
		err = stream_dial(&tcp->stream, loop, to, &events, tcp, diag);
		if (err != -EADDRINUSE)
			break;
	}
	if (err != -EADDRINUSE && err != -EACCES && err != -EADDRNOTAVAIL)
		return err;
	to->src = (struct addr){ 0 };
	return stream_dial(&tcp->stream, loop, to, &events, tcp, diag);
}

int rpc_tcp(struct rpc **out, struct loop *loop, const struct addr *addr, uint32_t timeout_ms,
	struct diag *diag)
{
	struct stream_dial to = { .dst = *addr, .timeout_ms = timeout_ms };
	static const struct cutter_events records = { .part = fragment, .payload = fragment_ended };
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	int err;

	if (!tcp)
		return diag_sys(diag, ENOMEM, "RPC connection");
	cutter_init(&tcp->cutter, &records, tcp->head, sizeof(tcp->head));
	tcp->rpc = (struct rpc){
		.carrier = &carrier, .loop = loop, .call_max = RPC_CALL_MAX, .reply_max = REPLY_MAX
	};
	tcp->reply = malloc(REPLY_MAX);
	err = tcp->reply ? dial(tcp, loop, &to, diag) : diag_sys(diag, ENOMEM, "RPC connection");
	if (err) {
		tcp->stream = NULL;
		tcp_close(&tcp->rpc);
		return err;
	}
	*out = &tcp->rpc;
	return 0;
}
