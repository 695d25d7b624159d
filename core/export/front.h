/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What fronts that are targets on the network have in common: the options of the target, filled in
 * from those of the command line, and its life. */
#pragma once
#include "disk_open.h"
#include "fronts.h"
#include "serve.h"

struct net_front { /* first member of the protocol's */
	struct front front;
	struct target_options opt;
	struct target *target;
};

static inline struct net_front *net_of(const struct front *front)
{
	return container_of((struct front *)(uintptr_t)front, struct net_front, front);
}
static inline const struct serve_want *net_want(const struct net_front *net)
{
	return net->front.want;
}

/* For read(): the lists of serve_want. valid: of a name, as --OPTION was given; it sets the diag.
 */
int net_read_disks(struct net_front *, const char *option, const struct opt_list *names,
	int (*valid)(const char *option, const char *name, struct diag *));
int net_read_hosts(struct net_front *, const char *option, const struct opt_list *hosts,
	int (*valid)(const char *option, const char *name, struct diag *));
/* The same address for RDMA and TCP is one listener. The names are of the protocol over each. */
int net_read_listens(struct net_front *, const char *rdma, const char *tcp, uint16_t port);

/* For start(): fills in the disks with their identities, and the names given for them. */
int net_identify(struct net_front *, const struct opt_list *names);
/* Starts the target; instead: what does not need an RDMA device. */
int net_serve(struct net_front *, target_serve *, const char *instead);
/* Any host can reach it; this option limits who. */
void net_warn_open(const struct net_front *, const char *option);

/* Which one a disk is among those of the same name, from 0. */
unsigned net_index(const struct net_front *, unsigned disk);
/* HOST and PORT of a listener, for others: of one on all addresses the first that they can use,
 * IPv4 before IPv6. */
struct net_portal {
	char host[ADDR_TEXT];
	char text[ADDR_TEXT + 16]; /* HOST:PORT or [HOST]:PORT */
	unsigned port;
};
void net_portal_of(struct net_portal *, const struct addr *bound);
/* Members of the JSON of a way to connect: transport, traddr, trsvcid, for RDMA iwarp. */
void net_show_portal(struct out *, const struct net_portal *, unsigned ways);
/* Members of the status: counts, and what `disks` shows. clients and queues: labels of the text. */
void net_show_status(const struct net_front *, struct out *, const char *protocol,
	const char *clients, const char *queues,
	void (*disks)(struct out *, const struct net_front *));

/* Rows. */
void net_count(const struct front *, struct io_count *);
void net_changed(struct front *, struct bdev *);
int net_stop(struct front *, uint32_t timeout_ms, struct diag *);
