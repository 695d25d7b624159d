/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of requests in flight on one queue: a tag each, a deadline each, and the ios that wait
 * for a free tag. What a request is, and what a late one means, is its owner's business. */
#pragma once
#include "bdev.h"
#include "loop.h"

struct tag {
	void *owner;          /* NULL: free */
	uint64_t deadline_ns; /* 0: none */
	uint16_t prev, next;  /* in flight: by deadline; free: next only */
};

struct tags {
	struct tag *tag;
	uint16_t count, used, free, first, last; /* first, last: of those with a deadline */
	struct io *waiting, **waiting_end;
	struct loop *loop;
	struct loop_timer timer;
	/* the deadline of this one has passed; called once a timer */
	void (*late)(struct tags *, void *owner);
};
#define TAG_NONE 0xffff

int tags_init(struct tags *, struct loop *, uint16_t count,
	void (*late)(struct tags *, void *owner), struct diag *);
void tags_fini(struct tags *); /* allowed on a zeroed one */
/* A free tag, now the owner's, or TAG_NONE. */
uint16_t tags_take(struct tags *, void *owner, uint64_t deadline_ns);
static inline void *tags_owner(const struct tags *tags, unsigned tag)
{
	return tag < tags->count ? tags->tag[tag].owner : NULL;
}
void tags_drop(struct tags *, uint16_t tag);

/* FIFO of ios without a tag, linked through io->next. */
void tags_wait(struct tags *, struct io *);
struct io *tags_next(struct tags *); /* the first waiting, taken out; NULL = none */
