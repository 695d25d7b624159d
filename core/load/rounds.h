/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Statistics of figures that were measured once per round. They assume no distribution. */
#pragma once
#include <stdbool.h>

#define ROUNDS_MAX 99

struct rounds_summary {
	double median;
	/* Bounds of the median: the closest pair of ordered figures that holds it with 95 % or
	 * more; with less than 6 figures the least and the largest. */
	double low, high;
	double coverage;  /* probability that the bounds hold the median: 0 to 1 */
	double deviation; /* median absolute deviation, scaled to a normal standard deviation */
	unsigned count;
};

/* Set a summary of up to ROUNDS_MAX figures; without a figure all of it is 0. */
void rounds_summarize(struct rounds_summary *, const double *figure, unsigned count);
/* Return the probability that the figures of rank `rank` and count + 1 - rank, from 1, are on both
 * sides of the median. */
double rounds_coverage(unsigned count, unsigned rank);

enum rounds_verdict {
	ROUNDS_UNKNOWN,   /* less than ROUNDS_LEAST pairs */
	ROUNDS_UNDECIDED, /* neither of the others: more rounds can tell */
	ROUNDS_NO_DIFFERENCE,
	ROUNDS_FASTER,
	ROUNDS_SLOWER
};
extern const char *const rounds_verdict_name[]; /* "unknown", "no-difference", … */

#define ROUNDS_LEAST 5    /* pairs for a verdict: bounds of fewer miss the median too often */
#define ROUNDS_SAME  0.02 /* smaller differences do not count */

/* Return a verdict on a ratio. differs: beyond chance. No difference: both bounds are within
 * ROUNDS_SAME. */
enum rounds_verdict rounds_decide(double ratio, double low, double high, bool differs, bool rate);

struct rounds_comparison {
	struct rounds_summary ratio; /* figure / base of the same round */
	enum rounds_verdict verdict;
};

/* Compare figures with those of a base in the same rounds. Rounds with a figure that is not
 * positive, because it failed, are left out. rate: more is faster, as of IOPS; else less is. */
void rounds_compare(struct rounds_comparison *, const double *base, const double *figure,
	unsigned count, bool rate);
