/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parts of the row of iSCSI. */
#pragma once
#include "attach_iscsi.h"

/* Ready or dial has failed, and attach.why has the reason that the kernel gives: look for a better
 * one, then iscsi_step(). */
void iscsi_explain(struct attach_iscsi *);
void iscsi_explain_stop(struct attach_iscsi *); /* any time */
/* The end of the step under way, by attach.why. */
void iscsi_step(struct attach_iscsi *);
