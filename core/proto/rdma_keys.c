/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of a URI that every protocol over RDMA has. */
#include "rdma_keys.h"
#include "ep.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int rdma_keys(struct uri *uri, char dev[64], uint8_t *backend, bool *no_crc, struct diag *diag)
{
	const char *rdma = uri_value(uri, "rdma"), *name = uri_value(uri, "dev");
	bool crc = true;
	int err;

	if (rdma && !strcmp(rdma, "verbs"))
		*backend = EP_VERBS;
	else if (rdma && !strcmp(rdma, "iwarp"))
		*backend = EP_IWARP;
	else if (rdma && strcmp(rdma, "auto"))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "rdma='%s': expected verbs, iwarp or auto", rdma);
	err = uri_bool(uri, "crc", &crc, diag);
	*no_crc = !crc;
	if (err || !name)
		return err;
	if (!*name || strlen(name) >= 64)
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "dev='%s': must have 1 to 63 characters", name);
	snprintf(dev, 64, "%s", name);
	return *backend == EP_IWARP
		       ? diag_set(diag, DIAG_USAGE, EINVAL,
				 "dev='%s' requires an RDMA device, but rdma=iwarp uses none", dev)
		       : 0;
}
