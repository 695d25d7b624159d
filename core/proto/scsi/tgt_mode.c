/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MODE SENSE and MODE SELECT: the Caching and the Control page (SBC-3 6.5.6, SPC-4 7.5.9). Nothing
 * can be changed: a change would apply to all initiators, and outlive the session that made it. */
#include "tgt.h"

#define CACHING     0x08
#define CACHING_LEN 20
#define CACHING_WCE 4
#define CONTROL     0x0a
#define CONTROL_LEN 12
#define ALL_PAGES   0x3f

enum { CURRENT, CHANGEABLE, DEFAULT, SAVED }; /* PC */

static void put_caching(const struct scsi_lu *lu, unsigned pc, uint8_t p[CACHING_LEN])
{
	memset(p, 0, CACHING_LEN);
	p[0] = CACHING;
	p[1] = CACHING_LEN - 2;
	if (pc != CHANGEABLE && lu->bdev->lim.max[IO_FLUSH])
		p[2] = CACHING_WCE;
}

static void put_control(unsigned pc, uint8_t p[CONTROL_LEN])
{
	memset(p, 0, CONTROL_LEN);
	p[0] = CONTROL;
	p[1] = CONTROL_LEN - 2;
	if (pc == CHANGEABLE)
		return;
	p[2] = 0x20; /* TST: task sets per nexus */
	p[3] = 0x10; /* QAM: reordered at will */
	p[5] = 0x40; /* TAS */
	wire_put_be(p + 8, 2, 0xffff);
}

static bool is_long(const struct scsi_cmd *cmd)
{
	return scsi_cdb_len(cmd->cdb[0]) == 10;
}

uint32_t scsi_mode_sense_check(struct scsi_cmd *cmd)
{
	uint8_t page = cmd->cdb[2] & 0x3f, sub = cmd->cdb[3];

	if (cmd->cdb[2] >> 6 == SAVED)
		return SCSI_NO_SAVING;
	if (page != ALL_PAGES && page != CACHING && page != CONTROL)
		return SCSI_BAD_CDB;
	if (sub && !(page == ALL_PAGES && sub == 0xff))
		return SCSI_BAD_CDB;
	cmd->transfer_len = is_long(cmd) ? scsi_be(cmd, 7, 2) : cmd->cdb[4];
	return 0;
}

/* Write the block descriptor (16 bytes if LLBAA is set) and return its length. */
static unsigned put_blocks(const struct scsi_lu *lu, bool big, uint8_t *p)
{
	uint64_t blocks = target_disk_size(lu->disk) >> lu->shift;

	memset(p, 0, 16);
	if (big) {
		wire_put_be(p, 8, blocks);
		wire_put_be(p + 12, 4, lu->bdev->lim.block);
		return 16;
	}
	wire_put_be(p, 4, blocks < UINT32_MAX ? blocks : UINT32_MAX);
	wire_put_be(p + 5, 3, lu->bdev->lim.block);
	return 8;
}

void scsi_mode_sense_work(struct scsi_cmd *cmd)
{
	const struct scsi_lu *lu = cmd->lu;
	unsigned head = is_long(cmd) ? 8 : 4, pc = cmd->cdb[2] >> 6, page = cmd->cdb[2] & 0x3f;
	bool big = is_long(cmd) && cmd->cdb[1] & 0x10, none = cmd->cdb[1] & 8;
	uint8_t *p = cmd->base.p, device = lu->disk->ro ? 0x90 : 0x10;
	unsigned descriptor = none ? 0 : put_blocks(lu, big, p + head), len = head + descriptor;

	memset(p, 0, head);
	if (page == ALL_PAGES || page == CACHING) {
		put_caching(lu, pc, p + len);
		len += CACHING_LEN;
	}
	if (page == ALL_PAGES || page == CONTROL) {
		put_control(pc, p + len);
		len += CONTROL_LEN;
	}
	if (is_long(cmd)) {
		wire_put_be(p, 2, len - 2);
		p[3] = device;
		p[4] = big && descriptor;
		wire_put_be(p + 6, 2, descriptor);
	} else {
		p[0] = (uint8_t)(len - 1);
		p[2] = device;
		p[3] = (uint8_t)descriptor;
	}
	scsi_answer(cmd, len);
}

uint32_t scsi_mode_select_check(struct scsi_cmd *cmd)
{
	unsigned head = is_long(cmd) ? 8 : 4;

	if ((cmd->cdb[1] & 0x11) != 0x10) /* PF, and nothing is saved */
		return SCSI_BAD_CDB;
	cmd->transfer_len = is_long(cmd) ? scsi_be(cmd, 7, 2) : cmd->cdb[4];
	return cmd->transfer_len && cmd->transfer_len < head ? SCSI_LIST_LENGTH : 0;
}

/* Return the length of a page if all of it has its current values, else 0. */
static uint32_t check_page(const struct scsi_lu *lu, const uint8_t *p, uint32_t left)
{
	uint8_t current[CACHING_LEN];
	uint32_t len;

	if (left < 2)
		return 0;
	switch (p[0] & 0x7f) {
	case CACHING:
		len = CACHING_LEN;
		put_caching(lu, CURRENT, current);
		break;
	case CONTROL:
		len = CONTROL_LEN;
		put_control(CURRENT, current);
		break;
	default:
		return 0;
	}
	return left >= len && !memcmp(p + 1, current + 1, len - 1) ? len : 0;
}

static uint32_t check_list(const struct scsi_cmd *cmd)
{
	const struct scsi_lu *lu = cmd->lu;
	const uint8_t *p = cmd->base.p;
	uint32_t head = is_long(cmd) ? 8 : 4, left = cmd->base.data_len - head;
	uint32_t descriptor = is_long(cmd) ? (uint32_t)wire_be(p + 6, 2) : p[3];
	bool big = is_long(cmd) && p[4] & 1;
	unsigned size = big ? 4 : 3; /* bytes of the block size */
	uint8_t blocks[16];

	p += head;
	if (descriptor) {
		if (descriptor != (big ? 16 : 8) || descriptor > left)
			return descriptor > left ? SCSI_LIST_LENGTH : SCSI_BAD_LIST;
		put_blocks(lu, big, blocks);
		/* the block size can't be changed; the number of blocks is ignored */
		if (memcmp(p + descriptor - size, blocks + descriptor - size, size))
			return SCSI_BAD_LIST;
		p += descriptor;
		left -= descriptor;
	}
	while (left) {
		uint32_t len = check_page(lu, p, left);

		if (!len)
			return SCSI_BAD_LIST;
		p += len;
		left -= len;
	}
	return 0;
}

void scsi_mode_select_work(struct scsi_cmd *cmd)
{
	scsi_worked(cmd, cmd->base.data_len ? check_list(cmd) : 0);
}
