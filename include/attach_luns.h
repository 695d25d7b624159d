/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The wait for LUNs of a SCSI host, for rows of SCSI initiators. */
#pragma once
#include "attach.h"
#include "kernel_scsi.h"

struct attach_luns { /* zeroed, then set by the row before attach_step() ends its dial */
	unsigned host;
	uint64_t lun; /* SCSI_LUN_ALL, or the only one to wait for */
	bool scanned; /* expect no more LUNs; otherwise wait until the list settles */

	struct scsi_lun *list; /* filled in; attach_luns_free() */
	unsigned count;

	uint64_t changed; /* private from here */
	unsigned seen;
	char lacks[64];
};
/* The row's look(): -ENOENT: no such LUN, or no LUN at all; -ENODEV: the host is gone. */
int attach_luns_look(struct attach *, struct attach_luns *);
void attach_luns_late(struct attach *, struct attach_luns *); /* the row's late() */
void attach_luns_free(struct attach_luns *);
