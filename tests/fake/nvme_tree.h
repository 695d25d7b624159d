/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Controllers and namespaces in a fixture tree, laid out as Linux 6.12 does. */
#pragma once
#include "tree.h"

/* Connected to `nqn` at rdma or tcp 10.0.0.N:4420, live. */
void nvme_tree_ctrl(const struct tree *, const char *name, const char *transport, const char *nqn,
	const char *address);
/* Namespace nsid of it, 8 MiB: `path` is its name below the controller ("nvme0c0n1", or "nvme0n1"
 * without multipath). */
void nvme_tree_disk(
	const struct tree *, const char *ctrl, const char *path, const char *disk, unsigned nsid);
