/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Medians and their bounds against published tables and against all orders of signs, verdicts. */
#include "rounds.h"
#include <criterion/criterion.h>
#include <string.h>

static struct rounds_summary summary;
static struct rounds_comparison comparison;

Test(rounds, coverage_is_that_of_the_tables)
{
	/* n, rank of the lower bound, coverage in percent: Conover, Practical Nonparametric
	 * Statistics; David and Nagaraja, Order Statistics */
	static const struct {
		unsigned count, rank;
		double percent;
	} table[] = { { 5, 1, 93.75 }, { 6, 1, 96.875 }, { 7, 1, 98.4375 }, { 8, 1, 99.21875 },
		{ 9, 2, 96.09375 }, { 10, 2, 97.8515625 }, { 11, 2, 98.828125 },
		{ 12, 3, 96.142578 }, { 13, 3, 97.753906 }, { 14, 3, 98.706055 },
		{ 15, 4, 96.484375 }, { 16, 4, 97.872925 }, { 17, 5, 95.095825 },
		{ 18, 5, 96.911621 }, { 19, 5, 98.078918 }, { 20, 6, 95.861053 } };
	double figure[20];

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		for (unsigned j = 0; j < table[i].count; j++)
			figure[j] = j * 7 % table[i].count + 1; /* 1 to count, out of order */
		if (table[i].count % 7 == 0)
			for (unsigned j = 0; j < table[i].count; j++)
				figure[j] = table[i].count - j;
		rounds_summarize(&summary, figure, table[i].count);
		cr_assert_float_eq(summary.coverage * 100, table[i].percent, 1e-5, "n = %u: %g %%",
			table[i].count, summary.coverage * 100);
		cr_assert_eq(
			summary.low, table[i].rank, "n = %u: from %g", table[i].count, summary.low);
		cr_assert_eq(summary.high, table[i].count + 1 - table[i].rank, "n = %u: to %g",
			table[i].count, summary.high);
		cr_assert_eq(summary.median, (table[i].count + 1) / 2.);
	}
}

/* The number of figures below the median is that of heads when as many coins are tossed. */
Test(rounds, coverage_is_the_share_of_all_cases)
{
	for (unsigned count = 1; count <= 20; count++)
		for (unsigned rank = 1; rank <= (count + 1) / 2; rank++) {
			unsigned inside = 0;

			for (unsigned toss = 0; toss < 1u << count; toss++) {
				unsigned below = (unsigned)__builtin_popcount(toss);
				inside += below >= rank && count - below >= rank;
			}
			cr_assert_float_eq(rounds_coverage(count, rank),
				(double)inside / (1u << count), 1e-12, "%u of %u", rank, count);
		}
}

Test(rounds, with_few_rounds_the_bounds_are_the_extremes)
{
	static const double figure[] = { 5, 1, 4, 2, 3 };
	static const double coverage[] = { 0, 0.5, 0.75, 0.875, 0.9375 };
	static const double median[] = { 5, 3, 4, 3, 3 };

	for (unsigned count = 1; count <= 5; count++) {
		rounds_summarize(&summary, figure, count);
		cr_assert_eq(summary.count, count);
		cr_assert_eq(summary.coverage, coverage[count - 1]);
		cr_assert_eq(summary.median, median[count - 1]);
		cr_assert_eq(summary.low, count == 1 ? 5 : 1);
		cr_assert_eq(summary.high, 5);
	}
}

Test(rounds, the_most_rounds_are_bounded_too)
{
	double figure[ROUNDS_MAX];

	for (unsigned i = 0; i < ROUNDS_MAX; i++)
		figure[i] = i + 1;
	rounds_summarize(&summary, figure, ROUNDS_MAX);
	cr_assert_eq(summary.median, 50);
	cr_assert_eq(summary.low, 40);
	cr_assert_eq(summary.high, 60);
	cr_assert_float_eq(summary.coverage, 0.9561, 1e-3, "%g", summary.coverage);
}

Test(rounds, no_round_is_zero)
{
	rounds_summarize(&summary, NULL, 0);
	cr_assert(!summary.count && !summary.median && !summary.low && !summary.high &&
		  !summary.coverage && !summary.deviation);
}

Test(rounds, deviation_ignores_outliers)
{
	/* the example of R's mad(): 1, 1, 2, 2, 4, 6, 9: median 2, deviations 1 1 0 0 2 4 7 */
	static const double figure[] = { 9, 1, 2, 6, 2, 4, 1 }, far[] = { 9e9, 1, 2, 6, 2, 4, 1 };

	rounds_summarize(&summary, figure, 7);
	cr_assert_eq(summary.median, 2);
	cr_assert_float_eq(summary.deviation, 1.4826, 1e-12);
	rounds_summarize(&summary, far, 7);
	cr_assert_float_eq(summary.deviation, 1.4826, 1e-12);
}

static const double base[] = { 100, 110, 95, 102, 120, 99, 105 };

/* Compare base * ratio with base, and return the verdict. */
static enum rounds_verdict verdict(const double *ratio, unsigned count, bool rate)
{
	double figure[7];

	for (unsigned i = 0; i < count; i++)
		figure[i] = base[i] * ratio[i];
	rounds_compare(&comparison, base, figure, count, rate);
	return comparison.verdict;
}

Test(rounds, verdicts)
{
	static const double more[] = { 1.2, 1.25, 1.1, 1.3, 1.15, 1.2, 1.22 },
			    less[] = { .8, .85, .9, .7, .95, .8, .82 },
			    unclear[] = { 1.2, 1.25, .99, 1.3, 1.15, 1.2, 1.22 },
			    slight[] = { 1.01, 1.011, 1.012, 1.019, 1.018, 1.017, 1.1 },
			    same[] = { 1.01, 1.011, 1.012, 1.019, 1.018, 1.017, 1.015 },
			    equal[] = { .99, 1, 1.012, .985, 1.018, 1, .99 },
			    just[] = { 1.021, 1.021, 1.022, 1.029, 1.028, 1.027, 1.03 };

	cr_assert_eq(verdict(more, 7, true), ROUNDS_FASTER);
	cr_assert_float_eq(comparison.ratio.median, 1.2, 1e-12);
	cr_assert_float_eq(comparison.ratio.low, 1.1, 1e-12);
	cr_assert_float_eq(comparison.ratio.high, 1.3, 1e-12);
	cr_assert_eq(verdict(more, 7, false), ROUNDS_SLOWER, "a latency");
	cr_assert_eq(verdict(less, 7, true), ROUNDS_SLOWER);
	cr_assert_eq(verdict(less, 7, false), ROUNDS_FASTER);
	cr_assert_eq(verdict(unclear, 7, true), ROUNDS_UNDECIDED, "the bounds hold 1");
	cr_assert_eq(verdict(slight, 7, true), ROUNDS_UNDECIDED, "a bound of more than 2 %%");
	cr_assert_eq(verdict(same, 7, true), ROUNDS_NO_DIFFERENCE, "all less than 2 %%");
	cr_assert_eq(verdict(equal, 7, true), ROUNDS_NO_DIFFERENCE, "the bounds hold 1");
	cr_assert_eq(verdict(just, 7, true), ROUNDS_FASTER);
	cr_assert_eq(verdict(more, 5, true), ROUNDS_FASTER);
	cr_assert_eq(comparison.ratio.coverage, 0.9375);
	cr_assert_eq(verdict(more, 4, true), ROUNDS_UNKNOWN);
	cr_assert_eq(verdict(more, 0, true), ROUNDS_UNKNOWN);
}

/* Ratios are of the same round: what slows both of them down does not matter. */
Test(rounds, noise_common_to_both_cancels)
{
	static const double a[] = { 100, 50, 10, 80, 20, 60, 90 },
			    b[] = { 110, 55, 11, 88, 22, 66, 99 };

	rounds_compare(&comparison, a, b, 7, true);
	cr_assert_eq(comparison.verdict, ROUNDS_FASTER);
	cr_assert_float_eq(comparison.ratio.low, 1.1, 1e-12);
	cr_assert_float_eq(comparison.ratio.high, 1.1, 1e-12);
}

Test(rounds, failed_rounds_are_left_out)
{
	static const double a[] = { 100, 0, 100, 100, 100, 100, 100 },
			    b[] = { 120, 120, 0, 121, 122, 123, 124 };

	rounds_compare(&comparison, a, b, 7, true);
	cr_assert_eq(comparison.ratio.count, 5);
	cr_assert_float_eq(comparison.ratio.median, 1.22, 1e-12);
	cr_assert_eq(comparison.verdict, ROUNDS_FASTER);
}

Test(rounds, every_verdict_has_a_word)
{
	cr_assert_str_eq(rounds_verdict_name[ROUNDS_UNKNOWN], "unknown");
	cr_assert_str_eq(rounds_verdict_name[ROUNDS_UNDECIDED], "undecided");
	cr_assert_str_eq(rounds_verdict_name[ROUNDS_NO_DIFFERENCE], "no-difference");
	cr_assert_str_eq(rounds_verdict_name[ROUNDS_FASTER], "faster");
	cr_assert_str_eq(rounds_verdict_name[ROUNDS_SLOWER], "slower");
}
