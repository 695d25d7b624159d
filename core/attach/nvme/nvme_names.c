/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The targets that a command line names: all are read before the first name is resolved, so that
 * usage errors come first. */
#include "nvme_target.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *operand(const struct nvmf_names *names, unsigned i)
{
	return names->operands ? names->operand[i] : NULL;
}

static int read_target(const struct nvmf_names *names, unsigned i, struct diag *diag)
{
	struct nvmf_target *t = &names->list[i].target;
	int err = nvmf_target_read(
		t, names->env, names->root, names->options, operand(names, i), diag);

	if (!err && !names->options->value[NVMF_NQN] && !t->uri.path[0]) {
		err = diag_set(
			diag, DIAG_USAGE, EINVAL, "no subsystem NQN in '%s'", t->uri.spelling);
		diag_hint(diag,
			"list them with: rdmastor nvmf-discover %s; connect all with: rdmastor "
			"nvmf-connect-all %s",
			t->uri.spelling, t->uri.spelling);
	}
	return err;
}

/* Its name is resolved. */
static int complete_target(const struct nvmf_names *names, unsigned i, struct diag *diag)
{
	struct nvmf_named *named = &names->list[i];
	struct nvmf_target *t = &named->target;
	int err = nvmf_target_complete(
		t, names->root, names->options, operand(names, i), &names->conf, diag);

	if (!err && operand(names, i))
		snprintf(named->uri, sizeof(named->uri), "%s", t->uri.spelling);
	else if (!err)
		nvmf_uri(t->params.value, named->uri);
	return err;
}

int nvmf_names_read(struct nvmf_names *names, struct diag *diag)
{
	const char *const *value = names->options->value;
	unsigned count = names->operands ? names->operands : 1;
	int err;

	if (!names->operands && !value[NVMF_NQN] && value[NVMF_TRADDR]) {
		diag_set(diag, DIAG_USAGE, EINVAL, "--nqn is missing");
		return diag_hint(diag, "list the subsystems with: rdmastor nvmf-discover %s",
			value[NVMF_TRADDR]);
	}
	err = nvmf_options_check(names->options, diag);
	if (!err && names->config && strcmp(names->config, "none"))
		err = kernel_nvmf_conf_read(names->root, names->config, &names->conf, diag);
	if (err)
		return err;
	names->list = calloc(count, sizeof(*names->list));
	names->target = calloc(count, sizeof(*names->target));
	if (!names->list || !names->target)
		return diag_sys(diag, ENOMEM, "connect");
	names->count = count;
	for (unsigned i = 0; !err && i < 2 * count; i++) {
		unsigned at = i % count;

		if (i == count)
			nvmf_targets_resolve(names->loop, names->target, count);
		names->target[at] = &names->list[at].target;
		err = i < count ? read_target(names, at, diag) : complete_target(names, at, diag);
		if (err && count > 1 && names->target[at]->uri.spelling[0])
			diag_ctx(diag, "%s", names->target[at]->uri.spelling);
	}
	return err;
}

void nvmf_names_free(struct nvmf_names *names)
{
	for (unsigned i = 0; i < names->count; i++)
		nvmf_target_wipe(&names->list[i].target);
	kernel_nvmf_conf_free(&names->conf);
	free(names->list);
	free(names->target);
}
