/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RPC messages, their header on RDMA, and calls to query a server. Every _get checks all that it
 * reads; none does I/O. */
#pragma once
#include "diag.h"
#include "nfs.h"
#include "wire/nfs.h"
#include "wire/rpc.h"
#include "xdr.h"

/* Write the head of a call as root of this host (AUTH_SYS: servers refuse AUTH_NONE for what they
 * export to AUTH_SYS); the arguments follow. */
void rpc_call_put(struct wr *, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc);

struct rpc_mismatch_info {  /* of a reply without results */
	uint32_t low, high; /* -EPROTONOSUPPORT: supported versions */
};
/* Leaves r at the results. -EPROTONOSUPPORT: version not supported; -ENOENT: program unknown;
 * -ENOSYS: procedure unknown; -EACCES: credentials rejected; -EPROTO: malformed. */
int rpc_reply_get(struct rd *r, uint32_t xid, struct rpc_mismatch_info *, struct diag *);

void rpcrdma_hdr_put(struct rpcrdma_hdr *, uint32_t xid, uint32_t credits);
/* Leaves r at the RPC message. Chunks are rejected, as none was offered. */
int rpcrdma_hdr_get(struct rd *r, uint32_t xid, struct diag *);
void rpcrdma_private_put(struct rpcrdma_private *, uint32_t send, uint32_t recv);
/* Bytes that the peer can receive and send in one message; default RPCRDMA_INLINE. */
void rpcrdma_private_get(const uint8_t *priv, size_t len, uint32_t *send, uint32_t *recv);

void portmap_getport_put(struct wr *, uint32_t prog, uint32_t vers);
int portmap_getport_get(struct rd *, uint16_t *port, struct diag *); /* port 0: not registered */
void rpcbind_getaddr_put(struct wr *, uint32_t prog, uint32_t vers, const char *netid);
int rpcbind_getaddr_get(struct rd *, uint16_t *port, struct diag *); /* as above */

/* call nfs_exports_free(), also after a failure */
int mount_exports_get(struct rd *, struct nfs_exports *, struct diag *);

/* A COMPOUND without operations only tests the minor version (RFC 8881, 16.2.3). */
void nfs4_compound_put(struct wr *, uint32_t minor, uint32_t ops);
int nfs4_compound_get(struct rd *, uint32_t *status, uint32_t *ops, struct diag *);
const char *nfs4_status_text(uint32_t status, char text[24]);

struct nfs4_fsid {
	uint64_t major, minor;
};
struct nfs4_entry { /* of a directory */
	uint64_t cookie;
	char name[NFS4_NAME_MAX + 1];
	bool dir, has_fsid;
	struct nfs4_fsid fsid;
};
struct nfs4_list {
	struct nfs4_fsid fsid; /* of the directory */
	bool eof;
	uint64_t cookie;
	uint8_t verifier[NFS4_VERIFIER];
};
/* Read entries of the directory at `path` ("/a/b") from list->cookie on; the verifier is returned
 * to the server unchanged. */
void nfs4_readdir_put(struct wr *, const char *path, const struct nfs4_list *, uint32_t max_bytes);
/* Call each() for every entry whose name is valid in a path. -EACCES, -ENOENT: for the path. */
int nfs4_readdir_get(struct rd *, const char *path, struct nfs4_list *,
	void (*each)(const struct nfs4_entry *, void *arg), void *arg, struct diag *);
