/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The choice of backend, on backends that do what a test says: what each is asked for and when, and what the owner hears of it. */
#include "../../../core/net/dom.h"
#include "../../../core/net/iwarp.h"
#include "../../../core/net/verbs.h"
#include "stream.h"
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
	int refuses; /* the next start */
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

static void verbs_free(struct ep *);

/* Both have their endpoint in the same place. */
static struct backend *backend_of(const struct ep *ep)
{
	return ep->ops->free == verbs_free ? &verbs : &iwarp;
}

static void fake_post(struct ep *ep, struct ep_op *chain)
{
	(void)chain;
	backend_of(ep)->posts++;
}

static void fake_repost(struct ep *ep, struct ep_rx *chain)
{
	(void)ep;
	(void)chain;
}

static int fake_reg(struct ep *ep, struct pool *p, unsigned access, struct diag *diag)
{
	(void)access;
	(void)diag;
	p->refs[ep->dom]++;
	backend_of(ep)->regs++;
	return 0;
}

/* An owner cannot know that what it registered went with the other backend. */
static void fake_unreg(struct ep *ep, struct pool *p)
{
	if (ep->dom == DOM_NONE || !p->refs[ep->dom])
		return;
	p->refs[ep->dom]--;
	backend_of(ep)->unregs++;
}

static void fake_close(struct ep *ep)
{
	backend_of(ep)->closes++;
	ep->state = EP_CLOSING;
}

static void verbs_free(struct ep *ep)
{
	verbs_end(container_of(ep, struct verbs_ep, ep));
	free(container_of(ep, struct verbs_ep, ep));
}

static void iwarp_free(struct ep *ep)
{
	iwarp_fini(iwarp_of(ep));
	free(iwarp_of(ep));
}

static const struct ep_ops verbs_ops = { "verbs", fake_post, fake_repost, fake_reg, fake_unreg, fake_close, verbs_free };
static const struct ep_ops iwarp_ops = { "iwarp", fake_post, fake_repost, fake_reg, fake_unreg, fake_close, iwarp_free };

static int start(struct backend *backend, struct ep *ep, const struct ep_ops *ops, struct loop *on, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	backend->started++;
	backend->dial = *dial;
	if (backend->refuses)
		return diag_set(diag, backend->code, backend->refuses, "%s cannot start", ops->name);
	*ep = (struct ep){ .ops = ops, .ev = events, .loop = on, .user = user, .dom = DOM_NONE };
	backend->ep = ep;
	return 0;
}

int verbs_start(struct verbs_ep *ve, struct loop *on, const struct ep_dial *dial, const struct ep_events *events, void *user,
	struct diag *diag)
{
	cr_assert_eq(ve->id, NULL, "memory of another endpoint");
	return start(&verbs, &ve->ep, &verbs_ops, on, dial, events, user, diag);
}

void verbs_end(struct verbs_ep *ve)
{
	cr_assert_eq(&ve->ep, verbs.ep);
	verbs.ended++;
}

int iwarp_start(struct iwarp *iw, struct loop *on, const struct ep_dial *dial, const struct ep_events *events, void *user,
	struct diag *diag)
{
	cr_assert_eq(iw->stags, NULL, "memory of another endpoint");
	return start(&iwarp, &iw->ep, &iwarp_ops, on, dial, events, user, diag);
}

void iwarp_fini(struct iwarp *iw)
{
	cr_assert_eq(&iw->ep, iwarp.ep);
	iwarp.ended++;
}

static int dialled(struct backend *backend, const struct ep_dial *dial, struct diag *diag)
{
	backend->dialled++;
	backend->dial = *dial;
	return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "dialled");
}

int verbs_dial(struct ep **out, struct loop *on, const struct ep_dial *dial, const struct ep_events *events, void *user, struct diag *diag)
{
	(void)out, (void)on, (void)events, (void)user;
	return dialled(&verbs, dial, diag);
}

int iwarp_dial(struct ep **out, struct loop *on, const struct ep_dial *dial, const struct ep_events *events, void *user, struct diag *diag)
{
	(void)out, (void)on, (void)events, (void)user;
	return dialled(&iwarp, dial, diag);
}

/* The listeners of both. */
static struct ep_listen verbs_conf;
static struct tcp_listen tcp_conf;
static struct addr listening;
static unsigned verbs_listeners, tcp_listeners;
static int listen_err;

int verbs_listen(struct verbs_listener **out, struct ep_listener *listener, struct loop *on, const struct ep_listen *conf,
	struct diag *diag)
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

int tcp_listen(struct tcp_listener **out, struct loop *on, const struct tcp_listen *conf, struct diag *diag)
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
static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
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

static void up(struct ep *ep)
{
	(void)ep;
	owner.ups++;
}

static void recv_(struct ep *ep, struct ep_rx *rx)
{
	(void)ep, (void)rx;
	owner.recvs++;
}

static void sent(struct ep *ep, struct ep_op *op)
{
	(void)ep, (void)op;
	owner.sents++;
}

static void idle(struct ep *ep)
{
	(void)ep;
	owner.idles++;
}

static void down(struct ep *ep)
{
	cr_assert_eq(ep->user, &owner);
	cr_assert_eq(ep->loop, loop);
	cr_assert_eq(ep->state, EP_DOWN);
	owner.downs++;
}

static const struct ep_events events = { request, up, recv_, sent, idle, down };

static struct ep *dial(uint32_t timeout_ms)
{
	struct ep_dial how = { .timeout_ms = timeout_ms, .want = { .send = 4, .recv = 4 } };
	struct diag diag;
	struct ep *ep;

	owner.answer = owner.answer ? owner.answer : 1;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(ep_dial(&ep, loop, &how, &events, &owner, &diag), 0, "%s", diag.text);
	return ep;
}

/* What a backend does: as far as request(), up, down. */
static int asks(struct ep *ep, uint8_t dom)
{
	uint8_t priv[EP_PRIV_MAX];

	ep->dom = dom;
	return ep->ev->request(ep, priv);
}

static void comes_up(struct ep *ep)
{
	ep->state = EP_UP;
	ep->ev->up(ep);
}

static void fails(struct ep *ep, enum diag_code code, int err, const char *text)
{
	cr_assert_not(owner.downs);
	diag_set(&ep->why, code, err, "%s", text);
	ep->state = EP_DOWN;
	ep->ev->down(ep);
}

/* As an owner does that has seen one request(), or none. */
static void finish(struct ep *ep)
{
	for (unsigned i = 0; i < POOLS; i++)
		ep->ops->unreg(ep, &pool[i]);
	ep->ops->free(ep);
	cr_assert_eq(verbs.regs, verbs.unregs);
	cr_assert_eq(iwarp.regs, iwarp.unregs);
	loop_free(loop);
}

static void up_calls_reach_the_owner(struct ep *ep)
{
	ep->ev->recv(ep, NULL);
	ep->ev->sent(ep, NULL);
	ep->ev->idle(ep);
	cr_assert(owner.recvs == 1 && owner.sents == 1 && owner.idles == 1);
}

Test(ep, one_backend_by_name)
{
	static const struct {
		uint8_t backend;
		const char *dev;
		unsigned verbs, iwarp;
	} cases[] = { { EP_VERBS, NULL, 1, 0 }, { EP_VERBS, "rxe0", 1, 0 }, { EP_IWARP, NULL, 0, 1 }, { EP_AUTO, "rxe0", 1, 0 } };
	struct diag diag = { 0 };
	struct ep *ep;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ep_dial how = { .backend = cases[i].backend, .dev = cases[i].dev, .timeout_ms = 700 };

		verbs.dialled = iwarp.dialled = 0;
		cr_assert_eq(ep_dial(&ep, NULL, &how, &events, &owner, &diag), -ENODEV);
		cr_assert(verbs.dialled == cases[i].verbs && iwarp.dialled == cases[i].iwarp, "case %u", i);
		cr_assert_eq((verbs.dialled ? &verbs : &iwarp)->dial.timeout_ms, 700);
	}
	cr_assert_eq(ep_dial(&ep, NULL, &(struct ep_dial){ .backend = 9 }, &events, &owner, &diag), -EOPNOTSUPP);
	cr_assert_str_eq(diag.text, "no such transport: 9");
	cr_assert(!verbs.started && !iwarp.started);
}

Test(ep, verbs_when_it_comes_up)
{
	struct ep *ep = dial(5000);

	cr_assert_eq(verbs.dial.timeout_ms, 1000);
	cr_assert_eq(asks(ep, VERBS_DOM), 1);
	comes_up(ep);
	cr_assert_eq(owner.ups, 1);
	cr_assert_eq(ep->ops, &verbs_ops, "nothing stands between owner and backend any more");
	up_calls_reach_the_owner(ep);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "lost");
	cr_assert_eq(owner.downs, 1);
	cr_assert_eq(iwarp.started, 0, "a connection that was up does not change over");
	finish(ep);
	cr_assert_eq(verbs.ended, 1);
}

Test(ep, verbs_gets_half_of_little_time)
{
	struct ep *ep = dial(999);

	cr_assert_eq(verbs.dial.timeout_ms, 500);
	finish(ep);
}

Test(ep, verbs_gets_a_second_of_endless_time)
{
	struct ep *ep = dial(0);

	cr_assert_eq(verbs.dial.timeout_ms, 1000);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	cr_assert_eq(iwarp.dial.timeout_ms, 0);
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "nobody");
	cr_assert_eq(verbs.started, 2);
	cr_assert_eq(verbs.dial.timeout_ms, 0);
	finish(ep);
}

Test(ep, without_rdma_software_iwarp_at_once)
{
	struct ep *ep;

	verbs.refuses = ENODEV;
	verbs.code = DIAG_NO_DEVICE;
	ep = dial(5000);
	cr_assert(verbs.started == 1 && iwarp.started == 1);
	cr_assert(iwarp.dial.timeout_ms > 1000 && iwarp.dial.timeout_ms <= 2501, "%u", iwarp.dial.timeout_ms);
	asks(ep, IWARP_DOM);
	comes_up(ep);
	cr_assert(owner.requests == 1 && owner.ups == 1);
	up_calls_reach_the_owner(ep);
	finish(ep);
}

Test(ep, neither_can_start)
{
	struct ep_dial how = { .timeout_ms = 5000 };
	struct diag diag = { 0 };
	struct ep *ep;

	verbs.refuses = iwarp.refuses = ENOMEM;
	verbs.code = iwarp.code = DIAG_NO_MEMORY;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(ep_dial(&ep, loop, &how, &events, &owner, &diag), -ENOMEM);
	cr_assert_str_eq(diag.text, "iwarp cannot start");
	cr_assert_eq(owner.downs, 0);
	loop_free(loop);
}

struct cause {
	enum diag_code code;
	int err, rej_code;
	bool rejected;
};

static void fails_by(struct ep *ep, const struct cause *cause)
{
	ep->rejected = cause->rejected;
	ep->rej_code = cause->rej_code;
	fails(ep, cause->code, cause->err, "verbs cause");
}

static const struct cause changes[] = {
	{ DIAG_NO_DEVICE, ENODEV, 0, false },
	{ DIAG_UNREACHABLE, EHOSTUNREACH, 0, false },
	{ DIAG_TIMEOUT, ETIMEDOUT, 0, false },
	{ DIAG_REFUSED, ECONNREFUSED, 0, false },
	{ DIAG_REFUSED, ECONNREFUSED, 8, false }, /* no listener, InfiniBand's words */
};

static const struct cause stays[] = {
	{ DIAG_REFUSED, ECONNREFUSED, 28, true }, /* the peer's upper layer has spoken */
	{ DIAG_REFUSED, ECONNREFUSED, 10, false },
	{ DIAG_REFUSED, EACCES, 0, false },
	{ DIAG_PROTOCOL, EPROTO, 0, false },
	{ DIAG_CLOSED, ECONNRESET, 0, false },
	{ DIAG_NO_MEMORY, ENOMEM, 0, false },
};

Test(ep, what_makes_it_change_over)
{
	for (unsigned i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct ep *ep;

		verbs = iwarp = (struct backend){ 0 };
		owner = (struct owner){ .answer = 3 };
		ep = dial(5000);
		asks(ep, VERBS_DOM);
		cr_assert_eq(verbs.regs, 3);
		fails_by(ep, &changes[i]);
		cr_assert_eq(iwarp.started, 1, "case %u", i);
		cr_assert_eq(verbs.unregs, 3, "what was registered is taken back");
		cr_assert_eq(verbs.ended, 1);
		cr_assert_eq(owner.downs, 0, "the owner hears nothing of it");
		cr_assert_eq(iwarp.ep, ep, "it stays where it is");
		asks(ep, IWARP_DOM);
		cr_assert(owner.requests == 2 && owner.dom == IWARP_DOM);
		comes_up(ep);
		cr_assert(owner.ups == 1 && !ep->why.err && !ep->rejected && !ep->rej_code);
		up_calls_reach_the_owner(ep);
		finish(ep);
		cr_assert_eq(verbs.ended, 1);
	}
}

Test(ep, what_does_not)
{
	for (unsigned i = 0; i < sizeof(stays) / sizeof(*stays); i++) {
		struct ep *ep;

		verbs = iwarp = (struct backend){ 0 };
		owner = (struct owner){ 0 };
		ep = dial(5000);
		asks(ep, VERBS_DOM);
		fails_by(ep, &stays[i]);
		cr_assert(owner.downs == 1 && !iwarp.started, "case %u", i);
		cr_assert_str_eq(ep->why.text, "verbs cause");
		finish(ep);
	}
}

Test(ep, an_owner_that_refuses_its_request)
{
	struct ep *ep;

	owner.answer = -EINVAL;
	ep = dial(5000);
	cr_assert_eq(asks(ep, VERBS_DOM), -EINVAL);
	ep->state = EP_DOWN;
	ep->ev->down(ep);
	cr_assert(owner.downs == 1 && !iwarp.started);
	cr_assert_str_eq(ep->why.text, "not like this");
	finish(ep);
}

Test(ep, an_owner_that_closes)
{
	struct ep *ep = dial(5000);

	asks(ep, VERBS_DOM);
	ep->ops->close(ep);
	cr_assert_eq(verbs.closes, 1);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "meanwhile");
	cr_assert(owner.downs == 1 && !iwarp.started);
	finish(ep);
}

Test(ep, an_owner_that_closes_after_the_change)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	ep->ops->close(ep);
	cr_assert_eq(iwarp.closes, 1);
	cr_assert_eq(verbs.closes, 0);
	ep->state = EP_DOWN;
	ep->ev->down(ep);
	cr_assert(owner.downs == 1 && verbs.started == 1);
	cr_assert_eq(ep->why.err, 0);
	finish(ep);
}

static void nothing_but_free_helps(struct ep *ep, const char *text)
{
	struct diag diag;

	cr_assert_eq(owner.downs, 1);
	cr_assert_str_eq(ep->why.text, text);
	ep->ops->post(ep, NULL);
	ep->ops->repost(ep, NULL);
	cr_assert_eq(ep->ops->reg(ep, &pool[0], EP_LOCAL, &diag), -ENOTCONN);
	cr_assert_str_eq(diag.text, text);
	ep->ops->close(ep);
	cr_assert(!verbs.posts && !iwarp.posts && !verbs.closes && !iwarp.closes);
	finish(ep);
}

Test(ep, software_iwarp_cannot_start_after_verbs)
{
	struct ep *ep = dial(5000);

	iwarp.refuses = ENOMEM;
	iwarp.code = DIAG_NO_MEMORY;
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	nothing_but_free_helps(ep, "silence; over TCP: iwarp cannot start");
}

Test(ep, a_slow_target_gets_verbs_once_more)
{
	struct ep *ep = dial(5000);

	asks(ep, VERBS_DOM);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "nobody");
	cr_assert_eq(verbs.started, 2);
	cr_assert_eq(iwarp.ended, 1);
	cr_assert(verbs.dial.timeout_ms > 1000 && verbs.dial.timeout_ms <= 5000, "%u", verbs.dial.timeout_ms);
	cr_assert_eq(owner.downs, 0);
	cr_assert_eq(verbs.ep, ep);
	asks(ep, VERBS_DOM);
	comes_up(ep);
	cr_assert(owner.requests == 2 && owner.ups == 1);
	up_calls_reach_the_owner(ep);
	finish(ep);
}

Test(ep, nobody_anywhere)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "nobody");
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence still");
	cr_assert(owner.downs == 1 && verbs.started == 2 && iwarp.started == 1);
	cr_assert_str_eq(ep->why.text, "silence still; over TCP: nobody");
	cr_assert_eq(ep->why.code, DIAG_TIMEOUT);
	finish(ep);
}

Test(ep, the_second_time_verbs_is_rejected)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "nobody");
	fails_by(ep, &stays[0]);
	cr_assert_eq(owner.downs, 1);
	cr_assert_str_eq(ep->why.text, "verbs cause", "who has spoken is the only cause");
	finish(ep);
}

Test(ep, the_second_time_verbs_cannot_start)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	verbs.refuses = ENODEV;
	verbs.code = DIAG_NO_DEVICE;
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "nobody");
	cr_assert_eq(verbs.started, 2);
	nothing_but_free_helps(ep, "verbs cannot start; over TCP: nobody");
	cr_assert_eq(verbs.ended, 1, "what did not start does not end");
}

/* Verbs said clearly that it leads nowhere: there is no second time. */
Test(ep, only_silence_is_asked_twice)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_NO_DEVICE, ENODEV, "no device leads there");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "nobody");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	cr_assert_str_eq(ep->why.text, "no device leads there; over TCP: nobody");
	cr_assert_eq(ep->why.code, DIAG_NO_DEVICE);
	finish(ep);
}

/* Somebody was at TCP, and the request has been made. */
Test(ep, a_peer_that_fails_late_is_not_left)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	asks(ep, IWARP_DOM);
	fails(ep, DIAG_PROTOCOL, EPROTO, "no MPA reply");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	cr_assert_str_eq(ep->why.text, "silence; over TCP: no MPA reply");
	finish(ep);
}

Test(ep, a_rejection_over_tcp_is_the_only_cause)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	asks(ep, IWARP_DOM);
	ep->rejected = true;
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "by its upper layer");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	cr_assert_str_eq(ep->why.text, "by its upper layer");
	finish(ep);
}

Test(ep, no_time_is_left_for_verbs_again)
{
	volatile int never = 0;
	struct ep *ep = dial(20);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	loop_wait(loop, &never, loop_clock() + 25000000);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "nothing at TCP");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	cr_assert_str_eq(ep->why.text, "silence; over TCP: nothing at TCP");
	finish(ep);
}

Test(ep, what_the_owner_took_back_itself_is_not_taken_twice)
{
	struct ep *ep;

	owner.answer = 3;
	ep = dial(5000);
	asks(ep, VERBS_DOM);
	ep->ops->unreg(ep, &pool[0]);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	cr_assert(verbs.regs == 3 && verbs.unregs == 3);
	finish(ep);
}

Test(ep, more_pools_than_can_be_taken_back)
{
	struct ep *ep;

	owner.answer = POOLS;
	ep = dial(5000);
	cr_assert_eq(asks(ep, VERBS_DOM), -ENOSPC);
	cr_assert_str_eq(ep->why.text, "more than 8 pools for a connection that is not up yet");
	finish(ep);
}

static void incoming(struct ep_incoming *in, void *user)
{
	(void)in, (void)user;
}

Test(ep, each_backend_listens_for_itself)
{
	struct ep_listen conf = { .incoming = incoming, .user = &owner, .no_crc = true };
	struct ep_listener *listener;
	struct diag diag;

	conf.backend = EP_VERBS;
	cr_assert_eq(ep_listen(&listener, NULL, &conf, &diag), 0);
	cr_assert(verbs_listeners == 1 && !tcp_listeners && verbs_conf.incoming == incoming);
	cr_assert_eq(ep_listener_addr(listener), &listening);
	ep_listener_free(listener);
	conf.backend = EP_IWARP;
	cr_assert_eq(ep_listen(&listener, NULL, &conf, &diag), 0);
	cr_assert(!verbs_listeners && tcp_listeners == 1);
	cr_assert(tcp_conf.iwarp == incoming && !tcp_conf.stream && tcp_conf.user == &owner && tcp_conf.no_crc && tcp_conf.timeout_ms);
	cr_assert_eq(ep_listener_addr(listener), &listening);
	ep_listener_free(listener);
	cr_assert(!verbs_listeners && !tcp_listeners);
}

Test(ep, a_listener_that_cannot)
{
	struct ep_listen conf = { .backend = EP_VERBS };
	struct ep_listener *listener;
	struct diag diag;

	listen_err = EADDRINUSE;
	cr_assert_eq(ep_listen(&listener, NULL, &conf, &diag), -EADDRINUSE);
	conf.backend = EP_IWARP;
	cr_assert_eq(ep_listen(&listener, NULL, &conf, &diag), -EADDRINUSE);
}
