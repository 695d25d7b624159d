/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The host's end of a pair test. */
#include "host.h"
#include "leap.h"
#include <criterion/criterion.h>

#define SEC  1000000000ull
#define MSEC 1000000ull

struct loop *loop;
struct bdev *disk;
struct lane *lane;
struct diag why;
volatile int settled;

static void disk_changed(struct bdev *bdev)
{
	settled = bdev->state != BDEV_OPENING;
}

static void lane_changed(struct lane *changed)
{
	settled = changed->state != LANE_OPENING;
}

void host_begin(uint32_t poll_us)
{
	const struct loop_options options = { .name = "test", .poll_us = poll_us };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
}

int host_attach(const char *text, const struct bdev_env *env)
{
	struct uri uri;
	int err;

	cr_assert_eq(uri_parse(&uri, text, &why), 0, "%s", why.text);
	settled = 0;
	err = bdev_start(&disk, loop, &uri, env, disk_changed, NULL, &why);
	if (err)
		return err;
	cr_assert(loop_wait(loop, &settled, leap_limit(5 * SEC + env->timeout_ms * MSEC)),
		"it hangs");
	why = disk->why;
	return disk->state == BDEV_UP ? 0 : -why.err;
}

void host_open(const char *uri, const struct bdev_env *env)
{
	cr_assert_eq(bdev_open(&disk, loop, uri, env, &why), 0, "%s", why.text);
	cr_assert_eq(lane_open(&lane, disk, loop, &why), 0, "%s", why.text);
}

bool host_try_lane(struct lane **out)
{
	settled = 0;
	cr_assert_eq(disk->ops->lane(out, disk, loop, &why), 0, "%s", why.text);
	(*out)->changed = lane_changed;
	if ((*out)->state == LANE_OPENING)
		cr_assert(loop_wait(loop, &settled, leap_limit(10 * SEC)), "it hangs");
	why = (*out)->why;
	return (*out)->state == LANE_UP;
}

void host_open_lane(void)
{
	cr_assert(host_try_lane(&lane), "%s", why.text);
}

int host_io(uint8_t kind, uint8_t flags, uint64_t off, uint32_t len, struct buf *buf)
{
	struct io io = { .kind = kind, .flags = flags, .off = off, .len = len, .buf = buf };

	return bdev_io_wait(lane, &io, 0);
}

void host_hang_up(void)
{
	lane_close(lane);
	if (disk)
		disk->ops->free(disk);
	lane = NULL;
	disk = NULL;
}

void host_end(void)
{
	host_hang_up();
	loop_free(loop);
}
