/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One TCP port for plain streams and iWARP: distinguished by the first bytes, in whatever pieces
 * they come. */
/* Link: leap */
#include "ep.h"
#include "mpa.h"
#include "says.h"
#include "tcp.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ull

static struct loop *loop;
static struct tcp_listener *listener;
static volatile int streams, requests;
static int stream_fd = -1;
static struct addr stream_peer;
static struct ep_incoming *asked;

static void stream(int fd, const struct addr *peer, void *user)
{
	cr_assert_eq(user, &loop);
	stream_fd = fd;
	stream_peer = *peer;
	streams++;
}

static void iwarp(struct ep_incoming *in, void *user)
{
	cr_assert_eq(user, &loop);
	asked = in;
	requests++;
}

static unsigned drops;

static void dropped(void *user)
{
	cr_assert_eq(user, &loop);
	drops++;
}

static void start(bool with_stream, bool with_iwarp, uint32_t timeout_ms)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct tcp_listen conf = { .stream = with_stream ? stream : NULL,
		.iwarp = with_iwarp ? iwarp : NULL,
		.user = &loop,
		.dropped = dropped,
		.timeout_ms = timeout_ms };
	struct diag diag;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	memcpy(&conf.at.ss, &in, sizeof(in));
	conf.at.len = sizeof(in);
	cr_assert_eq(tcp_listen(&listener, loop, &conf, &diag), 0, "%s", diag.text);
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&tcp_listener_addr(listener)->ss,
			     sizeof(struct sockaddr_in)),
		0);
	return fd;
}

static void settle(void)
{
	volatile int never = 0;
	loop_wait(loop, &never, loop_clock() + 3000000);
}

static void say(int fd, const void *bytes, size_t len)
{
	cr_assert_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
	settle();
}

static bool closed(int fd)
{
	char c;
	settle();
	return recv(fd, &c, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

static void finish(void)
{
	tcp_listener_free(listener);
	loop_free(loop);
}

Test(tcp_listen, a_stream_is_handed_over_untouched)
{
	uint8_t bytes[64];
	int fd;

	start(true, true, 1000);
	fd = dial();
	say(fd, "MPA ID", 6);
	cr_assert_eq(streams, 0, "it may still be iWARP");
	say(fd, "LE TALK", 7);
	cr_assert_eq(streams, 1);
	cr_assert_eq(recv(stream_fd, bytes, sizeof(bytes), MSG_DONTWAIT), 13);
	cr_assert_arr_eq(bytes, "MPA IDLE TALK", 13);
	cr_assert_eq(stream_peer.ss.ss_family, AF_INET);
	close(fd);
	close(stream_fd);
	finish();
}

Test(tcp_listen, iwarp_in_whatever_pieces)
{
	uint8_t frame[MPA_FRAME_MAX], priv[MPA_PRIV_MAX - 4];
	struct mpa mpa = { .revision = 2,
		.enhanced = true,
		.ird = 3,
		.ord = MPA_LIMIT_ANY,
		.priv = priv,
		.priv_len = sizeof(priv) };
	size_t len;
	int fd;

	for (unsigned i = 0; i < sizeof(priv); i++)
		priv[i] = (uint8_t)i;
	start(true, true, 1000);
	fd = dial();
	len = mpa_put(frame, &mpa, false);
	cr_assert_eq(len, MPA_FRAME_MAX);
	for (size_t i = 0; i < len; i += 11) {
		cr_assert_eq(requests, 0);
		say(fd, frame + i, len - i < 11 ? len - i : 11);
	}
	cr_assert(requests == 1 && streams == 0);
	cr_assert_eq(asked->priv_len, EP_PRIV_MAX);
	cr_assert_arr_eq(asked->priv, priv, EP_PRIV_MAX);
	cr_assert_eq(asked->ord, 3, "what it serves is what we may read at once");
	cr_assert_gt(asked->ird, 3);
	ep_reject(asked, NULL, 0);
	close(fd);
	finish();
}

Test(tcp_listen, many_at_once_do_not_mix)
{
	struct mpa mpa = { .revision = 1 };
	uint8_t frame[MPA_FRAME_MAX];
	size_t len = mpa_put(frame, &mpa, false);
	int fd[20];

	start(true, true, 1000);
	for (unsigned i = 0; i < 20; i++)
		fd[i] = dial();
	for (unsigned part = 0; part < 2; part++)
		for (unsigned i = 0; i < 20; i++) {
			size_t half = len / 2;
			if (!(i & 1) && part)
				continue;
			say(fd[i], i & 1 ? (const void *)(frame + part * half) : "NVMe",
				i & 1 ? (part ? len - half : half) : 4);
			if (i & 1 && part)
				ep_reject(asked, NULL, 0);
			else if (!(i & 1))
				close(stream_fd);
		}
	cr_assert(requests == 10 && streams == 10);
	for (unsigned i = 0; i < 20; i++)
		close(fd[i]);
	finish();
}

Test(tcp_listen, silence_is_not_waited_for)
{
	int silent, halfway;

	start(true, true, 500);
	silent = dial();
	halfway = dial();
	say(halfway, "MPA ID Req Frame\0\1\0", 19);
	for (int i = 0; i < 2000 && !(closed(silent) && closed(halfway)); i++)
		;
	cr_assert(closed(silent) && closed(halfway));
	cr_assert(!requests && !streams);
	close(silent);
	close(halfway);
	finish();
}

/* Bytes that are only looked at hide the end of what the peer says. */
Test(tcp_listen, a_peer_that_leaves_undecided)
{
	int fd;

	start(true, true, 60000);
	fd = dial();
	say(fd, "MPA", 3);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_assert(closed(fd));
	cr_assert(!requests && !streams);
	close(fd);
	finish();
}

/* Those that say nothing do not keep out those that do. */
Test(tcp_listen, a_crowd_that_is_silent)
{
	int silent[300], fd;

	start(true, true, 60000);
	for (unsigned i = 0; i < 300; i++) {
		silent[i] = dial();
		if (i % 32 == 31)
			settle();
	}
	settle();
	fd = dial();
	settle();
	say(fd, "x", 1);
	cr_assert_eq(streams, 1);
	cr_assert(closed(silent[0]));
	cr_assert_not(closed(silent[299]));
	cr_assert_eq(drops, 45, "%u", drops); /* of 301, 256 are kept */
	close(fd);
	close(stream_fd);
	for (unsigned i = 0; i < 300; i++)
		close(silent[i]);
	finish();
}

Test(tcp_listen, a_request_that_is_none)
{
	static const char *const bad[] = { "MPA ID Req Frame\0\0\0\0", "MPA ID Req Frame\0\3\0\0",
		"MPA ID Req Frame\0\1\2\1" };

	start(true, true, 1000);
	for (unsigned i = 0; i < 3; i++) {
		int fd = dial();
		say(fd, bad[i], 20);
		cr_assert(closed(fd), "%u", i);
		close(fd);
	}
	cr_assert(!requests && !streams);
	finish();
}

Test(tcp_listen, one_kind_only)
{
	int fd;

	start(false, true, 1000);
	fd = dial();
	say(fd, "anything", 8);
	cr_assert(closed(fd));
	close(fd);
	finish();
	start(true, false, 1000);
	fd = dial();
	settle();
	cr_assert_eq(streams, 1, "nothing has to be said");
	close(fd);
	close(stream_fd);
	finish();
}

Test(tcp_listen, an_address_in_use_is_named)
{
	struct tcp_listen conf = { .stream = stream };
	struct tcp_listener *second;
	struct diag diag = { 0 };
	char text[ADDR_TEXT];

	start(true, true, 1000);
	conf.at = *tcp_listener_addr(listener);
	cr_assert_eq(tcp_listen(&second, loop, &conf, &diag), -EADDRINUSE);
	diag_says(&diag, DIAG_BUSY, addr_text(&conf.at, text), "address_in_use");
	finish();
}

static volatile int readables, downs;
static char received[16];

static void readable(struct stream *s)
{
	ssize_t got;
	while ((got = stream_recv(s, &(struct iovec){ received, sizeof(received) }, 1)) > 0)
		readables += (int)got;
}

static void unexpected(struct stream *s)
{
	(void)s;
	cr_assert_fail("an accepted stream is up from the start");
}

static void sent(struct stream *s, struct stream_out *out)
{
	(void)s;
	(void)out;
}

static void down(struct stream *s)
{
	(void)s;
	downs++;
}

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	cr_assert_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

Test(tcp_listen, an_accepted_stream_talks)
{
	static const struct stream_events events = { unexpected, readable, sent, down };
	struct stream_out out = { .iov = { { (char *)"hello", 5 } }, .niov = 1 };
	struct stream *s;
	struct diag diag;
	char back[8];
	int fd;

	start(true, false, 1000);
	fd = dial();
	say(fd, "early", 5);
	cr_assert_eq(stream_accept(&s, loop, stream_fd, &stream_peer, &events, NULL, &diag), 0);
	cr_assert_eq(s->state, STREAM_UP);
	cr_assert(strstr(s->route, "127.0.0.1:"));
	cr_assert_eq(option(stream_fd, IPPROTO_TCP, TCP_NODELAY), 1);
	cr_assert_eq(option(stream_fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_assert_eq(option(stream_fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	stream_send(s, &out);
	cr_assert(loop_wait(loop, &readables, loop_clock() + SECOND));
	cr_assert_arr_eq(received, "early", 5);
	cr_assert_eq(recv(fd, back, 5, 0), 5);
	close(fd);
	cr_assert(loop_wait(loop, &downs, loop_clock() + SECOND));
	stream_free(s);
	finish();
}

/* A full backlog refuses a unix socket at once, where TCP would drop the SYN. */
Test(tcp_listen, a_burst_of_connections_fits_into_the_backlog)
{
	struct tcp_listen conf = { .stream = stream, .user = &loop, .timeout_ms = 1000 };
	FILE *limit = fopen("/proc/sys/net/core/somaxconn", "r");
	unsigned most = 0, count;
	int fd[512];

	cr_assert(limit && fscanf(limit, "%u", &most) == 1 && most);
	fclose(limit);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	conf.at.ss.ss_family = AF_UNIX;
	conf.at.len = sizeof(conf.at.ss.ss_family);
	cr_assert_eq(tcp_listen(&listener, loop, &conf, NULL), 0);
	most = most < 512 ? most : 512;
	for (count = 0; count < most; count++) {
		const struct addr *to = tcp_listener_addr(listener);

		fd[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		cr_assert_eq(connect(fd[count], (const struct sockaddr *)&to->ss, to->len), 0,
			"connection %u", count);
	}
	while (count)
		close(fd[--count]);
	finish();
}

static unsigned starving;
static bool soon;

static bool starved(const struct diag *why, void *user)
{
	cr_assert_eq(user, &loop);
	diag_says(why, DIAG_NO_MEMORY, NULL, "accept too_many_open_files");
	starving++;
	return soon;
}

/* Without a free descriptor the next connection is closed at once. If the owner defers it instead,
 * it is accepted later. */
Test(tcp_listen, no_descriptor_left)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct tcp_listen conf = {
		.stream = stream, .starved = starved, .user = &loop, .timeout_ms = 1000
	};
	struct rlimit limit, all;
	int fd[3];

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	memcpy(&conf.at.ss, &in, sizeof(in));
	conf.at.len = sizeof(in);
	cr_assert_eq(tcp_listen(&listener, loop, &conf, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	limit = (struct rlimit){ (rlim_t)fd[2] + 1, all.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (unsigned i = 0; i < 2; i++) {
		connect(fd[i], (const struct sockaddr *)&tcp_listener_addr(listener)->ss,
			sizeof(in));
		cr_assert(closed(fd[i]));
		cr_assert_eq(starving, i + 1);
	}
	soon = true;
	connect(fd[2], (const struct sockaddr *)&tcp_listener_addr(listener)->ss, sizeof(in));
	cr_assert(!closed(fd[2]));
	cr_assert_eq(streams, 0);
	loop_raise_fd_limit();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_eq(limit.rlim_cur, limit.rlim_max);
	for (unsigned i = 0; i < 100 && !streams; i++)
		settle();
	cr_assert_eq(streams, 1);
	cr_assert(!closed(fd[2]));
	close(stream_fd);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
	finish();
}
