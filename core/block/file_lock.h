/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Locks that exclude other programs from a file. */
#pragma once
#include "diag.h"
#include <stdbool.h>

/* Lock the file for writing, until the last descriptor of this open description is closed and
 * its last request has completed. -EBUSY: another program writes to it or denies writing; not
 * with `force`. Any other error: not locked, because the file system lacks such locks; diag is
 * not set. */
int file_lock(int fd, bool force, struct diag *);
