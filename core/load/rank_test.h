/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Mann-Whitney U test of two samples that are not paired. */
#pragma once
#include "rounds.h"

#define RANK_EXACT 24 /* most figures of both samples for the exact distribution */

#define RANK_TESTS 4352 /* most at a time */

struct rank_test {
	double u; /* pairs in which the first sample has the larger figure; equal ones count half */
	double p; /* two-sided: probability of a U as far from its mean, if the samples are alike */
	bool ties; /* between figures, which get the mean of their ranks */
	/* p is counted over all ways to divide the ranks, else a normal approximation, corrected
	 * for ties and continuity */
	bool exact;
};

/* Test samples of up to ROUNDS_MAX figures each. p is 1 if one of them is empty. */
void rank_test(
	struct rank_test *, const double *a, unsigned a_count, const double *b, unsigned b_count);
/* Adjust the p of up to RANK_TESTS tests by Holm's method: if each sample is alike its other one,
 * the probability of any p below 5 % is at most 5 %. */
void rank_adjust(double *p, unsigned count);
