/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What include/ep.h promises, held against the in-memory endpoint that the protocol tests stand on.
 */
/* Link: leap */
#include "ep_pair.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ull

struct owner {
	struct pool *pool;
	struct ep_rx rx[4];
	volatile int up, down;
	unsigned idles;
	char log[64]; /* r = recv, s = sent */
	int refuse;
};

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct owner *o = ep->user;

	if (o->refuse)
		return diag_set(&ep->why, DIAG_USAGE, EINVAL, "not like this");
	cr_assert_eq(ep->ops->reg(ep, o->pool, EP_REMOTE_WRITE, &ep->why), 0);
	for (unsigned i = 0; i < ep->caps.recv; i++) {
		o->rx[i] = (struct ep_rx){
			.p = pool_buf(o->pool, i).p, .cap = 64, .lkey = o->pool->key[ep->dom].lkey
		};
		ep->ops->repost(ep, &o->rx[i]);
	}
	memcpy(priv, "hi", 2);
	return 2;
}

static void up(struct ep *ep)
{
	((struct owner *)ep->user)->up = 1;
}

static void note(struct owner *o, char c)
{
	o->log[strlen(o->log)] = c;
}

static void recv_(struct ep *ep, struct ep_rx *rx)
{
	note(ep->user, 'r');
	rx->next = NULL;
	ep->ops->repost(ep, rx);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	(void)op;
	note(ep->user, 's');
}

static void idle(struct ep *ep)
{
	((struct owner *)ep->user)->idles++;
}

static void down(struct ep *ep)
{
	struct owner *o = ep->user;
	cr_assert_eq(ep->state, EP_DOWN);
	o->down++;
}

static const struct ep_events events = { request, up, recv_, sent, idle, down };

static void echo(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	(void)peer;
	cr_assert(ep_pair_deliver(ep, bytes, len));
}

static void reject(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	cr_assert_eq(len, 2);
	cr_assert_eq(memcmp(priv, "hi", 2), 0);
	ep_pair_reject(ep, 28, "no", 2);
}

static void ignore(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	(void)ep;
	(void)priv;
	(void)len;
}

static struct loop *loop;
static struct owner owner;

static struct ep *dial(struct ep_peer *peer)
{
	struct ep_dial how = { .timeout_ms = 100,
		.caps = { .send = 4, .recv = 4, .sge = 1, .inline_max = 64 } };
	struct diag diag;
	struct ep *ep;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0, "%s",
		diag.text);
	cr_assert_eq(pool_new(&owner.pool, 4096, 8, &diag), 0, "%s", diag.text);
	ep_pair_peer(loop, peer);
	cr_assert_eq(ep_dial(&ep, loop, &how, &events, &owner, &diag), 0, "%s", diag.text);
	return ep;
}

static void turn(volatile int *flag)
{
	cr_assert(loop_wait(loop, flag, loop_clock() + SECOND));
}

static void settle(void)
{
	volatile int never = 0;
	loop_wait(loop, &never, loop_clock() + 2000000);
}

static void finish(struct ep *ep)
{
	if (owner.pool->refs[ep->dom])
		ep->ops->unreg(ep, owner.pool);
	ep->ops->free(ep);
	pool_free(owner.pool);
	loop_free(loop);
}

static void say(struct ep *ep, struct ep_op *op, uint8_t flags)
{
	*op = (struct ep_op){ .flags = flags,
		.nsge = 1,
		.sge = { { pool_buf(owner.pool, 7).p, 5, owner.pool->key[ep->dom].lkey } } };
	ep->ops->post(ep, op);
}

Test(ep_pair, an_echo_gives_sent_then_recv_and_a_quiet_one_only_recv)
{
	struct ep_peer peer = { .message = echo };
	struct ep *ep = dial(&peer);
	struct ep_op op[2];

	turn(&owner.up);
	say(ep, &op[0], 0);
	say(ep, &op[1], EP_INLINE | EP_UNSIGNALED);
	settle();
	cr_assert_str_eq(owner.log, "srr");
	cr_assert_eq(owner.idles, 1);
	cr_assert_eq(ep_pair_receives(ep), 4);
	finish(ep);
}

Test(ep_pair, sent_may_come_after_the_answer)
{
	struct ep_peer peer = { .message = echo, .delayed_sent = true };
	struct ep *ep = dial(&peer);
	struct ep_op op;

	turn(&owner.up);
	say(ep, &op, 0);
	settle();
	cr_assert_str_eq(owner.log, "rs");
	finish(ep);
}

Test(ep_pair, a_reject_carries_the_peers_reason)
{
	struct ep_peer peer = { .request = reject };
	struct ep *ep = dial(&peer);

	turn(&owner.down);
	cr_assert(ep->rejected);
	cr_assert_eq(ep->rej_code, 28);
	cr_assert_eq(memcmp(ep->priv, "no", 2), 0);
	cr_assert_eq(ep->why.code, DIAG_REFUSED);
	cr_assert_not(owner.up);
	finish(ep);
}

Test(ep_pair, a_silent_peer_times_out)
{
	struct ep_peer peer = { .request = ignore };
	struct ep *ep = dial(&peer);

	turn(&owner.down);
	cr_assert_eq(ep->why.code, DIAG_TIMEOUT);
	finish(ep);
}

Test(ep_pair, an_owner_may_refuse_its_own_request)
{
	struct ep_peer peer = { 0 };
	struct ep *ep;

	owner.refuse = 1;
	ep = dial(&peer);
	turn(&owner.down);
	cr_assert_str_eq(ep->why.text, "not like this");
	finish(ep);
}

Test(ep_pair, a_cut_comes_in_place_of_the_nth_message)
{
	struct ep_peer peer = { .message = echo, .cut_at = 2 };
	struct ep *ep = dial(&peer);
	struct ep_op op[2];

	turn(&owner.up);
	say(ep, &op[0], 0);
	settle();
	say(ep, &op[1], 0);
	turn(&owner.down);
	cr_assert_str_eq(owner.log, "sr");
	cr_assert_eq(ep->why.code, DIAG_CLOSED);
	settle();
	cr_assert_eq(owner.down, 1);
	finish(ep);
}

Test(ep_pair, the_peer_reaches_only_what_is_registered_for_it)
{
	struct ep_peer peer = { 0 };
	struct ep *ep = dial(&peer);
	uint32_t rkey;
	uint64_t base;

	turn(&owner.up);
	rkey = owner.pool->key[ep->dom].rkey;
	base = pool_raddr(owner.pool, ep->dom, owner.pool->base);
	cr_assert_eq(
		ep_pair_memory(ep, rkey, base + 10, 100, EP_REMOTE_WRITE), owner.pool->base + 10);
	cr_assert_null(ep_pair_memory(ep, rkey, base, 1, EP_REMOTE_READ));
	cr_assert_null(ep_pair_memory(ep, rkey + 1, base, 1, EP_REMOTE_WRITE));
	cr_assert_null(ep_pair_memory(ep, rkey, base + owner.pool->len - 1, 2, EP_REMOTE_WRITE));
	finish(ep);
}

Test(ep_pair, without_a_peer_there_is_no_device)
{
	struct ep_dial how = { .timeout_ms = 100 };
	struct diag diag;
	struct ep *ep;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(ep_dial(&ep, loop, &how, &events, &owner, &diag), -ENODEV);
	cr_assert_eq(diag.code, DIAG_NO_DEVICE);
	loop_free(loop);
}

static uint32_t received_len, receive_count;

static void hear(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	(void)peer;
	(void)ep;
	(void)bytes;
	received_len = len;
	receive_count++;
}

Test(ep_pair, a_truncated_message_is_the_beginning_of_one)
{
	struct ep_peer peer = { .message = hear, .fault = { .seed = 1, .truncate = 1 } };
	struct ep *ep = dial(&peer);
	struct ep_op op;

	turn(&owner.up);
	say(ep, &op, 0);
	settle();
	cr_assert_eq(receive_count, 1);
	cr_assert_lt(received_len, 5);
	cr_assert_eq(peer.fault.truncated, 1);
	cr_assert_str_eq(owner.log, "s", "who sent it does not know");
	finish(ep);
}

Test(ep_pair, a_dropped_message_ends_the_connection_later)
{
	struct ep_peer peer = { .message = hear, .fault = { .seed = 1, .drop = 1 } };
	struct ep *ep = dial(&peer);
	struct ep_op op[2];

	turn(&owner.up);
	say(ep, &op[0], 0);
	say(ep, &op[1], 0);
	cr_assert(ep_pair_deliver(ep, "x", 1));
	turn(&owner.down);
	cr_assert_str_eq(owner.log, "r", "the other way it still works");
	cr_assert_eq(receive_count, 0);
	cr_assert_eq(peer.fault.drops, 1);
	cr_assert_eq(ep->why.code, DIAG_CLOSED);
	finish(ep);
}

/* A WRITE that is cut off has written some, in order. */
Test(ep_pair, a_cut_may_leave_part_of_a_write)
{
	uint8_t memory[64] = { 0 };
	struct ep_peer peer = {
		.fault = { .cut = 1 }, .memory = memory, .memory_len = 64, .memory_key = 3
	};
	unsigned lens = 0;

	for (unsigned seed = 1; seed < 20; seed++) {
		struct ep_op op = { .kind = EP_WRITE, .nsge = 1, .rkey = 3 };
		struct ep *ep;
		unsigned len = 0;

		peer.fault.seed = seed;
		owner = (struct owner){ 0 };
		memset(memory, 0, sizeof(memory));
		ep = dial(&peer);
		turn(&owner.up);
		memset(pool_buf(owner.pool, 7).p, 0x5a, 64);
		op.sge[0] = (struct ep_sge){ pool_buf(owner.pool, 7).p, 64,
			owner.pool->key[ep->dom].lkey };
		ep->ops->post(ep, &op);
		turn(&owner.down);
		while (len < 64 && memory[len] == 0x5a)
			len++;
		cr_assert_lt(len, 64);
		for (unsigned i = len; i < 64; i++)
			cr_assert_eq(memory[i], 0);
		lens += len;
		finish(ep);
	}
	cr_assert_gt(lens, 0);
}
