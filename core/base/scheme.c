/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The one list of URI schemes. How a disk is opened by its scheme is left to core/block and
 * core/proto. */
#include "scheme.h"

const struct scheme schemes[] = {
	{ "nvme+rdma://", "NVMe over RDMA: HOST[:PORT]/NQN[/NSID]", SCHEME_DISK | SCHEME_NVMF },
	{ "nvme+tcp://", "NVMe over TCP: HOST[:PORT]/NQN[/NSID]", SCHEME_DISK | SCHEME_NVMF },
	{ "nbd://", "NBD over TCP: HOST[:PORT]/NAME", SCHEME_DISK },
	{ "nbd+unix://", "NBD over a unix socket: /NAME?socket=PATH", SCHEME_DISK },
	{ "iser://", "iSCSI over RDMA: HOST[:PORT]/IQN/LUN", SCHEME_ISCSI },
	{ "iscsi://", "iSCSI over TCP: HOST[:PORT]/IQN/LUN", SCHEME_ISCSI },
	{ "srp://", "SRP over InfiniBand: LID-or-GID/IOC_GUID/ID_EXT[/LUN]", SCHEME_SRP },
	{ "srp+cm://", "SRP by RDMA/CM: HOST:PORT/IOC_GUID/ID_EXT[/LUN]", SCHEME_SRP },
	{ "nfs+rdma://", "NFS over RDMA: HOST[:PORT]/PATH", SCHEME_NFS },
	{ "file:", "file or block device: PATH", SCHEME_DISK },
	{ "ram:", "memory: SIZE", SCHEME_DISK },
	{ "null:", "reads zeroes, discards writes: SIZE", SCHEME_DISK },
	{ 0 },
};
