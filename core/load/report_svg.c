/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Draw a matrix: throughput and latency over queue depth, the distribution of latencies, and
 * throughput over latency, in a picture per block size and share of reads. */
#include "chart.h"
#include "matrix_show.h"
#include "report_file.h"
#include "stats.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTHS 3 /* charts over queue depth: throughput, latency, one over the other */

_Static_assert(MATRIX_DISKS == CHART_SERIES, "");

struct picture {
	const struct matrix *matrix;
	unsigned first, cells; /* with the same block size and share of reads */
	struct chart_point depth[DEPTHS][CHART_SERIES][MATRIX_LIST], cdf[CHART_SERIES][CHART_CDF];
	struct chart_series series[DEPTHS + 1][CHART_SERIES];
	struct chart chart[DEPTHS + 1];
	unsigned charts;
};

static struct chart_point point_of(
	const struct picture *picture, unsigned cell, unsigned disk, enum matrix_figure figure)
{
	struct rounds_summary summary;

	matrix_summary(&summary, picture->matrix, cell, disk, figure);
	return (struct chart_point){ .x = picture->matrix->cell[cell].depth,
		.y = summary.median,
		.low = summary.low,
		.high = summary.high };
}

/* Add a disk's points to the charts over queue depth. */
static void add_depths(struct picture *picture, unsigned disk, unsigned nth)
{
	struct chart_point *rate = picture->depth[0][nth], *latency = picture->depth[1][nth];
	struct chart_point *both = picture->depth[2][nth];
	unsigned points = 0, boths = 0;

	for (unsigned cell = picture->first; cell < picture->first + picture->cells; cell++) {
		if (!matrix_row(picture->matrix, cell, disk)->loads)
			continue;
		rate[points] = point_of(picture, cell, disk, MATRIX_IOPS);
		latency[points] = point_of(picture, cell, disk, MATRIX_P50);
		both[boths] = rate[points];
		both[boths].x = point_of(picture, cell, disk, MATRIX_P99).y;
		boths += both[boths].x > 0;
		points++;
	}
	for (unsigned chart = 0; chart < DEPTHS; chart++)
		picture->series[chart][nth] =
			(struct chart_series){ .name = picture->matrix->disk[disk].name,
				.point = picture->depth[chart][nth],
				.points = chart == 2 ? boths : points };
}

static void add_cdf(struct picture *picture, unsigned disk, unsigned nth)
{
	struct stats latency;

	matrix_latency(&latency, matrix_row(picture->matrix, picture->first, disk));
	picture->series[DEPTHS][nth] =
		(struct chart_series){ .name = picture->matrix->disk[disk].name,
			.point = picture->cdf[nth],
			.points = chart_cdf(picture->cdf[nth], &latency) };
}

static void draw(struct picture *picture, FILE *to)
{
	const struct matrix *matrix = picture->matrix;
	const struct matrix_cell *cell = &matrix->cell[picture->first];
	static const struct chart depths[DEPTHS] = {
		{ .title = "Throughput",
			.x = { "queue depth", CHART_LOG2, FIGURE_COUNT },
			.y = { "IOPS", CHART_LINEAR, FIGURE_COUNT } },
		{ .title = "Latency, median",
			.x = { "queue depth", CHART_LOG2, FIGURE_COUNT },
			.y = { "latency", CHART_LOG10, FIGURE_NS } },
		{ .title = "Throughput over latency",
			.x = { "latency, 99 %", CHART_LOG10, FIGURE_NS },
			.y = { "IOPS", CHART_LINEAR, FIGURE_COUNT } },
	};
	char title[96], about[160], bs[16], size[16], cdf[64], bars[24] = "";
	double coverage = matrix_coverage(matrix);
	unsigned count = 0;

	for (unsigned disk = 0; disk < matrix->disks; disk++)
		if (matrix_row(matrix, picture->first, disk)->loads) {
			add_depths(picture, disk, count);
			add_cdf(picture, disk, count++);
		}
	picture->charts = 0;
	for (unsigned i = 0; i < DEPTHS && picture->cells > 1; i++) {
		struct chart *chart = &picture->chart[picture->charts++];

		*chart = depths[i];
		chart->series = picture->series[i];
	}
	snprintf(cdf, sizeof(cdf), "Latency at queue depth %u", cell->depth);
	picture->chart[picture->charts++] = (struct chart){ .title = cdf,
		.x = { "latency", CHART_LOG10, FIGURE_NS },
		.y = { "requests", CHART_NINES, FIGURE_PERCENT },
		.series = picture->series[DEPTHS] };
	for (unsigned i = 0; i < picture->charts; i++)
		picture->chart[i].count = count;
	snprintf(title, sizeof(title), "%s, %s, %u %% reads", matrix->opt.rw,
		out_human(cell->bs, bs), cell->read_percent);
	if (coverage > 0)
		snprintf(bars, sizeof(bars), "; bars: %.1f %%", 100 * coverage);
	snprintf(about, sizeof(about), "%u round%s of %.3g s, %u job%s, %s of each disk%s",
		cell->rounds, cell->rounds == 1 ? "" : "s", matrix->opt.load.runtime_ms / 1000.,
		matrix->opt.load.jobs, matrix->opt.load.jobs == 1 ? "" : "s",
		out_human(matrix->opt.load.size, size), bars);
	chart_svg(to, title, about, picture->chart, picture->charts);
}

void matrix_svg_path(const struct matrix_options *opt, const struct matrix_cell *cell,
	const char *path, char *text, size_t len)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = (int)(dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path));
	char bs[24] = "", reads[8] = "";

	if (opt->bs.count > 1 && cell->bs % 1024)
		snprintf(bs, sizeof(bs), "-%u", cell->bs);
	else if (opt->bs.count > 1)
		snprintf(bs, sizeof(bs), "-%uK", cell->bs / 1024);
	if (opt->reads.count > 1)
		snprintf(reads, sizeof(reads), "-r%u", cell->read_percent);
	snprintf(text, len, "%.*s%s%s%s", stem, path, bs, reads, path + stem);
}

static int write_picture(struct picture *picture, const char *path, struct diag *diag)
{
	FILE *to = report_open(path, false, diag);

	if (!to)
		return -diag->err;
	draw(picture, to);
	return report_close(to, path, diag);
}

int matrix_report_svg(const char *path, const struct matrix *matrix,
	void (*wrote)(const char *path, void *arg), void *arg, struct diag *diag)
{
	struct picture *picture = calloc(1, sizeof(*picture));
	char name[PATH_MAX];
	int err = picture ? 0 : diag_sys(diag, ENOMEM, "picture");

	for (unsigned cell = 0; !err && cell < matrix->cells; cell += picture->cells) {
		*picture = (struct picture){
			.matrix = matrix, .first = cell, .cells = matrix->opt.depth.count
		};
		if (!matrix->cell[cell].rounds)
			continue;
		matrix_svg_path(&matrix->opt, &matrix->cell[cell], path, name, sizeof(name));
		err = write_picture(picture, name, diag);
		if (!err)
			wrote(name, arg);
	}
	free(picture);
	return err;
}
