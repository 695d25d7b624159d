/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The options of add_target: check the range of each value, normalise it, and check combinations
 * before the kernel sees them. ib_srp of Linux 6.12 does not detect missing options if the last
 * value was valid, and trusts a max_it_iu_size that is too small. */
#include "kernel_srp.h"
#include "kernel_sys.h"
#include "names.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS        " \t\r"
#define PARAMETERS    "sys/module/ib_srp/parameters"
#define SG_DEFAULT    12 /* SRP_DEF_SG_TABLESIZE */
#define QUEUE_DEFAULT 62 /* SRP_DEFAULT_CMD_SQ_SIZE */
/* struct srp_cmd and srp_indirect_buf (SRP-2, 6.8), before the descriptors of 16 bytes each */
#define IU_FIXED 68

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
	[SRP_OPT_MAX_IT_IU_SIZE] = { "max_it_iu_size", NUMBER, IU_FIXED + 16, INT_MAX },
};

const char *kernel_srp_opt_name(enum srp_opt opt)
{
	return keys[opt].name;
}

static bool same(const char *typed, const char *name)
{
	while (*typed && (*typed == *name || (*typed == '-' && *name == '_')))
		typed++, name++;
	return !*typed && !*name;
}

int kernel_srp_opt_find(const char *name)
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

/* The address is checked when it is resolved; here only reject characters that would end the value
 * for the kernel. */
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

int kernel_srp_set(
	struct srp_params *params, enum srp_opt opt, const char *value, struct diag *diag)
{
	const struct key *key = &keys[opt];
	const size_t len = sizeof(params->value[opt]);
	char text[sizeof(params->value[opt])];
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
	opt = kernel_srp_opt_find(word);
	if (opt < 0)
		return unknown(word, diag);
	if (!value || !*value)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s has no value", word);
	if (params->value[opt][0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is set twice", word);
	return kernel_srp_set(params, (enum srp_opt)opt, value, diag);
}

int kernel_srp_parse(struct srp_params *params, const char *line, struct diag *diag)
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

static bool given(const struct srp_params *params, enum srp_opt opt)
{
	return params->value[opt][0];
}

static uint64_t number(const struct srp_params *params, enum srp_opt opt, uint64_t otherwise)
{
	return given(params, opt) ? strtoull(params->value[opt], NULL, 10) : otherwise;
}

static int missing(enum srp_opt opt, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "%s is missing", keys[opt].name);
	return diag_hint(diag, "list targets as add_target lines with: rdmastor srp-discover -c");
}

static int check_address(const struct srp_params *params, struct diag *diag)
{
	static const uint8_t ib[] = { SRP_OPT_DGID, SRP_OPT_PKEY, SRP_OPT_SERVICE_ID };

	if (!given(params, SRP_OPT_ID_EXT))
		return missing(SRP_OPT_ID_EXT, diag);
	if (!given(params, SRP_OPT_IOC_GUID))
		return missing(SRP_OPT_IOC_GUID, diag);
	if (!given(params, SRP_OPT_DEST) && given(params, SRP_OPT_SRC))
		return diag_set(diag, DIAG_USAGE, EINVAL, "src requires RDMA/CM: dest is missing");
	if (!given(params, SRP_OPT_DEST) && !given(params, SRP_OPT_DGID))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no target address: expected dgid (InfiniBand) or dest=HOST:PORT "
			"(RDMA/CM)");
	for (unsigned i = 0; i < sizeof(ib); i++) {
		if (given(params, SRP_OPT_DEST) && given(params, ib[i]))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"dest (RDMA/CM) and %s (InfiniBand) can't be combined",
				keys[ib[i]].name);
		if (!given(params, SRP_OPT_DEST) && !given(params, ib[i]))
			return missing(ib[i], diag);
	}
	return 0;
}

/* The module's default for an option. */
static uint64_t parameter(int root, const char *name, uint64_t otherwise)
{
	char text[24];

	return kernel_sys_read(root, text, sizeof(text), PARAMETERS "/%s", name) > 0
		       ? strtoull(text, NULL, 10)
		       : otherwise;
}

static int check_limits(int root, const struct srp_params *params, struct diag *diag)
{
	uint64_t queue = number(params, SRP_OPT_QUEUE_SIZE, QUEUE_DEFAULT),
		 lun = number(params, SRP_OPT_MAX_CMD_PER_LUN, 1);
	uint64_t sg = number(
		params, SRP_OPT_CMD_SG_ENTRIES, parameter(root, "cmd_sg_entries", SG_DEFAULT));
	uint64_t table = number(params, SRP_OPT_SG_TABLESIZE, UINT64_MAX),
		 iu = number(params, SRP_OPT_MAX_IT_IU_SIZE, UINT64_MAX);

	if (lun > queue)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"max_cmd_per_lun (%" PRIu64 ") exceeds queue_size (%" PRIu64 "%s)", lun,
			queue, given(params, SRP_OPT_QUEUE_SIZE) ? "" : ", the default");
	if (table < sg)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"sg_tablesize (%" PRIu64 ") is less than cmd_sg_entries (%" PRIu64 "%s)",
			table, sg, given(params, SRP_OPT_CMD_SG_ENTRIES) ? "" : ", the default");
	if (iu < IU_FIXED + 16 * sg)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"max_it_iu_size (%" PRIu64 ") for %" PRIu64
			" descriptors (cmd_sg_entries): must be at least %" PRIu64,
			iu, sg, IU_FIXED + 16 * sg);
	return 0;
}

int kernel_srp_check(int root, const struct srp_params *params, struct diag *diag)
{
	int err = check_address(params, diag);

	return err ? err : check_limits(root, params, diag);
}

#define NO_PORT 1 /* port of src if it has none */

static int resolve(
	const struct srp_params *params, enum srp_opt opt, struct addr *addr, struct diag *diag)
{
	const char *value = params->value[opt];
	struct diag why = { 0 };
	int err = addr_parse(addr, value, NO_PORT, &why);

	if (!err && addr->ss.ss_family != AF_INET6 && addr->ss.ss_family != AF_INET)
		err = diag_set(&why, DIAG_USAGE, EINVAL, "'%s' is not an IP address", value);
	if (!err)
		return 0;
	diag_set(diag, why.code, why.err, "%s: %s", keys[opt].name, why.text);
	return why.hint[0] ? diag_hint(diag, "%s", why.hint) : err;
}

/* "[fe80::1%2]:5555", as the kernel's inet_pton_with_scope() reads it. */
void kernel_srp_set_dest(struct srp_params *params, const struct addr *dest)
{
	char text[ADDR_TEXT];

	snprintf(params->value[SRP_OPT_DEST], sizeof(params->value[SRP_OPT_DEST]), "%.79s",
		addr_text(dest, text));
}

static void set_src(struct srp_params *params, const struct addr *src)
{
	char *value = params->value[SRP_OPT_SRC], text[ADDR_TEXT];
	const size_t len = sizeof(params->value[SRP_OPT_SRC]);
	bool v6 = src->ss.ss_family == AF_INET6;

	if (addr_port(src) == NO_PORT)
		snprintf(value, len, "%s%.60s%s", v6 ? "[" : "", addr_host(src, text),
			v6 ? "]" : "");
	else
		snprintf(value, len, "%.79s", addr_text(src, text));
}

static bool same_family(const struct addr *dest, void *src)
{
	return dest->ss.ss_family == ((const struct addr *)src)->ss.ss_family;
}

static bool has_port(const char *dest)
{
	const char *colon = strrchr(dest, ':');

	return colon && colon > dest && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] &&
	       (dest[0] != '[' || colon[-1] == ']') &&
	       (dest[0] == '[' || strchr(dest, ':') == colon);
}

bool kernel_srp_dest_name(const struct srp_params *params, char host[SRP_VALUE], uint16_t *port)
{
	const char *value = params->value[SRP_OPT_DEST], *colon = strrchr(value, ':');
	struct addr addr;
	uint64_t number;

	if (!has_port(value) || *value == '[' || parse_u64(colon + 1, 1, 65535, &number, NULL))
		return false;
	*port = (uint16_t)number;
	snprintf(host, SRP_VALUE, "%.*s", (int)(colon - value), value);
	return !addr_known(&addr, host, *port, NULL);
}

int kernel_srp_set_addrs(struct srp_params *params, struct addr *dest, struct diag *diag)
{
	struct addr src;
	int err;

	kernel_srp_set_dest(params, dest);
	if (!given(params, SRP_OPT_SRC))
		return 0;
	err = resolve(params, SRP_OPT_SRC, &src, diag);
	if (err)
		return err;
	set_src(params, &src);
	if (!addr_filter(dest, same_family, &src))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"src '%s' and dest '%s' differ in address family",
			params->value[SRP_OPT_SRC], params->value[SRP_OPT_DEST]);
	kernel_srp_set_dest(params, dest);
	return 0;
}

int kernel_srp_resolve(struct srp_params *params, struct addr *dest, struct diag *diag)
{
	int err;

	*dest = (struct addr){ 0 };
	if (!given(params, SRP_OPT_DEST))
		return 0;
	if (!has_port(params->value[SRP_OPT_DEST]))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid dest '%s': expected HOST:PORT or [IPV6]:PORT; SRP has no default "
			"port",
			params->value[SRP_OPT_DEST]);
	err = resolve(params, SRP_OPT_DEST, dest, diag);
	return err ? err : kernel_srp_set_addrs(params, dest, diag);
}

void kernel_srp_line(const struct srp_params *params, char line[SRP_LINE])
{
	size_t at = 0;

	line[0] = 0;
	for (unsigned i = 0; i < SRP_OPTS; i++)
		if (params->value[i][0])
			at += (size_t)snprintf(line + at, SRP_LINE - at, "%s%s=%s", at ? "," : "",
				keys[i].name, params->value[i]);
}
