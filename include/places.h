/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Admission: which connections a target keeps when it can't keep all. Connections of peers that
 * have not logged in, and those that reach no disk, have small quotas and make room for others, the
 * oldest first. Without a list of hosts anybody can give any number of names: if a network has more
 * than a quarter of all places, its newest connections make room for other networks. Runs on the
 * target's loop. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "uri.h"

struct target_origin;
struct target_host;
struct target_share;

/* A connection's place among all that a target may have. */
enum target_class {
	TARGET_STRANGER, /* not admitted yet */
	TARGET_GUEST,    /* admitted, reaches no disk */
	TARGET_HOST
};
struct target_place {
	struct target_place *next, *prev; /* of its class, the oldest first */
	struct target_origin *origin;
	struct target_host *host;
	uint64_t since_ns; /* when the connection was accepted, loop_clock() */
	uint8_t class;
	bool leads; /* announces others */
	bool evicted;
};

#define TARGET_STRANGERS      64 /* connections not yet admitted */
#define TARGET_STRANGERS_ADDR 16 /* of these, from one address */
/* time to log in before another connection from the same address takes the place: in a flood, most
 * are refused, which costs less than to set them up */
#define TARGET_NEWCOMER_MS 5
#define TARGET_GUESTS      64 /* admitted connections that reach no disk */
/* connections not yet admitted beyond all others, if a host's will give way to one of them */
#define TARGET_SPARE     16
#define TARGET_LEAVING   64 /* evicted connections not gone yet, in addition to all others */
#define TARGET_REPORT_MS 10000

struct target_limits {
	unsigned connections;
	/* An admitted connection may announce further ones of its host: up to this many that are
	 * not admitted yet do not count as strangers. */
	unsigned announced;
	bool listed; /* only hosts on a list are admitted */
};

struct target_client { /* a host's name */
	unsigned hosts;
};

struct target_network { /* the /64 of an IPv6 address, as a peer may use all of it; or an address */
	struct target_network *next;
	unsigned count; /* origins */
	unsigned hosts; /* connections of hosts, without evicted ones */
	uint64_t v6;    /* 0: not IPv6 */
	/* Array of target_places.shares, for its hosts; NULL before the first. */
	struct target_share *share;
};

struct target_origin { /* an address without its port */
	struct target_origin *next;
	struct target_network *network;
	unsigned count, leaders;
	unsigned of[3];  /* by class, without evicted ones */
	uint64_t weight; /* valid while choosing one to evict */
	struct target_origin_key {
		uint8_t ip[16]; /* or GID; 0: a unix socket */
		uint32_t scope;
		uint32_t family;
	} key;
};

/* An admitted host: all connections that gave the same name, from one network unless the name is on
 * a list. */
struct target_host {
	struct target_host *next;
	const struct target_network *network; /* NULL: the name is on a list */
	unsigned connections;
	struct target_client *client; /* the same for the name from all networks */
	/* Array of target_places.shares; each `up` is that of the network, or the host's own. */
	struct target_share *share;
	char name[];
};

struct target_places {
	/* set by the owner */
	struct target_limits limit;
	unsigned shares;                      /* allocated per host: one per worker and store */
	void (*evict)(struct target_place *); /* end its connection, which leaves later */
	/* A connection was refused; called at most every 10 s. May be NULL. */
	void (*full)(const struct diag *why, void *user);
	void *user;
	/* private */
	unsigned count;   /* all connections, evicted ones included */
	unsigned leaving; /* evicted connections */
	uint64_t refused;
	uint64_t reported_ns; /* 0: never */
	struct target_place *first[3], *last[3];
	unsigned of[3]; /* by class, without evicted ones */
	struct target_network *networks;
	struct target_origin *origins;
	/* used if there was no memory for others */
	struct target_network nowhere;
	struct target_origin unknown;
	struct target_host *hosts;
};

/* Whether another connection from that address can have a place; makes room for it. */
bool target_places_room(struct target_places *, const struct addr *peer);
/* Add it after that; the place is zeroed. */
void target_places_enter(struct target_places *, struct target_place *, const struct addr *peer);
/* The connection reaches no disk: it keeps its place only while no other needs it. */
void target_places_guest(struct target_places *, struct target_place *);
/* Assign the connection to the host. False if the host or its network has too many, if the
 * connection has been evicted, or without memory. */
bool target_places_host(
	struct target_places *, struct target_place *, const char *host, bool leads);
/* The connection has ended. */
void target_places_leave(struct target_places *, struct target_place *);
/* End a connection of a peer that is not admitted, or reaches no disk; false: there is none. */
bool target_places_evict(struct target_places *);
/* Count and report that a connection was refused for that reason. */
void target_places_refuse(struct target_places *, const struct diag *why);
