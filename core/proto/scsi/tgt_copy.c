/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* EXTENDED COPY (LID1), the same subset as LIO: one run of blocks between two units of this target
 * or within one. Units are identified by their designators of VPD page 83h. A copy that is not
 * possible here fails with COPY ABORTED; initiators then fall back to reads and writes. */
#include "tgt.h"

#define HEAD      16
#define CSCD_LEN  32
#define CSCDS     2 /* copy sources and destinations, at most */
#define SEG_LEN   28
#define LIST_MOST 1024

#define UNREACHABLE   SCSI_CHECK(KEY_COPY, 0x0d, 0x02)
#define MANY_CSCDS    SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x06)
#define CSCD_TYPE     SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x07)
#define MANY_SEGMENTS SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x08)
#define SEGMENT_TYPE  SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x09)

uint32_t scsi_copy_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 10, 4);
	return cmd->transfer_len && cmd->transfer_len < HEAD ? SCSI_LIST_LENGTH : 0;
}

/* Find the unit by the EUI-64 designator in a CSCD descriptor. */
static struct scsi_lu *unit_of(struct scsi_target *target, const uint8_t p[CSCD_LEN])
{
	static const uint8_t ours[4] = { 1, 2, 0, 16 };

	for (unsigned i = 0; i < target->lus; i++)
		if (!memcmp(p + 4, ours, sizeof(ours)) && !memcmp(p + 8, target->lu[i].nguid, 16))
			return &target->lu[i];
	return NULL;
}

static uint32_t check_head(const uint8_t *p, uint32_t len, uint32_t *cscds, uint32_t *segments)
{
	*cscds = (uint32_t)wire_be(p + 2, 2);
	*segments = (uint32_t)wire_be(p + 8, 4);
	if (*segments > LIST_MOST || *cscds + *segments > LIST_MOST)
		return SCSI_LIST_LENGTH;
	if (wire_be(p + 12, 4)) /* inline data */
		return SCSI_BAD_LIST;
	if (len < HEAD + *cscds + *segments)
		return SCSI_LIST_LENGTH;
	if (*segments % SEG_LEN)
		return SEGMENT_TYPE;
	if (*segments > SEG_LEN)
		return MANY_SEGMENTS;
	if (*segments && p[HEAD + *cscds] != 2) /* block to block */
		return SEGMENT_TYPE;
	if (*cscds % CSCD_LEN)
		return CSCD_TYPE;
	if (*cscds > CSCDS * CSCD_LEN)
		return MANY_CSCDS;
	for (uint32_t at = 0; at < *cscds; at += CSCD_LEN)
		if (p[HEAD + at] != 0xe4)
			return CSCD_TYPE;
	return 0;
}

/* Check write protection, and reservations of a unit other than the one that received the command.
 */
static bool is_open(const struct scsi_cmd *cmd, const struct scsi_lu *lu, bool writes)
{
	if (writes && lu->disk->ro)
		return false;
	return lu == cmd->lu || !reservations_active(lu->reservations);
}

static bool has_blocks(const struct scsi_lu *lu, uint64_t lba, uint64_t blocks)
{
	uint64_t size = target_disk_size(lu->disk) >> lu->shift;

	return blocks <= size && lba <= size - blocks;
}

static uint32_t read_list(struct scsi_cmd *cmd)
{
	struct scsi_target *target = cmd->nexus->target;
	const uint8_t *p = cmd->base.p, *segment;
	uint32_t cscds, segments, status = check_head(p, cmd->base.data_len, &cscds, &segments);
	uint64_t from, to, blocks, source, sink;

	if (status || !segments)
		return status;
	segment = p + HEAD + cscds;
	from = wire_be(segment + 4, 2);
	to = wire_be(segment + 6, 2);
	if (wire_be(segment + 2, 2) != SEG_LEN - 4)
		return SCSI_BAD_LIST;
	if (from * CSCD_LEN >= cscds || to * CSCD_LEN >= cscds)
		return UNREACHABLE;
	cmd->from = unit_of(target, p + HEAD + from * CSCD_LEN);
	cmd->to = unit_of(target, p + HEAD + to * CSCD_LEN);
	blocks = wire_be(segment + 10, 2);
	source = wire_be(segment + 12, 8);
	sink = wire_be(segment + 20, 8);
	if (!cmd->from || !cmd->to || (cmd->from != cmd->lu && cmd->to != cmd->lu) ||
		cmd->from->shift != cmd->to->shift || !has_blocks(cmd->from, source, blocks) ||
		!has_blocks(cmd->to, sink, blocks) || !is_open(cmd, cmd->from, false) ||
		!is_open(cmd, cmd->to, true))
		return UNREACHABLE;
	/* Refuse overlapping ranges: blocks would be overwritten before they are read. Refuse disks
	 * with separate buffer stores: no buffer is mapped for both. */
	if ((cmd->from == cmd->to && source < sink + blocks && sink < source + blocks) ||
		cmd->from->disk->store != cmd->to->disk->store)
		return UNREACHABLE;
	cmd->off = source << cmd->from->shift;
	cmd->sink = sink << cmd->to->shift;
	cmd->len = blocks << cmd->from->shift;
	return cmd->len > SCSI_TGT_MAX ? SCSI_BAD_LIST : 0;
}

static void copy_read(struct target_cmd *);

static void copy_written(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	/* between two writes no other request has to wait for this command */
	bdev_orphan_end(&base->orphan);
	base->changes_len = 0;
	if (cmd->aborted)
		scsi_aborted(cmd);
	else if (cmd->done == cmd->len)
		scsi_worked(cmd, 0);
	else
		target_cmd_requeue(base, copy_read);
}

/* The initiator has to send a fenced command again. */
static void copy_write(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	struct buf buf = base->buf_request.buf;
	uint64_t at = cmd->done, left = cmd->len - at;

	if (cmd->aborted) {
		scsi_aborted(cmd);
		return;
	}
	if (base->fenced) {
		scsi_worked(cmd, SCSI_BUSY);
		return;
	}
	if (left > buf.cap)
		left = buf.cap;
	cmd->done += left;
	base->disk = cmd->to->disk;
	base->changes_off = cmd->sink + at;
	base->changes_len = left;
	target_cmd_io(base, IO_WRITE, 0, cmd->sink + at, left, buf, copy_written);
}

static void copy_read(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	struct buf buf = base->buf_request.buf;
	uint64_t left = cmd->len - cmd->done;

	base->disk = cmd->from->disk;
	target_cmd_io(base, IO_READ, 0, cmd->off + cmd->done, left < buf.cap ? left : buf.cap, buf,
		copy_write);
}

void scsi_copy_work(struct scsi_cmd *cmd)
{
	uint32_t status = cmd->base.data_len ? read_list(cmd) : 0;

	if (status || !cmd->len)
		scsi_worked(cmd, status);
	else
		copy_read(&cmd->base);
}

/* bytes; the field for the number of blocks has 16 bits */
static uint64_t segment_most(const struct scsi_lu *lu)
{
	uint64_t most = 65535ull << lu->shift;

	return most < SCSI_TGT_MAX ? most : SCSI_TGT_MAX;
}

/* Operating parameters only: no results are kept by list identifier. */
uint32_t scsi_copy_results_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 10, 4);
	return cmd->cdb[2] ? SCSI_BAD_CDB : 0;
}

void scsi_copy_results_work(struct scsi_cmd *cmd)
{
	uint8_t *p = cmd->base.p;

	memset(p, 0, 46);
	wire_put_be(p, 4, 42);
	p[4] = 1; /* SNLID */
	wire_put_be(p + 8, 2, CSCDS);
	wire_put_be(p + 10, 2, 1);
	wire_put_be(p + 12, 4, LIST_MOST);
	wire_put_be(p + 16, 4, segment_most(cmd->lu));
	p[35] = p[36] = 1; /* copies at once, of all and of one */
	p[37] = cmd->lu->shift;
	p[43] = 2;
	p[44] = 2;
	p[45] = 0xe4;
	scsi_answer(cmd, 46);
}
