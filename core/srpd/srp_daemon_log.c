/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Write a repeated log line once and count it, so that a port that fails every second does not fill
 * a disk. */
#include "srp_daemon_loop.h"
#include <stdio.h>
#include <string.h>

static bool has_passed(const struct srp_log *log, uint64_t begun_ns)
{
	return begun_ns + log->each_ms * MSEC <= loop_clock();
}

static void report_suppressed(struct srp_log *log)
{
	char text[80];

	if (!log->suppressed)
		return;
	snprintf(text, sizeof(text), "%u line%s suppressed", log->suppressed,
		log->suppressed == 1 ? "" : "s");
	log->suppressed = 0;
	log->write(log, text);
}

/* Limit the number of lines: a large fabric can cause many different ones. */
static void put(struct srp_log *log, const char *line)
{
	char text[80];

	if (has_passed(log, log->begun_ns)) {
		report_suppressed(log);
		log->begun_ns = loop_clock();
		log->written = 0;
	}
	if (log->written++ < SRP_LOG_MOST) {
		log->write(log, line);
		return;
	}
	if (log->suppressed++)
		return;
	snprintf(text, sizeof(text), "%d lines in less than %g s: suppressing further ones",
		SRP_LOG_MOST, log->each_ms / 1000.);
	log->write(log, text);
}

/* Write how often a line was repeated. */
static void flush(struct srp_log *log, struct srp_log_line *line)
{
	char text[SRP_LOG_LEN + 64];
	uint64_t ago_s = (loop_clock() - line->begun_ns) / 1000 / MSEC;

	if (line->more == 0)
		return;
	snprintf(text, sizeof(text), "%s (%u time%s more in %llu s)", line->text, line->more,
		line->more == 1 ? "" : "s", (unsigned long long)ago_s);
	put(log, text);
}

static uint64_t end_of(const struct srp_log *log, const struct srp_log_line *line)
{
	return line->begun_ns + log->each_ms * MSEC;
}

/* Restart the period of a repeated line, forget the others. */
static void fire(struct loop_timer *timer)
{
	struct srp_log *log = container_of(timer, struct srp_log, timer);
	uint64_t now = loop_clock(), next = UINT64_MAX;

	if (has_passed(log, log->begun_ns))
		report_suppressed(log);
	for (unsigned i = 0; i < SRP_LOG_LINES; i++) {
		struct srp_log_line *line = &log->line[i];

		if (line->begun_ns && end_of(log, line) <= now) {
			flush(log, line);
			line->begun_ns = line->more ? now : 0;
			line->more = 0;
		}
		if (line->begun_ns && end_of(log, line) < next)
			next = end_of(log, line);
	}
	if (next != UINT64_MAX)
		loop_timer_set(log->loop, timer, next);
}

static struct srp_log_line *slot(struct srp_log *log, const char *text)
{
	struct srp_log_line *oldest = &log->line[0];

	for (unsigned i = 0; i < SRP_LOG_LINES; i++) {
		if (log->line[i].begun_ns && !strcmp(log->line[i].text, text))
			return &log->line[i];
		if (log->line[i].begun_ns < oldest->begun_ns)
			oldest = &log->line[i];
	}
	if (oldest->begun_ns)
		flush(log, oldest);
	*oldest = (struct srp_log_line){ 0 };
	return oldest;
}

void srp_daemon_log_add(struct srp_log *log, const char *message)
{
	struct srp_log_line *line;
	char text[SRP_LOG_LEN];

	snprintf(text, sizeof(text), "%s", message);
	line = slot(log, text);
	if (line->begun_ns) {
		line->more++;
		return;
	}
	memcpy(line->text, text, sizeof(text));
	line->begun_ns = loop_clock();
	put(log, text);
	if (!log->timer.on) {
		log->timer.fire = fire;
		loop_timer_set(log->loop, &log->timer, end_of(log, line));
	}
}

void srp_daemon_log_end(struct srp_log *log)
{
	loop_timer_del(log->loop, &log->timer);
	for (unsigned i = 0; i < SRP_LOG_LINES; i++) {
		if (log->line[i].begun_ns)
			flush(log, &log->line[i]);
		log->line[i].begun_ns = 0;
	}
	report_suppressed(log);
}
