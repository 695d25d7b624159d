/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench of a connection without a disk: RDMA as a table like perftest's, a TCP socket like a disk,
 * and the server for both. */
#include "bench.h"
#include "daemon.h"
#include "disk_open.h"
#include "kernel_identity.h"
#include "kernel_rdma.h"
#include "loop.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZES  32
#define DEPTH  128
#define ROW_MS 2000 /* of a row without --runtime */
#define MIB    1048576.

static const char *const op_name[] = { [LOAD_OP_SEND] = "send",
	[LOAD_OP_WRITE] = "write",
	[LOAD_OP_READ] = "read",
	[LOAD_OP_PING] = "ping" };
static const char *const test_name[] = { "latency", "bandwidth" };

/* Don't look up a file as a host: a disk is measured without --rdma and --tcp. */
static int not_a_file(const char *text, struct diag *diag)
{
	struct stat st;

	if (stat(text, &st) || S_ISDIR(st.st_mode))
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL,
		"is a file, but --rdma, --tcp and --listen expect HOST[:PORT]");
	return diag_hint(diag, "rdmastor bench %s", text);
}

/* "HOST:PORT?rdma=iwarp": address, and which way. */
static int read_address(struct bench *bench, struct addr *addr, enum load_way *way, bool *no_crc)
{
	const char *text = bench->call->operands ? bench->call->operand[0] : "";
	uint16_t port = bench->opts->ping ? LOAD_PING_PORT : LOAD_PORT;
	struct diag *diag = bench->call->diag;
	struct addr_rdma how;
	char host[URI_MAX];

	if (snprintf(host, sizeof(host), "%s", text) >= (int)sizeof(host))
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG, "the address is too long");
	if (not_a_file(text, diag) || addr_rdma(&how, host, diag))
		return diag_ctx(diag, "%s", text);
	if (!*host || !strcmp(host, ":")) {
		if (!bench->opts->listen)
			return diag_set(diag, DIAG_USAGE, EINVAL, "no HOST given");
		snprintf(host, sizeof(host), ":%u", port); /* all addresses */
	}
	if (addr_parse(addr, host, port, diag))
		return diag_ctx(diag, "%s", text);
	if (addr->ss.ss_family == AF_UNIX) {
		diag_set(diag, DIAG_USAGE, EINVAL, "expected HOST[:PORT], not a unix socket");
		return diag_ctx(diag, "%s", text);
	}
	*way = how.verbs && how.iwarp ? LOAD_AUTO : how.verbs ? LOAD_VERBS : LOAD_IWARP;
	*no_crc = how.no_crc;
	return 0;
}

/* Load the kernel modules for RDMA. lacks: what is missing, for the error if there is one. */
static void get_rdma_ready(struct diag *lacks)
{
	int root = kernel_root();

	if (root < 0)
		return;
	kernel_rdma_ready(root, lacks);
	close(root);
}

/* Hints for a measurement, not for a disk. */
static int blame(struct bench *bench, enum load_way way, const struct diag *rdma)
{
	const struct bench_options *opts = bench->opts;
	struct diag *why = bench->call->diag;
	int err = disk_blame_rdma(why, rdma);
	bool no_rdma = why->code == DIAG_NO_DEVICE || why->code == DIAG_NO_MODULE;

	why->hint[0] = 0;
	if (no_rdma && way == LOAD_VERBS)
		diag_hint(why, opts->listen && !opts->ping
				       ? "without an RDMA device use ?rdma=iwarp or --tcp"
				       : "without an RDMA device use ?rdma=iwarp");
	else if (!opts->listen && (no_rdma || why->code == DIAG_REFUSED))
		diag_hint(why, "run on the other host: rdmastor bench --listen%s",
			opts->ping ? " --ping, or rping -s" : "");
	return err;
}

static int read_sizes(struct bench *bench, uint32_t size[SIZES], unsigned *count)
{
	const char *p = bench->opts->bs     ? bench->opts->bs
			: bench->opts->ping ? "64"
					    : "64,4K,64K,1M";
	struct diag *diag = bench->call->diag;

	for (*count = 0; *p; ++*count) {
		size_t len = strcspn(p, ",");
		char word[32];
		uint64_t value;

		snprintf(word, sizeof(word), "%.*s", (int)len, p);
		if (*count == SIZES)
			return diag_set(
				diag, DIAG_USAGE, E2BIG, "--bs: must be at most %d sizes", SIZES);
		if (parse_size(word, &value, diag))
			return diag_ctx(diag, "--bs");
		if (!value || value > UINT32_MAX)
			return diag_set(
				diag, DIAG_USAGE, ERANGE, "--bs: must be 1 to %u", UINT32_MAX);
		size[*count] = (uint32_t)value;
		p += len + (p[len] == ',');
	}
	return 0;
}

static double us(double ns)
{
	return ns / 1000;
}

static void put_head(struct out *out, enum load_op op, bool bandwidth)
{
	out_line(out, "RDMA %s %s", op_name[op], test_name[bandwidth]);
	if (bandwidth)
		out_line(out, " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
			      "MsgRate[Mpps]");
	else
		out_line(out, " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]  "
			      "  t_avg[usec]    t_stdev[usec]   "
			      "99%% percentile[usec]   99.9%% percentile[usec]");
}

static void put_text(
	struct out *out, const struct load_rdma *conf, const struct load_rdma_result *result)
{
	const struct stats *latency = &result->latency;
	double rate = result->seconds > 0 ? (double)result->iterations / result->seconds : 0,
	       average = rate * conf->size;

	if (conf->bandwidth)
		out_line(out,
			" %-7u    %-10" PRIu64
			"       %-7.2f            %-7.2f              %-7.6f",
			conf->size, result->iterations,
			(result->peak > average ? result->peak : average) / MIB, average / MIB,
			rate / 1e6);
	else
		out_line(out,
			" %-7u %-10" PRIu64
			"     %-7.2f        %-7.2f      %-7.2f            %-7.2f        %-7.2f     "
			"    %-7.2f                %-7.2f",
			conf->size, result->iterations, us((double)latency->min),
			us((double)latency->max), us((double)stats_percentile(latency, 50)),
			us(stats_mean(latency)), us(stats_deviation(latency)),
			us((double)stats_percentile(latency, 99)),
			us((double)stats_percentile(latency, 99.9)));
}

static void put_json(
	struct out *out, const struct load_rdma *conf, const struct load_rdma_result *result)
{
	const struct stats *latency = &result->latency;
	double rate = result->seconds > 0 ? (double)result->iterations / result->seconds : 0,
	       average = rate * conf->size;

	out_object(out, NULL);
	out_text(out, "op", NULL, "%s", op_name[conf->op]);
	out_text(out, "test", NULL, "%s", test_name[conf->bandwidth]);
	out_u64(out, "message_size", NULL, conf->size);
	out_u64(out, "iterations", NULL, result->iterations);
	out_u64(out, "iodepth", NULL, result->depth);
	out_real(out, "seconds", NULL, result->seconds, 6);
	out_text(out, "rdma", NULL, "%s", result->backend);
	if (conf->bandwidth) {
		out_real(out, "peak_bytes_per_second", NULL,
			result->peak > average ? result->peak : average, 0);
		out_real(out, "bytes_per_second", NULL, average, 0);
		out_real(out, "messages_per_second", NULL, rate, 3);
	} else {
		out_object(out, "latency_ns");
		out_u64(out, "min", NULL, latency->min);
		out_u64(out, "max", NULL, latency->max);
		out_u64(out, "typical", NULL, stats_percentile(latency, 50));
		out_real(out, "mean", NULL, stats_mean(latency), 3);
		out_real(out, "stddev", NULL, stats_deviation(latency), 3);
		out_u64(out, "p99", NULL, stats_percentile(latency, 99));
		out_u64(out, "p99.9", NULL, stats_percentile(latency, 99.9));
		out_end(out);
	}
	out_end(out);
}

static int measure_row(struct bench *bench, struct load_rdma *conf, bool first)
{
	struct load_rdma_result *result = &bench->rdma;
	struct out *out = bench->call->out;
	int err = load_rdma(bench->loop, conf, result, bench->call->diag);

	if (err)
		return err;
	if (!bench->told++)
		out_line(out, "%s", result->way);
	if (first)
		put_head(out, conf->op, conf->bandwidth);
	if (out->json)
		put_json(out, conf, result);
	else
		put_text(out, conf, result);
	out_flush(out);
	return bench->stop ? -EINTR : 0;
}

static bool wanted(const struct bench_options *opts, enum load_op op, unsigned test)
{
	if (opts->ping || op == LOAD_OP_PING)
		return opts->ping && op == LOAD_OP_PING && !test;
	return (!opts->op || !strcmp(opts->op, op_name[op])) &&
	       (!opts->test || !strcmp(opts->test, test_name[test]));
}

static int measure_rows(
	struct bench *bench, struct load_rdma *conf, const uint32_t *size, unsigned sizes)
{
	const struct bench_options *opts = bench->opts;
	int err = 0;

	for (unsigned test = 0; test < 2; test++)
		for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_PING; op++) {
			if (!wanted(opts, op, test))
				continue;
			conf->op = op;
			conf->bandwidth = test;
			conf->depth =
				test ? bench->opts->iodepth ? bench->opts->iodepth : DEPTH : 1;
			conf->iterations = bench->opts->iters;
			if (!bench->opts->iters && !bench->opts->runtime_ms)
				conf->iterations = test ? 5000 : 1000;
			for (unsigned i = 0; i < sizes && !err; i++) {
				conf->size = size[i];
				err = measure_row(bench, conf, !i);
			}
			if (err)
				return err;
		}
	return 0;
}

void bench_json_addr(struct out *out, const char *transport, const struct addr *addr)
{
	char host[ADDR_TEXT];

	out_text(out, "transport", NULL, "%s", transport);
	out_text(out, "traddr", NULL, "%s", addr_host(addr, host));
	out_text(out, "trsvcid", NULL, "%u", addr_port(addr));
}

static int rehearse(
	struct bench *bench, const char *what, const char *transport, const struct addr *addr)
{
	struct out *out = bench->call->out;
	char text[ADDR_TEXT];

	bench_json_addr(out, transport, addr);
	out_line(out, "would %s %s", what, addr_text(addr, text));
	return EXIT_DONE;
}

int bench_rdma(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct load_rdma conf = { .runtime_ms = bench->opts->runtime_ms,
		.stop = &bench->stop,
		.timeout_ms = bench_dial_ms(opts) };
	struct diag rdma = { 0 };
	uint32_t size[SIZES];
	unsigned sizes;
	int err = read_address(bench, &conf.dst, &conf.way, &conf.no_crc);

	if (!err)
		err = read_sizes(bench, size, &sizes);
	if (err)
		return err;
	if (!bench->opts->iters && !bench->opts->runtime_ms)
		conf.runtime_ms = ROW_MS;
	if (opts->common.dry_run)
		return rehearse(bench, "measure RDMA to", "rdma", &conf.dst);
	if (conf.way != LOAD_IWARP)
		get_rdma_ready(&rdma);
	bench_json_addr(bench->call->out, "rdma", &conf.dst);
	out_list(bench->call->out, "rows");
	bench->running = true;
	err = measure_rows(bench, &conf, size, sizes);
	out_end(bench->call->out);
	if (err == -EINTR && bench->timed_out)
		return diag_set(bench->call->diag, DIAG_TIMEOUT, ETIMEDOUT, "timed out after %g s",
			opts->common.timeout_ms / 1000.);
	if (err == -EINTR && !bench->call->diag->err) {
		call_note(bench->call, "interrupted");
		return EXIT_PARTLY;
	}
	return err ? blame(bench, conf.way, &rdma) : EXIT_DONE;
}

int bench_tcp(struct bench *bench)
{
	enum load_way way;
	struct addr addr;
	bool no_crc;
	int err = read_address(bench, &addr, &way, &no_crc);

	if (err)
		return err;
	if (bench->opts->common.dry_run)
		return rehearse(bench, "measure TCP to", "tcp", &addr);
	bench->report.target = bench->call->operand[0];
	bench->report.socket = &addr;
	bench->report.rw = "socket";
	bench->running = true;
	err = bench_finish(bench, load_tcp(bench->loop, &addr, &bench->report.load,
					  &bench->report.result, bench->call->diag));
	return err == -ECONNREFUSED ? blame(bench, LOAD_IWARP, &(struct diag){ 0 }) : err;
}

static void show_server(
	struct bench *bench, const struct addr *at, const struct load_listen *conf, bool verbs)
{
	struct out *out = bench->call->out;
	char host[ADDR_TEXT], port[32];

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
}

static int serve(struct bench *bench, const struct load_listen *conf)
{
	struct daemon_wait wait;
	struct load_server *server;
	int err;

	daemon_wait_begin(&wait, bench->call, bench->loop);
	err = load_listen(
		&server, bench->loop, conf, bench->opts->common.timeout_ms, bench->call->diag);
	daemon_wait_end(&wait, bench->loop);
	if (err)
		return err;
	show_server(bench, load_server_addr(server), conf, load_server_verbs(server));
	err = out_fini(bench->call->out, NULL);
	bench->running = true;
	if (!err)
		loop_wait(bench->loop, &bench->stop, 0);
	load_server_stop(server);
	return err;
}

int bench_listen(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	struct loop *loops[BENCH_LISTENERS] = { bench->loop };
	bool rdma = opts->rdma || !opts->tcp;
	struct load_listen conf = { .tcp = !opts->ping && (opts->tcp || !opts->rdma),
		.ping = opts->ping,
		.loops = loops,
		.nloops = bench->opts->numjobs };
	struct crew *crew = NULL;
	struct diag kernel_rdma_lacks = { 0 };
	enum load_way way;
	int err = read_address(bench, &conf.at, &way, &conf.no_crc);

	if (err)
		return err;
	if (opts->common.dry_run)
		return rehearse(bench, "listen on", rdma ? "rdma" : "tcp", &conf.at);
	loop_timer_del(bench->loop, &bench->timeout);
	conf.iwarp = rdma && way != LOAD_VERBS;
	conf.verbs = rdma && way != LOAD_IWARP;
	if (conf.verbs)
		get_rdma_ready(&kernel_rdma_lacks);
	if (bench->opts->numjobs > 1)
		err = crew_start(
			&crew, bench->opts->numjobs, loop_options(bench->loop), bench->call->diag);
	for (unsigned i = 0; !err && crew && i < bench->opts->numjobs; i++)
		loops[i] = crew_loop(crew, i);
	if (!err)
		err = serve(bench, &conf);
	crew_stop(crew);
	return err ? blame(bench, way, &kernel_rdma_lacks) : EXIT_DONE;
}
