/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench: measure a disk with fio's option names. Read the options, refuse what would do harm, show
 * the progress, and warn if the results are not reliable; the load itself is core/load's. */
#include "bench.h"
#include "disk_open.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSEC        1000000ull
#define AUTO        UINT32_MAX
#define RUNTIME_MS  5000
#define DRAIN_MS    5000 /* for the last answers */
#define CLOCK_READS 1000
#define DIAL_MS     5000

#define AT(field) offsetof(struct bench_options, field)
static const struct opt rows[] = {
	{ "rw", 0, OPT_TEXT, AT(rw), "read|write|randread|randwrite|rw|readwrite|randrw",
		"access pattern; writing destroys data; default randread" },
	{ "bs", 0, OPT_TEXT, AT(bs), "SIZE",
		"size of a request; with --rdma a list; default 4K, with --rdma 64,4K,64K,1M, with "
		"--ping 64" },
	{ "iodepth", 0, OPT_U32, AT(iodepth), "N",
		"requests in flight per job; default 1, with --rdma 128 for bandwidth", 1,
		LOAD_DEPTH_MAX },
	{ "numjobs", 0, OPT_U32, AT(numjobs), "N",
		"jobs, each with a thread and a queue or connection; default 1", 1, LOAD_JOBS_MAX },
	{ "runtime", 0, OPT_MSEC, AT(runtime_ms), "SECONDS",
		"run time; default 5, with --size no limit", 1, OPT_MSEC_MAX },
	{ "time-based", 0, OPT_FLAG, AT(time_based), NULL,
		"repeat --size until --runtime is over" },
	{ "ramp-time", 0, OPT_MSEC, AT(ramp_ms), "SECONDS",
		"warm-up time excluded from the results; default 0", 0, OPT_MSEC_MAX },
	{ "rwmixread", 0, OPT_U32, AT(rwmixread), "PERCENT",
		"share of reads in rw and randrw; default 50", 0, 100 },
	{ "size", 0, OPT_SIZE, AT(size), "SIZE",
		"part of the disk to use, and bytes per job; default all", 1, OPT_SIZE_MAX },
	{ "offset", 0, OPT_SIZE, AT(offset), "SIZE", "start of this part; default 0", 0,
		OPT_SIZE_MAX },
	{ "verify", 0, OPT_FLAG, AT(verify), NULL,
		"write a pattern, read all of it again and compare" },
	{ "name", 0, OPT_TEXT, AT(name), "NAME", "job name in fio's JSON; default bench" },
	{ "poll-us", 0, OPT_U32, AT(poll_us), "N",
		"microseconds to spin before sleeping; default 40, with one CPU 0", 0,
		OPT_U32_MAX },
	{ "on-loss", 0, OPT_TEXT, AT(on_loss), "POLICY", OPT_ON_LOSS_HELP },
	{ "force", 0, OPT_FLAG, AT(force), NULL,
		"write to a disk that is mounted, held or open for writing elsewhere" },
	{ "rdma", 0, OPT_FLAG, AT(rdma), NULL,
		"measure RDMA alone, against bench --listen on "
		"HOST[:PORT][?rdma=verbs|iwarp|auto][&crc=0]" },
	{ "tcp", 0, OPT_FLAG, AT(tcp), NULL,
		"measure a TCP socket alone, against bench --listen on HOST[:PORT]" },
	{ "listen", 0, OPT_FLAG, AT(listen), NULL,
		"serve bench --rdma and bench --tcp on other hosts, at [HOST][:PORT]; default all "
		"addresses" },
	{ "ping", 0, OPT_FLAG, AT(ping), NULL,
		"with --rdma: run rping's client against rping -s or bench --listen --ping; with "
		"--listen: serve rping's clients" },
	{ "op", 0, OPT_TEXT, AT(op), "send|write|read",
		"with --rdma: only this operation; default all" },
	{ "test", 0, OPT_TEXT, AT(test), "latency|bandwidth",
		"with --rdma: only this test; default both" },
	{ "iters", 0, OPT_U32, AT(iters), "N",
		"with --rdma: messages per row; default 1000 for latency, 5000 for bandwidth", 1,
		OPT_U32_MAX },
	{ "output", 'o', OPT_TEXT, AT(common.output), "text|json|json+",
		"output format, json+ is fio's; default text" },
	{ "fio-json", 0, OPT_FLAG, AT(fio_json), NULL, "same as --output json+" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "fio", "--filename", "give the disk as operand: rdmastor bench URI" },
	{ "fio", "--readwrite", "use --rw" },
	{ "fio", "--blocksize", "use --bs" },
	{ "fio", "--bsrange|--bssplit", "use one size: --bs" },
	{ "fio", "--output-format", "use --output json+" },
	{ "fio", "--verify", "use --verify without a value; it has its own pattern" },
	{ "fio", "--do_verify", "use --verify" },
	{ "fio", "--ioengine", "not needed: the disk's URI selects it" },
	{ "fio", "--direct|--invalidate", "not needed: the page cache is bypassed where possible" },
	{ "fio", "--buffered", "not supported: the page cache is bypassed where possible" },
	{ "fio", "--thread", "not needed: each job is a thread" },
	{ "fio", "--group_reporting", "not needed: results are the sum of all jobs" },
	{ "fio", "--norandommap", "not supported: random order visits each block exactly once" },
	{ "fio", "--randrepeat", "not supported: the random order differs in each run" },
	{ "fio", "--refill_buffers", "not needed: data is random" },
	{ "fio", "--fsync", "not supported: bench doesn't flush" },
	{ "fio", "--rate_iops|--rate", "not supported: limit the load with --iodepth" },
	{ "fio", "--loops", "use --time-based --runtime SECONDS" },
	{ "perftest", "-s", "use --bs SIZE" },
	{ "perftest", "-a", "use --bs with a list: --bs 64,4K,64K,1M" },
	{ "perftest", "-n", "use --iters N" },
	{ "perftest", "-D", "use --runtime SECONDS" },
	{ "perftest", "-t", "use --iodepth N" },
	{ "perftest", "-p", "append the port: HOST:PORT" },
	{ "perftest", "-d", "not needed: the route to HOST selects the device" },
	{ "perftest", "-i", "not needed: the route to HOST selects the port" },
	{ "perftest", "-x", "not needed: the route to HOST selects the GID" },
	{ "perftest", "-F", "not needed" },
	{ "perftest", "-R", "not needed: connections always use RDMA/CM" },
	{ "perftest", "-m", "not supported: the path's MTU is used" },
	{ "perftest", "-b", "not supported: run one direction at a time" },
	{ "perftest", "--report_gbits", "use --json: bytes_per_second" },
	{ "rping", "-c", "use --rdma --ping HOST" },
	{ "rping", "-C", "use --iters N" },
	{ "rping", "-S", "use --bs SIZE" },
	{ "rping", "-P", "not needed: --listen --ping serves many clients" },
	{ 0 },
};

static const struct bench_options defaults = {
	.name = "bench", .rw = "randread", .rwmixread = 50, .numjobs = 1, .poll_us = AUTO
};

static int usage(struct bench *bench, const char *fmt, const char *word)
{
	diag_set(bench->call->diag, DIAG_USAGE, EINVAL, fmt, word);
	return -EINVAL;
}

static int read_size(struct bench *bench)
{
	uint64_t bs = 4096;

	if (bench->opts->bs && parse_size(bench->opts->bs, &bs, bench->call->diag))
		return diag_ctx(bench->call->diag, "--bs");
	if (!bs || bs > UINT32_MAX)
		return diag_set(
			bench->call->diag, DIAG_USAGE, ERANGE, "--bs: must be 1 to %u", UINT32_MAX);
	bench->report.load.bs = (uint32_t)bs;
	return 0;
}

static void read_mode(struct bench *bench)
{
	struct load_options *load = &bench->report.load;
	const char *rw = bench->opts->rw;

	load->random = !strncmp(rw, "rand", 4);
	if (load->random)
		rw += 4;
	load->read_percent = !strcmp(rw, "read")    ? 100
			     : !strcmp(rw, "write") ? 0
						    : (uint8_t)bench->opts->rwmixread;
}

static int check_words(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	bool raw = opts->rdma || opts->tcp || opts->listen;
	const char *row = opts->op ? "op" : opts->test ? "test" : opts->iters ? "iters" : NULL;

	if (!opts->listen && opts->rdma && opts->tcp)
		return usage(bench, "--rdma and --tcp can't be combined%s", "");
	if (!opts->listen && !bench->call->operands)
		return usage(bench, "no %s given", raw ? "HOST" : "URI");
	if (row && (!opts->rdma || opts->listen))
		return usage(bench, "--%s requires --rdma", row);
	if (opts->ping && (opts->tcp || !raw))
		return usage(bench, "--ping requires --rdma or --listen%s", "");
	if (opts->ping && (opts->op || opts->test))
		return usage(bench, "--ping and --%s can't be combined", row);
	if (raw && (opts->verify || opts->size || opts->offset ||
			   bench->report.load.read_percent < 100))
		return usage(bench, "--%s requires a disk",
			opts->verify   ? "verify"
			: opts->size   ? "size"
			: opts->offset ? "offset"
				       : "rw");
	if (bench->fio && (opts->rdma || opts->listen))
		return usage(bench, "--output json+: fio has no such results; use --json%s", "");
	return 0;
}

uint32_t bench_dial_ms(const struct bench_options *opts)
{
	return opts->common.timeout_ms || opts->common.never ? opts->common.timeout_ms : DIAL_MS;
}

static int read_options(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct load_options *load = &bench->report.load;

	if (opts->listen && opts->numjobs > BENCH_LISTENERS)
		return diag_set(bench->call->diag, DIAG_USAGE, ERANGE, "--numjobs: must be 1 to %d",
			BENCH_LISTENERS);
	if (opts->time_based && !opts->runtime_ms)
		return usage(bench, "--time-based requires --runtime%s", "");
	*load = (struct load_options){
		.verify = opts->verify,
		.depth = opts->iodepth ? opts->iodepth : 1,
		.jobs = opts->numjobs,
		.offset = opts->offset,
		.size = opts->size,
		.bytes = opts->time_based ? 0 : opts->size,
		.runtime_ms = opts->runtime_ms || opts->size ? opts->runtime_ms : RUNTIME_MS,
		.ramp_ms = opts->ramp_ms,
		.drain_ms = DRAIN_MS,
		.timeout_ms = bench_dial_ms(opts),
		.stop = &bench->stop,
		.progress = bench_progress,
		.arg = bench,
	};
	bench->fio =
		opts->fio_json || (opts->common.output && !strcmp(opts->common.output, "json+"));
	if (bench->fio)
		bench->call->out->schema = "bench.fio";
	bench->bar = isatty(STDERR_FILENO) && !opts->common.quiet;
	bench->report.opts = opts;
	bench->report.rw = opts->rw;
	read_mode(bench);
	return check_words(bench);
}

/* Before the load begins, and the second time, there are no results. */
static void caught(struct loop_signal *signal, int signo)
{
	struct bench *bench = container_of(signal, struct bench, signal);

	if (!bench->running || bench->stop) {
		out_bar("");
		_exit(128 + signo);
	}
	bench->stop = 1;
}

static void timed_out(struct loop_timer *timer)
{
	struct bench *bench = container_of(timer, struct bench, timeout);

	bench->timed_out = true;
	bench->stop = 1;
}

void bench_progress(const struct load_progress *progress, void *arg)
{
	const struct bench *bench = arg;
	const char *what = bench->report.rw;
	char of[24] = "", line[96];

	if (!bench->bar)
		return;
	if (progress->verifying)
		what = "verifying";
	else if (progress->ramp)
		what = "ramp";
	else if (progress->of > 0 && progress->seconds > progress->of)
		what = "waiting for the last answers";
	if (progress->of > 0)
		snprintf(of, sizeof(of), " of %g", progress->of);
	snprintf(line, sizeof(line), "%s %.1f%s s  %.0f IOPS", what, progress->seconds, of,
		progress->iops);
	out_bar(line);
}

static void warn(struct bench *bench, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void warn(struct bench *bench, const char *code, const char *fmt, ...)
{
	struct bench_report *report = &bench->report;
	struct bench_warning *warning = &report->warning[report->warnings];
	va_list args;

	if (report->warnings == BENCH_WARNINGS)
		return;
	va_start(args, fmt);
	vsnprintf(warning->text, sizeof(warning->text), fmt, args);
	va_end(args);
	warning->code = code;
	report->warnings++;
	call_note(bench->call, "%s", warning->text);
}

/* Of the faster kind. */
static uint64_t median(const struct load_result *result)
{
	uint64_t least = UINT64_MAX;

	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
		const struct stats *latency = &result->kind[kind].latency;
		uint64_t ns = latency->total ? stats_percentile(latency, 50) : UINT64_MAX;

		least = ns < least ? ns : least;
	}
	return least;
}

/* A latency includes the time of reading the clock once. */
static void check_clock(struct bench *bench)
{
	uint64_t begin = loop_clock(), took;

	for (unsigned i = 0; i < CLOCK_READS; i++)
		took = loop_clock() - begin;
	took /= CLOCK_READS;
	if (bench->call->loop.verbose || took > median(&bench->report.result) / 100)
		warn(bench, "clock", "reading the clock takes %" PRIu64 " ns of every latency",
			took);
}

static void warn_of_holes(struct bench *bench)
{
	const struct load_result *result = &bench->report.result;
	char data[16], mapped[16];

	if (result->data == result->mapped)
		return;
	warn(bench, "holes", "only %s of %s held data: %s", out_human(result->data, data),
		out_human(result->mapped, mapped),
		bench->report.load.read_percent ? "holes are read without storage access"
						: "writing to a hole allocates it first");
}

/* Warn of everything known to make the results less reliable. */
static void judge(struct bench *bench)
{
	const struct load_result *result = &bench->report.result;
	uint64_t ios = result->kind[LOAD_READ].requests + result->kind[LOAD_WRITE].requests;

	check_clock(bench);
	warn_of_holes(bench);
	if (result->stopped && bench->timed_out)
		warn(bench, "timeout", "timed out after %.2f s", result->seconds);
	else if (result->stopped)
		warn(bench, "interrupted", "interrupted after %.2f s", result->seconds);
	if (result->seconds < 1)
		warn(bench, "short", "ran for %.3g s: too short for reliable results",
			result->seconds);
	if (ios < 1000)
		warn(bench, "few-requests",
			"only %" PRIu64 " request%s: too few for reliable results", ios,
			ios == 1 ? "" : "s");
	if (result->busiest >= 0.95 && !bench->opts->verify)
		warn(bench, "cpu",
			"a job used %.0f %% of a CPU: the limit is this machine, not the %s",
			result->busiest * 100, bench->disk ? "disk" : "network");
	if (bench->opts->verify)
		warn(bench, "verify",
			"the results include the time to make and compare data (--verify)");
	if (bench->disk && bench->report.load.depth > bench->disk->lim.depth)
		warn(bench, "iodepth", "--iodepth %u: the disk has at most %u in flight per queue",
			bench->report.load.depth, bench->disk->lim.depth);
}

static void show(struct bench *bench)
{
	struct out *out = bench->call->out;

	if (!bench->report.result.kind[LOAD_READ].latency.total &&
		!bench->report.result.kind[LOAD_WRITE].latency.total && bench->call->diag->err)
		return;
	bench->report.error = bench->call->diag->err;
	judge(bench);
	if (bench->fio)
		bench_fio(out, &bench->report);
	else if (out->json)
		bench_json(out, &bench->report);
	else
		bench_text(out, &bench->report);
}

static int rehearse(struct bench *bench)
{
	struct out *out = bench->call->out;
	const struct load_options *load = &bench->report.load;
	const struct bdev *disk = bench->disk;
	uint64_t size = load->size ? load->size : disk->lim.size - load->offset;
	int err = load_disk_check(disk, load, bench->call->diag);

	if (err)
		return err;
	out_text(out, "uri", NULL, "%s", disk->uri);
	out_u64(out, "size", NULL, disk->lim.size);
	out_u64(out, "block_size", NULL, disk->lim.block);
	out_text(out, "rw", NULL, "%s", bench->opts->rw);
	out_u64(out, "bs", NULL, load->bs);
	out_u64(out, "iodepth", NULL, load->depth);
	out_u64(out, "numjobs", NULL, load->jobs);
	out_u64(out, "offset_bytes", NULL, load->offset);
	out_u64(out, "range_bytes", NULL, size);
	if (load->runtime_ms)
		out_real(out, "runtime_seconds", NULL, load->runtime_ms / 1000., 3);
	out_bool(out, "verify", NULL, load->verify);
	if (load->read_percent == 100)
		out_line(out, "would read %s and change nothing", disk->uri);
	else
		out_line(out, "would overwrite %s from byte %" PRIu64 " to %" PRIu64, disk->uri,
			load->offset, load->offset + size);
	return EXIT_DONE;
}

int bench_finish(struct bench *bench, int rc)
{
	bench->running = false;
	out_bar("");
	if (!rc && bench->timed_out)
		rc = diag_set(bench->call->diag, DIAG_TIMEOUT, ETIMEDOUT, "timed out after %g s",
			bench->opts->common.timeout_ms / 1000.);
	show(bench);
	return rc ? rc : bench->report.result.stopped ? EXIT_PARTLY : EXIT_DONE;
}

static int measure_disk(struct bench *bench)
{
	bench->report.target = bench->disk->uri;
	bench->running = true;
	return bench_finish(bench, load_disk(bench->loop, bench->disk, &bench->report.load,
					   &bench->report.result, bench->call->diag));
}

static int bench_disk(struct bench *bench)
{
	struct bdev_env env;
	int rc = read_size(bench);

	if (!rc)
		rc = disk_env(bench->call, &env, bench->opts->on_loss);
	if (rc)
		return rc;

	env.write = bench->report.load.read_percent < 100;
	env.force = bench->opts->force;
	rc = disk_open(bench->call, &bench->disk, bench->loop, bench->call->operand[0], &env);
	if (!rc)
		rc = bench->opts->common.dry_run ? rehearse(bench) : measure_disk(bench);
	bdev_close(bench->disk);
	return rc;
}

static int choose(struct bench *bench)
{
	if (bench->opts->listen)
		return bench_listen(bench);
	if (bench->opts->rdma)
		return bench_rdma(bench);
	if (!bench->opts->tcp)
		return bench_disk(bench);
	return read_size(bench) ? -EINVAL : bench_tcp(bench);
}

static int with_loop(struct bench *bench)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	struct loop_options options = bench->call->loop;
	int rc;

	options.insist = bench->opts->poll_us != AUTO;
	options.poll_us = options.insist ? bench->opts->poll_us : loop_poll_auto();
	rc = loop_new(&bench->loop, &options, bench->call->diag);
	if (rc)
		return rc;
	bench->signal.caught = caught;
	bench->timeout.fire = timed_out;
	rc = loop_signal_add(bench->loop, &bench->signal, signos,
		sizeof(signos) / sizeof(signos[0]), bench->call->diag);
	if (!rc) {
		if (bench->opts->common.timeout_ms)
			loop_timer_set(bench->loop, &bench->timeout,
				loop_clock() + bench->opts->common.timeout_ms * MSEC);
		rc = choose(bench);
		loop_timer_del(bench->loop, &bench->timeout);
		loop_signal_del(bench->loop, &bench->signal);
	}
	loop_free(bench->loop);
	return rc;
}

static int run(struct call *call)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	int rc;

	if (!bench)
		return diag_sys(call->diag, ENOMEM, "bench");
	bench->call = call;
	bench->opts = call->opts;
	call->out->json |= bench->opts->fio_json;
	rc = read_options(bench);
	if (!rc)
		rc = with_loop(bench);
	free(bench);
	return rc;
}

const struct applet applet_bench = {
	.name = "bench",
	.operands = "[URI]",
	.schemes = SCHEME_DISK,
	.summary = "measure a disk under load, or a connection",
	.opts = rows,
	.foreign = foreign,
	.examples = "  rdmastor bench --iodepth 32 nvme+tcp://10.0.0.1/nqn.2024-01.example:disk1\n"
		    "  rdmastor bench --listen\n"
		    "  rdmastor bench --rdma 10.0.0.1\n",
	.defaults = &defaults,
	.opts_size = sizeof(struct bench_options),
	.min = 0,
	.max = 1,
	.changes = true,
	.run = run,
};
