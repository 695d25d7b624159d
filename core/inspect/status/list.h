/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A list under construction; each protocol adds its entries. */
#pragma once
#include "listed.h"

/* An RDMA/CM connection owned by the kernel. */
struct list_cm {
	char dev[64], owner[24]; /* rxe0, nvme_rdma */
	unsigned port;
	struct addr source, peer;
};

struct listing {
	int root;
	struct kernel_list *to;
	struct list_cm *cm;
	unsigned cms;
	bool failed; /* out of memory */
};

void kernel_list_nvme(struct listing *);
void kernel_list_srp(struct listing *);
void kernel_list_iscsi(struct listing *);
void kernel_list_nfs(struct listing *);
void kernel_list_fronts(struct listing *);
void kernel_list_rdma(struct listing
		*); /* call it first, as the others look up their RDMA device in its result */

struct list_link kernel_list_link_new(
	const char *name, const char *protocol, const char *transport);
int kernel_list_add_link(
	struct listing *, const struct list_link *); /* returns its index; -1: out of memory */
/* Add a block device by its node, or the multipath device above it; sets path->disk. link -1 is
 * ignored. */
void kernel_list_add_path(struct listing *, struct list_path path, const char *node);
/* Add the disks of a SCSI host or of one of its targets; without any, the connection alone. */
/* list_paths.c: read the group, the access and the requests of a path: of NVMe from its directory
 * below the controller, of SCSI from that of its block device. */
void kernel_list_read_nvme_path(int root, const char *dir, struct list_path *);
void kernel_list_read_scsi_path(int root, struct list_path *);
struct multipath_map;
/* Read what the device mapper knows of a path, and of the map if that is not known yet. */
void kernel_list_read_map(
	int root, const struct multipath_map *, struct list_disk *, struct list_path *);
#define LIST_ALL_TARGETS UINT32_MAX
void kernel_list_add_units(struct listing *, int link, unsigned host, unsigned target);
void kernel_list_add_mount(struct listing *, int link, const char *dir);

/* Read the kernel's connections, the ports' network interfaces and the drivers from netlink; called
 * by kernel_list_rdma(). */
void kernel_list_netlink(struct listing *);
struct list_nl {
	struct listing *list;
	struct {
		uint32_t index;
		char name[64];
	} device[64]; /* numbered by the kernel */
	unsigned count;
	/* device whose character device was requested, as the answer does not name it */
	const char *queried_dev;
	bool ended; /* the answer is complete */
};
void kernel_list_netlink_parse(
	struct list_nl *, void *messages, size_t len); /* the result of one read */

/* Find the source, RDMA device and port of a connection to link->address, as far as they are
 * unset. */
void kernel_list_find_device(const struct listing *, const char *owner, struct list_link *);
/* Find the remaining times of a lost connection in the kernel's log, which `count` splits into
 * lines. */
void kernel_list_lost(int root, struct list_link *,
	void (*count)(uint64_t now_us, char *log, struct list_link *));
void kernel_list_nvme_lost_at(uint64_t now_us, char *log, struct list_link *);
void kernel_list_srp_lost_at(uint64_t now_us, char *log, struct list_link *);
void kernel_list_iscsi_lost_at(uint64_t now_us, char *log, struct list_link *);

bool kernel_list_same_host(const char *text, const struct addr *); /* numeric; ignores ports */
unsigned kernel_list_number(int root, const char *dir, const char *name); /* 0: not reported */
/* reads a symbolic link; -errno */
ssize_t kernel_list_target(int root, char *text, size_t len, const char *path);
