/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read what the kernel reports of itself, of this process and of network interfaces. */
#include "kernel_facts.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kernel_release(int root, char *text, size_t len)
{
	ssize_t got = kernel_sys_read(root, text, len, "proc/sys/kernel/osrelease");

	if (got > 0 && strchr(text, '/'))
		got = 0;
	if (got <= 0)
		text[0] = 0;
	return got > 0 ? 0 : got ? (int)got : -ENODATA;
}

static bool installed(int root, char *path[MODULE_FILES], int count)
{
	bool all = true;

	for (int i = 0; i < count; i++)
		all &= kernel_sys_exists(root, path[i]);
	kernel_module_files_free(path, count);
	return all;
}

enum kernel_module_state kernel_module_get_state(int root, const char *release, const char *module)
{
	char *path[MODULE_FILES], loaded[100];
	int count;

	snprintf(loaded, sizeof(loaded), "sys/module/%s", module);
	if (kernel_sys_exists(root, loaded) || kernel_module_built_in(root, release, module))
		return KERNEL_MODULE_LOADED;
	count = kernel_module_files(root, release, module, path);
	if (count == -ENODATA)
		return KERNEL_MODULES_MISSING;
	if (count < 0)
		return KERNEL_MODULE_MISSING;
	if (!installed(root, path, count))
		return KERNEL_MODULE_DAMAGED;
	return kernel_module_has_rule(root, module, false) ? KERNEL_MODULE_RULED
							   : KERNEL_MODULE_INSTALLED;
}

const char *kernel_module_try(int root, const char *release, const char *module)
{
	const char *why = kernel_module_load(root, module);

	return kernel_module_get_state(root, release, module) == KERNEL_MODULE_LOADED ? NULL : why;
}

bool kernel_modules_disabled(int root)
{
	char text[8];

	return kernel_sys_read(root, text, sizeof(text), "proc/sys/kernel/modules_disabled") > 0 &&
	       !strcmp(text, "1");
}

/* The hard limit, as the soft one can be raised to it: "Max locked memory  8388608  8388608 bytes".
 */
static uint64_t limit_of(const char *limits, const char *name)
{
	char soft[24], hard[24];
	const char *line = strstr(limits, name);

	if (!line || sscanf(line + strlen(name), " %23s %23s", soft, hard) != 2)
		return 0;
	return strcmp(hard, "unlimited") ? strtoull(hard, NULL, 10) : UINT64_MAX;
}

int kernel_limits(int root, struct kernel_limits *limits)
{
	char text[4096], *capabilities;
	ssize_t got = kernel_sys_read(root, text, sizeof(text), "proc/self/limits");

	*limits = (struct kernel_limits){ 0 };
	if (got <= 0)
		return got ? (int)got : -ENODATA;
	limits->locked = limit_of(text, "Max locked memory");
	limits->files = limit_of(text, "Max open files");
	got = kernel_sys_read(root, text, sizeof(text), "proc/self/status");
	capabilities = got > 0 ? strstr(text, "\nCapEff:") : NULL;
	limits->lock_unlimited =
		capabilities && strtoull(capabilities + 8, NULL, 16) >> CAP_IPC_LOCK & 1;
	return 0;
}

int kernel_netdev(int root, const char *name, struct kernel_netdev *netdev)
{
	char dir[64], text[16];

	*netdev = (struct kernel_netdev){ .carrier = -1 };
	snprintf(dir, sizeof(dir), "sys/class/net/%.20s", name);
	if (!name[0] || strchr(name, '/') || !kernel_sys_exists(root, dir))
		return -ENODEV;
	kernel_sys_read(root, netdev->state, sizeof(netdev->state), "%s/operstate", dir);
	if (kernel_sys_read(root, text, sizeof(text), "%s/mtu", dir) > 0)
		netdev->mtu = (unsigned)strtoul(text, NULL, 10);
	if (kernel_sys_read(root, text, sizeof(text), "%s/carrier", dir) > 0)
		netdev->carrier = text[0] == '1';
	return 0;
}

void kernel_roce_mode(int root, const char *dev, unsigned port, char mode[24])
{
	kernel_sys_read(root, mode, 24,
		"sys/kernel/config/rdma_cm/%.60s/ports/%u/default_roce_mode", dev, port);
}
