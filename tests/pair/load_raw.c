/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections measured alone: both sides in one process, each on a thread of its own, over software
 * iWARP and TCP on loopback; and peers that are no such client or server. */
/* Link: leap */
#include "ep_pair.h"
#include "leap.h"
#include "load_side.h"
#include "says.h"
#include "wait.h"
#include "wire/bench.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void begin(void)
{
	leap_now = 0; /* the server has threads, and latencies are measured */
	load_side_begin((struct load_listen){ .tcp = true, .iwarp = true, .nloops = 2 });
}

static bool both; /* directions at once */
static uint32_t iterations = 200;

static int rows(enum load_op op, bool bandwidth, uint32_t size, uint32_t depth, uint32_t qps,
	struct load_rdma_result *result)
{
	const struct load_rdma conf = { .dst = at,
		.backend = LOAD_IWARP,
		.op = op,
		.bandwidth = bandwidth,
		.size = size,
		.depth = depth,
		.qps = qps,
		.both = both,
		.iterations = iterations,
		.runtime_ms = NO_LIMIT_MS,
		.timeout_ms = NO_LIMIT_MS };

	why = (struct diag){ 0 };
	return load_rdma(loop, &conf, result, &why);
}

static int row(enum load_op op, bool bandwidth, uint32_t size, uint32_t depth,
	struct load_rdma_result *result)
{
	return rows(op, bandwidth, size, depth, 0, result);
}

Test(load_raw, every_kind_of_message_in_every_size, .init = begin, .fini = load_side_end)
{
	static const uint32_t sizes[] = { 1, 64, 221, 4096, 70001 };
	static struct load_rdma_result result;

	for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_READ; op++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			cr_assert_eq(row(op, false, sizes[i], 1, &result), 0,
				"latency of op %d, %u bytes: %s", op, sizes[i], why.text);
			cr_assert_eq(result.iterations, 200);
			cr_assert_eq(result.latency.total, 200);
			cr_assert_gt(result.latency.min, 0);
			cr_assert_eq(row(op, true, sizes[i], 1 + i * 9, &result), 0,
				"bandwidth of op %d, %u bytes: %s", op, sizes[i], why.text);
			cr_assert_eq(result.iterations, 200);
			cr_assert_gt(result.seconds, 0);
			text_says(result.route, "software_iWARP");
		}
}

Test(load_raw, more_in_flight_than_the_server_has_memory_for, .init = begin, .fini = load_side_end)
{
	static struct load_rdma_result result;

	cr_assert_eq(row(LOAD_OP_SEND, true, 1 << 20, 1000, &result), 0, "%s", why.text);
	cr_assert_eq(result.depth, 64);
	cr_assert_eq(row(LOAD_OP_READ, true, 512, 1000, &result), 0, "%s", why.text);
	cr_assert_leq(result.depth, 128);
}

Test(load_raw, several_queue_pairs, .init = begin, .fini = load_side_end)
{
	static struct load_rdma_result result;

	for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_READ; op++)
		for (uint32_t qps = 2; qps <= LOAD_QPS_MAX; qps *= 8) {
			cr_assert_eq(rows(op, true, 4096, 9, qps, &result), 0, "op %d: %s", op,
				why.text);
			cr_assert_eq(result.iterations, 200 * qps);
			cr_assert_eq(result.depth, 9);
			cr_assert_gt(result.seconds, 0);
		}
	/* all that is in flight must fit into the memory that the server has for an address */
	iterations = 40;
	cr_assert_eq(rows(LOAD_OP_SEND, true, 1 << 20, 128, 4, &result), 0, "%s", why.text);
	cr_assert_eq(result.depth, 32);
	iterations = 4;
	cr_assert_eq(rows(LOAD_OP_SEND, true, 1 << 20, 128, 64, &result), 0, "%s", why.text);
	cr_assert_lt(result.depth, iterations, "%u in flight", result.depth);
	cr_assert_eq(rows(LOAD_OP_SEND, true, 8 << 20, 2, 64, &result), -ERANGE);
	diag_says(&why, DIAG_USAGE, NULL, "--qp 64 8388608 memory");
	cr_assert_eq(
		row(LOAD_OP_SEND, true, 4096, 1, &result), 0, "all is given back: %s", why.text);
}

Test(load_raw, both_directions_at_once, .init = begin, .fini = load_side_end)
{
	/* 24: as long as the messages that carry no data */
	static const uint32_t sizes[] = { 1, 24, 4096, 70001 };
	static struct load_rdma_result result;

	both = true;
	for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_READ; op++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			uint32_t qps = 1 + 4 * (i & 1);

			for (iterations = 1; iterations <= 200; iterations += 199) {
				cr_assert_eq(rows(op, true, sizes[i], 1 + i * 9, qps, &result), 0,
					"op %d, %u bytes: %s", op, sizes[i], why.text);
				cr_assert_eq(result.iterations, iterations * qps);
				cr_assert_geq(result.reverse, qps, "one of each connection");
				cr_assert_gt(result.seconds, 0);
			}
		}
	iterations = 40;
	cr_assert_eq(row(LOAD_OP_SEND, true, 1 << 20, 1000, &result), 0, "%s", why.text);
	cr_assert_eq(result.depth, 32, "acknowledgements take as much");
}

Test(load_raw, wrong_numbers_are_refused, .init = begin, .fini = load_side_end)
{
	static struct load_rdma_result result;

	cr_assert_eq(row(LOAD_OP_SEND, false, 0, 1, &result), -ERANGE);
	diag_says(&why, DIAG_USAGE, NULL, "--bs 1 16777216");
	cr_assert_eq(row(LOAD_OP_SEND, true, 64, 2000, &result), -ERANGE);
	diag_says(&why, DIAG_USAGE, NULL, "--iodepth 1 1024");
	cr_assert_eq(rows(LOAD_OP_SEND, true, 64, 1, 1000000, &result), -ERANGE);
	diag_says(&why, DIAG_USAGE, NULL, "--qp 1 128");
}

struct raw_peer {
	uint8_t hello[64];
	unsigned len;
	volatile int over;
};

static int strange_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	const struct raw_peer *raw_peer = ep->user;

	memcpy(priv, raw_peer->hello, raw_peer->len);
	return (int)raw_peer->len;
}

static void strange_up(struct ep *ep)
{
	cr_assert_fail("accepted");
	(void)ep;
}

static void strange_down(struct ep *ep)
{
	((struct raw_peer *)ep->user)->over = 1;
}

static void rejected(const struct ep *ep, const char *words)
{
	char reason[EP_PRIV_MAX + 1] = "";

	cr_assert(ep->rejected);
	memcpy(reason, ep->priv, ep->priv_len);
	text_says(reason, words);
}

static void turned_away(const void *hello, unsigned len, const char *words)
{
	static const struct ep_events events = {
		.request = strange_request, .up = strange_up, .down = strange_down
	};
	const struct ep_dial conf = { .dst = at,
		.backend = EP_IWARP,
		.timeout_ms = NO_LIMIT_MS,
		.caps = { .send = 2, .recv = 2, .sge = 1 } };
	struct raw_peer raw_peer = { .len = len };
	struct ep *ep;

	memcpy(raw_peer.hello, hello, len);
	cr_assert_eq(ep_dial(&ep, loop, &conf, &events, &raw_peer, &why), 0, "%s", why.text);
	loop_wait(loop, &raw_peer.over, 0);
	rejected(ep, words);
	ep->ops->free(ep);
}

static void glutton_up(struct ep *ep)
{
	((struct raw_peer *)ep->user)->over = 1;
}

/* From 127.0.0.number. */
static bool takes_from(unsigned number, struct ep **ep, struct raw_peer *raw_peer)
{
	static const struct ep_events events = {
		.request = strange_request, .up = glutton_up, .down = strange_down
	};
	const struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + number) };
	struct ep_dial conf = { .dst = at,
		.backend = EP_IWARP,
		.timeout_ms = NO_LIMIT_MS,
		.caps = { .send = 2, .recv = 2, .sge = 1 } };

	memcpy(&conf.src.ss, &from, sizeof(from));
	conf.src.len = sizeof(from);
	raw_peer->over = 0;
	cr_assert_eq(ep_dial(ep, loop, &conf, &events, raw_peer, &why), 0, "%s", why.text);
	loop_wait(loop, &raw_peer->over, 0);
	return !(*ep)->rejected;
}

static bool takes(struct ep **ep, struct raw_peer *raw_peer)
{
	return takes_from(1, ep, raw_peer);
}

static void leaves(struct ep *ep, struct raw_peer *raw_peer)
{
	raw_peer->over = 0;
	ep->ops->close(ep);
	loop_wait(loop, &raw_peer->over, 0);
	ep->ops->free(ep);
}

Test(load_raw, clients_that_ask_for_all_memory_leave_some, .init = begin, .fini = load_side_end)
{
	const struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = BENCH_SEND,
		.bandwidth = 1,
		.size = put_le32(BENCH_SIZE_MAX),
		.depth = put_le32(4) };
	static struct load_rdma_result result;
	struct raw_peer raw_peer[8];
	struct ep *ep[8];
	unsigned count = 0;

	for (; count < 8; count++) {
		raw_peer[count] = (struct raw_peer){ .len = sizeof(hello) };
		memcpy(raw_peer[count].hello, &hello, sizeof(hello));
		if (!takes(&ep[count], &raw_peer[count]))
			break;
	}
	cr_assert(count >= 2 && count < 4, "%u times %u MiB", count,
		(BENCH_MEMORY_MAX + BENCH_SIZE_MAX) >> 20);
	rejected(ep[count], "memory");
	ep[count]->ops->free(ep[count]);
	cr_assert(takes_from(2, &ep[count], &raw_peer[count]), "no memory for another address");
	leaves(ep[count], &raw_peer[count]);
	cr_assert_eq(row(LOAD_OP_SEND, false, 4096, 1, &result), 0, "%s", why.text);
	leaves(ep[0], &raw_peer[0]);
	/* what one gave back is there for another, once the server has seen its end */
	while (!takes(&ep[0], &raw_peer[0]))
		ep[0]->ops->free(ep[0]);
	while (count--)
		leaves(ep[count], &raw_peer[count]);
}

Test(load_raw, a_hello_that_is_wrong_is_turned_away, .init = begin, .fini = load_side_end)
{
	const struct bench_hello right = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = BENCH_READ,
		.size = put_le32(4096),
		.depth = put_le32(1) };
	struct bench_hello hello = right;

	turned_away("", 0, "rdmastor_bench");
	turned_away(&right, sizeof(right) - 1, "rdmastor_bench");
	hello.version = 9;
	turned_away(&hello, sizeof(hello), "version rdmastor");
	hello = right;
	hello.op = BENCH_OPS;
	turned_away(&hello, sizeof(hello), "size depth");
	hello = right;
	hello.bandwidth = 3;
	turned_away(&hello, sizeof(hello), "size depth");
	hello = right;
	hello.size = put_le32(BENCH_SIZE_MAX + 1);
	turned_away(&hello, sizeof(hello), "size depth");
	hello.size = put_le32(0);
	turned_away(&hello, sizeof(hello), "size depth");
	hello = right;
	hello.depth = put_le32(BENCH_DEPTH_MAX + 1);
	turned_away(&hello, sizeof(hello), "size depth");
}

static int socket_load(uint32_t bs, uint32_t depth, uint32_t jobs, uint32_t runtime_ms,
	uint32_t drain_ms, struct load_result *result)
{
	const struct load_options opt = { .read_percent = 100,
		.bs = bs,
		.depth = depth,
		.jobs = jobs,
		.runtime_ms = runtime_ms,
		.drain_ms = drain_ms };

	why = (struct diag){ 0 };
	return load_tcp(loop, &at, &opt, result, &why);
}

/* For as long as it takes to have a few answers. */
static void loads(uint32_t bs, uint32_t depth, uint32_t jobs, struct load_result *result)
{
	for (uint32_t ms = 100;; ms *= 2) {
		cr_assert_eq(
			socket_load(bs, depth, jobs, ms, NO_LIMIT_MS, result), 0, "%s", why.text);
		cr_assert_eq(result->unanswered, 0);
		if (result->kind[LOAD_READ].latency.total > 10)
			return;
	}
}

Test(load_raw, a_socket_alone, .init = begin, .fini = load_side_end)
{
	static struct load_result result;

	loads(4096, 1, 1, &result);
	cr_assert_eq(result.kind[LOAD_READ].bytes, result.kind[LOAD_READ].latency.total * 4096);
	loads(1000000, 32, 2, &result);
	loads(1, 1024, 1, &result);
}

Test(load_raw, reads_are_a_load_with_the_latency_of_each, .init = begin, .fini = load_side_end)
{
	static struct load_result result;
	struct load_rdma to = { .dst = at, .backend = LOAD_IWARP };
	struct load_options opt = {
		.read_percent = 100, .bs = 4096, .jobs = 1, .timeout_ms = NO_LIMIT_MS
	};

	for (opt.depth = 1; opt.depth <= 8; opt.depth += 7)
		for (opt.runtime_ms = 100;; opt.runtime_ms *= 2) {
			const struct load_figures *read = &result.kind[LOAD_READ];

			cr_assert_eq(
				load_rdma_reads(loop, &to, &opt, &result, &why), 0, "%s", why.text);
			if (read->requests < 20)
				continue;
			cr_assert_eq(read->latency.total, read->requests);
			cr_assert_eq(read->bytes, read->requests * 4096);
			cr_assert_gt(read->latency.min, 0);
			cr_assert_leq(read->latency.max, (uint64_t)(result.seconds * 1e9));
			cr_assert_gt(result.user + result.system, 0);
			break;
		}
}

Test(load_raw, a_silent_peer_fails_the_load, .init = begin, .fini = load_side_end)
{
	static struct load_result result;
	struct addr real = at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.ss = (struct sockaddr_storage){ .ss_family = AF_INET };
	((struct sockaddr_in *)(void *)&at.ss)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&at.ss, at.len), 0);
	cr_assert_eq(listen(fd, 4), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&at.ss, &at.len), 0);
	cr_assert_eq(socket_load(4096, 8, 2, 100, 1000, &result), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, NULL, "16_request");
	cr_assert_eq(result.unanswered, 16);
	cr_assert_eq(result.kind[LOAD_READ].requests, 0);
	cr_assert_geq(result.kind[LOAD_READ].latency.min, 1000000000u);
	cr_assert_float_eq(result.seconds, 0.1, 1e-6, "%g s", result.seconds);
	close(fd);
	at = real;
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(connect(fd, (const struct sockaddr *)&at.ss, at.len), 0);
	return fd;
}

static void hangs_up(const void *bytes, size_t len)
{
	int fd = dial();
	char c;

	cr_assert_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 50000000);
	cr_assert_leq(recv(fd, &c, 1, 0), 0, "it answers");
	close(fd);
}

Test(load_raw, what_is_no_request_is_hung_up_on, .init = begin, .fini = load_side_end)
{
	struct bench_request request = { .magic = BENCH_MAGIC };

	hangs_up("GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: something that is long "
		 "enough\r\n\r\n",
		80);
	hangs_up(&request, sizeof(request));
	request.bytes = put_le32(BENCH_SIZE_MAX + 1);
	hangs_up(&request, sizeof(request));
}

Test(load_raw, a_client_that_is_there_when_the_server_stops, .init = begin, .fini = load_side_end)
{
	struct bench_request request = { .magic = BENCH_MAGIC, .bytes = put_le32(BENCH_SIZE_MAX) };
	int fd[3] = { dial(), dial(), dial() };

	/* never read: the server has more to send than the socket takes */
	cr_assert_eq(
		send(fd[1], &request, sizeof(request), MSG_NOSIGNAL), (ssize_t)sizeof(request));
	cr_assert_eq(send(fd[2], &request, 10, MSG_NOSIGNAL), 10);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 50000000);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
}

/* Over a device in memory, which gives as little as the test says, on one loop. */
static struct ep_peer peer;

static void begin_in_memory(void)
{
	static const struct loop_options options = { .name = "test" };
	struct load_listen conf = {
		.verbs = true, .loops = loops, .nloops = 1, .at.ss.ss_family = AF_INET
	};

	cr_assert_eq(loop_new(&loop, &options, &why), 0);
	loops[0] = loop;
	peer = (struct ep_peer){ 0 };
	ep_pair_peer(loop, &peer);
	cr_assert_eq(load_listen(&server, loop, &conf, 5000, &why), 0, "%s", why.text);
}

static void end_in_memory(void)
{
	load_server_stop(server);
	loop_free(loop);
}

static void settle(void)
{
	loop_wait(loop, &(int){ 0 }, loop_clock() + 5000000);
}

static int row_in_memory(enum load_op op, bool bandwidth, struct load_rdma_result *result)
{
	const struct load_rdma conf = { .backend = LOAD_VERBS,
		.op = op,
		.bandwidth = bandwidth,
		.both = both,
		.size = 64,
		.depth = 8,
		.iterations = both ? 8 : 20, /* 8: the end is sent without an answer to a SEND */
		.timeout_ms = 5000 };

	return load_rdma(loop, &conf, result, &why);
}

Test(load_raw, a_device_that_gives_too_little, .init = begin_in_memory, .fini = end_in_memory)
{
	static struct load_rdma_result result;
	struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = BENCH_SEND,
		.bandwidth = 1,
		.size = put_le32(64),
		.depth = put_le32(8) };

	peer.limit.recv = 6;
	cr_assert_eq(row_in_memory(LOAD_OP_SEND, true, &result), -ENOSPC);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "RDMA_device 6 --iodepth");
	cr_assert(ep_pair_call(&peer, &hello, sizeof(hello), 4));
	settle();
	cr_assert(peer.rejected && !peer.called, "so does the server");
}

static bool gone;

static void hung_up(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	(void)ep;
	gone = true;
}

Test(load_raw, a_client_that_reads_and_talks, .init = begin_in_memory, .fini = end_in_memory)
{
	struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = BENCH_READ,
		.size = put_le32(64),
		.depth = put_le32(1) };

	cr_assert(ep_pair_call(&peer, &hello, sizeof(hello), 4));
	settle();
	cr_assert_not_null(peer.called);
	cr_assert_eq(peer.called->state, EP_UP);
	peer.gone = hung_up;
	ep_pair_deliver(peer.called, "x", 1);
	settle();
	cr_assert(gone && !peer.reads);
}

enum { NONE = BENCH_COUNT + 2, UNKNOWN };

/* The number is 9, where there is one. */
static void deliver_both(struct ep *ep, uint32_t what)
{
	const struct bench_both message = {
		.magic = BENCH_MAGIC, .what = put_le32(what), .messages = put_le64(9)
	};

	if (what != NONE)
		ep_pair_deliver(ep, &message, sizeof(message));
}

/* The messages of a client of both directions, until the server ends the connection. The last two
 * arrive at once. */
static bool ends_it_at_once(enum bench_op op, uint32_t first, uint32_t then, uint32_t last)
{
	const struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = (uint8_t)op,
		.bandwidth = 2,
		.size = put_le32(64),
		.depth = put_le32(8) };

	gone = false;
	peer.called = NULL;
	peer.gone = hung_up;
	cr_assert(ep_pair_call(&peer, &hello, sizeof(hello), 4));
	settle();
	cr_assert_not_null(peer.called);
	deliver_both(peer.called, first);
	settle();
	cr_assert(!gone);
	deliver_both(peer.called, then);
	deliver_both(peer.called, last);
	settle();
	if (gone)
		return true;
	ep_pair_cut(peer.called);
	settle();
	return false;
}

static bool ends_it(enum bench_op op, uint32_t first, uint32_t then)
{
	return ends_it_at_once(op, first, then, NONE);
}

Test(load_raw, a_client_of_both_directions_that_lies, .init = begin_in_memory,
	.fini = end_in_memory)
{
	/* on SEND connections other messages are data */
	cr_assert(ends_it(BENCH_SEND, NONE, BENCH_END), "the end before the start");
	cr_assert(ends_it(BENCH_SEND, NONE, BENCH_TAKEN), "more than were sent");
	cr_assert(ends_it(BENCH_SEND, BENCH_START, BENCH_TAKEN), "more than are in flight");
	cr_assert(ends_it(BENCH_SEND, BENCH_START, BENCH_START), "two starts");
	cr_assert(ends_it(BENCH_SEND, BENCH_START, BENCH_REPORT), "a report");
	cr_assert(ends_it(BENCH_SEND, BENCH_START, UNKNOWN));
	cr_assert(ends_it(BENCH_SEND, NONE, BENCH_COUNT), "a count before the start");
	cr_assert(!ends_it(BENCH_SEND, BENCH_START, BENCH_COUNT));
	cr_assert(!ends_it(BENCH_SEND, BENCH_START, BENCH_END));
	cr_assert(ends_it_at_once(BENCH_SEND, BENCH_START, BENCH_END, BENCH_END), "two ends");
	cr_assert(ends_it_at_once(BENCH_SEND, BENCH_START, BENCH_END, BENCH_COUNT));
	cr_assert(!ends_it_at_once(BENCH_SEND, BENCH_START, BENCH_COUNT, BENCH_END));
	cr_assert(ends_it(BENCH_WRITE, NONE, BENCH_TAKEN), "no SENDs");
}

static void accept_it(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	static const struct bench_welcome yes = { .magic = BENCH_MAGIC, .version = BENCH_VERSION };

	(void)p;
	(void)priv;
	(void)len;
	ep_pair_accept(ep, &yes, sizeof(yes));
}

static void accept_it_and_talk(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	accept_it(p, ep, priv, len);
	ep_pair_deliver(ep, "x", 1);
}

/* For more messages than there were. */
static void pay_too_much(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct bench_credit credit = { put_le32(21) };

	(void)p;
	(void)bytes;
	(void)len;
	ep_pair_deliver(ep, &credit, sizeof(credit));
}

/* The answers of a server of both directions: to the start, and to the end. */
static uint32_t to_start, to_end;

static void answer_both(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct bench_both *asked = (const void *)bytes;

	(void)p;
	if (len != sizeof(*asked) || memcmp(bytes, BENCH_MAGIC, 8))
		return;
	if (get_le32(asked->what) == BENCH_START)
		deliver_both(ep, to_start);
	else if (get_le32(asked->what) == BENCH_END)
		deliver_both(ep, to_end);
}

static void refused(enum load_op op, bool bandwidth)
{
	static struct load_rdma_result result;

	why = (struct diag){ 0 };
	cr_assert_eq(row_in_memory(op, bandwidth, &result), -EPROTO, "op %d: %s", op, why.text);
	diag_says(&why, DIAG_PROTOCOL, NULL, "peer");
	cr_assert(text_missing(why.text, "version"), "%s", why.text);
}

Test(load_raw, a_server_that_answers_too_much, .init = begin_in_memory, .fini = end_in_memory)
{
	peer.request = accept_it_and_talk;
	for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_READ; op++)
		refused(op, false);
	refused(LOAD_OP_WRITE, true);
	refused(LOAD_OP_READ, true);
	peer.request = accept_it;
	peer.message = pay_too_much;
	refused(LOAD_OP_SEND, true);
}

Test(load_raw, a_server_of_both_directions_that_lies, .init = begin_in_memory,
	.fini = end_in_memory)
{
	both = true;
	peer.request = accept_it;
	peer.message = answer_both;
	to_start = BENCH_REPORT; /* before the end */
	refused(LOAD_OP_SEND, true);
	to_start = BENCH_TAKEN;
	refused(LOAD_OP_SEND, true);
	to_start = BENCH_START;
	to_end = BENCH_START; /* again */
	refused(LOAD_OP_SEND, true);
	to_end = UNKNOWN;
	refused(LOAD_OP_SEND, true);
	to_end = BENCH_REPORT; /* 9 messages, but no data has arrived */
	refused(LOAD_OP_SEND, true);
}

/* WRITEs of both directions: the server starts, counts and reports as the test says. */
static struct {
	uint64_t count, report;
	unsigned starts;
} tale;

static void accept_writes(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	const struct bench_welcome welcome = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.rkey = put_le32(p->memory_key),
		.raddr = put_le64(p->memory_at) };

	(void)priv;
	(void)len;
	ep_pair_accept(ep, &welcome, sizeof(welcome));
}

static void deliver_number(struct ep *ep, enum bench_what what, uint64_t messages)
{
	const struct bench_both message = {
		.magic = BENCH_MAGIC, .what = put_le32(what), .messages = put_le64(messages)
	};

	cr_assert(ep_pair_deliver(ep, &message, sizeof(message)));
}

static void tell(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct bench_both *asked = (const void *)bytes;
	uint32_t what = get_le32(asked->what);

	(void)p;
	cr_assert_eq(len, sizeof(*asked));
	if (what == BENCH_START)
		for (unsigned i = 0; i < tale.starts; i++)
			deliver_number(ep, BENCH_START, 0);
	else if (what == BENCH_COUNT)
		deliver_number(ep, BENCH_COUNT, tale.count);
	else if (what == BENCH_END)
		deliver_number(ep, BENCH_REPORT, tale.report);
}

static int row_of_tale(uint32_t qps, struct load_rdma_result *result)
{
	const struct load_rdma conf = { .backend = LOAD_VERBS,
		.op = LOAD_OP_WRITE,
		.bandwidth = true,
		.both = true,
		.size = 64,
		.depth = 8,
		.qps = qps,
		.iterations = 20,
		.timeout_ms = 5000 };
	static uint8_t memory[64];

	peer.memory = memory;
	peer.memory_at = 0x10000;
	peer.memory_len = sizeof(memory);
	peer.memory_key = 5;
	peer.request = accept_writes;
	peer.message = tell;
	why = (struct diag){ 0 };
	return load_rdma(loop, &conf, result, &why);
}

Test(load_raw, only_what_the_server_sends_in_the_measured_time_counts, .init = begin_in_memory,
	.fini = end_in_memory)
{
	static struct load_rdma_result result;

	tale.starts = 1;
	tale.count = 5;
	tale.report = 8;
	cr_assert_eq(row_of_tale(1, &result), 0, "%s", why.text);
	cr_assert_eq(result.reverse, 3);
	cr_assert_eq(row_of_tale(3, &result), 0, "%s", why.text);
	cr_assert_eq(result.reverse, 9);
	cr_assert_eq(result.iterations, 60);
}

Test(load_raw, numbers_of_a_server_that_cannot_be, .init = begin_in_memory, .fini = end_in_memory)
{
	static struct load_rdma_result result;

	tale.starts = 1;
	tale.count = 5;
	tale.report = 4; /* fewer than before */
	cr_assert_eq(row_of_tale(1, &result), -EPROTO);
	tale.report = UINT64_MAX - 1;
	cr_assert_eq(row_of_tale(2, &result), -EPROTO);
	tale.count = tale.report;
	cr_assert_eq(row_of_tale(1, &result), -EPROTO);
	tale.starts = 2; /* one connection starts for another */
	tale.count = tale.report = 5;
	cr_assert_eq(row_of_tale(2, &result), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "peer");
}

static void refuse_both(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	static const char text[] = "invalid size or depth";

	(void)p;
	(void)priv;
	(void)len;
	ep_pair_reject(ep, 28, text, sizeof(text) - 1);
}

Test(load_raw, an_older_server_has_no_second_direction, .init = begin_in_memory,
	.fini = end_in_memory)
{
	static struct load_rdma_result result;

	peer.request = refuse_both;
	cr_assert_eq(row_in_memory(LOAD_OP_SEND, true, &result), -ECONNREFUSED);
	diag_says(&why, DIAG_REFUSED, NULL, "invalid");
	both = true;
	cr_assert_eq(row_in_memory(LOAD_OP_SEND, true, &result), -ECONNREFUSED);
	diag_says(&why, DIAG_REFUSED, NULL, "older -b update");
}
