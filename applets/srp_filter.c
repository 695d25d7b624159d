/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which of the targets found are wanted. */
#include "srp_filter.h"
#include "names.h"
#include <errno.h>
#include <string.h>

static const struct {
	const char *option;
	unsigned digits;
} keys[SRP_KEYS] = {
	[SRP_ID_EXT] = { "--id-ext", 16 },
	[SRP_IOC_GUID] = { "--ioc-guid", 16 },
	[SRP_DGID] = { "--dgid", 32 },
	[SRP_PKEY] = { "--pkey", 4 },
	[SRP_SERVICE_ID] = { "--service-id", 16 },
};

static int read_number(
	struct srp_value *value, enum srp_key key, const char *text, struct diag *diag)
{
	const char *digits = !strncmp(text, "0x", 2) ? text + 2 : text;

	if (!hex_parse(&value->lower, digits, keys[key].digits))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%s': expected 1 to %u hexadecimal digits", keys[key].option,
			text, keys[key].digits);
	return 0;
}

static int read_gid(struct srp_value *value, const char *text, struct diag *diag)
{
	struct diag why = { 0 };
	uint8_t gid[16];

	if (mad_gid_parse(gid, text, &why))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "%s: %s", keys[SRP_DGID].option, why.text);
	*value = (struct srp_value){ wire_be(gid, 8), wire_be(gid + 8, 8) };
	return 0;
}

int srp_filter_read(
	struct srp_filter *filter, enum srp_key key, const struct opt_list *list, struct diag *diag)
{
	struct srp_filter_key *into = &filter->key[key];
	int err = 0;

	for (unsigned i = 0; !err && i < list->count; i++) {
		struct srp_value *value = &into->value[into->count++];

		err = key == SRP_DGID ? read_gid(value, list->item[i], diag)
				      : read_number(value, key, list->item[i], diag);
		filter->on = true;
	}
	return err;
}

static bool takes(const struct srp_filter_key *key, uint64_t upper, uint64_t lower)
{
	for (unsigned i = 0; i < key->count; i++)
		if (key->value[i].upper == upper && key->value[i].lower == lower)
			return true;
	return !key->count;
}

bool srp_filter_takes(const struct srp_filter *filter, const struct mad_target *target,
	const struct mad_unit *unit, const struct mad_ioc *ioc, const struct mad_service *service)
{
	const struct srp_filter_key *key = filter->key;
	uint64_t id_ext = 0;
	char text[17];

	if (key[SRP_ID_EXT].count &&
		(!mad_srp_id_ext(service, text) || !hex_parse(&id_ext, text, 16)))
		return false;
	return takes(&key[SRP_ID_EXT], 0, id_ext) && takes(&key[SRP_IOC_GUID], 0, ioc->guid) &&
	       takes(&key[SRP_DGID], target->prefix, target->guid) &&
	       takes(&key[SRP_PKEY], 0, unit->pkey) && takes(&key[SRP_SERVICE_ID], 0, service->id);
}

bool srp_filter_may_take(const struct srp_filter *filter, const struct mad_target *target)
{
	return !target->prefix || !target->guid ||
	       takes(&filter->key[SRP_DGID], target->prefix, target->guid);
}
