/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who uses the block device of a number; kernel_holders() and kernel_openers() without its device node. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

int holders_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
int openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len);
/* The root or /usr file system is on it, its partitions, or on what is made of them; also where an initramfs mounts the root to be. */
bool holders_root(int root, unsigned dev_major, unsigned dev_minor);
