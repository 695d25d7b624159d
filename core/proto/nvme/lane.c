/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A lane: one I/O queue of the controller. Requests become commands (NVM Command Set 1.1, section
 * 3), completions end them; requests without a free slot wait in order. */
#include "deferred.h"
#include "nvme.h"
#include <errno.h>
#include <stdlib.h>

#define RANGES_LEN (NVME_RANGES * sizeof(struct nvme_dsm_range))

struct nvme_lane {
	struct lane lane;
	struct nvme_dev *dev;
	struct nvme_qp qp;
	uint8_t bit;              /* of dev->qids */
	struct deferred deferred; /* completed without a command */
};

static void put_blocks(struct nvme_sqe *sqe, const struct nvme_dev *dev, const struct io *io)
{
	uint64_t lba = io->off >> dev->shift;

	sqe->cdw10 = put_le32((uint32_t)lba);
	sqe->cdw11 = put_le32((uint32_t)(lba >> 32));
	sqe->cdw12 =
		put_le32(((io->len >> dev->shift) - 1) | (io->flags & IO_FUA ? NVME_RW_FUA : 0));
}

static uint32_t put_ranges(
	const struct nvme_dev *dev, const struct io *io, struct nvme_dsm_range *range)
{
	uint64_t lba = io->off >> dev->shift;
	uint32_t left = io->len >> dev->shift, count = 0;

	for (; left; count++) {
		uint32_t blocks = left < dev->range ? left : dev->range;

		range[count] =
			(struct nvme_dsm_range){ .blocks = put_le32(blocks), .lba = put_le64(lba) };
		lba += blocks;
		left -= blocks;
	}
	return count;
}

static struct nvme_slot *start_command(struct nvme_lane *nl, struct io *io)
{
	return inflight_take(
		&nl->qp.queue->inflight, io, loop_now(nl->lane.loop) + NVME_IO_MS * MSEC);
}

/* flushing: the second half of a trim with IO_FUA */
static void start_io(struct nvme_lane *nl, struct nvme_slot *slot, struct io *io, bool flushing)
{
	const struct nvme_dev *dev = nl->dev;
	struct nvme_queue *queue = nl->qp.queue;
	struct nvme_sqe *sqe = slot->sqe;
	uint8_t *ranges;

	slot->flushing = flushing;
	slot->data = (struct nvme_data){ 0 };
	*sqe = (struct nvme_sqe){ .nsid = put_le32(dev->nsid) };
	switch (flushing ? IO_FLUSH : (enum io_kind)io->kind) {
	case IO_READ:
	case IO_WRITE:
		sqe->opcode = io->kind == IO_READ ? NVME_IO_READ : NVME_IO_WRITE;
		slot->data = (struct nvme_data){ io->buf->p, io->len, io->kind == IO_WRITE,
			io->buf->pool };
		put_blocks(sqe, dev, io);
		break;
	case IO_FLUSH:
		sqe->opcode = NVME_IO_FLUSH;
		break;
	case IO_TRIM:
		ranges = nl->qp.scratch->base + slot->flight.tag * RANGES_LEN;
		slot->data = (struct nvme_data){ ranges, put_ranges(dev, io, (void *)ranges), true,
			nl->qp.scratch };
		sqe->opcode = NVME_IO_DSM;
		sqe->cdw10 = put_le32(slot->data.len - 1);
		sqe->cdw11 = put_le32(NVME_DSM_DEALLOCATE);
		slot->data.len *= sizeof(struct nvme_dsm_range);
		break;
	case IO_ZERO:
		sqe->opcode = NVME_IO_WRITE_ZEROES;
		put_blocks(sqe, dev, io);
		if (dev->deac && !(io->flags & IO_KEEP))
			sqe->cdw12 = put_le32(get_le32(sqe->cdw12) | NVME_WZ_DEAC);
		break;
	case IO_MAP:
	case IO_COMPARE_WRITE:
	case IO_KINDS:
		break;
	}
	queue->carrier->submit(queue, slot);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct nvme_lane *nl = (struct nvme_lane *)lane;
	struct nvme_slot *slot;

	if (nl->qp.state != QP_UP)
		deferred_complete(&nl->deferred, io, -ENOTCONN);
	else if (io->kind == IO_FLUSH && !nl->dev->vwc)
		deferred_complete(&nl->deferred, io, 0);
	else if (io->kind == IO_MAP || (io->kind == IO_ZERO && io->flags & IO_FAST))
		/* no field of Identify reports how fast zeroing is */
		deferred_complete(&nl->deferred, io, -ENOTSUP);
	else if (nl->qp.queue->inflight.waiting || !(slot = start_command(nl, io)))
		inflight_enqueue(&nl->qp.queue->inflight, io);
	else
		start_io(nl, slot, io, false);
}

static void lane_reply(struct nvme_queue *queue, struct nvme_slot *slot)
{
	struct nvme_qp *qp = queue->user;
	struct nvme_lane *nl = container_of(qp, struct nvme_lane, qp);
	struct io *io = nvme_qp_end(qp, slot);
	uint32_t status = get_le16(slot->cqe.status) >> 1;

	if (!io)
		return;
	io->detail = status ? status | NVME_STATUS_OF_IO : 0;
	io->status = -nvme_status_errno(io->detail);
	if (NVME_STATUS_TYPE(status) == NVME_STATUS_TYPE_PATH)
		access_notice_post(&nl->dev->notice);
	/* DSM has no FUA, so a trim with IO_FUA is followed by a flush in the slot it just
	 * released. */
	if (!io->status && io->kind == IO_TRIM && io->flags & IO_FUA && nl->dev->vwc &&
		!slot->flushing)
		start_io(nl, start_command(nl, io), io, true);
	else
		io->done(io);
}

static void io_lost(struct nvme_qp *qp, void *owner)
{
	struct io *io = owner;

	(void)qp;
	io->detail = 0;
	io->status = -ENOTCONN;
	io->done(io);
}

static const char *io_name(const void *owner)
{
	static const char *const names[IO_KINDS] = { [IO_READ] = "read",
		[IO_WRITE] = "write",
		[IO_FLUSH] = "flush",
		[IO_TRIM] = "trim",
		[IO_ZERO] = "write zeroes" };

	return names[((const struct io *)owner)->kind];
}

static int map(struct lane *lane, struct pool *pool, struct diag *diag)
{
	struct nvme_queue *queue = ((struct nvme_lane *)lane)->qp.queue;

	if (lane->state != LANE_UP)
		return diag_set(
			diag, DIAG_CLOSED, ENOTCONN, "queue %u is not connected", queue->qid);
	return queue->carrier->map ? queue->carrier->map(queue, pool, diag) : 0;
}

static void unmap(struct lane *lane, struct pool *pool)
{
	struct nvme_queue *queue = ((struct nvme_lane *)lane)->qp.queue;

	if (queue->carrier->unmap)
		queue->carrier->unmap(queue, pool);
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	nvme_qp_fail(&((struct nvme_lane *)lane)->qp, why);
}

static void lane_free(struct lane *lane)
{
	struct nvme_lane *nl = (struct nvme_lane *)lane;

	deferred_fini(&nl->deferred);
	nvme_qp_fini(&nl->qp);
	__atomic_fetch_and(&nl->dev->qids, ~(1ull << nl->bit), __ATOMIC_RELEASE);
	free(nl);
}

static const struct lane_ops ops = {
	.submit = lane_submit,
	.map = map,
	.unmap = unmap,
	.abort = lane_abort,
	.free = lane_free,
};

static void lane_changed(struct nvme_lane *nl, enum lane_state state)
{
	nl->lane.state = state;
	if (nl->lane.changed)
		nl->lane.changed(&nl->lane);
}

static void qp_up(struct nvme_qp *qp)
{
	struct nvme_lane *nl = container_of(qp, struct nvme_lane, qp);
	const struct nvme_ctrl_info *id = &nl->dev->ctrl.id;

	/* ICDOFF other than 0 would need padding after the command; then the controller fetches the
	 * data instead. */
	if (!id->icdoff && id->sgls & NVME_SGLS_OFFSET)
		qp->queue->incap = id->capsule - sizeof(struct nvme_sqe);
	lane_changed(nl, LANE_UP);
}

static void qp_idle(struct nvme_qp *qp)
{
	struct nvme_lane *nl = container_of(qp, struct nvme_lane, qp);
	struct io *io;

	while ((io = inflight_next(&qp->queue->inflight)))
		start_io(nl, start_command(nl, io), io, false);
}

static void qp_down(struct nvme_qp *qp)
{
	struct nvme_lane *nl = container_of(qp, struct nvme_lane, qp);
	struct io *io;

	nl->lane.why = qp->why;
	while ((io = inflight_dequeue(&qp->queue->inflight)))
		io_lost(qp, io);
	deferred_run(&nl->deferred);
	lane_changed(nl, LANE_DOWN);
}

static const struct nvme_qp_events qp_events = { .up = qp_up,
	.reply = lane_reply,
	.lost = io_lost,
	.name = io_name,
	.idle = qp_idle,
	.down = qp_down };

/* In turn, as the target may not have ended the connection of a queue that was just closed. */
static int alloc_qid(struct nvme_dev *dev)
{
	unsigned lanes = dev->bdev.lim.lanes;
	uint64_t used = __atomic_load_n(&dev->qids, __ATOMIC_RELAXED), all = ~0ull >> (64 - lanes);
	unsigned turn = __atomic_fetch_add(&dev->qid_turn, 1, __ATOMIC_RELAXED) % lanes;

	for (;;) {
		uint64_t free = ~used & all, next = free & ~0ull << turn;
		int bit;

		if (!free)
			return -1;
		bit = __builtin_ctzll(next ? next : free);
		if (__atomic_compare_exchange_n(&dev->qids, &used, used | 1ull << bit, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return bit;
	}
}

int nvme_lane(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct nvme_dev *dev = (struct nvme_dev *)bdev;
	struct nvme_lane *nl;
	uint32_t scratch = dev->depth * RANGES_LEN;
	int err, bit = alloc_qid(dev);

	if (bit < 0)
		return diag_set(
			diag, DIAG_BUSY, EBUSY, "all %u I/O queues are in use", bdev->lim.lanes);
	nl = calloc(1, sizeof(*nl));
	if (!nl) {
		err = diag_sys(diag, ENOMEM, "lane");
		goto fail;
	}
	lane_init(&nl->lane, &ops, bdev, loop);
	nl->dev = dev;
	nl->bit = (uint8_t)bit;
	deferred_init(&nl->deferred, loop);
	err = nvme_qp_open(&nl->qp, loop, &dev->ctrl.conf, (uint16_t)(bit + 1), dev->depth,
		dev->ctrl.cntlid, scratch < 4096 ? 4096 : scratch,
		loop_clock() + dev->ctrl.conf.timeout_ms * MSEC, &qp_events, diag);
	if (err)
		goto fail;
	*out = &nl->lane;
	return 0;
fail:
	free(nl);
	__atomic_fetch_and(&dev->qids, ~(1ull << bit), __ATOMIC_RELEASE);
	return err;
}
