/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lanes and pools over ways that come and go. */
/* Link: leap */
#include "flaky_rig.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, &flaky_exposed_proto.scheme, NULL };

Test(paths_join, pools_are_remembered_and_mapped_on_return)
{
	struct rig rig;
	struct pool *other;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 1);
	cr_assert_eq(lane_map(rig.lane, rig.pool, NULL), 0);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 1, "once is enough");
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 0);
	cr_assert_eq(pool_new(&other, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(rig.lane, other, NULL), 0);
	atomic_store(&rig.way[0].refuse, 0);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 2);
	lane_unmap(rig.lane, rig.pool);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 1);
	cr_assert_eq(lane_map(rig.lane, rig.pool, NULL), 0);
	lane_unmap(rig.lane, other);
	pool_free(other);
	rig_fini(&rig);
}

/* Turn the loop until it holds, for 10 seconds at most. */
#define until(rig, holds)                                                                          \
	for (uint64_t end_ = loop_clock() + 10000 * MSEC; !(holds) && loop_clock() < end_;)        \
	rig_turn_for(rig, 1)

Test(paths_join, a_way_that_cannot_map_is_left_with_its_reason)
{
	struct rig rig;
	struct pool *other;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(pool_new(&other, 4096, 1, NULL), 0);
	until(&rig, atomic_load(&rig.way[1].mapped));
	atomic_store(&rig.way[0].bad_map, true);
	cr_assert_eq(lane_map(rig.lane, other, &rig.diag), 0, "the other way takes it");
	until(&rig, atomic_load(&rig.way[0].attempts) == 2);
	rig_turn_for(&rig, 50);
	rig_assert_fact(&rig, "path 1", "flaky://a/?path=b up 2_attempt flaky_lane pool");
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_READ]), 1);
	atomic_store(&rig.way[1].bad_map, true);
	cr_assert(flaky_kill(&rig.way[1]));
	until(&rig, atomic_load(&rig.way[1].attempts) == 2);
	rig_turn_for(&rig, 300);
	cr_assert_eq(atomic_load(&rig.way[0].mapped) + atomic_load(&rig.way[1].mapped), 0);
	rig_assert_fact(&rig, "path 2", "flaky_lane pool");
	atomic_store(&rig.way[0].bad_map, false);
	atomic_store(&rig.way[1].bad_map, false);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	lane_unmap(rig.lane, other);
	pool_free(other);
	rig_fini(&rig);
}

Test(paths_join, map_fails_where_no_way_takes_the_pool)
{
	struct rig rig;
	struct pool *other;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(pool_new(&other, 4096, 1, NULL), 0);
	atomic_store(&rig.way[0].bad_map, true);
	atomic_store(&rig.way[1].bad_map, true);
	cr_assert_eq(lane_map(rig.lane, other, &rig.diag), -ENOMEM);
	diag_says(&rig.diag, DIAG_NO_MEMORY, "", "flaky_lane pool");
	cr_assert_eq(rig_io(&rig, IO_READ), 0, "both live on");
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1);
	pool_free(other);
	rig_fini(&rig);
}

Test(paths_join, a_lane_opened_in_an_outage_holds)
{
	struct rig rig;
	struct lane *lane;
	struct buf buf;
	struct io io = { .kind = IO_WRITE, .len = 512, .buf = &buf };

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	buf = pool_buf(rig.pool, 0);
	atomic_store(&rig.way[0].refuse, 2);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, &rig.diag), 0);
	cr_assert_eq(bdev_io_wait(lane, &io, 0), 0);
	lane_close(lane);
	rig_fini(&rig);
}

Test(paths_join, a_lane_that_no_way_grants_does_not_open_and_hurts_no_other)
{
	struct rig rig;
	struct lane *lane;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[0].bad_lane, true);
	atomic_store(&rig.way[1].bad_lane, true);
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, &rig.diag), -ECONNRESET);
	diag_says(&rig.diag, DIAG_CLOSED, "flaky://a/?path=b", "flaky_lane broke");
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1);
	rig_fini(&rig);
}

Test(paths_join, a_lane_refused_on_one_way_gets_it_when_it_needs_it)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[1].bad_lane, true);
	rig_open(&rig, "flaky://a/?path=b");
	rig_turn_for(&rig, 20);
	atomic_store(&rig.way[1].bad_lane, false);
	cr_assert_eq(atomic_load(&rig.way[1].lanes_open), 0);
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[1].attempts), 2);
	rig_fini(&rig);
}

Test(paths_join, one_dead_lane_takes_the_way_down_for_all)
{
	struct rig rig;
	struct lane *lane;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, &rig.diag), 0);
	cr_assert(flaky_kill_lane(&rig.way[0], 1));
	until(&rig,
		atomic_load(&rig.way[0].attempts) == 2 && atomic_load(&rig.way[0].lanes_open) == 2);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	cr_assert_eq(atomic_load(&rig.way[0].lanes_open), 2);
	rig_assert_fact(&rig, "path 1", "flaky_lane broke");
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	lane_close(lane);
	rig_fini(&rig);
}

Test(paths_join, lanes_that_do_not_notice_are_aborted)
{
	struct rig rig;
	struct req read;

	rig_init(&rig);
	rig.way[0].deaf = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/");
	req_submit(&rig, &read, IO_READ, 0);
	rig_turn_for(&rig, 10);
	cr_assert(flaky_kill(&rig.way[0]));
	until(&rig, atomic_load(&rig.way[0].attempts) == 2);
	rig_turn_for(&rig, 50);
	cr_assert(!read.over);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	atomic_store(&rig.way[0].hold, false);
	cr_assert(req_wait(&rig, &read, 1000));
	cr_assert_eq(read.io.status, 0);
	rig_fini(&rig);
}

static int open_and_free(struct loop *loop, void *arg)
{
	struct lane *lane;
	int err = ((struct bdev *)arg)->ops->lane(&lane, arg, loop, NULL);

	if (!err)
		lane->ops->free(lane);
	return err;
}

Test(paths_join, a_lane_may_leave_before_it_has_arrived)
{
	struct rig rig;
	struct workers *workers;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(workers_start(&workers, 1, loop_options(rig.loop), NULL), 0);
	for (unsigned i = 0; i < 50; i++) {
		cr_assert_eq(open_and_free(rig.loop, rig.bdev), 0);
		if (i % 5 == 0)
			flaky_kill(&rig.way[i % 2]);
		cr_assert_eq(
			loop_call(rig.loop, workers_loop(workers, 0), open_and_free, rig.bdev), 0);
		rig_turn_for(&rig, i % 3);
	}
	workers_stop(workers);
	rig_fini(&rig);
}

Test(paths_join, closes_in_the_middle_of_anything)
{
	static const unsigned ms[] = { 0, 1, 2, 5, 50 };

	for (unsigned i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		struct rig rig;

		rig_init(&rig);
		rig_open(&rig, "flaky://a/?path=b");
		lane_unmap(rig.lane, rig.pool);
		lane_close(rig.lane);
		rig.lane = NULL;
		atomic_store(&rig.way[0].refuse, (int)i);
		atomic_store(&rig.way[1].silent, true);
		flaky_kill(&rig.way[0]);
		flaky_kill(&rig.way[1]);
		rig_turn_for(&rig, ms[i]);
		uint64_t start = loop_clock();
		rig_fini(&rig);
		cr_assert_lt(loop_clock() - start, 1500 * MSEC);
	}
}

/* Whether pools are exposed is fixed at the opening, also by a path that is not up then. */
Test(paths_join, exposed_as_its_paths_are)
{
	static const struct {
		const char *uri;
		bool exposed;
	} rows[] = { { "flaky://a/?path=b", false }, { "flaky+rdma://a/", true },
		{ "flaky://a/?path=flaky%2Brdma://b/", true } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig);
		atomic_store(&rig.way[1].refuse, 1000);
		rig_open(&rig, rows[i].uri);
		cr_assert_eq(rig.bdev->lim.exposed, rows[i].exposed, "%s", rows[i].uri);
		rig_fini(&rig);
	}
}
