/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asking a file where its holes are may take long: its loop must not wait for that. And the file
 * may change in that time. */
/* Link: lseek */
#include "bdev.h"
#include "loop.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

off_t __real_lseek(int fd, off_t off, int whence);
off_t __wrap_lseek(int fd, off_t off, int whence);

#define DATA_AT (1 << 20)

static sem_t go; /* a map takes until it is posted */
static char path[64];
static unsigned trims; /* so often the data is trimmed after it was found; it is written again */

/* Another client. */
static void change(bool write)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (write)
		cr_assert_eq(pwrite(fd, "data", 4, DATA_AT), 4);
	else
		cr_assert_eq(
			fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, DATA_AT, 4096),
			0);
	close(fd);
}

off_t __wrap_lseek(int fd, off_t off, int whence)
{
	off_t rc;

	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		sem_wait(&go);
		sem_post(&go);
	}
	if (whence == SEEK_DATA && trims)
		change(true);
	rc = __real_lseek(fd, off, whence);
	if (whence == SEEK_DATA && trims && rc == DATA_AT && off == DATA_AT) {
		change(false);
		trims--;
	}
	return rc;
}

static struct loop *loop;
static struct bdev *bdev;
static struct lane *lane;
static struct pool *pool;
static struct diag why;

static void setup(void)
{
	int fd = mkstemp(strcpy(path, "/var/tmp/map-test-XXXXXX"));

	cr_assert(fd >= 0 && !ftruncate(fd, 8 << 20) && pwrite(fd, "data", 4, DATA_AT) == 4);
	close(fd);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void open_disk(void)
{
	cr_assert_eq(
		bdev_open(&bdev, loop, path, &(struct bdev_env){ 0 }, &why), 0, "%s", why.text);
	cr_assert_eq(lane_open(&lane, bdev, loop, &why), 0, "%s", why.text);
	cr_assert_eq(pool_new(&pool, 1 << 20, 4, &why), 0);
	cr_assert_eq(lane_map(lane, pool, &why), 0);
}

static void fini(void)
{
	lane_unmap(lane, pool);
	lane_close(lane);
	bdev_close(bdev);
	pool_free(pool);
	loop_free(loop);
	unlink(path);
}
TestSuite(file_map, .init = setup, .fini = fini);

static unsigned count, wanted;
static volatile int all_done;
static struct io *order[8];

static void done(struct io *io)
{
	order[count++] = io;
	all_done = count == wanted;
}

static struct io make(uint8_t io_kind, struct buf *buf, unsigned slot, uint32_t len)
{
	*buf = (struct buf){ pool->base + slot * (1 << 20), 1 << 20, pool };
	return (struct io){ .kind = io_kind,
		.len = len,
		.buf = buf,
		.done = done,
		.lower = calloc(1, bdev->lim.io_size) };
}

static void wait_for(unsigned ios)
{
	wanted = ios;
	all_done = count == wanted;
	loop_wait(loop, &all_done, 0);
	cr_assert_eq(count, ios);
}

Test(file_map, a_read_does_not_wait_for_it)
{
	struct buf buf[4];
	struct io map[3], read;
	struct map_run *run;

	sem_init(&go, 0, 1); /* opening it is quick */
	open_disk();
	sem_wait(&go);
	for (unsigned i = 0; i < 3; i++)
		map[i] = make(IO_MAP, &buf[i], i, 8 << 20);
	read = make(IO_READ, &buf[3], 3, 4096);
	for (unsigned i = 0; i < 3; i++)
		bdev_submit(lane, &map[i]);
	bdev_submit(lane, &read);
	wait_for(1);
	cr_assert_eq(order[0], &read);
	sem_post(&go);
	wait_for(4);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(map[i].status, 0);
		cr_assert_eq(map[i].detail, 3);
		run = (void *)buf[i].p;
		cr_assert(run[0].len == 1 << 20 && run[0].flags == (MAP_HOLE | MAP_ZERO) &&
			  run[1].flags == 0 && run[2].flags);
		free(map[i].lower);
	}
	free(read.lower);
}

static void map_while_trimmed(unsigned times, uint64_t data)
{
	struct buf buf;
	struct io map = make(IO_MAP, &buf, 0, 8 << 20);
	const struct map_run *run = (void *)buf.p;
	uint64_t sum = 0, found = 0;

	change(true);
	trims = times;
	count = 0;
	bdev_submit(lane, &map);
	wait_for(1);
	cr_assert_eq(map.status, 0);
	for (uint32_t i = 0; i < map.detail; i++) {
		cr_assert_gt(run[i].len, 0);
		sum += run[i].len;
		found += run[i].flags ? 0 : run[i].len;
	}
	cr_assert_eq(sum, 8 << 20);
	cr_assert_eq(found, data);
	free(map.lower);
}

Test(file_map, data_that_is_trimmed_between_two_looks)
{
	sem_init(&go, 0, 1);
	open_disk();
	map_while_trimmed(1, 0);
	map_while_trimmed(1000, 4096);
	cr_assert_gt(trims, 900, "retries are limited");
}
