/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-disconnect: end connections named by URI, NQN, address, controller or disk. */
#include "attach_detach.h"
#include "attach_env.h"
#include "attach_nvme.h"
#include "grow.h"
#include "nvme_rows.h"
#include "out.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

struct disconnect_options {
	struct opt_common common;
	const char *value[NVMF_KEYS];
	struct opt_list device;
	bool all, force, shutdown;
};

#define AT(field)  offsetof(struct disconnect_options, field)
#define VALUE(key) OPT_TEXT, AT(value[key])
static const struct opt rows[] = {
	{ "nqn", 'n', VALUE(NVMF_NQN), "NQN", "connections to this subsystem" },
	{ "device", 'd', OPT_LIST, AT(device), "DEVICE",
		"controller (nvme0) or block device; comma-separated list" },
	{ "all", 0, OPT_FLAG, AT(all), NULL,
		"all NVMe-oF connections that match the other options" },
	{ "transport", 't', VALUE(NVMF_TRANSPORT), "rdma|tcp",
		"only connections over this transport" },
	{ "traddr", 'a', VALUE(NVMF_TRADDR), "ADDRESS", "only connections to this address" },
	{ "trsvcid", 's', VALUE(NVMF_TRSVCID), "PORT", "only connections to this port" },
	{ "host-traddr", 'w', VALUE(NVMF_HOST_TRADDR), "ADDRESS",
		"only connections from this local address" },
	{ "host-iface", 'f', VALUE(NVMF_HOST_IFACE), "NETDEV",
		"only connections from this local interface" },
	{ "hostnqn", 'q', VALUE(NVMF_HOSTNQN), "NQN", "only connections of this host NQN" },
	{ "force", 0, OPT_FLAG, AT(force), NULL,
		"disconnect disks that are in use too; pending I/O fails" },
	{ "shutdown", 0, OPT_FLAG, AT(shutdown), NULL,
		"all connections but the root device's, without waiting for lost targets" },
	NVME_OUTPUT_ROWS,
	{ 0 },
};

static const struct disconnect_options defaults = { .common.timeout_ms = WAIT_MS };

struct ending {
	struct call *call;
	const struct disconnect_options *opts;
	struct nvmf_selection chosen;
};

static int check_words(const struct call *call)
{
	const struct disconnect_options *opts = call->opts;
	const char *operand = call->operands ? call->operand[0] : NULL;
	bool which = opts->value[NVMF_NQN] || opts->value[NVMF_TRADDR] || opts->device.count;

	if (!operand && !which && !opts->all && !opts->shutdown)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"nothing to disconnect: expected a URI, --nqn, --device or --all");
	if (operand && which)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"'%s' and -n, -d, -a can't be combined", operand);
	return 0;
}

static bool is_chosen(const struct nvmf_selection *chosen, const char *name)
{
	bool is = false;

	for (unsigned i = 0; i < chosen->count; i++)
		is |= !strcmp(chosen->ctrl[i].name, name);
	return is;
}

/* Add the connections that an operand names. */
static int choose_named(struct ending *e, const char *operand)
{
	struct nvmf_selection one = e->chosen;
	struct nvmf_ctrl *more;
	int err;

	one.operand = operand;
	one.ctrl = NULL;
	one.count = 0;
	err = nvmf_select(&one, e->call->diag);
	if (err && operand)
		diag_ctx(e->call->diag, "%s", operand);
	for (unsigned i = 0; i < one.count && !err; i++) {
		if (is_chosen(&e->chosen, one.ctrl[i].name))
			continue;
		more = grow(e->chosen.ctrl, e->chosen.count);
		if (more)
			*more = one.ctrl[i];
		else
			err = diag_sys(e->call->diag, ENOMEM, "disconnect");
	}
	free(one.ctrl);
	return err;
}

/* Skip the connection of the root device unless forced. */
static int choose(struct ending *e)
{
	const struct disconnect_options *opts = e->opts;
	bool spare = opts->shutdown || (opts->all && !opts->force);
	struct nvmf_selection *chosen = &e->chosen;
	int err = e->call->operands ? 0 : choose_named(e, NULL);
	unsigned count;

	for (unsigned i = 0; i < e->call->operands && !err; i++)
		err = choose_named(e, e->call->operand[i]);
	count = chosen->count;

	if (!err && !count)
		out_line(e->call->out, "%s", "nothing to disconnect: no such NVMe-oF connection");
	chosen->count = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct nvmf_ctrl *ctrl = &chosen->ctrl[i];

		if (spare && kernel_nvmf_has_root(chosen->root, ctrl->name))
			call_note(
				e->call, "%s: skipped: the root file system is on it", ctrl->name);
		else
			chosen->ctrl[chosen->count++] = *ctrl;
	}
	return err;
}

static int refuse_used(const struct ending *e)
{
	char users[ATTACH_USERS];

	attach_nvme_users(e->chosen.root, e->chosen.ctrl, e->chosen.count, users);
	if (!users[0])
		return 0;
	diag_set(e->call->diag, DIAG_BUSY, EBUSY, "in use: %s", users);
	return diag_hint(e->call->diag, "to disconnect anyway and lose unwritten data: --force");
}

/* The users were checked before, for all together. */
static int detach_all(const struct ending *e, struct attach_nvme *list, struct attach **attach)
{
	uint32_t ms = e->opts->common.timeout_ms;
	const struct detach_options how = { .loop = &e->call->loop,
		.deadline = ms ? loop_clock() + ms * MSEC : 0,
		.force = true,
		.dry_run = e->opts->common.dry_run };

	for (unsigned i = 0; i < e->chosen.count; i++) {
		const struct nvmf_ctrl *ctrl = &e->chosen.ctrl[i];

		list[i].attach =
			(struct attach){ .proto = &attach_nvme_row, .root = e->chosen.root };
		list[i].ctrl = *ctrl;
		attach[i] = &list[i].attach;
		if (!how.dry_run && (e->opts->force || e->opts->shutdown))
			kernel_nvmf_fail_fast(e->chosen.root, ctrl);
	}
	return attach_detach_all(&how, attach, e->chosen.count, e->call->diag);
}

static int show_all(const struct ending *e, struct attach_nvme *list)
{
	bool dry = e->opts->common.dry_run;
	struct out *out = e->call->out;
	unsigned failed = 0;

	out_list(out, "results");
	for (unsigned i = 0; i < e->chosen.count; i++) {
		const struct nvmf_ctrl *ctrl = &e->chosen.ctrl[i];
		struct diag *why = &list[i].attach.why;

		out_object(out, NULL);
		out_text(out, "device", NULL, "%s", ctrl->name);
		out_text(out, "subnqn", NULL, "%s", ctrl->nqn);
		out_text(out, "transport", NULL, "%s", ctrl->transport);
		out_text(out, "traddr", NULL, "%s", ctrl->traddr);
		out_text(out, "trsvcid", NULL, "%s", ctrl->trsvcid);
		out_bool(out, "disconnected", NULL, !why->err && !dry);
		if (why->err) {
			diag_ctx(why, "%s", ctrl->name);
			out_error(out, "error", why);
			if (failed++)
				call_note(e->call, "%s: %s", ctrl->name, why->text);
			else
				*e->call->diag = *why;
		} else {
			out_line(out, "%s: %s: %s at %s %s:%s", ctrl->name,
				dry ? "would be disconnected" : "disconnected", ctrl->nqn,
				ctrl->transport, ctrl->traddr, ctrl->trsvcid);
		}
		out_end(out);
	}
	out_end(out);
	out_u64(out, "succeeded", NULL, e->chosen.count - failed);
	out_u64(out, "failed", NULL, failed);
	return !failed ? EXIT_DONE : failed < e->chosen.count ? EXIT_PARTLY : EXIT_FAILED;
}

static int end_all(const struct ending *e)
{
	struct attach_nvme *list = calloc(e->chosen.count + 1, sizeof(*list));
	struct attach **attach = calloc(e->chosen.count + 1, sizeof(*attach));
	int err = list && attach ? 0 : diag_sys(e->call->diag, ENOMEM, "disconnect");

	if (!err)
		err = detach_all(e, list, attach);
	if (!err)
		err = show_all(e, list);
	free(list);
	free(attach);
	return err;
}

static int run(struct call *call)
{
	const struct disconnect_options *opts = call->opts;
	const struct attach_env env = attach_env_of(call);
	struct ending e = { .call = call,
		.opts = opts,
		.chosen = { .env = &env,
			.root = kernel_root(),
			.value = opts->value,
			.device = &opts->device } };
	int err = e.chosen.root < 0 ? diag_sys(call->diag, errno, "open /") : check_words(call);

	if (!err)
		err = choose(&e);
	if (!err && !opts->force && !opts->shutdown)
		err = refuse_used(&e);
	if (!err && !opts->common.dry_run)
		err = attach_nvme_flush(e.chosen.root, e.chosen.ctrl, e.chosen.count,
			opts->force || opts->shutdown, call->diag);
	if (!err)
		err = end_all(&e);
	free(e.chosen.ctrl);
	if (e.chosen.root >= 0)
		close(e.chosen.root);
	if (call->diag->err && call->operands == 1)
		diag_ctx(call->diag, "%s", call->operand[0]);
	return err;
}

static const struct disconnect_options all_defaults = { .common.timeout_ms = WAIT_MS, .all = true };
static const struct opt all_rows[] = {
	{ "transport", 'r', VALUE(NVMF_TRANSPORT), "rdma|tcp",
		"only connections over this transport" },
	{ "force", 0, OPT_FLAG, AT(force), NULL, "disconnect disks that are in use too" },
	{ "output", 'o', OPT_TEXT, AT(common.output), "text|json|normal",
		"output format; normal is text" },
	{ 0 },
};
#undef AT

/* For `nvme disconnect-all`. */
const struct applet applet_nvme_disconnect_all = {
	.name = "nvmf-disconnect",
	.operands = "",
	.summary = "end all NVMe-oF connections of the kernel",
	.opts = all_rows,
	.defaults = &all_defaults,
	.opts_size = sizeof(struct disconnect_options),
	.has_dry_run = true,
	.own_letters = "q",
	.run = run,
};

const struct applet applet_nvmf_disconnect = {
	.name = "nvmf-disconnect",
	.operands = "[URI|NQN|DEVICE]...",
	.schemes = SCHEME_NVMF,
	.keys = nvmf_target_keys,
	.summary = "end NVMe-oF connections of the kernel",
	.examples =
		"  rdmastor nvmf-disconnect nvme+rdma://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		"  rdmastor nvmf-disconnect /dev/nvme0n1\n",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct disconnect_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.own_letters = "q",
	.run = run,
};
