/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon on a simulated fabric: what it does once, and what while it stays. */
/* Link: leap */
#include "srp_daemon_rig.h"
#include "srp_rules.h"

/* --- once */

Test(srp_daemon, once_connects_to_all_and_the_second_time_to_none)
{
	fake_fabric.node[1].services = 5;
	once();
	cr_assert_eq(scans, 1);
	cr_assert_eq(srp.lines, 7);
	cr_assert_eq(logins, 7);
	cr_assert_eq(last_err, 0);
	cr_assert_str_eq(srp.line[0],
		"id_ext=0000000000200000,ioc_guid=0000000000200000,dgid="
		"fe800000000000000000000000200000,pkey=ffff,service_id=0000000000200000");
	cr_assert_eq(fake_fabric.informs, 0, "no subscription");
	once();
	cr_assert_eq(srp.lines, 7);
}

Test(srp_daemon, once_does_as_the_rules_say)
{
	static const char text[] = "d id_ext=200001\na id_ext=200002,max_sect=7\n";
	struct srp_rules rules;

	cr_assert_eq(srp_rules_parse(&rules, "rules", text, strlen(text), NULL), 0);
	opts.policy.rules = &rules;
	opts.policy.more.initiator_ext = true;
	once();
	cr_assert_eq(srp.lines, 2);
	cr_assert(strstr(srp.line[0], "id_ext=0000000000200000,"));
	cr_assert(strstr(srp.line[1], ",initiator_ext=0000000000200002,max_sect=7"), "%s",
		srp.line[1]);
	srp_rules_free(&rules);
}

Test(srp_daemon, once_tells_what_failed)
{
	srp.fail = 1;
	srp.err = ECONNREFUSED;
	once();
	cr_assert_eq(srp.lines, 3, "one failure ends nothing, and is not repeated");
	cr_assert_eq(logins, 3);
	fake_fabric.sa_dead = true;
	once();
	cr_assert_eq(failures, 1);
	cr_assert_eq(last_err, -ETIMEDOUT);
	fake_fabric.port[0].state = PORT_DOWN;
	once();
	cr_assert_eq(failures, 2);
	cr_assert_eq(last_err, -ENETDOWN);
	opts.once = true;
	fake_fabric.open_err = EACCES;
	cr_assert_eq(start(), -EACCES);
}

Test(srp_daemon, all_ports_once)
{
	opts.all_ports = opts.once = true;
	fake_fabric.ports = 2;
	fake_fabric.port[1] = fake_fabric.port[0];
	strcpy(fake_fabric.port[1].dev, "eth0");
	fake_fabric.port[1].infiniband = false;
	strcpy(fake_fabric.port[1].link_layer, "Ethernet");
	once();
	cr_assert_eq(srp.lines, 3);
	expect_line("eth0_port_1 Ethernet");
	fake_fabric.port[0].infiniband = false;
	opts.once = true;
	cr_assert_eq(start(), -ENODEV);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "InfiniBand");
}

/* --- as a daemon */

Test(srp_daemon, targets_that_come)
{
	uint64_t began;

	fake_fabric.node[1].management = fake_fabric.node[2].management = false;
	begin();
	run(2);
	cr_assert_eq(srp.lines, 1);
	cr_assert_eq(fake_fabric.subscribed, 7);
	fake_fabric.node[1].management = true;
	began = loop_clock();
	fake_notice(64, GUID + 1, 0);
	run(1);
	cr_assert_eq(srp.lines, 2);
	cr_assert_lt(srp.last_ns - began, 100 * MSEC);
	/* The subnet administrator does not know of it yet */
	began = loop_clock();
	fake_notice(144, 12, 0x00500048 | PORT_CAP_DM);
	run(1);
	cr_assert_eq(srp.lines, 3);
	cr_assert_lt(srp.last_ns - began, 100 * MSEC);
	fake_notice(144, 12, 0x00500048);
	fake_notice(65, GUID, 0);
	run(1);
	cr_assert_eq(srp.lines, 3);
	expect_line("0000000000200002 fe800000000000000000000000200002 host2");
	stop();
	cr_assert_eq(fake_fabric.subscribed, 0, "it has unsubscribed");
	cr_assert_not(fake_fabric.gone);
}

/* Anybody can send them. */
Test(srp_daemon, a_flood_of_notices)
{
	unsigned sent;

	begin();
	run(2);
	sent = fake_fabric.sent;
	for (unsigned burst = 0; burst < 100; burst++) {
		for (unsigned i = 0; i < 20; i++) {
			fake_notice(64, GUID + i % 3, 0);
			fake_notice(144, 10 + i % 3, PORT_CAP_DM);
			fake_notice(144, 1000 + burst * 20 + i, PORT_CAP_DM);
		}
		run(1);
	}
	cr_assert_eq(srp.lines, 3);
	cr_assert_lt(fake_fabric.sent - sent, 100 * 64 * 8, "%u requests for 6000 notices in 100 s",
		fake_fabric.sent - sent);
	cr_assert_lt(log_lines, 5000);
	run(2);
	fake_fabric.node[0].guid += 16;
	fake_notice(64, GUID + 16, 0);
	run(5);
	cr_assert_eq(srp.lines, 4, "and it serves still");
}

Test(srp_daemon, rescans)
{
	opts.rescan_ms = 60000;
	begin();
	run(3600);
	cr_assert_geq(scans, 58);
	cr_assert_leq(scans, 62);
	fake_fabric.sa_dead = true;
	run(3600);
	cr_assert_leq(scans, 62);
	expect_line("fake0_port_1 subnet_administrator LID_2 answer");
	fake_fabric.sa_dead = false;
	run(301);
	scans = 0;
	run(600);
	cr_assert_geq(scans, 9);
}

Test(srp_daemon, other_rules)
{
	struct srp_rules none, some;

	cr_assert_eq(srp_rules_parse(&none, "rules", "d", 1, NULL), 0);
	cr_assert_eq(srp_rules_parse(&some, "rules", "a id_ext=200001\nd", 17, NULL), 0);
	opts.policy.rules = &none;
	begin();
	run(2);
	cr_assert_eq(srp.lines, 0);
	srp_daemon_rules(daemon_, &some);
	srp_rules_free(&none);
	run(2);
	cr_assert_eq(srp.lines, 1);
	stop();
	srp_rules_free(&some);
}

/* Its JSON. */
static const char *known(void)
{
	static char text[16384];
	struct out out;

	memset(text, 0, sizeof(text));
	out_init(&out, "test", true);
	out.to = fmemopen(text, sizeof(text), "w");
	srp_daemon_show(daemon_, &out, false);
	out_fini(&out, NULL);
	fclose(out.to);
	return text;
}

static unsigned count(const char *text, const char *word)
{
	unsigned found = 0;

	for (; (text = strstr(text, word)); text++)
		found++;
	return found;
}

Test(srp_daemon, what_it_knows)
{
	struct srp_rules rules;
	const char *seen;
	char text[128];

	cr_assert_eq(srp_rules_parse(&rules, "rules", "d id_ext=200001", 15, NULL), 0);
	opts.policy.rules = &rules;
	srp.fail = 1;
	srp.err = ECONNREFUSED;
	begin();
	run(1);
	seen = known();
	cr_assert_eq(count(seen, "\"rdma_device\""), 1);
	cr_assert_eq(count(seen, "\"id_ext\""), 3);
	text_says(seen, "\"state\":\"serving\" \"subscribed\":true \"targets_connected\":1 "
			"\"targets_failed\":1 \"targets_denied\":1 \"scans\":1 "
			"\"scan_age_seconds\":1. \"state\":\"denied\" "
			"\"state\":\"connected\",\"host\":\"host0\" \"state\":\"failed\",\"error\" "
			"\"code\":\"refused\",\"errno\":\"ECONNREFUSED\" \"text\":\"refused\"");
	text_says(srp_daemon_summary(daemon_, text), "1_of_1_port 1_target 1_failed");
	stop();
	srp_rules_free(&rules);
}

static void cut_table(void *arg, uint8_t *datagram, size_t *len)
{
	(void)arg;
	(void)datagram;
	if (*len > MAD_LEN)
		*len -= 30;
}

Test(srp_daemon, targets_missing_in_a_truncated_table_stay)
{
	opts.rescan_ms = 60000;
	begin();
	run(2);
	fake_fabric.mangle = cut_table;
	scans = 0;
	run(90);
	expect_line("fake0_port_1 LID_2 table record");
	cr_assert_geq(scans, 3, "the query is retried soon");
	cr_assert_eq(count(known(), "\"id_ext\""), 3);
	stop();
}

Test(srp_daemon, it_stops_in_the_middle_of_anything)
{
	for (unsigned ms = 0; ms < 120; ms += 7) {
		int never = 0;

		srp.ms = 50;
		over = 0;
		begin();
		loop_wait(loop, &never, loop_clock() + ms * MSEC);
		stop();
	}
}
