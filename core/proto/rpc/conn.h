/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection to an RPC service over TCP or RDMA, with one call at a time. */
#pragma once
#include "codec.h"
#include "loop.h"
#include "uri.h"

#define RPC_CALL_MAX 4096

struct rpc;
struct rpc_carrier {
	/* Send the message of rpc->call; rpc_notify() follows. */
	void (*send)(struct rpc *, const void *message, size_t len);
	void (*close)(struct rpc *); /* no upcall follows */
};

struct rpc { /* first member of the carrier's struct */
	const struct rpc_carrier *carrier;
	struct loop *loop;
	/* The connection is up or the call has its reply: err 0, or the reason. From the loop, once
	 * per rpc_open() and rpc_send(); may call rpc_close(). */
	void (*done)(struct rpc *, int err, const struct diag *why);
	void *user;
	uint64_t until; /* on loop_clock()'s scale; 0 = no limit */
	uint32_t xid;
	uint32_t call_max, reply_max; /* longest RPC messages, bytes */
	struct addr peer;             /* once connected, as of struct ep and struct stream */
	char route[160];
	struct wr w;
	uint8_t call[RPC_CALL_MAX];
	struct rd reply; /* in done(): at the results, which are valid until the next call */

	/* private */
	enum { RPC_IDLE, RPC_CONNECTING, RPC_CALLING } state;
	struct loop_work notify;
	struct loop_timer timer;
	bool down;
	struct diag why;
};

/* Connect. Fails at once only without memory or a socket; then done() is not called. */
int rpc_open(struct rpc **, struct loop *, const struct addr *, bool rdma, uint64_t until,
	void (*done)(struct rpc *, int err, const struct diag *why), void *user, struct diag *);
/* rpc_begin(): returns the writer for the arguments. rpc_send(): sends the call. */
struct wr *rpc_begin(struct rpc *, uint32_t prog, uint32_t vers, uint32_t proc);
void rpc_send(struct rpc *);
void rpc_close(struct rpc *); /* at any time, except inside a carrier's upcall; NULL is allowed */

/* The carriers: start connecting; rpc_notify() follows when it is up, or rpc_down(). */
int rpc_tcp(struct rpc **, struct loop *, const struct addr *, uint32_t timeout_ms, struct diag *);
int rpc_rdma(struct rpc **, struct loop *, const struct addr *, uint32_t timeout_ms, struct diag *);
/* The connection is up, or rpc->reply is set. */
static inline void rpc_notify(struct rpc *rpc)
{
	loop_work_add(rpc->loop, &rpc->notify);
}
static inline void rpc_down(struct rpc *rpc, const struct diag *why)
{
	if (!rpc->why.err)
		rpc->why = *why;
	rpc->down = true;
	rpc_notify(rpc);
}
