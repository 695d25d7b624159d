/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a copy prints: progress, plan, result. */
#pragma once
#include "copy_ends.h"
#include "out.h"

/* waiting: requests are held until a connection is restored. */
#define COPY_LINE 256
/* Format a line of that many columns; with fewer than 75 it has no bar. */
const char *copy_bar(
	const struct copy_progress *, bool waiting, unsigned columns, char line[COPY_LINE]);
void copy_progress_json(const struct copy_progress *, bool waiting); /* a line on stderr */
/* "copied 64 MiB in 1.0 s (64 MiB/s), 2 MiB of it zeroes" */
const char *copy_result_text(const struct copy_progress *, bool verified, char line[COPY_LINE]);
/* Bytes read from the source per second: holes that it reported are not read. */
double copy_average(const struct copy_progress *);

/* The state of a copy. */
struct copy_state {
	const struct copy_job *job;
	struct copy_ends ends;
	struct bdev *src, *dst; /* dst NULL: not open, or not created in a dry run */
	uint64_t finished;      /* bytes, by the map */
	bool from_pipe, to_pipe;
};
void copy_show_progress(const struct copy_state *, const struct copy_progress *);
/* What precedes the copy: a longer destination, and how much the map has. */
void copy_show_begin(const struct copy_state *);
void copy_show_plan(const struct copy_state *);
void copy_show_result(const struct copy_state *);
void copy_show_counts(const struct copy_state *); /* JSON members */
