/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Moves over the endpoint in memory, held to what it allows at once. */
#include "xfer.h"
#include "ep_pair.h"
#include <criterion/criterion.h>
#include <netinet/in.h>

#define EACH  65536
#define COUNT 4

static struct loop *loop;
static struct pool *pool;

static void turns(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 3000000);
}

static struct ep_peer peer;
static struct xfer_port port;
static struct ep *ep;
static unsigned moves, sents, messages;

static int request(struct ep *e, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	ep = e;
	cr_assert_eq(e->ops->reg(e, pool, EP_READ_SINK, NULL), 0);
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
	cr_assert_eq(x->op.nsge, 1);
	cr_assert_eq((size_t)((uint8_t *)x->op.sge[0].p - pool->base) % EACH, 0);
}

/* The endpoint asserts that no more READs are posted than the peer answers at once. */
Test(xfer, moves_data_within_the_limits)
{
	static const struct loop_options options = { .name = "test" };
	static uint8_t memory[COUNT * EACH];
	const struct ep_listen conf = { .incoming = incoming };
	struct ep_listener *listener;
	struct xfer x[COUNT] = { 0 };
	struct buf buf[COUNT];
	struct ep_op reply = { .kind = EP_SEND, .flags = EP_INLINE };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	cr_assert_eq(pool_new(&pool, EACH, COUNT, NULL), 0);
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
		buf[i] = pool_buf(pool, i);
		xfer_pull(&port, &x[i], &buf[i], 0x10000 + i * EACH, 3, EACH);
	}
	cr_assert_eq(port.reads, 2);
	xfer_flush(&port);
	turns();
	cr_assert_eq(moves, COUNT);
	cr_assert_eq(port.reads, 0);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_arr_eq(buf[i].p, memory + i * EACH, EACH);
	memset(buf[0].p, 0x77, EACH);
	xfer_push(&port, &x[0], &buf[0], 0x10000 + EACH, 3, 512, &reply);
	xfer_flush(&port);
	turns();
	cr_assert_eq(moves, COUNT + 1);
	cr_assert_eq(sents, 1);
	cr_assert_eq(messages, 1);
	cr_assert_eq(memory[EACH + 511], 0x77);
	cr_assert_neq(memory[EACH + 512], 0x77);
	ep->ops->unreg(ep, pool);
	ep->ops->free(ep);
	ep_listener_free(listener);
	pool_free(pool);
	loop_free(loop);
}
