/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands that read, write, compare and unmap blocks (SBC-3), as requests to the disk. */
#include "tgt.h"
#include <errno.h>

/* A lost connection to the disk is reported as "becoming ready", not as a medium error: initiators
 * retry (Linux after a delay, until the command's time is over), then try other paths. */
uint32_t scsi_io_status(const struct io *io)
{
	struct scsi_cmd *cmd = scsi_cmd_of(
		container_of(io, struct target_cmd, split.io)); /* as the frame has it */
	bool read = io->kind == IO_READ;

	if (cmd->from && io->status && io->status != -ECANCELED)
		return SCSI_COPY_FAILED;
	switch (-io->status) {
	case 0:
		return SCSI_GOOD;
	case EIO:
	case EREMOTEIO:
		return read ? SCSI_READ_ERROR : SCSI_WRITE_ERROR;
	case EHOSTUNREACH:
	case ENOLINK:
	case ETIMEDOUT:
		return SCSI_NOT_READY;
	case ENOSPC:
		return SCSI_NO_SPACE;
	case ENXIO: /* the disk has shrunk */
		return SCSI_LBA_RANGE;
	case EROFS:
	case EPERM:
	case EACCES:
		return SCSI_WRITE_PROTECT;
	case ECANCELED:
		return SCSI_TASK_ABORTED;
	case EOPNOTSUPP:
		return SCSI_BAD_OPCODE;
	case EBUSY: /* also a reservation that another host has at the disk behind this one */
	case EAGAIN:
		return SCSI_BUSY;
	case EBADE:
		if (io->kind != IO_COMPARE_WRITE)
			return SCSI_INTERNAL;
		cmd->info = io->detail;
		cmd->info_valid = true;
		return SCSI_DIFFERS;
	default: /* includes a COMPARE AND WRITE with unknown outcome: must not be retried */
		return SCSI_INTERNAL;
	}
}

/* Read LBA and number of blocks from the CDB. */
static void get_range(const struct scsi_cmd *cmd, uint64_t *lba, uint64_t *blocks)
{
	const uint8_t *cdb = cmd->cdb;

	switch (scsi_cdb_len(cdb[0])) {
	case 6:
		*lba = (cdb[1] & 0x1fu) << 16 | scsi_be(cmd, 2, 2);
		*blocks = cdb[4] ? cdb[4] : 256;
		break;
	case 10:
		*lba = scsi_be(cmd, 2, 4);
		*blocks = scsi_be(cmd, 7, 2);
		break;
	case 12:
		*lba = scsi_be(cmd, 2, 4);
		*blocks = scsi_be(cmd, 6, 4);
		break;
	default:
		*lba = wire_be(cdb + 2, 8);
		*blocks = scsi_be(cmd, 10, 4);
	}
}

static bool in_range(const struct scsi_lu *lu, uint64_t lba, uint64_t blocks)
{
	uint64_t size = target_disk_size(lu->disk) >> lu->shift;

	return blocks <= size && lba <= size - blocks;
}

/* Set off, len and the changed range. Protection information is not supported. */
static uint32_t set_range(struct scsi_cmd *cmd, uint64_t lba, uint64_t blocks)
{
	if (scsi_cdb_len(cmd->cdb[0]) > 6 && cmd->cdb[1] >> 5)
		return SCSI_BAD_CDB;
	if (!in_range(cmd->lu, lba, blocks))
		return SCSI_LBA_RANGE;
	cmd->off = lba << cmd->lu->shift;
	cmd->len = blocks << cmd->lu->shift;
	if (cmd->op->flags & OP_WRITES) {
		cmd->base.changes_off = cmd->off;
		cmd->base.changes_len = cmd->len;
	}
	return 0;
}

static uint32_t set_moved(struct scsi_cmd *cmd)
{
	uint64_t lba, blocks;
	uint32_t status;

	get_range(cmd, &lba, &blocks);
	status = set_range(cmd, lba, blocks);
	if (!status && cmd->len > SCSI_TGT_MAX)
		status = SCSI_BAD_CDB;
	return status;
}

uint32_t scsi_rw_check(struct scsi_cmd *cmd)
{
	uint32_t status = set_moved(cmd);

	if (status)
		return status;
	if (cmd->op->flags & OP_HALF) { /* WRITE AND VERIFY has BYTCHK there, and is always FUA */
		if ((cmd->cdb[1] & 6) > 2)
			return SCSI_BAD_CDB;
	} else if (scsi_cdb_len(cmd->cdb[0]) > 6 && cmd->cdb[1] & 8) {
		cmd->fua = true;
	}
	cmd->transfer_len = (uint32_t)cmd->len;
	return 0;
}

/* The initiator's buffer may end within a block. */
void scsi_read_work(struct scsi_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;
	uint32_t mask = cmd->lu->bdev->lim.block - 1, part = base->piece & mask;

	if (!base->data_len) {
		scsi_worked(cmd, 0);
	} else if (!part) {
		target_cmd_read(base, cmd->off);
	} else {
		uint32_t len = (base->piece + mask) & ~mask;

		target_cmd_io(base, IO_READ, 0, cmd->off + base->at, len,
			(struct buf){ base->p, len, base->pool }, NULL);
	}
}

void scsi_write_work(struct scsi_cmd *cmd)
{
	if (cmd->base.data_len)
		target_cmd_write(&cmd->base, cmd->off, cmd->fua);
	else
		scsi_worked(cmd, 0);
}

/* For blocks read from the disk: the buffer, or its second half if the data is in the first. */
static struct buf spare(const struct target_cmd *cmd)
{
	struct buf buf = cmd->buf_request.buf;

	if (cmd->p == buf.p) {
		buf.cap /= 2;
		buf.p += buf.cap;
	}
	return buf;
}

static uint32_t compare(
	struct scsi_cmd *cmd, const uint8_t *p, const uint8_t *disk, uint32_t len, uint64_t at)
{
	uint32_t i = 0;

	if (!memcmp(p, disk, len))
		return 0;
	while (p[i] == disk[i] && i < len - 1) /* an RDMA initiator may change p */
		i++;
	cmd->info = (uint32_t)(at + i);
	cmd->info_valid = true;
	return SCSI_DIFFERS;
}

static void written_compare(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	scsi_worked(cmd,
		cmd->cdb[1] & 2 ? compare(cmd, base->p, spare(base).p, base->piece, base->at) : 0);
}

static void written(struct target_cmd *base)
{
	struct buf buf = spare(base);

	target_cmd_io(base, IO_READ, 0, scsi_cmd_of(base)->off + base->at, base->piece, buf,
		written_compare);
}

void scsi_write_verify_work(struct scsi_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;

	if (!base->data_len) {
		scsi_worked(cmd, 0);
		return;
	}
	target_cmd_io(base, IO_WRITE, IO_FUA, cmd->off + base->at, base->piece,
		(struct buf){ base->p, base->piece, base->pool }, written);
}

/* BYTCHK: 0 reads the blocks; 1 compares them with data of the same length; 3 compares each with
 * one block of data. */
static unsigned bytchk(const struct scsi_cmd *cmd)
{
	return cmd->cdb[1] >> 1 & 3;
}

uint32_t scsi_verify_check(struct scsi_cmd *cmd)
{
	uint32_t status = set_moved(cmd);

	if (!status && bytchk(cmd) == 2)
		status = SCSI_BAD_CDB;
	if (status)
		return status;
	if (bytchk(cmd) && cmd->len)
		cmd->transfer_len =
			bytchk(cmd) == 1 ? (uint32_t)cmd->len : cmd->lu->bdev->lim.block;
	return 0;
}

/* BYTCHK 3: compare each block of the run that ends at cmd->done. */
static uint32_t compare_blocks(struct scsi_cmd *cmd, uint32_t len)
{
	struct target_cmd *base = &cmd->base;
	uint32_t block = cmd->lu->bdev->lim.block, status = 0;
	const uint8_t *disk = spare(base).p;

	for (uint32_t at = 0; at < len && !status; at += block)
		status = compare(cmd, base->p, disk + at, block, cmd->done - len + at);
	return status;
}

static void verify_next(struct target_cmd *);

static void verify_read(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	uint32_t status = 0;

	if (bytchk(cmd) == 1)
		status = compare(cmd, base->p, spare(base).p, base->piece, base->at);
	else if (bytchk(cmd) == 3)
		status = compare_blocks(cmd, (uint32_t)base->split.len);
	if (bytchk(cmd) == 1 || status)
		scsi_worked(cmd, status);
	else if (cmd->aborted)
		scsi_aborted(cmd);
	else if (cmd->done < cmd->len)
		target_cmd_requeue(base, verify_next);
	else
		scsi_worked(cmd, 0);
}

/* BYTCHK 0 and 3: read the next run. */
static void verify_next(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	struct buf buf = bytchk(cmd) ? spare(base) : base->buf_request.buf;
	uint64_t left = cmd->len - cmd->done, at = cmd->off + cmd->done;

	if (!bytchk(cmd)) /* the buffer's content is not the initiator's */
		base->data_len = base->piece = 0;
	if (left > buf.cap)
		left = buf.cap;
	cmd->done += left;
	target_cmd_io(base, IO_READ, 0, at, left, buf, verify_read);
}

void scsi_verify_work(struct scsi_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;

	if (!cmd->len)
		scsi_worked(cmd, 0);
	else if (bytchk(cmd) == 1)
		target_cmd_io(base, IO_READ, 0, cmd->off + base->at, base->piece, spare(base),
			verify_read);
	else if (!bytchk(cmd) || cmd->len <= spare(base).cap)
		verify_next(base);
	else if (target_cmd_release_buffer(base, cmd->lu->bdev->lim.block))
		target_cmd_requeue(base, verify_next);
	else
		scsi_worked(cmd, SCSI_BUSY);
}

uint32_t scsi_sync_check(struct scsi_cmd *cmd)
{
	uint64_t lba, blocks;

	get_range(cmd, &lba, &blocks);
	return in_range(cmd->lu, lba, blocks) ? 0 : SCSI_LBA_RANGE;
}

/* Flush the whole disk. IMMED is ignored: the reply follows the flush. */
void scsi_sync_work(struct scsi_cmd *cmd)
{
	if (cmd->lu->bdev->lim.max[IO_FLUSH])
		target_cmd_io(&cmd->base, IO_FLUSH, 0, 0, 0, (struct buf){ 0 }, NULL);
	else
		scsi_worked(cmd, 0);
}

void scsi_ready_work(struct scsi_cmd *cmd)
{
	scsi_worked(cmd, 0);
}

/* Only START=1 without power conditions is supported, as in LIO. */
uint32_t scsi_start_check(struct scsi_cmd *cmd)
{
	return (cmd->cdb[4] & 0xf3) == 1 ? 0 : SCSI_BAD_CDB;
}

uint32_t scsi_unmap_check(struct scsi_cmd *cmd)
{
	uint32_t len = scsi_be(cmd, 7, 2);

	if (!cmd->lu->bdev->lim.max[IO_TRIM])
		return SCSI_BAD_OPCODE;
	if (cmd->cdb[1] & 1) /* ANCHOR */
		return SCSI_BAD_CDB;
	if (len && len < 8)
		return SCSI_LIST_LENGTH;
	cmd->transfer_len = len;
	return 0;
}

/* Read a descriptor; return false if the range is outside the disk. */
static bool unmap_range(const struct scsi_cmd *cmd, unsigned i, uint64_t *off, uint64_t *len)
{
	const uint8_t *p = cmd->base.p + 8 + 16 * i;
	uint64_t lba = wire_be(p, 8), blocks = wire_be(p + 8, 4);

	*off = lba << cmd->lu->shift;
	*len = blocks << cmd->lu->shift;
	return in_range(cmd->lu, lba, blocks);
}

static void unmap_next(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	if (cmd->aborted) {
		scsi_aborted(cmd);
		return;
	}
	while (cmd->range < cmd->ranges) {
		uint64_t off, len;

		/* check again: an RDMA initiator may have changed the list */
		if (!unmap_range(cmd, cmd->range++, &off, &len) ||
			(len && !target_cmd_changes(base, off, len))) {
			scsi_worked(cmd, SCSI_LBA_RANGE);
			return;
		}
		if (!len)
			continue;
		target_cmd_io(base, IO_TRIM, 0, off, len, (struct buf){ 0 }, unmap_next);
		return;
	}
	scsi_worked(cmd, 0);
}

void scsi_unmap_work(struct scsi_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;
	uint64_t off, size;
	uint32_t len, room;

	if (!base->data_len) {
		scsi_worked(cmd, 0);
		return;
	}
	room = base->data_len - 8;
	len = (uint32_t)wire_be(base->p + 2, 2);
	if (len > room)
		len = room;
	if (len / 16 > SCSI_UNMAP_MOST) {
		scsi_worked(cmd, SCSI_BAD_LIST);
		return;
	}
	cmd->ranges = (uint16_t)(len / 16);
	for (unsigned i = 0; i < cmd->ranges; i++) {
		if (!unmap_range(cmd, i, &off, &size)) {
			scsi_worked(cmd, SCSI_LBA_RANGE);
			return;
		}
		target_cmd_add_changes(base, off, size);
	}
	/* without memory the list stays in the buffer */
	target_cmd_release_buffer(base, 8 + 16u * cmd->ranges);
	unmap_next(base);
}

#define SAME_UNMAP 8
#define SAME_NDOB  1 /* no data: zeros; WRITE SAME 16 only */

uint32_t scsi_same_check(struct scsi_cmd *cmd)
{
	const struct bdev_limits *lim = &cmd->lu->bdev->lim;
	uint8_t bits = cmd->cdb[1] & 0x1f;
	bool ndob = scsi_cdb_len(cmd->cdb[0]) == 16 && bits & SAME_NDOB;
	uint64_t lba, blocks;
	uint32_t status;

	get_range(cmd, &lba, &blocks);
	status = set_range(cmd, lba, blocks);
	if (status)
		return status;
	if (bits & ~(SAME_UNMAP | (ndob ? SAME_NDOB : 0)) || !blocks || cmd->len > SCSI_TGT_MAX ||
		((ndob || bits & SAME_UNMAP) && !lim->max[IO_ZERO]))
		return SCSI_BAD_CDB;
	cmd->transfer_len = ndob ? 0 : lim->block;
	return 0;
}

static bool all_zero(const uint8_t *p, uint32_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

static void same_next(struct target_cmd *);

static void same_written(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	if (cmd->aborted)
		scsi_aborted(cmd);
	else if (cmd->done == cmd->len)
		scsi_worked(cmd, 0);
	else
		target_cmd_requeue(base, same_next);
}

/* Write the next run, of copies of the block. The initiator has to send a fenced command again. */
static void same_next(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	uint32_t block = cmd->lu->bdev->lim.block;
	struct buf buf = base->buf_request.buf;
	uint64_t left = cmd->len - cmd->done, at = cmd->off + cmd->done;
	bool last = left <= buf.cap;

	if (base->fenced) {
		scsi_worked(cmd, SCSI_BUSY);
		return;
	}
	if (!last)
		left = buf.cap;
	if (base->p != buf.p)
		memcpy(buf.p, base->p, block);
	for (uint64_t to = block; to < left; to += block)
		memcpy(buf.p + to, buf.p, block);
	cmd->done += left;
	target_cmd_io(base, IO_WRITE, cmd->fua && (last || cmd->lu->bdev->lim.fua) ? IO_FUA : 0, at,
		left, buf, same_written);
}

void scsi_same_work(struct scsi_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;
	uint32_t block = cmd->lu->bdev->lim.block;
	bool zero = !base->data_len;

	if (!zero && cmd->lu->bdev->lim.max[IO_ZERO]) {
		/* check a copy: an RDMA initiator may change immediate data */
		if (base->p != base->buf_request.buf.p)
			memcpy(base->buf_request.buf.p, base->p, block);
		zero = all_zero(base->buf_request.buf.p, block);
	}
	if (zero) {
		target_cmd_release_buffer(base, 0);
		target_cmd_io(base, IO_ZERO,
			(cmd->fua ? IO_FUA : 0) | (cmd->cdb[1] & SAME_UNMAP ? 0 : IO_KEEP),
			cmd->off, cmd->len, (struct buf){ 0 }, NULL);
	} else if (cmd->len <= base->buf_request.buf.cap) {
		same_next(base);
	} else if (target_cmd_release_buffer(base, block)) {
		target_cmd_requeue(base, same_next);
	} else {
		scsi_worked(cmd, SCSI_BUSY);
	}
}

/* Without support of the disk it is emulated if only this process writes the disk. */
uint32_t scsi_compare_write_most(const struct scsi_lu *lu, uint32_t buffer)
{
	const struct bdev_limits *lim = &lu->bdev->lim;
	uint32_t most = lim->max[IO_COMPARE_WRITE], room = buffer / 2;

	if (!most && lim->sole_writer) {
		most = lim->max[IO_WRITE];
		room = buffer / 4; /* the data read must fit, too */
	}
	return most < room ? most : room;
}

uint32_t scsi_compare_write_check(struct scsi_cmd *cmd)
{
	uint32_t most = scsi_compare_write_most(cmd->lu, cmd->base.conn->target->opt.buffer);
	uint32_t status;

	if (!most)
		return SCSI_BAD_OPCODE;
	status = set_range(cmd, wire_be(cmd->cdb + 2, 8), cmd->cdb[13]);
	if (!status && cmd->len > most)
		status = SCSI_BAD_CDB;
	if (status)
		return status;
	cmd->fua |= (cmd->cdb[1] & 8) != 0;
	cmd->transfer_len = 2 * (uint32_t)cmd->len;
	/* the CDB has one byte for the number: 256 blocks, cut off, would compare nothing */
	return cmd->transfer_len == cmd->expected_out ? 0 : SCSI_BAD_CDB;
}

static void compared(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	uint32_t len = (uint32_t)cmd->len, status = compare(cmd, base->p, spare(base).p, len, 0);

	if (cmd->aborted)
		scsi_aborted(cmd);
	else if (status)
		scsi_worked(cmd, status);
	else
		target_cmd_io(base, IO_WRITE, cmd->fua ? IO_FUA : 0, cmd->off, len,
			(struct buf){ base->p + len, len, base->pool }, NULL);
}

static void compare_alone(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	if (cmd->aborted)
		scsi_aborted(cmd);
	else
		target_cmd_io(base, IO_READ, 0, cmd->off, cmd->len, spare(base), compared);
}

static void begin_alone(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	if (cmd->aborted)
		scsi_aborted(cmd);
	else
		target_cmd_exclusive(base, compare_alone, SCSI_BUSY);
}

void scsi_compare_write_work(struct scsi_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;

	if (!base->data_len)
		scsi_worked(cmd, 0);
	else if (cmd->lu->bdev->lim.max[IO_COMPARE_WRITE])
		target_cmd_io(base, IO_COMPARE_WRITE, cmd->fua ? IO_FUA : 0, cmd->off, cmd->len,
			(struct buf){ base->p, base->data_len, base->pool }, NULL);
	else if (bdev_has_orphans(cmd->lu->bdev)) /* wait for those of this client */
		target_cmd_io(base, IO_READ, 0, cmd->off, cmd->len, spare(base), begin_alone);
	else
		begin_alone(base);
}

uint32_t scsi_lba_status_check(struct scsi_cmd *cmd)
{
	uint64_t lba = wire_be(cmd->cdb + 2, 8);

	if (!in_range(cmd->lu, lba, 1))
		return SCSI_LBA_RANGE;
	cmd->off = lba << cmd->lu->shift;
	cmd->len = target_disk_size(cmd->lu->disk) - cmd->off;
	cmd->transfer_len = scsi_be(cmd, 10, 4);
	return 0;
}

static void put_lba_status(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	const struct map_run *run = (const struct map_run *)(const void *)spare(base).p;
	uint64_t lba = cmd->off >> cmd->lu->shift;
	uint8_t *p = base->p, *end = p + 8;

	for (uint32_t i = 0; i < base->split.io.detail; i++, run++, end += 16) {
		uint64_t blocks = run->len >> cmd->lu->shift;

		wire_put_be(end, 8, lba);
		wire_put_be(end + 8, 8, blocks << 32);
		end[12] = run->flags & MAP_HOLE ? 1 : 0; /* deallocated */
		lba += blocks;
	}
	memset(p, 0, 8);
	wire_put_be(p, 4, (uint64_t)(end - p - 4));
	scsi_answer(cmd, (uint32_t)(end - p));
}

/* A disk without IO_MAP is reported as mapped. */
void scsi_lba_status_work(struct scsi_cmd *cmd)
{
	const struct bdev_limits *lim = &cmd->lu->bdev->lim;
	struct target_cmd *base = &cmd->base;
	uint64_t most = lim->max[IO_MAP] ? lim->max[IO_MAP] : UINT32_MAX;
	struct buf buf = spare(base);

	most &= ~(uint64_t)(lim->block - 1);
	most = cmd->len < most ? cmd->len : most;
	buf.cap = SCSI_ANSWER - 16;
	if (lim->max[IO_MAP]) {
		target_cmd_io(base, IO_MAP, 0, cmd->off, most, buf, put_lba_status);
		return;
	}
	*(struct map_run *)(void *)buf.p = (struct map_run){ .len = most };
	base->split.io.detail = 1;
	put_lba_status(base);
}
