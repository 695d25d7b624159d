/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One lane at a time; every answer comes a turn after its request. */
#include "disk.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRAIN  512
#define FLIGHT 4096
#define LOOK   1000000 /* ns, for the end of a hold */

struct fake_lane {
	struct lane lane;
	struct io *flight[FLIGHT];
	unsigned count;
	struct loop_timer turn;
	struct loop_work tell;
	bool aborted;
};

static bool touches(const struct io *io, uint64_t off, uint64_t len)
{
	return io->off < off + len && off < io->off + io->len;
}

static int map(const struct fake_disk *disk, struct io *io)
{
	struct map_run *run = (struct map_run *)(void *)io->buf->p;
	uint64_t at = io->off, end = io->off + io->len;
	uint32_t n = 0, most = io->buf->cap / sizeof(*run);

	while (at < end && n < most) {
		bool hole = disk->hole[at / GRAIN];
		uint64_t from = at;

		while (at < end && disk->hole[at / GRAIN] == hole)
			at += disk->bdev.lim.block;
		run[n++] = (struct map_run){ .len = at - from,
			.flags = hole ? MAP_HOLE | MAP_ZERO : 0 };
	}
	io->detail = n;
	return 0;
}

static int put(struct fake_disk *disk, const struct io *io)
{
	if (disk->fail_write != UINT64_MAX && touches(io, disk->fail_write, 1))
		return -EIO;
	if (io->kind == IO_WRITE || io->kind == IO_COMPARE_WRITE)
		memcpy(disk->bytes + io->off, io->buf->p + (io->kind == IO_WRITE ? 0 : io->len),
			io->len);
	else
		memset(disk->bytes + io->off, 0, io->len);
	if (disk->falsify != UINT64_MAX && touches(io, disk->falsify, 1))
		disk->bytes[disk->falsify] ^= 0x40;
	if (io->off < disk->unsafe)
		disk->unsafe = io->off;
	if (io->off + io->len > disk->unsafe_end)
		disk->unsafe_end = io->off + io->len;
	*(io->kind == IO_ZERO || io->kind == IO_TRIM ? &disk->zeroed : &disk->written) += io->len;
	if (disk->wrote)
		disk->wrote(disk, disk->arg);
	return 0;
}

static int serve(struct fake_disk *disk, struct io *io)
{
	if (io->kind == IO_READ || io->kind == IO_WRITE)
		for (uint64_t at = io->off / GRAIN; at < (io->off + io->len) / GRAIN; at++)
			disk->hits[at]++;
	switch (io->kind) {
	case IO_READ:
		disk->read += io->len;
		if (disk->bad_len && touches(io, disk->bad_off, disk->bad_len)) {
			io->detail = disk->bad_detail;
			return disk->bad_status;
		}
		memcpy(io->buf->p, disk->bytes + io->off, io->len);
		return 0;
	case IO_WRITE:
	case IO_ZERO:
	case IO_TRIM:
		return put(disk, io);
	case IO_FLUSH:
		disk->flushes++;
		if (disk->flush_status)
			return disk->flush_status;
		if (disk->unsafe < disk->unsafe_end)
			memcpy(disk->safe + disk->unsafe, disk->bytes + disk->unsafe,
				disk->unsafe_end - disk->unsafe);
		disk->unsafe = UINT64_MAX;
		disk->unsafe_end = 0;
		return 0;
	case IO_MAP:
		return map(disk, io);
	case IO_COMPARE_WRITE:
		for (io->detail = 0; io->detail < io->len; io->detail++)
			if (io->buf->p[io->detail] != disk->bytes[io->off + io->detail])
				return -EBADE;
		return put(disk, io);
	default:
		return -ENOTSUP;
	}
}

static bool holds(const struct fake_lane *fl)
{
	const struct fake_disk *disk = container_of(fl->lane.bdev, struct fake_disk, bdev);

	return __atomic_load_n(&disk->hold, __ATOMIC_RELAXED) || disk->stuck == &fl->lane;
}

static void turn(struct loop_timer *timer)
{
	struct fake_lane *fl = container_of(timer, struct fake_lane, turn);
	struct fake_disk *disk = container_of(fl->lane.bdev, struct fake_disk, bdev);
	unsigned most = disk->pace_ns ? 1 : disk->seed ? 1u + rand_r(&disk->seed) % 4u : fl->count;

	while (fl->aborted && fl->count) {
		struct io *io = fl->flight[--fl->count];

		disk->aborted++;
		io->status = -ENOTCONN;
		io->done(io);
	}
	if (fl->aborted)
		fl->lane.state = LANE_DOWN;
	while (fl->count && most-- && !holds(fl)) {
		unsigned pick = disk->seed ? rand_r(&disk->seed) % fl->count : 0;
		struct io *io = fl->flight[pick];

		memmove(fl->flight + pick, fl->flight + pick + 1,
			(--fl->count - pick) * sizeof(io));
		io->status = serve(disk, io);
		io->done(io);
	}
	if (fl->count)
		loop_timer_set(fl->lane.loop, timer,
			loop_now(fl->lane.loop) + (holds(fl)              ? LOOK
							  : disk->pace_ns ? disk->pace_ns
									  : 1));
}

static void submit(struct lane *lane, struct io *io)
{
	struct fake_lane *fl = container_of(lane, struct fake_lane, lane);
	struct fake_disk *disk = container_of(lane->bdev, struct fake_disk, bdev);

	if (fl->count == FLIGHT)
		abort();
	memset(io->lower, 0x5a, lane->bdev->lim.io_size);
	io->detail = 0;
	disk->submitted++;
	disk->last = lane;
	if (io->kind == IO_WRITE)
		disk->pool = io->buf->pool;
	fl->flight[fl->count++] = io;
}

static void kick(struct lane *lane)
{
	struct fake_lane *fl = container_of(lane, struct fake_lane, lane);
	uint64_t pace_ns = container_of(lane->bdev, struct fake_disk, bdev)->pace_ns;

	if (fl->count && !(pace_ns && fl->turn.on))
		loop_timer_set(lane->loop, &fl->turn, loop_now(lane->loop) + pace_ns);
}

static void lane_free(struct lane *lane)
{
	struct fake_lane *fl = container_of(lane, struct fake_lane, lane);

	loop_work_del(lane->loop, &lane->kick);
	loop_work_del(lane->loop, &fl->tell);
	loop_timer_del(lane->loop, &fl->turn);
	free(fl);
}

static void lane_tell(struct loop_work *work)
{
	struct lane *lane = &container_of(work, struct fake_lane, tell)->lane;

	if (container_of(lane->bdev, struct fake_disk, bdev)->no_lane)
		return;
	lane->state = LANE_UP;
	if (lane->changed)
		lane->changed(lane);
}

static bool cancel(struct lane *lane, struct io *io)
{
	struct fake_lane *fl = container_of(lane, struct fake_lane, lane);
	struct fake_disk *disk = container_of(lane->bdev, struct fake_disk, bdev);
	unsigned i = 0;

	while (i < fl->count && fl->flight[i] != io)
		i++;
	if (!disk->hold || disk->keep || i == fl->count)
		return false;
	memmove(fl->flight + i, fl->flight + i + 1, (--fl->count - i) * sizeof(io));
	disk->cancelled++;
	io->status = -ECANCELED;
	io->done(io);
	return true;
}

static void abort_all(struct lane *lane, const struct diag *why)
{
	struct fake_lane *fl = container_of(lane, struct fake_lane, lane);

	lane->why = *why;
	fl->aborted = true;
	loop_timer_set(lane->loop, &fl->turn, loop_now(lane->loop) + 1);
}

static int map_pool(struct lane *lane, struct pool *pool, struct diag *diag)
{
	struct fake_disk *disk = container_of(lane->bdev, struct fake_disk, bdev);
	int status = disk->map_status;

	(void)pool;
	disk->map_status = 0;
	return status ? diag_sys(diag, -status, "register a pool") : 0;
}

static const struct lane_ops lane_ops = { .submit = submit,
	.kick = kick,
	.map = map_pool,
	.cancel = cancel,
	.abort = abort_all,
	.free = lane_free };

static int open_lane(struct lane **lane, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct fake_lane *fl = calloc(1, sizeof(*fl));

	(void)diag;
	if (!fl)
		abort();
	lane_init(&fl->lane, &lane_ops, bdev, loop);
	fl->turn.fire = turn;
	fl->tell.run = lane_tell;
	loop_work_add(loop, &fl->tell);
	*lane = &fl->lane;
	return 0;
}

static const struct bdev_ops ops = { .name = "fake", .lane = open_lane };

struct fake_disk *fake_disk_new(struct loop *loop, uint64_t size, uint32_t block)
{
	struct fake_disk *disk = calloc(1, sizeof(*disk));

	if (!disk)
		abort();
	disk->bytes = calloc(1, size);
	disk->safe = calloc(1, size);
	disk->hole = calloc(1, size / GRAIN);
	disk->hits = calloc(size / GRAIN, sizeof(*disk->hits));
	if (!disk->bytes || !disk->safe || !disk->hole || !disk->hits)
		abort();
	disk->fail_write = disk->falsify = UINT64_MAX;
	disk->unsafe_end = size; /* the creator writes all of it */
	disk->bad_status = -EIO;
	disk->bdev.ops = &ops;
	disk->bdev.loop = loop;
	disk->bdev.state = BDEV_UP;
	disk->bdev.lim = (struct bdev_limits){
		.size = size, .block = block, .best = block, .lanes = 4, .depth = 64, .io_size = 24
	};
	for (int i = 0; i < IO_KINDS; i++)
		disk->bdev.lim.max[i] = i == IO_COMPARE_WRITE ? 0 : 1u << 20;
	snprintf(disk->bdev.uri, sizeof(disk->bdev.uri), "fake:%p", (void *)disk);
	return disk;
}

void fake_disk_free(struct fake_disk *disk)
{
	free(disk->bytes);
	free(disk->safe);
	free(disk->hole);
	free(disk->hits);
	free(disk);
}
