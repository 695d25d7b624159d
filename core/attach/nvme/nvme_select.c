/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select connections of the kernel that the user names by URI, NQN, address, controller or disk. */
#include "attach_detach.h"
#include "attach_nvme.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX 64

/* What a connection must match: all values, and one of the controllers. */
struct rules {
	struct nvmf_target target; /* of a URI */
	const char *value[NVMF_KEYS];
	char numeric[2][ADDR_TEXT]; /* of addresses that are names */
	struct addr addr;           /* of the target, with the others of its name */
	char ctrl[MAX][16];
	unsigned ctrls;
	bool by_name;
};

static bool is_at(const struct rules *rules, const char *traddr)
{
	bool is = kernel_nvmf_same_host(rules->value[NVMF_TRADDR], traddr);
	struct addr at = rules->addr;
	char text[ADDR_TEXT];

	while (!is && addr_next(&at))
		is = kernel_nvmf_same_host(addr_host(&at, text), traddr);
	return is;
}

static bool passes(const struct rules *rules, const struct nvmf_ctrl *ctrl)
{
	const struct {
		enum nvmf_key key;
		const char *is;
	} keys[] = {
		{ NVMF_TRANSPORT, ctrl->transport },
		{ NVMF_TRADDR, ctrl->traddr },
		{ NVMF_TRSVCID, ctrl->trsvcid },
		{ NVMF_NQN, ctrl->nqn },
		{ NVMF_HOSTNQN, ctrl->hostnqn },
		{ NVMF_HOSTID, ctrl->hostid },
		{ NVMF_HOST_TRADDR, ctrl->host_traddr },
		{ NVMF_HOST_IFACE, ctrl->host_iface },
	};
	bool named = !rules->by_name;

	for (unsigned i = 0; i < rules->ctrls; i++)
		named |= !strcmp(rules->ctrl[i], ctrl->name);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys) && named; i++) {
		enum nvmf_key key = keys[i].key;
		const char *expected = rules->value[key];

		if (key == NVMF_TRADDR)
			named = !expected || is_at(rules, keys[i].is);
		else if (key == NVMF_HOST_TRADDR)
			named = !expected || kernel_nvmf_same_host(expected, keys[i].is);
		else
			named = !expected || !strcmp(expected, keys[i].is);
	}
	return named;
}

static int add_device(struct rules *rules, int root, const char *device, struct diag *diag)
{
	int found = rules->ctrls < MAX ? kernel_nvmf_of_device(root, device,
						 rules->ctrl + rules->ctrls, MAX - rules->ctrls)
				       : -E2BIG;

	if (found == -E2BIG)
		return diag_set(diag, DIAG_USAGE, E2BIG, "more than %d devices", MAX);
	rules->by_name = true;
	if (found < 0 && attach_is_gone(root, device))
		return 0;
	if (found < 0) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such NVMe-oF connection");
		diag_ctx(diag, "%s", device);
		return diag_hint(diag, "list connections with: rdmastor status");
	}
	rules->ctrls += (unsigned)found;
	return 0;
}

static int add_devices(
	struct rules *rules, int root, const struct opt_list *list, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < list->count && !err; i++) {
		char *text = strdup(list->item[i]), *rest = text, *word;

		err = text ? 0 : diag_sys(diag, ENOMEM, "list of devices");
		while (!err && (word = strsep(&rest, ",")))
			err = *word ? add_device(rules, root, word, diag)
				    : diag_set(diag, DIAG_USAGE, EINVAL, "--device: empty name");
		free(text);
	}
	return err;
}

/* Select the connections of a URI. Without an NQN all at that address, whatever the port of the
 * discovery; with paths=auto all to that NQN. */
static int add_uri(struct rules *rules, const struct nvmf_selection *selection, struct diag *diag)
{
	static const struct nvmf_options none = { .no_secrets = true };
	static const enum nvmf_key host[] = { NVMF_HOSTNQN, NVMF_HOSTID };
	struct nvmf_target *t = &rules->target;
	int err = nvmf_target_read(
		t, selection->env, selection->root, &none, selection->operand, diag);

	if (!err)
		err = addr_resolve(
			&rules->addr, t->params.value[NVMF_TRADDR], 1, ADDR_LOOKUP_MS, diag);
	if (!err)
		err = nvmf_target_set_addr(t, &rules->addr, diag);
	memcpy(rules->value, t->params.value, sizeof(rules->value));
	/* by any host, unless the URI names one */
	for (unsigned i = 0; i < 2; i++)
		if (err || !uri_value(&t->uri, kernel_nvmf_key_name(host[i])))
			rules->value[host[i]] = NULL;
	if (!t->uri.path || !t->uri.path[0])
		rules->value[NVMF_TRSVCID] = rules->value[NVMF_NQN] = NULL;
	if (t->find_paths)
		rules->value[NVMF_TRANSPORT] = rules->value[NVMF_TRADDR] =
			rules->value[NVMF_TRSVCID] = NULL;
	return err;
}

static int add_options(
	struct rules *rules, const struct nvmf_selection *selection, struct diag *diag)
{
	static const enum nvmf_key hosts[] = { NVMF_TRADDR, NVMF_HOST_TRADDR };

	memcpy(rules->value, selection->value, sizeof(rules->value));
	for (unsigned i = 0; i < 2; i++) {
		const char **host = &rules->value[hosts[i]];
		struct addr addr;
		int err = *host ? addr_resolve(&addr, *host, 1, ADDR_LOOKUP_MS, diag) : 0;

		if (err)
			return err;
		if (*host && !strpbrk(*host, ":%"))
			*host = addr_host(&addr, rules->numeric[i]);
		if (*host && hosts[i] == NVMF_TRADDR)
			rules->addr = addr;
	}
	return add_devices(rules, selection->root, selection->device, diag);
}

static int read_rules(
	struct rules *rules, const struct nvmf_selection *selection, struct diag *diag)
{
	const char *operand = selection->operand;
	int err;

	if (operand && (strstr(operand, "://") || !strncmp(operand, "transport=", 10) ||
			       !strncmp(operand, "trtype", 6)))
		return add_uri(rules, selection, diag);
	err = add_options(rules, selection, diag);
	if (!err && operand && !strncmp(operand, "nqn.", 4))
		rules->value[NVMF_NQN] = operand;
	else if (!err && operand)
		err = add_device(rules, selection->root, operand, diag);
	return err;
}

int nvmf_select(struct nvmf_selection *selection, struct diag *diag)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	unsigned count;
	int err = rules ? read_rules(rules, selection, diag) : diag_sys(diag, ENOMEM, "selection");

	if (!err)
		err = kernel_nvmf_list(selection->root, &selection->ctrl, &count, diag);
	for (unsigned i = 0; !err && i < count; i++)
		if (passes(rules, &selection->ctrl[i]))
			selection->ctrl[selection->count++] = selection->ctrl[i];
	free(rules);
	return err;
}
