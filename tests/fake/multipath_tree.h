/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks and the maps of dm-multipath over them in a fixture tree, laid out as Linux 6.12 does. */
#pragma once
#include "tree.h"

/* A block device: "sda", "8:0". */
void multipath_tree_disk(const struct tree *, const char *node, const char *number);
/* A map "dm-0" with this number, name and UUID, over the nodes, separated by blanks. */
void multipath_tree_map(const struct tree *, const char *node, const char *number, const char *name,
	const char *uuid, const char *over);
void multipath_tree_daemon(const struct tree *); /* multipathd is running */
