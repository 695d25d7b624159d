/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions of the kernel's iSCSI initiators, printed. */
#pragma once
#include "applet.h"
#include "iscsi_attach.h"
#include "kernel_iscsi_session.h"

/* An object of the open list: what became of a wish; of one that failed in JSON alone. */
void iser_show_want(struct out *, int root, const struct iscsi_want *, const char *print);
void iser_show_plan(struct out *, const struct iscsi_want *, const struct kernel_iscsi_session *, unsigned count);
