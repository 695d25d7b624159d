/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon among ports that do not answer. */
/* Link: leap */
#include "srp_daemon_rig.h"

Test(srp_daemon, a_port_that_does_not_answer)
{
	fake_fabric.node[1].dead = true;
	begin();
	run(3600);
	cr_assert_eq(srp.lines, 2);
	cr_assert_leq(log_lines, 12, "%s", log_text);
	expect_line("fake0_port_1 LID_11 fe800000000000000000000000200001 answer");
	fake_fabric.node[1].dead = false;
	run(600);
	cr_assert_eq(srp.lines, 2, "given up");
	fake_notice(64, GUID + 1, 0);
	run(2);
	cr_assert_eq(srp.lines, 3, "until it is heard of");
}

Test(srp_daemon, the_living_do_not_wait_for_the_dead)
{
	uint64_t began = loop_clock();

	opts.limits.answer_ms = 5000;
	fake_fabric.node[1].dead = true;
	begin();
	run(1);
	cr_assert_eq(srp.lines, 2);
	cr_assert_lt(srp.last_ns - began, 100 * MSEC);
	cr_assert_eq(scans, 0);
	run(10);
	cr_assert_eq(srp.lines, 2);
}

Test(srp_daemon, one_that_comes_does_not_wait_for_the_dead_either)
{
	uint64_t began;

	opts.limits.answer_ms = 5000;
	opts.rescan_ms = 10000;
	fake_fabric.node[1].dead = true;
	fake_fabric.node[2].management = false;
	begin();
	for (unsigned i = 0; i < 20; i++) {
		unsigned lines;

		run(3);
		lines = srp.lines;
		fake_fabric.node[2].guid++;
		fake_fabric.node[2].management = true;
		began = loop_clock();
		fake_notice(64, fake_fabric.node[2].guid, 0);
		run(1);
		cr_assert_eq(srp.lines, lines + 1, "round %u", i);
		cr_assert_lt(srp.last_ns - began, 100 * MSEC);
	}
}

Test(srp_daemon, many_ports_that_do_not_answer)
{
	fake_fabric_free();
	fake_fabric_init(300);
	for (unsigned i = 0; i < 297; i++)
		fake_fabric.node[i].dead = true;
	begin();
	run(3600);
	cr_assert_eq(srp.lines, 3);
	cr_assert_leq(scans, 40, "%u scans", scans);
	cr_assert_leq(
		fake_fabric.dm_sent, 3 * (297 + 6 * SRP_DEAD), "%u requests", fake_fabric.dm_sent);
}

/* Each notice names another port: the table of them overflows into scans of the whole fabric. */
Test(srp_daemon, many_ports_that_come_at_once)
{
	fake_fabric_free();
	fake_fabric_init(300);
	for (unsigned i = 0; i < 300; i++)
		fake_fabric.node[i].management = false;
	begin();
	run(5);
	cr_assert_eq(srp.lines, 0);
	for (unsigned i = 0; i < 300; i++) {
		fake_fabric.node[i].management = true;
		fake_notice(64, GUID + i, 0);
	}
	run(10);
	cr_assert_eq(srp.lines, 300);
	cr_assert_eq(srp.most_busy, 1);
	cr_assert_leq(scans, 10);
}
