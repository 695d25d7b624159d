/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The find step of the SRP row. */
#pragma once
#include "attach_row.h"
#include "attach_srp.h"

void srp_find(struct attach *);
void srp_find_stop(struct attach_srp *); /* cancel; any time */
