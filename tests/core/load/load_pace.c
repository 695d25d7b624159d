/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Schedules of starts: equal times without drift, and the exponential distribution. */
#include "load_pace.h"
#include <criterion/criterion.h>

#define START 1000000000u

Test(load_pace, constant_rate_does_not_drift)
{
	struct load_pace pace;

	load_pace_init(&pace, 3, false, START);
	cr_assert_eq(pace.next_ns, START);
	for (unsigned i = 0; i < 3000; i++)
		load_pace_step(&pace, 0);
	cr_assert_leq(pace.next_ns, START + 1000000000000u);
	cr_assert_geq(pace.next_ns, START + 1000000000000u - 1000);
}

Test(load_pace, poisson_is_exponential)
{
	uint64_t dice = 88172645463325252u;
	unsigned below_mean = 0, below_tenth = 0;
	struct load_pace pace;

	load_pace_init(&pace, 1000, true, START);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t before = pace.next_ns;

		dice ^= dice << 13;
		dice ^= dice >> 7;
		dice ^= dice << 17;
		load_pace_step(&pace, dice);
		below_mean += pace.next_ns - before < 1000000;
		below_tenth += pace.next_ns - before < 100000;
	}
	/* 100 s; shares 1 - 1/e and 1 - exp(-0.1); five standard deviations */
	cr_assert_float_eq((double)(pace.next_ns - START) / 1e9, 100, 1.6);
	cr_assert_float_eq((double)below_mean, 63212, 763);
	cr_assert_float_eq((double)below_tenth, 9516, 465);
}

Test(load_pace, extreme_dice_are_finite)
{
	struct load_pace pace;

	load_pace_init(&pace, 1000, true, START);
	load_pace_step(&pace, 0);
	cr_assert_leq(pace.next_ns, START + 37000000); /* 53 bits: 36.7 mean intervals */
	load_pace_init(&pace, 1000, true, START);
	load_pace_step(&pace, UINT64_MAX);
	cr_assert_eq(pace.next_ns, START);
}

Test(load_pace, skip_counts_the_starts_before)
{
	struct load_pace pace;

	load_pace_init(&pace, 1000, false, START);
	cr_assert_eq(load_pace_skip(&pace, START), 0);
	cr_assert_eq(load_pace_skip(&pace, START + 1), 1);
	load_pace_init(&pace, 1000, false, START);
	cr_assert_eq(load_pace_skip(&pace, START + 5000000), 5);
	cr_assert_eq(load_pace_skip(&pace, START + 5000000), 0);
}
