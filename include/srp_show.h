/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP targets that were found: which of them are wanted, by the keys of add_target; printed as a
 * listing, as add_target lines, as URIs, as JSON. */
#pragma once
#include "applet.h"
#include "diag.h"
#include "kernel_srp.h"
#include "mad.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which SRP targets to connect to, and with which options: the rules of srp_daemon.conf(5). The
 * first rule that matches a target decides; without one it is allowed. */

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

/* Selected and printed. */
enum srp_key { SRP_ID_EXT, SRP_IOC_GUID, SRP_DGID, SRP_PKEY, SRP_SERVICE_ID, SRP_KEYS };

struct srp_value { /* up to 128 bits */
	uint64_t upper, lower;
};

struct srp_filter { /* a key without values takes all, one with values any of these */
	struct srp_filter_key {
		struct srp_value value[OPT_LIST_MAX];
		unsigned count;
	} key[SRP_KEYS];
	bool on;
};
/* Option texts to values, in hexadecimal as add_target takes them. */
int srp_filter_read(struct srp_filter *, enum srp_key, const struct opt_list *, struct diag *);
bool srp_filter_takes(const struct srp_filter *, const struct mad_target *, const struct mad_unit *,
	const struct mad_ioc *, const struct mad_service *);
/* Whether what could not be asked of a port may be missed. */
bool srp_filter_may_take(const struct srp_filter *, const struct mad_target *);

enum srp_form {
	SRP_LISTING,
	SRP_COMMANDS, /* lines for add_target, of what the rules allow */
	SRP_URIS,
	SRP_DECISIONS, /* which rule decided what */
};

struct srp_show {
	enum srp_form form;
	bool connections, lines; /* in the listing too: of the kernel; for add_target, and URIs */
	const struct srp_filter *filter;
	const struct mad_found *found;
	const struct mad_port_info *port;
	const struct kernel_srp *hosts;
	unsigned nhosts;
	struct srp_policy policy;
	bool all;      /* lines of what is connected, too */
	bool any_pkey; /* what is connected in one partition is so in all */
};
void srp_show(const struct call *, const struct srp_show *);
/* ports that did not answer */
void srp_note_failures(const struct call *, const struct srp_show *);
void srp_note_left_out(const struct call *, const struct srp_show *); /* services without a line */
void srp_note_nothing(const struct call *, const struct srp_show *);  /* what was searched,
	 if no target was found */
int srp_target_diag(const struct mad_target *, struct diag *); /* why it failed; Needs: it has */
const char *srp_target_name(const struct mad_target *, char name[64]); /* "LID 5 (fe80…07)" */
/* The connection by this port to a target, for kernel_srp_find(). */
void srp_host_wanted(const struct mad_port_info *, const struct mad_srp *, struct kernel_srp *);
