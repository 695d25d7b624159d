/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The progress of a copy as a bar or as lines of JSON, and its plan and result as text and JSON. */
#include "copy_show.h"
#include "names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAR       40
#define BAR_LEAST 10
#define TAIL      52 /* columns of the figures behind the bar, so that its width stays the same */

const char *copy_bar(
	const struct copy_progress *p, bool waiting, unsigned columns, char line[COPY_LINE])
{
	static const char full[BAR + 2] = "========================================>";
	const char *what = p->verifying ? "verifying" : "copying";
	double part = p->total ? (double)p->done / (double)p->total : 0;
	bool known = p->left > 0 && p->left < UINT32_MAX && !waiting;
	unsigned width, filled, seconds = known ? (unsigned)p->left : 0;
	char done[16], total[16], text[16], percent[8] = "", rate[40] = "", left[32] = "",
					    bad[40] = "", bar[BAR + 8] = "";
	char tail[200];
	size_t at;

	if (p->total)
		snprintf(percent, sizeof(percent), " %3d%%", (int)(part * 100));
	if (waiting)
		snprintf(rate, sizeof(rate), "  waiting for the connection");
	else if (p->rate > 0)
		snprintf(rate, sizeof(rate), "  %s/s", out_human((uint64_t)p->rate, text));
	if (seconds >= 3600)
		snprintf(left, sizeof(left), "  %u:%02u:%02u left", seconds / 3600,
			seconds / 60 % 60, seconds % 60);
	else if (known)
		snprintf(left, sizeof(left), "  %u:%02u left", seconds / 60, seconds % 60);
	if (p->bad)
		snprintf(bad, sizeof(bad), "  %s unreadable", out_human(p->bad, text));
	at = (size_t)snprintf(tail, sizeof(tail), "%s  %s%s%s%s%s%s", percent,
		out_human(p->done, done), p->total ? " of " : "",
		p->total ? out_human(p->total, total) : "", rate, left, bad);
	at = (at < TAIL ? TAIL : at) + strlen(what) + 1;
	if (p->total && columns >= at + BAR_LEAST + 3) { /* " [=====>    ]" */
		width = columns < at + BAR + 3 ? columns - (unsigned)at - 3 : BAR;
		filled = (unsigned)(part * width);
		snprintf(bar, sizeof(bar), " [%-*.*s]", (int)width,
			(int)(filled < width ? filled + 1 : filled), full + BAR - filled);
	}
	snprintf(line, COPY_LINE, "%s%s%s", what, bar, tail);
	return line;
}

void copy_progress_json(const struct copy_progress *p, bool waiting)
{
	char total[40] = "", left[40] = "";

	if (p->total)
		snprintf(total, sizeof(total), "\"total_bytes\":%" PRIu64 ",", p->total);
	if (p->left > 0)
		snprintf(left, sizeof(left), ",\"left_seconds\":%.3f", p->left);
	out_progress("{\"schema\":\"rdmastor.copy.progress\",\"version\":2,\"phase\":\"%s\","
		     "\"done_bytes\":%" PRIu64 ",%s\"copied_bytes\":%" PRIu64
		     ",\"zeroed_bytes\":%" PRIu64 ",\"skipped_bytes\":%" PRIu64
		     ",\"verified_bytes\":%" PRIu64 ",\"unreadable_bytes\":%" PRIu64
		     ",\"waiting\":%s,\"bytes_per_second\":%.0f,\"seconds\":%.3f%s}\n",
		p->verifying ? "verify" : "copy", p->done, total, p->copied, p->zeroed, p->skipped,
		p->verified, p->bad, waiting ? "true" : "false", p->rate, p->seconds, left);
}

double copy_average(const struct copy_progress *p)
{
	return p->copy_seconds > 0 ? (double)p->read / p->copy_seconds : 0;
}

static const char *duration(double seconds, char text[32])
{
	if (seconds < 0.9995)
		snprintf(text, 32, "%.*f ms", seconds < 0.01, seconds * 1000);
	else
		snprintf(text, 32, "%.1f s", seconds);
	return text;
}

const char *copy_result_text(const struct copy_progress *p, bool verify, char line[COPY_LINE])
{
	uint64_t zeroes = p->zeroed + p->skipped, size = p->copied + zeroes;
	char text[16], took[32];
	size_t at;

	at = (size_t)snprintf(line, COPY_LINE, "copied %s in %s", out_human(size, text),
		duration(p->copy_seconds, took));
	if (copy_average(p) > 0)
		at += (size_t)snprintf(line + at, COPY_LINE - at, " (%s/s)",
			out_human((uint64_t)copy_average(p), text));
	if (zeroes)
		at += (size_t)snprintf(line + at, COPY_LINE - at, ", %s of it zeroes",
			zeroes == size ? "all" : out_human(zeroes, text));
	if (verify)
		snprintf(line + at, COPY_LINE - at, ", verified in %s",
			duration(p->seconds - p->copy_seconds, took));
	return line;
}

/* Requests are held because no path works. */
static bool waits(const struct bdev *bdev)
{
	return bdev->state == BDEV_UP &&
	       (bdev->why.code == DIAG_UNREACHABLE || bdev->why.code == DIAG_TIMEOUT);
}

void copy_show_progress(const struct copy_state *state, const struct copy_progress *p)
{
	bool waiting = waits(state->src) || waits(state->dst);
	char line[COPY_LINE];

	if (state->job->show_lines)
		copy_progress_json(p, waiting);
	else if (state->job->show_bar)
		out_bar(copy_bar(p, waiting, out_columns(), line));
}

static void warn_size(const struct copy_state *state)
{
	const struct bdev *src = state->src, *dst = state->dst;
	char a[16], b[16], rest[16];

	if (!state->from_pipe && !state->to_pipe && dst && dst->lim.size > src->lim.size)
		out_warn(state->job->notes,
			"%s: larger (%s) than the source (%s): its last %s keep their content",
			dst->uri, out_human(dst->lim.size, a), out_human(src->lim.size, b),
			out_human(dst->lim.size - src->lim.size, rest));
}

void copy_show_begin(const struct copy_state *state)
{
	uint64_t total = state->src->lim.size, finished = state->finished;
	char done[16], size[16], rest[16];

	warn_size(state);
	if (finished && finished < total && !state->job->show_lines)
		out_note(state->job->notes, "map %s: %s of %s already copied, %s remaining",
			state->job->map, out_human(finished, done), out_human(total, size),
			out_human(total - finished, rest));
}

static void show_ends(const struct copy_state *state, bool already)
{
	const struct copy_job *job = state->job;

	out_text(job->out, "source", NULL, "%s", state->src->uri);
	out_text(job->out, "destination", NULL, "%s", job->dst);
	if (!state->from_pipe || job->progress.done)
		out_u64(job->out, "size", NULL, state->src->lim.size);
	out_bool(job->out, "created", NULL, state->ends.missing);
	if (job->map)
		out_bool(job->out, "already_copied", NULL, already);
}

static void show_line(const struct copy_state *state, const char *line)
{
	if (state->to_pipe)
		out_note(state->job->notes, "%s", line);
	else
		out_line(state->job->out, "%s", line);
}

void copy_show_plan(const struct copy_state *state)
{
	const struct copy_job *job = state->job;
	uint64_t remaining = state->src->lim.size - state->finished;
	const char *to = state->to_pipe ? "standard output" : job->dst;
	bool already = job->map && !remaining;
	char size[16], line[2 * URI_MAX + 64];

	show_ends(state, already);
	if (!state->from_pipe)
		out_u64(job->out, "remaining_bytes", NULL, remaining);
	out_bool(job->out, "verify", NULL, job->verify);
	if (already)
		snprintf(line, sizeof(line), "already complete according to the map %s", job->map);
	else if (state->from_pipe)
		snprintf(line, sizeof(line), "would copy standard input to %s", to);
	else
		snprintf(line, sizeof(line), "would copy %s from %s to %s%s",
			out_human(remaining, size), state->src->uri, to,
			state->ends.missing ? ", a new file" : "");
	show_line(state, line);
	warn_size(state);
}

void copy_show_counts(const struct copy_state *state)
{
	const struct copy_progress *p = &state->job->progress;
	struct out *out = state->job->out;

	if (state->job->map)
		out_u64(out, "resumed_bytes", NULL, p->resumed);
	out_u64(out, "read_bytes", NULL, p->read);
	out_u64(out, "copied_bytes", NULL, p->copied);
	out_u64(out, "zeroed_bytes", NULL, p->zeroed);
	out_u64(out, "skipped_bytes", NULL, p->skipped);
	out_u64(out, "verified_bytes", NULL, p->verified);
	out_u64(out, "unreadable_bytes", NULL, p->bad);
	out_real(out, "seconds", NULL, p->seconds, 6);
}

void copy_show_result(const struct copy_state *state)
{
	const struct copy_job *job = state->job;
	const struct copy_progress *p = &job->progress;
	const char *name = job->hash == COPY_SHA256 ? "sha256" : "blkhash";
	char line[URI_MAX + 128], text[COPY_LINE], hash[2 * sizeof(p->hash) + 1];

	if (p->already)
		snprintf(line, sizeof(line), "already complete according to the map %s%s", job->map,
			job->verify ? "; verified again" : "");
	show_line(state, p->already ? line : copy_result_text(p, job->verify, text));
	if (job->hash) {
		hex_text(hash, p->hash, sizeof(p->hash));
		snprintf(line, sizeof(line), "%s: %s", name, hash);
		show_line(state, line);
	}
	if (!state->to_pipe) {
		show_ends(state, p->already);
		if (job->hash)
			out_text(job->out, name, NULL, "%s", hash);
		copy_show_counts(state);
		out_real(job->out, "bytes_per_second", NULL, copy_average(p), 0);
	}
	if (p->bad)
		out_warn(job->notes, "%s could not be read and %s", out_human(p->bad, text),
			state->to_pipe ? "was replaced by zeroes" : "was skipped");
}
