/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations of disks, for all protocols. All state is under one lock; commands other than those
 * that change reservations take it only while one is held. */
#include "reservation.h"
#include "frame.h"
#include <stdlib.h>

/* registrations of one disk whose hosts have no connection: in all, of one name */
#define ABSENT      64
#define ABSENT_NAME 16

struct reservation_registrant {
	struct reservation_registrant *next; /* registered later */
	uint64_t key;
	unsigned members; /* of the host */
	bool removed;     /* to be freed */
	struct reservation_host host;
};

pthread_mutex_t reservation_lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservations *all;

#define for_each_member(member, disk)                                                              \
	for (struct reservation_member *member = (disk)->members; member; member = member->next)

static bool is_valid(unsigned type)
{
	return type < 9 && 1u << type & 0x1ea;
}

static bool for_all(unsigned type)
{
	return type >= RESERVATION_WRITE_EXCLUSIVE_ALL;
}

static bool holds(const struct reservations *disk, const struct reservation_registrant *reg)
{
	return reg && disk->holder && (disk->holder == reg || for_all(disk->type));
}

static void note_reserved(struct reservations *disk)
{
	__atomic_store_n(&disk->reserved, disk->holder || disk->spc2, __ATOMIC_RELEASE);
}

static void set_holder(
	struct reservations *disk, struct reservation_registrant *holder, unsigned type)
{
	disk->holder = holder;
	disk->type = (uint8_t)type;
	note_reserved(disk);
}

static void notify_others(struct reservations *disk, const struct reservation_registrant *but,
	enum reservation_event event)
{
	for_each_member(member, disk)
	{
		if (member->registrant && member->registrant != but)
			member->event(member, event);
	}
}

bool reservation_conflicts(const struct reservation_member *member, bool writes)
{
	const struct reservations *disk = member->disk;
	const struct reservation_registrant *own;
	bool exclusive, conflicts;

	pthread_mutex_lock(&reservation_lock);
	own = member->registrant;
	exclusive = disk->type == RESERVATION_EXCLUSIVE_ACCESS ||
		    disk->type == RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS ||
		    disk->type == RESERVATION_EXCLUSIVE_ACCESS_ALL;
	conflicts = disk->holder && !holds(disk, own) && (writes || exclusive) &&
		    !(own && disk->type >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS);
	pthread_mutex_unlock(&reservation_lock);
	return conflicts;
}

/* An earlier connection of the host, which has not ended yet, may hold it. */
static bool conflicts_6(const struct reservation_member *member)
{
	const struct reservation_member *spc2 = member->disk->spc2;

	return spc2 && !reservation_same_host(spc2->host, member->host);
}

bool reservation_conflicts_6(const struct reservation_member *member)
{
	bool conflicts;

	pthread_mutex_lock(&reservation_lock);
	conflicts = conflicts_6(member);
	pthread_mutex_unlock(&reservation_lock);
	return conflicts;
}

/* --- changes, under the lock */

/* Free the registrations that are marked as removed. */
static void free_removed(struct reservations *disk)
{
	struct reservation_registrant **at = &disk->registrants, *reg;
	bool lost = disk->holder && disk->holder->removed;

	for_each_member(member, disk)
	{
		if (member->registrant && member->registrant->removed)
			member->registrant = NULL;
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
		set_holder(disk, for_all(disk->type) ? disk->registrants : NULL, disk->type);
}

static void remove_registrant(struct reservations *disk, struct reservation_registrant *reg)
{
	reg->removed = true;
	free_removed(disk);
}

static void remove_registrants(struct reservations *disk)
{
	for (struct reservation_registrant *reg = disk->registrants; reg; reg = reg->next)
		reg->removed = true;
	free_removed(disk);
}

/* Return whether the host has no connection and that name (NULL: any). */
static bool is_absent(const struct reservation_registrant *reg, const struct reservation_host *name)
{
	return !reg->members &&
	       (!name || (reg->host.name_len == name->name_len &&
				 !memcmp(reg->host.id + reg->host.name_at, name->id + name->name_at,
					 name->name_len)));
}

/* Remove the oldest registrations of absent hosts beyond `most`, but not the holder's. */
static void limit_absent(
	struct reservations *disk, const struct reservation_host *name, unsigned most)
{
	unsigned count = 0;

	for (const struct reservation_registrant *reg = disk->registrants; reg; reg = reg->next)
		count += is_absent(reg, name);
	if (count <= most)
		return;
	for (struct reservation_registrant *reg = disk->registrants; reg && count > most;
		reg = reg->next)
		if (is_absent(reg, name) && reg != disk->holder) {
			reg->removed = true;
			count--;
		}
	free_removed(disk);
}

static enum reservation_result add_registrant(
	struct reservations *disk, const struct reservation_host *host, uint64_t key)
{
	struct reservation_registrant *reg = malloc(sizeof(*reg)), **end = &disk->registrants;

	if (!reg)
		return RESERVATION_NO_MEMORY;
	limit_absent(disk, host, ABSENT_NAME);
	limit_absent(disk, NULL, ABSENT);
	*reg = (struct reservation_registrant){ .key = key, .host = *host };
	while (*end)
		end = &(*end)->next;
	*end = reg;
	for_each_member(member, disk)
	{
		if (!reservation_same_host(member->host, host))
			continue;
		member->registrant = reg;
		reg->members++;
	}
	return RESERVATION_OK;
}

static void unregister(struct reservations *disk, struct reservation_registrant *reg)
{
	if (disk->holder == reg && (disk->type == RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS ||
					   disk->type == RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS))
		notify_others(disk, reg, RESERVATION_RELEASED);
	remove_registrant(disk, reg);
}

static bool may_register(
	const struct reservation_registrant *own, const struct reservation_request *req)
{
	if (req->action == RESERVATION_ADD)
		return !own || own->key == req->other;
	if (req->action == RESERVATION_REPLACE && !own)
		return false;
	return req->ignore_key || req->key == (own ? own->key : 0);
}

static enum reservation_result do_register(
	struct reservation_member *member, const struct reservation_request *req)
{
	struct reservations *disk = member->disk;
	struct reservation_registrant *own = member->registrant;
	enum reservation_result result = RESERVATION_OK;

	if (!may_register(own, req))
		return RESERVATION_CONFLICT;
	if (!own && req->other)
		result = add_registrant(disk, member->host, req->other);
	else if (own && req->other)
		own->key = req->other;
	else if (own)
		unregister(disk, own);
	disk->generation += !result;
	return result;
}

static enum reservation_result do_reserve(
	struct reservations *disk, struct reservation_registrant *own, unsigned type)
{
	if (!is_valid(type))
		return RESERVATION_BAD_TYPE;
	if (disk->holder)
		return holds(disk, own) && disk->type == type ? RESERVATION_OK
							      : RESERVATION_CONFLICT;
	set_holder(disk, own, type);
	return RESERVATION_OK;
}

static enum reservation_result do_release(
	struct reservations *disk, const struct reservation_registrant *own, unsigned type)
{
	if (!holds(disk, own))
		return RESERVATION_OK;
	if (disk->type != type)
		return RESERVATION_WRONG_TYPE;
	if (type >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS)
		notify_others(disk, own, RESERVATION_RELEASED);
	set_holder(disk, NULL, 0);
	return RESERVATION_OK;
}

static enum reservation_result do_clear(
	struct reservations *disk, const struct reservation_registrant *own)
{
	notify_others(disk, own, RESERVATION_PREEMPTED);
	set_holder(disk, NULL, 0);
	remove_registrants(disk);
	disk->generation++;
	return RESERVATION_OK;
}

/* Remove all registrations with that key (0: any key) except `own`; return their number. */
static unsigned preempt_keys(struct reservations *disk, const struct reservation_registrant *own,
	uint64_t key, bool abort)
{
	unsigned count = 0;

	for (struct reservation_registrant *reg = disk->registrants; reg; reg = reg->next) {
		reg->removed = reg != own && (!key || reg->key == key);
		count += reg->removed;
	}
	for_each_member(member, disk)
	{
		if (!member->registrant || !member->registrant->removed)
			continue;
		member->event(member, REGISTRATION_PREEMPTED);
		if (abort)
			__atomic_store_n(&member->preempted, true, __ATOMIC_RELEASE);
	}
	free_removed(disk);
	return count;
}

/* SPC-4 5.12.11.4: take over the reservation, or only remove registrations. */
static enum reservation_result do_preempt(struct reservations *disk,
	struct reservation_registrant *own, const struct reservation_request *req)
{
	bool shared = disk->holder && for_all(disk->type);
	bool preempts_holder =
		shared ? !req->other : disk->holder && disk->holder->key == req->other;
	unsigned before = disk->type, count;

	if (req->abort && disk->preempting)
		return RESERVATION_BUSY;
	if (!req->other && !shared)
		return RESERVATION_BAD_KEY;
	if (preempts_holder && !is_valid(req->type))
		return RESERVATION_BAD_TYPE;
	if (preempts_holder)
		set_holder(disk, own, req->type);
	count = preempt_keys(disk, own, req->other, req->abort);
	if (!preempts_holder && !count && own->key != req->other)
		return RESERVATION_CONFLICT;
	if (!preempts_holder && own->key == req->other && !holds(disk, own))
		remove_registrant(disk, own);
	else if (preempts_holder && before != req->type)
		notify_others(disk, own, RESERVATION_RELEASED);
	disk->generation++;
	disk->preempting |= req->abort;
	return RESERVATION_OK;
}

static enum reservation_result change(
	struct reservation_member *member, const struct reservation_request *req)
{
	struct reservations *disk = member->disk;
	struct reservation_registrant *own = member->registrant;

	if (disk->spc2)
		return RESERVATION_CONFLICT;
	if (req->action <= RESERVATION_REPLACE)
		return do_register(member, req);
	if (!own || own->key != req->key)
		return RESERVATION_CONFLICT;
	switch (req->action) {
	case RESERVATION_RESERVE:
		return do_reserve(disk, own, req->type);
	case RESERVATION_RELEASE:
		return do_release(disk, own, req->type);
	case RESERVATION_CLEAR:
		return do_clear(disk, own);
	default:
		return do_preempt(disk, own, req);
	}
}

enum reservation_result reservation_change(
	struct reservation_member *member, const struct reservation_request *req)
{
	enum reservation_result result;

	pthread_mutex_lock(&reservation_lock);
	result = change(member, req);
	pthread_mutex_unlock(&reservation_lock);
	return result;
}

/* --- a fence passes all targets that serve the disk, and aborts the commands of preempted hosts */

static bool abort_there(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct reservations *disk = container_of(fence, struct reservations, fence);
	const struct target_proto *proto = conn->target->proto;

	return proto->preempted && proto->preempted(conn, disk->bdev);
}

static void pass_next(struct reservations *disk)
{
	struct target_cmd *cmd = disk->preempter;
	void (*then)(struct target_cmd *) = disk->then;

	if (target_fence_next(disk->bdev, &disk->passed, &disk->fence))
		return;
	pthread_mutex_lock(&reservation_lock);
	for_each_member(member, disk) __atomic_store_n(&member->preempted, false, __ATOMIC_RELEASE);
	disk->preempting = false;
	pthread_mutex_unlock(&reservation_lock);
	then(cmd);
}

static void passed(struct target_fence *fence)
{
	pass_next(container_of(fence, struct reservations, fence));
}

void reservation_abort(
	struct reservations *disk, struct target_cmd *cmd, void (*then)(struct target_cmd *))
{
	disk->preempter = cmd;
	disk->then = then;
	disk->passed = 0;
	disk->fence = (struct target_fence){
		.match = abort_there, .done = passed, .home = cmd->conn->loop
	};
	pass_next(disk);
}

/* --- RESERVE 6 */

bool reservation_reserve_6(struct reservation_member *member)
{
	struct reservations *disk = member->disk;
	bool free;

	pthread_mutex_lock(&reservation_lock);
	free = !disk->registrants && !conflicts_6(member);
	if (free) {
		disk->spc2 = member;
		note_reserved(disk);
	}
	pthread_mutex_unlock(&reservation_lock);
	return free;
}

void reservation_release_6(struct reservation_member *member)
{
	pthread_mutex_lock(&reservation_lock);
	if (!conflicts_6(member)) {
		member->disk->spc2 = NULL;
		note_reserved(member->disk);
	}
	pthread_mutex_unlock(&reservation_lock);
}

void reservation_reset_6(struct reservations *disk)
{
	pthread_mutex_lock(&reservation_lock);
	disk->spc2 = NULL;
	note_reserved(disk);
	pthread_mutex_unlock(&reservation_lock);
}

/* --- reports */

void reservations_list(struct reservations *disk, struct reservation_status *status,
	void (*each)(void *, const struct reservation_registration *), void *context)
{
	*status = (struct reservation_status){ 0 };
	pthread_mutex_lock(&reservation_lock);
	status->generation = disk->generation;
	for (const struct reservation_registrant *reg = disk->registrants; reg; reg = reg->next)
		status->registrants++;
	if (disk->holder) {
		status->type = disk->type;
		status->key = for_all(disk->type) ? 0 : disk->holder->key;
	}
	for (const struct reservation_registrant *reg = disk->registrants; reg; reg = reg->next)
		each(context,
			&(struct reservation_registration){
				.host = &reg->host, .key = reg->key, .holds = holds(disk, reg) });
	pthread_mutex_unlock(&reservation_lock);
}

/* --- members and disks */

void reservation_member_add(struct reservations *disk, struct reservation_member *member)
{
	struct reservation_registrant *reg;

	pthread_mutex_lock(&reservation_lock);
	reg = disk->registrants;
	while (reg && !reservation_same_host(&reg->host, member->host))
		reg = reg->next;
	member->registrant = reg;
	if (reg)
		reg->members++;
	member->disk = disk;
	member->link = &disk->members;
	member->next = disk->members;
	if (member->next)
		member->next->link = &member->next;
	disk->members = member;
	pthread_mutex_unlock(&reservation_lock);
}

void reservation_member_remove(struct reservation_member *member)
{
	if (!member->disk)
		return;
	pthread_mutex_lock(&reservation_lock);
	if (member->disk->spc2 == member) {
		member->disk->spc2 = NULL;
		note_reserved(member->disk);
	}
	if (member->registrant)
		member->registrant->members--;
	*member->link = member->next;
	if (member->next)
		member->next->link = member->link;
	member->disk = NULL;
	pthread_mutex_unlock(&reservation_lock);
}

struct reservations *reservations_get(const struct bdev *bdev)
{
	struct reservations *disk;

	pthread_mutex_lock(&reservation_lock);
	disk = all;
	while (disk && disk->bdev != bdev)
		disk = disk->next;
	if (!disk && (disk = calloc(1, sizeof(*disk)))) {
		disk->bdev = bdev;
		disk->next = all;
		all = disk;
	}
	if (disk)
		disk->users++;
	pthread_mutex_unlock(&reservation_lock);
	return disk;
}

void reservations_put(struct reservations *disk)
{
	struct reservations **at = &all;

	if (!disk)
		return;
	pthread_mutex_lock(&reservation_lock);
	if (!--disk->users) {
		remove_registrants(disk);
		while (*at != disk)
			at = &(*at)->next;
		*at = disk->next;
		free(disk);
	}
	pthread_mutex_unlock(&reservation_lock);
}
