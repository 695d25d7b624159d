/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands that describe the target and its units (SPC-4): INQUIRY and VPD pages, capacities,
 * REPORT LUNS, REQUEST SENSE, supported commands. */
#include "tgt.h"
#include <stdio.h>

#define VENDOR  "rdmastor"
#define PRODUCT "disk            "

/* Append len zero bytes to the answer. */
static uint8_t *more(uint8_t **end, unsigned len)
{
	uint8_t *p = *end;

	memset(p, 0, len);
	*end += len;
	return p;
}

static void pad_text(uint8_t *p, unsigned len, const char *text)
{
	for (unsigned i = 0; i < len; i++)
		p[i] = *text ? (uint8_t)*text++ : ' ';
}

uint32_t scsi_alloc10_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 10, 4);
	return 0;
}

/* --- INQUIRY */

static void put_standard(struct scsi_cmd *cmd, uint8_t **end)
{
	uint16_t versions[] = { 0x00a0, 0x0460, 0x04c0,
		cmd->nexus->target->protocol == SCSI_SRP ? 0x0940 : 0x0960 };
	uint8_t *p = more(end, 96);

	p[0] = cmd->lu ? 0 : 0x7f;
	p[2] = 6; /* SPC-4 */
	p[3] = 0x12;
	p[4] = 96 - 5;
	/* TPGS: implicit; 3PC */
	p[5] = 0x18;
	p[7] = 2; /* CMDQUE */
	pad_text(p + 8, 8, VENDOR);
	pad_text(p + 16, 16, PRODUCT);
	pad_text(p + 32, 4, "1.0");
	for (unsigned i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		wire_put_be(p + 58 + 2 * i, 2, versions[i]);
}

static void put_serial(const struct scsi_lu *lu, uint8_t **end)
{
	unsigned len = (unsigned)strlen(lu->serial);

	memcpy(more(end, len), lu->serial, len);
}

enum { PORT = 1, DEVICE = 2 }; /* association of a designator */

/* Append a designator of len bytes; return where they go. */
static uint8_t *designator(const struct scsi_lu *lu, uint8_t **end, unsigned codes,
	unsigned association, unsigned type, unsigned len)
{
	uint8_t *p = more(end, 4 + len);

	p[0] = (uint8_t)((association ? lu->target->protocol << 4 : 0) | codes);
	p[1] = (uint8_t)((association ? 0x80 : 0) | association << 4 | type);
	p[3] = (uint8_t)len;
	return p + 4;
}

static void put_name(
	const struct scsi_lu *lu, uint8_t **end, unsigned association, const char *name)
{
	unsigned len = (unsigned)strlen(name);

	if (len && len < 248)
		memcpy(designator(lu, end, 3, association, 8, (len + 4) & ~3u), name, len);
}

/* The name of the target port, which is an iSCSI portal group (SPC-4, 7.8.6.10). */
static void put_port_name(const struct scsi_nexus *nexus, const struct scsi_lu *lu, uint8_t **end)
{
	char name[SCSI_PORT_NAME + sizeof(",t,0x0001")];

	snprintf(name, sizeof(name), "%s,t,0x%04x", lu->target->device_name, nexus->group);
	put_name(lu, end, PORT, name);
}

static void put_ids(const struct scsi_nexus *nexus, const struct scsi_lu *lu, uint8_t **end)
{
	enum { BINARY = 1, ASCII = 2 };
	unsigned serial = (unsigned)strlen(lu->serial);
	uint8_t *p;

	memcpy(designator(lu, end, BINARY, 0, 2, 16), lu->nguid, 16);
	p = designator(lu, end, ASCII, 0, 1, 8 + serial);
	pad_text(p, 8, VENDOR);
	memcpy(p + 8, lu->serial, serial);
	wire_put_be(designator(lu, end, BINARY, PORT, 4, 4), 4, nexus->group);
	wire_put_be(designator(lu, end, BINARY, PORT, 5, 4), 4, nexus->group);
	if (lu->target->protocol == SCSI_ISCSI)
		put_port_name(nexus, lu, end);
	put_name(lu, end, DEVICE, lu->target->device_name);
}

static uint32_t at_most(uint64_t value, uint32_t most)
{
	return value < most ? (uint32_t)value : most;
}

static void put_limits(const struct scsi_cmd *cmd, uint8_t **end)
{
	const struct scsi_lu *lu = cmd->lu;
	const struct bdev_limits *lim = &lu->bdev->lim;
	uint32_t buffer = cmd->base.conn->target->opt.buffer;
	uint8_t *p = more(end, 0x3c) - 4; /* counted as in the page */

	p[4] = 1; /* WSNZ */
	p[5] = (uint8_t)at_most(scsi_compare_write_most(lu, buffer) >> lu->shift, 255);
	wire_put_be(p + 6, 2, at_most(lim->best >> lu->shift, 0xffff));
	wire_put_be(p + 8, 4, SCSI_TGT_MAX >> lu->shift);
	if (lim->max[IO_TRIM]) {
		wire_put_be(p + 20, 4, UINT32_MAX);
		wire_put_be(p + 24, 4, SCSI_UNMAP_MOST);
		wire_put_be(p + 28, 4, at_most(lim->best >> lu->shift, UINT32_MAX));
	}
	wire_put_be(p + 36, 8, SCSI_TGT_MAX >> lu->shift);
}

static void put_provisioning(const struct scsi_lu *lu, uint8_t **end)
{
	const struct bdev_limits *lim = &lu->bdev->lim;
	uint8_t *p = more(end, 4);

	p[1] = (uint8_t)((lim->max[IO_TRIM] ? 0x80 : 0) | (lim->max[IO_ZERO] ? 0x60 : 0));
	p[2] = lim->max[IO_TRIM] ? 2 : 0; /* thin */
}

static const uint8_t pages[] = { 0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2 };

static void put_page(const struct scsi_cmd *cmd, uint8_t **end)
{
	uint8_t *p = more(end, 4);

	p[1] = cmd->cdb[2];
	switch (cmd->cdb[2]) {
	case 0x00:
		memcpy(more(end, sizeof(pages)), pages, sizeof(pages));
		break;
	case 0x80:
		put_serial(cmd->lu, end);
		break;
	case 0x83:
		put_ids(cmd->nexus, cmd->lu, end);
		break;
	case 0xb0:
		put_limits(cmd, end);
		break;
	case 0xb1:
		more(end, 0x3c)[1] = 1; /* does not rotate */
		break;
	default:
		put_provisioning(cmd->lu, end);
	}
	wire_put_be(p + 2, 2, (uint64_t)(*end - p - 4));
}

uint32_t scsi_inquiry_check(struct scsi_cmd *cmd)
{
	bool vpd = cmd->cdb[1] & 1;

	if (cmd->cdb[1] & ~1 || (!vpd && cmd->cdb[2]) || (vpd && !cmd->lu) ||
		(vpd && !memchr(pages, cmd->cdb[2], sizeof(pages))))
		return SCSI_BAD_CDB;
	cmd->transfer_len = scsi_be(cmd, 3, 2);
	return 0;
}

void scsi_inquiry_work(struct scsi_cmd *cmd)
{
	uint8_t *end = cmd->base.p;

	if (cmd->cdb[1] & 1)
		put_page(cmd, &end);
	else
		put_standard(cmd, &end);
	scsi_answer(cmd, (uint32_t)(end - cmd->base.p));
}

/* --- REQUEST SENSE */

uint32_t scsi_sense_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = cmd->cdb[4];
	return 0;
}

/* DESC asks for descriptor format. */
void scsi_sense_work(struct scsi_cmd *cmd)
{
	uint32_t status = cmd->lu ? scsi_ua_take(cmd->nexus, cmd->lu) : SCSI_NO_LUN;
	uint8_t *p = cmd->base.p;
	bool desc = cmd->cdb[1] & 1;

	if (!status)
		status = scsi_access_status(cmd->nexus);
	scsi_sense_put(p, status);
	if (desc) {
		p[0] = 0x72;
		p[1] = p[2];
		p[2] = p[12];
		p[3] = p[13];
		memset(p + 4, 0, 4);
	}
	scsi_answer(cmd, desc ? 8 : SCSI_SENSE);
}

/* --- capacity, units */

uint32_t scsi_capacity10_check(struct scsi_cmd *cmd)
{
	if (cmd->cdb[8] & 1 || scsi_be(cmd, 2, 4))
		return SCSI_BAD_CDB;
	cmd->transfer_len = 8;
	return 0;
}

static uint64_t last_lba(const struct scsi_lu *lu)
{
	uint64_t blocks = target_disk_size(lu->disk) >> lu->shift;

	return blocks ? blocks - 1 : 0;
}

void scsi_capacity10_work(struct scsi_cmd *cmd)
{
	uint8_t *p = cmd->base.p;

	wire_put_be(p, 4, at_most(last_lba(cmd->lu), UINT32_MAX));
	wire_put_be(p + 4, 4, cmd->lu->bdev->lim.block);
	scsi_answer(cmd, 8);
}

/* LBPRZ stays 0: unmapped blocks may read as anything. */
void scsi_capacity16_work(struct scsi_cmd *cmd)
{
	uint8_t *end = cmd->base.p, *p = more(&end, 32);

	wire_put_be(p, 8, last_lba(cmd->lu));
	wire_put_be(p + 8, 4, cmd->lu->bdev->lim.block);
	p[14] = cmd->lu->bdev->lim.max[IO_TRIM] ? 0x80 : 0;
	scsi_answer(cmd, 32);
}

/* SELECT REPORT 1 asks for well-known units only; this target has none. */
uint32_t scsi_luns_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 6, 4);
	return cmd->cdb[2] > 2 || cmd->transfer_len < 16 ? SCSI_BAD_CDB : 0;
}

void scsi_luns_work(struct scsi_cmd *cmd)
{
	struct scsi_target *target = cmd->nexus->target;
	unsigned count = cmd->cdb[2] == 1 ? 0 : target->lus;
	uint8_t *end = cmd->base.p, *p = more(&end, 8 + 8 * count);

	wire_put_be(p, 4, 8 * count);
	for (unsigned i = 0; i < count; i++)
		p[8 + 8 * i + 1] = (uint8_t)i;
	scsi_answer(cmd, 8 + 8 * count);
}

/* --- REPORT SUPPORTED OPERATION CODES */

enum { REPORT_ALL, REPORT_OPCODE, REPORT_ACTION, REPORT_EITHER };

/* Return false for commands that this unit's disk does not support. */
static bool supported(const struct scsi_lu *lu, const struct scsi_op *op)
{
	return !(op->check == scsi_unmap_check && !lu->bdev->lim.max[IO_TRIM]) &&
	       !(op->check == scsi_compare_write_check && !scsi_compare_write_most(lu, UINT32_MAX));
}

static bool has_action(uint8_t opcode)
{
	const struct scsi_op *op = scsi_ops;

	while (op->name && op->opcode != opcode)
		op++;
	return op->name && op->action >= 0;
}

uint32_t scsi_opcodes_check(struct scsi_cmd *cmd)
{
	unsigned options = cmd->cdb[2] & 7;
	bool action = has_action(cmd->cdb[3]);

	cmd->transfer_len = scsi_be(cmd, 6, 4);
	if (options > REPORT_EITHER || (options == REPORT_OPCODE && action) ||
		(options == REPORT_ACTION && !action))
		return SCSI_BAD_CDB;
	return 0;
}

static void put_timeouts(uint8_t **end)
{
	more(end, 12)[1] = 10; /* its length; no time is given */
}

static void put_all(const struct scsi_cmd *cmd, bool timeouts, uint8_t **end)
{
	for (const struct scsi_op *op = scsi_ops; op->name; op++) {
		uint8_t *p;

		if (!supported(cmd->lu, op))
			continue;
		p = more(end, 8);
		p[0] = op->opcode;
		p[3] = op->action < 0 ? 0 : (uint8_t)op->action;
		p[5] = (uint8_t)((timeouts ? 2 : 0) | (op->action >= 0));
		p[7] = (uint8_t)scsi_cdb_len(op->opcode);
		if (timeouts)
			put_timeouts(end);
	}
}

static const struct scsi_op *find_requested_op(const struct scsi_cmd *cmd)
{
	unsigned action = scsi_be(cmd, 4, 2);

	for (const struct scsi_op *op = scsi_ops; op->name; op++)
		if (op->opcode == cmd->cdb[3] && supported(cmd->lu, op) &&
			(op->action < 0 ? !action || (cmd->cdb[2] & 7) == REPORT_OPCODE
					: (unsigned)op->action == action))
			return op;
	return NULL;
}

void scsi_opcodes_work(struct scsi_cmd *cmd)
{
	bool timeouts = cmd->cdb[2] & 0x80;
	uint8_t *end = cmd->base.p, *p = more(&end, 4);

	if ((cmd->cdb[2] & 7) == REPORT_ALL) {
		put_all(cmd, timeouts, &end);
		wire_put_be(p, 4, (uint64_t)(end - p - 4));
	} else {
		const struct scsi_op *op = find_requested_op(cmd);
		unsigned len = op ? scsi_cdb_len(op->opcode) : 0;

		p[1] = (uint8_t)((timeouts && op ? 0x80 : 0) | (op ? 3 : 1));
		wire_put_be(p + 2, 2, len);
		if (op) {
			memcpy(more(&end, len), op->usage, len);
			if (timeouts)
				put_timeouts(&end);
		}
	}
	scsi_answer(cmd, (uint32_t)(end - p));
}
