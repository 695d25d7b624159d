/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach the disk of bench --matrix --all through the kernel's initiators. */
#pragma once
#include "bench_child.h"
#include "bench_matrix.h"

struct bench_kernel;

/* Check that the address for RDMA is that of a device. -ENODEV */
int bench_kernel_check_rdma(const char *rdma, struct diag *);
/* Serve the disk once for each initiator of the kernel, by processes of their own, and attach it.
 * One in memory is also a file on an NFS mount. size: of the disk, in bytes; mode: --ro or --force;
 * rdma: the address for RDMA. What fails has its reason. Returns 0 or -errno with a diag, -EINTR if
 * the task was stopped; *kernel is to be stopped in any case. */
int bench_kernel_start(struct bench *, const char *disk, uint64_t size, const char *mode,
	const char *rdma, struct bench_kernel **kernel);
/* Add a disk for each initiator, which lives as long as it is attached. NULL: none. */
void bench_kernel_sources(struct bench_kernel *, struct bench_sources *);
/* Add the disk under the name of each initiator. */
void bench_kernel_rehearse(struct bench_sources *, const struct matrix_disk *);
/* Detach, the last one first, end the servers, and free it; NULL: nothing. Return EXIT_PARTLY, with
 * a warning, if something could not be detached; else 0. */
int bench_kernel_stop(struct bench *, struct bench_kernel *);
