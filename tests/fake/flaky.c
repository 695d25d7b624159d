/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The scripted disk for the tests of paths. Leaf and lanes look at atomics from timers of their
 * own, so that they need no messages between loops. */
#include "flaky.h"
#include "out.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS 500000ull
#define LANES   64

struct flaky_lane {
	struct lane lane;
	struct flaky_path *way;
	struct flaky_leaf *leaf;
	struct loop_timer tick;
	struct io *head, **tail;
	unsigned seed, maps;
	uint64_t up_ns; /* not before */
	atomic_bool dead;
};

struct flaky_leaf {
	struct bdev bdev;
	struct flaky_path *way;
	struct loop_timer tick;
	uint64_t give_up_ns;
	atomic_bool dead;
	bool ends;
	unsigned number; /* session.random */
	struct bdev_fence *fence;
	struct loop_timer fence_timer;
	struct bdev_search *search;
	struct loop_timer search_timer;
	pthread_mutex_t lock; /* of lanes */
	struct flaky_lane *lanes[LANES];
};

static struct flaky_path *uri_paths;
static unsigned the_count, the_seed, leafs;

static unsigned dice(unsigned *seed, unsigned sides)
{
	return (unsigned)rand_r(seed) % sides;
}

void flaky_disk_init(struct flaky_disk *disk, uint64_t size)
{
	*disk = (struct flaky_disk){
		.lock = PTHREAD_MUTEX_INITIALIZER, .data = calloc(1, size), .size = size
	};
}

/* Call these with the lock. */
static void disk_change(struct flaky_disk *disk, struct flaky_pending **at)
{
	struct flaky_pending *pending = *at;

	memcpy(disk->data + pending->off, pending->data, pending->len);
	*at = pending->next;
	free(pending);
}

/* What was due happened at its time, however late it is noticed. */
static void disk_catch_up(struct flaky_disk *disk, uint64_t now)
{
	while (disk->pending && disk->pending->due_ns <= now)
		disk_change(disk, &disk->pending);
}

/* All that came by this leaf happens now. */
static void disk_fence(struct flaky_disk *disk, unsigned leaf)
{
	struct flaky_pending **at = &disk->pending;

	disk_catch_up(disk, loop_clock());
	while (*at)
		if ((*at)->leaf == leaf)
			disk_change(disk, at);
		else
			at = &(*at)->next;
}

void flaky_disk_fini(struct flaky_disk *disk)
{
	disk_catch_up(disk, UINT64_MAX);
	free(disk->data);
}

void flaky_paths(struct flaky_path *paths, unsigned count, unsigned seed)
{
	uri_paths = paths;
	the_count = count;
	the_seed = seed;
}

static void disk_execute_locked(struct flaky_disk *disk, const struct io *io)
{
	disk_catch_up(disk, loop_clock());
	if (io->kind == IO_READ)
		memcpy(io->buf->p, disk->data + io->off, io->len);
	if (io->kind == IO_WRITE)
		memcpy(disk->data + io->off, io->buf->p, io->len);
	if (io->kind == IO_TRIM || io->kind == IO_ZERO)
		memset(disk->data + io->off, 0, io->len);
}

static void disk_execute(struct flaky_disk *disk, const struct io *io)
{
	pthread_mutex_lock(&disk->lock);
	disk_execute_locked(disk, io);
	pthread_mutex_unlock(&disk->lock);
}

static void disk_execute_after(
	struct flaky_disk *disk, const struct io *io, unsigned leaf, uint64_t due_ns)
{
	struct flaky_pending *pending = calloc(1, sizeof(*pending) + io->len),
			     **at = &disk->pending;

	if (io->kind == IO_WRITE)
		memcpy(pending->data, io->buf->p, io->len);
	pending->due_ns = due_ns;
	pending->off = io->off;
	pending->len = io->len;
	pending->leaf = leaf;
	while (*at && (*at)->due_ns <= due_ns)
		at = &(*at)->next;
	pending->next = *at;
	*at = pending;
	disk->lates++;
}

static struct flaky_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct flaky_lane, lane);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct flaky_lane *fl = to_lane(lane);

	memset(io->lower, 0xa5, lane->bdev->lim.io_size);
	atomic_fetch_add(&fl->way->inflight, 1);
	io->next = NULL;
	*fl->tail = io;
	fl->tail = &io->next;
}

static struct io *lane_pop(struct flaky_lane *fl)
{
	struct io *io = fl->head;

	fl->head = io->next;
	if (!fl->head)
		fl->tail = &fl->head;
	return io;
}

static void lane_answer(struct flaky_lane *fl, struct io *io, int status)
{
	if (!status && io->kind == IO_FLUSH)
		status = atomic_exchange(&fl->way->flush_status, 0);
	if (!status)
		atomic_fetch_add(&fl->way->done[io->kind], 1);
	atomic_fetch_sub(&fl->way->inflight, 1);
	io->status = status;
	io->detail = 0;
	io->done(io);
}

/* A request without an answer may have been executed, may be executed later, or not at all. */
static void lane_lose(struct flaky_lane *fl, struct io *io)
{
	bool changes = io->kind == IO_WRITE || io->kind == IO_TRIM || io->kind == IO_ZERO;
	uint64_t quiesce = fl->way->quiesce_ms * 1000000ull;

	pthread_mutex_lock(&fl->way->disk->lock);
	if (changes && !fl->way->no_pending && fl->way->fenced != fl->leaf->number)
		switch (dice(&fl->seed, 4)) {
		case 0:
			disk_execute_locked(fl->way->disk, io);
			break;
		case 1:
		case 2:
			disk_execute_after(fl->way->disk, io, fl->leaf->number,
				loop_clock() + quiesce / 1000 * dice(&fl->seed, 1001));
			break;
		}
	pthread_mutex_unlock(&fl->way->disk->lock);
	lane_answer(fl, io, -ENOTCONN);
}

static void lane_die(struct flaky_lane *fl)
{
	atomic_store(&fl->way->died_ns, loop_clock());
	while (fl->head)
		lane_lose(fl, lane_pop(fl));
	if (fl->lane.state == LANE_DOWN)
		return;
	fl->lane.state = LANE_DOWN;
	diag_set(&fl->lane.why, DIAG_CLOSED, ECONNRESET, "the flaky lane broke");
	if (fl->lane.changed)
		fl->lane.changed(&fl->lane);
}

static bool lane_dead(const struct flaky_lane *fl)
{
	return atomic_load(&fl->dead) || (!fl->way->deaf && atomic_load(&fl->leaf->dead));
}

static bool lane_refuses(struct flaky_lane *fl, struct io *io)
{
	struct flaky_path *way = fl->way;
	bool dice_says = way->io_refuse_dice && !dice(&fl->seed, way->io_refuse_dice);

	if (!dice_says && atomic_load(&way->io_refuse) <= 0)
		return false;
	if (dice_says && dice(&fl->seed, 2))
		disk_execute(way->disk, io);
	if (!dice_says)
		atomic_fetch_sub(&way->io_refuse, 1);
	atomic_fetch_add(&way->io_refused, 1);
	atomic_fetch_sub(&way->inflight, 1);
	io->status = -EAGAIN;
	io->detail = dice_says ? 1 + dice(&fl->seed, 7) : atomic_load(&way->io_refuse_detail);
	io->done(io);
	return true;
}

static void lane_serve(struct flaky_lane *fl)
{
	struct io *io, *next;

	io = fl->head;
	fl->head = NULL;
	fl->tail = &fl->head;
	for (; io; io = next) {
		next = io->next;
		if (atomic_load(&fl->way->hold) ||
			(fl->way->delay_us &&
				dice(&fl->seed, fl->way->delay_us) * 1000ull > TICK_NS)) {
			io->next = NULL;
			*fl->tail = io;
			fl->tail = &io->next;
			continue;
		}
		if (lane_refuses(fl, io))
			continue;
		disk_execute(fl->way->disk, io);
		lane_answer(fl, io, 0);
	}
	if (fl->way->reads_max && atomic_load(&fl->way->done[IO_READ]) >= fl->way->reads_max)
		atomic_store(&fl->dead, true);
}

static void lane_kick(struct lane *lane)
{
	struct flaky_lane *fl = to_lane(lane);

	if (lane->state == LANE_DOWN)
		while (fl->head)
			lane_answer(fl, lane_pop(fl), -ENOTCONN);
	else if (!fl->way->delay_us)
		lane_serve(fl);
}

static void lane_tick(struct loop_timer *timer)
{
	struct flaky_lane *fl = container_of(timer, struct flaky_lane, tick);

	loop_timer_set(fl->lane.loop, &fl->tick, loop_clock() + TICK_NS);
	if (lane_dead(fl)) {
		if (dice(&fl->seed, 4))
			lane_die(fl);
		return;
	}
	if (fl->lane.state == LANE_OPENING) {
		if (loop_clock() < fl->up_ns)
			return;
		if (atomic_load(&fl->way->bad_lane)) {
			atomic_store(&fl->dead, true);
			return;
		}
		if (atomic_load(&fl->way->lane_refuse) > 0) {
			atomic_fetch_sub(&fl->way->lane_refuse, 1);
			atomic_fetch_add(&fl->way->lanes_refused, 1);
			fl->lane.state = LANE_DOWN;
			diag_set(&fl->lane.why, DIAG_BUSY, EAGAIN, "the flaky way is busy");
			fl->lane.changed(&fl->lane);
			return;
		}
		fl->lane.state = LANE_UP;
		if (fl->lane.changed)
			fl->lane.changed(&fl->lane);
		return;
	}
	lane_serve(fl);
}

static int lane_map_pool(struct lane *lane, struct pool *pool, struct diag *diag)
{
	struct flaky_lane *fl = to_lane(lane);

	(void)pool;
	if (atomic_load(&fl->way->bad_map))
		return diag_set(diag, DIAG_NO_MEMORY, ENOMEM, "the flaky lane takes no pool");
	fl->maps++;
	atomic_fetch_add(&fl->way->mapped, 1);
	return 0;
}

static void lane_unmap_pool(struct lane *lane, struct pool *pool)
{
	struct flaky_lane *fl = to_lane(lane);

	(void)pool;
	assert(fl->maps);
	fl->maps--;
	atomic_fetch_sub(&fl->way->mapped, 1);
}

static void lane_free(struct lane *lane)
{
	struct flaky_lane *fl = to_lane(lane);

	assert(!fl->head && !fl->maps);
	pthread_mutex_lock(&fl->leaf->lock);
	for (unsigned i = 0; i < LANES; i++)
		if (fl->leaf->lanes[i] == fl)
			fl->leaf->lanes[i] = NULL;
	pthread_mutex_unlock(&fl->leaf->lock);
	loop_timer_del(lane->loop, &fl->tick);
	loop_work_del(lane->loop, &lane->kick);
	atomic_fetch_sub(&fl->way->lanes_open, 1);
	free(fl);
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	assert(why->err && lane->state == LANE_UP);
	atomic_store(&to_lane(lane)->dead, true);
}

static const struct lane_ops lane_ops = {
	.abort = lane_abort,
	.submit = lane_submit,
	.kick = lane_kick,
	.map = lane_map_pool,
	.unmap = lane_unmap_pool,
	.free = lane_free,
};

static int leaf_lane(struct lane **lane, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct flaky_leaf *leaf = container_of(bdev, struct flaky_leaf, bdev);
	struct flaky_lane *fl = calloc(1, sizeof(*fl));
	unsigned i = 0;

	lane_init(&fl->lane, &lane_ops, bdev, loop);
	fl->leaf = leaf;
	fl->way = leaf->way;
	fl->up_ns = loop_clock() + fl->way->lane_ms * 1000000ull;
	fl->tail = &fl->head;
	fl->tick.fire = lane_tick;
	pthread_mutex_lock(&leaf->lock);
	while (i < LANES && leaf->lanes[i])
		i++;
	if (i < LANES)
		leaf->lanes[i] = fl;
	fl->seed = the_seed + i * 7919 + (unsigned)atomic_load(&leaf->way->attempts) * 104729;
	pthread_mutex_unlock(&leaf->lock);
	if (i == LANES) {
		free(fl);
		return diag_set(diag, DIAG_BUSY, EBUSY, "no more lanes");
	}
	atomic_fetch_add(&leaf->way->lanes_open, 1);
	loop_timer_set(loop, &fl->tick, loop_clock() + TICK_NS);
	*lane = &fl->lane;
	return 0;
}

static void leaf_turn(struct flaky_leaf *leaf, enum bdev_state state)
{
	leaf->bdev.state = state;
	if (leaf->bdev.changed)
		leaf->bdev.changed(&leaf->bdev);
}

static void leaf_access(struct flaky_leaf *leaf)
{
	static const char *const words[] = { "optimized", "non-optimized", "changing", "closed" };

	leaf->bdev.access = leaf->way->access;
	leaf->bdev.access_word = words[leaf->way->access];
	leaf->bdev.access_group = leaf->way->group;
	leaf->bdev.access_preferred = leaf->way->preferred;
	leaf->bdev.changing_ms = leaf->way->changing_ms;
}

static void leaf_tick(struct loop_timer *timer)
{
	struct flaky_leaf *leaf = container_of(timer, struct flaky_leaf, tick);
	struct flaky_path *way = leaf->way;

	if (leaf->ends || atomic_load(&leaf->dead)) {
		if (leaf->bdev.state != BDEV_DOWN) {
			diag_set(&leaf->bdev.why, DIAG_CLOSED, ECONNRESET, "the flaky way broke");
			leaf_turn(leaf, BDEV_DOWN);
		}
		return;
	}
	loop_timer_set(leaf->bdev.loop, &leaf->tick, loop_clock() + TICK_NS);
	if (leaf->bdev.state != BDEV_OPENING)
		return;
	if (atomic_load(&way->silent)) {
		if (loop_clock() >= leaf->give_up_ns) {
			diag_set(&leaf->bdev.why, DIAG_TIMEOUT, ETIMEDOUT,
				"the flaky way gave no answer");
			leaf_turn(leaf, BDEV_DOWN);
		}
		return;
	}
	if (atomic_load(&way->refuse) > 0) {
		atomic_fetch_sub(&way->refuse, 1);
		diag_set(&leaf->bdev.why, DIAG_REFUSED, ECONNREFUSED, "the flaky way %s refused",
			way->host);
		leaf_turn(leaf, BDEV_DOWN);
		return;
	}
	leaf_access(leaf);
	if (way->warning)
		diag_set(&leaf->bdev.why, DIAG_AUTH, EPERM, "%s", way->warning);
	leaf_turn(leaf, BDEV_UP);
}

static void leaf_stop(struct bdev *bdev)
{
	struct flaky_leaf *leaf = container_of(bdev, struct flaky_leaf, bdev);

	leaf->ends = true;
	loop_timer_set(bdev->loop, &leaf->tick, loop_clock());
}

static void leaf_free(struct bdev *bdev)
{
	struct flaky_leaf *leaf = container_of(bdev, struct flaky_leaf, bdev);

	for (unsigned i = 0; i < LANES; i++)
		assert(!leaf->lanes[i]);
	loop_timer_del(bdev->loop, &leaf->tick);
	loop_timer_del(bdev->loop, &leaf->fence_timer);
	loop_timer_del(bdev->loop, &leaf->search_timer);
	if (leaf->way->leaf == leaf)
		leaf->way->leaf = NULL;
	free(leaf);
}

static void leaf_fenced(struct loop_timer *timer)
{
	struct flaky_leaf *leaf = container_of(timer, struct flaky_leaf, fence_timer);
	struct bdev_fence *fence = leaf->fence;
	struct flaky_path *lost = &uri_paths[fence->session.id];
	int err = atomic_exchange(&leaf->way->fence_err, 0);

	if (atomic_load(&leaf->dead))
		err = -ENOTCONN;
	if (!err) {
		pthread_mutex_lock(&lost->disk->lock);
		lost->fenced = (unsigned)fence->session.random;
		disk_fence(lost->disk, lost->fenced);
		pthread_mutex_unlock(&lost->disk->lock);
		atomic_fetch_add(&leaf->way->fences_made, 1);
	}
	leaf->fence = NULL;
	fence->done(fence, err);
}

static int leaf_fence(struct bdev *bdev, struct bdev_fence *fence)
{
	struct flaky_leaf *leaf = container_of(bdev, struct flaky_leaf, bdev);

	if (leaf->fence)
		return -EBUSY;
	leaf->fence = fence;
	loop_timer_set(
		bdev->loop, &leaf->fence_timer, loop_clock() + leaf->way->fence_ms * 1000000ull);
	return 0;
}

static void leaf_searched(struct loop_timer *timer)
{
	struct flaky_leaf *leaf = container_of(timer, struct flaky_leaf, search_timer);
	struct bdev_search *search = leaf->search;
	struct diag why = leaf->way->list_why;

	if (loop_clock() >= search->until)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "the flaky way lists nothing");
	for (unsigned i = 0; i < leaf->way->listed && !why.err; i++)
		search->found(search, leaf->way->list[i].host, leaf->way->list[i].port);
	search->done(search, &why);
}

static int leaf_search(struct bdev *bdev, struct bdev_search *search, struct diag *diag)
{
	struct flaky_leaf *leaf = container_of(bdev, struct flaky_leaf, bdev);
	uint64_t at_ns = loop_clock() + leaf->way->list_ms * 1000000ull;

	atomic_fetch_add(&leaf->way->searches, 1);
	if (addr_known(&search->at, leaf->way->host, 1, NULL) <= 0)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP, "the flaky way has no list");
	search->default_port = 1;
	leaf->search = search;
	leaf->search_timer.fire = leaf_searched;
	loop_timer_set(
		bdev->loop, &leaf->search_timer, at_ns < search->until ? at_ns : search->until);
	return 0;
}

static void leaf_facts(struct bdev *bdev, struct out *out)
{
	out_text(out, "flaky", "flaky: ", "%s",
		container_of(bdev, struct flaky_leaf, bdev)->way->host);
}

static unsigned leaf_again(uint32_t detail)
{
	return detail;
}

static const struct bdev_ops leaf_ops = {
	.name = "flaky",
	.retry = leaf_again,
	.lane = leaf_lane,
	.stop = leaf_stop,
	.free = leaf_free,
	.fence = leaf_fence,
	.search = leaf_search,
	.facts = leaf_facts,
};

static int flaky_attach(struct bdev **bdev, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	struct flaky_path *way = NULL;
	struct flaky_leaf *leaf;
	int err = uri_done(uri, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < the_count; i++)
		if (!strcmp(uri_paths[i].host, uri->host))
			way = &uri_paths[i];
	if (!way)
		return diag_set(
			diag, DIAG_NOT_FOUND, ENOENT, "no flaky way is called '%s'", uri->host);
	leaf = calloc(1, sizeof(*leaf));
	*leaf = (struct flaky_leaf){
		.way = way, .lock = PTHREAD_MUTEX_INITIALIZER, .tick.fire = leaf_tick
	};
	leaf->bdev.ops = &leaf_ops;
	leaf->bdev.loop = loop;
	leaf->bdev.id = way->id;
	leaf->bdev.lim = (struct bdev_limits){
		.size = way->size ? way->size : way->disk->size,
		.block = 512,
		.best = 4096,
		.max = { 65536, way->max_write ? way->max_write : 65536, 1, 65536, 65536, 0, 4096 },
		.io_size = 40,
		.lanes = way->lanes ? way->lanes : 64,
		.depth = 64,
		.quiesce_ms = way->quiesce_ms,
		.ro = !env->write,
		.fua = true,
	};
	leaf->fence_timer.fire = leaf_fenced;
	leaf->number = ++leafs;
	if (way->fences)
		leaf->bdev.session = (struct bdev_session){ .target = "flaky",
			.id = (uint16_t)(way - uri_paths),
			.random = leaf->number,
			.keeps_identity = way->keeps_identity };
	leaf->give_up_ns = loop_clock() + env->timeout_ms * 1000000ull;
	way->leaf = leaf;
	way->detect_ms = env->detect_ms;
	atomic_fetch_add(&way->attempts, 1);
	loop_timer_set(loop, &leaf->tick, loop_clock() + TICK_NS);
	*bdev = &leaf->bdev;
	return 0;
}

const struct proto flaky_proto = {
	.scheme = { "flaky://" }, .lists_paths = true, .attach = flaky_attach
};
const struct proto flaky_exposed_proto = {
	.scheme = { "flaky+rdma://" }, .exposed = true, .attach = flaky_attach
};

bool flaky_kill(struct flaky_path *way)
{
	if (!way->leaf || way->leaf->bdev.state != BDEV_UP || atomic_load(&way->leaf->dead))
		return false;
	atomic_store(&way->leaf->dead, true);
	return true;
}

bool flaky_kill_lane(struct flaky_path *way, unsigned index)
{
	bool found = false;

	if (!way->leaf)
		return false;
	pthread_mutex_lock(&way->leaf->lock);
	if (way->leaf->lanes[index % LANES]) {
		atomic_store(&way->leaf->lanes[index % LANES]->dead, true);
		found = true;
	}
	pthread_mutex_unlock(&way->leaf->lock);
	return found;
}

void flaky_access(struct flaky_path *way, enum bdev_access access)
{
	way->access = access;
	if (!way->leaf || way->leaf->bdev.state != BDEV_UP)
		return;
	leaf_access(way->leaf);
	leaf_turn(way->leaf, BDEV_UP);
}

void flaky_resize(struct flaky_path *way, uint64_t size)
{
	way->leaf->bdev.lim.size = size;
	leaf_turn(way->leaf, BDEV_UP);
}
