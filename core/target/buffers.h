/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data buffers of one worker, shared fairly by hosts that need not be honest. Free buffers go to
 * the hosts in turn, to the connections of a host in turn, and to the commands of a connection in
 * order. A host that stops answering, or answers too slowly, delays no other host by much. */
#pragma once
#include "target.h"

/* The longest time that a host without a buffer waits before connections that hold buffers and have
 * stopped answering are ended; at most 60 ms with the interval of checks. */
#define TARGET_HUNGRY_MS 40
/* Bytes that a connection must move in that time to count as answering. */
#define TARGET_MOVED_LEAST 3072
/* Even a connection that answers is ended if its peer has taken this long for one buffer. */
#define TARGET_SLOW_MS 1000

/* The part of one host in one store. */
struct target_share {
	unsigned conns; /* holders that have joined */
	unsigned held;  /* buffers of all its holders */
	/* of those that wait: rings, each points at the next to be served */
	unsigned lines;
	struct target_holder *turn;
	struct target_share *next, *prev;
	uint64_t hungry_ns; /* time since which it waits and has held nothing; 0: it does not */
};

/* The part of one connection in one store. */
struct target_holder {
	struct target_buffers *store;
	struct target_share *share;
	struct target_conn *conn; /* set by the owner, after joining */
	unsigned held;
	struct target_holder *next, *prev;
	struct target_claim *line, **line_end;
	/* bytes that its connection had moved at still_ns; read at seen_ns */
	uint64_t moved, still_ns, seen_ns;
	uint64_t counted_ns; /* time when its buffers were last counted */
	unsigned watch;
	bool ended; /* its connection is ended, its buffers will return soon */
};

/* All on one loop. */
struct target_buffers {
	struct loop *loop;
	struct pool *pool;
	/* Bytes that the holder's peer has moved so far: sent and acknowledged. */
	uint64_t (*moved)(struct target_holder *);
	/* End the holder's connection; its buffers are returned later, not inside the call. */
	void (*end)(struct target_holder *);
	/* the rest is private */
	uint16_t *stack; /* free buffers, the most recently used on top */
	unsigned free;
	unsigned reserve; /* the last buffers, for hosts that hold few or none */
	unsigned shares;  /* hosts that have joined */
	unsigned lines;   /* hosts that wait */
	unsigned hungry;  /* of these, hosts that hold nothing */
	struct target_share *turn;
	struct target_claim *peer, **peer_end; /* claims that wait for their peers, longest first */
	struct loop_work work;
	struct loop_timer watch;
	unsigned watches;
	bool serving;
};

/* needs: loop, moved and end are set */
int target_buffers_init(struct target_buffers *, uint32_t each, uint16_t count, struct diag *);
/* allowed on a zeroed one; needs: all buffers returned, every holder left, the pool unmapped */
void target_buffers_fini(struct target_buffers *);
/* Call before its first buffer. The caller owns the share's memory, zeroed for the first holder. */
void target_buffers_join(
	struct target_buffers *, struct target_holder *, struct target_share *share);
/* allowed on a zeroed one; needs: all buffers returned */
void target_buffers_leave(struct target_holder *);
/* True: claim->buf is set. False: it waits, ready() follows. */
bool target_buffers_take(struct target_holder *, struct target_claim *);
/* Return the buffer, or stop waiting, or do nothing. */
void target_buffers_give(struct target_claim *);
/* The claim waits for its peer from now on; allowed without a buffer. */
void target_buffers_peer(struct target_claim *);
/* It no longer does; allowed if it was not waiting. */
void target_buffers_peer_done(struct target_claim *);
