/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find SRP targets among the services of I/O controllers (SRP-2, annex B), and print them. */
#include "mad.h"
#include "names.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREFIX       "SRP.T10:"
#define IO_CLASS_16A 0x0100 /* add_target's default if io_class is absent */

bool mad_srp_id_ext(const struct mad_service *service, char id_ext[17])
{
	return sscanf(service->name, PREFIX "%16s", id_ext) == 1;
}

bool mad_srp_get(struct mad_srp *srp, const struct mad_target *target, const struct mad_unit *unit,
	const struct mad_ioc *ioc, const struct mad_service *service)
{
	*srp = (struct mad_srp){
		.ioc_guid = ioc->guid,
		.prefix = target->prefix,
		.guid = target->guid,
		.service_id = service->id,
		.pkey = unit->pkey,
		.io_class = ioc->io_class,
		.send_size = ioc->send_size,
	};
	return mad_srp_id_ext(service, srp->id_ext) && hex_parse(&srp->id, srp->id_ext, 16);
}

const char *mad_srp_text(const struct mad_srp *srp, char text[MAD_SRP_TEXT])
{
	snprintf(text, MAD_SRP_TEXT, "target %s at %016" PRIx64 "%016" PRIx64, srp->id_ext,
		srp->prefix, srp->guid);
	return text;
}

bool mad_srp_describe_ignored(const struct mad_target *target, char text[160])
{
	const char *first = NULL;
	unsigned more = 0;
	struct mad_srp srp;

	for (const struct mad_unit *unit = target->unit; unit; unit = unit->next)
		for (const struct mad_ioc *ioc = unit->ioc; ioc; ioc = ioc->next)
			for (const struct mad_service *service = ioc->service; service;
				service = service->next) {
				if (mad_srp_get(&srp, target, unit, ioc, service))
					continue;
				more += first != NULL;
				first = first ? first : service->name;
			}
	if (!first)
		return false;
	if (more)
		snprintf(text, 160,
			"ignoring service '%s' and %u more: their identifier extensions are not "
			"numbers",
			first, more);
	else
		snprintf(text, 160,
			"ignoring service '%s': its identifier extension is not a number", first);
	return true;
}

static void add(char line[MAD_SRP_LINE], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(char line[MAD_SRP_LINE], const char *fmt, ...)
{
	size_t len = strlen(line);
	va_list args;

	va_start(args, fmt);
	vsnprintf(line + len, MAD_SRP_LINE - len, fmt, args);
	va_end(args);
}

void mad_srp_command(
	const struct mad_srp *srp, const struct mad_srp_options *more, char line[MAD_SRP_LINE])
{
	line[0] = 0;
	add(line,
		"id_ext=%s,ioc_guid=%016" PRIx64 ",dgid=%016" PRIx64 "%016" PRIx64
		",pkey=%04x,service_id=%016" PRIx64,
		srp->id_ext, srp->ioc_guid, srp->prefix, srp->guid, srp->pkey, srp->service_id);
	if (srp->io_class != IO_CLASS_16A)
		add(line, ",io_class=%04x", srp->io_class);
	if (more->initiator_ext)
		add(line, ",initiator_ext=%016" PRIx64, srp->guid);
	if (more->tl_retry_count)
		add(line, ",tl_retry_count=%" PRIu32, more->tl_retry_count);
	if (more->options)
		add(line, "%s", more->options);
	/* Put it last: kernels that do not know it stop parsing there */
	if (more->imm_data > srp->send_size)
		add(line, ",max_it_iu_size=%" PRIu32, srp->send_size);
}

void mad_srp_uri(const struct mad_target *target, const struct mad_unit *unit,
	const struct mad_ioc *ioc, const struct mad_service *service, char line[256])
{
	char id_ext[17] = "";
	int len;

	mad_srp_id_ext(service, id_ext);
	len = snprintf(line, 256,
		"srp://%016" PRIx64 "%016" PRIx64 "/%016" PRIx64
		"/%s?pkey=%04x&service_id=%016" PRIx64,
		target->prefix, target->guid, ioc->guid, id_ext, unit->pkey, service->id);
	if (ioc->io_class != IO_CLASS_16A)
		snprintf(line + len, 256 - (size_t)len, "&io_class=%04x", ioc->io_class);
}
