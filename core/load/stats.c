/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Evaluate histograms of times. */
#include "stats.h"

void stats_merge(struct stats *into, const struct stats *from)
{
	if (from->total && (!into->total || from->min < into->min))
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->total += from->total;
	into->sum += from->sum;
	into->squares += from->squares;
	for (unsigned i = 0; i < STATS_BUCKETS; i++)
		into->count[i] += from->count[i];
}

uint64_t stats_percentile(const struct stats *stats, double percent)
{
	double share = (double)stats->total * percent / 100;
	uint64_t rank = (uint64_t)share, seen, value;
	unsigned i = 0;

	if (!stats->total)
		return 0;
	if ((double)rank < share || !rank)
		rank++;
	for (seen = stats->count[0]; seen < rank && i < STATS_BUCKETS - 1;)
		seen += stats->count[++i];
	value = stats_middle(i);
	return value < stats->min ? stats->min : value > stats->max ? stats->max : value;
}

bool stats_resolves(const struct stats *stats, double percent)
{
	const double rounding = 1e-9;

	return (double)stats->total * (100 - percent) >= 100 * (1 - rounding);
}

double stats_mean(const struct stats *stats)
{
	return stats->total ? stats->sum / (double)stats->total : 0;
}

/* Newton's method, because the program is not linked with libm. */
double stats_sqrt(double square)
{
	double x = square > 1 ? square : 1, last = 0;

	if (square <= 0)
		return 0;
	for (int i = 0; i < 200 && x != last; i++) {
		last = x;
		x = (x + square / x) / 2;
	}
	return x;
}

double stats_deviation(const struct stats *stats)
{
	double mean = stats_mean(stats);

	return stats->total ? stats_sqrt(stats->squares / (double)stats->total - mean * mean) : 0;
}

uint64_t stats_between(const struct stats *stats, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (unsigned i = stats_bucket(from); i < STATS_BUCKETS && stats_floor(i) < to; i++)
		if (stats_floor(i) >= from)
			sum += stats->count[i];
	return sum;
}
