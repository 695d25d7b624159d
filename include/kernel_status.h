/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached to this machine and served by it: lists, and as tables or JSON. */
#pragma once
#include "diag.h"
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include "kernel_serving.h"
#include "out.h"
#include "policy.h"
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of other machines is attached to this one, by any protocol and whoever attached it, and the
 * RDMA devices it may go over: as /sys, /proc, the kernel's log and its RDMA netlink tell it.
 * Everything but netlink is reached under a root descriptor. */

/* What becomes of requests when the connection is lost; seconds. */
struct list_loss {
	int retry_s;                     /* from one attempt to connect again to the next */
	int fail_s;                      /* until requests fail */
	int give_up_s;                   /* until the device is taken away */
	int fail_left_s, give_up_left_s; /* of a connection that is lost now; about */
	int attempts;                    /* since it was lost */
};

/* An iSCSI session, beside what all connections have. */
struct list_iscsi {
	bool is;
	unsigned sid, cid;
	int tpgt; /* VALUE_UNKNOWN */
	char connection_state[16];
	/* where it logs in; after a redirect the link's address is another */
	char portal[ADDR_TEXT];
	uint16_t portal_port;
	struct kernel_iscsi_agreed agreed;
	struct kernel_iscsi_tmo tmo;
	/* the program that restores a lost connection: "rdmastor", "iscsid", "none" */
	const char *kept_by;
	int kept_by_pid;
};

/* One connection, or one process that serves a device; "" = not told. */
struct list_link {
	char name[32];     /* "nvme0", "host6", "session1", "nbd0", "ublkb0"; of a mount "" */
	char protocol[8];  /* nvme srp iscsi iser nfs nbd ublk */
	char transport[8]; /* rdma tcp; of nbd and ublk local */
	/* the kernel's word: live, connecting, running, blocked, LOGGED_IN; nfs: connected,
	 * connecting, idle */
	char state[32];
	/* NQN, IQN, IOC_GUID/ID_EXT, exported path; of nbd its backend identifier */
	char target[1200];
	char version[8]; /* of NFS */
	char from[1200]; /* of NFS, as it was mounted: "server:/path" */
	char address[ADDR_TEXT], service[34], source[ADDR_TEXT];
	/* the local address and interface that it is bound to, as chosen when it was attached */
	char bound[ADDR_TEXT], netdev[16];
	char host[224]; /* NQN or name that this machine gave itself */
	char rdma_dev[64];
	unsigned rdma_port, queues; /* 0 = not told */
	int pid;                    /* of the server; 0 = not told */
	bool ours;                  /* made by rdmastor */
	struct list_loss loss;
	struct list_iscsi iscsi;
};

/* One disk or mount, however many connections lead to it. */
struct list_disk {
	char name[1024]; /* "/dev/nvme0n1", "/dev/mapper/mpatha", "/mnt" */
	char node[32];   /* "nvme0n1", "dm-3"; of a mount "" */
	char wwid[140];  /* "uuid.…", "naa.…" */
	char policy[32]; /* by which a path is chosen */
	struct holders holders;
	char used_by[400]; /* the same: "mounted on /srv, swap" */
	uint64_t size;     /* bytes */
	uint32_t block;
};

/* One way to a disk. */
struct list_path {
	int link, disk; /* index; disk -1: the connection has none */
	char node[32];  /* "nvme0c1n1", "sdb" */
	char hctl[48];  /* of a SCSI device: "6:0:0:1" */
	char state[24]; /* optimized, non-optimized, inaccessible; running, transport-offline */
	uint64_t unit;  /* namespace, logical unit */
};

struct list_gid {
	unsigned index;
	char gid[40], type[16], netdev[16]; /* type: "RoCE v2"; "" = InfiniBand or not told */
};

/* One port of an RDMA device. */
struct list_port {
	char dev[64];
	unsigned port;
	/* active, LinkUp, Ethernet, "100 Gb/sec (4X EDR)" */
	char state[24], physical[24], layer[16], rate[40];
	char kind[8];      /* ib roce iwarp */
	char netdev[80];   /* of the same hardware; commas between several */
	char driver[32];   /* of the kernel */
	char provider[16]; /* the part of rdma-core that drives it from userspace */
	char firmware[32];
	unsigned lid, sm_lid; /* 0 = none */
	struct list_gid *gid;
	unsigned gids;
};

struct kernel_list {
	struct list_link *link;
	struct list_disk *disk;
	struct list_path *path; /* those of one disk follow each other */
	struct list_port *port;
	unsigned links, disks, paths, ports;
};
int kernel_list(int root, struct kernel_list *, struct diag *); /* no remnants when it fails */
/* Leaves what a word means: a device or a link to one, its bare name, a path or partition of it, a
 * device built on it (dm, md), a connection, a mount, the target as it was given to be attached
 * (NQN, IQN, HOST:/PATH, URI), an RDMA device. -ENOENT: nothing. timeout_ms: for the name of a
 * URI's host; 0 = as long as the resolver takes. */
int kernel_list_select(
	int root, struct kernel_list *, const char *what, uint32_t timeout_ms, struct diag *);
void kernel_list_free(struct kernel_list *);

struct status_show {
	/* verbose: more columns; all: nothing was left out, so that "nothing" may be said */
	bool verbose, gids, all;
	const struct identity *identity;               /* NULL: not wanted */
	const struct kernel_serving *serving, *before; /* now, and an earlier sample or NULL */
};
void kernel_status_show(struct out *, const struct kernel_list *, const struct status_show *);

/* Keep the processes that serve what the word means: the disk as it was given or by another path,
 * an NQN, a device, the path of a socket. False: none. */
bool kernel_serving_select(struct kernel_serving *, const char *word);
