/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An endpoint against a peer that is a bare TCP socket: the bytes of every message, and every rule
 * a hostile peer can break. Each breach ends the session with its own words and, where the standard
 * has one, its Terminate. */
/* Link: leap */
#include "crc32c.h"
#include "iwarp.h"
#include "says.h"
#include "tcp.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ull

static struct loop *loop;
static struct tcp_listener *listener;
static struct ep *ep;
static struct pool *pool;    /* 0: receives, 1: remote, 2: read sink */
static struct pool *foreign; /* another connection's */
static struct stags *stags;
static struct stag_holds others;
static struct ep_rx rx[3];
static struct ep_rx *got[8];
static unsigned gots, sents;
static volatile int up, down;
static int peer;
static bool refuse;
static struct ep_caps local_caps = {
	.send = 8, .recv = 3, .sge = 2, .inline_max = 64, .ord = 2, .ird = 2
};

static int request(struct ep *e, uint8_t priv[EP_PRIV_MAX])
{
	ep = e;
	cr_assert_eq(
		e->ops->reg(e, pool, EP_REMOTE_READ | EP_REMOTE_WRITE | EP_READ_SINK, &e->why), 0);
	for (unsigned i = 0; i < 3; i++) {
		rx[i] = (struct ep_rx){ .p = pool->base + i * 1000, .cap = 100 };
		e->ops->repost(e, &rx[i]);
	}
	memcpy(priv, "pong", 4);
	return 4;
}

static void went_up(struct ep *e)
{
	(void)e;
	up = 1;
}

static void recv_(struct ep *e, struct ep_rx *r)
{
	(void)e;
	got[gots++] = r;
}

static void sent(struct ep *e, struct ep_op *op)
{
	(void)e;
	(void)op;
	sents++;
}

static void idle(struct ep *e)
{
	(void)e;
}

static void went_down(struct ep *e)
{
	cr_assert_eq(e->state, EP_DOWN);
	down++;
}

static const struct ep_events events = { request, went_up, recv_, sent, idle, went_down };

static void incoming(struct ep_incoming *in, void *user)
{
	struct ep *made;
	struct diag diag;

	(void)user;
	if (refuse)
		ep_reject(in, "why", 3);
	else
		cr_assert_eq(ep_accept(&made, loop, in, &local_caps, &events, NULL, &diag), 0);
}

static void settle(void)
{
	volatile int never = 0;
	loop_wait(loop, &never, loop_clock() + 3000000);
}

static void say(const void *bytes, size_t len)
{
	cr_assert_eq(send(peer, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void hear(void *bytes, size_t len)
{
	for (int tries = 0; tries < 200; tries++) {
		if (recv(peer, bytes, len, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)len) {
			cr_assert_eq(recv(peer, bytes, len, 0), (ssize_t)len);
			return;
		}
		settle();
	}
	cr_assert_fail("%zu bytes were expected", len);
}

static void hello(struct mpa req)
{
	uint8_t frame[MPA_FRAME_MAX];
	int on = 1;

	peer = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	cr_assert_eq(connect(peer, (const struct sockaddr *)&tcp_listener_addr(listener)->ss,
			     sizeof(struct sockaddr_in)),
		0);
	say(frame, mpa_put(frame, &req, false));
}

static void start(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct tcp_listen listen = { .iwarp = incoming, .timeout_ms = 1000, .no_crc = true };
	struct diag diag;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(pool_new(&pool, 4096, 3, &diag), 0);
	cr_assert_eq(pool_new(&foreign, 4096, 1, &diag), 0);
	cr_assert_eq(stags_of_loop(&stags, loop, &diag), 0);
	cr_assert_eq(stag_reg(stags, &others, foreign, EP_REMOTE_READ | EP_REMOTE_WRITE, &diag), 0);
	memcpy(&listen.at.ss, &in, sizeof(in));
	listen.at.len = sizeof(in);
	cr_assert_eq(tcp_listen(&listener, loop, &listen, &diag), 0, "%s", diag.text);
}

static bool crc;

static void connected(bool with_crc)
{
	struct mpa req = { .revision = 2,
		.enhanced = true,
		.crc = with_crc,
		.ird = 2,
		.ord = 2,
		.priv = (const uint8_t *)"ping",
		.priv_len = 4 },
		   rep;
	uint8_t frame[28];

	crc = with_crc;
	start();
	hello(req);
	cr_assert(loop_wait(loop, &up, loop_clock() + SECOND));
	hear(frame, 28);
	cr_assert_eq(mpa_get(&rep, frame, 28, true, NULL), 0);
	cr_assert(rep.enhanced && rep.ird == 2 && rep.ord == 2 && rep.crc == with_crc &&
		  !rep.reject && !rep.large);
	cr_assert_arr_eq(rep.priv, "pong", 4);
}

static void finish(void)
{
	close(peer);
	if (ep) {
		ep->ops->unreg(ep, pool);
		ep->ops->free(ep);
	}
	stag_unreg(stags, &others, foreign);
	free(others.hold);
	pool_free(pool);
	pool_free(foreign);
	tcp_listener_free(listener);
	loop_free(loop);
}

static uint32_t stag(void)
{
	return pool->key[ep->dom].rkey;
}

/* head begins with its length field unset */
static size_t fpdu(uint8_t *out, const void *head, size_t head_len, const void *payload, size_t len)
{
	size_t all = head_len + len;
	le32 sum;

	memcpy(out, head, head_len);
	if (len)
		memcpy(out + head_len, payload, len);
	wire_put_be(out, 2, all - 2);
	while (all & 3)
		out[all++] = 0;
	sum = put_le32(crc ? crc32c(0, out, all) : 0);
	memcpy(out + all, &sum, 4);
	return all + 4;
}

static void say_fpdu(const void *head, size_t head_len, const void *payload, size_t len)
{
	uint8_t out[8192];
	say(out, fpdu(out, head, head_len, payload, len));
}

static struct ddp_untagged untagged(uint8_t op, bool last, uint32_t qn, uint32_t msn, uint32_t mo)
{
	return (struct ddp_untagged){ { .ddp = (last ? DDP_LAST : 0) | DDP_VERSION,
					      .rdmap = RDMAP_VERSION | op },
		put_be32(0), put_be32(qn), put_be32(msn), put_be32(mo) };
}

static struct ddp_tagged tagged(uint8_t op, bool last, uint32_t tag, uint64_t to)
{
	return (struct ddp_tagged){ { .ddp = DDP_TAGGED | (last ? DDP_LAST : 0) | DDP_VERSION,
					    .rdmap = RDMAP_VERSION | op },
		put_be32(tag), put_be64(to) };
}

static void say_send(uint8_t op, bool last, uint32_t msn, uint32_t mo, const void *p, size_t len)
{
	struct ddp_untagged u = untagged(op, last, DDP_QN_SEND, msn, mo);
	say_fpdu(&u, sizeof(u), p, len);
}

static void say_write(uint32_t tag, uint64_t to, const void *p, size_t len)
{
	struct ddp_tagged t = tagged(RDMAP_WRITE, true, tag, to);
	say_fpdu(&t, sizeof(t), p, len);
}

static void say_read(uint32_t msn, uint32_t tag, uint64_t from, uint32_t len)
{
	struct rdmap_read_req r = { untagged(RDMAP_READ_REQ, true, DDP_QN_READ, msn, 0),
		put_be32(0x1234), put_be64(0xabc), put_be32(len), put_be32(tag), put_be64(from) };
	say_fpdu(&r, sizeof(r), NULL, 0);
}

/* Expect the session to end for this reason, with this Terminate sent to the peer. */
static void ends(const char *words, unsigned term)
{
	uint8_t out[24];

	settle();
	hear(out, sizeof(out));
	cr_assert_eq(out[3] & RDMAP_OP_MASK, RDMAP_TERMINATE);
	cr_assert_eq(out[20] << 8 | out[21], term, "Terminate %#x", out[20] << 8 | out[21]);
	close(peer);
	peer = -1;
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	diag_says(&ep->why, DIAG_PROTOCOL, "", words);
	cr_assert_eq(down, 1);
}

Test(ddp, a_send_arrives_however_it_is_cut)
{
	uint8_t out[256];
	size_t len;

	connected(true);
	struct ddp_untagged u = untagged(RDMAP_SEND, true, DDP_QN_SEND, 1, 0);
	len = fpdu(out, &u, sizeof(u), "hello", 5);
	for (size_t i = 0; i < len; i++) {
		cr_assert_eq(gots, 0);
		say(out + i, 1);
		settle();
	}
	cr_assert_eq(gots, 1);
	cr_assert_eq(got[0], &rx[0]);
	cr_assert_eq(rx[0].len, 5);
	cr_assert_arr_eq(rx[0].p, "hello", 5);
	cr_assert_not(rx[0].invalidated);
	say_send(RDMAP_SEND_SE, false, 2, 0, "in three ", 9);
	say_send(RDMAP_SEND_SE, false, 2, 9, "", 0);
	say_send(RDMAP_SEND_SE, true, 2, 9, "parts", 5);
	say_send(RDMAP_SEND, true, 3, 0, "", 0);
	settle();
	cr_assert_eq(gots, 3);
	cr_assert_eq(rx[1].len, 14);
	cr_assert_arr_eq(rx[1].p, "in three parts", 14);
	cr_assert_eq(rx[2].len, 0);
	finish();
}

Test(ddp, a_write_arrives_however_it_is_cut)
{
	uint8_t data[3000], out[4096];
	size_t len;

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	connected(true);
	for (size_t cut = 1; cut < 3000; cut += 333) {
		struct ddp_tagged t = tagged(RDMAP_WRITE, true, stag(), 4096 + cut);
		len = fpdu(out, &t, sizeof(t), data, sizeof(data));
		memset(pool->base + 4096, 0, 8192);
		say(out, cut);
		settle();
		say(out + cut, len - cut);
		settle();
		cr_assert_eq(memcmp(pool->base + 4096 + cut, data, sizeof(data)), 0);
		cr_assert_eq(pool->base[4096 + cut - 1], 0);
		cr_assert_eq(pool->base[4096 + cut + sizeof(data)], 0);
	}
	say_write(0, 0, "", 0); /* of no bytes: the tag is not looked at */
	settle();
	cr_assert_not(down);
	finish();
}

/* In place of the TCP socket there is one that keeps what was sent at once together and knows no
 * maximum segment, so that it is the smallest: 536 bytes. */
static int packets_fd, tcp_fd;

static void packets_begin(void)
{
	int pair[2], fd = iwarp_of(ep)->fd.fd;

	tcp_fd = dup(fd);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	cr_assert_eq(dup2(pair[0], fd), fd);
	close(pair[0]);
	packets_fd = pair[1];
}

/* Check that no FPDU is in two segments. Returns the number of messages in *packets packets. */
static unsigned packets_end(unsigned *packets)
{
	uint8_t packet[8192];
	unsigned messages = 0;
	ssize_t len;

	*packets = 0;
	while ((len = recv(packets_fd, packet, sizeof(packet), 0)) > 0) {
		unsigned at = 0;

		(*packets)++;
		while (at < len) {
			struct ddp_common c;
			unsigned end;

			memcpy(&c, packet + at, sizeof(c));
			end = at + ((2 + get_be16(c.len) + 3) & ~3u) + 4;
			cr_assert_eq(at / 536, (end - 1) / 536, "%u to %u", at, end);
			messages += !!(c.ddp & DDP_LAST);
			at = end;
		}
		cr_assert_eq(at, len);
	}
	cr_assert_eq(dup2(tcp_fd, iwarp_of(ep)->fd.fd), iwarp_of(ep)->fd.fd);
	close(tcp_fd);
	close(packets_fd);
	return messages;
}

static void post_writes(const uint32_t *lens, unsigned count)
{
	static struct ep_op ops[8];

	for (unsigned i = 0; i < count; i++)
		ops[i] = (struct ep_op){ .next = i < count - 1 ? &ops[i + 1] : NULL,
			.kind = EP_WRITE,
			.nsge = 1,
			.raddr = 0x1000,
			.rkey = 1,
			.sge = { { .p = pool->base, .len = lens[i] } } };
	ep->ops->post(ep, ops);
}

Test(ddp, no_fpdu_is_in_two_tcp_segments)
{
	static const uint32_t lens[] = { 3000, 8, 700, 100, 0, 5, 496, 2000 };
	unsigned packets;

	connected(false);
	say_write(0, 0, "", 0);
	settle();
	packets_begin();
	post_writes(lens, 8);
	settle();
	cr_assert_eq(sents, 8);
	cr_assert_eq(packets_end(&packets), 8);
	cr_assert_lt(packets, 8, "several FPDUs share a segment");
	finish();
}

Test(ddp, what_was_posted_is_sent_before_the_end_in_all_its_segments)
{
	static const uint32_t lens[] = { 400, 400, 400 };
	unsigned packets;

	connected(false);
	say_write(0, 0, "", 0);
	settle();
	packets_begin();
	post_writes(lens, 3);
	ep->ops->close(ep);
	cr_assert_eq(packets_end(&packets), 3);
	cr_assert_eq(packets, 3);
	finish();
}

Test(ddp, a_read_is_answered)
{
	struct {
		struct ddp_tagged t;
		uint8_t data[8], crc[4];
	} out;
	struct ddp_tagged empty;

	connected(true);
	memcpy(pool->base + 5000, "contents", 8);
	say_read(1, stag(), 5000, 8);
	hear(&out, sizeof(out));
	cr_assert_eq(get_be16(out.t.c.len), 14 + 8);
	cr_assert_eq(out.t.c.ddp, DDP_TAGGED | DDP_LAST | DDP_VERSION);
	cr_assert_eq(out.t.c.rdmap, RDMAP_VERSION | RDMAP_READ_RESP);
	cr_assert_eq(get_be32(out.t.stag), 0x1234);
	cr_assert_eq(get_be64(out.t.to), 0xabc);
	cr_assert_arr_eq(out.data, "contents", 8);
	cr_assert_eq(wire_le(out.crc, 4), crc32c(0, &out, sizeof(out) - 4));
	say_read(2, 0, 0, 0);
	hear(&empty, sizeof(empty));
	cr_assert_eq(get_be16(empty.c.len), 14);
	finish();
}

static struct ep_op op_of(uint8_t kind, const char *text)
{
	struct ep_op op = { .kind = kind, .nsge = 1, .rkey = 0x77, .raddr = 0x1122334455667788 };

	memcpy(pool->base + 8192, text, strlen(text));
	op.sge[0] = (struct ep_sge){ pool->base + 8192, (uint32_t)strlen(text), stag() };
	return op;
}

Test(ddp, ops_have_the_bytes_of_the_standard)
{
	static const uint8_t send_[] = { 0, 21, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
		0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0, 0 };
	static const uint8_t inval[] = { 0, 20, 0x41, 0x44, 0, 0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 2,
		0, 0, 0, 0, 'd', 'e', 0, 0, 0, 0, 0, 0 };
	static const uint8_t write_[] = { 0, 18, 0xc1, 0x40, 0, 0, 0, 0x77, 0x11, 0x22, 0x33, 0x44,
		0x55, 0x66, 0x77, 0x88, 'f', 'g', 'h', 'i', 0, 0, 0, 0 };
	struct ep_op a, b, c, r;
	struct rdmap_read_req req;
	uint8_t out[64], crc_[4];

	connected(false);
	say_send(RDMAP_SEND, true, 1, 0, "", 0);
	settle();
	a = op_of(EP_SEND, "abc");
	ep->ops->post(ep, &a);
	hear(out, sizeof(send_));
	cr_assert_arr_eq(out, send_, sizeof(send_));
	b = op_of(EP_SEND_INVAL, "de");
	ep->ops->post(ep, &b);
	hear(out, sizeof(inval));
	cr_assert_arr_eq(out, inval, sizeof(inval));
	c = op_of(EP_WRITE, "fghi");
	ep->ops->post(ep, &c);
	hear(out, sizeof(write_));
	cr_assert_arr_eq(out, write_, sizeof(write_));
	r = op_of(EP_READ, "12345678");
	ep->ops->post(ep, &r);
	hear(&req, sizeof(req));
	hear(crc_, 4);
	cr_assert_eq(get_be16(req.u.c.len), 46);
	cr_assert_eq(req.u.c.ddp << 8 | req.u.c.rdmap, 0x4141);
	cr_assert_eq(get_be32(req.u.qn), 1);
	cr_assert_eq(get_be32(req.u.msn), 1);
	cr_assert_eq(get_be32(req.sink_stag), stag());
	cr_assert_eq(get_be64(req.sink_to), 8192);
	cr_assert_eq(get_be32(req.len), 8);
	cr_assert_eq(get_be32(req.source_stag), 0x77);
	cr_assert_eq(get_be64(req.source_to), 0x1122334455667788);
	cr_assert_eq(sents, 3, "the read is not done yet");
	a = op_of(EP_SEND, "after");
	ep->ops->post(ep, &a);
	settle();
	cr_assert_eq(sents, 3, "a send after a read completes after it");
	struct ddp_tagged t = tagged(RDMAP_READ_RESP, false, stag(), 8192);
	say_fpdu(&t, sizeof(t), "ABC", 3);
	t = tagged(RDMAP_READ_RESP, true, stag(), 8192 + 3);
	say_fpdu(&t, sizeof(t), "DEFGH", 5);
	settle();
	cr_assert_eq(sents, 5);
	cr_assert_arr_eq(pool->base + 8192, "ABCDEFGH", 8);
	finish();
}

Test(ddp, nothing_is_sent_before_the_initiator_has)
{
	struct ep_op a;
	uint8_t out[28];

	connected(false);
	a = op_of(EP_SEND, "abc");
	ep->ops->post(ep, &a);
	settle();
	cr_assert_eq(recv(peer, out, 1, MSG_DONTWAIT | MSG_PEEK), -1);
	say("\0\0\0\0\0\0\0\0", 8); /* an FPDU without content, RFC 6581 section 9.2 */
	hear(out, sizeof(out));
	cr_assert_eq(sents, 1);
	finish();
}

Test(ddp, a_peer_may_end_with_a_reason)
{
	struct rdmap_terminate t = { .u = untagged(RDMAP_TERMINATE, true, DDP_QN_TERMINATE, 1, 0),
		.layer_type = 0x01,
		.code = 0x01,
		.which = 0xe0 };

	connected(true);
	say_fpdu(&t, sizeof(t), "0123456789012345678901234567890123456789012345678", 48);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	diag_says(&ep->why, DIAG_PROTOCOL, "", "peer RDMAP base_or_bounds");
	finish();
}

Test(ddp, an_invalidated_key_is_reported_and_gone)
{
	struct ddp_untagged u = untagged(RDMAP_SEND_INVAL, true, DDP_QN_SEND, 1, 0);

	connected(true);
	u.inval = put_be32(stag());
	say_fpdu(&u, sizeof(u), "x", 1);
	settle();
	cr_assert(gots == 1 && rx[0].invalidated && rx[0].inval_rkey == stag());
	say_write(stag(), 0, "x", 1);
	ends("1_byte STag", TERM_DDP_STAG);
	finish();
}

/* One breach a test. */
#define BREACH(name, words, term, ...)                                                             \
	Test(ddp, name)                                                                            \
	{                                                                                          \
		connected(true);                                                                   \
		say_send(RDMAP_SEND, true, 1, 0, "first", 5);                                      \
		settle();                                                                          \
		cr_assert_eq(gots, 1);                                                             \
		__VA_ARGS__;                                                                       \
		ends(words, term);                                                                 \
		finish();                                                                          \
	}

BREACH(write_out_of_bounds, "2_byte STag", TERM_DDP_BOUNDS,
	say_write(stag(), pool->len - 1, "xy", 2))
BREACH(write_to_an_address, "2_byte STag", TERM_DDP_BOUNDS,
	say_write(stag(), (uintptr_t)pool->base, "xy", 2))
BREACH(write_with_a_wild_tag, "2_byte STag_0xdeadbeef", TERM_DDP_STAG,
	say_write(0xdeadbeef, 0, "xy", 2))
BREACH(write_that_wraps, "2_byte 0xffffffffffffffff STag", TERM_DDP_WRAP,
	say_write(stag(), UINT64_MAX, "xy", 2))
BREACH(write_to_another_connections_memory, "2_byte STag connection", TERM_DDP_OWNER,
	say_write(foreign->key[ep->dom].rkey, 0, "xy", 2))
BREACH(read_out_of_bounds, "read STag", TERM_RDMAP_BOUNDS,
	say_read(1, stag(), 0, (uint32_t)pool->len + 1))
BREACH(read_of_everything, "read 4294967295_byte STag", TERM_RDMAP_BOUNDS,
	say_read(1, stag(), 0, UINT32_MAX))
BREACH(read_with_a_wild_tag, "read 1_byte STag_0x100", TERM_RDMAP_STAG, say_read(1, 0x100, 0, 1))
BREACH(read_out_of_turn, "message_2 queue_1", TERM_DDP_MSN, say_read(2, stag(), 0, 1))
BREACH(message_out_of_turn, "message_3 queue_0 2", TERM_DDP_MSN,
	say_send(RDMAP_SEND, true, 3, 0, "x", 1))
BREACH(message_repeated, "message_1 queue_0 2", TERM_DDP_MSN,
	say_send(RDMAP_SEND, true, 1, 0, "x", 1))
BREACH(offset_out_of_turn, "offset_2 message 1", TERM_DDP_MO,
	say_send(RDMAP_SEND, false, 2, 0, "x", 1);
	say_send(RDMAP_SEND, true, 2, 2, "x", 1))
BREACH(kind_changed, "peer message", TERM_RDMAP_OPCODE, say_send(RDMAP_SEND, false, 2, 0, "x", 1);
	say_send(RDMAP_SEND_SE, true, 2, 1, "x", 1))
BREACH(message_too_long, "message 100_byte", TERM_DDP_TOO_LONG,
	say_send(RDMAP_SEND, true, 2, 0, pool->base, 101))
BREACH(message_too_long_in_the_end, "message 100_byte", TERM_DDP_TOO_LONG,
	say_send(RDMAP_SEND, false, 2, 0, pool->base, 60);
	say_send(RDMAP_SEND, true, 2, 60, pool->base, 41))
BREACH(no_receive_left, "message receive", TERM_DDP_NO_BUFFER,
	say_send(RDMAP_SEND, true, 2, 0, "x", 1);
	say_send(RDMAP_SEND, true, 3, 0, "x", 1); say_send(RDMAP_SEND, true, 4, 0, "x", 1))
BREACH(answer_without_a_read, "peer read", TERM_DDP_STAG,
	struct ddp_tagged t = tagged(RDMAP_READ_RESP, true, stag(), 0);
	say_fpdu(&t, sizeof(t), "x", 1))
BREACH(key_it_cannot_invalidate, "STag_0x1", TERM_RDMAP_INVALIDATE,
	struct ddp_untagged u = untagged(RDMAP_SEND_INVAL, true, DDP_QN_SEND, 2, 0);
	u.inval = put_be32(1); say_fpdu(&u, sizeof(u), "x", 1))
BREACH(unknown_kind, "RDMAP 9 untagged", TERM_RDMAP_OPCODE, say_send(9, true, 2, 0, "x", 1))
BREACH(tagged_send, "RDMAP 3 tagged", TERM_RDMAP_OPCODE,
	struct ddp_tagged t = tagged(RDMAP_SEND, true, stag(), 0);
	say_fpdu(&t, sizeof(t), "x", 1))
BREACH(wrong_queue, "queue_1 0", TERM_DDP_QN,
	struct ddp_untagged u = untagged(RDMAP_SEND, true, DDP_QN_READ, 1, 0);
	say_fpdu(&u, sizeof(u), "x", 1))
BREACH(wrong_ddp_version, "DDP_version_2", TERM_DDP_UNTAGGED_VERSION,
	struct ddp_untagged u = untagged(RDMAP_SEND, true, DDP_QN_SEND, 2, 0);
	u.c.ddp = DDP_LAST | 2; say_fpdu(&u, sizeof(u), "x", 1))
BREACH(wrong_rdmap_version, "RDMAP_version_2", TERM_RDMAP_VERSION,
	struct ddp_untagged u = untagged(RDMAP_SEND, true, DDP_QN_SEND, 2, 0);
	u.c.rdmap = 0x80 | RDMAP_SEND; say_fpdu(&u, sizeof(u), "x", 1))
BREACH(too_short_for_its_header, "FPDU 12_byte header", TERM_MPA_FRAME,
	say("\0\x0c\x41\x43"
	    "0123456789abcdef0123456789abcdef",
		36))
BREACH(an_empty_one_that_is_not_the_first, "DDP_version_0", TERM_DDP_UNTAGGED_VERSION,
	say("\0\0\0\0\x48\x67\x4b\xc7", 8))
BREACH(damaged, "FPDU CRC", TERM_MPA_CRC, uint8_t out[64];
	struct ddp_untagged u = untagged(RDMAP_SEND, true, DDP_QN_SEND, 2, 0);
	size_t len = fpdu(out, &u, sizeof(u), "x", 1); out[20] ^= 1; say(out, len))
BREACH(read_request_with_data, "Read_Request", TERM_DDP_TOO_LONG,
	struct rdmap_read_req r = { .u = untagged(RDMAP_READ_REQ, true, DDP_QN_READ, 1, 0) };
	say_fpdu(&r, sizeof(r), "x", 1))

Test(ddp, a_damaged_message_is_not_handed_over)
{
	uint8_t out[64];
	struct ddp_untagged u = untagged(RDMAP_SEND, true, DDP_QN_SEND, 1, 0);
	size_t len;

	connected(true);
	len = fpdu(out, &u, sizeof(u), "hello", 5);
	for (size_t i = 4; i < len; i++) {
		if (i > 4) {
			up = down = 0;
			ep->ops->unreg(ep, pool);
			ep->ops->free(ep);
			close(peer);
			hello((struct mpa){ .revision = 1, .crc = true });
			cr_assert(loop_wait(loop, &up, loop_clock() + SECOND));
			hear(out + 40, 24);
		}
		out[i] ^= 0x10;
		say(out, len);
		out[i] ^= 0x10;
		settle();
		cr_assert_eq(gots, 0);
		close(peer);
		cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
		cr_assert_eq(ep->why.code, DIAG_PROTOCOL, "%s", ep->why.text);
	}
	peer = -1;
	finish();
}

/* Without a reader on the other side responses pile up: a third read is one too many. */
Test(ddp, more_reads_than_agreed_on)
{
	int small = 4096;

	connected(false);
	setsockopt(iwarp_of(ep)->fd.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (uint32_t i = 1; i < 200 && !down; i++) {
		say_read(i, stag(), 0, (uint32_t)pool->len);
		if (i % 20 == 0)
			settle();
		if (ep->state != EP_UP)
			break;
	}
	diag_says(&ep->why, DIAG_PROTOCOL, "", "read depth 2");
	finish();
}

Test(ddp, read_answers_that_do_not_fit)
{
	static const struct {
		int to;
		size_t len;
		bool last;
	} wrong[] = { { 1, 8, true }, { 0, 9, true }, { 0, 7, true }, { -1, 4, false },
		{ 0, 9, false } };

	connected(false);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ep_op r;
		if (i) {
			uint8_t reply[24];
			up = down = 0;
			ep->ops->unreg(ep, pool);
			ep->ops->free(ep);
			close(peer);
			hello((struct mpa){ .revision = 1 });
			cr_assert(loop_wait(loop, &up, loop_clock() + SECOND));
			hear(reply, sizeof(reply));
		}
		say_send(RDMAP_SEND, true, 1, 0, "", 0);
		r = op_of(EP_READ, "12345678");
		settle();
		ep->ops->post(ep, &r);
		settle();
		struct ddp_tagged t = tagged(
			RDMAP_READ_RESP, wrong[i].last, stag(), 8192 + (unsigned long)wrong[i].to);
		say_fpdu(&t, sizeof(t), "abcdefghijklmnop", wrong[i].len);
		settle();
		cr_assert_eq(ep->state, EP_CLOSING);
		diag_says(&ep->why, DIAG_PROTOCOL, "", "peer read");
		cr_assert_arr_eq(pool->base + 8192, "12345678", 8);
		cr_assert_eq(sents, 0);
	}
	finish();
}

Test(ddp, memory_given_back_is_not_read)
{
	int small = 4096;

	connected(false);
	setsockopt(iwarp_of(ep)->fd.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (uint32_t i = 1; i < 100 && !iwarp_of(ep)->tx.blocked; i++) {
		say_read(i, stag(), 0, (uint32_t)pool->len);
		settle();
	}
	cr_assert(iwarp_of(ep)->tx.blocked);
	ep->ops->unreg(ep, pool);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	diag_says(&ep->why, DIAG_CLOSED, "", "memory read");
	finish();
}

/* Half of a Write's payload has come: the rest goes nowhere. */
Test(ddp, memory_given_back_is_not_written)
{
	uint8_t data[4000];
	struct ddp_tagged t;

	connected(false);
	t = tagged(RDMAP_WRITE, true, stag(), 4096);
	t.c.len = put_be16(sizeof(t) - MPA_LEN_SIZE + sizeof(data));
	memset(data, 0x42, sizeof(data));
	say(&t, sizeof(t));
	say(data, 1000);
	settle();
	cr_assert_eq(pool->base[4096 + 999], 0x42);
	ep->ops->unreg(ep, pool);
	send(peer, data, sizeof(data) - 1000, MSG_NOSIGNAL);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	cr_assert_eq(pool->base[4096 + 1000], 0);
	diag_says(&ep->why, DIAG_CLOSED, "", "memory writ");
	finish();
}

Test(ddp, a_peer_that_leaves)
{
	connected(true);
	close(peer);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	diag_says(&ep->why, DIAG_CLOSED, "", "closed peer");
	cr_assert(text_missing(ep->why.text, "message"), "%s", ep->why.text);
	finish();
}

Test(ddp, a_peer_that_leaves_in_the_middle)
{
	connected(true);
	say_send(RDMAP_SEND, false, 1, 0, "x", 1);
	settle();
	close(peer);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	diag_says(&ep->why, DIAG_CLOSED, "", "closed peer message");
	finish();
}

Test(ddp, the_owner_may_leave_and_is_called_once)
{
	connected(true);
	ep->ops->close(ep);
	ep->ops->close(ep);
	settle();
	cr_assert_eq(down, 0, "the peer has not left yet");
	say_send(RDMAP_SEND, true, 1, 0, "too late", 8);
	settle();
	cr_assert_eq(gots, 0);
	close(peer);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	cr_assert_eq(ep->why.err, 0);
	finish();
}

Test(ddp, a_peer_that_does_not_leave_is_left)
{
	connected(true);
	ep->ops->close(ep);
	cr_assert(loop_wait(loop, &down, loop_clock() + SECOND));
	finish();
}

Test(ddp, a_reject_carries_its_reason)
{
	uint8_t frame[27];
	struct mpa rep;

	refuse = true;
	start();
	hello((struct mpa){ .revision = 2, .enhanced = true, .ird = 1, .ord = 1 });
	hear(frame, sizeof(frame));
	cr_assert_eq(mpa_get(&rep, frame, sizeof(frame), true, NULL), 0);
	cr_assert(rep.reject);
	cr_assert_arr_eq(rep.priv, "why", 3);
	finish();
}

Test(ddp, markers_are_refused_politely)
{
	uint8_t frame[24];
	struct mpa rep;

	start();
	hello((struct mpa){ .revision = 2, .enhanced = true, .markers = true, .ird = 1, .ord = 1 });
	hear(frame, sizeof(frame));
	cr_assert_eq(mpa_get(&rep, frame, sizeof(frame), true, NULL), 0);
	cr_assert(rep.reject && !rep.markers);
	finish();
}
