/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Admission: which connections a target keeps if it can't keep all. Pending connections (no valid
 * login yet) and discovery connections have small quotas; the oldest ones are evicted in favour of
 * others. Without a list of hosts a peer may use any number of host names, so the newest
 * connections of a network that has more than a quarter of the limit are evicted in favour of other
 * networks. Runs on the target's loop. */
#pragma once
#include "loop.h"
#include "uri.h"

struct target_peer_addr;
struct target_host;
struct target_quota;

struct target_admission_entry {                     /* of a connection */
	struct target_admission_entry *next, *prev; /* of its class, oldest first */
	struct target_peer_addr *peer_addr;
	struct target_host *host;
	uint8_t class;   /* pending, discovery or admitted */
	bool opens_more; /* its host announces further connections */
	bool evicted;
};

struct target_limits {
	unsigned connections;
	/* number of pending connections per address that don't count, times `openers` */
	unsigned announced;
	bool listed; /* only hosts on a list are admitted */
};

struct target_client {  /* a host name */
	unsigned hosts; /* struct target_host with this name */
};

/* The /64 of an IPv6 address, as a peer may use all of it; otherwise a single address. */
struct target_network {
	struct target_network *next;
	unsigned count; /* addresses */
	unsigned hosts; /* admitted connections, without evicted ones */
	uint64_t v6;    /* 0: not IPv6 */
	/* Array of target_admission.quotas, allocated with its first host. */
	struct target_quota *quota;
};

struct target_peer_addr { /* an address without port */
	struct target_peer_addr *next;
	struct target_network *network;
	unsigned count, openers; /* connections; of these with opens_more */
	unsigned of[3];          /* by class, without evicted ones */
	uint64_t weight;         /* valid while a connection to evict is chosen */
	struct target_peer_addr_key {
		uint8_t ip[16]; /* or GID; 0: a unix socket */
		uint32_t scope;
		uint32_t family;
	} key;
};

/* An admitted host: all connections with the same name, of one network unless there is a list of
 * hosts. */
struct target_host {
	struct target_host *next;
	const struct target_network *network; /* NULL: the target has a list */
	unsigned connections;
	struct target_client *client; /* the same for this name on all networks */
	/* Array of target_admission.quotas. Each `up` is in network->quota, or in this array's
	 * second half without a network. */
	struct target_quota *quota;
	char name[];
};

struct target_admission {
	/* set by the owner */
	struct target_limits limit;
	unsigned quotas; /* per host and network: one for each worker and store */
	void (*evict)(struct target_admission_entry *); /* start to end its connection */
	/* A connection was refused; called at most every 10 s. May be NULL. */
	void (*full)(const struct diag *why, void *user);
	void *user;
	/* private */
	unsigned count;   /* connections, including evicted ones */
	unsigned evicted; /* evicted connections */
	uint64_t refused;
	uint64_t reported_ns; /* 0: never */
	struct target_admission_entry *first[3], *last[3];
	unsigned of[3]; /* by class, without evicted ones */
	struct target_network *networks;
	struct target_peer_addr *peer_addrs;
	/* fallbacks without memory */
	struct target_network nowhere;
	struct target_peer_addr unknown;
	struct target_host *hosts;
};

/* Return whether another connection from that address is allowed, after evicting one if necessary.
 * A refusal is counted and reported. */
bool target_admission_make_room(struct target_admission *, const struct addr *peer);
/* Add it, as pending; the entry is zeroed and belongs to the caller. */
void target_admission_add(
	struct target_admission *, struct target_admission_entry *, const struct addr *peer);
/* Make it a discovery connection. */
void target_admission_set_discovery(struct target_admission *, struct target_admission_entry *);
/* Admit the connection as one of that host; this may evict another one. False: it was evicted
 * itself, the host or its network has too many connections, all are in use and none of them may be
 * evicted for this one, or no memory. All but the first are reported. */
bool target_admission_admit(struct target_admission *, struct target_admission_entry *,
	const char *host, bool opens_more);
/* Remove a connection that has ended, and zero the entry. */
void target_admission_remove(struct target_admission *, struct target_admission_entry *);
/* Evict a pending or discovery connection. False: there is none, or too many are being closed. */
bool target_admission_evict(struct target_admission *);
/* Count a refused connection, and report the reason. */
void target_admission_report_refusal(struct target_admission *, const struct diag *why);
