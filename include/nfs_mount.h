/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Mount NFS over RDMA: probe the server, mount, and check the transport of the result. */
#pragma once
#include "attach.h"
#include "child.h"
#include "kernel_log.h"
#include "kernel_nfs.h"
#include "nfs.h"
#include "resolve.h"

/* One mount(2) in a child. */
struct mount_call {
	struct kernel_mount_args ask;
	void (*done)(struct mount_call *); /* once, from the loop */
	/* 0 or -errno. After -ETIMEDOUT and -ECANCELED (stopped) nothing is mounted: a mount that
	 * completes later is undone. */
	int err;

	/* private */
	struct child_call child;
	unsigned old_mount_id; /* of what was mounted there; 0: nothing */
	bool stopped;
};
struct nfs_mount {            /* zeroed, then set by the owner */
	struct attach attach; /* proto: &nfs_attach; the deadline includes retry= */
	struct nfs_source source;
	const char *typed; /* the directory */
	struct nfs_options options;
	bool fallback_tcp;
	bool dry_run;    /* load and mount nothing; probe the server if possible */
	bool force;      /* mount over an existing mount */
	bool concurrent; /* others run in parallel: the kernel's log may be about them */
	void (*note)(void *arg, const char *text); /* print; may be NULL */
	void *arg;

	/* Results. */
	char dir[PATH_MAX]; /* canonical, as in /proc/self/mountinfo */
	struct addr server;
	unsigned version; /* NFS_V3 … */
	bool rdma;
	bool existed;               /* the same was mounted before: success */
	char data[NFS_OPTIONS_MAX]; /* of mount(2) */
	char probe_transport[160];  /* of the probe, for messages; "": not probed */
	struct kernel_mounted mounted;
	struct diag fallback_why; /* err: why TCP instead of RDMA */

	/* private */
	uint64_t mount_deadline, until; /* of all, of this transport; loop_clock(), 0: none */
	uint64_t retry, pause, since;   /* end of retry=, next attempt, start of mount(2) */
	struct resolve resolve;
	struct loop_timer timer;
	struct child_call child; /* find the directory, umount */
	struct nfs_ready {
		struct diag why, no_device;
	} ready;
	bool no_probe;        /* userspace can't probe over RDMA; the kernel may still mount */
	bool mount_first;     /* probe only if mount(2) fails or is slow */
	bool probing, probed; /* over the current transport */
	struct nfs_query probe;
	void (*on_probe)(struct nfs_mount *);
	unsigned versions;      /* still to be tried: requested and perhaps supported */
	struct nfs_query query; /* mountd, statd, exports */
	void (*on_explained)(struct nfs_mount *);
	int denied_errno; /* of mount(2), while the exports are queried */
	uint16_t mountport;
	struct diag mountd_why;
	struct mount_call call;
	struct kernel_log log;
	char lines[2048];         /* of the kernel's log */
	struct diag rdma_why;     /* why RDMA failed, while TCP is tried */
	char tried_versions[512]; /* with the reason of each failure */
	char last_note[512];      /* last reason for a retry */
};
extern const struct attach_proto nfs_attach;
