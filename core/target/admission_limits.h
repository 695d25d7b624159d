/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Constants of admission.c. */
#pragma once

enum target_class {
	TARGET_PENDING,   /* not admitted yet */
	TARGET_DISCOVERY, /* admitted, uses no disk */
	TARGET_ADMITTED   /* uses disks */
};
#define TARGET_PENDING_MAX      64 /* pending connections */
#define TARGET_PENDING_ADDR_MAX 16 /* of these, from one address */
#define TARGET_DISCOVERY_MAX    64
/* pending connections above the limit, if one of them could replace an admitted connection */
#define TARGET_PENDING_SPARE 16
/* evicted connections that are still being closed, in addition to the limit */
#define TARGET_EVICTED_MAX 64
#define TARGET_REPORT_MS   10000
