/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of iscsistart share. */
#pragma once
#include "iscsi_logins.h"

/* Set one record. -ENOENT: unknown name. */
int iscsi_record_set(
	struct iscsi_records *, int root, const char *name, const char *value, struct diag *);
/* Return true for records without effect here: for iscsid, its database or offload cards. */
bool iscsi_record_is_other(const char *name);
bool iscsi_start_resolved(const struct attach_iscsi *); /* the host name was resolved */
/* Return open-iscsi's error number of a failed login (iscsiadm(8)), and its text. */
unsigned iscsi_start_error(const struct attach_iscsi *, const char **text);
/* Print a message. */
void iscsi_start_note(struct iscsi_start *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
