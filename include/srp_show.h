/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP targets that were found: which of them are wanted, by the keys of add_target; printed as a
 * listing, as add_target lines, as URIs, as JSON. */
#pragma once
#include "applet.h"
#include "kernel_srp.h"
#include "mad.h"
#include "srp_rules.h"

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
