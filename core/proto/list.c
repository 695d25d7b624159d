/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The one list of what a URI can name. Adding a protocol is adding its row. Completion offers the
 * schemes in this order. */
#include "session.h"

extern const struct proto nvme_rdma_proto, nvme_tcp_proto;
/* those with TLS say that they are not supported */
extern const struct proto nbd_proto, nbd_unix_proto, nbds_proto, nbds_unix_proto;
/* kernel.c */
extern const struct proto iser_proto, iscsi_proto, srp_proto, srp_cm_proto, nfs_rdma_proto;

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
