/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach NVMe-oF subsystems through the kernel. */
#pragma once
#include "attach.h"
#include "kernel_nvmf.h"

struct attach_nvme {
	struct attach attach; /* .proto: attach_nvme_row, .what: as made.ctrl.name */
	/* the owner's; what is pointed to lives until it is over */
	struct nvmf_want *want;
	uint32_t nsid;    /* wait for this namespace and keep no other; 0 = all */
	const char *uuid; /* the same by its UUID; NULL or "" = all */
	bool exclusive;   /* fail if the connection exists */
	/* NULL, or before a new connection, once the driver is loaded: put keys into the kernel,
	 * and their numbers into want */
	int (*keys)(struct attach_nvme *, struct diag *);

	/* Filled in. To detach: ctrl, by the owner. */
	struct nvmf_ctrl ctrl;
	bool existed;           /* was connected before */
	struct nvmf_disk *disk; /* attach_nvme_free() */
	unsigned disks;

	/* private from here */
	struct child_call call;
	struct nvmf_words words;
	struct diag unready;
	struct nvmf_nodes nodes;
	int instance;
	struct attach_nvme_active {
		int count; /* -EAGAIN: not asked yet */
		uint32_t nsid[NVMF_DISKS];
	} active;
	uint32_t lacks;
	unsigned seen;
	uint64_t changed;
};
extern const struct attach_proto attach_nvme_row;
void attach_nvme_free(struct attach_nvme *);
/* Users of the disks of all these controllers, if all are removed: "" = none. Waits for at most two
 * seconds. */
void attach_nvme_users(int root, const struct nvmf_ctrl *, unsigned count, char text[ATTACH_USERS]);
