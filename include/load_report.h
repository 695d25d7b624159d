/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The figures of a load as text, as JSON, and as fio's JSON, and what makes them unreliable. */
#pragma once
#include "load.h"
#include "out.h"

#define LOAD_WARNINGS 8

struct load_report {
	const char *target, *rw;   /* what was measured */
	const char *name;          /* of fio's job */
	const struct addr *socket; /* of a TCP socket alone, else NULL */
	const struct bdev *disk;   /* or NULL */
	struct load_options load;
	struct load_result result;
	bool timed_out, verbose;
	int error; /* errno, when it failed */
	struct {
		const char *code;
		char text[160];
	} warning[LOAD_WARNINGS];
	unsigned warnings;
};

/* Collect the warnings. */
void load_report_judge(struct load_report *);
void load_report_text(struct out *, const struct load_report *);
void load_report_json(struct out *, const struct load_report *);
void load_report_fio(struct out *, const struct load_report *);

/* A row of RDMA figures: text as perftest prints it, under a heading, or a JSON object. */
extern const char *const load_op_name[]; /* enum load_op */
extern const char *const load_test_name[2];
void load_report_rdma(
	struct out *, const struct load_rdma *, const struct load_rdma_result *, bool heading);
