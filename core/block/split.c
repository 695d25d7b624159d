/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Split a request into pieces that the disk accepts. If the disk lacks FUA, a flush follows the
 * last piece of an FUA request. */
#include "split.h"
#include <errno.h>

static void run_done(struct io *);

static void submit_run(struct split *split)
{
	const struct bdev_limits *lim = &split->lane->bdev->lim;
	uint32_t most = lim->max[split->kind] & ~(lim->block - 1);
	uint64_t left = split->len - split->at;
	struct io *io = &split->io;

	assert(most || !left); /* else it would never end */
	assert(split->kind != IO_COMPARE_WRITE || left <= most);
	io->kind = split->kind;
	io->flags = lim->fua ? split->flags : split->flags & ~IO_FUA;
	io->off = split->off + split->at;
	io->len = left < most ? (uint32_t)left : most;
	io->buf = &split->buf;
	io->done = run_done;
	bdev_submit(split->lane, io);
}

static bool needs_flush(const struct split *split)
{
	const struct bdev_limits *lim = &split->lane->bdev->lim;

	return split->flags & IO_FUA && !split->flushing && bdev_changes_blocks(split->kind) &&
	       !lim->fua && lim->max[IO_FLUSH];
}

static void submit_flush(struct split *split)
{
	struct io *io = &split->io;

	split->flushing = true;
	io->kind = IO_FLUSH;
	io->flags = 0;
	io->off = 0;
	io->len = 0;
	bdev_submit(split->lane, io);
}

static void run_done(struct io *io)
{
	struct split *split = container_of(io, struct split, io);
	bool more;

	if (io->status) {
		split->done(split);
		return;
	}
	split->at += io->len;
	if (io->kind == IO_READ || io->kind == IO_WRITE) {
		split->buf.p += io->len;
		split->buf.cap -= io->len;
	}
	more = split->at < split->len && split->kind != IO_MAP;
	if (!more && !needs_flush(split)) {
		split->done(split);
	} else if (split->stopped) {
		io->status = -ECANCELED;
		split->done(split);
	} else if (more) {
		submit_run(split);
	} else {
		submit_flush(split);
	}
}

void split_start(struct split *split)
{
	split->at = 0;
	split->flushing = split->stopped = false;
	submit_run(split);
}
