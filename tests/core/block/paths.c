/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What paths promises, one behaviour each, over ways that break on demand. Loads under random deaths are paths_lane.c's. */
#include "flaky.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct proto *const protos[] = { &flaky_proto, NULL };

#define MSEC 1000000ull

struct rig {
	struct loop *loop;
	struct flaky_disk disk;
	struct flaky_way way[3];
	struct bdev_env env;
	struct bdev *bdev;
	struct lane *lane;
	struct pool *pool;
	struct diag diag;
};

static void rig_init(struct rig *rig)
{
	static const char *const host[] = { "a", "b", "c" };

	*rig = (struct rig){ .env = { .write = true, .on_loss_ms = 10000 } };
	cr_assert_eq(loop_new(&rig->loop, &(struct loop_options){ .name = "test", .verbose = true }, NULL), 0);
	flaky_disk_init(&rig->disk, 1 << 20);
	for (unsigned i = 0; i < 3; i++) {
		rig->way[i].host = host[i];
		rig->way[i].disk = &rig->disk;
		rig->way[i].id.nguid[3] = 9;
	}
	flaky_ways(rig->way, 3, 1);
	cr_assert_eq(pool_new(&rig->pool, 65536, 8, NULL), 0);
}

static void rig_open(struct rig *rig, const char *uri)
{
	cr_assert_eq(bdev_open(&rig->bdev, rig->loop, uri, &rig->env, &rig->diag), 0, "%s", rig->diag.text);
	cr_assert_eq(lane_open(&rig->lane, rig->bdev, rig->loop, &rig->diag), 0, "%s", rig->diag.text);
	cr_assert_eq(lane_map(rig->lane, rig->pool, &rig->diag), 0, "%s", rig->diag.text);
}

static void rig_fini(struct rig *rig)
{
	if (rig->lane) {
		lane_unmap(rig->lane, rig->pool);
		lane_close(rig->lane);
	}
	bdev_close(rig->bdev);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(atomic_load(&rig->way[i].lanes_open), 0);
		cr_assert_eq(atomic_load(&rig->way[i].mapped), 0);
		cr_assert_null(rig->way[i].leaf);
	}
	pool_free(rig->pool);
	flaky_disk_fini(&rig->disk);
	loop_free(rig->loop);
}

struct req {
	struct io io;
	struct buf buf;
	uint64_t done_ns;
	volatile int over;
	uint64_t lower[128];
};

static void req_done(struct io *io)
{
	struct req *req = container_of(io, struct req, io);

	req->done_ns = loop_clock();
	req->over++;
}

static void req_submit(struct rig *rig, struct req *req, enum io_kind kind, unsigned slot)
{
	*req = (struct req){ .buf = pool_buf(rig->pool, slot) };
	req->io = (struct io){ .kind = (uint8_t)kind, .off = slot * 4096ull, .len = 4096, .buf = &req->buf, .done = req_done, .lower = req->lower };
	req->io.status = 1;
	if (kind == IO_FLUSH)
		req->io.off = req->io.len = 0;
	bdev_submit(rig->lane, &req->io);
}

static bool req_wait(struct rig *rig, struct req *req, unsigned ms)
{
	return loop_wait(rig->loop, &req->over, loop_clock() + ms * MSEC);
}

static void turn_for(struct rig *rig, unsigned ms)
{
	volatile int never = 0;

	loop_wait(rig->loop, &never, loop_clock() + ms * MSEC);
}

static int one_io(struct rig *rig, enum io_kind kind)
{
	struct buf buf = pool_buf(rig->pool, 7);
	struct io io = { .kind = (uint8_t)kind, .len = kind == IO_FLUSH ? 0 : 4096, .buf = &buf };

	return bdev_io_wait(rig->lane, &io, 3000);
}

struct facts {
	char text[8192];
};

static void add_fact(void *arg, const char *key, const char *label, const char *value)
{
	struct facts *facts = arg;

	(void)label;
	snprintf(facts->text + strlen(facts->text), sizeof(facts->text) - strlen(facts->text), "%s=%s\n", key, value);
}

static void assert_fact(struct rig *rig, const char *part)
{
	struct facts facts = { "" };

	rig->bdev->ops->facts(rig->bdev, add_fact, &facts);
	cr_assert(strstr(facts.text, part), "'%s' is not in:\n%s", part, facts.text);
}

Test(paths, first_opening_fails_with_the_first_reason)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].refuse, 1);
	atomic_store(&rig.way[1].refuse, 1);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, "flaky://a/?path=b", &rig.env, &rig.diag), -ECONNREFUSED);
	cr_assert_str_eq(rig.diag.text, "the flaky way a refused");
	cr_assert_str_eq(rig.diag.object, "flaky://a/?path=b");
	cr_assert_eq(rig.diag.code, DIAG_REFUSED);
	rig.bdev = NULL;
	rig_fini(&rig);
}

Test(paths, silence_ends_with_the_timeout_of_the_uri)
{
	struct rig rig;
	uint64_t start = loop_clock();

	rig_init(&rig);
	atomic_store(&rig.way[0].silent, true);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, "flaky://a/?timeout=0.2", &rig.env, &rig.diag), -ETIMEDOUT);
	cr_assert_str_eq(rig.diag.text, "the flaky way gave no answer");
	cr_assert_lt(loop_clock() - start, 3000 * MSEC);
	rig.bdev = NULL;
	rig_fini(&rig);
}

Test(paths, one_of_two_ways_is_enough_and_the_other_joins_later)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[0].refuse, 2);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(one_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1);
	turn_for(&rig, 400);
	assert_fact(&rig, "path1=flaky://a/?path=b, up, 3 attempts; last: the flaky way a refused");
	assert_fact(&rig, "path2=flaky://b/, up, 1 attempt\n");
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 1);
	flaky_kill(&rig.way[1]);
	turn_for(&rig, 20);
	cr_assert_eq(one_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_WRITE]), 1);
	rig_fini(&rig);
}

Test(paths, the_preferred_way_is_taken_and_a_dead_one_not_returned_to)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[0].lane_ms = 50;
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_READ]), 1);
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 300);
	assert_fact(&rig, "path1=flaky://a/?path=b, up, 2 attempts; last: the flaky ");
	assert_fact(&rig, "flaky=a\n");
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].done[IO_READ]), 1);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_READ]), 1);
	rig_fini(&rig);
}

Test(paths, reads_go_over_at_once_and_writes_are_told_after_the_quiet_time)
{
	struct rig rig;
	struct req read, write, trim, zero, flush;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 1000;
	rig.way[0].no_late = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b");
	req_submit(&rig, &flush, IO_FLUSH, 4);
	req_submit(&rig, &read, IO_READ, 0);
	req_submit(&rig, &write, IO_WRITE, 1);
	req_submit(&rig, &trim, IO_TRIM, 2);
	req_submit(&rig, &zero, IO_ZERO, 3);
	turn_for(&rig, 20);
	cr_assert(!read.over && !write.over);
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &read, 500));
	turn_for(&rig, 50);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1, "replayed at once");
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_FLUSH]), 0, "not before the writes are over");
	cr_assert(!write.over && !trim.over && !zero.over && !flush.over);
	cr_assert(req_wait(&rig, &flush, 5000));
	cr_assert(write.over == 1 && trim.over == 1 && zero.over == 1 && read.over == 1 && flush.over == 1);
	cr_assert(!(write.io.status | trim.io.status | zero.io.status | read.io.status | flush.io.status));
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	cr_assert_geq(trim.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	cr_assert_geq(zero.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	cr_assert_geq(flush.done_ns, write.done_ns);
	rig_fini(&rig);
}

Test(paths, new_requests_are_not_withheld)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 10000;
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 20);
	uint64_t start = loop_clock();
	cr_assert_eq(one_io(&rig, IO_WRITE), 0);
	cr_assert_eq(one_io(&rig, IO_FLUSH), 0);
	cr_assert_lt(loop_clock() - start, 1000 * MSEC);
	rig_fini(&rig);
}

Test(paths, fail_fast_fails_at_once_what_no_way_can_take)
{
	struct rig rig;
	struct req read, write, late;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 1000;
	rig.way[0].no_late = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?loss=fail-fast");
	req_submit(&rig, &read, IO_READ, 0);
	req_submit(&rig, &write, IO_WRITE, 1);
	turn_for(&rig, 10);
	atomic_store(&rig.way[0].refuse, 3);
	cr_assert(flaky_kill(&rig.way[0]));
	cr_assert(req_wait(&rig, &read, 500));
	cr_assert_eq(read.io.status, -EIO);
	cr_assert_eq(read.io.detail, 0);
	req_submit(&rig, &late, IO_WRITE, 2);
	cr_assert(req_wait(&rig, &late, 300));
	cr_assert_eq(late.io.status, -EIO);
	cr_assert(!write.over, "it was sent: the way may still execute it");
	cr_assert(req_wait(&rig, &write, 5000));
	cr_assert_eq(write.io.status, -EIO);
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 1000 * MSEC);
	atomic_store(&rig.way[0].hold, false);
	for (unsigned i = 0; i < 50 && one_io(&rig, IO_READ); i++)
		turn_for(&rig, 100);
	cr_assert_eq(one_io(&rig, IO_READ), 0, "it came back in the background");
	rig_fini(&rig);
}

Test(paths, held_requests_fail_when_their_time_is_over)
{
	struct rig rig;
	struct req read, late;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?loss=0.3");
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 50);
	uint64_t start = loop_clock();
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(!req_wait(&rig, &read, 150));
	cr_assert(req_wait(&rig, &read, 1000));
	cr_assert_eq(read.io.status, -EIO);
	cr_assert_lt(loop_clock() - start, 1500 * MSEC);
	req_submit(&rig, &late, IO_FLUSH, 0);
	cr_assert(req_wait(&rig, &late, 1000));
	cr_assert_eq(late.io.status, -EIO);
	atomic_store(&rig.way[0].refuse, 0);
	for (unsigned i = 0; i < 50 && one_io(&rig, IO_READ); i++)
		turn_for(&rig, 100);
	cr_assert_eq(one_io(&rig, IO_READ), 0);
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
	turn_for(&rig, 50);
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

Test(paths, a_withheld_write_can_be_cancelled_one_in_flight_not)
{
	struct rig rig;
	struct req withheld, flying;

	rig_init(&rig);
	rig.way[0].quiesce_ms = 60000;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/?path=b");
	req_submit(&rig, &withheld, IO_WRITE, 0);
	turn_for(&rig, 5);
	cr_assert(!rig.lane->ops->cancel(rig.lane, &withheld.io));
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 50);
	atomic_store(&rig.way[1].hold, true);
	req_submit(&rig, &flying, IO_WRITE, 1);
	cr_assert(rig.lane->ops->cancel(rig.lane, &withheld.io));
	cr_assert(!rig.lane->ops->cancel(rig.lane, &flying.io));
	cr_assert(req_wait(&rig, &withheld, 1000));
	cr_assert_eq(withheld.io.status, -ECANCELED);
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
	turn_for(&rig, 50);
	cr_assert_eq(bdev_io_wait(rig.lane, &io, 100), -ETIMEDOUT);
	rig_fini(&rig);
}

Test(paths, another_disk_is_refused_as_second_way)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[1].id.nguid[3] = 8;
	rig.way[2].id = (struct bdev_id){ .uuid = { 1 } };
	rig_open(&rig, "flaky://a/?path=b&path=flaky%3a%2f%2fc%2f");
	assert_fact(&rig, "another disk: its NGUID is 00000008000000000000000000000000, not 00000009000000000000000000000000");
	assert_fact(&rig, "nothing proves that it is the same disk: no NGUID, UUID or EUI-64 in common");
	flaky_kill(&rig.way[0]);
	turn_for(&rig, 300);
	cr_assert_eq(one_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]) + atomic_load(&rig.way[2].done[IO_WRITE]), 0);
	rig_fini(&rig);
}

/* What comes back differs by one property each, is refused by name, and accepted once it is right again. */
static void comes_back_as(void (*spoil)(struct flaky_way *), void (*heal)(struct flaky_way *), const char *reason)
{
	struct rig rig;
	struct req read;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	spoil(&rig.way[0]);
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 50);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(!req_wait(&rig, &read, 200));
	assert_fact(&rig, reason);
	heal(&rig.way[0]);
	cr_assert(req_wait(&rig, &read, 2000));
	cr_assert_eq(read.io.status, 0);
	rig_fini(&rig);
}

static void other_id(struct flaky_way *way)
{
	way->id.nguid[3] = 77;
}

static void right_id(struct flaky_way *way)
{
	way->id.nguid[3] = 9;
}

static void no_id(struct flaky_way *way)
{
	way->id = (struct bdev_id){ .model = "x" };
}

static void smaller(struct flaky_way *way)
{
	way->size = 1 << 19;
}

static void right_size(struct flaky_way *way)
{
	way->size = 0;
}

static void short_writes(struct flaky_way *way)
{
	way->max_write = 4096;
}

static void long_writes(struct flaky_way *way)
{
	way->max_write = 0;
}

Test(paths, another_disk_is_refused_when_it_comes_back)
{
	comes_back_as(other_id, right_id, "another disk: its NGUID is 0000004d");
	comes_back_as(no_id, right_id, "nothing proves that it is the same disk");
}

Test(paths, a_smaller_disk_is_refused_when_it_comes_back)
{
	comes_back_as(smaller, right_size, "it is smaller: 524288 bytes, not 1048576");
}

Test(paths, shorter_requests_are_refused_when_it_comes_back)
{
	comes_back_as(short_writes, long_writes, "it takes a write of 4096 bytes at most, not 65536");
}

Test(paths, fewer_lanes_than_are_open_are_refused_when_it_comes_back)
{
	struct rig rig;
	struct lane *lane;
	struct req read;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, NULL), 0);
	rig.way[0].lanes = 1;
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 50);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(!req_wait(&rig, &read, 200));
	assert_fact(&rig, "last: it grants 1 lanes, and 2 are open");
	rig.way[0].lanes = 64;
	cr_assert(req_wait(&rig, &read, 2000));
	lane_close(lane);
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
		turn_for(&rig, 1);
		up = 0;
		for (unsigned i = 0; i < 3; i++)
			up += atomic_load(&rig.way[i].mapped);
		for (unsigned i = 0; i < 3 && up > 1; i++)
			kills += atomic_load(&rig.way[i].inflight) && flaky_kill(&rig.way[i]);
	}
	cr_assert(read.over);
	cr_assert_eq(read.io.status, -EIO);
	cr_assert_geq(kills, 8);
	rig_fini(&rig);
}

Test(paths, a_disk_without_a_name_comes_back_by_its_uri)
{
	struct rig rig;

	rig_init(&rig);
	no_id(&rig.way[0]);
	rig_open(&rig, "flaky://a/");
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 20);
	cr_assert_eq(one_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
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
	turn_for(&rig, 20);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(req_wait(&rig, &read, 6000));
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 6);
	/* 0 + 100 + 200 + 400 + 800 ms, a quarter more or less */
	cr_assert_gt(loop_clock() - start, 1100 * MSEC);
	cr_assert_lt(loop_clock() - start, 4500 * MSEC);
	rig_fini(&rig);
}

Test(paths, limits_are_what_all_ways_can_do)
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

Test(paths, pools_are_remembered_and_mapped_on_return)
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
	turn_for(&rig, 50);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 0);
	cr_assert_eq(pool_new(&other, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(rig.lane, other, NULL), 0);
	atomic_store(&rig.way[0].refuse, 0);
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 2);
	lane_unmap(rig.lane, rig.pool);
	cr_assert_eq(atomic_load(&rig.way[0].mapped), 1);
	cr_assert_eq(lane_map(rig.lane, rig.pool, NULL), 0);
	lane_unmap(rig.lane, other);
	pool_free(other);
	rig_fini(&rig);
}

Test(paths, a_way_that_cannot_map_is_left_with_its_reason)
{
	struct rig rig;
	struct pool *other;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(pool_new(&other, 4096, 1, NULL), 0);
	atomic_store(&rig.way[0].bad_map, true);
	cr_assert_eq(lane_map(rig.lane, other, &rig.diag), 0, "the other way takes it");
	turn_for(&rig, 50);
	assert_fact(&rig, "path1=flaky://a/?path=b, up, 2 attempts; last: the flaky lane takes no pool");
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_READ]), 1);
	atomic_store(&rig.way[1].bad_map, true);
	cr_assert(flaky_kill(&rig.way[1]));
	turn_for(&rig, 300);
	cr_assert_eq(atomic_load(&rig.way[0].mapped) + atomic_load(&rig.way[1].mapped), 0);
	assert_fact(&rig, "last: the flaky lane takes no pool");
	atomic_store(&rig.way[0].bad_map, false);
	atomic_store(&rig.way[1].bad_map, false);
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	lane_unmap(rig.lane, other);
	pool_free(other);
	rig_fini(&rig);
}

Test(paths, map_fails_where_no_way_takes_the_pool)
{
	struct rig rig;
	struct pool *other;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(pool_new(&other, 4096, 1, NULL), 0);
	atomic_store(&rig.way[0].bad_map, true);
	atomic_store(&rig.way[1].bad_map, true);
	cr_assert_eq(lane_map(rig.lane, other, &rig.diag), -ENOMEM);
	cr_assert_str_eq(rig.diag.text, "the flaky lane takes no pool");
	cr_assert_eq(one_io(&rig, IO_READ), 0, "both live on");
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1);
	pool_free(other);
	rig_fini(&rig);
}

Test(paths, a_lane_opened_in_an_outage_holds)
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
	turn_for(&rig, 50);
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, &rig.diag), 0);
	cr_assert_eq(bdev_io_wait(lane, &io, 0), 0);
	lane_close(lane);
	rig_fini(&rig);
}

Test(paths, a_lane_that_no_way_grants_does_not_open_and_hurts_no_other)
{
	struct rig rig;
	struct lane *lane;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	atomic_store(&rig.way[0].bad_lane, true);
	atomic_store(&rig.way[1].bad_lane, true);
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, &rig.diag), -ECONNRESET);
	cr_assert_str_eq(rig.diag.text, "the flaky lane broke");
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 1);
	rig_fini(&rig);
}

Test(paths, a_lane_refused_on_one_way_gets_it_when_it_needs_it)
{
	struct rig rig;

	rig_init(&rig);
	atomic_store(&rig.way[1].bad_lane, true);
	rig_open(&rig, "flaky://a/?path=b");
	turn_for(&rig, 20);
	atomic_store(&rig.way[1].bad_lane, false);
	cr_assert_eq(atomic_load(&rig.way[1].lanes_open), 0);
	atomic_store(&rig.way[0].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 20);
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	cr_assert_eq(atomic_load(&rig.way[1].attempts), 2);
	rig_fini(&rig);
}

Test(paths, one_dead_lane_takes_the_way_down_for_all)
{
	struct rig rig;
	struct lane *lane;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, &rig.diag), 0);
	cr_assert(flaky_kill_lane(&rig.way[0], 1));
	turn_for(&rig, 50);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	cr_assert_eq(atomic_load(&rig.way[0].lanes_open), 2);
	assert_fact(&rig, "last: the flaky lane broke");
	cr_assert_eq(one_io(&rig, IO_READ), 0);
	lane_close(lane);
	rig_fini(&rig);
}

Test(paths, lanes_that_do_not_notice_are_aborted)
{
	struct rig rig;
	struct req read;

	rig_init(&rig);
	rig.way[0].deaf = true;
	atomic_store(&rig.way[0].hold, true);
	rig_open(&rig, "flaky://a/");
	req_submit(&rig, &read, IO_READ, 0);
	turn_for(&rig, 10);
	cr_assert(flaky_kill(&rig.way[0]));
	turn_for(&rig, 50);
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

Test(paths, a_lane_may_leave_before_it_has_arrived)
{
	struct rig rig;
	struct crew *crew;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(crew_start(&crew, 1, loop_options(rig.loop), NULL), 0);
	for (unsigned i = 0; i < 50; i++) {
		cr_assert_eq(open_and_free(rig.loop, rig.bdev), 0);
		if (i % 5 == 0)
			flaky_kill(&rig.way[i % 2]);
		cr_assert_eq(loop_call(rig.loop, crew_loop(crew, 0), open_and_free, rig.bdev), 0);
		turn_for(&rig, i % 3);
	}
	crew_stop(crew);
	rig_fini(&rig);
}

Test(paths, closes_in_the_middle_of_anything)
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
		turn_for(&rig, ms[i]);
		uint64_t start = loop_clock();
		rig_fini(&rig);
		cr_assert_lt(loop_clock() - start, 1500 * MSEC);
	}
}

static void assert_usage(const char *uri, const char *part)
{
	struct rig rig;

	rig_init(&rig);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, uri, &rig.env, &rig.diag), -EINVAL);
	cr_assert_eq(rig.diag.code, DIAG_USAGE);
	cr_assert(strstr(rig.diag.text, part), "'%s' is not in: %s", part, rig.diag.text);
	rig.bdev = NULL;
	rig_fini(&rig);
}

Test(paths, bad_keys_are_named)
{
	assert_usage("flaky://a/?loss=soon", "loss");
	assert_usage("flaky://a/?path=", "path= names no host");
	assert_usage("flaky://a/?path=:80", "path= names no host");
	assert_usage("flaky://a/?path=[::1", "'[' without a matching ']'");
	assert_usage("flaky://a/?path=b:port", "port");
	assert_usage("flaky://a/?colour=red", "colour");
	assert_usage("flaky://a/?path=1&path=2&path=3&path=4&path=5&path=6&path=7&path=8&path=9", "more than 8 path= keys");
}

Test(paths, a_loss_and_a_return_are_traced)
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
	turn_for(&rig, 5);
	flaky_kill(&rig.way[0]);
	turn_for(&rig, 50);
	atomic_store(&rig.way[0].hold, false);
	cr_assert(req_wait(&rig, &read, 1000));
	fflush(stderr);
	dup2(old, 2);
	cr_assert_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	unlink(path);
	cr_assert(strstr(text, "test: path flaky://a/ lost: the flaky "), "%s", text);
	cr_assert(strstr(text, " broke; 1 request held\n"), "%s", text);
	cr_assert(strstr(text, "test: path flaky://a/ back after 0."), "%s", text);
	close(fd);
	close(old);
	rig_fini(&rig);
}
