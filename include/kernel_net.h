/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Routes (rtnetlink) and packet filter rules (nf_tables) of this host. */
#pragma once
#include "uri.h"

struct kernel_route {
	char netdev[16];
	char source[ADDR_TEXT], gateway[ADDR_TEXT]; /* "": none */
	bool local;                                 /* the address is one of this machine */
};
/* Look up the route to an address. -ENETUNREACH, -EHOSTUNREACH …: none. */
int kernel_route(const struct addr *to, struct kernel_route *, struct diag *);
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
/* Read the IP chains and their rules. -EPERM: not root; -EOPNOTSUPP: no nf_tables. */
int kernel_firewall(struct firewall *, struct diag *);
void kernel_firewall_free(struct firewall *);
/* List the tables in use by legacy iptables or ip6tables, one per line; their rules are not in
 * nf_tables. "": none. -EACCES: not root. */
int kernel_firewall_legacy(int root, bool v6, char *text, size_t len);

enum firewall_fate {
	FIREWALL_PASSES,
	FIREWALL_MAY_DROP, /* some conditions can't be evaluated */
	FIREWALL_DROPS,
};
/* Return what a base chain does with the first packet to this address (family 0: any) and port. */
enum firewall_fate kernel_firewall_fate(const struct firewall *, const struct firewall_chain *,
	uint8_t l4proto, const struct addr *to, uint16_t port);
