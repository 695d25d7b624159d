/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users of the block device with a given number: kernel_openers() without a device node. */
#pragma once
#include "diag.h"
#include "kernel_disk.h"

/* Processes, and mounts in other mount namespaces than this one and that of process 1. */
int kernel_openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
struct disk_users {
	char node[32];  /* "sda" */
	unsigned owner; /* the connection that has it */
	char text[400]; /* filled in: "mounted on /mnt" */
	char name[128]; /* of what is used: the node, or the multipath map */
	char map[32];   /* the multipath map that ends with it: "dm-0"; "": none */
	unsigned map_major, map_minor;
	unsigned major, minor; /* set by the caller, as are node and owner */
};
/* Set the text of each disk to its holders, or without holders to its openers: one search of /proc
 * for all disks. With a map: to those of the map, whose partitions are part of it, and the openers
 * of the disk but for multipathd. */
void kernel_holders_or_openers(int root, struct disk_users *, unsigned count);
/* The same for disks that are to end together. If a multipath map is over these disks alone, its
 * users count instead. It is a user itself if the disks of another owner stay, as one of them is
 * used. */
void kernel_disk_users(int root, struct disk_users *, unsigned count);
/* List those of an owner: "sda: mounted on /mnt; mpatha: swap"; "": none. */
void kernel_disk_users_text(
	const struct disk_users *, unsigned count, unsigned owner, char *text, size_t len);
/* Remove the multipath map above this node, if it is over the disks alone. force: not one in use,
 * but let its pending I/O fail; always 0. -EBUSY: it is still in use after a second: udev opens
 * what another program has closed, and another process may be removing it. May block. */
int kernel_disk_flush(int root, const struct disk_users *, unsigned count, const char *node,
	bool force, struct diag *);
/* Call `each` for each mount of the device and its partitions, as seen by this process and by
 * process 1, with its mountinfo ID and directory. 0; -ENOENT: no such device; -ENOMEM:
 * incomplete. */
int kernel_holders_mounts(int root, unsigned dev_major, unsigned dev_minor,
	void (*mounted)(unsigned id, const char *dir, void *arg), void *arg);
