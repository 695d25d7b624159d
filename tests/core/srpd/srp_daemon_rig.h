/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For tests of the SRP daemon: a fabric in memory, with a kernel of the test's own behind
 * add_target, on a clock that leaps. */
#pragma once
#include "../../../core/attach/attach_row.h"
#include "attach_srp.h"
#include "events.h"
#include "leap.h"
#include "mad_port.h"
#include "says.h"
#include "srp_daemon_loop.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSEC     1000000ull
#define SECOND   1000000000ull
#define SRP_DEAD 70       /* ports that may be remembered as silent, and some */
#define GUID     0x200000 /* of the first node, which is also its identifier extension */

/* --- ib_srp: core/attach/srp/srp.c is not linked */

static struct {
	char line[64][MAD_SRP_LINE];
	unsigned lines, hosts, busy, most_busy;
	uint64_t last_ns;
	unsigned fail; /* so many logins, */
	int err;       /* like this */
	uint32_t ms;   /* that a login takes */
	bool hangs;    /* for good, with a host that the kernel makes all the same */
} srp;

static struct {
	struct attach_srp *srp;
	struct loop_timer timer;
	char line[MAD_SRP_LINE];
} login;

static struct tree tree;
static struct loop *loop;

static inline void host_file(
	unsigned host, const char *name, const char *fmt, unsigned long long value)
{
	char path[96], text[64];

	snprintf(path, sizeof(path), "sys/class/scsi_host/host%u/%s", host, name);
	snprintf(text, sizeof(text), fmt, value);
	tree_file(&tree, path, text);
}

static inline void make_host(const char *line)
{
	unsigned long long id, ioc, prefix, guid, pkey, service;
	unsigned host = srp.hosts++;
	char gid[64];

	cr_assert_eq(
		sscanf(line,
			"id_ext=%llx,ioc_guid=%llx,dgid=%16llx%16llx,pkey=%llx,service_id=%llx",
			&id, &ioc, &prefix, &guid, &pkey, &service),
		6, "%s", line);
	host_file(host, "id_ext", "0x%016llx\n", id);
	host_file(host, "ioc_guid", "0x%016llx\n", ioc);
	host_file(host, "service_id", "0x%016llx\n", service);
	host_file(host, "pkey", "0x%04llx\n", pkey);
	snprintf(gid, sizeof(gid), "fe80:0000:0000:0000:%04llx:%04llx:%04llx:%04llx\n", guid >> 48,
		guid >> 32 & 0xffff, guid >> 16 & 0xffff, guid & 0xffff);
	host_file(host, "local_ib_device", "fake0\n", 0);
	host_file(host, "local_ib_port", "1\n", 0);
	snprintf(login.line, sizeof(login.line), "sys/class/scsi_host/host%u/orig_dgid", host);
	tree_file(&tree, login.line, gid);
}

static inline int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline void lose_host(unsigned host)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/sys/class/scsi_host/host%u", tree.path, host);
	cr_assert_eq(nftw(path, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void made(struct attach_srp *one)
{
	make_host(login.line);
	one->attach.made = true;
	snprintf(one->host.host, sizeof(one->host.host), "host%u", srp.hosts - 1);
}

static inline void login_ends(struct loop_timer *timer)
{
	struct attach_srp *one = login.srp;
	struct diag *diag = &one->attach.why;
	int err = 0;

	(void)timer;
	srp.busy--;
	login.srp = NULL;
	if (srp.fail) {
		srp.fail--;
		err = srp.err == EEXIST ? diag_set(diag, DIAG_BUSY, EEXIST, "connected by a path")
					: diag_set(diag, DIAG_REFUSED, srp.err, "refused");
	} else {
		made(one);
	}
	attach_step(&one->attach, err);
}

static inline void fake_dial(struct attach *attach)
{
	struct attach_srp *one = container_of(attach, struct attach_srp, attach);

	cr_assert_eq(attach->root, tree.root);
	cr_assert(attach->limit_ms == 60000 && attach->no_wait && !one->tmo_given);
	cr_assert_str_eq(one->dev, "fake0");
	cr_assert_eq(one->port, 1);
	cr_assert_null(login.srp, "the kernel takes one at a time");
	srp.busy++;
	srp.most_busy = srp.busy > srp.most_busy ? srp.busy : srp.most_busy;
	srp.last_ns = loop_clock();
	snprintf(srp.line[srp.lines++ % 64], MAD_SRP_LINE, "%s", one->line);
	snprintf(login.line, sizeof(login.line), "%s", one->line);
	login.srp = one;
	login.timer.fire = login_ends;
	if (!srp.hangs)
		loop_timer_set(loop, &login.timer, loop_clock() + srp.ms * MSEC);
}

/* As the row does: a host that came about is noticed. */
static inline void fake_stop(struct attach *attach)
{
	struct attach_srp *one = container_of(attach, struct attach_srp, attach);

	if (login.srp != one)
		return;
	loop_timer_del(loop, &login.timer);
	login.srp = NULL;
	srp.busy--;
	if (srp.hangs)
		made(one);
}

const struct attach_proto attach_srp_row = { .connect = fake_dial, .stop = fake_stop };

int kernel_srp_ready(int root, struct diag *diag)
{
	(void)root;
	(void)diag;
	return 0;
}

/* --- the daemon's caller */

static struct srp_daemon *daemon_;
static struct srp_daemon_params opts;
static struct diag why;
static char log_text[8192];
static unsigned log_lines, scans, logins, failures;
static int over, last_err;

static inline void say(void *arg, const char *line)
{
	size_t len = strlen(log_text);

	(void)arg;
	log_lines++;
	if (len + strlen(line) + 2 < sizeof(log_text))
		snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
}

static inline void scanned(void *arg, const struct srp_scan *scan)
{
	(void)arg;
	(void)scan;
	scans++;
}

static inline void logged_in(void *arg, const struct srp_login *done)
{
	(void)arg;
	logins++;
	last_err = done->err;
}

static inline void failed(void *arg, const struct mad_port_info *port, int err, struct diag *diag)
{
	(void)arg;
	(void)port;
	failures++;
	last_err = err;
	why = *diag;
}

static inline void ended(void *arg)
{
	(void)arg;
	over = 1;
}

static const struct srp_daemon_events events = {
	.log = say, .scanned = scanned, .login = logged_in, .failed = failed, .finished = ended
};

static inline void setup(void)
{
	memset(&srp, 0, sizeof(srp));
	srp.ms = 10;
	tree = tree_new();
	tree_dir(&tree, "run");
	fake_fabric_init(3);
	fake_events.open_err = ENODEV;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	opts = (struct srp_daemon_params){
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

static inline void run(uint64_t seconds)
{
	int never = 0;

	cr_assert_not(loop_wait(loop, &never, loop_clock() + seconds * SECOND));
}

static inline int start(void)
{
	opts.port = fake_fabric.port[0];
	return srp_daemon_start(&daemon_, loop, &opts, &events, &why);
}

static inline void begin(void)
{
	cr_assert_eq(start(), 0, "%s", why.text);
}

static inline void stop(void)
{
	srp_daemon_stop(daemon_);
	cr_assert(loop_wait(loop, &over, loop_clock() + 5 * SECOND), "it does not end");
	srp_daemon_free(daemon_);
	daemon_ = NULL;
}

static inline void fini(void)
{
	if (daemon_)
		stop();
	loop_free(loop);
	fake_fabric_free();
	tree_free(&tree);
}
TestSuite(srp_daemon, .init = setup, .fini = fini);

static inline void once(void)
{
	opts.once = true;
	over = 0;
	begin();
	cr_assert(loop_wait(loop, &over, loop_clock() + 60 * SECOND), "it does not end");
	srp_daemon_free(daemon_);
	daemon_ = NULL;
}

/* In one line. */
static inline void expect_line(const char *words)
{
	cr_assert(lines_saying(log_text, words), "no line has all of '%s':\n%s", words, log_text);
}
