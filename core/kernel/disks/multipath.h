/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multipath maps: partitions of them, which are maps of their own, and ioctls of the device mapper.
 */
#pragma once
#include "kernel_multipath.h"

struct dm_ioctl;

/* Whether a block device ("dm-1") is kpartx's map of a partition of a multipath map. */
bool kernel_multipath_partition(int root, const char *node);
/* Send an ioctl for a map, found by its UUID. The caller has set data_size and data_start. */
int kernel_multipath_control(
	int root, unsigned long request, const struct multipath_map *, struct dm_ioctl *);
/* Send a command to the daemon that listens at this abstract name, and return its answer, which the
 * caller frees. NULL: none within a second, or it belongs to another user. */
char *multipath_ask(const char *name, const char *command);
/* Parse answers, which are changed; lines of another format are skipped. */
void multipath_parse_queueing(struct multipath_daemon *, char *text);
void multipath_parse_priorities(struct multipath_daemon *, char *text);
/* Parse the table and the state of a map, which are changed. False: another format. */
bool multipath_parse_table(struct multipath_status *, char *text);
bool multipath_parse_state(struct multipath_status *, char *text);
