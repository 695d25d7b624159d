/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a matrix as tables with bars, and as JSON. */
#include "chart.h"
#include "matrix_show.h"
#include "stats.h"
#include <stdio.h>
#include <string.h>

#define NOISE 0.05 /* between the bounds of the ratio of a disk to itself */

static void cell_text(const struct matrix *matrix, unsigned nth, char *text, size_t len)
{
	const struct matrix_cell *cell = &matrix->cell[nth];
	char bs[16], reads[24] = "";

	if (matrix->opt.reads.count > 1 || cell->read_percent % 100)
		snprintf(reads, sizeof(reads), ", %u %% reads", cell->read_percent);
	snprintf(text, len, "%s%s, iodepth %u", out_human(cell->bs, bs), reads, cell->depth);
}

static const char *percentile_text(const struct stats *latency, double percent, char text[24])
{
	return stats_resolves(latency, percent)
		       ? figure_text((double)stats_percentile(latency, percent), FIGURE_NS, text)
		       : "";
}

static void print_row(
	struct table *table, const struct matrix *matrix, unsigned cell, unsigned disk)
{
	const struct matrix_row *row = matrix_row(matrix, cell, disk);
	struct rounds_comparison ratio;
	struct rounds_summary iops, cpu, server;
	char name[64], text[9][24], bounds[56], ratios[64] = "";
	struct stats latency;

	matrix_row_name(matrix, disk, name);
	matrix_summary(&iops, matrix, cell, disk, MATRIX_IOPS);
	matrix_summary(&cpu, matrix, cell, disk, MATRIX_CPU);
	matrix_summary(&server, matrix, cell, disk, MATRIX_SERVER_CPU);
	matrix_comparison(&ratio, matrix, cell, disk, MATRIX_IOPS);
	matrix_latency(&latency, row);
	snprintf(bounds, sizeof(bounds), "%s to %s", figure_text(iops.low, FIGURE_COUNT, text[0]),
		figure_text(iops.high, FIGURE_COUNT, text[1]));
	if (ratio.ratio.count)
		snprintf(ratios, sizeof(ratios), "%.3g, %.3g to %.3g", ratio.ratio.median,
			ratio.ratio.low, ratio.ratio.high);
	table_row(table,
		(const char *const[]){ name, figure_text(iops.median, FIGURE_COUNT, text[2]),
			bounds,
			figure_text(iops.median * matrix->cell[cell].bs, FIGURE_RATE, text[3]),
			figure_text((double)stats_percentile(&latency, 50), FIGURE_NS, text[4]),
			percentile_text(&latency, 99, text[5]),
			percentile_text(&latency, 99.9, text[6]),
			figure_text(cpu.median, FIGURE_NS, text[7]),
			server.count ? figure_text(server.median, FIGURE_NS, text[8]) : "",
			disk ? ratios : "1", disk ? matrix_verdict_text(ratio.verdict) : "" });
}

static void print_bars(struct out *out, const struct matrix *matrix, unsigned cell)
{
	struct chart_bar bar[MATRIX_DISKS];
	struct rounds_summary iops;
	unsigned bars = 0;

	for (unsigned disk = 0; disk < matrix->disks; disk++) {
		matrix_summary(&iops, matrix, cell, disk, MATRIX_IOPS);
		if (iops.count)
			bar[bars++] = (struct chart_bar){ .name = matrix->disk[disk].name,
				.value = iops.median,
				.low = iops.low,
				.high = iops.high };
	}
	chart_bars(out, bar, bars, FIGURE_COUNT, out_columns(), chart_utf8());
}

struct warnings { /* of a disk */
	const char *name;
	struct load_warning warning[LOAD_WARNINGS];
	unsigned count;
};

static bool has_warning(const struct warnings *disk, const char *code)
{
	for (unsigned i = 0; i < disk->count; i++)
		if (!strcmp(disk->warning[i].code, code))
			return true;
	return false;
}

/* One of a kind, that of the first disk; then the names of the others that have it. */
static void print_kinds(struct out *out, const struct warnings *list, unsigned count)
{
	char also[640];

	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < list[i].count; j++) {
			const struct load_warning *warning = &list[i].warning[j];
			unsigned first = 0;
			size_t len = 0;

			while (!has_warning(&list[first], warning->code))
				first++;
			if (first < i)
				continue;
			out_line(out, "  ! %s: %s", list[i].name, warning->text);
			also[0] = 0;
			for (unsigned k = i + 1; k < count && len < sizeof(also); k++)
				if (has_warning(&list[k], warning->code))
					len += (size_t)snprintf(also + len, sizeof(also) - len,
						"%s%s", len ? ", " : "", list[k].name);
			if (also[0])
				out_line(out, "    also: %s", also);
		}
}

static void print_disk_warnings(struct out *out, const struct matrix *matrix, unsigned cell)
{
	struct warnings list[MATRIX_DISKS];
	struct load_report report;
	unsigned count = 0;

	for (unsigned disk = 0; disk < matrix->disks; disk++) {
		if (!matrix_row(matrix, cell, disk)->loads)
			continue;
		matrix_load_report(&report, matrix, cell, disk);
		list[count].name = matrix->disk[disk].name;
		list[count].count = report.warnings;
		memcpy(list[count++].warning, report.warning, sizeof(report.warning));
	}
	print_kinds(out, list, count);
}

static void print_warnings(struct out *out, const struct matrix *matrix, unsigned cell)
{
	struct rounds_comparison noise;
	char name[64];

	for (unsigned disk = 0; disk <= matrix->disks; disk++) {
		unsigned loads = matrix_row(matrix, cell, disk)->loads;

		if (loads && loads < matrix->cell[cell].rounds)
			out_line(out, "  ! %s: %u of %u rounds",
				matrix_row_name(matrix, disk, name), loads,
				matrix->cell[cell].rounds);
	}
	print_disk_warnings(out, matrix, cell);
	matrix_comparison(&noise, matrix, cell, matrix->disks, MATRIX_IOPS);
	if (noise.verdict == ROUNDS_FASTER || noise.verdict == ROUNDS_SLOWER ||
		noise.ratio.high - noise.ratio.low > NOISE)
		out_line(out,
			"  ! the machine was not quiet: %s differs from itself, %.3g to %.3g, "
			"so smaller differences mean nothing",
			matrix->disk[0].name, noise.ratio.low, noise.ratio.high);
}

static void print_cell(struct out *out, const struct matrix *matrix, unsigned cell)
{
	static const char *const head[] = { "disk", "IOPS", "bounds", "bandwidth", "p50", "p99",
		"p99.9", "CPU", "server CPU", "ratio", "verdict" };
	struct table table = TABLE(out, head);
	char text[64];

	cell_text(matrix, cell, text, sizeof(text));
	out_line(out, "%s", "");
	out_line(out, "%s %s, %u round%s", matrix->opt.rw, text, matrix->cell[cell].rounds,
		matrix->cell[cell].rounds == 1 ? "" : "s");
	while (table_pass(&table, head))
		for (unsigned disk = 0; disk <= matrix->disks; disk++)
			if (matrix_row(matrix, cell, disk)->loads)
				print_row(&table, matrix, cell, disk);
	print_bars(out, matrix, cell);
	print_warnings(out, matrix, cell);
}

void matrix_report_text(struct out *out, const struct matrix *matrix)
{
	const struct load_options *load = &matrix->opt.load;
	unsigned name = 0;
	char size[16], text[64];

	for (unsigned i = 0; i < matrix->disks; i++) {
		unsigned len = out_characters(matrix->disk[i].name);

		name = len > name ? len : name;
	}
	out_line(out, "%u job%s, %.3g s per load, %s of each disk", load->jobs,
		load->jobs == 1 ? "" : "s", load->runtime_ms / 1000., out_human(load->size, size));
	for (unsigned i = 0; i < matrix->disks; i++) {
		const struct matrix_disk *disk = &matrix->disk[i];
		int pad = (int)(name - out_characters(disk->name));

		out_line(out, "  %s%*s  %s%s%s", disk->name, pad, "", disk->uri,
			disk->why.err ? ": failed: " : "",
			disk->why.err  ? disk->why.text
			: disk->socket ? ": reads without a rate only"
			: disk->rdma   ? ": reads without a rate, of one job, only"
				       : "");
	}
	for (unsigned cell = 0; cell < matrix->cells; cell++)
		if (matrix->cell[cell].rounds)
			print_cell(out, matrix, cell);
	if (!matrix->cell[0].rounds)
		return;
	out_line(out, "%s", "");
	if (matrix_coverage(matrix))
		out_line(out,
			"bounds: of the median of the rounds, with a probability of %.1f %% or "
			"more%s",
			100 * matrix_coverage(matrix),
			matrix_failed(matrix) ? " if it was measured in all" : "");
	out_line(out, "CPU: time per request of this process, and of the server's if it is known");
	out_line(out, "ratio: of IOPS to %s in the same round; %s is its own noise",
		matrix->disk[0].name, matrix_row_name(matrix, matrix->disks, text));
}

static void json_summary(
	struct out *out, const char *key, const struct rounds_summary *summary, unsigned digits)
{
	out_object(out, key);
	out_real(out, "median", NULL, summary->median, digits);
	out_real(out, "low", NULL, summary->low, digits);
	out_real(out, "high", NULL, summary->high, digits);
	out_real(out, "coverage", NULL, summary->coverage, 4);
	out_real(out, "deviation", NULL, summary->deviation, digits);
	out_end(out);
}

static const char *const figure_key[] = {
	[MATRIX_IOPS] = "iops",
	[MATRIX_P50] = "p50_ns",
	[MATRIX_P99] = "p99_ns",
	[MATRIX_CPU] = "cpu_ns_per_request",
	[MATRIX_SERVER_CPU] = "server_cpu_ns_per_request",
};
static const char *const summary_key[] = {
	[MATRIX_IOPS] = "iops_summary",
	[MATRIX_P50] = "p50_summary",
	[MATRIX_P99] = "p99_summary",
	[MATRIX_CPU] = "cpu_summary",
	[MATRIX_SERVER_CPU] = "server_cpu_summary",
};
static const char *const comparison_key[] = {
	[MATRIX_IOPS] = "iops_comparison",
	[MATRIX_P50] = "p50_comparison",
	[MATRIX_P99] = "p99_comparison",
	[MATRIX_CPU] = "cpu_comparison",
	[MATRIX_SERVER_CPU] = "server_cpu_comparison",
};

static void json_figures(struct out *out, const struct matrix *matrix, unsigned cell, unsigned disk)
{
	const struct matrix_row *row = matrix_row(matrix, cell, disk);
	struct rounds_summary summary;

	for (enum matrix_figure figure = 0; figure < MATRIX_FIGURES; figure++) {
		matrix_summary(&summary, matrix, cell, disk, figure);
		if (summary.count)
			json_summary(out, summary_key[figure], &summary, 3);
	}
	out_list(out, "figures");
	for (unsigned i = 0; i < matrix->cell[cell].rounds; i++) {
		if (row->figure[MATRIX_IOPS][i] <= 0)
			continue;
		out_object(out, NULL);
		out_u64(out, "round", NULL, i + 1);
		for (enum matrix_figure figure = 0; figure < MATRIX_FIGURES; figure++)
			if (row->figure[figure][i] > 0)
				out_real(out, figure_key[figure], NULL, row->figure[figure][i], 3);
		out_end(out);
	}
	out_end(out);
}

static void json_comparison(
	struct out *out, const struct matrix *matrix, unsigned cell, unsigned disk)
{
	struct rounds_comparison comparison;

	out_object(out, "comparison");
	out_text(out, "with", NULL, "%s", matrix->disk[0].name);
	for (enum matrix_figure figure = 0; figure < MATRIX_FIGURES; figure++) {
		matrix_comparison(&comparison, matrix, cell, disk, figure);
		if (!comparison.ratio.count)
			continue;
		out_object(out, comparison_key[figure]);
		out_text(out, "verdict", NULL, "%s", rounds_verdict_name[comparison.verdict]);
		json_summary(out, "ratio", &comparison.ratio, 4);
		out_end(out);
	}
	out_end(out);
}

static void json_row(struct out *out, const struct matrix *matrix, unsigned cell, unsigned disk)
{
	char name[64];
	struct load_report report;

	matrix_load_report(&report, matrix, cell, disk);
	out_object(out, NULL);
	out_text(out, "name", NULL, "%s", matrix_row_name(matrix, disk, name));
	out_bool(out, "again", NULL, disk == matrix->disks);
	out_u64(out, "read_percent", NULL, matrix->cell[cell].read_percent);
	json_figures(out, matrix, cell, disk);
	if (disk)
		json_comparison(out, matrix, cell, disk);
	out_object(out, "total");
	load_report_json(out, &report);
	out_end(out);
	out_end(out);
}

void matrix_report_json(struct out *out, const struct matrix *matrix)
{
	const struct load_options *load = &matrix->opt.load;

	out_text(out, "rw", NULL, "%s", matrix->opt.rw);
	out_u64(out, "numjobs", NULL, load->jobs);
	if (load->flush_every)
		out_u64(out, "fsync", NULL, load->flush_every);
	out_u64(out, "rounds", NULL, matrix->opt.rounds);
	out_real(out, "runtime_seconds", NULL, load->runtime_ms / 1000., 3);
	out_u64(out, "offset_bytes", NULL, load->offset);
	out_u64(out, "range_bytes", NULL, load->size);
	out_bool(out, "interrupted", NULL, matrix->stopped);
	out_list(out, "disks");
	for (unsigned i = 0; i < matrix->disks; i++) {
		out_object(out, NULL);
		out_text(out, "name", NULL, "%s", matrix->disk[i].name);
		out_text(out, "uri", NULL, "%s", matrix->disk[i].uri);
		out_error(out, "error", &matrix->disk[i].why);
		out_end(out);
	}
	out_end(out);
	out_list(out, "rows");
	for (unsigned cell = 0; cell < matrix->cells; cell++)
		for (unsigned disk = 0; disk <= matrix->disks; disk++)
			if (matrix_row(matrix, cell, disk)->loads)
				json_row(out, matrix, cell, disk);
	out_end(out);
}
