/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What was found of SRP, for people, for add_target, as URIs, as JSON. */
#pragma once
#include "applet.h"
#include "kernel.h"
#include "mad.h"
#include "srp_filter.h"

enum srp_form { SRP_LISTING, SRP_COMMANDS, SRP_URIS };

struct srp_show {
	enum srp_form form;
	bool connections, lines; /* in the listing too: of the kernel; for add_target, and URIs */
	const struct srp_filter *filter;
	const struct mad_found *found;
	const struct mad_port_info *port;
	struct kernel_srp *hosts;
	unsigned nhosts;
	uint32_t imm_data;
};
void srp_show(const struct call *, const struct srp_show *);
const char *srp_target_name(const struct mad_target *, char name[64]); /* "LID 5 (fe80…07)" */
