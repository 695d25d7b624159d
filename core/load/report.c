/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print figures as text and as rdmastor's JSON, with warnings about unreliable ones. report_fio.c
 * prints fio's JSON. */
#include "figure.h"
#include "stats.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BAR         40
#define ROWS        24 /* if there are more, two are drawn as one */
#define ROW_LAST    80
#define BUSY        0.1 /* share of time without a CPU from which on results are doubtful */
#define CLOCK_READS 1000

static const struct {
	double percent;
	const char *key;
} percentiles[] = {
	{ 50, "50" },
	{ 90, "90" },
	{ 95, "95" },
	{ 99, "99" },
	{ 99.9, "99.9" },
	{ 99.99, "99.99" },
	{ 99.999, "99.999" },
};
#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

static double per_second(double count, const struct load_result *result)
{
	return result->seconds > 0 ? count / result->seconds : 0;
}

static uint64_t all_ios(const struct load_result *result)
{
	return result->kind[LOAD_READ].requests + result->kind[LOAD_WRITE].requests;
}

static void warn(struct load_report *report, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void warn(struct load_report *report, const char *code, const char *fmt, ...)
{
	va_list args;

	if (report->warnings == LOAD_WARNINGS)
		return;
	report->warning[report->warnings].code = code;
	va_start(args, fmt);
	vsnprintf(report->warning[report->warnings++].text, sizeof(report->warning[0].text), fmt,
		args);
	va_end(args);
}

static void check_state(struct load_report *report)
{
	const struct load_options *load = &report->load;
	const struct bdev_limits *lim = &report->disk->lim;

	if (lim->size != load->state_disk_size)
		warn(report, "other-size",
			"has %" PRIu64 " bytes, but %s is about a disk of %" PRIu64, lim->size,
			load->verify_only, load->state_disk_size);
	if (lim->block != load->state_disk_block)
		warn(report, "other-block-size",
			"has blocks of %u bytes, but %s is about a disk with blocks of %u",
			lim->block, load->verify_only, load->state_disk_block);
}

void load_report_check(struct load_report *report)
{
	const struct load_result *result = &report->result;
	uint64_t ios = all_ios(result), median = UINT64_MAX, begin = loop_clock(), elapsed;
	char data[16], mapped[16];

	for (unsigned i = 0; i < CLOCK_READS; i++)
		elapsed = loop_clock() - begin;
	elapsed /= CLOCK_READS;
	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
		const struct stats *latency = &result->kind[kind].latency;
		uint64_t ns = latency->total ? stats_percentile(latency, 50) : UINT64_MAX;

		median = ns < median ? ns : median;
	}
	if (report->verbose || elapsed > median / 100)
		warn(report, "clock", "reading the clock takes %" PRIu64 " ns of every latency",
			elapsed);
	if (result->data != result->mapped && !report->memory)
		warn(report, "holes", "only %s of %s held data: %s", out_human(result->data, data),
			out_human(result->mapped, mapped),
			report->load.read_percent ? "holes are read without storage access"
						  : "writing to a hole allocates it first");
	if (result->stopped && report->timed_out)
		warn(report, "timeout", "timed out after %.2f s", result->seconds);
	else if (result->stopped)
		warn(report, "interrupted", "interrupted after %.2f s", result->seconds);
	if (report->load.verify_only) {
		check_state(report);
		return;
	}
	if (result->seconds < 1)
		warn(report, "short", "ran for %.3g s: too short for reliable results",
			result->seconds);
	if (ios < 1000)
		warn(report, "few-requests",
			"only %" PRIu64 " request%s: too few for reliable results", ios,
			ios == 1 ? "" : "s");
	if (result->busiest >= 0.95 && !report->load.verify)
		warn(report, "cpu",
			"a job used %.0f %% of a CPU: this machine, not the %s, is the bottleneck",
			result->busiest * 100, report->disk ? "disk" : "network");
	if (result->run_delay >= BUSY)
		warn(report, "cpu-wait",
			"threads waited %.0f %% of the time for a CPU: other processes were "
			"running",
			result->run_delay * 100);
	if (result->steal >= BUSY)
		warn(report, "steal",
			"the hypervisor gave %.0f %% of the CPU time to other machines",
			result->steal * 100);
	if (report->load.verify)
		warn(report, "verify",
			"the results include the time to make and compare data (--verify)");
	if (result->delayed || result->unstarted)
		warn(report, "delayed",
			"%" PRIu64 " requests started late and %" PRIu64
			" never, as all %u were in flight (their wait is in the latency): the "
			"rate is too high or --iodepth too low",
			result->delayed, result->unstarted, report->load.depth);
	if (report->load.log && load_log_dropped(report->load.log))
		warn(report, "log-full",
			"%" PRIu64 " requests are not in the log: it has at most %u per job",
			load_log_dropped(report->load.log), LOAD_LOG_ENTRIES);
	if (report->disk && report->load.depth > report->disk->lim.depth)
		warn(report, "iodepth", "--iodepth %u: the disk has at most %u in flight per queue",
			report->load.depth, report->disk->lim.depth);
}

static void print_latency(struct out *out, const char *label, const struct stats *latency)
{
	char line[240] = "", a[24], b[24], c[24], d[24];

	out_line(out, "         %smean %s, stddev %s, min %s, max %s", label,
		figure_text(stats_mean(latency), FIGURE_NS, a),
		figure_text(stats_deviation(latency), FIGURE_NS, b),
		figure_text((double)latency->min, FIGURE_NS, c),
		figure_text((double)latency->max, FIGURE_NS, d));
	for (unsigned i = 0; i < PERCENTILES && stats_resolves(latency, percentiles[i].percent);
		i++) {
		size_t at = strlen(line);

		snprintf(line + at, sizeof(line) - at, "%sp%s %s", at ? ", " : "",
			percentiles[i].key,
			figure_text((double)stats_percentile(latency, percentiles[i].percent),
				FIGURE_NS, a));
	}
	if (line[0])
		out_line(out, "         %s", line);
}

/* Bounds of rows: every power of two and the middle to the next, both of which are bounds of the
 * histogram. */
static uint64_t row_floor(unsigned row)
{
	return row % 2 ? 3ull << row / 2 : 2ull << row / 2;
}

static void print_histogram(struct out *out, const struct stats *latency)
{
	static const char bar[BAR + 1] = "########################################";
	unsigned first = 0, last, step;
	uint64_t most = 0;
	char from[24];

	while (row_floor(first + 1) <= latency->min)
		first++;
	for (last = first; row_floor(last + 1) <= latency->max && last < ROW_LAST; last++)
		;
	step = last - first < ROWS ? 1 : 2;
	if (step == 2)
		first &= ~1u;
	for (unsigned row = first; row <= last; row += step) {
		uint64_t count = stats_between(latency, row_floor(row), row_floor(row + step));
		most = count > most ? count : most;
	}
	for (unsigned row = first; row <= last; row += step) {
		uint64_t count = stats_between(latency, row_floor(row), row_floor(row + step));
		unsigned len = (unsigned)((double)count * BAR / (double)most + 0.999);

		out_line(out, "  %8s |%-*.*s %6.2f %% %10" PRIu64,
			figure_text((double)row_floor(row), FIGURE_NS, from), BAR, (int)len, bar,
			(double)count * 100 / (double)latency->total, count);
	}
}

static void print_cpu(struct out *out, const struct load_report *report)
{
	const struct load_result *result = &report->result;
	double cpu = result->user + result->system;
	char each[24];

	if (report->load.verify || !all_ios(result))
		return;
	out_line(out, "  cpu    %s per request, %.0f %% of one CPU (user %.0f %%, system %.0f %%)",
		figure_text(cpu * 1e9 / (double)all_ios(result), FIGURE_NS, each),
		100 * per_second(cpu, result), 100 * per_second(result->user, result),
		100 * per_second(result->system, result));
}

void load_report_text(struct out *out, const struct load_report *report)
{
	const struct load_result *result = &report->result;
	char bs[16], rate[24], verified[16], starts[64] = "";

	out_line(out, "%s", report->target);
	if (report->load.rate > 0)
		snprintf(starts, sizeof(starts), ", %s starts/s (%s)",
			figure_text(report->load.rate, FIGURE_COUNT, rate),
			report->load.poisson ? "poisson" : "constant");
	out_line(out, "%s, %s, iodepth %u, numjobs %u%s, %.2f s", report->rw,
		report->bssplit ? report->bssplit : out_human(report->load.bs, bs),
		report->load.depth, report->load.jobs, starts, result->seconds);
	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
		const struct load_figures *figures = &result->kind[kind];

		if (!figures->latency.total)
			continue;
		out_line(out, "  %-6s %.0f IOPS, %s, %" PRIu64 " request%s",
			load_kind_text(&report->load, kind),
			per_second((double)figures->requests, result),
			figure_text(per_second((double)figures->bytes, result), FIGURE_RATE, rate),
			figures->requests, figures->requests == 1 ? "" : "s");
		print_latency(out,
			report->load.rate > 0 && kind != LOAD_FLUSH ? "from the scheduled start: "
								    : "",
			&figures->latency);
		if (figures->service.total)
			print_latency(out, "from the submission: ", &figures->service);
	}
	if (result->unanswered)
		out_line(out,
			"  lost   %u request%s (counted in the latency with the time they had "
			"waited)",
			result->unanswered, result->unanswered == 1 ? "" : "s");
	print_cpu(out, report);
	if (report->load.verify && result->unanswered)
		out_line(out, "  verify skipped: requests were lost");
	else if (report->load.verify)
		out_line(out, "  verify %s of %s: as written",
			out_human(result->verified, verified), out_human(result->range, bs));
	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++)
		if (result->kind[kind].latency.total) {
			out_line(out, "%s latency from", load_kind_text(&report->load, kind));
			print_histogram(out, &result->kind[kind].latency);
		}
}

static void json_latency(struct out *out, const char *key, const struct stats *latency)
{
	out_object(out, key);
	out_u64(out, "min", NULL, latency->min);
	out_u64(out, "max", NULL, latency->max);
	out_real(out, "mean", NULL, stats_mean(latency), 3);
	out_real(out, "stddev", NULL, stats_deviation(latency), 3);
	out_object(out, "percentile");
	for (unsigned i = 0; i < PERCENTILES; i++)
		out_u64(out, percentiles[i].key, NULL,
			stats_percentile(latency, percentiles[i].percent));
	out_end(out);
	out_list(out, "histogram");
	for (unsigned i = 0; i < STATS_BUCKETS; i++)
		if (latency->count[i]) {
			out_object(out, NULL);
			out_u64(out, "from_ns", NULL, stats_floor(i));
			out_u64(out, "count", NULL, latency->count[i]);
			out_end(out);
		}
	out_end(out);
	out_end(out);
}

static void json_kind(struct out *out, const char *key, const struct load_figures *figures,
	const struct load_result *result)
{
	out_object(out, key);
	out_u64(out, "requests", NULL, figures->requests);
	out_u64(out, "io_bytes", NULL, figures->bytes);
	out_real(out, "iops", NULL, per_second((double)figures->requests, result), 3);
	out_real(out, "bytes_per_second", NULL, per_second((double)figures->bytes, result), 0);
	json_latency(out, "latency_ns", &figures->latency);
	if (figures->service.total)
		json_latency(out, "service_ns", &figures->service);
	out_end(out);
}

/* Reads and writes are always there. */
static void json_kinds(struct out *out, const struct load_report *report)
{
	static struct load_figures nothing;
	const struct load_figures *kind = report->result.kind;
	bool data = report->load.change == LOAD_DATA;

	json_kind(out, "read", &kind[LOAD_READ], &report->result);
	json_kind(out, "write", data ? &kind[LOAD_WRITE] : &nothing, &report->result);
	if (!data)
		json_kind(out, load_kind_text(&report->load, LOAD_WRITE), &kind[LOAD_WRITE],
			&report->result);
	if (report->load.flush_every)
		json_kind(out, "flushes", &kind[LOAD_FLUSH], &report->result);
}

static void json_cpu(struct out *out, const struct load_result *result)
{
	double ios = (double)all_ios(result);

	out_object(out, "cpu");
	out_real(out, "user_seconds", NULL, result->user, 6);
	out_real(out, "system_seconds", NULL, result->system, 6);
	if (ios > 0)
		out_real(out, "seconds_per_request", NULL, (result->user + result->system) / ios,
			10);
	out_real(out, "busiest", NULL, result->busiest, 3);
	if (result->run_delay >= 0)
		out_real(out, "run_delay", NULL, result->run_delay, 3);
	if (result->steal >= 0)
		out_real(out, "stolen", NULL, result->steal, 3);
	out_u64(out, "context_switches", NULL, result->switches);
	out_end(out);
}

void load_report_json(struct out *out, const struct load_report *report)
{
	const struct load_result *result = &report->result;

	if (report->socket) {
		addr_show(out, "tcp", report->socket);
	} else {
		out_text(out, "uri", NULL, "%s", report->target);
		out_text(out, "rw", NULL, "%s", report->rw);
	}
	out_u64(out, "bs", NULL, report->load.bs);
	if (report->bssplit)
		out_text(out, "bssplit", NULL, "%s", report->bssplit);
	if (report->load.flush_every)
		out_u64(out, "fsync", NULL, report->load.flush_every);
	out_u64(out, "iodepth", NULL, report->load.depth);
	out_u64(out, "numjobs", NULL, report->load.jobs);
	out_real(out, "seconds", NULL, result->seconds, 6);
	out_bool(out, "interrupted", NULL, result->stopped);
	json_kinds(out, report);
	json_cpu(out, result);
	if (result->range)
		out_u64(out, "range_bytes", NULL, result->range);
	if (result->mapped) {
		out_u64(out, "mapped_bytes", NULL, result->mapped);
		out_u64(out, "data_bytes", NULL, result->data);
	}
	if (report->load.verify)
		out_u64(out, "verified_bytes", NULL, result->verified);
	if (report->load.rate > 0) {
		out_real(out, "rate_iops", NULL, report->load.rate, 3);
		out_text(out, "rate_process", NULL, report->load.poisson ? "poisson" : "constant");
		out_u64(out, "delayed", NULL, result->delayed);
		out_u64(out, "unstarted", NULL, result->unstarted);
	}
	out_u64(out, "unanswered", NULL, result->unanswered);
	out_list(out, "warnings");
	for (unsigned i = 0; i < report->warnings; i++) {
		out_object(out, NULL);
		out_text(out, "code", NULL, "%s", report->warning[i].code);
		out_text(out, "text", NULL, "%s", report->warning[i].text);
		out_end(out);
	}
	out_end(out);
}
