/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Resolve the name of a target. The kernel connects to one address: of several, choose the one that
 * answers over TCP. */
#include "find.h"
#include "attach_row.h"
#include "stream.h"

static void find_rest(struct attach *attach)
{
	if (attach->proto->find)
		attach->proto->find(attach);
	else
		attach_step(attach, 0);
}

static uint32_t limit_ms(const struct attach *attach, uint32_t most)
{
	uint64_t now = loop_clock(), end = most ? attach_limit(attach, most) : attach->until;

	return !end ? 0 : end > now + MSEC ? (uint32_t)((end - now) / MSEC) : 1;
}

static void up(struct stream *stream)
{
	struct attach *attach = stream->user;

	addr_keep_peer(attach->addr, &stream->peer);
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

/* If none has answered, all addresses are kept. */
static void down(struct stream *stream)
{
	struct attach *attach = stream->user;

	attach_find_stop(attach);
	find_rest(attach);
}

static void choose_address(struct attach *attach)
{
	static const struct stream_events events = { up, readable, sent, down };
	uint32_t most = attach->lookup_ms ? attach->lookup_ms : ADDR_LOOKUP_MS;

	if (!attach->choose_by_tcp || !attach->addr->others ||
		stream_dial(&attach->stream, attach->loop,
			&(struct stream_dial){
				.dst = *attach->addr, .timeout_ms = limit_ms(attach, most) },
			&events, attach, NULL))
		find_rest(attach);
}

static void resolved(struct resolve *resolve)
{
	struct attach *attach = container_of(resolve, struct attach, resolve);

	attach->why = resolve->why;
	if (resolve->why.err) {
		attach_step(attach, -resolve->why.err);
		return;
	}
	*attach->addr = resolve->addr;
	choose_address(attach);
}

bool attach_needs_find(const struct attach *attach)
{
	return attach->proto->find || attach->host || attach->choose_by_tcp;
}

void attach_find(struct attach *attach)
{
	int err;

	if (!attach->host || attach->addr->ss.ss_family) {
		choose_address(attach);
		return;
	}
	attach->resolve.done = resolved;
	err = resolve_start(&attach->resolve, attach->loop, attach->host, attach->port,
		limit_ms(attach, attach->lookup_ms), &attach->why);
	if (err)
		attach_step(attach, err);
}

void attach_find_stop(struct attach *attach)
{
	resolve_cancel(&attach->resolve);
	if (attach->stream)
		stream_free(attach->stream);
	attach->stream = NULL;
}
