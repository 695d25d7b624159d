/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of the iSCSI row share. */
#pragma once
#include "attach_iscsi.h"
#include "attach_row.h"

/* ready or connect has failed with attach.why: replace it with a better reason, if a discovery
 * session finds one, then call iscsi_step(). */
void iscsi_explain(struct attach_iscsi *);
void iscsi_explain_stop(struct attach_iscsi *); /* cancel; any time */
/* End the step with attach.why. */
void iscsi_step(struct attach_iscsi *);
