/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print figures of an RDMA connection as a table like perftest's. */
#include "stats.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define MIB  1048576.
#define GBIT 125e6 /* bytes */

const char *const load_op_name[] = { [LOAD_OP_SEND] = "send",
	[LOAD_OP_WRITE] = "write",
	[LOAD_OP_READ] = "read",
	[LOAD_OP_PING] = "ping" };
const char *const load_test_name[2] = { "latency", "bandwidth" };

static void bandwidth(struct out *out, const struct load_rdma *conf,
	const struct load_rdma_result *result, bool heading, bool gbits)
{
	double seconds = result->seconds > 0 ? result->seconds : INFINITY,
	       rate = (double)result->iterations / seconds,
	       reverse = (double)result->reverse / seconds, average = rate * conf->size,
	       peak = result->peak > average ? result->peak : average;
	double unit = gbits ? GBIT : MIB, back = reverse * conf->size;
	const char *name = gbits ? "Gb" : "MB";
	char columns[64] = "", cells[64] = "";

	if (conf->both) {
		snprintf(columns, sizeof(columns), "    BW out[%s/sec]    BW in[%s/sec]", name,
			name);
		snprintf(cells, sizeof(cells), "        %-7.2f           %-7.2f", average / unit,
			back / unit);
	}
	if (heading)
		out_line(out,
			" #bytes     #iterations    BW peak[%s/sec]    BW average[%s/sec]   "
			"MsgRate[Mpps]%s",
			name, name, columns);
	/* as perftest does, the sum of both directions, and no peak if it is unknown */
	out_line(out,
		" %-7u    %-10" PRIu64 "       %-7.2f            %-7.2f              %-7.6f%s",
		conf->size, result->iterations, conf->both ? 0 : peak / unit,
		(average + back) / unit, (rate + reverse) / 1e6, cells);
	if (!conf->both)
		out_real(out, "peak_bytes_per_second", NULL, peak, 0);
	out_real(out, "bytes_per_second", NULL, average, 0);
	out_real(out, "messages_per_second", NULL, rate, 3);
	if (!conf->both)
		return;
	out_u64(out, "reverse_iterations", NULL, result->reverse);
	out_real(out, "reverse_bytes_per_second", NULL, back, 0);
	out_real(out, "reverse_messages_per_second", NULL, reverse, 3);
	out_real(out, "sum_bytes_per_second", NULL, average + back, 0);
	out_real(out, "sum_messages_per_second", NULL, rate + reverse, 3);
}

static void latency(struct out *out, const struct load_rdma *conf,
	const struct load_rdma_result *result, bool heading)
{
	const struct stats *times = &result->latency;
	double mean = stats_mean(times), deviation = stats_deviation(times);
	uint64_t typical = stats_percentile(times, 50), p99 = stats_percentile(times, 99),
		 p999 = stats_percentile(times, 99.9);

	if (heading)
		out_line(out, " #bytes #iterations    t_min[usec]    t_max[usec]  "
			      "t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
			      "99%% percentile[usec]   99.9%% percentile[usec]");
	out_line(out,
		" %-7u %-10" PRIu64
		"     %-7.2f        %-7.2f      %-7.2f            %-7.2f        %-7.2f     "
		"    %-7.2f                %-7.2f",
		conf->size, result->iterations, (double)times->min / 1000,
		(double)times->max / 1000, (double)typical / 1000, mean / 1000, deviation / 1000,
		(double)p99 / 1000, (double)p999 / 1000);
	out_object(out, "latency_ns");
	out_u64(out, "min", NULL, times->min);
	out_u64(out, "max", NULL, times->max);
	out_u64(out, "typical", NULL, typical);
	out_real(out, "mean", NULL, mean, 3);
	out_real(out, "stddev", NULL, deviation, 3);
	out_u64(out, "p99", NULL, p99);
	out_u64(out, "p99.9", NULL, p999);
	out_end(out);
}

void load_report_rdma(struct out *out, const struct load_rdma *conf,
	const struct load_rdma_result *result, bool heading, bool gbits)
{
	char qps[32] = "";

	out_object(out, NULL);
	out_text(out, "op", NULL, "%s", load_op_name[conf->op]);
	out_text(out, "test", NULL, "%s", load_test_name[conf->bandwidth]);
	out_u64(out, "message_size", NULL, conf->size);
	out_u64(out, "iterations", NULL, result->iterations);
	out_u64(out, "iodepth", NULL, result->depth);
	out_u64(out, "queue_pairs", NULL, conf->qps ? conf->qps : 1);
	out_real(out, "seconds", NULL, result->seconds, 6);
	out_text(out, "rdma", NULL, "%s", result->backend);
	if (conf->qps > 1)
		snprintf(qps, sizeof(qps), ", %u queue pairs", conf->qps);
	if (heading)
		out_line(out, "RDMA %s %s%s%s", load_op_name[conf->op],
			load_test_name[conf->bandwidth], conf->both ? ", both directions" : "",
			qps);
	if (conf->bandwidth)
		bandwidth(out, conf, result, heading, gbits);
	else
		latency(out, conf, result, heading);
	out_end(out);
}
