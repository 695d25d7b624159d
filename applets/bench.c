/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench: measure a disk, a TCP socket, or an RDMA connection, with fio's option names. Open the
 * disk, show the progress and the figures; loads and reports are core/load's. */
#include "bench_rows.h"
#include "disk_open.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct bench_options defaults = { .name = "bench",
	.rw = "randread",
	.numjobs = 1,
	.poll_us = BENCH_AUTO,
	.ramp_ms = BENCH_AUTO };

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

/* Files are written after a failed load, too, whose reason counts then. */
static int keep(struct bench *bench, int rc, int err, const struct diag *why)
{
	if (!err)
		return rc;
	if (bench->call->diag->err) {
		call_warn(bench->call, "%s: %s", why->object, why->text);
		return rc;
	}
	*bench->call->diag = *why;
	return err;
}

/* Show the figures of a load. */
int bench_timed_out(struct bench *bench, const struct addr *addr)
{
	const struct call *call = bench->call;
	char text[ADDR_TEXT];

	task_timed_out(call);
	return diag_ctx(call->diag, "%s", addr ? addr_text(addr, text) : call->operand[0]);
}

int bench_finish(struct bench *bench, int rc)
{
	struct load_report *report = &bench->report;
	const struct load_result *result = &report->result;
	struct call *call = bench->call;
	struct diag why = { 0 };
	bool show;

	bench->task.running = false;
	out_bar("");
	if (!rc && bench->task.timed_out)
		rc = bench_timed_out(bench, report->socket);
	show = result->kind[LOAD_READ].latency.total || result->kind[LOAD_WRITE].latency.total ||
	       !call->diag->err;
	if (show || report->load.verify_only) {
		report->error = call->diag->err;
		report->timed_out = bench->task.timed_out;
		load_report_check(report);
		for (unsigned i = 0; i < report->warnings; i++)
			call_warn(call, "%s", report->warning[i].text);
	}
	if (show) {
		if (bench->fio)
			load_report_fio(call->out, report);
		else if (call->out->json)
			load_report_json(call->out, report);
		else
			load_report_text(call->out, report);
		if (bench->opts->hgrm)
			rc = keep(
				bench, rc, load_report_hgrm(bench->opts->hgrm, result, &why), &why);
		if (bench->opts->log)
			rc = keep(bench, rc,
				load_log_write(report->load.log, bench->opts->log, &why), &why);
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
		if (bench->opts->log)
			rc = load_log_new(&report->load.log, report->load.jobs, call->diag);
		if (!rc)
			rc = bench_finish(bench, load_disk(bench->task.loop, disk, &report->load,
							 &report->result, call->diag));
		load_log_free(report->load.log);
	}
	bdev_close(disk);
	return rc;
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
	options.force_spin = opts->poll_us != BENCH_AUTO;
	options.poll_us = options.force_spin ? opts->poll_us : loop_poll_auto();
	rc = bench_read_options(bench);
	if (!rc)
		rc = bench_check_files(bench);
	bench->report.load.progress = show_progress;
	bench->report.load.arg = bench;
	if (!rc)
		rc = task_begin(&bench->task, call, &options);
	if (!rc) {
		rc = opts->matrix   ? bench_matrix(bench)
		     : opts->listen ? bench_listen(bench)
		     : opts->rdma   ? bench_rdma(bench)
		     : opts->tcp    ? bench_tcp(bench)
				    : bench_disk(bench);
		task_end(&bench->task);
	}
	free(bench);
	return rc;
}

const struct applet applet_bench = {
	.name = "bench",
	.operands = "[URI...]",
	.schemes = SCHEME_DISK,
	.keys = disk_keys,
	.summary = "measure a disk under load, or a connection",
	.opts = bench_rows,
	.foreign = bench_foreign,
	.examples =
		"  rdmastor bench --iodepth 32 nvme+tcp://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		"  rdmastor bench --matrix --svg disk.svg nvme+tcp://10.0.0.1/NQN "
		"iscsi://10.0.0.1/IQN/0\n"
		"  rdmastor bench --listen\n"
		"  rdmastor bench --rdma 10.0.0.1\n",
	.defaults = &defaults,
	.opts_size = sizeof(struct bench_options),
	.min = 0,
	.max = 255,
	.has_dry_run = true,
	.run = run,
};
