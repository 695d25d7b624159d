/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load through everything that opens disks: several jobs on one disk, and a path that dies under
 * verified writes. */
#include "flaky.h"
#include "load.h"
#include "says.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, &ram_proto.scheme, &null_proto.scheme,
	NULL };

static struct loop *loop;
static struct bdev *disk;
static struct bdev_env env = { .write = true, .on_loss_ms = NO_LIMIT_MS };
static struct load_result *result;
static struct diag why;

static void begin(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	result = calloc(1, sizeof(*result));
}

static void end(void)
{
	bdev_close(disk);
	loop_free(loop);
	free(result);
}

static void open_disk(const char *uri)
{
	cr_assert_eq(bdev_open(&disk, loop, uri, &env, &why), 0, "%s", why.text);
}

Test(load_disks, four_jobs_on_one_disk, .init = begin, .fini = end)
{
	const struct load_options opt = { .read_percent = 30,
		.random = true,
		.verify = true,
		.bs = 4096,
		.depth = 8,
		.jobs = 4,
		.bytes = 2 << 20 };

	open_disk("ram:8M");
	cr_assert_eq(load_disk(loop, disk, &opt, result, &why), 0, "%s", why.text);
	cr_assert_eq(result->kind[LOAD_READ].requests + result->kind[LOAD_WRITE].requests, 4 * 512);
	cr_assert_gt(result->verified, 1 << 20);
}

Test(load_disks, jobs_cover_all_of_it, .init = begin, .fini = end)
{
	struct load_options opt = {
		.random = true, .verify = true, .bs = 4096, .depth = 8, .jobs = 3
	};

	open_disk("ram:8M");
	for (unsigned blocks = 1000; blocks < 1005; blocks++) {
		opt.size = blocks * 4096;
		opt.bytes = opt.size / opt.jobs + 4096;
		cr_assert_eq(load_disk(loop, disk, &opt, result, &why), 0, "%s", why.text);
		cr_assert_eq(result->verified, opt.size, "%lu of %u blocks",
			result->verified / 4096, blocks);
	}
}

Test(load_disks, a_disk_that_forgets_is_found_out, .init = begin, .fini = end)
{
	const struct load_options opt = {
		.verify = true, .bs = 4096, .depth = 8, .jobs = 2, .bytes = 1 << 20
	};
	const char *at;

	open_disk("null:8M");
	cr_assert_eq(load_disk(loop, disk, &opt, result, &why), -EIO);
	diag_says(&why, DIAG_MISMATCH, "null:8M", "byte_ zero");
	at = strstr(why.text, "byte ") + strlen("byte ");
	cr_assert_lt(strtoull(at, NULL, 10), 8,
		"%s: a first byte may be zero by chance, eight are not", why.text);
}

static void let_the_period_pass(const struct load_progress *progress, void *arg)
{
	const uint64_t begun = loop_clock();

	(void)progress;
	(void)arg;
	while (loop_clock() - begun < 5000000)
		;
}

Test(load_disks, one_request_at_least_is_measured, .init = begin, .fini = end)
{
	const struct load_options opt = { .read_percent = 100,
		.bs = 4096,
		.depth = 1,
		.jobs = 3,
		.runtime_ms = 1,
		.progress = let_the_period_pass };

	open_disk("ram:8M");
	cr_assert_eq(load_disk(loop, disk, &opt, result, &why), 0, "%s", why.text);
	cr_assert_eq(result->kind[LOAD_READ].requests, 3, "once each, after its end");
}

struct killer {
	struct loop_timer timer;
	struct flaky_path *way;
	unsigned kills;
};

static void strike(struct loop_timer *timer)
{
	struct killer *killer = container_of(timer, struct killer, timer);

	killer->kills += flaky_kill(&killer->way[killer->kills % 2]);
	loop_timer_set(loop, timer, loop_clock() + 40000000);
}

static void silence(struct loop_timer *timer)
{
	atomic_store(&container_of(timer, struct killer, timer)->way->hold, true);
}

Test(load_disks, paths_that_die_under_it_lose_nothing, .init = begin, .fini = end)
{
	const struct load_options opt = { .read_percent = 40,
		.random = true,
		.verify = true,
		.bs = 4096,
		.depth = 8,
		.jobs = 2,
		.runtime_ms = 600,
		.drain_ms = NO_LIMIT_MS };
	static struct flaky_disk flaky;
	static struct flaky_path way[2] = { { .host = "a", .disk = &flaky },
		{ .host = "b", .disk = &flaky } };
	struct killer killer = { .timer.fire = strike, .way = way };
	uint64_t verified = 0;

	flaky_disk_init(&flaky, 1 << 20);
	for (unsigned i = 0; i < 2; i++) {
		way[i].id.nguid[3] = 9;
		way[i].delay_us = 200;
		way[i].quiesce_ms = 5;
	}
	flaky_paths(way, 2, 7);
	open_disk("flaky://a/?path=b");
	loop_timer_set(loop, &killer.timer, loop_clock() + 40000000);
	do {
		cr_assert_eq(load_disk(loop, disk, &opt, result, &why), 0, "%s: %s", why.object,
			why.text);
		verified += result->verified;
	} while (killer.kills <= 3 || verified <= 100 << 10);
	loop_timer_del(loop, &killer.timer);
	bdev_close(disk);
	disk = NULL;
	flaky_disk_fini(&flaky);
}

static struct load_options short_load(unsigned runtime_ms, unsigned jobs)
{
	return (struct load_options){ .read_percent = 100,
		.random = true,
		.bs = 4096,
		.depth = 8,
		.jobs = jobs,
		.runtime_ms = runtime_ms,
		.drain_ms = runtime_ms / 3 };
}

/* False if that time was too short for what the path does. */
static bool fails_without_a_path(unsigned ms)
{
	const struct load_options opt = short_load(ms, 1);
	static struct flaky_disk flaky;
	static struct flaky_path way;
	uint64_t start;
	int err;

	way = (struct flaky_path){
		.host = "a", .disk = &flaky, .id.nguid = { 1 }, .delay_us = 100, .reads_max = 20
	};
	flaky_disk_init(&flaky, 1 << 20);
	flaky_paths(&way, 1, 7);
	open_disk("flaky://a/");
	atomic_store(&way.refuse, 100000);
	start = loop_clock();
	err = load_disk(loop, disk, &opt, result, &why);
	if (err && atomic_load(&way.attempts) > 1) {
		diag_says(&why, DIAG_UNREACHABLE, "flaky://a/", "8_request way_a_refused");
		cr_assert_eq(result->unanswered, 8);
		cr_assert_gt(result->kind[LOAD_READ].requests, 8,
			"what was answered before is in the result");
		cr_assert_float_eq(result->seconds, ms / 1e3, 1e-6, "%g s", result->seconds);
		cr_assert_geq(result->kind[LOAD_READ].latency.max + atomic_load(&way.died_ns),
			start + ms * 1000000ull, "what was not answered, too");
	} else {
		err = 0;
	}
	bdev_close(disk);
	disk = NULL;
	flaky_disk_fini(&flaky);
	return err;
}

Test(load_disks, all_paths_gone_is_a_failure, .init = begin, .fini = end)
{
	unsigned ms = 300;

	while (!fails_without_a_path(ms))
		ms *= 2;
}

/* False if a job was over before the path fell silent. */
static bool fails_in_silence(unsigned ms)
{
	const struct load_options opt = short_load(ms, 2);
	static struct flaky_disk flaky;
	static struct flaky_path way;
	struct killer killer = { .timer.fire = silence, .way = &way };
	bool failed;
	int err;

	way = (struct flaky_path){
		.host = "a", .disk = &flaky, .id.nguid = { 1 }, .delay_us = 100, .quiesce_ms = 60000
	};
	flaky_disk_init(&flaky, 1 << 20);
	flaky_paths(&way, 1, 7);
	open_disk("flaky://a/");
	loop_timer_set(loop, &killer.timer, loop_clock() + 50000000);
	err = load_disk(loop, disk, &opt, result, &why);
	loop_timer_del(loop, &killer.timer);
	failed = result->unanswered == 16;
	if (failed) {
		cr_assert_eq(err, -ETIMEDOUT);
		cr_assert_eq(why.err, ETIMEDOUT, "%s: %s", why.object, why.text);
		diag_says(&why, DIAG_TIMEOUT, NULL, "16_request");
		cr_assert_float_eq(result->seconds, ms / 1e3, 1e-6, "%g s", result->seconds);
	}
	bdev_close(disk);
	disk = NULL;
	flaky_disk_fini(&flaky);
	return failed;
}

Test(load_disks, a_path_that_falls_silent_is_a_failure, .init = begin, .fini = end)
{
	unsigned ms = 300;

	while (!fails_in_silence(ms))
		ms *= 2;
}
