/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Properties of the running kernel and of this process, for the examination of a machine.
 * Everything is reached under a root descriptor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "6.12.57+deb13-amd64", the directory of its modules; -errno */
int kernel_release(int root, char *text, size_t len);

/* The configuration: /proc/config.gz, or a file of this release in /boot or with its modules, which
 * `from` names. NULL with errno. The caller frees it. */
char *kernel_config(int root, const char *release, char *from, size_t len);
/* "NVME_TCP": 'y', 'm', or 'n' if it is not set. */
char kernel_config_value(const char *config, const char *name);

enum kernel_module_state {
	KERNEL_MODULE_LOADED, /* or built in */
	KERNEL_MODULE_INSTALLED,
	KERNEL_MODULE_RULED, /* installed, but a rule in modprobe.d prevents or replaces loading */
	KERNEL_MODULE_DAMAGED, /* listed in modules.dep, but a file is missing */
	KERNEL_MODULE_MISSING,
	KERNEL_MODULES_MISSING, /* no modules of this kernel are installed */
};
enum kernel_module_state kernel_module_look(int root, const char *release, const char *module);
/* Load it: NULL, or why it could not be loaded. */
const char *kernel_module_try(int root, const char *release, const char *module);
bool kernel_modules_disabled(int root); /* kernel.modules_disabled */

/* Limits of this process; UINT64_MAX = none. -errno */
struct kernel_limits {
	uint64_t locked;     /* bytes it may lock, raised as far as it may be raised */
	uint64_t files;      /* the same for open files */
	bool lock_unlimited; /* by CAP_IPC_LOCK, whatever the limit */
};
int kernel_limits(int root, struct kernel_limits *);

struct kernel_netdev {
	char state[16]; /* operstate: "up", "down", "lowerlayerdown", "unknown"; "" = not reported
			 */
	unsigned mtu;   /* 0 = not reported */
	int carrier;    /* 1, 0; -1 = not reported, as the interface is down */
};
int kernel_netdev(int root, const char *name, struct kernel_netdev *); /* -ENODEV */
/* What RDMA/CM prefers on a RoCE port: "RoCE v2", "IB/RoCE v1"; "" = not reported, as configfs is
 * not mounted. */
void kernel_roce_mode(int root, const char *dev, unsigned port, char mode[24]);
