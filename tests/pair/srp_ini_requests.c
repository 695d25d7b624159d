/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of the SRP initiator in flight: the request limit, overdue commands and their aborts;
 * and requests of the target. */
/* Link: leap */
#include "srp_ini_rig.h"

/* --- the request limit */

Test(srp_ini, the_request_limit_holds)
{
	ten_held(3);
	cr_assert_eq(held, 3);
	answer(0, 1);
	cr_assert_eq(held, 4, "one for one");
	answer(1, 0);
	cr_assert_eq(held, 4, "the limit is less");
	answer(2, 3);
	cr_assert_eq(held, 7, "and more");
	credit(2);
	cr_assert_eq(held, 9, "without an answer");
	credit(-1);
	answer(3, 1);
	cr_assert_eq(held, 9, "and back");
	answer(4, 1);
	cr_assert_eq(held, 10);
	cr_assert_eq(finished, 5);
	for (unsigned i = 5; i < 10; i++)
		answer(i, 1);
	cr_assert_eq(finished, 10);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static void shut(unsigned seconds)
{
	ten_held(1);
	answer(0, 0);
	cr_assert_eq(held, 1);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + seconds * 1000000000ull);
}

Test(srp_ini, a_request_limit_that_is_raised_after_a_delay)
{
	shut(29);
	cr_assert_eq(finished, 1);
	credit(2);
	cr_assert_eq(held, 3);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 20000000000ull);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, a_request_limit_that_is_never_raised_ends_the_channel)
{
	shut(31);
	cr_assert_eq(finished, 10);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "takes_no_command");
	cr_assert_eq(request_of[9].io.status, -ENOTCONN);
	down();
}

/* --- commands without an answer */

Test(srp_ini, an_overdue_command_is_aborted_and_sent_again)
{
	delay_one();
	answer_task(0, 2);
	wait_until(&held, 12);
	cr_assert_arr_eq(hold[11].cdb, hold[0].cdb, 16);
	answer(11, 1);
	cr_assert_eq(finished, 11);
	cr_assert_eq(request_of[0].io.status, 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

/* Another channel, or another path, may help. */
Test(srp_ini, a_command_that_is_overdue_again_ends_the_channel)
{
	delay_one();
	answer_task(0, 2);
	wait_until(&held, 12);
	submit(1, IO_READ, 0, 0, 512);
	pass();
	answer(12, 1);
	wait_until(&finished, 12);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "read no_answer");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	down();
}

/* The target may look for the tag after it has answered the command. */
Test(srp_ini, a_tag_is_not_used_again_before_its_abort_is_answered)
{
	delay_one();
	answer(0, 1);
	cr_assert_eq(finished, 10);
	for (unsigned i = 1; i < 64; i++)
		submit(i, IO_READ, 0, 0, 512);
	pass();
	cr_assert_eq(held, 11 + 62, "one of the requests is the abort's");
	for (unsigned i = 11; i < held; i++)
		cr_assert_neq(get_be64(hold[i].tag), get_be64(hold[0].tag));
	answer_task(5, 1);
	cr_assert_eq(request_of[0].io.status, 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, a_refused_abort_ends_the_channel)
{
	delay_one();
	answer_task(4, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "read no_abort");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	down();
}

Test(srp_ini, a_dead_target_is_not_waited_for_command_by_command)
{
	tasks = 0;
	ten_held(64);
	wait_until(&finished, 10);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "read no_answer");
	down();
}

/* No request of the limit is left for an abort, until one is answered. */
static void delay_at_the_limit(void)
{
	tasks = 0;
	ten_held(3);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 31000000000ull);
	cr_assert_eq(tasks, 0);
	cr_assert_eq(held, 3);
	answer(1, 1);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(held, 3);
}

Test(srp_ini, an_abort_waits_for_the_request_limit)
{
	delay_at_the_limit();
	answer_task(0, 2);
	cr_assert_eq(held, 5);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, an_abort_takes_the_request_that_the_target_gives)
{
	tasks = 0;
	ten_held(3);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 31000000000ull);
	credit(1);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(held, 3);
	down();
}

/* Only a response does, and it has none. */
Test(srp_ini, an_aborted_command_gives_no_request_back)
{
	delay_at_the_limit();
	answer_task(0, 1);
	cr_assert_eq(held, 4);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static unsigned answers;

static bool count_answers(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
{
	(void)me;
	if (n != 1 || cmd->opcode == SRP_CMD)
		return true;
	cr_assert_eq(len, sizeof(struct srp_plain));
	cr_assert_eq(((const struct srp_plain *)(const void *)cmd)->tag.b[7], 7);
	answers += cmd->opcode == SRP_CRED_RSP || cmd->opcode == SRP_AER_RSP;
	return true;
}

Test(srp_ini, the_target_s_requests_are_answered)
{
	struct srp_cred_req credits = { .opcode = SRP_CRED_REQ, .tag.b[7] = 7 };
	struct srp_aer_req event = { .opcode = SRP_AER_REQ, .tag.b[7] = 7 };

	up("/0");
	target.script = count_answers;
	for (int i = 0; i < 10; i++) {
		cr_assert(ep_pair_deliver(target.chan[1], &credits, sizeof(credits)));
		cr_assert(ep_pair_deliver(target.chan[1], &event, sizeof(event)));
		pass();
	}
	cr_assert_eq(answers, 20);
	work();
	down();
}

Test(srp_ini, an_event_makes_it_look_at_the_size)
{
	struct srp_aer_req event = { .opcode = SRP_AER_REQ };

	up("/0");
	target.blocks /= 2;
	cr_assert(ep_pair_deliver(target.chan[0], &event, sizeof(event)));
	pass();
	cr_assert_eq(disk->lim.size, SRP_DISK / 2);
	down();
}
