/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A part of a disk as a disk of its own: the keys offset=, size= and part= of any URI. */
#include "part.h"
#include "content_format.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct part {
	struct bdev bdev;
	struct bdev *whole;
	uint64_t size; /* wanted; 0: up to the end of the disk, wherever that is */
};

struct part_io {
	struct io io; /* to the whole disk */
	struct io *upper;
	_Alignas(8) uint8_t lower[]; /* the whole disk's */
};

struct part_lane {
	struct lane lane;
	struct lane *whole;
	uint64_t start;
};

static struct part *to_part(struct bdev *bdev)
{
	return container_of(bdev, struct part, bdev);
}

static struct part_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct part_lane, lane);
}

/* ---- Requests */

static void io_done(struct io *io)
{
	struct io *upper = container_of(io, struct part_io, io)->upper;

	upper->status = io->status;
	upper->detail = io->detail;
	upper->done(upper);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct part_lane *pl = to_lane(lane);
	struct part_io *pio = io->lower;

	pio->upper = io;
	pio->io = (struct io){ .kind = io->kind,
		.flags = io->flags,
		.len = io->len,
		.off = io->kind == IO_FLUSH ? 0 : pl->start + io->off,
		.buf = io->buf,
		.done = io_done,
		.lower = pio->lower };
	bdev_submit(pl->whole, &pio->io);
}

static bool lane_cancel(struct lane *lane, struct io *io)
{
	return bdev_cancel(to_lane(lane)->whole, &((struct part_io *)io->lower)->io);
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	struct lane *whole = to_lane(lane)->whole;

	if (whole->ops->abort)
		whole->ops->abort(whole, why);
}

static int map_pool(struct lane *lane, struct pool *pool, struct diag *diag)
{
	return lane_map(to_lane(lane)->whole, pool, diag);
}

static void unmap_pool(struct lane *lane, struct pool *pool)
{
	lane_unmap(to_lane(lane)->whole, pool);
}

static void lane_free(struct lane *lane)
{
	struct part_lane *pl = to_lane(lane);

	pl->whole->ops->free(pl->whole);
	free(pl);
}

static const struct lane_ops lane_ops = {
	.submit = lane_submit,
	.map = map_pool,
	.unmap = unmap_pool,
	.cancel = lane_cancel,
	.abort = lane_abort,
	.free = lane_free,
};

static void lane_changed(struct lane *whole)
{
	struct part_lane *pl = whole->user;

	pl->lane.state = whole->state;
	pl->lane.why = whole->why;
	if (pl->lane.changed)
		pl->lane.changed(&pl->lane);
}

/* ---- The disk */

static int open_lane(struct lane **lane, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct part *part = to_part(bdev);
	struct part_lane *pl = calloc(1, sizeof(*pl));
	int err;

	if (!pl)
		return diag_sys(diag, ENOMEM, "I/O queue");
	lane_init(&pl->lane, &lane_ops, bdev, loop);
	pl->start = bdev->start;
	err = part->whole->ops->lane(&pl->whole, part->whole, loop, diag);
	if (err) {
		free(pl);
		return err;
	}
	pl->whole->user = pl;
	pl->whole->changed = lane_changed;
	*lane = &pl->lane;
	return 0;
}

static void stop(struct bdev *bdev)
{
	struct bdev *whole = to_part(bdev)->whole;

	whole->ops->stop(whole);
}

static void free_part(struct bdev *bdev)
{
	struct part *part = to_part(bdev);

	part->whole->ops->free(part->whole);
	free(part);
}

static bool path(struct bdev *bdev, unsigned i, struct bdev_path *path)
{
	return bdev_path(to_part(bdev)->whole, i, path);
}

static void facts(struct bdev *bdev, struct out *out)
{
	struct bdev *whole = to_part(bdev)->whole;

	if (whole->ops->facts)
		whole->ops->facts(whole, out);
}

static const struct bdev_ops ops = {
	.name = "part",
	.lane = open_lane,
	.stop = stop,
	.free = free_part,
	.path = path,
	.facts = facts,
};

/* The size of the part on a disk of this size, which may have become too small for it. */
static uint64_t size_in(const struct part *part, uint64_t whole)
{
	uint64_t left = whole > part->bdev.start ? whole - part->bdev.start : 0;

	return !part->size || left < part->size ? left : part->size;
}

static void whole_changed(struct bdev *whole)
{
	struct part *part = whole->user;
	uint64_t size = size_in(part, whole->lim.size);

	part->bdev.state = whole->state;
	part->bdev.why = whole->why;
	if (whole->state == BDEV_UP)
		__atomic_store_n(&part->bdev.lim.size, size, __ATOMIC_RELAXED);
	if (part->bdev.changed)
		part->bdev.changed(&part->bdev);
}

static void whole_reported(struct bdev *whole, bool bad, const char *line)
{
	struct part *part = whole->user;

	if (part->bdev.report)
		part->bdev.report(&part->bdev, bad, line);
}

static int check_range(const struct part_range *range, const struct bdev_limits *lim,
	uint64_t start, uint64_t size, struct diag *diag)
{
	if (start % lim->block || size % lim->block)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s=: must be a multiple of the block size, %u bytes",
			start % lim->block ? "offset" : "size", lim->block);
	if (start >= lim->size || size > lim->size - start)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"%s ends beyond the disk, which has %llu bytes",
			range->number ? "the partition" : "this part",
			(unsigned long long)lim->size);
	return 0;
}

static int find_range(const struct part_range *range, struct bdev *whole, uint32_t timeout_ms,
	uint64_t *start, uint64_t *size, struct diag *diag)
{
	int err;

	*start = range->offset;
	*size = range->size;
	if (!range->number)
		return 0;
	err = content_find_partition(whole, range->number, timeout_ms, start, size, diag);
	if (err)
		return err;
	if (range->offset >= *size || range->size > *size - range->offset)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"offset= and size= end beyond partition %u, which has %llu bytes",
			range->number, (unsigned long long)*size);
	*start += range->offset;
	*size = range->size ? range->size : *size - range->offset;
	return 0;
}

int part_open(struct bdev **out, struct bdev *whole, const struct part_range *range,
	uint32_t timeout_ms, struct diag *diag)
{
	struct part *part;
	uint64_t start, size;
	int err = find_range(range, whole, timeout_ms, &start, &size, diag);

	if (!err)
		err = check_range(range, &whole->lim, start, size, diag);
	if (err)
		return err;
	part = calloc(1, sizeof(*part));
	if (!part)
		return diag_sys(diag, ENOMEM, "open");
	part->whole = whole;
	part->size = size;
	part->bdev = (struct bdev){ .ops = &ops,
		.loop = whole->loop,
		.state = BDEV_UP,
		.lim = whole->lim,
		.id = whole->id,
		.why = whole->why,
		.status_text = whole->status_text,
		.start = start,
		.is_part = true };
	part->bdev.lim.io_size += sizeof(struct part_io);
	part->bdev.lim.size = size ? size : whole->lim.size - start;
	memcpy(part->bdev.uri, whole->uri, sizeof(part->bdev.uri));
	whole->user = part;
	whole->changed = whole_changed;
	whole->report = whole_reported;
	*out = &part->bdev;
	return 0;
}

static int size_key(
	struct uri *uri, const char *name, uint64_t *value, bool *given, struct diag *diag)
{
	const char *text = uri_value(uri, name);
	int err = text ? parse_size(text, value, diag) : 0;

	*given |= text != NULL;
	if (err)
		diag_ctx(diag, "%s=", name);
	else if (text && !strcmp(name, "size") && !*value)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "size=: must not be 0");
	return err;
}

int part_keys(struct uri *uri, struct part_range *range, struct diag *diag)
{
	int err;

	*range = (struct part_range){ 0 };
	err = size_key(uri, "offset", &range->offset, &range->on, diag);
	if (!err)
		err = size_key(uri, "size", &range->size, &range->on, diag);
	if (!err)
		err = uri_u32(uri, "part", 1, CONTENT_NUMBER_MAX, &range->number, diag);
	range->on |= range->number != 0;
	return err ? diag_ctx(diag, "%s", uri->spelling) : 0;
}
