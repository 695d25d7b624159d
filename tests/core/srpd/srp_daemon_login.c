/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logins of the SRP daemon that fail, and connections that go. */
/* Link: leap */
#include "srp_daemon_rig.h"

Test(srp_daemon, a_login_that_fails_is_tried_again_and_not_too_often)
{
	srp.fail = 1000;
	srp.err = ECONNREFUSED;
	fake_fabric.nodes = 1;
	begin();
	run(3600);
	cr_assert_geq(srp.lines, 15);
	cr_assert_leq(srp.lines, 25, "%u logins", srp.lines);
	expect_line("0000000000200000 fe800000000000000000000000200000 refused");
	srp.fail = 0;
	run(301);
	cr_assert_eq(srp.hosts, 1);
	run(3600);
	cr_assert_eq(srp.hosts, 1);
}

Test(srp_daemon, a_connection_that_goes_is_made_again)
{
	begin();
	run(5);
	cr_assert_eq(srp.lines, 3);
	lose_host(1);
	run(21);
	cr_assert_eq(srp.lines, 4);
	/* It came, and it went. */
	cr_assert_eq(lines_saying(log_text, "0000000000200001 host1"), 2, "%s", log_text);
}

static void lose_one(void *arg, uint8_t *datagram, size_t *len)
{
	(void)arg;
	(void)datagram;
	(void)len;
	fake_fabric.mangle = NULL;
	lose_host(1);
}

/* The scan began when the kernel still had it. */
Test(srp_daemon, a_connection_that_goes_during_a_scan)
{
	opts.rescan_ms = 60000;
	opts.recheck_ms = 10000000;
	begin();
	run(2);
	cr_assert_eq(srp.lines, 3);
	fake_fabric.mangle = lose_one;
	run(70);
	cr_assert_null(fake_fabric.mangle);
	cr_assert_eq(srp.lines, 4, "%u logins", srp.lines);
}

Test(srp_daemon, another_path_to_a_connected_target)
{
	srp.fail = 1;
	srp.err = EEXIST;
	fake_fabric.nodes = 1;
	begin();
	run(1);
	expect_line("0000000000200000 connected path -n");
	run(3);
	cr_assert_eq(srp.hosts, 1, "it may go");
}

Test(srp_daemon, a_login_that_succeeds_while_the_daemon_stops)
{
	srp.hangs = true;
	fake_fabric.nodes = 1;
	begin();
	run(1);
	cr_assert_eq(srp.busy, 1);
	cr_assert_eq(lines_saying(log_text, "connected"), 0, "%s", log_text);
	stop();
	cr_assert_eq(srp.busy, 0);
	cr_assert_eq(srp.hosts, 1);
	expect_line("0000000000200000 connected host0");
}

Test(srp_daemon, a_login_that_the_end_of_the_daemon_ends)
{
	srp.ms = 50000;
	fake_fabric.nodes = 1;
	begin();
	run(1);
	cr_assert_eq(srp.busy, 1);
	stop();
	cr_assert_eq(srp.hosts, 0);
	cr_assert_eq(lines_saying(log_text, "connected"), 0, "%s", log_text);
}
