/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What management datagrams in userspace need of the kernel: ib_umad, and a device. */
#include "kernel.h"
#include "modules.h"
#include "sys.h"
#include <errno.h>

int kernel_umad_ready(int root, struct diag *diag)
{
	const char *why = NULL;

	if (!sys_exists(root, "sys/class/infiniband_mad/abi_version"))
		why = module_load(root, "ib_umad");
	if (sys_exists(root, "sys/class/infiniband_mad/abi_version"))
		return 0;
	if (!sys_exists(root, "sys/class/infiniband"))
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "there is no RDMA device: the kernel's InfiniBand core is not loaded");
	return diag_set(diag, DIAG_NO_MODULE, ENOENT, "the kernel module ib_umad is not loaded: %s", why);
}

static void add_name(const char *name, void *arg)
{
	uint64_t *sum = arg, hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3;
	*sum += hash; /* in whatever order */
}

uint64_t kernel_umad_names(int root)
{
	uint64_t sum = 0;

	sys_list(root, "sys/class/infiniband_mad", add_name, &sum);
	sys_list(root, "sys/class/infiniband", add_name, &sum);
	return sum;
}
