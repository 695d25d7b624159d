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

#define MULTIPATH_MEMBERS 64 /* those beyond are left out */
struct multipath_member {
	char dev[16]; /* "8:16" */
	bool failed;  /* carries nothing until multipathd reinstates it */
	char group;   /* of its priority group: A in use, E could be, D not to be used */
};
struct multipath_status {
	char policy[32]; /* path selector of the first group: "service-time" */
	bool queues;     /* queue_if_no_path */
	struct multipath_member member[MULTIPATH_MEMBERS];
	unsigned members;
};
/* Ask the device mapper, not multipathd. -EACCES, -ENOENT: not root, no device mapper; -errno. */
int kernel_multipath_status(int root, const struct multipath_map *, struct multipath_status *);

struct multipath_queueing {
	char name[128];
	unsigned fails_in_s; /* no path works: until the I/O that the map holds fails */
};
struct multipath_priority {
	char dev[16]; /* "8:16" */
	int priority; /* the group with the highest one is used */
};
struct multipath_daemon {
	struct multipath_queueing map[MULTIPATH_MEMBERS]; /* only those that hold I/O for a time */
	struct multipath_priority path[MULTIPATH_MEMBERS];
	unsigned maps, paths;
};
/* Ask multipathd, at most 2 s. False: it does not run, or gives no answer. */
bool kernel_multipath_ask(int root, struct multipath_daemon *);
/* Remove a map, after those of its partitions (kpartx). Found by UUID, as multipathd may rename it.
 * 0: also if it has gone. -EBUSY: it is open; some of its partitions may be removed. May block. */
int kernel_multipath_remove(int root, const struct multipath_map *);
/* Fail the I/O that a map holds while it has no path, from now on. May block. -errno */
int kernel_multipath_fail_queued(int root, const struct multipath_map *);
