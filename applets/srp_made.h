/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a connection of the kernel. */
#pragma once
#include "applet.h"
#include "attach_srp.h"

/* Text lines and members of the open JSON object. dest: "" = unknown; print: NULL, dev, by-id;
 * would: the timeouts that a dry run would set, NULL = none. */
void srp_made_show(struct out *, const struct attach_srp *, const char *dest, const char *print,
	const struct srp_tmo *would);
