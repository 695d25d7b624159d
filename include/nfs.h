/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asking an NFS server what it has: RPC over RDMA (RFC 8166) and TCP, calls that change nothing.
 * Each of these runs the loop until it is done or the time is up (0 = none). */
#pragma once
#include "diag.h"
#include "loop.h"
#include "uri.h"

#define NFS_RDMA_PORT  20049
#define NFS_TCP_PORT   2049
#define NFS_MOUNT_PORT 20048 /* of the mount daemon: registered, but any may be used */

enum nfs_version { NFS_V3 = 1, NFS_V40 = 2, NFS_V41 = 4, NFS_V42 = 8, NFS_ALL = 15 }; /* flags */
const char *nfs_version_word(unsigned version); /* of one: "4.2" */
/* "4.2, 4.1, 3", highest first; "none" */
char *nfs_versions_text(unsigned versions, char text[32]);

struct nfs_answer {
	unsigned versions; /* that are known to be served */
	char way[160];     /* as of struct ep and struct stream */
};
/* Does an NFS server answer there? Over RDMA only through a device of this machine (verbs), as the
 * kernel will. The versions wanted are asked for from the highest down until one is served; all
 * versions where none of them is, or 0 are wanted. */
int nfs_ask(struct loop *, const struct addr *, bool rdma, unsigned wanted, uint32_t timeout_ms,
	struct nfs_answer *, struct diag *);

/* The TCP port of the server's mount daemon: by its port mapper, or the registered one where
 * somebody who knows MOUNT answers at it. */
int nfs_mountd(
	struct loop *, const struct addr *, uint32_t timeout_ms, uint16_t *port, struct diag *);

struct nfs_export {
	char *path;
	char *to;         /* "10.0.0.0/24,@trusted"; "" = everybody */
	unsigned clients; /* that the server named; of very many `to` has the first */
};
struct nfs_exports {
	struct nfs_export *item;
	unsigned count;
};
int nfs_exports(struct loop *, const struct addr *, uint16_t mountd_port, uint32_t timeout_ms,
	struct nfs_exports *, struct diag *);
void nfs_exports_free(struct nfs_exports *);

/* What the tree of NFS version 4 shows this machine: its root and the file systems in it. Needs
 * version 4.0, which has no sessions. */
#define NFS_PATHS 256
struct nfs_paths {
	char *path[NFS_PATHS]; /* "/" is not among them */
	unsigned count;
	bool more; /* not all was looked at */
};
int nfs_paths(struct loop *, const struct addr *, bool rdma, uint32_t timeout_ms,
	struct nfs_paths *, struct diag *);
void nfs_paths_free(struct nfs_paths *);

/* The status monitor of this machine, without which the locks of version 3 cannot be taken,
 * answers. */
bool nfs_statd(struct loop *, uint32_t timeout_ms);
