/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A mount on its way, and what is on the directory before it. */
#pragma once
#include "nfs_mount.h"

struct mounting {
	struct nfs_mount *m;
	struct loop *loop;
	int root;
	uint64_t until; /* 0 = no end */
	bool unasked;   /* this machine cannot ask over RDMA, the kernel perhaps can mount */
	/* the kernel mounts, and the server is asked only when that fails or takes its time */
	bool ahead;
	bool asked; /* over what is tried now */
	struct nfs_answer answer;
	struct diag no_answer;
	uint16_t mountport;
	struct diag no_mountd;
};

/* Versions that the options ask for. */
unsigned nfs_wanted(const struct nfs_options *);
/* 1: the same is mounted already. -EBUSY: something else is mounted. */
int nfs_look_before(struct mounting *, struct diag *);
unsigned nfs_mounted_version(const struct kernel_mounted *); /* 0: not NFS */
bool nfs_mounted_rdma(const struct kernel_mounted *);
