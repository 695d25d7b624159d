/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The commands that an initiator has in flight on one connection. Each has a slot: its tag, its
 * deadline, whether it is over, and what the protocol keeps for it. The peer may limit how many
 * are out; ios beyond that wait in order. What a command is, and what a late one means, is the
 * owner's business. */
#pragma once
#include "bdev.h"
#include "loop.h"

struct inflight_slot {                     /* first in the protocol's slot */
	void *owner;                       /* NULL: free */
	uint64_t deadline_ns;              /* 0: none */
	struct inflight_slot *prev, *next; /* in flight: by deadline; free: next only */
	uint16_t tag;
	uint8_t unsent; /* its messages that have not left yet; the protocol counts them up */
	bool replied;
};

struct inflight {
	uint8_t *slots; /* `count` of `size` bytes each */
	uint32_t size;
	uint16_t count, limit, used;
	struct inflight_slot *free;
	struct inflight_slot *first, *last; /* of those with a deadline */
	struct io *waiting, **waiting_end;
	struct loop *loop;
	struct loop_timer timer;
	/* the deadline of this one has passed; called once a timer */
	void (*late)(struct inflight *, struct inflight_slot *);
};

/* All slots are zeroed here and never again; inflight_take() sets only struct inflight_slot. The
 * limit is count. late may also be set afterwards. */
int inflight_init(struct inflight *, struct loop *, uint16_t count, uint32_t slot_size,
	void (*late)(struct inflight *, struct inflight_slot *), struct diag *);
void inflight_fini(struct inflight *); /* allowed on a zeroed one */
/* How many may be out from now on; never more than count. More may be out already: they stay. Tags
 * are less than the highest limit so far. */
void inflight_limit(struct inflight *, uint32_t limit);

/* A free slot, now the owner's; NULL: the limit is reached. */
void *inflight_take(struct inflight *, void *owner, uint64_t deadline_ns);
/* Frees it; gives its owner. */
void *inflight_drop(struct inflight *, struct inflight_slot *);

/* Needs: tag < count. */
static inline void *inflight_slot(const struct inflight *inflight, unsigned tag)
{
	return inflight->slots + (size_t)tag * inflight->size;
}

/* By a tag that the peer sent: the slot if it is in flight and has no reply yet, else NULL. */
static inline void *inflight_find(const struct inflight *inflight, unsigned tag)
{
	struct inflight_slot *slot;

	if (tag >= inflight->count)
		return NULL;
	slot = inflight_slot(inflight, tag);
	return slot->owner && !slot->replied ? slot : NULL;
}

/* A command is over when its reply is here and all of its messages have left: these note one of
 * the two, and give true if the other was there before. */
static inline bool inflight_replied(struct inflight_slot *slot)
{
	slot->replied = true;
	return !slot->unsent;
}
static inline bool inflight_sent(struct inflight_slot *slot)
{
	return !--slot->unsent && slot->replied;
}

/* FIFO of ios without a slot, linked through io->next. */
void inflight_wait(struct inflight *, struct io *);
/* The first waiting, taken out; NULL = none. */
struct io *inflight_unwait(struct inflight *);
/* The same if there is a slot for it. */
static inline struct io *inflight_next(struct inflight *inflight)
{
	return inflight->waiting && inflight->used < inflight->limit ? inflight_unwait(inflight)
								     : NULL;
}
