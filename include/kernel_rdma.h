/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RDMA modules and devices. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

/* Load ib_core, ib_uverbs and rdma_ucm, and check that there is an RDMA device. The diag names what
 * is missing. */
int kernel_rdma_ready(int root, struct diag *);
/* If `why` is that no RDMA device was found, replace it with the cause found by
 * kernel_rdma_ready(); keep the part of its text on the fallback. Return -errno of `why`. */
int kernel_rdma_blame(struct diag *why, const struct diag *rdma);
bool kernel_rdma_loaded(int root); /* kernel_rdma_ready() would load nothing */
struct privilege_user;
/* Find a device node of verbs, or with `mads` of management datagrams, that the user can't open. */
bool kernel_rdma_denies(int root, const struct privilege_user *, bool mads, char node[64]);
/* Get the network interface of an RDMA device. -ENODEV: it has none, or does not exist. */
int kernel_rdma_netdev(int root, const char *dev, char *name, size_t len, struct diag *);

/* Load ib_umad, for management datagrams from userspace. The diag names what is missing. */
int kernel_umad_ready(int root, struct diag *);
bool kernel_umad_loaded(int root); /* kernel_umad_ready() would load nothing */
/* Return a hash of the names of all RDMA devices, to detect changes. */
uint64_t kernel_umad_names(int root);
