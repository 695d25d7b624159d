/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a connection of the kernel. */
#pragma once
#include "applet.h"
#include "kernel_scsi.h"
#include "kernel_srp.h"

/* Text lines and members of the open JSON object. dest: "" = unknown; print: NULL, dev, by-id;
 * would: the timeouts that a dry run would set, NULL = none. */
void srp_made_show(struct out *, int root, const struct srp_made *, const char *dest,
	const struct scsi_lun *, unsigned count, const char *print, const struct srp_tmo *would);
