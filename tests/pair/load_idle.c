/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Clients of `bench --listen --tcp` that do nothing, on a clock of the test's own. */
#include "host.h"
#include "leap.h"
#include "load.h"
#include "wire/bench.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ull

static struct load_server *server;

static void begin(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct load_listen conf = { .tcp = true, .loops = &loop, .nloops = 1 };

	host_begin(0);
	memcpy(&conf.at.ss, &in, sizeof(in));
	conf.at.len = sizeof(in);
	cr_assert_eq(load_listen(&server, loop, &conf, 1000, &why), 0, "%s", why.text);
}

static void end(void)
{
	load_server_stop(server);
	loop_free(loop);
}

static int dial(void)
{
	const struct addr *at = load_server_addr(server);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (const struct sockaddr *)&at->ss, at->len), 0);
	return fd;
}

static void pass(unsigned seconds)
{
	volatile int never = 0;

	loop_wait(loop, &never, leap_now + seconds * SECOND);
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
	while ((n = recv(fd, sink, sizeof(sink), MSG_DONTWAIT)) > 0)
		;
	cr_assert(!n || errno != EAGAIN, "still connected");
	close(fd);
}
