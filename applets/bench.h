/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of bench: its options, and how results are shown. */
#pragma once
#include "applet.h"
#include "load.h"

#define BENCH_WARNINGS  8
#define BENCH_LISTENERS 64 /* most threads of --listen */

struct bench_options {
	struct opt_common common;
	const char *name, *rw, *bs, *on_loss, *op, *test;
	uint32_t iodepth, runtime_ms, iters; /* 0 = not given */
	uint32_t numjobs, poll_us, rwmixread, ramp_ms;
	uint64_t size, offset; /* size 0 = not given */
	bool time_based, verify, force, fio_json, rdma, tcp, listen, ping;
};

struct bench_warning {
	const char *code;
	char text[160];
};

struct bench_report {
	const struct bench_options *opts;
	const char *target, *rw;   /* what was measured */
	const struct addr *socket; /* of --tcp, else NULL */
	struct load_options load;
	struct load_result result;
	struct bench_warning warning[BENCH_WARNINGS];
	unsigned warnings;
	int error; /* errno, when it failed */
};

struct bench {
	struct call *call;
	const struct bench_options *opts;
	struct loop *loop;
	struct loop_signal signal;
	struct loop_timer timeout;
	struct bdev *disk;
	struct bench_report report;
	bool fio, bar, running, timed_out;
	int stop;
	struct load_rdma_result rdma;
	unsigned told; /* rows */
};

/* Exit status or -errno, as a run of an applet. */
int bench_finish(struct bench *, int rc); /* shows the figures of a load */
int bench_rdma(struct bench *);
int bench_tcp(struct bench *);
int bench_listen(struct bench *);
void bench_progress(const struct load_progress *, void *bench);
uint32_t bench_dial_ms(const struct bench_options *); /* to connect; 0 = no limit */
/* JSON: transport, traddr, trsvcid. */
void bench_json_addr(struct out *, const char *transport, const struct addr *);

void bench_text(struct out *, const struct bench_report *);
void bench_json(struct out *, const struct bench_report *);
void bench_fio(struct out *, const struct bench_report *);
