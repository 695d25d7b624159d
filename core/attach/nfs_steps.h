/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parts of an NFS mount that the tests look into. */
#pragma once
#include "nfs_mount.h"

/* Versions that the options ask for. */
unsigned nfs_wanted(const struct nfs_options *);
/* What is on the directory before. 1: the same is mounted already. -EBUSY: something else is
 * mounted. */
int nfs_look_before(struct nfs_mount *);
/* A loop_clock() at most that many milliseconds away, and not after the mount's end. */
uint64_t nfs_bound(const struct nfs_mount *, uint32_t most_ms);
/* Set attach.why from the errno of mount(2) and m->lines of the kernel's log, then call
 * explained(). If the server denies access, mountd is asked for its exports. */
void nfs_explain(struct nfs_mount *, int err);
