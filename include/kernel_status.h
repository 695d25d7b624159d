/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Remote disks attached to this host, local ones that it serves, and their printed form. */
#pragma once
#include "kernel_identity.h"
#include "kernel_serving.h"
#include "out.h"

/* Attached disks and mounts of any protocol, whichever program attached them, and RDMA devices,
 * from /sys, /proc, the kernel's log and RDMA netlink. Paths are relative to a root descriptor. */
struct kernel_list;
/* Build the list, which kernel_list_free() frees. -ENOMEM. */
int kernel_list_new(int root, struct kernel_list **, struct diag *);
/* Add what multipathd knows of the devices of dm-multipath, if there are any. Blocks, at most 2 s.
 */
void kernel_list_ask_multipathd(int root, struct kernel_list *);
/* Keep only what `what` names: a device, a link to it, its bare name, a path or partition of it, a
 * device built on it (dm, md), a connection, a mount, a target (NQN, IQN, HOST:/PATH, URI) or an
 * RDMA device. timeout_ms: to resolve the host of a URI; 0: no limit. -ENOENT: nothing. After a
 * failure the list is empty. */
int kernel_list_select(
	int root, struct kernel_list *, const char *what, uint32_t timeout_ms, struct diag *);
void kernel_list_free(struct kernel_list *); /* NULL is allowed */
/* Print the disk with this node ("nvme0n1", "dm-0") and its paths, as status does, as an object of
 * the open JSON list. */
void kernel_list_put_disk(struct out *, const struct kernel_list *, const char *node);

/* What only the ublk driver knows about a served device. */
struct list_server {
	bool ours; /* created by rdmastor */
	int pid;   /* 0: unknown */
	unsigned queues;
	const char *state; /* "live", "server-gone" */
};
/* Call find() with the number of each ublk device in the list, to set *server; if it returns true,
 * the list takes over what it has set. */
void kernel_list_find_servers(struct kernel_list *,
	bool (*find)(unsigned number, struct list_server *server, void *arg), void *arg);

struct status_show {
	/* verbose: more columns; all: the list is not a selection, so print that it is empty */
	bool verbose, gids, all;
	const struct identity *identity; /* NULL: don't print it */
	const struct kernel_serving *serving,
		*before; /* now, not NULL; an earlier sample for rates, or NULL */
	const struct kernel_list *list_before; /* an earlier sample, or NULL */
};
void kernel_status_show(struct out *, const struct kernel_list *, const struct status_show *);

/* Keep only processes that serve what the word names: a disk by any of its paths, an NQN, a device
 * or the path of a socket. False: none. */
bool kernel_serving_select(struct kernel_serving *, const char *word);
