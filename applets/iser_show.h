/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions of the kernel's iSCSI initiators, printed. */
#pragma once
#include "applet.h"
#include "iscsi_attach.h"
#include "kernel_iscsi_session.h"

/* JSON members that several applets have. host "", port 0: unknown. alg "": without CHAP. */
void iser_show_portal(struct out *, const char *host, unsigned port);
void iser_show_chap(struct out *, const char *alg);
/* An object of the open list: a login's result. A failed one has no line of text. */
void iser_show_want(struct out *, int root, const struct iscsi_want *, const char *print);
/* What a dry run prints. */
void iser_show_plan(struct out *, const struct iscsi_want *, const struct kernel_iscsi_session *,
	unsigned count);
