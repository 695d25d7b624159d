/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of rtnetlink and nf_tables, parsed apart from their sockets for tests. */
#pragma once
#include "kernel_net.h"

/* Parse one answer of the kernel; false: not a route. For kernel_route() and tests. */
bool kernel_route_parse(void *message, size_t len, struct kernel_route *);

enum firewall_verdict {
	FIREWALL_NEXT,
	FIREWALL_ACCEPT,
	FIREWALL_DROP,
	FIREWALL_RETURN,
	FIREWALL_JUMP,
	FIREWALL_GOTO,
};
/* A rule as far as it concerns the first packet of a connection. */
struct firewall_rule {
	uint8_t verdict; /* enum firewall_verdict */
	/* certain: no conditions besides these; vague: others, on addresses or ports */
	bool certain, vague;
	bool v4, v6;     /* the packets it applies to */
	bool loopback;   /* only those of the loopback interface */
	uint8_t l4proto; /* IPPROTO_TCP …; 0: any */
	bool has_saddr, has_daddr;
	uint8_t daddr[16], addr_len;
	bool has_sport;
	uint16_t port, port_end; /* destination: first and last; 0: any */
	char to[64];             /* of jump and goto */
};
/* Parse the messages of one read, of chains or of rules. For kernel_firewall() and tests. */
void kernel_firewall_parse(struct firewall *, void *messages, size_t len);
