/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench --matrix: open the disks, show the progress, and write the results. */
#include "bench_matrix.h"
#include "bench_nfs.h"
#include "disk_open.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 7
#define MEMORY "ram:64M" /* the disk of --all */

static void show_progress(const struct matrix_progress *progress, void *arg)
{
	const struct bench *bench = arg;
	char line[160], bs[16];

	if (!bench->bar)
		return;
	snprintf(line, sizeof(line), "round %u of %u, %s iodepth %u, %s: %.0f IOPS, %.0f s left",
		progress->round, progress->rounds, out_human(progress->cell->bs, bs),
		progress->cell->depth, progress->disk->name, progress->iops, progress->left);
	out_bar(line);
}

static int check_words(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const struct {
		const char *name;
		bool on;
	} others[] = { { "--verify", opts->verify }, { "--verify-only", opts->verify_only },
		{ "--rdma", opts->rdma }, { "--tcp", opts->tcp }, { "--listen", opts->listen },
		{ "--ping", opts->ping }, { "--output json+", bench->fio },
		{ "--hgrm", opts->hgrm }, { "--log", opts->log }, { "--bssplit", opts->bssplit },
		{ "--time-based", opts->time_based },
		{ "--name", strcmp(opts->name, bench->call->applet->name) } };
	unsigned disks = bench->call->operands;
	unsigned most = opts->all ? 1 : MATRIX_DISKS;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i].on)
			return bench_usage(
				bench, "--matrix and %s can't be combined", others[i].name);
	if (opts->baseline && bench->report.load.rate > 0)
		return bench_usage(bench, "--baseline and a rate can't be combined%s", "");
	if (opts->fail_slower && opts->rounds && opts->rounds < MATRIX_VERDICT)
		return bench_usage(bench, "--fail-slower requires at least 5 --rounds%s", "");
	if (opts->rwmixread && !strstr(opts->rw, "rw") && strcmp(opts->rw, "readwrite"))
		return bench_usage(bench, "--rwmixread requires --rw rw or randrw%s", "");
	if (opts->rate && bench->bs.count > 1)
		return bench_usage(bench, "--rate requires a single --bs: use --rate-iops%s", "");
	if (!disks && !opts->all)
		return bench_usage(bench, "no %s given", "URI");
	if (disks > most)
		return diag_set(bench->call->diag, DIAG_USAGE, E2BIG,
			"%u disks: at most %u with --matrix%s", disks, most,
			opts->all ? " --all" : "");
	return 0;
}

static void print_written(const char *path, void *arg)
{
	const struct call *call = arg;

	call_note(call, "wrote %s", path);
}

static int rehearse(struct bench *bench, const struct matrix *matrix)
{
	struct out *out = bench->call->out;
	const struct load_options *load = &matrix->opt.load;
	unsigned loads = matrix_loads(matrix);
	double seconds = loads * ((double)load->runtime_ms + load->ramp_ms) / 1000;

	out_u64(out, "loads", NULL, loads);
	out_real(out, "seconds", NULL, seconds, 1);
	out_list(out, "disks");
	for (unsigned i = 0; i < matrix->disks; i++) {
		out_object(out, NULL);
		out_text(out, "name", NULL, "%s", matrix->disk[i].name);
		out_text(out, "uri", NULL, "%s", matrix->disk[i].uri);
		out_error(out, "error", &matrix->disk[i].why);
		out_end(out);
	}
	out_end(out);
	for (unsigned i = 0; i < matrix->disks; i++)
		if (matrix->disk[i].bdev)
			out_line(out, "would %s %s (%s)",
				bench_writes(bench) ? "overwrite" : "read", matrix->disk[i].uri,
				matrix->disk[i].name);
	out_line(out, "%u loads, %.0f s", loads, seconds);
	return matrix_failed(matrix) ? EXIT_PARTLY : EXIT_DONE;
}

/* Warn of the disks that failed during the measurement. The first failure is the command's if none
 * is left. */
static int report_failures(struct bench *bench, const struct matrix *matrix)
{
	for (unsigned i = 0; i < matrix->disks; i++)
		if (matrix->disk[i].bdev || matrix->disk[i].socket || matrix->disk[i].rdma)
			bench_warn_failure(bench, &matrix->disk[i]);
	if (matrix_failed(matrix) < matrix->disks)
		return 0;
	*bench->call->diag = matrix->disk[0].why;
	return -bench->call->diag->err;
}

static int report(
	struct bench *bench, const struct matrix *matrix, const struct matrix_baseline *baseline)
{
	const struct bench_options *opts = bench->opts;
	struct call *call = bench->call;
	bool compared = true;
	double loss = 0;
	int err = 0;

	out_bar("");
	if (call->out->json)
		matrix_report_json(call->out, matrix);
	else
		matrix_report_text(call->out, matrix);
	if (baseline)
		loss = matrix_report_baseline(call->out, matrix, baseline, &compared);
	if (opts->csv)
		err = matrix_report_csv(opts->csv, matrix, call->diag);
	if (!err && opts->svg)
		err = matrix_report_svg(opts->svg, matrix, print_written, call, call->diag);
	if (!err)
		err = report_failures(bench, matrix);
	if (!err && bench->task.timed_out)
		err = task_timed_out(call);
	if (err)
		return err;
	if (opts->fail_slower && loss >= opts->fail_slower) {
		call_warn(call, "slower than in %s by up to %.3g %%", opts->baseline, loss);
		return EXIT_PARTLY;
	}
	if (opts->fail_slower && !compared)
		call_warn(call, "%s: not all rows could be compared", opts->baseline);
	return matrix->stopped || matrix_failed(matrix) || (opts->fail_slower && !compared)
		       ? EXIT_PARTLY
		       : EXIT_DONE;
}

static struct matrix_options options_of(struct bench *bench)
{
	return (struct matrix_options){ .bs = bench->bs,
		.depth = bench->depth,
		.reads = bench->reads,
		.rw = bench->opts->rw,
		.rounds = bench->opts->rounds ? bench->opts->rounds : ROUNDS,
		.load = bench->report.load,
		.progress = show_progress,
		.arg = bench };
}

int bench_check_plan(struct bench *bench, struct bdev *bdev)
{
	const struct matrix_options opt = options_of(bench);
	struct matrix_disk disk = { .name = bdev->uri, .uri = bdev->uri, .bdev = bdev };
	struct matrix *matrix;
	int err = matrix_new(&matrix, &opt, &disk, 1, bench->call->diag);

	matrix_free(matrix);
	return err;
}

static int measure(struct bench *bench, struct bench_sources *sources)
{
	const struct matrix_options opt = options_of(bench);
	struct matrix *matrix;
	int rc = matrix_new(&matrix, &opt, sources->disk, sources->count, bench->call->diag);

	if (!rc && sources->baseline)
		rc = matrix_baseline_check(sources->baseline, matrix, bench->call->diag);
	if (!rc && bench->opts->common.dry_run) {
		rc = rehearse(bench, matrix);
	} else if (!rc) {
		bench->task.running = true;
		matrix_run(matrix, bench->task.loop);
		rc = report(bench, matrix, sources->baseline);
	}
	matrix_free(matrix);
	return rc;
}

static void show_filling(const struct load_progress *progress, void *arg)
{
	const struct bench *bench = arg;
	char line[64];

	snprintf(line, sizeof(line), "filling the disk: %.0f s", progress->seconds);
	if (bench->bar)
		out_bar(line);
}

/* A disk in memory is filled first, as reading a hole costs less than reading data: the part that
 * is measured, by one of its servers each. A disk that fails is left out. */
static int fill(struct bench *bench, struct bench_sources *sources)
{
	struct load_options load = bench->report.load;
	struct load_result *result = calloc(1, sizeof(*result));
	pid_t filled = -1;
	struct diag why;
	int err = result ? 0 : diag_sys(bench->call->diag, ENOMEM, "figures");

	load.read_percent = 0;
	load.change = LOAD_DATA;
	load.flush_every = 0;
	load.random = false;
	load.depth = 8;
	load.jobs = 1;
	load.runtime_ms = load.ramp_ms = 0;
	load.rate = 0;
	load.progress = show_filling;
	for (unsigned i = 0; !err && i < sources->count; i++) {
		struct matrix_disk *disk = &sources->disk[i];

		if (!disk->bdev || disk->server == filled)
			continue;
		load.size -= load.size % disk->bdev->lim.block;
		load.bytes = load.size ? load.size : disk->bdev->lim.size - load.offset;
		for (load.bs = 64 << 10; load.bytes % load.bs; load.bs /= 2)
			;
		why = (struct diag){ 0 };
		err = load_disk(bench->task.loop, disk->bdev, &load, result, &why);
		if (bench->task.stop) {
			err = -EINTR;
		} else if (err && why.code == DIAG_USAGE) {
			*bench->call->diag = why;
		} else if (err) {
			diag_ctx(&why, "%s", disk->uri);
			disk->why = why;
			err = 0;
		} else {
			filled = disk->server;
		}
	}
	free(result);
	return err;
}

/* Check the disk of --all without serving it. */
static int rehearse_all(struct bench *bench, struct bench_sources *sources, char *disk)
{
	int rc;

	sources->uri[sources->count++] = disk;
	rc = bench_open_sources(bench, sources, bench_writes(bench));
	if (!rc) {
		bench_servers_rehearse(sources, bench->opts->kernel);
		rc = measure(bench, sources);
	}
	sources->count = 1; /* the others are the same disk */
	bench_close_sources(sources);
	return rc;
}

static int measure_all(struct bench *bench, struct bench_sources *sources)
{
	char standard[] = MEMORY, *disk = standard;
	struct bench_servers *servers;
	bool memory;
	int rc;

	if (bench->call->operands)
		disk = bench->call->operand[0];
	if (bench->opts->common.dry_run)
		return rehearse_all(bench, sources, disk);
	memory = bdev_uri_in_memory(disk);
	bench->task.running = true; /* the servers have to be ended */
	rc = bench_servers_start(bench, disk, &servers);
	if (!rc)
		rc = bench_servers_sources(servers, sources, bench->call->diag);
	if (!rc)
		rc = bench_open_sources(bench, sources, memory || bench_writes(bench));
	if (!rc && bench_nfs_fits(disk))
		rc = fill(bench, sources);
	if (!rc)
		rc = measure(bench, sources);
	bench_close_sources(sources);
	if (bench_servers_stop(bench, servers) && rc == EXIT_DONE)
		rc = EXIT_PARTLY;
	return rc;
}

static int measure_given(struct bench *bench, struct bench_sources *sources)
{
	int rc;

	for (unsigned i = 0; i < bench->call->operands; i++)
		sources->uri[sources->count++] = bench->call->operand[i];
	rc = bench_open_sources(bench, sources, bench_writes(bench));
	if (!rc)
		rc = measure(bench, sources);
	bench_close_sources(sources);
	return rc;
}

int bench_matrix(struct bench *bench)
{
	struct bench_sources *sources = calloc(1, sizeof(*sources));
	int rc = sources ? check_words(bench) : diag_sys(bench->call->diag, ENOMEM, "disks");

	if (!rc && bench->opts->csv)
		rc = matrix_check_csv(bench->opts->csv, bench->call->diag);
	if (!rc && bench->opts->baseline)
		rc = matrix_baseline_read(&sources->baseline, bench->opts->baseline,
			bench->opts->rw, &bench->report.load, bench->call->diag);
	if (!rc)
		rc = bench->opts->all ? measure_all(bench, sources) : measure_given(bench, sources);
	if (sources)
		matrix_baseline_free(sources->baseline);
	free(sources);
	if (rc == -EINTR && bench->task.timed_out)
		return task_timed_out(bench->call);
	if (rc == -EINTR) {
		bench->call->signo = bench->task.signo;
		return EXIT_PARTLY;
	}
	return rc;
}
