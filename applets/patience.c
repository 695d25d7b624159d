/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A note while an applet waits for an address or a device. */
#include "patience.h"

#define PATIENCE_NS 1000000000ull

static void still_waiting(struct loop_timer *timer)
{
	call_note(container_of(timer, struct patience, timer)->call,
		"waiting for a listen address or device");
}

void patience_begin(struct patience *patience, const struct call *call, struct loop *loop)
{
	*patience = (struct patience){ .timer.fire = still_waiting, .call = call };
	loop_timer_set(loop, &patience->timer, loop_clock() + PATIENCE_NS);
}

void patience_end(struct patience *patience, struct loop *loop)
{
	loop_timer_del(loop, &patience->timer);
}
