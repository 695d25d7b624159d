/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#pragma once

/* Whether hosts are to use the disks of a target through a listener: ANA states of NVMe, which SCSI
 * reports as states of target port groups. */
enum access {
	ACCESS_OPTIMIZED,
	ACCESS_NON_OPTIMIZED, /* hosts prefer other paths */
	ACCESS_INACCESSIBLE,  /* commands fail; hosts use another path, or wait for one */
	ACCESS_LOSS,          /* the same for good: hosts need not wait */
	ACCESS_CHANGE,        /* commands fail; hosts repeat them after a while */
	ACCESSES
};
/* Its word, such as "non-optimized". */
const char *access_word(enum access);
/* Return the state of that word; ACCESSES: unknown. */
enum access access_parse(const char *word);
