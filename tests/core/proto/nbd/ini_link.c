/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* When a connection to an NBD server counts as lost because TCP acknowledges nothing:
 * include/stream.h, in place of core/net/tcp.c. And when TLS begins. */
/* Link: leap */
#include "ini.h"
#include "leap.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct loop *loop;
static struct nbd_ini_link link;
static struct stream the_stream;
static bool unacknowledged;
static unsigned beats, probes, resets, secured;
static const char *served; /* what the server sends */
static size_t served_len;
static const char the_creds[1];

int stream_attach(struct stream **stream, struct loop *on, const struct stream_detached *from,
	const struct addr *peer, const struct stream_events *events, void *user, struct diag *diag)
{
	(void)from, (void)peer, (void)diag;
	the_stream = (struct stream){ .ev = events, .loop = on, .user = user };
	*stream = &the_stream;
	return 0;
}

void stream_probe(struct stream *stream, uint32_t idle_ms)
{
	cr_assert_eq(stream, &the_stream);
	cr_assert_eq(idle_ms, 1500);
	probes++;
}

bool stream_is_unacknowledged(struct stream *stream, uint32_t ms)
{
	cr_assert_eq(stream, &the_stream);
	cr_assert_eq(ms, 600);
	beats++;
	return unacknowledged;
}

void stream_reset(struct stream *stream)
{
	(void)stream;
	resets++;
}

int stream_dial(struct stream **stream, struct loop *on, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	(void)dial, (void)diag;
	the_stream = (struct stream){ .ev = events, .loop = on, .user = user };
	*stream = &the_stream;
	return 0;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	size_t len = served_len < iov->iov_len ? served_len : iov->iov_len;

	(void)stream, (void)count;
	memcpy(iov->iov_base, served, len);
	served += len;
	served_len -= len;
	return (ssize_t)len;
}

void stream_send(struct stream *stream, struct stream_out *out)
{
	stream->ev->sent(stream, out);
}

struct stream_detached stream_detach(struct stream *stream)
{
	(void)stream;
	return (struct stream_detached){ .fd = 7 };
}

int stream_start_tls(struct stream *stream, const struct stream_tls *with, struct diag *diag)
{
	(void)stream, (void)diag;
	cr_assert_eq((const void *)with->creds, the_creds);
	cr_assert_str_eq(with->hostname, "disk.example");
	secured++;
	return 0;
}

void stream_close(struct stream *stream)
{
	(void)stream;
}

void stream_free(struct stream *stream)
{
	(void)stream;
}

static void run_ms(uint32_t ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * MSEC);
}

static void begin(const struct nbd_ini_conf *conf)
{
	static const struct nbd_ini_link_events ev;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(nbd_ini_link_adopt(
			     &link, loop, conf, &(struct stream_detached){ .fd = 7 }, &ev, NULL),
		0);
}

static void end(void)
{
	nbd_ini_link_fini(&link);
	loop_free(loop);
}

static const struct nbd_ini_conf tcp = { .dst.ss.ss_family = AF_INET, .detect_ms = 3000 };

Test(nbd_ini_link, an_acknowledgement_in_time_keeps_it)
{
	begin(&tcp);
	cr_assert_eq(probes, 1);
	for (unsigned i = 0; i < 20; i++) {
		unacknowledged = true;
		run_ms(2400);
		unacknowledged = false;
		run_ms(600);
	}
	cr_assert_geq(beats, 90);
	cr_assert_eq(resets, 0);
	end();
}

Test(nbd_ini_link, silence_ends_it)
{
	begin(&tcp);
	unacknowledged = true;
	run_ms(2500);
	cr_assert_eq(resets, 0);
	run_ms(600);
	cr_assert_eq(resets, 1);
	cr_assert_eq(link.why.code, DIAG_TIMEOUT);
	run_ms(60000);
	cr_assert_eq(beats, 5);
	end();
}

Test(nbd_ini_link, its_owner_takes_it_over_without_beats)
{
	begin(&tcp);
	cr_assert_eq(nbd_ini_link_detach(&link).fd, 7);
	run_ms(60000);
	cr_assert_eq(beats, 0);
	end();
}

Test(nbd_ini_link, nobody_asks_without_a_time_or_on_a_unix_socket)
{
	static const struct nbd_ini_conf quiet[] = { { .dst.ss.ss_family = AF_INET },
		{ .dst.ss.ss_family = AF_UNIX, .detect_ms = 3000 } };

	for (unsigned i = 0; i < 2; i++) {
		begin(&quiet[i]);
		run_ms(60000);
		cr_assert_eq(beats + probes, 0);
		end();
	}
}

static void down(struct nbd_ini_link *ended)
{
	(void)ended;
}

/* The server's greeting, its answer to NBD_OPT_STARTTLS, and `more` bytes in clear. */
static void starts_tls(size_t more)
{
	static const struct nbd_ini_link_events ev = { .down = down };
	static const char bytes[] = "NBDMAGICIHAVEOPT\0\3\0\3\xe8\x89\4\x55\x65\xa9\0\0\0\5"
				    "\0\0\0\1\0\0\0\0more";
	struct nbd_ini_conf conf = { .dst.ss.ss_family = AF_INET,
		.tls = (struct tls_creds *)(uintptr_t)the_creds,
		.tls_hostname = "disk.example" };

	memset(&link, 0, sizeof(link));
	secured = 0;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(nbd_ini_link_dial(&link, loop, &conf, 0, &ev, NULL), 0);
	the_stream.state = STREAM_UP;
	the_stream.ev->up(&the_stream);
	served = bytes;
	served_len = 18;
	the_stream.ev->readable(&the_stream);
	served_len = 20 + more;
	the_stream.ev->readable(&the_stream);
	cr_assert_eq(secured, !more);
	if (more)
		diag_says(&link.why, DIAG_PROTOCOL, link.why.object, "data before TLS");
	end();
}

/* Bytes in clear behind the server's answer could be anyone's (CVE-2021-3716). */
Test(nbd_ini_link, nothing_is_taken_into_tls)
{
	starts_tls(0);
	starts_tls(1);
	starts_tls(4);
}
