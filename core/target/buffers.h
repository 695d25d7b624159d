/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data buffers of one worker, shared fairly by hosts that need not be honest. Free buffers go to
 * the hosts in turn, to the connections of a host in turn, and to the commands of a connection in
 * order. A host that stops answering, or answers too slowly, delays no other host by much. */
#pragma once
#include "target.h"

/* A host that holds no buffer waits for one at most this long before connections that hold buffers
 * and have stopped answering are ended; with the interval of checks, at most 60 ms. */
#define TARGET_HUNGRY_MS 40
/* The least that a connection must move in that time to count as answering. */
#define TARGET_MOVED_LEAST 3072
/* Also one that answers is ended when the host of one buffer has taken this long for its part. */
#define TARGET_SLOW_MS 1000

/* The part of one host in one store. */
struct target_share {
	unsigned conns; /* holders that have joined */
	unsigned held;  /* buffers of all of them */
	/* of those that wait: rings, each points at the next to be served */
	unsigned lines;
	struct target_holder *turn;
	struct target_share *next, *prev;
	uint64_t hungry_ns; /* it waits and has held nothing since then; 0: it is not so */
};

/* The part of one connection in one store. */
struct target_holder {
	struct target_buffers *store;
	struct target_share *share;
	struct target_conn *conn; /* the owner's, after joining */
	unsigned held;
	struct target_holder *next, *prev;
	struct target_claim *line, **line_end;
	/* what its connection had moved at still_ns; last asked at seen_ns, in that watch */
	uint64_t moved, still_ns, seen_ns;
	uint64_t counted_ns; /* when its buffers were counted last */
	unsigned watch;
	bool ended; /* its connection is, its buffers come back soon */
};

/* All on one loop. */
struct target_buffers {
	struct loop *loop;
	struct pool *pool;
	/* Bytes that the holder's peer has moved so far: sent, and acknowledged. */
	uint64_t (*moved)(struct target_holder *);
	/* Ends the holder's connection; its buffers are given back later, not inside. */
	void (*end)(struct target_holder *);
	/* the rest is the module's */
	uint16_t *stack; /* free buffers, the warmest on top */
	unsigned free;
	unsigned reserve; /* the last ones, for hosts that hold few or none */
	unsigned shares;  /* hosts that have joined */
	unsigned lines;   /* of them, those that wait */
	struct target_share *turn;
	struct target_claim *peer, **peer_end; /* those that wait for their peers, longest first */
	struct loop_work work;
	struct loop_timer watch;
	unsigned watches;
	bool serving;
};

/* loop, moved and end are set */
int target_buffers_init(struct target_buffers *, uint32_t each, uint16_t count, struct diag *);
/* allowed on a zeroed one; needs: all given back, every holder left, the pool unmapped */
void target_buffers_fini(struct target_buffers *);
/* Before its first buffer; the share's memory is the caller's, zeroed for the first holder. */
void target_buffers_join(
	struct target_buffers *, struct target_holder *, struct target_share *share);
/* allowed on a zeroed one; needs: all given back */
void target_buffers_leave(struct target_holder *);
/* True: claim->buf is there. False: it waits, ready() comes. */
bool target_buffers_take(struct target_holder *, struct target_claim *);
/* Gives the buffer back, or stops waiting, or nothing. */
void target_buffers_give(struct target_claim *);
/* The peer has to do its part now: allowed without a buffer. */
void target_buffers_peer(struct target_claim *);
/* It has. Allowed when it was not waited for. */
void target_buffers_peer_done(struct target_claim *);
