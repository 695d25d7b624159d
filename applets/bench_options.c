/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the options of bench and refuse combinations that mean nothing. */
#include "bench.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RUNTIME_MS 5000
#define DRAIN_MS   5000 /* for the last answers */
#define DIAL_MS    5000

/* of --matrix */
#define MATRIX_RUNTIME_MS 500
#define MATRIX_RAMP_MS    100
#define MATRIX_DEPTHS     "1,32"

int bench_usage(struct bench *bench, const char *fmt, const char *word)
{
	diag_set(bench->call->diag, DIAG_USAGE, EINVAL, fmt, word);
	return -EINVAL;
}

/* file:PATH measures any file. */
static int refuse_job(struct bench *bench, const char *path)
{
	if (!load_is_fio_job(path))
		return 0;
	bench_usage(bench, "job files of fio are not supported%s", "");
	diag_ctx(bench->call->diag, "%s", path);
	diag_hint(bench->call->diag,
		"use its keys as options: rdmastor bench --rw=randread --bs=4k --filename=DISK");
	return -EINVAL;
}

/* Options of fio's command lines. */
static int read_fio(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const struct {
		const char *name;
		bool on;
	} ignored[] = { { "ioengine", opts->ioengine }, { "direct", opts->direct.on },
		{ "thread", opts->thread.on }, { "group_reporting", opts->group_reporting.on } };
	struct call *call = bench->call;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (ignored[i].on && call->loop.verbose)
			call_warn(call, "--%s: ignored", ignored[i].name);
	if (opts->direct.has_number && !opts->direct.number)
		call_warn(call, "--direct 0: ignored: the page cache is bypassed where possible");
	if (!opts->filename)
		return call->operands ? refuse_job(bench, call->operand[0]) : 0;
	if (call->operands)
		return bench_usage(
			bench, "--filename %s: the disk is an operand already", opts->filename);
	bench->filename = (char *)opts->filename;
	call->operand = &bench->filename;
	call->operands = 1;
	return 0;
}

/* --rw without "rand" */
static const char *pattern(const struct bench_options *opts)
{
	return opts->rw + (strncmp(opts->rw, "rand", 4) ? 0 : 4);
}

static enum load_change change(const struct bench_options *opts)
{
	const char *what = pattern(opts);

	return !strcmp(what, "trim") ? LOAD_TRIM : !strcmp(what, "zero") ? LOAD_ZERO : LOAD_DATA;
}

bool bench_writes(const struct bench *bench)
{
	for (unsigned i = 0; i < bench->reads.count; i++)
		if (bench->reads.value[i] < 100)
			return true;
	return false;
}

static int check_verify(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const char *other = opts->rate || opts->rate_iops ? "a rate"
			    : opts->bssplit               ? "--bssplit"
			    : change(opts)                ? "--rw trim or zero"
							  : NULL;

	if (opts->verify && other)
		return bench_usage(bench, "--verify and %s can't be combined", other);
	if (opts->verify_state && !opts->verify)
		return bench_usage(bench, "--verify-state requires --verify%s", "");
	if (!opts->verify_only)
		return 0;
	other = opts->verify                  ? "--verify"
		: opts->bs                    ? "--bs"
		: opts->size                  ? "--size"
		: opts->offset                ? "--offset"
		: opts->runtime_ms            ? "--runtime"
		: opts->log                   ? "--log"
		: opts->hgrm                  ? "--hgrm"
		: bench->reads.value[0] < 100 ? "a --rw that writes"
					      : other;
	return other ? bench_usage(bench, "--verify-only and %s can't be combined", other) : 0;
}

static int require_root(struct bench *bench)
{
	if (!geteuid())
		return 0;
	diag_set(bench->call->diag, DIAG_PERMISSION, EPERM, "--kernel requires root");
	diag_hint(bench->call->diag, "run as root; without --kernel no privileges are needed");
	return -EPERM;
}

static int check_words(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const struct load_options *load = &bench->report.load;
	bool raw = opts->rdma || opts->tcp || opts->listen;
	int err = bench_check_perftest(bench);
	const char *row = opts->op ? "op" : opts->test ? "test" : opts->iters ? "iters" : NULL;
	const char *matrix = opts->baseline ? "baseline"
			     : opts->csv    ? "csv"
			     : opts->svg    ? "svg"
			     : opts->rounds ? "rounds"
			     : opts->all    ? "all"
			     : opts->kernel ? "kernel"
					    : NULL;

	if (err)
		return err;
	if (matrix && !opts->matrix)
		return bench_usage(bench, "--%s requires --matrix", matrix);
	if (opts->kernel && !opts->all)
		return bench_usage(bench, "--kernel requires --all%s", "");
	if (opts->fail_slower && !opts->baseline)
		return bench_usage(bench, "--fail-slower requires --baseline%s", "");
	if (opts->rate && opts->rate_iops)
		return bench_usage(bench, "--rate and --rate-iops can't be combined%s", "");
	if (opts->rate_process && !opts->rate && !opts->rate_iops)
		return bench_usage(bench, "--rate-process requires --rate or --rate-iops%s", "");
	if (opts->bssplit && opts->bs)
		return bench_usage(bench, "--bssplit and --bs can't be combined%s", "");
	if (opts->fsync && !bench_writes(bench))
		return bench_usage(bench, "--fsync requires a --rw that writes%s", "");
	if (!opts->listen && opts->rdma && opts->tcp)
		return bench_usage(bench, "--rdma and --tcp can't be combined%s", "");
	if (!opts->listen && !opts->all && !bench->call->operands)
		return bench_usage(bench, "no %s given", raw ? "HOST" : "URI");
	if (!opts->matrix && bench->call->operands > 1) {
		bench_usage(bench, "unexpected operand '%s'", bench->call->operand[1]);
		if (opts->rdma && opts->common.quiet)
			diag_hint(bench->call->diag, "-q is --quiet; perftest's -q: use --qp N");
		else
			diag_hint(bench->call->diag, "to compare disks use --matrix");
		return -EINVAL;
	}
	if (row && (!opts->rdma || opts->listen))
		return bench_usage(bench, "--%s requires --rdma", row);
	if (opts->ping && (opts->tcp || !raw))
		return bench_usage(bench, "--ping requires --rdma or --listen%s", "");
	if (opts->user && !opts->listen)
		return bench_usage(bench, "--user requires --listen%s", "");
	if (opts->ping && (opts->op || opts->test))
		return bench_usage(bench, "--ping and --%s can't be combined", row);
	if (opts->hgrm && (opts->rdma || opts->listen))
		return bench_usage(bench, "--hgrm requires a disk or --tcp%s", "");
	if (raw &&
		(opts->verify || opts->verify_only || opts->size || opts->offset || opts->rate ||
			opts->rate_iops || opts->bssplit || opts->log || load->read_percent < 100))
		return bench_usage(bench, "--%s requires a disk",
			opts->verify                    ? "verify"
			: opts->verify_only             ? "verify-only"
			: opts->bssplit                 ? "bssplit"
			: opts->log                     ? "log"
			: opts->size                    ? "size"
			: opts->offset                  ? "offset"
			: opts->rate || opts->rate_iops ? "rate"
							: "rw");
	if (bench->fio && (opts->rdma || opts->listen))
		return bench_usage(
			bench, "--output json+: fio has no such results; use --json%s", "");
	return opts->kernel ? require_root(bench) : 0;
}

static int read_list(struct bench *bench, struct matrix_list *list, const char *text,
	const char *option, uint32_t least, uint32_t most)
{
	int err = matrix_list_read(
		list, text, option, list == &bench->bs, least, most, bench->call->diag);

	if (!err && list->count > 1 && !bench->opts->matrix) {
		diag_set(bench->call->diag, DIAG_USAGE, EINVAL, "%s %s: a list requires --matrix",
			option, text);
		err = -EINVAL;
	}
	return err;
}

static int read_lists(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const char *mix = pattern(opts);
	const char *reads = !strcmp(mix, "read")                            ? "100"
			    : strcmp(mix, "rw") && strcmp(mix, "readwrite") ? "0"
			    : opts->rwmixread                               ? opts->rwmixread
									    : "50";
	struct matrix_list ignored;
	int err = opts->rwmixread ? matrix_list_read(&ignored, opts->rwmixread, "--rwmixread",
					    false, 0, 100, bench->call->diag)
				  : 0;

	if (!err && !opts->rdma && !opts->listen)
		err = read_list(
			bench, &bench->bs, opts->bs ? opts->bs : "4K", "--bs", 1, UINT32_MAX);
	if (!err)
		err = read_list(bench, &bench->depth,
			opts->iodepth  ? opts->iodepth
			: opts->matrix ? MATRIX_DEPTHS
				       : "1",
			"--iodepth", 1, LOAD_DEPTH_MAX);
	return err ? err : read_list(bench, &bench->reads, reads, "--rwmixread", 0, 100);
}

static uint32_t runtime_ms(const struct bench_options *opts)
{
	if (opts->runtime_ms)
		return opts->runtime_ms;
	return opts->matrix ? MATRIX_RUNTIME_MS : opts->size ? 0 : RUNTIME_MS;
}

static int read_load(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const char *output = opts->common.output;
	bool dial = opts->common.timeout_ms || opts->common.no_timeout;
	int err = read_lists(bench);

	if (err)
		return err;
	if (opts->listen && opts->numjobs > BENCH_LISTENERS)
		return diag_set(bench->call->diag, DIAG_USAGE, ERANGE, "--numjobs: must be 1 to %d",
			BENCH_LISTENERS);
	if (opts->time_based && !opts->runtime_ms)
		return bench_usage(bench, "--time-based requires --runtime%s", "");
	bench->fio = opts->fio_json || (output && !strcmp(output, "json+"));
	if (bench->fio)
		bench->call->out->schema = "bench.fio";
	else if (opts->matrix)
		bench->call->out->schema = "bench.matrix";
	bench->bar = isatty(STDERR_FILENO) && !opts->common.quiet;
	bench->report.name = opts->name;
	bench->report.rw = opts->rw;
	bench->report.bssplit = opts->bssplit;
	bench->report.verbose = bench->call->loop.verbose;
	bench->report.load = (struct load_options){
		.read_percent = (uint8_t)bench->reads.value[0],
		.change = change(opts),
		.flush_every = opts->fsync,
		.random = !strncmp(opts->rw, "rand", 4),
		.verify = opts->verify,
		.verify_state = opts->verify_state,
		.bs = bench->bs.value[0],
		.depth = bench->depth.value[0],
		.poisson = opts->rate_process && !strcmp(opts->rate_process, "poisson"),
		.jobs = opts->numjobs,
		.offset = opts->offset,
		.size = opts->size,
		.bytes = opts->time_based || opts->matrix ? 0 : opts->size,
		.runtime_ms = runtime_ms(opts),
		.ramp_ms = opts->ramp_ms != BENCH_AUTO ? opts->ramp_ms
			   : opts->matrix              ? MATRIX_RAMP_MS
						       : 0,
		.drain_ms = DRAIN_MS,
		.timeout_ms = dial ? opts->common.timeout_ms : DIAL_MS,
		.stop = &bench->task.stop,
	};
	if (opts->bssplit)
		err = load_split_read(&bench->report.load, opts->bssplit, bench->call->diag);
	if (!err)
		err = check_verify(bench);
	if (!err && opts->verify_only)
		err = load_state_options(&bench->report.load, opts->verify_only, bench->call->diag);
	bench->report.load.rate =
		opts->rate_iops ? (double)opts->rate_iops
				: (double)opts->rate / load_mean_size(&bench->report.load);
	return err ? err : check_words(bench);
}

int bench_read_options(struct bench *bench)
{
	int err = read_fio(bench);

	return err ? err : read_load(bench);
}
