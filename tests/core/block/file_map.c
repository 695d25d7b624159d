/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asking a file where its holes are may take long: its loop must not wait for that. */
#include "bdev.h"
#include "loop.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

off_t __real_lseek(int fd, off_t off, int whence);
off_t __wrap_lseek(int fd, off_t off, int whence);

static sem_t go; /* a map takes until it is posted */

off_t __wrap_lseek(int fd, off_t off, int whence)
{
	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		sem_wait(&go);
		sem_post(&go);
	}
	return __real_lseek(fd, off, whence);
}

static char path[64];
static struct loop *loop;
static struct bdev *bdev;
static struct lane *lane;
static struct pool *pool;
static struct diag why;

static void setup(void)
{
	int fd = mkstemp(strcpy(path, "/var/tmp/map-test-XXXXXX"));

	cr_assert(fd >= 0 && !ftruncate(fd, 8 << 20) && pwrite(fd, "data", 4, 1 << 20) == 4);
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
