/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keeper's decisions. A lost session is logged in again at once, then after pauses that double;
 * whether requests wait meanwhile is the kernel's to know. Where iscsid runs it does all of this,
 * and here it is only watched how long it does. */
#include "iscsi_keep.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SECOND      1000000000ull
#define LOOK        SECOND       /* at what is under way: a session in the making, a login */
#define LEFT        (5 * SECOND) /* at a lost session that is left to iscsid */
#define PAUSE_MAX_S 5            /* between logins while requests wait */
#define LATE_MAX_S  30           /* when they fail already */
/* for the first login; each gets as much more, so that a target that is only slow is waited for in
 * the end */
#define LIMIT_S     5
#define LIMIT_MAX_S 15
#define WAIT_MAX_S  60            /* whatever a target asks for */
#define LOGOUT_S    5             /* for the answer to a logout */
#define SAY         (60 * SECOND) /* between two reasons; there may be one that comes and goes */

static void say(struct keep *keep, const struct keep_session *s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct keep *keep, const struct keep_session *s, const char *fmt, ...)
{
	char line[KEEP_LINE + 40];
	va_list args;
	int at = 0;

	if (s)
		at = snprintf(line, sizeof(line), "session%u: ", s->sid);
	va_start(args, fmt);
	vsnprintf(line + at, sizeof(line) - (size_t)at, fmt, args);
	va_end(args);
	keep->ops->say(keep, line);
}

static struct keep_session *find(const struct keep *keep, unsigned sid)
{
	struct keep_session *s = keep->first;

	while (s && s->sid != sid)
		s = s->next;
	return s;
}

static void give_up(struct keep *keep, struct keep_session *s)
{
	if (s->state == KEEP_TRY)
		keep->ops->end(keep, s);
}

static void drop(struct keep *keep, struct keep_session *s)
{
	struct keep_session **at = &keep->first;

	give_up(keep, s);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	keep->ops->gone(keep, s);
}

static void be(struct keep_session *s, enum keep_state state, uint64_t at)
{
	s->state = state;
	s->at = at;
}

static void be_fine(struct keep_session *s)
{
	be(s, KEEP_FINE, 0);
	s->known = true;
	s->heard = s->expired = s->orphan = false;
	s->wait_s = 0;
	s->tries = 0;
	s->lost_at = 0;
	s->why[0] = 0;
}

/* Whether sessions are ours to keep. What was begun before the other came is given up. */
static bool in_charge(struct keep *keep, uint64_t now)
{
	int pid = keep->ops->iscsid(keep);

	if (pid && !keep->iscsid)
		say(keep, NULL, "iscsid runs (process %d) and takes over the sessions", pid);
	if (!pid && keep->iscsid)
		say(keep, NULL, "iscsid has ended: taking over the sessions");
	keep->iscsid = pid;
	for (struct keep_session *s = keep->first; s && pid; s = s->next) {
		s->heard = false;
		if (s->state != KEEP_TRY)
			continue;
		keep->ops->end(keep, s);
		be(s, KEEP_WAIT, now + LEFT);
	}
	return !pid;
}

static void wait_from(struct keep_session *s, uint64_t at, uint64_t now)
{
	if (!s->lost_at)
		s->lost_at = now;
	be(s, KEEP_WAIT, at);
}

static uint64_t pause_s(const struct keep_session *s)
{
	const uint64_t most = s->expired ? LATE_MAX_S : PAUSE_MAX_S;
	uint64_t pause = s->tries < 8 ? 1ull << (s->tries ? s->tries - 1 : 0) : most;

	return pause < most ? pause : most;
}

static void failed(struct keep *keep, struct keep_session *s, const struct diag *why, uint64_t now)
{
	uint64_t pause = pause_s(s);
	char text[KEEP_LINE];

	snprintf(text, sizeof(text), "%.80s%s%.500s", why->object, why->object[0] ? ": " : "",
		why->text);
	if (strcmp(text, s->why) && (!s->why[0] || now - s->said_at >= SAY)) {
		say(keep, s, "login: %s; retrying at intervals of up to %d s", text,
			s->expired ? LATE_MAX_S : PAUSE_MAX_S);
		snprintf(s->why, sizeof(s->why), "%s", text);
		s->said_at = now;
	}
	wait_from(s, now + pause * SECOND, now);
}

static void try(struct keep *keep, struct keep_session *s, uint64_t now)
{
	struct diag why = { 0 };
	uint32_t limit;

	if (s->orphan && !s->tries)
		say(keep, s, "found without a connection: logging in");
	s->tries++;
	limit = s->tries < LIMIT_MAX_S / LIMIT_S ? s->tries * LIMIT_S : LIMIT_MAX_S;
	be(s, KEEP_TRY, now + LOOK);
	if (!keep->ops->begin(keep, s, limit * 1000, &why))
		return;
	be(s, KEEP_WAIT, 0);
	failed(keep, s, &why, now);
}

static void expire(struct keep *keep, struct keep_session *s, bool expired)
{
	if (expired && !s->expired)
		say(keep, s, "replacement timeout expired: I/O fails until a login succeeds");
	s->expired = expired;
}

/* Of a session that is not logged in: false when it has nothing to wait for. */
static bool is_lost(
	struct keep *keep, struct keep_session *s, const struct keep_look *look, uint64_t now)
{
	if (!s->known && look->making) {
		be(s, KEEP_NEW, now + LOOK);
		return false;
	}
	if (s->state == KEEP_NEW) {
		s->known = s->orphan = true;
		wait_from(s, now, now);
	}
	expire(keep, s, look->expired);
	return true;
}

/* Sees how it stands. False: it is gone, or there is nothing to be done. */
static bool look_at(struct keep *keep, struct keep_session *s, uint64_t now)
{
	struct keep_look look = { 0 };

	if (keep->ops->look(keep, s, &look)) {
		drop(keep, s);
		return false;
	}
	if (look.leaving) {
		give_up(keep, s);
		be(s, KEEP_LEAVING, 0);
		return false;
	}
	s->heard &= look.live;
	if (look.live && !s->heard && (s->state == KEEP_NEW || s->state == KEEP_WAIT)) {
		if (s->tries)
			say(keep, s, "logged in again by another process");
		be_fine(s);
	}
	return look.live ? s->state != KEEP_FINE : is_lost(keep, s, &look, now);
}

static void due(struct keep *keep, struct keep_session *s, uint64_t now)
{
	if (s->state == KEEP_LOGOUT)
		iscsi_keep_lost(keep, s->sid, "the target does not answer the logout", now);
	if (!look_at(keep, s, now))
		return;
	if (s->state == KEEP_TRY) {
		s->at = now + LOOK;
		in_charge(keep, now);
		return;
	}
	if (s->state != KEEP_WAIT || s->at > now)
		return;
	if (in_charge(keep, now))
		try(keep, s, now);
	else
		s->at = now + LEFT;
}

void iscsi_keep_time(struct keep *keep, uint64_t now)
{
	for (struct keep_session *s = keep->first, *next; s; s = next) {
		next = s->next;
		if (s->at && s->at <= now)
			due(keep, s, now);
	}
}

uint64_t iscsi_keep_next(const struct keep *keep)
{
	uint64_t at = 0;

	for (const struct keep_session *s = keep->first; s; s = s->next)
		if (s->at && (!at || s->at < at))
			at = s->at;
	return at;
}

void iscsi_keep_found(struct keep *keep, unsigned sid, uint64_t now)
{
	struct keep_session *s = find(keep, sid);
	struct keep_look look = { 0 };

	if (!s) {
		s = keep->ops->made(keep, sid);
		if (!s) {
			say(keep, NULL,
				"session%u: lost connections will not be restored: out of memory",
				sid);
			return;
		}
		s->next = keep->first;
		keep->first = s;
	}
	if (s->state == KEEP_NEW)
		s->at = now;
	if (s->state != KEEP_FINE || keep->ops->look(keep, s, &look) || look.live || look.leaving)
		return;
	say(keep, s, "connection lost");
	wait_from(s, now, now);
}

void iscsi_keep_gone(struct keep *keep, unsigned sid)
{
	struct keep_session *s = find(keep, sid);

	if (s)
		drop(keep, s);
}

void iscsi_keep_missed(struct keep *keep)
{
	struct keep_look look;

	for (struct keep_session *s = keep->first, *next; s; s = next) {
		next = s->next;
		if (keep->ops->look(keep, s, &look))
			drop(keep, s);
	}
}

void iscsi_keep_leaving(struct keep *keep, unsigned sid)
{
	struct keep_session *s = find(keep, sid);

	if (!s)
		return;
	give_up(keep, s);
	be(s, KEEP_LEAVING, 0);
}

/* Of one that is being made the maker hears too. */
void iscsi_keep_lost(struct keep *keep, unsigned sid, const char *why, uint64_t now)
{
	struct keep_session *s = find(keep, sid);
	struct keep_look look = { 0 };

	if (!s || s->state == KEEP_LEAVING || s->state == KEEP_TRY || s->state == KEEP_WAIT)
		return;
	if (s->state == KEEP_NEW &&
		(keep->ops->look(keep, s, &look) || (!look.live && look.making)))
		return;
	s->known = true;
	if (!in_charge(keep, now)) {
		wait_from(s, now + LEFT, now);
		return;
	}
	s->heard = true;
	say(keep, s, "connection lost: %s", why);
	wait_from(s, now + (s->wait_s < WAIT_MAX_S ? s->wait_s : WAIT_MAX_S) * SECOND, now);
}

void iscsi_keep_drop(struct keep *keep, unsigned sid, uint32_t wait_s)
{
	struct keep_session *s = find(keep, sid);

	if (s)
		s->wait_s = wait_s;
}

void iscsi_keep_asked_out(struct keep *keep, unsigned sid, uint32_t within_s, uint64_t now)
{
	struct keep_session *s = find(keep, sid);

	if (!s || s->state != KEEP_FINE || !in_charge(keep, now))
		return;
	say(keep, s, "the target requests a logout within %u s", within_s);
	if (keep->ops->logout(keep, s))
		return; /* the target ends the connection then, which is heard */
	if (within_s > LOGOUT_S || !within_s)
		within_s = LOGOUT_S;
	be(s, KEEP_LOGOUT, now + within_s * SECOND);
}

void iscsi_keep_logged_out(struct keep *keep, unsigned sid, uint32_t wait_s, uint64_t now)
{
	struct keep_session *s = find(keep, sid);

	if (!s || s->state != KEEP_LOGOUT)
		return;
	s->wait_s = wait_s;
	iscsi_keep_lost(keep, sid, "logged out at the target's request", now);
}

void iscsi_keep_tried(
	struct keep *keep, struct keep_session *s, int err, const struct diag *why, uint64_t now)
{
	struct keep_look look = { 0 };

	if (!err) {
		say(keep, s, "logged in again after %.1f s, with %u %s",
			(double)(now - s->lost_at) / SECOND, s->tries,
			s->tries == 1 ? "try" : "tries");
		be_fine(s);
		return;
	}
	be(s, KEEP_WAIT, now);
	if (keep->ops->look(keep, s, &look)) {
		drop(keep, s);
		return;
	}
	if (look.leaving) {
		be(s, KEEP_LEAVING, 0);
		return;
	}
	expire(keep, s, look.expired);
	failed(keep, s, why, now);
}

void iscsi_keep_free(struct keep *keep)
{
	while (keep->first)
		drop(keep, keep->first);
}
