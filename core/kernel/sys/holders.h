/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users of the block device with a given number: kernel_holders() and kernel_openers() without a
 * device node. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct holders;

int kernel_holders_of(int root, unsigned dev_major, unsigned dev_minor, struct holders *list,
	char *text, size_t len);
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
/* Whether the root or /usr file system is on the disk, its partitions, or on devices built on them:
 * dm, md, loop devices on its files, layers of an overlay; also if an initramfs mounts the future
 * or the former root from it. True if that can't be determined. */
bool kernel_holders_root(int root, unsigned dev_major, unsigned dev_minor);
