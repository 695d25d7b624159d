/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One disk over several paths. The control part (paths.c) runs on the bdev's loop, the part of each
 * lane (paths_lane.c) on the lane's. They share no state but exchange messages: each side accesses
 * only its members of struct leg, and those that a message has handed over. */
#pragma once
#include "bdev.h"

#define PATHS_MSEC 1000000ull

/* Which of the paths with the best access carries a request */
enum paths_policy {
	PATHS_FAILOVER,    /* the first one that is up: preferred=, then in the order of the URI */
	PATHS_ROUND_ROBIN, /* each in turn */
	PATHS_QUEUE_DEPTH, /* the one with the fewest requests of the lane in flight */
};

#define PATHS_PREFERRED 0x80 /* of leg->access_now */

enum path_state {
	PATH_IDLE, /* no leaf; the next attempt is scheduled */
	PATH_OPENING,
	PATH_UP,
	PATH_ENDING,   /* freed once no lane uses the leaf */
	PATH_STOPPING, /* orderly stop by bdev_close() */
	PATH_OFF,
};

struct path {
	struct paths *paths;
	struct uri uri;
	struct bdev *leaf; /* in the states OPENING, UP, ENDING, STOPPING */
	uint8_t state;
	unsigned legs; /* lanes that use the leaf */
	unsigned held; /* requests held by the lanes when they dropped it */
	uint32_t attempts, delay_ms;
	uint64_t up_ns, lost_ns; /* lost_ns: when it was lost, or closed by its target */
	uint8_t access;          /* enum bdev_access, last known; while UP */
	const char *access_word; /* the same as the protocol names it; NULL: not reported */
	bool preferred;          /* the target prefers it, and the URI names no preferred path */
	uint64_t refused_ns;     /* last report that it refuses requests; 0: none */
	uint64_t requests;       /* of the lanes that have left */
	struct diag why;         /* the last failure or loss */
	struct loop_timer retry;
	struct loop_work reap;
	/* paths_fence.c; connection: number of the current or last one */
	uint32_t connection;
	struct bdev_fence fence; /* of the lost connection with the number fence_of */
	uint32_t fence_of;       /* 0: none is to be fenced */
	uint32_t fencing_of;     /* by fenced_by; an earlier one than fence_of, perhaps */
	uint64_t fence_until;    /* end of the quiet time */
	struct bdev *fenced_by;  /* leaf that is fencing it; NULL: none yet */
	unsigned fence_tried;    /* bits of paths whose current connection has tried */
};

struct paths {
	struct bdev bdev;
	struct bdev_env env;
	uint32_t loss_ms;      /* UINT32_MAX: no limit */
	uint32_t quiesce_ms;   /* minimum; quiesce= of the URI */
	uint32_t leaf_io_size; /* room behind struct paths_io */
	uint8_t policy;        /* enum paths_policy */
	bool preferred;        /* the URI names the first path as the preferred one */
	bool grace_expired, stopping;
	bool failing;   /* during an outage: the wait for a usable path is over */
	unsigned tries; /* attempts since no path was usable */
	uint64_t begun_ns;
	uint64_t out_ns;   /* time since which no path is usable; 0: one is, or none was open yet */
	char out_why[220]; /* reason why the last one was not usable any more */
	const struct path *failed; /* the last path that failed */
	unsigned count, seed;
	struct paths_lane *lanes;
	struct loop_timer grace, unreachable;
	struct loop_work announce;
	/* paths_search.c */
	bool find;                /* paths=auto, and no path was asked */
	const struct path *asked; /* its target is being asked for its addresses; NULL: none */
	struct bdev_search search;
	unsigned invalid, excess; /* addresses that are left out */
	char invalid_host[61];
	struct path path[URI_PATHS + 1]; /* `count` is fixed once the disk is open */
};

enum leg_state {
	LEG_NONE,
	LEG_OPENING,
	LEG_UP,
	LEG_DYING, /* some of its requests failed; it takes no more */
	LEG_DOWN,
};

/* The use of one path by one lane. The messages of a path are: open, dead (if the lane detects it),
 * drop, dropped. So none is posted again before it was handled. */
struct leg {
	struct paths_lane *pl;
	uint8_t index;
	/* owned by the lane */
	uint8_t state;
	bool dropping, dead_posted, was_up;
	uint8_t access; /* enum bdev_access */
	bool preferred;
	uint32_t inflight, quiesce_ms, changing_ms;
	uint64_t refused_ns;      /* last time a request was moved to another path; 0: never */
	uint64_t opened_ns;       /* of the first attempt */
	struct loop_timer reopen; /* retry opening, which the target refused temporarily */
	unsigned mapped;          /* number of pools of pl->pool that are mapped, from the first */
	struct lane *lane;
	uint64_t requests; /* sent; atomic, written by the lane alone */
	/* owned by the control part */
	bool on;
	/* handed over: leaf by `open`, why by `dead`, held by `dropped` */
	struct loop_msg open, drop, dead, dropped;
	struct bdev *leaf;
	struct diag why;
	unsigned held;
	/* Handed over with `refused`, which may be posted if `reporting` (atomic) is clear. */
	struct loop_msg refused;
	uint32_t detail;
	bool reporting;
	/* Numbers of connections. Handed over: opened by `open`, fenced by `fence`, which may be
	 * posted if `fencing` (atomic) is clear. Owned by the lane: connection, and quiet, the last
	 * one that the target executes nothing of any more. */
	uint32_t opened, fenced, connection, quiet;
	struct loop_msg fence;
	bool fencing;
	/* Atomic: the access that the target reports, with PATHS_PREFERRED, and whether the message
	 * about it is posted */
	struct loop_msg access_changed;
	uint8_t access_now;
	bool access_posted;
};

struct io_list {
	struct io *head, **tail;
};

struct paths_lane {
	struct lane lane;
	struct paths *paths;
	struct leg *current;
	bool joined, freeing, aborted;
	bool failing;                /* no path for longer than the loss policy allows */
	uint64_t out_since;          /* time since which there is no path; 0: there is one */
	unsigned nheld, lost_writes; /* lost_writes: writes sent on a lost path and not completed */
	/* held: no path; withheld: completed, but the target of a lost path may still execute
	 * writes; paused: refused temporarily, retried in order; completed: done() comes at the end
	 * of the turn */
	struct io_list held, withheld, paused, completed;
	struct loop_timer expire, release, resume, fail_back;
	struct loop_work work; /* runs what must not run in callbacks or calls of the owner */
	struct pool **pool;
	unsigned pools;
	struct loop_msg join, joined_msg, leave, left_msg;
	volatile int left_control;
	struct paths_lane *next; /* owned by the control part */
	struct leg leg[URI_PATHS + 1];
};

/* In io->lower, followed by the leaf's part. A leg gets the submitted io with `done` and `lower`
 * replaced; both are restored when it completes. */
struct paths_io {
	void (*done)(struct io *); /* the submitter's, while a leg has the io */
#ifdef DEBUG_CONTRACTS
	void (*checked_done)(struct io *); /* the same in debug builds */
#endif
	struct leg *leg; /* the last leg used */
	bool lost;
	uint8_t losses, refusals;
	struct leg *lost_by; /* first loss: leg, and number of its connection */
	uint32_t lost_of;
	uint64_t lost_ns;    /* time of the first loss */
	uint64_t refused_ns; /* time of the first refusal */
	uint64_t due_ns;     /* paused: time of the retry */
	uint64_t quiet_ns;   /* until then the target of a lost path may still execute it */
	uint64_t lower[];
};

/* paths_lane.c */
int paths_lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
/* paths.c, on the bdev's loop */
void paths_joined(struct loop_msg *);
void paths_left(struct loop_msg *);
void paths_leg_dead(struct loop_msg *);
void paths_leg_dropped(struct loop_msg *);
void paths_leg_refused(struct loop_msg *);
void paths_retry_held(struct path *); /* reopen it now, if a fence has held that */
static inline bool paths_serves(enum bdev_access access)
{
	return access <= BDEV_ACCESS_NON_OPTIMIZED;
}
/* Return how long requests wait while no path is usable: the time of the loss policy, or longer if
 * the access of a path is changing. changing_ms: the longest time that this takes, 0: of none. */
static inline uint32_t paths_wait_ms(const struct paths *paths, uint32_t changing_ms)
{
	return paths->loss_ms > changing_ms ? paths->loss_ms : changing_ms;
}
/* paths_outage.c, on the bdev's loop: whether requests can be served, and what is reported of it.
 */
void paths_report(struct paths *, bool bad, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* the number of paths that can carry requests */
unsigned paths_usable(const struct paths *);
uint8_t paths_access_of(const struct path *); /* for leg->access_now */
/* A path was lost; an attempt to open a path failed during an outage; a path is up; the access of
 * one that is up has changed. */
void paths_lost(struct paths *, const struct path *);
void paths_still_out(struct paths *, const struct path *);
void paths_up_again(struct paths *, struct path *);
void paths_access_changed(struct paths *, struct path *);
/* a timer: the wait for a usable path is over */
void paths_unreachable(struct loop_timer *);
/* paths_fence.c, on the bdev's loop: a path was lost, and no lane uses it any more; one is up; its
 * leaf is about to be freed; whether a path must not be reopened yet */
void paths_fence_lost(struct path *);
void paths_fence_again(struct paths *);
void paths_fence_forget(const struct path *);
bool paths_fence_holds(const struct path *);
/* paths_search.c: ask for further paths if paths=auto is still to be done; whether an answer is
 * awaited; that path is about to lose its leaf; nanoseconds until opening must end */
void paths_search_init(struct paths *);
bool paths_search(struct paths *);
void paths_search_lost(struct paths *, const struct path *);
uint64_t paths_time_left(const struct paths *);
/* paths.c: open the paths that were added */
void paths_searched(struct paths *);
/* paths_uri.c: parse the URIs of all paths, the preferred one first, and the keys of all */
int paths_uris(struct paths *, struct uri *, struct diag *);
const char *paths_policy_word(enum paths_policy);
/* Add a path that differs from another one by its address. There must be room. */
void paths_add(struct paths *, const struct path *like, const struct addr *);
/* paths_same.c: whether two leaves are one disk, and whether a leaf meets the limits announced at
 * open */
int paths_same_disk(
	const struct bdev_id *known, const struct bdev_id *, bool reattached, struct diag *);
void paths_narrow(struct bdev_limits *, const struct bdev_limits *leaf);
int paths_fit(const struct paths *, const struct bdev_limits *leaf, struct diag *);
