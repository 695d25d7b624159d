/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disk of bench --matrix --all as a file of the kernel's NFS server, mounted over RDMA. */
#pragma once
#include "bench_child.h"
#include "bench_matrix.h"

#define BENCH_NFS "kernel nfs+rdma" /* name of the row */

/* Return whether the disk can be such a file: it is in memory, and not null:. */
bool bench_nfs_fits(const char *disk);

struct bench_nfs;

/* Start an NFS server for this machine, with a file of that many bytes in memory, in a process of
 * its own that undoes all at the end, also if this one is killed. rdma: the address,
 * "HOST:PORT?rdma=…"; what fails has its reason. Returns 0 or -errno with a diag; *nfs is to be
 * stopped in any case. */
int bench_nfs_start(struct bench *, const char *rdma, uint64_t size, struct bench_nfs **nfs);
/* Wait for the server and mount it. Returns 0, also if that has failed, or -EINTR if the task was
 * stopped. */
int bench_nfs_mount(struct bench *, struct bench_nfs *);
/* Add the file. NULL: none. */
void bench_nfs_source(struct bench_nfs *, struct bench_sources *);
/* Unmount it, stop the server and free it; NULL: nothing. Returns EXIT_PARTLY, with a warning, if
 * something could not be undone; else 0. */
int bench_nfs_stop(struct bench *, struct bench_nfs *);
