/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select SRP targets among those found, by rules and by the keys of add_target, and print them as a
 * listing, as lines for add_target, as URIs, or as JSON. */
#pragma once
#include "applet.h"
#include "kernel_srp.h"
#include "mad.h"

/* Rules of srp_daemon.conf(5): which targets to connect to, with which options. The first rule that
 * matches decides; a target that no rule matches is allowed. */

struct srp_rules {
	char file[256]; /* its name, for messages; "": no file */
	struct srp_rule *rule;
	unsigned count;
};
/* Read a rules file; NULL: the default one, which need not exist. reread: without blocking, and
 * not from a pipe, which is empty by now. Overwrites the rules without freeing them. */
int srp_rules_read(struct srp_rules *, int root, const char *file, bool reread, struct diag *);
void srp_rules_free(struct srp_rules *);
/* How to log in to allowed targets. */
struct srp_policy {
	const struct srp_rules *rules; /* NULL: all targets are allowed */
	struct mad_srp_options more;   /* its options are replaced by those of the rule */
};
/* Filter and print. */
enum srp_key { SRP_ID_EXT, SRP_IOC_GUID, SRP_DGID, SRP_PKEY, SRP_SERVICE_ID, SRP_KEYS };

struct srp_value { /* up to 128 bits */
	uint64_t upper, lower;
};

struct srp_filter { /* each key that has values must match one of them */
	struct srp_filter_key {
		struct srp_value value[OPT_LIST_MAX];
		unsigned count;
	} key[SRP_KEYS];
	bool on;
};
/* Set the values of a key to those of an option, in hexadecimal as for add_target. */
int srp_filter_read(struct srp_filter *, enum srp_key, const struct opt_list *, struct diag *);
/* Whether a target that failed could have had a matching service. */
bool srp_filter_may_match(const struct srp_filter *, const struct mad_target *);

enum srp_form {
	SRP_LISTING,
	SRP_COMMANDS, /* lines for add_target, of allowed targets */
	SRP_URIS,
	SRP_DECISIONS, /* the rule that decided about each target */
};

struct srp_show {
	enum srp_form form;
	bool connections, lines; /* also list the kernel's connections; add_target lines and URIs */
	const struct srp_filter *filter;
	const struct mad_scan_result *found;
	const struct mad_port_info *port;
	const struct kernel_srp *hosts;
	unsigned nhosts;
	struct srp_policy policy;
	bool all;      /* SRP_COMMANDS: also of connected targets */
	bool any_pkey; /* a connection in one partition counts for all */
};
void srp_show(const struct call *, const struct srp_show *);
/* Print notes: ports that failed; SRP services without a valid ID_EXT; what was searched, if no
 * target matches. */
void srp_note_failures(const struct call *, const struct srp_show *);
void srp_note_left_out(const struct call *, const struct srp_show *);
void srp_note_nothing(const struct call *, const struct srp_show *);
/* Describe why a target failed. Needs: target->err is set. Returns it. */
int srp_target_diag(const struct mad_target *, struct diag *);
