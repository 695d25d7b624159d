/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations as SCSI has them: PERSISTENT RESERVE IN and OUT (SPC-4 5.12), RESERVE 6 and RELEASE
 * 6. The disk's reservations (reservation.h) have the rules. A registrant is an initiator port. */
#include "tgt.h"

#define LIST_LEN  24
#define APTPL     1
#define SPEC_I_PT 8
/* REPORT CAPABILITIES: length, bits of bytes 2 and 3 */
#define CAPABILITIES 8
#define ATP_C        0x04
#define PTPL_C       0x01
#define PTPL_A       0x01
/* a TransportID of no specific protocol, and its length (SPC-4 7.6.4) */
#define NO_PROTOCOL  0xf
#define TRANSPORT_ID 24

enum pr_out { REGISTER, RESERVE, RELEASE, CLEAR, PREEMPT, PREEMPT_ABORT, REGISTER_IGNORE };

static struct reservation_member *member_of(const struct scsi_cmd *cmd)
{
	return &cmd->nexus->itl[cmd->lu->index].member;
}

/* Check the command against the unit's reservation. */
uint32_t scsi_pr_check(const struct scsi_cmd *cmd)
{
	const struct reservation_member *member = member_of(cmd);

	if (reservation_conflicts_6(member))
		return cmd->op->flags & (OP_NO_UA | OP_RELEASE) ? 0 : SCSI_CONFLICT;
	if (cmd->op->flags & OP_FREE)
		return 0;
	return reservation_conflicts(member, !(cmd->op->flags & OP_READS)) ? SCSI_CONFLICT : 0;
}

static void event(struct reservation_member *member, enum reservation_event event)
{
	static const enum scsi_ua ua[] = { [RESERVATION_PREEMPTED] = UA_PREEMPTED,
		[RESERVATION_RELEASED] = UA_RELEASED,
		[REGISTRATION_PREEMPTED] = UA_REGISTRATIONS };
	struct scsi_itl *itl = (struct scsi_itl *)member;

	__atomic_fetch_or(&itl->nexus->ua[itl->index], 1u << ua[event], __ATOMIC_RELEASE);
}

void scsi_pr_nexus_begin(struct scsi_nexus *nexus)
{
	for (unsigned i = 0; i < nexus->target->lus; i++) {
		nexus->itl[i] = (struct scsi_itl){ .member.host = &nexus->port,
			.member.event = event,
			.nexus = nexus,
			.index = (uint8_t)i };
		reservation_member_add(nexus->target->lu[i].reservations, &nexus->itl[i].member);
	}
}

void scsi_pr_nexus_end(struct scsi_nexus *nexus)
{
	for (unsigned i = 0; i < nexus->target->lus; i++)
		reservation_member_remove(&nexus->itl[i].member);
}

/* --- PERSISTENT RESERVE OUT */

static uint32_t status_of(enum reservation_result result)
{
	static const uint32_t status[] = { [RESERVATION_CONFLICT] = SCSI_CONFLICT,
		[RESERVATION_BAD_TYPE] = SCSI_BAD_CDB,
		[RESERVATION_BAD_KEY] = SCSI_BAD_LIST,
		[RESERVATION_WRONG_TYPE] = SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x04),
		[RESERVATION_NO_MEMORY] = SCSI_CHECK(KEY_ILLEGAL, 0x55, 0x04),
		[RESERVATION_BUSY] = SCSI_BUSY,
		[RESERVATION_NOT_SAVED] = SCSI_INTERNAL };

	return status[result];
}

static void changed(struct target_cmd *cmd, enum reservation_result result)
{
	target_cmd_worked(cmd, status_of(result));
}

uint32_t scsi_pr_out_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 5, 4);
	return cmd->transfer_len == LIST_LEN ? 0 : SCSI_LIST_LENGTH;
}

void scsi_pr_out_work(struct scsi_cmd *cmd)
{
	static const enum reservation_action actions[] = { [REGISTER] = RESERVATION_REGISTER,
		[REGISTER_IGNORE] = RESERVATION_REGISTER,
		[RESERVE] = RESERVATION_RESERVE,
		[RELEASE] = RESERVATION_RELEASE,
		[CLEAR] = RESERVATION_CLEAR,
		[PREEMPT] = RESERVATION_PREEMPT,
		[PREEMPT_ABORT] = RESERVATION_PREEMPT };
	const uint8_t *p = cmd->base.p;
	unsigned action = cmd->cdb[1] & 0x1f;
	struct reservation_request req = { .action = actions[action],
		/* with the scope, which is 0 for a unit; both are ignored where nothing is reserved
		 */
		.type = cmd->cdb[2],
		.ignore_key = action == REGISTER_IGNORE,
		.abort = action == PREEMPT_ABORT,
		.persist = p[20] & APTPL ? RESERVATION_PERSISTENT : RESERVATION_VOLATILE,
		.key = wire_be(p, 8),
		.other = wire_be(p + 8, 8) };
	uint8_t refused =
		reservations_have_file(cmd->lu->reservations) ? SPEC_I_PT : SPEC_I_PT | APTPL;

	if (req.action == RESERVATION_REGISTER && p[20] & refused)
		scsi_worked(cmd, SCSI_BAD_LIST);
	else
		reservation_change(member_of(cmd), &req, &cmd->base, changed);
}

/* --- PERSISTENT RESERVE IN */

enum pr_in { READ_KEYS, READ_RESERVATION, REPORT_CAPABILITIES, READ_FULL_STATUS };

uint32_t scsi_pr_in_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 7, 2);
	return 0;
}

struct pr_list { /* entries beyond the room count in len only */
	uint8_t *p;
	uint32_t room, len;
	struct reservation_status status;
};

/* Return where an entry goes, all zero; NULL: nowhere. */
static uint8_t *add_entry(struct pr_list *list, uint32_t len)
{
	uint8_t *p = list->p;

	list->len += len;
	if (len > list->room)
		list->room = 0;
	if (!list->room)
		return NULL;
	list->p += len;
	list->room -= len;
	return memset(p, 0, len);
}

static void put_key(void *list, const struct reservation_registration *reg)
{
	uint8_t *p = add_entry(list, 8);

	if (p)
		wire_put_be(p, 8, reg->key);
}

static void put_nothing(void *list, const struct reservation_registration *reg)
{
	(void)list;
	(void)reg;
}

static void put_reservation(struct pr_list *list)
{
	uint8_t *p = list->status.type ? add_entry(list, 16) : NULL;

	if (!p)
		return;
	wire_put_be(p, 8, list->status.key);
	p[13] = list->status.type;
}

/* NVMe hosts have no TransportID: theirs is of no protocol, and ends with the host identifier. */
static void put_transport_id(uint8_t *p, const struct reservation_host *host)
{
	if (host->protocol == RESERVATION_NVME) {
		p[0] = NO_PROTOCOL;
		p += TRANSPORT_ID - host->id_len;
	}
	memcpy(p, host->id, host->id_len);
}

static void put_status(void *context, const struct reservation_registration *reg)
{
	struct pr_list *list = context;
	uint32_t len = reg->host->protocol == RESERVATION_NVME ? TRANSPORT_ID : reg->host->id_len;
	uint8_t *p = add_entry(list, 24u + len);

	if (!p)
		return;
	wire_put_be(p, 8, reg->key);
	if (reg->holds) {
		p[12] = 1;
		p[13] = list->status.type;
	}
	wire_put_be(p + 18, 2, reg->host->target_port);
	wire_put_be(p + 20, 4, len);
	put_transport_id(p + 24, reg->host);
}

static void put_capabilities(uint8_t *p, const struct reservation_status *status)
{
	/* type mask valid; all six types */
	static const uint8_t capabilities[CAPABILITIES] = { 0, 8, 0, 0x80, 0xea, 0x01 };

	memcpy(p, capabilities, sizeof(capabilities));
	p[2] = ATP_C | (status->can_persist ? PTPL_C : 0);
	p[3] |= status->persist ? PTPL_A : 0;
}

void scsi_pr_in_work(struct scsi_cmd *cmd)
{
	uint8_t *p = cmd->base.p;
	struct pr_list list = { .p = p + 8, .room = SCSI_ANSWER - 8 };
	unsigned action = cmd->cdb[1] & 0x1f;

	reservations_list(cmd->lu->reservations, &list.status,
		action == READ_KEYS          ? put_key
		: action == READ_FULL_STATUS ? put_status
					     : put_nothing,
		&list);
	if (action == REPORT_CAPABILITIES) {
		put_capabilities(p, &list.status);
		scsi_answer(cmd, CAPABILITIES);
		return;
	}
	if (action == READ_RESERVATION)
		put_reservation(&list);
	wire_put_be(p, 4, list.status.generation);
	wire_put_be(p + 4, 4, list.len);
	scsi_answer(cmd, (uint32_t)(list.p - p));
}

/* --- RESERVE 6, RELEASE 6 */

/* Third-party and extent reservations are not supported. */
uint32_t scsi_reserve_check(struct scsi_cmd *cmd)
{
	return cmd->cdb[1] & 0x11 ? SCSI_BAD_CDB : 0;
}

void scsi_reserve_work(struct scsi_cmd *cmd)
{
	scsi_worked(cmd, reservation_reserve_6(member_of(cmd)) ? 0 : SCSI_CONFLICT);
}

void scsi_release_work(struct scsi_cmd *cmd)
{
	reservation_release_6(member_of(cmd));
	scsi_worked(cmd, 0);
}
