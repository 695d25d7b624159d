/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* I/O commands (NVM Command Set Specification 1.1, section 3) as requests to the disk. A command
 * may be longer than what the disk takes at once: a split then does it in runs. */
#include "tgt.h"
#include <errno.h>

uint32_t nvme_tgt_status(const struct io *io)
{
	bool read = io->kind == IO_READ;

	switch (-io->status) {
	case 0:
		return NVME_OK;
	case EIO:
	case EREMOTEIO:
		return read ? NVME_READ_ERROR : NVME_WRITE_FAULT;
	case EHOSTUNREACH: /* the connection to the disk is lost: worth a retry, over another path,
			      too */
	case ENOLINK:
	case ETIMEDOUT:
		return NVME_PATH_ERROR;
	case ENOSPC:
		return NVME_CAPACITY;
	case ENXIO: /* the disk has shrunk under its size */
		return NVME_LBA_RANGE;
	case EROFS:
	case EPERM:
	case EACCES:
		return NVME_WRITE_PROTECTED;
	case ECANCELED:
		return NVME_ABORT_REQUESTED;
	case EOPNOTSUPP:
		return NVME_INVALID_OPCODE;
	default:
		return NVME_INTERNAL;
	}
}

static uint64_t first_block(const struct nvme_tgt_cmd *cmd)
{
	return get_le32(cmd->sqe.cdw10) | (uint64_t)get_le32(cmd->sqe.cdw11) << 32;
}

static uint64_t blocks_of(const struct nvme_tgt_cmd *cmd)
{
	return (get_le32(cmd->sqe.cdw12) & 0xffff) + 1;
}

bool nvme_tgt_cmd_changes(const struct nvme_tgt_cmd *cmd, uint64_t *off, uint64_t *len)
{
	switch (cmd->sqe.opcode) {
	case NVME_IO_WRITE:
	case NVME_IO_WRITE_ZEROES:
		*off = first_block(cmd) << cmd->disk->shift;
		*len = blocks_of(cmd) << cmd->disk->shift;
		return true;
	case NVME_IO_DSM: /* its ranges may be anywhere */
		*off = 0;
		*len = nvme_tgt_disk_size(cmd->disk);
		return true;
	default:
		return false;
	}
}

static struct lane *lane_of(const struct nvme_tgt_cmd *cmd)
{
	return cmd->queue->worker->lane[cmd->disk->index];
}

static uint32_t find_disk(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_subsys *subsys = cmd->queue->ctrl->subsys;
	uint32_t nsid = get_le32(cmd->sqe.nsid);

	if (!nsid || nsid > subsys->count)
		return NVME_INVALID_NS;
	cmd->disk = subsys->ns[nsid - 1];
	return NVME_OK;
}

static uint32_t range_ok(const struct nvme_tgt_disk *disk, uint64_t lba, uint64_t blocks)
{
	uint64_t size = nvme_tgt_disk_size(disk) >> disk->shift;

	return blocks <= size && lba <= size - blocks ? NVME_OK : NVME_LBA_RANGE;
}

/* Namespace, range, and whether it may be written. */
static uint32_t check_blocks(struct nvme_tgt_cmd *cmd)
{
	uint64_t lba = first_block(cmd), blocks = blocks_of(cmd);
	uint32_t status = find_disk(cmd);

	if (status)
		return status;
	if (cmd->op->flags & OP_WRITES && cmd->disk->ro)
		return NVME_WRITE_PROTECTED;
	cmd->off = lba << cmd->disk->shift;
	cmd->len = blocks << cmd->disk->shift;
	cmd->fua = get_le32(cmd->sqe.cdw12) & NVME_RW_FUA ||
		   (cmd->op->flags & OP_WRITES &&
			   __atomic_load_n(&cmd->queue->ctrl->write_through, __ATOMIC_RELAXED));
	return range_ok(cmd->disk, lba, blocks);
}

static uint32_t check_rw(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = check_blocks(cmd);

	if (!status && cmd->len > NVME_TGT_MAX_DATA)
		status = NVME_INVALID_FIELD; /* more than MDTS */
	if (!status)
		*len = (uint32_t)cmd->len;
	return status;
}

static void count(uint64_t *what, uint64_t more)
{
	__atomic_store_n(what, *what + more, __ATOMIC_RELAXED);
}

static struct nvme_tgt_cmd *cmd_of(struct split *split)
{
	return container_of(split, struct nvme_tgt_cmd, split);
}

/* A request for `len` bytes from cmd->off + cmd->at, data at p. */
static void submit(struct nvme_tgt_cmd *cmd, enum io_kind kind, uint8_t flags, uint64_t len,
	struct buf buf, void (*done)(struct split *))
{
	struct split *split = &cmd->split;

	split->lane = lane_of(cmd);
	split->kind = (uint8_t)kind;
	split->flags = flags;
	split->off = cmd->off + cmd->at;
	split->len = len;
	split->buf = buf;
	split->done = done;
	split_start(split);
}

/* The disk failed the command, or dropped it as the host asked: ends it. */
static void fail(struct nvme_tgt_cmd *cmd)
{
	if (cmd->split.io.status != -ECANCELED && !nvme_tgt_queue_gone(cmd->queue))
		count(&cmd->queue->worker->errors, 1);
	nvme_tgt_cmd_worked(cmd, nvme_tgt_status(&cmd->split.io));
}

static void done(struct split *split)
{
	struct nvme_tgt_cmd *cmd = cmd_of(split);

	if (split->io.status)
		fail(cmd);
	else
		nvme_tgt_cmd_worked(cmd, NVME_OK);
}

static void read_work(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_worker *worker = cmd->queue->worker;

	if (!cmd->at)
		count(&worker->reads, 1);
	count(&worker->read_bytes, cmd->piece);
	submit(cmd, IO_READ, 0, cmd->piece, (struct buf){ cmd->p, cmd->piece, cmd->pool }, done);
}

/* A disk without FUA needs only one flush, behind the last piece. */
static void write_work(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_worker *worker = cmd->queue->worker;
	bool last = cmd->at + cmd->piece == cmd->data_len,
	     fua = cmd->fua && (last || cmd->disk->bdev->lim.fua);

	if (!cmd->at)
		count(&worker->writes, 1);
	count(&worker->written_bytes, cmd->piece);
	submit(cmd, IO_WRITE, fua ? IO_FUA : 0, cmd->piece,
		(struct buf){ cmd->p, cmd->piece, cmd->pool }, done);
}

static uint8_t *compare_with(const struct nvme_tgt_cmd *cmd)
{
	return cmd->inside ? cmd->xfer.buf.p : cmd->xfer.buf.p + cmd->xfer.buf.cap / 2;
}

static void compare_done(struct split *split)
{
	struct nvme_tgt_cmd *cmd = cmd_of(split);

	if (split->io.status)
		fail(cmd);
	else
		nvme_tgt_cmd_worked(cmd, memcmp(cmd->p, compare_with(cmd), cmd->piece)
						 ? NVME_COMPARE_FAILURE
						 : NVME_OK);
}

static void compare_work(struct nvme_tgt_cmd *cmd)
{
	submit(cmd, IO_READ, 0, cmd->piece,
		(struct buf){ compare_with(cmd), cmd->piece, cmd->xfer.buf.pool }, compare_done);
}

/* NSID FFFFFFFFh: all of the subsystem, one after another. */
static uint32_t check_flush(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	(void)len;
	cmd->range = 0;
	cmd->ranges = (uint16_t)cmd->queue->ctrl->subsys->count;
	if (get_le32(cmd->sqe.nsid) == NVME_NSID_ALL)
		return NVME_OK;
	cmd->range = (uint16_t)(get_le32(cmd->sqe.nsid) - 1);
	cmd->ranges = (uint16_t)(cmd->range + 1);
	return find_disk(cmd);
}

static void flush_work(struct nvme_tgt_cmd *);

static void flush_done(struct split *split)
{
	struct nvme_tgt_cmd *cmd = cmd_of(split);

	if (split->io.status)
		fail(cmd);
	else if (nvme_tgt_queue_gone(cmd->queue))
		nvme_tgt_cmd_worked(cmd, NVME_OK);
	else
		flush_work(cmd);
}

static void flush_work(struct nvme_tgt_cmd *cmd)
{
	while (cmd->range < cmd->ranges) {
		cmd->disk = cmd->queue->ctrl->subsys->ns[cmd->range++];
		if (cmd->disk->bdev->lim.max[IO_FLUSH]) {
			cmd->off = 0;
			submit(cmd, IO_FLUSH, 0, 0, (struct buf){ 0 }, flush_done);
			return;
		}
	}
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

static uint32_t check_zero(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = check_blocks(cmd);

	(void)len;
	return status || cmd->disk->bdev->lim.max[IO_ZERO] ? status : NVME_INVALID_OPCODE;
}

static void zero_work(struct nvme_tgt_cmd *cmd)
{
	bool keep = !(get_le32(cmd->sqe.cdw12) & NVME_WZ_DEAC);

	submit(cmd, IO_ZERO, (cmd->fua ? IO_FUA : 0) | (keep ? IO_KEEP : 0), cmd->len,
		(struct buf){ 0 }, done);
}

static uint32_t check_dsm(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = find_disk(cmd);

	if (status)
		return status;
	if (cmd->disk->ro)
		return NVME_WRITE_PROTECTED;
	cmd->range = 0;
	cmd->ranges = (uint16_t)((get_le32(cmd->sqe.cdw10) & 0xff) + 1);
	/* All but Deallocate is advice that nobody here has a use for. */
	if (get_le32(cmd->sqe.cdw11) & NVME_DSM_DEALLOCATE && cmd->disk->bdev->lim.max[IO_TRIM])
		*len = cmd->ranges * (uint32_t)sizeof(struct nvme_dsm_range);
	return NVME_OK;
}

static void trim_done(struct split *);

static void trim_next(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_dsm_range *range = (const void *)cmd->p;

	while (cmd->range < cmd->ranges) {
		uint32_t blocks = get_le32(range[cmd->range].blocks);
		uint64_t lba = get_le64(range[cmd->range++].lba);

		if (!blocks)
			continue;
		cmd->off = lba << cmd->disk->shift;
		submit(cmd, IO_TRIM, 0, (uint64_t)blocks << cmd->disk->shift, (struct buf){ 0 },
			trim_done);
		return;
	}
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

static void trim_done(struct split *split)
{
	struct nvme_tgt_cmd *cmd = cmd_of(split);

	if (split->io.status)
		fail(cmd);
	else if (nvme_tgt_queue_gone(cmd->queue))
		nvme_tgt_cmd_worked(cmd, NVME_OK);
	else
		trim_next(cmd);
}

static void dsm_work(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_dsm_range *range = (const void *)cmd->p;

	for (unsigned i = 0; i < cmd->ranges && cmd->data_len; i++) {
		uint32_t status =
			range_ok(cmd->disk, get_le64(range[i].lba), get_le32(range[i].blocks));

		if (status) {
			nvme_tgt_cmd_worked(cmd, status);
			return;
		}
	}
	if (!cmd->data_len) {
		nvme_tgt_cmd_worked(cmd, NVME_OK);
		return;
	}
	trim_next(cmd);
}

const struct nvme_tgt_op nvme_tgt_io_ops[] = {
	{ NVME_IO_FLUSH, 0, "flush", check_flush, flush_work },
	{ NVME_IO_WRITE, OP_OUT | OP_WRITES, "write", check_rw, write_work },
	{ NVME_IO_READ, OP_IN, "read", check_rw, read_work },
	{ NVME_IO_COMPARE, OP_OUT | OP_HALF, "compare", check_rw, compare_work },
	{ NVME_IO_WRITE_ZEROES, OP_WRITES, "write zeroes", check_zero, zero_work },
	{ NVME_IO_DSM, OP_OUT | OP_WHOLE, "dataset management", check_dsm, dsm_work },
	{ 0 },
};
