/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Buffers and the line for them; moves over the endpoint in memory, held to what it allows at once.
 */
#include "xfer.h"
#include "ep_pair.h"
#include <criterion/criterion.h>
#include <netinet/in.h>

#define EACH    65536
#define COUNT   4
#define WAITERS 12

static struct loop *loop;
static struct xfer_store store;

static void begin(void)
{
	static const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	cr_assert_eq(xfer_store_init(&store, loop, EACH, COUNT, NULL), 0);
}

static void end(void)
{
	xfer_store_fini(&store);
	loop_free(loop);
}

static void turns(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 3000000);
}

static struct xfer_share share[2];
static struct xfer *order[WAITERS];
static unsigned readies;

static void ready(struct xfer *x)
{
	cr_assert(x->buf.p);
	cr_assert(!x->waiting);
	order[readies++] = x;
}

Test(xfer, buffers_in_order_of_arrival)
{
	struct xfer x[WAITERS] = { 0 };

	begin();
	for (unsigned i = 0; i < WAITERS; i++) {
		x[i].ready = ready;
		x[i].share = &share[i % 2];
		cr_assert_eq(xfer_take(&store, &x[i]), i < COUNT);
	}
	for (unsigned i = 0; i < COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(x[i].buf.p, x[k].buf.p);
	xfer_give(&store, &x[5]); /* leaves the line */
	xfer_give(&store, &x[WAITERS - 1]);
	for (unsigned i = 0; i < WAITERS; i++) {
		xfer_give(&store, &x[i]);
		cr_assert_null(x[i].buf.p);
		turns();
	}
	cr_assert_eq(readies, WAITERS - COUNT - 2);
	for (unsigned i = 1; i < readies; i++)
		cr_assert_lt(order[i - 1], order[i]);
	cr_assert_eq(store.free, COUNT);
	end();
}

/* Who comes while others wait goes behind them, even if a buffer was given back in the same turn.
 */
Test(xfer, nobody_jumps_the_line)
{
	struct xfer x[COUNT + 2] = { 0 };

	begin();
	for (unsigned i = 0; i <= COUNT; i++) {
		x[i].ready = ready;
		x[i].share = &share[i % 2];
		xfer_take(&store, &x[i]);
	}
	x[COUNT + 1].ready = ready;
	x[COUNT + 1].share = &share[1];
	xfer_give(&store, &x[0]);
	cr_assert(!xfer_take(&store, &x[COUNT + 1]));
	turns();
	cr_assert_eq(readies, 1);
	cr_assert_eq(order[0], &x[COUNT]);
	for (unsigned i = 0; i < COUNT + 2; i++)
		xfer_give(&store, &x[i]);
	turns();
	end();
}

/* One connection that holds all it may does not keep another from the rest. */
Test(xfer, shares)
{
	struct xfer hog[COUNT + 1] = { 0 }, other = { .ready = ready, .share = &share[1] };

	begin();
	for (unsigned i = 0; i <= COUNT; i++) {
		hog[i].ready = ready;
		hog[i].share = &share[0];
		cr_assert_eq(xfer_take(&store, &hog[i]), i < 3);
	}
	turns();
	cr_assert_eq(readies, 0);
	cr_assert(!xfer_take(&store, &other)); /* there is a line, which does not hold it up */
	turns();
	cr_assert_eq(readies, 1);
	cr_assert_eq(order[0], &other);
	xfer_give(&store, &hog[1]);
	turns();
	cr_assert_eq(readies, 2);
	cr_assert_eq(order[1], &hog[3]);
	xfer_give(&store, &other);
	for (unsigned i = 0; i <= COUNT; i++)
		xfer_give(&store, &hog[i]);
	turns();
	end();
}

static struct ep_peer peer;
static struct xfer_port port;
static struct ep *ep;
static unsigned moves, sents, messages;

static int request(struct ep *e, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	ep = e;
	cr_assert_eq(e->ops->reg(e, store.pool, EP_READ_SINK, NULL), 0);
	xfer_port_init(&port, e);
	return 0;
}

static void up(struct ep *e)
{
	cr_assert_eq(e, ep);
}

static void sent(struct ep *e, struct ep_op *op)
{
	(void)e;
	if (!xfer_sent(&port, op))
		sents++;
}

static void idle(struct ep *e)
{
	(void)e;
	xfer_flush(&port);
}

static void down(struct ep *e)
{
	(void)e;
}

static void incoming(struct ep_incoming *in, void *user)
{
	static const struct ep_events events = {
		.request = request, .up = up, .sent = sent, .idle = idle, .down = down
	};
	static const struct ep_caps want = {
		.send = 8, .recv = 8, .sge = 1, .read_sge = 1, .ord = 16
	};
	struct ep *out;

	(void)user;
	cr_assert_eq(ep_accept(&out, loop, in, &want, &events, NULL, NULL), 0);
}

static void message(struct ep_peer *p, struct ep *e, const uint8_t *bytes, uint32_t len)
{
	(void)p;
	(void)e;
	(void)bytes;
	(void)len;
	messages++;
}

static void moved(struct xfer *x)
{
	moves++;
	cr_assert_not_null(x->buf.p);
}

/* The endpoint asserts that no more READs are posted than the peer answers at once. */
Test(xfer, moves_data_within_the_limits)
{
	static uint8_t memory[COUNT * EACH];
	const struct ep_listen conf = { .incoming = incoming };
	struct ep_listener *listener;
	struct xfer x[COUNT] = { 0 };
	struct ep_op reply = { .kind = EP_SEND, .flags = EP_INLINE };

	begin();
	for (unsigned i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(i * 5 + i / 1021);
	peer = (struct ep_peer){ .memory = memory,
		.memory_at = 0x10000,
		.memory_len = sizeof(memory),
		.memory_key = 3,
		.message = message };
	ep_pair_peer(loop, &peer);
	cr_assert_eq(ep_listen(&listener, loop, &conf, NULL), 0);
	cr_assert(ep_pair_call(&peer, NULL, 0, 2));
	turns();
	cr_assert_eq(ep->caps.ord, 2);
	for (unsigned i = 0; i < COUNT; i++) {
		x[i].moved = moved;
		x[i].share = &share[i % 2];
		cr_assert(xfer_take(&store, &x[i]));
		xfer_pull(&port, &x[i], 0x10000 + i * EACH, 3, EACH);
	}
	cr_assert_eq(port.reads, 2);
	xfer_flush(&port);
	turns();
	cr_assert_eq(moves, COUNT);
	cr_assert_eq(port.reads, 0);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_arr_eq(x[i].buf.p, memory + i * EACH, EACH);
	memset(x[0].buf.p, 0x77, EACH);
	xfer_push(&port, &x[0], 0x10000 + EACH, 3, 512, &reply);
	xfer_flush(&port);
	turns();
	cr_assert_eq(moves, COUNT + 1);
	cr_assert_eq(sents, 1);
	cr_assert_eq(messages, 1);
	cr_assert_eq(memory[EACH + 511], 0x77);
	cr_assert_neq(memory[EACH + 512], 0x77);
	for (unsigned i = 0; i < COUNT; i++)
		xfer_give(&store, &x[i]);
	ep->ops->unreg(ep, store.pool);
	ep->ops->free(ep);
	ep_listener_free(listener);
	end();
}
