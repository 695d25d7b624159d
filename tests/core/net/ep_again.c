/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A second attempt over verbs, after software iWARP found no listener or from another port, and the
 * state that its owner then sees. */
/* Link: leap core/net/ep.o */
#include "ep_rig.h"
#include "says.h"

static void nothing_but_free_helps(struct ep *ep, enum diag_code code, const char *words)
{
	struct diag diag;

	cr_assert_eq(owner.downs, 1);
	diag_says(&ep->why, code, "", words);
	ep->ops->post(ep, NULL);
	ep->ops->repost(ep, NULL);
	cr_assert_eq(ep->ops->reg(ep, &pool[0], EP_LOCAL, &diag), -ENOTCONN);
	diag_says(&diag, DIAG_CLOSED, "", words);
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
	nothing_but_free_helps(ep, DIAG_TIMEOUT, "silence TCP iwarp_cannot_start");
}

Test(ep, a_slow_target_gets_verbs_once_more)
{
	struct ep *ep = dial(5000);

	asks(ep, VERBS_DOM);
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert_eq(verbs.started, 2);
	cr_assert_eq(iwarp.ended, 1);
	cr_assert(verbs.dial.timeout_ms > 1000 && verbs.dial.timeout_ms <= 5000, "%u",
		verbs.dial.timeout_ms);
	cr_assert_eq(owner.downs, 0);
	cr_assert_eq(verbs.ep, ep);
	asks(ep, VERBS_DOM);
	comes_up(ep);
	cr_assert(owner.requests == 2 && owner.ups == 1);
	up_calls_reach_the_owner(ep);
	finish(ep);
}

Test(ep, no_listener_anywhere)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence still");
	cr_assert(owner.downs == 1 && verbs.started == 2 && iwarp.started == 1);
	diag_says(&ep->why, DIAG_TIMEOUT, "", "silence_still TCP no_listener");
	finish(ep);
}

Test(ep, the_second_time_verbs_is_rejected)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	fails_by(ep, &stays[0]);
	cr_assert_eq(owner.downs, 1);
	cr_assert_str_eq(ep->why.text, "verbs cause", "the peer that answered is the only cause");
	finish(ep);
}

Test(ep, the_second_time_verbs_cannot_start)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	verbs.refuses = ENODEV;
	verbs.code = DIAG_NO_DEVICE;
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert_eq(verbs.started, 2);
	nothing_but_free_helps(ep, DIAG_NO_DEVICE, "verbs_cannot_start TCP no_listener");
	cr_assert_eq(verbs.ended, 1, "what did not start does not end");
}

/* Verbs said clearly that it leads nowhere: there is no second time. */
Test(ep, only_silence_is_asked_twice)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_NO_DEVICE, ENODEV, "no device leads there");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	diag_says(&ep->why, DIAG_NO_DEVICE, "", "no_device_leads_there TCP no_listener");
	finish(ep);
}

/* TCP connected, and the MPA request was sent. */
Test(ep, a_peer_that_fails_after_the_request_is_not_left)
{
	struct ep *ep = dial(5000);

	fails(ep, DIAG_TIMEOUT, ETIMEDOUT, "silence");
	asks(ep, IWARP_DOM);
	fails(ep, DIAG_PROTOCOL, EPROTO, "no MPA reply");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	diag_says(&ep->why, DIAG_TIMEOUT, "", "silence TCP no_MPA_reply");
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
	diag_says(&ep->why, DIAG_TIMEOUT, "", "silence over_TCP nothing_at_TCP");
	finish(ep);
}

Test(ep, operations_returned_to_the_owner_are_not_returned_twice)
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
	diag_says(&ep->why, DIAG_UNSUPPORTED, "", "8 pool");
	finish(ep);
}

/* 10.0.0.1, 10.0.0.2 */
static struct addr two(void)
{
	struct addr addr, other;

	cr_assert(!addr_parse(&addr, "10.0.0.1:7", 0, NULL));
	cr_assert(!addr_parse(&other, "10.0.0.2:7", 0, NULL));
	cr_assert(addr_add(&addr, (const struct sockaddr *)&other.ss));
	return addr;
}

static void verbs_is_at(const char *at)
{
	char text[ADDR_TEXT];

	cr_assert_str_eq(addr_text(&verbs.dial.dst, text), at);
}

Test(ep, the_next_address_over_verbs_alone)
{
	const struct addr dst = two();
	struct ep *ep = dial_to(&dst, EP_VERBS, 5000);

	verbs_is_at("10.0.0.1:7");
	cr_assert(verbs.dial.timeout_ms <= 2501, "it is left half of the time: %u",
		verbs.dial.timeout_ms);
	asks(ep, VERBS_DOM);
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	verbs_is_at("10.0.0.2:7");
	cr_assert(verbs.started == 2 && verbs.ended == 1 && !owner.downs);
	asks(ep, VERBS_DOM);
	comes_up(ep);
	cr_assert(owner.requests == 2 && owner.ups == 1 && !iwarp.started);
	up_calls_reach_the_owner(ep);
	finish(ep);
}

/* As Linux rejects if its listeners are at other addresses; with a reason it is final. */
Test(ep, the_next_address_after_a_rejection_without_a_reason)
{
	const struct addr dst = two();
	struct ep *ep = dial_to(&dst, EP_VERBS, 5000);

	ep->rejected = true;
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "rejected");
	verbs_is_at("10.0.0.2:7");
	cr_assert(verbs.started == 2 && !owner.downs);
	ep->rejected = true;
	fails(ep, DIAG_REFUSED, ECONNRESET, "unit unknown");
	cr_assert(owner.downs == 1 && verbs.started == 2);
	diag_says(&ep->why, DIAG_REFUSED, "10.0.0.2:7", "unit_unknown");
	finish(ep);
}

Test(ep, no_address_over_verbs_alone)
{
	const struct addr dst = two();
	struct ep *ep = dial_to(&dst, EP_VERBS, 5000);

	fails(ep, DIAG_UNREACHABLE, EHOSTUNREACH, "no way");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert(owner.downs == 1 && verbs.started == 2 && !iwarp.started);
	diag_says(&ep->why, DIAG_REFUSED, "10.0.0.1:7, 10.0.0.2:7",
		"no_route_to_host connection_refused");
	finish(ep);
}

/* No device routes to any of them. */
Test(ep, no_address_that_verbs_can_start_with)
{
	const struct addr dst = two();
	struct ep_dial how = { .dst = dst, .backend = EP_VERBS, .timeout_ms = 5000 };
	struct diag diag = { 0 };
	struct ep *ep;

	verbs.refuses = ENODEV;
	verbs.code = DIAG_NO_DEVICE;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(ep_dial(&ep, loop, &how, &events, &owner, &diag), -ENODEV);
	cr_assert(verbs.started == 2 && !verbs.ended && !owner.downs);
	diag_says(&diag, DIAG_NO_DEVICE, "10.0.0.1:7, 10.0.0.2:7", "verbs_cannot_start");
	loop_free(loop);
}

Test(ep, the_next_address_if_verbs_cannot_start)
{
	const struct addr dst = two();
	struct ep *ep;

	verbs.refuses_once = true;
	verbs.refuses = ENODEV;
	verbs.code = DIAG_NO_DEVICE;
	ep = dial_to(&dst, EP_VERBS, 5000);
	verbs_is_at("10.0.0.2:7");
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert(owner.downs == 1 && verbs.started == 2);
	diag_says(&ep->why, DIAG_REFUSED, "10.0.0.1:7, 10.0.0.2:7",
		"no_such_device connection_refused");
	finish(ep);
}

/* Software iWARP chooses among them itself. */
Test(ep, all_addresses_over_verbs_before_software_iwarp)
{
	const struct addr dst = two();
	struct ep *ep = dial_to(&dst, EP_AUTO, 9000);

	cr_assert(verbs.dial.timeout_ms == 1000, "%u", verbs.dial.timeout_ms);
	fails(ep, DIAG_NO_DEVICE, ENODEV, "no device leads there");
	cr_assert(verbs.started == 2 && !iwarp.started);
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert(iwarp.started == 1 && iwarp.dial.dst.others == 1 && !owner.downs);
	asks(ep, IWARP_DOM);
	comes_up(ep);
	cr_assert_eq(owner.ups, 1);
	finish(ep);
}

Test(ep, a_peer_that_has_spoken_is_the_last_address)
{
	const struct addr dst = two();
	struct ep *ep = dial_to(&dst, EP_VERBS, 5000);

	fails_by(ep, &stays[0]);
	cr_assert(owner.downs == 1 && verbs.started == 1);
	finish(ep);
}

Test(ep, an_owner_that_closes_ends_the_addresses)
{
	const struct addr dst = two();
	struct ep *ep = dial_to(&dst, EP_VERBS, 5000);

	ep->ops->close(ep);
	fails(ep, DIAG_REFUSED, ECONNREFUSED, "no listener");
	cr_assert(owner.downs == 1 && verbs.started == 1);
	finish(ep);
}

Test(ep, a_port_in_use)
{
	struct ep *ep = dial_to(&(struct addr){ 0 }, EP_VERBS, 5000);

	for (unsigned i = 1; i <= 8; i++) {
		asks(ep, VERBS_DOM);
		fails(ep, DIAG_BUSY, EADDRINUSE, "port in use");
		cr_assert(verbs.started == i + 1 && verbs.ended == i && !owner.downs);
		cr_assert_eq(verbs.ep, ep);
	}
	asks(ep, VERBS_DOM);
	comes_up(ep);
	cr_assert(owner.requests == 9 && owner.ups == 1 && !iwarp.started);
	up_calls_reach_the_owner(ep);
	finish(ep);
}

Test(ep, ports_that_are_all_in_use)
{
	struct ep *ep = dial_to(&(struct addr){ 0 }, EP_VERBS, 5000);

	for (unsigned i = 0; i < 9; i++)
		fails(ep, DIAG_BUSY, EADDRINUSE, "port in use");
	cr_assert(verbs.started == 9 && owner.downs == 1);
	diag_says(&ep->why, DIAG_BUSY, "", "port_in_use");
	finish(ep);
}

Test(ep, a_port_in_use_of_a_connection_that_was_closed)
{
	struct ep *ep = dial_to(&(struct addr){ 0 }, EP_VERBS, 5000);

	ep->ops->close(ep);
	fails(ep, DIAG_BUSY, EADDRINUSE, "port in use");
	cr_assert(verbs.started == 1 && owner.downs == 1);
	finish(ep);
}
