/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data buffers of one worker, shared fairly by hosts that need not be honest. Free buffers go to
 * the networks in turn, to the hosts of a network in turn, to the connections of a host in turn,
 * and to the commands of a connection in order. A host that stops answering, or answers too slowly,
 * delays no other host by much, whatever names it gives. */
#pragma once
#include "target.h"

/* The longest time that a network or a host without a buffer waits before connections that hold
 * buffers and have stopped answering are ended; at most 50 ms with the interval of checks. */
#define TARGET_HUNGRY_MS 40
/* Bytes that a connection must move in that time to count as answering. */
#define TARGET_MOVED_LEAST 3072
/* Even a connection that answers is ended if its peer completes no transfer for this long, */
#define TARGET_PART_MS 250
/* or has taken this long for one of a buffer. If more hosts wait than there are buffers, this limit
 * is shorter in proportion, but at least the other. */
#define TARGET_SLOW_MS       1000
#define TARGET_SLOW_LEAST_MS 100
/* Transfers that a host must have completed in TARGET_HUNGRY_MS each to be known to be quick: at
 * first, and since the last one that took longer. */
#define TARGET_QUICK       8
#define TARGET_QUICK_AGAIN 64

/* The part of one network, host or connection in one store. */
struct target_share {
	struct target_share
		*up;      /* of a connection's host, of a host's network; set before joining */
	unsigned members; /* hosts of a network, connections of a host */
	unsigned held;    /* buffers */
	unsigned lines;   /* members that wait, of a connection commands */
	struct target_share *turn; /* of these members: a ring, points at the next to be served */
	unsigned hungry;           /* members that wait and hold nothing */
	struct target_share *next, *prev;
	uint64_t hungry_ns; /* time since which it waits and has held nothing; 0: it does not */
	int quick;          /* transfers of a host, up to TARGET_QUICK; negative: it was slow */
};

/* The part of one connection in one store. */
struct target_holder {
	struct target_share part; /* first */
	struct target_buffers *store;
	struct target_conn *conn; /* set by the owner, after joining */
	struct target_claim *line, **line_end;
	/* bytes that its connection had moved at still_ns; read at seen_ns */
	uint64_t moved, still_ns, seen_ns;
	uint64_t done_ns; /* time when it last completed its part of a transfer */
	unsigned watch;
	unsigned counted; /* the count that its buffers were last part of */
	bool ended;       /* its connection is ended, its buffers will return soon */
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
	bool *is_unproven; /* buffers that were given to hosts that were not known to be quick */
	unsigned unproven; /* number of these */
	struct target_share all;               /* its members are networks */
	struct target_claim *peer, **peer_end; /* claims that wait for their peers, longest first */
	struct loop_work work;
	struct loop_timer watch;
	unsigned watches, counts;
	bool serving;
};

/* needs: loop, moved and end are set */
int target_buffers_init(struct target_buffers *, uint32_t each, uint16_t count, struct diag *);
/* allowed on a zeroed one; needs: all buffers returned, every holder left, the pool unmapped */
void target_buffers_fini(struct target_buffers *);
/* Call before its first buffer. The caller owns the memory of the host's share and of its network's
 * (host->up), which are zeroed for the first holder but for that pointer. */
void target_buffers_join(
	struct target_buffers *, struct target_holder *, struct target_share *host);
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
