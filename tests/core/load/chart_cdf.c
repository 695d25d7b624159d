/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The distribution of latencies: its points are percentiles, and end where requests do. */
#include "chart.h"
#include "stats.h"
#include <criterion/criterion.h>

static struct stats stats;
static struct chart_point point[CHART_CDF];

Test(chart_cdf, points_are_percentiles)
{
	static const double marked[] = { 0, 90, 99, 99.9, 99.99 };
	unsigned count, n = 0;

	for (unsigned i = 0; i < 20000; i++)
		stats_add(&stats, 50000 + i * 100 % 777777);
	count = chart_cdf(point, &stats);
	cr_assert(count > 40 && count <= CHART_CDF, "%u", count);
	cr_assert_eq(point[0].x, 50000);
	for (unsigned i = 0; i < count; i++) {
		cr_assert(!i || (point[i].x >= point[i - 1].x && point[i].y > point[i - 1].y));
		cr_assert_lt(point[i].y, 99.9951);
		cr_assert_eq(point[i].low, point[i].high);
		if (point[i].unmarked)
			continue;
		cr_assert_float_eq(point[i].y, marked[n], 1e-9, "%g", point[i].y);
		if (n++)
			cr_assert_eq(point[i].x, (double)stats_percentile(&stats, point[i].y));
	}
	cr_assert_eq(n, 5);
}

Test(chart_cdf, few_latencies)
{
	cr_assert_eq(chart_cdf(point, &stats), 0);
	stats_add(&stats, 1234);
	cr_assert_eq(chart_cdf(point, &stats), 1);
	cr_assert(point[0].x == 1234 && point[0].y == 0);
	for (unsigned i = 1; i < 10; i++)
		stats_add(&stats, 1234);
	cr_assert_eq(chart_cdf(point, &stats), 11);
	cr_assert_float_eq(point[10].y, 90, 1e-9);
}

Test(chart_cdf, the_most_points_fit)
{
	stats.total = 1ull << 50;
	stats.min = stats.max = 1000;
	stats.count[stats_bucket(1000)] = 1ull << 50;
	cr_assert_eq(chart_cdf(point, &stats), 61);
}
