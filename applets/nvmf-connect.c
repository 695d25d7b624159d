/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect: NVMe-oF subsystems as block devices of this machine, through the kernel's
 * initiator. */
#include "nvmf_rows.h"
#include "out.h"
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
	const char *print, *devid_file, *config;
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
	{ "no-wait", 0, OPT_FLAG, AT(no_wait), NULL,
		"return without waiting for the block devices" },
	{ "print", 0, OPT_TEXT, AT(print), "dev|by-id",
		"print only the paths of the block devices" },
	{ "devid-file", 0, OPT_TEXT, AT(devid_file), "FILE",
		"write the controller's name to FILE" },
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

static int write_devid(int fd, const char *path, const char *name, struct diag *diag)
{
	if (fd < 0 || ((!ftruncate(fd, 0) || errno == EINVAL) && dprintf(fd, "%s\n", name) > 0))
		return EXIT_DONE;
	diag_sys(diag, errno, "connected as %s, but write %s", name, path);
	return EXIT_PARTLY;
}

/* One connection of this command. */
struct connection {
	struct nvmf_target target;
	struct attach_nvme nvme;
	char uri[URI_MAX];
};

struct work {
	struct call *call;
	struct attach_env env;
	struct loop *loop;
	struct connection *list;
	struct nvmf_target **target; /* of list */
	struct attach **attach;
	unsigned count;
	struct nvmf_entries config;
	int root;
};

static const char *operand(const struct work *w, unsigned i)
{
	return w->call->operands ? w->call->operand[i] : NULL;
}

/* Read all targets before the first connection, so that usage errors come first. Resolves no names.
 */
static int read_target(const struct work *w, unsigned i)
{
	const struct connect_options *opts = w->call->opts;
	struct nvmf_target *t = &w->list[i].target;
	struct diag *diag = w->call->diag;
	int err = nvmf_target_read(t, &w->env, w->root, &opts->nvmf, operand(w, i), diag);

	if (!err && !opts->nvmf.value[NVMF_NQN] && !t->uri.path[0]) {
		err = diag_set(
			diag, DIAG_USAGE, EINVAL, "no subsystem NQN in '%s'", t->uri.spelling);
		diag_hint(diag,
			"list them with: rdmastor nvmf-discover %s; connect all with: rdmastor "
			"nvmf-connect-all %s",
			t->uri.spelling, t->uri.spelling);
	}
	return err;
}

/* Complete the target, whose name is resolved. */
static int complete_target(const struct work *w, unsigned i)
{
	const struct connect_options *opts = w->call->opts;
	struct nvmf_target *t = &w->list[i].target;
	int err = nvmf_target_complete(
		t, w->root, &opts->nvmf, operand(w, i), &w->config, w->call->diag);

	if (!err && operand(w, i))
		snprintf(w->list[i].uri, URI_MAX, "%s", t->uri.spelling);
	else if (!err)
		nvmf_uri(t->params.value, w->list[i].uri);
	return err;
}

static int read_targets(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	const char *const *value = opts->nvmf.value;
	struct diag *diag = w->call->diag;
	int err;

	if (!w->call->operands && !value[NVMF_NQN] && value[NVMF_TRADDR]) {
		diag_set(diag, DIAG_USAGE, EINVAL, "--nqn is missing");
		return diag_hint(diag, "list the subsystems with: rdmastor nvmf-discover %s",
			value[NVMF_TRADDR]);
	}
	if (opts->devid_file && w->count > 1)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--devid-file is for one connection, not for %u", w->count);
	err = nvmf_options_check(&opts->nvmf, diag);
	if (!err && opts->config && strcmp(opts->config, "none"))
		err = kernel_nvmf_conf_read(w->root, opts->config, &w->config, diag);
	for (unsigned i = 0; !err && i < 2 * w->count; i++) {
		unsigned at = i % w->count;

		if (i == w->count)
			nvmf_targets_resolve(w->loop, w->target, w->count);
		w->target[at] = &w->list[at].target;
		err = i < w->count ? read_target(w, at) : complete_target(w, at);
		if (err && w->count > 1 && w->target[at]->uri.spelling[0])
			diag_ctx(diag, "%s", w->target[at]->uri.spelling);
	}
	return err;
}

/* Connect in parallel. */
static int attach_all(struct work *w)
{
	const struct connect_options *opts = w->call->opts;

	for (unsigned i = 0; i < w->count; i++) {
		struct attach_nvme *nvme = &w->list[i].nvme;
		struct nvmf_target *t = w->target[i];

		attach_nvme_init(nvme, t, w->loop, w->root);
		nvme->named = w->count > 1;
		nvme->exclusive = opts->exclusive;
		nvme->attach.no_wait |= opts->no_wait;
		nvme->attach.deadline = t->timeout_ms ? loop_clock() + t->timeout_ms * MSEC : 0;
		w->attach[i] = &nvme->attach;
	}
	return attach_run(w->loop, w->attach, w->count, w->call->diag);
}

static int show_one(struct work *w, struct connection *c, struct diag *why)
{
	const struct connect_options *opts = w->call->opts;
	char text[512];

	if (opts->common.dry_run)
		attach_nvme_plan(w->call->out, w->root, &c->target, why);
	else
		*why = c->nvme.attach.why;
	if (why->err)
		diag_ctx(why, "%s", nvmf_target_text(&c->target, text, sizeof(text)));
	else if (!opts->common.dry_run)
		attach_nvme_show(w->call->out, &c->nvme, opts->print);
	return -why->err;
}

static int show_all(struct work *w)
{
	struct nvmf_results results = { .out = w->call->out, .notes = &w->env.notes };
	int err;

	if (w->count == 1)
		return show_one(w, &w->list[0], w->call->diag);
	out_list(w->call->out, "results");
	for (unsigned i = 0; i < w->count; i++) {
		struct diag why = { 0 };

		out_object(w->call->out, NULL);
		out_text(w->call->out, "uri", NULL, "%s", w->list[i].uri);
		show_one(w, &w->list[i], &why);
		nvmf_result_end(&results, w->list[i].uri, &why);
	}
	err = nvmf_results_end(&results, w->call->diag);
	return err && results.succeeded ? EXIT_PARTLY : err;
}

static int connect_all(struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	char text[512];
	int err, fd;

	nvmf_show_identity(w->target[0]);
	nvmf_warn_secrets(&w->env.notes, &opts->nvmf);
	if (w->count == 1)
		out_text(w->call->out, "uri", NULL, "%s", w->list[0].uri);
	if (opts->common.dry_run)
		return show_all(w);
	err = open_devid(opts->devid_file, &fd, w->call->diag);
	if (!err)
		err = attach_all(w);
	if (!err)
		err = show_all(w);
	if (!err)
		err = write_devid(fd, opts->devid_file, w->list[0].nvme.ctrl.name, w->call->diag);
	if (fd >= 0)
		close(fd);
	if (err && w->count == 1)
		diag_ctx(w->call->diag, "%s", nvmf_target_text(w->target[0], text, sizeof(text)));
	return err;
}

static int run(struct call *call)
{
	unsigned count = call->operands ? call->operands : 1;
	struct work w = { .call = call,
		.env = attach_env_of(call),
		.count = count,
		.root = kernel_root(),
		.list = calloc(count, sizeof(*w.list)),
		.target = calloc(count, sizeof(*w.target)),
		.attach = calloc(count, sizeof(*w.attach)) };
	int err = w.root < 0                       ? diag_sys(call->diag, errno, "open /")
		  : w.list && w.target && w.attach ? loop_new(&w.loop, &call->loop, call->diag)
						   : diag_sys(call->diag, ENOMEM, "connect");

	if (!err)
		err = read_targets(&w);
	if (!err)
		err = connect_all(&w);
	loop_free(w.loop);
	for (unsigned i = 0; w.list && i < count; i++) {
		attach_nvme_free(&w.list[i].nvme);
		nvmf_target_wipe(&w.list[i].target);
	}
	kernel_nvmf_conf_free(&w.config);
	free(w.list);
	free(w.target);
	free(w.attach);
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
		    "--dry-run\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct connect_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.own_letters = "q",
	.run = run,
};
