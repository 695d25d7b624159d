/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What core/attach/attach.c uses of core/attach/find.c. */
#pragma once
#include "attach.h"

/* Return true if there is something to find. */
bool attach_needs_find(const struct attach *);
/* Find the address, then what the row looks up. One attach_step() follows. */
void attach_find(struct attach *);
void attach_find_stop(struct attach *); /* any time */
