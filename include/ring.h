/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common part of all protocols on an RDMA endpoint: receives that are posted again after use, and
 * a chain of operations that is posted once per turn, after the receives. */
#pragma once
#include "ep.h"

struct ring {
	struct ep *ep;
	struct ep_rx *rx; /* `room` receives */
	unsigned room;
	struct ep_rx *repost; /* receives to post with the next flush */
	struct ep_op *chain, **chain_end;
};

/* room: maximum number of receives. */
int ring_init(struct ring *, unsigned room, struct diag *);
/* Allowed on a zeroed ring. If ring_start() was called, free the endpoint first. */
void ring_fini(struct ring *);
/* Prepare `count` receives of `cap` bytes each, the first at p, the others `stride` bytes apart, in
 * a registered pool, and post them. Call in ep_events.request(), each time it is called. */
void ring_start(struct ring *, struct ep *, const struct pool *, uint8_t *p, size_t stride,
	uint32_t cap, unsigned count);
/* Post the receives, then the chain: the peer may answer at once, and iWARP has no RNR. No effect
 * unless the endpoint is up. */
void ring_flush(struct ring *);

/* Return a receive whose bytes are no longer needed; the next flush posts it again. */
static inline void ring_repost(struct ring *ring, struct ep_rx *rx)
{
	rx->next = ring->repost;
	ring->repost = rx;
}

/* Add an operation to the chain. */
static inline void ring_add(struct ring *ring, struct ep_op *op)
{
	op->next = NULL;
	*ring->chain_end = op;
	ring->chain_end = &op->next;
}
