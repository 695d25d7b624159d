/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench: what a disk does under load, in fio's words. The load is core/service's; this reads the options, refuses what would
 * do harm, shows progress, and says when the figures are not to be trusted. */
#include "bench.h"
#include "disk.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSEC 1000000ull
#define AUTO UINT32_MAX
#define RUNTIME_MS 5000
#define DRAIN_MS 5000 /* for the last answers */
#define CLOCK_READS 1000
#define CLOCK_NS 200 /* what reading it may take; two are in every latency */

#define AT(field) offsetof(struct bench_options, field)
static const struct opt rows[] = {
	{ "rw", 0, OPT_TEXT, AT(rw), "read|write|randread|randwrite|rw|readwrite|randrw", "what to do; writing destroys data; default randread" },
	{ "bs", 0, OPT_TEXT, AT(bs), "SIZE", "bytes of a request; default 4K; with --rdma a list, default 64,4K,64K,1M; with --ping 64" },
	{ "iodepth", 0, OPT_U32, AT(iodepth), "N", "requests of each job in flight; default 1; with --rdma 128 for bandwidth", 1, LOAD_DEPTH_MAX },
	{ "numjobs", 0, OPT_U32, AT(numjobs), "N", "jobs, each with a thread and a queue or connection; default 1", 1, LOAD_JOBS_MAX },
	{ "runtime", 0, OPT_MSEC, AT(runtime_ms), "SECONDS", "end after this time; default 5 unless --size is given", 1, OPT_MSEC_MAX },
	{ "time-based", 0, OPT_FLAG, AT(time_based), NULL, "start over for all of --runtime when --size is through" },
	{ "ramp-time", 0, OPT_MSEC, AT(ramp_ms), "SECONDS", "warm-up time excluded from the results (default 0)", 0, OPT_MSEC_MAX },
	{ "rwmixread", 0, OPT_U32, AT(rwmixread), "PERCENT", "share of reads in rw and randrw; default 50", 0, 100 },
	{ "size", 0, OPT_SIZE, AT(size), "SIZE", "use this much of the disk, and end each job after as many bytes; default all", 1, OPT_SIZE_MAX },
	{ "offset", 0, OPT_SIZE, AT(offset), "SIZE", "use the disk from here on", 0, OPT_SIZE_MAX },
	{ "verify", 0, OPT_FLAG, AT(verify), NULL, "write data that can be told apart, read all of it again and compare" },
	{ "name", 0, OPT_TEXT, AT(name), "NAME", "the job's name in fio's JSON; default bench" },
	{ "poll-us", 0, OPT_U32, AT(poll_us), "N", "spin this long before sleeping; default: as CPUs allow", 0, OPT_U32_MAX },
	{ "on-loss", 0, OPT_TEXT, AT(on_loss), "TIME", "hold requests that long while no path works: seconds, fail-fast or forever; default 60" },
	{ "force", 0, OPT_FLAG, AT(force), NULL,
		"write to a disk that is mounted, held or open for writing elsewhere" },
	{ "rdma", 0, OPT_FLAG, AT(rdma), NULL, "measure RDMA alone, against bench --listen at HOST[:PORT][?rdma=verbs|iwarp|auto][&crc=0]" },
	{ "tcp", 0, OPT_FLAG, AT(tcp), NULL, "measure a TCP socket alone, against bench --listen at HOST[:PORT]" },
	{ "listen", 0, OPT_FLAG, AT(listen), NULL, "be the other side of --rdma and --tcp, at [HOST][:PORT]" },
	{ "ping", 0, OPT_FLAG, AT(ping), NULL, "with --rdma: as rping does, with its server or bench --listen --ping; with --listen: serve rping" },
	{ "op", 0, OPT_TEXT, AT(op), "send|write|read", "with --rdma: only this; default all three" },
	{ "test", 0, OPT_TEXT, AT(test), "latency|bandwidth", "with --rdma: only this; default both" },
	{ "iters", 0, OPT_U32, AT(iters), "N", "with --rdma: messages of each row; default 1000 for latency, 5000 for bandwidth", 1, OPT_U32_MAX },
	{ "output", 'o', OPT_TEXT, AT(common.output), "text|json|json+", "form of the results; json+ is fio's" },
	{ "fio-json", 0, OPT_FLAG, AT(fio_json), NULL, "short for --output json+" },
	{ 0 },
};
#undef AT

static const struct bench_options defaults = { .name = "bench", .rw = "randread", .rwmixread = 50, .numjobs = 1, .poll_us = AUTO };

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
		return diag_set(bench->call->diag, DIAG_USAGE, ERANGE, "--bs: must be 1 to %u", UINT32_MAX);
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
	load->read_percent = !strcmp(rw, "read") ? 100 : !strcmp(rw, "write") ? 0 : (uint8_t)bench->opts->rwmixread;
}

static int check_words(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	bool raw = opts->rdma || opts->tcp || opts->listen;
	const char *row = opts->op ? "op" : opts->test ? "test" : opts->iters ? "iters" : NULL;

	if (!opts->listen && opts->rdma && opts->tcp)
		return usage(bench, "--rdma and --tcp exclude each other%s", "");
	if (!opts->listen && !bench->call->operands)
		return usage(bench, "%s is missing", raw ? "HOST" : "URI");
	if (row && (!opts->rdma || opts->listen))
		return usage(bench, "--%s belongs to --rdma", row);
	if (opts->ping && (opts->tcp || !raw))
		return usage(bench, "--ping belongs to --rdma%s", "");
	if (opts->ping && (opts->op || opts->test))
		return usage(bench, "--ping and --%s exclude each other", row);
	if (raw && (opts->verify || opts->size || opts->offset || bench->report.load.read_percent < 100))
		return usage(bench, "--%s is for disks", opts->verify ? "verify" : opts->size ? "size" : opts->offset ? "offset" : "rw");
	if (bench->fio && (opts->rdma || opts->listen))
		return usage(bench, "fio has no such figures: --json%s", "");
	return 0;
}

static int read_options(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct load_options *load = &bench->report.load;

	if (opts->listen && opts->numjobs > BENCH_LISTENERS)
		return diag_set(bench->call->diag, DIAG_USAGE, ERANGE, "--numjobs: must be 1 to %d", BENCH_LISTENERS);
	if (opts->time_based && !opts->runtime_ms)
		return usage(bench, "--time-based needs --runtime%s", "");
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
		.stop = &bench->stop,
		.progress = bench_progress,
		.arg = bench,
	};
	bench->fio = opts->fio_json || (opts->common.output && !strcmp(opts->common.output, "json+"));
	bench->bar = isatty(STDERR_FILENO) && !opts->common.quiet;
	bench->report.opts = opts;
	bench->report.rw = opts->rw;
	read_mode(bench);
	return check_words(bench);
}

/* Before the load begins, and the second time, there is nothing to be told. */
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
	const char *what = bench->opts->rw;
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

static void warn(struct bench *bench, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct bench *bench, const char *fmt, ...)
{
	struct bench_report *report = &bench->report;
	va_list args;

	if (report->warnings == BENCH_WARNINGS)
		return;
	va_start(args, fmt);
	vsnprintf(report->warning[report->warnings], sizeof(report->warning[0]), fmt, args);
	va_end(args);
	call_note(bench->call, "%s", report->warning[report->warnings++]);
}

static void check_clock(struct bench *bench)
{
	uint64_t begin = loop_clock(), took;

	for (unsigned i = 0; i < CLOCK_READS; i++)
		took = loop_clock() - begin;
	if (took / CLOCK_READS > CLOCK_NS)
		warn(bench, "reading this machine's clock takes %" PRIu64 " ns, which is part of every latency", took / CLOCK_READS);
}

static void warn_of_holes(struct bench *bench)
{
	const struct load_result *result = &bench->report.result;
	char data[16], mapped[16];

	if (result->data == result->mapped)
		return;
	warn(bench, "only %s of %s held data: %s", out_human(result->data, data),
		out_human(result->mapped, mapped), bench->report.load.read_percent ?
		"a hole is read without any storage" : "writing to a hole allocates it first");
}

/* What is known to make the figures worth less. */
static void judge(struct bench *bench)
{
	const struct load_result *result = &bench->report.result;
	uint64_t ios = result->kind[LOAD_READ].requests + result->kind[LOAD_WRITE].requests;

	check_clock(bench);
	warn_of_holes(bench);
	if (result->stopped)
		warn(bench, "%s after %.2f s", bench->timed_out ? "out of time" : "interrupted", result->seconds);
	if (result->seconds < 1)
		warn(bench, "%.3f s are too short for figures to rely on", result->seconds);
	if (ios < 1000)
		warn(bench, "%" PRIu64 " requests are too few for figures to rely on", ios);
	if (result->busiest >= 0.95 && !bench->opts->verify)
		warn(bench, "a job was busy for %.0f %% of the time: this machine's CPU is the limit, not what is measured", result->busiest * 100);
	if (bench->opts->verify)
		warn(bench, "with --verify making the data is part of the figures");
	if (bench->disk && bench->report.load.depth > bench->disk->lim.depth)
		warn(bench, "--iodepth %u: a queue of the disk has %u requests in flight at most", bench->report.load.depth, bench->disk->lim.depth);
}

static void show(struct bench *bench)
{
	struct out *out = bench->call->out;

	if (!bench->report.result.kind[LOAD_READ].latency.total && !bench->report.result.kind[LOAD_WRITE].latency.total && bench->call->diag->err)
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
	uint64_t from = load->offset, to = load->size ? from + load->size : bench->disk->lim.size;
	int err = load_disk_check(bench->disk, load, bench->call->diag);

	if (err)
		return err;
	if (out->json) {
		out_text(out, "target", NULL, "%s", bench->disk->uri);
		out_text(out, "rw", NULL, "%s", bench->opts->rw);
	} else if (load->read_percent == 100) {
		out_line(out, "would read %s and change nothing", bench->disk->uri);
	} else {
		out_line(out, "would overwrite %s from byte %" PRIu64 " to %" PRIu64, bench->disk->uri, from, to);
	}
	return EXIT_DONE;
}

int bench_finish(struct bench *bench, int rc)
{
	bench->running = false;
	out_bar("");
	if (!rc && bench->timed_out)
		rc = diag_set(bench->call->diag, DIAG_TIMEOUT, ETIMEDOUT, "not done in %g s", bench->opts->common.timeout_ms / 1000.);
	show(bench);
	return rc ? rc : bench->report.result.stopped ? EXIT_PARTLY : EXIT_DONE;
}

static int measure_disk(struct bench *bench)
{
	bench->report.target = bench->disk->uri;
	bench->running = true;
	return bench_finish(bench, load_disk(bench->loop, bench->disk, &bench->report.load, &bench->report.result, bench->call->diag));
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
	rc = loop_signal_add(bench->loop, &bench->signal, signos, sizeof(signos) / sizeof(signos[0]), bench->call->diag);
	if (!rc) {
		if (bench->opts->common.timeout_ms)
			loop_timer_set(bench->loop, &bench->timeout, loop_clock() + bench->opts->common.timeout_ms * MSEC);
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
	.defaults = &defaults,
	.opts_size = sizeof(struct bench_options),
	.min = 0,
	.max = 1,
	.changes = true,
	.run = run,
};
