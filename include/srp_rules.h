/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which SRP targets to connect to, and with which options: the rules of srp_daemon.conf(5). The
 * first rule that matches a target decides; without one it is allowed. */
#pragma once
#include "diag.h"
#include "mad.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SRP_RULE_OPTIONS 128

struct srp_rule {
	bool allow;
	uint8_t has; /* of what is compared, SRP_HAS_* */
	uint16_t pkey;
	unsigned line; /* of the file, from 1 */
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

struct srp_rules {
	char file[256]; /* its name, for messages; "" = there is none */
	struct srp_rule *rule;
	unsigned count;
};
/* The rules in a text of so many bytes, which came from `file`. A failure names file and line. */
int srp_rules_parse(
	struct srp_rules *, const char *file, const char *text, size_t len, struct diag *);
/* Those of a file; NULL: of the default one, which need not exist. `again`: reread, without
 * blocking, and not from a pipe, which would be empty now. */
int srp_rules_read(struct srp_rules *, int root, const char *file, bool again, struct diag *);
void srp_rules_free(struct srp_rules *);
/* The rule that decides; NULL = none matches. */
const struct srp_rule *srp_rules_match(const struct srp_rules *, const struct mad_srp *);

/* How to log in to what is allowed. */
struct srp_policy {
	const struct srp_rules *rules; /* NULL = all is allowed */
	struct mad_srp_more more;      /* but options */
};
struct srp_verdict {
	bool allow;
	const struct srp_rule *rule; /* NULL = none matched */
	char line[MAD_SRP_LINE];     /* for add_target; also of what is not allowed */
};
void srp_decide(const struct srp_policy *, const struct mad_srp *, struct srp_verdict *);
/* "srp_daemon.conf:3", "no rule". */
const char *srp_verdict_rule(const struct srp_policy *, const struct srp_verdict *, char text[300]);
