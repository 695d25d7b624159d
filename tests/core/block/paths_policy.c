/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which of several paths a request takes: policy= and preferred=, with paths that refuse requests,
 * are slow, are lost and come back. */
/* Link: leap */
#include "flaky_rig.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

static void reads(struct rig *rig, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(rig_io(rig, IO_READ), 0);
}

/* Reads of each way since the last call. */
static void have_read(struct rig *rig, unsigned a, unsigned b, unsigned c)
{
	const unsigned expected[] = { a, b, c };

	for (unsigned i = 0; i < 3; i++) {
		unsigned done = atomic_exchange(&rig->way[i].done[IO_READ], 0);

		cr_assert_eq(done, expected[i], "way %u: %u reads, not %u", i, done, expected[i]);
	}
}

Test(paths_policy, failover_takes_the_order_of_the_uri)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&path=c&policy=failover");
	reads(&rig, 10);
	have_read(&rig, 10, 0, 0);
	atomic_store(&rig.way[0].refuse, 1000000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	reads(&rig, 10);
	have_read(&rig, 0, 10, 0);
	rig_fini(&rig);
}

/* 0 is the protocol's own time. */
Test(paths_policy, silence_is_shorter_with_several_paths)
{
	static const struct {
		const char *uri;
		uint32_t a_ms, b_ms;
	} rows[] = {
		{ "flaky://a/", 0, 0 },
		{ "flaky://a/?detect=3", 3000, 0 },
		{ "flaky://a/?path=b", BDEV_DETECT_MS, BDEV_DETECT_MS },
		{ "flaky://a/?path=b&detect=0.3", 300, 300 },
		{ "flaky://a/?path=flaky://b/?detect=2.5", BDEV_DETECT_MS, 2500 },
	};
	struct rig rig;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_init(&rig);
		rig_open(&rig, rows[i].uri);
		cr_assert_eq(rig.way[0].detect_ms, rows[i].a_ms, "%s", rows[i].uri);
		cr_assert_eq(rig.way[1].detect_ms, rows[i].b_ms, "%s", rows[i].uri);
		rig_fini(&rig);
	}
}

Test(paths_policy, a_lost_path_is_tried_twice_a_second_beside_another)
{
	struct rig rig;
	unsigned before;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[0].refuse, 1000000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 5000);
	before = atomic_load(&rig.way[0].attempts);
	rig_turn_for(&rig, 10000);
	cr_assert_geq(atomic_load(&rig.way[0].attempts) - before, 10000 / 625);
	rig_fini(&rig);
}

Test(paths_policy, a_path_to_another_disk_is_tried_every_few_seconds)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[1].id.nguid[3] = 8;
	rig_open(&rig, "flaky://a/?path=b");
	rig_turn_for(&rig, 60000);
	cr_assert_leq(atomic_load(&rig.way[1].attempts), 25);
	rig_fini(&rig);
}

Test(paths_policy, preferred_is_taken_first_and_returned_to)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&path=c&preferred=c");
	reads(&rig, 10);
	have_read(&rig, 0, 0, 10);
	rig_assert_fact(&rig, "path 1", "flaky://c/ up");
	atomic_store(&rig.way[2].refuse, 1);
	cr_assert(flaky_kill(&rig.way[2]));
	rig_turn_for(&rig, 20);
	reads(&rig, 10);
	have_read(&rig, 10, 0, 0);
	rig_turn_for(&rig, 1000);
	reads(&rig, 10);
	have_read(&rig, 0, 0, 10);
	rig_fini(&rig);
}

/* A path that is lost again and again before it is steady carries nothing. */
Test(paths_policy, an_unsteady_path_is_not_returned_to)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	for (unsigned i = 0; i < 10; i++) {
		while (!flaky_kill(&rig.way[0]))
			rig_turn_for(&rig, 50);
		rig_turn_for(&rig, 400);
		reads(&rig, 1);
	}
	have_read(&rig, 0, 10, 0);
	rig_turn_for(&rig, 10000);
	reads(&rig, 1);
	have_read(&rig, 1, 0, 0);
	rig_fini(&rig);
}

Test(paths_policy, round_robin_uses_all_alike)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&path=c&policy=round-robin");
	rig_turn_for(&rig, 100);
	reads(&rig, 30);
	have_read(&rig, 10, 10, 10);
	atomic_store(&rig.way[1].refuse, 1);
	cr_assert(flaky_kill(&rig.way[1]));
	rig_turn_for(&rig, 20);
	reads(&rig, 10);
	have_read(&rig, 5, 0, 5);
	rig_turn_for(&rig, 1000);
	reads(&rig, 30);
	have_read(&rig, 10, 10, 10);
	rig_fini(&rig);
}

Test(paths_policy, round_robin_leaves_out_a_path_that_refuses)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&policy=round-robin");
	rig_turn_for(&rig, 100);
	atomic_store(&rig.way[1].io_refuse_detail, BDEV_RETRY | BDEV_OTHER_PATH);
	atomic_store(&rig.way[1].io_refuse, 1000);
	reads(&rig, 20);
	have_read(&rig, 20, 0, 0);
	cr_assert_eq(atomic_load(&rig.way[1].io_refused), 1, "not with each request");
	atomic_store(&rig.way[1].io_refuse, 0);
	rig_turn_for(&rig, 1000);
	reads(&rig, 20);
	have_read(&rig, 10, 10, 0);
	rig_fini(&rig);
}

Test(paths_policy, queue_depth_leaves_out_a_path_that_is_slow)
{
	struct req stuck[3];
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&policy=queue-depth");
	rig_turn_for(&rig, 100);
	atomic_store(&rig.way[0].hold, true);
	for (unsigned i = 0; i < 3; i++) {
		req_submit(&rig, &stuck[i], IO_READ, i);
		rig_turn_for(&rig, 5);
	}
	reads(&rig, 10);
	cr_assert_eq(stuck[0].over + stuck[1].over + stuck[2].over, 2, "one of them is held");
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_READ]), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_READ]), 12);
	atomic_store(&rig.way[0].hold, false);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(req_wait(&rig, &stuck[i], 5000));
	atomic_store(&rig.way[0].done[IO_READ], 0);
	atomic_store(&rig.way[1].done[IO_READ], 0);
	reads(&rig, 20);
	have_read(&rig, 10, 10, 0);
	rig_fini(&rig);
}

Test(paths_policy, bad_values_are_named)
{
	rig_assert_usage("flaky://a/?path=b&policy=best", "policy='best' round-robin");
	rig_assert_usage("flaky://a/?path=b&policy=", "policy=''");
	rig_assert_usage("flaky://a/?path=b&preferred=c", "preferred='c' path=");
	rig_assert_usage("flaky://a/?preferred=a", "preferred='a' path=");
	rig_assert_usage(
		"flaky://a/?path=b&policy=round-robin&preferred=b", "preferred= round-robin");
}

static void path_has(struct rig *rig, unsigned i, enum bdev_path_state state, uint64_t requests)
{
	struct bdev_path path;

	cr_assert(bdev_path(rig->bdev, i, &path));
	cr_assert_eq(path.state, state, "path %u", i);
	cr_assert_eq(path.requests, requests, "path %u: %llu requests, not %llu", i,
		(unsigned long long)path.requests, (unsigned long long)requests);
}

/* Of all lanes, with those that have left, and over the loss of a path. */
Test(paths_policy, requests_are_counted_by_path)
{
	struct lane *other;
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&policy=round-robin");
	reads(&rig, 10);
	path_has(&rig, 1, BDEV_PATH_UP, 5);
	path_has(&rig, 2, BDEV_PATH_UP, 5);
	cr_assert_eq(lane_open(&other, rig.bdev, rig.loop, NULL), 0);
	path_has(&rig, 1, BDEV_PATH_UP, 5);
	atomic_store(&rig.way[0].refuse, 1000000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	reads(&rig, 3);
	path_has(&rig, 1, BDEV_PATH_LOST, 5);
	path_has(&rig, 2, BDEV_PATH_UP, 8);
	lane_close(rig.lane);
	path_has(&rig, 1, BDEV_PATH_LOST, 5);
	path_has(&rig, 2, BDEV_PATH_UP, 8);
	rig.lane = other;
	cr_assert_eq(lane_map(rig.lane, rig.pool, NULL), 0);
	reads(&rig, 1);
	path_has(&rig, 2, BDEV_PATH_UP, 9);
	rig_fini(&rig);
}

Test(paths_policy, what_is_known_of_a_disk_and_its_paths)
{
	struct bdev_path path;
	struct rig rig;

	rig_init(&rig);
	rig.way[1].group = 7;
	rig.way[1].access = BDEV_ACCESS_NON_OPTIMIZED;
	rig_open(&rig, "flaky://a/?path=b&preferred=b");
	cr_assert(bdev_path(rig.bdev, 0, &path));
	cr_assert_str_eq(path.policy, "failover");
	cr_assert(bdev_path(rig.bdev, 1, &path));
	cr_assert_str_eq(path.uri, "flaky://b/");
	cr_assert(path.preferred);
	cr_assert_str_eq(path.access, "non-optimized");
	cr_assert_eq(path.group, 7);
	cr_assert_eq(path.retry_ns, 0);
	cr_assert_null(path.policy);
	atomic_store(&rig.way[0].refuse, 1000000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 5000);
	cr_assert(bdev_path(rig.bdev, 2, &path));
	cr_assert_not(path.preferred);
	cr_assert_null(path.access, "of a path that is lost");
	cr_assert_gt(path.retry_ns, loop_clock() - 1000 * MSEC);
	cr_assert_leq(path.retry_ns, loop_clock() + 1000 * MSEC);
	rig_fini(&rig);
	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	cr_assert(bdev_path(rig.bdev, 0, &path));
	cr_assert_null(path.policy, "of the only path");
	cr_assert(bdev_path(rig.bdev, 1, &path));
	cr_assert_not(path.preferred);
	rig_fini(&rig);
}
