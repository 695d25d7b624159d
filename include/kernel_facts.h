/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Properties of the running kernel and of this process, for `doctor`. Paths are relative to a root
 * descriptor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the release, which is also the directory of its modules: "6.12.57+deb13-amd64"; -errno */
int kernel_release(int root, char *text, size_t len);

/* Read the configuration from /proc/config.gz, or from a file of this release in /boot or in
 * the directory of its modules; `from` is set to its path. NULL with errno. The caller frees it. */
char *kernel_config(int root, const char *release, char *from, size_t len);
/* Return the value of "NVME_TCP": 'y', 'm', or 'n' if it is not set. */
char kernel_config_value(const char *config, const char *name);

enum kernel_module_state {
	KERNEL_MODULE_LOADED, /* or built in */
	KERNEL_MODULE_INSTALLED,
	KERNEL_MODULE_RULED, /* installed, but a rule in modprobe.d prevents or replaces loading */
	KERNEL_MODULE_DAMAGED, /* listed in modules.dep, but a file is missing */
	KERNEL_MODULE_MISSING,
	KERNEL_MODULES_MISSING, /* no modules of this kernel are installed */
};
enum kernel_module_state kernel_module_get_state(int root, const char *release, const char *module);
/* Load a module. Returns NULL, or why it is not loaded. */
const char *kernel_module_try(int root, const char *release, const char *module);
/* Load a module and its dependencies. Returns why it may be unavailable ("no such module for this
 * kernel"). The caller checks whether it is present, as a built-in one can't be loaded. */
const char *kernel_module_load(int root, const char *module);
int kernel_module_errno(const char *why); /* ETIMEDOUT or ENOENT */
bool kernel_modules_disabled(int root);   /* sysctl kernel.modules_disabled */

/* Hard limits of this process; UINT64_MAX: unlimited. */
struct kernel_limits {
	uint64_t locked;     /* bytes of locked memory */
	uint64_t files;      /* open files */
	bool lock_unlimited; /* CAP_IPC_LOCK lifts the limit of locked memory */
};
int kernel_limits(int root, struct kernel_limits *); /* -errno */

struct kernel_netdev {
	char state[16]; /* operstate: "up", "down", "lowerlayerdown"; "": not reported */
	unsigned mtu;   /* 0: not reported */
	int carrier;    /* 1, 0; -1: not reported, as the interface is down */
};
int kernel_netdev(int root, const char *name, struct kernel_netdev *); /* -ENODEV */
/* Read the RoCE mode that RDMA/CM prefers on a port: "RoCE v2", "IB/RoCE v1"; "": not reported,
 * as configfs is not mounted. */
void kernel_roce_mode(int root, const char *dev, unsigned port, char mode[24]);
