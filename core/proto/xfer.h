/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA data mover of all targets: between their data buffers and the memory of a peer. What the
 * data is, and the replies, are the protocol's. */
#pragma once
#include "ep.h"
#include "mem.h"

/* One move of a command's data at a time. */
struct xfer {
	struct ep_op op; /* first: its `sent` is given to xfer_sent() */
	struct xfer *next;
	void (*moved)(struct xfer *); /* all of a pull or push has happened */
};

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
void xfer_pull(struct xfer_port *, struct xfer *, const struct buf *, uint64_t raddr, uint32_t rkey,
	uint32_t len);
/* The first len bytes of the buffer into the peer's memory, with the reply chained behind (NULL:
 * none yet). */
void xfer_push(struct xfer_port *, struct xfer *, const struct buf *, uint64_t raddr, uint32_t rkey,
	uint32_t len, struct ep_op *reply);
void xfer_send(struct xfer_port *, struct ep_op *reply); /* a reply without data */
/* to be posted again, before whatever leaves after it */
void xfer_receive(struct xfer_port *, struct ep_rx *);
void xfer_flush(struct xfer_port *); /* at the end of a turn */
/* For ep_events.sent: true when the op was a move (its moved() has been called), false when it is a
 * reply of the owner's. */
bool xfer_sent(struct xfer_port *, struct ep_op *);
