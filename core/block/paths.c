/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk over one or more paths, each a bdev: open them, detect their loss, reopen them, inform the
 * lanes. paths_lane.c handles the requests. Runs on the bdev's loop. */
#include "paths.h"
#include "block.h"
#include "min.h"
#include "out.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_MS       1000 /* wait that long for the other paths when opening, once one is up */
#define RETRY_MIN_MS   100
#define RETRY_MAX_MS   5000
#define RETRY_OTHER_MS 500   /* the same for a target that is away, with several paths */
#define STEADY_MS      1000  /* a path that was up for that long is reopened without delay */
#define REPORT_MS      60000 /* a path that refuses requests is reported once in that time */
#define LEAF_IO_SIZE   64    /* minimum, as a path of another protocol may be added */

static double seconds_since(uint64_t ns)
{
	return (double)(loop_clock() - ns) / 1e9;
}

static void path_changed(struct bdev *leaf);
static void paths_decide(struct paths *paths);

static unsigned paths_count(const struct paths *paths, enum path_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < paths->count; i++)
		count += paths->path[i].state == state;
	return count;
}

static void path_end(struct path *path, const struct diag *why)
{
	if (why)
		path->why = *why;
	path->state = PATH_ENDING;
	if (!path->legs)
		loop_work_add(path->paths->bdev.loop, &path->reap);
}

static void path_start(struct loop_timer *timer)
{
	struct path *path = container_of(timer, struct path, retry);
	struct paths *paths = path->paths;
	struct diag why = { 0 };

	path->attempts++;
	paths->tries++;
	path->state = PATH_OPENING;
	path->leaf = NULL;
	if (bdev_start(&path->leaf, paths->bdev.loop, &path->uri, &paths->env, path_changed, path,
		    &why))
		path_end(path, &why);
}

/* Reopen at once, then after 0.1 s doubling to 5 s, or 0.5 s with several paths to a target that is
 * away, with a jitter of a quarter: many lanes of many hosts lose the same target together. */
static void path_retry(struct path *path)
{
	struct paths *paths = path->paths;
	uint64_t delay = path->delay_ms * PATHS_MSEC;
	bool away = path->why.code == DIAG_TIMEOUT || path->why.code == DIAG_CLOSED ||
		    path->why.code == DIAG_UNREACHABLE || path->why.code == DIAG_REFUSED;
	uint32_t most = away && paths->count > 1 ? RETRY_OTHER_MS : RETRY_MAX_MS;

	paths->seed = paths->seed * 1103515245u + 12345u;
	delay = delay / 4 * 3 + delay / 2 * (paths->seed >> 16) / 65536;
	path->delay_ms = path->delay_ms ? path->delay_ms * 2 : RETRY_MIN_MS;
	if (path->delay_ms > most)
		path->delay_ms = most;
	loop_timer_set(paths->bdev.loop, &path->retry, loop_clock() + delay);
}

void paths_retry_held(struct path *path)
{
	if (path->state == PATH_IDLE && path->paths->bdev.state == BDEV_UP && !path->retry.on)
		path_retry(path);
}

/* What the disk has lost of unflushed writes is lost over any other path, too. */
static void path_keep_error(const struct path *path)
{
	int err = __atomic_load_n(&path->leaf->sync_error, __ATOMIC_RELAXED), none = 0;

	if (err)
		__atomic_compare_exchange_n(&path->paths->bdev.sync_error, &none, err, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void path_reap(struct loop_work *work)
{
	struct path *path = container_of(work, struct path, reap);
	struct paths *paths = path->paths;

	if (path->leaf) {
		paths_fence_forget(path);
		paths_search_lost(paths, path);
		if (path->up_ns)
			paths_fence_lost(path);
		path_keep_error(path);
		path->leaf->ops->free(path->leaf);
	}
	path->leaf = NULL;
	if (path->up_ns) {
		loop_trace(paths->bdev.loop, "path %s lost: %s; %u request%s held",
			path->uri.spelling, path->why.text, path->held, path->held == 1 ? "" : "s");
		if (loop_clock() - path->up_ns >= STEADY_MS * PATHS_MSEC)
			path->delay_ms = 0;
	} else if (!paths->stopping) {
		loop_trace(paths->bdev.loop, "path %s, attempt %u: %s", path->uri.spelling,
			path->attempts, path->why.text);
		if (paths->out_ns)
			paths_still_out(paths, path);
	}
	path->up_ns = 0;
	path->state = paths->stopping ? PATH_OFF : PATH_IDLE;
	if (paths->stopping)
		loop_work_add(paths->bdev.loop, &paths->announce);
	else if (paths->bdev.state == BDEV_UP && !paths_fence_holds(path))
		path_retry(path);
	else
		paths_decide(paths);
}

static void leg_attach(struct paths_lane *pl, struct path *path)
{
	struct leg *leg = &pl->leg[path - path->paths->path];

	leg->on = true;
	leg->leaf = path->leaf;
	leg->opened = path->connection;
	leg->changing_ms = path->leaf->changing_ms;
	__atomic_store_n(&leg->access_now, paths_access_of(path), __ATOMIC_SEQ_CST);
	path->legs++;
	loop_post(pl->lane.loop, &leg->open);
}

static void path_lost(struct path *path, const struct diag *why)
{
	unsigned index = (unsigned)(path - path->paths->path);

	path->why = *why; /* the lanes read it until they have left */
	path->held = 0;
	path->lost_ns = loop_clock();
	for (struct paths_lane *pl = path->paths->lanes; pl; pl = pl->next)
		if (pl->leg[index].on)
			loop_post(pl->lane.loop, &pl->leg[index].drop);
	path_end(path, NULL);
	paths_lost(path->paths, path);
}

static void path_joins(struct path *path)
{
	struct paths *paths = path->paths;

	path->up_ns = loop_clock();
	path->connection++;
	paths_up_again(paths, path);
	for (struct paths_lane *pl = paths->lanes; pl; pl = pl->next)
		leg_attach(pl, path);
	paths_fence_again(paths);
}

/* The size of the disk is the smallest of all live paths. */
static void paths_resize(struct paths *paths)
{
	uint64_t size = UINT64_MAX;

	for (struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (path->state == PATH_UP && path->leaf->lim.size < size)
			size = path->leaf->lim.size;
	if (size == UINT64_MAX || size == paths->bdev.lim.size)
		return;
	loop_trace(paths->bdev.loop, "%s: size is now %llu bytes", paths->bdev.uri,
		(unsigned long long)size);
	__atomic_store_n(&paths->bdev.lim.size, size, __ATOMIC_RELAXED);
	paths->bdev.why = (struct diag){ 0 }; /* perhaps of the opening */
	if (paths->bdev.changed)
		paths->bdev.changed(&paths->bdev);
}

static void path_admit(struct path *path)
{
	struct paths *paths = path->paths;
	struct diag why = { 0 };
	int err = paths_same_disk(&paths->bdev.id, &path->leaf->id, path->lost_ns, &why);

	if (!err)
		err = paths_fit(paths, &path->leaf->lim, &why);
	if (err) {
		path_end(path, &why);
		return;
	}
	if (path->leaf->why.err)
		paths_report(paths, true, "%s: %s", path->uri.spelling, path->leaf->why.text);
	path_joins(path);
	paths_resize(paths);
}

static void path_changed(struct bdev *leaf)
{
	struct path *path = leaf->user;
	struct paths *paths = path->paths;

	if (leaf->state == BDEV_DOWN) {
		if (path->state == PATH_UP)
			path_lost(path, &leaf->why);
		else if (path->state == PATH_OPENING || path->state == PATH_STOPPING)
			path_end(path, &leaf->why);
	} else if (leaf->state == BDEV_UP && path->state == PATH_OPENING) {
		path->state = PATH_UP;
		if (paths->bdev.state == BDEV_UP)
			path_admit(path);
		else
			paths_decide(paths);
	} else if (leaf->state == BDEV_UP && path->state == PATH_UP &&
		   paths->bdev.state == BDEV_UP) {
		path_keep_error(path);
		if (leaf->why.err)
			paths_report(paths, true, "%s: %s; flushes fail until it is reopened",
				path->uri.spelling, leaf->why.text);
		paths_access_changed(paths, path);
		paths_resize(paths);
	}
}

static void paths_up(struct paths *paths)
{
	struct bdev *bdev = &paths->bdev;
	struct path *first = NULL;

	for (struct path *path = paths->path; path < paths->path + paths->count; path++) {
		struct diag why = { 0 };

		if (path->state != PATH_UP)
			continue;
		if (!first) {
			first = path;
			bdev->id = path->leaf->id;
			bdev->lim = path->leaf->lim;
			bdev->status_text = path->leaf->status_text;
		} else if (paths_same_disk(&bdev->id, &path->leaf->id, false, &why)) {
			path_end(path, &why);
			continue;
		} else {
			paths_narrow(&bdev->lim, &path->leaf->lim);
			if (bdev->status_text != path->leaf->status_text)
				bdev->status_text = NULL;
		}
		path_joins(path);
	}
	bdev->lim.max[IO_COMPARE_WRITE] = 0; /* a replay could execute it twice */
	if (bdev->lim.quiesce_ms < paths->quiesce_ms)
		bdev->lim.quiesce_ms = paths->quiesce_ms;
	paths->leaf_io_size =
		bdev->lim.io_size < LEAF_IO_SIZE ? LEAF_IO_SIZE : (bdev->lim.io_size + 7) & ~7u;
	bdev->lim.io_size = (uint32_t)sizeof(struct paths_io) + paths->leaf_io_size;
	/* pools are mapped only once, so consider paths that come up later, too */
	for (unsigned i = 0; i < paths->count; i++)
		bdev->lim.exposed |= bdev_exposed(&paths->path[i].uri);
	bdev->state = BDEV_UP;
	if (paths->env.timeout_ms == BDEV_NEVER)
		paths->env.timeout_ms = BDEV_TIMEOUT_MS;
	for (struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (path->state == PATH_IDLE)
			path_retry(path);
}

/* Opening ends when every path is up or has failed, or soon after the first one is up. */
static void paths_decide(struct paths *paths)
{
	unsigned up = paths_count(paths, PATH_UP);
	bool open = paths_count(paths, PATH_OPENING) || paths_count(paths, PATH_ENDING);

	if (paths->bdev.state != BDEV_OPENING || paths->announce.on || paths_search(paths))
		return;
	if (open && !(up && paths->grace_expired)) {
		if (up && !paths->grace.on)
			loop_timer_set(paths->bdev.loop, &paths->grace,
				loop_clock() +
					min_u64(GRACE_MS * PATHS_MSEC, paths_time_left(paths)));
		return;
	}
	loop_timer_del(paths->bdev.loop, &paths->grace);
	if (up)
		paths_up(paths);
	else
		paths->bdev.why = paths->path[0].why;
	loop_work_add(paths->bdev.loop, &paths->announce);
}

void paths_searched(struct paths *paths)
{
	loop_timer_del(paths->bdev.loop, &paths->grace);
	paths->grace_expired = false;
	for (struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (!path->attempts)
			path_start(&path->retry);
	paths_decide(paths);
}

static void paths_grace_expired(struct loop_timer *timer)
{
	struct paths *paths = container_of(timer, struct paths, grace);

	paths->grace_expired = true;
	paths_decide(paths);
}

static void paths_announce(struct loop_work *work)
{
	struct paths *paths = container_of(work, struct paths, announce);

	if (paths->stopping && paths_count(paths, PATH_OFF) < paths->count)
		return;
	if (paths->stopping)
		diag_set(&paths->bdev.why, DIAG_CLOSED, ESHUTDOWN, "closed");
	if (paths->stopping || paths->bdev.state == BDEV_OPENING)
		paths->bdev.state = BDEV_DOWN;
	if (paths->bdev.changed)
		paths->bdev.changed(&paths->bdev);
}

static void paths_stop(struct bdev *bdev)
{
	struct paths *paths = container_of(bdev, struct paths, bdev);

	paths->stopping = true;
	loop_timer_del(bdev->loop, &paths->unreachable);
	for (struct path *path = paths->path; path < paths->path + paths->count; path++) {
		loop_timer_del(bdev->loop, &path->retry);
		if (path->state == PATH_UP) {
			path->state = PATH_STOPPING;
			path->up_ns = 0;
			path->leaf->ops->stop(path->leaf);
		} else if (path->state == PATH_OPENING) {
			path_end(path, NULL);
		} else if (path->state == PATH_IDLE) {
			path->state = PATH_OFF;
		}
	}
	loop_work_add(bdev->loop, &paths->announce);
}

static void paths_free(struct bdev *bdev)
{
	struct paths *paths = container_of(bdev, struct paths, bdev);

	assert(!paths->lanes);
	for (struct path *path = paths->path; path < paths->path + paths->count; path++) {
		loop_timer_del(bdev->loop, &path->retry);
		loop_work_del(bdev->loop, &path->reap);
		if (path->leaf)
			path->leaf->ops->free(path->leaf);
	}
	loop_timer_del(bdev->loop, &paths->grace);
	loop_timer_del(bdev->loop, &paths->unreachable);
	loop_work_del(bdev->loop, &paths->announce);
	explicit_bzero(paths, sizeof(*paths)); /* the URIs may hold passwords */
	free(paths);
}

static const char *path_state_word(const struct path *path)
{
	static const char *const word[] = {
		[PATH_IDLE] = "down",
		[PATH_OPENING] = "connecting",
		[PATH_UP] = "up",
		[PATH_ENDING] = "lost",
		[PATH_STOPPING] = "closing",
		[PATH_OFF] = "closed",
	};

	return word[path->state];
}

static bool is_preferred(const struct path *path)
{
	return path->preferred || (path->paths->preferred && path == path->paths->path);
}

static void print_path(struct out *out, const struct path *path, unsigned number)
{
	const char *access = path->state == PATH_UP ? path->access_word : NULL;

	out_object(out, NULL);
	out_text(out, "uri", NULL, "%s", path->uri.spelling);
	out_text(out, "state", NULL, "%s", path_state_word(path));
	if (access)
		out_text(out, "access", NULL, "%s", access);
	if (is_preferred(path))
		out_bool(out, "preferred", NULL, true);
	out_u64(out, "attempts", NULL, path->attempts);
	out_error(out, "error", &path->why);
	out_end(out);
	out_line(out, "path %u:      %s, %s%s%s%s, %u attempt%s%s%s", number, path->uri.spelling,
		path_state_word(path), access ? ", " : "", access ? access : "",
		is_preferred(path) ? ", preferred" : "", path->attempts,
		path->attempts == 1 ? "" : "s", path->why.err ? "; last: " : "", path->why.text);
}

static void paths_facts(struct bdev *bdev, struct out *out)
{
	struct paths *paths = container_of(bdev, struct paths, bdev);
	struct bdev *current = NULL;

	out_list(out, "paths");
	for (unsigned i = 0; i < paths->count; i++) {
		print_path(out, &paths->path[i], i + 1);
		if (!current && paths->path[i].state == PATH_UP)
			current = paths->path[i].leaf;
	}
	out_end(out);
	if (current && current->ops->facts)
		current->ops->facts(current, out);
}

static uint64_t path_requests(const struct path *path)
{
	const unsigned index = (unsigned)(path - path->paths->path);
	uint64_t sum = path->requests;

	for (const struct paths_lane *pl = path->paths->lanes; pl; pl = pl->next)
		sum += __atomic_load_n(&pl->leg[index].requests, __ATOMIC_RELAXED);
	return sum;
}

/* Whether the disk can be reached by any path decides what happens to its I/O. */
static void look_at_disk(const struct paths *paths, struct bdev_path *to)
{
	*to = (struct bdev_path){ .uri = paths->bdev.uri };
	if (paths->count > 1)
		to->policy = paths_policy_word(paths->policy);
	if (!paths->out_ns)
		return;
	to->state = BDEV_PATH_LOST;
	to->lost_ns = paths->out_ns;
	to->reason = paths->failed->why.code;
	if (paths->failing)
		to->state = BDEV_PATH_FAILED;
	else if (paths->unreachable.on)
		to->fails_ns = paths->unreachable.at_ns;
}

static bool paths_look(struct bdev *bdev, unsigned i, struct bdev_path *to)
{
	const struct paths *paths = container_of(bdev, struct paths, bdev);
	const struct path *path = i ? &paths->path[i - 1] : NULL;

	if (i > paths->count)
		return false;
	look_at_disk(paths, to);
	if (!path)
		return true;
	to->uri = path->uri.spelling;
	to->policy = NULL;
	to->preferred = is_preferred(path);
	to->requests = path_requests(path);
	to->retry_ns = path->retry.on ? path->retry.at_ns : 0;
	if (path->state == PATH_UP) {
		to->access = path->access_word;
		to->group = path->leaf->access_group;
		to->warning = path->leaf->why.err ? &path->leaf->why : NULL;
	}
	if (path->state == PATH_UP && paths_serves(path->access))
		return true;
	if (to->state == BDEV_PATH_UP)
		to->state = BDEV_PATH_LOST;
	to->lost_ns = path->lost_ns ? path->lost_ns : paths->begun_ns;
	to->reason = path->why.code;
	return true;
}

static const struct bdev_ops paths_ops = {
	.name = "paths",
	.path = paths_look,
	.lane = paths_lane_open,
	.stop = paths_stop,
	.free = paths_free,
	.facts = paths_facts,
};

static struct path *leg_path(const struct leg *leg)
{
	return &leg->pl->paths->path[leg->index];
}

void paths_joined(struct loop_msg *msg)
{
	struct paths_lane *pl = container_of(msg, struct paths_lane, join);
	struct paths *paths = pl->paths;

	pl->next = paths->lanes;
	paths->lanes = pl;
	for (struct path *path = paths->path; path < paths->path + paths->count; path++)
		if (path->state == PATH_UP)
			leg_attach(pl, path);
	loop_post(pl->lane.loop, &pl->joined_msg);
}

static void leg_off(struct leg *leg)
{
	struct path *path = leg_path(leg);

	leg->on = false;
	if (!--path->legs && path->state == PATH_ENDING)
		loop_work_add(path->paths->bdev.loop, &path->reap);
}

void paths_left(struct loop_msg *msg)
{
	struct paths_lane *pl = container_of(msg, struct paths_lane, leave),
			  **at = &pl->paths->lanes;

	while (*at != pl)
		at = &(*at)->next;
	*at = pl->next;
	for (unsigned i = 0; i < pl->paths->count; i++) {
		pl->paths->path[i].requests += pl->leg[i].requests;
		if (pl->leg[i].on)
			leg_off(&pl->leg[i]);
	}
	loop_post(pl->lane.loop, &pl->left_msg);
}

/* If a lane dies, its path counts as lost: the other lanes leave it, too, and it is reopened. */
void paths_leg_dead(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, dead);
	struct path *path = leg_path(leg);

	if (path->state == PATH_UP)
		path_lost(path, &leg->why);
}

void paths_leg_dropped(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, dropped);

	leg_path(leg)->held += leg->held;
	leg_off(leg);
}

static void path_refuses(struct path *path, uint32_t detail)
{
	struct paths *paths = path->paths;
	const char *text = path->leaf->status_text ? path->leaf->status_text(detail) : NULL;
	char limit[32] = "";

	path->refused_ns = loop_clock();
	if (paths->loss_ms && paths->loss_ms != UINT32_MAX)
		snprintf(limit, sizeof(limit), " for up to %g s", paths->loss_ms / 1000.);
	paths_report(paths, true, "%s: requests are refused: %s; trying %s%s", path->uri.spelling,
		text ? text : "the target can't execute them now",
		paths_usable(paths) > 1 ? "another path" : "again", limit);
}

void paths_leg_refused(struct loop_msg *msg)
{
	struct leg *leg = container_of(msg, struct leg, refused);
	struct path *path = leg_path(leg);

	if (path->state == PATH_UP &&
		(!path->refused_ns || seconds_since(path->refused_ns) * 1000 >= REPORT_MS))
		path_refuses(path, leg->detail);
	__atomic_store_n(&leg->reporting, false, __ATOMIC_RELEASE);
}

int paths_attach(struct bdev **bdev, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct paths *paths = calloc(1, sizeof(*paths));
	int err;

	if (!paths)
		return diag_sys(diag, ENOMEM, "open");
	paths->bdev.ops = &paths_ops;
	paths->bdev.loop = loop;
	paths->env = *env;
	paths->loss_ms = env->on_loss_ms;
	paths->begun_ns = loop_clock();
	paths->seed = (unsigned)paths->begun_ns;
	paths->grace.fire = paths_grace_expired;
	paths->unreachable.fire = paths_unreachable;
	paths->announce.run = paths_announce;
	paths_search_init(paths);
	for (unsigned i = 0; i < URI_PATHS + 1; i++) {
		paths->path[i].paths = paths;
		paths->path[i].retry.fire = path_start;
		paths->path[i].reap.run = path_reap;
	}
	err = paths_uris(paths, uri, diag);
	if ((paths->count > 1 || paths->find) && !paths->env.detect_ms)
		paths->env.detect_ms = BDEV_DETECT_MS;
	for (unsigned i = 0; i < paths->count && !err; i++)
		path_start(&paths->path[i].retry);
	if (err) {
		paths_free(&paths->bdev);
		return err;
	}
	*bdev = &paths->bdev;
	return 0;
}
