/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the parts of bench share: its options, and a run. */
#pragma once
#include "applet.h"
#include "load.h"
#include "matrix.h"

#define BENCH_AUTO      UINT32_MAX /* of poll_us and ramp_ms */
#define BENCH_LISTENERS 64         /* most threads of --listen */

struct bench_options {
	struct opt_common common;
	const char *name, *rw, *bs, *iodepth, *rwmixread; /* NULL: not given, but for name and rw */
	const char *on_loss, *op, *test, *filename, *ioengine, *rate_process, *csv, *svg, *baseline,
		*hgrm, *bssplit, *log, *verify_state, *verify_only, *user;
	struct opt_maybe direct, thread, group_reporting;
	uint32_t runtime_ms, iters, rounds, fail_slower, fsync; /* 0: not given */
	uint32_t numjobs, poll_us, ramp_ms;
	/* perftest's, with --rdma */
	const char *dev, *mtu;
	uint32_t tx_depth, duration_ms, qps; /* 0: not given */
	uint64_t message_size;               /* 0: not given */
	bool all_sizes, bidirectional, gbits, rdma_cm, cpu_freq;
	uint64_t size, offset, rate, rate_iops; /* size, rates: 0: not given */
	bool time_based, verify, force, fio_json, rdma, tcp, listen, ping, matrix, all, kernel;
};

struct bench {
	struct call *call;
	const struct bench_options *opts;
	struct task task;
	struct load_report report;
	struct matrix_list bs, depth, reads; /* one value each without --matrix */
	unsigned rows;                       /* printed */
	char *filename;
	bool fio, bar;
};

/* Set the failure of wrong usage; fmt has one %s. Returns -EINVAL. */
int bench_usage(struct bench *, const char *fmt, const char *word);
/* Refuse perftest's options without --rdma, and combinations that mean nothing. */
int bench_check_perftest(struct bench *);
/* Set the members of bench that follow from the options. */
int bench_read_options(struct bench *);
/* Whether a load of them changes the disk. */
bool bench_writes(const struct bench *);
/* Check that the files of the results can be written after the measurement. */
int bench_check_files(const struct bench *);
/* Show the figures of a load that returned rc, and return the exit status or -errno. */
int bench_finish(struct bench *, int rc);
/* Set the diag to the timeout of a load on that address, NULL: on the disk. Returns -ETIMEDOUT. */
int bench_timed_out(struct bench *, const struct addr *);

/* Run one kind of measurement. Returns the exit status or -errno. */
int bench_tcp(struct bench *);
int bench_rdma(struct bench *);
int bench_listen(struct bench *);
int bench_matrix(struct bench *);
