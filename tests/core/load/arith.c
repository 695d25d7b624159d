/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logarithm, exponential and normal distribution at points that tables have. */
#include "arith.h"
#include <criterion/criterion.h>

static void is(double got, double expected)
{
	cr_assert(got > expected - 1e-11 * (expected < 0 ? -expected : expected) - 1e-15 &&
			  got < expected + 1e-11 * (expected < 0 ? -expected : expected) + 1e-15,
		"%.15g, not %.15g", got, expected);
}

Test(arith, logarithms)
{
	for (int i = -40; i <= 40; i++)
		is(arith_log2(i < 0 ? 1. / (1ull << -i) : (double)(1ull << i)), i);
	is(arith_log2(3), 1.58496250072115618);
	is(arith_log2(10), 3.32192809488736235);
	is(arith_log2(1.4142135623730951), 0.5);
	is(arith_log2(0.1), -3.32192809488736235);
	is(arith_log2(1e-9), -29.8973528539862611);
}

Test(arith, exponentials)
{
	is(arith_exp(0), 1);
	is(arith_exp(1), 2.71828182845904524);
	is(arith_exp(-1), 0.367879441171442322);
	is(arith_exp(-20), 2.06115362243855783e-9);
	is(arith_exp(-1000), 0);
}

Test(arith, tails_of_the_normal_distribution)
{
	is(arith_normal_tail(0), 0.5);
	is(arith_normal_tail(1), 0.158655253931457051);
	is(arith_normal_tail(1.959963984540054), 0.025);
	is(arith_normal_tail(2), 0.022750131948179212);
	is(arith_normal_tail(2.999), 0.00135433653372711);
	is(arith_normal_tail(3), 0.00134989803163009453);
	is(arith_normal_tail(6), 9.86587645037698e-10);
}
