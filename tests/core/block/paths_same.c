/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A reconnected path must lead to the same disk. */
#include "flaky_rig.h"
#include <criterion/criterion.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

Test(paths_same, another_disk_is_refused_as_second_way)
{
	struct rig rig;

	rig_init(&rig);
	rig.way[1].id.nguid[3] = 8;
	rig.way[2].id = (struct bdev_id){ .uuid = { 1 } };
	rig_open(&rig, "flaky://a/?path=b&path=flaky%3a%2f%2fc%2f");
	rig_assert_fact(&rig, "path 2",
		"NGUID 00000008000000000000000000000000 00000009000000000000000000000000");
	rig_assert_fact(&rig, "path 3", "NGUID UUID EUI-64");
	flaky_kill(&rig.way[0]);
	rig_turn_for(&rig, 300);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(
		atomic_load(&rig.way[1].done[IO_WRITE]) + atomic_load(&rig.way[2].done[IO_WRITE]),
		0);
	rig_fini(&rig);
}

/* It would be executed twice where a path dies before the answer. */
Test(paths_same, what_cannot_be_replayed_is_not_offered)
{
	struct rig rig;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/?path=b");
	cr_assert_eq(rig.bdev->lim.max[IO_COMPARE_WRITE], 0);
	rig_fini(&rig);
}

/* Reconnect to a disk that differs in one property: the error names the property. The disk is
 * accepted again once the property is restored. */
static void comes_back_as(
	void (*spoil)(struct flaky_path *), void (*heal)(struct flaky_path *), const char *words)
{
	struct rig rig;
	struct req read;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	spoil(&rig.way[0]);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(!req_wait(&rig, &read, 200));
	rig_assert_fact(&rig, "path 1", words);
	heal(&rig.way[0]);
	cr_assert(req_wait(&rig, &read, 2000));
	cr_assert_eq(read.io.status, 0);
	rig_fini(&rig);
}

static void other_id(struct flaky_path *way)
{
	way->id.nguid[3] = 77;
}

static void right_id(struct flaky_path *way)
{
	way->id.nguid[3] = 9;
}

static void no_id(struct flaky_path *way)
{
	way->id = (struct bdev_id){ .model = "x" };
}

static void smaller(struct flaky_path *way)
{
	way->size = 1 << 19;
}

static void right_size(struct flaky_path *way)
{
	way->size = 0;
}

static void short_writes(struct flaky_path *way)
{
	way->max_write = 4096;
}

static void long_writes(struct flaky_path *way)
{
	way->max_write = 0;
}

Test(paths_same, another_disk_is_refused_when_it_comes_back)
{
	comes_back_as(other_id, right_id, "NGUID 0000004d");
	comes_back_as(no_id, right_id, "NGUID UUID EUI-64");
}

Test(paths_same, a_smaller_disk_is_refused_when_it_comes_back)
{
	comes_back_as(smaller, right_size, "524288 1048576");
}

Test(paths_same, shorter_requests_are_refused_when_it_comes_back)
{
	comes_back_as(short_writes, long_writes, "write 4096 65536");
}

Test(paths_same, fewer_lanes_than_are_open_are_refused_when_it_comes_back)
{
	struct rig rig;
	struct lane *lane;
	struct req read;

	rig_init(&rig);
	rig_open(&rig, "flaky://a/");
	cr_assert_eq(lane_open(&lane, rig.bdev, rig.loop, NULL), 0);
	rig.way[0].lanes = 1;
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	req_submit(&rig, &read, IO_READ, 0);
	cr_assert(!req_wait(&rig, &read, 200));
	rig_assert_fact(&rig, "path 1", "_1, _2_");
	rig.way[0].lanes = 64;
	cr_assert(req_wait(&rig, &read, 2000));
	lane_close(lane);
	rig_fini(&rig);
}

Test(paths_same, a_disk_without_a_name_comes_back_by_its_uri)
{
	struct rig rig;

	rig_init(&rig);
	no_id(&rig.way[0]);
	rig_open(&rig, "flaky://a/");
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 20);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[0].attempts), 2);
	rig_fini(&rig);
}
