/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls of the kernel that may not come back, and that undo what comes late: child_call() kills,
 * this asks. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* In a process of its own: fn has the root descriptor and no other, and gives 0 or an errno. At the
 * moment `until` (loop_clock; 0 = never) *given_up, in memory shared with it (NULL: none), becomes
 * true and it gets SIGTERM, which ends it unless it handles that itself; `grace_ms` later it is
 * left to itself. 0, -errno, or -ETIMEDOUT. */
int kernel_aside_run(int root, int (*fn)(int root, const void *arg), const void *arg,
	uint64_t until, uint32_t grace_ms, volatile bool *given_up);
