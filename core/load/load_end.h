/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One end of an RDMA connection that is measured; the side that asks and the side that answers have
 * the same. */
#pragma once
#include "load.h"
#include "ring.h"
#include "wire/bench.h"
#include "wire/rping.h"

struct load_end {
	struct ep *ep;
	uint8_t op; /* enum load_op */
	bool bandwidth, client, registered;
	uint32_t size, depth;
	uint32_t peer_rkey;
	uint64_t peer_addr;
	/* what is sent, or the window; one buffer for all. Of rping's client two: what goes, what
	 * comes back */
	struct pool *data;
	struct pool *inbox; /* receives, then the bytes of credits */
	uint32_t receives, stride, ops, inflight;
	struct ring ring; /* flushed when something was added, and at the end of a turn */
	struct ep_op *op_mem, *free; /* free: a list */
	struct ep_op *quiet[2];      /* of which only the answer tells that they have arrived */
	unsigned quiets;
};

/* What load_end_init() will take, in bytes. */
uint64_t load_end_memory(struct load_end *, bool client);
/* Memory for both queues, before there is a device. */
int load_end_init(struct load_end *, bool client, struct diag *);
void load_end_fini(struct load_end *); /* needs: ep down or never there */
/* In request(): registers, and posts receives; needs: the endpoint's caps have room for them. */
int load_end_request(struct load_end *, struct ep *);
struct ep_caps load_end_caps(const struct load_end *);
uint32_t load_end_rkey(const struct load_end *);
uint64_t load_end_raddr(const struct load_end *); /* of the data */
/* Add one message to what leaves next: SEND, WRITE (with a SEND of credit behind it, for
 * latency), or READ. False when all ops are in flight. */
bool load_end_add(struct load_end *);
bool load_end_add_credit(struct load_end *, uint32_t messages);
/* WRITE of the first bytes of the data to the peer's place, or READ into them. */
bool load_end_add_move(struct load_end *, enum ep_kind, uint32_t len);
/* A message of rping: where the client's data is (back: is to come to), from the server one without
 * meaning. */
bool load_end_add_place(struct load_end *, bool back);
uint8_t *load_end_back(const struct load_end *); /* the second buffer of rping's client */
void load_end_sent(struct load_end *, struct ep_op *);
/* Latency: the answer to what was added last is here. */
void load_end_answered(struct load_end *);
