/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's NFS server with one export over RDMA, for one client, without nfs-utils: what its
 * caches ask a daemon for is written to them beforehand. Paths are relative to a root descriptor.
 */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdint.h>

struct kernel_nfsd {         /* zeroed, then set by the owner */
	const char *control; /* directory where a file system of type nfsd is mounted */
	const char *path;    /* absolute, of the directory to export as "/", writable for root */
	const char *client;  /* IP address */
	uint16_t port;

	/* private */
	char versions[64], grace[16]; /* as they were; "": unchanged */
	bool started;
};

/* Load the modules. */
int kernel_nfsd_ready(int root, struct diag *);
/* Check that no NFS server runs, before the file system nfsd is mounted: the last unmount of it
 * stops any server. DIAG_BUSY: one runs. */
int kernel_nfsd_check(int root, struct diag *);
/* Start it, NFS 4 only. DIAG_BUSY: this machine has an NFS server already, which is not touched.
 * A failure leaves nothing behind. */
int kernel_nfsd_start(int root, struct kernel_nfsd *, struct diag *);
/* Return whether it does not open files yet, as clients of an earlier server could reclaim them. */
bool kernel_nfsd_in_grace(int root, const struct kernel_nfsd *);
/* Stop it, if it was started, and restore its settings. No client may have it mounted. Returns the
 * first failure; the rest is done all the same. */
int kernel_nfsd_stop(int root, struct kernel_nfsd *, struct diag *);
