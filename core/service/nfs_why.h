/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why the kernel did not mount. */
#pragma once
#include "nfs_mount.h"

/* From the errno of mount(2) and what the kernel said in its log, lines or "". For what the server denies, its mount daemon is asked whom it
 * exports what to, until that moment (loop_clock, 0 = no bound). */
int nfs_why(struct loop *, const struct nfs_mount *, uint16_t mountport, int err, const char *log, uint64_t until, struct diag *);
