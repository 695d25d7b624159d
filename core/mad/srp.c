/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP targets among the services of I/O controllers (SRP-2, annex B), and the ways to write one down. */
#include "mad.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX       "SRP.T10:"
#define IO_CLASS_16A 0x0100 /* what add_target takes when io_class is not given */

bool mad_srp_id_ext(const struct mad_service *service, char id_ext[17])
{
	return sscanf(service->name, PREFIX "%16s", id_ext) == 1;
}

bool mad_srp_hex(const char *id_ext, uint64_t *value)
{
	size_t len = strspn(id_ext, "0123456789abcdefABCDEF");

	*value = strtoull(id_ext, NULL, 16);
	return len && len <= 16 && !id_ext[len];
}

void mad_srp_line(const struct mad_target *target, const struct mad_unit *unit, const struct mad_ioc *ioc,
	const struct mad_service *service, uint32_t imm_data, char line[256])
{
	char id_ext[17] = "";
	int len;

	mad_srp_id_ext(service, id_ext);
	len = snprintf(line, 256, "id_ext=%s,ioc_guid=%016" PRIx64 ",dgid=%016" PRIx64 "%016" PRIx64 ",pkey=%04x,service_id=%016" PRIx64,
		id_ext, ioc->guid, target->prefix, target->guid, unit->pkey, service->id);
	if (ioc->io_class != IO_CLASS_16A)
		len += snprintf(line + len, 256 - (size_t)len, ",io_class=%04x", ioc->io_class);
	/* Last: kernels that do not know it stop reading there */
	if (imm_data > ioc->send_size)
		snprintf(line + len, 256 - (size_t)len, ",max_it_iu_size=%" PRIu32, ioc->send_size);
}

void mad_srp_uri(const struct mad_target *target, const struct mad_unit *unit, const struct mad_ioc *ioc, const struct mad_service *service,
	char line[256])
{
	char id_ext[17] = "";
	int len;

	mad_srp_id_ext(service, id_ext);
	len = snprintf(line, 256, "srp://%016" PRIx64 "%016" PRIx64 "/%016" PRIx64 "/%s?pkey=%04x&service_id=%016" PRIx64,
		target->prefix, target->guid, ioc->guid, id_ext, unit->pkey, service->id);
	if (ioc->io_class != IO_CLASS_16A)
		snprintf(line + len, 256 - (size_t)len, "&io_class=%04x", ioc->io_class);
}
