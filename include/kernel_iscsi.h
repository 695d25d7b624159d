/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the running system says about iSCSI. */
#pragma once
#include "diag.h"

/* The initiator's name: wanted (may be NULL) → /etc/iscsi/initiatorname.iscsi → kernel command line
 * → iBFT → made of the machine's identity (DMI UUID → machine-id → host id) → random. */
struct kernel_initiator {
	char name[224];
	char from[64]; /* for --verbose */
	int random;    /* made up for this run: warn */
};
int kernel_initiator(int root, const char *wanted, struct kernel_initiator *, struct diag *);
