/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Clients of `bench --listen` that do nothing, or take all places, on a clock of the test's own. */
/* Link: leap */
#include "ep_pair.h"
#include "host.h"
#include "leap.h"
#include "load.h"
#include "says.h"
#include "wire/bench.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ull

static struct load_server *server;

static void begin_with(bool rdma)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct load_listen conf = { .tcp = !rdma, .iwarp = rdma, .loops = &loop, .nloops = 1 };

	host_begin(0);
	memcpy(&conf.at.ss, &in, sizeof(in));
	conf.at.len = sizeof(in);
	cr_assert_eq(load_listen(&server, loop, &conf, 1000, &why), 0, "%s", why.text);
}

static void begin(void)
{
	begin_with(false);
}

static void begin_rdma(void)
{
	begin_with(true);
}

static void end(void)
{
	load_server_stop(server);
	loop_free(loop);
}

/* From 127.0.0.number. */
static int dial_from(unsigned number)
{
	const struct addr *at = load_server_addr(server);
	const struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + number) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&at->ss, at->len), 0);
	return fd;
}

static int dial(void)
{
	return dial_from(1);
}

static void pass(unsigned seconds)
{
	volatile int never = 0;

	loop_wait(loop, &never, leap_now + seconds * SECOND);
}

static void turn(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, leap_now + 1);
}

static bool closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

Test(load_idle, a_client_that_asks_nothing_is_disconnected, .init = begin, .fini = end)
{
	struct bench_request request = { .magic = BENCH_MAGIC, .bytes = put_le32(100) };
	int mute = dial(), slow = dial();
	uint8_t answer[100];

	for (unsigned i = 0; i < 5; i++) {
		pass(20);
		cr_assert_eq(closed(mute), i > 0, "after %u s", 20 * i + 20);
		cr_assert_eq(send(slow, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
		pass(1);
		cr_assert_eq(recv(slow, answer, sizeof(answer), MSG_DONTWAIT), sizeof(answer));
	}
	close(mute);
	close(slow);
	pass(1);
}

Test(load_idle, a_client_that_takes_no_answer_is_disconnected, .init = begin, .fini = end)
{
	struct bench_request request = { .magic = BENCH_MAGIC, .bytes = put_le32(BENCH_SIZE_MAX) };
	static uint8_t sink[1 << 20];
	int fd = dial();
	ssize_t n;

	cr_assert_eq(send(fd, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	pass(60);
	/* the server has closed; what it sent before can wait for timers of the kernel */
	while ((n = recv(fd, sink, sizeof(sink), 0)) > 0)
		;
	close(fd);
}

/* Bytes of a request do not count, nor does a connection that lasts. */
Test(load_idle, a_client_that_never_asks_in_full_is_disconnected, .init = begin, .fini = end)
{
	const struct bench_request request = { .magic = BENCH_MAGIC, .bytes = put_le32(100) };
	const uint8_t *bytes = (const void *)&request;
	int fd = dial();

	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(send(fd, bytes + i, 1, MSG_NOSIGNAL), 1, "after %u s", 8 * i);
		pass(8);
	}
	cr_assert(closed(fd));
	close(fd);
}

/* Over software iWARP: the MPA request, with what a client says. Negative: it was refused. */
static int try_iwarp(unsigned number, enum bench_op op, uint32_t size)
{
	static const char frame[] = "MPA ID Req Frame";
	const struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = (uint8_t)op,
		.bandwidth = 1,
		.size = put_le32(size),
		.depth = put_le32(1) };
	const uint8_t end[] = { 0, 1, 0, sizeof(hello) };
	uint8_t reply[64];
	int fd = dial_from(number);

	send(fd, frame, 16, MSG_NOSIGNAL);
	send(fd, end, sizeof(end), MSG_NOSIGNAL);
	send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	for (unsigned i = 0; i < 9; i++)
		turn();
	if (recv(fd, reply, sizeof(reply), MSG_DONTWAIT) < 20 || reply[16] & 0x20) {
		close(fd);
		return -1;
	}
	cr_assert_eq(memcmp(reply, "MPA ID Rep Frame", 16), 0);
	return fd;
}

static int dial_iwarp(unsigned number, enum bench_op op, uint32_t size)
{
	int fd = try_iwarp(number, op, size);

	cr_assert_geq(fd, 0, "it was refused");
	return fd;
}

Test(load_idle, a_silent_client_over_rdma_is_disconnected, .init = begin_rdma, .fini = end)
{
	for (enum bench_op op = BENCH_SEND; op < BENCH_OPS; op++) {
		int fd = dial_iwarp(1, op, 4096);

		pass(25);
		cr_assert(!closed(fd));
		pass(40);
		cr_assert(closed(fd), "op %d", op);
		close(fd);
	}
	pass(1);
}

/* No message arrives before the last WRITE, which may be an hour later. */
Test(load_idle, a_client_that_writes_for_long_is_kept, .init = begin_rdma, .fini = end)
{
	static const uint8_t segment[] = { 0, 100, 0xc1, 0x40 }; /* the start of a WRITE */
	int fd = dial_iwarp(1, BENCH_WRITE, 1);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	for (unsigned i = 0; i < sizeof(segment); i++) {
		cr_assert_eq(send(fd, segment + i, 1, MSG_NOSIGNAL), 1);
		pass(25);
		cr_assert(!closed(fd), "after %u s", 25 * i + 25);
	}
	pass(65);
	cr_assert(closed(fd));
	close(fd);
	pass(1);
}

static bool is_served(int fd)
{
	struct bench_request request = { .magic = BENCH_MAGIC, .bytes = put_le32(100) };
	uint8_t answer[100];

	send(fd, &request, sizeof(request), MSG_NOSIGNAL);
	pass(1);
	return recv(fd, answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer);
}

/* Of 256 places, one address leaves a sixteenth to others; if they are taken, too, it gives way. */
Test(load_idle, an_address_leaves_places_to_others, .init = begin, .fini = end)
{
	int fd[256], other;

	for (unsigned i = 0; i < 240; i++) {
		fd[i] = dial_from(2);
		turn();
	}
	other = dial_from(2);
	pass(1);
	cr_assert(closed(other), "all places for one address");
	close(other);
	for (unsigned i = 240; i < 256; i++)
		fd[i] = dial_from(3);
	pass(1);
	other = dial_from(4);
	cr_assert(is_served(other));
	pass(1);
	for (unsigned i = 0; i < 256; i++) {
		cr_assert_eq(closed(fd[i]), i == 239, "%u", i);
		close(fd[i]);
	}
	close(other);
	pass(1);
}

/* Each queue pair is a connection, and counts as one. */
Test(load_idle, a_client_of_a_million_queue_pairs_leaves_places, .init = begin_rdma, .fini = end)
{
	int fd[256], other;
	unsigned count = 0;

	while (count < 256 && (fd[count] = try_iwarp(2, BENCH_WRITE, 4096)) >= 0)
		count++;
	cr_assert_eq(count, 240);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_lt(try_iwarp(2, BENCH_WRITE, 4096), 0);
	other = dial_iwarp(3, BENCH_SEND, 4096);
	cr_assert(!closed(other));
	while (count--)
		close(fd[count]);
	close(other);
	pass(1);
}

/* A device in memory, which does not count what it moves. */
static struct ep_peer peer;
static unsigned hung_up;

static void hang_up(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	(void)ep;
	hung_up++;
}

static void begin_verbs(void)
{
	struct load_listen conf = {
		.verbs = true, .loops = &loop, .nloops = 1, .at.ss.ss_family = AF_INET
	};

	host_begin(0);
	hung_up = 0;
	peer = (struct ep_peer){ .gone = hang_up };
	ep_pair_peer(loop, &peer);
	cr_assert_eq(load_listen(&server, loop, &conf, 1000, &why), 0, "%s", why.text);
}

static void call_verbs(enum bench_op op, uint8_t bandwidth)
{
	const struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = (uint8_t)op,
		.bandwidth = bandwidth,
		.size = put_le32(64),
		.depth = put_le32(8) };

	peer.called = NULL;
	cr_assert(ep_pair_call(&peer, &hello, sizeof(hello), 8));
	pass(1);
	cr_assert_not_null(peer.called);
}

static void keep_alive(void)
{
	const struct bench_credit credit = { put_le32(BENCH_KEEP_ALIVE) };

	cr_assert(ep_pair_deliver(peer.called, &credit, sizeof(credit)));
}

Test(load_idle, a_silent_client_over_verbs_is_disconnected, .init = begin_verbs, .fini = end)
{
	for (enum bench_op op = BENCH_SEND; op < BENCH_OPS; op++)
		for (uint8_t bandwidth = 0; bandwidth <= 2; bandwidth++) {
			call_verbs(op, bandwidth);
			for (unsigned i = 0; op != BENCH_SEND && i < 5; i++) {
				keep_alive();
				pass(25);
			}
			cr_assert_eq(hung_up, 0, "op %d, bandwidth %u", op, bandwidth);
			pass(40);
			cr_assert_eq(hung_up, 1, "op %d, bandwidth %u", op, bandwidth);
			hung_up = 0;
		}
}

static unsigned kept_alive;

static void accept_writes(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	const struct bench_welcome welcome = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.keep_alive = 3,
		.rkey = put_le32(p->memory_key),
		.raddr = put_le64(p->memory_at) };

	(void)priv;
	(void)len;
	ep_pair_accept(ep, &welcome, sizeof(welcome));
}

/* The server is slow to report that all WRITEs have arrived. */
static void answer_third(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	static const struct bench_credit last;
	struct bench_credit credit;

	(void)p;
	cr_assert_eq(len, sizeof(credit));
	memcpy(&credit, bytes, sizeof(credit));
	if (get_le32(credit.messages) == BENCH_KEEP_ALIVE && ++kept_alive == 3)
		ep_pair_deliver(ep, &last, sizeof(last));
}

Test(load_idle, a_client_that_writes_keeps_its_connection_alive, .init = begin_verbs, .fini = end)
{
	const struct load_rdma conf = { .backend = LOAD_VERBS,
		.op = LOAD_OP_WRITE,
		.bandwidth = true,
		.size = 64,
		.depth = 8,
		.iterations = 20,
		.timeout_ms = 5000 };
	static struct load_rdma_result result;
	static uint8_t memory[64];

	peer.memory = memory;
	peer.memory_at = 0x10000;
	peer.memory_len = sizeof(memory);
	peer.memory_key = 5;
	peer.request = accept_writes;
	peer.message = answer_third;
	cr_assert_eq(load_rdma(loop, &conf, &result, &why), 0, "%s", why.text);
	cr_assert_eq(kept_alive, 3);
	cr_assert_eq(result.iterations, 20);
}

/* Without a limit of time, only of messages. */
Test(load_idle, a_silent_server_fails_the_load, .init = begin_verbs, .fini = end)
{
	const struct load_rdma conf = { .backend = LOAD_VERBS,
		.op = LOAD_OP_SEND,
		.size = 64,
		.depth = 1,
		.iterations = 20,
		.timeout_ms = 5000 };
	static struct load_rdma_result result;

	peer.request = accept_writes;
	cr_assert_eq(load_rdma(loop, &conf, &result, &why), -ETIMEDOUT, "%s", why.text);
	diag_says(&why, DIAG_TIMEOUT, NULL, "no_answer");
}
