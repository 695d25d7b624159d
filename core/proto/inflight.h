/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The commands that an initiator has in flight on one connection. Each has a slot: tag, deadline,
 * whether it is over, and the protocol's data. The peer may limit their number; further ios wait in
 * order. The owner defines what a command is and how to handle one that times out. */
#pragma once
#include "bdev.h"
#include "loop.h"

struct inflight_slot {                     /* first member of the protocol's slot */
	void *owner;                       /* NULL: free */
	uint64_t deadline_ns;              /* 0: none */
	struct inflight_slot *prev, *next; /* in flight: ordered by deadline; free: only next */
	uint16_t tag;
	uint8_t unsent; /* number of its messages not sent yet; the protocol increments it */
	bool replied;
};

struct inflight {
	uint8_t *slots; /* `count` slots of `size` bytes */
	uint32_t size;
	uint16_t count, limit, used;
	struct inflight_slot *free;
	struct inflight_slot *first, *last; /* slots with a deadline */
	struct io *waiting, **waiting_end;
	struct loop *loop;
	struct loop_timer timer;
	/* The deadline of this slot has passed. Must fail the connection or extend the deadline:
	 * the timer is not set any more. */
	void (*timed_out)(struct inflight *, struct inflight_slot *);
};

/* Slots are zeroed here only; inflight_take() sets only struct inflight_slot. The limit is count.
 * timed_out() may also be set afterwards. */
int inflight_init(struct inflight *, struct loop *, uint16_t count, uint32_t slot_size,
	void (*timed_out)(struct inflight *, struct inflight_slot *), struct diag *);
void inflight_fini(struct inflight *); /* allowed on a zeroed one */
/* Set how many may be in flight; never more than count. If more are already, they stay. Tags are
 * below the highest limit so far. */
void inflight_limit(struct inflight *, uint32_t limit);

/* Take a free slot for the owner; NULL: the limit is reached. */
void *inflight_take(struct inflight *, void *owner, uint64_t deadline_ns);
/* Give it more time. Needs: it has a deadline. */
void inflight_extend(struct inflight *, struct inflight_slot *, uint64_t deadline_ns);
/* Free the slot; returns its owner. */
void *inflight_drop(struct inflight *, struct inflight_slot *);

/* Needs: tag < count. */
static inline void *inflight_slot(const struct inflight *inflight, unsigned tag)
{
	return inflight->slots + (size_t)tag * inflight->size;
}

/* Find the slot of a tag that the peer sent; NULL unless it is in flight without a reply. */
static inline void *inflight_find(const struct inflight *inflight, unsigned tag)
{
	struct inflight_slot *slot;

	if (tag >= inflight->count)
		return NULL;
	slot = inflight_slot(inflight, tag);
	return slot->owner && !slot->replied ? slot : NULL;
}

/* A command is over once its reply was received and all of its messages were sent. Each function
 * records one of the two, and returns true if the other happened before. */
static inline bool inflight_replied(struct inflight_slot *slot)
{
	slot->replied = true;
	return !slot->unsent;
}
static inline bool inflight_sent(struct inflight_slot *slot)
{
	return !--slot->unsent && slot->replied;
}

/* Queue an io without a slot in FIFO order, linked by io->next. */
void inflight_enqueue(struct inflight *, struct io *);
/* Remove the first waiting io; NULL = none. */
struct io *inflight_dequeue(struct inflight *);
/* The same if there is a free slot. */
static inline struct io *inflight_next(struct inflight *inflight)
{
	return inflight->waiting && inflight->used < inflight->limit ? inflight_dequeue(inflight)
								     : NULL;
}
