/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-disconnect: end connections named by URI, NQN, address, controller or disk. */
#include "attach_env.h"
#include "attach_nvme.h"
#include "out.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000
#define MAX     64

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
	{ "output", 'o', OPT_TEXT, AT(common.output), "text|json|normal",
		"output format; normal is text" },
	{ "output-format", 0, OPT_TEXT, AT(common.output), "text|json|normal", "same as --output" },
	{ 0 },
};

static const struct disconnect_options defaults = { .common.timeout_ms = WAIT_MS };

struct ending {
	struct call *call;
	struct attach_env env;
	const struct disconnect_options *opts;
	int root;
	/* selection: all of these must match, and one of the controllers */
	struct nvmf_target target; /* of a URI */
	const char *value[NVMF_KEYS];
	char numeric[2][ADDR_TEXT]; /* of addresses that are names */
	struct addr addr;           /* of the target, with the others of its name */
	char ctrl[MAX][16];
	unsigned ctrls;
	bool by_name;
	/* the result */
	struct nvmf_ctrl *chosen;
	unsigned count;
};

static bool is_at(const struct ending *e, const char *traddr)
{
	bool is = kernel_nvmf_same_host(e->value[NVMF_TRADDR], traddr);
	struct addr at = e->addr;
	char text[ADDR_TEXT];

	while (!is && addr_next(&at))
		is = kernel_nvmf_same_host(addr_host(&at, text), traddr);
	return is;
}

static bool passes(const struct ending *e, const struct nvmf_ctrl *ctrl)
{
	const struct {
		enum nvmf_key key;
		const char *is;
	} rules[] = {
		{ NVMF_TRANSPORT, ctrl->transport },
		{ NVMF_TRADDR, ctrl->traddr },
		{ NVMF_TRSVCID, ctrl->trsvcid },
		{ NVMF_NQN, ctrl->nqn },
		{ NVMF_HOSTNQN, ctrl->hostnqn },
		{ NVMF_HOSTID, ctrl->hostid },
		{ NVMF_HOST_TRADDR, ctrl->host_traddr },
		{ NVMF_HOST_IFACE, ctrl->host_iface },
	};
	bool named = !e->by_name;

	for (unsigned i = 0; i < e->ctrls; i++)
		named |= !strcmp(e->ctrl[i], ctrl->name);
	for (unsigned i = 0; i < sizeof(rules) / sizeof(*rules) && named; i++) {
		enum nvmf_key key = rules[i].key;
		const char *expected = e->value[key];

		if (key == NVMF_TRADDR)
			named = !expected || is_at(e, rules[i].is);
		else if (key == NVMF_HOST_TRADDR)
			named = !expected || kernel_nvmf_same_host(expected, rules[i].is);
		else
			named = !expected || !strcmp(expected, rules[i].is);
	}
	return named;
}

static int add_device(struct ending *e, const char *device, struct diag *diag)
{
	int found = e->ctrls < MAX ? kernel_nvmf_of_device(
					     e->root, device, e->ctrl + e->ctrls, MAX - e->ctrls)
				   : -E2BIG;

	if (found == -E2BIG)
		return diag_set(diag, DIAG_USAGE, E2BIG, "more than %d devices", MAX);
	e->by_name = true;
	if (found < 0 && attach_is_gone(e->root, device))
		return 0;
	if (found < 0) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such NVMe-oF connection");
		diag_ctx(diag, "%s", device);
		return diag_hint(diag, "list connections with: rdmastor status");
	}
	e->ctrls += (unsigned)found;
	return 0;
}

static int add_devices(struct ending *e, const struct opt_list *list, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < list->count && !err; i++) {
		char *text = strdup(list->item[i]), *rest = text, *word;

		err = text ? 0 : diag_sys(diag, ENOMEM, "list of devices");
		while (!err && (word = strsep(&rest, ",")))
			err = *word ? add_device(e, word, diag)
				    : diag_set(diag, DIAG_USAGE, EINVAL, "--device: empty name");
		free(text);
	}
	return err;
}

/* Select the connections of a URI. Without an NQN all at that address, whatever the port of the
 * discovery. */
static int add_uri(struct ending *e, const char *text, struct diag *diag)
{
	static const struct nvmf_options none = { .no_secrets = true };
	static const enum nvmf_key host[] = { NVMF_HOSTNQN, NVMF_HOSTID };
	struct nvmf_target *t = &e->target;
	int err = nvmf_target_read(t, &e->env, e->root, &none, text, diag);

	if (!err)
		err = addr_resolve(&e->addr, t->params.value[NVMF_TRADDR], 1, ADDR_LOOKUP_MS, diag);
	if (!err)
		err = nvmf_target_set_addr(t, &e->addr, diag);
	memcpy(e->value, t->params.value, sizeof(e->value));
	/* by any host, unless the URI names one */
	for (unsigned i = 0; i < 2; i++)
		if (err || !uri_value(&t->uri, kernel_nvmf_key_name(host[i])))
			e->value[host[i]] = NULL;
	if (!t->uri.path || !t->uri.path[0])
		e->value[NVMF_TRSVCID] = e->value[NVMF_NQN] = NULL;
	return err;
}

static int add_options(struct ending *e, struct diag *diag)
{
	static const enum nvmf_key hosts[] = { NVMF_TRADDR, NVMF_HOST_TRADDR };

	memcpy(e->value, e->opts->value, sizeof(e->value));
	for (unsigned i = 0; i < 2; i++) {
		const char **host = &e->value[hosts[i]];
		struct addr addr;
		int err = *host ? addr_resolve(&addr, *host, 1, ADDR_LOOKUP_MS, diag) : 0;

		if (err)
			return err;
		if (*host && !strpbrk(*host, ":%"))
			*host = addr_host(&addr, e->numeric[i]);
		if (*host && hosts[i] == NVMF_TRADDR)
			e->addr = addr;
	}
	return add_devices(e, &e->opts->device, diag);
}

static int read_words(struct ending *e)
{
	const struct disconnect_options *opts = e->opts;
	const char *operand = e->call->operands ? e->call->operand[0] : NULL;
	bool which = opts->value[NVMF_NQN] || opts->value[NVMF_TRADDR] || opts->device.count;
	struct diag *diag = e->call->diag;
	int err;

	if (!operand && !which && !opts->all && !opts->shutdown)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"nothing to disconnect: expected a URI, --nqn, --device or --all");
	if (operand && which)
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "'%s' and -n, -d, -a can't be combined", operand);
	if (operand && (strstr(operand, "://") || !strncmp(operand, "transport=", 10) ||
			       !strncmp(operand, "trtype", 6)))
		return add_uri(e, operand, diag);
	err = add_options(e, diag);
	if (!err && operand && !strncmp(operand, "nqn.", 4))
		e->value[NVMF_NQN] = operand;
	else if (!err && operand)
		err = add_device(e, operand, diag);
	return err;
}

/* Choose the connections. Skip the one of the root device unless forced. */
static int choose(struct ending *e)
{
	const struct disconnect_options *opts = e->opts;
	bool spare = opts->shutdown || (opts->all && !opts->force);
	struct call *call = e->call;
	unsigned count, passing = 0;
	int err = kernel_nvmf_list(e->root, &e->chosen, &count, call->diag);

	for (unsigned i = 0; i < count && !err; i++) {
		const struct nvmf_ctrl *ctrl = &e->chosen[i];

		if (!passes(e, ctrl))
			continue;
		passing++;
		if (spare && kernel_nvmf_has_root(e->root, ctrl->name))
			call_note(call, "%s: skipped: the root file system is on it", ctrl->name);
		else
			e->chosen[e->count++] = *ctrl;
	}
	if (!err && !passing)
		out_line(call->out, "%s", "nothing to disconnect: no such NVMe-oF connection");
	return err;
}

static int refuse_used(const struct ending *e)
{
	char users[ATTACH_USERS];

	attach_nvme_users(e->root, e->chosen, e->count, users);
	if (!users[0])
		return 0;
	diag_set(e->call->diag, DIAG_BUSY, EBUSY, "in use: %s", users);
	return diag_hint(e->call->diag, "to disconnect anyway and lose unwritten data: --force");
}

/* Disconnect in parallel. The users were checked before, for all together. */
static int detach_all(const struct ending *e, struct attach_nvme *list, struct attach **attach)
{
	uint32_t ms = e->opts->common.timeout_ms;
	uint64_t until = ms ? loop_clock() + ms * 1000000ull : 0;
	struct loop *loop;
	int err = loop_new(&loop, &e->call->loop, e->call->diag);

	if (err)
		return err;
	for (unsigned i = 0; i < e->count; i++) {
		list[i].attach = (struct attach){ .proto = &attach_nvme_row,
			.loop = loop,
			.root = e->root,
			.deadline = until,
			.force = true };
		list[i].ctrl = e->chosen[i];
		attach[i] = &list[i].attach;
		if (e->opts->force || e->opts->shutdown)
			kernel_nvmf_fail_fast(e->root, &e->chosen[i]);
		attach_detach(attach[i]);
	}
	err = attach_run(loop, attach, e->count, e->call->diag);
	loop_free(loop);
	return err;
}

static int show_all(const struct ending *e, struct attach_nvme *list)
{
	bool dry = e->opts->common.dry_run;
	struct out *out = e->call->out;
	unsigned failed = 0;

	out_list(out, "results");
	for (unsigned i = 0; i < e->count; i++) {
		const struct nvmf_ctrl *ctrl = &e->chosen[i];
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
	out_u64(out, "succeeded", NULL, e->count - failed);
	out_u64(out, "failed", NULL, failed);
	return !failed ? EXIT_DONE : failed < e->count ? EXIT_PARTLY : EXIT_FAILED;
}

static int end_all(const struct ending *e)
{
	struct attach_nvme *list = calloc(e->count + 1, sizeof(*list));
	struct attach **attach = calloc(e->count + 1, sizeof(*attach));
	int err = list && attach ? 0 : diag_sys(e->call->diag, ENOMEM, "disconnect");

	if (!err && !e->opts->common.dry_run)
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
	struct ending e = {
		.call = call, .env = attach_env_of(call), .opts = opts, .root = kernel_root()
	};
	int err = e.root < 0 ? diag_sys(call->diag, errno, "open /") : read_words(&e);

	if (!err)
		err = choose(&e);
	if (!err && !opts->force && !opts->shutdown)
		err = refuse_used(&e);
	if (!err)
		err = end_all(&e);
	free(e.chosen);
	if (e.root >= 0)
		close(e.root);
	if (call->diag->err && call->operands)
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
	.operands = "[URI|NQN|DEVICE]",
	.schemes = SCHEME_NVMF,
	.keys = nvmf_target_keys,
	.summary = "end NVMe-oF connections of the kernel",
	.examples =
		"  rdmastor nvmf-disconnect nvme+rdma://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		"  rdmastor nvmf-disconnect /dev/nvme0n1\n",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct disconnect_options),
	.max = 1,
	.has_dry_run = true,
	.own_letters = "q",
	.run = run,
};
