/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect: an NVMe-oF subsystem as block devices of this machine, through the kernel's
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

static void show_identity(const struct call *call, const struct nvmf_target *t)
{
	nvmf_show_identity(call, t);
	nvmf_warn_secrets(call, &((const struct connect_options *)call->opts)->nvmf);
}

static int connect_to(struct call *call, int root, struct nvmf_target *t)
{
	const struct connect_options *opts = call->opts;
	uint64_t until = t->timeout_ms ? loop_clock() + t->timeout_ms * 1000000ull : 0;
	unsigned flags =
		(opts->no_wait ? NVMF_NO_WAIT : 0) | (opts->exclusive ? NVMF_EXCLUSIVE : 0);
	struct nvmf_attached attached;
	char uri[URI_MAX];
	int err, fd;

	show_identity(call, t);
	out_text(call->out, "uri", NULL, "%s",
		call->operands ? t->uri.spelling : nvmf_uri(t->want.value, uri));
	if (opts->common.dry_run)
		return nvmf_attach_plan(call, root, t, call->diag);
	err = open_devid(opts->devid_file, &fd, call->diag);
	if (err)
		return err;
	err = nvmf_attach(call, root, t, flags, until, &attached, call->diag);
	if (!err) {
		nvmf_attached_show(call, t, &attached, opts->print);
		err = write_devid(fd, opts->devid_file, attached.made.ctrl.name, call->diag);
	}
	nvmf_attached_free(&attached);
	if (fd >= 0)
		close(fd);
	return err;
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

static int run(struct call *call)
{
	struct nvmf_entries config = { 0 };
	const struct connect_options *opts = call->opts;
	const char *uri = call->operands ? call->operand[0] : NULL;
	struct nvmf_target *t = calloc(1, sizeof(*t));
	char text[512];
	int root = kernel_root(), err;

	if (!t || root < 0) {
		free(t);
		return diag_sys(call->diag, t ? errno : ENOMEM, "open /");
	}
	if (!uri && !opts->nvmf.value[NVMF_NQN] && opts->nvmf.value[NVMF_TRADDR]) {
		err = diag_set(call->diag, DIAG_USAGE, EINVAL, "--nqn is missing");
		diag_hint(call->diag, "list the subsystems with: rdmastor nvmf-discover %s",
			opts->nvmf.value[NVMF_TRADDR]);
	} else {
		err = nvmf_options_check(&opts->nvmf, call->diag);
	}
	if (!err)
		err = nvmf_target_read(t, call, root, &opts->nvmf, uri, call->diag);
	if (!err && !opts->nvmf.value[NVMF_NQN] && !t->uri.path[0]) {
		err = diag_set(call->diag, DIAG_USAGE, EINVAL, "no subsystem NQN in '%s'",
			t->uri.spelling);
		diag_hint(call->diag,
			"list them with: rdmastor nvmf-discover %s; connect all with: rdmastor "
			"nvmf-connect-all %s",
			t->uri.spelling, t->uri.spelling);
	}
	if (!err && opts->config && strcmp(opts->config, "none"))
		err = take_config(call, root, &config, t, uri);
	if (!err) {
		err = connect_to(call, root, t);
		if (err)
			diag_ctx(call->diag, "%s", nvmf_target_text(t, text, sizeof(text)));
	}
	nvmf_target_wipe(t);
	kernel_nvmf_conf_free(&config);
	free(t);
	close(root);
	return err ? err : EXIT_DONE;
}

const struct applet applet_nvmf_connect = {
	.name = "nvmf-connect",
	.operands = "[URI]",
	.schemes = SCHEME_NVMF,
	.summary = "connect an NVMe-oF subsystem through the kernel",
	.examples =
		"  rdmastor nvmf-connect nvme+rdma://10.0.0.1/nqn.2024-01.example:disk1\n"
		"  rdmastor nvmf-connect -t tcp -a 10.0.0.1 -n nqn.2024-01.example:disk1\n"
		"  rdmastor nvmf-connect nvme+tcp://10.0.0.1/nqn.2024-01.example:disk1 --dry-run\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct connect_options),
	.max = 1,
	.changes = true,
	.own_letters = "q",
	.run = run,
};
