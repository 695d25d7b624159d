/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Execute a request of the kernel: check its descriptor, split it into ios that the disk accepts,
 * return the result. */
#include "ublk.h"
#include <errno.h>

#define SECTOR 512u

/* Translate the kernel's request to one for the disk, or return -errno. */
static int read_op(const struct ublk_queue *q, uint32_t op_flags, struct split *split)
{
	split->flags = 0;
	switch (op_flags & UBLK_OP_MASK) {
	case UBLK_OP_READ:
		split->kind = IO_READ;
		break;
	case UBLK_OP_WRITE:
		split->kind = IO_WRITE;
		break;
	case UBLK_OP_FLUSH:
		split->kind = IO_FLUSH;
		return 0;
	case UBLK_OP_DISCARD:
		split->kind = IO_TRIM;
		break;
	case UBLK_OP_WRITE_ZEROES:
		split->kind = IO_ZERO;
		split->flags = op_flags & UBLK_OP_NOUNMAP ? IO_KEEP : 0;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (split->kind != IO_READ && q->ro)
		return -EROFS;
	if (split->kind != IO_READ && op_flags & UBLK_OP_FUA)
		split->flags |= IO_FUA;
	return q->lim->max[split->kind] ? 0 : -EOPNOTSUPP;
}

static int check_range(
	const struct ublk_queue *q, struct ublk_tag *tag, const struct ublk_desc *desc)
{
	uint64_t len = (uint64_t)desc->sectors * SECTOR;
	struct split *split = &tag->split;
	bool data = split->kind == IO_READ || split->kind == IO_WRITE;

	if (!len || len > UINT32_MAX || (data && len > q->cap))
		return -EINVAL;
	if (__builtin_mul_overflow(desc->start, SECTOR, &split->off) ||
		(split->off | len) & (q->lim->block - 1))
		return -EINVAL;
	if (!bdev_range_ok(q->lim, split->off, len))
		return -EIO; /* the disk has shrunk */
	split->len = len;
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
	} else if (tag->split.kind == IO_READ) {
		count(&all->reads, 1);
		count(&all->read_bytes, tag->split.len);
	} else if (tag->split.kind == IO_WRITE) {
		count(&all->writes, 1);
		count(&all->written_bytes, tag->split.len);
	}
}

static void finish_tag(struct ublk_tag *tag, int result)
{
	struct ublk_queue *q = tag->queue;

	count_request(&q->count, tag, result);
	/* BLK_STS_TRANSPORT, not a medium error */
	tag->result = result == -EHOSTUNREACH ? -ENOLINK : result;
	if (!q->quiet_ns || tag->split.kind == IO_READ || tag->split.kind == IO_FLUSH ||
		loop_now(q->loop) >= q->quiet_ns) {
		answer(tag);
		return;
	}
	tag->next = q->done;
	q->done = tag;
	loop_timer_set(q->loop, &q->quiet, q->quiet_ns);
}

static void done(struct split *split)
{
	bool data = split->kind == IO_READ || split->kind == IO_WRITE;

	finish_tag(container_of(split, struct ublk_tag, split), split->io.status ? split->io.status
								: data           ? (int)split->len
										 : 0);
}

static void begin(struct ublk_tag *tag)
{
	struct ublk_queue *q = tag->queue;
	struct ublk_desc desc = q->desc[tag - q->tag];
	struct split *split = &tag->split;
	int err;

	tag->ours = true;
	q->ours++;
	count(&q->requests, 1);
	split->off = split->len = 0;
	split->buf = (struct buf){ tag->base, q->cap, q->pool };
	split->done = done;
	err = q->failing ? -EIO : read_op(q, desc.op_flags, split);
	if (!err && split->kind != IO_FLUSH)
		err = check_range(q, tag, &desc);
	if (err || (split->kind == IO_FLUSH && !q->lim->max[IO_FLUSH]))
		finish_tag(tag, err);
	else
		split_start(split);
}

/* A tag no longer fetches requests. When the device ends, all tags get here. */
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
}
