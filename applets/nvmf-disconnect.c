/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-disconnect: ends what nvmf-connect made, named in any of the ways it can be. */
#include "attach_nvme.h"
#include "out.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000
#define MAX     64

struct disconnect_options {
	struct opt_common common;
	const char *transport, *traddr, *trsvcid, *host_traddr, *host_iface, *nqn, *hostnqn;
	struct opt_list device;
	bool all, force, shutdown;
};

#define AT(field) offsetof(struct disconnect_options, field)
static const struct opt rows[] = {
	{ "nqn", 'n', OPT_TEXT, AT(nqn), "NQN", "connections to this subsystem" },
	{ "device", 'd', OPT_LIST, AT(device), "DEVICE",
		"controller (nvme0) or block device; comma-separated list" },
	{ "all", 0, OPT_FLAG, AT(all), NULL,
		"all NVMe-oF connections that match the other options" },
	{ "transport", 't', OPT_TEXT, AT(transport), "rdma|tcp",
		"only connections over this transport" },
	{ "traddr", 'a', OPT_TEXT, AT(traddr), "ADDRESS", "only connections to this address" },
	{ "trsvcid", 's', OPT_TEXT, AT(trsvcid), "PORT", "only connections to this port" },
	{ "host-traddr", 'w', OPT_TEXT, AT(host_traddr), "ADDRESS",
		"only connections from this local address" },
	{ "host-iface", 'f', OPT_TEXT, AT(host_iface), "NETDEV",
		"only connections from this local interface" },
	{ "hostnqn", 'q', OPT_TEXT, AT(hostnqn), "NQN", "only connections of this host NQN" },
	{ "force", 0, OPT_FLAG, AT(force), NULL,
		"disconnect disks that are in use too; pending I/O fails" },
	{ "shutdown", 0, OPT_FLAG, AT(shutdown), NULL,
		"all connections but the root device's, without waiting for lost targets" },
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"output format; normal is text" },
	{ "output-format", 0, OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"same as --output" },
	{ 0 },
};
#undef AT

static const struct disconnect_options defaults = { .common.timeout_ms = WAIT_MS };

struct chosen {
	struct nvmf_ctrl *ctrl;
	unsigned count;
};

static bool same(const char *want, const char *is)
{
	return !want || !strcmp(want, is);
}

static bool same_host(const char *want, const char *is)
{
	struct addr a, b;

	if (!want || !strcmp(want, is))
		return true;
	if (addr_numeric(&a, want, 1, NULL) || addr_numeric(&b, is, 1, NULL))
		return false;
	return a.len == b.len && !memcmp(&a.ss, &b.ss, a.len);
}

struct filter {
	const char *transport, *traddr, *trsvcid, *host_traddr, *host_iface, *nqn, *hostnqn;
	char ctrl[MAX][16];
	unsigned ctrls;
	bool by_name;
	char numeric[2][ADDR_TEXT]; /* of traddr and host_traddr, where those are names */
};

static bool passes(const struct filter *f, const struct nvmf_ctrl *ctrl)
{
	bool named = !f->by_name;

	for (unsigned i = 0; i < f->ctrls; i++)
		named |= !strcmp(f->ctrl[i], ctrl->name);
	return named && same(f->transport, ctrl->transport) && same(f->trsvcid, ctrl->trsvcid) &&
	       same(f->nqn, ctrl->nqn) && same(f->hostnqn, ctrl->hostnqn) &&
	       same(f->host_iface, ctrl->host_iface) && same_host(f->traddr, ctrl->traddr) &&
	       same_host(f->host_traddr, ctrl->host_traddr);
}

static int not_there(const char *what, struct diag *diag)
{
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such NVMe-oF connection");
	diag_ctx(diag, "%s", what);
	return diag_hint(diag, "list connections with: rdmastor status");
}

static int add_device(struct filter *f, int root, const char *device, struct diag *diag)
{
	int found = f->ctrls < MAX ? kernel_nvmf_of_device(
					     root, device, f->ctrl + f->ctrls, MAX - f->ctrls)
				   : -E2BIG;

	if (found == -E2BIG)
		return diag_set(diag, DIAG_USAGE, E2BIG, "more than %d devices", MAX);
	if (found < 0)
		return not_there(device, diag);
	f->ctrls += (unsigned)found;
	f->by_name = true;
	return 0;
}

static int add_words(struct filter *f, int root, char *text, struct diag *diag)
{
	char *rest = text, *word;
	int err = 0;

	while (!err && (word = strsep(&rest, ",")))
		err = *word ? add_device(f, root, word, diag)
			    : diag_set(diag, DIAG_USAGE, EINVAL, "--device: empty name");
	return err;
}

static int add_devices(struct filter *f, int root, const struct opt_list *list, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < list->count && !err; i++) {
		char *text = strdup(list->item[i]);

		err = text ? add_words(f, root, text, diag)
			   : diag_sys(diag, ENOMEM, "list of devices");
		free(text);
	}
	return err;
}

/* What nvmf-connect was given, or nvmf-connect-all: without an NQN all at that address, whatever
 * port the discovery was at. */
static int add_uri(struct filter *f, struct nvmf_target *t, const struct call *call, int root,
	const char *text, struct diag *diag)
{
	static const struct nvmf_options none = { .no_secrets = true };
	struct addr addr;
	int err = nvmf_target_read(t, call, root, &none, text, diag);

	if (!err)
		err = addr_resolve(&addr, t->want.value[NVMF_TRADDR], 1, ADDR_LOOKUP_MS, diag);
	if (!err)
		err = nvmf_target_place(t, &addr, diag);
	if (err)
		return err;
	f->transport = t->want.value[NVMF_TRANSPORT];
	f->traddr = t->want.value[NVMF_TRADDR];
	f->trsvcid = t->uri.path[0] ? t->want.value[NVMF_TRSVCID] : NULL;
	f->nqn = t->uri.path[0] ? t->want.value[NVMF_NQN] : NULL;
	f->hostnqn = uri_value(&t->uri, "hostnqn");
	f->host_traddr = t->want.value[NVMF_HOST_TRADDR];
	f->host_iface = t->want.value[NVMF_HOST_IFACE];
	return 0;
}

static bool is_uri(const char *text)
{
	return strstr(text, "://") || !strncmp(text, "transport=", 10) ||
	       !strncmp(text, "trtype", 6);
}

static int find_host(const char **host, char numeric[ADDR_TEXT], struct diag *diag)
{
	struct addr addr;
	int err = *host ? addr_resolve(&addr, *host, 1, ADDR_LOOKUP_MS, diag) : 0;

	if (!err && *host && !strpbrk(*host, ":%"))
		*host = addr_host(&addr, numeric);
	return err;
}

static int read_filter(struct filter *f, struct nvmf_target *t, struct call *call, int root)
{
	const struct disconnect_options *opts = call->opts;
	const char *operand = call->operands ? call->operand[0] : NULL;
	int err;

	*f = (struct filter){ .transport = opts->transport,
		.traddr = opts->traddr,
		.trsvcid = opts->trsvcid,
		.host_traddr = opts->host_traddr,
		.host_iface = opts->host_iface,
		.nqn = opts->nqn,
		.hostnqn = opts->hostnqn };
	if (!operand && !opts->nqn && !opts->device.count && !opts->all && !opts->shutdown &&
		!opts->traddr)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"nothing to disconnect: expected a URI, --nqn, --device or --all");
	if (operand && (opts->nqn || opts->traddr || opts->device.count))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"'%s' and -n, -d, -a can't be combined", operand);
	if (operand && is_uri(operand))
		return add_uri(f, t, call, root, operand, call->diag);
	err = find_host(&f->traddr, f->numeric[0], call->diag);
	if (!err)
		err = find_host(&f->host_traddr, f->numeric[1], call->diag);
	if (err)
		return err;
	if (operand && !strncmp(operand, "nqn.", 4))
		f->nqn = operand;
	else if (operand)
		return add_device(f, root, operand, call->diag);
	return add_devices(f, root, &opts->device, call->diag);
}

static int choose(struct chosen *chosen, const struct filter *f, int root, struct diag *diag)
{
	unsigned count, kept = 0;
	int err = kernel_nvmf_list(root, &chosen->ctrl, &count, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++)
		if (passes(f, &chosen->ctrl[i]))
			chosen->ctrl[kept++] = chosen->ctrl[i];
	chosen->count = kept;
	return 0;
}

/* Each controller's part in the root device; those go out of the list. */
static void spare_root(struct call *call, struct chosen *chosen, int root)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < chosen->count; i++) {
		if (kernel_nvmf_has_root(root, chosen->ctrl[i].name))
			call_note(call, "%s: skipped: the root file system is on it",
				chosen->ctrl[i].name);
		else
			chosen->ctrl[kept++] = chosen->ctrl[i];
	}
	chosen->count = kept;
}

static int refuse_used(const struct chosen *chosen, int root, struct diag *diag)
{
	char who[ATTACH_USERS];

	attach_nvme_users(root, chosen->ctrl, chosen->count, who);
	if (!who[0])
		return 0;
	diag_set(diag, DIAG_BUSY, EBUSY, "in use: %s", who);
	return diag_hint(diag, "to disconnect anyway and lose unwritten data: --force");
}

static void show(
	struct out *out, const struct nvmf_ctrl *ctrl, const char *what, const struct diag *why)
{
	out_object(out, NULL);
	out_text(out, "device", NULL, "%s", ctrl->name);
	out_text(out, "subnqn", NULL, "%s", ctrl->nqn);
	out_text(out, "transport", NULL, "%s", ctrl->transport);
	out_text(out, "traddr", NULL, "%s", ctrl->traddr);
	out_text(out, "trsvcid", NULL, "%s", ctrl->trsvcid);
	out_bool(out, "disconnected", NULL, !why && *what != 'w');
	if (why)
		out_error(out, "error", why);
	else
		out_line(out, "%s: %s: %s at %s %s:%s", ctrl->name, what, ctrl->nqn,
			ctrl->transport, ctrl->traddr, ctrl->trsvcid);
	out_end(out);
}

static void ended(struct attach *attach)
{
	(void)attach;
}

/* All at once. The users are known: they were asked about all together. */
static int detach_all(struct call *call, const struct chosen *chosen, int root,
	struct attach_nvme *list, struct attach **attach)
{
	const struct disconnect_options *opts = call->opts;
	uint64_t until =
		opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * 1000000ull : 0;
	struct loop *loop;
	int err = loop_new(&loop, &call->loop, call->diag);

	if (err)
		return err;
	for (unsigned i = 0; i < chosen->count; i++) {
		list[i] = (struct attach_nvme){ .attach = { .proto = &attach_nvme_row,
							.loop = loop,
							.root = root,
							.deadline = until,
							.force = true,
							.done = ended },
			.ctrl = chosen->ctrl[i] };
		attach[i] = &list[i].attach;
		if (opts->force || opts->shutdown)
			kernel_nvmf_hurry(root, &chosen->ctrl[i]);
		attach_detach(attach[i]);
	}
	err = attach_run(loop, attach, chosen->count, call->diag);
	loop_free(loop);
	return err;
}

static int show_all(struct call *call, const struct chosen *chosen, struct attach_nvme *list)
{
	const struct disconnect_options *opts = call->opts;
	unsigned failed = 0;

	out_list(call->out, "results");
	for (unsigned i = 0; i < chosen->count; i++) {
		const struct nvmf_ctrl *ctrl = &chosen->ctrl[i];
		struct diag *why = &list[i].attach.why;

		if (why->err)
			diag_ctx(why, "%s", ctrl->name);
		show(call->out, ctrl,
			opts->common.dry_run ? "would be disconnected" : "disconnected",
			why->err ? why : NULL);
		if (!why->err)
			continue;
		if (failed++)
			call_note(call, "%s: %s", ctrl->name, why->text);
		else
			*call->diag = *why;
	}
	out_end(call->out);
	out_u64(call->out, "succeeded", NULL, chosen->count - failed);
	out_u64(call->out, "failed", NULL, failed);
	return !failed ? EXIT_DONE : failed < chosen->count ? EXIT_PARTLY : EXIT_FAILED;
}

static int end_all(struct call *call, const struct chosen *chosen, int root)
{
	const struct disconnect_options *opts = call->opts;
	struct attach_nvme *list = calloc(chosen->count + 1, sizeof(*list));
	struct attach **attach = calloc(chosen->count + 1, sizeof(*attach));
	int err = list && attach ? 0 : diag_sys(call->diag, ENOMEM, "disconnect");

	if (!err && !opts->common.dry_run)
		err = detach_all(call, chosen, root, list, attach);
	if (!err)
		err = show_all(call, chosen, list);
	free(list);
	free(attach);
	return err;
}

static int disconnect(struct call *call, const struct filter *f, int root)
{
	const struct disconnect_options *opts = call->opts;
	bool everything = opts->all || opts->shutdown;
	struct chosen chosen = { 0 };
	int err = choose(&chosen, f, root, call->diag);

	if (!err && !chosen.count && !everything && f->by_name)
		err = diag_set(call->diag, DIAG_NOT_FOUND, ENOENT, "no NVMe-oF connection matches");
	if (!err && !chosen.count)
		out_line(call->out, "%s", "no such connection");
	if (!err && (opts->shutdown || (opts->all && !opts->force)))
		spare_root(call, &chosen, root);
	if (!err && !opts->force && !opts->shutdown)
		err = refuse_used(&chosen, root, call->diag);
	if (!err)
		err = end_all(call, &chosen, root);
	free(chosen.ctrl);
	return err;
}

static int run(struct call *call)
{
	struct nvmf_target *t = calloc(1, sizeof(*t));
	struct filter *f = calloc(1, sizeof(*f));
	int root = kernel_root(), err = 0;

	if (!t || !f || root < 0)
		err = diag_sys(call->diag, root < 0 ? errno : ENOMEM, "open /");
	if (!err)
		err = read_filter(f, t, call, root);
	if (!err)
		err = disconnect(call, f, root);
	if (root >= 0)
		close(root);
	if (call->diag->err && call->operands)
		diag_ctx(call->diag, "%s", call->operand[0]);
	free(t);
	free(f);
	return err;
}

static const struct disconnect_options all_defaults = { .common.timeout_ms = WAIT_MS, .all = true };
static const struct opt all_rows[] = {
	{ "transport", 'r', OPT_TEXT, offsetof(struct disconnect_options, transport), "rdma|tcp",
		"only connections over this transport" },
	{ "force", 0, OPT_FLAG, offsetof(struct disconnect_options, force), NULL,
		"disconnect disks that are in use too" },
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"output format; normal is text" },
	{ 0 },
};

/* By `nvme disconnect-all`. */
const struct applet applet_nvme_disconnect_all = {
	.name = "nvmf-disconnect",
	.operands = "",
	.summary = "end all NVMe-oF connections of the kernel",
	.opts = all_rows,
	.defaults = &all_defaults,
	.opts_size = sizeof(struct disconnect_options),
	.changes = true,
	.own_letters = "q",
	.run = run,
};

const struct applet applet_nvmf_disconnect = {
	.name = "nvmf-disconnect",
	.operands = "[URI|NQN|DEVICE]",
	.schemes = SCHEME_NVMF,
	.summary = "end NVMe-oF connections of the kernel",
	.examples = "  rdmastor nvmf-disconnect nvme+rdma://10.0.0.1/nqn.2024-01.example:disk1\n"
		    "  rdmastor nvmf-disconnect /dev/nvme0n1\n",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct disconnect_options),
	.max = 1,
	.changes = true,
	.own_letters = "q",
	.run = run,
};
