/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ask an NFS server what it has: RPC over RDMA (RFC 8166) and TCP, with calls that change nothing.
 * A struct nfs_query is asked on the caller's loop, any number at once. The functions with a
 * time-out run the loop until they have the answer or the time is up (0 = none). */
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
	struct addr at;    /* that has answered */
	char way[160];     /* as of struct ep and struct stream */
};
struct nfs_export {
	char *path;
	char *to;         /* "10.0.0.0/24,@trusted"; "" = everybody */
	unsigned clients; /* that the server named; of very many `to` has the first */
};
struct nfs_exports {
	struct nfs_export *item;
	unsigned count;
};
void nfs_exports_free(struct nfs_exports *);

/* What the tree of NFS version 4 shows this machine: its root and the file systems in it. Needs
 * version 4.0, which has no sessions. */
#define NFS_PATHS 256
struct nfs_paths {
	char *path[NFS_PATHS]; /* without "/" */
	unsigned count;
	bool more; /* the limits of the walk were reached */
};
void nfs_paths_free(struct nfs_paths *);

/* One question. Embedded in its owner, which sets the first part; zeroes else. */
struct nfs_query {
	struct loop *loop;
	struct addr server;
	uint64_t until;                   /* loop_clock; 0 = none */
	void (*done)(struct nfs_query *); /* once, from the loop */

	/* The answer. err 0: the question's own part is valid */
	struct diag why;
	struct nfs_answer versions;
	uint16_t port;
	struct nfs_exports exports; /* the owner's to free */

	/* private */
	void (*next)(struct nfs_query *, int err, const struct diag *);
	struct loop_work later;
	struct rpc *rpc;
	volatile int over;
	unsigned wanted, left, version;    /* left: not asked for yet */
	uint32_t program, program_version; /* whose port is looked up */
	struct diag mapper;                /* why the port mapper did not give it */
};
/* Does an NFS server answer there? Over RDMA only through a device of this machine (verbs), as the
 * kernel will. The versions wanted are asked for from the highest down until one is served; all
 * versions if the server has none of them, or if 0 are wanted. */
void nfs_query_versions(struct nfs_query *, bool rdma, unsigned wanted);
/* The TCP port of the server's mount daemon: by its port mapper, or the registered one if a mount
 * daemon answers there. */
void nfs_query_mountd(struct nfs_query *);
void nfs_query_exports(struct nfs_query *, uint16_t mountd_port);
/* Does the status monitor of this machine answer? Locks of version 3 need it. */
void nfs_query_statd(struct nfs_query *);
void nfs_query_cancel(struct nfs_query *); /* no done() any more; allowed when not asked */

int nfs_ask(struct loop *, const struct addr *, bool rdma, unsigned wanted, uint32_t timeout_ms,
	struct nfs_answer *, struct diag *);
int nfs_mountd(
	struct loop *, const struct addr *, uint32_t timeout_ms, uint16_t *port, struct diag *);
int nfs_exports(struct loop *, const struct addr *, uint16_t mountd_port, uint32_t timeout_ms,
	struct nfs_exports *, struct diag *);
int nfs_paths(struct loop *, const struct addr *, bool rdma, uint32_t timeout_ms,
	struct nfs_paths *, struct diag *);
