/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Partitions of multipath maps, which are maps of their own. */
#pragma once
#include <stdbool.h>

/* Whether a block device ("dm-1") is kpartx's map of a partition of a multipath map. */
bool kernel_multipath_partition(int root, const char *node);
