/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print figures as fio 3.33 does with --output-format=json+, for tools that read those. Values that
 * only fio has (submission latency, batches) are zero or absent. */
#include "stats.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct load_figures
	nothing; /* read-only; not const, which would enlarge the program file by 18 KB */

static void put_stats(struct out *out, const char *key, const struct stats *stats, bool whole)
{
	static const double percents[] = { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5,
		99.9, 99.95, 99.99, 99.999 };
	char name[24];

	out_object(out, key);
	out_u64(out, "min", NULL, stats->min);
	out_u64(out, "max", NULL, stats->max);
	out_real(out, "mean", NULL, stats_mean(stats), 6);
	out_real(out, "stddev", NULL, stats_deviation(stats), 6);
	out_u64(out, "N", NULL, stats->total);
	if (whole && stats->total) {
		out_object(out, "percentile");
		for (unsigned i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
			snprintf(name, sizeof(name), "%.6f", percents[i]);
			out_u64(out, name, NULL, stats_percentile(stats, percents[i]));
		}
		out_end(out);
		out_object(out, "bins");
		for (unsigned i = 0; i < STATS_BUCKETS; i++)
			if (stats->count[i]) {
				snprintf(name, sizeof(name), "%" PRIu64, stats_middle(i));
				out_u64(out, name, NULL, stats->count[i]);
			}
		out_end(out);
	}
	out_end(out);
}

static void put_samples(struct out *out, const struct load_figures *figures, double bs, double all)
{
	const struct load_samples *iops = &figures->iops;
	double n = iops->count, mean = n > 0 ? iops->sum / n : 0,
	       deviation = n > 0 ? stats_sqrt(iops->squares / n - mean * mean) : 0;
	double kib = bs / 1024.;

	out_u64(out, "bw_min", NULL, (uint64_t)(iops->min * kib));
	out_u64(out, "bw_max", NULL, (uint64_t)(iops->max * kib));
	out_real(out, "bw_agg", NULL,
		figures->latency.total && all > 0 ? 100 * (double)figures->bytes / all : 0, 6);
	out_real(out, "bw_mean", NULL, mean * kib, 6);
	out_real(out, "bw_dev", NULL, deviation * kib, 6);
	out_u64(out, "bw_samples", NULL, iops->count);
	out_u64(out, "iops_min", NULL, (uint64_t)iops->min);
	out_u64(out, "iops_max", NULL, (uint64_t)iops->max);
	out_real(out, "iops_mean", NULL, mean, 6);
	out_real(out, "iops_stddev", NULL, deviation, 6);
	out_u64(out, "iops_samples", NULL, iops->count);
}

static void put_kind(struct out *out, const char *key, const struct load_figures *figures,
	const struct load_report *report)
{
	const struct load_result *result = &report->result;
	double seconds = result->seconds > 0 ? result->seconds : 1;
	double rate = (double)figures->bytes / seconds;

	out_object(out, key);
	out_u64(out, "io_bytes", NULL, figures->bytes);
	out_u64(out, "io_kbytes", NULL, figures->bytes / 1024);
	out_u64(out, "bw_bytes", NULL, (uint64_t)rate);
	out_u64(out, "bw", NULL, (uint64_t)(rate / 1024));
	out_real(out, "iops", NULL, (double)figures->requests / seconds, 6);
	out_u64(out, "runtime", NULL,
		figures->latency.total ? (uint64_t)(result->seconds * 1000 + 0.5) : 0);
	out_u64(out, "total_ios", NULL, figures->requests);
	out_u64(out, "short_ios", NULL, 0);
	out_u64(out, "drop_ios", NULL, 0);
	put_stats(out, "slat_ns", &nothing.latency, false);
	put_stats(out, "clat_ns", figures->service.total ? &figures->service : &figures->latency,
		true);
	put_stats(out, "lat_ns", &figures->latency, false);
	put_samples(out, figures, load_mean_size(&report->load),
		(double)(result->kind[LOAD_READ].bytes + result->kind[LOAD_WRITE].bytes));
	out_end(out);
}

static void put_options(struct out *out, const struct load_report *report)
{
	const struct load_options *load = &report->load;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = { { "bs", load->bs }, { "iodepth", load->depth }, { "numjobs", load->jobs },
		{ "size", load->size }, { "offset", load->offset }, { "fsync", load->flush_every },
		{ "runtime", load->runtime_ms / 1000 }, { "ramp_time", load->ramp_ms / 1000 } };

	out_object(out, "job options");
	out_text(out, "name", NULL, "%s", report->name);
	out_text(out, "ioengine", NULL, "rdmastor");
	out_text(out, "filename", NULL, "%s", report->target);
	out_text(out, "rw", NULL, "%s", report->rw);
	if (report->bssplit)
		out_text(out, "bssplit", NULL, "%s", report->bssplit);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value)
			out_text(out, numbers[i].key, NULL, "%" PRIu64, numbers[i].value);
	out_end(out);
}

/* Shares of all requests by latency; fio names a bucket by its upper bound. */
static void put_shares(struct out *out, const struct load_report *report, const char *key,
	uint64_t unit, uint64_t *from)
{
	static const uint16_t bounds[] = { 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000 };
	const struct stats *read = &report->result.kind[LOAD_READ].latency,
			   *write = &report->result.kind[LOAD_WRITE].latency;
	double all = (double)(read->total + write->total);
	bool last = unit == 1000000;
	char name[16];

	out_object(out, key);
	for (unsigned i = 0; i < (last ? 11u : 10u); i++) {
		uint64_t to = bounds[i] * unit;
		double count = to > *from ? (double)(stats_between(read, *from, to) +
						     stats_between(write, *from, to))
					  : 0;

		snprintf(name, sizeof(name), "%u", bounds[i]);
		out_real(out, name, NULL, all > 0 ? count * 100 / all : 0, 6);
		*from = to > *from ? to : *from;
	}
	if (last) {
		double count = (double)(stats_between(read, *from, UINT64_MAX) +
					stats_between(write, *from, UINT64_MAX));
		out_real(out, ">=2000", NULL, all > 0 ? count * 100 / all : 0, 6);
	}
	out_end(out);
}

static void put_depth(struct out *out, uint32_t depth)
{
	static const char *const level[] = { "1", "2", "4", "8", "16", "32", ">=64" };
	unsigned at = 0;

	while (at < 6 && depth >= 2u << at)
		at++;
	out_object(out, "iodepth_level");
	for (unsigned i = 0; i < 7; i++)
		out_real(out, level[i], NULL, i == at ? 100 : 0, 6);
	out_end(out);
}

static void put_job(struct out *out, const struct load_report *report)
{
	const struct load_result *result = &report->result;
	double seconds = result->seconds > 0 ? result->seconds * report->load.jobs : 1;
	bool trim = report->load.change == LOAD_TRIM;
	uint64_t from = 0;

	out_object(out, NULL);
	out_text(out, "jobname", NULL, "%s", report->name);
	out_u64(out, "groupid", NULL, 0);
	out_u64(out, "error", NULL, (uint64_t)report->error);
	out_u64(out, "eta", NULL, 0);
	out_u64(out, "elapsed", NULL, (uint64_t)result->seconds + 1);
	put_options(out, report);
	put_kind(out, "read", &result->kind[LOAD_READ], report);
	put_kind(out, "write", trim ? &nothing : &result->kind[LOAD_WRITE], report);
	put_kind(out, "trim", trim ? &result->kind[LOAD_WRITE] : &nothing, report);
	out_object(out, "sync");
	out_u64(out, "total_ios", NULL, result->kind[LOAD_FLUSH].requests);
	put_stats(out, "lat_ns", &result->kind[LOAD_FLUSH].latency, true);
	out_end(out);
	out_u64(out, "job_runtime", NULL, (uint64_t)(seconds * 1000));
	out_real(out, "usr_cpu", NULL, result->user * 100 / seconds, 6);
	out_real(out, "sys_cpu", NULL, result->system * 100 / seconds, 6);
	out_u64(out, "ctx", NULL, result->switches);
	out_u64(out, "majf", NULL, result->major_faults);
	out_u64(out, "minf", NULL, result->minor_faults);
	put_depth(out, report->load.depth);
	put_shares(out, report, "latency_ns", 1, &from);
	put_shares(out, report, "latency_us", 1000, &from);
	put_shares(out, report, "latency_ms", 1000000, &from);
	out_u64(out, "latency_depth", NULL, report->load.depth);
	out_u64(out, "latency_target", NULL, 0);
	out_real(out, "latency_percentile", NULL, 100, 6);
	out_u64(out, "latency_window", NULL, 0);
	out_end(out);
}

void load_report_fio(struct out *out, const struct load_report *report)
{
	struct timespec now;
	char text[32] = "";

	clock_gettime(CLOCK_REALTIME, &now);
	ctime_r(&now.tv_sec, text);
	text[strcspn(text, "\n")] = 0;
	out_text(out, "fio version", NULL, "fio-3.33, as rdmastor writes it");
	out_u64(out, "timestamp", NULL, (uint64_t)now.tv_sec);
	out_u64(out, "timestamp_ms", NULL,
		(uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
	out_text(out, "time", NULL, "%s", text);
	out_list(out, "jobs");
	put_job(out, report);
	out_end(out);
}
