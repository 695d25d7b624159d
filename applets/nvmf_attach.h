/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection through the kernel, from a wish to block devices, and how it is told. */
#pragma once
#include "nvmf_want.h"

struct nvmf_attached {
	struct nvmf_made made;
	struct nvmf_disk *disk;
	unsigned disks;
	char left_out[256]; /* options that the kernel does not know and nobody asked for */
	bool waited;
};
enum nvmf_attach_flag { NVMF_NO_WAIT = 1, NVMF_EXCLUSIVE = 2 };

/* Drivers, connection, block devices. What it made is undone when it fails. `until` as
 * loop_clock(), 0 = no bound. */
int nvmf_attach(const struct call *, int root, struct nvmf_target *, unsigned flags, uint64_t until,
	struct nvmf_attached *, struct diag *);
void nvmf_attached_free(struct nvmf_attached *);
/* What would be done: text lines and members of the open JSON object. */
int nvmf_attach_plan(struct call *, int root, const struct nvmf_target *, struct diag *);
void nvmf_attached_show(
	struct call *, const struct nvmf_target *, const struct nvmf_attached *, const char *print);
/* "t1 at rdma 10.0.0.1:4420" */
const char *nvmf_target_text(const struct nvmf_target *, char *text, size_t len);
