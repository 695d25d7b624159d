/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses of fronts that listen on the network. */
#pragma once
#include "ways.h"

#define FRONT_LISTENS 16

/* Add an address as the user gave it. The same address for RDMA and TCP is one listener. ways 0:
 * RDMA, as the address says. */
int front_listen_add(struct ways_listen[FRONT_LISTENS], unsigned *count, const char *protocol,
	uint16_t port, const char *given, unsigned ways, struct diag *);
/* Listening has failed with err: what is wrong with RDMA, and how to do without, if all of them
 * need an RDMA device. */
int front_blame_rdma(int err, const struct ways_listen[], unsigned count, const struct diag *rdma,
	struct diag *why);
/* Of a server on all addresses the first that others can use, IPv4 before IPv6. */
void front_host_text(const struct addr *, char text[ADDR_TEXT]);
