/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RDMA devices as the system offers them. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RDMA as the system sees it, for messages when no device was found: which of ib_uverbs, rdma_ucm,
 * devices is missing. Loads the modules where it may. */
int kernel_rdma_ready(int root, struct diag *);
bool kernel_rdma_loaded(int root); /* there are no modules to load */
/* The network interface of an RDMA device; -ENODEV: it has none, or does not exist. */
int kernel_rdma_netdev(int root, const char *dev, char *name, size_t len, struct diag *);

/* Management datagrams from userspace (ib_umad): loads the module; which part is missing. */
int kernel_umad_ready(int root, struct diag *);
bool kernel_umad_loaded(int root); /* it has nothing to load */
uint64_t kernel_umad_names(int root); /* another number when other devices are there */
