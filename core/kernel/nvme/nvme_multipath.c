/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The driver's multipath: whether it is on, and the policy of a subsystem. */
#include "kernel_nvmf.h"
#include "kernel_sys.h"
#include "nvme.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SUBSYSTEMS "sys/class/nvme-subsystem"

bool kernel_nvmf_multipath(int root)
{
	char text[8];

	return kernel_sys_read(
		       root, text, sizeof(text), "sys/module/nvme_core/parameters/multipath") > 0 &&
	       text[0] == 'Y';
}

struct search {
	int root;
	const char *ctrl;
	char subsystem[24];
};

static void find_subsystem(const char *name, void *arg)
{
	struct search *search = arg;
	char path[80];

	snprintf(path, sizeof(path), SUBSYSTEMS "/%.23s/%.15s", name, search->ctrl);
	if (!search->subsystem[0] && kernel_sys_exists(search->root, path))
		snprintf(search->subsystem, sizeof(search->subsystem), "%.23s", name);
}

int kernel_nvmf_set_policy(int root, const char *ctrl, const char *policy, struct diag *diag)
{
	struct search search = { .root = root, .ctrl = ctrl };
	int err = -ENOENT;

	kernel_sys_list(root, SUBSYSTEMS, find_subsystem, &search);
	if (search.subsystem[0])
		err = kernel_nvme_write(root, policy, SUBSYSTEMS "/%s/iopolicy", search.subsystem);
	if (err == -EINVAL) {
		diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "this kernel has no policy '%s'", policy);
		return diag_hint(diag, "numa and round-robin need Linux 5.1, queue-depth 6.11"),
		       -ENOTSUP;
	}
	if (err == -ENOENT || err == -EACCES) /* no such attribute, or not as root */
		return err == -EACCES ? diag_set(diag, DIAG_PERMISSION, EACCES,
						"only root can set the policy")
				      : diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
						"this kernel has no NVMe multipath");
	return err ? diag_sys(diag, -err, "set the policy of %s", search.subsystem) : 0;
}
