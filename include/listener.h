/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listen at an address over several transports: RDMA devices, software iWARP, plain TCP. An address
 * or device that does not exist yet, or disappears, is tried again every second. */
#pragma once
#include "ep.h"
#include "stream.h"

enum transport { /* flags */
	TRANSPORT_VERBS = 1,
	TRANSPORT_IWARP = 2, /* in software; shares its listener with TCP */
	TRANSPORT_TCP = 4,
	TRANSPORT_RDMA = TRANSPORT_VERBS | TRANSPORT_IWARP
};

struct listen_addr { /* an address that a server is to listen at */
	struct addr at;
	unsigned transports;
	bool no_crc;    /* software iWARP: use CRCs only if the peer requests them */
	bool freebind;  /* allow an IP address that this host does not have yet */
	unsigned mode;  /* mode of a unix socket's file */
	uint16_t group; /* for target_set_access(); 0: 1 */
};

/* The caller sets the members down to `mode`, and keeps the memory until listeners_close(). All
 * calls and upcalls are on the loop's thread. */
struct listener {
	struct addr at;
	unsigned transports;
	/* An incoming stream over TCP or a unix socket. The callee owns the descriptor. */
	void (*stream)(int fd, const struct addr *peer, void *user);
	/* An incoming RDMA connection, to accept or reject. */
	void (*rdma)(struct ep_incoming *, void *user);
	/* No descriptor or memory for the next connection. True: it waits, as some will be free
	 * soon; false, or NULL: it is closed. */
	bool (*starved)(const struct diag *why, void *user);
	/* A connection was closed for lack of room or memory before it was handed over. May be
	 * NULL. */
	void (*dropped)(void *user);
	void (*changed)(struct listener *); /* `up` has changed; may be NULL */
	void *user;
	uint32_t timeout_ms; /* for a client's first bytes */
	bool no_crc, freebind;
	unsigned mode;

	unsigned up;       /* transports that listen; other threads may read it atomically */
	struct addr bound; /* valid once a transport is up, then constant */
	/* private */
	struct loop *loop;
	struct tcp_listener *tcp;
	struct ep_listener *verbs;
	struct loop_timer retry;
	struct listener *first; /* of those opened together */
	volatile int settled;   /* of the first: a transport of any of them is up, or one failed */
	bool iwarp_device;      /* the device is iWARP and uses TCP's port: verbs stays off */
	bool failed;            /* with an error that waiting doesn't cure */
	struct diag why;
};

/* Start to listen at all addresses, and wait until the first transport is up: at most timeout_ms
 * (0: no limit), turning the loop. The others follow when they can. Errors that waiting cannot
 * cure, such as -EADDRINUSE, fail at once and close all. While it waits, diag has the reason. */
int listeners_open(
	struct listener *, unsigned count, struct loop *, uint32_t timeout_ms, struct diag *);
/* Allowed if not open. */
void listeners_close(struct listener *, unsigned count);

/* Take over the listening stream sockets that a service manager has opened for this process (TCP
 * and unix, file descriptors 3 to 66, sd_listen_fds(3)); none without LISTEN_PID and LISTEN_FDS,
 * which are removed from the environment. A listener over TCP or a unix socket at the address of
 * one of them uses it, and leaves the file of a unix socket alone. To be called once, before
 * threads, forks and listeners. -EINVAL: one is something else. */
int listeners_inherit(struct diag *);
/* -EINVAL: there is one that no listener has used. */
int listeners_check_inherited(struct diag *);
