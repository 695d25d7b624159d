/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect: NVMe-oF subsystems as block devices of this machine, through the kernel's
 * initiator. */
#include "loop.h"
#include "nvmf_attach.h"
#include "nvmf_want.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000
#define MSEC    1000000ull

struct connect_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *print, *devid_file, *config;
	bool no_wait, exclusive, idempotent;
};

#define AT(field) offsetof(struct connect_options, field)
static const struct opt rows[] = {
	NVMF_ROWS(struct connect_options),
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
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"output format; normal is text" },
	{ "output-format", 0, OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"same as --output" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	NVMF_FOREIGN,
	{ "nvme-cli", "-p", "omit it: connections persist" },
	{ 0 },
};

static const struct connect_options defaults = { .common.timeout_ms = WAIT_MS };

/* Before anything is connected, and what is in it stays until there is a name. */
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

static bool is_said_of(const struct nvmf_entry *entry, const struct nvmf_target *t)
{
	static const enum nvmf_key keys[] = { NVMF_NQN, NVMF_TRANSPORT, NVMF_TRADDR, NVMF_TRSVCID };

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *said = entry->value[keys[i]];

		if (said && strcmp(said, t->want.value[keys[i]]))
			return false;
	}
	return !entry->discover && !entry->uri && entry->value[NVMF_NQN];
}

/* What neither options nor URI say. */
static int take_config(struct call *call, int root, struct nvmf_entries *all, struct nvmf_target *t,
	const char *uri)
{
	const struct connect_options *opts = call->opts;
	struct nvmf_options both = opts->nvmf;
	int err = kernel_nvmf_conf_read(root, opts->config, all, call->diag);

	for (unsigned i = 0; i < all->count && !err; i++) {
		if (!is_said_of(&all->entry[i], t))
			continue;
		for (int key = NVMF_HOSTNQN; key < NVMF_KEYS; key++) {
			if (kernel_nvmf_key_flag(key))
				both.flag[key] |= all->entry[i].value[key] != NULL;
			else if (!both.value[key])
				both.value[key] = all->entry[i].value[key];
		}
		return nvmf_target_read(t, call, root, &both, uri, call->diag);
	}
	return err;
}

/* One connection of this command. */
struct connection {
	struct nvmf_target target;
	struct nvmf_attachment attachment;
	struct nvmf_entries config;
	char uri[URI_MAX];
};

struct work {
	struct call *call;
	struct connection *list;
	struct attach **attach;
	unsigned count;
	int root;
};

static int read_target(const struct work *w, struct connection *c, const char *uri)
{
	const struct connect_options *opts = w->call->opts;
	struct diag *diag = w->call->diag;
	struct nvmf_target *t = &c->target;
	char text[URI_MAX];
	int err = nvmf_target_read(t, w->call, w->root, &opts->nvmf, uri, diag);

	if (!err && !opts->nvmf.value[NVMF_NQN] && !t->uri.path[0]) {
		err = diag_set(
			diag, DIAG_USAGE, EINVAL, "no subsystem NQN in '%s'", t->uri.spelling);
		diag_hint(diag,
			"list them with: rdmastor nvmf-discover %s; connect all with: rdmastor "
			"nvmf-connect-all %s",
			t->uri.spelling, t->uri.spelling);
	}
	if (!err && opts->config && strcmp(opts->config, "none"))
		err = take_config(w->call, w->root, &c->config, t, uri);
	if (!err)
		snprintf(c->uri, sizeof(c->uri), "%s",
			uri ? t->uri.spelling : nvmf_uri(t->want.value, text));
	return err;
}

static int read_targets(const struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	struct diag *diag = w->call->diag;
	int err;

	if (!w->call->operands && !opts->nvmf.value[NVMF_NQN] && opts->nvmf.value[NVMF_TRADDR]) {
		diag_set(diag, DIAG_USAGE, EINVAL, "--nqn is missing");
		return diag_hint(diag, "list the subsystems with: rdmastor nvmf-discover %s",
			opts->nvmf.value[NVMF_TRADDR]);
	}
	if (opts->devid_file && w->count > 1)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--devid-file is for one connection, not for %u", w->count);
	err = nvmf_options_check(&opts->nvmf, diag);
	for (unsigned i = 0; !err && i < w->count; i++) {
		err = read_target(w, &w->list[i], w->call->operands ? w->call->operand[i] : NULL);
		if (err && w->count > 1 && w->list[i].target.uri.spelling[0])
			diag_ctx(diag, "%s", w->list[i].target.uri.spelling);
	}
	return err;
}

static void connected(struct attach *attach)
{
	nvmf_attach_hint(container_of(attach, struct nvmf_attachment, nvme.attach));
}

/* All at once. */
static int attach_all(struct work *w, struct loop *loop)
{
	const struct connect_options *opts = w->call->opts;
	unsigned flags = (opts->no_wait ? NVMF_NO_WAIT : 0) |
			 (opts->exclusive ? NVMF_EXCLUSIVE : 0) | (w->count > 1 ? NVMF_NAMED : 0);

	for (unsigned i = 0; i < w->count; i++) {
		struct connection *c = &w->list[i];
		struct attach *attach = &c->attachment.nvme.attach;

		nvmf_attach_init(&c->attachment, w->call, loop, w->root, &c->target, flags);
		attach->deadline =
			c->target.timeout_ms ? loop_clock() + c->target.timeout_ms * MSEC : 0;
		attach->done = connected;
		w->attach[i] = attach;
	}
	return attach_run(loop, w->attach, w->count, w->call->diag);
}

static int show_one(struct work *w, struct connection *c, struct diag *why)
{
	const struct connect_options *opts = w->call->opts;
	char text[512];

	if (opts->common.dry_run)
		nvmf_attach_plan(w->call, w->root, &c->target, why);
	else
		*why = c->attachment.nvme.attach.why;
	if (why->err)
		diag_ctx(why, "%s", nvmf_target_text(&c->target, text, sizeof(text)));
	else if (!opts->common.dry_run)
		nvmf_attach_show(w->call, &c->attachment, opts->print);
	return -why->err;
}

static int show_all(struct work *w)
{
	struct nvmf_results results = { .call = w->call };

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
	return nvmf_results_end(&results);
}

static int connect_all(struct work *w, struct loop *loop)
{
	const struct connect_options *opts = w->call->opts;
	int err, fd;

	nvmf_show_identity(w->call, &w->list[0].target);
	nvmf_warn_secrets(w->call, &opts->nvmf);
	if (w->count == 1)
		out_text(w->call->out, "uri", NULL, "%s", w->list[0].uri);
	if (opts->common.dry_run)
		return show_all(w);
	err = open_devid(opts->devid_file, &fd, w->call->diag);
	if (err)
		return err;
	err = attach_all(w, loop);
	if (!err)
		err = show_all(w);
	if (!err)
		err = write_devid(
			fd, opts->devid_file, w->list[0].attachment.nvme.ctrl.name, w->call->diag);
	if (fd >= 0)
		close(fd);
	return err;
}

static int run(struct call *call)
{
	struct work w = {
		.call = call, .count = call->operands ? call->operands : 1, .root = kernel_root()
	};
	struct loop *loop = NULL;
	char text[512];
	int err;

	w.list = calloc(w.count, sizeof(*w.list));
	w.attach = calloc(w.count, sizeof(*w.attach));
	if (!w.list || !w.attach || w.root < 0)
		err = diag_sys(call->diag, w.root < 0 ? errno : ENOMEM, "open /");
	else
		err = read_targets(&w);
	if (!err)
		err = loop_new(&loop, &call->loop, call->diag);
	if (!err) {
		err = connect_all(&w, loop);
		if (err && w.count == 1)
			diag_ctx(call->diag, "%s",
				nvmf_target_text(&w.list[0].target, text, sizeof(text)));
	}
	loop_free(loop);
	for (unsigned i = 0; w.list && i < w.count; i++) {
		attach_nvme_free(&w.list[i].attachment.nvme);
		nvmf_target_wipe(&w.list[i].target);
		kernel_nvmf_conf_free(&w.list[i].config);
	}
	free(w.list);
	free(w.attach);
	if (w.root >= 0)
		close(w.root);
	return err ? err : EXIT_DONE;
}

const struct applet applet_nvmf_connect = {
	.name = "nvmf-connect",
	.operands = "[URI...]",
	.schemes = SCHEME_NVMF,
	.summary = "connect NVMe-oF subsystems through the kernel",
	.examples =
		"  rdmastor nvmf-connect nvme+rdma://10.0.0.1/nqn.2024-01.example:disk1\n"
		"  rdmastor nvmf-connect -t tcp -a 10.0.0.1 -n nqn.2024-01.example:disk1\n"
		"  rdmastor nvmf-connect nvme+tcp://10.0.0.1/nqn.2024-01.example:disk1 --dry-run\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct connect_options),
	.max = UINT8_MAX,
	.changes = true,
	.own_letters = "q",
	.run = run,
};
