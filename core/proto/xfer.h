/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What every target moves data with: the data buffers of one loop, the line of commands that wait
 * for one, and the RDMA data mover. What the data is, and the replies, are the protocol's. */
#pragma once
#include "ep.h"
#include "mem.h"

/* A connection's part of the buffers: at most three quarters, so that one whose host is slow, or
 * means ill, leaves some. */
struct xfer_share {
	unsigned held;
};

/* One command's buffer, and its move over RDMA. */
struct xfer {
	struct ep_op op; /* first: its `sent` is given to xfer_sent() */
	struct xfer *next;
	struct xfer_share *share;
	void (*ready)(struct xfer *); /* the buffer is there; at the end of a turn */
	void (*moved)(struct xfer *); /* all of a pull or push has happened */
	struct buf buf;               /* p NULL: none */
	bool waiting;                 /* for a buffer */
};

/* Data buffers of one size on one loop. A command waits for one in the order of arrival, and until
 * its connection's share allows it: this is the only line there is. */
struct xfer_store {
	struct loop *loop;
	struct pool *pool;
	uint16_t *stack;     /* free ones, the warmest on top */
	unsigned free, most; /* most: of one share */
	struct xfer *line, **line_end;
	struct loop_work work;
};
int xfer_store_init(
	struct xfer_store *, struct loop *, uint32_t each, uint16_t count, struct diag *);
/* allowed on a zeroed one; needs: all given back, the pool unmapped */
void xfer_store_fini(struct xfer_store *);
/* True: x->buf is there. False: x is in the line, ready() comes. */
bool xfer_take(struct xfer_store *, struct xfer *);
/* Gives the buffer back, or leaves the line, or nothing; needs: no move under way. */
void xfer_give(struct xfer_store *, struct xfer *);

/* The mover of one connection. READs beyond what the peer answers at once stay here, with their
 * buffers, in order; all that was asked for in a turn leaves as receives first, then one chain of
 * operations. */
struct xfer_port {
	struct ep *ep;
	struct ep_rx *rx;
	struct ep_op *chain, **chain_end;
	struct xfer *held, **held_end;
	uint32_t reads; /* posted, not yet reported */
};
void xfer_port_init(struct xfer_port *, struct ep *);
/* From the peer's memory into the first len bytes of the buffer. */
void xfer_pull(struct xfer_port *, struct xfer *, uint64_t raddr, uint32_t rkey, uint32_t len);
/* The first len bytes of the buffer into the peer's memory, with the reply chained behind (NULL:
 * none yet). */
void xfer_push(struct xfer_port *, struct xfer *, uint64_t raddr, uint32_t rkey, uint32_t len,
	struct ep_op *reply);
void xfer_send(struct xfer_port *, struct ep_op *reply); /* a reply without data */
/* to be posted again, before whatever leaves after it */
void xfer_receive(struct xfer_port *, struct ep_rx *);
void xfer_flush(struct xfer_port *); /* at the end of a turn */
/* For ep_events.sent: true when the op was a move (its moved() has been called), false when it is a
 * reply of the owner's. */
bool xfer_sent(struct xfer_port *, struct ep_op *);
