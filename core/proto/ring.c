/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The receives and the send chain of one RDMA endpoint. */
#include "ring.h"
#include "mem.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int ring_init(struct ring *ring, unsigned room, struct diag *diag)
{
	*ring = (struct ring){ .room = room };
	ring->chain_end = &ring->chain;
	ring->rx = calloc(room, sizeof(*ring->rx));
	return ring->rx ? 0 : diag_sys(diag, ENOMEM, "%u receives", room);
}

void ring_fini(struct ring *ring)
{
	free(ring->rx);
	ring->rx = NULL;
}

void ring_start(struct ring *ring, struct ep *ep, const struct pool *pool, uint8_t *p,
	size_t stride, uint32_t cap, unsigned count)
{
	assert(count && count <= ring->room);
	ring->ep = ep;
	ring->repost = NULL;
	ring->chain = NULL;
	ring->chain_end = &ring->chain;
	for (unsigned i = 0; i < count; i++)
		ring->rx[i] = (struct ep_rx){ .next = i + 1 < count ? &ring->rx[i + 1] : NULL,
			.p = p + i * stride,
			.cap = cap,
			.lkey = pool->key[ep->dom].lkey };
	ep->ops->repost(ep, ring->rx);
}

void ring_flush(struct ring *ring)
{
	struct ep_op *chain = ring->chain;
	struct ep_rx *back = ring->repost;
	struct ep *ep = ring->ep;

	if ((!back && !chain) || ep->state != EP_UP)
		return;
	ring->repost = NULL;
	if (back)
		ep->ops->repost(ep, back);
	if (!chain)
		return;
	ring->chain = NULL;
	ring->chain_end = &ring->chain;
	ep->ops->post(ep, chain);
}
