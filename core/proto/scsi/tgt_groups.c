/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Target port groups (SPC-4, 5.16): implicit asymmetric logical unit access. The access through a
 * group of listeners is the state of their target port group, at all logical units. */
#include "tgt.h"

#define RTPG_SUPPORTED 0xcb /* transitioning, offline, unavailable, both active states */
#define RTPG_IMPLICIT  2    /* status code: the state was changed by the target */
#define RTPG_EXTENDED  0x10
#define RTPG_SECONDS   30 /* implicit transition time: hosts wait that long in state "change" */

static const struct {
	uint8_t state;
	uint32_t status;
} states[ACCESSES] = {
	[ACCESS_OPTIMIZED] = { 0x0, 0 },
	[ACCESS_NON_OPTIMIZED] = { 0x1, 0 },
	[ACCESS_INACCESSIBLE] = { 0x3, SCSI_CHECK(KEY_NOT_READY, 0x04, 0x0c) },
	[ACCESS_LOSS] = { 0xe, SCSI_CHECK(KEY_NOT_READY, 0x04, 0x12) },
	[ACCESS_CHANGE] = { 0xf, SCSI_CHECK(KEY_NOT_READY, 0x04, 0x0a) },
};

uint32_t scsi_access_status(const struct scsi_nexus *nexus)
{
	return states[target_get_access(nexus->conn->target, nexus->conn->port)].status;
}

void scsi_target_access_changed(struct scsi_target *target)
{
	for (unsigned i = 0; i < target->lus; i++)
		scsi_ua_post(&target->lu[i], UA_ACCESS);
}

/* Return whether an earlier listener has the same group. */
static bool is_listed(const struct target *target, unsigned listen)
{
	unsigned i = 0;

	while (target_port_group(target, i) != target_port_group(target, listen))
		i++;
	return i < listen;
}

static void put_group(const struct target *target, unsigned listen, uint8_t *p)
{
	uint64_t access = target_port_access(target, listen);
	uint16_t group = target_port_group(target, listen);

	memset(p, 0, 12);
	p[0] = states[access & ((1u << TARGET_ACCESS_BITS) - 1)].state;
	p[1] = RTPG_SUPPORTED;
	wire_put_be(p + 2, 2, group);
	p[5] = access >> TARGET_ACCESS_BITS ? RTPG_IMPLICIT : 0;
	p[7] = 1; /* port */
	wire_put_be(p + 10, 2, group);
}

uint32_t scsi_groups_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 6, 4);
	return cmd->cdb[1] >> 5 > 1 || cmd->transfer_len < 4 ? SCSI_BAD_CDB : 0;
}

void scsi_groups_work(struct scsi_cmd *cmd)
{
	const struct target *target = cmd->base.conn->target;
	uint8_t *p = cmd->base.p, *end = p + 4;

	if (cmd->cdb[1] >> 5) {
		wire_put_be(p + 4, 4, RTPG_EXTENDED << 24 | RTPG_SECONDS << 16);
		end += 4;
	}
	for (unsigned i = 0; !i || i < target->opt.listens; i++)
		if (!is_listed(target, i)) {
			put_group(target, i, end);
			end += 12;
		}
	wire_put_be(p, 4, (uint64_t)(end - p - 4));
	scsi_answer(cmd, (uint32_t)(end - p));
}
