/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users of the block device with a given number: kernel_openers() without a device node. */
#pragma once
#include "kernel_disk.h"

/* Processes, and mounts in other mount namespaces than this one and that of process 1. */
int kernel_openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
struct disk_users {
	char node[32];                   /* "sda" */
	unsigned owner;                  /* the connection that has it */
	char text[400];                  /* filled in: "mounted on /mnt" */
	char name[128];                  /* of what is used: the node, or the multipath map */
	char map[32];                    /* the multipath map that ends with it: "dm-0"; "": none */
	unsigned major, minor;           /* set by the caller; those of the map, if there is one */
	unsigned path_major, path_minor; /* the caller's, if there is a map */
};
/* Set the text of each disk to its holders, or without holders to its openers: one search of /proc
 * for all disks. Partitions of `map` are part of it, and openers of its paths but multipathd use
 * it. */
void kernel_holders_or_openers(int root, struct disk_users *, unsigned count);
/* The same for disks that are to end together. Of a multipath map over these disks alone, the users
 * count instead. It is a user itself if the disks of another owner stay, as one of them is used. */
void kernel_disk_users(int root, struct disk_users *, unsigned count);
/* List those of an owner: "sda: mounted on /mnt; mpatha: swap"; "": none. */
void kernel_disk_users_text(
	const struct disk_users *, unsigned count, unsigned owner, char *text, size_t len);
/* Remove the multipath map above this node, if it is over the disks alone. force: not one in use,
 * but let its pending I/O fail. -EBUSY: it is in use. May block. */
int kernel_disk_flush(
	int root, const struct disk_users *, unsigned count, const char *node, bool force);
/* Call `each` for each mount of the device and its partitions, as seen by this process and by
 * process 1, with its mountinfo ID and directory. 0; -ENOENT: no such device; -ENOMEM:
 * incomplete. */
int kernel_holders_mounts(int root, unsigned dev_major, unsigned dev_minor,
	void (*mounted)(unsigned id, const char *dir, void *arg), void *arg);
