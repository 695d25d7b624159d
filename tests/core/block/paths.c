/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What paths promises, one behaviour each, over ways that break on demand: which way is taken, what
 * is held, withheld and given up. Loads under random deaths are paths_lane.c's. */
/* Link: leap */
#include "flaky_rig.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

Test(paths, first_opening_fails_with_the_first_reason)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].refuse, 1);
	atomic_store(&rig.way[1].refuse, 1);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, "flaky://a/?path=b", &rig.env, &rig.diag),
		-ECONNREFUSED);
	diag_says(&rig.diag, DIAG_REFUSED, "flaky://a/?path=b", "way_a_refused");
	rig.bdev = NULL;
	rig_fini(&rig);
}

Test(paths, silence_ends_with_the_timeout_of_the_uri)
{
	struct rig rig;
	uint64_t start = loop_clock();

	rig_init(&rig);
	atomic_store(&rig.way[0].silent, true);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, "flaky://a/?timeout=0.2", &rig.env, &rig.diag),
		-ETIMEDOUT);
	diag_says(&rig.diag, DIAG_TIMEOUT, "flaky://a/?timeout=0.2", "flaky_way no_answer");
	cr_assert_lt(loop_clock() - start, 3000 * MSEC);
	rig.bdev = NULL;
	rig_fini(&rig);
}

static struct rig *patient;

static void speak(struct loop_timer *timer)
{
	(void)timer;
	atomic_store(&patient->way[0].silent, false);
}

Test(paths, without_a_limit_only_the_first_opening_is_waited_for)
{
	struct loop_timer timer = { .fire = speak };
	uint64_t start = loop_clock();
	struct rig rig;
	int before;

	patient = &rig;
	rig_init(&rig);
	rig.env.timeout_ms = BDEV_NEVER;
	atomic_store(&rig.way[0].silent, true);
	loop_timer_set(rig.loop, &timer, start + 60000 * MSEC);
	rig_open(&rig, "flaky://a/?loss=forever");
	cr_assert_geq(loop_clock() - start, 60000 * MSEC);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1);
	atomic_store(&rig.way[0].silent, true);
	before = atomic_load(&rig.way[0].attempts);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 65000);
	cr_assert_geq(atomic_load(&rig.way[0].attempts) - before, 4,
		"attempts of 10 s, and at most 5 s between them");
	rig_fini(&rig);
}

Test(paths, one_of_two_paths_is_enough_and_the_other_joins_later)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].refuse, 2);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1);
	rig_turn_for(&rig, 400);
	rig_assert_fact(&rig, "path 1", "flaky://a/?path=b up 3_attempt way_a_refused");
	rig_assert_fact(&rig, "path 2", "flaky://b/ up 1_attempt");
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 1);
	flaky_kill(&rig.way[1]);
	rig_turn_for(&rig, 20);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_WRITE]), 1);
	rig_fini(&rig);
}

Test(paths, the_first_way_is_taken_and_returned_to_once_it_is_steady)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[0].lane_ms = 50;
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_READ]), 1);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 300);
	rig_assert_fact(&rig, "path 1", "flaky://a/?path=b up 2_attempt broke");
	rig_assert_fact(&rig, "flaky", "a");
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_READ]), 1);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_READ]), 1);
	rig_turn_for(&rig, 700);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_READ]), 2);
	rig_fini(&rig);
}

Test(paths, reads_fail_over_at_once_and_writes_after_the_quiet_time)
{
	struct rig rig;
	struct req read, write, trim, zero, flush;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 1000;
	rig.way[0].no_pending = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b");
	req_submit(&rig, &flush, IO_FLUSH, 4);
	req_submit(&rig, &read, IO_READ, 0);
	req_submit(&rig, &write, IO_WRITE, 1);
	req_submit(&rig, &trim, IO_TRIM, 2);
	req_submit(&rig, &zero, IO_ZERO, 3);
	rig_turn_for(&rig, 20);
	cr_assert(!read.over && !write.over);
	atomic_store(&rig.way[0].refuse, 1000); /* and it stays away */
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &read, 500));
	rig_turn_for(&rig, 50);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1, "replayed at once");
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_FLUSH]), 0, "not before the writes are over");
	cr_assert(!write.over && !trim.over && !zero.over && !flush.over);
	cr_assert(req_wait(&rig, &flush, 5000));
	cr_assert(write.over == 1 && trim.over == 1 && zero.over == 1 && read.over == 1 &&
		  flush.over == 1);
	cr_assert(!(write.io.status | trim.io.status | zero.io.status | read.io.status |
		    flush.io.status));
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	cr_assert_geq(trim.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	cr_assert_geq(zero.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	cr_assert_geq(flush.done_ns, write.done_ns);
	rig_fini(&rig);
}

/* A leg has the caller's io; the caller submits it again as it came back. */
Test(paths, an_io_comes_back_whole_whatever_carried_it)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	req_submit(&rig, &req, IO_READ, 1);
	cr_assert(req_wait(&rig, &req, 500));
	for (int round = 1; round < 6; round++) {
		struct io before = req.io;
		bool lost = round < 4; /* with another way, or without one */

		atomic_store(&rig.way[0].hold, lost);
		atomic_store(&rig.way[1].hold, lost);
		req.io.status = 1;
		bdev_submit(rig.lane, &req.io);
		rig_turn_for(&rig, 5);
		if (lost) {
			cr_assert_eq(req.over, round);
			flaky_kill(&rig.way[0]);
			if (round == 2)
				flaky_kill(&rig.way[1]);
			rig_turn_for(&rig, 20);
			atomic_store(&rig.way[0].hold, false);
			atomic_store(&rig.way[1].hold, false);
			rig_turn_for(&rig, 500);
		}
		cr_assert_eq(req.over, round + 1);
		cr_assert_eq(req.io.status, 0);
		cr_assert(req.io.done == before.done && req.io.lower == before.lower &&
			  req.io.buf == before.buf && req.io.off == before.off &&
			  req.io.len == before.len && req.io.kind == before.kind);
	}
	cr_assert_eq(
		atomic_load(&rig.way[0].done[IO_READ]) + atomic_load(&rig.way[1].done[IO_READ]), 6,
		"each once");
	rig_fini(&rig);
}

Test(paths, new_requests_are_not_withheld)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 10000;
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	uint64_t start = loop_clock();
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(rig_io(&rig, IO_FLUSH), 0);
	cr_assert_lt(loop_clock() - start, 1000 * MSEC);
	rig_fini(&rig);
}

Test(paths, fail_fast_fails_at_once_what_no_way_can_take)
{
	struct rig rig;
	struct req read, write, after;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 1000;
	rig.way[0].no_pending = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?loss=fail-fast");
	req_submit(&rig, &read, IO_READ, 0);
	req_submit(&rig, &write, IO_WRITE, 1);
	rig_turn_for(&rig, 10);
	atomic_store(&rig.way[0].refuse, 3);
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &read, 500));
	cr_assert_eq(read.io.status, -EHOSTUNREACH);
	cr_assert_eq(read.io.detail, 0);
	req_submit(&rig, &after, IO_WRITE, 2);
	cr_assert(req_wait(&rig, &after, 300));
	cr_assert_eq(after.io.status, -EHOSTUNREACH);
	cr_assert(!write.over, "it was sent: the way may still execute it");
	cr_assert(req_wait(&rig, &write, 5000));
	cr_assert_eq(write.io.status, -EHOSTUNREACH);
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	atomic_store(&rig.way[0].hold, false);
	for (unsigned i = 0; i < 50 && rig_io(&rig, IO_READ); i++)
		rig_turn_for(&rig, 100);
	cr_assert_eq(rig_io(&rig, IO_READ), 0, "it came back in the background");
	rig_fini(&rig);
}

Test(paths, held_requests_fail_when_their_time_is_over)
{
	struct rig rig;
	struct req read, after;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=0.3");
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	uint64_t start = loop_clock();
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(!req_wait(&rig, &read, 150));
	cr_assert(req_wait(&rig, &read, 1000));
	cr_assert_eq(read.io.status, -EHOSTUNREACH);
	cr_assert_lt(loop_clock() - start, 1500 * MSEC);
	req_submit(&rig, &after, IO_FLUSH, 0);
	cr_assert(req_wait(&rig, &after, 1000));
	cr_assert_eq(after.io.status, -EHOSTUNREACH);
	atomic_store(&rig.way[0].refuse, 0);
	for (unsigned i = 0; i < 50 && rig_io(&rig, IO_READ); i++)
		rig_turn_for(&rig, 100);
	cr_assert_eq(rig_io(&rig, IO_READ), 0);
	rig_fini(&rig);
}

Test(paths, forever_holds_until_cancelled)
{
	struct rig rig;
	struct req req[3];

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=forever");
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	for (unsigned i = 0; i < 3; i++)
		req_submit(&rig, &req[i], i ? IO_WRITE : IO_READ, i);
	cr_assert(!req_wait(&rig, &req[0], 300));
	cr_assert(rig.lane->ops->cancel(rig.lane, &req[2].io));
	cr_assert(!req[2].over, "not inside cancel");
	cr_assert(rig.lane->ops->cancel(rig.lane, &req[0].io));
	cr_assert(!rig.lane->ops->cancel(rig.lane, &req[0].io), "once");
	cr_assert(req_wait(&rig, &req[0], 1000));
	cr_assert_eq(req[0].io.status, -ECANCELED);
	cr_assert_eq(req[2].io.status, -ECANCELED);
	cr_assert(!req[1].over);
	atomic_store(&rig.way[0].refuse, 0);
	cr_assert(req_wait(&rig, &req[1], 2000));
	cr_assert_eq(req[1].io.status, 0);
	cr_assert(!rig.lane->ops->cancel(rig.lane, &req[1].io));
	cr_assert(req[0].over == 1 && req[1].over == 1 && req[2].over == 1);
	rig_fini(&rig);
}

Test(paths, a_lost_write_that_is_cancelled_keeps_its_quiet_time)
{
	struct rig rig;
	struct req sent, read, held;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 600;
	rig.way[0].no_pending = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/");
	req_submit(&rig, &sent, IO_WRITE, 0);
	req_submit(&rig, &read, IO_READ, 1);
	rig_turn_for(&rig, 5);
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	req_submit(&rig, &held, IO_WRITE, 2);
	cr_assert(bdev_cancel(rig.lane, &sent.io));
	cr_assert(bdev_cancel(rig.lane, &read.io));
	cr_assert(bdev_cancel(rig.lane, &held.io));
	cr_assert(req_wait(&rig, &held, 300), "it was never sent");
	cr_assert(req_wait(&rig, &read, 300));
	cr_assert(!sent.over, "the way may still execute it");
	cr_assert(req_wait(&rig, &sent, 5000));
	cr_assert(sent.io.status == -ECANCELED && held.io.status == -ECANCELED &&
		  read.io.status == -ECANCELED);
	cr_assert_geq(sent.done_ns, atomic_load(&rig.way[0].died_ns) + 600 * MSEC);
	rig_fini(&rig);
}

static void ended(struct lane *lane)
{
	*(unsigned *)lane->user += lane->state == LANE_DOWN;
}

Test(paths, an_aborted_lane_ends_alone)
{
	struct diag why = { 0 };
	struct lane *other;
	struct rig rig;
	struct req req[3];
	unsigned downs = 0;

	rig_init(&rig);
	rig.way[0].no_pending = true;
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(lane_open(&other, rig.bdev, rig.loop, &why), 0);
	atomic_store(&rig.way[0].hold, true);
	rig.lane->changed = ended;
	rig.lane->user = &downs;
	req_submit(&rig, &req[0], IO_READ, 0);
	req_submit(&rig, &req[1], IO_WRITE, 1);
	rig_turn_for(&rig, 20);
	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "enough");
	rig.lane->ops->abort(rig.lane, &why);
	cr_assert(!req[0].over && !req[1].over && !downs, "not inside abort");
	cr_assert(req_wait(&rig, &req[0], 1000) && req_wait(&rig, &req[1], 1000));
	cr_assert(req[0].io.status == -ENOTCONN && req[1].io.status == -ENOTCONN);
	req_submit(&rig, &req[2], IO_READ, 2);
	cr_assert(req_wait(&rig, &req[2], 1000));
	cr_assert_eq(req[2].io.status, -ENOTCONN);
	cr_assert_eq(downs, 1);
	cr_assert_eq(rig.lane->why.code, DIAG_TIMEOUT);
	cr_assert_eq(
		atomic_load(&rig.way[0].done[IO_READ]) + atomic_load(&rig.way[1].done[IO_READ]), 0,
		"nothing is replayed");
	rig_turn_for(&rig, 50);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1, "the path still serves other lanes");
	rig.lane->changed = NULL;
	lane_close(other);
	rig_fini(&rig);
}

Test(paths, a_request_without_an_answer_ends_at_its_limit)
{
	struct diag why = { 0 };
	struct lane *other;
	struct rig rig;
	struct buf buf;
	struct io io = { .kind = IO_WRITE, .len = 512, .buf = &buf };

	rig_init(&rig);
	rig.way[0].no_pending = true;
	rig.way[0].quiesce_ms = 60000;
	rig_open(&rig, "flaky://a/?path=b&loss=forever");
	buf = pool_buf(rig.pool, 0);
	cr_assert_eq(lane_open(&other, rig.bdev, rig.loop, &why), 0);
	atomic_store(&rig.way[0].hold, true);
	cr_assert_eq(bdev_io_wait(rig.lane, &io, 3000), -ETIMEDOUT);
	cr_assert_eq(bdev_io_wait(rig.lane, &io, 0), -ETIMEDOUT, "the lane is given up");
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 0, "nothing is sent again");
	atomic_store(&rig.way[0].hold, false);
	cr_assert_eq(bdev_io_wait(other, &io, 0), 0, "the path still serves other lanes");
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1);
	lane_close(other);
	rig_fini(&rig);
}

Test(paths, abort_also_ends_what_is_held_and_withheld)
{
	struct diag why = { 0 };
	struct rig rig;
	struct req sent, held;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 60000;
	rig.way[0].no_pending = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?loss=forever");
	req_submit(&rig, &sent, IO_WRITE, 0);
	rig_turn_for(&rig, 5);
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	req_submit(&rig, &held, IO_WRITE, 1);
	cr_assert(rig.lane->ops->cancel(rig.lane, &sent.io), "it is withheld now");
	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "enough");
	rig.lane->ops->abort(rig.lane, &why);
	cr_assert(req_wait(&rig, &sent, 1000) && req_wait(&rig, &held, 1000));
	cr_assert(sent.io.status == -ENOTCONN && held.io.status == -ENOTCONN);
	cr_assert_eq(rig.lane->state, LANE_DOWN);
	rig_fini(&rig);
}

Test(paths, the_uri_can_lengthen_the_quiet_time)
{
	struct rig rig;
	struct req write;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 10;
	rig.way[0].no_pending = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b&quiesce=0.5");
	cr_assert_eq(rig.bdev->lim.quiesce_ms, 500);
	req_submit(&rig, &write, IO_WRITE, 0);
	rig_turn_for(&rig, 5);
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &write, 5000));
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 500 * MSEC);
	rig_fini(&rig);
}

Test(paths, the_uri_cannot_shorten_the_quiet_time)
{
	struct rig rig;
	struct req write;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 600;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b&quiesce=0.01");
	cr_assert_eq(rig.bdev->lim.quiesce_ms, 600);
	req_submit(&rig, &write, IO_WRITE, 0);
	rig_turn_for(&rig, 5);
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &write, 5000));
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 600 * MSEC);
	rig_fini(&rig);
}

Test(paths, a_withheld_write_and_one_in_flight_cannot_be_cancelled)
{
	struct rig rig;
	struct req withheld, flying;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 600;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b");
	req_submit(&rig, &withheld, IO_WRITE, 0);
	rig_turn_for(&rig, 5);
	cr_assert(!rig.lane->ops->cancel(rig.lane, &withheld.io));
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	atomic_store(&rig.way[1].hold, true);
	req_submit(&rig, &flying, IO_WRITE, 1);
	cr_assert(!rig.lane->ops->cancel(rig.lane, &withheld.io));
	cr_assert(!rig.lane->ops->cancel(rig.lane, &flying.io));
	cr_assert(req_wait(&rig, &withheld, 5000));
	cr_assert_eq(withheld.io.status, 0, "it was replayed");
	atomic_store(&rig.way[1].hold, false);
	cr_assert(req_wait(&rig, &flying, 1000));
	rig_fini(&rig);
}

Test(paths, bdev_io_wait_cancels_what_is_held)
{
	struct rig rig;
	struct buf buf;
	struct io io = { .kind = IO_READ, .len = 512, .buf = &buf };

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=forever");
	buf = pool_buf(rig.pool, 0);
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	cr_assert_eq(bdev_io_wait(rig.lane, &io, 100), -ETIMEDOUT);
	rig_fini(&rig);
}

/* A request that kills whatever executes it ends, although there is a live way all the time. */
Test(paths, a_request_that_every_way_dies_of_fails)
{
	struct rig rig;
	struct req read;
	unsigned kills = 0, up;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&path=c&loss=0.1");
	for (unsigned i = 0; i < 3; i++)
		atomic_store(&rig.way[i].hold, true);
	req_submit(&rig, &read, IO_READ, 0);
	for (unsigned turn = 0; turn < 4000 && !read.over; turn++) {
		rig_turn_for(&rig, 1);
		up = 0;
		for (unsigned i = 0; i < 3; i++)
			up += atomic_load(&rig.way[i].mapped);
		for (unsigned i = 0; i < 3 && up > 1; i++)
			kills += atomic_load(&rig.way[i].inflight) && flaky_kill(&rig.way[i]);
	}
	cr_assert(read.over);
	cr_assert_eq(read.io.status, -EHOSTUNREACH);
	cr_assert_geq(kills, 8);
	rig_fini(&rig);
}

Test(paths, tries_again_at_once_then_waits_longer_each_time)
{
	struct rig rig;
	struct req read;
	uint64_t start;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	atomic_store(&rig.way[0].refuse, 4);
	start = loop_clock();
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(req_wait(&rig, &read, 6000));
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 6);
	/* 0 + 100 + 200 + 400 + 800 ms, a quarter more or less */
	cr_assert_gt(loop_clock() - start, 1100 * MSEC);
	cr_assert_lt(loop_clock() - start, 4500 * MSEC);
	rig_fini(&rig);
}

Test(paths, limits_are_those_of_all_paths)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[1].max_write = 8192;
	rig.way[1].lanes = 3;
	rig.way[1].size = 1 << 19;
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(rig.bdev->lim.max[IO_WRITE], 8192);
	cr_assert_eq(rig.bdev->lim.max[IO_READ], 65536);
	cr_assert_eq(rig.bdev->lim.lanes, 3);
	cr_assert_eq(rig.bdev->lim.size, 1 << 19);
	cr_assert_eq(rig.bdev->id.nguid[3], 9);
	cr_assert_str_eq(rig.bdev->uri, "flaky://a/?path=b");
	rig_fini(&rig);
}

static unsigned changes;

static void count_change(struct bdev *bdev)
{
	cr_assert_eq(bdev->state, BDEV_UP);
	changes++;
}

Test(paths, a_new_size_is_passed_on)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	rig.bdev->changed = count_change;
	flaky_resize(&rig.way[0], 1 << 19);
	cr_assert_eq(rig.bdev->lim.size, 1 << 19);
	cr_assert_eq(changes, 1);
	flaky_resize(&rig.way[0], 1 << 19);
	cr_assert_eq(changes, 1);
	rig_fini(&rig);
}

Test(paths, bad_keys_are_named)
{
	rig_assert_usage("flaky://a/?loss=soon", "loss");
	rig_assert_usage("flaky://a/?path=", "path= host");
	rig_assert_usage("flaky://a/?path=:80", "path= host");
	rig_assert_usage("flaky://a/?path=[::1", "path=[::1 '['");
	rig_assert_usage("flaky://a/?path=b:port", "'port'");
	rig_assert_usage("flaky://a/?colour=red", "colour");
	rig_assert_usage(
		"flaky://a/?path=1&path=2&path=3&path=4&path=5&path=6&path=7&path=8&path=9",
		"8 path=");
}

Test(paths, a_loss_is_traced)
{
	struct rig rig;
	struct req read;
	char path[] = "/tmp/traceXXXXXX", text[4096] = "";
	int fd = mkstemp(path), old = dup(2);

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	fflush(stderr);
	dup2(fd, 2);
	atomic_store(&rig.way[0].hold, true);
	req_submit(&rig, &read, IO_READ, 0);
	rig_turn_for(&rig, 5);
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 50);
	atomic_store(&rig.way[0].hold, false);
	cr_assert(req_wait(&rig, &read, 1000));
	fflush(stderr);
	dup2(old, 2);
	cr_assert_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	unlink(path);
	text_says(text, "test:_path_flaky://a/ broke 1_request");
	close(fd);
	close(old);
	rig_fini(&rig);
}

static char reports[8][1024];
static bool bad_news[8];
static unsigned nreports;

static void note_report(struct bdev *bdev, bool bad, const char *line)
{
	(void)bdev;
	cr_assert_lt(nreports, 8);
	bad_news[nreports] = bad;
	strncpy(reports[nreports++], line, sizeof(reports[0]) - 1);
}

static void assert_report(unsigned i, const char *object, const char *words)
{
	cr_assert_gt(nreports, i);
	cr_assert_eq(strncmp(reports[i], object, strlen(object)), 0, "%s", reports[i]);
	text_says(reports[i], words);
}

Test(paths, a_loss_and_a_return_are_reported_once_each)
{
	struct rig rig;

	nreports = 0;
	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=30");
	rig.bdev->report = note_report;
	atomic_store(&rig.way[0].refuse, 3);
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 50);
	cr_assert_eq(nreports, 1, "an attempt that fails is not reported");
	assert_report(0, "flaky://a/?loss=30: ", "connection broke 30_s");
	diag_says(&rig.bdev->why, DIAG_UNREACHABLE, "flaky://a/?loss=30", "connection flaky_way");
	for (unsigned i = 0; i < 100 && nreports < 2; i++)
		rig_turn_for(&rig, 50);
	assert_report(1, "flaky://a/?loss=30: ", "connection _.__s");
	cr_assert(bad_news[0] && !bad_news[1]);
	cr_assert_eq(rig.bdev->why.err, 0);
	rig_turn_for(&rig, 50);
	cr_assert_eq(nreports, 2);
	rig_fini(&rig);
}

Test(paths, the_warning_of_each_path_is_kept)
{
	struct bdev_path path[3];
	struct rig rig;

	rig_init(&rig);
	rig.way[0].warning = "insecure";
	rig.way[1].warning = "insecure, too";
	rig_open(&rig, "flaky://a/?path=b");
	for (unsigned i = 0; i < 3; i++)
		cr_assert(bdev_path(rig.bdev, i, &path[i]));
	cr_assert_null(path[0].warning);
	diag_says(path[1].warning, DIAG_AUTH, "", "insecure");
	diag_says(path[2].warning, DIAG_AUTH, "", "insecure,_too");
	atomic_store(&rig.way[1].refuse, 1);
	flaky_kill(&rig.way[1]);
	rig_turn_for(&rig, 20);
	cr_assert(bdev_path(rig.bdev, 2, &path[2]));
	cr_assert_null(path[2].warning, "a path that is lost");
	rig_fini(&rig);
}

Test(paths, losing_one_of_two_paths_is_reported_and_blames_nothing)
{
	struct rig rig;

	nreports = 0;
	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	rig.bdev->report = note_report;
	atomic_store(&rig.way[1].refuse, 1);
	flaky_kill(&rig.way[1]);
	rig_turn_for(&rig, 20);
	assert_report(0, "flaky://b/: ", "broke 1 path");
	cr_assert_eq(rig.bdev->why.err, 0);
	for (unsigned i = 0; i < 100 && nreports < 2; i++)
		rig_turn_for(&rig, 50);
	assert_report(1, "flaky://b/: ", "connection _.__s");
	rig_fini(&rig);
}

Test(paths, states_are_those_of_the_loss_policy)
{
	struct bdev_path disk, path;
	uint64_t begun;
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=30");
	cr_assert(bdev_path(rig.bdev, 0, &disk) && bdev_path(rig.bdev, 1, &path));
	cr_assert_not(bdev_path(rig.bdev, 2, &path));
	cr_assert_eq(disk.state, BDEV_PATH_UP);
	cr_assert_eq(path.state, BDEV_PATH_UP);
	atomic_store(&rig.way[0].refuse, 1000000);
	begun = loop_clock();
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 20);
	cr_assert(bdev_path(rig.bdev, 0, &disk) && bdev_path(rig.bdev, 1, &path));
	cr_assert_eq(disk.state, BDEV_PATH_LOST);
	cr_assert_geq(disk.lost_ns, begun);
	cr_assert_eq(disk.fails_ns, disk.lost_ns + 30000 * MSEC);
	cr_assert_eq(disk.reason, DIAG_REFUSED, "of the last attempt");
	cr_assert_eq(path.state, BDEV_PATH_LOST);
	cr_assert_eq(path.lost_ns, disk.lost_ns);
	cr_assert_eq(path.fails_ns, disk.fails_ns);
	cr_assert_str_eq(path.uri, "flaky://a/?loss=30");
	rig_turn_for(&rig, 30000);
	cr_assert(bdev_path(rig.bdev, 0, &disk) && bdev_path(rig.bdev, 1, &path));
	cr_assert_eq(disk.state, BDEV_PATH_FAILED);
	cr_assert_eq(path.state, BDEV_PATH_FAILED);
	cr_assert_eq(disk.fails_ns, 0);
	atomic_store(&rig.way[0].refuse, 0);
	rig_turn_for(&rig, 10000);
	cr_assert(bdev_path(rig.bdev, 0, &disk) && disk.state == BDEV_PATH_UP);
	rig_fini(&rig);
}

Test(paths, a_lost_path_beside_a_live_one_leaves_the_disk_up)
{
	struct bdev_path path[3];
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[1].refuse, 1000000);
	flaky_kill(&rig.way[1]);
	rig_turn_for(&rig, 20);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(bdev_path(rig.bdev, i, &path[i]));
	cr_assert_eq(path[0].state, BDEV_PATH_UP);
	cr_assert_eq(path[1].state, BDEV_PATH_UP);
	cr_assert_eq(path[2].state, BDEV_PATH_LOST);
	cr_assert(path[2].lost_ns && !path[2].fails_ns);
	cr_assert_str_eq(path[2].uri, "flaky://b/");
	rig_fini(&rig);
}

Test(paths, a_request_that_no_path_carried_names_the_cause)
{
	struct rig rig;
	struct req read;

	nreports = 0;
	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=0.4");
	rig.bdev->report = note_report;
	atomic_store(&rig.way[0].refuse, 1000);
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 20);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(req_wait(&rig, &read, 3000));
	cr_assert_eq(read.io.status, -EHOSTUNREACH);
	rig_turn_for(&rig, 20);
	assert_report(1, "flaky://a/?loss=0.4: ", "0.4 way_a_refused");
	diag_says(&rig.bdev->why, DIAG_UNREACHABLE, "flaky://a/?loss=0.4",
		"lost:_the_flaky_way_broke 0.4 attempts way_a_refused");
	rig_fini(&rig);
}

Test(paths, a_flush_that_failed_fails_until_the_disk_is_reopened)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[0].flush_status, -ENOSPC);
	cr_assert_eq(rig_io(&rig, IO_FLUSH), -ENOSPC);
	cr_assert_eq(rig_io(&rig, IO_FLUSH), -ENOSPC);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 50);
	cr_assert_eq(rig_io(&rig, IO_FLUSH), -ENOSPC, "over the other path, too");
	rig_fini(&rig);
}

Test(paths, a_flush_that_no_path_carried_does_not_spoil_later_ones)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=fail-fast");
	atomic_store(&rig.way[0].refuse, 2);
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 20);
	cr_assert_eq(rig_io(&rig, IO_FLUSH), -EHOSTUNREACH);
	cr_assert_eq(bdev_flush(rig.lane, loop_clock() + 1000 * MSEC, &rig.diag), -EHOSTUNREACH);
	diag_says(&rig.diag, DIAG_UNREACHABLE, "flaky://a/?loss=fail-fast", "flush connection");
	for (unsigned i = 0; i < 50 && rig_io(&rig, IO_FLUSH); i++)
		rig_turn_for(&rig, 50);
	cr_assert_eq(rig_io(&rig, IO_FLUSH), 0);
	rig_fini(&rig);
}
