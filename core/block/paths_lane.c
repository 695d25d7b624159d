/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One thread's access to a disk with several paths: send on the current leg, keep what a dying leg
 * returned, replay it. The control part (paths.c) decides which paths exist. */
#include "grow.h"
#include "paths.h"
#include <errno.h>
#include <stdlib.h>

/* expire after the control part, which updates bdev->why at the same time */
#define BLAME_MS 2
/* after that many losses and the time of the loss policy, the request itself may be the cause */
#define LOSSES_MAX 8
#define PAUSE_MS   100  /* before sending a request again that its target refused for now */
#define REST_MS    1000 /* of a path that refused a request */
#define RETURN_MS  500  /* a path that is back has been up for that long before it is used */
#define TRIES_MIN  50   /* of such a request, whatever the loss policy */
/* tries of one request before a busy target is reported */
#define REPORT_TRIES 10

static void list_init(struct io_list *list)
{
	list->head = NULL;
	list->tail = &list->head;
}

static void list_add(struct io_list *list, struct io *io)
{
	io->next = NULL;
	*list->tail = io;
	list->tail = &io->next;
}

static struct io *list_take(struct io_list *list)
{
	struct io *head = list->head;

	list_init(list);
	return head;
}

static bool list_del(struct io_list *list, struct io *io)
{
	struct io **at = &list->head;

	while (*at && *at != io)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = io->next;
	if (list->tail == &io->next)
		list->tail = at;
	return true;
}

static struct paths_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct paths_lane, lane);
}

static void lane_poke(struct paths_lane *pl)
{
	loop_work_add(pl->lane.loop, &pl->work);
}

static void io_complete(struct paths_lane *pl, struct io *io)
{
	struct paths_io *pio = io->lower;

	if (pio->lost && bdev_changes_blocks(io->kind) && !--pl->lost_writes)
		lane_poke(pl); /* a flush may wait for it */
	io->done(io);
}

/* When no lost path can execute the io any more. A fence replaces what is derived from the
 * protocol, not quiesce=. */
static uint64_t io_quiet_at(const struct paths_lane *pl, const struct paths_io *pio)
{
	bool fenced = pio->losses == 1 && pio->lost_by->quiet == pio->lost_of;

	return fenced ? pio->lost_ns + pl->paths->quiesce_ms * PATHS_MSEC : pio->quiet_ns;
}

static bool io_is_quiet(const struct paths_lane *pl, const struct io *io)
{
	const struct paths_io *pio = io->lower;

	return !pio->lost || !bdev_changes_blocks(io->kind) || loop_clock() >= io_quiet_at(pl, pio);
}

static void io_withhold(struct paths_lane *pl, struct io *io)
{
	uint64_t at_ns = io_quiet_at(pl, io->lower);

	list_add(&pl->withheld, io);
	if (!pl->release.on || pl->release.at_ns > at_ns)
		loop_timer_set(pl->lane.loop, &pl->release, at_ns);
}

/* A late copy of a write is harmless until a newer write to the same blocks may be sent. So delay
 * the completion until the target of the lost path can't execute the copy any more. */
static void io_finish(struct paths_lane *pl, struct io *io, int status)
{
	io->status = status;
	if (io_is_quiet(pl, io) || pl->aborted)
		io_complete(pl, io);
	else
		io_withhold(pl, io);
}

static void release(struct paths_lane *pl)
{
	struct io *io = list_take(&pl->withheld), *next;

	for (; io; io = next) {
		next = io->next;
		io_finish(pl, io, io->status);
	}
}

static void withheld_release(struct loop_timer *timer)
{
	release(container_of(timer, struct paths_lane, release));
}

/* The target has ended the lost connection of this leg. */
static void leg_fenced(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, fence);
	struct paths_lane *pl = leg->pl;

	leg->quiet = leg->fenced;
	__atomic_store_n(&leg->fencing, false, __ATOMIC_RELEASE);
	if (!pl->freeing && !pl->aborted)
		release(pl);
}

/* Complete at the end of the turn, not inside the owner's call. */
static void io_abort(struct paths_lane *pl, struct io *io)
{
	io->status = -ENOTCONN;
	io->detail = 0;
	list_add(&pl->completed, io);
	lane_poke(pl);
}

static void io_hold(struct paths_lane *pl, struct io *io)
{
	if (pl->aborted) {
		io_abort(pl, io);
		return;
	}
	list_add(&pl->held, io);
	pl->nheld++;
	lane_poke(pl);
	/* one nanosecond later, which is another turn: an owner that retries in done() would
	 * otherwise keep this turn from ending */
	if (pl->failing && !pl->expire.on)
		loop_timer_set(pl->lane.loop, &pl->expire, loop_now(pl->lane.loop) + 1);
}

static void held_expire(struct loop_timer *timer)
{
	struct paths_lane *pl = container_of(timer, struct paths_lane, expire);
	struct io *io = list_take(&pl->held), *next;

	pl->failing = true;
	pl->nheld = 0;
	for (; io; io = next) {
		next = io->next;
		io->detail = 0;
		io_finish(pl, io, -EHOSTUNREACH);
	}
}

static void io_pause(struct paths_lane *pl, struct io *io, uint64_t now)
{
	struct paths_io *pio = io->lower;

	pio->due_ns = now + PAUSE_MS * PATHS_MSEC;
	list_add(&pl->paused, io);
	if (!pl->resume.on)
		loop_timer_set(pl->lane.loop, &pl->resume, pio->due_ns);
}

static void leg_post_dead(struct leg *leg)
{
	if (leg->dead_posted || leg->dropping)
		return;
	leg->dead_posted = true;
	loop_post(leg->pl->paths->bdev.loop, &leg->dead);
}

static bool leg_preferred_opening(const struct paths_lane *pl, const struct leg *leg)
{
	for (const struct leg *other = pl->leg; other < leg; other++)
		if (other->state == LEG_OPENING)
			return true;
	return false;
}

static bool leg_usable(const struct leg *leg)
{
	return leg->state == LEG_UP && paths_serves(leg->access);
}

static bool leg_rests(const struct leg *leg, uint64_t now)
{
	return leg->refused_ns && now < leg->refused_ns + REST_MS * PATHS_MSEC;
}

/* Whether a leg is to be used rather than another one: if that has just refused a request, by their
 * access, by the preference of the target, by the time of their last refusal. */
static bool leg_beats(const struct leg *leg, const struct leg *other, uint64_t now)
{
	bool rests = leg_rests(leg, now);

	if (rests != leg_rests(other, now))
		return !rests;
	if (!rests && leg->access != other->access)
		return leg->access < other->access;
	if (!rests && leg->preferred != other->preferred)
		return leg->preferred;
	return leg->refused_ns < other->refused_ns;
}

/* Get the best usable leg, the first of several. While the lane opens, give earlier legs time to
 * come up. */
static struct leg *leg_pick(struct paths_lane *pl)
{
	const uint64_t now = loop_clock();
	struct leg *best = NULL;

	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg_usable(leg) && (!best || leg_beats(leg, best, now)))
			best = leg;
	return best && pl->lane.state == LANE_OPENING && leg_preferred_opening(pl, best) ? NULL
											 : best;
}

/* The leg of the next request, of those with the best access. One that refused a request is not
 * tried each time its turn comes. */
static struct leg *leg_spread(struct paths_lane *pl)
{
	const unsigned count = pl->paths->count, at = pl->current->index;
	const bool by_depth = pl->paths->policy == PATHS_QUEUE_DEPTH;
	const uint64_t now = loop_now(pl->lane.loop);
	struct leg *best = NULL;

	for (unsigned i = 1; i <= count; i++) {
		struct leg *leg = &pl->leg[(at + i) % count];

		if (!leg_usable(leg) || leg_rests(leg, now))
			continue;
		if (!best || leg->access < best->access ||
			(leg->access == best->access && by_depth && leg->inflight < best->inflight))
			best = leg;
	}
	return best ? best : pl->current;
}

static struct leg *leg_find(struct paths_lane *pl, enum leg_state state)
{
	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg->state == state)
			return leg;
	return NULL;
}

/* Another leg may have come up in the pause. */
static void paused_resume(struct loop_timer *timer)
{
	struct paths_lane *pl = container_of(timer, struct paths_lane, resume);
	uint64_t now = loop_clock();
	struct io *io;

	while ((io = pl->paused.head)) {
		const struct paths_io *pio = io->lower;

		if (pio->due_ns > now) {
			loop_timer_set(pl->lane.loop, timer, pio->due_ns);
			return;
		}
		list_del(&pl->paused, io);
		if (pl->current == pio->leg &&
			pio->leg->refused_ns >= pio->due_ns - PAUSE_MS * PATHS_MSEC)
			pl->current = leg_pick(pl);
		io_hold(pl, io);
	}
}

/* A better path may be back. */
static void fail_back(struct loop_timer *timer)
{
	struct paths_lane *pl = container_of(timer, struct paths_lane, fail_back);

	if (!pl->current || pl->paths->policy != PATHS_FAILOVER)
		return;
	pl->current = leg_pick(pl);
	for (const struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg_rests(leg, loop_clock()))
			loop_timer_set(
				pl->lane.loop, timer, leg->refused_ns + REST_MS * PATHS_MSEC);
}

static void lane_announce(struct paths_lane *pl, enum lane_state state)
{
	pl->lane.state = state;
	if (pl->lane.changed)
		pl->lane.changed(&pl->lane);
}

/* No path: held requests wait as long as the policy and the access of the legs allow. Legs that
 * never came up are reported only now, as their paths may work for other lanes. */
static void lane_out(struct paths_lane *pl)
{
	uint32_t changing_ms = 0, ms;

	for (const struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg->state == LEG_UP && leg->access == BDEV_ACCESS_CHANGING &&
			leg->changing_ms > changing_ms)
			changing_ms = leg->changing_ms;
	ms = paths_wait_ms(pl->paths, changing_ms);
	if (!pl->out_since)
		pl->out_since = loop_clock();
	if (ms == UINT32_MAX)
		loop_timer_del(pl->lane.loop, &pl->expire);
	else if (!pl->failing)
		loop_timer_set(pl->lane.loop, &pl->expire,
			pl->out_since + (ms + (uint64_t)BLAME_MS) * PATHS_MSEC);
	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg->state == LEG_DOWN)
			leg_post_dead(leg);
}

static void lane_settle(struct paths_lane *pl)
{
	struct leg *down;

	if (!pl->joined || pl->aborted || pl->lane.state == LANE_DOWN)
		return;
	if (pl->current && !leg_usable(pl->current))
		pl->current = NULL;
	if (!pl->current)
		pl->current = leg_pick(pl);
	if (pl->current) {
		pl->out_since = 0;
		pl->failing = false;
		loop_timer_del(pl->lane.loop, &pl->expire);
		if (pl->held.head)
			lane_poke(pl);
	}
	if (pl->lane.state == LANE_UP && !pl->current)
		lane_out(pl);
	if (pl->lane.state == LANE_UP || (!pl->current && leg_find(pl, LEG_OPENING)))
		return;
	down = leg_find(pl, LEG_DOWN);
	if (!pl->current && down && !leg_find(pl, LEG_UP)) {
		pl->lane.why = down->why;
		lane_announce(pl, LANE_DOWN);
		return;
	}
	if (!pl->current)
		lane_out(pl); /* an outage: open anyway, and hold requests */
	lane_announce(pl, LANE_UP);
}

static void leg_unmap(struct leg *leg)
{
	while (leg->mapped)
		lane_unmap(leg->lane, leg->pl->pool[--leg->mapped]);
}

/* Not called inside an upcall of the leaf's lane. */
static void leg_reap(struct leg *leg)
{
	bool finished = leg->state == LEG_DOWN || leg->dropping;

	if (leg->lane && finished && !leg->inflight) {
		leg_unmap(leg);
		leg->lane->ops->free(leg->lane);
		leg->lane = NULL;
	}
	if (!leg->dropping || leg->lane)
		return;
	leg->dropping = false;
	leg->state = LEG_NONE;
	leg->held = leg->pl->current ? 0 : leg->pl->nheld;
	loop_post(leg->pl->paths->bdev.loop, &leg->dropped);
}

static void leg_failed(struct leg *leg, const struct diag *why)
{
	leg->why = *why;
	leg->state = LEG_DOWN;
	if (leg->was_up && !leg->pl->aborted)
		leg_post_dead(leg);
	lane_poke(leg->pl);
	lane_settle(leg->pl);
}

static int leg_map(struct leg *leg, struct diag *diag)
{
	while (leg->mapped < leg->pl->pools) {
		int err = lane_map(leg->lane, leg->pl->pool[leg->mapped], diag);

		if (err)
			return err;
		leg->mapped++;
	}
	return 0;
}

/* Whether to try again to open a lane that the target refused. Bounded whatever the loss policy, as
 * lane_open() waits for it. */
static bool leg_may_reopen(const struct leg *leg)
{
	const struct paths_lane *pl = leg->pl;
	uint32_t ms = pl->paths->loss_ms;

	if (ms > BDEV_TIMEOUT_MS)
		ms = BDEV_TIMEOUT_MS;
	return leg->state == LEG_OPENING && !leg->dropping && !pl->aborted &&
	       leg->lane->why.err == EAGAIN && loop_clock() - leg->opened_ns < ms * PATHS_MSEC;
}

static void leg_changed(struct lane *lane)
{
	struct leg *leg = lane->user;
	struct diag why = { 0 };

	if (lane->state == LANE_DOWN && leg_may_reopen(leg)) {
		loop_trace(leg->pl->lane.loop, "path %s: %s; trying again",
			leg->pl->paths->path[leg->index].uri.spelling, lane->why.text);
		loop_timer_set(
			leg->pl->lane.loop, &leg->reopen, loop_clock() + PAUSE_MS * PATHS_MSEC);
	} else if (lane->state == LANE_DOWN && leg->state != LEG_DOWN) {
		leg_failed(leg, &lane->why);
	} else if (lane->state == LANE_UP && leg->state == LEG_OPENING && !leg->dropping) {
		if (leg_map(leg, &why)) {
			leg_failed(leg, &why);
			return;
		}
		leg->state = LEG_UP;
		leg->was_up = true;
		lane_settle(leg->pl);
		/* a path that was never lost is steady */
		loop_timer_set(leg->pl->lane.loop, &leg->pl->fail_back,
			loop_clock() + (leg->connection > 1) * RETURN_MS * PATHS_MSEC);
	}
}

static void leg_open_lane(struct leg *leg)
{
	struct diag why = { 0 };

	if (leg->leaf->ops->lane(&leg->lane, leg->leaf, leg->pl->lane.loop, &why)) {
		leg->lane = NULL;
		leg_failed(leg, &why);
		return;
	}
	leg->lane->user = leg;
	leg->lane->changed = leg_changed;
}

static void leg_reopen(struct loop_timer *timer)
{
	struct leg *leg = container_of(timer, struct leg, reopen);

	leg->lane->ops->free(leg->lane);
	leg_open_lane(leg);
}

static void leg_read_access(struct leg *leg)
{
	uint8_t now = __atomic_load_n(&leg->access_now, __ATOMIC_SEQ_CST);

	leg->access = now & ~PATHS_PREFERRED;
	leg->preferred = now & PATHS_PREFERRED;
}

/* The target accepts requests on other paths than before. */
static void leg_access_changed(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, access_changed);
	struct paths_lane *pl = leg->pl;

	__atomic_store_n(&leg->access_posted, false, __ATOMIC_SEQ_CST);
	leg_read_access(leg);
	if (pl->freeing || pl->aborted)
		return;
	if (paths_serves(leg->access))
		leg->refused_ns = 0;
	if (pl->current && pl->paths->policy == PATHS_FAILOVER)
		pl->current = leg_pick(pl);
	lane_settle(pl);
}

static void leg_open(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, open);

	if (leg->pl->freeing)
		return;
	leg_read_access(leg);
	leg->dead_posted = leg->was_up = false;
	leg->connection = leg->opened;
	leg->refused_ns = 0;
	leg->opened_ns = loop_clock();
	leg->quiesce_ms = leg->leaf->lim.quiesce_ms;
	if (leg->quiesce_ms < leg->pl->paths->quiesce_ms)
		leg->quiesce_ms = leg->pl->paths->quiesce_ms;
	leg->state = LEG_OPENING;
	leg_open_lane(leg);
}

static void leg_drop(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, drop);

	if (leg->pl->freeing)
		return;
	leg->dropping = true;
	loop_timer_del(leg->pl->lane.loop, &leg->reopen);
	if (leg->state != LEG_DOWN)
		leg->state = LEG_DYING;
	lane_settle(leg->pl);
	lane_poke(leg->pl);
	if (leg->inflight && leg->lane->ops->abort)
		leg->lane->ops->abort(leg->lane, &leg->pl->paths->path[leg->index].why);
}

static void io_lost(struct io *io)
{
	struct paths_io *pio = io->lower;
	struct leg *leg = pio->leg;
	struct paths_lane *pl = leg->pl;
	uint64_t now = loop_clock(), quiet = now + leg->quiesce_ms * PATHS_MSEC;

	if (leg->state == LEG_UP) {
		leg->state = LEG_DYING;
		lane_settle(pl);
	}
	if (!pio->lost) {
		pio->lost = true;
		pio->lost_ns = now;
		pio->lost_by = leg;
		pio->lost_of = leg->connection;
		pl->lost_writes += bdev_changes_blocks(io->kind);
	}
	if (pio->quiet_ns < quiet)
		pio->quiet_ns = quiet;
	lane_poke(pl);
	if (pio->losses < LOSSES_MAX)
		pio->losses++;
	if (!pl->aborted && pio->losses == LOSSES_MAX && pl->paths->loss_ms != UINT32_MAX &&
		now - pio->lost_ns >= pl->paths->loss_ms * PATHS_MSEC) {
		io->detail = 0;
		io_finish(pl, io, -EHOSTUNREACH);
		return;
	}
	io_hold(pl, io);
}

/* Any loss policy allows a minimum of tries: a busy target is not a lost connection, and another
 * path may work. */
static bool io_may_be_resent(
	struct paths_lane *pl, const struct paths_io *pio, unsigned again, uint64_t now)
{
	unsigned tries = again & BDEV_RETRY ? TRIES_MIN : pl->paths->count;

	if (pl->aborted || pio->refusals < tries ||
		(again & BDEV_OTHER_PATH && leg_find(pl, LEG_OPENING)))
		return !pl->aborted;
	return again & (BDEV_WAIT_READY | BDEV_OTHER_PATH) &&
	       (pl->paths->loss_ms == UINT32_MAX ||
		       now - pio->refused_ns < pl->paths->loss_ms * PATHS_MSEC);
}

static void leg_report(struct leg *leg, uint32_t detail)
{
	if (__atomic_load_n(&leg->reporting, __ATOMIC_ACQUIRE))
		return;
	leg->reporting = true;
	leg->detail = detail;
	loop_post(leg->pl->paths->bdev.loop, &leg->refused);
}

/* Send a request again that its target has failed: at once if there is a path that did not refuse
 * one just now. The target has answered, so it can't execute this copy late, but it may still have
 * one of a lost path. False: it is not sent again. */
static bool io_resend(struct paths_lane *pl, struct io *io, unsigned again)
{
	struct paths_io *pio = io->lower;
	uint64_t now = loop_clock();

	if (!pio->refusals)
		pio->refused_ns = now;
	if (pio->refusals < TRIES_MIN)
		pio->refusals++;
	if (again & BDEV_OTHER_PATH) {
		pio->leg->refused_ns = now;
		if (!pl->fail_back.on)
			loop_timer_set(pl->lane.loop, &pl->fail_back, now + REST_MS * PATHS_MSEC);
	}
	if (!io_may_be_resent(pl, pio, again, now))
		return false;
	if (again & BDEV_OTHER_PATH || pio->refusals == REPORT_TRIES)
		leg_report(pio->leg, io->detail);
	if (pl->current == pio->leg && again & BDEV_OTHER_PATH)
		pl->current = leg_pick(pl);
	if (pl->current && pl->current != pio->leg &&
		(!pl->current->refused_ns ||
			now - pl->current->refused_ns >= PAUSE_MS * PATHS_MSEC))
		io_hold(pl, io);
	else
		io_pause(pl, io, now);
	return true;
}

static void leg_done(struct io *io)
{
	struct paths_io *pio = container_of(io->lower, struct paths_io, lower);
	struct leg *leg = pio->leg;
	unsigned again = 0;
	int status;

	io->lower = pio;
	io->done = pio->done;
#ifdef DEBUG_CONTRACTS
	io->checked_done = pio->checked_done;
	io->checked_lower = pio;
	io->checked_lane = &leg->pl->lane;
#endif
	if (!--leg->inflight && leg->state != LEG_UP)
		lane_poke(leg->pl);
	if (io->status == -ENOTCONN) {
		io_lost(io);
		return;
	}
	if (io->status && leg->leaf->ops->retry)
		again = leg->leaf->ops->retry(io->detail) &
			(BDEV_RETRY | BDEV_WAIT_READY | BDEV_OTHER_PATH);
	if (again && io_resend(leg->pl, io, again))
		return;
	status = bdev_sync_status(leg->pl->lane.bdev, io, io->status);
	if (status != io->status)
		io->detail = 0;
	if (pio->lost) {
		io_finish(leg->pl, io, status);
		return;
	}
	io->status = status;
	io->done(io);
}

static void io_send(struct paths_lane *pl, struct io *io)
{
	struct paths_io *pio = io->lower;

	if (pl->paths->policy != PATHS_FAILOVER)
		pl->current = leg_spread(pl);
	pio->leg = pl->current;
	pio->done = io->done;
#ifdef DEBUG_CONTRACTS
	pio->checked_done = io->checked_done;
#endif
	io->done = leg_done;
	io->lower = pio->lower;
	pl->current->inflight++;
	__atomic_store_n(&pl->current->requests, pl->current->requests + 1, __ATOMIC_RELAXED);
	bdev_submit(pl->current->lane, io);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct paths_lane *pl = to_lane(lane);
	struct paths_io *pio = io->lower;

	pio->lost = false;
	pio->losses = pio->refusals = 0;
	pio->quiet_ns = 0;
	if (pl->current)
		io_send(pl, io);
	else
		io_hold(pl, io);
}

/* Replay a lost flush after all lost writes: until they are replayed, no path's cache holds
 * them. */
static bool flush_must_wait(const struct paths_lane *pl)
{
	for (const struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg->state == LEG_DYING && leg->inflight)
			return true;
	return pl->lost_writes;
}

static void held_replay(struct paths_lane *pl)
{
	struct io *io = list_take(&pl->held), *next;

	pl->nheld = 0;
	for (; io; io = next) {
		const struct paths_io *pio = io->lower;

		next = io->next;
		if (io->kind == IO_FLUSH && pio->lost && flush_must_wait(pl)) {
			list_add(&pl->held, io);
			pl->nheld++;
		} else {
			io_send(pl, io);
		}
	}
}

static bool lane_busy(const struct paths_lane *pl)
{
	for (const struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg->inflight)
			return true;
	return pl->completed.head;
}

static void lane_work(struct loop_work *work)
{
	struct paths_lane *pl = container_of(work, struct paths_lane, work);
	struct io *io, *next;

	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		leg_reap(leg);
	for (io = list_take(&pl->completed); io; io = next) {
		next = io->next;
		io_complete(pl, io);
	}
	if (pl->current)
		held_replay(pl);
	if (pl->aborted && pl->lane.state == LANE_UP && !lane_busy(pl))
		lane_announce(pl, LANE_DOWN);
}

/* A cancelled write that was sent on a lost path completes no earlier than if it had been
 * replayed. */
static bool lane_cancel(struct lane *lane, struct io *io)
{
	struct paths_lane *pl = to_lane(lane);

	if (list_del(&pl->held, io))
		pl->nheld--;
	else if (!list_del(&pl->paused, io))
		return false;
	io->status = -ECANCELED;
	io->detail = 0;
	if (io_is_quiet(pl, io)) {
		list_add(&pl->completed, io);
		lane_poke(pl);
	} else {
		io_withhold(pl, io);
	}
	return true;
}

/* What waits to be sent again has an answer: that its target refuses it. */
static void paused_abort(struct paths_lane *pl)
{
	struct io *io = list_take(&pl->paused), *next;

	for (; io; io = next) {
		const struct paths_io *pio = io->lower;

		next = io->next;
		if (pio->lost)
			io_abort(pl, io);
		else
			list_add(&pl->completed, io);
	}
}

/* Abort only this lane: the path stays up for the others, and nothing is replayed. */
static void lane_abort(struct lane *lane, const struct diag *why)
{
	struct paths_lane *pl = to_lane(lane);
	struct io *io, *next;

	lane->why = *why;
	pl->aborted = true;
	pl->current = NULL;
	pl->nheld = 0;
	loop_timer_del(lane->loop, &pl->expire);
	loop_timer_del(lane->loop, &pl->release);
	loop_timer_del(lane->loop, &pl->resume);
	loop_timer_del(lane->loop, &pl->fail_back);
	paused_abort(pl);
	*pl->held.tail = list_take(&pl->withheld);
	for (io = list_take(&pl->held); io; io = next) {
		next = io->next;
		io_abort(pl, io);
	}
	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++) {
		loop_timer_del(lane->loop, &leg->reopen);
		if (leg->state == LEG_UP && leg->inflight && leg->lane->ops->abort)
			leg->lane->ops->abort(leg->lane, why);
	}
	lane_poke(pl);
}

static void pool_forget(struct paths_lane *pl, unsigned index)
{
	pl->pools--;
	for (unsigned i = index; i < pl->pools; i++)
		pl->pool[i] = pl->pool[i + 1];
}

/* If no leg can map the pool, fail. Otherwise the legs that can't are at fault. */
static int lane_map_pool(struct lane *lane, struct pool *pool, struct diag *diag)
{
	struct paths_lane *pl = to_lane(lane);
	struct leg *end = pl->leg + pl->paths->count;
	struct diag why;
	struct pool **more;
	bool good = false;
	int err = 0;

	for (unsigned i = 0; i < pl->pools; i++)
		if (pl->pool[i] == pool)
			return 0;
	more = grow(pl->pool, pl->pools);
	if (!more)
		return diag_sys(diag, ENOMEM, "register buffers");
	*more = pool;
	for (struct leg *leg = pl->leg; leg < end; leg++)
		if (leg->state == LEG_UP && !leg_map(leg, &(struct diag){ 0 }))
			good = true;
	for (struct leg *leg = pl->leg; leg < end; leg++) {
		if (leg->state != LEG_UP || leg->mapped == pl->pools)
			continue;
		why = (struct diag){ 0 };
		err = leg_map(leg, good ? &why : diag);
		if (err && !good)
			break;
		if (err)
			leg_failed(leg, &why);
		good = true;
	}
	if (good || !err)
		return 0;
	pool_forget(pl, pl->pools - 1);
	return err;
}

static void lane_unmap_pool(struct lane *lane, struct pool *pool)
{
	struct paths_lane *pl = to_lane(lane);
	unsigned index = 0;

	while (index < pl->pools && pl->pool[index] != pool)
		index++;
	if (index == pl->pools)
		return;
	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++)
		if (leg->lane && index < leg->mapped) {
			lane_unmap(leg->lane, pool);
			leg->mapped--;
		}
	pool_forget(pl, index);
}

/* The control part may be about to post to this lane: the memory is ours only after its answer. */
static void lane_free(struct lane *lane)
{
	struct paths_lane *pl = to_lane(lane);

	pl->freeing = true;
	for (struct leg *leg = pl->leg; leg < pl->leg + pl->paths->count; leg++) {
		loop_timer_del(lane->loop, &leg->reopen);
		if (leg->lane) {
			leg_unmap(leg);
			leg->lane->ops->free(leg->lane);
		}
	}
	loop_timer_del(lane->loop, &pl->expire);
	loop_timer_del(lane->loop, &pl->release);
	loop_timer_del(lane->loop, &pl->resume);
	loop_timer_del(lane->loop, &pl->fail_back);
	loop_work_del(lane->loop, &pl->work);
	loop_post(pl->paths->bdev.loop, &pl->leave);
	loop_wait(lane->loop, &pl->left_control, 0);
	free(pl->pool);
	free(pl);
}

static void lane_joined(struct loop_msg *msg)
{
	struct paths_lane *pl = container_of(msg, struct paths_lane, joined_msg);

	if (pl->freeing)
		return;
	pl->joined = true;
	lane_settle(pl);
}

static void lane_left(struct loop_msg *msg)
{
	container_of(msg, struct paths_lane, left_msg)->left_control = 1;
}

static const struct lane_ops lane_ops = {
	.submit = lane_submit,
	.map = lane_map_pool,
	.unmap = lane_unmap_pool,
	.cancel = lane_cancel,
	.abort = lane_abort,
	.free = lane_free,
};

int paths_lane_open(struct lane **lane, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct paths_lane *pl = calloc(1, sizeof(*pl));

	if (!pl)
		return diag_sys(diag, ENOMEM, "I/O queue");
	lane_init(&pl->lane, &lane_ops, bdev, loop);
	pl->paths = container_of(bdev, struct paths, bdev);
	list_init(&pl->held);
	list_init(&pl->withheld);
	list_init(&pl->paused);
	list_init(&pl->completed);
	pl->work.run = lane_work;
	pl->expire.fire = held_expire;
	pl->release.fire = withheld_release;
	pl->resume.fire = paused_resume;
	pl->fail_back.fire = fail_back;
	pl->join.run = paths_joined;
	pl->joined_msg.run = lane_joined;
	pl->leave.run = paths_left;
	pl->left_msg.run = lane_left;
	for (unsigned i = 0; i < pl->paths->count; i++)
		pl->leg[i] = (struct leg){
			.pl = pl,
			.index = (uint8_t)i,
			.reopen.fire = leg_reopen,
			.open.run = leg_open,
			.drop.run = leg_drop,
			.dead.run = paths_leg_dead,
			.dropped.run = paths_leg_dropped,
			.refused.run = paths_leg_refused,
			.fence.run = leg_fenced,
			.access_changed.run = leg_access_changed,
		};
	loop_post(bdev->loop, &pl->join);
	*lane = &pl->lane;
	return 0;
}
