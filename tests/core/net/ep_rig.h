/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For tests of the choice of backend: backends that do what a test says, and an owner that counts
 * what it hears. */
#pragma once
#include "../../../core/net/dom.h"
#include "../../../core/net/iwarp.h"
#include "../../../core/net/tcp.h"
#include "../../../core/net/verbs.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOLS 9

enum { VERBS_DOM = 1, IWARP_DOM = 2 };

/* One backend; the endpoint that it was last started for. */
static struct backend {
	unsigned started, ended, dialled;
	int refuses; /* every start */
	bool refuses_once;
	enum diag_code code; /* of that */
	struct ep_dial dial;
	struct ep *ep;
	unsigned regs, unregs, closes, posts;
} verbs, iwarp;

static struct owner {
	unsigned requests, ups, downs, recvs, sents, idles;
	int answer; /* of the next request: a failure, or pools to register */
	uint8_t dom;
} owner;

static struct loop *loop;
static struct pool pool[POOLS];

static inline void verbs_free(struct ep *);

/* Both have their endpoint in the same place. */
static inline struct backend *backend_of(const struct ep *ep)
{
	return ep->ops->free == verbs_free ? &verbs : &iwarp;
}

static inline void fake_post(struct ep *ep, struct ep_op *chain)
{
	(void)chain;
	backend_of(ep)->posts++;
}

static inline void fake_repost(struct ep *ep, struct ep_rx *chain)
{
	(void)ep;
	(void)chain;
}

static inline int fake_reg(struct ep *ep, struct pool *p, unsigned access, struct diag *diag)
{
	(void)access;
	(void)diag;
	p->refs[ep->dom]++;
	backend_of(ep)->regs++;
	return 0;
}

/* An owner cannot know that what it registered went with the other backend. */
static inline void fake_unreg(struct ep *ep, struct pool *p)
{
	if (ep->dom == DOM_NONE || !p->refs[ep->dom])
		return;
	p->refs[ep->dom]--;
	backend_of(ep)->unregs++;
}

static inline void fake_close(struct ep *ep)
{
	backend_of(ep)->closes++;
	ep->state = EP_CLOSING;
}

static inline void verbs_free(struct ep *ep)
{
	verbs_end(container_of(ep, struct verbs_ep, ep));
	free(container_of(ep, struct verbs_ep, ep));
}

static inline void iwarp_free(struct ep *ep)
{
	iwarp_fini(iwarp_of(ep));
	free(iwarp_of(ep));
}

static const struct ep_ops verbs_ops = { "verbs", fake_post, fake_repost, fake_reg, fake_unreg,
	fake_close, fake_close, verbs_free };
static const struct ep_ops iwarp_ops = { "iwarp", fake_post, fake_repost, fake_reg, fake_unreg,
	fake_close, fake_close, iwarp_free };

static inline int start(struct backend *backend, struct ep *ep, const struct ep_ops *ops,
	struct loop *on, const struct ep_dial *dial, const struct ep_events *events, void *user,
	struct diag *diag)
{
	backend->started++;
	backend->dial = *dial;
	if (backend->refuses) {
		int err = backend->refuses;

		backend->refuses = backend->refuses_once ? 0 : err;
		return diag_set(diag, backend->code, err, "%s cannot start", ops->name);
	}
	*ep = (struct ep){ .ops = ops, .ev = events, .loop = on, .user = user, .dom = DOM_NONE };
	backend->ep = ep;
	return 0;
}

int verbs_start(struct verbs_ep *ve, struct loop *on, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	cr_assert_eq(ve->id, NULL, "memory of another endpoint");
	return start(&verbs, &ve->ep, &verbs_ops, on, dial, events, user, diag);
}

void verbs_end(struct verbs_ep *ve)
{
	cr_assert_eq(&ve->ep, verbs.ep);
	verbs.ended++;
}

int iwarp_start(struct iwarp *iw, struct loop *on, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	cr_assert_eq(iw->stags, NULL, "memory of another endpoint");
	return start(&iwarp, &iw->ep, &iwarp_ops, on, dial, events, user, diag);
}

void iwarp_fini(struct iwarp *iw)
{
	cr_assert_eq(&iw->ep, iwarp.ep);
	iwarp.ended++;
}

int iwarp_dial(struct ep **out, struct loop *on, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	(void)out, (void)on, (void)events, (void)user;
	iwarp.dialled++;
	iwarp.dial = *dial;
	return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "dialled");
}

/* The listeners of both. */
static struct ep_listen verbs_conf;
static struct tcp_listen tcp_conf;
static struct addr listening;
static unsigned verbs_listeners, tcp_listeners;
static int listen_err;

int verbs_listen(struct verbs_listener **out, struct ep_listener *listener, struct loop *on,
	const struct ep_listen *conf, struct diag *diag)
{
	(void)listener, (void)on;
	verbs_conf = *conf;
	if (listen_err)
		return diag_sys(diag, listen_err, "verbs");
	verbs_listeners++;
	*out = (void *)&verbs_conf;
	return 0;
}

const struct addr *verbs_listener_addr(const struct verbs_listener *listener)
{
	cr_assert_eq((const void *)listener, &verbs_conf);
	return &listening;
}

void verbs_listener_free(struct verbs_listener *listener)
{
	(void)listener;
	verbs_listeners--;
}

int tcp_listen(struct tcp_listener **out, struct loop *on, const struct tcp_listen *conf,
	struct diag *diag)
{
	(void)on;
	tcp_conf = *conf;
	if (listen_err)
		return diag_sys(diag, listen_err, "tcp");
	tcp_listeners++;
	*out = (void *)&tcp_conf;
	return 0;
}

const struct addr *tcp_listener_addr(const struct tcp_listener *listener)
{
	cr_assert_eq((const void *)listener, &tcp_conf);
	return &listening;
}

void tcp_listener_free(struct tcp_listener *listener)
{
	(void)listener;
	tcp_listeners--;
}

/* The owner. */
static inline int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	owner.requests++;
	owner.dom = ep->dom;
	priv[0] = 'p';
	if (owner.answer < 0)
		return diag_set(&ep->why, DIAG_USAGE, -owner.answer, "not like this");
	for (int i = 0; i < owner.answer; i++) {
		int err = ep->ops->reg(ep, &pool[i], EP_REMOTE_READ, &ep->why);
		if (err)
			return err;
	}
	return 1;
}

static inline void up(struct ep *ep)
{
	(void)ep;
	owner.ups++;
}

static inline void recv_(struct ep *ep, struct ep_rx *rx)
{
	(void)ep, (void)rx;
	owner.recvs++;
}

static inline void sent(struct ep *ep, struct ep_op *op)
{
	(void)ep, (void)op;
	owner.sents++;
}

static inline void idle(struct ep *ep)
{
	(void)ep;
	owner.idles++;
}

static inline void down(struct ep *ep)
{
	cr_assert_eq(ep->user, &owner);
	cr_assert_eq(ep->loop, loop);
	cr_assert_eq(ep->state, EP_DOWN);
	owner.downs++;
}

static const struct ep_events events = { request, up, recv_, sent, idle, down };

static inline struct ep *dial_to(const struct addr *dst, uint8_t backend, uint32_t timeout_ms)
{
	struct ep_dial how = { .dst = *dst,
		.backend = backend,
		.timeout_ms = timeout_ms,
		.caps = { .send = 4, .recv = 4 } };
	struct diag diag;
	struct ep *ep;

	owner.answer = owner.answer ? owner.answer : 1;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(ep_dial(&ep, loop, &how, &events, &owner, &diag), 0, "%s", diag.text);
	return ep;
}

static inline struct ep *dial(uint32_t timeout_ms)
{
	return dial_to(&(struct addr){ 0 }, EP_AUTO, timeout_ms);
}

/* What a backend does: as far as request(), up, down. */
static inline int asks(struct ep *ep, uint8_t dom)
{
	uint8_t priv[EP_PRIV_MAX];

	ep->dom = dom;
	return ep->ev->request(ep, priv);
}

static inline void comes_up(struct ep *ep)
{
	ep->state = EP_UP;
	ep->ev->up(ep);
}

static inline void fails(struct ep *ep, enum diag_code code, int err, const char *text)
{
	cr_assert_not(owner.downs);
	diag_set(&ep->why, code, err, "%s", text);
	ep->state = EP_DOWN;
	ep->ev->down(ep);
}

/* As an owner does that has seen one request(), or none. */
static inline void finish(struct ep *ep)
{
	for (unsigned i = 0; i < POOLS; i++)
		ep->ops->unreg(ep, &pool[i]);
	ep->ops->free(ep);
	cr_assert_eq(verbs.regs, verbs.unregs);
	cr_assert_eq(iwarp.regs, iwarp.unregs);
	loop_free(loop);
}

static inline void up_calls_reach_the_owner(struct ep *ep)
{
	ep->ev->recv(ep, NULL);
	ep->ev->sent(ep, NULL);
	ep->ev->idle(ep);
	cr_assert(owner.recvs == 1 && owner.sents == 1 && owner.idles == 1);
}

struct cause {
	enum diag_code code;
	int err, rej_code;
	bool rejected;
};

static inline void fails_by(struct ep *ep, const struct cause *cause)
{
	ep->rejected = cause->rejected;
	ep->rej_code = cause->rej_code;
	fails(ep, cause->code, cause->err, "verbs cause");
}

static const struct cause stays[] = {
	{ DIAG_REFUSED, ECONNRESET, 28, true }, /* the peer's upper layer has spoken */
	{ DIAG_REFUSED, ECONNRESET, 10, false },
	{ DIAG_REFUSED, EACCES, 0, false },
	{ DIAG_PROTOCOL, EPROTO, 0, false },
	{ DIAG_CLOSED, ECONNRESET, 0, false },
	{ DIAG_NO_MEMORY, ENOMEM, 0, false },
};
