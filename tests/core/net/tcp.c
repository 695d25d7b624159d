/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TCP byte stream against plain sockets on the loopback interface. */
#include "tcp.h"
#include "says.h"
#include "stream.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ull

struct end { /* what the owner of a stream has seen */
	volatile int up, down, got;
	unsigned sent;
	struct stream_out *last;
	uint8_t bytes[256];
	bool close_on_up;
	struct stream_out *say_on_up;
};

static void up(struct stream *s)
{
	struct end *e = s->user;
	e->up++;
	if (e->say_on_up)
		stream_send(s, e->say_on_up);
	if (e->close_on_up)
		stream_close(s);
}

static void readable(struct stream *s)
{
	struct end *e = s->user;
	ssize_t n;
	while (e->got < (int)sizeof(e->bytes) &&
		(n = stream_recv(s,
			 &(struct iovec){ e->bytes + e->got, sizeof(e->bytes) - (size_t)e->got },
			 1)) > 0)
		e->got += (int)n;
}

static void sent(struct stream *s, struct stream_out *out)
{
	struct end *e = s->user;
	e->sent++;
	e->last = out;
}

static void down(struct stream *s)
{
	struct end *e = s->user;
	cr_assert_eq(s->state, STREAM_DOWN);
	e->down++;
}

static const struct stream_events events = { up, readable, sent, down };

static struct loop *loop_make(void)
{
	struct loop *loop;
	struct diag diag;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0, "%s",
		diag.text);
	return loop;
}

static int bound(struct addr *addr, const char *host)
{
	struct diag diag;
	int fd;

	cr_assert_eq(addr_resolve(addr, host, 0, 1000, &diag), 0, "%s", diag.text);
	fd = socket(addr->ss.ss_family, SOCK_STREAM, 0);
	cr_assert(fd >= 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr->ss, addr->len), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&addr->ss, &addr->len), 0);
	return fd;
}

static int listening(struct addr *addr)
{
	int fd = bound(addr, "127.0.0.1");
	cr_assert_eq(listen(fd, 4), 0);
	return fd;
}

static struct stream *dial(struct loop *loop, const struct addr *to, struct end *e)
{
	struct stream_dial how = { .dst = *to, .timeout_ms = NO_LIMIT_MS };
	struct stream *s;
	struct diag diag;

	cr_assert_eq(stream_dial(&s, loop, &how, &events, e, &diag), 0, "%s", diag.text);
	return s;
}

static void wait_for(struct loop *loop, volatile int *flag)
{
	loop_wait(loop, flag, 0);
}

Test(tcp, a_closed_port_is_refused_by_name)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr addr;
	char text[ADDR_TEXT];
	int fd = bound(&addr, "127.0.0.1");
	struct stream *s = dial(loop, &addr, &e);

	cr_assert_eq(e.down, 0); /* never from inside the dialling call */
	wait_for(loop, &e.down);
	diag_says(&s->why, DIAG_REFUSED, "", "connection_refused firewall");
	cr_assert_null(strstr(s->why.text, addr_text(&addr, text)), "the object is the owner's");
	cr_assert_eq(e.up, 0);
	stream_free(s);
	loop_free(loop);
	close(fd);
}

Test(tcp, an_address_without_route_is_unreachable)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr addr;
	struct stream *s;

	cr_assert_eq(addr_resolve(&addr, "255.255.255.255", 4420, 1000, NULL), 0);
	s = dial(loop, &addr, &e);
	wait_for(loop, &e.down);
	diag_says(&s->why, DIAG_UNREACHABLE, "", "connect network_unreachable");
	stream_free(s);
	loop_free(loop);
}

Test(tcp, a_silent_port_times_out_at_our_deadline)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr addr;
	struct diag diag;
	struct stream *s;
	uint64_t start;
	int fd = bound(&addr, "127.0.0.1"), filler[4];

	cr_assert_eq(listen(fd, 0), 0);
	for (int i = 0; i < 4; i++) { /* a full backlog drops further requests */
		filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(filler[i], (struct sockaddr *)&addr.ss, addr.len);
	}
	start = loop_clock();
	cr_assert_eq(stream_dial(&s, loop, &(struct stream_dial){ .dst = addr, .timeout_ms = 120 },
			     &events, &e, &diag),
		0);
	wait_for(loop, &e.down);
	diag_says(&s->why, DIAG_TIMEOUT, "", "connect no_answer 120_ms");
	cr_assert(loop_clock() - start >= 120000000);
	stream_free(s);
	loop_free(loop);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
	close(fd);
}

static void add_host(struct addr *addr, const char *host)
{
	struct addr other;

	cr_assert_eq(addr_resolve(&other, host, 0, 1000, NULL), 0);
	cr_assert(addr_add(addr, (const struct sockaddr *)&other.ss));
}

/* The port of a listener at 127.0.0.1, of a name whose other addresses come first. */
static struct addr several(const struct addr *listener, const char *first, const char *second)
{
	struct addr addr;

	cr_assert_eq(addr_resolve(&addr, first, addr_port(listener), 1000, NULL), 0);
	add_host(&addr, second);
	add_host(&addr, "127.0.0.1");
	return addr;
}

Test(tcp, the_first_address_that_answers)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr at, to;
	char text[ADDR_TEXT], expected_text[ADDR_TEXT];
	int fd = listening(&at), other;
	struct stream *s;

	to = several(&at, "::1", "127.0.0.2");
	s = dial(loop, &to, &e);
	wait_for(loop, &e.up);
	cr_assert_str_eq(addr_text(&s->peer, text), addr_text(&at, expected_text));
	cr_assert_eq(s->peer.others, 0);
	text_says(s->route, expected_text);
	other = accept(fd, NULL, NULL);
	cr_assert(other >= 0);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert(accept(fd, NULL, NULL) < 0, "one connection only");
	stream_free(s);
	loop_free(loop);
	close(other);
	close(fd);
}

/* Its turn comes while the first one still may answer. */
Test(tcp, an_address_behind_a_silent_one)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr at, mute = { 0 }, to;
	int fd = listening(&at), silent, filler[4];
	struct stream *s;

	cr_assert_eq(addr_resolve(&mute, "127.0.0.2", addr_port(&at), 1000, NULL), 0);
	silent = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(silent, (struct sockaddr *)&mute.ss, mute.len), 0);
	cr_assert_eq(listen(silent, 0), 0);
	for (int i = 0; i < 4; i++) {
		filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(filler[i], (struct sockaddr *)&mute.ss, mute.len);
	}
	to = several(&at, "127.0.0.2", "127.0.0.3");
	s = dial(loop, &to, &e);
	wait_for(loop, &e.up);
	cr_assert_eq(e.down, 0);
	stream_free(s);
	s = dial(loop, &to, &e); /* ended by its owner while it connects */
	stream_close(s);
	wait_for(loop, &e.down);
	cr_assert(e.up == 1 && !s->why.err);
	stream_free(s);
	loop_free(loop);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
	close(silent);
	close(fd);
}

Test(tcp, no_address_answers)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr at, to;
	char expected_text[ADDR_TEXT * 3];
	int fd = bound(&at, "127.0.0.1");
	struct stream *s;

	to = several(&at, "::1", "127.0.0.2");
	s = dial(loop, &to, &e);
	cr_assert_eq(e.down, 0);
	wait_for(loop, &e.down);
	snprintf(expected_text, sizeof(expected_text), "[::1]:%u, 127.0.0.2:%u, 127.0.0.1:%u",
		addr_port(&at), addr_port(&at), addr_port(&at));
	diag_says(&s->why, DIAG_REFUSED, expected_text, "connection_refused");
	stream_free(s);
	loop_free(loop);
	close(fd);
}

/* A source fits the addresses of its own family only. */
Test(tcp, addresses_of_another_family_than_the_source)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr at, to;
	int fd = listening(&at);
	struct stream_dial how = { .timeout_ms = NO_LIMIT_MS };
	struct stream *s;

	how.dst = several(&at, "::1", "127.0.0.2");
	cr_assert_eq(addr_resolve(&how.src, "127.0.0.1", 0, 1000, NULL), 0);
	cr_assert_eq(stream_dial(&s, loop, &how, &events, &e, NULL), 0);
	wait_for(loop, &e.up);
	stream_free(s);
	to = how.dst;
	cr_assert(addr_next(&to) && addr_next(&to) && !addr_next(&to));
	cr_assert_eq(addr_port(&to), addr_port(&at));
	loop_free(loop);
	close(fd);
}

Test(tcp, a_reset_and_a_close_are_distinguished)
{
	for (int reset = 0; reset < 2; reset++) {
		struct loop *loop = loop_make();
		struct end e = { 0 };
		struct addr addr;
		int fd = listening(&addr), peer;
		struct stream *s = dial(loop, &addr, &e);

		wait_for(loop, &e.up);
		peer = accept(fd, NULL, NULL);
		if (reset)
			setsockopt(peer, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
				sizeof(struct linger));
		close(peer);
		wait_for(loop, &e.down);
		diag_says(&s->why, DIAG_CLOSED, "",
			reset ? "connection_reset peer" : "connection_closed peer");
		cr_assert_eq(stream_recv(s, &(struct iovec){ e.bytes, 1 }, 1), -ENOTCONN);
		stream_free(s);
		loop_free(loop);
		close(fd);
	}
}

Test(tcp, a_wrong_source_or_interface_fails_at_once)
{
	struct loop *loop = loop_make();
	struct stream_dial how = { .timeout_ms = 100, .iface = "no-such-if0" };
	struct end e = { 0 };
	struct diag diag;
	struct stream *s;
	int fd = listening(&how.dst);

	cr_assert_lt(stream_dial(&s, loop, &how, &events, &e, &diag), 0);
	diag_says(&diag, DIAG_NO_DEVICE, "", "interface 'no-such-if0'");
	how.iface = NULL;
	cr_assert_eq(addr_resolve(&how.src, "203.0.113.7", 0, 1000, NULL), 0);
	cr_assert_eq(stream_dial(&s, loop, &how, &events, &e, &diag), -EADDRNOTAVAIL);
	diag_says(&diag, DIAG_NOT_FOUND, "", "203.0.113.7 address_not_available");
	loop_free(loop);
	close(fd);
}

Test(tcp, the_source_address_is_used_and_shown)
{
	struct loop *loop = loop_make();
	struct stream_dial how = { .timeout_ms = NO_LIMIT_MS };
	struct end e = { 0 };
	struct addr seen = { .len = sizeof(seen.ss) };
	struct diag diag;
	struct stream *s;
	char text[ADDR_TEXT];
	int fd = listening(&how.dst), peer;

	cr_assert_eq(addr_resolve(&how.src, "127.0.0.77", 0, 1000, NULL), 0);
	cr_assert_eq(stream_dial(&s, loop, &how, &events, &e, &diag), 0, "%s", diag.text);
	wait_for(loop, &e.up);
	peer = accept(fd, (struct sockaddr *)&seen.ss, &seen.len);
	cr_assert_eq(strncmp(s->route, addr_text(&seen, text), strlen(text)), 0, "%s, %s", s->route,
		text);
	cr_assert(strstr(s->route, addr_text(&how.dst, text)), "%s", s->route);
	cr_assert_eq(strncmp(s->route, "127.0.0.77:", 11), 0, "%s", s->route);
	stream_free(s);
	loop_free(loop);
	close(peer);
	close(fd);
}

Test(tcp, what_is_queued_before_up_and_before_close_still_leaves)
{
	struct loop *loop = loop_make();
	struct stream_out early = { .iov = { { "early ", 6 } }, .niov = 1 },
			  in_callback = { .iov = { { "la", 2 }, { "te", 2 } }, .niov = 2 };
	struct end e = { .close_on_up = true, .say_on_up = &in_callback };
	struct addr addr;
	char text[16] = "";
	int fd = listening(&addr), peer;
	struct stream *s = dial(loop, &addr, &e);

	stream_send(s, &early);
	wait_for(loop, &e.down);
	cr_assert_eq(s->why.err, 0); /* closed by the owner */
	cr_assert_eq(e.up, 1);
	peer = accept(fd, NULL, NULL);
	cr_assert_eq(recv(peer, text, sizeof(text), MSG_WAITALL), 10);
	cr_assert_str_eq(text, "early late");
	stream_free(s);
	loop_free(loop);
	close(peer);
	close(fd);
}

/* What was only given to the kernel does not count, what it keeps of the peer's does. */
Test(tcp, what_the_peer_has_moved)
{
	static char much[1 << 20];
	struct loop *loop = loop_make();
	struct stream_out out = { .iov = { { much, sizeof(much) } }, .niov = 1 };
	struct end e = { .say_on_up = &out };
	struct addr addr;
	int fd = listening(&addr), peer, small = 4096;
	uint64_t before;
	struct stream *s;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	s = dial(loop, &addr, &e);
	wait_for(loop, &e.up);
	peer = accept(fd, NULL, NULL);
	do { /* until it moves no more */
		before = stream_progress(s);
		loop_wait(loop, &e.down, loop_clock() + 100000000);
	} while (!before || stream_progress(s) != before);
	cr_assert_lt(before, sizeof(much) / 2);
	cr_assert_eq(send(peer, much, 1000, 0), 1000);
	WAIT_UNTIL(stream_progress(s) >= before + 1000);
	for (size_t n = 0; n < sizeof(much) / 2;) {
		ssize_t got = recv(peer, much, sizeof(much), MSG_DONTWAIT);

		n += got > 0 ? (size_t)got : 0;
		loop_wait(loop, &e.down, loop_clock() + 1000000);
	}
	cr_assert_geq(stream_progress(s), sizeof(much) / 2);
	stream_free(s);
	loop_free(loop);
	close(peer);
	close(fd);
}

/* What a peer that does not read finds once it reads again: the last recv() there. */
static ssize_t delayed_read(void (*finish)(struct stream *))
{
	struct loop *loop = loop_make();
	size_t len = 4 << 20;
	char *data = calloc(1, len);
	struct stream_out out = { .iov = { { data, len } }, .niov = 1 };
	struct end e = { .say_on_up = &out };
	struct addr addr;
	int fd = bound(&addr, "127.0.0.1"), peer, small = 4096;
	struct stream *s;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	cr_assert_eq(listen(fd, 4), 0);
	s = dial(loop, &addr, &e);
	peer = accept(fd, NULL, NULL);
	wait_for(loop, &e.up);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + SECOND / 50);
	finish(s);
	wait_for(loop, &e.down);
	do
		got = recv(peer, data, len, 0);
	while (got > 0);
	got = got < 0 ? -errno : 0;
	stream_free(s);
	loop_free(loop);
	free(data);
	close(peer);
	close(fd);
	return got;
}

Test(tcp, what_a_reset_stream_had_queued_never_arrives)
{
	cr_assert_eq(delayed_read(stream_close), 0, "all that the socket had taken, then the end");
	cr_assert_eq(delayed_read(stream_reset), -ECONNRESET);
}

/* What a server has not read when its client resets the connection is not executed. */
Test(tcp, what_a_reset_client_had_sent_is_not_read)
{
	struct loop *loop = loop_make();
	struct end e = { 0 };
	struct addr addr;
	int fd = listening(&addr), client = socket(AF_INET, SOCK_STREAM, 0), server;
	struct pollfd watch = { .events = POLLIN };
	struct stream *s;

	cr_assert_eq(connect(client, (struct sockaddr *)&addr.ss, addr.len), 0);
	server = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
	cr_assert_eq(send(client, "write", 5, 0), 5);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
	close(client);
	watch.fd = server;
	WAIT_UNTIL(poll(&watch, 1, -1) == 1 && watch.revents & POLLERR);
	cr_assert(watch.revents & POLLIN);
	cr_assert_eq(stream_accept(&s, loop, server, &addr, &events, &e, NULL), 0);
	wait_for(loop, &e.down);
	cr_assert_eq(e.got, 0);
	diag_says(&s->why, DIAG_CLOSED, "", "connection_reset peer");
	stream_free(s);
	loop_free(loop);
	close(fd);
}

Test(tcp, a_quiet_element_gives_no_sent)
{
	struct loop *loop = loop_make();
	struct stream_out loud = { .iov = { { "b", 1 } }, .niov = 1 }, quiet = {
		.next = &loud, .iov = { { "a", 1 } }, .niov = 1, .unsignaled = true
	};
	struct end e = { 0 };
	struct addr addr;
	char text[3] = "";
	int fd = listening(&addr), peer;
	struct stream *s = dial(loop, &addr, &e);

	wait_for(loop, &e.up);
	peer = accept(fd, NULL, NULL);
	stream_send(s, &quiet);
	wait_for(loop, (volatile int *)&e.sent);
	cr_assert_eq(recv(peer, text, 2, MSG_WAITALL), 2);
	cr_assert_str_eq(text, "ab");
	cr_assert_eq(e.sent, 1);
	cr_assert_eq(e.last, &loud);
	stream_free(s);
	loop_free(loop);
	close(peer);
	close(fd);
}

Test(tcp, after_free_there_is_no_upcall)
{
	struct loop *loop = loop_make();
	struct stream_out out = { .iov = { { "x", 1 } }, .niov = 1 };
	struct end e = { 0 };
	struct addr addr;
	volatile int never = 0;
	int fd = listening(&addr);
	struct stream *s = dial(loop, &addr, &e);

	stream_free(s);
	s = dial(loop, &addr, &e);
	wait_for(loop, &e.up);
	stream_send(s, &out);
	stream_close(s);
	stream_free(s);
	loop_wait(loop, &never, loop_clock() + 20000000);
	cr_assert_eq(e.up, 1);
	cr_assert_eq(e.down, 0);
	cr_assert_eq(e.sent, 0);
	loop_free(loop);
	close(fd);
}

/* An echo through a peer with small buffers that reads in odd pieces, so that every send is partial
 * sooner or later. */
#define TOTAL  (10u << 20)
#define PIECES 37

struct echo {
	struct stream_out out[PIECES];
	bool busy[PIECES];
	uint8_t *data, *back;
	size_t queued, gone, got;
	unsigned sends;
	struct stream_out *expected; /* `sent` comes in order */
	volatile int done, up;
};

static void *echo_peer(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);
	static uint8_t buf[70001];
	ssize_t n;

	for (size_t size = 1; (n = read(fd, buf, size)) > 0; size = size * 3 % sizeof(buf) + 1)
		for (ssize_t done = 0, w; done < n; done += w)
			if ((w = write(fd, buf + done, (size_t)(n - done))) <= 0)
				return NULL;
	close(fd);
	return NULL;
}

static void echo_feed(struct stream *s)
{
	struct echo *echo = s->user;
	struct stream_out *chain = NULL, **end = &chain;

	for (unsigned i = 0; i < PIECES && echo->queued < TOTAL; i++) {
		unsigned at = echo->sends % PIECES;
		struct stream_out *out = &echo->out[at];
		if (echo->busy[at])
			break;
		*out = (struct stream_out){ .niov = STREAM_IOV };
		for (unsigned k = 0; k < STREAM_IOV; k++) {
			size_t len = (echo->sends * 7919 + k * 104729) % 9001,
			       left = TOTAL - echo->queued;
			len = len < left ? len : left;
			out->iov[k] = (struct iovec){ echo->data + echo->queued, len };
			echo->queued += len;
		}
		echo->busy[at] = true;
		echo->sends++;
		*end = out;
		end = &out->next;
	}
	stream_send(s, chain);
}

static void echo_up(struct stream *s)
{
	struct echo *echo = s->user;
	echo->up = 1;
	echo_feed(s);
}

static void echo_sent(struct stream *s, struct stream_out *out)
{
	struct echo *echo = s->user;

	cr_assert_eq(out, echo->expected);
	echo->busy[out - echo->out] = false;
	echo->expected = &echo->out[(out - echo->out + 1) % PIECES];
	for (unsigned k = 0; k < STREAM_IOV; k++)
		echo->gone += out->iov[k].iov_len;
	echo_feed(s);
}

static void echo_readable(struct stream *s)
{
	struct echo *echo = s->user;
	ssize_t n;

	do {
		size_t half = (TOTAL - echo->got) / 2;
		struct iovec iov[2] = { { echo->back + echo->got, half },
			{ echo->back + echo->got + half, TOTAL - echo->got - half } };
		n = stream_recv(s, iov, 2);
		cr_assert(n >= 0, "%s", s->why.text);
		echo->got += (size_t)n;
	} while (n > 0 && echo->got < TOTAL);
	if (echo->got == TOTAL)
		echo->done = 1;
}

static void echo_down(struct stream *s)
{
	cr_assert_eq(s->why.err, 0, "%s", s->why.text);
	((struct echo *)s->user)->done = 2;
}

static void echo_run(const char *host)
{
	static const struct stream_events echo_events = { echo_up, echo_readable, echo_sent,
		echo_down };
	struct loop *loop = loop_make();
	struct echo echo = {
		.data = malloc(TOTAL), .back = malloc(TOTAL), .expected = &echo.out[0]
	};
	struct addr addr;
	struct diag diag;
	struct stream *s;
	pthread_t peer;
	int fd = bound(&addr, host), small = 8192;
	uint32_t x = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	cr_assert_eq(listen(fd, 1), 0);
	for (size_t i = 0; i < TOTAL; i++) {
		x = x * 1664525 + 1013904223;
		echo.data[i] = (uint8_t)(x >> 24);
	}
	pthread_create(&peer, NULL, echo_peer, &fd);
	cr_assert_eq(stream_dial(&s, loop,
			     &(struct stream_dial){ .dst = addr, .timeout_ms = NO_LIMIT_MS },
			     &echo_events, &echo, &diag),
		0);
	loop_wait(loop, &echo.done, 0);
	cr_assert_eq(memcmp(echo.data, echo.back, TOTAL), 0);
	cr_assert_eq(echo.gone, TOTAL);
	echo.done = 0;
	stream_close(s);
	wait_for(loop, &echo.done);
	pthread_join(peer, NULL);
	stream_free(s);
	loop_free(loop);
	close(fd);
	free(echo.data);
	free(echo.back);
}

Test(tcp, ten_megabytes_come_back_whole_through_small_buffers)
{
	echo_run("127.0.0.1");
}

Test(tcp, ipv6_too)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)))
		cr_skip_test("this machine has no IPv6");
	close(fd);
	echo_run("::1");
}

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	cr_assert_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

Test(tcp, a_vanished_peer_is_noticed_within_a_minute)
{
	struct addr addr = { 0 };
	struct diag diag;
	int listener = bound(&addr, "127.0.0.1"), fd;

	cr_assert_eq(tcp_socket(&fd, &(struct stream_dial){ .dst = addr }, &diag), 0);
	cr_assert_eq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_assert_eq(option(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
			     option(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
				     option(fd, IPPROTO_TCP, TCP_KEEPCNT),
		60);
	cr_assert_eq(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0,
		"a peer that only does not read is alive");
	close(listener);
	close(fd);
}
