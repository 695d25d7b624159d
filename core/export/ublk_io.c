/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A request of the kernel: its descriptor checked, worked off in ios as long as the disk takes
 * them, its result. */
#include "ublk.h"
#include <errno.h>

#define SECTOR 512u

/* What the kernel asks for as an io, or -errno. */
static int read_op(const struct ublk_queue *q, uint32_t op_flags, struct io *io)
{
	switch (op_flags & UBLK_OP_MASK) {
	case UBLK_OP_READ:
		io->kind = IO_READ;
		break;
	case UBLK_OP_WRITE:
		io->kind = IO_WRITE;
		break;
	case UBLK_OP_FLUSH:
		io->kind = IO_FLUSH;
		return 0;
	case UBLK_OP_DISCARD:
		io->kind = IO_TRIM;
		break;
	case UBLK_OP_WRITE_ZEROES:
		io->kind = IO_ZERO;
		io->flags = op_flags & UBLK_OP_NOUNMAP ? IO_KEEP : 0;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (io->kind != IO_READ && q->ro)
		return -EROFS;
	if (io->kind != IO_READ && op_flags & UBLK_OP_FUA)
		io->flags |= IO_FUA;
	return q->most[io->kind] ? 0 : -EOPNOTSUPP;
}

static int check_range(
	const struct ublk_queue *q, struct ublk_tag *tag, const struct ublk_desc *desc)
{
	uint64_t len = (uint64_t)desc->sectors * SECTOR;
	bool data = tag->io.kind == IO_READ || tag->io.kind == IO_WRITE;

	if (!len || len > UINT32_MAX || (data && len > q->cap))
		return -EINVAL;
	if (__builtin_mul_overflow(desc->start, SECTOR, &tag->off) ||
		(tag->off | len) & (q->lim->block - 1))
		return -EINVAL;
	if (!bdev_range_ok(q->lim, tag->off, len))
		return -EIO; /* the disk has shrunk */
	tag->len = (uint32_t)len;
	return 0;
}

static void answer(struct ublk_tag *tag)
{
	struct ublk_queue *q = tag->queue;

	tag->ours = false;
	q->ours--;
	ublk_queue_commit(q, (unsigned)(tag - q->tag), tag->result);
}

static void quiet(struct loop_timer *timer)
{
	struct ublk_queue *q = container_of(timer, struct ublk_queue, quiet);
	struct ublk_tag *tag;

	while ((tag = q->done)) {
		q->done = tag->next;
		answer(tag);
	}
}

static void count(uint64_t *what, uint64_t more)
{
	__atomic_store_n(what, *what + more, __ATOMIC_RELAXED);
}

static void count_request(struct io_count *all, const struct ublk_tag *tag, int result)
{
	if (result < 0) {
		count(&all->errors, 1);
	} else if (tag->io.kind == IO_READ) {
		count(&all->reads, 1);
		count(&all->read_bytes, tag->len);
	} else if (tag->io.kind == IO_WRITE) {
		count(&all->writes, 1);
		count(&all->written_bytes, tag->len);
	}
}

static void finish(struct ublk_tag *tag, int result)
{
	struct ublk_queue *q = tag->queue;

	count_request(&q->count, tag, result);
	/* BLK_STS_TRANSPORT, not a bad medium */
	tag->result = result == -EHOSTUNREACH ? -ENOLINK : result;
	if (!q->quiet_ns || tag->io.kind == IO_READ || tag->io.kind == IO_FLUSH ||
		loop_now(q->loop) >= q->quiet_ns) {
		answer(tag);
		return;
	}
	tag->next = q->done;
	q->done = tag;
	loop_timer_set(q->loop, &q->quiet, q->quiet_ns);
}

static void submit(struct ublk_tag *tag)
{
	struct ublk_queue *q = tag->queue;
	uint32_t left = tag->len - tag->at, most = q->most[tag->io.kind];

	tag->io.off = tag->off + tag->at;
	tag->io.len = left < most ? left : most;
	if (tag->io.kind == IO_READ || tag->io.kind == IO_WRITE) {
		tag->buf.p = tag->base + tag->at;
		tag->buf.cap = q->cap - tag->at;
	}
	bdev_submit(q->lane, &tag->io);
}

static void done(struct io *io)
{
	struct ublk_tag *tag = container_of(io, struct ublk_tag, io);

	tag->at += io->len;
	if (io->status)
		finish(tag, io->status);
	else if (tag->at < tag->len)
		submit(tag);
	else
		finish(tag, io->kind == IO_READ || io->kind == IO_WRITE ? (int)tag->len : 0);
}

static void begin(struct ublk_tag *tag)
{
	struct ublk_queue *q = tag->queue;
	struct ublk_desc desc = q->desc[tag - q->tag];
	struct io *io = &tag->io;
	int err;

	tag->ours = true;
	q->ours++;
	count(&q->requests, 1);
	tag->off = tag->len = tag->at = 0;
	io->flags = 0;
	io->done = done;
	err = q->failing ? -EIO : read_op(q, desc.op_flags, io);
	if (!err && io->kind != IO_FLUSH)
		err = check_range(q, tag, &desc);
	if (err || (io->kind == IO_FLUSH && !q->most[IO_FLUSH]))
		finish(tag, err);
	else
		submit(tag);
}

/* A tag that fetches nothing more: at the device's end all do. */
static void lose(struct ublk_queue *q, uint64_t tag, int result)
{
	q->tag[tag].lost = true;
	q->lost++;
	if (result == -ENODEV)
		return;
	loop_trace(q->loop, "ublk: queue %u: tag %u: the kernel answered a fetch with %d (%s)",
		q->index, (unsigned)tag, result, result < 0 ? diag_errno_text(-result) : "unknown");
	if (!q->refused)
		q->refused = result < 0 ? result : -EPROTO;
}

void ublk_io_result(struct ublk_queue *q, uint64_t tag, int result)
{
	if (tag >= q->depth || q->tag[tag].ours || q->tag[tag].lost) {
		loop_trace(q->loop, "ublk: queue %u: an answer for tag %llu, which has no fetch",
			q->index, (unsigned long long)tag);
		if (!q->refused)
			q->refused = -EPROTO;
		return;
	}
	if (result)
		lose(q, tag, result);
	else
		begin(&q->tag[tag]);
}

void ublk_io_init(struct ublk_queue *q)
{
	q->quiet.fire = quiet;
	for (unsigned kind = 0; kind < IO_KINDS; kind++)
		q->most[kind] = q->lim->max[kind] & ~(q->lim->block - 1);
	q->most[IO_FLUSH] = q->lim->max[IO_FLUSH];
}
