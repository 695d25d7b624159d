/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of commands; which command a CDB is, whether it may run now, and its data length. */
#include "tgt.h"

/* Most frequent first: the search is linear. */
const struct scsi_op scsi_ops[] = {
	{ 0x28, -1, OP_IN | OP_READS, "read 10", scsi_rw_check, scsi_read_work,
		{ 0x28, 0x18, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x2a, -1, OP_OUT | OP_WRITES, "write 10", scsi_rw_check, scsi_write_work,
		{ 0x2a, 0x18, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x88, -1, OP_IN | OP_READS, "read 16", scsi_rw_check, scsi_read_work,
		{ 0x88, 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x8a, -1, OP_OUT | OP_WRITES, "write 16", scsi_rw_check, scsi_write_work,
		{ 0x8a, 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x00, -1, OP_FREE, "test unit ready", NULL, scsi_ready_work, { 0x00 } },
	{ 0x03, -1, OP_IN | OP_ANSWER | OP_NO_LUN | OP_NO_UA | OP_FREE | OP_ALWAYS, "request sense",
		scsi_sense_check, scsi_sense_work, { 0x03, 0x01, 0, 0, 255 } },
	{ 0x08, -1, OP_IN | OP_READS, "read 6", scsi_rw_check, scsi_read_work,
		{ 0x08, 0x1f, 255, 255, 255 } },
	{ 0x0a, -1, OP_OUT | OP_WRITES, "write 6", scsi_rw_check, scsi_write_work,
		{ 0x0a, 0x1f, 255, 255, 255 } },
	{ 0x12, -1, OP_IN | OP_ANSWER | OP_NO_LUN | OP_NO_UA | OP_FREE | OP_ALWAYS, "inquiry",
		scsi_inquiry_check, scsi_inquiry_work, { 0x12, 0x01, 255, 255, 255 } },
	{ 0x15, -1, OP_OUT | OP_WHOLE | OP_ALWAYS, "mode select 6", scsi_mode_select_check,
		scsi_mode_select_work, { 0x15, 0x11, 0, 0, 255 } },
	{ 0x16, -1, 0, "reserve 6", scsi_reserve_check, scsi_reserve_work, { 0x16 } },
	{ 0x17, -1, OP_RELEASE, "release 6", scsi_reserve_check, scsi_release_work, { 0x17 } },
	{ 0x1a, -1, OP_IN | OP_ANSWER | OP_READS | OP_ALWAYS, "mode sense 6", scsi_mode_sense_check,
		scsi_mode_sense_work, { 0x1a, 0x08, 255, 255, 255 } },
	{ 0x1b, -1, OP_FREE, "start stop unit", scsi_start_check, scsi_ready_work,
		{ 0x1b, 0x01, 0, 0, 0xf7 } },
	{ 0x25, -1, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "read capacity 10",
		scsi_capacity10_check, scsi_capacity10_work, { 0x25 } },
	{ 0x2e, -1, OP_OUT | OP_HALF | OP_WRITES, "write and verify 10", scsi_rw_check,
		scsi_write_verify_work, { 0x2e, 0x12, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x2f, -1, OP_OUT | OP_HALF | OP_BUFFER | OP_READS, "verify 10", scsi_verify_check,
		scsi_verify_work, { 0x2f, 0x16, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x34, -1, OP_READS, "pre-fetch 10", scsi_sync_check, scsi_ready_work, /* no cache */
		{ 0x34, 0x02, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x35, -1, 0, "synchronize cache 10", scsi_sync_check, scsi_sync_work,
		{ 0x35, 0x02, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x41, -1, OP_OUT | OP_HALF | OP_WHOLE | OP_WRITES, "write same 10", scsi_same_check,
		scsi_same_work, { 0x41, 0x08, 255, 255, 255, 255, 0x1f, 255, 255 } },
	{ 0x42, -1, OP_OUT | OP_WHOLE | OP_WRITES, "unmap", scsi_unmap_check, scsi_unmap_work,
		{ 0x42, 0, 0, 0, 0, 0, 0x1f, 255, 255 } },
	{ 0x55, -1, OP_OUT | OP_WHOLE | OP_ALWAYS, "mode select 10", scsi_mode_select_check,
		scsi_mode_select_work, { 0x55, 0x11, 0, 0, 0, 0, 0, 255, 255 } },
	{ 0x5a, -1, OP_IN | OP_ANSWER | OP_READS | OP_ALWAYS, "mode sense 10",
		scsi_mode_sense_check, scsi_mode_sense_work,
		{ 0x5a, 0x18, 255, 255, 0, 0, 0, 255, 255 } },
	{ 0x5e, 0x00, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "read keys", scsi_pr_in_check,
		scsi_pr_in_work, { 0x5e, 0x1f, 0, 0, 0, 0, 0, 255, 255 } },
	{ 0x5e, 0x01, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "read reservation", scsi_pr_in_check,
		scsi_pr_in_work, { 0x5e, 0x1f, 0, 0, 0, 0, 0, 255, 255 } },
	{ 0x5e, 0x02, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "report capabilities",
		scsi_pr_in_check, scsi_pr_in_work, { 0x5e, 0x1f, 0, 0, 0, 0, 0, 255, 255 } },
	{ 0x5e, 0x03, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "read full status", scsi_pr_in_check,
		scsi_pr_in_work, { 0x5e, 0x1f, 0, 0, 0, 0, 0, 255, 255 } },
	{ 0x5f, 0x00, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "register", scsi_pr_out_check,
		scsi_pr_out_work, { 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x5f, 0x01, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "reserve", scsi_pr_out_check,
		scsi_pr_out_work, { 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x5f, 0x02, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "release", scsi_pr_out_check,
		scsi_pr_out_work, { 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x5f, 0x03, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "clear", scsi_pr_out_check,
		scsi_pr_out_work, { 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x5f, 0x04, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "preempt", scsi_pr_out_check,
		scsi_pr_out_work, { 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x5f, 0x05, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "preempt and abort",
		scsi_pr_out_check, scsi_pr_out_work,
		{ 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x5f, 0x06, OP_OUT | OP_WHOLE | OP_FREE | OP_ALWAYS, "register and ignore",
		scsi_pr_out_check, scsi_pr_out_work,
		{ 0x5f, 0x1f, 255, 0, 0, 255, 255, 255, 255 } },
	{ 0x83, 0x00, OP_OUT | OP_HALF | OP_WHOLE, "extended copy", scsi_copy_check, scsi_copy_work,
		{ 0x83, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255 } },
	{ 0x84, 0x03, OP_IN | OP_ANSWER, "receive copy operating parameters",
		scsi_copy_results_check, scsi_copy_results_work,
		{ 0x84, 0x1f, 255, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255 } },
	{ 0x89, -1, OP_OUT | OP_HALF | OP_WHOLE | OP_WRITES, "compare and write",
		scsi_compare_write_check, scsi_compare_write_work,
		{ 0x89, 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 255, 0x1f } },
	{ 0x8e, -1, OP_OUT | OP_HALF | OP_WRITES, "write and verify 16", scsi_rw_check,
		scsi_write_verify_work,
		{ 0x8e, 0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x8f, -1, OP_OUT | OP_HALF | OP_BUFFER | OP_READS, "verify 16", scsi_verify_check,
		scsi_verify_work,
		{ 0x8f, 0x16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x90, -1, OP_READS, "pre-fetch 16", scsi_sync_check, scsi_ready_work,
		{ 0x90, 0x02, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x91, -1, 0, "synchronize cache 16", scsi_sync_check, scsi_sync_work,
		{ 0x91, 0x02, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x93, -1, OP_OUT | OP_HALF | OP_WHOLE | OP_WRITES, "write same 16", scsi_same_check,
		scsi_same_work,
		{ 0x93, 0x09, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0x9e, 0x10, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "read capacity 16",
		scsi_alloc10_check, scsi_capacity16_work,
		{ 0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255 } },
	{ 0x9e, 0x12, OP_IN | OP_ANSWER | OP_READS, "get lba status", scsi_lba_status_check,
		scsi_lba_status_work,
		{ 0x9e, 0x1f, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 } },
	{ 0xa0, -1, OP_IN | OP_ANSWER | OP_NO_LUN | OP_NO_UA | OP_FREE | OP_ALWAYS, "report luns",
		scsi_luns_check, scsi_luns_work, { 0xa0, 0, 255, 0, 0, 0, 255, 255, 255, 255 } },
	{ 0xa3, 0x0a, OP_IN | OP_ANSWER | OP_FREE | OP_ALWAYS, "report target port groups",
		scsi_groups_check, scsi_groups_work,
		{ 0xa3, 0xff, 0, 0, 0, 0, 255, 255, 255, 255 } },
	{ 0xa3, 0x0c, OP_IN | OP_ANSWER | OP_READS | OP_ALWAYS, "report supported operation codes",
		scsi_opcodes_check, scsi_opcodes_work,
		{ 0xa3, 0x1f, 0x87, 255, 255, 255, 255, 255, 255, 255 } },
	{ 0xa8, -1, OP_IN | OP_READS, "read 12", scsi_rw_check, scsi_read_work,
		{ 0xa8, 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0xaa, -1, OP_OUT | OP_WRITES, "write 12", scsi_rw_check, scsi_write_work,
		{ 0xaa, 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0xae, -1, OP_OUT | OP_HALF | OP_WRITES, "write and verify 12", scsi_rw_check,
		scsi_write_verify_work,
		{ 0xae, 0x12, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0xaf, -1, OP_OUT | OP_HALF | OP_BUFFER | OP_READS, "verify 12", scsi_verify_check,
		scsi_verify_work, { 0xaf, 0x16, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f } },
	{ 0 },
};

/* Return NULL if not supported; *known: the opcode is, with another service action. */
static const struct scsi_op *find_op(const uint8_t *cdb, bool *known)
{
	const struct scsi_op *op = scsi_ops;

	*known = false;
	for (; op->name; op++) {
		if (op->opcode != cdb[0])
			continue;
		*known = true;
		if (op->action < 0 || op->action == (cdb[1] & 0x1f))
			return op;
	}
	return NULL;
}

/* Find the command; check LUN, unit attentions, access, reservations and write protection. */
static uint32_t check_cmd(struct scsi_cmd *cmd)
{
	unsigned len = scsi_cdb_len(cmd->cdb[0]);
	uint32_t status = 0;
	bool known;

	cmd->op = find_op(cmd->cdb, &known);
	if (!cmd->lu && !(cmd->op && cmd->op->flags & OP_NO_LUN))
		return SCSI_NO_LUN;
	if (cmd->lu && !(cmd->op && cmd->op->flags & OP_NO_UA))
		status = scsi_ua_take(cmd->nexus, cmd->lu);
	if (status)
		return status;
	if (!cmd->op)
		return known ? SCSI_BAD_CDB : SCSI_BAD_OPCODE;
	if (!(cmd->op->flags & OP_ALWAYS))
		status = scsi_access_status(cmd->nexus);
	if (status)
		return status;
	if (cmd->lu && reservations_active(cmd->lu->reservations))
		status = scsi_pr_check(cmd);
	if (status)
		return status;
	/* ACA is not supported, so neither NACA nor the ACA task attribute is valid. */
	if (cmd->cdb_len < len || cmd->cdb[len - 1] & 4 || cmd->attr == SCSI_ACA)
		return SCSI_BAD_CDB;
	if (cmd->op->flags & OP_WRITES && cmd->lu->disk->ro)
		return SCSI_WRITE_PROTECT;
	return 0;
}

/* If the initiator sends more than the CDB says, the excess is discarded. If it sends less, whole
 * blocks are written and the residual reports the rest; commands other than writes are refused. */
static uint32_t check_out(struct scsi_cmd *cmd)
{
	uint32_t room = cmd->base.conn->target->opt.buffer;

	cmd->base.data_len = cmd->transfer_len;
	if (cmd->op->flags & OP_WHOLE)
		return cmd->transfer_len > cmd->expected_out ||
				       cmd->transfer_len >
					       (cmd->op->flags & OP_HALF ? room / 2 : room)
			       ? SCSI_BAD_CDB
			       : 0;
	if (cmd->transfer_len <= cmd->expected_out)
		return 0;
	if (!(cmd->op->flags & OP_WRITES) || cmd->expected_out & (cmd->lu->bdev->lim.block - 1))
		return SCSI_BAD_IU;
	cmd->base.data_len = cmd->expected_out;
	return 0;
}

uint32_t scsi_decode(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);
	uint32_t status;

	base->disk = cmd->lu ? cmd->lu->disk : cmd->nexus->target->lu[0].disk;
	status = check_cmd(cmd);
	if (!status && cmd->op->check)
		status = cmd->op->check(cmd);
	if (status)
		return status;
	base->flags = cmd->op->flags & (OP_OUT | OP_IN | OP_HALF);
	if (cmd->op->flags & OP_ANSWER) {
		base->data_len = cmd->transfer_len ? SCSI_ANSWER : 0;
	} else if (cmd->op->flags & OP_BUFFER && cmd->len && !cmd->transfer_len) {
		base->flags = OP_IN; /* no data is sent: work() sets data_len to 0 */
		base->data_len = cmd->lu->bdev->lim.block;
	} else if (cmd->op->flags & OP_IN) {
		base->data_len =
			cmd->transfer_len < cmd->expected_in ? cmd->transfer_len : cmd->expected_in;
	} else if (cmd->op->flags & OP_OUT) {
		status = check_out(cmd);
	}
	if (status) {
		base->data_len = 0;
		return status;
	}
	return 0;
}

void scsi_work(struct target_cmd *base)
{
	struct scsi_cmd *cmd = scsi_cmd_of(base);

	if (cmd->aborted)
		scsi_aborted(cmd);
	else if (cmd->op->flags & OP_ANSWER && !base->data_len)
		scsi_worked(cmd, 0);
	else
		cmd->op->work(cmd);
}

void scsi_answer(struct scsi_cmd *cmd, uint32_t len)
{
	struct target_cmd *base = &cmd->base;

	if (cmd->transfer_len > len)
		cmd->transfer_len = len;
	base->data_len =
		cmd->transfer_len < cmd->expected_in ? cmd->transfer_len : cmd->expected_in;
	base->piece = base->data_len;
	scsi_worked(cmd, 0);
}
