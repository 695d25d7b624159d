/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Append a matrix to a table of comma-separated values (RFC 4180), a line per load. */
#include "matrix_show.h"
#include "report_file.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define HEADING                                                                                    \
	"time,name,uri,again,rw,read_percent,bs,iodepth,numjobs,round,iops,bytes_per_second,"      \
	"p50_ns,p99_ns,cpu_ns_per_request,server_cpu_ns_per_request,rate_iops,rate_process,"       \
	"offset_bytes,range_bytes,runtime_seconds,fsync\r\n"

static void put_quoted(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	fputc('"', to);
}

/* 0: unknown */
static void put_known(FILE *to, double value, int digits)
{
	if (value > 0)
		fprintf(to, "%.*f", digits, value);
	fputc(',', to);
}

static void put_row(
	FILE *to, const struct matrix *matrix, const char *when, unsigned cell_nth, unsigned disk)
{
	const struct matrix_cell *cell = &matrix->cell[cell_nth];
	const struct matrix_row *row = matrix_row(matrix, cell_nth, disk);
	const struct matrix_disk *of = &matrix->disk[disk < matrix->disks ? disk : 0];
	const struct load_options *load = &matrix->opt.load;

	for (unsigned i = 0; i < cell->rounds; i++) {
		if (row->figure[MATRIX_IOPS][i] <= 0)
			continue;
		fprintf(to, "%s,", when);
		put_quoted(to, of->name);
		fputc(',', to);
		put_quoted(to, of->uri);
		fprintf(to, ",%d,%s,%u,%u,%u,%u,%u,%.3f,%.0f,%.0f,", disk == matrix->disks,
			matrix->opt.rw, cell->read_percent, cell->bs, cell->depth, load->jobs,
			i + 1, row->figure[MATRIX_IOPS][i], row->figure[MATRIX_IOPS][i] * cell->bs,
			row->figure[MATRIX_P50][i]);
		put_known(to, row->figure[MATRIX_P99][i], 0);
		fprintf(to, "%.1f,", row->figure[MATRIX_CPU][i]);
		put_known(to, row->figure[MATRIX_SERVER_CPU][i], 1);
		put_known(to, load->rate, 3);
		fprintf(to, "%s,%" PRIu64 ",%" PRIu64 ",%.3f,",
			!(load->rate > 0) ? ""
			: load->poisson   ? "poisson"
					  : "constant",
			load->offset, load->size, load->runtime_ms / 1000.);
		if (load->flush_every)
			fprintf(to, "%" PRIu32, load->flush_every);
		fputs("\r\n", to);
	}
}

static void write_all(FILE *to, const struct matrix *matrix)
{
	time_t now = time(NULL);
	char when[32];
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	fseek(to, 0, SEEK_END);
	if (ftell(to) <= 0)
		fputs(HEADING, to);
	for (unsigned cell = 0; cell < matrix->cells; cell++)
		for (unsigned disk = 0; disk <= matrix->disks; disk++)
			put_row(to, matrix, when, cell, disk);
}

int matrix_check_csv(const char *path, struct diag *diag)
{
	char begin[sizeof(HEADING)] = "";
	struct stat st;
	FILE *file;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	file = report_reopen(path, diag);
	if (!file)
		return -diag->err;
	(void)!fread(begin, 1, sizeof(begin) - 1, file);
	fclose(file);
	if (!strcmp(begin, HEADING))
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL, "does not begin with the heading of --csv");
	diag_ctx(diag, "%s", path);
	return -EINVAL;
}

int matrix_report_csv(const char *path, const struct matrix *matrix, struct diag *diag)
{
	FILE *to = report_open(path, true, diag);

	if (!to)
		return -diag->err;
	write_all(to, matrix);
	return report_close(to, path, diag);
}
