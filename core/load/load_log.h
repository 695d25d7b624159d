/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The requests of a load, one by one: each job adds to its own part of the log. */
#pragma once
#include "load.h"

struct load_logged {
	uint64_t at_ns, latency_ns, off; /* at_ns: of the answer, since the end of the ramp */
	uint32_t len;
	uint32_t direction; /* as fio numbers them: 0 read, 1 write, 2 trim */
};

struct load_log_part {
	struct load_logged *entry;
	uint32_t count;
	uint64_t dropped; /* for which there was no room */
};

struct load_log {
	unsigned jobs;
	struct load_log_part part[];
};

/* Add a request, unless there is no room. */
void load_log_add(struct load_log_part *, const struct load_logged *);
