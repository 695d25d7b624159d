/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Mounting NFS over RDMA in one shot: the server is asked, the kernel mounts, and what it mounted
 * is looked at. */
#pragma once
#include "kernel_nfs.h"
#include "loop.h"
#include "nfs.h"

/* "HOST:/PATH", "[ADDRESS]:/PATH", or nfs+rdma://HOST[:PORT]/PATH[?vers=…&ro&timeout=…] */
struct nfs_source {
	char name[1200]; /* as the kernel takes it */
	char host[256], path[1025];
};
/* What the URI's keys say is added to the options, and its time-out. */
int nfs_source_read(const char *text, struct nfs_source *, struct nfs_options *,
	uint32_t *timeout_ms, struct diag *);

struct nfs_mount {
	struct nfs_source source;
	const char *dir; /* as kernel_mount_dir() gives it */
	struct nfs_options options;
	bool fallback_tcp;
	bool dry_run; /* nothing is loaded or mounted; the server is asked if that can be done */
	bool over;    /* also over what is mounted there */
	uint32_t timeout_ms; /* for all of it, and what retry= adds; 0 = none */
	void (*note)(void *arg, const char *text);
	void *arg;

	/* Filled in. */
	struct addr server;
	unsigned version;           /* NFS_V3 … */
	bool rdma, existed;         /* existed: was mounted before */
	char data[NFS_OPTIONS_MAX]; /* what mount(2) was given */
	char way[160];              /* over which the server was asked */
	struct kernel_mounted mounted;
	struct diag fell_back; /* err: why not RDMA */
};
/* Success also if the same was mounted before. */
int nfs_mount(struct loop *, struct nfs_mount *, struct diag *);
