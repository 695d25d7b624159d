/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench without a disk: a TCP socket or an RDMA connection, and their server. */
#include "bench.h"
#include "daemon.h"
#include "disk_open.h"
#include "kernel_rdma.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

int bench_tcp(struct bench *bench)
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
	err = bench_finish(bench, load_tcp(bench->task.loop, &addr, &report->load, &report->result,
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
	load_report_rdma(out, conf, result, first, bench->opts->gbits);
	out_flush(out);
	if (conf->bandwidth && result->depth < conf->depth)
		call_note(bench->call,
			"%s of %u bytes: only %u messages in flight per queue pair, not %u",
			load_op_name[conf->op], conf->size, result->depth, conf->depth);
}

int bench_rdma(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct load_rdma_plan plan = { .op = opts->op,
		.test = opts->qps > 1 || opts->bidirectional ? load_test_name[true] : opts->test,
		.ping = opts->ping,
		.depth = opts->iodepth ? bench->depth.value[0] : opts->tx_depth,
		.iterations = opts->iters,
		.runtime_ms = opts->runtime_ms ? opts->runtime_ms : opts->duration_ms,
		.size = { (uint32_t)opts->message_size },
		.sizes = opts->message_size > 0,
		.common.dev = opts->dev,
		.common.size_option = opts->message_size ? "-s" : NULL,
		.common.depth_option = opts->tx_depth ? "-t" : NULL,
		.common.qps = opts->qps,
		.common.both = opts->bidirectional,
		.common.mtu = opts->mtu ? (uint32_t)strtoul(opts->mtu, NULL, 10) : 0,
		.common.timeout_ms = bench->report.load.timeout_ms,
		.common.stop = &bench->task.stop };
	struct load_rdma *conf = &plan.common;
	struct call *call = bench->call;
	struct diag rdma_why = { 0 };
	int err = read_address(bench, &conf->dst, &conf->backend, &conf->no_crc);

	if (opts->all_sizes)
		load_sizes_all(&plan);
	else if (!err && !plan.sizes)
		err = load_sizes_read(&plan, opts->bs, call->diag);
	if (!err && conf->backend == LOAD_IWARP && (opts->dev || opts->mtu))
		err = bench_usage(
			bench, "%s requires verbs, not ?rdma=iwarp", opts->dev ? "-d" : "-m");
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
		return bench_timed_out(bench, &conf->dst);
	if (err == -EINTR && !call->diag->err) {
		call_note(call, "interrupted");
		return EXIT_PARTLY;
	}
	return err ? blame(bench, conf->backend, &rdma_why) : EXIT_DONE;
}

static int serve(struct bench *bench, const struct load_listen *conf, const struct rights *rights)
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
	rights_show(rights, bench->call);
	if (!err)
		loop_wait(bench->task.loop, &bench->task.stop, 0);
	load_server_stop(server);
	return err;
}

/* Give up the rights of root before there are threads and verbs. */
static int drop_rights(struct bench *bench, struct rights *rights, const struct load_listen *conf)
{
	int err;

	*rights = (struct rights){ .name = bench->opts->user,
		.verbs = conf->verbs,
		.low_port = rights_low_port(&conf->at) };
	err = rights_read(rights, bench->call->diag);

	if (err)
		return err;
	privilege_no_new();
	if (!rights->drop)
		return 0;
	out_log_hold(false);
	err = rights_drop(rights, bench->call, disk_root(NULL));
	disk_root_close();
	return err;
}

int bench_listen(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct loop *loops[BENCH_LISTENERS] = { bench->task.loop };
	bool rdma = opts->rdma || !opts->tcp;
	struct load_listen conf = { .tcp = !opts->ping && (opts->tcp || !opts->rdma),
		.ping = opts->ping,
		.loops = loops,
		.nloops = opts->numjobs };
	struct workers *workers = NULL;
	struct diag rdma_why = { 0 };
	enum load_backend backend;
	struct rights rights;
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
	err = drop_rights(bench, &rights, &conf);
	if (err)
		return err;
	if (opts->numjobs > 1)
		err = workers_start(
			&workers, opts->numjobs, loop_options(bench->task.loop), bench->call->diag);
	for (unsigned i = 0; !err && workers && i < opts->numjobs; i++)
		loops[i] = workers_loop(workers, i);
	if (!err)
		err = serve(bench, &conf, &rights);
	workers_stop(workers);
	return err ? blame(bench, backend, &rdma_why) : EXIT_DONE;
}
