/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* paths=auto: while the disk is opened, ask the target of the first path that is up for its other
 * addresses, and make them paths, too. A list that lies costs no more than connections that fail:
 * each path must prove that it leads to the same disk. */
#include "paths.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OF_TIME 2 /* the list may take that part of the time left: the rest is for connections */

uint64_t paths_time_left(const struct paths *paths)
{
	uint64_t now = loop_clock(), end = paths->begun_ns + paths->env.timeout_ms * PATHS_MSEC;

	if (paths->env.timeout_ms == BDEV_NEVER)
		return BDEV_TIMEOUT_MS * PATHS_MSEC;
	return end > now ? end - now : 0;
}

static bool is_known(const struct paths *paths, const struct addr *addr)
{
	struct addr known;

	if (addr_same(addr, &paths->search.at))
		return true;
	for (unsigned i = 0; i < paths->count; i++) {
		const struct uri *uri = &paths->path[i].uri;
		uint16_t port = uri->port ? uri->port : paths->search.default_port;

		if (addr_known(&known, uri->host, port, NULL) > 0 && addr_same(addr, &known))
			return true;
	}
	return false;
}

static void found(struct bdev_search *search, const char *host, uint16_t port)
{
	struct paths *paths = container_of(search, struct paths, search);
	struct addr addr;

	if (addr_numeric(&addr, host, port, NULL) || !addr_is_of_peer(&addr, &search->at)) {
		if (!paths->invalid++)
			snprintf(paths->invalid_host, sizeof(paths->invalid_host), "%s", host);
	} else if (is_known(paths, &addr)) {
		return;
	} else if (paths->count > URI_PATHS) {
		paths->excess++;
	} else {
		paths_add(paths, paths->asked, &addr);
	}
}

/* bdev_open()'s caller prints it. */
static void warn(struct paths *paths, const struct diag *why)
{
	struct diag *to = &paths->bdev.why;
	char excess[80] = "", invalid[160] = "";

	if (paths->excess)
		snprintf(excess, sizeof(excess), "; too many: %u, a disk has up to %u paths",
			paths->excess, URI_PATHS + 1);
	if (paths->invalid)
		snprintf(invalid, sizeof(invalid), "; unusable: %u, the first is '%.60s'",
			paths->invalid, paths->invalid_host);
	if (why->err)
		diag_set(to, why->code, why->err,
			"paths=auto: not all paths are known: %s%s%.200s%s%s", why->object,
			why->object[0] ? ": " : "", why->text, excess, invalid);
	else if (paths->excess || paths->invalid)
		diag_set(to, DIAG_PROTOCOL, EPROTO, "paths=auto: addresses are left out%s%s",
			excess, invalid);
	else if (paths->count == 1)
		diag_set(to, DIAG_NOT_FOUND, ENOENT,
			"paths=auto: the target reports no other address");
	else
		return;
	if (paths->count == 1 && !paths->excess)
		diag_hint(to, "name the other paths in the URI: path=HOST[:PORT]");
}

static void done(struct bdev_search *search, const struct diag *why)
{
	struct paths *paths = container_of(search, struct paths, search);

	loop_trace(paths->bdev.loop, "%s: paths=auto: %u paths", paths->asked->uri.spelling,
		paths->count);
	paths->asked = NULL;
	warn(paths, why);
	paths_searched(paths);
}

bool paths_search(struct paths *paths)
{
	for (struct path *path = paths->path; path < paths->path + paths->count; path++) {
		struct diag why = { 0 };

		if (!paths->find || paths->asked)
			break;
		if (path->state != PATH_UP || !path->leaf->ops->search)
			continue;
		paths->find = false;
		paths->asked = path;
		paths->search.until = loop_clock() + paths_time_left(paths) / OF_TIME;
		if (!path->leaf->ops->search(path->leaf, &paths->search, &why))
			break;
		paths->asked = NULL;
		warn(paths, &why);
	}
	return paths->asked;
}

void paths_search_lost(struct paths *paths, const struct path *path)
{
	if (paths->asked != path)
		return;
	paths->asked = NULL;
	paths->find = true;
}

void paths_search_init(struct paths *paths)
{
	paths->search.found = found;
	paths->search.done = done;
}
