/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listening at one address on every way it has: RDMA devices, software iWARP, plain TCP. An address
 * or a device that is not there is tried again each second, one that goes away is waited for again.
 */
#pragma once
#include "ep.h"
#include "stream.h"

/* flags; iWARP and TCP share one listener */
enum way { WAY_VERBS = 1, WAY_IWARP = 2, WAY_TCP = 4, WAY_RDMA = WAY_VERBS | WAY_IWARP };

struct ways_listen { /* an address to listen at, for a server */
	struct addr at;
	unsigned ways; /* enum way; iWARP and TCP share one listener */
	bool no_crc;   /* software iWARP: CRCs only if the peer wants them */
	bool freebind; /* as of struct tcp_listen, as is mode */
	unsigned mode;
};

struct ways { /* one address; stays where it is while open */
	struct addr at;
	unsigned want;
	/* A plain stream; the descriptor is the receiver's. */
	void (*stream)(int fd, const struct addr *peer, void *user);
	void (*rdma)(struct ep_incoming *, void *user); /* of both ways */
	/* There is no descriptor or memory for the next connection. True: soon there will be, it
	 * waits; false, as with NULL: it is closed. */
	bool (*starved)(const struct diag *why, void *user);
	/* one was closed for want of room before it was handed over: to be counted; NULL: nobody
	 * does */
	void (*dropped)(void *user);
	void (*changed)(struct ways *); /* `up` is new; NULL: nobody is interested */
	void *user;
	uint32_t timeout_ms; /* for a client's first bytes */
	bool no_crc;         /* as of struct ep_dial */
	bool freebind;       /* also at an IP address that this machine does not have yet */
	unsigned mode;       /* of a unix socket's file */

	/* Filled in. */
	unsigned up;       /* enum way, atomic for other threads */
	struct addr bound; /* fixed once a way is up */
	struct loop *loop;
	struct tcp_listener *tcp;
	struct ep_listener *verbs;
	struct loop_timer retry;
	struct ways *first;   /* of those opened together */
	volatile int settled; /* of the first: some way of all is up, or failed */
	bool shared;          /* the device is iWARP itself: verbs stays off */
	bool failed;          /* what can be known of it will not change by waiting */
	struct diag why;
};

/* Begins on all of them and waits until the first way is up, at most timeout_ms (0 = as long as it
 * takes); the others follow on their own. Fails at once where waiting is in vain, as with a port in
 * use. While it waits, diag has the reason. */
int ways_open(struct ways *, unsigned count, struct loop *, uint32_t timeout_ms, struct diag *);
void ways_close(struct ways *, unsigned count); /* also what is not open */
