/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Schemes of protocols that only the kernel's initiators implement. */
#include "protocol.h"

const struct proto nfs_rdma_proto = {
	.scheme = { "nfs+rdma://", "NFS over RDMA: HOST[:PORT]/PATH", SCHEME_NFS, "nfsrdma-mount" },
};
