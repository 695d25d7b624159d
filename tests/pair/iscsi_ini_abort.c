/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Overdue commands of the iSCSI initiator over TCP: each is aborted and sent once more; if that
 * fails, the session ends. */
/* Link: leap */
#include "iscsi_ini_rig.h"

/* The others go on, and the same command is given once more. */
Test(iscsi_ini, an_overdue_command_is_aborted_and_sent_again)
{
	uint64_t from;

	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	from = loop_clock();
	cr_assert_eq(one(IO_WRITE, 0, 0, 65536), 0);
	cr_assert_geq(loop_clock() - from, 30000000000ull);
	cr_assert_eq(target.aborts, 1);
	cr_assert_eq(target.writes, 1);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

/* The second time, another path or a new session is to be tried. */
Test(iscsi_ini, but_only_once)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1000;
	cr_assert_eq(one(IO_READ, 0, 0, 512), -ENOTCONN);
	cr_assert_eq(target.aborts, 1);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

/* Each has a time limit of its own, also while another is aborted. */
Test(iscsi_ini, several_overdue_commands)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 3;
	finished = target.aborts = 0;
	for (unsigned i = 0; i < 5; i++) {
		submit(i, IO_WRITE, 0, i * 65536, 65536);
		run_ms(1000);
	}
	cr_assert_eq(finished, 2);
	run_ms(24000);
	cr_assert_eq(target.aborts, 0);
	run_ms(5000);
	cr_assert_eq(target.aborts, 3);
	turns_until(5);
	cr_assert_eq(target.writes, 5);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static uint8_t abort_response;

static bool aborts_badly(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_TASK_REQ)
		return keeps_silent(pipe, bhs, data, len);
	target.aborts++;
	if (abort_response == 1) /* it has just ended */
		give_read(pipe, last_itt, target.disk, 512);
	if (abort_response != 0xee)
		give_plain(pipe, ISCSI_TASK_RSP, get_be32(bhs->itt), abort_response, true);
	return false;
}

Test(iscsi_ini, a_command_that_ends_before_its_abort)
{
	begin();
	up("/0");
	target.script = aborts_badly;
	unanswered = abort_response = 1;
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(target.aborts, 1);
	cr_assert_eq(target.reads, 0);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static uint32_t kept_itt[2];
static unsigned kept;

/* Reads are not answered, and an abort of the first one as if it were of the second one. */
static bool aborts_another(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;

	(void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_TASK_REQ) {
		target.aborts++;
		cr_assert_eq(get_be32(bhs->itt), kept_itt[0] | ABORT);
		give_plain(pipe, ISCSI_TASK_RSP, kept_itt[1] | ABORT, ISCSI_TASK_COMPLETE, true);
		return false;
	}
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || !is_rw(cmd->cdb))
		return true;
	if (kept < 2)
		kept_itt[kept] = get_be32(bhs->itt);
	kept++;
	return false;
}

static void two_kept(void)
{
	begin();
	up("/0");
	target.script = aborts_another;
	kept = finished = target.aborts = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(15000);
	submit(1, IO_READ, 0, 512, 512);
}

/* A second try of a command that may still be executed would be one too many. */
Test(iscsi_ini, the_answer_to_an_abort_ends_no_other_command)
{
	two_kept();
	run_ms(16000);
	cr_assert_eq(target.aborts, 1);
	cr_assert_eq(kept, 2);
	cr_assert_eq(finished, 0);
	give_read(pipe_number(1), kept_itt[1], target.disk + 512, 512);
	turns_until(1);
	cr_assert_eq(request[1].io.status, 0);
	turns_until(2);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	run_ms(1);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

/* The tag of the command, which is not that of the abort. */
Test(iscsi_ini, an_abort_is_answered_by_its_own_tag)
{
	two_kept();
	target.script = aborts_badly; /* not at all */
	abort_response = 0xee;
	unanswered = 1000;
	run_ms(15500);
	cr_assert_eq(target.aborts, 1);
	give_plain(pipe_number(1), ISCSI_TASK_RSP, kept_itt[0], ISCSI_TASK_COMPLETE, true);
	run_ms(10);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "not_asked");
	down();
}

static void abort_fails(uint8_t response)
{
	begin();
	up("/0");
	target.script = aborts_badly;
	unanswered = 1;
	abort_response = response;
	cr_assert_eq(one(IO_READ, 0, 0, 512), -ENOTCONN);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

static void many_overdue(unsigned count)
{
	finished = target.aborts = 0;
	unanswered = count;
	for (unsigned i = 0; i < count; i++)
		submit(i, IO_READ, 0, i * 512, 512);
	turns_until(count);
}

/* More aborts than a carrier can send at once. */
Test(iscsi_ini, many_commands_overdue_at_once)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	many_overdue(30);
	for (unsigned i = 0; i < 30; i++)
		cr_assert_eq(request[i].io.status, 0);
	cr_assert_eq(target.aborts, 30);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, many_aborts_without_an_answer)
{
	begin();
	up("/0");
	target.script = aborts_badly;
	abort_response = 0xee;
	many_overdue(30);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_leq(target.aborts, 4);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

/* It may still be executed, which only the end of the session tells. */
Test(iscsi_ini, a_target_that_does_not_abort)
{
	abort_fails(ISCSI_TASK_UNSUPPORTED);
	abort_fails(ISCSI_TASK_REJECTED);
	abort_fails(0xee); /* no answer */
}
