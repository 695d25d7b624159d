/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An SRP target as options of ib_srp's add_target: check the range of each value, and normalise
 * it. */
#include "uri_read.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t\r"

enum kind { HEX64, HEX16, GID, ADDRESS, CLASS, NUMBER };

static const struct key {
	const char *name;
	uint8_t kind;
	uint32_t min, max; /* of numbers: the kernel's limits, or else those of its types */
} keys[SRP_OPTS] = {
	[SRP_OPT_ID_EXT] = { "id_ext", HEX64, 0, 0 },
	[SRP_OPT_IOC_GUID] = { "ioc_guid", HEX64, 0, 0 },
	[SRP_OPT_DGID] = { "dgid", GID, 0, 0 },
	[SRP_OPT_PKEY] = { "pkey", HEX16, 1, UINT16_MAX },
	[SRP_OPT_SERVICE_ID] = { "service_id", HEX64, 0, 0 },
	[SRP_OPT_DEST] = { "dest", ADDRESS, 0, 0 },
	[SRP_OPT_SRC] = { "src", ADDRESS, 0, 0 },
	[SRP_OPT_IO_CLASS] = { "io_class", CLASS, 0, 0 },
	[SRP_OPT_INITIATOR_EXT] = { "initiator_ext", HEX64, 0, 0 },
	[SRP_OPT_MAX_SECT] = { "max_sect", NUMBER, 8, UINT16_MAX },
	[SRP_OPT_QUEUE_SIZE] = { "queue_size", NUMBER, 2, SHRT_MAX },
	[SRP_OPT_MAX_CMD_PER_LUN] = { "max_cmd_per_lun", NUMBER, 1, SHRT_MAX },
	[SRP_OPT_TARGET_CAN_QUEUE] = { "target_can_queue", NUMBER, 1, INT_MAX },
	[SRP_OPT_CMD_SG_ENTRIES] = { "cmd_sg_entries", NUMBER, 1, 255 },
	[SRP_OPT_ALLOW_EXT_SG] = { "allow_ext_sg", NUMBER, 0, 1 },
	[SRP_OPT_SG_TABLESIZE] = { "sg_tablesize", NUMBER, 1, 2048 },
	[SRP_OPT_COMP_VECTOR] = { "comp_vector", NUMBER, 0, INT_MAX },
	[SRP_OPT_TL_RETRY_COUNT] = { "tl_retry_count", NUMBER, 2, 7 },
	[SRP_OPT_CH_COUNT] = { "ch_count", NUMBER, 1, 1024 },
	[SRP_OPT_MAX_IT_IU_SIZE] = { "max_it_iu_size", NUMBER, SRP_IU_FIXED + 16, INT_MAX },
};

const char *srp_opt_name(enum srp_opt opt)
{
	return keys[opt].name;
}

bool srp_opt_kernel_only(enum srp_opt opt)
{
	return keys[opt].kind == NUMBER;
}

static bool same(const char *typed, const char *name)
{
	while (*typed && (*typed == *name || (*typed == '-' && *name == '_')))
		typed++, name++;
	return !*typed && !*name;
}

int srp_opt_find(const char *name)
{
	for (int i = 0; i < SRP_OPTS; i++)
		if (same(name, keys[i].name))
			return i;
	return -1;
}

static const char *skip_0x(const char *text)
{
	return text[0] == '0' && (text[1] | 0x20) == 'x' ? text + 2 : text;
}

static int set_hex(char *to, size_t len, const struct key *key, const char *text, unsigned digits,
	struct diag *diag)
{
	uint64_t value;

	if (!hex_parse(&value, skip_0x(text), digits))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%s': expected 1 to %u hexadecimal digits", key->name, text,
			digits);
	if (key->max && (value < key->min || value > key->max))
		return diag_set(diag, DIAG_USAGE, ERANGE, "%s: must be %" PRIx32 " to %" PRIx32,
			key->name, key->min, key->max);
	snprintf(to, len, "%0*" PRIx64, (int)digits, value);
	return 0;
}

static int set_gid(char *to, const struct key *key, const char *text, struct diag *diag)
{
	uint8_t gid[16];

	if (!gid_parse(gid, text))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%s': expected a GID: an IPv6 address or 32 hex digits",
			key->name, text);
	hex_text(to, gid, sizeof(gid));
	return 0;
}

/* Here only reject characters that would end the value for the kernel. */
static int set_address(
	char *to, size_t len, const struct key *key, const char *text, struct diag *diag)
{
	if (!*text || strlen(text) >= len || strpbrk(text, ", \t\r\n\\\"'"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid %s '%s': expected an address",
			key->name, text);
	snprintf(to, len, "%s", text);
	return 0;
}

/* The two I/O classes of SRP over InfiniBand: of its revision 10, and of 16a and later. */
static int set_class(
	char *to, size_t len, const struct key *key, const char *text, struct diag *diag)
{
	uint64_t value;

	if (!hex_parse(&value, skip_0x(text), 4) || (value != 0xff00 && value != 0x0100))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%s': expected ff00 (SRP revision 10) or 0100 (16a and later)",
			key->name, text);
	snprintf(to, len, "%04" PRIx64, value);
	return 0;
}

static int set_number(
	char *to, size_t len, const struct key *key, const char *text, struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t value;

	if (strspn(text, "0123456789") != strlen(text) ||
		parse_u64(text, 0, UINT64_MAX, &value, &why))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%s': expected a whole number", key->name, text);
	if (value < key->min || value > key->max)
		return diag_set(diag, DIAG_USAGE, ERANGE, "%s: must be %" PRIu32 " to %" PRIu32,
			key->name, key->min, key->max);
	snprintf(to, len, "%" PRIu64, value);
	return 0;
}

int srp_params_set(
	struct srp_params *params, enum srp_opt opt, const char *value, struct diag *diag)
{
	const struct key *key = &keys[opt];
	const size_t len = sizeof(params->value[opt]);
	char text[sizeof(params->value[opt])] = "";
	int err;

	switch (key->kind) {
	case HEX64:
		err = set_hex(text, len, key, value, 16, diag);
		break;
	case HEX16:
		err = set_hex(text, len, key, value, 4, diag);
		break;
	case GID:
		err = set_gid(text, key, value, diag);
		break;
	case ADDRESS:
		err = set_address(text, len, key, value, diag);
		break;
	case CLASS:
		err = set_class(text, len, key, value, diag);
		break;
	default:
		err = set_number(text, len, key, value, diag);
	}
	if (err)
		return err;
	if (params->value[opt][0] && strcmp(params->value[opt], text))
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is set twice: %s and %s", key->name,
			params->value[opt], text);
	memcpy(params->value[opt], text, len);
	return 0;
}

static int unknown(const char *word, struct diag *diag)
{
	char known[400] = "";

	for (unsigned i = 0; i < SRP_OPTS; i++) {
		size_t at = strlen(known);

		snprintf(known + at, sizeof(known) - at, "%s%s", i ? " " : "", keys[i].name);
	}
	diag_set(diag, DIAG_USAGE, EINVAL, "unknown add_target key '%s'", word);
	return diag_hint(diag, "expected one of %s", known);
}

static int parse_option(struct srp_params *params, char *word, struct diag *diag)
{
	char *value = strchr(word, '=');
	int opt;

	if (value)
		*value++ = 0;
	opt = srp_opt_find(word);
	if (opt < 0)
		return unknown(word, diag);
	if (!value || !*value)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s has no value", word);
	if (params->value[opt][0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is set twice", word);
	return srp_params_set(params, (enum srp_opt)opt, value, diag);
}

int srp_params_parse(struct srp_params *params, const char *line, struct diag *diag)
{
	char text[SRP_LINE], *rest = text, *word;
	int err = 0;

	if (strlen(line) >= sizeof(text))
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"add_target string: must be at most %d bytes", SRP_LINE - 1);
	memcpy(text, line, strlen(line) + 1);
	while (!err && (word = strsep(&rest, ",\n"))) {
		size_t len;

		word += strspn(word, BLANKS);
		len = strcspn(word, BLANKS);
		if (word[len + strspn(word + len, BLANKS)])
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"blank in add_target string '%.60s': expected commas between the "
				"parts",
				word);
		word[len] = 0;
		if (*word)
			err = parse_option(params, word, diag);
	}
	return err;
}
