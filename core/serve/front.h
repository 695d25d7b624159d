/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common to fronts that are network targets: target_options from the command line, start, status.
 */
#pragma once
#include "disk_open.h"
#include "front_kind.h"
#include "serve.h"

struct net_front { /* first member of the front's struct */
	struct front front;
	struct target_options opt;
	struct target *target;
	bool reload_later; /* SIGHUP came before there was a target */
};

static inline struct net_front *net_of(const struct front *front)
{
	return container_of((struct front *)(uintptr_t)front, struct net_front, front);
}
static inline const struct serve_front_options *net_options(const struct net_front *net)
{
	return net->front.options;
}

/* For read(): parse lists of serve_front_options. valid() checks a name given by --OPTION and sets
 * the diag. */
int net_read_disks(struct net_front *, const char *option, const struct opt_list *names,
	int (*valid)(const char *option, const char *name, struct diag *));
int net_read_hosts(struct net_front *, const char *option, const struct opt_list *hosts,
	int (*valid)(const char *option, const char *name, struct diag *));
/* Parse --allow, --rdma and --tcp; the same address in both is one listener. rdma, tcp: names of
 * the protocol over each; port: the default. */
int net_read_listens(struct net_front *, const char *rdma, const char *tcp, uint16_t port);

/* For start(): set target_options.disk, with identities and names. */
int net_identify(struct net_front *, const struct opt_list *names);
/* Start the target. instead: for the hint, an option that needs no RDMA device. */
int net_serve(struct net_front *, target_serve *, const char *instead);
/* Warn if any host can reach the target; this option limits access. */
void net_warn_open(const struct net_front *, const char *option);

/* Return the index of a disk among those of the same name. */
unsigned net_index(const struct net_front *, unsigned disk);
/* Address of a listener for other hosts. If it listens on all addresses: the first usable one, IPv4
 * before IPv6. */
struct net_portal {
	char host[ADDR_TEXT];
	char text[ADDR_TEXT + 16]; /* HOST:PORT or [HOST]:PORT */
	unsigned port;
};
void net_portal_of(struct net_portal *, const struct addr *bound);
/* Print members of the JSON object of a portal: transport, traddr, trsvcid, iwarp (RDMA). */
void net_show_portal(struct out *, const struct net_portal *, unsigned transports);
/* Print the status: counts, and what disks() prints. clients, queues: labels of the text. */
void net_show_status(const struct net_front *, struct out *, const char *protocol,
	const char *clients, const char *queues,
	void (*disks)(struct out *, const struct net_front *));

/* functions of struct front_kind */
void net_rights(const struct front *, struct rights *);
void net_count(const struct front *, struct io_count *);
int net_set_access(struct front *, unsigned group, enum access, enum access *before);
void net_changed(struct front *, struct bdev *);
int net_stop(struct front *, uint32_t timeout_ms, struct diag *);
