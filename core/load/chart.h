/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Charts of figures: line charts as an SVG picture, bars for a terminal. Texts may come from users
 * and peers; passwords must be removed before. */
#pragma once
#include "figure.h"
#include "load.h"

/* log10: only values above 0 are drawn; nines: percent below 100, in equal steps from 0 to 90, 99,
 * 99.9 … */
enum chart_scale { CHART_LINEAR, CHART_LOG2, CHART_LOG10, CHART_NINES };

struct chart_axis {
	const char *label;
	enum chart_scale scale;
	enum figure_kind kind;
};

struct chart_point {
	double x, y;
	double low, high; /* of the error bar; none if they are equal */
	bool unmarked;    /* only the line goes through it */
};

struct chart_series {
	const char *name;
	const struct chart_point *point; /* in the order in which the line connects them */
	unsigned points;
};

#define CHART_SERIES 17

struct chart {
	const char *title;
	struct chart_axis x, y;
	const struct chart_series *series;
	unsigned count; /* 1 to CHART_SERIES */
};

/* Write a picture with charts below each other, readable without colour. The title and the
 * description, which may be "", are its heading. The caller checks the file for errors. */
void chart_svg(
	FILE *, const char *title, const char *description, const struct chart *, unsigned count);

#define CHART_CDF 64
/* Set points of the distribution of latencies, x in ns and y in percent below, up to the share that
 * all but one have. Returns their number, at most CHART_CDF; 0 without latencies. */
unsigned chart_cdf(struct chart_point *, const struct stats *);

struct chart_bar {
	const char *name;
	double value;     /* at least 0 */
	double low, high; /* its bounds; not shown if they are equal */
	const char *note; /* printed behind it; NULL: none */
};
/* Print bars with the same scale from 0, up to `columns` wide, in block characters if utf8. */
void chart_bars(struct out *, const struct chart_bar *, unsigned count, enum figure_kind,
	unsigned columns, bool utf8);
/* Return whether the locale of the environment is one of UTF-8. */
bool chart_utf8(void);
