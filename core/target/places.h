/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Admission: which connections a target keeps when it can't keep all. Connections of peers that
 * have not shown who they are, and those that reach no disk, have small quotas of their own and
 * make room for others, the oldest first. Runs on the target's loop. */
#pragma once
#include "buffers.h"

#define TARGET_STRANGERS      64 /* connections that are not admitted yet */
#define TARGET_STRANGERS_ADDR 16 /* of them, those from one address */
#define TARGET_GUESTS         64 /* admitted connections that reach no disk */
#define TARGET_LEAVING        64 /* evicted ones, until they are gone: above all others */
#define TARGET_REPORT_MS      10000

struct target_limits {
	unsigned connections;
	/* Connections that a host may open, before any of them is admitted, once one of its is that
	 * announces them: they do not count as strangers. */
	unsigned announced;
	bool listed; /* only hosts on a list are admitted */
};

struct target_origin { /* an address without its port */
	struct target_origin *next;
	unsigned count, leaders;
	unsigned of[2];  /* strangers, guests */
	uint64_t net;    /* of IPv6: its /64, of which a peer may have all addresses; else 0 */
	uint64_t weight; /* while one to evict is chosen */
	char name[ADDR_TEXT];
};

/* A host that is admitted: all connections that gave the same name. */
struct target_host {
	struct target_host *next;
	unsigned connections;
	struct target_share *share; /* target_places.shares of them */
	char name[];
};

struct target_places {
	/* set by the owner */
	struct target_limits limit;
	unsigned shares;                      /* made for each host: one per worker and store */
	void (*evict)(struct target_place *); /* ends its connection, which leaves later */
	/* A connection was refused; at most every 10 s. May be NULL. */
	void (*full)(const struct diag *why, void *user);
	void *user;
	/* the module's */
	unsigned count;   /* all, those on their way out included */
	unsigned leaving; /* evicted */
	uint64_t refused;
	uint64_t reported_ns; /* 0: never */
	struct target_place *first[2], *last[2];
	unsigned of[3]; /* by class, without evicted ones */
	struct target_origin *origins;
	struct target_origin unknown; /* those for which there was no memory */
	struct target_host *hosts;
};

/* Whether another connection from there can have a place; makes room for it. */
bool target_places_room(struct target_places *, const struct addr *peer);
/* It has come in, after that; the place is zeroed. */
void target_places_enter(struct target_places *, struct target_place *, const struct addr *peer);
/* It reaches no disk; as long as no other needs the place. */
void target_places_guest(struct target_places *, struct target_place *);
/* It is that host's. False: the host has too many, or there is no memory. */
bool target_places_host(
	struct target_places *, struct target_place *, const char *host, bool leads);
/* It is over. */
void target_places_leave(struct target_places *, struct target_place *);
/* Ends a connection that others can do without; false: there is none. */
bool target_places_evict(struct target_places *);
/* A connection was refused, for that reason: counted and reported. */
void target_places_refuse(struct target_places *, const struct diag *why);
