/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A list in the making; each protocol adds its own. */
#pragma once
#include "kernel_status.h"

/* A connection by RDMA/CM that the kernel has for itself. */
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
	bool failed; /* no memory */
};

void kernel_list_nvme(struct listing *);
void kernel_list_srp(struct listing *);
void kernel_list_iscsi(struct listing *);
void kernel_list_nfs(struct listing *);
void kernel_list_fronts(struct listing *);
void kernel_list_rdma(
	struct listing *); /* before all others, which look there for their RDMA device */

struct list_link kernel_list_link_new(
	const char *name, const char *protocol, const char *transport);
int kernel_list_add_link(struct listing *, const struct list_link *); /* its index; -1: no memory */
/* A block device by its node, or the multipath device above it; path->disk is found or made. link
 * -1 is ignored. */
void kernel_list_add_path(struct listing *, struct list_path path, const char *node);
/* The disks of a SCSI host, or of one of its targets; where it has none, the connection without
 * one. */
#define LIST_ALL_TARGETS UINT32_MAX
void kernel_list_add_units(struct listing *, int link, unsigned host, unsigned target);
void kernel_list_add_mount(struct listing *, int link, const char *dir);

/* The kernel's own connections, the ports' network interfaces and the providers, from netlink;
 * kernel_list_rdma() calls it. */
void kernel_list_netlink(struct listing *);
struct list_nl {
	struct listing *list;
	struct {
		uint32_t index;
		char name[64];
	} device[64]; /* as the kernel numbers them */
	unsigned count;
	/* the device that was asked for its character device, whose answer does not name it */
	const char *asked;
	bool ended; /* the answer is complete */
};
void kernel_list_netlink_take(
	struct list_nl *, void *messages, size_t len); /* what one read gave */

/* Where a connection to link->address leaves from: its source, RDMA device and port, as far as they
 * are not told yet. */
void kernel_list_find_device(const struct listing *, const char *owner, struct list_link *);
/* What is left of the times of a connection that is lost: by the kernel's log, which is cut into
 * its lines. */
void kernel_list_lost(int root, struct list_link *,
	void (*count)(uint64_t now_us, char *log, struct list_link *));
void kernel_list_nvme_lost_at(uint64_t now_us, char *log, struct list_link *);
void kernel_list_srp_lost_at(uint64_t now_us, char *log, struct list_link *);

bool kernel_list_same_host(const char *text, const struct addr *); /* numeric; ports do not count */
unsigned kernel_list_number(int root, const char *dir, const char *name); /* 0: not told */
/* of a symbolic link; -errno */
ssize_t kernel_list_target(int root, char *text, size_t len, const char *path);
