/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The in-memory endpoint: what is posted is queued and handed over at the end of the turn, as a device would. */
#include "ep_pair.h"
#include "../../core/net/iwarp.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char peer_key;

struct region {
	struct region *next;
	struct pool *pool;
	unsigned access;
};

struct event {
	struct event *next;
	struct ep_op *op; /* a SEND on its way, or its completion */
	struct ep_op quiet; /* the device has its own copy: a peer that answers too soon makes the owner use its op again */
	struct ep_rx *rx;
	bool completion;
	uint32_t len;
	uint8_t bytes[]; /* of an inline op */
};

struct queue {
	struct event *first, **end;
};

struct caller {
	struct ep_incoming in;
	struct ep_peer *peer;
	struct pair *dialler; /* linked; NULL: it has given up */
};

struct pair {
	struct ep ep;
	struct ep_peer *peer;
	struct pair *other; /* linked */
	struct caller *call; /* not yet answered */
	struct queue queue, late;
	struct ep_rx *rx, **rx_end;
	unsigned receives, unsent, reads;
	struct region *regions;
	uint8_t priv[EP_PRIV_MAX];
	uint8_t rep[EP_PRIV_MAX], rep_len;
	bool requested, accepted, ended;
	bool mute; /* what it sends is lost */
	struct loop_work work;
	struct loop_timer deadline;
	uint32_t timeout_ms;
};

static struct pair *pair_of(struct ep *ep)
{
	return container_of(ep, struct pair, ep);
}

static void put(struct queue *queue, struct event *event)
{
	event->next = NULL;
	*queue->end = event;
	queue->end = &event->next;
}

static struct event *take(struct queue *queue)
{
	struct event *event = queue->first;
	if (!event)
		return NULL;
	queue->first = event->next;
	if (!queue->first)
		queue->end = &queue->first;
	return event;
}

static struct event *event_new(uint32_t len)
{
	struct event *event = calloc(1, sizeof(*event) + len);
	assert(event);
	event->len = len;
	return event;
}

static void drop_events(struct pair *pair)
{
	struct event *event;
	while ((event = take(&pair->queue)) || (event = take(&pair->late)))
		free(event);
}

static void lost(struct pair *);

static void end(struct pair *pair)
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
		lost(other);
	}
	pair->ep.state = EP_CLOSING;
	loop_timer_del(pair->ep.loop, &pair->deadline);
	drop_events(pair);
	loop_work_add(pair->ep.loop, &pair->work);
}

static void lost(struct pair *pair)
{
	if (pair->ended)
		return;
	diag_set(&pair->ep.why, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
	end(pair);
}

static bool registered(const struct pair *pair, const struct ep_sge *sge, unsigned access)
{
	for (const struct region *region = pair->regions; region; region = region->next) {
		const struct pool *pool = region->pool;
		if ((region->access & access) == access && pool->key[pair->ep.dom].lkey == sge->lkey && (const uint8_t *)sge->p >= pool->base &&
			(const uint8_t *)sge->p + sge->len <= pool->base + pool->len)
			return true;
	}
	return false;
}

static uint32_t op_len(const struct ep_op *op)
{
	uint32_t len = 0;
	for (unsigned i = 0; i < op->nsge; i++)
		len += op->sge[i].len;
	return len;
}

static void op_copy(const struct ep_op *op, uint8_t *to)
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
		struct event *event = event_new(op_len(op));
		next = op->next;
		assert(op->nsge <= ep->caps.sge);
		assert(is_inline || !(op->flags & EP_QUIET));
		assert(!is_inline || event->len <= ep->caps.inline_max);
		for (unsigned i = 0; !is_inline && i < op->nsge; i++)
			assert(registered(pair, &op->sge[i], op->kind == EP_READ ? EP_READ_SINK : EP_LOCAL));
		assert(op->kind != EP_READ || (op->nsge <= ep->caps.read_sge && ++pair->reads <= ep->caps.ord));
		if (!(op->flags & EP_QUIET))
			assert(++pair->unsent <= ep->caps.send);
		event->quiet = *op;
		event->op = op->flags & EP_QUIET ? &event->quiet : op;
		if (is_inline)
			op_copy(op, event->bytes);
		put(&pair->queue, event);
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
	pool->key[ep->dom] = (struct mkey){ key, ~key };
	pool->refs[ep->dom]++;
	return 0;
}

static void unreg(struct ep *ep, struct pool *pool)
{
	for (struct region **at = &pair_of(ep)->regions, *region; (region = *at); at = &region->next)
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
	end(pair);
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

static const struct ep_ops ops = { "pair", post, repost, reg, unreg, close_ep, free_ep };

/* A READ or WRITE of the peer's memory; NULL = it has none there. */
static uint8_t *reach(const struct ep_peer *peer, const struct ep_op *op, uint32_t len)
{
	uint64_t at = op->raddr - peer->memory_at;

	if (!peer->memory || op->rkey != peer->memory_key || op->raddr < peer->memory_at || at > peer->memory_len || len > peer->memory_len - at)
		return NULL;
	return peer->memory + at;
}

static uint8_t *there(const struct pair *pair, const struct event *event)
{
	const struct ep_op *op = event->op;
	enum ep_access needed = op->kind == EP_READ ? EP_REMOTE_READ : EP_REMOTE_WRITE;

	return pair->other ? ep_pair_memory(&pair->other->ep, op->rkey, op->raddr, event->len, needed) : reach(pair->peer, op, event->len);
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
		end(pair);
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

	if (inval ? ep_pair_deliver_inval(&other->ep, event->bytes, event->len, event->op->rkey) :
		ep_pair_deliver(&other->ep, event->bytes, event->len))
		return;
	pair->peer->fault.starved++;
	lost(pair);
}

static void cut(struct pair *pair, const struct event *event, bool message)
{
	uint8_t *at = message ? NULL : there(pair, event);

	if (at && event->len)
		place(event, at, (uint32_t)rand_r(&pair->peer->fault.seed) % event->len);
	pair->peer->fault.cuts++;
	lost(pair);
}

static void silence_noticed(struct loop_timer *timer)
{
	lost(container_of(timer, struct pair, deadline));
}

static void fall_silent(struct pair *pair)
{
	pair->mute = true;
	pair->peer->fault.drops++;
	pair->deadline.fire = silence_noticed;
	loop_timer_set(pair->ep.loop, &pair->deadline, loop_clock() + ((unsigned)rand_r(&pair->peer->fault.seed) % 8) * 1000000ull);
}

static void arrive(struct pair *pair, struct event *event)
{
	struct ep_peer *peer = pair->peer;
	struct event *done;
	bool message = event->op->kind == EP_SEND || event->op->kind == EP_SEND_INVAL;

	if (!(event->op->flags & EP_INLINE))
		op_copy(event->op, event->bytes);
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
	if (!(event->op->flags & EP_QUIET)) {
		done = event_new(0);
		done->op = event->op;
		done->completion = true;
		put(peer->late_sent || peer->fault.late ? &pair->late : &pair->queue, done);
	}
	if (message && pair->other)
		to_other(pair, event);
	else if (message && peer->message)
		peer->message(peer, &pair->ep, event->bytes, event->len);
}

/* Completions come in their order, but anywhere among what else happens. NULL: nothing, or not now. */
static struct event *next_event(struct pair *pair)
{
	struct ep_peer *peer = pair->peer;
	struct event *event;

	if ((pair->queue.first || pair->late.first) && happens(peer, peer->fault.pause)) {
		loop_work_add(pair->ep.loop, &pair->work);
		return NULL;
	}
	if (pair->late.first && peer->fault.late && !happens(peer, peer->fault.late))
		return take(&pair->late);
	event = take(&pair->queue);
	return event ? event : take(&pair->late);
}

static void hand_over(struct pair *pair)
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

static void call_other(struct pair *, unsigned len);

static void request(struct pair *pair)
{
	int len;

	pair->requested = true;
	len = pair->ep.ev->request(&pair->ep, pair->priv);
	assert(len <= EP_PRIV_MAX);
	if (pair->ended)
		return;
	if (len < 0) {
		assert(pair->ep.why.err);
		end(pair);
	} else if (pair->peer->linked) {
		call_other(pair, (unsigned)len);
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
		hand_over(pair);
}

static void expired(struct loop_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, deadline);
	diag_set(&pair->ep.why, DIAG_TIMEOUT, ETIMEDOUT, "connecting timed out: nothing heard within %u ms", pair->timeout_ms);
	end(pair);
}

static void peer_fini(struct loop_attic *attic)
{
	(void)attic;
}

void ep_pair_peer(struct loop *loop, struct ep_peer *peer)
{
	peer->attic = (struct loop_attic){ .key = &peer_key, .fini = peer_fini };
	loop_attic_add(loop, &peer->attic);
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
	diag_set(&ep->why, DIAG_REFUSED, ECONNREFUSED, rej_code == 8 ? "connection refused: no RDMA listener on that port" :
		"the peer rejected the connection: reason %d", rej_code);
	end(pair_of(ep));
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
	event = event_new(0);
	event->rx = rx;
	put(&pair->queue, event);
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
	lost(pair_of(ep));
}

void *ep_pair_memory(struct ep *ep, uint32_t rkey, uint64_t address, uint32_t len, enum ep_access needed)
{
	for (const struct region *region = pair_of(ep)->regions; region; region = region->next) {
		uint64_t base = (uintptr_t)region->pool->base;
		if (region->pool->key[ep->dom].rkey == rkey && (region->access & needed) == needed && address >= base &&
			len <= region->pool->len && address - base <= region->pool->len - len)
			return region->pool->base + (address - base);
	}
	return NULL;
}

unsigned ep_pair_receives(const struct ep *ep)
{
	return container_of(ep, const struct pair, ep)->receives;
}

static uint32_t clip(uint32_t want, uint32_t limit)
{
	return limit && want > limit ? limit : want;
}

/* Software iWARP is no fake: it needs no device. */
int iwarp_dial(struct ep **, struct loop *, const struct ep_dial *, const struct ep_events *, void *user, struct diag *);

static struct pair *pair_new(struct ep_peer *peer, struct loop *loop, const struct ep_caps *want, const struct ep_events *events, void *user)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pair)
		return NULL;
	pair->ep = (struct ep){ .ops = &ops, .ev = events, .loop = loop, .user = user, .way = "pair" };
	pair->ep.caps = (struct ep_caps){
		.send = clip(want->send, peer->limit.send),
		.recv = clip(want->recv, peer->limit.recv),
		.sge = clip(want->sge ? want->sge : 1, peer->limit.sge),
		.inline_max = clip(want->inline_max, peer->limit.inline_max),
		.read_sge = 1,
		.ord = clip(want->ord, peer->limit.ord),
		.ird = clip(want->ird, peer->limit.ird),
		.software = true,
	};
	pair->peer = peer;
	pair->queue.end = &pair->queue.first;
	pair->late.end = &pair->late.first;
	pair->rx_end = &pair->rx;
	pair->work.run = turn;
	pair->deadline.fire = expired;
	return pair;
}

struct ep_listener {
	struct ep_peer *peer;
	struct loop *loop;
	struct ep_listen conf;
};

static int accept_call(struct ep **out, struct loop *loop, struct ep_incoming *in, const struct ep_caps *want, const struct ep_events *events,
	void *user, struct diag *diag)
{
	struct caller *caller = container_of(in, struct caller, in);
	struct ep_peer *peer = caller->peer;
	struct pair *pair = pair_new(peer, loop, want, events, user), *dialler = caller->dialler;
	int len;

	if (!pair) {
		free(caller);
		return diag_sys(diag, ENOMEM, "endpoint");
	}
	if (in->ord < pair->ep.caps.ord)
		pair->ep.caps.ord = in->ord;
	free(caller);
	if (dialler)
		dialler->call = NULL;
	pair->requested = pair->accepted = true;
	*out = &pair->ep;
	len = events->request(&pair->ep, peer->reply);
	if (len < 0) {
		if (dialler)
			ep_pair_reject(&dialler->ep, 0, NULL, 0);
		peer->rejected = true;
		assert(pair->ep.why.err);
		end(pair);
		return 0;
	}
	peer->reply_len = (unsigned)len;
	peer->called = &pair->ep;
	loop_work_add(loop, &pair->work);
	if (dialler) {
		pair->other = dialler;
		dialler->other = pair;
		ep_pair_accept(&dialler->ep, peer->reply, (unsigned)len);
	} else if (peer->linked) {
		lost(pair);
	}
	return 0;
}

static void reject_call(struct ep_incoming *in, const void *priv, uint8_t len)
{
	struct caller *caller = container_of(in, struct caller, in);

	if (len)
		memcpy(caller->peer->reply, priv, len);
	caller->peer->reply_len = len;
	caller->peer->rejected = true;
	if (caller->dialler) {
		caller->dialler->call = NULL;
		ep_pair_reject(&caller->dialler->ep, 28, priv, len);
	}
	free(caller);
}

static void call(struct ep_peer *peer, struct pair *dialler, const void *priv, unsigned len, uint32_t ord, uint32_t ird)
{
	static const struct ep_incoming_ops call_ops = { accept_call, reject_call };
	struct caller *caller = calloc(1, sizeof(*caller));

	assert(caller && len <= EP_PRIV_MAX);
	caller->in = (struct ep_incoming){ .priv_len = (uint8_t)len, .ord = ord, .ird = ird, .ops = &call_ops };
	caller->peer = peer;
	caller->dialler = dialler;
	if (dialler)
		dialler->call = caller;
	if (len)
		memcpy(caller->in.priv, priv, len);
	peer->called = NULL;
	peer->rejected = false;
	peer->listener->conf.incoming(&caller->in, peer->listener->conf.user);
}

bool ep_pair_call(struct ep_peer *peer, const void *priv, unsigned len, uint32_t ird)
{
	if (!peer->listener)
		return false;
	call(peer, NULL, priv, len, ird, 16);
	return true;
}

static void call_other(struct pair *pair, unsigned len)
{
	if (pair->peer->listener)
		call(pair->peer, pair, pair->priv, len, pair->ep.caps.ird, pair->ep.caps.ord);
	else
		ep_pair_reject(&pair->ep, 8, NULL, 0);
}

void ep_pair_lose(struct ep_peer *peer)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_NO_DEVICE, ENODEV, "the RDMA device is gone");
	peer->listener->conf.lost(peer->listener, &why, peer->listener->conf.user);
}

int ep_listen(struct ep_listener **out, struct loop *loop, const struct ep_listen *conf, struct diag *diag)
{
	struct loop_attic *attic = loop_attic_find(loop, &peer_key);
	struct ep_peer *peer = attic ? container_of(attic, struct ep_peer, attic) : NULL;
	struct ep_listener *listener = peer ? calloc(1, sizeof(*listener)) : NULL;

	if (!listener)
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "this machine has no RDMA device");
	*listener = (struct ep_listener){ peer, loop, *conf };
	peer->listener = *out = listener;
	return 0;
}

const struct addr *ep_listener_addr(const struct ep_listener *listener)
{
	return &listener->conf.at;
}

void ep_listener_free(struct ep_listener *listener)
{
	listener->peer->listener = NULL;
	free(listener);
}

int ep_dial(struct ep **out, struct loop *loop, const struct ep_dial *dial, const struct ep_events *events, void *user,
	struct diag *diag)
{
	struct loop_attic *attic = loop_attic_find(loop, &peer_key);
	struct ep_peer *peer = attic ? container_of(attic, struct ep_peer, attic) : NULL;
	struct pair *pair;

	if (dial->backend == EP_IWARP) /* needs no device, so it is the real one */
		return iwarp_dial(out, loop, dial, events, user, diag);
	pair = peer ? pair_new(peer, loop, &dial->want, events, user) : NULL;
	if (!pair)
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "this machine has no RDMA device");
	pair->timeout_ms = dial->timeout_ms;
	peer->dials++;
	if (dial->timeout_ms)
		loop_timer_set(loop, &pair->deadline, loop_clock() + dial->timeout_ms * 1000000ull);
	loop_work_add(loop, &pair->work);
	*out = &pair->ep;
	return 0;
}
