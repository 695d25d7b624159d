/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of a URI that every protocol over RDMA has. */
#include "rdma_keys.h"
#include "ep.h"
#include "uri_read.h"
#include <string.h>

int rdma_keys(struct uri *uri, char dev[64], uint8_t *backend, bool *no_crc, struct diag *diag)
{
	struct uri_rdma rdma;
	int err = uri_rdma_read(&rdma, uri, URI_OWN, diag);

	*backend = !rdma.by.verbs ? EP_IWARP : rdma.by.iwarp ? EP_AUTO : EP_VERBS;
	*no_crc = rdma.by.no_crc;
	memcpy(dev, rdma.dev, sizeof(rdma.dev));
	return err;
}
