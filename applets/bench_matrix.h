/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks of bench --matrix. */
#pragma once
#include "bench.h"
#include "child.h"

struct bench_sources {
	struct matrix_disk disk[MATRIX_DISKS];
	char *uri[MATRIX_DISKS]; /* to open; NULL: what has no protocol */
	char name[MATRIX_DISKS][48];
	unsigned count;
	struct addr socket;
	struct load_rdma rdma;
	struct matrix_baseline *baseline; /* or NULL */
};

/* Open the disks and name them by their schemes. One that can't be opened has its reason; without
 * any the command fails. */
int bench_open_sources(struct bench *, struct bench_sources *, bool write);
/* Warn that a disk failed, unless it did not. */
void bench_warn_failure(struct bench *, const struct matrix_disk *);
void bench_close_sources(struct bench_sources *);

/* Check that the combinations are possible on a disk. DIAG_USAGE: one is not. */
int bench_check_plan(struct bench *, struct bdev *);

/* Serve one disk by every protocol. Returns 0, -errno, or the exit status of a failure that a
 * server has printed. On failure *servers is to be stopped as well. */
struct bench_servers;
int bench_servers_start(struct bench *, const char *disk, struct bench_servers **);
/* Add the URIs of the servers, which live as long as they do, a socket and RDMA. */
int bench_servers_sources(const struct bench_servers *, struct bench_sources *, struct diag *);
/* Replace the only disk by itself under the name of each protocol, a socket, RDMA, and each
 * initiator of the kernel. */
void bench_servers_rehearse(struct bench_sources *, bool kernel);
/* Return EXIT_PARTLY, with a warning, if the kernel still has a disk; else 0. */
int bench_servers_stop(struct bench *, struct bench_servers *);

/* A private folder for a socket. A child removes both even if this process is killed. Zero it
 * first; remove it also after a failure, once no server is left. */
struct bench_folder {
	char path[100], socket[108];
	struct child_call cleaner;
	int lifeline; /* the cleaner waits for its end; 0: none */
};
int bench_folder_make(struct bench_folder *, struct diag *);
void bench_folder_remove(struct bench_folder *);
