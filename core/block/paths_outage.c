/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether any path can carry requests: it is up, and its target accepts them there. Outages, their
 * limit and reason, and what is reported of paths. Runs on the bdev's loop. */
#include "paths.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static double seconds_since(uint64_t ns)
{
	return (double)(loop_clock() - ns) / 1e9;
}

void paths_report(struct paths *paths, bool bad, const char *fmt, ...)
{
	char line[URI_MAX + sizeof(paths->bdev.why.text) + 128];
	va_list args;

	if (!paths->bdev.report)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	paths->bdev.report(&paths->bdev, bad, line);
}

unsigned paths_usable(const struct paths *paths)
{
	unsigned count = 0;

	for (unsigned i = 0; i < paths->count; i++)
		count += paths->path[i].state == PATH_UP && paths_serves(paths->path[i].access);
	return count;
}

/* Describe why no path could carry a request: why the last one ceased to, which later failures to
 * connect must not hide, and the attempts since. */
static void blame(struct paths *paths)
{
	const struct diag *last = &paths->failed->why;
	struct diag *why = &paths->bdev.why;
	bool silent = last->code == DIAG_TIMEOUT;
	char tried[sizeof(last->text)] = "";

	if (paths->tries) {
		double seconds = seconds_since(paths->out_ns);
		char since[32] = "";

		if (seconds >= 0.1)
			snprintf(since, sizeof(since), " for %.1f s", seconds);
		snprintf(tried, sizeof(tried), "; no connection%s, %u attempt%s: %.300s", since,
			paths->tries, paths->tries == 1 ? "" : "s", last->text);
	}
	*why = (struct diag){ 0 };
	diag_set(why, silent ? DIAG_TIMEOUT : DIAG_UNREACHABLE, silent ? ETIMEDOUT : EHOSTUNREACH,
		"%s%s", paths->out_why, tried);
	diag_ctx(why, "%s", paths->bdev.uri);
	if (last->hint[0])
		diag_hint(why, "%s", last->hint);
}

static void set_reason(struct paths *paths, const struct path *path, const char *prefix)
{
	paths->tries = 0;
	paths->failed = path;
	snprintf(paths->out_why, sizeof(paths->out_why), "%s%.199s", prefix, path->why.text);
	blame(paths);
}

static uint32_t wait_ms(const struct paths *paths)
{
	uint32_t changing_ms = 0;

	for (const struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (path->state == PATH_UP && path->access == BDEV_ACCESS_CHANGING &&
			path->leaf->changing_ms > changing_ms)
			changing_ms = path->leaf->changing_ms;
	return paths_wait_ms(paths, changing_ms);
}

/* Set the end of the wait, which depends on the access of the paths. */
static void set_limit(struct paths *paths)
{
	uint32_t ms = wait_ms(paths);

	if (paths->failing)
		return;
	if (ms == UINT32_MAX)
		loop_timer_del(paths->bdev.loop, &paths->unreachable);
	else
		loop_timer_set(
			paths->bdev.loop, &paths->unreachable, paths->out_ns + ms * PATHS_MSEC);
}

/* Begin an outage with the loss of this path, or the end of its access; report it. */
static void begin_outage(struct paths *paths, const struct path *path, const char *prefix)
{
	uint32_t ms = wait_ms(paths);
	char limit[48] = "requests wait until it is back";

	paths->out_ns = path->lost_ns;
	paths->failing = !ms;
	set_reason(paths, path, prefix);
	if (!ms)
		snprintf(limit, sizeof(limit), "requests fail until it is back");
	else if (ms != UINT32_MAX)
		snprintf(limit, sizeof(limit), "requests wait up to %g s", ms / 1000.);
	paths_report(
		paths, true, "%s: %s%s; %s", path->uri.spelling, prefix, path->why.text, limit);
	set_limit(paths);
}

static void end_outage(struct paths *paths)
{
	if (!paths->out_ns)
		return; /* why is a warning of the opening */
	loop_timer_del(paths->bdev.loop, &paths->unreachable);
	paths->out_ns = 0;
	paths->failing = false;
	paths->bdev.why = (struct diag){ 0 };
}

/* A path that can't be used any more, with the reason in path->why. */
static void path_out(struct paths *paths, const struct path *path, const char *prefix)
{
	unsigned others = paths_usable(paths);

	if (others) {
		paths_report(paths, true, "%s: %s%s; %u other path%s in use", path->uri.spelling,
			prefix, path->why.text, others, others == 1 ? "" : "s");
	} else if (!paths->out_ns) {
		begin_outage(paths, path, prefix);
	} else {
		set_reason(paths, path, prefix);
		set_limit(paths);
		paths_report(paths, true, "%s: %s%s", path->uri.spelling, prefix, path->why.text);
	}
}

void paths_lost(struct paths *paths, const struct path *path)
{
	path_out(paths, path, "connection lost: ");
}

void paths_still_out(struct paths *paths, const struct path *path)
{
	paths->failed = path;
	blame(paths);
}

static void read_access(struct path *path)
{
	path->access = path->leaf->access;
	path->access_word = path->leaf->access_word;
	path->preferred = path->leaf->access_preferred && !path->paths->preferred;
	if (paths_serves(path->access))
		return;
	path->why = (struct diag){ 0 };
	diag_set(&path->why, DIAG_UNREACHABLE, EHOSTUNREACH, "the target reports access state %s",
		path->access_word);
}

void paths_up_again(struct paths *paths, struct path *path)
{
	uint64_t since = paths->out_ns ? paths->out_ns : path->lost_ns;

	read_access(path);
	if (since)
		paths_report(paths, false, "%s: connection restored after %.1f s",
			path->uri.spelling, seconds_since(since));
	if (paths_serves(path->access)) {
		end_outage(paths);
		return;
	}
	path->lost_ns = loop_clock();
	path_out(paths, path, "");
}

uint8_t paths_access_of(const struct path *path)
{
	return path->access | (path->preferred ? PATHS_PREFERRED : 0);
}

static void tell_lanes(const struct path *path)
{
	const unsigned index = (unsigned)(path - path->paths->path);

	for (struct paths_lane *pl = path->paths->lanes; pl; pl = pl->next) {
		struct leg *leg = &pl->leg[index];

		__atomic_store_n(&leg->access_now, paths_access_of(path), __ATOMIC_SEQ_CST);
		if (leg->on && !__atomic_exchange_n(&leg->access_posted, true, __ATOMIC_SEQ_CST))
			loop_post(pl->lane.loop, &leg->access_changed);
	}
}

void paths_access_changed(struct paths *paths, struct path *path)
{
	bool served = paths_serves(path->access);
	uint64_t since = paths->out_ns;
	char after[32] = "";

	if (path->access == path->leaf->access && path->access_word == path->leaf->access_word &&
		path->preferred == (path->leaf->access_preferred && !paths->preferred))
		return;
	read_access(path);
	tell_lanes(path);
	if (!paths_serves(path->access)) {
		if (served)
			path->lost_ns = loop_clock();
		path_out(paths, path, "");
		return;
	}
	end_outage(paths);
	if (since)
		snprintf(after, sizeof(after), ", after %.1f s", seconds_since(since));
	paths_report(paths, false, "%s: the target reports %s%s%s%s", path->uri.spelling,
		path->access_word ? "access state " : "no access state",
		path->access_word ? path->access_word : "", path->preferred ? ", preferred" : "",
		after);
}

void paths_unreachable(struct loop_timer *timer)
{
	struct paths *paths = container_of(timer, struct paths, unreachable);

	paths->failing = true;
	blame(paths);
	paths_report(paths, true, "%s: %s; requests fail until it is back", paths->bdev.uri,
		paths->bdev.why.text);
}
