/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data buffers of one worker, shared fairly by hosts that may be malicious. Free buffers are
 * assigned round-robin to networks, to the hosts of a network, to the connections of a host, and in
 * order to the commands of a connection. A host that stops responding, or responds too slowly,
 * delays other hosts only briefly, however many names it uses. All on one loop. */
#pragma once
#include "target.h"

/* If a network or host has waited this long without any buffer, connections that hold buffers and
 * have stopped responding are ended. The interval of checks adds a quarter. */
#define TARGET_STARVED_MS 40
/* bytes that a responding connection moves in that time, at least */
#define TARGET_MOVED_LEAST 3072
/* A responding connection is ended, too, if its peer completes no transfer for this time, */
#define TARGET_PART_MS 250
/* or takes this time for one of a buffer. The latter is shorter in proportion if more hosts wait
 * than there are buffers, down to TARGET_SLOW_LEAST_MS. */
#define TARGET_SLOW_MS       1000
#define TARGET_SLOW_LEAST_MS 100
/* Transfers that a host must complete within TARGET_STARVED_MS each to be known to be quick:
 * initially, and after one that took longer. */
#define TARGET_QUICK       8
#define TARGET_QUICK_AGAIN 64

/* What one network, host or connection uses of one store. */
struct target_quota {
	/* connection: its host's; host: its network's; set before joining */
	struct target_quota *up;
	unsigned members;          /* hosts of a network, connections of a host */
	unsigned held;             /* buffers */
	unsigned waiters;          /* members that wait; of a connection, its commands */
	struct target_quota *turn; /* ring of these members, the next to be served first */
	unsigned starved;          /* members that wait and hold no buffer */
	struct target_quota *next, *prev;
	uint64_t starved_ns; /* time since which it waits without a buffer; 0: it does not */
	int quick; /* of a host: quick transfers, up to TARGET_QUICK; negative: it was slow */
};

/* The quota of one connection. */
struct target_conn_quota {
	struct target_quota quota; /* first */
	struct target_buffers *store;
	struct target_conn *conn; /* set by the caller after target_buffers_join() */
	struct target_buf_request *queue, **queue_end;
	/* bytes that its connection had moved at still_ns; read at seen_ns */
	uint64_t moved, still_ns, seen_ns;
	uint64_t done_ns; /* time of its last completed transfer */
	unsigned watch;
	unsigned counted; /* last value of `counts` for which its buffers were counted */
	bool conn_ended;  /* its buffers will be returned soon */
};

struct target_buffers {
	struct loop *loop;
	struct pool *pool;
	/* Return the bytes that the connection's peer has sent and acknowledged. */
	uint64_t (*moved)(struct target_conn_quota *);
	/* End the connection; its buffers are returned later, not from within the call. */
	void (*end)(struct target_conn_quota *);
	/* private */
	uint16_t *stack; /* free buffers, the most recently used on top */
	unsigned free;
	bool *is_unproven;       /* assigned to hosts not known to be quick */
	unsigned unproven;       /* number of these */
	struct target_quota all; /* members: networks */
	struct target_buf_request *peer,
		**peer_end; /* buffers that wait for their peers, oldest first */
	struct loop_work work;
	struct loop_timer watch;
	unsigned watches, counts;
	bool serving;
};

/* Allocate `count` buffers of `each` bytes; loop, moved and end are set, all else zero. */
int target_buffers_init(struct target_buffers *, uint32_t each, uint16_t count, struct diag *);
/* No-op on a zeroed struct. All buffers are returned, all connections have left, and the pool is
 * unmapped. */
void target_buffers_fini(struct target_buffers *);
/* Call once before the first request of the connection. The caller owns the quotas of the host and
 * of its network (host->up), which are zeroed except for that pointer when first used. */
void target_buffers_join(
	struct target_buffers *, struct target_conn_quota *, struct target_quota *host);
/* No-op on a zeroed struct. All its buffers are returned. */
void target_buffers_leave(struct target_conn_quota *);
/* Request a buffer. True: request->buf is set. False: it is queued, and ready() will be called. */
bool target_buffers_take(struct target_conn_quota *, struct target_buf_request *);
/* Return the buffer or leave the queue; otherwise a no-op. */
void target_buffers_release(struct target_buf_request *);
/* The command waits for its peer from now on, or no longer. No-ops without a buffer, the latter
 * also if it was not waiting. */
void target_buffers_begin_peer_wait(struct target_buf_request *);
void target_buffers_end_peer_wait(struct target_buf_request *);
