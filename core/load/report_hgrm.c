/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Write the distribution of latencies as HdrHistogram's tools print it, in microseconds: the closer
 * to 100 %, the more rows. */
#include "report_file.h"
#include "stats.h"
#include <inttypes.h>

#define TICKS 5 /* rows from 0 to 50 %, from there to 75 %, and so on */

static uint64_t count_up_to(const struct stats *stats, uint64_t value)
{
	uint64_t count = 0;

	for (unsigned i = 0; i <= stats_bucket(value); i++)
		count += stats->count[i];
	return count;
}

static void put_row(FILE *to, const struct stats *stats, double percent)
{
	uint64_t value = stats_percentile(stats, percent), count = count_up_to(stats, value);

	fprintf(to, "%12.3f %2.12f %10" PRIu64, (double)value / 1000, percent / 100, count);
	if (percent < 100)
		fprintf(to, " %14.2f", 100 / (100 - percent));
	fputc('\n', to);
}

static void put_rows(FILE *to, const struct stats *stats)
{
	double percent = 0, last = 100 - 100. / (double)stats->total, half = 50;

	while (percent < last) {
		put_row(to, stats, percent);
		percent += half / TICKS;
		if (percent >= 100 - half - half / (2 * TICKS))
			half /= 2;
	}
	put_row(to, stats, 100);
}

int load_report_hgrm(const char *path, const struct load_result *result, struct diag *diag)
{
	struct stats all = result->kind[LOAD_READ].latency;
	FILE *to = report_open(path, false, diag);

	if (!to)
		return -diag->err;
	stats_merge(&all, &result->kind[LOAD_WRITE].latency);
	fputs("       Value     Percentile TotalCount 1/(1-Percentile)\n\n", to);
	if (all.total)
		put_rows(to, &all);
	fprintf(to,
		"#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"
		"#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n"
		"#[Buckets = %12u, SubBuckets     = %12u]\n",
		stats_mean(&all) / 1000, stats_deviation(&all) / 1000, (double)all.max / 1000,
		all.total, STATS_BUCKETS / STATS_STEPS, STATS_STEPS);
	return report_close(to, path, diag);
}
