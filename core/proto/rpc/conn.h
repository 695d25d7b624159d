/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection to an RPC service, over TCP or RDMA: one call at a time, waited for on the loop.
 */
#pragma once
#include "codec.h"
#include "loop.h"
#include "uri.h"

#define RPC_CALL_MAX 4096

struct rpc;
struct rpc_carrier {
	/* Sends the message of rpc->call; `replied` follows, or `down`. */
	int (*send)(struct rpc *, const void *message, size_t len, struct diag *);
	void (*close)(struct rpc *); /* no upcall after it */
};

struct rpc { /* first member of its carrier's */
	const struct rpc_carrier *carrier;
	struct loop *loop;
	uint64_t until; /* loop_clock; 0 = no end */
	uint32_t xid;
	uint32_t call_max, reply_max; /* bytes of RPC messages */
	char way[160];
	struct wr w;
	uint8_t call[RPC_CALL_MAX];
	struct rd reply;
	/* The carrier's news */
	volatile int up, replied; /* both also when it is down */
	bool down;
	struct diag why;
};

/* Waits until the service can be called. */
int rpc_open(struct rpc **, struct loop *, const struct addr *, bool rdma, uint64_t until,
	struct diag *);
/* The writer for the arguments of a call, then the call itself: the reader is at its results, which
 * stay until the next call. */
struct wr *rpc_begin(struct rpc *, uint32_t prog, uint32_t vers, uint32_t proc);
int rpc_end(struct rpc *, struct rd *results, struct rpc_said *, struct diag *);
void rpc_close(struct rpc *);

/* The carriers: connecting begins; up, replied and down are for them to set. */
int rpc_tcp(struct rpc **, struct loop *, const struct addr *, uint32_t timeout_ms, struct diag *);
int rpc_rdma(struct rpc **, struct loop *, const struct addr *, uint32_t timeout_ms, struct diag *);
static inline void rpc_down(struct rpc *rpc, const struct diag *why)
{
	if (!rpc->why.err)
		rpc->why = *why;
	rpc->down = true;
	rpc->up = rpc->replied = 1;
}
