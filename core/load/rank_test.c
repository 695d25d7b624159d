/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Mann-Whitney U test: mid-ranks, then the exact distribution or the normal approximation; and
 * Holm's method for several tests. */
#include "rank_test.h"
#include "arith.h"
#include "stats.h"
#include <stdlib.h>

/* Ranks are doubled, which makes mid-ranks whole numbers. */
#define DOUBLED_SUM (RANK_EXACT * (RANK_EXACT + 1))

struct ranked {
	double value;
	bool first; /* of the first sample */
	unsigned rank;
};

static int by_value(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;

	return x < y ? -1 : x > y;
}

/* Set the doubled ranks of sorted figures. Return the sum of t^3 - t over all ties of t figures. */
static double set_ranks(struct ranked *all, unsigned count)
{
	double ties = 0;

	for (unsigned i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !by_value(&all[i], &all[end]); end++)
			;
		for (unsigned j = i; j < end; j++)
			all[j].rank = i + 1 + end;
		ties += (double)(end - i) * (end - i) * (end - i) - (end - i);
	}
	return ties;
}

/* Count the subsets of `taken` ranks by their sum, adding one rank after the other. p is the share
 * of those whose sum is at least as far from the mean as `sum`. */
static double exact_p(const struct ranked *all, unsigned count, unsigned taken, unsigned sum)
{
	double subsets[RANK_EXACT + 1][DOUBLED_SUM + 1] = { { 1 } }, outside = 0, whole = 0;
	int mean = (int)(taken * (count + 1)), distance = abs((int)sum - mean);
	unsigned most = 0;

	for (unsigned i = 0; i < count; i++) {
		most += all[i].rank;
		for (unsigned n = i < taken ? i + 1 : taken; n > 0; n--)
			for (unsigned s = most; s >= all[i].rank; s--)
				subsets[n][s] += subsets[n - 1][s - all[i].rank];
	}
	for (unsigned s = 0; s <= most; s++) {
		whole += subsets[taken][s];
		if (abs((int)s - mean) >= distance)
			outside += subsets[taken][s];
	}
	return outside / whole;
}

static double normal_p(double u, double a, double b, double ties)
{
	double count = a + b, distance = u > a * b / 2 ? u - a * b / 2 : a * b / 2 - u;
	double variance = a * b / 12 * (count + 1 - ties / (count * (count - 1)));
	double p;

	if (distance <= 0.5 || variance <= 0)
		return 1;
	p = 2 * arith_normal_tail((distance - 0.5) / stats_sqrt(variance));
	return p < 1 ? p : 1;
}

void rank_test(struct rank_test *test, const double *a, unsigned a_count, const double *b,
	unsigned b_count)
{
	struct ranked all[2 * ROUNDS_MAX];
	unsigned count = a_count + b_count, sum = 0;
	double ties;

	for (unsigned i = 0; i < count; i++)
		all[i] = (struct ranked){ i < a_count ? a[i] : b[i - a_count], i < a_count };
	qsort(all, count, sizeof(*all), by_value);
	ties = set_ranks(all, count);
	for (unsigned i = 0; i < count; i++)
		sum += all[i].first ? all[i].rank : 0;
	*test = (struct rank_test){ .u = sum / 2. - a_count * (a_count + 1) / 2.,
		.p = 1,
		.ties = ties > 0,
		.exact = count <= RANK_EXACT };
	if (!a_count || !b_count)
		return;
	test->p = test->exact ? exact_p(all, count, a_count, sum)
			      : normal_p(test->u, a_count, b_count, ties);
}

static int by_pointed(const void *a, const void *b)
{
	double x = **(double *const *)a, y = **(double *const *)b;

	return x < y ? -1 : x > y;
}

void rank_adjust(double *p, unsigned count)
{
	double *sorted[RANK_TESTS], least = 0;

	for (unsigned i = 0; i < count; i++)
		sorted[i] = &p[i];
	qsort(sorted, count, sizeof(*sorted), by_pointed);
	for (unsigned i = 0; i < count; i++) {
		double adjusted = *sorted[i] * (count - i);

		least = adjusted > least ? adjusted : least;
		*sorted[i] = least < 1 ? least : 1;
	}
}
