/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* status: the remote disks attached to this machine, the disks it serves, and its RDMA devices.
 * Changes nothing. */
#include "applet.h"
#include "export.h"
#include "kernel_identity.h"
#include "kernel_nbd.h"
#include "kernel_status.h"
#include "loop.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MS       5000 /* for the resolver */
#define ANSWER_MS     1000 /* for a process to report what it serves */
#define WATCH_SECONDS 2

struct status_options {
	struct opt_common common;
	bool gids;
	struct opt_maybe watch;
};

#define AT(field) offsetof(struct status_options, field)
static const struct opt rows[] = {
	{ "gids", 0, OPT_FLAG, AT(gids), NULL, "list the GIDs of the RDMA devices too, in text" },
	{ "watch", 0, OPT_MAYBE, AT(watch), "[N]",
		"repeat every N seconds, with rates in between; default 2", 1, 86400 },
	{ 0 },
};
#undef AT

static const struct status_options defaults = { .common.timeout_ms = NAME_MS };

struct driver {
	struct loop *loop;
	int root, dev; /* dev: of ublk; -1: not opened yet; -2: no access */
};

/* Only the driver knows which process serves a ublk device. */
static bool query_driver(unsigned number, struct list_server *server, void *arg)
{
	struct driver *driver = arg;
	struct ublk_info info;

	if (driver->dev == -1)
		driver->dev = kernel_ublk_open(driver->root, NULL);
	if (driver->dev < 0) {
		driver->dev = -2;
		return false;
	}
	if (ublk_query(driver->dev, driver->loop, number, &info, NULL))
		return false;
	*server = (struct list_server){ .ours = info.ours,
		.pid = info.live ? info.pid : 0,
		.queues = info.queues,
		.state = info.live ? "live" : "server-gone" };
	return true;
}

static void show(struct call *call, int root, struct loop *loop, struct kernel_list *list,
	const struct status_show *what)
{
	struct driver driver = { .loop = loop, .root = root, .dev = -1 };

	kernel_list_find_servers(list, query_driver, &driver);
	if (driver.dev >= 0)
		close(driver.dev);
	kernel_list_ask_multipathd(root, list);
	kernel_status_show(call->out, list, what);
}

struct samples {
	struct kernel_serving serving;
	struct kernel_list *list;
};

static void free_samples(struct samples *samples)
{
	kernel_serving_free(&samples->serving);
	kernel_list_free(samples->list);
}

/* Take and print samples; before: the last ones, or NULL. The caller frees them, also after a
 * failure. */
static int sample(struct call *call, int root, struct loop *loop, struct samples *now,
	const struct samples *before)
{
	const struct status_options *opts = call->opts;
	struct status_show what = { .verbose = opts->common.verbose,
		.gids = opts->gids,
		.all = !call->operands,
		.serving = &now->serving,
		.before = before ? &before->serving : NULL,
		.list_before = before ? before->list : NULL };
	struct identity identity;
	bool served = false;
	int err;

	*now = (struct samples){ 0 };
	err = kernel_serving(root, loop, ANSWER_MS, &now->serving, call->diag);
	if (err)
		return err;
	err = kernel_list_new(root, &now->list, call->diag);
	if (!err && call->operands) {
		served = kernel_serving_select(&now->serving, call->operand[0]);
		err = kernel_list_select(
			root, now->list, call->operand[0], opts->common.timeout_ms, call->diag);
	}
	if (err && served) { /* known, though not as something attached */
		*call->diag = (struct diag){ 0 };
		err = 0;
	}
	if (!err && opts->common.verbose) {
		err = kernel_identity(root, NULL, NULL, &identity, call->diag);
		what.identity = &identity;
	}
	if (!err)
		show(call, root, loop, now->list, &what);
	return err;
}

struct watch {
	struct loop_signal signal;
	volatile int stopped;
};

static void caught(struct loop_signal *signal, int signo)
{
	(void)signo;
	container_of(signal, struct watch, signal)->stopped = 1;
}

/* A terminal is redrawn; elsewhere a blank line parts the samples. */
static void begin_sample(struct out *out, bool first)
{
	const char *term = getenv("TERM");

	if (isatty(fileno(out->to)) && term && *term && strcmp(term, "dumb"))
		fputs("\033[H\033[2J", out->to);
	else if (!first)
		out_line(out, "%s", "");
}

static int watch_samples(struct call *call, int root, struct loop *loop, struct watch *w)
{
	const struct status_options *opts = call->opts;
	const uint64_t step =
		(opts->watch.has_number ? opts->watch.number : WATCH_SECONDS) * 1000 * MSEC;
	struct samples last = { 0 }, now;
	uint64_t next = loop_clock();
	bool first = true;
	int err = 0;

	while (!err && !w->stopped) {
		begin_sample(call->out, first);
		err = sample(call, root, loop, &now, first ? NULL : &last);
		if (err == -ENOENT && !first) { /* it was there a moment ago and may be back */
			out_line(call->out, "%s: %s", call->diag->object, call->diag->text);
			*call->diag = (struct diag){ 0 };
			err = 0;
		}
		if (!err)
			err = out_flush(call->out);
		free_samples(&last);
		last = now;
		first = false;
		while (next <= loop_clock())
			next += step;
		if (!err)
			loop_wait(loop, &w->stopped, next);
	}
	free_samples(&last);
	return err;
}

static int watch(struct call *call, int root, struct loop *loop)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	struct watch w = { .signal.caught = caught };
	int err = loop_signal_add(
		loop, &w.signal, signos, sizeof(signos) / sizeof(*signos), call->diag);

	if (err)
		return err;
	err = watch_samples(call, root, loop, &w);
	loop_signal_del(loop, &w.signal);
	return err;
}

static int run(struct call *call)
{
	const struct status_options *opts = call->opts;
	struct samples now = { 0 };
	struct loop *loop;
	int root, err;

	if (opts->watch.on && call->out->json)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "--watch and --json can't be combined");
	root = kernel_root();
	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = loop_new(&loop, &call->loop, call->diag);
	if (!err) {
		err = opts->watch.on ? watch(call, root, loop)
				     : sample(call, root, loop, &now, NULL);
		free_samples(&now);
		loop_free(loop);
	}
	close(root);
	return err ? err : EXIT_DONE;
}

const struct applet applet_status = {
	.name = "status",
	.operands = "[DEVICE|DIR|URI]",
	.schemes = SCHEME_NVMF | SCHEME_ISCSI | SCHEME_SRP | SCHEME_NFS,
	.summary = "list attached and served disks, and the RDMA devices",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct status_options),
	.examples = "  rdmastor status\n"
		    "  rdmastor status --watch\n"
		    "  rdmastor status --json | jq '.attached[].device'\n",
	.max = 1,
	.run = run,
};
