/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Histograms of times. No allocation and no lock: use one per thread and merge them. */
#pragma once
#include "load.h"

/* The bounds of bucket n are stats_floor(n) and stats_floor(n + 1). */
static inline unsigned stats_bucket(uint64_t ns)
{
	unsigned shift = ns < STATS_STEPS ? 0 : 63 - STATS_BITS - (unsigned)__builtin_clzll(ns);
	unsigned bucket = ns < STATS_STEPS ? (unsigned)ns
					   : (shift + 1) * STATS_STEPS +
						     (unsigned)(ns >> shift & (STATS_STEPS - 1));

	return bucket < STATS_BUCKETS ? bucket : STATS_BUCKETS - 1;
}

static inline uint64_t stats_floor(unsigned bucket)
{
	unsigned shift = bucket < STATS_STEPS ? 0 : bucket / STATS_STEPS - 1;

	return bucket < STATS_STEPS ? bucket
				    : (uint64_t)(STATS_STEPS + bucket % STATS_STEPS) << shift;
}

static inline uint64_t stats_middle(unsigned bucket)
{
	return (stats_floor(bucket) + stats_floor(bucket + 1)) / 2;
}

static inline void stats_add_many(struct stats *stats, uint64_t ns, uint64_t count)
{
	if (!stats->total || ns < stats->min)
		stats->min = ns;
	if (ns > stats->max)
		stats->max = ns;
	stats->total += count;
	stats->sum += (double)ns * (double)count;
	stats->squares += (double)ns * (double)ns * (double)count;
	stats->count[stats_bucket(ns)] += count;
}

static inline void stats_add(struct stats *stats, uint64_t ns)
{
	stats_add_many(stats, ns, 1);
}

void stats_merge(struct stats *into, const struct stats *from);
/* Return the time that `percent` of all do not exceed, within min and max; 0 if empty. */
uint64_t stats_percentile(const struct stats *, double percent);
/* Return whether there are enough times to tell a percentile from the maximum: 100 for 99 %. */
bool stats_resolves(const struct stats *, double percent);
double stats_mean(const struct stats *);
double stats_deviation(const struct stats *);
double stats_sqrt(double square); /* 0 unless positive */
/* Count the times in [from, to). A bucket counts where it begins, so adjacent ranges add up. */
uint64_t stats_between(const struct stats *, uint64_t from, uint64_t to);
