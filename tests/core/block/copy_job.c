/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A copy from the names of its disks to the result: what is refused, the order of opening, requests
 * and closing, failures with their advice, and the file that a failed copy leaves or not. */
/* Link: leap */
#include "copy.h"
#include "disk.h"
#include "out.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MSEC  1000000ull
#define PIECE 4096u
#define SIZE  (16 * PIECE)
#define SRC   "nbd://source"
#define DST   "nbd://destination"

/* An end of the copy: a fake disk that logs its requests and can be closed. */
struct end {
	struct fake_disk *disk;
	const char *name;
	struct bdev_ops ops;
	struct lane_ops lane_ops;
	const struct bdev_ops *fake;
	const struct lane_ops *fake_lane;
	struct {
		struct io *io;
		void (*done)(struct io *);
	} flight[64];
	unsigned in_flight;
	int open_err;
	enum diag_code open_code;
};

static struct loop *loop;
static struct end src, dst;
static struct copy_job job;
static struct out out;
static char *printed;
static size_t printed_len;
static struct diag why;
static char events[16384];
static volatile int stop;
static bool running, idle_write;   /* idle_write: a write while `running` was not set */
static unsigned writes_until_stop; /* 0: never */
static unsigned failures;          /* calls of failed() */
static int failed_with, other_rc;  /* its rc, and the one that it returns instead; 0: the same */
static uint64_t src_length, dst_length; /* passed to open() */
static bool by_uri;                     /* no disk has a key but its URI */
static char folder[] = "/tmp/copy-job-XXXXXX";
static const struct out_notes notes = { .name = "copy", .quiet = true };

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t at = strlen(events);
	va_list args;

	va_start(args, fmt);
	vsnprintf(events + at, sizeof(events) - at, fmt, args);
	va_end(args);
}

static struct end *end_of(const struct bdev *bdev)
{
	return bdev == &src.disk->bdev ? &src : &dst;
}

/* ---- The disks. */

static struct end *find_flight(const struct io *io, unsigned *at)
{
	struct end *const ends[] = { &src, &dst };

	for (unsigned i = 0; i < 2; i++)
		for (*at = 0; *at < ends[i]->in_flight; ++*at)
			if (ends[i]->flight[*at].io == io)
				return ends[i];
	cr_assert_fail("not in flight");
	return NULL;
}

static void done(struct io *io)
{
	unsigned at;
	struct end *end = find_flight(io, &at);

	io->done = end->flight[at].done;
	end->flight[at] = end->flight[--end->in_flight];
	io->done(io);
}

/* Log "src r0", "dst w16384+512", with the length if it is not a piece. */
static void submit(struct lane *lane, struct io *io)
{
	struct end *end = end_of(lane->bdev);

	note("%s %c", end->name, "rwftzmc"[io->kind]);
	if (io->kind != IO_FLUSH)
		note("%llu", (unsigned long long)io->off);
	if (io->kind != IO_FLUSH && io->len != PIECE)
		note("+%u", io->len);
	note(", ");
	cr_assert_lt(end->in_flight, 64);
	end->flight[end->in_flight].io = io;
	end->flight[end->in_flight++].done = io->done;
	io->done = done;
	end->fake_lane->submit(lane, io);
}

static void free_lane(struct lane *lane)
{
	cr_assert_eq(end_of(lane->bdev)->in_flight, 0, "%s", end_of(lane->bdev)->name);
	end_of(lane->bdev)->fake_lane->free(lane);
}

static int open_lane(struct lane **lane, struct bdev *bdev, struct loop *its, struct diag *diag)
{
	struct end *end = end_of(bdev);
	int rc = end->fake->lane(lane, bdev, its, diag);

	if (rc)
		return rc;
	end->fake_lane = (*lane)->ops;
	end->lane_ops = *(*lane)->ops;
	end->lane_ops.submit = submit;
	end->lane_ops.free = free_lane;
	(*lane)->ops = &end->lane_ops;
	return 0;
}

static void stop_disk(struct bdev *bdev)
{
	bdev->state = BDEV_DOWN;
	bdev->changed(bdev);
}

static void free_disk(struct bdev *bdev)
{
	note("close %s, ", end_of(bdev)->name);
}

static void wrote(struct fake_disk *disk, void *arg)
{
	(void)disk;
	(void)arg;
	idle_write |= !running;
	if (writes_until_stop && !--writes_until_stop)
		stop = 1;
}

static void make_end(struct end *end, const char *name, uint64_t size, uint32_t block)
{
	*end = (struct end){ .name = name, .disk = fake_disk_new(loop, size, block) };
	end->fake = end->disk->bdev.ops;
	end->ops = *end->fake;
	end->ops.lane = open_lane;
	end->ops.stop = stop_disk;
	end->ops.free = free_disk;
	end->disk->bdev.ops = &end->ops;
	end->disk->bdev.lim.lanes = 1;
	end->disk->wrote = wrote;
	snprintf(end->disk->bdev.uri, sizeof(end->disk->bdev.uri), "fake:%s", name);
}

/* ---- The job. */

/* Opening a file creates it, also if it fails then. */
static int open_end(struct copy_job *its, const char *uri, bool write, uint64_t length,
	struct bdev **bdev, struct diag *diag)
{
	struct end *end = write ? &dst : &src;
	char path[URI_MAX];
	int fd;

	cr_assert_eq(its, &job);
	cr_assert_str_eq(uri, write ? job.dst : job.src);
	*(write ? &dst_length : &src_length) = length;
	note("open %s, ", end->name);
	if (write && bdev_uri_path(uri, path, sizeof(path))) {
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		cr_assert_geq(fd, 0);
		close(fd);
	}
	if (end->open_err)
		return diag_set(diag, end->open_code, end->open_err, "can't be opened");
	*bdev = &end->disk->bdev;
	return 0;
}

static bool key(const char *uri, const struct bdev *bdev, char text[COPY_ID])
{
	(void)bdev;
	snprintf(text, COPY_ID, "id of %.100s", uri);
	return !by_uri;
}

static int failed(struct copy_job *its, int rc, struct diag *diag)
{
	(void)diag;
	cr_assert_not(running);
	failures++;
	failed_with = rc;
	its->timed_out = other_rc == -ETIMEDOUT;
	return other_rc ? other_rc : rc;
}

static void set_ends(uint64_t src_size, uint32_t src_block, uint64_t dst_size, uint32_t dst_block)
{
	if (src.disk) {
		fake_disk_free(src.disk);
		fake_disk_free(dst.disk);
	}
	make_end(&src, "src", src_size, src_block);
	make_end(&dst, "dst", dst_size, dst_block);
	for (uint64_t i = 0; i < src_size; i++)
		src.disk->bytes[i] = (uint8_t)(1 + i % 251);
	memset(dst.disk->bytes, 0xee, dst_size);
}

static void begin(void)
{
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	set_ends(SIZE, 512, SIZE, 512);
	out_init(&out, "copy", false);
	out.to = NULL;
	job = (struct copy_job){ .src = SRC,
		.dst = DST,
		.depth = 1,
		.request = PIECE,
		.loop = loop,
		.out = &out,
		.notes = &notes,
		.stop = &stop,
		.running = &running,
		.open = open_end,
		.key = key,
		.failed = failed };
}

static void end(void)
{
	char command[64];

	if (out.to)
		fclose(out.to);
	free(printed);
	fake_disk_free(src.disk);
	fake_disk_free(dst.disk);
	loop_free(loop);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}
TestSuite(copy_job, .init = begin, .fini = end);

static void clear_output(void)
{
	if (out.to)
		fclose(out.to);
	free(printed);
	out.to = open_memstream(&printed, &printed_len);
}

/* Run it once more; what it logs, prints and fails with is of this run only. */
static int run(void)
{
	int rc;

	events[0] = 0;
	why = (struct diag){ 0 };
	failures = 0;
	stop = 0;
	src.disk->bdev.state = dst.disk->bdev.state = BDEV_UP;
	clear_output();
	rc = copy_job_run(&job, &why);
	fflush(out.to);
	cr_assert_not(running);
	cr_assert_not(idle_write);
	return rc;
}

static unsigned count(const char *event)
{
	unsigned found = 0;

	for (const char *at = events; (at = strstr(at, event)); at++)
		found++;
	return found;
}

static bool ends_with(const char *last)
{
	size_t len = strlen(events), tail = strlen(last);

	return len >= tail && !strcmp(events + len - tail, last);
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* ---- The order of things. */

Test(copy_job, opens_reads_writes_flushes_and_closes_in_order)
{
	set_ends(3 * PIECE, 512, 3 * PIECE, 512);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_str_eq(events, "open src, open dst, "
				 "src r0, dst w0, src r4096, dst w4096, src r8192, dst w8192, "
				 "dst f, close dst, close src, ");
	cr_assert_eq(src_length, 0);
	cr_assert_eq(dst_length, 3 * PIECE, "the length of a new file");
	cr_assert_eq(memcmp(dst.disk->safe, src.disk->bytes, 3 * PIECE), 0);
	cr_assert_eq(failures, 0);
	text_says(printed, "copied 12_KiB");
}

Test(copy_job, keeps_as_many_requests_in_flight_as_wanted)
{
	set_ends(4 * PIECE, 512, 4 * PIECE, 512);
	job.depth = 3;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_str_eq(events, "open src, open dst, src r0, src r4096, src r8192, "
				 "dst w0, dst w4096, dst w8192, src r12288, dst w12288, "
				 "dst f, close dst, close src, ");
}

Test(copy_job, the_last_request_is_shorter)
{
	set_ends(2 * PIECE + 512, 512, 3 * PIECE, 512);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(count("src r8192+512, dst w8192+512, dst f, "), 1, "%s", events);
	cr_assert_eq(memcmp(dst.disk->safe, src.disk->bytes, 2 * PIECE + 512), 0);
	for (unsigned i = 2 * PIECE + 512; i < 3 * PIECE; i++)
		cr_assert_eq(dst.disk->safe[i], 0xee);
}

/* The block of the destination that the source covers in part is read to keep its rest. */
Test(copy_job, the_end_of_the_source_is_inside_a_block_of_the_destination)
{
	set_ends(2 * PIECE + 512, 512, 3 * PIECE, 4096);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(count("src r8192+512, dst r8192, dst w8192, dst f, "), 1, "%s", events);
	cr_assert_eq(memcmp(dst.disk->safe, src.disk->bytes, 2 * PIECE + 512), 0);
	cr_assert_eq(dst.disk->safe[2 * PIECE + 512], 0xee);
	cr_assert_eq(job.progress.copied, 2 * PIECE + 512);
}

Test(copy_job, holes_are_zeroed_and_not_read)
{
	set_ends(32 * PIECE, 512, 32 * PIECE, 512);
	job.sparse = true;
	memset(src.disk->hole + PIECE / 512, 1, 30 * PIECE / 512);
	memset(src.disk->bytes + PIECE, 0, 30 * PIECE);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(count("src m0+131072, "), 1, "%s", events);
	cr_assert_eq(count("src r"), 2);
	cr_assert_eq(count("dst z4096+122880, "), 1);
	cr_assert_eq(count("dst w"), 2);
	cr_assert_eq(memcmp(dst.disk->safe, src.disk->bytes, 32 * PIECE), 0);
	cr_assert_eq(job.progress.zeroed, 30 * PIECE);
	cr_assert_eq(job.progress.read, 2 * PIECE);
}

Test(copy_job, zeroes_of_a_new_file_are_not_written)
{
	job.dst = "new";
	job.sparse = true;
	memset(src.disk->bytes, 0, SIZE - PIECE);
	memset(dst.disk->bytes, 0, SIZE);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(count("dst w"), 1, "%s", events);
	cr_assert_eq(count("dst z"), 0);
	cr_assert_eq(job.progress.skipped, SIZE - PIECE);
	cr_assert(exists("new"));
}

Test(copy_job, a_destination_that_cannot_flush_is_not_flushed)
{
	dst.disk->bdev.lim.max[IO_FLUSH] = 0;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(count("dst f"), 0);
}

Test(copy_job, verification_follows_the_flush)
{
	set_ends(PIECE, 512, PIECE, 512);
	job.verify = true;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_str_eq(events, "open src, open dst, src r0, dst w0, dst f, src r0, dst r0, "
				 "close dst, close src, ");
	cr_assert_eq(job.progress.verified, PIECE);
}

/* Its length is unknown, so the destination limits what is read. */
Test(copy_job, standard_input_is_opened_after_the_destination)
{
	job.src = "-";
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(strncmp(events, "open dst, open src, src r0, ", 28), 0, "%s", events);
	cr_assert_eq(dst_length, 0);
	cr_assert_eq(src_length, SIZE + 1);
	cr_assert_eq(memcmp(dst.disk->safe, src.disk->bytes, SIZE), 0);
}

/* ---- Failures: the first one is reported, and no request is left at either disk (free_lane). */

Test(copy_job, a_read_error_ends_it)
{
	job.depth = 4;
	src.disk->bad_off = 5 * PIECE;
	src.disk->bad_len = 1;
	cr_assert_eq(run(), -EIO);
	diag_says(&why, DIAG_IO, "fake:src", "read 20480 --keep-going");
	cr_assert_eq(count("src r32768"), 0, "%s", events);
	cr_assert_eq(count("dst w20480"), 0);
	cr_assert_eq(failures, 1);
	cr_assert_eq(failed_with, -EIO);
	cr_assert(ends_with("dst f, close dst, close src, "), "%s", events);
	cr_assert_eq(lines_saying(printed, "copied"), 0, "%s", printed);
}

Test(copy_job, a_write_error_ends_it)
{
	job.depth = 4;
	dst.disk->fail_write = PIECE;
	cr_assert_eq(run(), -EIO);
	diag_says(&why, DIAG_IO, "fake:dst", "write 4096");
	cr_assert_eq(count("dst w16384"), 0, "%s", events);
	cr_assert(ends_with("dst f, close dst, close src, "), "%s", events);
}

/* The write of piece 0 fails when the read of piece 1 has failed. */
Test(copy_job, a_read_error_before_a_write_error_wins)
{
	job.depth = 4;
	src.disk->bad_off = PIECE;
	src.disk->bad_len = 1;
	dst.disk->fail_write = 0;
	cr_assert_eq(run(), -EIO);
	cr_assert_eq(count("dst w0, "), 1, "the write error did occur");
	diag_says(&why, DIAG_IO, "fake:src", "read 4096");
}

/* The second reads of all slots are in flight, one of them will fail. */
Test(copy_job, a_write_error_before_a_read_error_wins)
{
	job.depth = 4;
	src.disk->bad_off = 5 * PIECE;
	src.disk->bad_len = 1;
	dst.disk->fail_write = 3 * PIECE;
	cr_assert_eq(run(), -EIO);
	cr_assert_eq(count("src r20480, "), 1, "the read error did occur: %s", events);
	diag_says(&why, DIAG_IO, "fake:dst", "write 12288");
}

Test(copy_job, an_error_of_the_flush_is_not_one_of_a_write_before)
{
	dst.disk->flush_status = -ENOSPC;
	cr_assert_eq(run(), -ENOSPC);
	diag_says(&why, DIAG_IO, "fake:dst", "flush no_space");
	dst.disk->fail_write = 0;
	cr_assert_eq(run(), -EIO);
	cr_assert_eq(count("dst f, "), 1);
	diag_says(&why, DIAG_IO, "fake:dst", "write 0");
}

Test(copy_job, a_difference_is_named_and_not_repaired)
{
	job.verify = true;
	dst.disk->falsify = 3 * PIECE + 7;
	cr_assert_eq(run(), -EILSEQ);
	diag_says(&why, DIAG_MISMATCH, "fake:dst", "fake:src byte_12295");
	cr_assert_str_eq(why.hint, "");
}

Test(copy_job, keep_going_is_no_failure)
{
	job.keep_going = true;
	src.disk->bad_off = PIECE;
	src.disk->bad_len = 512;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(job.progress.bad, 512);
	cr_assert_eq(failures, 0);
}

/* ---- A stop. */

/* 10 ms for each request, so that a tick of the copy sees the stop in the middle. */
static void slow_down(unsigned after)
{
	set_ends(64 * PIECE, 512, 64 * PIECE, 512);
	dst.disk->pace_ns = 10 * MSEC;
	writes_until_stop = after;
}

Test(copy_job, a_stop_ends_it_in_the_middle)
{
	slow_down(5);
	job.depth = 4;
	cr_assert_eq(run(), -EINTR);
	diag_says(&why, DIAG_SYSTEM, NULL, "interrupted --resume_MAP");
	cr_assert_eq(failed_with, -EINTR);
	cr_assert_geq(job.progress.copied, 5 * PIECE);
	cr_assert_lt(job.progress.copied, 64 * PIECE);
	cr_assert_eq(job.progress.copied, dst.disk->written, "all that was sent was waited for");
	cr_assert(ends_with("dst f, close dst, close src, "), "%s", events);
}

Test(copy_job, a_stopped_one_continues_by_its_map)
{
	uint64_t before;

	slow_down(5);
	job.map = "map";
	cr_assert_eq(run(), -EINTR);
	diag_says(&why, DIAG_SYSTEM, NULL, "interrupted the_same_command_continues map");
	cr_assert_not(strstr(why.hint, "--verify"), "%s", why.hint);
	before = dst.disk->written;
	cr_assert(before && before < 64 * PIECE);
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(job.progress.resumed, before);
	cr_assert_eq(dst.disk->written, 64 * PIECE, "nothing was copied twice");
	cr_assert_eq(count("src r0, "), 0);
	cr_assert_eq(memcmp(dst.disk->safe, src.disk->bytes, 64 * PIECE), 0);
	cr_assert_eq(run(), 0, "%s", why.text);
	text_says(printed, "already complete map");
	cr_assert_eq(count("dst w"), 0);
}

Test(copy_job, disks_known_by_their_uri_only_are_to_be_verified)
{
	slow_down(5);
	job.map = "map";
	by_uri = true;
	cr_assert_eq(run(), -EINTR);
	diag_says(&why, DIAG_SYSTEM, NULL, "interrupted --verify continues map");
	writes_until_stop = 0;
	cr_assert_eq(run(), -EINVAL);
	diag_says(&why, DIAG_MISMATCH, "map map", "only_by_its_URI --verify");
	cr_assert_str_eq(events, "open src, close src, ");
}

/* ---- Advice. */

static void lose(struct end *end)
{
	diag_set(&end->disk->bdev.why, DIAG_UNREACHABLE, EHOSTUNREACH, "no connection for 9 s");
	end->disk->bad_status = -EHOSTUNREACH;
	end->disk->bad_off = 5 * PIECE;
	end->disk->bad_len = 1;
}

Test(copy_job, a_lost_disk_may_be_waited_for_longer)
{
	lose(&src);
	cr_assert_eq(run(), -EHOSTUNREACH);
	diag_says(&why, DIAG_UNREACHABLE, "fake:src", "9_s --resume_MAP --on-loss_SECONDS");
	src.disk->bad_off = 0;
	cr_assert_eq(run(), -EHOSTUNREACH);
	cr_assert(strstr(why.hint, "--on-loss") && !strstr(why.hint, "--resume"),
		"nothing was copied: %s", why.hint);
	src.disk->bad_off = 5 * PIECE;
	job.map = "map";
	cr_assert_eq(run(), -EHOSTUNREACH);
	diag_says(&why, DIAG_UNREACHABLE, "fake:src", "same_command map --on-loss_SECONDS");
}

Test(copy_job, a_time_limit_is_not_extended_by_the_loss_policy)
{
	lose(&src);
	other_rc = -ETIMEDOUT;
	cr_assert_eq(run(), -ETIMEDOUT);
	cr_assert_eq(failed_with, -EHOSTUNREACH);
	text_says(why.hint, "--resume_MAP");
	cr_assert_not(strstr(why.hint, "--on-loss"), "%s", why.hint);
}

Test(copy_job, a_copy_in_memory_has_nothing_to_resume)
{
	job.dst = "ram:64K";
	dst.disk->fail_write = 5 * PIECE;
	cr_assert_eq(run(), -EIO);
	cr_assert_str_eq(why.hint, "");
}

Test(copy_job, a_map_that_differs_or_is_of_another_size_is_to_be_removed)
{
	job.map = "it's";
	job.verify = true;
	dst.disk->falsify = 0;
	cr_assert_eq(run(), -EILSEQ);
	text_says(why.hint, "rm_'it");
	set_ends(SIZE + PIECE, 512, SIZE + PIECE, 512);
	cr_assert_lt(run(), 0);
	diag_says(&why, DIAG_MISMATCH, "map it's", "");
	cr_assert_str_eq(events, "open src, close src, ", "before the destination is touched");
}

Test(copy_job, a_map_of_a_file_that_was_removed_is_to_be_removed)
{
	job.dst = "new";
	job.map = "map";
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_eq(unlink("new"), 0);
	cr_assert_eq(run(), -ESTALE);
	diag_says(&why, DIAG_MISMATCH, "map map", "destination empty rm_map");
	cr_assert_str_eq(events, "open src, close src, ");
	cr_assert_not(exists("new"));
}

/* ---- What is refused before anything is opened. */

Test(copy_job, impossible_options_are_refused)
{
	static const struct {
		const char *src, *dst, *map;
		bool verify, keep_going, json;
		const char *says;
	} rows[] = {
		{ "-", "-", NULL, false, false, false, "no_disk standard_output" },
		{ "-", DST, NULL, true, false, false, "--verify: standard_input" },
		{ "-", DST, "map", false, false, false, "--resume: standard_input" },
		{ "-", DST, NULL, false, true, false, "--keep-going: standard_input" },
		{ SRC, "-", NULL, true, false, false, "--verify: standard_output" },
		{ SRC, "-", "map", false, false, false, "--resume: standard_output" },
		{ SRC, "-", NULL, false, false, true, "--json: standard_output" },
		{ "ram:1M", DST, "map", false, false, false, "--resume: ram:1M" },
		{ SRC, "null:1M", "map", false, false, false, "--resume: null:1M" },
		{ SRC, SRC, NULL, false, false, false, "same_disk" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		job.src = rows[i].src;
		job.dst = rows[i].dst;
		job.map = rows[i].map;
		job.verify = rows[i].verify;
		job.keep_going = rows[i].keep_going;
		out.json = rows[i].json;
		cr_assert_eq(run(), -EINVAL, "%s to %s", rows[i].src, rows[i].dst);
		diag_says(&why, DIAG_USAGE, NULL, rows[i].says);
		cr_assert_str_eq(events, "");
		out.json = false;
	}
}

Test(copy_job, a_source_that_cannot_be_opened)
{
	src.open_err = ECONNREFUSED;
	src.open_code = DIAG_REFUSED;
	job.dst = "new";
	cr_assert_eq(run(), -ECONNREFUSED);
	cr_assert_str_eq(events, "open src, ");
	cr_assert_eq(failures, 0);
	cr_assert_not(exists("new"));
	cr_assert_str_eq(why.hint, "");
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	job.src = "fifo";
	cr_assert_eq(run(), -ECONNREFUSED);
	text_says(why.hint, "copy_-_new");
}

Test(copy_job, one_disk_under_two_names_is_refused)
{
	memset(src.disk->bdev.id.uuid, 7, 16);
	memset(dst.disk->bdev.id.uuid, 7, 16);
	cr_assert_eq(run(), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "same_disk");
	cr_assert_str_eq(events, "open src, open dst, close dst, close src, ");
}

/* ---- The file of a failed copy. */

Test(copy_job, a_new_file_stays_only_if_something_was_copied)
{
	job.dst = "new";
	dst.disk->fail_write = 0;
	cr_assert_eq(run(), -EIO);
	cr_assert_not(exists("new"));
	dst.disk->fail_write = 5 * PIECE;
	cr_assert_eq(run(), -EIO);
	cr_assert(exists("new"));
}

Test(copy_job, a_file_that_existed_stays)
{
	int fd = open("old", O_CREAT | O_WRONLY, 0600);

	close(fd);
	job.dst = "old";
	dst.disk->fail_write = 0;
	cr_assert_eq(run(), -EIO);
	cr_assert(exists("old"));
}

Test(copy_job, a_new_file_that_cannot_be_opened_is_removed_unless_another_process_has_it)
{
	job.dst = "new";
	dst.open_err = EIO;
	dst.open_code = DIAG_IO;
	cr_assert_eq(run(), -EIO);
	cr_assert_str_eq(events, "open src, open dst, close src, ");
	cr_assert_not(exists("new"));
	dst.open_err = EBUSY;
	dst.open_code = DIAG_BUSY;
	cr_assert_eq(run(), -EBUSY);
	cr_assert(exists("new"));
}

/* ---- Dry runs. */

Test(copy_job, a_dry_run_copies_nothing)
{
	job.dry_run = true;
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_str_eq(events, "open src, open dst, close dst, close src, ");
	text_says(printed, "would_copy 64_KiB fake:src nbd://destination");
	set_ends(SIZE, 512, SIZE - 512, 512);
	cr_assert_eq(run(), -ENOSPC);
	diag_says(&why, DIAG_USAGE, "fake:dst", "too_small");
	dst.disk->bdev.lim.ro = true;
	cr_assert_eq(run(), -EROFS);
	cr_assert_eq(failures, 0);
}

Test(copy_job, a_dry_run_creates_no_file)
{
	job.dry_run = true;
	job.dst = "new";
	cr_assert_eq(run(), 0, "%s", why.text);
	cr_assert_str_eq(events, "open src, close src, ");
	cr_assert_not(exists("new"));
	job.dst = "none/new";
	cr_assert_eq(run(), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, "none/new", "");
}
