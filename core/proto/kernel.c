/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Schemes of protocols that only the kernel's initiators implement. */
#include "session.h"

const struct proto iser_proto = {
	.scheme = { "iser://", "iSCSI over RDMA: HOST[:PORT]/IQN/LUN", SCHEME_ISCSI, "iser-login" },
};
const struct proto srp_proto = {
	.scheme = { "srp://", "SRP over InfiniBand: LID-or-GID/IOC_GUID/ID_EXT[/LUN]", SCHEME_SRP,
		"srp-connect" },
};
const struct proto nfs_rdma_proto = {
	.scheme = { "nfs+rdma://", "NFS over RDMA: HOST[:PORT]/PATH", SCHEME_NFS, "nfsrdma-mount" },
};
