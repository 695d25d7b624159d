/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon and the ports of its own machine, their subnet manager and administrator. */
/* Link: leap */
#include "srp_daemon_rig.h"

Test(srp_daemon, a_subnet_administrator_that_is_away)
{
	fake_fabric.node[2].management = false;
	begin();
	run(2);
	fake_fabric.node[2].management = true;
	fake_fabric.sa_dead = true;
	fake_notice(144, 12, PORT_CAP_DM);
	run(1800);
	cr_assert_eq(srp.lines, 2);
	cr_assert_leq(scans, 15);
	fake_fabric.sa_dead = false;
	run(301);
	cr_assert_eq(srp.lines, 3, "what it did not tell then is not forgotten");
}

Test(srp_daemon, the_port_itself_changes)
{
	fake_fabric.port[0].state = PORT_INIT;
	fake_fabric.port[0].pkeys = 2;
	begin();
	run(60);
	cr_assert_eq(scans, 0);
	cr_assert_eq(log_lines, 1);
	expect_line("fake0_port_1 INIT subnet_manager");
	fake_fabric.port[0].state = PORT_ACTIVE;
	run(3);
	cr_assert_eq(scans, 2, "at once, and when notices come");
	cr_assert_eq(srp.lines, 3);
	expect_line("fake0_port_1 ACTIVE LID_1");
	fake_fabric.port[0].pkey[1] = 0x8001;
	run(20); /* a long table is looked at piece by piece */
	cr_assert_eq(scans, 3, "%u\n%s", scans, log_text);
	fake_fabric.port[0].sm_lid = 3;
	run(3);
	cr_assert_eq(scans, 4);
	expect_line("fake0_port_1 subnet_manager LID_3");
	fake_fabric.port[0].state = PORT_DOWN;
	run(3);
	expect_line("fake0_port_1 DOWN");
	cr_assert_eq(scans, 4);
}

Test(srp_daemon, a_subnet_manager_that_has_forgotten)
{
	fake_events.open_err = 0;
	begin();
	run(2);
	cr_assert_eq(fake_events.open, 1);
	fake_fabric.subscribed = 0;
	fake_event("fake0", 2, PORT_EVENT_REREGISTER);
	run(2);
	cr_assert_eq(fake_fabric.subscribed, 0, "that was another port");
	fake_event("fake0", 1, PORT_EVENT_REREGISTER);
	run(2);
	cr_assert_eq(fake_fabric.subscribed, 7);
	cr_assert_eq(scans, 2);
	stop();
	cr_assert_eq(fake_events.open, 0);
}

Test(srp_daemon, without_notices_it_says_so)
{
	fake_fabric.reports_taken = true;
	begin();
	run(60);
	expect_line("fake0_port_1 --rescan_SECONDS");
	cr_assert_eq(srp.lines, 3);
	fake_fabric.reports_taken = false;
	fake_fabric.node[0].guid += 16;
	run(120);
	cr_assert_eq(srp.lines, 4, "the first scan after notices work again finds the new target");
}

Test(srp_daemon, a_device_that_goes_and_comes)
{
	unsigned lines;

	opts.all_ports = true;
	begin();
	run(2);
	cr_assert_eq(srp.lines, 3);
	fake_fabric.gone = true;
	fake_fabric.ports = 0;
	lines = log_lines;
	run(11);
	cr_assert_gt(log_lines, lines, "%s", log_text);
	fake_fabric.gone = false;
	fake_fabric.ports = 1;
	tree_dir(&tree, "sys/class/infiniband/fake0");
	scans = 0;
	run(3);
	cr_assert_eq(scans, 1);
	cr_assert_eq(srp.lines, 3, "the connections have stayed");
	cr_assert_leq(log_lines, 8, "%s", log_text);
}

Test(srp_daemon, ports_that_come_later)
{
	opts.all_ports = true;
	fake_fabric.ports = 0;
	begin();
	run(5);
	cr_assert_eq(log_lines, 0);
	fake_fabric.ports = 1;
	tree_dir(&tree, "sys/class/infiniband_mad/umad0");
	run(3);
	cr_assert_eq(srp.lines, 3);
}

Test(srp_daemon, a_port_that_changes_its_link)
{
	opts.all_ports = true;
	begin();
	run(2);
	fake_fabric.port[0].infiniband = false;
	strcpy(fake_fabric.port[0].link_layer, "Ethernet");
	run(11);
	expect_line("fake0_port_1 Ethernet");
	cr_assert_eq(fake_fabric.subscribed, 0);
	fake_fabric.port[0].infiniband = true;
	scans = 0;
	run(11);
	cr_assert_eq(scans, 1);
}
