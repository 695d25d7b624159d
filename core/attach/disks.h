/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The frame's interface to the wait for disks (disks.c). */
#pragma once
#include "attach_row.h"

/* Start polling. Ends with attach_step(): 0 once poll() has returned 1 and every disk it named has
 * opened, or its error. */
void attach_wait_begin(struct attach *);
/* Poll once, at the deadline. Return true if all disks exist and have opened. Sets attach.why if
 * poll() failed. */
bool attach_wait_poll(struct attach *);
/* Stop. Any time, started or not. */
void attach_wait_end(struct attach *);
