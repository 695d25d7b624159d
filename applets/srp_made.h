/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What srp-connect tells of a connection. */
#pragma once
#include "applet.h"
#include "kernel_scsi.h"
#include "kernel_srp.h"

/* Text lines and members of the open JSON object. dest: "" = not known; print: NULL, dev, by-id. */
void srp_made_show(struct out *, int root, const struct srp_made *, const char *dest, const struct scsi_lun *, unsigned count, const char *print);
