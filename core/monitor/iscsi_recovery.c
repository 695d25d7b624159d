/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log in a lost session at once, then at intervals that double. The kernel decides whether I/O
 * waits or fails until then. If iscsid runs, it does all this, and the monitor only checks
 * whether it still runs. */
#include "iscsi_recovery.h"
#include "loop.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POLL                SEC       /* check a session being created, or a login */
#define ISCSID_POLL         (5 * SEC) /* check whether iscsid still runs */
#define PAUSE_MAX_S         5         /* between logins while I/O waits */
#define EXPIRED_PAUSE_MAX_S 30        /* when I/O fails */
/* of the first login; each retry gets as much more, so that a slow target is reached in the end */
#define LIMIT_S      5
#define LIMIT_MAX_S  15
#define WAIT_MAX_S   60         /* limit for what the target requests */
#define LOGOUT_S     5          /* for the logout response */
#define LOG_INTERVAL (60 * SEC) /* between logged reasons: they may alternate */

static void log_line(struct recovery *recovery, const struct recovery_session *s, const char *fmt,
	...) __attribute__((format(printf, 3, 4)));
static void log_line(
	struct recovery *recovery, const struct recovery_session *s, const char *fmt, ...)
{
	char line[RECOVERY_LINE + 40];
	va_list args;
	int at = 0;

	if (s)
		at = snprintf(line, sizeof(line), "session%u: ", s->sid);
	va_start(args, fmt);
	vsnprintf(line + at, sizeof(line) - (size_t)at, fmt, args);
	va_end(args);
	recovery->ops->log(recovery, line);
}

static struct recovery_session *find(const struct recovery *recovery, unsigned sid)
{
	struct recovery_session *s = recovery->first;

	while (s && s->sid != sid)
		s = s->next;
	return s;
}

static void cancel_login(struct recovery *recovery, struct recovery_session *s)
{
	if (s->state == RECOVERY_LOGIN)
		recovery->ops->cancel_login(recovery, s);
}

static void remove_session(struct recovery *recovery, struct recovery_session *s)
{
	struct recovery_session **at = &recovery->first;

	cancel_login(recovery, s);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	recovery->ops->destroy(recovery, s);
}

static void set_state(struct recovery_session *s, enum recovery_state state, uint64_t at)
{
	s->state = state;
	s->due_at = at;
}

static void set_logged_in(struct recovery_session *s)
{
	set_state(s, RECOVERY_LOGGED_IN, 0);
	s->established = true;
	s->loss_reported = s->expired = s->orphan = false;
	s->wait_s = 0;
	s->tries = 0;
	s->lost_at = 0;
	s->why[0] = 0;
}

/* Return true unless iscsid is in charge. If it has started, cancel logins in progress. */
static bool is_in_charge(struct recovery *recovery, uint64_t now)
{
	int pid = recovery->ops->iscsid_pid(recovery);

	if (pid && !recovery->iscsid_pid)
		log_line(recovery, NULL, "iscsid runs (process %d) and takes over the sessions",
			pid);
	if (!pid && recovery->iscsid_pid)
		log_line(recovery, NULL, "iscsid has ended: taking over the sessions");
	recovery->iscsid_pid = pid;
	for (struct recovery_session *s = recovery->first; s && pid; s = s->next) {
		s->loss_reported = false;
		if (s->state != RECOVERY_LOGIN)
			continue;
		recovery->ops->cancel_login(recovery, s);
		set_state(s, RECOVERY_WAIT, now + ISCSID_POLL);
	}
	return !pid;
}

static void wait_from(struct recovery_session *s, uint64_t at, uint64_t now)
{
	if (!s->lost_at)
		s->lost_at = now;
	set_state(s, RECOVERY_WAIT, at);
}

static uint64_t pause_s(const struct recovery_session *s)
{
	const uint64_t most = s->expired ? EXPIRED_PAUSE_MAX_S : PAUSE_MAX_S;
	uint64_t pause = s->tries < 8 ? 1ull << (s->tries ? s->tries - 1 : 0) : most;

	return pause < most ? pause : most;
}

static void login_failed(
	struct recovery *recovery, struct recovery_session *s, const struct diag *why, uint64_t now)
{
	uint64_t pause = pause_s(s);
	char text[RECOVERY_LINE];

	snprintf(text, sizeof(text), "%.80s%s%.500s", why->object, why->object[0] ? ": " : "",
		why->text);
	if (strcmp(text, s->why) && (!s->why[0] || now - s->logged_at >= LOG_INTERVAL)) {
		log_line(recovery, s, "login: %s; retrying at intervals of up to %d s", text,
			s->expired ? EXPIRED_PAUSE_MAX_S : PAUSE_MAX_S);
		snprintf(s->why, sizeof(s->why), "%s", text);
		s->logged_at = now;
	}
	wait_from(s, now + pause * SEC, now);
}

static void start_login(struct recovery *recovery, struct recovery_session *s, uint64_t now)
{
	struct diag why = { 0 };
	uint32_t limit;

	if (s->orphan && !s->tries)
		log_line(recovery, s, "found without a connection: logging in");
	s->tries++;
	limit = s->tries < LIMIT_MAX_S / LIMIT_S ? s->tries * LIMIT_S : LIMIT_MAX_S;
	set_state(s, RECOVERY_LOGIN, now + POLL);
	if (!recovery->ops->start_login(recovery, s, limit * 1000, &why))
		return;
	set_state(s, RECOVERY_WAIT, 0);
	login_failed(recovery, s, &why, now);
}

static void expire(struct recovery *recovery, struct recovery_session *s, bool expired)
{
	if (expired && !s->expired)
		log_line(recovery, s,
			"replacement timeout expired: I/O fails until a login succeeds");
	s->expired = expired;
}

/* Handle a session without a connection. Return false if it is still being created. */
static bool handle_lost(struct recovery *recovery, struct recovery_session *s,
	const struct session_state *state, uint64_t now)
{
	if (!s->established && state->creator_alive) {
		set_state(s, RECOVERY_NEW, now + POLL);
		return false;
	}
	if (s->state == RECOVERY_NEW) {
		s->established = s->orphan = true;
		wait_from(s, now, now);
	}
	expire(recovery, s, state->expired);
	return true;
}

/* Read the state of a session. Return false if it is gone, or needs nothing. */
static bool check_session(struct recovery *recovery, struct recovery_session *s, uint64_t now)
{
	struct session_state state = { 0 };

	if (recovery->ops->get_state(recovery, s, &state)) {
		remove_session(recovery, s);
		return false;
	}
	if (state.unbinding) {
		cancel_login(recovery, s);
		set_state(s, RECOVERY_UNBOUND, 0);
		return false;
	}
	s->loss_reported &= state.logged_in;
	if (state.logged_in && !s->loss_reported &&
		(s->state == RECOVERY_NEW || s->state == RECOVERY_WAIT)) {
		if (s->tries)
			log_line(recovery, s, "logged in again by another process");
		set_logged_in(s);
	}
	return state.logged_in ? s->state != RECOVERY_LOGGED_IN
			       : handle_lost(recovery, s, &state, now);
}

static void run_session(struct recovery *recovery, struct recovery_session *s, uint64_t now)
{
	if (s->state == RECOVERY_LOGOUT)
		iscsi_recovery_lost(recovery, s->sid, "the target does not answer the logout", now);
	if (!check_session(recovery, s, now))
		return;
	if (s->state == RECOVERY_LOGIN) {
		s->due_at = now + POLL;
		is_in_charge(recovery, now);
		return;
	}
	if (s->state != RECOVERY_WAIT || s->due_at > now)
		return;
	if (is_in_charge(recovery, now))
		start_login(recovery, s, now);
	else
		s->due_at = now + ISCSID_POLL;
}

void iscsi_recovery_run(struct recovery *recovery, uint64_t now)
{
	for (struct recovery_session *s = recovery->first, *next; s; s = next) {
		next = s->next;
		if (s->due_at && s->due_at <= now)
			run_session(recovery, s, now);
	}
}

uint64_t iscsi_recovery_next(const struct recovery *recovery)
{
	uint64_t at = 0;

	for (const struct recovery_session *s = recovery->first; s; s = s->next)
		if (s->due_at && (!at || s->due_at < at))
			at = s->due_at;
	return at;
}

void iscsi_recovery_add(struct recovery *recovery, unsigned sid, uint64_t now)
{
	struct recovery_session *s = find(recovery, sid);
	struct session_state state = { 0 };

	if (!s) {
		s = recovery->ops->create(recovery, sid);
		if (!s) {
			log_line(recovery, NULL,
				"session%u: lost connections will not be restored: out of memory",
				sid);
			return;
		}
		s->next = recovery->first;
		recovery->first = s;
	}
	if (s->state == RECOVERY_NEW)
		s->due_at = now;
	if (s->state != RECOVERY_LOGGED_IN || recovery->ops->get_state(recovery, s, &state) ||
		state.logged_in || state.unbinding)
		return;
	log_line(recovery, s, "connection lost");
	wait_from(s, now, now);
}

void iscsi_recovery_remove(struct recovery *recovery, unsigned sid)
{
	struct recovery_session *s = find(recovery, sid);

	if (s)
		remove_session(recovery, s);
}

void iscsi_recovery_drop_missing(struct recovery *recovery)
{
	struct session_state state;

	for (struct recovery_session *s = recovery->first, *next; s; s = next) {
		next = s->next;
		if (recovery->ops->get_state(recovery, s, &state))
			remove_session(recovery, s);
	}
}

void iscsi_recovery_unbound(struct recovery *recovery, unsigned sid)
{
	struct recovery_session *s = find(recovery, sid);

	if (!s)
		return;
	cancel_login(recovery, s);
	set_state(s, RECOVERY_UNBOUND, 0);
}

/* A session being created is left to its creator, which receives the event, too. */
void iscsi_recovery_lost(struct recovery *recovery, unsigned sid, const char *why, uint64_t now)
{
	struct recovery_session *s = find(recovery, sid);
	struct session_state state = { 0 };

	if (!s || s->state == RECOVERY_UNBOUND || s->state == RECOVERY_LOGIN ||
		s->state == RECOVERY_WAIT)
		return;
	if (s->state == RECOVERY_NEW && (recovery->ops->get_state(recovery, s, &state) ||
						(!state.logged_in && state.creator_alive)))
		return;
	s->established = true;
	if (!is_in_charge(recovery, now)) {
		wait_from(s, now + ISCSID_POLL, now);
		return;
	}
	s->loss_reported = true;
	log_line(recovery, s, "connection lost: %s", why);
	wait_from(s, now + (s->wait_s < WAIT_MAX_S ? s->wait_s : WAIT_MAX_S) * SEC, now);
}

void iscsi_recovery_set_wait(struct recovery *recovery, unsigned sid, uint32_t wait_s)
{
	struct recovery_session *s = find(recovery, sid);

	if (s)
		s->wait_s = wait_s;
}

void iscsi_recovery_logout_requested(
	struct recovery *recovery, unsigned sid, uint32_t within_s, uint64_t now)
{
	struct recovery_session *s = find(recovery, sid);

	if (!s || s->state != RECOVERY_LOGGED_IN || !is_in_charge(recovery, now))
		return;
	log_line(recovery, s, "the target requests a logout within %u s", within_s);
	if (recovery->ops->send_logout(recovery, s))
		return; /* the target then closes the connection, which is an event */
	if (within_s > LOGOUT_S || !within_s)
		within_s = LOGOUT_S;
	set_state(s, RECOVERY_LOGOUT, now + within_s * SEC);
}

void iscsi_recovery_logged_out(
	struct recovery *recovery, unsigned sid, uint32_t wait_s, uint64_t now)
{
	struct recovery_session *s = find(recovery, sid);

	if (!s || s->state != RECOVERY_LOGOUT)
		return;
	s->wait_s = wait_s;
	iscsi_recovery_lost(recovery, sid, "logged out at the target's request", now);
}

void iscsi_recovery_login_done(struct recovery *recovery, struct recovery_session *s, int err,
	const struct diag *why, uint64_t now)
{
	struct session_state state = { 0 };

	if (!err) {
		log_line(recovery, s, "logged in again after %.1f s, with %u %s",
			(double)(now - s->lost_at) / SEC, s->tries,
			s->tries == 1 ? "try" : "tries");
		set_logged_in(s);
		return;
	}
	set_state(s, RECOVERY_WAIT, now);
	if (recovery->ops->get_state(recovery, s, &state)) {
		remove_session(recovery, s);
		return;
	}
	if (state.unbinding) {
		set_state(s, RECOVERY_UNBOUND, 0);
		return;
	}
	expire(recovery, s, state.expired);
	login_failed(recovery, s, why, now);
}

void iscsi_recovery_free(struct recovery *recovery)
{
	while (recovery->first)
		remove_session(recovery, recovery->first);
}
