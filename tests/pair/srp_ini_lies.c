/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Targets that lie to the SRP initiator: the channel ends, and no request succeeds. */
/* Link: leap */
#include "srp_ini_rig.h"

static void breaks(enum diag_code code, const char *words, const void *bytes, uint32_t len)
{
	ten_held(64);
	cr_assert_eq(held, 10);
	cr_assert(ep_pair_deliver(target.chan[1], bytes, len));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, code, "10.0.0.1:5555", words);
	cr_assert_eq(finished, 10);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(request_of[i].io.status, -ENOTCONN);
	down();
}

static struct srp_rsp rsp_of(uint64_t tag)
{
	return (struct srp_rsp){ .opcode = SRP_RSP, .delta = put_be32(1), .tag = put_be64(tag) };
}

Test(srp_ini, lies)
{
	struct srp_rsp rsp = rsp_of(11);
	struct srp_t_logout logout = { .opcode = SRP_T_LOGOUT, .reason = put_be32(4) };
	struct srp_cred_req req = { .opcode = SRP_CRED_REQ, .delta = put_be32(0x80000000) };

	breaks(DIAG_PROTOCOL, "in_flight", &rsp, sizeof(rsp));
	rsp.tag = put_be64(1ull << 32);
	breaks(DIAG_PROTOCOL, "in_flight", &rsp, sizeof(rsp));
	rsp = rsp_of(0);
	breaks(DIAG_PROTOCOL, "36_bytes", &rsp, 35);
	rsp.flags = SRP_RSP_SENSE;
	rsp.sense_len = put_be32(1);
	breaks(DIAG_PROTOCOL, "sense_data", &rsp, sizeof(rsp));
	rsp.flags = SRP_RSP_SENSE | SRP_RSP_DATA;
	rsp.data_len = put_be32(0xffffffff);
	breaks(DIAG_PROTOCOL, "sense_data", &rsp, sizeof(rsp));
	rsp = rsp_of(0);
	rsp.delta = put_be32(0x80000000);
	breaks(DIAG_PROTOCOL, "request_limit", &rsp, sizeof(rsp));
	breaks(DIAG_PROTOCOL, "request_limit", &req, sizeof(req));
	breaks(DIAG_PROTOCOL, "too_short", &req, 15);
	req.opcode = SRP_AER_REQ;
	breaks(DIAG_PROTOCOL, "too_short", &req, sizeof(req));
	req.opcode = SRP_LOGIN_RSP;
	breaks(DIAG_PROTOCOL, "type", &req, sizeof(req));
	breaks(DIAG_PROTOCOL, "type", &req, 0);
	breaks(DIAG_CLOSED, "logged_out 0x4", &logout, sizeof(logout));
}

/* To a command that has ended, or was aborted, whose place another one has by now. */
static void answered_twice(unsigned first, unsigned next)
{
	struct srp_rsp rsp = rsp_of(get_be64(hold[first].tag));

	cr_assert_eq((uint16_t)get_be64(hold[next].tag), (uint16_t)get_be64(hold[first].tag));
	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:5555", "in_flight");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	down();
}

Test(srp_ini, a_second_answer_is_not_the_next_command_s)
{
	ten_held(64);
	answer(0, 1);
	submit(0, IO_READ, 0, 0, 512);
	pass();
	cr_assert_eq(held, 11);
	answered_twice(0, 10);
}

Test(srp_ini, an_answer_after_the_abort_s_is_not_the_next_try_s)
{
	delay_one();
	answer_task(0, 2);
	wait_until(&held, 12);
	answered_twice(0, 11);
}

/* Status GOOD with a residual. */
Test(srp_ini, residuals_of_either_kind_are_errors)
{
	static const uint8_t flags[] = { SRP_RSP_IN_UNDER, SRP_RSP_OUT_UNDER, SRP_RSP_IN_OVER,
		SRP_RSP_OUT_OVER, SRP_RSP_OUT_UNDER | SRP_RSP_IN_UNDER,
		SRP_RSP_OUT_OVER | SRP_RSP_IN_UNDER };

	ten_held(64);
	for (unsigned i = 0; i < sizeof(flags); i++) {
		struct srp_rsp rsp = rsp_of(get_be64(hold[i].tag));

		rsp.flags = flags[i];
		if (flags[i] == SRP_RSP_OUT_UNDER)
			rsp.out_residual = put_be32(1);
		else if (flags[i] & SRP_RSP_IN_UNDER)
			rsp.in_residual = put_be32(0xffffffff);
		cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
		pass();
		cr_assert_eq(finished, i + 1);
		cr_assert_eq(request_of[i].io.status, -EIO, "flags %#x", flags[i]);
	}
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, a_response_code_says_that_the_command_is_invalid)
{
	uint8_t bytes[sizeof(struct srp_rsp) + 4] = { 0 };
	struct srp_rsp rsp = rsp_of(0);

	rsp.flags = SRP_RSP_DATA;
	rsp.data_len = put_be32(4);
	memcpy(bytes, &rsp, sizeof(rsp));
	bytes[sizeof(bytes) - 1] = 2;
	breaks(DIAG_PROTOCOL, "invalid", bytes, sizeof(bytes));
}

Test(srp_ini, an_answer_that_comes_twice)
{
	struct srp_rsp rsp = rsp_of(0);

	ten_held(64);
	rsp.tag = hold[0].tag;
	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "in_flight");
	cr_assert_eq(finished, 10);
	down();
}

Test(srp_ini, requests_without_waiting_for_answers)
{
	struct srp_cred_req req = { .opcode = SRP_CRED_REQ };

	target.peer.delayed_sent = true;
	up("/0");
	for (int i = 0; i < 5; i++)
		ep_pair_deliver(target.chan[1], &req, sizeof(req));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "wait");
	down();
}

Test(srp_ini, a_key_that_nobody_gave)
{
	struct srp_rsp rsp = rsp_of(0);

	ten_held(64);
	cr_assert(ep_pair_deliver_inval(target.chan[1], &rsp, sizeof(rsp), 1));
	pass();
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "key");
	down();
}
