/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How long threads waited for a CPU, and how much of the machine's time its hypervisor took. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Counters of the machine, in ticks. */
struct load_steal {
	uint64_t steal, all;
};

/* From the text of /proc/thread-self/schedstat and /proc/stat. False: not in it, as in kernels
 * without this statistic. */
bool load_wait_parse(const char *text, uint64_t *wait_ns);
bool load_steal_parse(const char *text, struct load_steal *);

/* The descriptor for the calling thread, or -1: no /proc. */
int load_wait_open(void);
bool load_wait_read(int fd, uint64_t *wait_ns);
bool load_steal_read(struct load_steal *);
