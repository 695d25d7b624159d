/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rping's two sides as we play them: against each other over software iWARP, and each against a
 * peer that does otherwise. */
/* Link: leap */
#include "ep.h"
#include "ep_pair.h"
#include "leap.h"
#include "load_side.h"
#include "says.h"
#include "wait.h"
#include "wire/rping.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct load_rdma_result result;

static void begin(void)
{
	leap_now = 0; /* the server has threads, and latencies are measured */
	load_side_begin((struct load_listen){ .iwarp = true, .ping = true, .nloops = 1 });
}

static int pings(enum load_backend backend, uint32_t size, uint64_t iterations)
{
	const struct load_rdma conf = { .dst = at,
		.backend = backend,
		.op = LOAD_OP_PING,
		.size = size,
		.depth = 1,
		.iterations = iterations,
		.runtime_ms = NO_LIMIT_MS,
		.timeout_ms = NO_LIMIT_MS };

	why = (struct diag){ 0 };
	return load_rdma(loop, &conf, &result, &why);
}

Test(load_ping, data_of_every_size_comes_back, .init = begin, .fini = load_side_end)
{
	static const uint32_t sizes[] = { 1, 2, 17, 64, 4097, RPING_SIZE_MAX };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		cr_assert_eq(
			pings(LOAD_IWARP, sizes[i], 200), 0, "%u bytes: %s", sizes[i], why.text);
		cr_assert_eq(result.iterations, 200);
		cr_assert_eq(result.latency.total, 200);
	}
	cr_assert_eq(pings(LOAD_IWARP, RPING_SIZE_MAX + 1, 1), -ERANGE);
	diag_says(&why, DIAG_USAGE, NULL, "--bs 1 65535");
}

/* A client of its own: sends these places at once, and hears how it ends. */
struct raw_peer {
	uint8_t message[4][32];
	struct ep_op op[4];
	struct ep_rx rx[4];
	uint32_t len[4];
	unsigned messages, received, answered_len;
	uint32_t ird;
	struct pool *pool;
	volatile int over;
};

static int strange_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct raw_peer *s = ep->user;

	(void)priv;
	cr_assert_eq(pool_new(&s->pool, 4096, 1, &why), 0);
	cr_assert_eq(ep->ops->reg(ep, s->pool, EP_REMOTE_READ | EP_REMOTE_WRITE, &why), 0);
	for (unsigned i = 0; i < 4; i++) {
		s->rx[i] = (struct ep_rx){ .p = s->pool->base + 2048 + i * 64,
			.cap = 64,
			.lkey = s->pool->key[ep->dom].lkey };
		ep->ops->repost(ep, &s->rx[i]);
	}
	return 0;
}

static void strange_up(struct ep *ep)
{
	struct raw_peer *s = ep->user;

	for (unsigned i = 0; i < s->messages; i++) {
		struct rping_place *place = (void *)s->message[i];

		/* what the test did not make up is in order */
		if (!get_be32(place->rkey))
			place->rkey = put_be32(s->pool->key[ep->dom].rkey);
		place->addr = put_be64(pool_raddr(s->pool, ep->dom, s->pool->base));
		s->op[i] = (struct ep_op){ .kind = EP_SEND,
			.flags = EP_INLINE,
			.nsge = 1,
			.sge[0] = { .p = s->message[i], .len = s->len[i] } };
		ep->ops->post(ep, &s->op[i]);
	}
}

static void strange_recv(struct ep *ep, struct ep_rx *rx)
{
	struct raw_peer *s = ep->user;

	s->received++;
	s->answered_len = rx->len;
}

static void strange_sent(struct ep *ep, struct ep_op *op)
{
	(void)ep;
	(void)op;
}

static void strange_idle(struct ep *ep)
{
	(void)ep;
}

static void strange_down(struct ep *ep)
{
	((struct raw_peer *)ep->user)->over = 1;
}

static void add_place(struct raw_peer *s, uint32_t len, uint32_t size, uint32_t rkey)
{
	const struct rping_place place = { .rkey = put_be32(rkey), .size = put_be32(size) };

	memcpy(s->message[s->messages], &place, sizeof(place));
	s->len[s->messages++] = len;
}

/* The server ends this connection after this number of answers, and serves the next client. */
static void hung_up_on(struct raw_peer *s, unsigned answers)
{
	static const struct ep_events events = { strange_request, strange_up, strange_recv,
		strange_sent, strange_idle, strange_down };
	const struct ep_dial conf = { .dst = at,
		.backend = EP_IWARP,
		.timeout_ms = NO_LIMIT_MS,
		.caps = { .send = 4,
			.recv = 4,
			.sge = 1,
			.inline_max = 32,
			.ord = 1,
			.ird = s->ird } };
	struct ep *ep;

	cr_assert_eq(ep_dial(&ep, loop, &conf, &events, s, &why), 0, "%s", why.text);
	loop_wait(loop, &s->over, 0);
	cr_assert_eq(s->received, answers, "%u answers", s->received);
	ep->ops->unreg(ep, s->pool);
	ep->ops->free(ep);
	pool_free(s->pool);
	cr_assert_eq(pings(LOAD_IWARP, 64, 5), 0, "%s", why.text);
}

Test(load_ping, a_client_that_does_otherwise_is_hung_up_on, .init = begin, .fini = load_side_end)
{
	struct raw_peer s;

	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 15, 64, 0);
	hung_up_on(&s, 0);
	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 17, 64, 0);
	hung_up_on(&s, 0);
	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 16, 0, 0);
	hung_up_on(&s, 0);
	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 16, RPING_SIZE_MAX + 1, 0);
	hung_up_on(&s, 0);
	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 16, 64, 0xdead00);
	hung_up_on(&s, 0);
	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 16, RPING_SIZE_MAX, 0); /* more than it has registered */
	hung_up_on(&s, 0);
	s = (struct raw_peer){ .ird = 1 };
	add_place(&s, 16, 64, 0);
	add_place(&s, 16, 64, 0xdead00);
	hung_up_on(&s, 1);
	s = (struct raw_peer){ 0 }; /* answers no READs */
	hung_up_on(&s, 0);
}

Test(load_ping, a_client_that_does_not_wait_is_hung_up_on, .init = begin, .fini = load_side_end)
{
	struct raw_peer s = { .ird = 1 };

	for (unsigned i = 0; i < 4; i++)
		add_place(&s, 16, 64, 0);
	hung_up_on(&s, s.received);
}

/* A server of its own, on the endpoint in memory. */
static enum { MUTE_LENGTH, LIAR, FAITHFUL } manner;
static unsigned turn;

static void served(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	static uint8_t data[128];
	const struct rping_place *place = (const void *)bytes;
	uint8_t answer[16] = { 0 }, *source, *sink;

	(void)peer;
	cr_assert_eq(len, sizeof(*place));
	cr_assert_eq(get_be32(place->size), 100);
	if (turn++ % 2 == 0) {
		source = ep_pair_memory(
			ep, get_be32(place->rkey), get_be64(place->addr), 100, EP_REMOTE_READ);
		cr_assert(source && !memcmp(source, "rdmastor ping ", 14) &&
			  memchr(source, 0, 100) == source + 99);
		memcpy(data, source, 100);
	} else {
		sink = ep_pair_memory(
			ep, get_be32(place->rkey), get_be64(place->addr), 100, EP_REMOTE_WRITE);
		cr_assert(sink && sink[0] == 0xff);
		if (manner == LIAR && turn == 6)
			data[57] ^= 1;
		memcpy(sink, data, 100);
	}
	ep_pair_deliver(ep, answer, manner == MUTE_LENGTH ? 15 : 16);
}

static int pings_in_memory(int how)
{
	struct ep_peer peer = { .message = served };
	int err;

	manner = how;
	turn = 0;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	ep_pair_peer(loop, &peer);
	err = pings(LOAD_VERBS, 100, 10);
	loop_free(loop);
	return err;
}

Test(load_ping, data_is_compared)
{
	cr_assert_eq(pings_in_memory(FAITHFUL), 0, "%s", why.text);
	cr_assert_eq(result.iterations, 10);
	cr_assert_eq(pings_in_memory(LIAR), -EIO);
	diag_says(&why, DIAG_MISMATCH, NULL, "byte_57 ping_3 0x");
	cr_assert_eq(pings_in_memory(MUTE_LENGTH), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "15_byte 16 rping");
}
