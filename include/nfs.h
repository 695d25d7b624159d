/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Query an NFS server by RPC over RDMA (RFC 8166) and TCP, with calls that change nothing. Any
 * number of struct nfs_query can run on the caller's loop. The functions with timeout_ms run the
 * loop until they have the answer or time out (0: no limit); they return 0 or -errno with diag. */
#pragma once
#include "loop.h"
#include "uri.h"

#define NFS_RDMA_PORT  20049
#define NFS_TCP_PORT   2049
#define NFS_MOUNT_PORT 20048 /* registered for mountd, which may use any */

enum nfs_version { NFS_V3 = 1, NFS_V40 = 2, NFS_V41 = 4, NFS_V42 = 8, NFS_ALL = 15 }; /* flags */
const char *nfs_version_name(unsigned version); /* of one flag: "4.2" */
/* Write the list of versions, highest first, such as "4.2, 4.1, 3", or "none". Returns text. */
char *nfs_versions_text(unsigned versions, char text[32]);

struct nfs_server_info {
	unsigned versions; /* NFS_V* found to be supported */
	struct addr at;    /* the address that has answered */
	char route[160];   /* as in struct ep and struct stream */
};
struct nfs_export {
	char *path;
	char *to;         /* clients: "10.0.0.0/24,@trusted"; "": everyone */
	unsigned clients; /* number of clients; `to` has the first ones if there are many */
};
struct nfs_exports {
	struct nfs_export *item;
	unsigned count;
};
void nfs_exports_free(struct nfs_exports *);

/* The file systems in the server's NFS 4 tree, as this host sees them. Requires version 4.0, which
 * has no sessions. */
#define NFS_PATHS 256
struct nfs_paths {
	char *path[NFS_PATHS]; /* without "/" */
	unsigned count;
	bool more; /* the limits of the walk were reached */
};
void nfs_paths_free(struct nfs_paths *);

/* One query, embedded in its owner, which zeroes it and sets the first part. */
struct nfs_query {
	struct loop *loop;
	struct addr server;
	uint64_t until;                   /* loop_clock(); 0: no limit */
	void (*done)(struct nfs_query *); /* called once, from the loop */

	/* The result. why.err 0: the member that belongs to the query is valid. */
	struct diag why;
	struct nfs_server_info versions;
	uint16_t port;
	struct nfs_exports exports; /* the owner frees them */

	/* private */
	void (*next)(struct nfs_query *, int err, const struct diag *);
	struct loop_work fail;
	struct rpc *rpc;
	volatile int finished;
	unsigned preferred, untried, version;
	uint32_t program, program_version; /* whose port is looked up */
	struct diag mapper;                /* why rpcbind did not return it */
};
/* Find the versions that the server supports, over RDMA only through a verbs device of this host,
 * as the kernel will. Probes the preferred versions from the highest down until one is supported;
 * if none is, or if preferred is 0, all others. */
void nfs_query_versions(struct nfs_query *, bool rdma, unsigned preferred);
/* Find the TCP port of mountd: ask rpcbind; without an answer, use the registered port if mountd
 * answers there. */
void nfs_query_mountd(struct nfs_query *);
void nfs_query_exports(struct nfs_query *, uint16_t mountd_port);
/* Check that the status monitor of this host answers; locks of NFS 3 require it. */
void nfs_query_statd(struct nfs_query *);
void nfs_query_cancel(struct nfs_query *); /* stop without done(); allowed before the start */

int nfs_probe(struct loop *, const struct addr *, bool rdma, unsigned preferred,
	uint32_t timeout_ms, struct nfs_server_info *, struct diag *);
int nfs_mountd(
	struct loop *, const struct addr *, uint32_t timeout_ms, uint16_t *port, struct diag *);
int nfs_exports(struct loop *, const struct addr *, uint16_t mountd_port, uint32_t timeout_ms,
	struct nfs_exports *, struct diag *);
int nfs_paths(struct loop *, const struct addr *, bool rdma, uint32_t timeout_ms,
	struct nfs_paths *, struct diag *);
