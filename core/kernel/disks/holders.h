/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users of the block device with a given number: kernel_openers() without a device node. */
#pragma once
#include "kernel_disk.h"

/* Processes, and mounts in other mount namespaces than this one and that of process 1. */
int kernel_openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
struct disk_users {
	unsigned major, minor;
	char text[400];
};
/* Set the text of each disk to its holders, or without holders to its openers: one search of /proc
 * for all disks. */
void kernel_holders_or_openers(int root, struct disk_users *, unsigned count);
/* Call `each` for each mount of the device and its partitions, as seen by this process and by
 * process 1, with its mountinfo ID and directory. 0; -ENOENT: no such device; -ENOMEM:
 * incomplete. */
int kernel_holders_mounts(int root, unsigned dev_major, unsigned dev_minor,
	void (*mounted)(unsigned id, const char *dir, void *arg), void *arg);
