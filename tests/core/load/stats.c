/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The histogram of times: bounds of its buckets, what is read from it against what went in, sorted.
 */
#include "stats.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct stats stats, other;
static uint64_t value[20000];

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Times as they come: most in a heap, some far out. */
static void fill(unsigned seed, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		value[i] = 5000 + (uint64_t)rand_r(&seed) % 5000;
		if (rand_r(&seed) % 100 == 0)
			value[i] <<= rand_r(&seed) % 12;
		stats_add(&stats, value[i]);
	}
	qsort(value, count, sizeof(*value), by_value);
}

Test(stats, every_time_is_inside_its_bucket)
{
	uint64_t ns = 0;

	for (unsigned bucket = 0; bucket < STATS_BUCKETS - 1; bucket++) {
		cr_assert_lt(stats_floor(bucket), stats_floor(bucket + 1));
		cr_assert_eq(stats_bucket(stats_floor(bucket)), bucket);
		cr_assert_eq(stats_bucket(stats_floor(bucket + 1) - 1), bucket);
		cr_assert_eq(stats_bucket(stats_middle(bucket)), bucket);
	}
	for (unsigned shift = 0; shift < 40; shift++) {
		ns = (1ull << shift) + (1ull << shift) / 3;
		cr_assert_leq(stats_floor(stats_bucket(ns)), ns);
		cr_assert_gt(stats_floor(stats_bucket(ns) + 1), ns);
	}
	cr_assert_eq(stats_bucket(UINT64_MAX), STATS_BUCKETS - 1);
}

Test(stats, the_bounds_are_those_of_fio)
{
	/* from fio 3.33's json+, --ioengine=null: names of its bins */
	static const uint64_t bins[] = { 131, 141, 151, 161, 171, 201, 211, 221, 3216 };

	for (unsigned i = 0; i < sizeof(bins) / sizeof(*bins); i++)
		cr_assert_eq(stats_middle(stats_bucket(bins[i])), bins[i], "%lu is drawn as %lu",
			(unsigned long)bins[i], (unsigned long)stats_middle(stats_bucket(bins[i])));
}

Test(stats, percentiles_are_less_than_one_percent_off)
{
	static const double percents[] = { 1, 10, 50, 90, 95, 99, 99.9, 99.99 };
	enum { COUNT = 20000 };

	fill(7, COUNT);
	for (unsigned i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		double exact = (double)value[(unsigned)(COUNT * percents[i] / 100 + 0.999999) - 1];
		double got = (double)stats_percentile(&stats, percents[i]);
		cr_assert(got > exact * 0.99 && got < exact * 1.01, "p%g: %g, not %g", percents[i],
			got, exact);
	}
	cr_assert_eq(stats.min, value[0]);
	cr_assert_eq(stats.max, value[COUNT - 1]);
	cr_assert_eq(stats_percentile(&stats, 100), value[COUNT - 1]);
}

Test(stats, nothing_is_zero)
{
	cr_assert_eq(stats_percentile(&stats, 50), 0);
	cr_assert_eq(stats_mean(&stats), 0);
	cr_assert_eq(stats_deviation(&stats), 0);
	cr_assert_eq(stats_between(&stats, 0, UINT64_MAX), 0);
}

Test(stats, one_is_all_of_it)
{
	stats_add(&stats, 12345);
	cr_assert_eq(stats_percentile(&stats, 0), 12345);
	cr_assert_eq(stats_percentile(&stats, 50), 12345);
	cr_assert_eq(stats_percentile(&stats, 99.999), 12345);
	cr_assert_eq(stats.min, 12345);
	cr_assert_lt(stats_deviation(&stats), 1);
}

Test(stats, mean_and_deviation)
{
	for (unsigned i = 1; i <= 5; i++)
		stats_add(&stats, i * 1000);
	cr_assert_float_eq(stats_mean(&stats), 3000, 1e-9);
	cr_assert_float_eq(stats_deviation(&stats), 1414.2135623, 1e-3);
	cr_assert_float_eq(stats_sqrt(2), 1.4142135623731, 1e-12);
	cr_assert_float_eq(stats_sqrt(1e18), 1e9, 1e-3);
	cr_assert_eq(stats_sqrt(-1), 0);
}

Test(stats, two_halves_make_the_whole)
{
	struct stats whole;

	fill(3, 5000);
	whole = stats;
	memset(&stats, 0, sizeof(stats));
	for (unsigned i = 0; i < 5000; i++)
		stats_add(i % 2 ? &stats : &other, value[i]);
	stats_merge(&stats, &other);
	cr_assert_eq(stats.total, whole.total);
	cr_assert_eq(stats.sum, whole.sum);
	cr_assert_eq(stats.min, whole.min);
	cr_assert_eq(stats.max, whole.max);
	cr_assert_eq(memcmp(stats.count, whole.count, sizeof(whole.count)), 0);
}

/* Rounds of different length and speed: the mean of their percentiles is that of no request. */
Test(stats, percentiles_of_merged_rounds_are_those_of_all_times)
{
	static const double percents[] = { 1, 50, 90, 99, 99.9, 99.99 };
	static const unsigned counts[] = { 9000, 50, 700, 10000, 250 };
	static uint64_t all[20000];
	unsigned count = 0;

	for (unsigned round = 0; round < sizeof(counts) / sizeof(*counts); round++) {
		memset(&stats, 0, sizeof(stats));
		fill(round + 1, counts[round]);
		for (unsigned i = 0; i < counts[round]; i++)
			all[count++] = value[i];
		stats_merge(&other, &stats);
	}
	qsort(all, count, sizeof(*all), by_value);
	for (unsigned i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		double exact = (double)all[(unsigned)(count * percents[i] / 100 + 0.999999) - 1];
		double got = (double)stats_percentile(&other, percents[i]);

		cr_assert(got > exact * 0.99 && got < exact * 1.01, "p%g: %g, not %g", percents[i],
			got, exact);
	}
	cr_assert_eq(other.max, all[count - 1]);
}

Test(stats, between_bounds_every_one_is_counted_once)
{
	uint64_t sum = 0;

	fill(9, 10000);
	for (uint64_t from = 1; from < 1ull << 40; from *= 2)
		sum += stats_between(&stats, from, from * 2);
	cr_assert_eq(sum, 10000);
	cr_assert_eq(stats_between(&stats, 0, 7500) + stats_between(&stats, 7500, 7501) +
			     stats_between(&stats, 7501, UINT64_MAX),
		10000);
	cr_assert_eq(
		stats_between(&stats, 4096, 8192) + stats_between(&stats, 8192, 1ull << 40), 10000);
}

Test(stats, percentiles_need_as_many_times_as_tell_them_from_the_maximum)
{
	static const struct {
		double percent;
		uint64_t least;
	} table[] = { { 50, 2 }, { 90, 10 }, { 95, 20 }, { 99, 100 }, { 99.9, 1000 },
		{ 99.99, 10000 }, { 99.999, 100000 } };
	static struct stats some;

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		some.total = table[i].least - 1;
		cr_assert_not(stats_resolves(&some, table[i].percent), "%g", table[i].percent);
		some.total = table[i].least;
		cr_assert(stats_resolves(&some, table[i].percent), "%g", table[i].percent);
	}
}
