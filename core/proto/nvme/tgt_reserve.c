/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations as NVMe has them (Base 2.1, 7.5 to 7.8 and 8.1.25): commands, notifications, and
 * which commands conflict. The disk's reservations (reservation.h) have the rules. A registrant is
 * a host, by its host identifier, whatever controllers it has. */
#include "tgt.h"
#include <mbedtls/sha256.h>
#include <pthread.h>

static uint32_t cdw(le32 value)
{
	return get_le32(value);
}

static struct reservation_member *member_of(const struct nvme_tgt_cmd *cmd)
{
	return &nvme_tgt_queue_of(cmd)->ctrl->member[cmd->ns->nsid - 1].base;
}

/* --- conflicts */

static uint32_t check_member(const struct reservation_member *member, bool writes)
{
	if (!reservations_active(member->disk))
		return NVME_OK;
	return reservation_conflicts_6(member) || reservation_conflicts(member, writes)
		       ? NVME_CONFLICT
		       : NVME_OK;
}

/* A Flush of all namespaces conflicts if that of any does. */
uint32_t nvme_tgt_reserve_check(const struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	bool all = cdw(cmd->sqe.nsid) == NVME_NSID_ALL, writes = cmd->op->flags & OP_WRITE_GROUP;
	uint32_t status = NVME_OK;

	if (!all)
		return check_member(member_of(cmd), writes);
	for (unsigned i = 0; i < ctrl->subsys->count && !status; i++)
		status = check_member(&ctrl->member[i].base, writes);
	return status;
}

/* --- Register, Acquire, Release */

static bool has_id(const struct nvme_tgt_ctrl *ctrl)
{
	static const uint8_t none[sizeof(ctrl->hostid)];

	return memcmp(ctrl->hostid, none, sizeof(none));
}

/* actions: their number. Only Register may ignore the key. */
static uint32_t check_change(struct nvme_tgt_cmd *cmd, unsigned actions)
{
	uint32_t dw10 = cdw(cmd->sqe.cdw10), status = nvme_tgt_find_ns(cmd);

	if (status)
		return status;
	if (NVME_RESERVE_ACTION(dw10) >= actions ||
		(dw10 & NVME_RESERVE_IEKEY && cmd->sqe.opcode != NVME_IO_RESERVE_REGISTER))
		return NVME_INVALID_FIELD;
	return has_id(nvme_tgt_queue_of(cmd)->ctrl) ? NVME_OK : NVME_NO_HOST_ID;
}

/* Like Linux's target, accept a request for persistence also without it, as Linux always sends one.
 * RESCAP, Reservation Report and feature 83h report whether there is any. */
uint32_t nvme_tgt_register_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t status = check_change(cmd, NVME_RESERVE_REPLACE + 1);

	*len = sizeof(struct nvme_reserve_keys);
	if (!status && NVME_RESERVE_CPTPL(cdw(cmd->sqe.cdw10)) == NVME_CPTPL_RESERVED)
		status = NVME_INVALID_FIELD;
	return status;
}

uint32_t nvme_tgt_acquire_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	*len = sizeof(struct nvme_reserve_keys);
	return check_change(cmd, NVME_RESERVE_PREEMPT_ABORT + 1);
}

uint32_t nvme_tgt_release_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	*len = sizeof(le64);
	return check_change(cmd, NVME_RESERVE_CLEAR + 1);
}

/* 0: an invalid one */
static uint8_t scsi_type(uint32_t type)
{
	static const uint8_t types[] = { [NVME_WRITE_EXCLUSIVE] = RESERVATION_WRITE_EXCLUSIVE,
		[NVME_EXCLUSIVE_ACCESS] = RESERVATION_EXCLUSIVE_ACCESS,
		[NVME_WRITE_EXCLUSIVE_REGISTRANTS] = RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS,
		[NVME_EXCLUSIVE_ACCESS_REGISTRANTS] = RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS,
		[NVME_WRITE_EXCLUSIVE_ALL] = RESERVATION_WRITE_EXCLUSIVE_ALL,
		[NVME_EXCLUSIVE_ACCESS_ALL] = RESERVATION_EXCLUSIVE_ACCESS_ALL };

	return type < sizeof(types) ? types[type] : 0;
}

static uint8_t nvme_type(uint8_t type)
{
	uint8_t found = NVME_EXCLUSIVE_ACCESS_ALL;

	while (found && scsi_type(found) != type)
		found--;
	return found;
}

static uint32_t status_of(enum reservation_result result)
{
	static const uint32_t status[] = { [RESERVATION_CONFLICT] = NVME_CONFLICT,
		[RESERVATION_BAD_TYPE] = NVME_INVALID_FIELD,
		[RESERVATION_BAD_KEY] = NVME_INVALID_FIELD,
		[RESERVATION_WRONG_TYPE] = NVME_INVALID_FIELD,
		[RESERVATION_NO_MEMORY] = NVME_INTERNAL,
		[RESERVATION_BUSY] = NVME_INTERRUPTED,
		[RESERVATION_NOT_SAVED] = NVME_INTERNAL };

	return status[result];
}

static void changed(struct target_cmd *cmd, enum reservation_result result)
{
	target_cmd_worked(cmd, status_of(result));
}

static void change(struct nvme_tgt_cmd *cmd, const struct reservation_request *req)
{
	reservation_change(member_of(cmd), req, &cmd->base, changed);
}

static uint8_t persistence_of(const struct nvme_tgt_cmd *cmd)
{
	uint32_t cptpl = NVME_RESERVE_CPTPL(cdw(cmd->sqe.cdw10));

	if (!reservations_have_file(cmd->ns->reservations))
		return RESERVATION_KEEP;
	return cptpl == NVME_CPTPL_ON    ? RESERVATION_PERSISTENT
	       : cptpl == NVME_CPTPL_OFF ? RESERVATION_VOLATILE
					 : RESERVATION_KEEP;
}

void nvme_tgt_register_work(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_reserve_keys *keys = (const void *)cmd->base.p;
	uint32_t dw10 = cdw(cmd->sqe.cdw10), action = NVME_RESERVE_ACTION(dw10);
	struct reservation_request req = {
		.action = action == NVME_RESERVE_REGISTER ? RESERVATION_ADD : RESERVATION_REPLACE,
		.persist = persistence_of(cmd),
		.ignore_key = dw10 & NVME_RESERVE_IEKEY,
		.key = get_le64(keys->crkey),
		.other = action == NVME_RESERVE_UNREGISTER ? 0 : get_le64(keys->other)
	};

	/* 0 is not a key */
	if (action != NVME_RESERVE_UNREGISTER && !req.other)
		nvme_tgt_cmd_worked(cmd, NVME_INVALID_FIELD);
	else
		change(cmd, &req);
}

void nvme_tgt_acquire_work(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_reserve_keys *keys = (const void *)cmd->base.p;
	uint32_t dw10 = cdw(cmd->sqe.cdw10), action = NVME_RESERVE_ACTION(dw10);

	change(cmd, &(struct reservation_request){ .action = action == NVME_RESERVE_ACQUIRE
								     ? RESERVATION_RESERVE
								     : RESERVATION_PREEMPT,
			    .type = scsi_type(NVME_RESERVE_TYPE(dw10)),
			    .abort = action == NVME_RESERVE_PREEMPT_ABORT,
			    .key = get_le64(keys->crkey),
			    .other = get_le64(keys->other) });
}

void nvme_tgt_release_work(struct nvme_tgt_cmd *cmd)
{
	const le64 *key = (const void *)cmd->base.p;
	uint32_t dw10 = cdw(cmd->sqe.cdw10);

	change(cmd, &(struct reservation_request){
			    .action = NVME_RESERVE_ACTION(dw10) == NVME_RESERVE_CLEAR
					      ? RESERVATION_CLEAR
					      : RESERVATION_RELEASE,
			    .type = scsi_type(NVME_RESERVE_TYPE(dw10)),
			    .key = get_le64(*key) });
}

/* On the loop of a queue. A command that waits for data from the host ends when that has arrived.
 */
bool nvme_tgt_preempted(const struct target_conn *conn, const struct bdev *bdev)
{
	const struct nvme_tgt_queue *queue = (const struct nvme_tgt_queue *)conn;
	const struct nvme_tgt_ctrl *ctrl = queue->ctrl;
	bool found = false;

	for (unsigned n = 0; ctrl && n < ctrl->subsys->count; n++)
		found |= ctrl->subsys->ns[n]->disk->bdev == bdev &&
			 __atomic_load_n(&ctrl->member[n].base.preempted, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; found && i < conn->prepared; i++) {
		struct nvme_tgt_cmd *cmd = nvme_tgt_cmd_at(queue, i);
		struct target_cmd *base = &cmd->base;

		if (base->state <= TARGET_CMD_RECEIVING || !base->disk || base->disk->bdev != bdev)
			continue;
		cmd->abandoned = NVME_PREEMPTED;
		if (!target_cmd_abort(base, NVME_PREEMPTED))
			target_cmd_stop(base);
	}
	return false;
}

/* --- Report */

/* A host has a 128-bit identifier over fabrics, so only the extended structure can have it. */
uint32_t nvme_tgt_report_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint64_t bytes = ((uint64_t)cdw(cmd->sqe.cdw10) + 1) * 4;
	uint32_t status = nvme_tgt_find_ns(cmd);

	if (status)
		return status;
	if (!(cdw(cmd->sqe.cdw11) & NVME_RESERVE_EDS))
		return NVME_HOST_ID_FORMAT;
	if (bytes > NVME_TGT_MAX_DATA)
		return NVME_INVALID_FIELD;
	*len = (uint32_t)bytes;
	return NVME_OK;
}

struct report {
	uint8_t *p;
	uint32_t room;
};

static void put(struct report *report, const void *from, uint32_t len)
{
	uint32_t part = len < report->room ? len : report->room;

	memcpy(report->p, from, part);
	report->p += part;
	report->room -= part;
}

/* A SCSI initiator port has a longer name: report its hash. */
static void put_registrant(void *context, const struct reservation_registration *reg)
{
	struct nvme_reserve_registrant row = {
		.cntlid = put_le16(NVMF_CNTLID_ANY), .rcsts = reg->holds, .rkey = put_le64(reg->key)
	};
	uint8_t digest[32] = { 0 };

	if (reg->host->protocol == RESERVATION_NVME)
		memcpy(row.hostid, reg->host->id, sizeof(row.hostid));
	else if (!mbedtls_sha256(reg->host->id, reg->host->id_len, digest, 0))
		memcpy(row.hostid, digest, sizeof(row.hostid));
	put(context, &row, sizeof(row));
}

static void skip_registrant(void *context, const struct reservation_registration *reg)
{
	(void)context;
	(void)reg;
}

/* All of it is in the first piece; the rest, if the host asks for more, is zero. */
void nvme_tgt_report_work(struct nvme_tgt_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;
	uint8_t *head = base->p;
	struct nvme_reserve_report report = { 0 };
	struct reservation_status status;
	struct report rows = { 0 };

	memset(base->p, 0, base->piece);
	if (base->at) {
		nvme_tgt_cmd_worked(cmd, NVME_OK);
		return;
	}
	if (base->piece > sizeof(report))
		rows = (struct report){ head + sizeof(report), base->piece - sizeof(report) };
	reservations_list(cmd->ns->reservations, &status,
		rows.room ? put_registrant : skip_registrant, &rows);
	report.gen = put_le32(status.generation);
	report.rtype = nvme_type(status.type);
	wire_put_le(report.regctl, 2, status.registrants);
	report.ptpls = status.persist;
	memcpy(head, &report, base->piece < sizeof(report) ? base->piece : sizeof(report));
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

/* --- notifications */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Keep the newest; hosts see by the count that others were lost. */
static void add_note(struct nvme_tgt_notes *notes, uint32_t nsid, uint8_t type)
{
	if (notes->used == NVME_TGT_NOTES) {
		notes->first = (notes->first + 1) % NVME_TGT_NOTES;
		notes->used--;
	}
	notes->note[(notes->first + notes->used++) % NVME_TGT_NOTES] =
		(struct nvme_tgt_note){ .count = ++notes->count, .nsid = nsid, .type = type };
}

/* On any thread. */
static void event(struct reservation_member *base, enum reservation_event event)
{
	static const uint8_t types[] = { [RESERVATION_PREEMPTED] = NVME_RESERVATION_PREEMPTED,
		[RESERVATION_RELEASED] = NVME_RESERVATION_RELEASED,
		[REGISTRATION_PREEMPTED] = NVME_REGISTRATION_PREEMPTED };
	struct nvme_tgt_member *member = (struct nvme_tgt_member *)base;
	struct nvme_tgt_ctrl *ctrl = member->ctrl;
	bool masked;

	pthread_mutex_lock(&lock);
	masked = member->mask & 1u << types[event];
	if (!masked)
		add_note(&ctrl->notes, member->nsid, types[event]);
	pthread_mutex_unlock(&lock);
	if (masked || __atomic_exchange_n(&ctrl->noted, true, __ATOMIC_ACQ_REL))
		return;
	ctrl->note.run = nvme_tgt_ctrl_noted;
	loop_post(ctrl->target->base.loop, &ctrl->note);
}

void nvme_tgt_notes_page(struct nvme_tgt_ctrl *ctrl, struct nvme_reserve_log *page)
{
	struct nvme_tgt_notes *notes = &ctrl->notes;
	const struct nvme_tgt_note *note;

	pthread_mutex_lock(&lock);
	note = &notes->note[notes->first];
	if (notes->used) {
		notes->shown = note->count;
		*page = (struct nvme_reserve_log){ .count = put_le64(note->count),
			.type = note->type,
			.pages = (uint8_t)(notes->used - 1),
			.nsid = put_le32(note->nsid) };
	}
	pthread_mutex_unlock(&lock);
}

bool nvme_tgt_notes_read(struct nvme_tgt_ctrl *ctrl)
{
	struct nvme_tgt_notes *notes = &ctrl->notes;
	bool left;

	pthread_mutex_lock(&lock);
	if (notes->used && notes->note[notes->first].count == notes->shown) {
		notes->first = (notes->first + 1) % NVME_TGT_NOTES;
		notes->used--;
	}
	left = notes->used;
	pthread_mutex_unlock(&lock);
	return left;
}

static uint32_t check_feature(const struct nvme_tgt_ctrl *ctrl, uint32_t nsid, bool set)
{
	bool all = set && nsid == NVME_NSID_ALL && ctrl->subsys->count;

	return all || (nsid && nsid <= ctrl->subsys->count) ? NVME_OK : NVME_INVALID_NS;
}

uint32_t nvme_tgt_notice_mask_set(struct nvme_tgt_ctrl *ctrl, uint32_t nsid, uint32_t mask)
{
	uint32_t status = check_feature(ctrl, nsid, true);

	if (!status && mask & ~NVME_RESERVE_NOTICES)
		status = NVME_INVALID_FIELD;
	if (status)
		return status;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < ctrl->subsys->count; i++)
		if (nsid == NVME_NSID_ALL || nsid == i + 1)
			ctrl->member[i].mask = (uint8_t)mask;
	pthread_mutex_unlock(&lock);
	return NVME_OK;
}

uint32_t nvme_tgt_notice_mask_get(struct nvme_tgt_ctrl *ctrl, uint32_t nsid, uint32_t *mask)
{
	uint32_t status = check_feature(ctrl, nsid, false);

	if (!status)
		*mask = ctrl->member[nsid - 1].mask;
	return status;
}

/* All namespaces or none have a file. */
static void set_next(struct target_cmd *base, enum reservation_result result)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	struct reservation_request req = { .action = RESERVATION_PERSISTENCE,
		.persist =
			cdw(cmd->sqe.cdw11) & 1 ? RESERVATION_PERSISTENT : RESERVATION_VOLATILE };

	if (result || cmd->range == cmd->ranges)
		nvme_tgt_cmd_worked(cmd, status_of(result));
	else
		reservation_change(&ctrl->member[cmd->range++].base, &req, base, set_next);
}

void nvme_tgt_persistence_set(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	uint32_t nsid = cdw(cmd->sqe.nsid), status = check_feature(ctrl, nsid, true);
	bool has_file = !status && reservations_have_file(ctrl->subsys->ns[0]->reservations);

	if (!status && !has_file && cdw(cmd->sqe.cdw11) & 1)
		status = NVME_INVALID_FIELD;
	cmd->range = nsid == NVME_NSID_ALL ? 0 : (uint16_t)(nsid - 1);
	cmd->ranges = nsid == NVME_NSID_ALL ? (uint16_t)ctrl->subsys->count : (uint16_t)nsid;
	if (status || !has_file)
		nvme_tgt_cmd_worked(cmd, status);
	else
		set_next(&cmd->base, RESERVATION_OK);
}

uint32_t nvme_tgt_persistence_get(struct nvme_tgt_ctrl *ctrl, uint32_t nsid, uint32_t *persist)
{
	uint32_t status = check_feature(ctrl, nsid, false);
	struct reservation_status now;

	if (status)
		return status;
	reservations_list(ctrl->subsys->ns[nsid - 1]->reservations, &now, skip_registrant, NULL);
	*persist = now.persist;
	return NVME_OK;
}

uint8_t nvme_tgt_rescap(const struct nvme_tgt_ns *ns)
{
	return NVME_RESCAP_TYPES | NVME_RESCAP_IEKEY |
	       (reservations_have_file(ns->reservations) ? NVME_RESCAP_PERSIST : 0);
}

/* --- membership, on the target's loop */

/* The host's name only limits how many registrations it leaves behind. */
void nvme_tgt_reserve_join(struct nvme_tgt_ctrl *ctrl)
{
	struct reservation_host *host = &ctrl->host;

	_Static_assert(sizeof(ctrl->hostid) + NVMF_NQN_MAX <= RESERVATION_ID, "too long");
	*host = (struct reservation_host){ .protocol = RESERVATION_NVME,
		.target_port = target_port_group(&ctrl->target->base, ctrl->port),
		.id_len = sizeof(ctrl->hostid),
		.name_at = sizeof(ctrl->hostid),
		.name_len = (uint16_t)strlen(ctrl->hostnqn) };
	memcpy(host->id, ctrl->hostid, sizeof(ctrl->hostid));
	memcpy(host->id + host->name_at, ctrl->hostnqn, host->name_len);
	for (unsigned i = 0; i < ctrl->subsys->count; i++) {
		ctrl->member[i] = (struct nvme_tgt_member){
			.base.host = host, .base.event = event, .ctrl = ctrl, .nsid = i + 1
		};
		reservation_member_add(ctrl->subsys->ns[i]->reservations, &ctrl->member[i].base);
	}
}

void nvme_tgt_reserve_leave(struct nvme_tgt_ctrl *ctrl)
{
	for (unsigned i = 0; i < ctrl->subsys->count; i++)
		reservation_member_remove(&ctrl->member[i].base);
}
