/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Says that nothing can be listened on yet once that has lasted a second. */
#pragma once
#include "applet.h"

struct patience {
	struct loop_timer timer;
	const struct call *call;
};

void patience_begin(struct patience *, const struct call *, struct loop *);
void patience_end(struct patience *, struct loop *);
