/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* When a connection to an NBD server counts as lost because TCP acknowledges nothing:
 * include/stream.h, in place of core/net/tcp.c. */
/* Link: leap */
#include "ini.h"
#include "leap.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

static struct loop *loop;
static struct nbd_ini_link link;
static struct stream the_stream;
static bool unacknowledged;
static unsigned beats, probes, resets;

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
	(void)stream, (void)on, (void)dial, (void)events, (void)user, (void)diag;
	return -ENOTSUP;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	(void)stream, (void)iov, (void)count;
	return 0;
}

void stream_send(struct stream *stream, struct stream_out *out)
{
	(void)stream, (void)out;
}

struct stream_detached stream_detach(struct stream *stream)
{
	(void)stream;
	return (struct stream_detached){ .fd = 7 };
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
