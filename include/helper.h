/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a server needs the caller's rights for after it has given up its own (privilege.h): it is
 * done by a process that was forked before, from a list that was fixed then. A task is a function
 * and the object that it works on, such as a file. So a server that was taken over can only make
 * these functions work on these objects. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

#define HELPER_DATA 2048 /* most bytes of `data` */
/* A process for each of these, so that none waits for the disk of another one. */
enum helper_lane { HELPER_FILES, HELPER_STATE, HELPER_LANES };

/* object: as it was allowed. *fd: -1, or a descriptor for the function, which it may replace by one
 * for the caller; the helper closes its copies. data: both ways. Returns 0 or -errno. It trusts
 * nothing but `object`, and keeps no pointers. */
typedef int helper_fn(const char *object, int *fd, void *data, size_t len);

/* Add a task to the list, unless it is on it. Call before helper_start(). The object is copied. */
int helper_allow(enum helper_lane, helper_fn *, const char *object);
/* Start the processes, which end with this one. They keep the descriptor `keep`, at the same
 * number, unless it is -1. Without tasks nothing is started. Call before there are threads. */
int helper_start(int keep, struct diag *);
/* Run the function: in the helper if this task is on the list, else in this process. Blocks until
 * it returns; any thread. *fd belongs to the caller before and after, a new one as well.
 * -ECONNRESET: the helper has ended. */
int helper_call(helper_fn *, const char *object, int *fd, void *data, size_t len);
