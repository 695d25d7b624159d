/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why the kernel did not mount. */
#pragma once
#include "nfs_mount.h"

/* Set diag from the errno of mount(2) and the lines of the kernel log, "" if none. If the server
 * denies access, ask mountd for its exports until that time (loop_clock, 0 = no limit). */
int nfs_why(struct loop *, const struct nfs_mount *, uint16_t mountport, int err, const char *log,
	uint64_t until, struct diag *);
