/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data transfer of all targets over RDMA: moves data between data buffers and the memory of a peer,
 * which may have several segments. The protocol handles the meaning of the data and the replies. */
#pragma once
#include "mem.h"
#include "ring.h"

/* A segment of a command's data in the peer's memory. */
struct xfer_seg {
	uint64_t raddr;
	uint32_t rkey, len;
};

/* One move of a command's data at a time, in one direction. The protocol refuses bidirectional
 * commands. */
struct xfer {
	void (*moved)(struct xfer *); /* the whole pull or push is complete */
	/* the rest is private */
	struct xfer *next;
	uint8_t kind;
	uint32_t left, in_flight;   /* bytes without an operation so far; operations in flight */
	const struct xfer_seg *seg; /* segment of the next byte */
	uint32_t seg_at;
	uint8_t *p;
	uint32_t lkey;
	struct ep_op *reply; /* sent after the data */
};

/* The transfers of one connection. A move takes one operation per segment. READs beyond the peer's
 * limit, and moves without a free operation, wait here in order; all others are sent with the
 * ring's next flush. */
struct xfer_op;
struct xfer_port {
	struct ring *ring;
	struct xfer_op *ops, *free;
	struct xfer_queue {
		struct xfer *first, **end;
	} queue[2];      /* one for READs, one for WRITEs */
	bool next_queue; /* the queue to serve first */
	uint32_t reads;  /* posted and not yet completed */
};
/* ops: most operations in flight; together with the owner's replies they must fit caps.send. */
int xfer_port_init(struct xfer_port *, struct ring *, unsigned ops, struct diag *);
/* allowed on a zeroed one; needs: the endpoint is down */
void xfer_port_fini(struct xfer_port *);
/* Move len > 0 bytes from the peer's memory to the start of the buffer: those at offset `at` of the
 * data that the segments describe. The segments must stay valid until moved(). False: the segments
 * are shorter; nothing is moved. */
bool xfer_pull(struct xfer_port *, struct xfer *, const struct buf *, const struct xfer_seg *,
	unsigned count, uint64_t at, uint32_t len);
/* Move data to the peer, followed by the reply (NULL: none yet). */
bool xfer_push(struct xfer_port *, struct xfer *, const struct buf *, const struct xfer_seg *,
	unsigned count, uint64_t at, uint32_t len, struct ep_op *reply);
/* Call in ep_events.sent: true if the op was part of a move (moved() was called if it was the
 * last), false if it is a reply of the owner. */
bool xfer_sent(struct xfer_port *, struct ep_op *);
