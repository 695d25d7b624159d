/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print SRP targets: as a listing, as add_target lines, as URIs, as JSON. */
#pragma once
#include "applet.h"
#include "kernel_srp.h"
#include "mad.h"
#include "srp_filter.h"
#include "srp_rules.h"

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
