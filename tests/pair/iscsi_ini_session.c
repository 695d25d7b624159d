/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session of the iSCSI initiator over TCP that lasts: pings of both sides, the command window,
 * and events and logouts that the target asks for. */
/* Link: leap */
#include "iscsi_ini_rig.h"

static bool mute(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)bhs, (void)data, (void)len;
	return pipe->number == 0;
}

Test(iscsi_ini, an_idle_session_is_pinged)
{
	begin();
	up("/0");
	target.pings = 0;
	run_ms(60000);
	cr_assert_geq(target.pings, 5);
	cr_assert_leq(target.pings, 30);
	cr_assert_eq(lane->state, LANE_UP);
	target.script = mute;
	run_ms(60000);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "ping");
	down();
}

Test(iscsi_ini, a_silent_session_ends_within_the_time_to_detect_it)
{
	begin();
	up("/0?detect=2");
	run_ms(60000);
	cr_assert_eq(lane->state, LANE_UP);
	target.script = mute;
	run_ms(900);
	cr_assert_eq(lane->state, LANE_UP);
	run_ms(1600);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "ping");
	down();
}

static uint32_t kept_ping;
static unsigned kept_pings;

static bool keeps_pings(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data, (void)len;
	if (pipe->number != 1 || ISCSI_OPCODE(bhs->opcode) != ISCSI_NOP_OUT ||
		get_be32(bhs->itt) == ISCSI_NO_TAG)
		return true;
	kept_ping = get_be32(bhs->itt);
	kept_pings++;
	return false;
}

/* Two of one tag would have two answers. */
Test(iscsi_ini, one_ping_at_a_time)
{
	begin();
	up("/0");
	target.script = keeps_pings;
	for (unsigned i = 0; i < 4; i++) {
		run_ms(11000);
		give_nop(pipe_number(1), ISCSI_NO_TAG, i);
	}
	run_ms(1);
	cr_assert_eq(kept_pings, 1);
	cr_assert_eq(kept_ping, PING);
	give_nop(pipe_number(1), kept_ping, ISCSI_NO_TAG);
	run_ms(11000);
	cr_assert_eq(kept_pings, 2);
	cr_assert_eq(lane->state, LANE_UP);
	give_nop(pipe_number(1), kept_ping - 1, ISCSI_NO_TAG);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "not_asked");
	down();
}

static bool mute_of_pings(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data, (void)len;
	return pipe->number != 1 || ISCSI_OPCODE(bhs->opcode) != ISCSI_NOP_OUT;
}

/* One PDU of data that takes 25 s; no other can come within it. */
Test(iscsi_ini, data_is_a_sign_of_life)
{
	struct pipe *pipe;
	uint32_t end;

	begin();
	target.piece = 65536;
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = 0;
	submit(0, IO_READ, 0, 0, 65536);
	run_ms(1);
	pipe = pipe_number(1);
	cr_assert_eq(pipe->to, 0);
	give_read(pipe, last_itt, target.disk, 65536);
	end = pipe->to;
	target.script = mute_of_pings;
	for (pipe->to = 2048; pipe->to + 2048 < end; pipe->to += 2048) {
		uint32_t at = pipe->to;

		run_ms(800);
		cr_assert_eq(lane->state, LANE_UP, "%s", lane->why.text);
		if (!pipe->to) /* all of it was read */
			pipe->from = pipe->to = at;
	}
	pipe->to = end;
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

/* A NOP-In that needs no answer, with these numbers. */
static void give_window(struct pipe *pipe, uint32_t exp, uint32_t max)
{
	struct iscsi_scsi_rsp nop = { .opcode = ISCSI_NOP_IN,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.statsn = put_be32(pipe->statsn),
		.exp_cmdsn = put_be32(exp),
		.max_cmdsn = put_be32(max) };

	/* of the target transfer tag */
	((struct iscsi_nop *)(void *)&nop)->ttt = put_be32(ISCSI_NO_TAG);
	give(pipe, &nop, NULL, 0);
	run_ms(10);
}

/* By a PDU that was sent earlier. */
Test(iscsi_ini, a_window_does_not_close_again)
{
	begin();
	target.window = 4;
	up("/0");
	give_window(pipe_number(1), pipe_number(1)->exp_cmdsn, pipe_number(1)->exp_cmdsn - 1);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	down();
}

/* The fake asserts that no command leaves outside the window. */
Test(iscsi_ini, an_absurd_window_changes_nothing)
{
	uint32_t next;

	begin();
	target.window = 1;
	up("/0");
	target.window = 0; /* the next answer closes it */
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	next = pipe_number(1)->exp_cmdsn;
	finished = target.reads = 0;
	submit(0, IO_READ, 0, 0, 512);
	give_window(pipe_number(1), next + 100, next + 10);
	cr_assert_eq(target.reads, 0);
	target.window = 1;
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

Test(iscsi_ini, a_window_that_stays_closed)
{
	begin();
	target.window = 1;
	up("/0");
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	target.window = 0; /* the last answer opens no more */
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(one(IO_READ, 0, 0, 512), -ENOTCONN);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "takes_no_command");
	down();
}

Test(iscsi_ini, a_window_that_opens_after_a_delay)
{
	begin();
	target.window = 1;
	up("/0");
	target.window = 0;
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	finished = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(8000);
	cr_assert_eq(finished, 0);
	target.window = 1;
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

Test(iscsi_ini, a_target_that_takes_no_first_command)
{
	begin();
	target.window = 0;
	refused("/0", ETIMEDOUT, DIAG_TIMEOUT, "takes_no_command");
}

/* ---- What the target asks for. */

static uint32_t pong_ttt;

static bool notes_pongs(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_nop *nop = (const void *)bhs;

	(void)pipe, (void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_NOP_OUT && get_be32(bhs->itt) == ISCSI_NO_TAG)
		pong_ttt = get_be32(nop->ttt);
	return true;
}

Test(iscsi_ini, pings_are_answered)
{
	begin();
	up("/0");
	target.script = notes_pongs;
	for (uint32_t i = 0; i < 20; i++) {
		give_nop(pipe_number(1), ISCSI_NO_TAG, i);
		run_ms(1);
		cr_assert_eq(pong_ttt, i);
	}
	cr_assert_eq(target.pongs, 20);
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG); /* needs no answer */
	run_ms(1);
	cr_assert_eq(target.pongs, 20);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, more_pings_than_anyone_answers)
{
	begin();
	up("/0");
	for (uint32_t i = 0; i < 20; i++)
		give_nop(pipe_number(1), ISCSI_NO_TAG, i);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "NOP-In");
	down();
}

Test(iscsi_ini, an_event_makes_it_look_at_the_size)
{
	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	target.blocks /= 2;
	give_async(pipe_number(0), ISCSI_ASYNC_SCSI, 0);
	run_ms(1);
	cr_assert_eq(disk->lim.size, PIPE_DISK / 2);
	end();
}

Test(iscsi_ini, an_event_that_means_nothing)
{
	begin();
	up("/0");
	give_async(pipe_number(1), ISCSI_ASYNC_NEGOTIATE, 3);
	give_async(pipe_number(1), (enum iscsi_async_event)255, 3);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	down();
}

/* What is in flight ends first: it need not be sent twice. */
Test(iscsi_ini, a_logout_that_the_target_asks_for_waits_for_commands)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(1);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 3);
	run_ms(10);
	submit(1, IO_READ, 0, 0, 512);
	cr_assert_eq(target.logouts, 0);
	give_read(pipe_number(1), last_itt, target.disk, 512);
	turns_until(2);
	cr_assert_eq(request[0].io.status, 0);
	cr_assert_eq(request[1].io.status, -ENOTCONN);
	run_ms(1);
	cr_assert_eq(target.logouts, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_CLOSED, "10.0.0.1:3260", "logout");
	down();
}

Test(iscsi_ini, but_not_longer_than_it_allows)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(1);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 3);
	run_ms(2000);
	cr_assert_eq(finished, 0);
	run_ms(2000);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_eq(lane->state, LANE_DOWN);
	down();
}

static unsigned pings_delayed;

/* The logout is not answered, either. */
static bool answers_nothing(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data, (void)len;
	pings_delayed += pipe->number == 1 && ISCSI_OPCODE(bhs->opcode) == ISCSI_NOP_OUT;
	return pipe->number == 0;
}

/* No PDU follows the request for a logout (the fake asserts it), also if the target is silent. */
Test(iscsi_ini, a_logout_is_not_waited_for_longer_than_30_s)
{
	begin();
	up("/0");
	target.script = answers_nothing;
	pings_delayed = 0;
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 65535);
	run_ms(12000);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 65535); /* once more */
	cr_assert_eq(target.logouts, 1);
	for (unsigned i = 0; i < 17; i++) {
		give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
		run_ms(1000);
	}
	cr_assert_eq(lane->state, LANE_UP);
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
	run_ms(2000);
	cr_assert_eq(lane->state, LANE_DOWN);
	cr_assert_eq(pings_delayed, 0);
	diag_says(&lane->why, DIAG_CLOSED, "10.0.0.1:3260", "logout");
	down();
}

/* The session ends all the same. */
Test(iscsi_ini, an_overdue_command_is_not_aborted_during_a_logout)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = target.aborts = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(20000);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 30);
	run_ms(9000);
	cr_assert_eq(finished, 0);
	run_ms(2000);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_eq(target.aborts, 0);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_CLOSED, "10.0.0.1:3260", "logout");
	down();
}
