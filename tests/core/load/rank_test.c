/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Mann-Whitney test against published critical values, published examples, and all divisions
 * of small samples. */
#include "rank_test.h"
#include <criterion/criterion.h>
#include <stdlib.h>

#define MOST 10

static struct rank_test test;

/* Test samples without ties in which exactly u pairs have the larger figure in the first one. */
static double p_of(unsigned u, unsigned a_count, unsigned b_count)
{
	double a[MOST], b[MOST];
	unsigned left = u;

	for (unsigned i = 0; i < b_count; i++)
		b[i] = i + 1;
	for (unsigned i = a_count; i > 0; i--) { /* the largest first; each passes what it can */
		unsigned passed = left < b_count ? left : b_count;
		a[i - 1] = passed + 0.5 + i * 0.01;
		left -= passed;
	}
	rank_test(&test, a, a_count, b, b_count);
	cr_assert_eq(test.u, u, "%g, not %u", test.u, u);
	cr_assert(test.exact && !test.ties);
	return test.p;
}

/* Critical values of U, two-sided (Mann and Whitney 1947; Siegel and Castellan, table J): the
 * largest with p <= alpha; -1: not significant with any U. */
static void check_table(const int table[MOST + 1][MOST + 1], double alpha)
{
	for (unsigned a = 2; a <= MOST; a++)
		for (unsigned b = a; b <= MOST; b++) {
			int u = table[a][b];

			if (u >= 0) {
				cr_assert_leq(p_of((unsigned)u, a, b), alpha, "%u, %u", a, b);
				cr_assert_leq(
					p_of(a * b - (unsigned)u, b, a), alpha, "%u, %u", a, b);
			}
			cr_assert_gt(p_of((unsigned)(u + 1), a, b), alpha, "%u, %u", a, b);
		}
}

Test(rank_test, critical_values_of_five_percent)
{
	static const int table[MOST + 1][MOST + 1] = {
		[2] = { 0, 0, -1, -1, -1, -1, -1, -1, 0, 0, 0 },
		[3] = { 0, 0, 0, -1, -1, 0, 1, 1, 2, 2, 3 },
		[4] = { 0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 5 },
		[5] = { 0, 0, 0, 0, 0, 2, 3, 5, 6, 7, 8 },
		[6] = { 0, 0, 0, 0, 0, 0, 5, 6, 8, 10, 11 },
		[7] = { 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 14 },
		[8] = { 0, 0, 0, 0, 0, 0, 0, 0, 13, 15, 17 },
		[9] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 20 },
		[10] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 23 },
	};

	check_table(table, 0.05);
}

Test(rank_test, critical_values_of_one_percent)
{
	static const int table[MOST + 1][MOST + 1] = {
		[2] = { 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
		[3] = { 0, 0, 0, -1, -1, -1, -1, -1, -1, 0, 0 },
		[4] = { 0, 0, 0, 0, -1, -1, 0, 0, 1, 1, 2 },
		[5] = { 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4 },
		[6] = { 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6 },
		[7] = { 0, 0, 0, 0, 0, 0, 0, 4, 6, 7, 9 },
		[8] = { 0, 0, 0, 0, 0, 0, 0, 0, 7, 9, 11 },
		[9] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 13 },
		[10] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16 },
	};

	check_table(table, 0.01);
}

Test(rank_test, published_examples)
{
	/* Hollander and Wolfe 1973, permeability constants: W = 35, one-sided p 0.1272 */
	static const double term[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 },
			    week[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
	/* SciPy's mannwhitneyu(): U 17, exact p 0.1111 */
	static const double males[] = { 19, 22, 16, 29, 24 }, females[] = { 20, 11, 17, 12 };

	rank_test(&test, term, 10, week, 5);
	cr_assert_eq(test.u, 35);
	cr_assert_float_eq(test.p, 0.2544, 5e-5, "%g", test.p);
	rank_test(&test, males, 5, females, 4);
	cr_assert_eq(test.u, 17);
	cr_assert_float_eq(test.p, 1 / 9., 1e-9, "%g", test.p);
}

Test(rank_test, many_figures_with_ties_take_the_normal_approximation)
{
	/* R's airquality, ozone in May and August: W = 127.5, p = 0.0001208 */
	static const double may[] = { 41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6,
		30, 11, 1, 11, 4, 32, 23, 45, 115, 37 };
	static const double august[] = { 39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59,
		23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84, 85 };

	rank_test(&test, may, 26, august, 26);
	cr_assert_eq(test.u, 127.5);
	cr_assert_float_eq(test.p, 0.0001208, 5e-8, "%.8f", test.p);
	cr_assert(test.ties && !test.exact);
	rank_test(&test, august, 26, may, 26);
	cr_assert_eq(test.u, 26 * 26 - 127.5);
	cr_assert_float_eq(test.p, 0.0001208, 5e-8, "%.8f", test.p);
}

/* U by its definition. */
static double pairs(const double *a, unsigned a_count, const double *b, unsigned b_count)
{
	double u = 0;

	for (unsigned i = 0; i < a_count; i++)
		for (unsigned j = 0; j < b_count; j++)
			u += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
	return u;
}

Test(rank_test, ties_are_counted_over_all_divisions)
{
	unsigned seed = 5;

	for (unsigned round = 0; round < 60; round++) {
		unsigned a_count = 1 + round % 6, b_count = 1 + round / 6 % 6;
		unsigned count = a_count + b_count, far = 0, whole = 0;
		double all[12], a[12], b[12], u, mean = a_count * b_count / 2.;

		for (unsigned i = 0; i < count; i++)
			all[i] = rand_r(&seed) % 5;
		u = pairs(all, a_count, all + a_count, b_count);
		for (unsigned set = 0; set < 1u << count; set++) {
			unsigned in_a = 0, in_b = 0;
			double other;

			if ((unsigned)__builtin_popcount(set) != a_count)
				continue;
			for (unsigned i = 0; i < count; i++)
				if (set >> i & 1)
					a[in_a++] = all[i];
				else
					b[in_b++] = all[i];
			other = pairs(a, a_count, b, b_count);
			whole++;
			far += u > mean ? other >= u || other <= 2 * mean - u
					: other <= u || other >= 2 * mean - u;
		}
		rank_test(&test, all, a_count, all + a_count, b_count);
		cr_assert_eq(test.u, u);
		cr_assert(test.exact);
		cr_assert_float_eq(
			test.p, (double)far / whole, 1e-12, "%g, not %u of %u", test.p, far, whole);
	}
}

Test(rank_test, extremes)
{
	double same[ROUNDS_MAX], other[ROUNDS_MAX];

	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		same[i] = 7;
		other[i] = 8 + i;
	}
	rank_test(&test, same, 0, other, 3);
	cr_assert_eq(test.p, 1);
	rank_test(&test, same, 12, same, 12);
	cr_assert(test.p == 1 && test.u == 72 && test.exact && test.ties);
	rank_test(&test, same, ROUNDS_MAX, same, ROUNDS_MAX);
	cr_assert(test.p == 1 && !test.exact);
	rank_test(&test, same, ROUNDS_MAX, other, ROUNDS_MAX);
	cr_assert(test.u == 0 && test.p < 1e-30);
	rank_test(&test, same, 1, other, 23);
	cr_assert_float_eq(test.p, 2 / 24., 1e-12);
}

Test(rank_test, several_tests_are_adjusted)
{
	/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm") */
	double p[] = { 0.01, 0.04, 0.03, 0.005, 0.5 }, one = 0.03, same[] = { 0.02, 0.02, 0.9 };
	static const double adjusted[] = { 0.04, 0.09, 0.09, 0.025, 0.5 };

	rank_adjust(p, 5);
	for (unsigned i = 0; i < 5; i++)
		cr_assert_float_eq(p[i], adjusted[i], 1e-12, "%u: %g", i, p[i]);
	rank_adjust(&one, 1);
	cr_assert_eq(one, 0.03);
	rank_adjust(same, 3);
	cr_assert_float_eq(same[0], 0.06, 1e-12);
	cr_assert_float_eq(same[1], 0.06, 1e-12);
	cr_assert_float_eq(same[2], 0.9, 1e-12);
	p[0] = p[1] = 0.8;
	rank_adjust(p, 2);
	cr_assert(p[0] == 1 && p[1] == 1);
}

/* 16 rows of two equal disks: without an adjustment some row differs in a quarter of all cases. */
Test(rank_test, sixteen_alike_rarely_differ)
{
	unsigned seed = 3, alarms = 0, raw = 0;

	for (unsigned trial = 0; trial < 400; trial++) {
		double p[16], least = 1;

		for (unsigned row = 0; row < 16; row++) {
			double a[7], b[7];

			for (unsigned i = 0; i < 7; i++) {
				a[i] = rand_r(&seed);
				b[i] = rand_r(&seed);
			}
			rank_test(&test, a, 7, b, 7);
			p[row] = test.p;
			least = test.p < least ? test.p : least;
		}
		raw += least < 0.05;
		rank_adjust(p, 16);
		least = 1;
		for (unsigned row = 0; row < 16; row++)
			least = p[row] < least ? p[row] : least;
		alarms += least < 0.05;
	}
	cr_assert_gt(raw, 100, "%u", raw);
	cr_assert_lt(alarms, 36, "%u", alarms);
}
