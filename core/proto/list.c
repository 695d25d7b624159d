/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The protocols of this build. Adding one is adding its row. */
#include "session.h"
#include <stddef.h>

extern const struct proto nvme_rdma_proto, nvme_tcp_proto;
/* those with TLS say that they are not supported */
extern const struct proto nbd_proto, nbd_unix_proto, nbds_proto, nbds_unix_proto;

const struct proto *const protos[] = { &nvme_rdma_proto, &nvme_tcp_proto, &nbd_proto,
	&nbd_unix_proto, &nbds_proto, &nbds_unix_proto, NULL };
