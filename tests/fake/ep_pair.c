/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The in-memory endpoint: what is posted is queued and handed over at the end of the turn, as a
 * device would. */
#include "../../core/net/backend.h"
#include "ep_pair_in.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* what peers call the first byte of any pool: a pointer on the wire reaches nothing */
#define REMOTE 0x7000

const char ep_pair_key;

void pair_put(struct queue *queue, struct event *event)
{
	event->next = NULL;
	*queue->end = event;
	queue->end = &event->next;
}

struct event *pair_take(struct queue *queue)
{
	struct event *event = queue->first;
	if (!event)
		return NULL;
	queue->first = event->next;
	if (!queue->first)
		queue->end = &queue->first;
	return event;
}

struct event *pair_event(uint32_t len)
{
	struct event *event = calloc(1, sizeof(*event) + len);
	assert(event);
	event->len = len;
	return event;
}

static void drop_events(struct pair *pair)
{
	struct event *event;
	while ((event = pair_take(&pair->queue)) || (event = pair_take(&pair->delayed)))
		free(event);
}

void pair_end(struct pair *pair)
{
	struct pair *other = pair->other;

	if (pair->ended)
		return;
	pair->ended = true;
	pair->other = NULL;
	if (pair->call)
		pair->call->dialler = NULL;
	if (other) {
		other->other = NULL;
		pair_lost(other);
	}
	pair->ep.state = EP_CLOSING;
	loop_timer_del(pair->ep.loop, &pair->deadline);
	drop_events(pair);
	loop_work_add(pair->ep.loop, &pair->work);
}

void pair_lost(struct pair *pair)
{
	if (pair->ended)
		return;
	diag_set(&pair->ep.why, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
	pair_end(pair);
}

static bool registered(const struct pair *pair, const struct ep_sge *sge, unsigned access)
{
	for (const struct region *region = pair->regions; region; region = region->next) {
		const struct pool *pool = region->pool;
		if ((region->access & access) == access &&
			pool->key[pair->ep.dom].lkey == sge->lkey &&
			(const uint8_t *)sge->p >= pool->base &&
			(const uint8_t *)sge->p + sge->len <= pool->base + pool->len)
			return true;
	}
	return false;
}

uint32_t pair_op_len(const struct ep_op *op)
{
	uint32_t len = 0;
	for (unsigned i = 0; i < op->nsge; i++)
		len += op->sge[i].len;
	return len;
}

void pair_op_copy(const struct ep_op *op, uint8_t *to)
{
	for (unsigned i = 0; i < op->nsge; i++) {
		memcpy(to, op->sge[i].p, op->sge[i].len);
		to += op->sge[i].len;
	}
}

static void post(struct ep *ep, struct ep_op *chain)
{
	struct pair *pair = pair_of(ep);

	assert(ep->state != EP_DOWN && ep->state != EP_CONNECTING);
	if (ep->state != EP_UP)
		return;
	for (struct ep_op *op = chain, *next; op; op = next) {
		bool is_inline = op->flags & EP_INLINE;
		struct event *event = pair_event(pair_op_len(op));
		next = op->next;
		assert(op->nsge <= ep->caps.sge);
		assert(is_inline || !(op->flags & EP_UNSIGNALED));
		assert(!is_inline || event->len <= ep->caps.inline_max);
		for (unsigned i = 0; !is_inline && i < op->nsge; i++)
			assert(registered(
				pair, &op->sge[i], op->kind == EP_READ ? EP_READ_SINK : EP_LOCAL));
		assert(op->kind != EP_READ ||
			(op->nsge <= ep->caps.read_sge && ++pair->reads <= ep->caps.ord));
		if (!(op->flags & EP_UNSIGNALED))
			assert(++pair->unsent <= ep->caps.send);
		event->quiet = *op;
		event->op = op->flags & EP_UNSIGNALED ? &event->quiet : op;
		if (is_inline)
			pair_op_copy(op, event->bytes);
		pair_put(&pair->queue, event);
	}
	loop_work_add(ep->loop, &pair->work);
}

static void repost(struct ep *ep, struct ep_rx *chain)
{
	struct pair *pair = pair_of(ep);

	assert(ep->state != EP_DOWN);
	if (ep->state > EP_UP)
		return;
	for (struct ep_rx *rx = chain, *next; rx; rx = next) {
		next = rx->next;
		assert(registered(pair, &(struct ep_sge){ rx->p, rx->cap, rx->lkey }, EP_LOCAL));
		assert(++pair->receives <= ep->caps.recv);
		rx->next = NULL;
		*pair->rx_end = rx;
		pair->rx_end = &rx->next;
	}
}

static int reg(struct ep *ep, struct pool *pool, unsigned access, struct diag *diag)
{
	struct pair *pair = pair_of(ep);
	struct region *region = calloc(1, sizeof(*region));
	uint32_t key = (uint32_t)((uintptr_t)pool->base >> 12);

	if (!region)
		return diag_sys(diag, ENOMEM, "registration");
	*region = (struct region){ pair->regions, pool, access };
	pair->regions = region;
	pool->key[ep->dom] = (struct mkey){ key, ~key, REMOTE };
	pool->refs[ep->dom]++;
	return 0;
}

static void unreg(struct ep *ep, struct pool *pool)
{
	for (struct region **at = &pair_of(ep)->regions, *region; (region = *at);
		at = &region->next)
		if (region->pool == pool) {
			*at = region->next;
			pool->refs[ep->dom]--;
			free(region);
			return;
		}
	assert(!"unreg without reg");
}

static void close_ep(struct ep *ep)
{
	struct pair *pair = pair_of(ep);

	if (pair->ended)
		return;
	pair_end(pair);
	if (pair->peer->gone)
		pair->peer->gone(pair->peer, ep);
}

static void free_ep(struct ep *ep)
{
	struct pair *pair = pair_of(ep);

	close_ep(ep);
	loop_work_del(ep->loop, &pair->work);
	assert(!pair->regions); /* every reg needs one unreg */
	free(pair);
}

static const struct ep_ops ops = { "pair", post, repost, reg, unreg, close_ep, close_ep, free_ep };

static void request(struct pair *pair)
{
	int len;

	pair->requested = true;
	len = ep_request(&pair->ep, pair->priv);
	if (pair->ended)
		return;
	if (len < 0) {
		assert(pair->ep.why.err);
		pair_end(pair);
	} else if (pair->peer->linked) {
		pair_call_other(pair, (unsigned)len);
	} else if (pair->peer->request) {
		pair->peer->request(pair->peer, &pair->ep, pair->priv, (unsigned)len);
	} else {
		ep_pair_accept(&pair->ep, NULL, 0);
	}
}

static void turn(struct loop_work *work)
{
	struct pair *pair = container_of(work, struct pair, work);

	if (pair->ended) {
		pair->ep.state = EP_DOWN;
		pair->ep.ev->down(&pair->ep);
		return;
	}
	if (!pair->requested) {
		request(pair);
		return;
	}
	if (pair->accepted && pair->ep.state == EP_CONNECTING) {
		loop_timer_del(pair->ep.loop, &pair->deadline);
		pair->ep.state = EP_UP;
		memcpy(pair->ep.priv, pair->rep, pair->rep_len);
		pair->ep.priv_len = pair->rep_len;
		pair->ep.ev->up(&pair->ep);
	}
	if (pair->ep.state == EP_UP)
		pair_hand_over(pair);
}

static void expired(struct loop_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, deadline);
	diag_set(&pair->ep.why, DIAG_TIMEOUT, ETIMEDOUT,
		"connecting timed out: nothing heard within %u ms", pair->timeout_ms);
	pair_end(pair);
}

static void peer_fini(struct loop_local *local)
{
	(void)local;
}

void ep_pair_peer(struct loop *loop, struct ep_peer *peer)
{
	peer->local = (struct loop_local){ .key = &ep_pair_key, .fini = peer_fini };
	loop_local_add(loop, &peer->local);
}

void ep_pair_accept(struct ep *ep, const void *priv, unsigned len)
{
	struct pair *pair = pair_of(ep);

	assert(len <= EP_PRIV_MAX && !pair->accepted);
	if (len)
		memcpy(pair->rep, priv, len);
	pair->rep_len = (uint8_t)len;
	pair->accepted = true;
	loop_work_add(ep->loop, &pair->work);
}

void ep_pair_reject(struct ep *ep, int rej_code, const void *priv, unsigned len)
{
	assert(len <= EP_PRIV_MAX && ep->state == EP_CONNECTING);
	if (len)
		memcpy(ep->priv, priv, len);
	ep->priv_len = (uint8_t)len;
	ep->rej_code = rej_code;
	ep->rejected = rej_code == 28;
	diag_set(&ep->why, DIAG_REFUSED, ECONNREFUSED,
		rej_code == 8 ? "connection refused: no RDMA listener on that port"
			      : "the peer rejected the connection: reason %d",
		rej_code);
	pair_end(pair_of(ep));
}

static struct event *receive(struct ep *ep, const void *bytes, uint32_t len)
{
	struct pair *pair = pair_of(ep);
	struct ep_rx *rx = pair->rx;
	struct event *event;

	if (pair->ended || !pair->accepted || !rx || len > rx->cap)
		return NULL;
	pair->rx = rx->next;
	if (!pair->rx)
		pair->rx_end = &pair->rx;
	pair->receives--;
	if (len)
		memcpy(rx->p, bytes, len);
	rx->len = len;
	rx->invalidated = false;
	rx->inval_rkey = 0;
	event = pair_event(0);
	event->rx = rx;
	pair_put(&pair->queue, event);
	loop_work_add(ep->loop, &pair->work);
	return event;
}

bool ep_pair_deliver(struct ep *ep, const void *bytes, uint32_t len)
{
	return receive(ep, bytes, len);
}

bool ep_pair_deliver_inval(struct ep *ep, const void *bytes, uint32_t len, uint32_t rkey)
{
	struct event *event = receive(ep, bytes, len);
	if (!event)
		return false;
	event->rx->invalidated = true;
	event->rx->inval_rkey = rkey;
	return true;
}

void ep_pair_cut(struct ep *ep)
{
	pair_lost(pair_of(ep));
}

void *ep_pair_memory(
	struct ep *ep, uint32_t rkey, uint64_t address, uint32_t len, enum ep_access needed)
{
	for (const struct region *region = pair_of(ep)->regions; region; region = region->next) {
		if (region->pool->key[ep->dom].rkey == rkey &&
			(region->access & needed) == needed && address >= REMOTE &&
			len <= region->pool->len && (address - REMOTE) <= region->pool->len - len)
			return region->pool->base + ((address - REMOTE));
	}
	return NULL;
}

unsigned ep_pair_receives(const struct ep *ep)
{
	return container_of(ep, const struct pair, ep)->receives;
}

static uint32_t clip(uint32_t local_caps, uint32_t limit)
{
	return limit && local_caps > limit ? limit : local_caps;
}

struct pair *pair_new(struct ep_peer *peer, struct loop *loop, const struct ep_caps *local_caps,
	const struct ep_events *events, void *user)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pair)
		return NULL;
	pair->ep = (struct ep){
		.ops = &ops, .ev = events, .loop = loop, .user = user, .route = "pair"
	};
	pair->ep.caps = (struct ep_caps){
		.send = clip(local_caps->send, peer->limit.send),
		.recv = clip(local_caps->recv, peer->limit.recv),
		.sge = clip(local_caps->sge ? local_caps->sge : 1, peer->limit.sge),
		.inline_max = clip(local_caps->inline_max, peer->limit.inline_max),
		.read_sge = 1,
		.ord = clip(local_caps->ord, peer->limit.ord),
		.ird = clip(local_caps->ird, peer->limit.ird),
		.priv_max = EP_PRIV_MAX,
		.software = true,
	};
	pair->peer = peer;
	pair->queue.end = &pair->queue.first;
	pair->delayed.end = &pair->delayed.first;
	pair->rx_end = &pair->rx;
	pair->work.run = turn;
	pair->deadline.fire = expired;
	return pair;
}
