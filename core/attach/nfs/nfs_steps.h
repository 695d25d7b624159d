/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parts of the NFS row that are tested on their own. */
#pragma once
#include "attach_row.h"
#include "nfs_mount.h"

/* Return the set of versions (NFS_V3 …) that the options allow. */
unsigned nfs_requested_versions(const struct nfs_options *);
/* Check what is mounted on the directory. Return 0: mount; 1: the same is mounted already, and m
 * describes it; -ENOTDIR, or -EBUSY if something else is mounted and not m->force. */
int nfs_check_mounted(struct nfs_mount *);
/* Return the earlier of now + most_ms and m->until, but at least now + 1 ms. */
uint64_t nfs_limit(const struct nfs_mount *, uint32_t most_ms);
/* Set attach.why from the errno of mount(2) and m->lines, then call m->on_explained(), maybe before
 * this returns. If the server denies access, query the exports of its mountd. */
void nfs_explain(struct nfs_mount *, int err);

/* until: limit, loop_clock(), 0 = none. Return 0 if done() follows, else -errno. */
int mount_call_start(struct mount_call *, struct loop *, int root, uint64_t until);
void mount_call_stop(struct mount_call *); /* done() follows */
