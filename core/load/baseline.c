/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Compare a matrix with an earlier one, from its JSON document. The rounds of both are not pairs,
 * so their ranks are compared. */
#include "figure.h"
#include "matrix_show.h"
#include "rank_test.h"
#include "report_file.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX    (64u << 20)
#define VERSION     2 /* of our JSON documents */
#define SIGNIFICANT 0.05
#define IOPS_MIN    1e-3 /* bounds of valid figures */
#define IOPS_MAX    1e15

struct matrix_baseline {
	cJSON *document;
	const char *path; /* the caller's */
};

struct change {
	double before, now; /* median IOPS */
	double low, high;   /* bounds of now / before */
	double p, adjusted; /* for the number of rows */
	enum rounds_verdict verdict;
};

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static const char *text(const cJSON *object, const char *key)
{
	const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return value ? value : "";
}

static bool is_measurement(const cJSON *document)
{
	return *text(document, "rw") && number(document, "numjobs") >= 0 &&
	       number(document, "offset_bytes") >= 0 && number(document, "range_bytes") >= 0 &&
	       cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(document, "rows"));
}

static const char *pattern(const char *rw)
{
	return strcmp(rw, "readwrite") ? rw : "rw";
}

static cJSON *parse(FILE *from, size_t size)
{
	char *all = malloc(size + 1);
	cJSON *document = NULL;

	if (all && fread(all, 1, size, from) == size)
		document = cJSON_ParseWithLength(all, size);
	free(all);
	return document;
}

static int read_document(struct matrix_baseline *baseline, struct diag *diag)
{
	FILE *from = report_reopen(baseline->path, diag);
	struct stat st;
	int err = 0;

	if (!from)
		return -diag->err;
	if (fstat(fileno(from), &st))
		err = diag_sys(diag, errno, "stat");
	else if (st.st_size > (off_t)FILE_MAX)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"expected a file of at most 64 MiB with the JSON of bench --matrix");
	else
		baseline->document = parse(from, (size_t)st.st_size);
	fclose(from);
	if (!err && strcmp(text(baseline->document, "schema"), "rdmastor.bench.matrix"))
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"is not the JSON of bench --matrix: \"schema\" is not "
			"\"rdmastor.bench.matrix\"");
	else if (!err && number(baseline->document, "version") != VERSION)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "\"version\" is not %d", VERSION);
	else if (!err && !is_measurement(baseline->document))
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"has no measurement: \"rw\", \"numjobs\", \"offset_bytes\", "
			"\"range_bytes\" or \"rows\" is missing");
	return err;
}

int matrix_baseline_read(struct matrix_baseline **read, const char *path, const char *rw,
	const struct load_options *load, struct diag *diag)
{
	struct matrix_baseline *baseline = *read = calloc(1, sizeof(*baseline));
	int err;

	if (!baseline)
		return diag_sys(diag, ENOMEM, "baseline");
	baseline->path = path;
	err = read_document(baseline, diag);
	if (!err && strcmp(pattern(text(baseline->document, "rw")), pattern(rw)))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "was measured with --rw %.16s",
			text(baseline->document, "rw"));
	if (!err && number(baseline->document, "numjobs") != load->jobs)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "was measured with --numjobs %.0f",
			number(baseline->document, "numjobs"));
	if (!err && number(baseline->document, "fsync") !=
			    (load->flush_every ? (double)load->flush_every : -1))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "was measured with another --fsync");
	if (!err && number(baseline->document, "offset_bytes") != (double)load->offset)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "was measured with --offset %.0f",
			number(baseline->document, "offset_bytes"));
	return err ? diag_ctx(diag, "%s", path), err : 0;
}

int matrix_baseline_check(
	const struct matrix_baseline *baseline, const struct matrix *matrix, struct diag *diag)
{
	double range = number(baseline->document, "range_bytes");

	if (range == (double)matrix->opt.load.size)
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL, "was measured with --size %.0f, not %.0f", range,
		(double)matrix->opt.load.size);
	diag_ctx(diag, "%s", baseline->path);
	return -EINVAL;
}

void matrix_baseline_free(struct matrix_baseline *baseline)
{
	if (baseline)
		cJSON_Delete(baseline->document);
	free(baseline);
}

/* The first item of a list, or NULL. */
static const cJSON *first(const cJSON *object, const char *key)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsArray(list) ? list->child : NULL;
}

static const cJSON *find_row(const struct matrix_baseline *baseline, const struct matrix *matrix,
	unsigned cell, unsigned disk)
{
	const struct matrix_cell *like = &matrix->cell[cell];

	for (const cJSON *row = first(baseline->document, "rows"); row; row = row->next) {
		const cJSON *total = cJSON_GetObjectItemCaseSensitive(row, "total");

		if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "again")) &&
			!strcmp(text(row, "name"), matrix->disk[disk].name) &&
			number(row, "read_percent") == like->read_percent &&
			number(total, "bs") == like->bs &&
			number(total, "iodepth") == like->depth && number(total, "rate_iops") < 0)
			return row;
	}
	return NULL;
}

static bool compare(struct change *change, const struct matrix_baseline *baseline,
	const struct matrix *matrix, unsigned cell, unsigned disk)
{
	const cJSON *row = find_row(baseline, matrix, cell, disk);
	const double *figure = matrix_row(matrix, cell, disk)->figure[MATRIX_IOPS];
	double before[ROUNDS_MAX], now[ROUNDS_MAX];
	struct rounds_summary was, is;
	struct rank_test test;
	unsigned befores = 0, nows = 0;

	for (const cJSON *round = first(row, "figures"); round; round = round->next) {
		double iops = number(round, "iops");

		if (iops >= IOPS_MIN && iops < IOPS_MAX && befores < ROUNDS_MAX)
			before[befores++] = iops;
	}
	for (unsigned i = 0; i < matrix->cell[cell].rounds; i++)
		if (figure[i] > 0)
			now[nows++] = figure[i];
	if (!befores || !nows)
		return false;
	rounds_summarize(&was, before, befores);
	rounds_summarize(&is, now, nows);
	rank_test(&test, now, nows, before, befores);
	*change = (struct change){ .before = was.median,
		.now = is.median,
		.low = is.low / was.high,
		.high = is.high / was.low,
		.p = test.p,
		.adjusted = 1,
		.verdict = befores < ROUNDS_LEAST || nows < ROUNDS_LEAST ? ROUNDS_UNKNOWN
									 : ROUNDS_UNDECIDED };
	return true;
}

static void show_row(struct out *out, struct table *table, const struct matrix *matrix,
	unsigned nth, unsigned disk, const struct change *change)
{
	const struct matrix_cell *cell = &matrix->cell[nth];
	char bs[16], depth[16], reads[16], cells[4][24];

	if (out->json) {
		out_object(out, NULL);
		out_text(out, "name", NULL, "%s", matrix->disk[disk].name);
		out_u64(out, "bs", NULL, cell->bs);
		out_u64(out, "iodepth", NULL, cell->depth);
		out_u64(out, "read_percent", NULL, cell->read_percent);
		out_real(out, "iops_before", NULL, change->before, 3);
		out_real(out, "iops", NULL, change->now, 3);
		out_real(out, "p", NULL, change->p, 6);
		out_real(out, "p_adjusted", NULL, change->adjusted, 6);
		out_text(out, "verdict", NULL, "%s", rounds_verdict_name[change->verdict]);
		out_end(out);
		return;
	}
	snprintf(depth, sizeof(depth), "%u", cell->depth);
	snprintf(reads, sizeof(reads), "%u %%", cell->read_percent);
	snprintf(cells[2], sizeof(cells[2]), "%+.3g %%", 100 * (change->now / change->before - 1));
	snprintf(cells[3], sizeof(cells[3]), "%.2g", change->adjusted);
	table_row(table, (const char *const[]){ matrix->disk[disk].name, out_human(cell->bs, bs),
				 reads, depth, figure_text(change->before, FIGURE_COUNT, cells[0]),
				 figure_text(change->now, FIGURE_COUNT, cells[1]), cells[2],
				 cells[3], matrix_verdict_text(change->verdict) });
}

/* What all rows say together. */
struct changes {
	double p[RANK_TESTS];      /* adjusted, of the rows with enough rounds */
	double loss;               /* the greatest, in percent */
	unsigned missing, unknown; /* rows that only one has; too few rounds */
};

_Static_assert(RANK_TESTS >= MATRIX_CELLS * MATRIX_DISKS, "");

static void adjust(struct changes *changes, const struct matrix *matrix,
	const struct matrix_baseline *baseline)
{
	struct change change;
	unsigned count = 0;

	for (unsigned cell = 0; cell < matrix->cells; cell++)
		for (unsigned disk = 0; disk < matrix->disks; disk++)
			if (compare(&change, baseline, matrix, cell, disk) &&
				change.verdict != ROUNDS_UNKNOWN)
				changes->p[count++] = change.p;
	rank_adjust(changes->p, count);
}

static void show_rows(struct out *out, struct table *table, const struct matrix *matrix,
	const struct matrix_baseline *baseline, struct changes *changes)
{
	struct change change;
	unsigned nth = 0;

	changes->loss = changes->missing = changes->unknown = 0;
	for (unsigned cell = 0; cell < matrix->cells; cell++)
		for (unsigned disk = 0; disk < matrix->disks; disk++) {
			double lost;

			if (!compare(&change, baseline, matrix, cell, disk)) {
				changes->missing += !!matrix_row(matrix, cell, disk)->loads;
				continue;
			}
			if (change.verdict != ROUNDS_UNKNOWN) {
				change.adjusted = changes->p[nth++];
				change.verdict =
					rounds_decide(change.now / change.before, change.low,
						change.high, change.adjusted < SIGNIFICANT, true);
			}
			show_row(out, table, matrix, cell, disk, &change);
			lost = 100 * (1 - change.now / change.before);
			changes->unknown += change.verdict == ROUNDS_UNKNOWN;
			if (change.verdict == ROUNDS_SLOWER && lost > changes->loss)
				changes->loss = lost;
		}
}

double matrix_report_baseline(struct out *out, const struct matrix *matrix,
	const struct matrix_baseline *baseline, bool *compared)
{
	static const char *const head[] = { "disk", "bs", "reads", "iodepth", "IOPS before", "now",
		"change", "p", "verdict" };
	struct table table = TABLE(out, head);
	double runtime = number(baseline->document, "runtime_seconds");
	struct changes changes;

	adjust(&changes, matrix, baseline);
	if (out->json) {
		out_object(out, "baseline");
		out_text(out, "file", NULL, "%s", baseline->path);
		if (runtime >= 0)
			out_real(out, "runtime_seconds", NULL, runtime, 3);
		out_list(out, "rows");
		show_rows(out, &table, matrix, baseline, &changes);
		out_end(out);
		out_u64(out, "missing", NULL, changes.missing);
		out_end(out);
		*compared = !changes.missing && !changes.unknown;
		return changes.loss;
	}
	out_line(out, "%s", "");
	out_line(out, "compared with %s (p: probability of such a difference in any row by chance)",
		baseline->path);
	while (table_pass(&table, head))
		show_rows(out, &table, matrix, baseline, &changes);
	if (runtime * 1000 < matrix->opt.load.runtime_ms - 0.5 ||
		runtime * 1000 > matrix->opt.load.runtime_ms + 0.5)
		out_line(out, "  ! it was measured with --runtime %.3g", runtime);
	if (changes.missing)
		out_line(out, "%u row%s of this measurement %s not in it", changes.missing,
			changes.missing == 1 ? "" : "s", changes.missing == 1 ? "is" : "are");
	*compared = !changes.missing && !changes.unknown;
	return changes.loss;
}
