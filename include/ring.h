/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What every protocol on an RDMA endpoint needs: receives that are made once and posted again and
 * again, and a chain of operations that leaves once a turn, behind the receives. */
#pragma once
#include "ep.h"

struct ring {
	struct ep *ep;
	struct ep_rx *rx; /* room receives */
	unsigned room;
	struct ep_rx *back; /* to be posted again */
	struct ep_op *chain, **chain_end;
};

/* room: the most receives there will be. */
int ring_init(struct ring *, unsigned room, struct diag *);
/* allowed on a zeroed one; needs: the endpoint is freed, or never came to ring_start() */
void ring_fini(struct ring *);
/* In the endpoint's request(), also if that comes twice: posts count receives of cap bytes, the
 * first at p, the others stride bytes apart. The pool is registered. */
void ring_start(struct ring *, struct ep *, const struct pool *, uint8_t *p, size_t stride,
	uint32_t cap, unsigned count);
/* Post what is to be posted: receives first, as the peer may send once it has what leaves, and
 * iWARP has no RNR. Does nothing unless the endpoint is up. */
void ring_flush(struct ring *);

/* The owner needs its bytes no more: it is posted again before anything else leaves. */
static inline void ring_back(struct ring *ring, struct ep_rx *rx)
{
	rx->next = ring->back;
	ring->back = rx;
}

/* Adds an operation to what leaves next. */
static inline void ring_add(struct ring *ring, struct ep_op *op)
{
	op->next = NULL;
	*ring->chain_end = op;
	ring->chain_end = &op->next;
}
