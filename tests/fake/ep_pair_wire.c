/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What travels between the ends of the in-memory endpoint: messages, memory, and the harm that is
 * done to them. */
#include "ep_pair_in.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A READ or WRITE of the peer's memory; NULL = it has none there. */
static uint8_t *reach(const struct ep_peer *peer, const struct ep_op *op, uint32_t len)
{
	uint64_t at = op->raddr - peer->memory_at;

	if (!peer->memory || op->rkey != peer->memory_key || op->raddr < peer->memory_at ||
		at > peer->memory_len || len > peer->memory_len - at)
		return NULL;
	return peer->memory + at;
}

static uint8_t *there(const struct pair *pair, const struct event *event)
{
	const struct ep_op *op = event->op;
	enum ep_access needed = op->kind == EP_READ ? EP_REMOTE_READ : EP_REMOTE_WRITE;

	return pair->other
		       ? ep_pair_memory(&pair->other->ep, op->rkey, op->raddr, event->len, needed)
		       : reach(pair->peer, op, event->len);
}

/* So many bytes of a READ or WRITE. */
static void place(const struct event *event, uint8_t *at, uint32_t len)
{
	const struct ep_op *op = event->op;

	if (op->kind == EP_WRITE) {
		memcpy(at, event->bytes, len);
		return;
	}
	for (unsigned i = 0; i < op->nsge && len; i++) {
		uint32_t part = op->sge[i].len < len ? op->sge[i].len : len;

		memcpy(op->sge[i].p, at, part);
		at += part;
		len -= part;
	}
}

static bool one_sided(struct pair *pair, const struct event *event)
{
	uint8_t *at = there(pair, event);

	if (!at) {
		diag_set(&pair->ep.why, DIAG_PROTOCOL, EACCES, "remote access error");
		pair_end(pair);
		if (pair->peer->gone)
			pair->peer->gone(pair->peer, &pair->ep);
		return false;
	}
	*(event->op->kind == EP_WRITE ? &pair->peer->writes : &pair->peer->reads) += 1;
	place(event, at, event->len);
	return true;
}

static bool happens(struct ep_peer *peer, unsigned once_in)
{
	return once_in && !((unsigned)rand_r(&peer->fault.seed) % once_in);
}

static void to_other(struct pair *pair, const struct event *event)
{
	struct pair *other = pair->other;
	bool inval = event->op->kind == EP_SEND_INVAL;

	if (inval ? ep_pair_deliver_inval(&other->ep, event->bytes, event->len, event->op->rkey)
		  : ep_pair_deliver(&other->ep, event->bytes, event->len))
		return;
	pair->peer->fault.starved++;
	pair_lost(pair);
}

static void cut(struct pair *pair, const struct event *event, bool message)
{
	uint8_t *at = message ? NULL : there(pair, event);

	if (at && event->len)
		place(event, at, (uint32_t)rand_r(&pair->peer->fault.seed) % event->len);
	pair->peer->fault.cuts++;
	pair_lost(pair);
}

static void silence_noticed(struct loop_timer *timer)
{
	pair_lost(container_of(timer, struct pair, deadline));
}

static void fall_silent(struct pair *pair)
{
	pair->mute = true;
	pair->peer->fault.drops++;
	pair->deadline.fire = silence_noticed;
	loop_timer_set(pair->ep.loop, &pair->deadline,
		loop_clock() + ((unsigned)rand_r(&pair->peer->fault.seed) % 8) * 1000000ull);
}

static void arrive(struct pair *pair, struct event *event)
{
	struct ep_peer *peer = pair->peer;
	struct event *done;
	bool message = event->op->kind == EP_SEND || event->op->kind == EP_SEND_INVAL;

	if (!(event->op->flags & EP_INLINE))
		pair_op_copy(event->op, event->bytes);
	if (++peer->messages == peer->cut_at || happens(peer, peer->fault.cut)) {
		cut(pair, event, message);
		return;
	}
	if (happens(peer, peer->fault.drop)) {
		fall_silent(pair);
		return;
	}
	if (!message && peer->stuck) {
		pair->mute = true;
		return;
	}
	if (!message && !one_sided(pair, event))
		return;
	if (message && event->len && happens(peer, peer->fault.truncate)) {
		event->len = (uint32_t)rand_r(&peer->fault.seed) % event->len;
		peer->fault.truncated++;
	}
	if (event->op->kind == EP_SEND_INVAL) {
		peer->invals++;
		peer->inval_key = event->op->rkey;
	}
	if (!(event->op->flags & EP_UNSIGNALED)) {
		done = pair_event(0);
		done->op = event->op;
		done->completion = true;
		pair_put(peer->delayed_sent || peer->fault.delayed ? &pair->delayed : &pair->queue,
			done);
	}
	if (message && pair->other)
		to_other(pair, event);
	else if (message && peer->message)
		peer->message(peer, &pair->ep, event->bytes, event->len);
}

/* Completions come in their order, but anywhere among what else happens. NULL: nothing, or not now.
 */
static struct event *next_event(struct pair *pair)
{
	struct ep_peer *peer = pair->peer;
	struct event *event;

	if ((pair->queue.first || pair->delayed.first) && happens(peer, peer->fault.pause)) {
		loop_work_add(pair->ep.loop, &pair->work);
		return NULL;
	}
	if (pair->delayed.first && peer->fault.delayed && !happens(peer, peer->fault.delayed))
		return pair_take(&pair->delayed);
	event = pair_take(&pair->queue);
	return event ? event : pair_take(&pair->delayed);
}

void pair_hand_over(struct pair *pair)
{
	struct event *event;
	bool any = false;

	while (!pair->ended && (event = next_event(pair))) {
		if (event->rx) {
			pair->ep.ev->recv(&pair->ep, event->rx);
		} else if (event->completion) {
			pair->unsent--;
			pair->reads -= event->op->kind == EP_READ;
			pair->ep.ev->sent(&pair->ep, event->op);
		} else if (!pair->mute) {
			arrive(pair, event);
		}
		free(event);
		any = true;
	}
	if (any && !pair->ended && pair->ep.ev->idle)
		pair->ep.ev->idle(&pair->ep);
}
