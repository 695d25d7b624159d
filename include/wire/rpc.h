/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ONC RPC version 2 (RFC 5531), its records on a stream, RPC-over-RDMA version 1 (RFC 8166) and its
 * private data (RFC 8797). XDR (RFC 4506) is a row of 32-bit words; texts are padded to whole ones.
 */
#pragma once
#include "wire.h"

#define RPC_VERSION 2
enum { RPC_CALL = 0, RPC_REPLY = 1 };
enum { RPC_ACCEPTED = 0, RPC_DENIED = 1 };
enum rpc_accept { /* 9: accept_stat */
	RPC_SUCCESS = 0,
	RPC_PROG_UNAVAIL = 1,
	RPC_PROG_MISMATCH = 2,
	RPC_PROC_UNAVAIL = 3,
	RPC_GARBAGE_ARGS = 4,
	RPC_SYSTEM_ERR = 5,
};
enum { RPC_MISMATCH = 0, RPC_AUTH_ERROR = 1 }; /* 9: reject_stat */
enum { RPC_AUTH_NONE = 0, RPC_AUTH_SYS = 1 };  /* 8.1 */
#define RPC_AUTH_MAX 400

struct rpc_call { /* 9; credentials and verifier follow */
	be32 xid, type, rpcvers, prog, vers, proc;
};
WIRE_SIZE(struct rpc_call, 24);

/* 11: in front of each part of a record, its length; the highest bit: it is the last */
#define RPC_LAST_FRAGMENT 0x80000000u

#define RPCRDMA_VERSION 1
#define RPCRDMA_INLINE  1024 /* what every peer receives; RFC 8166, 3.3.3 */
enum { RPCRDMA_MSG = 0, RPCRDMA_NOMSG = 1, RPCRDMA_ERROR = 4 }; /* 4.2.4 */
enum { RPCRDMA_ERR_VERS = 1, RPCRDMA_ERR_CHUNK = 2 };           /* 4.5 */
/* 4.2; each list is ended by a word of zero, and that is all of it where there is no chunk */
struct rpcrdma_hdr {
	be32 xid, vers, credits, proc, reads, writes, reply;
};
WIRE_SIZE(struct rpcrdma_hdr, 28);

#define RPCRDMA_PRIVATE_MAGIC 0xf6ab0e18u
struct rpcrdma_private { /* RFC 8797, 4; sizes: (bytes / 1024) - 1 */
	be32 magic;
	uint8_t version, flags, send_size, recv_size;
};
WIRE_SIZE(struct rpcrdma_private, 8);
