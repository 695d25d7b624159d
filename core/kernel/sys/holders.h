/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who uses the block device of a number; kernel_holders() and kernel_openers() without its device
 * node. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

int kernel_holders_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
int kernel_openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
/* Calls for each mount of it and of its partitions, in this process's view and in process 1's; by
 * the number that mountinfo begins with, and the directory. 0, -ENOENT: there is no such device;
 * -ENOMEM: not all. */
int kernel_holders_mounts(int root, unsigned dev_major, unsigned dev_minor,
	void (*mounted)(unsigned id, const char *dir, void *arg), void *arg);
/* The root or /usr file system is on it, its partitions, or on what is made of them: dm, md, loop
 * devices over its files, the layers of an overlay; also where an initramfs mounts the root to be
 * or leaves the former one. True as well when nobody can tell. */
bool kernel_holders_root(int root, unsigned dev_major, unsigned dev_minor);
