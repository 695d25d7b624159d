/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Summarize and compare figures of repeated rounds by order statistics. */
#include "rounds.h"
#include <stdlib.h>
#include <string.h>

#define COVERAGE     0.95
#define NORMAL_SCALE 1.4826 /* of the median absolute deviation */

const char *const rounds_verdict_name[] = {
	[ROUNDS_UNKNOWN] = "unknown",
	[ROUNDS_UNDECIDED] = "undecided",
	[ROUNDS_NO_DIFFERENCE] = "no-difference",
	[ROUNDS_FASTER] = "faster",
	[ROUNDS_SLOWER] = "slower",
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *value, unsigned count)
{
	qsort(value, count, sizeof(*value), by_value);
	return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

double rounds_coverage(unsigned count, unsigned rank)
{
	double term = 1, outside = 0;

	for (unsigned i = 0; i < count; i++)
		term /= 2;
	for (unsigned i = 0; i < rank; i++) {
		outside += term;
		term *= (double)(count - i) / (i + 1);
	}
	return 1 - 2 * outside;
}

void rounds_summarize(struct rounds_summary *summary, const double *figure, unsigned count)
{
	double value[ROUNDS_MAX];
	unsigned rank = 1;

	*summary = (struct rounds_summary){ .count = count };
	if (!count)
		return;
	memcpy(value, figure, count * sizeof(*value));
	summary->median = median(value, count);
	while (rounds_coverage(count, rank + 1) >= COVERAGE)
		rank++;
	summary->low = value[rank - 1];
	summary->high = value[count - rank];
	summary->coverage = rounds_coverage(count, rank);
	for (unsigned i = 0; i < count; i++)
		value[i] = value[i] < summary->median ? summary->median - value[i]
						      : value[i] - summary->median;
	summary->deviation = NORMAL_SCALE * median(value, count);
}

static bool is_same(double ratio)
{
	return ratio > 1 - ROUNDS_SAME && ratio < 1 + ROUNDS_SAME;
}

enum rounds_verdict rounds_decide(double ratio, double low, double high, bool differs, bool rate)
{
	if (differs && !is_same(ratio))
		return (ratio > 1) == rate ? ROUNDS_FASTER : ROUNDS_SLOWER;
	return is_same(low) && is_same(high) ? ROUNDS_NO_DIFFERENCE : ROUNDS_UNDECIDED;
}

void rounds_compare(struct rounds_comparison *comparison, const double *base, const double *figure,
	unsigned count, bool rate)
{
	const struct rounds_summary *ratio = &comparison->ratio;
	double value[ROUNDS_MAX] = { 0 };
	unsigned pairs = 0;

	for (unsigned i = 0; i < count; i++)
		if (base[i] > 0 && figure[i] > 0)
			value[pairs++] = figure[i] / base[i];
	rounds_summarize(&comparison->ratio, value, pairs);
	if (pairs < ROUNDS_LEAST)
		comparison->verdict = ROUNDS_UNKNOWN;
	else
		comparison->verdict = rounds_decide(ratio->median, ratio->low, ratio->high,
			ratio->low > 1 || ratio->high < 1, rate);
}
