/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench: measure a disk, a TCP socket, or an RDMA connection, with fio's option names. Read the
 * options, refuse what would do harm, show the progress; load and figures are core/load's. */
#include "applet.h"
#include "daemon.h"
#include "disk_open.h"
#include "kernel_rdma.h"
#include "load.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUTO       UINT32_MAX
#define RUNTIME_MS 5000
#define DRAIN_MS   5000 /* for the last answers */
#define DIAL_MS    5000
#define LISTENERS  64 /* most threads of --listen */

struct bench_options {
	struct opt_common common;
	const char *name, *rw, *bs, *on_loss, *op, *test, *filename, *ioengine;
	struct opt_maybe direct, thread, group_reporting;
	uint32_t iodepth, runtime_ms, iters; /* 0 = not given */
	uint32_t numjobs, poll_us, rwmixread, ramp_ms;
	uint64_t size, offset; /* size 0 = not given */
	bool time_based, verify, force, fio_json, rdma, tcp, listen, ping;
};

#define AT(field) offsetof(struct bench_options, field)
#define RW        "read|write|randread|randwrite|rw|readwrite|randrw"
#define NO_EFFECT "accepted for fio's command lines; no effect"
static const struct opt rows[] = {
	{ "rw", 0, OPT_TEXT, AT(rw), RW,
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
		"write to a disk that is mounted, claimed or open for writing elsewhere" },
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
	{ "output-format", 0, OPT_TEXT, AT(common.output), "text|json|json+", "same as --output" },
	{ "fio-json", 0, OPT_FLAG, AT(fio_json), NULL, "same as --output json+" },
	{ "filename", 0, OPT_TEXT, AT(filename), "URI", "same as the operand" },
	{ "readwrite", 0, OPT_TEXT, AT(rw), RW, "same as --rw" },
	{ "blocksize", 0, OPT_TEXT, AT(bs), "SIZE", "same as --bs" },
	{ "ioengine", 0, OPT_TEXT, AT(ioengine), "NAME", NO_EFFECT },
	{ "direct", 0, OPT_MAYBE, AT(direct), "[N]", NO_EFFECT, 0, 1 },
	{ "thread", 0, OPT_MAYBE, AT(thread), "[N]", NO_EFFECT, 0, 1 },
	{ "group-reporting", 0, OPT_MAYBE, AT(group_reporting), "[N]", NO_EFFECT, 0, 1 },
	{ 0 },
};
#undef RW
#undef NO_EFFECT
#undef AT

static const struct opt_foreign foreign[] = {
	{ "fio", "--bsrange|--bssplit", "use one size: --bs" },
	{ "fio", "--verify", "use --verify without a value; it has its own pattern" },
	{ "fio", "--do_verify", "use --verify" },
	{ "fio", "--invalidate", "not needed: the page cache is bypassed where possible" },
	{ "fio", "--buffered", "not supported: the page cache is bypassed where possible" },
	{ "fio", "--norandommap", "not supported: random order visits each block exactly once" },
	{ "fio", "--randrepeat", "not supported: the random order differs in each run" },
	{ "fio", "--refill_buffers", "not needed: data is random" },
	{ "fio", "--output", "no file is named: redirect the results with >FILE" },
	{ "fio", "--runtime", "seconds or milliseconds: --runtime 60, --runtime 500ms" },
	{ "fio", "--rw|--readwrite", "without ':' and a number" },
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

struct bench {
	struct call *call;
	const struct bench_options *opts;
	struct task task;
	struct load_report report;
	unsigned rows; /* printed */
	char *filename;
	bool fio, bar;
};

static int usage(struct bench *bench, const char *fmt, const char *word)
{
	diag_set(bench->call->diag, DIAG_USAGE, EINVAL, fmt, word);
	return -EINVAL;
}

/* file:PATH measures any file. */
static int refuse_job(struct bench *bench, const char *path)
{
	if (!load_is_fio_job(path))
		return 0;
	usage(bench, "job files of fio are not supported%s", "");
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
		return usage(
			bench, "--filename %s: the disk is an operand already", opts->filename);
	bench->filename = (char *)opts->filename;
	call->operand = &bench->filename;
	call->operands = 1;
	return 0;
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

static void show_progress(const struct load_progress *progress, void *arg)
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

static int read_options(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const char *output = opts->common.output;
	bool dial = opts->common.timeout_ms || opts->common.no_timeout;
	bool random = !strncmp(opts->rw, "rand", 4);
	const char *way = opts->rw + (random ? 4 : 0);

	if (opts->listen && opts->numjobs > LISTENERS)
		return diag_set(bench->call->diag, DIAG_USAGE, ERANGE, "--numjobs: must be 1 to %d",
			LISTENERS);
	if (opts->time_based && !opts->runtime_ms)
		return usage(bench, "--time-based requires --runtime%s", "");
	bench->fio = opts->fio_json || (output && !strcmp(output, "json+"));
	if (bench->fio)
		bench->call->out->schema = "bench.fio";
	bench->bar = isatty(STDERR_FILENO) && !opts->common.quiet;
	bench->report.name = opts->name;
	bench->report.rw = opts->rw;
	bench->report.verbose = bench->call->loop.verbose;
	bench->report.load = (struct load_options){
		.read_percent = !strcmp(way, "read")    ? 100
				: !strcmp(way, "write") ? 0
							: (uint8_t)opts->rwmixread,
		.random = random,
		.verify = opts->verify,
		.depth = opts->iodepth ? opts->iodepth : 1,
		.jobs = opts->numjobs,
		.offset = opts->offset,
		.size = opts->size,
		.bytes = opts->time_based ? 0 : opts->size,
		.runtime_ms = opts->runtime_ms || opts->size ? opts->runtime_ms : RUNTIME_MS,
		.ramp_ms = opts->ramp_ms,
		.drain_ms = DRAIN_MS,
		.timeout_ms = dial ? opts->common.timeout_ms : DIAL_MS,
		.stop = &bench->task.stop,
		.progress = show_progress,
		.arg = bench,
	};
	return check_words(bench);
}

/* Show the figures of a load. */
static int finish(struct bench *bench, int rc)
{
	struct load_report *report = &bench->report;
	const struct load_result *result = &report->result;
	struct call *call = bench->call;

	bench->task.running = false;
	out_bar("");
	if (!rc && bench->task.timed_out)
		rc = task_timed_out(call);
	if (result->kind[LOAD_READ].latency.total || result->kind[LOAD_WRITE].latency.total ||
		!call->diag->err) {
		report->error = call->diag->err;
		report->timed_out = bench->task.timed_out;
		load_report_check(report);
		for (unsigned i = 0; i < report->warnings; i++)
			call_warn(call, "%s", report->warning[i].text);
		if (bench->fio)
			load_report_fio(call->out, report);
		else if (call->out->json)
			load_report_json(call->out, report);
		else
			load_report_text(call->out, report);
	}
	return rc ? rc : result->stopped ? EXIT_PARTLY : EXIT_DONE;
}

static int rehearse_disk(struct bench *bench)
{
	struct out *out = bench->call->out;
	const struct load_options *load = &bench->report.load;
	const struct bdev *disk = bench->report.disk;
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

static int bench_disk(struct bench *bench)
{
	struct load_report *report = &bench->report;
	struct call *call = bench->call;
	struct bdev_env env;
	struct bdev *disk = NULL;
	int rc = disk_env(call, &env, bench->opts->on_loss);

	if (rc)
		return rc;
	env.write = report->load.read_percent < 100;
	env.force = bench->opts->force;
	rc = disk_open(call, &disk, bench->task.loop, call->operand[0], &env);
	report->disk = disk;
	report->memory = bdev_uri_in_memory(call->operand[0]);
	if (!rc && bench->opts->common.dry_run) {
		rc = rehearse_disk(bench);
	} else if (!rc) {
		report->target = disk->uri;
		bench->task.running = true;
		rc = finish(bench, load_disk(bench->task.loop, disk, &report->load, &report->result,
					   call->diag));
	}
	bdev_close(disk);
	return rc;
}

static int read_address(
	struct bench *bench, struct addr *addr, enum load_backend *backend, bool *no_crc)
{
	return load_addr_read(bench->call->operands ? bench->call->operand[0] : "",
		bench->opts->ping ? LOAD_PING_PORT : LOAD_PORT, bench->opts->listen, addr, backend,
		no_crc, bench->call->diag);
}

/* Hints for a measurement, not for a disk. */
static int blame(struct bench *bench, enum load_backend backend, const struct diag *rdma)
{
	const struct bench_options *opts = bench->opts;
	struct diag *why = bench->call->diag;
	int err = kernel_rdma_blame(why, rdma);
	bool no_rdma = why->code == DIAG_NO_DEVICE || why->code == DIAG_NO_MODULE;

	why->hint[0] = 0;
	if (no_rdma && backend == LOAD_VERBS)
		diag_hint(why, opts->listen && !opts->ping
				       ? "without an RDMA device use ?rdma=iwarp or --tcp"
				       : "without an RDMA device use ?rdma=iwarp");
	else if (!opts->listen && (no_rdma || why->code == DIAG_REFUSED))
		diag_hint(why, "run on the other host: rdmastor bench --listen%s",
			opts->ping ? " --ping, or rping -s" : "");
	return err;
}

static int rehearse(
	struct bench *bench, const char *what, const char *transport, const struct addr *addr)
{
	struct out *out = bench->call->out;
	char text[ADDR_TEXT];

	addr_show(out, transport, addr);
	out_line(out, "would %s %s", what, addr_text(addr, text));
	return EXIT_DONE;
}

static int bench_tcp(struct bench *bench)
{
	struct load_report *report = &bench->report;
	enum load_backend backend;
	struct addr addr;
	bool no_crc;
	int err = read_address(bench, &addr, &backend, &no_crc);

	if (err)
		return err;
	if (bench->opts->common.dry_run)
		return rehearse(bench, "measure TCP to", "tcp", &addr);
	report->target = bench->call->operand[0];
	report->socket = &addr;
	report->rw = "socket";
	bench->task.running = true;
	err = finish(bench, load_tcp(bench->task.loop, &addr, &report->load, &report->result,
				    bench->call->diag));
	return err == -ECONNREFUSED ? blame(bench, LOAD_IWARP, &(struct diag){ 0 }) : err;
}

static void print_row(
	const struct load_rdma *conf, const struct load_rdma_result *result, bool first, void *arg)
{
	struct bench *bench = arg;
	struct out *out = bench->call->out;

	if (!bench->rows++)
		out_line(out, "%s", result->route);
	load_report_rdma(out, conf, result, first);
	out_flush(out);
}

static int bench_rdma(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct load_rdma_plan plan = { .op = opts->op,
		.test = opts->test,
		.ping = opts->ping,
		.depth = opts->iodepth,
		.iterations = opts->iters,
		.runtime_ms = opts->runtime_ms,
		.common.timeout_ms = bench->report.load.timeout_ms,
		.common.stop = &bench->task.stop };
	struct load_rdma *conf = &plan.common;
	struct call *call = bench->call;
	struct diag rdma_why = { 0 };
	int err = read_address(bench, &conf->dst, &conf->backend, &conf->no_crc);

	if (!err)
		err = load_sizes_read(&plan, opts->bs, call->diag);
	if (err)
		return err;
	if (opts->common.dry_run)
		return rehearse(bench, "measure RDMA to", "rdma", &conf->dst);
	if (conf->backend != LOAD_IWARP && disk_root(NULL) >= 0)
		kernel_rdma_ready(disk_root(NULL), &rdma_why);
	addr_show(call->out, "rdma", &conf->dst);
	out_list(call->out, "rows");
	bench->task.running = true;
	err = load_rdma_run(bench->task.loop, &plan, print_row, bench, call->diag);
	out_end(call->out);
	if (err == -EINTR && bench->task.timed_out)
		return task_timed_out(call);
	if (err == -EINTR && !call->diag->err) {
		call_note(call, "interrupted");
		return EXIT_PARTLY;
	}
	return err ? blame(bench, conf->backend, &rdma_why) : EXIT_DONE;
}

static int serve(struct bench *bench, const struct load_listen *conf)
{
	struct out *out = bench->call->out;
	char host[ADDR_TEXT], port[32];
	struct daemon_wait wait;
	struct load_server *server;
	const struct addr *at;
	bool verbs;
	int err;

	daemon_wait_begin(&wait, bench->call, bench->task.loop);
	err = load_listen(
		&server, bench->task.loop, conf, bench->opts->common.timeout_ms, bench->call->diag);
	daemon_wait_end(&wait, bench->task.loop);
	if (err)
		return err;
	at = load_server_addr(server);
	verbs = load_server_verbs(server);
	out_text(out, "traddr", NULL, "%s", addr_host(at, host));
	out_text(out, "trsvcid", NULL, "%u", addr_port(at));
	out_bool(out, "tcp", NULL, conf->tcp);
	out_bool(out, "iwarp", NULL, conf->iwarp);
	out_bool(out, "verbs", NULL, verbs);
	out_bool(out, "ping", NULL, conf->ping);
	addr_text(at, host);
	snprintf(port, sizeof(port), "port %u of all addresses", addr_port(at));
	out_line(out, "listening on %s:%s%s%s%s%s", addr_is_any(at) ? port : host,
		conf->tcp ? " TCP" : "", conf->tcp && conf->iwarp ? "," : "",
		conf->iwarp ? " RDMA (software iWARP)" : "",
		verbs && (conf->tcp || conf->iwarp) ? "," : "", verbs ? " RDMA (verbs)" : "");
	if (conf->verbs && !conf->iwarp && !verbs)
		call_note(bench->call, "waiting for an RDMA device with this address");
	err = out_fini(out, NULL);
	bench->task.running = true;
	if (!err)
		loop_wait(bench->task.loop, &bench->task.stop, 0);
	load_server_stop(server);
	return err;
}

static int bench_listen(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct loop *loops[LISTENERS] = { bench->task.loop };
	bool rdma = opts->rdma || !opts->tcp;
	struct load_listen conf = { .tcp = !opts->ping && (opts->tcp || !opts->rdma),
		.ping = opts->ping,
		.loops = loops,
		.nloops = opts->numjobs };
	struct workers *workers = NULL;
	struct diag rdma_why = { 0 };
	enum load_backend backend;
	int err = read_address(bench, &conf.at, &backend, &conf.no_crc);

	if (err)
		return err;
	if (opts->common.dry_run)
		return rehearse(bench, "listen on", rdma ? "rdma" : "tcp", &conf.at);
	loop_timer_del(bench->task.loop, &bench->task.timeout); /* only bounds getting ready */
	conf.iwarp = rdma && backend != LOAD_VERBS;
	conf.verbs = rdma && backend != LOAD_IWARP;
	if (conf.verbs && disk_root(NULL) >= 0)
		kernel_rdma_ready(disk_root(NULL), &rdma_why);
	if (opts->numjobs > 1)
		err = workers_start(
			&workers, opts->numjobs, loop_options(bench->task.loop), bench->call->diag);
	for (unsigned i = 0; !err && workers && i < opts->numjobs; i++)
		loops[i] = workers_loop(workers, i);
	if (!err)
		err = serve(bench, &conf);
	workers_stop(workers);
	return err ? blame(bench, backend, &rdma_why) : EXIT_DONE;
}

static int run(struct call *call)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct loop_options options = call->loop;
	const struct bench_options *opts = call->opts;
	int rc;

	if (!bench)
		return diag_sys(call->diag, ENOMEM, "bench");
	bench->call = call;
	bench->opts = opts;
	call->out->json |= opts->fio_json;
	options.force_spin = opts->poll_us != AUTO;
	options.poll_us = options.force_spin ? opts->poll_us : loop_poll_auto();
	rc = read_fio(bench);
	if (!rc)
		rc = read_options(bench);
	if (!rc)
		rc = task_begin(&bench->task, call, &options);
	if (!rc) {
		if (!opts->listen && !opts->rdma)
			rc = load_size_read(
				opts->bs ? opts->bs : "4K", &bench->report.load.bs, call->diag);
		if (!rc)
			rc = opts->listen ? bench_listen(bench)
			     : opts->rdma ? bench_rdma(bench)
			     : opts->tcp  ? bench_tcp(bench)
					  : bench_disk(bench);
		task_end(&bench->task);
	}
	free(bench);
	return rc;
}

const struct applet applet_bench = {
	.name = "bench",
	.operands = "[URI]",
	.schemes = SCHEME_DISK,
	.keys = disk_keys,
	.summary = "measure a disk under load, or a connection",
	.opts = rows,
	.foreign = foreign,
	.examples =
		"  rdmastor bench --iodepth 32 nvme+tcp://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		"  rdmastor bench --listen\n"
		"  rdmastor bench --rdma 10.0.0.1\n",
	.defaults = &defaults,
	.opts_size = sizeof(struct bench_options),
	.min = 0,
	.max = 1,
	.has_dry_run = true,
	.run = run,
};
