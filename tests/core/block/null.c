/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* null: is zeroes, however much is written. */
#include "bdev.h"
#include "protocol.h"
#include "says.h"
#include <criterion/criterion.h>
#include <string.h>

const struct scheme *const schemes[] = { &null_proto.scheme, &ram_proto.scheme, NULL };

Test(null, is_zeroes)
{
	static uint8_t room[8192], zero[8192];
	struct buf buf = { .p = room, .cap = sizeof(room) };
	struct io io = { .kind = IO_WRITE, .off = 1ull << 40, .len = sizeof(room), .buf = &buf };
	struct map_run *map = (struct map_run *)(void *)room;
	struct loop *loop;
	struct bdev *bdev;
	struct lane *lane;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(bdev_open(&bdev, loop, "null:4T?block=4096",
			     &(struct bdev_env){ .write = true }, NULL),
		0);
	cr_assert_eq(bdev->lim.size, 4ull << 40);
	cr_assert_eq(bdev->lim.block, 4096);
	cr_assert_eq(lane_open(&lane, bdev, loop, NULL), 0);
	memset(room, 7, sizeof(room));
	cr_assert_eq(bdev_io_wait(lane, &io, 1000), 0);
	cr_assert_eq(room[0], 7);
	io.kind = IO_READ;
	cr_assert_eq(bdev_io_wait(lane, &io, 1000), 0);
	cr_assert_eq(memcmp(room, zero, sizeof(room)), 0);
	io.kind = IO_MAP;
	io.len = 1 << 20;
	cr_assert_eq(bdev_io_wait(lane, &io, 1000), 0);
	cr_assert_eq(io.detail, 1);
	cr_assert(map->len == 1 << 20 && map->flags == (MAP_HOLE | MAP_ZERO));
	io.kind = IO_TRIM;
	cr_assert_eq(bdev_io_wait(lane, &io, 1000), 0);
	lane_close(lane);
	bdev_close(bdev);
	loop_free(loop);
}

Test(null, takes_a_size_where_it_has_none)
{
	struct bdev_env env = { .write = true, .create = (1 << 20) + 1 };
	struct diag diag = { 0 };
	struct loop *loop;
	struct bdev *bdev;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(bdev_open(&bdev, loop, "null:?block=4096", &env, NULL), 0);
	cr_assert_eq(bdev->lim.size, (1 << 20) + 4096);
	bdev_close(bdev);
	cr_assert_lt(
		bdev_open(&bdev, loop, "ram:", &env, &diag), 0, "memory takes a size of its own");
	diag_says(&diag, DIAG_USAGE, "ram:", "size");
	env.create = 0;
	diag = (struct diag){ 0 };
	cr_assert_lt(bdev_open(&bdev, loop, "null:", &env, &diag), 0);
	diag_says(&diag, DIAG_USAGE, "null:", "size");
	loop_free(loop);
}
