/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose units and digits for figures. */
#include "figure.h"
#include <stdio.h>

static const struct {
	double step;
	const char *name[5];
} units[] = {
	[FIGURE_COUNT] = { 1000, { "", "k", "M", "G", "T" } },
	[FIGURE_NS] = { 1000, { "ns", "us", "ms", "s" } },
	[FIGURE_RATE] = { 1024, { "byte/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s" } },
	[FIGURE_PERCENT] = { 1000, { "%" } },
};

const char *figure_unit(double value, enum figure_kind kind, double *divisor)
{
	unsigned n = 0;

	*divisor = 1;
	while (n < 4 && units[kind].name[n + 1] && value / *divisor >= units[kind].step - 0.5) {
		*divisor *= units[kind].step;
		n++;
	}
	return units[kind].name[n];
}

const char *figure_text(double value, enum figure_kind kind, char text[24])
{
	double divisor;
	const char *unit = figure_unit(value, kind, &divisor);

	value /= divisor;
	snprintf(text, 24, "%.*f%s%s",
		divisor > 1 && value < 9.995   ? 2
		: divisor > 1 && value < 99.95 ? 1
					       : 0,
		value, kind == FIGURE_COUNT ? "" : " ", unit);
	return text;
}
