/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Initiators of an iSCSI target that have to authenticate with CHAP, from a file. */
#pragma once
#include "diag.h"

struct iscsi_initiators;
struct target;

/* Read a file (secret_list.h) with lines "NAME user=NAME secret=SECRET [target-user=NAME]
 * [target-secret=SECRET] [chap=md5]"; the name * stands for all initiators without a line of their
 * own. DIAG_USAGE: a line is invalid. */
int iscsi_initiators_read(struct iscsi_initiators **, const char *path, struct diag *);
unsigned iscsi_initiators_count(const struct iscsi_initiators *);
void iscsi_initiators_free(struct iscsi_initiators *); /* wipes the secrets; NULL is allowed */
/* Replace target_options.initiators, which may be freed then. An initiator that is logged in needs
 * its new secret at its next login; sessions of one that was removed, or added, are ended. On the
 * target's loop. */
void iscsi_serve_initiators(struct target *, const struct iscsi_initiators *);
