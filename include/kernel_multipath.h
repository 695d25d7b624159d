/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Maps of dm-multipath, which multipathd makes of block devices that are one disk. Paths are
 * relative to a root descriptor. */
#pragma once
#include <stdbool.h>

struct multipath_map {
	char node[32];  /* "dm-0" */
	char name[128]; /* "mpatha": /dev/mapper/mpatha */
	char uuid[160]; /* "mpath-3600a0b…" */
	unsigned major, minor;
};
/* Find the map that a block device ("sda") is a path of. False: none. */
bool kernel_multipath_of(int root, const char *node, struct multipath_map *);
/* Call `each` with the block device of every path of the map. */
void kernel_multipath_paths(
	int root, const char *map, void (*each)(const char *node, void *arg), void *arg);
bool kernel_multipath_daemon(int root); /* multipathd is running */
/* Remove a map, after those of its partitions (kpartx). Found by UUID, as multipathd may rename it.
 * 0: also if it has gone. -EBUSY: it is open; some of its partitions may be removed. May block. */
int kernel_multipath_remove(int root, const struct multipath_map *);
/* Fail the I/O that a map holds while it has no path, from now on. May block. -errno */
int kernel_multipath_fail_queued(int root, const struct multipath_map *);
