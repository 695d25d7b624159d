/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached to this host, as kernel_list_new() finds it. */
#pragma once
#include "kernel_handshake.h"
#include "kernel_iscsi.h"
#include "kernel_status.h"
#include "policy.h"

/* Loss policy: seconds, VALUE_OFF or VALUE_UNKNOWN. */
struct list_loss {
	int retry_s;                     /* between two reconnect attempts */
	int retry_left_s;                /* until the next one, estimated */
	int fail_s;                      /* until requests fail */
	int give_up_s;                   /* until the device is removed */
	int fail_left_s, give_up_left_s; /* remaining times of a lost connection, estimated */
	int attempts;                    /* to reconnect since the loss */
};

/* What only iSCSI sessions have. */
struct list_iscsi {
	bool is; /* the link is one */
	unsigned sid, cid;
	int tpgt; /* VALUE_UNKNOWN */
	char connection_state[16];
	/* portal that it logs in to; after a redirect not the link's address */
	char portal[ADDR_TEXT];
	uint16_t portal_port;
	struct kernel_iscsi_agreed_params agreed;
	struct kernel_iscsi_tmo tmo;
	/* the program that restores a lost connection: "rdmastor", "iscsid", "none" */
	const char *restored_by;
	int restored_by_pid;
};

/* What only NVMe/TCP connections with TLS have. */
struct list_tls {
	bool is;
	int32_t key, configured_key;        /* numbers of the kernel's keys: see struct nvmf_ctrl */
	char identity[KERNEL_PSK_IDENTITY]; /* of the former; "": not reported */
};

/* One connection, or one process that serves a local device; "": not reported. */
struct list_link {
	char name[32];     /* "nvme0", "host6", "session1", "nbd0", "ublkb0"; mounts "" */
	char protocol[8];  /* nvme srp iscsi iser nfs nbd ublk */
	char transport[8]; /* rdma tcp; nbd and ublk: local */
	/* the kernel's: live, connecting, running, blocked, LOGGED_IN; nfs: connected,
	 * connecting, idle */
	char state[32];
	/* NQN, IQN, IOC_GUID/ID_EXT, exported path; nbd: backend identifier */
	char target[1200];
	char version[8]; /* NFS */
	char from[1200]; /* NFS source: "server:/path" */
	char address[ADDR_TEXT], service[34], source[ADDR_TEXT];
	/* local address and interface that it is bound to, as the user chose them */
	char bound[ADDR_TEXT], netdev[16];
	char host[224]; /* NQN or initiator name of this host */
	char rdma_dev[64];
	unsigned rdma_port, queues; /* 0: not reported */
	int pid;                    /* of the server; 0: not reported */
	bool ours;                  /* created by rdmastor */
	struct list_loss loss;
	struct list_iscsi iscsi;
	struct list_tls tls;
};

struct list_gid {
	unsigned index;
	char gid[40], type[16], netdev[16]; /* type: "RoCE v2"; "": InfiniBand or not reported */
};

/* One port of an RDMA device. */
struct list_port {
	char dev[64];
	unsigned port;
	/* active, LinkUp, Ethernet, "100 Gb/sec (4X EDR)" */
	char state[24], physical[24], layer[16], rate[40];
	char kind[8];      /* ib roce iwarp */
	char netdev[80];   /* of the same hardware, separated by commas */
	char driver[32];   /* in the kernel */
	char provider[16]; /* userspace driver in rdma-core */
	char firmware[32];
	unsigned lid, sm_lid; /* 0: none */
	struct list_gid *gid;
	unsigned gids;
};

/* One disk or mount, with all its paths. */
struct list_disk {
	char name[1024]; /* "/dev/nvme0n1", "/dev/mapper/mpatha", "/mnt" */
	char node[32];   /* "nvme0n1", "dm-3"; mounts "" */
	char wwid[140];  /* "uuid.…", "naa.…" */
	char policy[32]; /* of choosing a path */
	bool is_map;     /* of dm-multipath */
	bool queues;     /* the map holds I/O without limit while no path works */
	/* no path works: seconds until multipathd lets I/O fail that the map holds */
	bool waits;
	unsigned fails_in_s;
	struct holders holders;
	char used_by[400]; /* holders as text: "mounted on /srv, swap" */
	uint64_t size;     /* bytes */
	uint32_t block;    /* bytes */
};

/* One path to a disk. */
struct list_path {
	int link, disk;  /* indexes; disk -1: the connection has none */
	char node[32];   /* "nvme0c1n1", "sdb" */
	char hctl[48];   /* of a SCSI device: "6:0:0:1" */
	char state[24];  /* optimized, non-optimized, inaccessible; running, transport-offline */
	char access[20]; /* ANA or ALUA state, in the words of NVMe and of alua.c */
	bool has_group, preferred, counted, has_priority;
	uint32_t group;    /* ANA group, target port group */
	char map_state[9]; /* in a map of dm-multipath: active, enabled, disabled, failed */
	int priority;      /* by multipathd */
	uint64_t requests; /* completed since it exists */
	uint64_t unit;     /* namespace, logical unit */
};

struct kernel_list {
	struct list_link *link;
	struct list_disk *disk;
	struct list_path *path; /* paths of one disk are adjacent */
	struct list_port *port;
	unsigned links, disks, paths, ports;
	/* a process answers the kernel's requests for TLS handshakes: 1; -1: unknown; read if a
	 * link has TLS */
	int handshakes_answered;
};
/* Fill in a list; kernel_list_clear() frees its contents. A failure leaves nothing to free. */
int kernel_list(int root, struct kernel_list *, struct diag *);
void kernel_list_clear(struct kernel_list *);
