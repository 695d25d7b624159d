/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the kernel is told of a session: it keeps it for who comes later, a keeper or iscsid. */
#pragma once
#include "iscsi_attach.h"

/* who, where, and with what patience; before the login */
int iscsi_link_describe(struct iscsi_link *, struct diag *);
/* what was negotiated; before it is started */
int iscsi_link_agree(struct iscsi_link *, struct diag *);
