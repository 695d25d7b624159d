/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks that complete requests at once: at the end of the turn, with a budget per turn, as
 * otherwise an owner that submits from done() would never let the loop finish its turn. */
#include "instant.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_BUDGET 256
#define DATA_MAX    (32u << 20)
#define SPAN_MAX    (1u << 30) /* longest TRIM, ZERO and MAP: bounds the time of one request */

struct instant_lane {
	struct lane lane;
	struct loop_work announce;
	struct loop_timer next_turn;
	struct io *head, **tail;
	uint64_t turn; /* loop_now() of the turn the budget belongs to */
	unsigned budget;
};

static struct instant_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct instant_lane, lane);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct instant_lane *il = to_lane(lane);

	io->next = NULL;
	*il->tail = io;
	il->tail = &io->next;
}

static void lane_kick(struct lane *lane)
{
	struct instant_lane *il = to_lane(lane);
	struct instant *disk = container_of(lane->bdev, struct instant, bdev);

	if (il->turn != loop_now(lane->loop)) {
		il->turn = loop_now(lane->loop);
		il->budget = TURN_BUDGET;
	}
	while (il->head && il->budget) {
		struct io *io = il->head;

		il->head = io->next;
		if (!il->head)
			il->tail = &il->head;
		il->budget--;
		io->detail = 0;
		io->status = disk->serve(disk, io);
		io->done(io);
	}
	if (il->head)
		loop_timer_set(lane->loop, &il->next_turn, il->turn);
}

static void lane_next_turn(struct loop_timer *timer)
{
	struct lane *lane = &container_of(timer, struct instant_lane, next_turn)->lane;

	loop_work_add(lane->loop, &lane->kick);
}

static void lane_free(struct lane *lane)
{
	struct instant_lane *il = to_lane(lane);

	loop_work_del(lane->loop, &lane->kick);
	loop_work_del(lane->loop, &il->announce);
	loop_timer_del(lane->loop, &il->next_turn);
	free(il);
}

static void lane_announce(struct loop_work *work)
{
	struct instant_lane *il = container_of(work, struct instant_lane, announce);

	il->lane.state = LANE_UP;
	if (il->lane.changed)
		il->lane.changed(&il->lane);
}

static const struct lane_ops lane_ops = {
	.submit = lane_submit, .kick = lane_kick, .free = lane_free
};

static int disk_lane(struct lane **lane, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct instant_lane *il = calloc(1, sizeof(*il));

	if (!il)
		return diag_sys(diag, ENOMEM, "I/O queue");
	lane_init(&il->lane, &lane_ops, bdev, loop);
	il->tail = &il->head;
	il->announce.run = lane_announce;
	il->next_turn.fire = lane_next_turn;
	loop_work_add(loop, &il->announce);
	*lane = &il->lane;
	return 0;
}

static void disk_announce(struct loop_work *work)
{
	struct instant *disk = container_of(work, struct instant, announce);

	disk->bdev.state = disk->bdev.state == BDEV_OPENING ? BDEV_UP : BDEV_DOWN;
	if (disk->bdev.changed)
		disk->bdev.changed(&disk->bdev);
}

static void disk_stop(struct bdev *bdev)
{
	diag_set(&bdev->why, DIAG_CLOSED, ESHUTDOWN, "closed");
	loop_work_add(bdev->loop, &container_of(bdev, struct instant, bdev)->announce);
}

static void disk_free(struct bdev *bdev)
{
	struct instant *disk = container_of(bdev, struct instant, bdev);

	loop_work_del(bdev->loop, &disk->announce);
	disk->drop(disk);
}

static const struct bdev_ops disk_ops = {
	.name = "memory", .lane = disk_lane, .stop = disk_stop, .free = disk_free
};

void instant_start(struct instant *disk, const char *name, struct loop *loop)
{
	disk->bdev.ops = &disk_ops;
	disk->bdev.loop = loop;
	snprintf(disk->bdev.id.model, sizeof(disk->bdev.id.model), "%s", name);
	disk->announce.run = disk_announce;
	loop_work_add(loop, &disk->announce);
}

int instant_geometry(
	struct bdev_limits *lim, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	uint32_t block = 512;
	uint64_t size;
	int err;

	if (!*uri->path && (strcmp(uri->scheme, "null") || !env->create))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "no size given: expected %s:SIZE", uri->scheme);
	err = uri_u32(uri, "block", 512, 65536, &block, diag);
	if (err)
		return err;
	size = (env->create + block - 1) / block * block;
	err = *uri->path ? parse_size(uri->path, &size, diag) : 0;
	if (err)
		return err;
	if (block & (block - 1))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"block=%u: must be a power of 2, 512 to 65536", block);
	if (size > INT64_MAX)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "size '%s': must be less than 8E", uri->path);
	if (!size || size % block)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid size '%s': expected a positive multiple of %u bytes", uri->path,
			block);
	err = uri_done(uri, diag);
	if (err)
		return err;
	*lim = (struct bdev_limits){
		.size = size,
		.block = block,
		.best = 65536,
		.max = { [IO_READ] = DATA_MAX,
			[IO_WRITE] = DATA_MAX,
			[IO_FLUSH] = 1,
			[IO_TRIM] = SPAN_MAX,
			[IO_ZERO] = SPAN_MAX,
			[IO_MAP] = SPAN_MAX },
		.lanes = 256,
		.depth = 1024,
		.ro = !env->write,
		.fua = true,
		.sole_writer = true,
	};
	return 0;
}
