/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The choice of backend: what each is asked for and when, and what the owner hears of it. */
/* Link: leap core/net/ep.o */
#include "ep_rig.h"
#include "says.h"
#include "wire/mad.h"

Test(ep, one_backend_by_name)
{
	static const struct {
		uint8_t backend;
		const char *dev;
		unsigned verbs, iwarp;
	} cases[] = { { EP_VERBS, NULL, 1, 0 }, { EP_VERBS, "rxe0", 1, 0 },
		{ EP_IWARP, NULL, 0, 1 }, { EP_AUTO, "rxe0", 1, 0 } };
	struct diag diag = { 0 };
	struct ep *ep;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ep_dial how = {
			.backend = cases[i].backend, .dev = cases[i].dev, .timeout_ms = 700
		};
		uint32_t ms;

		verbs.started = iwarp.dialled = 0;
		verbs.refuses = ENODEV;
		verbs.code = DIAG_NO_DEVICE;
		cr_assert_eq(ep_dial(&ep, NULL, &how, &events, &owner, &diag), -ENODEV);
		cr_assert(verbs.started == cases[i].verbs && iwarp.dialled == cases[i].iwarp,
			"case %u", i);
		ms = (verbs.started ? &verbs : &iwarp)->dial.timeout_ms;
		cr_assert(ms == 700 || ms == 701, "%u", ms);
		cr_assert_not(iwarp.started);
	}
	cr_assert_eq(ep_dial(&ep, NULL, &(struct ep_dial){ .backend = 9 }, &events, &owner, &diag),
		-EOPNOTSUPP);
	diag_says(&diag, DIAG_UNSUPPORTED, "", "transport 9");
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
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
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
	cr_assert(iwarp.dial.timeout_ms > 1000 && iwarp.dial.timeout_ms <= 2501, "%u",
		iwarp.dial.timeout_ms);
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

static const struct cause changes[] = {
	{ DIAG_NO_DEVICE, ENODEV, 0, false }, { DIAG_UNREACHABLE, EHOSTUNREACH, 0, false },
	{ DIAG_TIMEOUT, ETIMEDOUT, 0, false }, { DIAG_REFUSED, ECONNREFUSED, 0, false },
	{ DIAG_REFUSED, ECONNREFUSED, 8, false }, /* no listener, InfiniBand's words */
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
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "too late");
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

static void incoming(struct ep_incoming *in, void *user)
{
	(void)in, (void)user;
}

Test(ep, an_infiniband_address_is_checked)
{
	static const struct {
		uint8_t gid[16];
		uint64_t service;
		uint16_t pkey;
		const char *words;
	} cases[] = { { { 0 }, 1, 0xffff, "GID" }, { { 1 }, 0, 0xffff, "service ID" },
		{ { 1 }, 1, 0x8000, "P_Key" }, { { 1 }, 1, 0, "P_Key" } };
	static const uint8_t backends[] = { EP_AUTO, EP_VERBS, EP_IWARP };
	struct ep_listener *listener;
	struct diag diag;
	struct ep *ep;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases) * 3; i++) {
		struct ep_dial how = { .backend = backends[i % 3] };
		struct ep_listen conf = { .backend = backends[i % 3] };

		addr_set_ib(&how.dst, cases[i / 3].gid, cases[i / 3].pkey, cases[i / 3].service);
		conf.at = how.dst;
		diag = (struct diag){ 0 };
		cr_assert_eq(
			ep_dial(&ep, NULL, &how, &events, &owner, &diag), -EINVAL, "case %u", i);
		diag_says(&diag, DIAG_USAGE, "", "InfiniBand address");
		diag_says(&diag, DIAG_USAGE, "", cases[i / 3].words);
		diag = (struct diag){ 0 };
		cr_assert_eq(ep_listen(&listener, NULL, &conf, &diag), -EINVAL, "case %u", i);
		diag_says(&diag, DIAG_USAGE, "", cases[i / 3].words);
	}
	cr_assert(!iwarp.dialled && !verbs.started && !iwarp.started);
	cr_assert(!verbs_listeners && !tcp_listeners);
}

Test(ep, software_iwarp_needs_an_ip_address)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 7 };
	struct ep_dial how = { .backend = EP_IWARP };
	struct ep_listen conf = { .backend = EP_IWARP };
	struct ep_listener *listener;
	struct diag diag = { 0 };
	struct ep *ep;

	addr_set_ib(&how.dst, gid, 0xfff1, 0x1000000000000001);
	conf.at = how.dst;
	cr_assert_eq(ep_dial(&ep, NULL, &how, &events, &owner, &diag), -EAFNOSUPPORT);
	diag_says(&diag, DIAG_UNSUPPORTED, "", "software_iWARP IP address");
	diag = (struct diag){ 0 };
	cr_assert_eq(ep_listen(&listener, NULL, &conf, &diag), -EAFNOSUPPORT);
	diag_says(&diag, DIAG_UNSUPPORTED, "", "software_iWARP IP address");
	cr_assert(!iwarp.dialled && !tcp_listeners);
	/* and there is no other way to change over to */
	how.backend = EP_AUTO;
	diag = (struct diag){ 0 };
	verbs.refuses = ENODEV;
	cr_assert_eq(ep_dial(&ep, NULL, &how, &events, &owner, &diag), -ENODEV);
	cr_assert(verbs.started == 1 && !iwarp.dialled && !iwarp.started);
	cr_assert_eq(addr_service(&verbs.dial.dst), 0x1000000000000001);
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
	cr_assert(tcp_conf.iwarp == incoming && !tcp_conf.stream && tcp_conf.user == &owner &&
		  tcp_conf.no_crc && tcp_conf.timeout_ms);
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
