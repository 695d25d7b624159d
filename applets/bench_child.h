/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An applet in a process of its own, for bench --matrix --all. */
#pragma once
#include "applet_run.h"
#include "bench.h"

#define BENCH_WORDS 24

struct bench_child {             /* zeroed first */
	struct applet_run run;   /* first member; messages are set by the owner */
	char *word[BENCH_WORDS]; /* the caller's */
	bool ended;
};

/* Append words of the command line; the list ends with NULL. */
void bench_child_add(struct bench_child *, const char *const *word);
/* Start it. Returns 0 or -errno with run.why set. */
int bench_child_start(struct bench *, struct bench_child *);
/* Wait until `until` (loop_clock()) for the document of an applet that continues to run. Returns 0
 * or -errno with run.why set; -EINTR if the task was stopped. */
int bench_child_ready(struct bench *, struct bench_child *, uint64_t until);
/* The same, whether the task was stopped or not. */
int bench_child_settle(struct bench *, struct bench_child *, uint64_t until);
/* Wait for its end, whether the task was stopped or not. Returns 0 or -errno with run.why set. */
int bench_child_finish(struct bench *, struct bench_child *);
/* End it unless it was not started or has ended; bench_child_free() waits for that. */
void bench_child_expire(struct bench_child *);
void bench_child_free(struct bench *, struct bench_child *);
