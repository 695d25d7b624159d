/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks at hosts with names, by a resolver of the test's own: what a silent one costs, and when a
 * name is asked for again. */
/* Link: leap getaddrinfo freeaddrinfo */
#include "../fake/nvme_target.h"
#include "host.h"
#include "lookups.h"
#include "out.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MSEC 1000000ull

static struct tcp_target tt;
static struct bdev_env env = {
	.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2",
	.timeout_ms = 2000
};

static void begin(void)
{
	host_begin(0);
	target_init(&tt.target);
	tcp_target_start(&tt);
}

static void end(void)
{
	host_end();
	tcp_target_stop(&tt);
	target_fini(&tt.target);
}

static int attach(const char *scheme, const char *host, unsigned port)
{
	char text[200];

	snprintf(text, sizeof(text), "%s://%s:%u/%s", scheme, host, port,
		strcmp(scheme, "nbd") ? "t1/1" : "x");
	return host_attach(text, &env);
}

/* The attempts of paths 2 and 3 as their states tell, and whether one is going on. */
struct attempts {
	unsigned least, sum, lines;
	bool connecting;
};

static struct attempts attempts(struct bdev *bdev)
{
	struct attempts now = { .least = UINT32_MAX };
	unsigned number, count;
	char *text, *line, state[20];
	struct out out;
	size_t len;

	out_init(&out, "test", false);
	out.to = open_memstream(&text, &len);
	cr_assert(out.to);
	bdev->ops->facts(bdev, &out);
	fclose(out.to);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "path %u: %*[^,], %19[^,], %u attempt", &number, state, &count) ==
				3 &&
			number > 1) {
			now.lines++;
			now.sum += count;
			now.least = count < now.least ? count : now.least;
			now.connecting |= !strcmp(state, "connecting");
		}
	cr_assert_eq(now.lines, 2, "no lines of paths");
	free(text);
	return now;
}

/* Two more paths, each tried again and again, whose names get no answer: each attempt takes 200 ms.
 * Reads begin and end within attempts, and so do turns of the loop: neither waits for a name. */
Test(names, a_path_without_an_address_delays_nothing)
{
	struct attempts before, after = { 0 };
	struct pool *pool;
	struct buf buf;
	char text[400];
	const volatile int never = 0;
	unsigned within = 0;

	begin();
	names_hold("one.example", true);
	names_hold("two.example", true);
	snprintf(text, sizeof(text),
		"nvme+tcp://127.0.0.1:%u/t1/1?timeout=0.2&path=nvme%%2Btcp://one.example/t1/"
		"1%%3Ftimeout=0.2&path=nbd://two.example/x%%3Ftimeout=0.2",
		tt.port);
	cr_assert_eq(bdev_open(&disk, loop, text, &env, &why), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	while (after.least < 4 || within < 100) {
		loop_wait(loop, &never, loop_clock() + 5 * MSEC);
		before = attempts(disk);
		cr_assert_eq(host_io(IO_READ, 0, 0, 4096, &buf), 0);
		after = attempts(disk);
		within += before.connecting && after.connecting && before.sum == after.sum;
	}
	cr_assert_leq(names_most(), 2);
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

Test(names, the_time_of_an_attempt_covers_the_lookup)
{
	static const char *const prefixes[] = { "nvme+tcp", "nvme+rdma", "nbd" };

	begin();
	env.timeout_ms = 50;
	names_hold("mute.example", true);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t since = loop_clock();

		cr_assert_eq(
			attach(prefixes[i], "mute.example", tt.port), -ETIMEDOUT, "%s", why.text);
		diag_says(&why, DIAG_TIMEOUT, NULL, "mute.example");
		cr_assert_leq(loop_clock() - since, 60 * MSEC);
		host_hang_up();
	}
	end();
}

/* The lookup takes part of the timeout; the rest applies to the connection to a silent target. */
static void let_go(struct loop_timer *timer)
{
	(void)timer;
	names_hold("slow.example", false);
}

Test(names, the_time_of_an_attempt_covers_the_connection_too)
{
	static const char *const prefixes[] = { "nvme+tcp", "nbd" };

	tt.evil = EVIL_MUTE;
	begin();
	env.timeout_ms = 1600;
	names_set("slow.example", "127.0.0.1", 0);
	for (unsigned i = 0; i < 2; i++) {
		struct loop_timer timer = { .fire = let_go };
		uint64_t since = loop_clock();

		names_hold("slow.example", true);
		loop_timer_set(loop, &timer, since + 800 * MSEC);
		cr_assert_eq(
			attach(prefixes[i], "slow.example", tt.port), -ETIMEDOUT, "%s", why.text);
		cr_assert_lt(loop_clock() - since, 1700 * MSEC,
			"%s: the connection had the whole time once more", prefixes[i]);
		host_hang_up();
	}
	end();
}

Test(names, a_disk_by_name)
{
	begin();
	names_set("disk.example", "127.0.0.1", 0);
	cr_assert_eq(attach("nvme+tcp", "disk.example", tt.port), 0, "%s", why.text);
	host_open_lane();
	host_hang_up();
	cr_assert_eq(attach("nvme+tcp", "disk.example", tt.port), 0, "%s", why.text);
	cr_assert_eq(names_asked("disk.example"), 1, "the address is known");
	end();
}

/* Port 1 of this machine has no listener. */
Test(names, a_name_is_asked_for_again_when_nothing_answers_at_its_address)
{
	static const char *const prefixes[] = { "nvme+tcp", "nbd" };
	unsigned asked = 0;

	begin();
	names_set("disk.example", "127.0.0.2", 0);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(
			attach(prefixes[i / 2], "disk.example", 1), -ECONNREFUSED, "%s", why.text);
		host_hang_up();
		cr_assert_eq(names_asked("disk.example"), ++asked);
	}
	names_set("disk.example", NULL, EAI_AGAIN);
	cr_assert_eq(attach("nvme+tcp", "disk.example", 1), -ECONNREFUSED,
		"not the last address: %s", why.text);
	host_hang_up();
	names_set("disk.example", "127.0.0.1", 0);
	cr_assert_eq(attach("nvme+tcp", "disk.example", tt.port), 0, "%s", why.text);
	end();
}

/* Freed while the lookup lasts; what the thread finds later is no one's. */
Test(names, a_disk_can_be_left_while_its_name_is_looked_up)
{
	static const char *const prefixes[] = { "nvme+tcp", "nbd" };
	const volatile int never = 0;

	begin();
	names_set("slow.example", "127.0.0.1", 0);
	names_hold("slow.example", true);
	for (unsigned i = 0; i < 2; i++) {
		struct uri uri;
		char text[100];

		snprintf(text, sizeof(text), "%s://slow.example:%u/t1/1", prefixes[i], tt.port);
		cr_assert_eq(uri_parse(&uri, text, &why), 0);
		cr_assert_eq(
			bdev_start(&disk, loop, &uri, &env, NULL, NULL, &why), 0, "%s", why.text);
		cr_assert_eq(disk->state, BDEV_OPENING);
		host_hang_up();
	}
	names_hold("slow.example", false);
	loop_wait(loop, &never, loop_clock() + 50 * MSEC);
	end();
}
