/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations: PERSISTENT RESERVE IN and OUT (SPC-4 5.12), RESERVE 6 and RELEASE 6. They are kept
 * in memory, per disk: what one protocol's initiator reserves is reserved for those of the others,
 * too. A registration belongs to an initiator port and outlives its connections. A port that has a
 * connection can always register, and keeps its registration; so does the holder of the reservation
 * in any case. Other registrations are kept in limited numbers. All state is under scsi_lock; other
 * commands take it only while lu->reserved is set. */
#include "tgt.h"
#include <errno.h>
#include <stdlib.h>

/* registrations of one disk whose ports have no connection: in all, of one initiator name */
#define ABSENT      64
#define ABSENT_NAME 16
#define LIST_LEN    24
#define APTPL       1
#define SPEC_I_PT   8

enum pr_type {
	WRITE_EXCLUSIVE = 1,
	EXCLUSIVE_ACCESS = 3,
	WRITE_EXCLUSIVE_REGISTRANTS = 5,
	EXCLUSIVE_ACCESS_REGISTRANTS = 6,
	WRITE_EXCLUSIVE_ALL = 7,
	EXCLUSIVE_ACCESS_ALL = 8
};
enum pr_out { REGISTER, RESERVE, RELEASE, CLEAR, PREEMPT, PREEMPT_ABORT, REGISTER_IGNORE };

#define NO_REGISTRATIONS SCSI_CHECK(KEY_ILLEGAL, 0x55, 0x04)
#define BAD_RELEASE      SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x04)

struct scsi_registrant {
	struct scsi_registrant *next; /* registered later */
	uint64_t key;
	unsigned nexuses; /* of the port, at all units that are the disk */
	bool removed;     /* to be freed */
	uint16_t id_len, name_at, name_len;
	uint16_t target_port; /* through which it has registered */
	uint8_t id[SCSI_PORT_ID];
};

/* Each nexus at each unit that is the disk of lu. */
#define for_each_nexus(unit, nexus, lu)                                                            \
	for (const struct scsi_lu *unit = (lu)->pr->lus; unit; unit = unit->pr_next)               \
		for (struct scsi_nexus *nexus = unit->target->nexuses; nexus; nexus = nexus->next)

static bool is_valid(unsigned type)
{
	return type < 9 && 1u << type & 0x1ea;
}

static bool for_all(unsigned type)
{
	return type >= WRITE_EXCLUSIVE_ALL;
}

static bool holds(const struct scsi_lu *lu, const struct scsi_registrant *reg)
{
	return reg && lu->pr->holder && (lu->pr->holder == reg || for_all(lu->pr->type));
}

static void note_reserved(const struct scsi_lu *lu)
{
	for (struct scsi_lu *each = lu->pr->lus; each; each = each->pr_next)
		__atomic_store_n(&each->reserved, lu->pr->holder || lu->pr->spc2, __ATOMIC_RELEASE);
}

static void set_holder(struct scsi_lu *lu, struct scsi_registrant *holder, unsigned type)
{
	lu->pr->holder = holder;
	lu->pr->type = (uint8_t)type;
	note_reserved(lu);
}

static void post_others(
	const struct scsi_lu *lu, const struct scsi_registrant *but, enum scsi_ua ua)
{
	for_each_nexus(unit, n, lu)
	{
		const struct scsi_registrant *reg = n->registrant[unit->index];

		if (reg && reg != but)
			__atomic_fetch_or(&n->ua[unit->index], 1u << ua, __ATOMIC_RELEASE);
	}
}

/* Check the command against the unit's reservation. */
uint32_t scsi_pr_check(const struct scsi_cmd *cmd)
{
	struct scsi_lu *lu = cmd->lu;
	const struct scsi_registrant *own;
	uint32_t status = 0;

	pthread_mutex_lock(&scsi_lock);
	own = cmd->nexus->registrant[lu->index];
	if (lu->pr->spc2) {
		if (!scsi_has_id(cmd->nexus, lu->pr->spc2->id, lu->pr->spc2->id_len) &&
			!(cmd->op->flags & (OP_NO_UA | OP_RELEASE)))
			status = SCSI_CONFLICT;
	} else if (lu->pr->holder && !holds(lu, own) && !(cmd->op->flags & OP_FREE) &&
		   !(own && lu->pr->type >= WRITE_EXCLUSIVE_REGISTRANTS)) {
		bool exclusive = lu->pr->type == EXCLUSIVE_ACCESS ||
				 lu->pr->type == EXCLUSIVE_ACCESS_REGISTRANTS ||
				 lu->pr->type == EXCLUSIVE_ACCESS_ALL;

		if (exclusive || !(cmd->op->flags & OP_READS))
			status = SCSI_CONFLICT;
	}
	pthread_mutex_unlock(&scsi_lock);
	return status;
}

/* --- PERSISTENT RESERVE OUT; under the lock */

/* Free the registrations that are marked as removed. */
static void free_removed(struct scsi_lu *lu)
{
	struct scsi_pr *pr = lu->pr;
	struct scsi_registrant **at = &pr->registrants, *reg;
	bool lost = pr->holder && pr->holder->removed;

	for_each_nexus(unit, n, lu)
	{
		if (n->registrant[unit->index] && n->registrant[unit->index]->removed)
			n->registrant[unit->index] = NULL;
	}
	while ((reg = *at)) {
		if (!reg->removed) {
			at = &reg->next;
			continue;
		}
		*at = reg->next;
		free(reg);
	}
	if (lost) /* with an all-registrants type every registrant is a holder */
		set_holder(lu, for_all(pr->type) ? pr->registrants : NULL, pr->type);
}

static void remove_registrant(struct scsi_lu *lu, struct scsi_registrant *reg)
{
	reg->removed = true;
	free_removed(lu);
}

static void remove_registrants(struct scsi_lu *lu)
{
	for (struct scsi_registrant *reg = lu->pr->registrants; reg; reg = reg->next)
		reg->removed = true;
	free_removed(lu);
}

/* Return whether the port has no connection and belongs to that initiator (NULL: any). */
static bool is_absent(const struct scsi_registrant *reg, const struct scsi_nexus *nexus)
{
	return !reg->nexuses &&
	       (!nexus || (reg->name_len == nexus->name_len &&
				  !memcmp(reg->id + reg->name_at, nexus->id + nexus->name_at,
					  reg->name_len)));
}

/* Remove the oldest registrations of absent ports beyond `most`, but not the holder's. */
static void limit_absent(struct scsi_lu *lu, const struct scsi_nexus *nexus, unsigned most)
{
	unsigned count = 0;

	for (const struct scsi_registrant *reg = lu->pr->registrants; reg; reg = reg->next)
		count += is_absent(reg, nexus);
	if (count <= most)
		return;
	for (struct scsi_registrant *reg = lu->pr->registrants; reg && count > most;
		reg = reg->next)
		if (is_absent(reg, nexus) && reg != lu->pr->holder) {
			reg->removed = true;
			count--;
		}
	free_removed(lu);
}

static uint32_t add_registrant(struct scsi_lu *lu, const struct scsi_nexus *nexus, uint64_t key)
{
	struct scsi_registrant *reg = malloc(sizeof(*reg)), **end = &lu->pr->registrants;

	if (!reg)
		return NO_REGISTRATIONS;
	limit_absent(lu, nexus, ABSENT_NAME);
	limit_absent(lu, NULL, ABSENT);
	*reg = (struct scsi_registrant){ .key = key,
		.id_len = nexus->id_len,
		.name_at = nexus->name_at,
		.name_len = nexus->name_len,
		.target_port = nexus->group };
	memcpy(reg->id, nexus->id, sizeof(reg->id));
	while (*end)
		end = &(*end)->next;
	*end = reg;
	for_each_nexus(unit, n, lu)
	{
		if (!scsi_same_port(n, nexus))
			continue;
		n->registrant[unit->index] = reg;
		reg->nexuses++;
	}
	return 0;
}

void scsi_pr_nexus_begin(struct scsi_nexus *nexus)
{
	for (unsigned i = 0; i < nexus->target->lus; i++) {
		struct scsi_registrant *reg = nexus->target->lu[i].pr->registrants;

		while (reg && !scsi_has_id(nexus, reg->id, reg->id_len))
			reg = reg->next;
		nexus->registrant[i] = reg;
		if (reg)
			reg->nexuses++;
	}
}

void scsi_pr_nexus_end(struct scsi_nexus *nexus)
{
	for (unsigned i = 0; i < nexus->target->lus; i++) {
		scsi_reserve_end(&nexus->target->lu[i], nexus);
		if (nexus->registrant[i])
			nexus->registrant[i]->nexuses--;
	}
}

static void unregister(struct scsi_lu *lu, struct scsi_registrant *reg)
{
	if (lu->pr->holder == reg && (lu->pr->type == WRITE_EXCLUSIVE_REGISTRANTS ||
					     lu->pr->type == EXCLUSIVE_ACCESS_REGISTRANTS))
		post_others(lu, reg, UA_RELEASED);
	remove_registrant(lu, reg);
}

static uint32_t do_register(struct scsi_cmd *cmd, struct scsi_registrant *own, uint64_t key,
	uint64_t new_key, bool ignore)
{
	uint32_t status = 0;

	if (!ignore && key != (own ? own->key : 0))
		return SCSI_CONFLICT;
	if (!own && new_key)
		status = add_registrant(cmd->lu, cmd->nexus, new_key);
	else if (own && new_key)
		own->key = new_key;
	else if (own)
		unregister(cmd->lu, own);
	cmd->lu->pr->generation += !status;
	return status;
}

static uint32_t do_reserve(struct scsi_lu *lu, struct scsi_registrant *own, unsigned type)
{
	if (!is_valid(type))
		return SCSI_BAD_CDB;
	if (lu->pr->holder)
		return holds(lu, own) && lu->pr->type == type ? 0 : SCSI_CONFLICT;
	set_holder(lu, own, type);
	return 0;
}

static uint32_t do_release(struct scsi_lu *lu, struct scsi_registrant *own, unsigned type)
{
	if (!holds(lu, own))
		return 0;
	if (lu->pr->type != type)
		return BAD_RELEASE;
	if (type >= WRITE_EXCLUSIVE_REGISTRANTS)
		post_others(lu, own, UA_RELEASED);
	set_holder(lu, NULL, 0);
	return 0;
}

static void do_clear(struct scsi_lu *lu, const struct scsi_registrant *own)
{
	post_others(lu, own, UA_PREEMPTED);
	set_holder(lu, NULL, 0);
	remove_registrants(lu);
	lu->pr->generation++;
}

/* Remove all registrations with that key (0: any key) except `own`; return their number. */
static unsigned preempt_keys(
	struct scsi_lu *lu, const struct scsi_registrant *own, uint64_t key, bool abort)
{
	unsigned count = 0;

	for (struct scsi_registrant *reg = lu->pr->registrants; reg; reg = reg->next) {
		reg->removed = reg != own && (!key || reg->key == key);
		count += reg->removed;
	}
	for_each_nexus(unit, n, lu)
	{
		const struct scsi_registrant *reg = n->registrant[unit->index];
		unsigned i = unit->index;

		if (!reg || !reg->removed)
			continue;
		__atomic_fetch_or(&n->ua[i], 1u << UA_REGISTRATIONS, __ATOMIC_RELEASE);
		if (abort)
			__atomic_fetch_or(&n->preempted, 1u << i, __ATOMIC_RELEASE);
	}
	free_removed(lu);
	return count;
}

/* SPC-4 5.12.11.4: take over the reservation, or only remove registrations. */
static uint32_t do_preempt(
	struct scsi_lu *lu, struct scsi_registrant *own, uint64_t key, unsigned type, bool abort)
{
	bool all = lu->pr->holder && for_all(lu->pr->type);
	bool preempts_holder = all ? !key : lu->pr->holder && lu->pr->holder->key == key;
	unsigned was = lu->pr->type, count;

	if (!key && !all)
		return SCSI_BAD_LIST;
	if (preempts_holder && !is_valid(type))
		return SCSI_BAD_CDB;
	if (preempts_holder)
		set_holder(lu, own, type);
	count = preempt_keys(lu, own, key, abort);
	if (!preempts_holder && !count && own->key != key)
		return SCSI_CONFLICT;
	if (!preempts_holder && own->key == key &&
		!holds(lu, own)) { /* its own registration, by its key */
		remove_registrant(lu, own);
	} else if (preempts_holder && was != type) {
		post_others(lu, own, UA_RELEASED);
	}
	lu->pr->generation++;
	return 0;
}

uint32_t scsi_pr_out_check(struct scsi_cmd *cmd)
{
	cmd->transfer_len = scsi_be(cmd, 5, 4);
	return cmd->transfer_len == LIST_LEN ? 0 : SCSI_LIST_LENGTH;
}

void scsi_pr_out_work(struct scsi_cmd *cmd)
{
	struct scsi_lu *lu = cmd->lu;
	const uint8_t *p = cmd->base.p;
	uint64_t key = wire_be(p, 8), other = wire_be(p + 8, 8);
	/* with the scope, which is 0 for a unit; both are ignored where nothing is reserved */
	unsigned action = cmd->cdb[1] & 0x1f, type = cmd->cdb[2];
	bool registers = action == REGISTER || action == REGISTER_IGNORE, fence = false;
	struct scsi_registrant *own;
	uint32_t status = 0;

	pthread_mutex_lock(&scsi_lock);
	own = cmd->nexus->registrant[lu->index];
	if (lu->pr->spc2)
		status = SCSI_CONFLICT;
	else if (registers && p[20] & (SPEC_I_PT | APTPL))
		status = SCSI_BAD_LIST;
	else if (!registers && (!own || own->key != key))
		status = SCSI_CONFLICT;
	else if (registers)
		status = do_register(cmd, own, key, other, action == REGISTER_IGNORE);
	else if (action == RESERVE)
		status = do_reserve(lu, own, type);
	else if (action == RELEASE)
		status = do_release(lu, own, type);
	else if (action == CLEAR)
		do_clear(lu, own);
	else if (action == PREEMPT_ABORT && (cmd->nexus->preempting || lu->pr->preempting))
		status = SCSI_BUSY;
	else
		status = do_preempt(lu, own, other, type, action == PREEMPT_ABORT);
	fence = !status && action == PREEMPT_ABORT;
	lu->pr->preempting |= fence;
	pthread_mutex_unlock(&scsi_lock);
	if (fence)
		scsi_preempt_abort(cmd);
	else
		scsi_worked(cmd, status);
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

static void put_keys(const struct scsi_lu *lu, struct pr_list *list)
{
	for (const struct scsi_registrant *reg = lu->pr->registrants; reg; reg = reg->next) {
		uint8_t *p = add_entry(list, 8);

		if (p)
			wire_put_be(p, 8, reg->key);
	}
}

static void put_reservation(const struct scsi_lu *lu, struct pr_list *list)
{
	uint8_t *p = lu->pr->holder ? add_entry(list, 16) : NULL;

	if (!p)
		return;
	wire_put_be(p, 8, for_all(lu->pr->type) ? 0 : lu->pr->holder->key);
	p[13] = lu->pr->type;
}

static void put_status(const struct scsi_lu *lu, struct pr_list *list)
{
	for (const struct scsi_registrant *reg = lu->pr->registrants; reg; reg = reg->next) {
		uint8_t *p = add_entry(list, 24u + reg->id_len);

		if (!p)
			continue;
		wire_put_be(p, 8, reg->key);
		if (holds(lu, reg)) {
			p[12] = 1;
			p[13] = lu->pr->type;
		}
		wire_put_be(p + 18, 2, reg->target_port);
		wire_put_be(p + 20, 4, reg->id_len);
		memcpy(p + 24, reg->id, reg->id_len);
	}
}

void scsi_pr_in_work(struct scsi_cmd *cmd)
{
	/* ATP_C; type mask valid; all six types */
	static const uint8_t capabilities[8] = { 0, 8, 0x04, 0x80, 0xea, 0x01 };
	struct scsi_lu *lu = cmd->lu;
	uint8_t *p = cmd->base.p;
	struct pr_list list = { .p = p + 8, .room = SCSI_ANSWER - 8 };

	if ((cmd->cdb[1] & 0x1f) == REPORT_CAPABILITIES) {
		memcpy(p, capabilities, sizeof(capabilities));
		scsi_answer(cmd, sizeof(capabilities));
		return;
	}
	pthread_mutex_lock(&scsi_lock);
	wire_put_be(p, 4, lu->pr->generation);
	if ((cmd->cdb[1] & 0x1f) == READ_KEYS)
		put_keys(lu, &list);
	else if ((cmd->cdb[1] & 0x1f) == READ_RESERVATION)
		put_reservation(lu, &list);
	else
		put_status(lu, &list);
	pthread_mutex_unlock(&scsi_lock);
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
	struct scsi_lu *lu = cmd->lu;
	uint32_t status = 0;

	pthread_mutex_lock(&scsi_lock);
	/* An earlier session of the port, which has not ended yet, may hold it. */
	if (lu->pr->registrants || (lu->pr->spc2 && !scsi_has_id(cmd->nexus, lu->pr->spc2->id,
							    lu->pr->spc2->id_len))) {
		status = SCSI_CONFLICT;
	} else {
		lu->pr->spc2 = cmd->nexus;
		note_reserved(lu);
	}
	pthread_mutex_unlock(&scsi_lock);
	scsi_worked(cmd, status);
}

void scsi_release_work(struct scsi_cmd *cmd)
{
	struct scsi_lu *lu = cmd->lu;

	pthread_mutex_lock(&scsi_lock);
	if (lu->pr->spc2 && scsi_has_id(cmd->nexus, lu->pr->spc2->id, lu->pr->spc2->id_len)) {
		lu->pr->spc2 = NULL;
		note_reserved(lu);
	}
	pthread_mutex_unlock(&scsi_lock);
	scsi_worked(cmd, 0);
}

void scsi_reserve_end(struct scsi_lu *lu, const struct scsi_nexus *nexus)
{
	if (lu->pr->spc2 && (!nexus || lu->pr->spc2 == nexus)) {
		lu->pr->spc2 = NULL;
		note_reserved(lu);
	}
}

/* --- disks */

static struct scsi_pr *prs; /* under scsi_lock */

int scsi_pr_join(struct scsi_lu *lu, struct diag *diag)
{
	struct scsi_pr *pr;

	pthread_mutex_lock(&scsi_lock);
	pr = prs;
	while (pr && pr->bdev != lu->bdev)
		pr = pr->next;
	if (!pr && (pr = calloc(1, sizeof(*pr)))) {
		pr->bdev = lu->bdev;
		pr->next = prs;
		prs = pr;
	}
	if (pr) {
		lu->pr = pr;
		lu->pr_next = pr->lus;
		pr->lus = lu;
		note_reserved(lu);
	}
	pthread_mutex_unlock(&scsi_lock);
	return pr ? 0 : diag_sys(diag, ENOMEM, "reservations");
}

/* The last unit frees the reservations. */
void scsi_pr_leave(struct scsi_lu *lu)
{
	struct scsi_pr *pr = lu->pr, **at = &prs;
	struct scsi_lu **link = &pr->lus;

	pthread_mutex_lock(&scsi_lock);
	if (pr->lus == lu && !lu->pr_next) {
		set_holder(lu, NULL, 0);
		remove_registrants(lu);
		while (*at != pr)
			at = &(*at)->next;
		*at = pr->next;
		free(pr);
	} else {
		while (*link != lu)
			link = &(*link)->pr_next;
		*link = lu->pr_next;
	}
	pthread_mutex_unlock(&scsi_lock);
}
