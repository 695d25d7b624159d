/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's prerequisites for management datagrams in userspace: ib_umad, and a device. */
#include "kernel_rdma.h"
#include "kernel_sys.h"
#include "modules/modules.h"

bool kernel_umad_loaded(int root)
{
	return kernel_sys_exists(root, "sys/class/infiniband_mad/abi_version");
}

int kernel_umad_ready(int root, struct diag *diag)
{
	bool core = kernel_sys_exists(root, "sys/class/infiniband") ||
		    kernel_sys_exists(root, "sys/module/ib_core");
	const char *why = NULL;

	if (!kernel_umad_loaded(root))
		why = kernel_module_load(root, "ib_umad");
	if (kernel_umad_loaded(root))
		return 0;
	return kernel_rdma_missing(root, core ? "ib_umad" : "ib_core", why, diag);
}

static void add_name(const char *name, void *arg)
{
	uint64_t *sum = arg, hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3;
	*sum += hash; /* independent of the order */
}

uint64_t kernel_umad_names(int root)
{
	uint64_t sum = 0;

	kernel_sys_list(root, "sys/class/infiniband_mad", add_name, &sum);
	kernel_sys_list(root, "sys/class/infiniband", add_name, &sum);
	return sum;
}
