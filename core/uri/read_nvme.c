/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the URIs of NVMe subsystems, and the keys of all protocols over RDMA. */
#include "uri_read.h"
#include <errno.h>
#include <string.h>

int uri_nvme_read(struct uri_nvme *nvme, const struct uri *uri, struct diag *diag)
{
	const char *unit = uri_unit(uri);
	uint64_t nsid = 0;

	*nvme = (struct uri_nvme){ 0 };
	if (!uri_name(uri, nvme->subnqn, sizeof(nvme->subnqn)))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"NQN of %zu bytes exceeds the limit of %u bytes", uri->name_len,
			NAME_PLAIN_MAX);
	nvme->by_uuid = !strncmp(unit, "urn:uuid:", 9);
	if (nvme->by_uuid)
		return uuid_parse(nvme->uuid, unit + 9)
			       ? 0
			       : diag_set(diag, DIAG_USAGE, EINVAL, "invalid UUID '%s'", unit + 9);
	if (*unit && parse_u64(unit, 1, UINT32_MAX - 1, &nsid, NULL)) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"namespace '%s': expected a number from 1, or urn:uuid:UUID", unit);
		return diag_hint(diag, "write a '/' in the NQN as %%2F"), -EINVAL;
	}
	nvme->nsid = (uint32_t)nsid;
	return 0;
}

int uri_rdma_read(
	struct uri_rdma *rdma, struct uri *uri, enum uri_initiator initiator, struct diag *diag)
{
	const char *by = uri_value(uri, "rdma");
	bool iwarp = by && !strcmp(by, "iwarp"), crc = true;
	int err;

	*rdma = (struct uri_rdma){ .by = { .verbs = !iwarp, .iwarp = true } };
	if (by && !strcmp(by, "verbs"))
		rdma->by.iwarp = false;
	else if (by && !iwarp && strcmp(by, "auto"))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "rdma='%s': expected verbs, iwarp or auto", by);
	if (initiator == URI_KERNEL && iwarp)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"the kernel initiator can't use rdmastor's software iWARP (rdma=iwarp)");
	err = initiator == URI_KERNEL ? uri_refuse_key(uri, initiator, "crc", diag)
				      : uri_bool(uri, "crc", &crc, diag);
	rdma->by.no_crc = !crc;
	if (!err)
		err = uri_text(uri, "dev", rdma->dev, sizeof(rdma->dev), diag);
	if (!err && iwarp && *rdma->dev)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"dev='%s' requires an RDMA device, but rdma=iwarp uses none", rdma->dev);
	return err;
}
