/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Streams with TLS over a socket whose buffers are small: backpressure, owners that stop reading,
 * another loop, and every way to end. */
#include "../../core/net/tls_conn.h"
#include "says.h"
#include "stream.h"
#include "tls.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY   "alice:000102030405060708090a0b0c0d0e0f\n"
#define OUTS  200
#define BYTES (3u << 20)

/* Turns of the loop until it holds. */
#define WAIT_LOOP(loop, holds)                                                                     \
	do {                                                                                       \
		while (!(holds))                                                                   \
			loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);                \
	} while (0)

enum { CLIENT, SERVER };
struct end {
	struct stream *stream;
	volatile int secured, down, sent;
	volatile size_t got;
	unsigned upcalls;
	bool lazy; /* reads little at a time, and stops now and then */
};
static struct end end[2];
static struct tls_creds *creds[2];
static struct loop *loop;
static struct stream_out out[OUTS];
static uint8_t data[BYTES], got[BYTES];
static const struct addr peer = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };

static void wait_for(struct loop *on, const volatile int *flag)
{
	cr_assert(loop_wait(on, flag, wait_limit()));
}

static void secured(struct stream *stream)
{
	((struct end *)stream->user)->secured = 1;
}

static void readable(struct stream *stream)
{
	struct end *e = stream->user;
	struct iovec iov = { got + e->got, BYTES - e->got };
	ssize_t n;

	e->upcalls++;
	if (!e->lazy) {
		while (iov.iov_len && (n = stream_recv(stream, &iov, 1)) > 0) {
			e->got += (size_t)n;
			iov = (struct iovec){ got + e->got, BYTES - e->got };
		}
		return;
	}
	iov.iov_len = iov.iov_len < 5000 ? iov.iov_len : 5000;
	n = iov.iov_len ? stream_recv(stream, &iov, 1) : 0;
	e->got += n > 0 ? (size_t)n : 0;
	if (e->upcalls % 5 == 0) {
		stream_set_interest(stream, STREAM_RDHUP);
		stream_set_interest(stream, STREAM_READ);
	}
}

static void sent(struct stream *stream, struct stream_out *o)
{
	struct end *e = stream->user;

	cr_assert_eq(o, &out[e->sent]);
	e->sent++;
}

static void down(struct stream *stream)
{
	((struct end *)stream->user)->down = 1;
}

static const struct stream_events events = {
	.readable = readable, .sent = sent, .down = down, .secured = secured
};

static struct tls_creds *keys(bool server, const char *text)
{
	char path[] = "/tmp/tcp-tls-XXXXXX";
	struct tls_files files = { .server = server, .psk_file = path, .user = "alice" };
	struct tls_creds *made;
	struct diag why = { 0 };
	int fd = mkstemp(path);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(tls_creds_new(&made, &files, &why), 0, "%s", why.text);
	close(fd);
	unlink(path);
	return made;
}

static void tcp_pair(int fd[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);

	cr_assert_eq(bind(listener, (void *)&at, len), 0);
	cr_assert_eq(listen(listener, 1), 0);
	getsockname(listener, (void *)&at, &len);
	fd[CLIENT] = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd[CLIENT], (void *)&at, len), 0);
	fd[SERVER] = accept(listener, NULL, NULL);
	close(listener);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(fcntl(fd[i], F_SETFL, O_NONBLOCK), 0);
}

static void begin_over(int fd[2], const char *client_key)
{
	struct diag why = { 0 };
	int size = 8192;

	loop_new(&loop, &(struct loop_options){ .name = "test" }, &why);
	for (unsigned i = 0; i < 2; i++) {
		struct stream_tls tls;

		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		creds[i] = keys(i, i ? KEY : client_key);
		tls = (struct stream_tls){ .creds = creds[i] };
		end[i] = (struct end){ 0 };
		cr_assert_eq(
			stream_accept(&end[i].stream, loop, fd[i], &peer, &events, &end[i], &why),
			0);
		cr_assert_eq(stream_start_tls(end[i].stream, &tls, &why), 0);
	}
}

static void begin(const char *client_key)
{
	int fd[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	begin_over(fd, client_key);
}

static void finish(void)
{
	for (unsigned i = 0; i < 2; i++) {
		if (end[i].stream)
			stream_free(end[i].stream);
		tls_creds_free(creds[i]);
	}
	loop_free(loop);
}

static void send_all(unsigned from)
{
	size_t at = 0, left;

	for (size_t i = 0; i < BYTES; i++)
		data[i] = (uint8_t)rand();
	for (unsigned i = 0; i < OUTS; i++) {
		left = i == OUTS - 1 ? BYTES - at : (size_t)rand() % (BYTES / OUTS);
		out[i] = (struct stream_out){ .niov = 2,
			.iov = { { data + at, left / 3 },
				{ data + at + left / 3, left - left / 3 } } };
		out[i].next = i == OUTS - 1 ? NULL : &out[i + 1];
		at += left;
	}
	stream_send(end[from].stream, out);
}

static void received(unsigned at)
{
	WAIT_LOOP(loop, end[at].got == BYTES);
	cr_assert(!memcmp(got, data, BYTES));
}

static void transfer(bool lazy)
{
	begin(KEY);
	send_all(CLIENT); /* what is queued waits for TLS */
	end[SERVER].lazy = lazy;
	received(SERVER);
	WAIT_LOOP(loop, end[CLIENT].sent == OUTS);
	cr_assert(end[CLIENT].secured && end[SERVER].secured);
	cr_assert(strstr(end[SERVER].stream->security, "alice"));
}

Test(tcp_tls, reader_that_drains)
{
	transfer(false);
	finish();
}

/* Data that TLS has taken from the socket causes upcalls as data in the socket does. */
Test(tcp_tls, reader_that_stops)
{
	transfer(true);
	cr_assert_geq(end[SERVER].upcalls, BYTES / 5000);
	finish();
}

Test(tcp_tls, continues_on_another_loop)
{
	struct stream_detached detached;
	struct diag why = { 0 };
	struct loop *other;

	begin(KEY);
	WAIT_LOOP(loop, end[CLIENT].secured && end[SERVER].secured);
	detached = stream_detach(end[CLIENT].stream);
	stream_free(end[SERVER].stream);
	end[SERVER].stream = NULL;
	loop_new(&other, &(struct loop_options){ .name = "other" }, &why);
	cr_assert_eq(stream_attach(&end[CLIENT].stream, other, &detached, &peer, &events,
			     &end[CLIENT], &why),
		0);
	wait_for(other, &end[CLIENT].down);
	diag_says(&end[CLIENT].stream->why, DIAG_CLOSED, "", "closed peer");
	stream_free(end[CLIENT].stream);
	end[CLIENT].stream = NULL;
	loop_free(other);
	finish();
}

struct watch {
	struct loop_timer timer;
	unsigned upcalls; /* until the timer, 0: it has not fired */
};

static void fired(struct loop_timer *timer)
{
	container_of(timer, struct watch, timer)->upcalls = end[SERVER].upcalls;
}

static void read_byte(struct stream *stream)
{
	struct end *e = stream->user;
	struct iovec iov = { got + e->got, 1 };
	ssize_t n = stream_recv(stream, &iov, 1);

	e->got += n > 0 ? (size_t)n : 0;
	e->upcalls++;
}

/* Upcalls for decrypted data are turns of the loop: other work comes between them. */
Test(tcp_tls, reader_of_bytes_leaves_time_for_others)
{
	static const struct stream_events bytes = { .readable = read_byte, .down = down };
	struct watch watch = { .timer.fire = fired };
	struct stream_out one = { .unsignaled = true, .niov = 1, .iov = { { data, 16000 } } };

	begin(KEY);
	WAIT_LOOP(loop, end[CLIENT].secured && end[SERVER].secured);
	end[SERVER].stream->ev = &bytes;
	stream_send(end[CLIENT].stream, &one);
	WAIT_LOOP(loop, end[SERVER].got);
	end[SERVER].upcalls = 0;
	loop_timer_set(loop, &watch.timer, loop_now(loop) + 2);
	WAIT_LOOP(loop, watch.upcalls || end[SERVER].got == 16000);
	cr_assert_lt(watch.upcalls, 100);
	cr_assert_lt(end[SERVER].got, 16000, "the timer waited for all of it");
	finish();
}

/* The other end as the test plays it: its socket and its keys. */
static struct stream_detached play(unsigned at)
{
	struct stream_detached played;

	WAIT_LOOP(loop, end[CLIENT].secured && end[SERVER].secured);
	played = stream_detach(end[at].stream);
	end[at].stream = NULL;
	return played;
}

/* A peer may wait for our close_notify before it closes its socket. */
Test(tcp_tls, the_end_behind_data_is_seen_without_that_of_the_socket)
{
	const struct iovec last = { (void *)(uintptr_t) "last", 4 };
	struct stream_detached client;
	struct diag why = { 0 };
	struct iovec bytes;

	begin(KEY);
	client = play(CLIENT);
	cr_assert_eq(tls_conn_put(client.tls, &last, 1, &why), 4);
	tls_conn_put_close(client.tls);
	bytes = tls_conn_pending(client.tls);
	cr_assert_eq(write(client.fd, bytes.iov_base, bytes.iov_len), (ssize_t)bytes.iov_len);
	wait_for(loop, &end[SERVER].down);
	cr_assert_eq(end[SERVER].got, 4);
	diag_says(&end[SERVER].stream->why, DIAG_CLOSED, "", "closed peer");
	tls_conn_free(client.tls);
	close(client.fd);
	finish();
}

/* What a client has sent must not arrive after it gave up the connection. */
Test(tcp_tls, a_client_that_gets_a_bad_record_resets)
{
	struct stream_detached server;
	uint8_t record[5 + 32] = { 23, 3, 3, 0, 32 };
	int fd[2];

	tcp_pair(fd);
	begin_over(fd, KEY);
	server = play(SERVER);
	cr_assert_eq(write(server.fd, record, sizeof(record)), (ssize_t)sizeof(record));
	wait_for(loop, &end[CLIENT].down);
	diag_says(&end[CLIENT].stream->why, DIAG_PROTOCOL, "", "failed authentication");
	cr_assert_eq(read(server.fd, record, 1), -1);
	cr_assert_eq(errno, ECONNRESET);
	tls_conn_free(server.tls);
	close(server.fd);
	finish();
}

static void ending(void (*finish_stream)(struct stream *))
{
	struct stream_out last = { .niov = 1, .iov = { { "last", 4 } } };

	begin(KEY);
	WAIT_LOOP(loop, end[CLIENT].secured && end[SERVER].secured);
	stream_send(end[CLIENT].stream, &last);
	if (finish_stream == stream_shutdown) {
		last.unsignaled = true;
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 20 * MSEC);
	}
	finish_stream(end[CLIENT].stream);
	wait_for(loop, &end[SERVER].down);
	cr_assert_eq(end[SERVER].got, 4);
	cr_assert_arr_eq(got, "last", 4);
	diag_says(&end[SERVER].stream->why, DIAG_CLOSED, "", "closed peer");
	finish();
}

Test(tcp_tls, what_was_queued_is_sent_before_the_end)
{
	ending(stream_close);
	ending(stream_shutdown);
}

Test(tcp_tls, wrong_key_ends_both)
{
	begin("alice:000102030405060708090a0b0c0d0eff\n");
	WAIT_LOOP(loop, end[CLIENT].down && end[SERVER].down);
	diag_says(&end[SERVER].stream->why, DIAG_AUTH, "", "wrong key 'alice'");
	diag_says(&end[CLIENT].stream->why, DIAG_AUTH, "", "server rejected wrong key");
	cr_assert(!end[CLIENT].secured && !end[SERVER].secured);
	finish();
}

Test(tcp_tls, peer_that_goes_during_the_handshake)
{
	begin(KEY);
	stream_free(end[CLIENT].stream);
	end[CLIENT].stream = NULL;
	wait_for(loop, &end[SERVER].down);
	diag_says(&end[SERVER].stream->why, DIAG_CLOSED, "", "closed peer handshake");
	finish();
}
