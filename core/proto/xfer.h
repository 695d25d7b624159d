/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA data mover of all targets: between their data buffers and the memory of a peer, which
 * may be in several parts. What the data is, and the replies, are the protocol's. */
#pragma once
#include "mem.h"
#include "ring.h"

/* A part of a command's data in the peer's memory. */
struct xfer_seg {
	uint64_t raddr;
	uint32_t rkey, len;
};

/* A move of a command's data: one at a time, so the data goes one way. Bidirectional commands are
 * the protocol's to refuse. */
struct xfer {
	void (*moved)(struct xfer *); /* all of a pull or push has happened */
	/* the rest is the mover's */
	struct xfer *next;
	uint8_t kind;
	uint32_t left, flying;      /* bytes that no operation has yet; operations */
	const struct xfer_seg *seg; /* that the next byte goes to */
	uint32_t seg_at;
	uint8_t *p;
	uint32_t lkey;
	struct ep_op *reply; /* behind it */
};

/* The mover of one connection. A move is one operation for each segment it touches. READs beyond
 * what the peer answers at once, and what finds no operation free, wait here in order; the rest
 * leaves with the ring's next flush. */
struct xfer_op;
struct xfer_port {
	struct ring *ring;
	struct xfer_op *ops, *free;
	struct xfer_line {
		struct xfer *first, **end;
	} line[2];      /* READs, WRITEs */
	bool turn;      /* the line that is served first */
	uint32_t reads; /* posted, not yet reported */
};
/* ops: the most operations at once; with the owner's replies they are within caps.send. */
int xfer_port_init(struct xfer_port *, struct ring *, unsigned ops, struct diag *);
/* allowed on a zeroed one; needs: the endpoint is down */
void xfer_port_fini(struct xfer_port *);
/* Move len > 0 bytes from the peer's memory into the first of the buffer: those at offset at of the
 * data that the segments describe, which stay until moved(). False: the segments are shorter;
 * nothing happens. */
bool xfer_pull(struct xfer_port *, struct xfer *, const struct buf *, const struct xfer_seg *,
	unsigned count, uint64_t at, uint32_t len);
/* The other way, with the reply chained behind (NULL: none yet). */
bool xfer_push(struct xfer_port *, struct xfer *, const struct buf *, const struct xfer_seg *,
	unsigned count, uint64_t at, uint32_t len, struct ep_op *reply);
/* For ep_events.sent: true when the op was a move (its moved() has been called if that was the last
 * of it), false when it is a reply of the owner's. */
bool xfer_sent(struct xfer_port *, struct ep_op *);
