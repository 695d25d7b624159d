/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon on a fabric in memory, with a kernel of the test's own behind add_target, on a clock that leaps. */
#include "srp_daemon.h"
#include "events.h"
#include "leap.h"
#include "mad_port.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSEC   1000000ull
#define SECOND 1000000000ull
#define SRP_DEAD 70 /* ports that may be remembered as silent, and some */
#define GUID   0x200000 /* of the first node, which is also its identifier extension */

/* --- ib_srp: core/kernel/srp_add.c is not linked */

static struct {
	char line[64][MAD_SRP_LINE];
	unsigned lines, hosts, busy, most_busy;
	uint64_t last_ns;
	unsigned fail; /* so many logins, */
	int err; /* like this */
	uint32_t ms; /* that a login takes */
} srp;

static struct {
	struct kernel_srp_add *add;
	char line[MAD_SRP_LINE];
} login;

static struct tree tree;
static struct loop *loop;

static void host_file(unsigned host, const char *name, const char *fmt, unsigned long long value)
{
	char path[96], text[64];

	snprintf(path, sizeof(path), "sys/class/scsi_host/host%u/%s", host, name);
	snprintf(text, sizeof(text), fmt, value);
	tree_file(&tree, path, text);
}

static void make_host(const char *line)
{
	unsigned long long id, ioc, prefix, guid, pkey, service;
	unsigned host = srp.hosts++;
	char gid[64];

	cr_assert_eq(sscanf(line, "id_ext=%llx,ioc_guid=%llx,dgid=%16llx%16llx,pkey=%llx,service_id=%llx", &id, &ioc, &prefix, &guid, &pkey,
			     &service), 6, "%s", line);
	host_file(host, "id_ext", "0x%016llx\n", id);
	host_file(host, "ioc_guid", "0x%016llx\n", ioc);
	host_file(host, "service_id", "0x%016llx\n", service);
	host_file(host, "pkey", "0x%04llx\n", pkey);
	snprintf(gid, sizeof(gid), "fe80:0000:0000:0000:%04llx:%04llx:%04llx:%04llx\n", guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
		guid & 0xffff);
	host_file(host, "local_ib_device", "fake0\n", 0);
	host_file(host, "local_ib_port", "1\n", 0);
	snprintf(login.line, sizeof(login.line), "sys/class/scsi_host/host%u/orig_dgid", host);
	tree_file(&tree, login.line, gid);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void lose_host(unsigned host)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/sys/class/scsi_host/host%u", tree.path, host);
	cr_assert_eq(nftw(path, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void login_ends(struct loop_timer *timer)
{
	struct kernel_srp_add *add = container_of(timer, struct kernel_srp_add, deadline);
	struct diag diag = { 0 };
	int err = 0;

	srp.busy--;
	if (srp.fail) {
		srp.fail--;
		err = srp.err == EEXIST ? diag_set(&diag, DIAG_BUSY, EEXIST, "connected already") : diag_set(&diag, DIAG_REFUSED, srp.err, "refused");
	} else {
		make_host(login.line);
	}
	login.add = NULL;
	add->done(add, err, &diag);
}

int kernel_srp_add_start(int root, struct kernel_srp_add *add, const char *dev, unsigned port, const char *line, uint32_t timeout_ms,
	struct diag *diag)
{
	(void)timeout_ms;
	(void)diag;
	cr_assert_eq(root, tree.root);
	cr_assert_str_eq(dev, "fake0");
	cr_assert_eq(port, 1);
	cr_assert_null(login.add, "the kernel takes one at a time");
	srp.busy++;
	srp.most_busy = srp.busy > srp.most_busy ? srp.busy : srp.most_busy;
	srp.last_ns = loop_clock();
	snprintf(srp.line[srp.lines++ % 64], MAD_SRP_LINE, "%s", line);
	snprintf(login.line, sizeof(login.line), "%s", line);
	login.add = add;
	add->deadline.fire = login_ends;
	loop_timer_set(loop, &add->deadline, loop_clock() + srp.ms * MSEC);
	return 0;
}

void kernel_srp_add_stop(struct kernel_srp_add *add)
{
	if (login.add != add)
		return;
	loop_timer_del(loop, &add->deadline);
	login.add = NULL;
	srp.busy--;
}

int kernel_srp_ready(int root, struct diag *diag)
{
	(void)root;
	(void)diag;
	return 0;
}

/* --- whoever runs the daemon */

static struct srp_daemon *daemon_;
static struct srp_daemon_options opts;
static struct diag why;
static char said[8192];
static unsigned saids, scans, logins, failures;
static int over, last_err;

static void say(void *arg, const char *line)
{
	size_t len = strlen(said);

	(void)arg;
	saids++;
	if (len + strlen(line) + 2 < sizeof(said))
		snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static void scanned(void *arg, const struct srp_scan *scan)
{
	(void)arg;
	(void)scan;
	scans++;
}

static void logged_in(void *arg, const struct srp_login *done)
{
	(void)arg;
	logins++;
	last_err = done->err;
}

static void failed(void *arg, const struct mad_port_info *port, int err, struct diag *diag)
{
	(void)arg;
	(void)port;
	failures++;
	last_err = err;
	why = *diag;
}

static void ended(void *arg)
{
	(void)arg;
	over = 1;
}

static const struct srp_daemon_events events = { .say = say, .scanned = scanned, .login = logged_in, .failed = failed, .over = ended };

static void setup(void)
{
	memset(&srp, 0, sizeof(srp));
	srp.ms = 10;
	tree = tree_new();
	tree_dir(&tree, "run");
	fake_fabric_init(3);
	fake_events.open_err = ENODEV;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	opts = (struct srp_daemon_options){
		.root = tree.root,
		.limits = { .answer_ms = 1000 },
		.execute = true,
		.recheck_ms = 20000,
		.login_ms = 60000,
		.retry_ms = 2000,
		.retry_max_ms = 300000,
	};
	daemon_ = NULL;
}

static void run(uint64_t seconds)
{
	int never = 0;

	cr_assert_not(loop_wait(loop, &never, loop_clock() + seconds * SECOND));
}

static int start(void)
{
	opts.port = fake_fabric.port[0];
	return srp_daemon_start(&daemon_, loop, &opts, &events, &why);
}

static void begin(void)
{
	cr_assert_eq(start(), 0, "%s", why.text);
}

static void stop(void)
{
	srp_daemon_stop(daemon_);
	cr_assert(loop_wait(loop, &over, loop_clock() + 5 * SECOND), "it does not end");
	srp_daemon_free(daemon_);
	daemon_ = NULL;
}

static void fini(void)
{
	if (daemon_)
		stop();
	loop_free(loop);
	fake_fabric_free();
	tree_free(&tree);
}
TestSuite(srp_daemon, .init = setup, .fini = fini, .timeout = 100);

static void once(void)
{
	opts.once = true;
	over = 0;
	begin();
	cr_assert(loop_wait(loop, &over, loop_clock() + 60 * SECOND), "it does not end");
	srp_daemon_free(daemon_);
	daemon_ = NULL;
}

static void heard(const char *text)
{
	cr_assert(strstr(said, text), "'%s' is not in:\n%s", text, said);
}

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
		"id_ext=0000000000200000,ioc_guid=0000000000200000,dgid=fe800000000000000000000000200000,pkey=ffff,service_id=0000000000200000");
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
	cr_assert(strstr(srp.line[1], ",initiator_ext=0000000000200002,max_sect=7"), "%s", srp.line[1]);
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
	heard("eth0 port 1: is passed over: its link layer is Ethernet");
	fake_fabric.port[0].infiniband = false;
	opts.once = true;
	cr_assert_eq(start(), -ENODEV);
	cr_assert_str_eq(why.text, "no port of this machine is on InfiniBand");
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
	heard("target 0000000000200002 at fe800000000000000000000000200002: connected as host2");
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
	cr_assert_lt(fake_fabric.sent - sent, 100 * 64 * 8, "%u requests for 6000 notices in 100 s", fake_fabric.sent - sent);
	cr_assert_lt(saids, 5000);
	run(2);
	fake_fabric.node[0].guid += 16;
	fake_notice(64, GUID + 16, 0);
	run(5);
	cr_assert_eq(srp.lines, 4, "and it serves still");
}

Test(srp_daemon, a_login_that_fails_is_tried_again_and_not_too_often)
{
	srp.fail = 1000;
	srp.err = ECONNREFUSED;
	fake_fabric.nodes = 1;
	begin();
	run(3600);
	cr_assert_geq(srp.lines, 15);
	cr_assert_leq(srp.lines, 25, "%u logins", srp.lines);
	heard("target 0000000000200000 at fe800000000000000000000000200000: refused");
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
	heard("target 0000000000200001 at fe800000000000000000000000200001: the connection has gone (host1)");
}

Test(srp_daemon, another_path_to_a_connected_target)
{
	srp.fail = 1;
	srp.err = EEXIST;
	fake_fabric.nodes = 1;
	begin();
	run(1);
	heard("the kernel is connected to this target by another path; hint: -n makes every path");
	run(3);
	cr_assert_eq(srp.hosts, 1, "it may go");
}

Test(srp_daemon, a_port_that_does_not_answer)
{
	fake_fabric.node[1].dead = true;
	begin();
	run(3600);
	cr_assert_eq(srp.lines, 2);
	cr_assert_leq(saids, 12, "%s", said);
	heard("fake0 port 1: LID 11 (fe800000000000000000000000200001): no answer to ");
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
	cr_assert_leq(fake_fabric.dm_sent, 3 * (297 + 6 * SRP_DEAD), "%u requests", fake_fabric.dm_sent);
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
	heard("no answer of the subnet administrator (LID 2) to the request for its capabilities");
	fake_fabric.sa_dead = false;
	run(301);
	scans = 0;
	run(600);
	cr_assert_geq(scans, 9);
}

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
	cr_assert_eq(saids, 1);
	heard("waiting: port is INIT: no subnet manager has configured it");
	fake_fabric.port[0].state = PORT_ACTIVE;
	run(3);
	cr_assert_eq(scans, 2, "at once, and when notices come");
	cr_assert_eq(srp.lines, 3);
	heard("is ACTIVE, LID 1");
	fake_fabric.port[0].pkey[1] = 0x8001;
	run(20); /* a long table is looked at piece by piece */
	cr_assert_eq(scans, 3, "%u\n%s", scans, said);
	fake_fabric.port[0].sm_lid = 3;
	run(3);
	cr_assert_eq(scans, 4);
	heard("its subnet manager LID 3");
	fake_fabric.port[0].state = PORT_DOWN;
	run(3);
	heard("waiting: port is DOWN");
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
	heard("no notices of targets that come: ");
	heard("; --rescan SECONDS finds them nevertheless");
	cr_assert_eq(srp.lines, 3);
	fake_fabric.reports_taken = false;
	fake_fabric.node[0].guid += 16;
	run(120);
	cr_assert_eq(srp.lines, 4, "what came meanwhile is found when they come again");
}

Test(srp_daemon, a_device_that_goes_and_comes)
{
	opts.all_ports = true;
	begin();
	run(2);
	cr_assert_eq(srp.lines, 3);
	fake_fabric.gone = true;
	fake_fabric.ports = 0;
	run(11);
	heard("fake0 port 1: has gone");
	fake_fabric.gone = false;
	fake_fabric.ports = 1;
	tree_dir(&tree, "sys/class/infiniband/fake0");
	scans = 0;
	run(3);
	cr_assert_eq(scans, 1);
	cr_assert_eq(srp.lines, 3, "the connections have stayed");
	cr_assert_leq(saids, 8, "%s", said);
}

Test(srp_daemon, ports_that_come_later)
{
	opts.all_ports = true;
	fake_fabric.ports = 0;
	begin();
	run(5);
	cr_assert_eq(saids, 0);
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
	run(11);
	heard("fake0 port 1: is passed over");
	cr_assert_eq(fake_fabric.subscribed, 0);
	fake_fabric.port[0].infiniband = true;
	scans = 0;
	run(11);
	cr_assert_eq(scans, 1);
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

static unsigned ports_seen, targets_seen;
static char seen[64][32];

static void see_port(void *arg, const struct srp_port_view *view)
{
	(void)arg;
	ports_seen++;
	cr_assert_str_eq(view->state, "serving");
	cr_assert(view->subscribed);
	cr_assert_eq(view->connected, 1);
	cr_assert_eq(view->failed, 1);
	cr_assert_eq(view->denied, 1);
	cr_assert_eq(view->scans, 1);
	cr_assert_lt(view->scanned_ms, 2000);
}

static void see_target(void *arg, const struct srp_target_view *view)
{
	(void)arg;
	snprintf(seen[view->srp->id - GUID], sizeof(seen[0]), "%s %s%s", view->state, view->host, view->why);
	targets_seen++;
}

static void see_end(void *arg)
{
	(void)arg;
}

Test(srp_daemon, what_it_knows)
{
	struct srp_rules rules;
	char text[128];

	cr_assert_eq(srp_rules_parse(&rules, "rules", "d id_ext=200001", 15, NULL), 0);
	opts.policy.rules = &rules;
	srp.fail = 1;
	srp.err = ECONNREFUSED;
	begin();
	run(1);
	srp_daemon_look(daemon_, NULL, see_port, see_target, see_end);
	cr_assert_eq(ports_seen, 1);
	cr_assert_eq(targets_seen, 3);
	cr_assert_str_eq(seen[0], "failed refused");
	cr_assert_str_eq(seen[1], "denied ");
	cr_assert_str_eq(seen[2], "connected host0");
	cr_assert_str_eq(srp_daemon_summary(daemon_, text), "1 of 1 ports up, 1 targets connected, 1 failed");
	stop();
	srp_rules_free(&rules);
}

static void any_port(void *arg, const struct srp_port_view *view)
{
	(void)arg;
	(void)view;
}

static void cut_table(void *arg, uint8_t *datagram, size_t *len)
{
	(void)arg;
	(void)datagram;
	if (*len > MAD_LEN)
		*len -= 30;
}

Test(srp_daemon, whom_a_table_that_was_cut_does_not_name_is_still_there)
{
	opts.rescan_ms = 60000;
	begin();
	run(2);
	fake_fabric.mangle = cut_table;
	scans = 0;
	run(90);
	heard("the table of the subnet administrator (LID 2) ends inside a record");
	cr_assert_geq(scans, 3, "it is asked again soon");
	srp_daemon_look(daemon_, NULL, any_port, see_target, see_end);
	cr_assert_eq(targets_seen, 3);
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

/* --- a day */

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
	saids++;
	srp_log_say(&log_, line);
}

Test(srp_daemon, a_day)
{
	struct srp_daemon_events to_log = events;
	size_t used = 0;

	to_log.say = say_once;
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
	cr_assert_leq(mallinfo2().uordblks, used + 4096, "%zu after %zu bytes", mallinfo2().uordblks, used);
	cr_assert_geq(scans, 21 * 59);
	cr_assert_leq(scans, 25 * 60);
	cr_assert_eq(srp.hosts, 2);
	cr_assert_leq(srp.lines, 30, "%u logins", srp.lines);
	cr_assert_geq(saids, 1000);
	cr_assert_leq(written, 600, "%u lines of %u", written, saids);
	stop();
	srp_log_end(&log_);
}

Test(srp_daemon, a_line_said_often_is_written_seldom)
{
	char text[16];

	log_ = (struct srp_log){ .loop = loop, .each_ms = 10000, .write = write_line };
	for (unsigned i = 0; i < 90; i++) {
		srp_log_say(&log_, "the same");
		run(1);
	}
	cr_assert_geq(written, 8);
	cr_assert_leq(written, 11, "%u", written);
	run(100);
	cr_assert(strstr(last_written, "the same ("), "%s", last_written);
	cr_assert(strstr(last_written, " more in 10 s)"), "%s", last_written);
	written = 0;
	srp_log_say(&log_, "the same");
	cr_assert_eq(written, 1, "forgotten meanwhile");
	for (unsigned i = 0; i < 2 * SRP_LOG_LINES; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		srp_log_say(&log_, text);
	}
	cr_assert_eq(written, 1 + 2 * SRP_LOG_LINES, "others are");
	snprintf(text, sizeof(text), "line %u", 2 * SRP_LOG_LINES - 1);
	srp_log_say(&log_, text);
	srp_log_end(&log_);
	cr_assert_eq(written, 2 + 2 * SRP_LOG_LINES);
	cr_assert(strstr(last_written, " (1 time more in 0 s)"), "%s", last_written);
}

Test(srp_daemon, many_lines_that_differ_have_an_end)
{
	char text[16];

	log_ = (struct srp_log){ .loop = loop, .each_ms = 10000, .write = write_line };
	for (unsigned i = 0; i < 2 * SRP_LOG_MOST; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		srp_log_say(&log_, text);
	}
	cr_assert_eq(written, SRP_LOG_MOST + 1);
	cr_assert_str_eq(last_written, "2000 lines in less than 10 s: more are left out");
	run(11);
	cr_assert_str_eq(last_written, "2000 lines were left out");
	written = 0;
	srp_log_say(&log_, "another");
	cr_assert_str_eq(last_written, "another");
	cr_assert_eq(written, 1);
	srp_log_end(&log_);
}
