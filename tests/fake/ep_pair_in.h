/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The inside of the endpoint in memory. */
#pragma once
#include "ep_pair.h"

extern const char ep_pair_key; /* of the peer, at its loop */

struct region {
	struct region *next;
	struct pool *pool;
	unsigned access;
};

struct event {
	struct event *next;
	struct ep_op *op; /* a SEND on its way, or its completion */
	/* the device has its own copy: a peer that answers too soon makes the owner use its op
	 * again */
	struct ep_op quiet;
	struct ep_rx *rx;
	bool completion;
	uint32_t len;
	uint8_t bytes[]; /* of an inline op */
};

struct queue {
	struct event *first, **end;
};

struct caller {
	struct ep_incoming in;
	struct ep_peer *peer;
	struct pair *dialler; /* linked; NULL: it has given up */
};

struct pair {
	struct ep ep;
	struct ep_peer *peer;
	struct pair *other;  /* linked */
	struct caller *call; /* not yet answered */
	struct queue queue, delayed;
	struct ep_rx *rx, **rx_end;
	unsigned receives, unsent, reads;
	struct region *regions;
	uint8_t priv[EP_PRIV_MAX];
	uint8_t rep[EP_PRIV_MAX], rep_len;
	bool requested, accepted, ended;
	bool mute; /* what it sends is lost */
	struct loop_work work;
	struct loop_timer deadline;
	uint32_t timeout_ms;
};

static inline struct pair *pair_of(struct ep *ep)
{
	return container_of(ep, struct pair, ep);
}

struct pair *pair_new(struct ep_peer *, struct loop *, const struct ep_caps *local_caps,
	const struct ep_events *, void *user);
void pair_end(struct pair *);
void pair_lost(struct pair *); /* with the reason that a peer would be */
struct event *pair_event(uint32_t len);
void pair_put(struct queue *, struct event *);
struct event *pair_take(struct queue *); /* NULL: it is empty */
uint32_t pair_op_len(const struct ep_op *);
void pair_op_copy(const struct ep_op *, uint8_t *to);
void pair_hand_over(struct pair *); /* what is due */
/* the listener, with that many bytes of pair->priv */
void pair_call_other(struct pair *, unsigned len);
