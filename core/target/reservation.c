/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations of disks, for all protocols. All state is under one lock; commands other than those
 * that change reservations take it only while one is held. A change is planned on a copy, which is
 * saved if the disk has a file, and then replaces the state. */
#include "frame.h"
#include "reservation_set.h"
#include <stdlib.h>

/* registrations of one disk whose hosts have no connection: in all, of one name */
#define ABSENT      64
#define ABSENT_NAME 16

pthread_mutex_t reservation_lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservations *all;

#define for_each_member(member, disk)                                                              \
	for (struct reservation_member *member = (disk)->members; member; member = member->next)

static bool for_all(unsigned type)
{
	return type >= RESERVATION_WRITE_EXCLUSIVE_ALL;
}

static bool holds(const struct reservation_set *set, const struct reservation_registrant *reg)
{
	return reg && set->holder && (set->holder == reg || for_all(set->type));
}

static void note_reserved(struct reservations *disk)
{
	__atomic_store_n(&disk->reserved, disk->now.holder || disk->spc2, __ATOMIC_RELEASE);
}

bool reservation_conflicts(const struct reservation_member *member, bool writes)
{
	const struct reservation_set *set = &member->disk->now;
	const struct reservation_registrant *own;
	bool exclusive, conflicts;

	pthread_mutex_lock(&reservation_lock);
	own = member->registrant;
	exclusive = set->type == RESERVATION_EXCLUSIVE_ACCESS ||
		    set->type == RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS ||
		    set->type == RESERVATION_EXCLUSIVE_ACCESS_ALL;
	conflicts = set->holder && !holds(set, own) && (writes || exclusive) &&
		    !(own && set->type >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS);
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

/* --- plans of changes, under the lock. Registrants that are removed stay in the list until the
 * plan takes effect, to notify their members. */

struct plan {
	struct reservation_set set;
	struct reservation_registrant *added; /* NULL: none */
};

#define for_each_registrant(reg, list)                                                             \
	for (struct reservation_registrant *reg = (list); reg; reg = reg->next)                    \
		if (!reg->removed)

void reservation_set_free(struct reservation_set *set)
{
	struct reservation_registrant *reg;

	while ((reg = set->registrants)) {
		set->registrants = reg->next;
		free(reg);
	}
	set->holder = NULL;
}

static bool copy_set(struct reservation_set *to, const struct reservation_set *from)
{
	struct reservation_registrant **end = &to->registrants;

	*to = *from;
	to->registrants = NULL;
	for (struct reservation_registrant *reg = from->registrants; reg; reg = reg->next) {
		reg->copy = malloc(sizeof(*reg));
		if (!reg->copy) {
			reservation_set_free(to);
			return false;
		}
		*reg->copy = *reg;
		reg->copy->next = NULL;
		*end = reg->copy;
		end = &reg->copy->next;
		if (from->holder == reg)
			to->holder = reg->copy;
	}
	return true;
}

static void set_holder(
	struct reservation_set *set, struct reservation_registrant *holder, unsigned type)
{
	set->holder = holder;
	set->type = (uint8_t)type;
}

static void notify_others(struct reservation_set *set, const struct reservation_registrant *but,
	enum reservation_event event)
{
	for_each_registrant(reg, set->registrants)
	{
		if (reg != but)
			reg->events |= (uint8_t)(1u << event);
	}
}

static struct reservation_registrant *first(const struct reservation_set *set)
{
	for_each_registrant(reg, set->registrants)
	{
		return reg;
	}
	return NULL;
}

/* With an all-registrants type every registrant is a holder. */
static void replace_lost_holder(struct reservation_set *set)
{
	if (!set->holder || !set->holder->removed)
		return;
	set->holder = for_all(set->type) ? first(set) : NULL;
	if (!set->holder)
		set->type = 0;
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
	struct reservation_set *set, const struct reservation_host *name, unsigned most)
{
	unsigned count = 0;

	for_each_registrant(reg, set->registrants)
	{
		count += is_absent(reg, name);
	}
	for_each_registrant(reg, set->registrants)
	{
		if (count > most && is_absent(reg, name) && reg != set->holder) {
			reg->removed = true;
			count--;
		}
	}
}

static enum reservation_result add_registrant(
	struct plan *plan, const struct reservation_host *host, uint64_t key)
{
	struct reservation_registrant *reg = malloc(sizeof(*reg)), **end = &plan->set.registrants;
	unsigned count = 0;

	if (!reg)
		return RESERVATION_NO_MEMORY;
	limit_absent(&plan->set, host, ABSENT_NAME);
	limit_absent(&plan->set, NULL, ABSENT);
	for (; *end; end = &(*end)->next)
		count += !(*end)->removed;
	if (count == RESERVATION_MOST) {
		free(reg);
		return RESERVATION_NO_MEMORY;
	}
	*reg = (struct reservation_registrant){ .key = key, .host = *host };
	*end = reg;
	plan->added = reg;
	return RESERVATION_OK;
}

static void unregister(struct reservation_set *set, struct reservation_registrant *reg)
{
	if (set->holder == reg && (set->type == RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS ||
					  set->type == RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS))
		notify_others(set, reg, RESERVATION_RELEASED);
	reg->removed = true;
	replace_lost_holder(set);
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

static void set_persistence(struct reservation_set *set, unsigned persist)
{
	if (persist != RESERVATION_KEEP)
		set->persist = persist == RESERVATION_PERSISTENT;
}

static enum reservation_result do_register(struct plan *plan, const struct reservation_host *host,
	struct reservation_registrant *own, const struct reservation_request *req)
{
	struct reservation_set *set = &plan->set;
	enum reservation_result result = RESERVATION_OK;

	if (!may_register(own, req))
		return RESERVATION_CONFLICT;
	if (!own && req->other)
		result = add_registrant(plan, host, req->other);
	else if (own && req->other)
		own->key = req->other;
	else if (own)
		unregister(set, own);
	set->generation += !result;
	set_persistence(set, req->persist);
	return result;
}

static enum reservation_result do_reserve(
	struct reservation_set *set, struct reservation_registrant *own, unsigned type)
{
	if (!reservation_type_valid(type))
		return RESERVATION_BAD_TYPE;
	if (set->holder)
		return holds(set, own) && set->type == type ? RESERVATION_OK : RESERVATION_CONFLICT;
	set_holder(set, own, type);
	return RESERVATION_OK;
}

static enum reservation_result do_release(
	struct reservation_set *set, const struct reservation_registrant *own, unsigned type)
{
	if (!holds(set, own))
		return RESERVATION_OK;
	if (set->type != type)
		return RESERVATION_WRONG_TYPE;
	if (type >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS)
		notify_others(set, own, RESERVATION_RELEASED);
	set_holder(set, NULL, 0);
	return RESERVATION_OK;
}

static enum reservation_result do_clear(
	struct reservation_set *set, const struct reservation_registrant *own)
{
	notify_others(set, own, RESERVATION_PREEMPTED);
	set_holder(set, NULL, 0);
	for_each_registrant(reg, set->registrants)
	{
		reg->removed = true;
	}
	set->generation++;
	return RESERVATION_OK;
}

/* Remove all registrations with that key (0: any key) except `own`; return their number. */
static unsigned preempt_keys(struct reservation_set *set, const struct reservation_registrant *own,
	uint64_t key, bool abort)
{
	unsigned count = 0;

	for_each_registrant(reg, set->registrants)
	{
		if (reg == own || (key && reg->key != key))
			continue;
		reg->removed = true;
		reg->preempted = abort;
		reg->events |= 1u << REGISTRATION_PREEMPTED;
		count++;
	}
	replace_lost_holder(set);
	return count;
}

/* SPC-4 5.12.11.4: take over the reservation, or only remove registrations. */
static enum reservation_result do_preempt(struct reservation_set *set,
	struct reservation_registrant *own, const struct reservation_request *req)
{
	bool shared = set->holder && for_all(set->type);
	bool preempts_holder = shared ? !req->other : set->holder && set->holder->key == req->other;
	unsigned before = set->type, count;

	if (!req->other && !shared)
		return RESERVATION_BAD_KEY;
	if (preempts_holder && !reservation_type_valid(req->type))
		return RESERVATION_BAD_TYPE;
	if (preempts_holder)
		set_holder(set, own, req->type);
	count = preempt_keys(set, own, req->other, req->abort);
	if (!preempts_holder && !count && own->key != req->other)
		return RESERVATION_CONFLICT;
	if (!preempts_holder && own->key == req->other && !holds(set, own))
		own->removed = true;
	else if (preempts_holder && before != req->type)
		notify_others(set, own, RESERVATION_RELEASED);
	set->generation++;
	return RESERVATION_OK;
}

static enum reservation_result change(struct plan *plan, const struct reservation_host *host,
	struct reservation_registrant *own, const struct reservation_request *req)
{
	if (req->action == RESERVATION_PERSISTENCE) {
		set_persistence(&plan->set, req->persist);
		return RESERVATION_OK;
	}
	if (req->action <= RESERVATION_REPLACE)
		return do_register(plan, host, own, req);
	if (!own || own->key != req->key)
		return RESERVATION_CONFLICT;
	switch (req->action) {
	case RESERVATION_RESERVE:
		return do_reserve(&plan->set, own, req->type);
	case RESERVATION_RELEASE:
		return do_release(&plan->set, own, req->type);
	case RESERVATION_CLEAR:
		return do_clear(&plan->set, own);
	default:
		return do_preempt(&plan->set, own, req);
	}
}

/* Fails without a plan. */
static enum reservation_result make_plan(struct plan *plan, const struct reservation_member *member,
	const struct reservation_request *req)
{
	const struct reservations *disk = member->disk;
	enum reservation_result result;

	*plan = (struct plan){ 0 };
	if (disk->spc2 && req->action != RESERVATION_PERSISTENCE)
		return RESERVATION_CONFLICT;
	if (req->abort && disk->preempting)
		return RESERVATION_BUSY;
	if (!copy_set(&plan->set, &disk->now))
		return RESERVATION_NO_MEMORY;
	result = change(
		plan, member->host, member->registrant ? member->registrant->copy : NULL, req);
	if (result)
		reservation_set_free(&plan->set);
	return result;
}

static void notify(struct reservation_member *member, const struct reservation_registrant *reg)
{
	for (unsigned event = 0; reg->events >> event; event++)
		if (reg->events & 1u << event)
			member->event(member, event);
	if (reg->preempted)
		__atomic_store_n(&member->preempted, true, __ATOMIC_RELEASE);
}

static void remove_removed(struct reservation_set *set)
{
	struct reservation_registrant **at = &set->registrants, *reg;

	while ((reg = *at)) {
		reg->events = 0;
		if (!reg->removed) {
			at = &reg->next;
			continue;
		}
		*at = reg->next;
		free(reg);
	}
}

/* The plan becomes the state of the disk. */
static void take_effect(struct reservations *disk, struct plan *plan)
{
	for (struct reservation_registrant *reg = plan->set.registrants; reg; reg = reg->next)
		reg->members = 0;
	for_each_member(member, disk)
	{
		struct reservation_registrant *reg = member->registrant;

		if (reg) {
			reg = reg->copy;
			notify(member, reg);
		} else if (plan->added && reservation_same_host(member->host, &plan->added->host)) {
			reg = plan->added;
		}
		member->registrant = reg && !reg->removed ? reg : NULL;
		if (member->registrant)
			member->registrant->members++;
	}
	reservation_set_free(&disk->now);
	remove_removed(&plan->set);
	disk->now = plan->set;
	note_reserved(disk);
}

/* --- changes */

static void begin_abort(struct reservation_job *);

/* Without a file: at once. */
static enum reservation_result change_now(
	struct reservation_member *member, const struct reservation_request *req)
{
	enum reservation_result result;
	struct plan plan;

	pthread_mutex_lock(&reservation_lock);
	result = make_plan(&plan, member, req);
	if (!result) {
		take_effect(member->disk, &plan);
		member->disk->preempting |= req->abort;
	}
	pthread_mutex_unlock(&reservation_lock);
	return result;
}

/* Without the lock, which other commands need. No other change of the disk is made until it is
 * saved. */
static enum reservation_result save(struct reservations *disk, const struct reservation_set *plan)
{
	enum reservation_result result = RESERVATION_OK;
	size_t len = 0, before_len = 0;
	char *text = reservation_text(plan, disk->nguid, &len),
	     *before = reservation_text(&disk->now, disk->nguid, &before_len);

	if (!text || !before)
		result = RESERVATION_NO_MEMORY;
	else if ((len != before_len || memcmp(text, before, len)) &&
		 reservation_state_save(disk->state, disk, text, len, before, before_len))
		result = RESERVATION_NOT_SAVED;
	free(text);
	free(before);
	return result;
}

static void job_done(struct loop_msg *msg)
{
	struct reservation_job *job = container_of(msg, struct reservation_job, msg);

	if (!job->result && job->req.abort) {
		begin_abort(job);
		return;
	}
	job->then(job->cmd, job->result);
	free(job);
}

void reservation_job_run(struct reservation_job *job)
{
	struct reservations *disk = job->member->disk;
	struct plan plan;

	pthread_mutex_lock(&reservation_lock);
	job->result = make_plan(&plan, job->member, &job->req);
	disk->saving = !job->result;
	pthread_mutex_unlock(&reservation_lock);
	if (!job->result) {
		job->result = save(disk, &plan.set);
		pthread_mutex_lock(&reservation_lock);
		disk->saving = false;
		if (job->result) {
			reservation_set_free(&plan.set);
		} else {
			take_effect(disk, &plan);
			disk->preempting |= job->req.abort;
		}
		pthread_mutex_unlock(&reservation_lock);
	}
	job->msg.run = job_done;
	loop_post(job->cmd->conn->loop, &job->msg);
}

void reservation_change(struct reservation_member *member, const struct reservation_request *req,
	struct target_cmd *cmd, void (*then)(struct target_cmd *, enum reservation_result))
{
	struct reservation_job *job = malloc(sizeof(*job));

	if (!job) {
		then(cmd, RESERVATION_NO_MEMORY);
		return;
	}
	*job = (struct reservation_job){ .member = member, .req = *req, .cmd = cmd, .then = then };
	if (member->disk->state) {
		reservation_state_queue(member->disk->state, job);
		return;
	}
	job->result = change_now(member, req);
	job_done(&job->msg);
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
	struct reservation_job *job = disk->preempter;

	if (target_fence_next(disk->bdev, &disk->passed, &disk->fence))
		return;
	pthread_mutex_lock(&reservation_lock);
	for_each_member(member, disk) __atomic_store_n(&member->preempted, false, __ATOMIC_RELEASE);
	disk->preempting = false;
	pthread_mutex_unlock(&reservation_lock);
	job->then(job->cmd, RESERVATION_OK);
	free(job);
}

static void passed(struct target_fence *fence)
{
	pass_next(container_of(fence, struct reservations, fence));
}

static void begin_abort(struct reservation_job *job)
{
	struct reservations *disk = job->member->disk;

	disk->preempter = job;
	disk->passed = 0;
	disk->fence = (struct target_fence){
		.match = abort_there, .done = passed, .home = job->cmd->conn->loop
	};
	pass_next(disk);
}

/* --- RESERVE 6 */

bool reservation_reserve_6(struct reservation_member *member)
{
	struct reservations *disk = member->disk;
	bool free;

	pthread_mutex_lock(&reservation_lock);
	free = !disk->now.registrants && !disk->saving && !conflicts_6(member);
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
	const struct reservation_set *set = &disk->now;

	*status = (struct reservation_status){ 0 };
	pthread_mutex_lock(&reservation_lock);
	status->generation = set->generation;
	status->persist = set->persist;
	status->can_persist = disk->state;
	for (const struct reservation_registrant *reg = set->registrants; reg; reg = reg->next)
		status->registrants++;
	if (set->holder) {
		status->type = set->type;
		status->key = for_all(set->type) ? 0 : set->holder->key;
	}
	for (const struct reservation_registrant *reg = set->registrants; reg; reg = reg->next)
		each(context,
			&(struct reservation_registration){
				.host = &reg->host, .key = reg->key, .holds = holds(set, reg) });
	pthread_mutex_unlock(&reservation_lock);
}

/* --- members and disks */

void reservation_member_add(struct reservations *disk, struct reservation_member *member)
{
	struct reservation_registrant *reg;

	pthread_mutex_lock(&reservation_lock);
	reg = disk->now.registrants;
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

unsigned reservation_set_begin(struct reservations *disk, const struct reservation_set *set)
{
	unsigned count = 0;

	pthread_mutex_lock(&reservation_lock);
	disk->now = *set;
	note_reserved(disk);
	for (const struct reservation_registrant *reg = set->registrants; reg; reg = reg->next)
		count++;
	pthread_mutex_unlock(&reservation_lock);
	return count;
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
		reservation_set_free(&disk->now);
		while (*at != disk)
			at = &(*at)->next;
		*at = disk->next;
		free(disk);
	}
	pthread_mutex_unlock(&reservation_lock);
}
