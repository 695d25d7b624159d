/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A copy that is stopped while a disk takes requests and answers none: it ends, and its map lists
 * only what is safe. */
/* Link: leap */
#include "../../../core/block/copy_run.h"
#include "copy_map.h"
#include "disk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE  (1u << 20)
#define PIECE 4096u

static struct loop *loop;
static struct fake_disk *src, *dst, *silent;
static struct copy_disk src_is, dst_is;
static struct copy_options opt;
static struct copy_progress progress;
static struct diag why;
static int stop;
static unsigned answers; /* writes until `silent` answers no more, and the copy is stopped */
static char map_name[] = "/tmp/copy-silent-XXXXXX";

static void fall_silent(void)
{
	silent->hold = silent->keep = true;
	stop = 1;
}

static void wrote(struct fake_disk *disk, void *arg)
{
	(void)disk;
	(void)arg;
	if (!--answers)
		fall_silent();
}

static void begin(void)
{
	int fd = mkstemp(map_name);

	cr_assert(fd >= 0);
	close(fd);
	unlink(map_name);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	src = fake_disk_new(loop, SIZE, 512);
	dst = fake_disk_new(loop, SIZE, 512);
	memset(src->bytes, 3, SIZE);
	memset(dst->bytes, 0xee, SIZE);
	memset(dst->safe, 0xee, SIZE);
	copy_disk_set(&src_is, SIZE, "source", "fake:source");
	copy_disk_set(&dst_is, SIZE, "destination", "fake:destination");
	opt = (struct copy_options){ .request = PIECE,
		.depth = 4,
		.map = map_name,
		.src_is = &src_is,
		.dst_is = &dst_is,
		.stop = &stop };
	dst->wrote = wrote;
	src->seed = dst->seed = 7;
}

static void end(void)
{
	unlink(map_name);
	fake_disk_free(src);
	fake_disk_free(dst);
	loop_free(loop);
}
TestSuite(copy_silent, .init = begin, .fini = end);

static int run(struct fake_disk *who, unsigned after)
{
	silent = who;
	answers = after;
	return copy_run(loop, &src->bdev, &dst->bdev, &opt, &progress, &why);
}

/* Bytes that the map calls copied; all of them survive the loss of what was not flushed. */
static uint64_t mapped(void)
{
	uint64_t off = 0, len, sum = 0;
	struct copy_map map;

	cr_assert_eq(copy_map_init(&map, SIZE, &why), 0);
	cr_assert_eq(copy_map_load(&map, map_name, &why), 0, "%s", why.text);
	for (; copy_map_next(&map, off, "+", &off, &len); off += len, sum += len)
		for (uint64_t i = off; i < off + len; i++)
			cr_assert_eq(dst->safe[i], 3, "byte %llu", (unsigned long long)i);
	copy_map_fini(&map);
	return sum;
}

/* Once the disk answers again, the rest is copied. */
static void assert_continues(uint64_t copied)
{
	stop = 0;
	silent->hold = silent->keep = false;
	src->read = 0;
	cr_assert_eq(run(silent, 0), 0, "%s", why.text);
	cr_assert_eq(src->read, SIZE - copied);
	cr_assert_eq(memcmp(dst->safe, src->bytes, SIZE), 0);
}

Test(copy_silent, the_source)
{
	uint64_t sum;

	cr_assert_eq(run(src, 50), -EINTR);
	cr_assert_str_eq(why.object, src->bdev.uri);
	cr_assert_geq(src->aborted, 1);
	cr_assert_eq(dst->aborted, 0, "the destination answers, and is flushed");
	sum = mapped();
	cr_assert_eq(sum, dst->written);
	cr_assert_geq(sum, 50 * PIECE);
	assert_continues(sum);
}

Test(copy_silent, the_destination)
{
	cr_assert_eq(run(dst, 50), -EINTR);
	cr_assert_str_eq(why.object, dst->bdev.uri);
	cr_assert_geq(dst->aborted, 1);
	cr_assert_eq(src->aborted, 0);
	cr_assert_eq(mapped(), 0, "nothing was flushed");
	assert_continues(0);
}

Test(copy_silent, the_destination_at_the_last_flush)
{
	cr_assert_eq(run(dst, SIZE / PIECE), -EINTR);
	cr_assert_eq(dst->aborted, 1);
	cr_assert_eq(mapped(), 0);
	assert_continues(0);
}

static void stop_at_once(const struct copy_progress *p, void *arg)
{
	(void)p;
	(void)arg;
	stop = 1;
}

Test(copy_silent, the_source_about_its_holes)
{
	opt.sparse = true;
	opt.progress = stop_at_once;
	src->hold = src->keep = true;
	cr_assert_eq(run(src, 0), -EINTR);
	cr_assert_eq(src->aborted, 1);
	cr_assert_eq(mapped(), 0);
	opt.progress = NULL;
	assert_continues(0);
}

Test(copy_silent, while_it_is_verified)
{
	opt.verify = true;
	cr_assert_eq(run(src, 0), 0, "%s", why.text);
	cr_assert_eq(mapped(), SIZE);
	opt.progress = stop_at_once;
	src->hold = src->keep = true;
	cr_assert_eq(run(src, 0), -EINTR);
	cr_assert_eq(mapped(), SIZE, "what was copied before stays so");
	cr_assert_eq(progress.verified, 0);
}
