/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A part of a disk: where its requests go, what it passes on, and what a new size of the disk does
 * to it. */
#include "../../../core/block/part.h"
#include "disk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define BLOCK 512u
#define SIZE  (1u << 20)
#define FROM  65536u

static struct loop *loop;
static struct fake_disk *disk;
static struct bdev *part;
static struct lane *lane;
static struct pool *pool;
static struct diag why;

static void open_part(uint64_t offset, uint64_t size)
{
	struct part_range range = { .on = true, .offset = offset, .size = size };

	cr_assert_eq(part_open(&part, &disk->bdev, &range, 0, &why), 0, "%s", why.text);
	cr_assert_eq(lane_open(&lane, part, loop, &why), 0, "%s", why.text);
	cr_assert_eq(lane_map(lane, pool, &why), 0);
}

static void begin(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	disk = fake_disk_new(loop, SIZE, BLOCK);
	for (unsigned i = 0; i < SIZE; i++)
		disk->bytes[i] = (uint8_t)(i / BLOCK + i);
	cr_assert_eq(pool_new(&pool, 65536, 2, NULL), 0);
}

static void end(void)
{
	lane_unmap(lane, pool);
	lane_close(lane);
	free(part); /* the fake's own is not part of it */
	pool_free(pool);
	fake_disk_free(disk);
	loop_free(loop);
}
TestSuite(part, .init = begin, .fini = end);

static int run(uint8_t kind, uint64_t off, uint32_t len)
{
	struct buf buf = pool_buf(pool, 0);
	struct io io = { .kind = kind, .off = off, .len = len, .buf = &buf };

	return bdev_io_wait(lane, &io, 0);
}

Test(part, requests_go_to_their_place)
{
	static uint8_t before[SIZE];

	open_part(FROM, 2 * FROM);
	cr_assert(part->lim.size == 2 * FROM && part->is_part && part->start == FROM);
	cr_assert_eq(run(IO_READ, BLOCK, 4 * BLOCK), 0);
	cr_assert_eq(memcmp(pool->base, disk->bytes + FROM + BLOCK, 4 * BLOCK), 0);
	memcpy(before, disk->bytes, SIZE);
	memset(pool->base, 0xee, BLOCK);
	cr_assert_eq(run(IO_WRITE, 2 * FROM - BLOCK, BLOCK), 0);
	cr_assert_eq(run(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(disk->flushes, 1);
	cr_assert_eq(run(IO_ZERO, 0, BLOCK), 0);
	memset(before + 3 * FROM - BLOCK, 0xee, BLOCK);
	memset(before + FROM, 0, BLOCK);
	cr_assert_eq(memcmp(before, disk->bytes, SIZE), 0);
	disk->bad_off = FROM;
	disk->bad_len = BLOCK;
	disk->bad_status = -EIO;
	cr_assert_eq(run(IO_READ, 0, BLOCK), -EIO);
}

static volatile int is_over;

static void over(struct io *io)
{
	(void)io;
	is_over = 1;
}

/* The submitter sees its own offset at all times: an orphan is made of it. */
Test(part, a_request_that_is_held)
{
	static uint64_t lower[64];
	struct buf buf = pool_buf(pool, 0);
	struct io io = { .kind = IO_READ,
		.off = BLOCK,
		.len = BLOCK,
		.buf = &buf,
		.done = over,
		.lower = lower };

	open_part(FROM, 0);
	cr_assert_leq(part->lim.io_size, sizeof(lower));
	disk->hold = true;
	bdev_submit(lane, &io);
	cr_assert_eq(io.off, BLOCK);
	cr_assert(bdev_cancel(lane, &io));
	loop_wait(loop, &is_over, 0);
	cr_assert_eq(io.status, -ECANCELED);
	cr_assert_eq(disk->cancelled, 1);
	disk->hold = false;
}

static unsigned changes;

static void changed(struct bdev *bdev)
{
	(void)bdev;
	changes++;
}

static void resize(uint64_t size)
{
	disk->bdev.lim.size = size;
	disk->bdev.changed(&disk->bdev);
}

Test(part, a_disk_that_changes_its_size)
{
	open_part(FROM, 2 * FROM);
	part->changed = changed;
	resize(SIZE / 2);
	cr_assert_eq(part->lim.size, 2 * FROM);
	resize(2 * FROM);
	cr_assert_eq(part->lim.size, FROM);
	resize(BLOCK);
	cr_assert_eq(part->lim.size, 0);
	resize(SIZE);
	cr_assert_eq(part->lim.size, 2 * FROM);
	cr_assert_eq(changes, 4);
}

Test(part, up_to_the_end_of_a_disk_that_grows)
{
	open_part(FROM, 0);
	part->changed = changed;
	cr_assert_eq(part->lim.size, SIZE - FROM);
	resize(SIZE / 2);
	cr_assert_eq(part->lim.size, SIZE / 2 - FROM);
	resize(SIZE);
	cr_assert_eq(part->lim.size, SIZE - FROM);
}
