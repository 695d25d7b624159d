/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A network between a host and a target, both on this machine: an address that forwards TCP
 * connections to the target's, and can lose, delay or end them. */
#pragma once
#include "loop.h"

#define NETWORK_WIRES 512 /* connections, in its life */

/* Bits: what is sent by either side. */
enum network_side { NETWORK_HOST = 1, NETWORK_TARGET = 2 };

struct network;
struct wire { /* a connection */
	struct network *network;
	struct loop_fd end[2]; /* the host's, the target's; fd -1: it has ended */
	unsigned host_port;
};
struct network {
	struct loop *loop;
	struct loop_fd listener;
	unsigned port, to;  /* the target's; 0: there is none */
	bool refuses;       /* new connections are reset */
	unsigned silent;    /* sides whose bytes do not arrive; no connection is made */
	uint64_t silent_ns; /* since then */
	unsigned wires;
	struct wire wire[NETWORK_WIRES];
};

void network_begin(struct network *, struct loop *);
void network_end(struct network *);
void network_reset(struct network *); /* all connections */
/* One of them; `pick` is any number. */
void network_reset_one(struct network *, unsigned pick);
void network_silence(struct network *, unsigned sides);
/* What was sent in the silence arrives now, or else its connections are reset and it is lost. */
void network_heal(struct network *, bool delivers);
/* The connection of the host's socket; NULL: it is of no network, or was not forwarded yet. */
const struct wire *network_find(const struct network *, int host_fd);
