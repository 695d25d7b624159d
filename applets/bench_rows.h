/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of bench, with fio's names where they mean the same. */
#pragma once
#include "bench.h"
#include <stddef.h>

#define AT(field) offsetof(struct bench_options, field)
#define RW        "read|write|randread|randwrite|rw|readwrite|randrw"
#define NO_EFFECT "accepted for fio's command lines; no effect"
static const struct opt bench_rows[] = {
	{ "rw", 0, OPT_TEXT, AT(rw), RW,
		"access pattern; writing destroys data; default randread" },
	{ "bs", 0, OPT_TEXT, AT(bs), "SIZE[,...]",
		"size of a request; with --rdma and --matrix a list; default 4K, with --rdma "
		"64,4K,64K,1M, with --ping 64" },
	{ "iodepth", 0, OPT_TEXT, AT(iodepth), "N[,...]",
		"requests in flight per job, 1 to 1024; with --matrix a list; default 1, with "
		"--matrix 1,32, with --rdma 128 for bandwidth" },
	{ "numjobs", 0, OPT_U32, AT(numjobs), "N",
		"jobs, each with a thread and a queue or connection; default 1", 1, LOAD_JOBS_MAX },
	{ "runtime", 0, OPT_MSEC, AT(runtime_ms), "SECONDS",
		"run time; default 5, with --size no limit, with --matrix 0.5 for each load", 1,
		OPT_MSEC_MAX },
	{ "time-based", 0, OPT_FLAG, AT(time_based), NULL,
		"repeat --size until --runtime is over" },
	{ "ramp-time", 0, OPT_MSEC, AT(ramp_ms), "SECONDS",
		"warm-up time excluded from the results; default 0, with --matrix 0.1", 0,
		OPT_MSEC_MAX },
	{ "rwmixread", 0, OPT_TEXT, AT(rwmixread), "PERCENT[,...]",
		"share of reads in rw and randrw, 0 to 100; with --matrix a list; default 50" },
	{ "rate-iops", 0, OPT_SIZE, AT(rate_iops), "N",
		"requests to start per second and job, whether earlier ones are answered or not; "
		"default as soon as one is answered",
		1, 10000000 },
	{ "rate", 0, OPT_SIZE, AT(rate), "SIZE", "the same in bytes per second", 1, OPT_SIZE_MAX },
	{ "rate-process", 0, OPT_TEXT, AT(rate_process), "constant|poisson",
		"with a rate: equal times between starts, or those of independent clients; "
		"default constant" },
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
	{ "matrix", 0, OPT_FLAG, AT(matrix), NULL,
		"compare several disks: measure each --bs, --rwmixread and --iodepth in "
		"interleaved rounds" },
	{ "all", 0, OPT_FLAG, AT(all), NULL,
		"with --matrix: serve one disk, by default 64 MiB of memory, by every protocol, "
		"and compare them with a bare socket" },
	{ "rounds", 0, OPT_U32, AT(rounds), "N",
		"with --matrix: how often each load is repeated; default 7", 1, MATRIX_ROUNDS },
	{ "baseline", 0, OPT_TEXT, AT(baseline), "FILE",
		"with --matrix: compare with an earlier measurement, from its JSON" },
	{ "fail-slower", 0, OPT_U32, AT(fail_slower), "PERCENT",
		"with --baseline: exit with 3 if something is slower by this much or more", 1, 99 },
	{ "csv", 0, OPT_TEXT, AT(csv), "FILE", "with --matrix: append a line per load to a table" },
	{ "svg", 0, OPT_TEXT, AT(svg), "FILE", "with --matrix: draw the figures" },
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

static const struct opt_foreign bench_foreign[] = {
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
