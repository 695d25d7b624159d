/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The progress of a copy as a bar or as lines of JSON, and its result as text and counters. */
#include "copy.h"
#include "out.h"
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

void copy_show_counts(struct out *out, const struct copy_progress *p, bool resumed)
{
	if (resumed)
		out_u64(out, "resumed_bytes", NULL, p->resumed);
	out_u64(out, "read_bytes", NULL, p->read);
	out_u64(out, "copied_bytes", NULL, p->copied);
	out_u64(out, "zeroed_bytes", NULL, p->zeroed);
	out_u64(out, "skipped_bytes", NULL, p->skipped);
	out_u64(out, "verified_bytes", NULL, p->verified);
	out_u64(out, "unreadable_bytes", NULL, p->bad);
	out_real(out, "seconds", NULL, p->seconds, 6);
}
