/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decisions of the session monitor by a simulated clock: when it logs in, and when it does nothing.
 */
#include "iscsi_recovery.h"
#include "loop.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS 4
#define SECOND   1000000000ull

static struct world {
	struct recovery recovery;
	struct recovery_session *made[SESSIONS];
	struct session_state state[SESSIONS];
	bool there[SESSIONS], trying[SESSIONS];
	int iscsid, begin_err, logout_err;
	unsigned begun, ended, logouts;
	uint32_t limit_ms;
	uint64_t now, began_at;
	char log_text[4000];
} w;

static struct recovery_session *made(struct recovery *recovery, unsigned sid)
{
	(void)recovery;
	w.made[sid] = calloc(1, sizeof(struct recovery_session));
	w.made[sid]->sid = sid;
	return w.made[sid];
}

static void gone(struct recovery *recovery, struct recovery_session *s)
{
	(void)recovery;
	cr_assert(!w.trying[s->sid], "freed while its login is under way");
	w.made[s->sid] = NULL;
	free(s);
}

static int look(struct recovery *recovery, struct recovery_session *s, struct session_state *at)
{
	(void)recovery;
	*at = w.state[s->sid];
	return w.there[s->sid] ? 0 : -ENOENT;
}

static int iscsid(struct recovery *recovery)
{
	(void)recovery;
	return w.iscsid;
}

static int begin(
	struct recovery *recovery, struct recovery_session *s, uint32_t limit_ms, struct diag *why)
{
	(void)recovery;
	cr_assert(!w.trying[s->sid], "two logins at once");
	cr_assert(!w.iscsid, "a login while iscsid runs");
	w.begun++;
	w.limit_ms = limit_ms;
	w.began_at = w.now;
	if (w.begin_err)
		return diag_set(why, DIAG_NO_DEVICE, w.begin_err, "no device");
	w.trying[s->sid] = true;
	return 0;
}

static void end(struct recovery *recovery, struct recovery_session *s)
{
	(void)recovery;
	cr_assert(w.trying[s->sid], "ended what was not begun");
	w.trying[s->sid] = false;
	w.ended++;
}

static int logout(struct recovery *recovery, struct recovery_session *s)
{
	(void)recovery;
	(void)s;
	w.logouts++;
	return w.logout_err;
}

static void say(struct recovery *recovery, const char *line)
{
	(void)recovery;
	snprintf(w.log_text + strlen(w.log_text), sizeof(w.log_text) - strlen(w.log_text), "%s\n",
		line);
}

static const struct recovery_ops ops = { made, gone, look, iscsid, begin, end, logout, say };

static void setup(void)
{
	w = (struct world){ .recovery.ops = &ops, .now = 1000 * SECOND };
	for (unsigned sid = 1; sid < SESSIONS; sid++) {
		w.there[sid] = true;
		w.state[sid].logged_in = true;
	}
}

static void fini(void)
{
	iscsi_recovery_free(&w.recovery);
	for (unsigned sid = 0; sid < SESSIONS; sid++)
		cr_assert(!w.made[sid] && !w.trying[sid]);
}
TestSuite(iscsi_recovery, .init = setup, .fini = fini);

/* The clock goes from one due moment to the next, as a loop's does. */
static void pass(double seconds)
{
	uint64_t until = w.now + (uint64_t)(seconds * SECOND), at;

	iscsi_recovery_run(&w.recovery, w.now);
	while ((at = iscsi_recovery_next(&w.recovery)) && at <= until) {
		cr_assert_geq(at + 1, w.now, "the past is never due");
		w.now = at > w.now ? at : w.now;
		iscsi_recovery_run(&w.recovery, w.now);
		at = iscsi_recovery_next(&w.recovery);
		cr_assert(!at || at > w.now, "something stays due");
	}
	w.now = until;
}

static void find(unsigned sid)
{
	iscsi_recovery_add(&w.recovery, sid, w.now);
	pass(0);
}

static void lose(unsigned sid)
{
	w.state[sid].logged_in = false;
	iscsi_recovery_lost(&w.recovery, sid, "cut", w.now);
	pass(0);
}

static void tried(unsigned sid, int err)
{
	struct diag why = { 0 };

	cr_assert(w.trying[sid], "no login is under way");
	w.trying[sid] = false;
	w.state[sid].logged_in = !err;
	diag_set(&why, DIAG_REFUSED, err, "not now");
	iscsi_recovery_login_done(&w.recovery, w.made[sid], -err, &why, w.now);
	iscsi_recovery_run(&w.recovery, w.now);
}

static bool is(unsigned sid, enum recovery_state state)
{
	return w.made[sid] && w.made[sid]->state == state;
}

/* How many lines have these words. */
static unsigned log_text(const char *words)
{
	return lines_saying(w.log_text, words);
}

Test(iscsi_recovery, a_lost_session_is_logged_in_again_at_once)
{
	find(1);
	cr_assert(is(1, RECOVERY_LOGGED_IN));
	cr_assert_eq(iscsi_recovery_next(&w.recovery), 0, "nothing to do, nothing to wake up for");
	lose(1);
	cr_assert(w.begun == 1 && w.trying[1]);
	cr_assert_eq(w.limit_ms, 5000);
	pass(2.5);
	tried(1, 0);
	cr_assert(is(1, RECOVERY_LOGGED_IN));
	cr_assert_eq(iscsi_recovery_next(&w.recovery), 0);
	cr_assert(log_text("session1 cut") && log_text("session1 2.5_s 1_try"), "%s", w.log_text);
	cr_assert_eq(log_text(""), 2, "%s", w.log_text);
}

Test(iscsi_recovery, pauses_double_up_to_a_bound)
{
	static const unsigned pauses[] = { 1, 2, 4, 5, 5, 5 },
			      limits[] = { 5000, 10000, 15000, 15000, 15000, 15000 };

	find(1);
	lose(1);
	for (unsigned i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		uint64_t failed_at = w.now;

		cr_assert_eq(w.limit_ms, limits[i], "try %u", i);
		tried(1, ECONNREFUSED);
		pass(pauses[i]);
		cr_assert_eq(w.begun, i + 2);
		cr_assert_eq(w.began_at - failed_at, pauses[i] * SECOND, "pause %u", i);
	}
	tried(1, 0);
	cr_assert(log_text("session1 22.0_s 7_tries"));
	lose(1);
	cr_assert_eq(w.limit_ms, 5000, "the next loss starts with the first limit");
}

Test(iscsi_recovery, a_reason_is_reported_once_until_it_changes)
{
	find(1);
	lose(1);
	for (int i = 0; i < 5; i++) {
		tried(1, ECONNREFUSED);
		pass(5);
	}
	cr_assert(log_text("session1 cut") && log_text("session1 login not_now 5_s"), "%s",
		w.log_text);
	cr_assert_eq(log_text(""), 2, "%s", w.log_text);
	w.begin_err = ENODEV;
	tried(1, ECONNREFUSED);
	pass(5);
	cr_assert(!w.trying[1]);
	cr_assert(!log_text("no_device"), "one a minute");
	pass(60);
	cr_assert(log_text("session1 login no_device"));
	w.begin_err = 0;
	pass(5);
	cr_assert(w.trying[1], "a login that could not begin is begun later");
}

/* The state in sysfs changes a moment after the event. */
Test(iscsi_recovery, events_take_precedence_over_sysfs)
{
	find(1);
	iscsi_recovery_lost(&w.recovery, 1, "cut", w.now);
	pass(0);
	cr_assert(w.trying[1]);
	tried(1, EIO);
	w.state[1].logged_in = true; /* still */
	pass(1);
	cr_assert(w.trying[1]);
}

Test(iscsi_recovery, the_connection_fails_again_in_the_login)
{
	find(1);
	lose(1);
	iscsi_recovery_lost(&w.recovery, 1, "torn", w.now);
	pass(0.5);
	cr_assert(w.begun == 1 && w.trying[1], "the login hears that itself");
	tried(1, EIO);
	iscsi_recovery_lost(&w.recovery, 1, "torn", w.now);
	pass(0.5);
	cr_assert_eq(w.begun, 1, "no login sooner for it");
	pass(0.5);
	cr_assert_eq(w.begun, 2);
	cr_assert(!log_text("torn"));
}

Test(iscsi_recovery, a_session_vanishes)
{
	find(1);
	find(2);
	find(3);
	lose(1);
	lose(2);
	lose(3);
	iscsi_recovery_remove(&w.recovery, 1); /* removed by an event */
	cr_assert(!w.made[1] && w.ended == 1);
	w.there[2] = false; /* found missing during its login */
	pass(1);
	cr_assert(!w.made[2] && w.ended == 2);
	w.there[3] = false; /* seen, when that has failed */
	tried(3, EIO);
	cr_assert(!w.made[3] && w.ended == 2);
	iscsi_recovery_remove(&w.recovery, 1);
	iscsi_recovery_lost(&w.recovery, 1, "cut", w.now);
	cr_assert_eq(iscsi_recovery_next(&w.recovery), 0);
}

Test(iscsi_recovery, who_logs_out_is_let)
{
	find(1);
	find(2);
	find(3);
	iscsi_recovery_unbound(&w.recovery, 1);
	lose(1);
	pass(60);
	cr_assert(!w.begun && is(1, RECOVERY_UNBOUND), "the target ends the connection then");
	lose(2);
	iscsi_recovery_unbound(&w.recovery, 2);
	cr_assert(!w.trying[2] && w.ended == 1);
	lose(3);
	w.state[3].unbinding = true;
	pass(1);
	cr_assert(!w.trying[3] && is(3, RECOVERY_UNBOUND),
		"its login is given up too when it is only seen");
	iscsi_recovery_add(&w.recovery, 3, w.now);
	pass(60);
	cr_assert_eq(w.begun, 2);
	iscsi_recovery_remove(&w.recovery, 1);
	cr_assert(!w.made[1]);
}

Test(iscsi_recovery, iscsid_appears_in_the_middle)
{
	find(1);
	find(2);
	lose(1);
	lose(2);
	tried(2, EIO);
	w.iscsid = 400;
	pass(1);
	cr_assert(!w.trying[1] && w.ended == 1, "given up");
	pass(60);
	cr_assert_eq(w.begun, 2, "nothing is begun");
	cr_assert(log_text("iscsid 400"));
	w.state[1].logged_in = w.state[2].logged_in = true;
	pass(5);
	cr_assert(is(1, RECOVERY_LOGGED_IN) && is(2, RECOVERY_LOGGED_IN));
	cr_assert_eq(iscsi_recovery_next(&w.recovery), 0);
	lose(1);
	lose(2);
	pass(60);
	cr_assert_eq(w.begun, 2);
	cr_assert_eq(log_text("iscsid"), 1, "once");
	cr_assert(log_text("session1 cut") == 1 && log_text("session2 cut") == 1, "%s", w.log_text);
}

Test(iscsi_recovery, iscsid_goes_away)
{
	find(1);
	w.iscsid = 400;
	w.state[1].logged_in = true;
	iscsi_recovery_lost(&w.recovery, 1, "cut", w.now); /* the kernel shows that later */
	pass(4);
	w.state[1].logged_in = false;
	pass(4);
	cr_assert_eq(w.begun, 0);
	w.iscsid = 0;
	pass(5);
	cr_assert(w.trying[1], "within five seconds");
	cr_assert_eq(log_text("iscsid"), 2);
	tried(1, 0);
	cr_assert(is(1, RECOVERY_LOGGED_IN));
}

Test(iscsi_recovery, two_at_once)
{
	find(1);
	find(2);
	lose(1);
	lose(2);
	cr_assert(w.trying[1] && w.trying[2]);
	tried(2, EIO);
	tried(1, 0);
	cr_assert(is(1, RECOVERY_LOGGED_IN) && is(2, RECOVERY_WAIT));
	pass(1);
	cr_assert(!w.trying[1] && w.trying[2]);
	tried(2, 0);
	cr_assert_eq(iscsi_recovery_next(&w.recovery), 0);
}

/* Started while it is lost: there is no event to hear. */
Test(iscsi_recovery, resumes_where_another_monitor_was)
{
	w.state[1].logged_in = false;
	find(1);
	cr_assert(w.trying[1]);
	cr_assert(log_text("session1 found") == 1 && log_text("") == 1, "%s", w.log_text);
	w.state[1].expired = true;
	pass(1);
	cr_assert(log_text("session1 time out") == 1 && log_text("") == 2, "%s", w.log_text);
	for (unsigned i = 0; i < 6; i++) {
		tried(1, EIO);
		pass(30);
	}
	cr_assert_eq(w.begun, 7, "retries continue, slowly");
	w.state[1].expired = false;
	tried(1, 0);
	cr_assert(is(1, RECOVERY_LOGGED_IN));
}

Test(iscsi_recovery, a_lost_one_is_found_when_events_were)
{
	find(1);
	find(2);
	w.state[1].logged_in = false;
	iscsi_recovery_add(&w.recovery, 1, w.now);
	iscsi_recovery_add(&w.recovery, 2, w.now);
	pass(0);
	cr_assert(w.trying[1] && !w.trying[2]);
	cr_assert(log_text("session1 connection") == 1 && log_text("") == 1, "%s", w.log_text);
	iscsi_recovery_add(&w.recovery, 1, w.now);
	pass(0);
	cr_assert_eq(w.begun, 1);
}

Test(iscsi_recovery, those_that_went_unheard_are_forgotten)
{
	find(1);
	find(2);
	find(3);
	iscsi_recovery_unbound(&w.recovery, 1);
	lose(3);
	w.there[1] = w.there[2] = w.there[3] = false;
	iscsi_recovery_drop_missing(&w.recovery);
	cr_assert(!w.made[1] && !w.made[2] && !w.made[3] && w.ended == 1);
}

/* iser-login and iscsistart hear of what happens to a session until it is logged in. */
Test(iscsi_recovery, who_makes_a_session_is_let)
{
	w.state[1] = (struct session_state){ .creator_alive = true };
	find(1);
	iscsi_recovery_lost(&w.recovery, 1, "cut", w.now);
	pass(30);
	cr_assert(!w.begun && is(1, RECOVERY_NEW));
	w.state[1].logged_in = true;
	pass(1);
	cr_assert(is(1, RECOVERY_LOGGED_IN));
	w.state[1].creator_alive = true;
	lose(1);
	cr_assert(w.trying[1], "it was logged in, so it is not in the making");
	w.state[2] = (struct session_state){ .creator_alive = true };
	find(2);
	w.state[2].creator_alive = false; /* it has died */
	pass(1);
	cr_assert(w.trying[2]);
	w.state[2].creator_alive = true; /* another process has its number */
	pass(3);
	cr_assert(w.trying[2] && is(2, RECOVERY_LOGIN), "it is ours");
	w.state[3] = (struct session_state){ .creator_alive = true };
	find(3);
	w.state[3] = (struct session_state){ .logged_in = true, .creator_alive = true };
	iscsi_recovery_lost(&w.recovery, 3, "cut", w.now);
	pass(0);
	cr_assert(w.trying[3], "it was logged in since the last look");
}

Test(iscsi_recovery, somebody_else_logs_in_again)
{
	find(1);
	lose(1);
	tried(1, EIO);
	w.state[1].logged_in = true;
	pass(1);
	cr_assert(is(1, RECOVERY_LOGGED_IN) && w.begun == 1);
	cr_assert(log_text("session1 logged_in") == 1, "%s", w.log_text);
}

Test(iscsi_recovery, the_target_wants_time)
{
	find(1);
	iscsi_recovery_set_wait(&w.recovery, 1, 3);
	pass(10);
	cr_assert(is(1, RECOVERY_LOGGED_IN), "it has not ended it yet");
	lose(1);
	pass(2.9);
	cr_assert_eq(w.begun, 0);
	pass(0.1);
	cr_assert_eq(w.begun, 1);
	tried(1, 0);
	lose(1);
	cr_assert_eq(w.begun, 2, "that was for once");
	tried(1, 0);
	iscsi_recovery_set_wait(&w.recovery, 1, 65535);
	lose(1);
	pass(60);
	cr_assert_eq(w.begun, 3, "a minute, whatever it says");
}

Test(iscsi_recovery, the_target_wants_a_logout)
{
	find(1);
	iscsi_recovery_logout_requested(&w.recovery, 1, 30, w.now);
	cr_assert(w.logouts == 1 && is(1, RECOVERY_LOGOUT) && !w.begun);
	iscsi_recovery_logout_requested(&w.recovery, 1, 30, w.now);
	cr_assert_eq(w.logouts, 1);
	pass(1);
	/* the kernel does not show that before the connection ends */
	iscsi_recovery_logged_out(&w.recovery, 1, 2, w.now);
	pass(1.9);
	cr_assert_eq(w.begun, 0);
	pass(0.1);
	cr_assert(w.trying[1]);
	tried(1, 0);
	cr_assert_eq(log_text("session1 target logout 30_s"), 1, "%s", w.log_text);
	cr_assert_eq(log_text("session1 connection logged_out target"), 1, "%s", w.log_text);
	iscsi_recovery_logged_out(&w.recovery, 1, 2, w.now);
	cr_assert(is(1, RECOVERY_LOGGED_IN), "an answer to nothing");
}

Test(iscsi_recovery, a_logout_that_is_not_answered)
{
	find(1);
	find(2);
	find(3);
	iscsi_recovery_logout_requested(&w.recovery, 1, 0, w.now);
	iscsi_recovery_logout_requested(&w.recovery, 2, 2, w.now);
	pass(2);
	cr_assert(w.trying[2] && !w.trying[1], "no longer than the target gives");
	lose(1);
	cr_assert(w.trying[1], "it ended the connection instead");
	w.logout_err = -EIO;
	iscsi_recovery_logout_requested(&w.recovery, 3, 2, w.now);
	cr_assert(
		is(3, RECOVERY_LOGGED_IN), "could not be sent: that the connection ends is heard");
	cr_assert(log_text("session2 connection target logout") == 1, "%s", w.log_text);
}

Test(iscsi_recovery, a_logout_is_left_to_iscsid)
{
	find(1);
	w.iscsid = 400;
	iscsi_recovery_logout_requested(&w.recovery, 1, 30, w.now);
	cr_assert(!w.logouts && is(1, RECOVERY_LOGGED_IN));
}
