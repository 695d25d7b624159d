/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* A discovery over TCP with a target that says the input, whatever it is asked: PDUs cut anywhere,
 * and what we send held to their format. It stands in for core/net/tcp.c. */
#include "../../core/proto/iscsi/dial.h"
#include "stream.h"
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TURNS 4 /* without a byte, and it hangs up */

static struct wire {
	struct loop_poller poller;
	struct stream stream;
	struct stream_out *out;
	uint8_t *bytes;
	size_t left, chunk;
	unsigned idle;
	bool closed;
} wire;

static void check_sent(const struct stream_out *out)
{
	const struct iscsi_bhs *bhs = out->iov[0].iov_base;
	size_t data = 0;

	for (unsigned i = 1; i < out->niov; i++)
		data += out->iov[i].iov_len;
	if (!out->niov || out->iov[0].iov_len != ISCSI_BHS || bhs->ahs_len ||
		((get_be24(bhs->data_len) + 3) & ~3u) != data)
		abort();
	if (data > ISCSI_PDU_DATA || !(bhs->opcode & ISCSI_IMMEDIATE))
		abort();
}

static bool turn(struct loop_poller *poller)
{
	struct stream *stream = &wire.stream;

	(void)poller;
	if (!stream->ev || stream->state == STREAM_DOWN)
		return true;
	if (stream->state == STREAM_CONNECTING) {
		stream->state = STREAM_UP;
		stream->ev->up(stream);
	} else if (wire.closed || (!wire.left && ++wire.idle > TURNS)) {
		stream->state = STREAM_DOWN;
		stream->ev->down(stream);
	} else if (wire.out) {
		struct stream_out *out = wire.out;

		wire.out = out->next;
		check_sent(out);
		stream->ev->sent(stream, out);
	} else if (wire.left) {
		stream->ev->readable(stream);
	}
	return true;
}

static bool never_sleeps(struct loop_poller *poller)
{
	(void)poller;
	return false;
}

int stream_dial(struct stream **out, struct loop *loop, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	(void)dial, (void)diag;
	wire.stream = (struct stream){ .ev = events, .loop = loop, .user = user, .route = "wire" };
	*out = &wire.stream;
	return 0;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	ssize_t got = 0;

	if (stream->state != STREAM_UP || count < 1)
		abort();
	for (int i = 0; i < count; i++) {
		size_t n = wire.left < wire.chunk ? wire.left : wire.chunk;

		if (!iov[i].iov_len)
			abort();
		n = n < iov[i].iov_len ? n : iov[i].iov_len;
		memcpy(iov[i].iov_base, wire.bytes, n);
		wire.bytes += n;
		wire.left -= n;
		wire.chunk -= n;
		got += (ssize_t)n;
	}
	if (!got)
		wire.chunk = 1 + wire.left % 97;
	return got;
}

void stream_send(struct stream *stream, struct stream_out *chain)
{
	struct stream_out **end = &wire.out;

	(void)stream;
	while (*end)
		end = &(*end)->next;
	*end = chain;
}

void stream_close(struct stream *stream)
{
	(void)stream;
	wire.closed = true;
}

void stream_reset(struct stream *stream)
{
	stream_close(stream);
}

void stream_free(struct stream *stream)
{
	stream->ev = NULL;
	wire.out = NULL;
}

/* Turn redirects into errors, as names can't be looked up here. */
static void stay(uint8_t *bytes, size_t size)
{
	for (size_t at = 0; size - at >= ISCSI_BHS;) {
		struct iscsi_login_rsp *rsp = (void *)(bytes + at);
		size_t len = ISCSI_BHS + ((get_be24(rsp->data_len) + 3) & ~3u);

		if (rsp->status_class == ISCSI_LOGIN_REDIRECT)
			rsp->status_class = ISCSI_LOGIN_TARGET;
		at += len < size - at ? len : size - at;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iscsi_identity from = { .initiator = "iqn.x:me" };
	struct iscsi_target_list found;
	struct diag diag = { 0 };
	struct loop *loop;
	struct addr addr;
	uint8_t *bytes = malloc(size + 1);

	if (!bytes || loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		addr_parse(&addr, "10.0.0.1:3260", 0, NULL))
		abort();
	memcpy(bytes, data, size);
	stay(bytes, size);
	if (size & 1)
		from.auth = (struct iscsi_auth){ .user = "joe", .secret = "longenoughsecret" };
	wire = (struct wire){ .poller = { .poll = turn, .arm = never_sleeps },
		.bytes = bytes,
		.left = size,
		.chunk = 1 + size % 61 };
	loop_poller_add(loop, &wire.poller);
	if (iscsi_discover(loop, &addr, ISCSI_TCP, &from, 1000, &found, &diag)
			? !diag.text[0] || found.record
			: diag.err)
		abort();
	iscsi_target_list_free(&found);
	loop_poller_del(loop, &wire.poller);
	loop_free(loop);
	free(bytes);
	return 0;
}
