/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ranges and ticks of axes. */
#include "chart_axis.h"
#include <criterion/criterion.h>
#include <string.h>

static struct axis axis;

/* Set the axis and compare its labels, joined by commas; lines without a label are left out. */
static void ticks(enum chart_scale scale, enum figure_kind kind, double least, double most,
	const char *expected)
{
	char all[400] = "";

	axis_set(&axis, &(struct chart_axis){ "x", scale, kind }, least, most);
	for (unsigned i = 0; i < axis.ticks; i++) {
		const char *text = axis.tick[i].text;
		double place = axis_position(&axis, axis.tick[i].value);

		cr_assert(place > -1e-9 && place < 1 + 1e-9, "%s at %g", text, place);
		if (text[0])
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				all[0] ? "," : "", text);
	}
	cr_assert_str_eq(all, expected, "%s, not %s", all, expected);
	cr_assert(axis_position(&axis, least) > -1e-9, "%g is outside", least);
	cr_assert(axis_position(&axis, most) < 1 + 1e-9, "%g is outside", most);
}

Test(chart_axis, linear_from_zero_in_round_steps)
{
	ticks(CHART_LINEAR, FIGURE_COUNT, 3, 205000, "0,50k,100k,150k,200k,250k");
	ticks(CHART_LINEAR, FIGURE_COUNT, 3, 200000, "0,50k,100k,150k,200k");
	ticks(CHART_LINEAR, FIGURE_COUNT, 0, 1300000, "0,0.5M,1M,1.5M");
	ticks(CHART_LINEAR, FIGURE_COUNT, 0, 6, "0,1,2,3,4,5,6");
	ticks(CHART_LINEAR, FIGURE_COUNT, 0, 0, "0,0.2,0.4,0.6,0.8,1");
	cr_assert_str_eq(axis.unit, "");
	ticks(CHART_LINEAR, FIGURE_RATE, 0, 3.3 * 1073741824, "0,1,2,3,4");
	cr_assert_str_eq(axis.unit, "GiB/s");
	ticks(CHART_LINEAR, FIGURE_NS, 0, 87000, "0,20,40,60,80,100");
	cr_assert_str_eq(axis.unit, "µs");
	cr_assert_float_eq(axis_position(&axis, 25000), 0.25, 1e-12);
}

Test(chart_axis, queue_depths_in_powers_of_two)
{
	ticks(CHART_LOG2, FIGURE_COUNT, 1, 128, "1,2,4,8,16,32,64,128");
	ticks(CHART_LOG2, FIGURE_COUNT, 3, 20, "4,8,16");
	ticks(CHART_LOG2, FIGURE_COUNT, 8, 8, "8");
	cr_assert_float_eq(axis_position(&axis, 8), 0.5, 1e-9);
}

Test(chart_axis, times_on_a_log_scale)
{
	ticks(CHART_LOG10, FIGURE_NS, 52000, 1900000, "50 µs,100 µs,200 µs,500 µs,1 ms,2 ms");
	ticks(CHART_LOG10, FIGURE_NS, 100000, 100000, "100 µs,200 µs");
	ticks(CHART_LOG10, FIGURE_NS, 800, 2e9, "1 µs,10 µs,100 µs,1 ms,10 ms,100 ms,1 s");
	cr_assert_eq(axis.tick[0].value, 500, "with lines at 2 and 5");
	ticks(CHART_LOG10, FIGURE_COUNT, 900, 21000, "500,1k,2k,5k,10k,20k,50k");
	ticks(CHART_LOG10, FIGURE_NS, 0.5, 2, "0.5 ns,1 ns,2 ns");
}

Test(chart_axis, nines)
{
	ticks(CHART_NINES, FIGURE_PERCENT, 0, 99.95, "0 %,50 %,90 %,99 %,99.9 %,99.99 %");
	cr_assert_float_eq(axis_position(&axis, 90), 0.25, 1e-9);
	cr_assert_float_eq(axis_position(&axis, 99), 0.5, 1e-9);
	cr_assert_float_eq(axis_position(&axis, 99.9), 0.75, 1e-9);
	ticks(CHART_NINES, FIGURE_PERCENT, 0, 90, "0 %,50 %,90 %");
	ticks(CHART_NINES, FIGURE_PERCENT, 0, 99.9999,
		"0 %,50 %,90 %,99 %,99.9 %,99.99 %,99.999 %,99.9999 %");
}

Test(chart_axis, what_a_scale_has)
{
	cr_assert(axis_has(CHART_LINEAR, 0) && !axis_has(CHART_LINEAR, -1));
	cr_assert(axis_has(CHART_LOG2, 0.1) && !axis_has(CHART_LOG2, 0));
	cr_assert(axis_has(CHART_LOG10, 1) && !axis_has(CHART_LOG10, 0));
	cr_assert(axis_has(CHART_NINES, 0) && !axis_has(CHART_NINES, 100));
}

Test(chart_axis, without_values_there_is_an_axis)
{
	for (enum chart_scale scale = CHART_LINEAR; scale <= CHART_NINES; scale++) {
		axis_set(&axis, &(struct chart_axis){ "x", scale, FIGURE_COUNT }, 1e300, -1);
		cr_assert(axis.to > axis.from && axis.ticks > 0);
	}
}
