/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Units of the SCSI layer, printed. */
#pragma once
#include "applet.h"
#include "kernel_scsi.h"

/* An object of the open list. print: NULL, or "dev" or "by-id" for only that path as text. */
void scsi_show_lun(struct out *, const struct scsi_lun *, const char *print);
