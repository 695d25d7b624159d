/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The only list of URI schemes. A new protocol adds its row. Completion offers the schemes in this
 * order. */
#include "protocol.h"

const struct scheme *const schemes[] = {
	&nvme_rdma_proto.scheme,
	&nvme_tcp_proto.scheme,
	&nbd_proto.scheme,
	&nbd_unix_proto.scheme,
	&nbds_proto.scheme,
	&nbds_unix_proto.scheme,
	&iser_proto.scheme,
	&iscsi_proto.scheme,
	&srp_proto.scheme,
	&srp_cm_proto.scheme,
	&nfs_rdma_proto.scheme,
	&file_proto.scheme,
	&stream_proto.scheme,
	&ram_proto.scheme,
	&null_proto.scheme,
	NULL,
};
