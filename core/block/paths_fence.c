/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fence a lost path by another one: the target ends the old connection, and answers once nothing of
 * it is executed any more. So the lanes need not wait for the quiet time. If that fails, or the
 * target can't, they wait. */
#include "paths.h"
#include <string.h>

/* A target that gives two connections the same identity might end the wrong one. */
static bool is_ambiguous(const struct path *path)
{
	const struct bdev_session *lost = &path->fence.session;
	const struct paths *paths = path->paths;

	for (const struct path *by = paths->path; by < paths->path + paths->count; by++)
		if (by->state == PATH_UP && by->leaf->session.id == lost->id &&
			by->leaf->session.random == lost->random &&
			!strcmp(by->leaf->session.target, lost->target))
			return true;
	return false;
}

/* By the first path that can, each connection once, within the quiet time. */
static void fence_start(struct path *path)
{
	struct paths *paths = path->paths;

	if (loop_clock() >= path->fence_until || is_ambiguous(path)) {
		path->fence_of = 0;
		return;
	}
	for (unsigned i = 0; i < paths->count && !path->fenced_by; i++) {
		const struct path *by = &paths->path[i];

		if (by->state != PATH_UP || !by->leaf->ops->fence || path->fence_tried >> i & 1 ||
			by->leaf->ops->fence(by->leaf, &path->fence))
			continue;
		path->fence_tried |= 1u << i;
		path->fenced_by = by->leaf;
		path->fencing_of = path->fence_of;
	}
}

/* Tell the lanes; one that has not handled the last message waits for the quiet time. */
static void tell_lanes(struct path *path)
{
	const unsigned index = (unsigned)(path - path->paths->path);

	for (struct paths_lane *pl = path->paths->lanes; pl; pl = pl->next) {
		struct leg *leg = &pl->leg[index];

		if (__atomic_load_n(&leg->fencing, __ATOMIC_ACQUIRE))
			continue;
		leg->fencing = true;
		leg->fenced = path->fencing_of;
		loop_post(pl->lane.loop, &leg->fence);
	}
}

static void fence_done(struct bdev_fence *fence, int err)
{
	struct path *path = container_of(fence, struct path, fence);
	struct paths *paths = path->paths;

	path->fenced_by = NULL;
	loop_trace(paths->bdev.loop, "path %s: its lost connection %s%s", path->uri.spelling,
		err ? "could not be fenced: " : "is fenced", err ? strerror(-err) : "");
	if (!err) {
		tell_lanes(path);
		if (path->fence_of == path->fencing_of)
			path->fence_of = 0;
	}
	paths_fence_again(paths);
}

bool paths_fence_holds(const struct path *path)
{
	return path->fenced_by && path->fence.session.keeps_identity;
}

/* While an earlier connection of the path is being fenced, this one waits for its turn. */
void paths_fence_lost(struct path *path)
{
	uint32_t quiesce_ms = path->leaf->lim.quiesce_ms;

	if (!path->leaf->session.target[0] || !path->connection)
		return;
	path->fence_until = path->lost_ns + quiesce_ms * PATHS_MSEC;
	path->fence.session = path->leaf->session;
	path->fence.done = fence_done;
	path->fence_of = path->connection;
	path->fence_tried = 0;
	if (!path->fenced_by)
		fence_start(path);
}

void paths_fence_again(struct paths *paths)
{
	for (struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (path->fence_of && !path->fenced_by)
			fence_start(path);
	for (struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (!paths_fence_holds(path))
			paths_retry_held(path);
}

void paths_fence_forget(const struct path *by)
{
	struct paths *paths = by->paths;

	for (struct path *path = paths->path; path < paths->path + paths->count; path++) {
		path->fence_tried &= ~(1u << (by - paths->path));
		if (path->fenced_by == by->leaf)
			path->fenced_by = NULL;
	}
	paths_fence_again(paths);
}
