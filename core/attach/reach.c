/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel connects to one address: find the one of a name's addresses that answers over TCP. */
#include "attach_row.h"
#include "stream.h"

static void up(struct stream *stream)
{
	struct attach_reach *reach = stream->user;

	addr_keep_peer(reach->addr, &stream->peer);
	stream_close(stream);
}

static void readable(struct stream *stream)
{
	(void)stream;
}

static void sent(struct stream *stream, struct stream_out *out)
{
	(void)stream;
	(void)out;
}

static void down(struct stream *stream)
{
	struct attach_reach *reach = stream->user;

	attach_reach_stop(reach);
	reach->done(reach);
}

bool attach_reach_start(
	struct attach_reach *reach, struct loop *loop, struct addr *addr, uint32_t timeout_ms)
{
	static const struct stream_events events = { up, readable, sent, down };
	const struct stream_dial dial = { .dst = *addr, .timeout_ms = timeout_ms };

	reach->addr = addr;
	return addr->others && !stream_dial(&reach->stream, loop, &dial, &events, reach, NULL);
}

void attach_reach_stop(struct attach_reach *reach)
{
	if (reach->stream)
		stream_free(reach->stream);
	reach->stream = NULL;
}
