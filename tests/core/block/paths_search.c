/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* paths=auto: what a target reports becomes paths, whatever it reports, and opening ends in time.
 */
/* Link: leap */
#include "flaky_rig.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, &flaky_exposed_proto.scheme, NULL };

#define LIST(way, ...)                                                                             \
	do {                                                                                       \
		static const struct flaky_address list_[] = { __VA_ARGS__ };                       \
		(way).list = list_;                                                                \
		(way).listed = sizeof(list_) / sizeof(list_[0]);                                   \
	} while (0)

/* The ways have addresses for names. */
static void begin(struct rig *rig)
{
	static const char *const host[] = { "192.0.2.1", "192.0.2.2", "192.0.2.3" };

	rig_init(rig);
	for (unsigned i = 0; i < 3; i++)
		rig->way[i].host = host[i];
}

static void expect_attempts(struct rig *rig, int a, int b, int c)
{
	const int expected[] = { a, b, c };

	for (unsigned i = 0; i < 3; i++)
		cr_expect_eq(atomic_load(&rig->way[i].attempts), expected[i], "way %u: %d", i,
			atomic_load(&rig->way[i].attempts));
}

/* The number of paths of the disk. */
static unsigned paths(struct rig *rig)
{
	struct bdev_path path;
	unsigned count = 0;

	while (bdev_path(rig->bdev, count + 1, &path))
		count++;
	return count;
}

Test(paths_search, what_the_target_reports_carries_on_when_the_first_is_lost)
{
	struct rig rig;

	begin(&rig);
	LIST(rig.way[0], { "192.0.2.1", 1 }, { "192.0.2.2", 1 }, { "192.0.2.3", 7 });
	rig_open(&rig, "flaky://192.0.2.1:1/x?paths=auto");
	cr_assert_eq(rig.bdev->why.err, 0, "%s", rig.bdev->why.text);
	expect_attempts(&rig, 1, 1, 1);
	rig_assert_fact(&rig, "path 2", "flaky://192.0.2.2:1/x up 1_attempt");
	rig_assert_fact(&rig, "path 3", "flaky://192.0.2.3:7/x up 1_attempt");
	cr_assert_eq(rig.way[0].detect_ms, BDEV_DETECT_MS, "as several paths are expected");
	atomic_store(&rig.way[0].refuse, 1000000);
	cr_assert(flaky_kill(&rig.way[0]));
	rig_turn_for(&rig, 50);
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1);
	cr_assert_eq(atomic_load(&rig.way[1].searches), 0, "only the first was asked");
	rig_fini(&rig);
}

Test(paths_search, known_addresses_are_no_new_paths)
{
	struct rig rig;

	begin(&rig);
	LIST(rig.way[0], { "192.0.2.1", 1 }, { "192.0.2.2", 1 }, { "192.0.2.2", 1 });
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto&path=192.0.2.2");
	cr_assert_eq(rig.bdev->why.err, 0, "%s", rig.bdev->why.text);
	cr_assert_eq(paths(&rig), 2);
	rig_fini(&rig);
}

Test(paths_search, another_named_path_is_asked_if_the_first_is_down)
{
	struct rig rig;

	begin(&rig);
	LIST(rig.way[1], { "192.0.2.1", 1 }, { "192.0.2.3", 1 });
	atomic_store(&rig.way[0].refuse, 1);
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto&path=192.0.2.2");
	cr_assert_eq(paths(&rig), 3);
	rig_assert_fact(&rig, "path 3", "flaky://192.0.2.3:1/x up");
	rig_fini(&rig);
}

Test(paths_search, lies_are_left_out_and_counted)
{
	struct rig rig;

	begin(&rig);
	LIST(rig.way[0], { "somewhere", 1 }, { "", 1 }, { "192.0.2.3", 0 }, { "fe80::1", 1 },
		{ "127.0.0.1", 1 }, { "::1", 1 }, { "0.0.0.0", 1 }, { "224.0.0.1", 1 },
		{ "255.255.255.255", 1 }, { "ff02::1", 1 }, { "192.0.2.2", 1 });
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto");
	cr_assert_eq(paths(&rig), 2);
	rig_assert_fact(&rig, "path 2", "flaky://192.0.2.2:1/x up");
	diag_says(&rig.bdev->why, DIAG_PROTOCOL, "", "paths=auto 10 'somewhere'");
	rig_fini(&rig);
}

Test(paths_search, a_disk_has_nine_paths_at_most)
{
	static char host[1000][16];
	static struct flaky_address list[1000];
	struct rig rig;

	begin(&rig);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(host[i], sizeof(host[i]), "10.0.%u.%u", i / 200, i % 200 + 1);
		list[i] = (struct flaky_address){ host[i], 1 };
	}
	rig.way[0].list = list;
	rig.way[0].listed = 1000;
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto");
	cr_assert_eq(paths(&rig), URI_PATHS + 1);
	diag_says(&rig.bdev->why, DIAG_PROTOCOL, "", "paths=auto 992 9");
	rig_fini(&rig);
}

/* A path to another disk carries nothing, and is tried as a lost one is. */
Test(paths_search, another_disk_there_is_no_path)
{
	struct rig rig;

	begin(&rig);
	LIST(rig.way[0], { "192.0.2.2", 1 }, { "192.0.2.3", 1 });
	rig.way[1].id.nguid[3] = 8;
	atomic_store(&rig.way[2].refuse, 3);
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto&policy=round-robin");
	rig_assert_fact(&rig, "path 2", "another_disk");
	rig_turn_for(&rig, 3000);
	rig_assert_fact(&rig, "path 3", "up 4_attempts");
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 0);
	cr_assert_eq(atomic_load(&rig.way[2].done[IO_WRITE]), 5);
	rig_fini(&rig);
}

Test(paths_search, a_failure_is_a_warning)
{
	struct rig rig;

	begin(&rig);
	diag_set(&rig.way[0].list_why, DIAG_REFUSED, ECONNREFUSED, "no listener");
	diag_ctx(&rig.way[0].list_why, "192.0.2.1:9");
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto");
	diag_says(&rig.bdev->why, DIAG_REFUSED, "", "paths=auto 192.0.2.1:9 listener");
	cr_assert(strstr(rig.bdev->why.hint, "path=HOST"));
	cr_assert_eq(rig_io(&rig, IO_WRITE), 0);
	flaky_resize(&rig.way[0], 2 << 20);
	cr_assert_eq(rig.bdev->lim.size, 2 << 20);
	cr_assert_eq(rig.bdev->why.err, 0, "it is not about the new size");
	rig_fini(&rig);

	rig_init(&rig);
	rig_open(&rig, "flaky://a/x?paths=auto");
	diag_says(&rig.bdev->why, DIAG_UNSUPPORTED, "", "paths=auto list");
	rig_fini(&rig);

	begin(&rig);
	LIST(rig.way[0], { "192.0.2.1", 1 });
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto");
	diag_says(&rig.bdev->why, DIAG_NOT_FOUND, "", "paths=auto no_other");
	rig_fini(&rig);
}

/* Return how long it took. */
static uint64_t open_ns(struct rig *rig, const char *uri)
{
	uint64_t begun = loop_clock();

	cr_assert_eq(bdev_open(&rig->bdev, rig->loop, uri, &rig->env, &rig->diag), 0, "%s",
		rig->diag.text);
	return loop_clock() - begun;
}

/* A list that never ends, and paths in it that never answer. */
Test(paths_search, opening_ends_within_its_time_limit)
{
	static const char *const uris[] = { "flaky://192.0.2.1/x?paths=auto",
		"flaky://192.0.2.1/x?paths=auto&timeout=2",
		"flaky://192.0.2.1/x?paths=auto&timeout=100ms" };
	static const unsigned limit_ms[] = { BDEV_TIMEOUT_MS, 2000, 100 };

	for (unsigned i = 0; i < 3; i++) {
		struct rig rig;

		begin(&rig);
		rig.way[0].list_ms = 3600000;
		cr_expect_leq(open_ns(&rig, uris[i]), limit_ms[i] * MSEC, "%s", uris[i]);
		diag_says(&rig.bdev->why, DIAG_TIMEOUT, "", "paths=auto");
		rig_fini(&rig);

		begin(&rig);
		LIST(rig.way[0], { "192.0.2.2", 1 });
		rig.way[0].list_ms = limit_ms[i] / 2 - 10;
		atomic_store(&rig.way[1].silent, true);
		cr_expect_leq(open_ns(&rig, uris[i]), limit_ms[i] * MSEC, "%s", uris[i]);
		cr_assert_eq(rig.bdev->why.err, 0);
		cr_assert_eq(paths(&rig), 2);
		rig_fini(&rig);
	}
}

Test(paths_search, without_a_limit_opening_waits_a_second_for_paths)
{
	struct rig rig;
	uint64_t took;

	begin(&rig);
	rig.env.timeout_ms = BDEV_NEVER;
	LIST(rig.way[0], { "192.0.2.2", 1 });
	atomic_store(&rig.way[1].silent, true);
	took = open_ns(&rig, "flaky://192.0.2.1/x?paths=auto");
	cr_assert(took >= 1000 * MSEC && took < 2000 * MSEC, "%llu ns", (unsigned long long)took);
	rig_fini(&rig);
}

static struct rig *killing;

static void kill_first(struct loop_timer *timer)
{
	(void)timer;
	cr_assert(flaky_kill(&killing->way[0]));
}

/* The path whose target was asked is lost before the answer. */
Test(paths_search, another_path_is_asked_if_the_first_is_lost)
{
	struct loop_timer timer = { .fire = kill_first };
	struct rig rig;

	begin(&rig);
	killing = &rig;
	rig.way[0].list_ms = 1000;
	LIST(rig.way[0], { "192.0.2.3", 1 });
	LIST(rig.way[1], { "192.0.2.3", 1 });
	loop_timer_set(rig.loop, &timer, loop_clock() + 500 * MSEC);
	rig_open(&rig, "flaky://192.0.2.1/x?paths=auto&path=192.0.2.2");
	cr_assert_eq(atomic_load(&rig.way[0].searches), 1);
	cr_assert_eq(atomic_load(&rig.way[1].searches), 1);
	cr_assert_eq(paths(&rig), 3);
	rig_fini(&rig);
}

Test(paths_search, a_way_that_dies_alone_while_it_is_asked_fails_the_opening)
{
	struct loop_timer timer = { .fire = kill_first };
	struct rig rig;

	begin(&rig);
	killing = &rig;
	rig.way[0].list_ms = 1000;
	loop_timer_set(rig.loop, &timer, loop_clock() + 500 * MSEC);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, "flaky://192.0.2.1/x?paths=auto", &rig.env,
			     &rig.diag),
		-ECONNRESET);
	rig.bdev = NULL;
	rig_fini(&rig);
}

Test(paths_search, wrong_use_is_named)
{
	struct rig rig;

	rig_assert_usage("flaky://192.0.2.1/?paths=all", "paths='all' auto");
	rig_assert_usage("flaky://192.0.2.1/?paths=", "paths='' auto");
	rig_assert_usage("flaky+rdma://192.0.2.1/?paths=auto", "paths= flaky+rdma list");
	begin(&rig);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, "flaky+rdma://192.0.2.1/?paths=auto", &rig.env,
			     &rig.diag),
		-EINVAL);
	cr_assert(strstr(rig.diag.hint, "path=HOST"));
	rig.bdev = NULL;
	rig_fini(&rig);
}
