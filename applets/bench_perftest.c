/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of bench --rdma that have perftest's letters: where they are accepted. */
#include "bench.h"
#include <errno.h>
#include <string.h>

/* The hint that the applet has for an option of perftest, as for unknown ones. */
static void hint(struct bench *bench, const char *option)
{
	const struct opt_foreign *row = bench->call->applet->foreign;

	while (row->tool && strcmp(option, row->options))
		row++;
	if (row->tool)
		diag_hint(bench->call->diag, "%s's %s: %s", row->tool, option, row->advice);
}

int bench_check_perftest(struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const char *size = opts->message_size ? "-s" : opts->all_sizes ? "-a" : NULL;
	const char *first = size                  ? size
			    : opts->iters         ? "--iters"
			    : opts->tx_depth      ? "-t"
			    : opts->duration_ms   ? "-D"
			    : opts->dev           ? "-d"
			    : opts->mtu           ? "-m"
			    : opts->bidirectional ? "-b"
			    : opts->gbits         ? "--report_gbits"
			    : opts->rdma_cm       ? "-R"
			    : opts->cpu_freq      ? "-F"
			    : opts->qps           ? "--qp"
						  : NULL;

	if (first && (!opts->rdma || opts->listen)) {
		bench_usage(bench, "%s requires --rdma", first);
		hint(bench, first);
		return -EINVAL;
	}
	if (opts->rdma && (opts->size || opts->all)) {
		first = opts->size ? "--size" : "--all";
		bench_usage(
			bench, opts->size ? "%s requires a disk" : "%s requires --matrix", first);
		hint(bench, first);
		return -EINVAL;
	}
	first = opts->numjobs > 1             ? "--numjobs"
		: opts->ramp_ms != BENCH_AUTO ? "--ramp-time"
		: opts->time_based            ? "--time-based"
					      : NULL;
	if (opts->rdma && !opts->listen && first) {
		bench_usage(bench, "%s requires a disk or --tcp", first);
		if (opts->numjobs > 1)
			diag_hint(bench->call->diag, "use --qp N");
		return -EINVAL;
	}
	if (opts->all_sizes && opts->ping)
		return bench_usage(bench, "-a and --ping can't be combined%s", "");
	if (opts->message_size && opts->all_sizes)
		return bench_usage(bench, "-s and -a can't be combined%s", "");
	if (size && opts->bs)
		return bench_usage(bench, "%s and --bs can't be combined", size);
	if (opts->tx_depth && opts->iodepth)
		return bench_usage(bench, "-t and --iodepth can't be combined%s", "");
	if (opts->duration_ms && opts->runtime_ms)
		return bench_usage(bench, "-D and --runtime can't be combined%s", "");
	if (opts->on_loss && (opts->rdma || opts->tcp))
		return bench_usage(bench, "--on-loss requires a disk%s", "");
	first = opts->qps > 1         ? "--qp"
		: opts->bidirectional ? "-b"
		: opts->tx_depth      ? "-t"
		: opts->gbits         ? "--report_gbits"
				      : NULL;
	if (first && (opts->ping || (opts->test && *opts->test == 'l')))
		return bench_usage(bench, "%s requires the bandwidth test", first);
	return 0;
}
