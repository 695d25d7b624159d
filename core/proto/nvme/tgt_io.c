/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* I/O commands (NVM Command Set Specification 1.1, section 3) as requests to the disk. The frame
 * splits commands that are longer than what the disk takes at once. */
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
	case EHOSTUNREACH: /* the connection to the disk is lost: the host should retry, also over
			      another path */
	case ENOLINK:
	case ETIMEDOUT:
		return NVME_PATH_ERROR;
	case ENOSPC:
		return NVME_CAPACITY;
	case ENXIO: /* the disk has shrunk below its reported size */
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

uint32_t nvme_tgt_find_ns(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_subsys *subsys = nvme_tgt_queue_of(cmd)->ctrl->subsys;
	uint32_t nsid = get_le32(cmd->sqe.nsid);

	if (!nsid || nsid > subsys->count)
		return NVME_INVALID_NS;
	cmd->ns = subsys->ns[nsid - 1];
	cmd->base.disk = cmd->ns->disk;
	return NVME_OK;
}

static uint32_t range_ok(const struct nvme_tgt_ns *ns, uint64_t lba, uint64_t blocks)
{
	uint64_t size = target_disk_size(ns->disk) >> ns->shift;

	return blocks <= size && lba <= size - blocks ? NVME_OK : NVME_LBA_RANGE;
}

/* Check namespace, range, and write access. */
static uint32_t check_blocks(struct nvme_tgt_cmd *cmd)
{
	uint64_t lba = get_le32(cmd->sqe.cdw10) | (uint64_t)get_le32(cmd->sqe.cdw11) << 32,
		 blocks = (get_le32(cmd->sqe.cdw12) & 0xffff) + 1;
	const struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	bool writes = cmd->op->flags & OP_WRITES;
	uint32_t status = nvme_tgt_find_ns(cmd);

	if (status)
		return status;
	if (writes && cmd->ns->disk->ro)
		return NVME_WRITE_PROTECTED;
	cmd->off = lba << cmd->ns->shift;
	cmd->len = blocks << cmd->ns->shift;
	cmd->fua = get_le32(cmd->sqe.cdw12) & NVME_RW_FUA ||
		   (writes && __atomic_load_n(&ctrl->write_through, __ATOMIC_RELAXED));
	cmd->base.changes_off = cmd->off;
	cmd->base.changes_len = writes ? cmd->len : 0;
	return range_ok(cmd->ns, lba, blocks);
}

static uint32_t check_rw(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = check_blocks(cmd);

	if (!status && cmd->len > NVME_TGT_MAX_DATA)
		status = NVME_INVALID_FIELD; /* exceeds MDTS */
	if (!status)
		*len = (uint32_t)cmd->len;
	return status;
}

static void read_work(struct nvme_tgt_cmd *cmd)
{
	target_cmd_read(&cmd->base, cmd->off);
}

static void write_work(struct nvme_tgt_cmd *cmd)
{
	target_cmd_write(&cmd->base, cmd->off, cmd->fua);
}

static uint8_t *compare_with(const struct target_cmd *cmd)
{
	const struct buf *buf = &cmd->buf_request.buf;

	return cmd->immediate ? buf->p : buf->p + buf->cap / 2;
}

static void compare_done(struct target_cmd *cmd)
{
	bool differs = memcmp(cmd->p, compare_with(cmd), cmd->piece);

	target_cmd_worked(cmd, differs ? NVME_COMPARE_FAILURE : NVME_OK);
}

static void compare_work(struct nvme_tgt_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;

	target_cmd_io(base, IO_READ, 0, cmd->off + base->at, base->piece,
		(struct buf){ compare_with(base), base->piece, base->buf_request.buf.pool },
		compare_done);
}

/* NSID FFFFFFFFh: flush all namespaces of the subsystem, one after another. */
static uint32_t check_flush(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	(void)len;
	cmd->range = 0;
	cmd->ranges = (uint16_t)nvme_tgt_queue_of(cmd)->ctrl->subsys->count;
	if (get_le32(cmd->sqe.nsid) == NVME_NSID_ALL)
		return NVME_OK;
	cmd->range = (uint16_t)(get_le32(cmd->sqe.nsid) - 1);
	cmd->ranges = (uint16_t)(cmd->range + 1);
	return nvme_tgt_find_ns(cmd);
}

static void flush_next(struct target_cmd *base)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;

	while (cmd->range < cmd->ranges) {
		base->disk = nvme_tgt_queue_of(cmd)->ctrl->subsys->ns[cmd->range++]->disk;
		if (base->disk->bdev->lim.max[IO_FLUSH]) {
			target_cmd_io(base, IO_FLUSH, 0, 0, 0, (struct buf){ 0 }, flush_next);
			return;
		}
	}
	target_cmd_worked(base, NVME_OK);
}

static void flush_work(struct nvme_tgt_cmd *cmd)
{
	flush_next(&cmd->base);
}

static uint32_t check_zero(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = check_blocks(cmd);

	(void)len;
	return status || cmd->ns->disk->bdev->lim.max[IO_ZERO] ? status : NVME_INVALID_OPCODE;
}

static void zero_work(struct nvme_tgt_cmd *cmd)
{
	bool keep = !(get_le32(cmd->sqe.cdw12) & NVME_WZ_DEAC);

	target_cmd_io(&cmd->base, IO_ZERO, (cmd->fua ? IO_FUA : 0) | (keep ? IO_KEEP : 0), cmd->off,
		cmd->len, (struct buf){ 0 }, NULL);
}

static uint32_t check_dsm(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = nvme_tgt_find_ns(cmd);

	if (status)
		return status;
	if (cmd->ns->disk->ro)
		return NVME_WRITE_PROTECTED;
	cmd->range = 0;
	cmd->ranges = (uint16_t)((get_le32(cmd->sqe.cdw10) & 0xff) + 1);
	/* All attributes except Deallocate are hints, which are ignored. */
	if (get_le32(cmd->sqe.cdw11) & NVME_DSM_DEALLOCATE && cmd->ns->disk->bdev->lim.max[IO_TRIM])
		*len = cmd->ranges * (uint32_t)sizeof(struct nvme_dsm_range);
	return NVME_OK;
}

static void trim_next(struct target_cmd *base)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;
	const struct nvme_dsm_range *range = (const void *)base->p;

	while (cmd->range < cmd->ranges && !cmd->abandoned) {
		uint32_t blocks = get_le32(range[cmd->range].blocks);
		uint64_t lba = get_le64(range[cmd->range++].lba), off, len;

		if (!blocks)
			continue;
		off = lba << cmd->ns->shift;
		len = (uint64_t)blocks << cmd->ns->shift;
		/* check again, as the host may change its own memory here */
		if (range_ok(cmd->ns, lba, blocks) || !target_cmd_changes(base, off, len)) {
			target_cmd_worked(base, NVME_LBA_RANGE);
			return;
		}
		target_cmd_io(base, IO_TRIM, 0, off, len, (struct buf){ 0 }, trim_next);
		return;
	}
	target_cmd_worked(base, cmd->abandoned);
}

static void dsm_work(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_dsm_range *range = (const void *)cmd->base.p;

	for (unsigned i = 0; i < cmd->ranges && cmd->base.data_len; i++) {
		uint64_t lba = get_le64(range[i].lba), blocks = get_le32(range[i].blocks);
		uint32_t status = range_ok(cmd->ns, lba, blocks);

		if (status) {
			nvme_tgt_cmd_worked(cmd, status);
			return;
		}
		target_cmd_add_changes(&cmd->base, lba << cmd->ns->shift, blocks << cmd->ns->shift);
	}
	if (cmd->base.data_len) {
		/* without memory the list stays in the buffer */
		target_cmd_release_buffer(&cmd->base, cmd->base.data_len);
		trim_next(&cmd->base);
	} else {
		nvme_tgt_cmd_worked(cmd, NVME_OK);
	}
}

const struct nvme_tgt_op nvme_tgt_io_ops[] = {
	{ NVME_IO_FLUSH, OP_WRITE_GROUP, "flush", check_flush, flush_work },
	{ NVME_IO_WRITE, OP_OUT | OP_WRITES | OP_WRITE_GROUP, "write", check_rw, write_work },
	{ NVME_IO_READ, OP_IN | OP_READ_GROUP, "read", check_rw, read_work },
	{ NVME_IO_COMPARE, OP_OUT | OP_HALF | OP_READ_GROUP, "compare", check_rw, compare_work },
	{ NVME_IO_WRITE_ZEROES, OP_WRITES | OP_WRITE_GROUP, "write zeroes", check_zero, zero_work },
	{ NVME_IO_DSM, OP_OUT | OP_WHOLE | OP_WRITE_GROUP, "dataset management", check_dsm,
		dsm_work },
	{ NVME_IO_RESERVE_REGISTER, OP_OUT | OP_WHOLE, "reservation register",
		nvme_tgt_register_check, nvme_tgt_register_work },
	{ NVME_IO_RESERVE_REPORT, OP_IN | OP_WHOLE, "reservation report", nvme_tgt_report_check,
		nvme_tgt_report_work },
	{ NVME_IO_RESERVE_ACQUIRE, OP_OUT | OP_WHOLE, "reservation acquire", nvme_tgt_acquire_check,
		nvme_tgt_acquire_work },
	{ NVME_IO_RESERVE_RELEASE, OP_OUT | OP_WHOLE, "reservation release", nvme_tgt_release_check,
		nvme_tgt_release_work },
	{ 0 },
};
