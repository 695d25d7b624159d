/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How packets leave this machine and which of them it drops: rtnetlink and nf_tables. */
#pragma once
#include "diag.h"
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_route {
	char netdev[16];
	char source[ADDR_TEXT], gateway[ADDR_TEXT]; /* "" = none */
	bool local;                                 /* the address is one of this machine */
};
/* -ENETUNREACH, -EHOSTUNREACH …: no route */
int kernel_route(const struct addr *to, struct kernel_route *, struct diag *);
/* One answer of the kernel; false: not a route. */
bool kernel_route_take(void *message, size_t len, struct kernel_route *);

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
	/* It has no other conditions than these; else whether it applies may depend on addresses or
	 * ports (vague), or only on something else. */
	bool certain, vague;
	bool v4, v6;     /* which packets it sees */
	bool loopback;   /* only those of the loopback interface */
	uint8_t l4proto; /* IPPROTO_TCP …; 0 = any */
	bool has_saddr, has_daddr;
	uint8_t daddr[16], addr_len;
	bool has_sport;
	uint16_t port, port_end; /* destination: first and last; 0 = any */
	char to[64];             /* of jump and goto */
};
struct firewall_chain {
	char family[8], table[64], name[64]; /* "inet", "filter", "input" */
	bool input, output;                  /* a base chain at that hook */
	bool drops;                          /* its policy */
	struct firewall_rule *rule;
	unsigned rules;
};
struct firewall {
	struct firewall_chain *chain;
	unsigned chains;
	bool failed; /* out of memory */
};
/* Read the chains of IP and their rules. -EPERM: only root may; -EOPNOTSUPP: no nf_tables in this
 * kernel. */
int kernel_firewall(struct firewall *, struct diag *);
void kernel_firewall_free(struct firewall *);
/* The messages of one read, of chains or of rules. */
void kernel_firewall_take(struct firewall *, void *messages, size_t len);
/* Names of the tables in use by legacy iptables or ip6tables, one a line: their rules are not in
 * nf_tables. "" = none. 0, or -EACCES: only root may read them. */
int kernel_firewall_legacy(int root, bool v6, char *text, size_t len);

enum firewall_fate {
	FIREWALL_PASSES,
	FIREWALL_MAY_DROP, /* some rules can't be judged */
	FIREWALL_DROPS,
};
/* What a base chain does with the first packet to this port of an address; address family 0: any.
 */
enum firewall_fate kernel_firewall_fate(const struct firewall *, const struct firewall_chain *,
	uint8_t l4proto, const struct addr *to, uint16_t port);
