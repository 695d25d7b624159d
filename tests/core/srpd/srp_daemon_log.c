/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon over a day, and what of it is written to a log. */
/* Link: leap */
#include "srp_daemon_rig.h"

static struct srp_log log_;
static unsigned written;
static char last_written[SRP_LOG_LEN];

static void write_line(struct srp_log *log, const char *line)
{
	(void)log;
	written++;
	snprintf(last_written, sizeof(last_written), "%s", line);
}

static void say_once(void *arg, const char *line)
{
	(void)arg;
	log_lines++;
	srp_daemon_log_add(&log_, line);
}

Test(srp_daemon, a_day)
{
	struct srp_daemon_events to_log = events;
	size_t used = 0;

	to_log.log = say_once;
	log_ = (struct srp_log){ .loop = loop, .each_ms = 600000, .write = write_line };
	opts.rescan_ms = 60000;
	opts.port = fake_fabric.port[0];
	fake_fabric.node[1].dead = true;
	fake_fabric.node[2].service_name = "SRP.T10:x%u";
	cr_assert_eq(srp_daemon_start(&daemon_, loop, &opts, &to_log, &why), 0);
	for (unsigned hour = 0; hour < 24; hour++) {
		fake_fabric.sa_dead = hour == 3;
		fake_fabric.port[0].sm_lid = hour == 3 ? 2 : (uint16_t)(2 + hour % 2);
		fake_fabric.port[0].state = hour == 5 ? PORT_DOWN : PORT_ACTIVE;
		srp.fail = hour == 7 ? 1000 : 0;
		srp.err = ECONNREFUSED;
		if (hour == 7)
			lose_host(0);
		fake_notice(64, GUID + hour % 3, 0);
		run(3600);
		if (hour == 8)
			used = mallinfo2().uordblks;
	}
	cr_assert_leq(mallinfo2().uordblks, used + 4096, "%zu after %zu bytes",
		mallinfo2().uordblks, used);
	cr_assert_geq(scans, 21 * 59);
	cr_assert_leq(scans, 25 * 60);
	cr_assert_eq(srp.hosts, 2);
	cr_assert_leq(srp.lines, 30, "%u logins", srp.lines);
	cr_assert_geq(log_lines, 1000);
	cr_assert_leq(written, 600, "%u lines of %u", written, log_lines);
	stop();
	srp_daemon_log_end(&log_);
}

Test(srp_daemon, a_repeated_line_is_written_seldom)
{
	char text[16];

	log_ = (struct srp_log){ .loop = loop, .each_ms = 10000, .write = write_line };
	for (unsigned i = 0; i < 90; i++) {
		srp_daemon_log_add(&log_, "the same");
		run(1);
	}
	cr_assert_geq(written, 8);
	cr_assert_leq(written, 11, "%u", written);
	run(100);
	text_says(last_written, "the_same_( 10_s)");
	written = 0;
	srp_daemon_log_add(&log_, "the same");
	cr_assert_eq(written, 1, "the line has expired, so it is written at once");
	for (unsigned i = 0; i < 2 * SRP_LOG_LINES; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		srp_daemon_log_add(&log_, text);
	}
	cr_assert_eq(written, 1 + 2 * SRP_LOG_LINES, "others are");
	snprintf(text, sizeof(text), "line %u", 2 * SRP_LOG_LINES - 1);
	srp_daemon_log_add(&log_, text);
	srp_daemon_log_end(&log_);
	cr_assert_eq(written, 2 + 2 * SRP_LOG_LINES);
	text_says(last_written, text);
	text_says(last_written, "(1_ 0_s)");
}

Test(srp_daemon, many_lines_that_differ_have_an_end)
{
	char text[16];

	log_ = (struct srp_log){ .loop = loop, .each_ms = 10000, .write = write_line };
	for (unsigned i = 0; i < 2 * SRP_LOG_MOST; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		srp_daemon_log_add(&log_, text);
	}
	cr_assert_eq(written, SRP_LOG_MOST + 1);
	text_says(last_written, "2000_lines 10_s");
	run(11);
	cr_assert_eq(written, SRP_LOG_MOST + 2);
	text_says(last_written, "2000_lines");
	written = 0;
	srp_daemon_log_add(&log_, "another");
	cr_assert_str_eq(last_written, "another");
	cr_assert_eq(written, 1);
	srp_daemon_log_end(&log_);
}
