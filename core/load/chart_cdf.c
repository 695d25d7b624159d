/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The distribution of latencies as points of a chart. */
#include "arith.h"
#include "chart.h"
#include "stats.h"

#define LN10  2.30258509299404568402
#define STEPS 10 /* points per nine; the first of them is marked */
#define NINES 6

unsigned chart_cdf(struct chart_point *point, const struct stats *stats)
{
	double last = 100 - 100. / (double)stats->total;
	unsigned count = 0;

	if (!stats->total)
		return 0;
	for (unsigned i = 0; i <= NINES * STEPS; i++) {
		double percent = 100 - 100 * arith_exp(-LN10 * i / STEPS);

		if (percent > last * (1 + 1e-12))
			break;
		point[count++] = (struct chart_point){
			.x = (double)(i ? stats_percentile(stats, percent) : stats->min),
			.y = percent,
			.unmarked = i % STEPS
		};
	}
	return count;
}
