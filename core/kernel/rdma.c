/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What RDMA in userspace needs of the kernel: ib_uverbs, rdma_ucm, and a device. */
#include "kernel.h"
#include "modules.h"
#include "sys.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static void first_name(const char *name, void *arg)
{
	char *to = arg;

	if (!*to || strcmp(name, to) < 0)
		snprintf(to, 32, "%.31s", name);
}

/* RoCE and iWARP tell it with each GID; IPoIB is a network device of the same hardware. */
int kernel_rdma_netdev(int root, const char *dev, char *name, size_t len, struct diag *diag)
{
	char path[128], first[32] = "";

	snprintf(path, sizeof(path), "sys/class/infiniband/%.60s", dev);
	if (!*dev || strchr(dev, '/') || !sys_exists(root, path))
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "there is no RDMA device '%s'", dev);
	if (sys_read(root, name, len, "%s/ports/1/gid_attrs/ndevs/0", path) > 0)
		return 0;
	snprintf(path, sizeof(path), "sys/class/infiniband/%.60s/device/net", dev);
	sys_list(root, path, first_name, first);
	if (!first[0])
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "RDMA device '%s' has no network interface whose address could be used", dev);
	snprintf(name, len, "%s", first);
	return 0;
}
