/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe namespaces and subsystems of this machine, on any transport, as nvme-cli's list commands
 * show them. Everything is reached under a root descriptor; "" = not reported. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdint.h>

struct nvme_namespace {
	char name[32], generic[32]; /* "nvme0n1", "ng0n1" */
	bool generic_node;          /* /dev has it */
	char serial[24], model[48], firmware[16];
	uint32_t nsid, block, metadata; /* block, metadata: bytes */
	uint64_t size, used;            /* bytes */
	bool used_known;
};
/* By number; free() it. Asks a controller where the kernel doesn't report the usage (before
 * Linux 6.8), for at most a second. */
int kernel_nvme_namespaces(int root, struct nvme_namespace **, unsigned *count, struct diag *);

/* A controller and its subsystem. */
struct nvme_member {
	char subsystem[24], nqn[224], policy[24], type[16]; /* "nvme-subsys0" */
	char name[16], transport[8], address[600], state[16];
	char ana[24]; /* of the path to the namespace that was asked for */
	char hostnqn[224], hostid[40];
};
/* By host, subsystem and number; free() it. device: only those with this namespace ("nvme0n1",
 * "/dev/nvme0n1"), or NULL. -ENOENT: no such namespace. */
int kernel_nvme_members(
	int root, const char *device, struct nvme_member **, unsigned *count, struct diag *);
