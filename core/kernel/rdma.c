/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What RDMA in userspace needs of the kernel: ib_uverbs, rdma_ucm, and a device. */
#include "kernel.h"
#include "modules.h"
#include "sys.h"
#include <errno.h>

#define TCP_HINT "NVMe over TCP needs none of this: nvme+tcp://…"

/* In the order in which they need each other; each with what shows that it is there, loaded or built in. */
static const struct part {
	const char *module, *shown_by[2];
} parts[] = {
	{ "ib_core", { "sys/class/infiniband", "sys/module/ib_core" } },
	{ "ib_uverbs", { "sys/class/infiniband_verbs", "sys/module/ib_uverbs" } },
	{ "rdma_ucm", { "sys/class/misc/rdma_cm", "dev/infiniband/rdma_cm" } },
};
#define PARTS (sizeof(parts) / sizeof(*parts))

static bool present(int root, const struct part *part)
{
	return sys_exists(root, part->shown_by[0]) || sys_exists(root, part->shown_by[1]);
}

static void count(const char *name, void *arg)
{
	(void)name;
	++*(unsigned *)arg;
}

int kernel_rdma_ready(int root, struct diag *diag)
{
	unsigned devices = 0;

	for (unsigned i = 0; i < PARTS; i++) {
		const char *why;

		if (present(root, &parts[i]))
			continue;
		why = module_load(root, parts[i].module);
		if (present(root, &parts[i]))
			continue;
		diag_set(diag, DIAG_NO_MODULE, ENOENT, "the kernel module %s is not loaded: %s", parts[i].module, why);
		diag_hint(diag, TCP_HINT);
		return -ENOENT;
	}
	sys_list(root, "sys/class/infiniband", count, &devices);
	if (devices)
		return 0;
	diag_set(diag, DIAG_NO_DEVICE, ENODEV, "there is no RDMA device");
	diag_hint(diag, "load the NIC's RDMA driver, or make a software device: rdma link add rxe0 type rxe netdev eth0; %s", TCP_HINT);
	return -ENODEV;
}
