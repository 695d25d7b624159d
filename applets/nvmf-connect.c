/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect: NVMe-oF subsystems as block devices of this machine, through the kernel's
 * initiator. */
#include "attach_multipath.h"
#include "nvmf_rows.h"
#include "out.h"
#include "tls_monitor.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

struct connect_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *print, *devid_file, *config, *policy, *monitor;
	bool no_wait, exclusive, idempotent;
};

#define AT(field) offsetof(struct connect_options, field)
static const struct opt rows[] = {
	NVMF_ROWS,
	{ "nqn", 'n', OPT_TEXT, AT(nvmf.value[NVMF_NQN]), "NQN", "subsystem NQN" },
	{ "config", 'J', OPT_TEXT, AT(config), "FILE",
		"read further options of this connection from FILE" },
	{ "exclusive", 0, OPT_FLAG, AT(exclusive), NULL, "fail if the connection exists" },
	{ "idempotent", 0, OPT_FLAG, AT(idempotent), NULL,
		"succeed if the connection exists (the default)" },
	{ "policy", 0, OPT_TEXT, AT(policy), "numa|round-robin|queue-depth",
		"how the kernel chooses among the paths of the subsystem" },
	{ "no-wait", 0, OPT_FLAG, AT(no_wait), NULL,
		"return without waiting for the block devices" },
	{ "print", 0, OPT_TEXT, AT(print), "dev|by-id",
		"print only the paths of the block devices" },
	{ "devid-file", 0, OPT_TEXT, AT(devid_file), "FILE",
		"write the controller's name to FILE" },
	NVMF_MONITOR_ROW(struct connect_options, monitor),
	NVME_OUTPUT_ROWS,
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	NVMF_FOREIGN,
	{ "nvme-cli", "-p", "omit it: connections persist" },
	{ 0 },
};

static const struct connect_options defaults = { .common.timeout_ms = WAIT_MS };

/* Open the file before connecting, without truncating it. */
static int open_devid(const char *path, int *fd, struct diag *diag)
{
	*fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
	return path && *fd < 0 ? diag_sys(diag, errno, "open %s", path) : 0;
}

static void write_devid(int fd, const char *path, const char *name, struct diag *diag)
{
	if (fd >= 0 && ((ftruncate(fd, 0) && errno != EINVAL) || dprintf(fd, "%s\n", name) <= 0))
		diag_sys(diag, errno, "connected as %s, but write %s", name, path);
}

/* One connection of this command. */
struct connection {
	struct nvmf_target *target;
	struct attach_nvme nvme;
	const char *uri;
	struct diag why; /* it is not connected, as its discovery has failed */
};

enum { WHY_IDENTITY, WHY_POLICY, WHY_DEVID, WHY };

struct work {
	struct call *call;
	struct attach_env env;
	struct loop *loop;
	uint64_t since; /* loop_clock(): the time limits of all steps begin */
	struct nvmf_names names;
	struct nvmf_path *paths; /* that were found besides */
	struct connection *list; /* of all */
	struct attach **attach;
	unsigned count;
	bool several; /* with a result each */
	struct multipath multipath;
	struct diag why[WHY]; /* other than those of the connections */
	int root;
};

static int read_targets(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	struct diag *diag = w->call->diag;
	bool find_paths = false;
	int err;

	if (opts->devid_file && w->call->operands > 1)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--devid-file is for one connection, not for %u", w->call->operands);
	w->names = (struct nvmf_names){ .env = &w->env,
		.loop = w->loop,
		.root = w->root,
		.operand = w->call->operand,
		.operands = w->call->operands,
		.options = &opts->nvmf,
		.config = opts->config };
	err = nvmf_names_read(&w->names, diag);
	for (unsigned i = 0; i < w->names.count; i++)
		find_paths |= w->names.list[i].target.find_paths;
	w->several = w->names.count > 1 || find_paths;
	if (!err && opts->devid_file && find_paths)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"--devid-file is for one connection, not for those of paths=auto");
	return err;
}

/* The targets, then the paths found for them. */
static int list_connections(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	struct connection *c;
	int err = nvmf_paths_find(w->loop, w->root, w->since, &opts->nvmf, w->names.target,
		w->names.count, &w->paths, w->call->diag);

	w->count = w->names.count;
	for (struct nvmf_path *path = w->paths; path; path = path->next)
		w->count++;
	w->list = c = calloc(w->count, sizeof(*w->list));
	w->attach = calloc(w->count, sizeof(*w->attach));
	if (err || !w->list || !w->attach)
		return err ? err : diag_sys(w->call->diag, ENOMEM, "connect");
	for (unsigned i = 0; i < w->names.count; i++)
		*c++ = (struct connection){ .target = w->names.target[i],
			.uri = w->names.list[i].uri };
	for (struct nvmf_path *path = w->paths; path; path = path->next)
		*c++ = (struct connection){
			.target = &path->target, .uri = path->uri, .why = path->why
		};
	return 0;
}

/* Connect in parallel. */
static int attach_all(struct work *w)
{
	const struct connect_options *opts = w->call->opts;

	for (unsigned i = 0; i < w->count; i++) {
		struct attach_nvme *nvme = &w->list[i].nvme;
		struct nvmf_target *t = w->list[i].target;

		if (w->list[i].why.err)
			continue;
		attach_nvme_init(nvme, t, w->loop, w->root);
		nvme->named = w->several;
		nvme->exclusive = opts->exclusive;
		nvme->attach.no_wait |= opts->no_wait;
		nvme->attach.deadline = nvmf_target_limit(t, w->since);
		w->attach[i] = &nvme->attach;
	}
	return attach_run(w->loop, w->attach, w->count, w->call->diag);
}

static bool is_connected(const struct connection *c)
{
	return !c->why.err && !c->nvme.attach.why.err;
}

static void set_policy(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	struct diag *why = &w->why[WHY_POLICY];

	for (unsigned i = 0; opts->policy && i < w->count && !why->err; i++)
		if (is_connected(&w->list[i]))
			kernel_nvmf_set_policy(
				w->root, w->list[i].nvme.ctrl.name, opts->policy, why);
}

/* Find the disks with several paths. */
static void join_paths(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	struct diag *why = &w->why[WHY_IDENTITY];
	uint32_t ms = opts->common.timeout_ms;
	int err = 0;

	w->multipath = (struct multipath){ .root = w->root,
		.loop = w->loop,
		.notes = &w->env.notes,
		.deadline = ms ? w->since + ms * MSEC : 0,
		.nvme = true,
		.detach = "nvmf-disconnect" };
	for (unsigned i = 0; i < w->count && !err; i++)
		if (is_connected(&w->list[i]))
			err = attach_nvme_add_paths(&w->multipath, &w->list[i].nvme, why);
	if (!err)
		multipath_join(&w->multipath, why);
}

static int show_one(struct work *w, struct connection *c, struct diag *why)
{
	const struct connect_options *opts = w->call->opts;
	char text[512];

	*why = c->why;
	if (why->err)
		return -why->err;
	if (opts->common.dry_run)
		attach_nvme_plan(w->call->out, w->root, c->target, why);
	else
		*why = c->nvme.attach.why;
	if (why->err)
		diag_ctx(why, "%s", nvmf_target_text(c->target, text, sizeof(text)));
	else if (!opts->common.dry_run)
		attach_nvme_show(w->call->out, &c->nvme, opts->print);
	return -why->err;
}

static int show_all(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	struct nvmf_results results = { .out = w->call->out, .notes = &w->env.notes };
	int err = 0;

	if (!opts->common.dry_run) {
		set_policy(w);
		join_paths(w);
	}
	if (!w->several) {
		err = show_one(w, &w->list[0], w->call->diag);
	} else {
		out_list(w->call->out, "results");
		for (unsigned i = 0; i < w->count; i++) {
			struct diag why = { 0 };

			out_object(w->call->out, NULL);
			out_text(w->call->out, "uri", NULL, "%s", w->list[i].uri);
			show_one(w, &w->list[i], &why);
			nvmf_result_end(&results, w->list[i].uri, &why);
		}
		err = nvmf_results_end(&results, w->call->diag);
		err = err && results.succeeded ? EXIT_PARTLY : err;
		multipath_show(&w->multipath, w->call->out, opts->print);
	}
	if (multipath_end(&w->multipath, w->call->out, err, w->why, WHY, w->call->diag))
		err = EXIT_PARTLY;
	return err;
}

static int connect_all(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	char text[512];
	int err, fd;

	nvmf_show_identity(w->names.target[0]);
	nvmf_warn_secrets(&w->env.notes, &opts->nvmf);
	err = list_connections(w);
	if (err)
		return err;
	if (!w->several)
		out_text(w->call->out, "uri", NULL, "%s", w->list[0].uri);
	if (opts->common.dry_run)
		return show_all(w);
	err = open_devid(opts->devid_file, &fd, w->call->diag);
	if (!err)
		err = attach_all(w);
	if (!err && is_connected(&w->list[0]))
		write_devid(fd, opts->devid_file, w->list[0].nvme.ctrl.name, &w->why[WHY_DEVID]);
	if (!err)
		err = show_all(w);
	if (fd >= 0)
		close(fd);
	if (err && !w->several)
		diag_ctx(w->call->diag, "%s",
			nvmf_target_text(w->list[0].target, text, sizeof(text)));
	return err;
}

static int run(struct call *call)
{
	const struct connect_options *opts = call->opts;
	struct work w = { .call = call,
		.env = attach_env_of(call),
		.since = loop_clock(),
		.root = kernel_root() };
	int err = w.root < 0 ? diag_sys(call->diag, errno, "open /")
			     : loop_new(&w.loop, &call->loop, call->diag);

	if (!err)
		err = read_targets(&w);
	if (!err)
		err = connect_all(&w);
	loop_free(w.loop);
	multipath_free(&w.multipath);
	for (unsigned i = 0; w.list && i < w.count; i++)
		attach_nvme_free(&w.list[i].nvme);
	nvmf_paths_free(w.paths);
	nvmf_names_free(&w.names);
	free(w.list);
	free(w.attach);
	for (unsigned i = 0; i < call->operands; i++)
		uri_hide(call->operand[i]); /* the TLS monitor is a fork of this process */
	if (w.root >= 0 && !opts->common.dry_run)
		tls_monitor_start(call, w.root, opts->monitor);
	if (w.root >= 0)
		close(w.root);
	return err ? err : EXIT_DONE;
}

const struct applet applet_nvmf_connect = {
	.name = "nvmf-connect",
	.operands = "[URI...]",
	.schemes = SCHEME_NVMF,
	.keys = nvmf_target_keys,
	.summary = "connect NVMe-oF subsystems through the kernel",
	.examples = "  rdmastor nvmf-connect nvme+rdma://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		    "  rdmastor nvmf-connect -t tcp -a 10.0.0.1 -n nqn.2024-01.com.example:disk1\n"
		    "  rdmastor nvmf-connect nvme+tcp://10.0.0.1/nqn.2024-01.com.example:d1 "
		    "nvme+tcp://10.0.1.1/nqn.2024-01.com.example:d1\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct connect_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.own_letters = "q",
	.run = run,
};
