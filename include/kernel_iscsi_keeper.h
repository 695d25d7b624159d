/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who logs in again when the connection of a session of the kernel's iSCSI initiators is lost: a
 * keeper of ours, one for the whole machine, or open-iscsi's daemon. Everything is reached under a
 * root descriptor. */
#pragma once
#include "diag.h"
#include <stdbool.h>

/* The keeper holds a lock on a file of the kernel's module, which needs no place to write, which
 * only root can take and which ends with the process. Its descriptor; -EBUSY: another process has
 * it. */
int kernel_iscsi_keeper_lock(int root, struct diag *);
int kernel_iscsi_keeper(int root); /* process id, 0: there is none */
/* Process id of open-iscsi's daemon, 0: it does not run. The name alone anybody can have: it is
 * root's, and not in another network namespace. */
int kernel_iscsid(int root);
bool kernel_process_lives(int root, int pid);
