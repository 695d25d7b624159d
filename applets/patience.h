/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a note if nothing can be listened on for a second. */
#pragma once
#include "applet.h"

struct patience {
	struct loop_timer timer;
	const struct call *call;
};

void patience_begin(struct patience *, const struct call *, struct loop *);
void patience_end(struct patience *, struct loop *);
