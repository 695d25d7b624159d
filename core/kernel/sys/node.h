/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Device nodes, made where nobody else does. */
#pragma once
#include <stdbool.h>

/* The node `path` of the device whose number is in the file dev_file. 0: it is there, and is the
 * right one. */
int kernel_node_make(int root, const char *path, const char *dev_file, bool block);
/* Takes it away again where the kernel does not. */
void kernel_node_drop(
	int root, const char *path, unsigned dev_major, unsigned dev_minor, bool block);
