/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check combinations of add_target's options before the kernel sees them: ib_srp of Linux 6.12 does
 * not detect missing options if the last value was valid, and trusts a max_it_iu_size that is too
 * small. Resolve their addresses, and print the line. */
#include "kernel_srp.h"
#include "kernel_sys.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS    "sys/module/ib_srp/parameters"
#define SG_DEFAULT    12 /* SRP_DEF_SG_TABLESIZE */
#define QUEUE_DEFAULT 62 /* SRP_DEFAULT_CMD_SQ_SIZE */

static bool given(const struct srp_params *params, enum srp_opt opt)
{
	return params->value[opt][0];
}

static uint64_t number(const struct srp_params *params, enum srp_opt opt, uint64_t otherwise)
{
	return given(params, opt) ? strtoull(params->value[opt], NULL, 10) : otherwise;
}

static bool has_port(const char *dest)
{
	const char *colon = strrchr(dest, ':');

	return colon && colon > dest && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] &&
	       (dest[0] != '[' || colon[-1] == ']') &&
	       (dest[0] == '[' || strchr(dest, ':') == colon);
}

static bool is_name(const char *value, char host[SRP_VALUE])
{
	size_t len = has_port(value) ? (size_t)(strrchr(value, ':') - value) : strlen(value);
	struct addr addr;

	snprintf(host, SRP_VALUE, "%.*s", (int)len, value);
	return *value != '[' && !addr_known(&addr, host, 0, NULL);
}

bool kernel_srp_dest_name(const struct srp_params *params, char host[SRP_VALUE], uint16_t *port)
{
	const char *value = params->value[SRP_OPT_DEST];
	uint64_t number;

	if (!has_port(value) || parse_u64(strrchr(value, ':') + 1, 0, 65535, &number, NULL))
		return false;
	*port = (uint16_t)number;
	return is_name(value, host);
}

static int missing(enum srp_opt opt, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "%s is missing", srp_opt_name(opt));
	return diag_hint(diag, "list targets as add_target lines with: rdmastor srp-discover -c");
}

static int check_address(const struct srp_params *params, struct diag *diag)
{
	static const uint8_t ib[] = { SRP_OPT_DGID, SRP_OPT_PKEY, SRP_OPT_SERVICE_ID };
	const char *src = params->value[SRP_OPT_SRC], *dest = params->value[SRP_OPT_DEST];
	char host[SRP_VALUE];

	if (!given(params, SRP_OPT_ID_EXT))
		return missing(SRP_OPT_ID_EXT, diag);
	if (!given(params, SRP_OPT_IOC_GUID))
		return missing(SRP_OPT_IOC_GUID, diag);
	if (!given(params, SRP_OPT_DEST) && given(params, SRP_OPT_SRC))
		return diag_set(diag, DIAG_USAGE, EINVAL, "src requires RDMA/CM: dest is missing");
	if (is_name(src, host))
		return diag_set(diag, DIAG_USAGE, EINVAL, "src='%s': expected an IP address", src);
	if (has_port(dest) && !strtoul(strrchr(dest, ':') + 1, NULL, 10))
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"invalid dest '%s': port must be 1 to 65535", dest);
	if (!given(params, SRP_OPT_DEST) && !given(params, SRP_OPT_DGID))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no target address: expected dgid (InfiniBand) or dest=HOST:PORT "
			"(RDMA/CM)");
	for (unsigned i = 0; i < sizeof(ib); i++) {
		if (given(params, SRP_OPT_DEST) && given(params, ib[i]))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"dest (RDMA/CM) and %s (InfiniBand) can't be combined",
				srp_opt_name(ib[i]));
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
	if (iu < SRP_IU_FIXED + 16 * sg)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"max_it_iu_size (%" PRIu64 ") for %" PRIu64
			" descriptors (cmd_sg_entries): must be at least %" PRIu64,
			iu, sg, SRP_IU_FIXED + 16 * sg);
	return 0;
}

int kernel_srp_check(int root, const struct srp_params *params, struct diag *diag)
{
	int err = check_address(params, diag);

	return err ? err : check_limits(root, params, diag);
}

#define NO_PORT 1 /* port of src if it has none */

static int parse_addr(
	const struct srp_params *params, enum srp_opt opt, struct addr *addr, struct diag *diag)
{
	const char *value = params->value[opt];
	struct diag why = { 0 };
	int err = addr_parse(addr, value, NO_PORT, &why);

	if (!err && addr->ss.ss_family != AF_INET6 && addr->ss.ss_family != AF_INET)
		err = diag_set(&why, DIAG_USAGE, EINVAL, "'%s' is not an IP address", value);
	if (!err)
		return 0;
	diag_set(diag, why.code, why.err, "%s: %s", srp_opt_name(opt), why.text);
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

int kernel_srp_set_addrs(struct srp_params *params, struct addr *dest, struct diag *diag)
{
	struct addr src;
	int err;

	kernel_srp_set_dest(params, dest);
	if (!given(params, SRP_OPT_SRC))
		return 0;
	err = parse_addr(params, SRP_OPT_SRC, &src, diag);
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

int kernel_srp_parse_addrs(struct srp_params *params, struct addr *dest, struct diag *diag)
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
	err = parse_addr(params, SRP_OPT_DEST, dest, diag);
	return err ? err : kernel_srp_set_addrs(params, dest, diag);
}

void kernel_srp_line(const struct srp_params *params, char line[SRP_LINE])
{
	size_t at = 0;

	line[0] = 0;
	for (unsigned i = 0; i < SRP_OPTS; i++)
		if (params->value[i][0])
			at += (size_t)snprintf(line + at, SRP_LINE - at, "%s%s=%s", at ? "," : "",
				srp_opt_name(i), params->value[i]);
}
