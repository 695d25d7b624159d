/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Figures of a matrix as all its reports need them. */
#include "matrix_show.h"
#include "stats.h"
#include <stdio.h>

void matrix_summary(struct rounds_summary *summary, const struct matrix *matrix, unsigned cell,
	unsigned disk, enum matrix_figure figure)
{
	const double *all = matrix_row(matrix, cell, disk)->figure[figure];
	double measured[MATRIX_ROUNDS];
	unsigned count = 0;

	for (unsigned i = 0; i < matrix->cell[cell].rounds; i++)
		if (all[i] > 0)
			measured[count++] = all[i];
	rounds_summarize(summary, measured, count);
}

void matrix_comparison(struct rounds_comparison *comparison, const struct matrix *matrix,
	unsigned cell, unsigned disk, enum matrix_figure figure)
{
	rounds_compare(comparison, matrix_row(matrix, cell, 0)->figure[figure],
		matrix_row(matrix, cell, disk)->figure[figure], matrix->cell[cell].rounds,
		figure == MATRIX_IOPS);
}

double matrix_coverage(const struct matrix *matrix)
{
	struct rounds_summary summary;
	double least = 0;

	for (unsigned cell = 0; cell < matrix->cells; cell++)
		for (unsigned disk = 0; disk <= matrix->disks; disk++) {
			if (matrix_row(matrix, cell, disk)->loads != matrix->cell[cell].rounds)
				continue;
			matrix_summary(&summary, matrix, cell, disk, MATRIX_IOPS);
			if (summary.count && (!least || summary.coverage < least))
				least = summary.coverage;
		}
	return least;
}

void matrix_latency(struct stats *all, const struct matrix_row *row)
{
	*all = row->sum.kind[LOAD_READ].latency;
	stats_merge(all, &row->sum.kind[LOAD_WRITE].latency);
}

void matrix_load_report(
	struct load_report *report, const struct matrix *matrix, unsigned cell, unsigned disk)
{
	const struct matrix_disk *of = &matrix->disk[disk < matrix->disks ? disk : 0];

	*report = (struct load_report){ .target = of->uri,
		.rw = matrix->opt.rw,
		.disk = of->bdev,
		.socket = of->socket,
		.memory = of->memory,
		.load = matrix->opt.load,
		.result = matrix_row(matrix, cell, disk)->sum };
	report->load.bs = matrix->cell[cell].bs;
	report->load.depth = matrix->cell[cell].depth;
	report->load.read_percent = matrix->cell[cell].read_percent;
	load_report_check(report);
}

const char *matrix_row_name(const struct matrix *matrix, unsigned disk, char text[64])
{
	bool again = disk == matrix->disks;

	snprintf(text, 64, "%s%s", matrix->disk[again ? 0 : disk].name, again ? " again" : "");
	return text;
}

const char *matrix_verdict_text(enum rounds_verdict verdict)
{
	static const char *const text[] = {
		[ROUNDS_UNKNOWN] = "too few rounds",
		[ROUNDS_UNDECIDED] = "undecided",
		[ROUNDS_NO_DIFFERENCE] = "no difference",
		[ROUNDS_FASTER] = "faster",
		[ROUNDS_SLOWER] = "slower",
	};

	return text[verdict];
}
