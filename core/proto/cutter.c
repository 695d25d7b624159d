/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The PDU cutter, shared by all protocols on streams. */
#include "cutter.h"
#include <assert.h>
#include <string.h>

/* A payload worth a recv() of its own. Copying 16 KiB out of the stage costs less than the call,
 * over TCP and over a unix socket; at 32 KiB both cost about the same. */
#define LARGE  32768
#define FEW    512 /* bytes to stage behind it: the next headers, and little of the next payload */
#define PLAIN  3   /* parts between large payloads: a trailer, a reply, a command */
#define ROUNDS 64  /* receives per turn, to leave time for other events */

void cutter_init(struct cutter *cutter, const struct cutter_events *ev, void *stage, uint32_t size)
{
	*cutter = (struct cutter){ .ev = ev, .stage = stage, .size = size, .rounds = ROUNDS };
}

void cutter_skip(struct cutter *cutter, uint32_t len)
{
	cutter->skip = len;
}

void cutter_payload(struct cutter *cutter, uint8_t *to, uint32_t len)
{
	assert(len && !cutter->rest);
	cutter->sink = to;
	cutter->rest = len;
	cutter->large = to && len >= LARGE;
	cutter->plain = 0;
}

/* So many bytes of the payload are in place. */
static void land(struct cutter *cutter, uint32_t len)
{
	cutter->rest -= len;
	if (cutter->sink) {
		cutter->sink += len;
		if (cutter->ev->landed)
			cutter->ev->landed(cutter, cutter->sink - len, len);
	}
	if (!cutter->rest)
		cutter->stopped = !cutter->ev->payload(cutter);
}

/* False: more bytes are needed, or the owner stops. */
static bool cut_part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	int used = cutter->ev->part(cutter, p, have);

	if (used <= 0) {
		cutter->stopped = used;
		return false;
	}
	assert((uint32_t)used <= have);
	cutter->from += (uint32_t)used;
	if (cutter->rest)
		return true;
	if (cutter->plain == PLAIN)
		cutter->large = false;
	else
		cutter->plain++;
	return true;
}

void cutter_resume(struct cutter *cutter)
{
	bool goes_on = true;

	cutter->stopped = false;
	while (goes_on && !cutter->stopped && cutter->from < cutter->to) {
		const uint8_t *p = cutter->stage + cutter->from;
		uint32_t have = cutter->to - cutter->from;
		uint32_t *left = cutter->skip ? &cutter->skip : &cutter->rest;
		uint32_t len = have < *left ? have : *left;

		if (!*left) {
			goes_on = cut_part(cutter, p, have);
			continue;
		}
		cutter->from += len;
		if (left == &cutter->skip) {
			cutter->skip -= len;
			continue;
		}
		if (cutter->sink)
			memcpy(cutter->sink, p, len);
		land(cutter, len);
	}
}

static void move_up(struct cutter *cutter)
{
	memmove(cutter->stage, cutter->stage + cutter->from, cutter->to - cutter->from);
	cutter->to -= cutter->from;
	cutter->from = 0;
}

/* Receive once; *more: the stream may hold more. Needs: the stage holds less than one part. */
static ssize_t receive(struct cutter *cutter, struct stream *stream, bool *more)
{
	uint32_t direct = cutter->sink && !cutter->skip ? cutter->rest : 0, room, len;
	struct iovec iov[2];
	ssize_t got;

	if (cutter->from)
		move_up(cutter);
	room = (cutter->large && cutter->size > FEW && cutter->to < FEW ? FEW : cutter->size) -
	       cutter->to;
	assert(room);
	iov[0] = (struct iovec){ cutter->sink, direct };
	iov[1] = (struct iovec){ cutter->stage + cutter->to, room };
	got = stream_recv(stream, iov + !direct, direct ? 2 : 1);
	*more = got > 0 && (size_t)got == (size_t)direct + room;
	if (got <= 0)
		return got;
	len = got < direct ? (uint32_t)got : direct;
	cutter->to += (uint32_t)got - len;
	if (len)
		land(cutter, len);
	return got;
}

/* A short read means that the socket is drained: skip the recv() that would return EAGAIN. */
int cutter_receive(struct cutter *cutter, struct stream *stream)
{
	bool more = true;
	ssize_t got = 0;

	cutter_resume(cutter);
	for (int round = 0; round < cutter->rounds && more && !cutter->stopped; round++) {
		got = receive(cutter, stream, &more);
		if (got > 0 && !cutter->stopped)
			cutter_resume(cutter);
	}
	return got < 0 ? (int)got : 0;
}

/* Move up the stage only once half of it is used, so that not every part causes a copy. */
int cutter_receive_ahead(struct cutter *cutter, struct stream *stream)
{
	struct iovec iov;
	ssize_t got;

	assert(cutter->stopped && cutter_has_room(cutter));
	if (cutter->from && cutter->to > cutter->size / 2)
		move_up(cutter);
	iov = (struct iovec){ cutter->stage + cutter->to, cutter->size - cutter->to };
	got = stream_recv(stream, &iov, 1);
	if (got > 0)
		cutter->to += (uint32_t)got;
	return got < 0 ? (int)got : 0;
}
