/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the reports of a matrix share. */
#pragma once
#include "matrix.h"
#include "rounds.h"

/* Summarize a figure of a row. */
void matrix_summary(struct rounds_summary *, const struct matrix *, unsigned cell, unsigned disk,
	enum matrix_figure);
/* Compare a row with that of the first disk. */
void matrix_comparison(struct rounds_comparison *, const struct matrix *, unsigned cell,
	unsigned disk, enum matrix_figure);
/* Return the least probability with which the bounds of a row hold its median, of those that were
 * measured in all rounds; 0: none. */
double matrix_coverage(const struct matrix *);
/* Merge the histograms of reads and writes. */
void matrix_latency(struct stats *, const struct matrix_row *);
/* Set the figures of a row as a load's, with its warnings. */
void matrix_load_report(struct load_report *, const struct matrix *, unsigned cell, unsigned disk);
/* Print the name of a row: of its disk, or "NAME again". */
const char *matrix_row_name(const struct matrix *, unsigned disk, char text[64]);
const char *matrix_verdict_text(enum rounds_verdict); /* "no difference" */
