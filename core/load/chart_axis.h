/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The range and ticks of an axis. */
#pragma once
#include "chart.h"

#define AXIS_TICKS 40

struct axis_tick {
	double value;
	char text[16]; /* UTF-8; "": a line without a label */
};

struct axis {
	enum chart_scale scale;
	double from, to; /* on the scale */
	struct axis_tick tick[AXIS_TICKS];
	unsigned ticks;
	const char *unit; /* of ticks without one of their own, or "" */
};

/* Choose range and ticks for values from least to most. If least is larger there is no value. */
void axis_set(struct axis *, const struct chart_axis *, double least, double most);
/* Return the place of a value on the axis, from 0 to 1. */
double axis_position(const struct axis *, double value);
/* Return whether the scale has the value. */
bool axis_has(enum chart_scale, double value);
