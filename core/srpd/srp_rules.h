/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rules for SRP targets, and which one decides about a target. */
#pragma once
#include "srp_show.h"

#define SRP_RULE_OPTIONS 128

struct srp_rule {
	bool allow;
	uint8_t has; /* the keys to compare, SRP_HAS_* */
	uint16_t pkey;
	unsigned line; /* in the file, from 1 */
	uint64_t id_ext, ioc_guid, service_id, prefix, guid /* of the port */;
	char options[SRP_RULE_OPTIONS]; /* ",name=number…" */
};
enum {
	SRP_HAS_ID_EXT = 1,
	SRP_HAS_IOC_GUID = 2,
	SRP_HAS_DGID = 4,
	SRP_HAS_SERVICE_ID = 8,
	SRP_HAS_PKEY = 16
};

struct srp_verdict {
	bool allow;
	const struct srp_rule *rule; /* NULL: none matched */
	char line[MAD_SRP_LINE];     /* for add_target; set even if not allowed */
};
void srp_decide(const struct srp_policy *, const struct mad_srp *, struct srp_verdict *);
/* Write "srp_daemon.conf:3" or "no rule". Returns text. */
const char *srp_verdict_rule(const struct srp_policy *, const struct srp_verdict *, char text[300]);

/* Set the key that kernel_srp_find() needs to find this port's connection to a target. */
void srp_host_key(const struct mad_port_info *, const struct mad_srp *, struct kernel_srp *);

/* Parse `len` bytes of text from `file`. Returns 0 or -errno, with file and line in diag. Call
 * srp_rules_free() after success. */
int srp_rules_parse(
	struct srp_rules *, const char *file, const char *text, size_t len, struct diag *);
