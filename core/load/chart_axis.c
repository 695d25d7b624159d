/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose ranges and ticks for the axes of charts. */
#include "chart_axis.h"
#include "arith.h"
#include <string.h>

#define LOG2_10     3.32192809488736234787
#define TICKS       6   /* most of a linear axis, without 0 */
#define EDGE        0.2 /* powers of 2 before the first value and after the last one */
#define ALL_LABELED 2.7 /* decades up to which 2 and 5 are labeled, too */
#define NINES_MAX   6

bool axis_has(enum chart_scale scale, double value)
{
	return scale == CHART_LINEAR  ? value >= 0
	       : scale == CHART_NINES ? value >= 0 && value < 100
				      : value > 0;
}

static double coordinate(enum chart_scale scale, double value)
{
	if (scale == CHART_LOG2)
		return arith_log2(value);
	if (scale == CHART_LOG10)
		return arith_log2(value) / LOG2_10;
	if (scale == CHART_NINES)
		return -arith_log2(1 - value / 100) / LOG2_10;
	return value;
}

double axis_position(const struct axis *axis, double value)
{
	return (coordinate(axis->scale, value) - axis->from) / (axis->to - axis->from);
}

static const char *unit_name(double value, enum figure_kind kind, double *divisor)
{
	const char *unit = figure_unit(value, kind, divisor);

	return strcmp(unit, "us") ? unit : "µs";
}

static void add_tick(
	struct axis *axis, double value, const char *fmt, double number, const char *unit)
{
	struct axis_tick *tick = &axis->tick[axis->ticks];

	if (axis->ticks == AXIS_TICKS)
		return;
	axis->ticks++;
	tick->value = value;
	snprintf(tick->text, sizeof(tick->text), fmt, number, unit);
}

/* Return the smallest of 1, 2 and 5 times a power of 10 that divides the span in TICKS at most. */
static double nice_step(double span)
{
	double step = 1;

	while (span / step > TICKS)
		step *= 10;
	while (span / step * 10 <= TICKS)
		step /= 10;
	return span / step * 5 <= TICKS ? step / 5 : span / step * 2 <= TICKS ? step / 2 : step;
}

static void set_linear(struct axis *axis, enum figure_kind kind, double most)
{
	double divisor, step, span;
	const char *unit = unit_name(most, kind, &divisor);
	unsigned steps;

	span = most > 0 ? most / divisor : 1;
	step = nice_step(span);
	steps = (unsigned)(span / step);
	steps += steps * step < span * (1 - 1e-9);
	for (unsigned i = 0; i <= steps; i++)
		add_tick(axis, i * step * divisor, kind == FIGURE_COUNT && i ? "%g%s" : "%g",
			i * step, unit);
	axis->to = steps * step * divisor;
	axis->unit = kind == FIGURE_COUNT ? "" : unit;
}

static void set_log2(struct axis *axis, double least, double most)
{
	double value = 1;

	while (value > least)
		value /= 2;
	while (value * 2 <= least)
		value *= 2;
	for (; value <= most; value *= 2)
		if (value >= least)
			add_tick(axis, value, "%g", value, "");
	axis->from = arith_log2(least) - EDGE;
	axis->to = arith_log2(most) + EDGE;
}

static void set_log10(struct axis *axis, enum figure_kind kind, double least, double most)
{
	static const double digit[] = { 1, 2, 5 };
	double decade = 1, divisor, first = 0, last = 0;
	bool all = arith_log2(most / least) / LOG2_10 < ALL_LABELED;
	unsigned i = 0;

	while (decade > least)
		decade /= 10;
	while (decade * 10 <= least)
		decade *= 10;
	while (i < 2 && decade * digit[i + 1] <= least)
		i++;
	for (first = last = decade * digit[i];; last = decade * digit[i]) {
		const char *unit = unit_name(last, kind, &divisor);

		add_tick(axis, last,
			!all && i              ? ""
			: kind == FIGURE_COUNT ? "%g%s"
					       : "%g %s",
			last / divisor, unit);
		if (last >= most * (1 - 1e-9) && last > first)
			break;
		i = (i + 1) % 3;
		decade *= i ? 1 : 10;
	}
	axis->from = coordinate(CHART_LOG10, first);
	axis->to = coordinate(CHART_LOG10, last);
}

static void set_nines(struct axis *axis, double most)
{
	double share = 100;

	add_tick(axis, 0, "%g %s", 0, "%");
	add_tick(axis, 50, "%g %s", 50, "%");
	for (unsigned n = 1; n <= NINES_MAX; n++) {
		share /= 10;
		add_tick(axis, 100 - share, "%g %s", 100 - share, "%");
		axis->to = n;
		if (100 - share >= most)
			break;
	}
}

void axis_set(struct axis *axis, const struct chart_axis *conf, double least, double most)
{
	*axis = (struct axis){ .scale = conf->scale, .unit = "" };
	if (least > most)
		least = most = 1;
	if (conf->scale == CHART_LINEAR)
		set_linear(axis, conf->kind, most);
	else if (conf->scale == CHART_LOG2)
		set_log2(axis, least, most);
	else if (conf->scale == CHART_LOG10)
		set_log10(axis, conf->kind, least, most);
	else
		set_nines(axis, most);
}
