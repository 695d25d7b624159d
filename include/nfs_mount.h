/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Mounting NFS over RDMA: the server is asked, the kernel mounts, and what it mounted is checked.
 */
#pragma once
#include "attach.h"
#include "child.h"
#include "kernel_log.h"
#include "kernel_nfs.h"
#include "loop.h"
#include "nfs.h"
#include "resolve.h"

/* One mount(2). */
struct mount_call {
	struct kernel_mount_ask ask;
	void (*done)(struct mount_call *); /* once, from the loop */
	/* 0 or -errno; -ETIMEDOUT, -ECANCELED (stopped): nothing is mounted, nor will be: what the
	 * kernel still brings about is undone */
	int err;

	/* private */
	struct child_call child;
	unsigned before; /* number of the mount that was there */
	bool stopped;
};
/* until: the mount is stopped then; loop_clock, 0 = never. 0 or -errno: no done(). */
int mount_call_start(struct mount_call *, struct loop *, int root, uint64_t until);
void mount_call_stop(struct mount_call *); /* done() follows */

/* Success also if the same was mounted before. */
struct nfs_mount {            /* zeroed, then set by the owner */
	struct attach attach; /* proto: &nfs_attach; the deadline includes retry= */
	struct nfs_source source;
	const char *typed; /* the directory */
	struct nfs_options options;
	bool fallback_tcp;
	bool dry_run; /* nothing is loaded or mounted; the server is asked if that can be done */
	bool over;    /* also over what is mounted there */
	bool others;  /* run at the same time: the kernel's log may be about one of them */
	void (*note)(void *arg, const char *text);
	void *arg;

	/* Filled in. */
	char dir[PATH_MAX]; /* as the list of mounts names it */
	struct addr server;
	unsigned version;           /* NFS_V3 … */
	bool rdma, existed;         /* existed: was mounted before */
	char data[NFS_OPTIONS_MAX]; /* what mount(2) was given */
	char way[160];              /* over which the server was asked */
	struct kernel_mounted mounted;
	struct diag fell_back; /* err: why not RDMA */

	/* private */
	uint64_t whole, until; /* of all of it, of this transport; loop_clock, 0 = none */
	uint64_t retry, pause, since;
	struct resolve resolve;
	struct loop_timer timer;
	struct child_call child; /* directory, umount */
	struct nfs_ready {
		struct diag why, no_device;
	} ready;
	bool unasked; /* this machine cannot ask over RDMA, the kernel perhaps can mount */
	/* the kernel mounts, and the server is asked only when that fails or takes its time */
	bool ahead;
	bool asking, asked; /* over what is tried now */
	struct nfs_query ask;
	void (*answered)(struct nfs_mount *);
	unsigned versions;      /* that are wanted and that the server may have */
	struct nfs_query query; /* mountd, statd, exports */
	void (*explained)(struct nfs_mount *);
	int denied; /* errno of mount(2) while the exports are asked for */
	uint16_t mountport;
	struct diag no_mountd;
	struct mount_call call;
	struct kernel_log log;
	char lines[2048];      /* of the kernel's log */
	struct diag over_rdma; /* why not, while TCP is tried */
	char tried[512];       /* versions that could not be mounted, and why */
	char told[512];        /* the last reason to retry */
};
extern const struct attach_proto nfs_attach;
