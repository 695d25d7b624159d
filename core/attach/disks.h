/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The wait for disks (disks.c), as the frame sees it. */
#pragma once
#include "attach.h"

/* Ends with attach_step(): 0 when look() was satisfied and every disk it named has opened, or its
 * error. */
void attach_wait_begin(struct attach *);
/* One last look. True: all disks exist and open. Sets attach.why if look() failed. */
bool attach_wait_last(struct attach *);
void attach_wait_end(struct attach *);
