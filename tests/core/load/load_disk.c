/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load on disks that answer out of order, lie, fail, and hold on to requests. */
#include "disk.h"
#include "says.h"
#include "stats.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE (4u << 20)

static struct loop *loop;
static struct fake_disk *disk;
static struct load_options opt;
static struct load_result *result;
static struct diag why;

static void begin(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	disk = fake_disk_new(loop, SIZE, 512);
	result = calloc(1, sizeof(*result));
	opt = (struct load_options){ .read_percent = 100,
		.random = true,
		.bs = 4096,
		.depth = 4,
		.jobs = 1,
		.bytes = SIZE,
		.drain_ms = NO_LIMIT_MS };
}

static void end(void)
{
	free(result);
	fake_disk_free(disk);
	loop_free(loop);
}

static int run(void)
{
	why = (struct diag){ 0 };
	return load_disk(loop, &disk->bdev, &opt, result, &why);
}

static uint64_t ios(enum load_kind kind)
{
	return result->kind[kind].requests;
}

Test(load_disk, reads_as_many_bytes_as_asked, .init = begin, .fini = end)
{
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ), SIZE / 4096);
	cr_assert_eq(ios(LOAD_WRITE), 0);
	cr_assert_eq(result->kind[LOAD_READ].bytes, SIZE);
	cr_assert_eq(disk->read, SIZE);
	cr_assert_eq(disk->written, 0);
	cr_assert_gt(result->seconds, 0);
}

Test(load_disk, in_sequence_every_block_once, .init = begin, .fini = end)
{
	memset(disk->bytes, 0, SIZE);
	opt.random = false;
	opt.read_percent = 0;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(disk->written, SIZE);
	for (unsigned i = 0; i < SIZE; i += 4096)
		cr_assert(memcmp(disk->bytes + i, "\0\0\0\0\0\0\0\0", 8),
			"block at %u was not written", i);
}

Test(load_disk, only_the_part_that_was_asked_for, .init = begin, .fini = end)
{
	memset(disk->bytes, 0, SIZE);
	opt.read_percent = 0;
	opt.offset = 1 << 20;
	opt.size = opt.bytes = 1 << 20;
	cr_assert_eq(run(), 0, "%s", why.text);
	for (unsigned i = 0; i < SIZE; i++)
		cr_assert(!disk->bytes[i] || (i >= 1 << 20 && i < 2 << 20), "byte %u", i);
}

Test(load_disk, a_mix_is_about_what_was_asked, .init = begin, .fini = end)
{
	opt.read_percent = 70;
	opt.bytes = 4 * SIZE;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ) + ios(LOAD_WRITE), 4 * SIZE / 4096);
	cr_assert(ios(LOAD_READ) > 2650 && ios(LOAD_READ) < 3080, "%lu reads of 4096",
		(unsigned long)ios(LOAD_READ));
}

Test(load_disk, ends_after_its_time, .init = begin, .fini = end)
{
	opt.bytes = 0;
	do { /* until the ramp was long enough for a read */
		opt.ramp_ms += 50;
		opt.runtime_ms = 2 * opt.ramp_ms;
		disk->read = 0;
		cr_assert_eq(run(), 0, "%s", why.text);
		cr_assert(result->seconds > 0.05, "%g s", result->seconds);
	} while (disk->read <= result->kind[LOAD_READ].bytes); /* the ramp is not counted */
}

Test(load_disk, ends_on_request_with_partial_results, .init = begin, .fini = end)
{
	int stop = 1;

	opt.bytes = 0;
	opt.stop = &stop;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert(result->stopped);
}

static void post(const struct load_progress *progress, void *sem)
{
	(void)progress;
	sem_post(sem);
}

struct stopper {
	sem_t begun;
	int stop;
};

static void *stop_when_begun(void *arg)
{
	struct stopper *stopper = arg;

	sem_wait(&stopper->begun);
	__atomic_store_n(&stopper->stop, 1, __ATOMIC_RELAXED);
	return NULL;
}

Test(load_disk, another_thread_may_stop_it, .init = begin, .fini = end)
{
	struct stopper stopper = { 0 };
	pthread_t thread;

	sem_init(&stopper.begun, 0, 0);
	cr_assert_eq(pthread_create(&thread, NULL, stop_when_begun, &stopper), 0);
	opt.bytes = 0;
	opt.stop = &stopper.stop;
	opt.progress = post;
	opt.arg = &stopper.begun;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert(result->stopped);
	pthread_join(thread, NULL);

	disk->no_lane = true;
	stopper.stop = 0;
	sem_post(&stopper.begun);
	cr_assert_eq(pthread_create(&thread, NULL, stop_when_begun, &stopper), 0);
	cr_assert_eq(run(), 0, "while it connects: %s", why.text);
	cr_assert(result->stopped);
	pthread_join(thread, NULL);
}

/* How often each block in the range was read or written: the least and the most of all. */
static void hits(uint64_t from, uint64_t to, uint32_t *least, uint32_t *most)
{
	*least = UINT32_MAX;
	*most = 0;
	for (uint64_t i = from / 512; i < to / 512; i++) {
		*least = disk->hits[i] < *least ? disk->hits[i] : *least;
		*most = disk->hits[i] > *most ? disk->hits[i] : *most;
	}
}

Test(load_disk, at_random_every_block_once, .init = begin, .fini = end)
{
	static const uint64_t blocks[] = { 1, 2, 3, 16, 777, 1000, 1023 };
	static const uint8_t reads[] = { 0, 100, 50 };
	uint32_t least, most;

	for (unsigned i = 0; i < 3 * sizeof(blocks) / sizeof(blocks[0]); i++) {
		uint64_t count = blocks[i / 3], size = count * 4096;

		memset(disk->hits, 0, SIZE / 512 * sizeof(*disk->hits));
		disk->seed = i;
		opt.read_percent = reads[i % 3];
		opt.offset = 512;
		opt.size = opt.bytes = size + 512;
		cr_assert_eq(run(), 0, "%s", why.text);
		cr_assert_eq(ios(LOAD_READ) + ios(LOAD_WRITE), count);
		hits(512, 512 + size, &least, &most);
		cr_assert(
			least == 1 && most == 1, "%lu blocks: %u to %u times", count, least, most);
	}
}

Test(load_disk, another_pass_covers_everything_again, .init = begin, .fini = end)
{
	uint32_t least, most;

	opt.read_percent = 0;
	opt.size = 777 * 4096;
	opt.bytes = 5 * opt.size;
	for (unsigned verify = 0; verify < 2; verify++) {
		opt.verify = verify;
		disk->seed = verify;
		memset(disk->hits, 0, SIZE / 512 * sizeof(*disk->hits));
		cr_assert_eq(run(), 0, "%s", why.text);
		hits(0, opt.size, &least, &most);
		cr_assert(least == 5 + verify && most == 5 + verify, "%u to %u times", least, most);
	}
	cr_assert_eq(result->verified, opt.size);
	cr_assert_eq(result->range, opt.size);
}

Test(load_disk, timed_it_covers_everything_over_and_over, .init = begin, .fini = end)
{
	uint32_t least, most;

	opt.read_percent = 0;
	opt.size = 100 * 4096;
	opt.bytes = 0;
	do { /* until there was time enough */
		opt.runtime_ms += 100;
		memset(disk->hits, 0, SIZE / 512 * sizeof(*disk->hits));
		cr_assert_eq(run(), 0, "%s", why.text);
		hits(0, opt.size, &least, &most);
	} while (least < 2);
	cr_assert(most - least <= 1, "%u to %u times", least, most);
}

static void stop_soon(const struct load_progress *progress, void *stop)
{
	if (progress->seconds > 0.2)
		*(volatile int *)stop = 1;
}

/* The disk answers so many writes, then no more. */
struct falls_silent {
	unsigned left;
	uint64_t at_ns;
};

static void one_less(struct fake_disk *d, void *arg)
{
	struct falls_silent *silent = arg;

	if (!--silent->left) {
		d->hold = true;
		silent->at_ns = loop_clock();
	}
}

Test(load_disk, a_disk_that_falls_silent_fails_the_load, .init = begin, .fini = end)
{
	struct falls_silent silent;
	uint64_t begun;
	double seconds;
	int err;

	disk->wrote = one_less;
	disk->arg = &silent;
	opt.read_percent = 0;
	opt.bytes = 0;
	opt.runtime_ms = 350;
	opt.drain_ms = 50;
	do { /* until there was time enough for all that it answers */
		opt.runtime_ms *= 2;
		opt.drain_ms *= 2;
		seconds = opt.runtime_ms / 1e3;
		silent = (struct falls_silent){ .left = 100 };
		disk->aborted = 0;
		disk->hold = false;
		begun = loop_clock();
		err = run();
	} while (silent.left);
	cr_assert_eq(err, -ETIMEDOUT);
	cr_assert_eq(why.err, ETIMEDOUT, "%s", why.text);
	diag_says(&why, DIAG_TIMEOUT, NULL, "4_requests");
	cr_assert_eq(result->unanswered, 4);
	cr_assert_eq(disk->aborted, 4);
	cr_assert_eq(ios(LOAD_WRITE), 100);
	cr_assert_eq(result->kind[LOAD_WRITE].bytes, 100 * 4096);
	cr_assert_float_eq(result->seconds, seconds, 1e-6, "%g s", result->seconds);
	cr_assert_eq(result->kind[LOAD_WRITE].latency.total, 104);
	cr_assert_geq(result->kind[LOAD_WRITE].latency.max,
		begun + opt.runtime_ms * 1000000ull - silent.at_ns);
	cr_assert_geq(stats_percentile(&result->kind[LOAD_WRITE].latency, 99),
		begun + opt.runtime_ms * 1000000ull - silent.at_ns,
		"percentiles have the unanswered, too");
}

Test(load_disk, one_request_is_no_plural, .init = begin, .fini = end)
{
	disk->hold = true;
	opt.depth = 1;
	opt.bytes = 0;
	opt.runtime_ms = 20;
	opt.drain_ms = 50;
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, NULL, "1_request");
	cr_assert_not_null(text_missing(why.text, "1_requests"));
}

Test(load_disk, an_unreachable_disk_is_named_as_that, .init = begin, .fini = end)
{
	diag_set(&disk->bdev.why, DIAG_UNREACHABLE, EHOSTUNREACH,
		"no connection for 2 s, 5 attempts: connection refused");
	disk->bad_off = 0;
	disk->bad_len = SIZE;
	disk->bad_status = -EHOSTUNREACH;
	for (unsigned timed = 0; timed < 2; timed++) {
		opt.bytes = timed ? 0 : SIZE;
		opt.runtime_ms = timed ? NO_LIMIT_MS : 0;
		cr_assert_eq(run(), -EHOSTUNREACH);
		diag_says(&why, DIAG_UNREACHABLE, disk->bdev.uri, "5_attempts");
		cr_assert_not_null(text_missing(why.text, "byte"));
		cr_assert_eq(result->unanswered, 4);
		cr_assert_eq(ios(LOAD_READ), 0);
		cr_assert_gt(result->seconds, 0);
		cr_assert_lt(result->seconds, NO_LIMIT_MS / 1000, "not the whole runtime");
	}
}

Test(load_disk, lost_while_verifying_is_not_in_the_latency, .init = begin, .fini = end)
{
	disk->bad_len = SIZE;
	disk->bad_status = -EHOSTUNREACH;
	opt.verify = true;
	opt.read_percent = 0;
	opt.drain_ms = 50;
	cr_assert_eq(run(), -EHOSTUNREACH, "%s", why.text);
	cr_assert_geq(result->unanswered, 1);
	cr_assert_eq(ios(LOAD_WRITE), SIZE / 4096);
	cr_assert_eq(result->kind[LOAD_WRITE].latency.total, SIZE / 4096);
	cr_assert_eq(result->kind[LOAD_READ].latency.total, 0);
	cr_assert_eq(result->verified, 0);
}

Test(load_disk, a_disk_that_answers_that_it_is_unreachable_has_answered, .init = begin, .fini = end)
{
	disk->bad_len = SIZE;
	disk->bad_status = -EHOSTUNREACH;
	disk->bad_detail = 0x301;
	cr_assert_eq(run(), -EHOSTUNREACH);
	diag_says(&why, DIAG_UNREACHABLE, disk->bdev.uri, "read byte");
	cr_assert_eq(result->unanswered, 0);
}

Test(load_disk, an_interrupted_load_gives_up_what_is_held, .init = begin, .fini = end)
{
	struct falls_silent silent = { .left = 10 };
	int stop = 0;

	disk->wrote = one_less;
	disk->arg = &silent;
	opt.read_percent = 0;
	opt.bytes = 0;
	opt.stop = &stop;
	opt.progress = stop_soon;
	opt.arg = &stop;
	cr_assert_eq(run(), -ETIMEDOUT);
	cr_assert(result->stopped);
	cr_assert_eq(result->unanswered, 4);
	cr_assert(result->seconds > 0.9, "%g s", result->seconds);
}

Test(load_disk, holes_are_announced, .init = begin, .fini = end)
{
	opt.size = opt.bytes = SIZE / 2;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(result->mapped, SIZE / 2);
	cr_assert_eq(result->data, SIZE / 2);
	memset(disk->hole + SIZE / 512 / 4, 1, SIZE / 512 / 8);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(result->mapped, SIZE / 2);
	cr_assert_eq(result->data, SIZE / 8 * 3);
	for (unsigned i = 0; i < SIZE / 512; i++)
		disk->hole[i] = i / 8 % 2;
	cr_assert_eq(run(), 0, "more runs than one answer has room for: %s", why.text);
	cr_assert_eq(result->mapped, SIZE / 2);
	cr_assert_eq(result->data, SIZE / 4);
	disk->bdev.lim.max[IO_MAP] = 0;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(result->mapped, 0, "the disk does not tell");
}

/* Requests that the disk takes and never answers, not even when it is asked to cancel them. */
Test(load_disk, an_interrupt_ends_the_search_for_holes, .init = begin, .fini = end)
{
	int stop = 1;

	disk->hold = disk->keep = true;
	opt.bytes = 0;
	opt.stop = &stop;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert(result->stopped);
	cr_assert_eq(result->mapped, 0);
	cr_assert_eq(disk->submitted, 1);
	cr_assert_eq(disk->aborted, 1);
}

static void answer_again(const struct load_progress *progress, void *arg)
{
	(void)progress;
	(void)arg;
	__atomic_store_n(&disk->hold, false, __ATOMIC_RELAXED);
}

Test(load_disk, a_delayed_answer_about_holes_does_not_disturb_the_load, .init = begin, .fini = end)
{
	disk->hold = disk->keep = true;
	opt.progress = answer_again;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ), SIZE / 4096);
	cr_assert_eq(result->mapped, 0);
	cr_assert_eq(disk->aborted, 0);
}

Test(load_disk, the_first_failure_ends_it, .init = begin, .fini = end)
{
	opt.random = false;
	disk->bad_off = 1 << 20;
	disk->bad_len = 512;
	disk->bad_status = -EIO;
	cr_assert_eq(run(), -EIO);
	diag_says(&why, DIAG_IO, disk->bdev.uri, "read byte_1048576 input/output_error");
	cr_assert_lt(ios(LOAD_READ), 300);
	cr_assert_gt(ios(LOAD_READ), 200, "what was done before is in the result");
}

Test(load_disk, verify_reads_all_that_was_written, .init = begin, .fini = end)
{
	for (unsigned seed = 0; seed < 6; seed++) {
		disk->seed = seed;
		opt.verify = true;
		opt.read_percent = seed % 2 ? 50 : 0;
		opt.depth = 1 + seed * 7;
		opt.random = seed % 3;
		opt.bytes = 2 * SIZE;
		cr_assert_eq(run(), 0, "seed %u: %s", seed, why.text);
		cr_assert(seed % 2 ? result->verified > SIZE / 4 : result->verified == SIZE,
			"%lu bytes", result->verified);
	}
	opt.random = false;
	opt.read_percent = 0;
	opt.bytes = SIZE;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(result->verified, SIZE);
}

Test(load_disk, verify_names_the_first_wrong_byte, .init = begin, .fini = end)
{
	char byte[32];

	opt.verify = true;
	opt.random = false;
	opt.read_percent = 0;
	for (unsigned at = 12345; at < SIZE; at += 777777) {
		disk->falsify = at;
		disk->seed = at;
		cr_assert_eq(run(), -EIO, "a wrong byte at %u was not found", at);
		snprintf(byte, sizeof(byte), "byte_%u_", at);
		diag_says(&why, DIAG_MISMATCH, disk->bdev.uri, byte);
	}
}

static void refused(int err, enum diag_code code, const char *words)
{
	cr_assert_eq(run(), -err, "%s", why.text);
	diag_says(&why, code, disk->bdev.uri, words);
	cr_assert_eq(load_disk_check(&disk->bdev, &opt, &why), -err);
}

Test(load_disk, a_wrong_option_is_named, .init = begin, .fini = end)
{
	opt.bs = 1000;
	refused(EINVAL, DIAG_USAGE, "--bs 512");
	opt.bs = 0;
	refused(EINVAL, DIAG_USAGE, "--bs 512");
	opt.bs = 2 << 20;
	refused(E2BIG, DIAG_USAGE, "--bs 1048576");
	opt.bs = 4096;
	opt.depth = 0;
	refused(ERANGE, DIAG_USAGE, "--iodepth 1_to_1024");
	opt.depth = 1025;
	refused(ERANGE, DIAG_USAGE, "--iodepth 1_to_1024");
	opt.depth = 1;
	opt.jobs = 0;
	refused(ERANGE, DIAG_USAGE, "--numjobs 1_to_4");
	opt.jobs = 100;
	disk->bdev.lim.lanes = 2;
	refused(ERANGE, DIAG_USAGE, "--numjobs 1_to_2");
	disk->bdev.lim.lanes = 1000;
	opt.jobs = 257;
	refused(ERANGE, DIAG_USAGE, "--numjobs 1_to_256");
	opt.jobs = 1;
	opt.offset = 100;
	refused(EINVAL, DIAG_USAGE, "--offset 512");
	opt.offset = SIZE;
	refused(ENOSPC, DIAG_USAGE, "--offset 4194304");
	opt.offset = 1ull << 50;
	refused(ENOSPC, DIAG_USAGE, "--offset 4194304");
	opt.offset = SIZE - 512;
	refused(ENOSPC, DIAG_USAGE, "--offset 4096");
	opt.offset = SIZE / 2;
	opt.size = SIZE / 2 + 512;
	refused(ENOSPC, DIAG_USAGE, "--size 2097152");
	opt.offset = 0;
	opt.size = 512;
	refused(ENOSPC, DIAG_USAGE, "--size 4096");
	opt.size = 0;
	opt.verify = true;
	refused(EINVAL, DIAG_USAGE, "--verify --rw");
	opt.read_percent = 0;
	disk->bdev.lim.ro = true;
	refused(EROFS, DIAG_PERMISSION, "read-only");
}

/* The disk takes 10 ms per request and 1000 are to start per second. Each request waits for all
 * before it. */
Test(load_disk, latency_counts_from_the_scheduled_start, .init = begin, .fini = end)
{
	enum { REQUESTS = 40, PACE_MS = 10 };

	disk->pace_ns = PACE_MS * MSEC;
	opt.bytes = REQUESTS * 4096;
	opt.depth = 1;
	opt.rate = 1000;
	cr_assert_eq(run(), 0, "%s", why.text);
	const struct load_figures *read = &result->kind[LOAD_READ];

	cr_assert_eq(read->requests, REQUESTS);
	cr_assert_eq(read->latency.total, REQUESTS);
	cr_assert_eq(read->service.total, REQUESTS);
	cr_assert_geq(read->latency.max, (REQUESTS * PACE_MS - REQUESTS) * MSEC);
	cr_assert_geq(read->latency.sum, REQUESTS * (REQUESTS - 1) / 2 * (PACE_MS - 1) * MSEC);
	cr_assert_geq(read->service.min, PACE_MS * MSEC);
	cr_assert_lt(read->service.sum, read->latency.sum);
	cr_assert_eq(result->delayed, REQUESTS - 1);
	cr_assert_eq(result->unstarted, 0);
}

Test(load_disk, every_scheduled_start_is_counted, .init = begin, .fini = end)
{
	opt.bytes = 0;
	opt.runtime_ms = 200;
	opt.rate = 500;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ) + result->unstarted, 100);

	disk->pace_ns = 50 * MSEC;
	opt.depth = 1;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ) + result->unstarted, 100);
	cr_assert_geq(result->unstarted, 95);
	cr_assert_eq(result->kind[LOAD_READ].latency.total, 100);
	cr_assert_geq(result->kind[LOAD_READ].latency.max, 150 * MSEC);
	cr_assert_geq(stats_percentile(&result->kind[LOAD_READ].latency, 50), 80 * MSEC);

	opt.read_percent = 30;
	*result = (struct load_result){ 0 };
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ) + ios(LOAD_WRITE) + result->unstarted, 100);
	cr_assert_eq(result->kind[LOAD_READ].latency.total + result->kind[LOAD_WRITE].latency.total,
		100);
	cr_assert_geq(result->kind[LOAD_READ].latency.total, 28);
	cr_assert_geq(result->seconds, 0.2);
}

Test(load_disk, only_planned_starts_are_counted, .init = begin, .fini = end)
{
	disk->pace_ns = 20 * MSEC;
	opt.depth = 1;
	opt.bytes = 30 * 4096;
	opt.runtime_ms = 200;
	opt.rate = 1000;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ) + result->unstarted, 30);
	cr_assert_eq(result->kind[LOAD_READ].latency.total, 30);
	cr_assert_gt(result->unstarted, 0);
}

Test(load_disk, rate_can_be_stopped_between_starts, .init = begin, .fini = end)
{
	int stop = 1;

	opt.bytes = 0;
	opt.rate = 0.001;
	opt.stop = &stop;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert(result->stopped);
}

Test(load_disk, a_write_may_be_a_trim_or_zeroes, .init = begin, .fini = end)
{
	static const enum load_change change[] = { LOAD_TRIM, LOAD_ZERO };
	static const uint8_t kind[] = { IO_TRIM, IO_ZERO };

	opt.read_percent = 0;
	for (unsigned i = 0; i < 2; i++) {
		memset(disk->bytes, 1, SIZE);
		*result = (struct load_result){ 0 };
		disk->zeroed = 0;
		opt.change = change[i];
		cr_assert_eq(run(), 0, "%s", why.text);
		cr_assert_eq(disk->zeroed, SIZE);
		cr_assert_eq(disk->written, 0);
		cr_assert_eq(ios(LOAD_WRITE), SIZE / 4096);
		cr_assert_eq(result->kind[LOAD_WRITE].bytes, SIZE);
		disk->bdev.lim.max[kind[i]] = 0;
		cr_assert_eq(run(), -ENOTSUP);
		diag_says(&why, DIAG_UNSUPPORTED, disk->bdev.uri, "--rw supported");
		disk->bdev.lim.max[kind[i]] = 2048;
		cr_assert_eq(run(), -E2BIG);
	}
}

Test(load_disk, flushes_after_as_many_writes, .init = begin, .fini = end)
{
	opt.read_percent = 50;
	opt.bytes = 4 * SIZE;
	opt.flush_every = 7;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ) + ios(LOAD_WRITE), 4 * SIZE / 4096);
	cr_assert_eq(disk->flushes, ios(LOAD_FLUSH));
	cr_assert(ios(LOAD_FLUSH) == ios(LOAD_WRITE) / 7 ||
			  ios(LOAD_FLUSH) + 1 == ios(LOAD_WRITE) / 7,
		"%lu flushes, %lu writes", (unsigned long)ios(LOAD_FLUSH),
		(unsigned long)ios(LOAD_WRITE));
	cr_assert_eq(result->kind[LOAD_FLUSH].bytes, 0);
	cr_assert_eq(result->kind[LOAD_FLUSH].latency.total, ios(LOAD_FLUSH));
}

Test(load_disk, flushes_do_not_take_the_place_of_scheduled_starts, .init = begin, .fini = end)
{
	opt.bytes = 0;
	opt.read_percent = 0;
	opt.runtime_ms = 200;
	opt.rate = 500;
	opt.flush_every = 2;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_WRITE) + result->unstarted, 100);
	cr_assert_eq(result->kind[LOAD_FLUSH].service.total, 0);
}

Test(load_disk, a_flush_that_fails_ends_the_load, .init = begin, .fini = end)
{
	opt.read_percent = 0;
	opt.flush_every = 3;
	disk->flush_status = -EIO;
	cr_assert_eq(run(), -EIO);
	diag_says(&why, DIAG_IO, disk->bdev.uri, "flush");
	cr_assert_lt(ios(LOAD_WRITE), 8);
	disk->bdev.lim.max[IO_FLUSH] = 0;
	cr_assert_eq(run(), -ENOTSUP);
	diag_says(&why, DIAG_UNSUPPORTED, disk->bdev.uri, "--fsync");
}

Test(load_disk, verify_with_flushes, .init = begin, .fini = end)
{
	opt.read_percent = 30;
	opt.verify = true;
	opt.flush_every = 5;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_gt(ios(LOAD_FLUSH), 0);
	cr_assert_gt(result->verified, 0);
}

Test(load_disk, sizes_are_split_by_their_shares, .init = begin, .fini = end)
{
	uint32_t blocks[3] = { 0 };

	opt.bytes = SIZE;
	opt.random = false;
	opt.bs = 8192;
	opt.splits = 3;
	opt.split[0] = (struct load_split){ 512, 20 };
	opt.split[1] = (struct load_split){ 8192, 50 };
	opt.split[2] = (struct load_split){ 2048, 30 };
	cr_assert_float_eq(load_mean_size(&opt), 512 * .2 + 8192 * .5 + 2048 * .3, 1e-6);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(ios(LOAD_READ), (uint64_t)(SIZE / load_mean_size(&opt)));
	cr_assert_eq(disk->read, result->kind[LOAD_READ].bytes);
	cr_assert(disk->read > SIZE / 10 * 9 && disk->read < SIZE / 10 * 11);
	for (uint32_t i = 0; i < SIZE / 8192; i++) {
		const uint32_t *hit = &disk->hits[i * 16];

		cr_assert_gt(hit[0], 0, "each request begins at a multiple of 8192");
		blocks[0] += hit[0] - hit[1];
		blocks[1] += hit[1] - hit[4];
		blocks[2] += hit[4] - hit[15] + hit[15];
	}
	cr_assert_eq(blocks[0] + blocks[1] + blocks[2], ios(LOAD_READ));
	cr_assert(blocks[0] > 120 && blocks[1] > 200 && blocks[2] > 380, "%u %u %u", blocks[0],
		blocks[1], blocks[2]);
	opt.split[2].bs = 700;
	cr_assert_eq(run(), -EINVAL);
	diag_says(&why, DIAG_USAGE, disk->bdev.uri, "--bssplit multiples");
}

Test(load_disk, each_request_that_counts_is_logged, .init = begin, .fini = end)
{
	char line[128];
	FILE *file;
	unsigned lines = 0;

	opt.read_percent = 50;
	opt.flush_every = 4;
	cr_assert_eq(load_log_new(&opt.log, 1, NULL), 0);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(load_log_dropped(opt.log), 0);
	cr_assert_eq(load_log_write(opt.log, "log", &why), 0, "%s", why.text);
	file = fopen("log", "r");
	while (fgets(line, sizeof(line), file)) {
		unsigned long ms, ns, off, last = 0;
		unsigned direction, len, priority;

		cr_assert_eq(sscanf(line, "%lu, %lu, %u, %u, %lu, %u", &ms, &ns, &direction, &len,
				     &off, &priority),
			6, "%s", line);
		cr_assert(ms >= last && ns && direction < 2 && len == 4096 && !(off % 4096) &&
			  off < SIZE && !priority);
		lines++;
		last = ms;
	}
	fclose(file);
	unlink("log");
	cr_assert_eq(lines, ios(LOAD_READ) + ios(LOAD_WRITE));
	cr_assert_eq(load_log_write(opt.log, "none/log", &why), -ENOENT);
	load_log_free(opt.log);
}

/* Keep the state of a load that ends as returned. */
static int write_and_keep(const char *path)
{
	opt.read_percent = 20;
	opt.verify = true;
	opt.verify_state = path;
	return run();
}

static int check_only(const char *path)
{
	opt = (struct load_options){ .depth = 3, .jobs = 1, .drain_ms = NO_LIMIT_MS };
	cr_assert_eq(load_state_options(&opt, path, &why), 0, "%s", why.text);
	*result = (struct load_result){ 0 };
	disk->written = 0;
	return run();
}

Test(load_disk, what_was_written_can_be_checked_later, .init = begin, .fini = end)
{
	char path[] = "/tmp/load_state.XXXXXX";
	uint64_t blocks;

	close(mkstemp(path));
	opt.offset = 8192;
	opt.size = SIZE / 2 + 4096;
	cr_assert_eq(write_and_keep(path), 0, "%s", why.text);
	blocks = result->verified / 4096;
	cr_assert_eq(check_only(path), 0, "%s", why.text);
	cr_assert_eq(result->verified, blocks * 4096);
	cr_assert_eq(disk->written, 0);
	cr_assert_eq(opt.offset, 8192);
	cr_assert_eq(opt.size, SIZE / 2 + 4096);
	memset(disk->bytes + SIZE / 4, 0, 10000);
	cr_assert_eq(check_only(path), -EIO);
	cr_assert(result->wrong_blocks == 2 || result->wrong_blocks == 3);
	cr_assert_eq(result->verified / 4096 + result->wrong_blocks, blocks);
	diag_says(&why, DIAG_MISMATCH, disk->bdev.uri, "written_blocks zeroes");
	disk->bdev.lim.size = SIZE / 2;
	cr_assert_eq(check_only(path), -ENOSPC);
	diag_says(&why, DIAG_MISMATCH, disk->bdev.uri, path);
	unlink(path);
}

Test(load_disk, a_state_of_other_blocks_is_named, .init = begin, .fini = end)
{
	char path[] = "/tmp/load_state.XXXXXX";

	close(mkstemp(path));
	opt.offset = 512;
	cr_assert_eq(write_and_keep(path), 0, "%s", why.text);
	opt = (struct load_options){ .depth = 3, .jobs = 1, .drain_ms = NO_LIMIT_MS };
	cr_assert_eq(load_state_options(&opt, path, &why), 0, "%s", why.text);
	disk->bdev.lim.block = 8192;
	refused(EINVAL, DIAG_MISMATCH, path);
	refused(EINVAL, DIAG_MISMATCH, "8192 4096");
	disk->bdev.lim.block = 4096;
	refused(EINVAL, DIAG_MISMATCH, "byte_512");
	disk->bdev.lim.block = 512;
	disk->bdev.lim.max[IO_READ] = 2048;
	refused(E2BIG, DIAG_MISMATCH, path);
	refused(E2BIG, DIAG_MISMATCH, "2048 4096");
	unlink(path);
}

Test(load_disk, a_state_that_is_replaced_is_not_used, .init = begin, .fini = end)
{
	char path[] = "/tmp/load_state.XXXXXX";
	struct load_options check = { .depth = 3, .jobs = 1, .drain_ms = NO_LIMIT_MS };

	close(mkstemp(path));
	cr_assert_eq(write_and_keep(path), 0, "%s", why.text);
	cr_assert_eq(load_state_options(&check, path, &why), 0, "%s", why.text);
	opt.bs = 8192;
	cr_assert_eq(write_and_keep(path), 0, "%s", why.text);
	opt = check;
	cr_assert_eq(run(), -EINVAL);
	diag_says(&why, DIAG_USAGE, path, "has_changed");
	unlink(path);
}

Test(load_disk, a_check_that_ends_early_says_so, .init = begin, .fini = end)
{
	char path[] = "/tmp/load_state.XXXXXX";

	close(mkstemp(path));
	opt.read_percent = 0;
	opt.verify = true;
	opt.verify_state = path;
	cr_assert_eq(run(), 0, "%s", why.text);
	memset(disk->bytes, 0, 4096);
	cr_assert_eq(check_only(path), -EIO);
	diag_says(&why, DIAG_MISMATCH, disk->bdev.uri, "1_of_1024_written_blocks zeroes");
	cr_assert_str_empty(why.hint);
	disk->bad_off = SIZE / 2;
	disk->bad_len = 512;
	disk->bad_status = -EIO;
	cr_assert_eq(check_only(path), -EIO);
	diag_says(&why, DIAG_MISMATCH, disk->bdev.uri, "1_of_ written_blocks zeroes");
	cr_assert_str_eq(why.hint, "not all blocks were checked");
	cr_assert_lt(result->verified, SIZE - 4096);
	unlink(path);
}

Test(load_disk, a_load_that_failed_keeps_what_was_answered, .init = begin, .fini = end)
{
	char path[] = "/tmp/load_state.XXXXXX";

	close(mkstemp(path));
	disk->fail_write = SIZE / 2;
	opt.bytes = 0;
	cr_assert_eq(write_and_keep(path), -EIO);
	disk->fail_write = UINT64_MAX;
	cr_assert_eq(check_only(path), 0, "%s", why.text);
	cr_assert_gt(result->verified, 0);
	cr_assert_lt(result->verified, SIZE);
	opt = (struct load_options){ .bs = 4096, .depth = 4, .jobs = 1, .bytes = SIZE };
	cr_assert_eq(write_and_keep("none/state"), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, "none/state", "create");
	disk->fail_write = SIZE / 2;
	opt.bytes = 0;
	cr_assert_eq(write_and_keep("none/state"), -EIO);
	diag_says(&why, DIAG_IO, disk->bdev.uri, "none/state not_written");
	unlink(path);
}
