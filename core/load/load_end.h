/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One end of a benchmark connection over RDMA, the same for both sides. */
#pragma once
#include "load.h"
#include "ring.h"
#include "wire/bench.h"
#include "wire/rping.h"

struct load_end {
	struct ep *ep;
	uint8_t op; /* enum load_op */
	bool bandwidth, client, registered;
	bool both; /* bandwidth: both ends send */
	uint32_t size, depth;
	uint32_t peer_rkey;
	uint64_t peer_addr;
	/* one buffer for all messages, or the window; of rping clients two: sent, returned */
	struct pool *data;
	struct pool *inbox; /* receive buffers, followed by those of the credits */
	uint32_t receives, stride, ops, inflight;
	uint64_t posted, completed;  /* messages, of bandwidth */
	uint32_t uncredited;         /* SENDs of bandwidth that the peer has not acknowledged */
	struct ring ring;            /* flushed after an addition, and at the end of a turn */
	struct ep_op *op_mem, *free; /* free: a list */
	struct ep_op *unsignaled[2]; /* ops whose completion only the answer reports */
	unsigned unsignaled_count;
};

/* Memory that load_end_init() will allocate, bytes. */
uint64_t load_end_memory(struct load_end *, bool client);
/* Allocate memory for both queues; needs no device. */
int load_end_init(struct load_end *, bool client, struct diag *);
void load_end_fini(struct load_end *); /* ep must be down or NULL */
/* Register memory and post receives; call in request(). Fails if ep->caps are too small. */
int load_end_request(struct load_end *, struct ep *);
struct ep_caps load_end_caps(const struct load_end *);
uint32_t load_end_rkey(const struct load_end *);
uint64_t load_end_raddr(const struct load_end *); /* address of the data, for the peer */
/* Queue one message: SEND, WRITE (followed by a SEND of credit, for latency), or READ. False if all
 * ops are in flight. */
bool load_end_add(struct load_end *);
bool load_end_add_credit(struct load_end *, uint32_t messages);
/* Queue a message of a test in both directions. */
bool load_end_add_both(struct load_end *, enum bench_what, uint64_t messages);
/* Return what a received message of such a test is, with its number, or -1: data. */
int load_end_read_both(const struct ep_rx *, uint64_t *messages);
/* Bandwidth: whether another message may be posted. */
bool load_end_window_open(const struct load_end *);
/* Queue such a message. False as load_end_add(). */
bool load_end_add_next(struct load_end *);
/* The peer has received so many SENDs. False: more than there were. */
bool load_end_credited(struct load_end *, uint64_t messages);
/* The messages that the peer has received, when an answer to a later SEND has arrived. */
uint64_t load_end_moved(const struct load_end *);
/* Queue a WRITE of the first bytes of the data to the peer's place, or a READ into them. */
bool load_end_add_move(struct load_end *, enum ep_kind, uint32_t len);
/* Queue an rping message. The client's has the place of its data, or (back) of the buffer to return
 * it to; the server's is only a signal. */
bool load_end_add_place(struct load_end *, bool back);
uint8_t *load_end_back(const struct load_end *); /* the second buffer of an rping client */
void load_end_sent(struct load_end *, struct ep_op *);
/* Latency: the answer to the last message was received. */
void load_end_answered(struct load_end *);
