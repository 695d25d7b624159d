/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection to an RPC service, over TCP or RDMA: one call at a time. */
#pragma once
#include "codec.h"
#include "loop.h"
#include "uri.h"

#define RPC_CALL_MAX 4096

struct rpc;
struct rpc_carrier {
	/* Sends the message of rpc->call; rpc_news() follows. */
	void (*send)(struct rpc *, const void *message, size_t len);
	void (*close)(struct rpc *); /* no upcall after it */
};

struct rpc { /* first member of its carrier's */
	const struct rpc_carrier *carrier;
	struct loop *loop;
	/* The connection is up or the call has its reply: err 0, or why not. From the loop, once
	 * for each rpc_open() and rpc_send(); rpc_close() is allowed in it. */
	void (*done)(struct rpc *, int err, const struct diag *why);
	void *user;
	uint64_t until; /* loop_clock; 0 = no end */
	uint32_t xid;
	uint32_t call_max, reply_max; /* bytes of RPC messages */
	char way[160];
	struct wr w;
	uint8_t call[RPC_CALL_MAX];
	struct rd reply; /* in done(): at the results, which stay until the next call */

	/* private */
	enum { RPC_IDLE, RPC_CONNECTING, RPC_CALLING } state;
	struct loop_work news;
	struct loop_timer timer;
	bool down;
	struct diag why;
};

/* Connects. Fails at once only for lack of memory or of a socket; then there is no done(). */
int rpc_open(struct rpc **, struct loop *, const struct addr *, bool rdma, uint64_t until,
	void (*done)(struct rpc *, int err, const struct diag *why), void *user, struct diag *);
/* The writer for the arguments of a call, then the call itself. */
struct wr *rpc_begin(struct rpc *, uint32_t prog, uint32_t vers, uint32_t proc);
void rpc_send(struct rpc *);
void rpc_close(struct rpc *); /* at any time, but not from a carrier's upcall; NULL is allowed */

/* The carriers: connecting begins; rpc_news() follows when it is up or rpc_down(). */
int rpc_tcp(struct rpc **, struct loop *, const struct addr *, uint32_t timeout_ms, struct diag *);
int rpc_rdma(struct rpc **, struct loop *, const struct addr *, uint32_t timeout_ms, struct diag *);
/* The connection is up, or rpc->reply is there. */
static inline void rpc_news(struct rpc *rpc)
{
	loop_work_add(rpc->loop, &rpc->news);
}
static inline void rpc_down(struct rpc *rpc, const struct diag *why)
{
	if (!rpc->why.err)
		rpc->why = *why;
	rpc->down = true;
	rpc_news(rpc);
}
