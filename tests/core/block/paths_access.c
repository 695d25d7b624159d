/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Access states that targets report of paths: which path carries requests then, what waits, for how
 * long, and what is reported. */
/* Link: leap */
#include "flaky_rig.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

#define OPTIMIZED     BDEV_ACCESS_OPTIMIZED
#define NON_OPTIMIZED BDEV_ACCESS_NON_OPTIMIZED
#define CHANGING      BDEV_ACCESS_CHANGING
#define CLOSED        BDEV_ACCESS_CLOSED

static char lines[4096];

static void report(struct bdev *bdev, bool bad, const char *line)
{
	size_t at = strlen(lines);

	(void)bdev;
	snprintf(lines + at, sizeof(lines) - at, "%s%s\n", bad ? "! " : "", line);
}

static void open_disk(struct rig *rig, const char *uri)
{
	lines[0] = 0;
	rig_open(rig, uri);
	rig->bdev->report = report;
	rig_turn_for(rig, 100);
}

static void access_is(struct rig *rig, unsigned way, enum bdev_access access)
{
	flaky_access(&rig->way[way], access);
	rig_turn_for(rig, 5);
}

/* Reads, and how many of them each way has carried. */
static void spread(struct rig *rig, unsigned a, unsigned b, unsigned c)
{
	const unsigned expected[] = { a, b, c };

	for (unsigned i = 0; i < 3; i++)
		atomic_store(&rig->way[i].done[IO_READ], 0);
	for (unsigned i = 0; i < a + b + c; i++)
		cr_assert_eq(rig_io(rig, IO_READ), 0);
	for (unsigned i = 0; i < 3; i++) {
		unsigned done = atomic_load(&rig->way[i].done[IO_READ]);

		cr_assert_eq(done, expected[i], "way %u: %u reads, not %u", i, done, expected[i]);
	}
}

Test(paths_access, failover_takes_the_best_access_first)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[0].access = NON_OPTIMIZED;
	open_disk(&rig, "flaky://a/?path=b&path=c&preferred=c");
	spread(&rig, 0, 0, 10);
	access_is(&rig, 2, NON_OPTIMIZED);
	spread(&rig, 0, 10, 0);
	access_is(&rig, 1, CLOSED);
	spread(&rig, 0, 0, 10); /* preferred= within the class */
	access_is(&rig, 2, CHANGING);
	spread(&rig, 10, 0, 0);
	access_is(&rig, 0, OPTIMIZED);
	spread(&rig, 10, 0, 0);
	access_is(&rig, 2, OPTIMIZED);
	spread(&rig, 0, 0, 10);
	text_says(lines, "b/ access_state closed 1_other_path");
	cr_assert_null(strstr(lines, "restored"));
	rig_fini(&rig);
}

static void prefer(struct rig *rig, unsigned way, bool preferred)
{
	rig->way[way].preferred = preferred;
	access_is(rig, way, (enum bdev_access)rig->way[way].access);
}

Test(paths_access, failover_takes_the_preferred_one_of_the_best_class)
{
	struct bdev_path path;
	struct rig rig;

	rig_init(&rig);
	rig.way[1].preferred = true;
	open_disk(&rig, "flaky://a/?path=b&path=c");
	spread(&rig, 0, 10, 0);
	cr_assert(bdev_path(rig.bdev, 2, &path));
	cr_assert(path.preferred);
	rig_assert_fact(&rig, "path 2", "up, optimized, preferred");
	access_is(&rig, 1, NON_OPTIMIZED);
	spread(&rig, 10, 0, 0); /* the access comes first */
	access_is(&rig, 1, OPTIMIZED);
	spread(&rig, 0, 10, 0);
	lines[0] = 0;
	prefer(&rig, 1, false);
	spread(&rig, 10, 0, 0);
	cr_assert_null(strstr(lines, "preferred"));
	prefer(&rig, 2, true);
	spread(&rig, 0, 0, 10);
	text_says(lines, "c/ access_state optimized,_preferred");
	prefer(&rig, 0, true);
	spread(&rig, 10, 0, 0); /* of several the first one */
	rig_fini(&rig);
}

/* preferred= is the user's word, and policies that use all paths use all. */
Test(paths_access, what_the_target_prefers_does_not_always_count)
{
	struct bdev_path path;
	struct rig rig;

	rig_init(&rig);
	rig.way[1].preferred = true;
	open_disk(&rig, "flaky://a/?path=b&path=c&preferred=c");
	spread(&rig, 0, 0, 10);
	for (unsigned i = 1; i <= 3; i++) {
		cr_assert(bdev_path(rig.bdev, i, &path));
		cr_assert_eq(path.preferred, i == 1);
	}
	access_is(&rig, 2, CLOSED);
	spread(&rig, 10, 0, 0);
	rig_fini(&rig);
	rig_init(&rig);
	rig.way[1].preferred = true;
	open_disk(&rig, "flaky://a/?path=b&path=c&policy=round-robin");
	spread(&rig, 5, 5, 5);
	rig_fini(&rig);
}

/* Not only once it has been up for a while. */
Test(paths_access, the_best_path_is_used_from_the_start)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[0].access = NON_OPTIMIZED;
	rig.way[1].lane_ms = 50;
	open_disk(&rig, "flaky://a/?path=b");
	spread(&rig, 0, 10, 0);
	rig_fini(&rig);
}

Test(paths_access, policies_spread_over_the_best_class)
{
	static const char *const policies[] = { "round-robin", "queue-depth" };

	for (unsigned i = 0; i < 2; i++) {
		char uri[100];
		struct rig rig;

		rig_init(&rig);
		snprintf(uri, sizeof(uri), "flaky://a/?path=b&path=c&policy=%s", policies[i]);
		open_disk(&rig, uri);
		spread(&rig, 5, 5, 5);
		access_is(&rig, 1, NON_OPTIMIZED);
		spread(&rig, 5, 0, 5);
		access_is(&rig, 0, CLOSED);
		spread(&rig, 0, 0, 10);
		access_is(&rig, 2, CHANGING);
		spread(&rig, 0, 10, 0);
		access_is(&rig, 0, NON_OPTIMIZED);
		spread(&rig, 5, 5, 0);
		rig_fini(&rig);
	}
}

/* The first request that is refused may come before the report of the state. */
Test(paths_access, a_refused_request_goes_to_a_worse_path_at_once_and_returns)
{
	struct rig rig;
	struct req req;
	uint64_t start;

	rig_init(&rig);
	rig.way[1].access = NON_OPTIMIZED;
	open_disk(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[0].io_refuse_detail, BDEV_OTHER_PATH);
	atomic_store(&rig.way[0].io_refuse, 1);
	start = loop_clock();
	req_submit(&rig, &req, IO_WRITE, 0);
	cr_assert(req_wait(&rig, &req, 1000));
	cr_assert_eq(req.io.status, 0);
	cr_assert_lt(req.done_ns - start, 50 * MSEC, "not after a pause");
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1);
	spread(&rig, 0, 10, 0);
	rig_turn_for(&rig, 1100);
	spread(&rig, 10, 0, 0);
	rig_fini(&rig);
}

Test(paths_access, without_a_usable_path_requests_wait_for_the_loss_policy)
{
	struct rig rig;
	struct req req;
	uint64_t start;

	rig_init(&rig);
	open_disk(&rig, "flaky://a/?path=b&loss=20");
	access_is(&rig, 0, CLOSED);
	start = loop_clock();
	access_is(&rig, 1, CLOSED);
	text_says(lines, "! flaky://b/: access_state closed requests_wait_up_to_20_s");
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 10000);
	cr_assert_not(req.over);
	access_is(&rig, 0, NON_OPTIMIZED);
	cr_assert(req_wait(&rig, &req, 100));
	cr_assert_eq(req.io.status, 0);
	text_says(lines, "flaky://a/ access_state non-optimized after_10");
	cr_assert_eq(rig.bdev->why.err, 0);

	start = loop_clock();
	access_is(&rig, 0, CLOSED);
	req_submit(&rig, &req, IO_WRITE, 0);
	cr_assert(req_wait(&rig, &req, 30000));
	cr_assert_eq(req.io.status, -EHOSTUNREACH);
	cr_assert_geq(req.done_ns - start, 20000 * MSEC);
	cr_assert_lt(req.done_ns - start, 20500 * MSEC);
	diag_says(&rig.bdev->why, DIAG_UNREACHABLE, "flaky://a/?path=b&loss=20",
		"access_state closed");
	cr_assert_eq(rig_io(&rig, IO_READ), -EHOSTUNREACH, "the wait is over");
	access_is(&rig, 1, OPTIMIZED);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	rig_fini(&rig);
}

/* Whatever the loss policy. */
Test(paths_access, requests_wait_while_access_is_changing)
{
	struct rig rig;
	struct req req;
	uint64_t start;

	rig_init(&rig);
	rig.way[0].changing_ms = 8000;
	open_disk(&rig, "flaky://a/?loss=fail-fast");
	start = loop_clock();
	access_is(&rig, 0, CHANGING);
	text_says(lines, "requests_wait_up_to_8_s");
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 5000);
	cr_assert_not(req.over);
	access_is(&rig, 0, OPTIMIZED);
	cr_assert(req_wait(&rig, &req, 100));
	cr_assert_eq(req.io.status, 0);

	start = loop_clock();
	access_is(&rig, 0, CHANGING);
	req_submit(&rig, &req, IO_WRITE, 0);
	cr_assert(req_wait(&rig, &req, 30000));
	cr_assert_eq(req.io.status, -EHOSTUNREACH);
	cr_assert_geq(req.done_ns - start, 8000 * MSEC);
	cr_assert_lt(req.done_ns - start, 8500 * MSEC);
	access_is(&rig, 0, OPTIMIZED);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);

	access_is(&rig, 0, CHANGING);
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 1000);
	cr_assert_not(req.over);
	access_is(&rig, 0, CLOSED); /* nothing to wait for any more */
	cr_assert(req_wait(&rig, &req, 100));
	cr_assert_eq(req.io.status, -EHOSTUNREACH);
	rig_fini(&rig);
}

/* A closed path is kept open, but counts as no other path when one is lost. */
Test(paths_access, a_lost_path_beside_a_closed_one)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig.way[1].access = CLOSED;
	open_disk(&rig, "flaky://a/?path=b&loss=20");
	atomic_store(&rig.way[0].refuse, 1000000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 100);
	text_says(lines, "flaky://a/ connection_lost requests_wait");
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 5000);
	cr_assert_not(req.over);
	access_is(&rig, 1, OPTIMIZED);
	cr_assert(req_wait(&rig, &req, 100));
	cr_assert_eq(req.io.status, 0);
	access_is(&rig, 1, CLOSED);
	atomic_store(&rig.way[0].refuse, 0);
	rig_turn_for(&rig, 6000);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[1].attempts), 1);
	rig_fini(&rig);
}

Test(paths_access, a_disk_without_a_usable_path_opens_and_waits)
{
	struct bdev_path path;
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig.way[0].access = rig.way[1].access = CLOSED;
	open_disk(&rig, "flaky://a/?path=b");
	diag_says(&rig.bdev->why, DIAG_UNREACHABLE, "flaky://a/?path=b", "access_state closed");
	cr_assert(bdev_path(rig.bdev, 0, &path));
	cr_assert_eq(path.state, BDEV_PATH_LOST);
	cr_assert(bdev_path(rig.bdev, 2, &path));
	cr_assert_eq(path.state, BDEV_PATH_LOST);
	cr_assert_eq(path.reason, DIAG_UNREACHABLE);
	rig_assert_fact(&rig, "path 1", "up, closed");
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 3000);
	cr_assert_not(req.over);
	access_is(&rig, 1, NON_OPTIMIZED);
	cr_assert(req_wait(&rig, &req, 100));
	cr_assert_eq(req.io.status, 0);
	cr_assert(bdev_path(rig.bdev, 0, &path));
	cr_assert_eq(path.state, BDEV_PATH_UP);
	rig_assert_fact(&rig, "path 2", "up, non-optimized");
	rig_fini(&rig);
}

/* Requests in flight stay where they are: their target answers them. */
Test(paths_access, writes_go_on_while_states_switch)
{
	struct req req[8];
	struct rig rig;

	rig_init(&rig);
	rig.way[0].delay_us = rig.way[1].delay_us = 3000;
	open_disk(&rig, "flaky://a/?path=b&policy=round-robin");
	for (unsigned turn = 0; turn < 200; turn++) {
		for (unsigned i = 0; i < 8; i++)
			req_submit(&rig, &req[i], IO_WRITE, i);
		flaky_access(&rig.way[turn % 2], turn % 3 ? CLOSED : CHANGING);
		rig_turn_for(&rig, turn % 5);
		flaky_access(&rig.way[turn / 2 % 2], turn % 7 ? OPTIMIZED : NON_OPTIMIZED);
		flaky_access(&rig.way[!(turn / 2 % 2)], turn % 7 ? NON_OPTIMIZED : OPTIMIZED);
		for (unsigned i = 0; i < 8; i++) {
			cr_assert(req_wait(&rig, &req[i], 5000));
			cr_assert_eq(req[i].io.status, 0);
			cr_assert_eq(req[i].over, 1);
		}
	}
	cr_assert_eq(
		atomic_load(&rig.way[0].done[IO_WRITE]) + atomic_load(&rig.way[1].done[IO_WRITE]),
		1600);
	rig_fini(&rig);
}
