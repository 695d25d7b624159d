/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A latency histogram for the load generators: 32 linear steps in each power of two, so at most 3 %
 * off. */
#pragma once
#include <stdint.h>
#include <stdio.h>

#define HIST_STEPS   32
#define HIST_BUCKETS (HIST_STEPS * 60)

struct hist {
	uint64_t count[HIST_BUCKETS], total;
};

static inline unsigned hist_bucket(uint64_t ns)
{
	unsigned high = ns < HIST_STEPS ? 0 : 63 - (unsigned)__builtin_clzll(ns) - 4;
	return high * HIST_STEPS + (unsigned)(ns >> (high ? high - 1 : 0)) -
	       (high ? HIST_STEPS : 0);
}

static inline uint64_t hist_value(unsigned bucket)
{
	unsigned high = bucket / HIST_STEPS, low = bucket % HIST_STEPS;
	return high ? (uint64_t)(low + HIST_STEPS) << (high - 1) : low;
}

static inline void hist_add(struct hist *hist, uint64_t ns)
{
	unsigned bucket = hist_bucket(ns);
	hist->count[bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1]++;
	hist->total++;
}

static inline double hist_us(const struct hist *hist, double share)
{
	uint64_t seen = 0, limit = (uint64_t)((double)hist->total * share);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		if ((seen += hist->count[i]) > limit)
			return (double)hist_value(i) / 1000;
	return 0;
}

/* The one line that tests/bench/table reads. */
static inline void hist_print(const struct hist *hist, double seconds, double bytes_each)
{
	printf("iops %.0f p50_us %.1f p99_us %.1f mib_s %.0f\n", (double)hist->total / seconds,
		hist_us(hist, 0.5), hist_us(hist, 0.99),
		(double)hist->total * bytes_each / seconds / 1048576);
}
