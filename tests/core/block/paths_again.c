/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests that a target refuses for now or on one path, and lanes that it refuses for now: where
 * and how often they are tried again, and how that ends. */
/* Link: leap */
#include "flaky_rig.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

#define NOT_READY (BDEV_RETRY | BDEV_WAIT_READY)
#define MOVING    (NOT_READY | BDEV_OTHER_PATH)

static void refuse(struct rig *rig, unsigned way, unsigned again, int count)
{
	atomic_store(&rig->way[way].io_refuse_detail, again);
	atomic_store(&rig->way[way].io_refuse, count);
	atomic_store(&rig->way[way].io_refused, 0);
}

static unsigned refused(const struct rig *rig, unsigned way)
{
	return atomic_load(&rig->way[way].io_refused);
}

static unsigned written(const struct rig *rig, unsigned way)
{
	return atomic_load(&rig->way[way].done[IO_WRITE]);
}

Test(paths_again, what_is_refused_for_now_is_sent_again_after_a_pause)
{
	static const uint8_t kinds[] = { IO_READ, IO_WRITE, IO_FLUSH, IO_TRIM, IO_ZERO };
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	for (unsigned i = 0; i < sizeof(kinds); i++) {
		uint64_t start = loop_clock();
		struct req req;

		refuse(&rig, 0, BDEV_RETRY, 3);
		req_submit(&rig, &req, kinds[i], 0);
		cr_assert(req_wait(&rig, &req, 5000));
		cr_assert_eq(req.io.status, 0);
		cr_assert_eq(req.over, 1);
		cr_assert_eq(refused(&rig, 0), 3);
		cr_assert_geq(req.done_ns, start + 3 * 100 * MSEC);
	}
	rig_fini(&rig);
}

Test(paths_again, others_do_not_wait_for_it)
{
	struct req refused_one, other;
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	refuse(&rig, 0, BDEV_RETRY, 1);
	req_submit(&rig, &refused_one, IO_WRITE, 0);
	rig_turn_for(&rig, 5);
	req_submit(&rig, &other, IO_WRITE, 1);
	cr_assert(req_wait(&rig, &other, 50));
	cr_assert_not(refused_one.over);
	cr_assert(req_wait(&rig, &refused_one, 500));
	rig_fini(&rig);
}

/* A target that is busy for some seconds does not count as a lost connection. */
Test(paths_again, fail_fast_tries_for_some_seconds_what_was_refused_for_now)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=fail-fast");
	for (unsigned again = BDEV_RETRY; again <= NOT_READY; again += BDEV_WAIT_READY) {
		refuse(&rig, 0, again, 1000);
		req_submit(&rig, &req, IO_WRITE, 0);
		cr_assert(req_wait(&rig, &req, 60000));
		cr_assert_eq(req.io.status, -EAGAIN, "the target's own status");
		cr_assert_eq(req.io.detail, again);
		cr_assert_eq(refused(&rig, 0), 50);
	}
	refuse(&rig, 0, NOT_READY, 49);
	cr_assert_eq(rig_io(&rig, IO_WRITE), -ETIMEDOUT, "not within 3 s");
	refuse(&rig, 0, 0, 1);
	cr_assert_eq(rig_io(&rig, IO_WRITE), -EAGAIN);
	cr_assert_eq(refused(&rig, 0), 1, "final");
	rig_fini(&rig);
}

Test(paths_again, the_loss_policy_bounds_the_time)
{
	uint64_t start;
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=20");
	for (unsigned again = BDEV_WAIT_READY; again <= MOVING; again++) {
		start = loop_clock();
		refuse(&rig, 0, again, 100000);
		req_submit(&rig, &req, IO_READ, 0);
		cr_assert(req_wait(&rig, &req, 60000));
		cr_assert_eq(req.io.status, -EAGAIN);
		cr_assert_geq(req.done_ns, start + 20000 * MSEC);
		cr_assert_lt(req.done_ns, start + 21000 * MSEC);
		cr_assert_leq(refused(&rig, 0), 201, "not without a pause");
	}
	rig_fini(&rig);
}

Test(paths_again, the_loss_policy_is_not_for_what_only_a_few_more_tries_may_help)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=forever");
	refuse(&rig, 0, BDEV_RETRY, 1000);
	req_submit(&rig, &req, IO_READ, 0);
	cr_assert(req_wait(&rig, &req, 60000));
	cr_assert_eq(req.io.status, -EAGAIN);
	cr_assert_eq(refused(&rig, 0), 50);
	rig_fini(&rig);
}

Test(paths_again, forever_waits_until_cancelled_and_a_cancelled_write_is_not_sent)
{
	struct rig rig;
	struct req req;
	unsigned count;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=forever");
	refuse(&rig, 0, MOVING, 100000);
	req_submit(&rig, &req, IO_WRITE, 0);
	cr_assert_not(req_wait(&rig, &req, 200000));
	cr_assert(bdev_cancel(rig.lane, &req.io));
	cr_assert_not(req.over, "not inside cancel");
	cr_assert_not(bdev_cancel(rig.lane, &req.io), "once");
	cr_assert(req_wait(&rig, &req, 10));
	cr_assert_eq(req.io.status, -ECANCELED);
	count = refused(&rig, 0);
	refuse(&rig, 0, 0, 0);
	rig_turn_for(&rig, 500);
	cr_assert_gt(count, 1000);
	cr_assert_eq(written(&rig, 0), 0);
	rig_fini(&rig);
}

Test(paths_again, another_path_takes_it_at_once_and_stays_in_use)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&loss=fail-fast");
	for (unsigned again = BDEV_OTHER_PATH; again <= MOVING; again += NOT_READY) {
		refuse(&rig, 0, again, 1000);
		req_submit(&rig, &req, IO_WRITE, 0);
		cr_assert(req_wait(&rig, &req, 50));
		cr_assert_eq(req.io.status, 0);
		cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
		cr_assert_eq(refused(&rig, 0), again == BDEV_OTHER_PATH);
		cr_assert_eq(refused(&rig, 1), 0);
	}
	cr_assert_eq(written(&rig, 1), 4);
	refuse(&rig, 0, 0, 0);
	refuse(&rig, 1, BDEV_OTHER_PATH, 1000);
	rig_turn_for(&rig, 200);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0, "and back");
	cr_assert_eq(written(&rig, 0), 1);
	cr_assert_eq(refused(&rig, 1), 1);
	rig_fini(&rig);
}

Test(paths_again, a_path_that_is_just_coming_up_is_waited_for)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[1].lane_ms = 950;
	rig_open(&rig, "flaky://a/?path=b&loss=fail-fast");
	refuse(&rig, 0, BDEV_OTHER_PATH, 1000);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(written(&rig, 1), 1);
	cr_assert_leq(refused(&rig, 0), 11, "with pauses");
	rig_fini(&rig);
}

Test(paths_again, fail_fast_fails_what_every_path_refuses)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&path=c&loss=fail-fast");
	for (unsigned way = 0; way < 3; way++)
		refuse(&rig, way, BDEV_OTHER_PATH, 1000);
	req_submit(&rig, &req, IO_WRITE, 0);
	cr_assert(req_wait(&rig, &req, 50));
	cr_assert_eq(req.io.status, -EAGAIN);
	for (unsigned way = 0; way < 3; way++)
		cr_assert_eq(refused(&rig, way), 1);
	rig_fini(&rig);
}

Test(paths_again, while_every_path_refuses_each_is_tried_in_turn)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b&loss=forever");
	refuse(&rig, 0, BDEV_OTHER_PATH, 1000);
	refuse(&rig, 1, BDEV_OTHER_PATH, 1000);
	req_submit(&rig, &req, IO_WRITE, 0);
	cr_assert_not(req_wait(&rig, &req, 10000));
	cr_assert_geq(refused(&rig, 0), 40);
	cr_assert_geq(refused(&rig, 1), 40);
	cr_assert_leq(refused(&rig, 0) + refused(&rig, 1), 204, "with pauses");
	refuse(&rig, 1, 0, 0);
	cr_assert(req_wait(&rig, &req, 500));
	cr_assert_eq(req.io.status, 0);
	cr_assert_eq(written(&rig, 1), 1);
	rig_fini(&rig);
}

/* The copy on the lost path may still be executed, whatever another path answers. */
Test(paths_again, a_lost_write_that_is_refused_keeps_its_quiet_time)
{
	struct rig rig;
	struct req lost[2];

	rig_init(&rig);
	rig.way[0].quiesce_ms = 60000;
	rig.way[0].no_pending = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b&loss=2");
	for (unsigned i = 0; i < 2; i++)
		req_submit(&rig, &lost[i], IO_WRITE, i);
	rig_turn_for(&rig, 5);
	refuse(&rig, 1, BDEV_OTHER_PATH, 100000);
	atomic_store(&rig.way[0].refuse, 100000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 500);
	cr_assert_gt(refused(&rig, 1), 0);
	for (unsigned i = 0; i < 100 && !bdev_cancel(rig.lane, &lost[1].io); i++)
		rig_turn_for(&rig, 7);
	cr_assert_not(req_wait(&rig, &lost[0], 50000));
	cr_assert_not(lost[1].over);
	cr_assert(req_wait(&rig, &lost[0], 20000));
	cr_assert(req_wait(&rig, &lost[1], 1000));
	cr_assert_eq(lost[0].io.status, -EAGAIN);
	cr_assert_eq(lost[1].io.status, -ECANCELED);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_geq(lost[i].done_ns, atomic_load(&rig.way[0].died_ns) + 60000 * MSEC);
	rig_fini(&rig);
}

/* The owner's call ends what it can, without another word to the target, whose answer counts. */
Test(paths_again, an_aborted_lane_ends_what_waits)
{
	struct diag why = { 0 };
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=forever");
	refuse(&rig, 0, MOVING, 1000);
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 50);
	cr_assert_eq(refused(&rig, 0), 1);
	diag_set(&why, DIAG_CLOSED, ECANCELED, "enough");
	rig.lane->ops->abort(rig.lane, &why);
	cr_assert_not(req.over, "not inside abort");
	cr_assert(req_wait(&rig, &req, 10));
	cr_assert_eq(req.io.status, -EAGAIN);
	cr_assert_eq(req.io.detail, MOVING);
	rig_turn_for(&rig, 500);
	cr_assert_eq(refused(&rig, 0), 1);
	rig_fini(&rig);
}

Test(paths_again, a_path_that_is_lost_meanwhile_holds_it)
{
	struct rig rig;
	struct req req;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=1");
	refuse(&rig, 0, BDEV_RETRY, 1);
	req_submit(&rig, &req, IO_WRITE, 0);
	rig_turn_for(&rig, 5);
	cr_assert_eq(refused(&rig, 0), 1);
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &req, 5000));
	cr_assert_eq(req.io.status, -EHOSTUNREACH);
	cr_assert_eq(req.io.detail, 0, "the connection's fault");
	rig_fini(&rig);
}

static unsigned reports;
static char report[400];

static void note_report(struct bdev *bdev, bool bad, const char *line)
{
	(void)bdev;
	reports += bad;
	snprintf(report, sizeof(report), "%s", line);
}

Test(paths_again, refusals_that_last_are_reported_once)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=20");
	rig.bdev->report = note_report;
	reports = 0;
	refuse(&rig, 0, BDEV_RETRY, 5);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(reports, 0);
	refuse(&rig, 0, BDEV_RETRY, 20);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	refuse(&rig, 0, BDEV_OTHER_PATH, 20);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	rig_turn_for(&rig, 10);
	cr_assert_eq(reports, 1);
	text_says(report, "flaky://a/?loss=20: refused trying_again 20_s");
	rig_turn_for(&rig, 60000);
	refuse(&rig, 0, BDEV_OTHER_PATH, 1);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	rig_turn_for(&rig, 10);
	cr_assert_eq(reports, 2);
	rig_fini(&rig);
}

Test(paths_again, another_path_is_named_in_the_report)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	rig.bdev->report = note_report;
	reports = 0;
	refuse(&rig, 0, BDEV_OTHER_PATH, 1);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	rig_turn_for(&rig, 10);
	cr_assert_eq(reports, 1);
	text_says(report, "flaky://a/?path=b: refused another_path");
	rig_fini(&rig);
}

/* ---- Lanes that the target refuses for now. */

Test(paths_again, a_lane_that_is_refused_for_now_is_opened_again)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].lane_refuse, 5);
	rig_open(&rig, "flaky://a/");
	cr_assert_eq(atomic_load(&rig.way[0].lanes_refused), 5);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1, "the path stays");
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	atomic_store(&rig.way[0].lane_refuse, 5);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0, "also when the path is back");
	cr_assert_eq(atomic_load(&rig.way[0].lanes_refused), 10);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	rig_fini(&rig);
}

Test(paths_again, a_lane_that_is_always_refused_fails)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].lane_refuse, 100000);
	cr_assert_eq(
		bdev_open(&rig.bdev, rig.loop, "flaky://a/?loss=forever", &rig.env, &rig.diag), 0);
	cr_assert_eq(lane_open(&rig.lane, rig.bdev, rig.loop, &rig.diag), -EAGAIN);
	diag_says(&rig.diag, DIAG_BUSY, "flaky://a/?loss=forever", "busy");
	cr_assert_leq(atomic_load(&rig.way[0].lanes_refused), 101);
	rig.lane = NULL;
	bdev_close(rig.bdev);
	rig.bdev = NULL;
	rig_fini(&rig);
}

Test(paths_again, fail_fast_does_not_wait_for_a_lane)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].lane_refuse, 1);
	cr_assert_eq(
		bdev_open(&rig.bdev, rig.loop, "flaky://a/?loss=fail-fast", &rig.env, &rig.diag),
		0);
	cr_assert_eq(lane_open(&rig.lane, rig.bdev, rig.loop, &rig.diag), -EAGAIN);
	rig.lane = NULL;
	rig_fini(&rig);
}

/* The path dies while its lane waits to be opened again. */
Test(paths_again, a_path_that_is_lost_is_not_opened_again_by_its_lane)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[0].lane_refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 250);
	cr_assert_gt(atomic_load(&rig.way[0].lanes_refused), 1);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	atomic_store(&rig.way[0].lane_refuse, 0);
	rig_turn_for(&rig, 6000);
	rig_assert_fact(&rig, "path 1", "flaky://a/?path=b up 3_attempt");
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[0].lanes_open), 1);
	atomic_store(&rig.way[0].lane_refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 250);
	rig_fini(&rig);
}
