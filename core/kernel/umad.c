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
