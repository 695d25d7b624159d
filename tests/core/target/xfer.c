/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Moves over the endpoint in memory, held to what it allows at once. */
/* Link: leap */
#include "xfer.h"
#include "ep_pair.h"
#include <criterion/criterion.h>
#include <netinet/in.h>

#define EACH   65536
#define COUNT  4
#define AT     0x10000 /* of the peer's memory */
#define MEMORY (COUNT * EACH)
#define KEY    3
#define OPS    4
#define SEGS   40

static struct loop *loop;
static struct pool *pool;

static void turns(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 3000000);
}

static struct ep_peer peer;
static uint8_t memory[MEMORY], kept[MEMORY];
static struct ring ring;
static struct xfer_port port;
static struct ep *ep;
static struct ep_listener *listener;
static unsigned moves, sents, messages, downs;
static void (*on_message)(void);

static int request(struct ep *e, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	ep = e;
	cr_assert_eq(e->ops->reg(e, pool, EP_READ_SINK, NULL), 0);
	ring_start(&ring, e, pool, pool->base, 64, 64, 1);
	cr_assert_eq(xfer_port_init(&port, &ring, OPS, NULL), 0);
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
	ring_flush(&ring);
}

static void down(struct ep *e)
{
	(void)e;
	downs++;
}

static void incoming(struct ep_incoming *in, void *user)
{
	static const struct ep_events events = {
		.request = request, .up = up, .sent = sent, .idle = idle, .down = down
	};
	static const struct ep_caps local_caps = {
		.send = OPS + COUNT, .recv = 8, .sge = 1, .read_sge = 1, .ord = 16
	};
	struct ep *out;

	(void)user;
	cr_assert_eq(ep_accept(&out, loop, in, &local_caps, &events, NULL, NULL), 0);
}

static void message(struct ep_peer *p, struct ep *e, const uint8_t *bytes, uint32_t len)
{
	(void)p;
	(void)e;
	(void)bytes;
	(void)len;
	messages++;
	if (on_message)
		on_message();
}

static void moved(struct xfer *x)
{
	moves++;
	cr_assert_eq(x->left + x->in_flight, 0);
}

static struct xfer x[COUNT];
static struct buf buf[COUNT];

/* The endpoint asserts that no more READs are posted than the peer answers at once, and no more
 * operations than it was asked for. */
static void connect_peer(uint32_t ird)
{
	static const struct loop_options options = { .name = "test" };
	const struct ep_listen conf = { .incoming = incoming };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	cr_assert_eq(pool_new(&pool, EACH, COUNT, NULL), 0);
	for (unsigned i = 0; i < sizeof(memory); i++)
		memory[i] = kept[i] = (uint8_t)(i * 5 + i / 1021);
	peer = (struct ep_peer){ .memory = memory,
		.memory_at = AT,
		.memory_len = sizeof(memory),
		.memory_key = KEY,
		.message = message };
	ep_pair_peer(loop, &peer);
	cr_assert_eq(ring_init(&ring, 1, NULL), 0);
	cr_assert_eq(ep_listen(&listener, loop, &conf, NULL), 0);
	cr_assert(ep_pair_call(&peer, NULL, 0, ird));
	turns();
	for (unsigned i = 0; i < COUNT; i++) {
		x[i].moved = moved;
		buf[i] = pool_buf(pool, i);
	}
}

static void disconnect(void)
{
	ep->ops->unreg(ep, pool);
	ep->ops->free(ep);
	ep_listener_free(listener);
	ring_fini(&ring);
	xfer_port_fini(&port);
	pool_free(pool);
	loop_free(loop);
}

static struct xfer_seg seg_of(uint32_t off, uint32_t len)
{
	return (struct xfer_seg){ AT + off, KEY, len };
}

Test(xfer, moves_data_within_the_limits)
{
	struct ep_op reply = { .kind = EP_SEND, .flags = EP_INLINE };
	struct xfer_seg seg[COUNT];

	connect_peer(2);
	cr_assert_eq(ep->caps.ord, 2);
	for (unsigned i = 0; i < COUNT; i++) {
		seg[i] = seg_of(i * EACH, EACH);
		cr_assert(xfer_pull(&port, &x[i], &buf[i], &seg[i], 1, 0, EACH));
	}
	cr_assert_eq(port.reads, 2);
	ring_flush(&ring);
	turns();
	cr_assert_eq(moves, COUNT);
	cr_assert_eq(port.reads, 0);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_arr_eq(buf[i].p, memory + i * EACH, EACH);
	memset(buf[0].p, 0x77, EACH);
	cr_assert(xfer_push(&port, &x[0], &buf[0], &seg[1], 1, 0, 512, &reply));
	ring_flush(&ring);
	turns();
	cr_assert_eq(moves, COUNT + 1);
	cr_assert_eq(sents, 1);
	cr_assert_eq(messages, 1);
	cr_assert_eq(memory[EACH + 511], 0x77);
	cr_assert_neq(memory[EACH + 512], 0x77);
	disconnect();
}

static const struct {
	uint32_t off, len;
} places[] = { { 5000, 100 }, { 0, 0 }, { 100, 4000 }, { 70000, 1 }, { 70001, 61000 }, { 9, 0 },
	{ 40000, 4096 } };
#define PLACES (sizeof(places) / sizeof(places[0]))

/* A list is cut where a segment ends and where the buffer does: the next piece starts inside a
 * segment. */
Test(xfer, pieces_of_a_list)
{
	static const uint32_t pieces[] = { 1, 99, 1, 3999, 2, 4096, 512 };
	struct xfer_seg seg[PLACES];
	uint8_t data[EACH + 8192];
	uint32_t all = 0, at = 0;

	connect_peer(16);
	for (unsigned i = 0; i < PLACES; i++) {
		seg[i] = seg_of(places[i].off, places[i].len);
		memcpy(data + all, memory + places[i].off, places[i].len);
		all += places[i].len;
	}
	for (unsigned i = 0; at < all; i++) {
		uint32_t len = i < sizeof(pieces) / sizeof(pieces[0]) ? pieces[i] : EACH;

		len = len < all - at ? len : all - at;
		moves = 0;
		cr_assert(xfer_pull(&port, &x[0], &buf[0], seg, PLACES, at, len));
		ring_flush(&ring);
		turns();
		cr_assert_eq(moves, 1, "once for all of it");
		cr_assert_arr_eq(buf[0].p, data + at, len);
		at += len;
	}
	/* 5 segments with data, cut in 5 places within a segment */
	cr_assert_eq(peer.reads, 10);
	disconnect();
}

/* What does not fit into the peer's limit of READs, or into our operations, waits its turn. */
Test(xfer, lists_within_the_limits)
{
	struct xfer_seg in[SEGS], out[SEGS];

	connect_peer(2);
	for (unsigned i = 0; i < SEGS; i++) {
		in[i] = seg_of((SEGS - 1 - i) * 1000, 1000);
		out[i] = seg_of(100000 + (i * 7 % SEGS) * 1000, 1000);
	}
	memset(buf[1].p, 0x11, EACH);
	memset(buf[2].p, 0x22, EACH);
	cr_assert(xfer_pull(&port, &x[0], &buf[0], in, SEGS, 0, SEGS * 1000));
	cr_assert(xfer_push(&port, &x[1], &buf[1], out, SEGS / 2, 0, SEGS * 500, NULL));
	cr_assert(xfer_push(&port, &x[2], &buf[2], out, SEGS, SEGS * 500ull, SEGS * 500, NULL));
	cr_assert(xfer_pull(&port, &x[3], &buf[3], in, SEGS, 1500, 1000));
	cr_assert_eq(port.reads, 2);
	cr_assert_null(port.free);
	ring_flush(&ring);
	turns();
	cr_assert_eq(moves, 4);
	cr_assert_eq(port.reads, 0);
	cr_assert_eq(peer.reads, SEGS + 2);
	cr_assert_eq(peer.writes, SEGS);
	for (unsigned i = 0; i < SEGS; i++) {
		cr_assert_arr_eq(buf[0].p + i * 1000, kept + (SEGS - 1 - i) * 1000, 1000);
		for (unsigned k = 0; k < 1000; k++)
			cr_assert_eq(memory[out[i].raddr - AT + k], i < SEGS / 2 ? 0x11 : 0x22);
	}
	cr_assert_arr_eq(buf[3].p, kept + (SEGS - 2) * 1000 + 500, 500);
	cr_assert_arr_eq(buf[3].p + 500, kept + (SEGS - 3) * 1000, 500);
	disconnect();
}

static void all_written(void)
{
	for (unsigned i = 0; i < SEGS * 1000; i++)
		cr_assert_eq(memory[i], 0x33, "the reply overtook the data");
}

Test(xfer, the_reply_is_behind_the_last_segment)
{
	struct ep_op reply = { .kind = EP_SEND, .flags = EP_INLINE };
	struct xfer_seg seg[SEGS];

	connect_peer(2);
	for (unsigned i = 0; i < SEGS; i++)
		seg[i] = seg_of((SEGS - 1 - i) * 1000, 1000);
	memset(buf[0].p, 0x33, EACH);
	on_message = all_written;
	cr_assert(xfer_push(&port, &x[0], &buf[0], seg, SEGS, 0, SEGS * 1000, &reply));
	ring_flush(&ring);
	turns();
	cr_assert_eq(messages, 1);
	cr_assert_eq(moves, 1);
	cr_assert_eq(sents, 1);
	disconnect();
}

/* Part of a list is unregistered memory: the connection ends, the transfer never completes. */
Test(xfer, a_segment_that_is_not_there)
{
	struct ep_op reply = { .kind = EP_SEND, .flags = EP_INLINE };
	struct xfer_seg seg[3] = { seg_of(0, 100), seg_of(MEMORY - 50, 100), seg_of(200, 100) };

	connect_peer(2);
	cr_assert(xfer_push(&port, &x[0], &buf[0], seg, 3, 0, 300, &reply));
	ring_flush(&ring);
	turns();
	cr_assert_eq(downs, 1);
	cr_assert_eq(moves, 0);
	cr_assert_eq(messages, 0);
	disconnect();
}

Test(xfer, a_list_that_is_too_short)
{
	struct ep_op reply = { .kind = EP_SEND, .flags = EP_INLINE };
	struct xfer_seg seg[2] = { seg_of(0, 100), seg_of(500, 28) };

	connect_peer(2);
	cr_assert(!xfer_pull(&port, &x[0], &buf[0], seg, 2, 0, 129));
	cr_assert(!xfer_pull(&port, &x[0], &buf[0], seg, 2, 128, 1));
	cr_assert(!xfer_pull(&port, &x[0], &buf[0], seg, 2, UINT64_MAX, 1));
	cr_assert(!xfer_pull(&port, &x[0], &buf[0], seg, 2, UINT64_MAX, 129));
	cr_assert(!xfer_pull(&port, &x[0], &buf[0], seg, 0, 0, 1));
	cr_assert(!xfer_push(&port, &x[0], &buf[0], seg, 2, 100, 29, &reply));
	ring_flush(&ring);
	turns();
	cr_assert_eq(peer.reads + peer.writes + messages, 0);
	cr_assert(xfer_pull(&port, &x[0], &buf[0], seg, 2, 100, 28));
	ring_flush(&ring);
	turns();
	cr_assert_eq(moves, 1);
	cr_assert_arr_eq(buf[0].p, memory + 500, 28);
	disconnect();
}
