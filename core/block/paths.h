/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One disk over several paths. paths.c is the control, on the bdev's loop; paths_lane.c is what
 * each lane does, on its own. They share nothing but messages: of a struct leg, each side touches
 * its own part and what a message handed over. */
#pragma once
#include "bdev.h"

#define PATHS_MSEC 1000000ull

enum path_state {
	PATH_IDLE, /* no leaf; the next attempt is timed */
	PATH_OPENING,
	PATH_UP,
	PATH_ENDING,   /* the leaf is freed once every lane has left it */
	PATH_STOPPING, /* orderly, at bdev_close() */
	PATH_OFF,
};

struct path {
	struct paths *paths;
	struct uri uri;
	struct bdev *leaf; /* of OPENING, UP, ENDING, STOPPING */
	uint8_t state;
	unsigned legs; /* lanes that were told of the leaf and have not left it */
	unsigned held; /* requests that were waiting when the lanes left */
	uint32_t attempts, delay_ms;
	uint64_t up_ns, lost_ns;
	struct diag why; /* of the last failure or loss */
	struct loop_timer retry;
	struct loop_work reap;
};

struct paths {
	struct bdev bdev;
	struct bdev_env env;
	uint32_t loss_ms;      /* UINT32_MAX = forever */
	uint32_t quiesce_ms;   /* at least; quiesce= of the URI */
	uint32_t leaf_io_size; /* room behind struct paths_io */
	bool grace_over, stopping;
	unsigned tries;            /* since no path was up */
	uint64_t out_ns;           /* no path since; 0 = one is up, or none was yet */
	const struct path *failed; /* last */
	unsigned count, seed;
	struct paths_lane *lanes;
	struct loop_timer grace, unreachable;
	struct loop_work announce;
	struct path path[URI_PATHS + 1];
};

enum leg_state {
	LEG_NONE,
	LEG_OPENING,
	LEG_UP,
	LEG_DYING, /* some of its requests came back unanswered; takes no more */
	LEG_DOWN,
};

/* One lane's way over one path. A path's life is one round of messages: open, dead (if the lane
 * finds it so), drop, dropped; so none is posted again before it has run. */
struct leg {
	struct paths_lane *pl;
	uint8_t index;
	/* the lane's */
	uint8_t state;
	bool leaving, told, was_up;
	uint32_t inflight, quiesce_ms;
	unsigned mapped; /* how many of pl->pool, from the first */
	struct lane *lane;
	/* the control's */
	bool on;
	/* handed over: leaf with open; why with dead; held with dropped */
	struct loop_msg open, drop, dead, dropped;
	struct bdev *leaf;
	struct diag why;
	unsigned held;
};

struct io_list {
	struct io *head, **tail;
};

struct paths_lane {
	struct lane lane;
	struct paths *paths;
	struct leg *current;
	bool joined, gone, aborted;
	bool failing;                /* no path for longer than the loss policy holds */
	uint64_t out_since;          /* no path since; 0 = there is one */
	unsigned nheld, lost_writes; /* lost_writes: sent on a path that died, not yet done */
	struct io_list held, withheld, over;
	struct loop_timer expire, release;
	struct loop_work work; /* what cannot be done inside an upcall or the owner's call */
	struct pool **pool;
	unsigned pools;
	struct loop_msg join, welcome, leave, bye;
	volatile int left;
	struct paths_lane *next; /* the control's */
	struct leg leg[URI_PATHS + 1];
};

/* In io->lower, the leaf's share behind it. A leg gets the caller's own io, with another done and
 * lower; both are restored as soon as the leg is done with it. */
struct paths_io {
	void (*done)(struct io *); /* the caller's, while a leg has the io */
#ifdef DEBUG_CONTRACTS
	void (*checked_done)(struct io *); /* likewise */
#endif
	struct leg *leg; /* the last that carried it */
	bool lost;
	uint8_t losses;
	uint64_t lost_ns;  /* first */
	uint64_t quiet_ns; /* until then a dead path may still execute it */
	uint64_t lower[];
};

/* paths_lane.c */
int paths_lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
/* paths.c, on the bdev's loop */
void paths_joined(struct loop_msg *);
void paths_left(struct loop_msg *);
void paths_leg_dead(struct loop_msg *);
void paths_leg_dropped(struct loop_msg *);
/* paths_uri.c: the URIs of all paths, and loss= */
int paths_uris(struct paths *, struct uri *, struct diag *);
/* paths_same.c: whether two leaves are one disk, and whether what was promised at open still holds
 */
int paths_same_disk(
	const struct bdev_id *known, const struct bdev_id *, bool reattached, struct diag *);
void paths_narrow(struct bdev_limits *, const struct bdev_limits *leaf);
int paths_fit(const struct paths *, const struct bdev_limits *leaf, struct diag *);
