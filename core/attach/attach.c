/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The frame of every attachment: its steps in order, deadlines, retries, cancel, and the rollback
 * of what it made unless that is in use. */
#include "attach.h"
#include "attach_row.h"
#include "disks.h"
#include "find.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE_MS       2000 /* for a step to end after its deadline */
#define USERS_MS       2000 /* to search for users */
#define PROBE_GRACE_MS 2000 /* udev and others hold every new disk open for a moment */
#define PAUSE_MS       50   /* between searches for users */
#define UNDO_MS        5000
#define SHORT_MS       100   /* too short for another attempt */
#define ADDRESS_MS     10000 /* of an address if there are others, and no limit is set */

enum attach_state { IDLE, FIND, READY, QUEUED, CONNECT, WAIT, USERS, UNDO, PAUSE, DONE };

/* ---- Queues of a serialized row: on each loop in one list. The first of each queue connects. */

struct attach_queue {
	struct loop_local local;
	struct attach *first;
};

static void queue_free(struct loop_local *local)
{
	free(container_of(local, struct attach_queue, local));
}

/* NULL: not serialized, or out of memory. */
static struct attach_queue *queue_of(const struct attach *attach)
{
	struct loop_local *local = loop_local_find(attach->loop, attach->proto);
	struct attach_queue *queue;

	if (!attach->proto->serialized || attach->owner_serializes)
		return NULL;
	if (local)
		return container_of(local, struct attach_queue, local);
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->local = (struct loop_local){ .key = attach->proto, .fini = queue_free };
	loop_local_add(attach->loop, &queue->local);
	return queue;
}

/* Return false if another attachment of the queue is connecting. */
static bool join_queue(struct attach *attach)
{
	struct attach_queue *queue = queue_of(attach);
	struct attach **at = queue ? &queue->first : NULL;
	bool first = true;

	attach->next = NULL;
	attach->queue = attach->proto->queue ? attach->proto->queue(attach) : 0;
	for (; at && *at; at = &(*at)->next)
		first &= (*at)->queue != attach->queue;
	if (at)
		*at = attach;
	return first;
}

/* The next attachment starts from its own loop_work. */
static void leave_queue(struct attach *attach)
{
	struct attach_queue *queue = queue_of(attach);
	struct attach **at = queue ? &queue->first : NULL, *next;
	bool first = true;

	for (; at && *at && *at != attach; at = &(*at)->next)
		first &= (*at)->queue != attach->queue;
	if (!at || !*at)
		return;
	next = *at = attach->next;
	while (next && next->queue != attach->queue)
		next = next->next;
	if (first && next)
		loop_work_add(next->loop, &next->work);
}

/* ---- What attach_run() waits for, on each loop. */

struct attach_runner {
	struct loop_local local;
	struct loop_signal signal;
	struct attach *first;
	volatile int any_done; /* at least one has ended */
};
static const char runner_key[] = "runner";

static struct attach_runner *runner_of(struct loop *loop)
{
	struct loop_local *local = loop_local_find(loop, runner_key);

	return local ? container_of(local, struct attach_runner, local) : NULL;
}

static void leave_runner(struct attach *attach)
{
	struct attach_runner *runner = runner_of(attach->loop);

	for (struct attach **at = runner ? &runner->first : NULL; at && *at;
		at = &(*at)->next_running)
		if (*at == attach) {
			*at = attach->next_running;
			runner->any_done = 1;
			break;
		}
}

static void caught(struct loop_signal *signal, int signo)
{
	struct attach_runner *runner = container_of(signal, struct attach_runner, signal);
	struct attach *next;

	(void)signo;
	for (struct attach *at = runner->first; at; at = next) {
		next = at->next_running;
		attach_cancel(at);
	}
}

static void runner_free(struct loop_local *local)
{
	free(container_of(local, struct attach_runner, local));
}

static struct attach_runner *make_runner(struct loop *loop)
{
	struct attach_runner *runner = runner_of(loop);

	if (runner)
		return runner;
	runner = calloc(1, sizeof(*runner));
	if (!runner)
		return NULL;
	runner->local = (struct loop_local){ .key = runner_key, .fini = runner_free };
	runner->signal.caught = caught;
	loop_local_add(loop, &runner->local);
	return runner;
}

/* Without memory attach_run() fails, too. */
static void join_runner(struct attach *attach)
{
	struct attach_runner *runner = make_runner(attach->loop);
	struct attach **at = runner ? &runner->first : NULL;

	leave_runner(attach);
	while (at && *at)
		at = &(*at)->next_running;
	attach->next_running = NULL;
	if (at)
		*at = attach;
}

/* ---- The steps. */

static uint64_t soonest(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void enter(struct attach *attach, enum attach_state state, uint64_t wake)
{
	attach->state = state;
	loop_timer_del(attach->loop, &attach->timer);
	if (attach->proto->release && (state == PAUSE || state == DONE))
		attach->proto->release(attach);
	if (wake)
		loop_timer_set(attach->loop, &attach->timer, wake);
}

/* When the frame stops a step that exceeds its limit. */
static uint64_t backstop(const struct attach *attach)
{
	return attach->until ? attach->until + GRACE_MS * MSEC : 0;
}

static uint64_t attempt_end(const struct attach *attach)
{
	return soonest(attach->deadline, attach->left ? loop_clock() + attach->left : 0);
}

static void begin_limit(struct attach *attach)
{
	attach->since = loop_clock();
	attach->until = attach->attempt_until = attempt_end(attach);
}

static void prepare(struct attach *attach)
{
	attach->answered = false;
	begin_limit(attach);
	enter(attach, READY, backstop(attach));
	if (attach->proto->ready)
		attach->proto->ready(attach);
	else
		attach_step(attach, 0);
}

static void prepare_first(struct attach *attach)
{
	attach->failures = (struct addr_failures){ 0 };
	attach->all = attach->rest = attach->addr ? *attach->addr : (struct addr){ 0 };
	if (attach->addr)
		attach->addr->others = 0;
	prepare(attach);
}

/* Each address of a name has its share of the time to answer. */
static uint64_t address_end(const struct attach *attach)
{
	uint64_t now = loop_clock(), end = attach->attempt_until;
	unsigned others = attach->rest.others;

	if (!others || (end && end <= now))
		return end;
	return now + (end ? (end - now) / (others + 1) : ADDRESS_MS * MSEC);
}

static void connect_now(struct attach *attach)
{
	attach->until = address_end(attach);
	enter(attach, CONNECT, backstop(attach));
	attach->proto->connect(attach);
}

/* First in its queue: the attempt begins now. */
static void connect_in_turn(struct attach *attach)
{
	begin_limit(attach);
	connect_now(attach);
}

static void enqueue(struct attach *attach)
{
	if (!queue_of(attach))
		connect_now(attach);
	else if (join_queue(attach))
		connect_in_turn(attach);
	else
		enter(attach, QUEUED, attach->deadline);
}

static void begin(struct attach *attach)
{
	attach->why = (struct diag){ 0 };
	attach->made = false;
	attach->what[0] = attach->users[0] = 0;
	attach->left = attach->limit_ms * MSEC;
	attach->all.others = 0;
	if (!attach_needs_find(attach)) {
		prepare_first(attach);
		return;
	}
	begin_limit(attach);
	enter(attach, FIND, backstop(attach));
	attach_find(attach);
}

static void finish(struct attach *attach)
{
	struct attach_group *group = attach->group;

	enter(attach, DONE, 0);
	leave_runner(attach);
	attach->group = NULL;
	if (attach->done)
		attach->done(attach);
	if (group && !--group->pending)
		group->done(group);
}

/* The address had no answer, and nothing has to be undone: prepare the next one. False: there is
 * none, or no time for it. */
static bool prepare_next(struct attach *attach)
{
	uint64_t now = loop_clock(), end = attach->attempt_until;
	char at[ADDR_TEXT];

	if (!attach->rest.others || (end && end < now + SHORT_MS * MSEC))
		return false;
	addr_next(&attach->rest);
	*attach->addr = attach->rest;
	attach->addr->others = 0;
	attach->left = attach->left ? end - now : 0;
	loop_trace(attach->loop, "%s; trying %s", attach->why.text, addr_text(attach->addr, at));
	if (attach->proto->release)
		attach->proto->release(attach);
	attach->why = (struct diag){ 0 };
	prepare(attach);
	return true;
}

/* Of a name with several addresses: try the next one. False: the attempt has failed. */
static bool try_others(struct attach *attach)
{
	bool connecting = attach->state == READY || attach->state == CONNECT;
	char at[ADDR_TEXT];

	if (!attach->all.others)
		return false;
	if (connecting && !attach->answered && !attach->cancelled &&
		addr_unanswered(&attach->why)) {
		addr_failures_add(&attach->failures, attach->addr, &attach->why);
		if (prepare_next(attach))
			return true;
		addr_failures_end(&attach->failures);
		attach->why = attach->failures.why;
	} else if (attach->failures.count && attach->why.err) {
		diag_ctx(&attach->why, "%s", addr_text(attach->addr, at));
	}
	*attach->addr = attach->all;
	return false;
}

/* After the rollback: retry, or end. Close to the deadline the pause is half of the time left. */
static void end_attempt(struct attach *attach)
{
	uint64_t now = loop_clock(), end = attach->deadline, pause = attach->retry_ms * MSEC;

	if (try_others(attach))
		return;
	/* time changes neither the options nor what exists */
	if (!pause || attach->cancelled || attach->why.code == DIAG_USAGE ||
		attach->why.code == DIAG_MISMATCH || (end && end < now + SHORT_MS * MSEC)) {
		finish(attach);
		return;
	}
	if (end && end - now < 2 * pause)
		pause = (end - now) / 2;
	if (attach->retrying && !attach->retrying(attach))
		finish(attach);
	else
		enter(attach, PAUSE, now + pause);
}

static void undone(struct attach *attach, int err)
{
	if (err && !attach->why.err)
		diag_sys(&attach->why, -err, "detach");
	if (attach->detaching) {
		finish(attach);
		return;
	}
	attach->why = attach->first;
	end_attempt(attach);
}

/* Its disks are in use: unless they are so for a moment only, `users` becomes part of the hint. */
static void stay_connected(struct attach *attach, const char *because)
{
	const char *applet = attach->proto->detached_by;

	if (loop_clock() < attach->probe_grace_until) {
		enter(attach, USERS, loop_clock() + PAUSE_MS * MSEC);
		return;
	}
	diag_hint(&attach->why, "%s stays connected%s: %.*s%s%s%s%s", attach->what, because,
		applet ? 70 : ATTACH_USERS, attach->users, applet ? "; end it with: rdmastor " : "",
		applet ? applet : "", applet ? " " : "", applet ? attach->what : "");
	end_attempt(attach);
}

static int flush(int root, const void *arg, void *out)
{
	const struct attach *attach = arg;

	return -attach->proto->flush(attach, root, out);
}

static void flushed(struct child_call *call)
{
	struct attach *attach = container_of(call, struct attach, users_call);

	if (!call->err || attach->force) {
		attach->why = (struct diag){ 0 };
		attach->proto->undo(attach);
		return;
	}
	if (!attach->why.err)
		diag_sys(&attach->why, -call->err, "remove multipath devices");
	if (attach->detaching) {
		finish(attach);
		return;
	}
	snprintf(attach->users, sizeof(attach->users), "%.399s", attach->why.text);
	attach->why = attach->first;
	stay_connected(attach, "");
}

static void undo(struct attach *attach)
{
	if (attach->detaching && attach->find_only) {
		finish(attach);
		return;
	}
	attach->first = attach->why;
	attach->why = (struct diag){ 0 };
	attach->until = attach->detaching ? attach->deadline : loop_clock() + UNDO_MS * MSEC;
	enter(attach, UNDO, backstop(attach));
	if (!attach->proto->flush) {
		attach->proto->undo(attach);
		return;
	}
	attach->users_call = (struct child_call){ .fn = flush,
		.arg = attach,
		.out = &attach->why,
		.out_len = sizeof(attach->why),
		.until = attach->until,
		.grace_ms = PAUSE_MS,
		.done = flushed };
	attach_call(attach, &attach->users_call);
}

static int find_users(int root, const void *arg, void *out)
{
	const struct attach *attach = arg;

	attach->proto->users(attach, root, out);
	return 0;
}

/* An incomplete search counts as in use. */
void attach_users_text(const struct attach_users *found, int err, char text[ATTACH_USERS])
{
	bool unknown = err && !found->text[0] && !(err == -ETIMEDOUT && found->enough);

	snprintf(text, ATTACH_USERS, unknown ? "unknown (%s)" : "%s",
		unknown ? diag_errno_text(-err) : found->text);
}

static void users_known(struct attach *attach, int err)
{
	attach_users_text(&attach->found, err, attach->users);
	if (!attach->users[0]) {
		undo(attach);
	} else if (attach->detaching) {
		diag_set(&attach->why, DIAG_BUSY, EBUSY, "in use: %s", attach->users);
		finish(attach);
	} else {
		stay_connected(attach, " because it is in use");
	}
}

static void users_found(struct child_call *call)
{
	users_known(container_of(call, struct attach, users_call), call->err);
}

static void ask_users(struct attach *attach)
{
	int err;

	attach->found = (struct attach_users){ 0 };
	enter(attach, USERS, 0);
	attach->users_call = (struct child_call){ .fn = find_users,
		.arg = attach,
		.out = &attach->found,
		.out_len = sizeof(attach->found),
		.until = loop_clock() + USERS_MS * MSEC,
		.grace_ms = PAUSE_MS,
		.done = users_found };
	err = child_call_start(&attach->users_call, attach->loop, &attach->root, 1);
	if (err)
		users_known(attach, err);
}

/* Roll back with the error in why. */
static void roll_back(struct attach *attach)
{
	attach->probe_grace_until = loop_clock() + PROBE_GRACE_MS * MSEC;
	if (!attach->made)
		end_attempt(attach);
	else if (attach->proto->users && !attach->force)
		ask_users(attach);
	else
		undo(attach);
}

static void fail(struct attach *attach, int err)
{
	if (!attach->why.err)
		diag_sys(&attach->why, -err, "attach");
	roll_back(attach);
}

/* Cancel all that is in flight in the current step. */
static void stop(struct attach *attach)
{
	loop_work_del(attach->loop, &attach->work);
	attach_find_stop(attach);
	child_call_cancel(&attach->users_call);
	child_call_cancel(&attach->load.call);
	if (attach->proto->stop)
		attach->proto->stop(attach);
	attach_wait_end(attach);
	leave_queue(attach);
}

static void next_step(struct loop_work *work)
{
	struct attach *attach = container_of(work, struct attach, work);
	int err = attach->step;

	switch ((enum attach_state)attach->state) {
	case IDLE:
		begin(attach);
		break;
	case FIND:
		if (err)
			fail(attach, err);
		else if (attach->find_only)
			finish(attach);
		else
			prepare_first(attach);
		break;
	case READY:
		if (err)
			fail(attach, err);
		else
			enqueue(attach);
		break;
	case QUEUED:
		connect_in_turn(attach);
		break;
	case CONNECT:
		leave_queue(attach);
		attach->until = attach->attempt_until;
		if (err) {
			fail(attach, err);
		} else if (attach->no_wait || !attach->proto->poll) {
			finish(attach);
		} else {
			enter(attach, WAIT, attach->until);
			attach_wait_begin(attach);
		}
		break;
	case WAIT:
		attach_wait_end(attach);
		if (err) {
			stop(attach); /* cancel requests of the row */
			fail(attach, err);
		} else {
			finish(attach);
		}
		break;
	case USERS: /* a detach begins */
		roll_back(attach);
		break;
	case UNDO:
		undone(attach, err);
		break;
	case PAUSE:
	case DONE:
		break;
	}
}

void attach_step(struct attach *attach, int err)
{
	attach->step = err;
	loop_work_add(attach->loop, &attach->work);
}

void attach_answered(struct attach *attach)
{
	attach->answered = true;
	attach->until = attach->attempt_until;
	enter(attach, attach->state, backstop(attach));
}

uint64_t attach_limit(const struct attach *attach, uint64_t ms)
{
	return soonest(attach->until, loop_clock() + ms * MSEC);
}

void attach_call(struct attach *attach, struct child_call *call)
{
	int err = child_call_start(call, attach->loop, &attach->root, 1);

	if (err)
		attach_step(attach, diag_sys(&attach->why, -err, "fork"));
}

int attach_not_removed(struct attach *attach, int err, const char *hint)
{
	struct diag *why = &attach->why;
	char text[DIAG_SECONDS];

	switch (-err) {
	case ETIMEDOUT:
		diag_set(why, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out after %s waiting for the kernel to remove it",
			diag_seconds((loop_clock() - attach->since) / 1000000, text));
		return diag_hint(why, "%s", hint);
	case EBUSY:
		return diag_set(why, DIAG_BUSY, EBUSY, "the kernel is still connecting it");
	case EACCES:
	case EPERM:
		return diag_set(why, DIAG_PERMISSION, EPERM, "only root can disconnect");
	default:
		return diag_sys(why, -err, "disconnect");
	}
}

static int set_timeout(struct attach *attach)
{
	char text[DIAG_SECONDS];

	if (attach->state == WAIT && attach->proto->set_timeout_error)
		attach->proto->set_timeout_error(attach);
	if (attach->why.err)
		return -attach->why.err;
	return diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT, "timed out after %s%s",
		diag_seconds((loop_clock() - attach->since) / 1000000, text),
		attach->state == QUEUED ? ": the kernel was still connecting to others" : "");
}

static void expired(struct loop_timer *timer)
{
	struct attach *attach = container_of(timer, struct attach, timer);
	bool done = attach->state == WAIT && attach_wait_poll(attach);

	if (attach->work.on)
		return;
	switch ((enum attach_state)attach->state) {
	case WAIT:
		if (done) {
			attach_step(attach, 0);
			break;
		}
		/* fall through */
	case FIND:
	case READY:
	case QUEUED:
	case CONNECT:
		set_timeout(attach);
		stop(attach);
		roll_back(attach);
		break;
	case USERS:
		ask_users(attach);
		break;
	case UNDO:
		set_timeout(attach);
		stop(attach);
		undone(attach, -ETIMEDOUT);
		break;
	case PAUSE:
		begin(attach);
		break;
	case IDLE:
	case DONE:
		break;
	}
}

/* ---- What owners call. */

static void start(struct attach *attach, enum attach_state state, bool detaching)
{
	attach->detaching = detaching;
	attach->cancelled = false;
	attach->work.run = next_step;
	attach->timer.fire = expired;
	attach->state = state;
	join_runner(attach);
	attach_step(attach, 0);
}

void attach_start(struct attach *attach)
{
	start(attach, IDLE, false);
}

void attach_group_start(struct attach_group *group, struct attach *attach)
{
	attach_start(attach);
	attach->group = group;
	group->pending++;
}

void attach_detach(struct attach *attach)
{
	attach->why = (struct diag){ 0 };
	attach->users[0] = 0;
	attach->since = loop_clock();
	attach->made = true;
	start(attach, USERS, true);
}

/* The rollback may take long, or never end. */
static void give_up(struct attach *attach)
{
	stop(attach);
	diag_set(&attach->why, DIAG_CLOSED, EINTR, "interrupted");
	diag_hint(&attach->why, "%s may still be attached; check with: rdmastor status",
		attach->what[0] ? attach->what : "it");
	finish(attach);
}

void attach_cancel(struct attach *attach)
{
	enum attach_state state = attach->state;

	if (state == DONE || !attach->work.run)
		return;
	if (attach->cancelled) {
		give_up(attach);
		return;
	}
	attach->cancelled = true;
	if (!attach->detaching && (state == USERS || state == UNDO))
		return; /* already rolling back */
	stop(attach);
	diag_set(&attach->why, DIAG_CLOSED, EINTR, "interrupted");
	if (attach->detaching || state == IDLE || state == PAUSE)
		finish(attach);
	else
		roll_back(attach);
}

void attach_drop(struct attach *attach)
{
	if (!attach->work.run || attach->state == DONE)
		return;
	stop(attach);
	diag_set(&attach->why, DIAG_CLOSED, EINTR, "interrupted");
	enter(attach, DONE, 0);
	leave_runner(attach);
}

bool attach_is_done(const struct attach *attach)
{
	return attach->state == DONE;
}

int attach_run(struct loop *loop, struct attach *const *list, unsigned count, struct diag *diag)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	struct attach_runner *runner = make_runner(loop);
	sigset_t before;
	int err;

	if (!runner)
		return diag_sys(diag, ENOMEM, "attach");
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	err = loop_signal_add(
		loop, &runner->signal, signos, sizeof(signos) / sizeof(*signos), diag);
	if (err) {
		while (runner->first)
			attach_drop(runner->first);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return err;
	}
	for (unsigned i = 0; i < count; i++)
		if (list[i] && !list[i]->work.run)
			attach_start(list[i]);
	for (; runner->first; runner->any_done = 0)
		loop_wait(loop, &runner->any_done, 0);
	loop_signal_del(loop, &runner->signal);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return 0;
}

static void load_done(struct attach *attach)
{
	const struct child_call *call = &attach->load.call;

	memcpy(&attach->why, call->out, sizeof(attach->why));
	if (call->err && !attach->why.err)
		diag_set(&attach->why, DIAG_NO_MODULE, -call->err,
			call->expired ? "modprobe timed out" : "can't load the kernel modules");
	attach->load.done(attach, call->err);
}

static void loaded(struct child_call *call)
{
	load_done(container_of(call, struct attach, load.call));
}

void attach_load(struct attach *attach, const struct child_call *how, bool already,
	void (*done)(struct attach *, int err))
{
	struct child_call *call = &attach->load.call;
	int err;

	attach->load.done = done;
	*call = *how;
	call->done = loaded;
	memset(call->out, 0, sizeof(struct diag));
	if (already) {
		call->err = -call->fn(attach->root, call->arg, call->out);
		load_done(attach);
		return;
	}
	err = child_call_start(call, attach->loop, &attach->root, 1);
	if (err)
		done(attach, diag_sys(&attach->why, -err, "fork"));
}

void attach_note(struct attach *attach, const char *fmt, ...)
{
	char text[4400];
	va_list args;

	if (!attach->note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	attach->note(attach, text);
}

void attach_note_log(struct attach *attach, const char *log)
{
	for (const char *at = log; loop_options(attach->loop)->verbose && *at;) {
		size_t len = strcspn(at, "\n");

		attach_note(attach, "kernel: %.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

bool attach_is_gone(int root, const char *word)
{
	char path[PATH_MAX];

	return faccessat(AT_FDCWD, word, F_OK, 0) &&
	       (size_t)snprintf(path, sizeof(path), "dev/%s", word) < sizeof(path) &&
	       faccessat(root, path, F_OK, 0);
}

void attach_hint_userspace(const char *uri, struct diag *diag)
{
	static const char what[] = "attach it in userspace: rdmastor export ",
			  as[] = " --nbd unix:/run/disk.sock";

	if (strlen(uri) + sizeof(what) + sizeof(as) <= sizeof(diag->hint))
		diag_hint(diag, "%s'%s'%s", what, uri, as);
	else /* a truncated command would be useless */
		diag_hint(diag, "%sURI%s", what, as);
}
