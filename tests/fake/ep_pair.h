/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An RDMA endpoint in memory for protocol tests: ep_dial() as include/ep.h promises it, with the
 * test as the peer. It holds the owner to the contract (caps, registered memory, quiet only when
 * inline) by assertion. */
#pragma once
#include "ep.h"

struct ep_peer { /* what the test is; one per loop, set before ep_dial(); NULL members do nothing */
	/* A connect request: answer with ep_pair_accept() or ep_pair_reject(), now or later. NULL:
	 * accepted without data. */
	void (*request)(struct ep_peer *, struct ep *, const uint8_t *priv, unsigned len);
	/* A SEND has arrived. */
	void (*message)(struct ep_peer *, struct ep *, const uint8_t *bytes, uint32_t len);
	/* the owner closed or freed it, or reached for what it may not */
	void (*gone)(struct ep_peer *, struct ep *);
	struct ep_caps limit; /* of the device: zero members do not limit */
	/* the connection is lost in place of the Nth message to the peer; 0 = never */
	unsigned cut_at;
	bool stuck;        /* a READ or WRITE never completes, nor does any operation after it */
	bool delayed_sent; /* `sent` comes after every `recv` that is due */
	unsigned messages, dials; /* counted */
	struct addr dst;          /* of the last dial */
	/* Memory of the peer's, as the owner's READs and WRITEs see it: one region. What misses it
	 * ends the connection. */
	uint8_t *memory;
	uint64_t memory_at;
	uint32_t memory_len, memory_key;
	unsigned reads, writes, invals; /* counted */
	uint32_t inval_key;             /* of the last SEND with invalidate */
	/* The other way round: the peer calls, the owner listens. */
	struct ep_listener *listener; /* the owner's, NULL = none */
	/* what it has accepted, and its reply; NULL = it has rejected or not decided yet */
	struct ep *called;
	uint8_t reply[EP_PRIV_MAX];
	unsigned reply_len;
	bool rejected;
	/* Both ends are the core's: what is dialled reaches the listener, messages and memory go
	 * from end to end. The fake only injects faults; a rate N is one in N events, 0 = never. */
	bool linked;
	struct {
		unsigned seed;
		unsigned pause;   /* the turn ends early */
		unsigned delayed; /* `sent` is delivered after later `recv` */
		/* both ends lose the connection; part of a READ or WRITE may be done */
		unsigned cut;
		/* nothing that this end sends arrives from here on; after some milliseconds both
		 * lose the connection */
		unsigned drop;
		/* a message arrives without its end, as only a peer can send it */
		unsigned truncate;
		/* counted: also messages for which no receive was posted */
		unsigned cuts, drops, truncated, starved;
	} fault;
	struct loop_local local;
};
void ep_pair_peer(struct loop *, struct ep_peer *);
/* A connect request to the listener; ird: READs that the peer answers at once. False: no
 * listener. */
bool ep_pair_call(struct ep_peer *, const void *priv, unsigned len, uint32_t ird);
void ep_pair_lose(struct ep_peer *); /* the device that is listened on goes */

void ep_pair_accept(struct ep *, const void *priv, unsigned len);
/* 28: by the upper layer */
void ep_pair_reject(struct ep *, int rej_code, const void *priv, unsigned len);
/* A message to the owner. False when it has no receive posted (RNR) or it is down. */
bool ep_pair_deliver(struct ep *, const void *bytes, uint32_t len);
bool ep_pair_deliver_inval(struct ep *, const void *bytes, uint32_t len, uint32_t rkey);
void ep_pair_cut(struct ep *); /* the connection is lost */
/* The owner's memory as an RDMA READ or WRITE would reach it; NULL = not registered for that, or
 * out of bounds. */
void *ep_pair_memory(
	struct ep *, uint32_t rkey, uint64_t address, uint32_t len, enum ep_access needed);
unsigned ep_pair_receives(const struct ep *); /* posted now */
