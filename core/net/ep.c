/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose the backend of an endpoint. One that begins with verbs has memory for either backend, as
 * another address, software iWARP or another port may be tried in the same place. */
#include "ep.h"
#include "iwarp.h"
#include "tcp.h"
#include "verbs.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define VERBS_MS   1000  /* limit of the first attempt if there is a fallback */
#define ADDRESS_MS 10000 /* of an address if there are others, and no limit is set */
#define REGS       8     /* most pools registered before the connection is up */
#define LISTEN_MS  5000
#define PORTS      8 /* local ports that are tried over iWARP */

struct either {
	union {
		struct ep ep; /* the first member of both others, too */
		struct verbs_ep verbs;
		struct iwarp iwarp;
	};
	const struct ep_events *ev; /* the owner's events */
	struct ep_ops ops; /* those of verbs, but reg and unreg are recorded for the fallback */
	const struct ep_ops *verbs_ops;
	struct ep_dial dial;
	struct addr at; /* of verbs */
	struct addr_failures failures;
	bool fallback; /* to software iWARP */
	uint8_t ports; /* in use, so far */
	struct pool *reg[REGS];
	unsigned regs;
	bool closed; /* by the owner, before the connection was up */
	uint64_t deadline;
	struct diag first;  /* why verbs failed, at all addresses */
	char over_tcp[256]; /* why software iWARP failed, while verbs is retried */
};

static struct either *either_of(struct ep *ep)
{
	return container_of(ep, struct either, ep);
}

static int note_reg(struct ep *ep, struct pool *pool, unsigned access, struct diag *diag)
{
	struct either *e = either_of(ep);
	int err;

	if (e->regs == REGS)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOSPC,
			"more than %d buffer pools before the connection is up", REGS);
	err = e->verbs_ops->reg(ep, pool, access, diag);
	if (!err)
		e->reg[e->regs++] = pool;
	return err;
}

static void note_unreg(struct ep *ep, struct pool *pool)
{
	struct either *e = either_of(ep);

	for (unsigned i = 0; i < e->regs; i++)
		if (e->reg[i] == pool) {
			e->reg[i] = e->reg[--e->regs];
			break;
		}
	e->verbs_ops->unreg(ep, pool);
}

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	return either_of(ep)->ev->request(ep, priv);
}

static void up(struct ep *ep)
{
	struct either *e = either_of(ep);

	ep->ops = e->verbs_ops;
	ep->ev = e->ev;
	ep->ev->up(ep);
}

static void note_reset(struct ep *ep)
{
	either_of(ep)->closed = true;
	either_of(ep)->verbs_ops->reset(ep);
}

static void note_close(struct ep *ep)
{
	either_of(ep)->closed = true;
	either_of(ep)->verbs_ops->close(ep);
}

/* Whether another address or software iWARP is worth a try. A peer that has answered speaks
 * verbs. */
static bool try_others(struct ep *ep)
{
	const struct either *e = either_of(ep);

	return (e->fallback || e->dial.dst.others) && addr_unanswered(&ep->why) &&
	       (!ep->rejected || e->at.others);
}

/* The port that the connection manager chose in its own space is siw's local TCP port, which
 * another TCP connection may have (Linux 6.12). */
static bool try_port(struct ep *ep)
{
	return ep->why.err == EADDRINUSE && either_of(ep)->ports++ < PORTS;
}

static void none_up(struct ep *ep)
{
	ep->ev = either_of(ep)->ev;
	ep->ev->up(ep);
}

static void no_recv(struct ep *ep, struct ep_rx *rx)
{
	(void)ep;
	(void)rx;
}

static void no_sent(struct ep *ep, struct ep_op *op)
{
	(void)ep;
	(void)op;
}

static void no_idle(struct ep *ep)
{
	(void)ep;
}

static void dead_post(struct ep *ep, struct ep_op *chain)
{
	(void)ep;
	(void)chain;
}

static void dead_repost(struct ep *ep, struct ep_rx *chain)
{
	(void)ep;
	(void)chain;
}

static int dead_reg(struct ep *ep, struct pool *pool, unsigned access, struct diag *diag)
{
	(void)pool;
	(void)access;
	return diag_set(diag, DIAG_CLOSED, ENOTCONN, "%s", ep->why.text);
}

static void dead_unreg(struct ep *ep, struct pool *pool)
{
	(void)ep;
	(void)pool;
}

static void dead_close(struct ep *ep)
{
	(void)ep;
}

static void dead_free(struct ep *ep)
{
	free(either_of(ep));
}

static const struct ep_ops dead_ops = { "none", dead_post, dead_repost, dead_reg, dead_unreg,
	dead_close, dead_close, dead_free };

/* Replace an endpoint whose backend failed to start, and may have left its memory in any state, by
 * one that the owner can free. */
static struct ep *dead(struct either *e, struct loop *loop, void *user, const struct diag *why)
{
	e->ep = (struct ep){ .ops = &dead_ops,
		.ev = e->ev,
		.loop = loop,
		.user = user,
		.state = EP_DOWN,
		.dom = DOM_NONE,
		.why = *why };
	return &e->ep;
}

/* Report the failure of verbs with that of TCP appended. */
static void both_causes(struct ep *ep, const struct diag *verbs, const char *tcp)
{
	char text[sizeof(ep->why.text)], object[sizeof(ep->why.object)];

	if (!ep->why.err || ep->rejected)
		return;
	snprintf(text, sizeof(text), "%.200s; over TCP: %.250s", verbs->text, tcp);
	if (verbs != &ep->why) {
		memcpy(object, ep->why.object, sizeof(object));
		ep->why = *verbs;
		if (!verbs->object[0])
			memcpy(ep->why.object, object, sizeof(object));
	}
	memcpy(ep->why.text, text, sizeof(text));
}

static void last_down(struct ep *ep)
{
	struct either *e = either_of(ep);

	both_causes(ep, &ep->why, e->over_tcp);
	e->ev->down(ep);
}

static const struct ep_events last = { request, none_up, no_recv, no_sent, no_idle, last_down };

/* Milliseconds until the deadline; 0 = it has passed. */
static uint32_t rest_ms(const struct either *e)
{
	uint64_t now = loop_clock();

	return e->deadline > now ? (uint32_t)((e->deadline - now) / MSEC) : 0;
}

/* Retry verbs if it only timed out and TCP failed, too. A target that is slow to answer, such as
 * one that just lost all its connections, gets the rest of the time. */
static bool retry_verbs(struct either *e)
{
	struct ep_dial dial = e->dial;
	struct loop *loop = e->ep.loop;
	void *user = e->ep.user;

	dial.timeout_ms = rest_ms(e);
	if (e->first.code != DIAG_TIMEOUT || !e->ep.why.err || e->ep.dom != DOM_NONE ||
		(e->deadline && !dial.timeout_ms))
		return false;
	loop_trace(loop, "software iWARP: %s; retrying verbs", e->ep.why.text);
	snprintf(e->over_tcp, sizeof(e->over_tcp), "%.250s", e->ep.why.text);
	iwarp_fini(&e->iwarp);
	memset(&e->verbs, 0, sizeof(e->verbs));
	if (!verbs_start(&e->verbs, loop, &dial, &last, user, &e->first))
		return true;
	last_down(dead(e, loop, user, &e->first));
	return true;
}

static void none_down(struct ep *ep)
{
	struct either *e = either_of(ep);

	if (retry_verbs(e))
		return;
	both_causes(ep, &e->first, ep->why.text);
	e->ev->down(ep);
}

static const struct ep_events second = { request, none_up, no_recv, no_sent, no_idle, none_down };

static int second_start(struct either *e, struct loop *loop, void *user, struct diag *diag)
{
	struct ep_dial dial = e->dial;

	loop_trace(loop, "verbs: %s; trying software iWARP", e->first.text);
	if (e->deadline)
		dial.timeout_ms =
			rest_ms(e) / 2 + 1; /* leave half of the time to a retry of verbs */
	memset(&e->iwarp, 0, sizeof(e->iwarp));
	return iwarp_start(&e->iwarp, loop, &dial, &second, user, diag);
}

static void down(struct ep *);
static const struct ep_events connecting = { request, up, no_recv, no_sent, no_idle, down };

/* The time of verbs at e->at. */
static uint32_t first_ms(const struct either *e)
{
	uint32_t others = e->at.others, ms = rest_ms(e), share = ms / (others + 1 + e->fallback);

	if (!e->deadline)
		return e->fallback ? VERBS_MS : others ? ADDRESS_MS : 0;
	return share >= VERBS_MS && e->fallback ? VERBS_MS : share + 1;
}

/* Verbs to e->at. */
static int first_start(struct either *e, struct loop *loop, void *user)
{
	struct ep_dial dial = e->dial;
	int err;

	dial.dst = e->at;
	dial.timeout_ms = first_ms(e);
	memset(&e->verbs, 0, sizeof(e->verbs));
	err = verbs_start(&e->verbs, loop, &dial, &connecting, user, &e->first);
	if (err)
		return err;
	e->verbs_ops = e->ep.ops;
	e->ops = *e->verbs_ops;
	e->ops.reg = note_reg;
	e->ops.unreg = note_unreg;
	e->ops.close = note_close;
	e->ops.reset = note_reset;
	e->ep.ops = &e->ops;
	return 0;
}

/* Verbs to the next address that can be started, after the failure in e->first. Errors: there is
 * none, and e->first has the reasons of all. */
static int next_start(struct either *e, struct loop *loop, void *user)
{
	char at[ADDR_TEXT];

	do {
		addr_failures_add(&e->failures, &e->at, &e->first);
		if (!addr_next(&e->at)) {
			addr_failures_end(&e->failures);
			e->first = e->failures.why;
			return -e->first.err;
		}
		loop_trace(loop, "verbs: %s; trying %s", e->first.text, addr_text(&e->at, at));
	} while (first_start(e, loop, user));
	return 0;
}

static void down(struct ep *ep)
{
	struct either *e = either_of(ep);
	struct loop *loop = ep->loop;
	void *user = ep->user;
	struct diag why = { 0 };
	const bool same = !e->closed && try_port(ep);
	char at[ADDR_TEXT];

	if (e->closed || (!same && !try_others(ep))) {
		if (e->failures.count && ep->why.err)
			diag_ctx(&ep->why, "%s", addr_text(&e->at, at));
		e->ev->down(ep);
		return;
	}
	e->first = ep->why;
	while (e->regs)
		e->verbs_ops->unreg(ep, e->reg[--e->regs]);
	verbs_end(&e->verbs);
	if (same)
		loop_trace(loop, "verbs: %s; trying another port", e->first.text);
	if ((same && !first_start(e, loop, user)) || !next_start(e, loop, user))
		return;
	if (!e->fallback)
		dead(e, loop, user, &e->first);
	else if (!second_start(e, loop, user, &why))
		return;
	else
		both_causes(dead(e, loop, user, &why), &e->first, why.text);
	e->ev->down(&e->ep);
}

static int verbs_dial(struct ep **out, struct loop *loop, const struct ep_dial *dial, bool fallback,
	const struct ep_events *events, void *user, struct diag *diag)
{
	struct either *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return diag_sys(diag, ENOMEM, "RDMA connection");
	e->ev = events;
	e->dial = *dial;
	e->at = dial->dst;
	e->fallback = fallback;
	e->deadline = dial->timeout_ms ? loop_clock() + dial->timeout_ms * MSEC : 0;
	err = first_start(e, loop, user);
	if (err)
		err = next_start(e, loop, user);
	if (err && fallback)
		err = second_start(e, loop, user, diag);
	else if (err && diag)
		*diag = e->first;
	if (err) {
		free(e);
		return err;
	}
	*out = &e->ep;
	return 0;
}

/* Check an InfiniBand address: dialling needs a path to the GID, a listener must have none. */
static int check_address(const struct addr *at, enum ep_backend backend, struct diag *diag)
{
	static const uint8_t none[16];
	const struct addr_ib *ib = (const void *)&at->ss;
	const char *fault = NULL;

	if (ib->family != ADDR_IB)
		return 0;
	if (!memcmp(ib->gid, none, sizeof(none)))
		fault = "no GID";
	else if (!addr_service(at))
		fault = "no service ID";
	else if (!(get_be16(ib->pkey) & 0x7fff))
		fault = "invalid P_Key";
	if (fault)
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid InfiniBand address: %s", fault);
	return backend == EP_IWARP ? diag_set(diag, DIAG_UNSUPPORTED, EAFNOSUPPORT,
					     "software iWARP needs an IP address")
				   : 0;
}

int ep_dial(struct ep **out, struct loop *loop, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	int err = check_address(&dial->dst, dial->backend, diag);
	bool fallback = !dial->dev && dial->dst.ss.ss_family != ADDR_IB;

	if (err)
		return err;
	switch ((enum ep_backend)dial->backend) {
	case EP_AUTO:
	case EP_VERBS:
		fallback = fallback && dial->backend == EP_AUTO;
		return verbs_dial(out, loop, dial, fallback, events, user, diag);
	case EP_IWARP:
		return iwarp_dial(out, loop, dial, events, user, diag);
	}
	return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP, "invalid transport %u", dial->backend);
}

struct ep_listener {
	struct verbs_listener *verbs;
	struct tcp_listener *tcp;
};

int ep_listen(struct ep_listener **out, struct loop *loop, const struct ep_listen *listen,
	struct diag *diag)
{
	struct tcp_listen tcp = { .at = listen->at,
		.iwarp = listen->incoming,
		.user = listen->user,
		.timeout_ms = LISTEN_MS,
		.no_crc = listen->no_crc };
	struct ep_listener *listener;
	int err = check_address(&listen->at, listen->backend, diag);

	if (err)
		return err;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return diag_sys(diag, ENOMEM, "listener");
	err = listen->backend == EP_VERBS
		      ? verbs_listen(&listener->verbs, listener, loop, listen, diag)
		      : tcp_listen(&listener->tcp, loop, &tcp, diag);
	if (err) {
		free(listener);
		return err;
	}
	*out = listener;
	return 0;
}

const struct addr *ep_listener_addr(const struct ep_listener *listener)
{
	return listener->verbs ? verbs_listener_addr(listener->verbs)
			       : tcp_listener_addr(listener->tcp);
}

void ep_listener_free(struct ep_listener *listener)
{
	if (listener->verbs)
		verbs_listener_free(listener->verbs);
	else
		tcp_listener_free(listener->tcp);
	free(listener);
}
