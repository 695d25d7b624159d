/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Create missing device nodes. */
#pragma once
#include <stdbool.h>

/* Create the node `path` of the device whose number is in dev_file. 0: the node exists and is the
 * right one. */
int kernel_node_make(int root, const char *path, const char *dev_file, bool block);
/* Remove the node if the kernel does not. */
void kernel_node_drop(
	int root, const char *path, unsigned dev_major, unsigned dev_minor, bool block);
