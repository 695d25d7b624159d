/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why iSER was not possible, which the kernel does not tell, and whether TCP is. */
#pragma once
#include "iscsi_attach.h"

/* Into want->why: asks the portal by our own ways, with discovery sessions. */
void iscsi_instead(struct loop *, struct iscsi_want *, uint64_t until);
