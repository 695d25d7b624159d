/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The receive ring and send chain, against an endpoint that writes down what it is given. */
#include "ring.h"
#include "mem.h"
#include <criterion/criterion.h>

#define COUNT  5
#define STRIDE 256
#define CAP    200

static struct ep ep;
static struct ring ring;
static struct pool *pool;
static struct {
	char calls[16]; /* r: repost, p: post */
	unsigned count;
	struct ep_rx *rx[16];
	struct ep_op *op[16];
	unsigned rxs, ops;
} seen;

static void post(struct ep *e, struct ep_op *chain)
{
	cr_assert_eq(e, &ep);
	seen.calls[seen.count++] = 'p';
	for (; chain; chain = chain->next)
		seen.op[seen.ops++] = chain;
}

static void repost(struct ep *e, struct ep_rx *chain)
{
	cr_assert_eq(e, &ep);
	seen.calls[seen.count++] = 'r';
	for (; chain; chain = chain->next)
		seen.rx[seen.rxs++] = chain;
}

static const struct ep_ops ops = { .post = post, .repost = repost };

static void begin(void)
{
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	cr_assert_eq(ring_init(&ring, COUNT, NULL), 0);
	ep = (struct ep){ .ops = &ops, .dom = 1 };
	pool->key[1].lkey = 77;
	ring_start(&ring, &ep, pool, pool->base + 64, STRIDE, CAP, COUNT - 1);
}

static void end(void)
{
	ring_fini(&ring);
	pool_free(pool);
}

Test(ring, receives_are_made_once, .init = begin, .fini = end)
{
	cr_assert_str_eq(seen.calls, "r");
	cr_assert_eq(seen.rxs, COUNT - 1);
	for (unsigned i = 0; i < seen.rxs; i++) {
		cr_assert_eq(seen.rx[i], &ring.rx[i]);
		cr_assert_eq(seen.rx[i]->p, pool->base + 64 + i * STRIDE);
		cr_assert_eq(seen.rx[i]->cap, CAP);
		cr_assert_eq(seen.rx[i]->lkey, 77);
	}
}

Test(ring, receives_go_first, .init = begin, .fini = end)
{
	struct ep_op op[3] = { 0 };

	ep.state = EP_UP;
	memset(&seen, 0, sizeof(seen));
	ring_flush(&ring);
	cr_assert_eq(seen.count, 0, "nothing to post");
	ring_add(&ring, &op[0]);
	ring_repost(&ring, &ring.rx[2]);
	ring_add(&ring, &op[1]);
	ring_repost(&ring, &ring.rx[0]);
	ring_add(&ring, &op[2]);
	cr_assert_eq(seen.count, 0, "not before it is flushed");
	ring_flush(&ring);
	cr_assert_str_eq(seen.calls, "rp");
	cr_assert_eq(seen.rxs, 2);
	cr_assert_eq(seen.ops, 3);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(seen.op[i], &op[i], "in order");
	ring_repost(&ring, &ring.rx[1]);
	ring_flush(&ring);
	ring_add(&ring, &op[0]);
	ring_flush(&ring);
	ring_flush(&ring);
	cr_assert_str_eq(seen.calls, "rprp");
	cr_assert_eq(seen.rxs, 3);
	cr_assert_eq(seen.ops, 4);
}

Test(ring, waits_until_the_endpoint_is_up, .init = begin, .fini = end)
{
	struct ep_op op = { 0 };

	ring_add(&ring, &op);
	ring_repost(&ring, &ring.rx[0]);
	ring_flush(&ring);
	cr_assert_str_eq(seen.calls, "r");
	ep.state = EP_UP;
	ring_flush(&ring);
	cr_assert_str_eq(seen.calls, "rrp");
	ep.state = EP_CLOSING;
	ring_add(&ring, &op);
	ring_flush(&ring);
	cr_assert_str_eq(seen.calls, "rrp");
}

/* The endpoint has changed over to another backend: nothing of the first attempt is left. */
Test(ring, starts_twice, .init = begin, .fini = end)
{
	struct ep_op op = { 0 };

	ring_add(&ring, &op);
	ring_repost(&ring, &ring.rx[0]);
	pool->key[0].lkey = 5;
	ep.dom = 0;
	ring_start(&ring, &ep, pool, pool->base, STRIDE, CAP, COUNT);
	cr_assert_str_eq(seen.calls, "rr");
	cr_assert_eq(ring.rx[COUNT - 1].lkey, 5);
	ep.state = EP_UP;
	ring_flush(&ring);
	cr_assert_str_eq(seen.calls, "rr");
}
