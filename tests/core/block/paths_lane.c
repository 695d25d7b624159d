/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lanes over breaking paths, under load: seeded schedules of deaths and refusals on one, two and
 * four lanes. Every request is done exactly once and without error, and the disk holds what the
 * submitter thinks. SCHEDULES=n in the environment runs more of them. */
#include "flaky.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

#define MSEC   1000000ull
#define BLOCK  512u
#define REGION 256u /* blocks a worker owns */
#define SLOTS  8
#define KILLS  3   /* a schedule; each lengthens the wait for the next attempt */
#define SPAN   16u /* most blocks of a request */

struct slot {
	struct io io;
	struct worker *worker;
	struct buf buf;
	bool busy;
	unsigned first, blocks;
	uint32_t tag;
	uint64_t lower[64];
};

struct worker { /* one lane, on one thread */
	struct loop *loop;
	struct lane *lane;
	struct bdev *bdev;
	struct pool *pool;
	unsigned index, seed, left, errors;
	uint32_t tag[REGION]; /* what each block must hold */
	bool busy[REGION];
	struct slot slot[SLOTS];
	atomic_bool over;
};

static void fill(uint8_t *p, uint32_t tag)
{
	for (unsigned i = 0; i < BLOCK / 4; i++)
		memcpy(p + 4 * i, &(uint32_t){ tag ? tag ^ i : 0 }, 4);
}

static void slot_done(struct io *io);

static bool slot_range(struct worker *w, struct slot *slot)
{
	slot->blocks = 1 + (unsigned)rand_r(&w->seed) % SPAN;
	slot->first = (unsigned)rand_r(&w->seed) % (REGION - slot->blocks + 1);
	for (unsigned i = 0; i < slot->blocks; i++)
		if (w->busy[slot->first + i])
			return false;
	return true;
}

static void slot_submit(struct slot *slot)
{
	static const uint8_t kinds[] = { IO_READ, IO_READ, IO_READ, IO_WRITE, IO_WRITE, IO_WRITE,
		IO_FLUSH, IO_TRIM, IO_ZERO };
	struct worker *w = slot->worker;
	uint8_t kind = kinds[(unsigned)rand_r(&w->seed) % sizeof(kinds)];

	if (!w->left)
		return;
	w->left--;
	slot->blocks = 0;
	if (kind != IO_FLUSH)
		while (!slot_range(w, slot))
			;
	slot->io.kind = kind;
	slot->io.off = kind == IO_FLUSH ? 0 : ((uint64_t)w->index * REGION + slot->first) * BLOCK;
	slot->io.len = slot->blocks * BLOCK;
	slot->io.status = 1;
	slot->tag = (uint32_t)rand_r(&w->seed) | 1;
	memset(slot->buf.p, 0xee, slot->blocks * BLOCK);
	for (unsigned i = 0; i < slot->blocks; i++) {
		w->busy[slot->first + i] = true;
		if (kind == IO_WRITE)
			fill(slot->buf.p + i * BLOCK, slot->tag + i * 2);
	}
	slot->busy = true;
	bdev_submit(w->lane, &slot->io);
}

static void slot_done(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, io);
	struct worker *w = slot->worker;
	uint8_t expected[BLOCK];
	bool any = false;

	w->errors += !slot->busy || io->status;
	slot->busy = false;
	for (unsigned i = 0; i < slot->blocks; i++) {
		unsigned block = slot->first + i;

		w->busy[block] = false;
		if (io->kind == IO_READ) {
			fill(expected, w->tag[block]);
			w->errors += memcmp(expected, slot->buf.p + i * BLOCK, BLOCK) != 0;
		} else {
			w->tag[block] = io->kind == IO_WRITE ? slot->tag + i * 2 : 0;
		}
	}
	slot_submit(slot);
	for (unsigned i = 0; i < SLOTS; i++)
		any |= w->slot[i].busy;
	if (!any)
		atomic_store(&w->over, true);
}

static int worker_start(struct loop *loop, void *arg)
{
	struct worker *w = arg;
	int err = lane_open(&w->lane, w->bdev, loop, NULL);

	if (!err)
		err = pool_new(&w->pool, SPAN * BLOCK, SLOTS, NULL);
	if (!err)
		err = lane_map(w->lane, w->pool, NULL);
	for (unsigned i = 0; i < SLOTS && !err; i++) {
		struct slot *slot = &w->slot[i];

		slot->worker = w;
		slot->buf = pool_buf(w->pool, i);
		slot->io.buf = &slot->buf;
		slot->io.done = slot_done;
		slot->io.lower = slot->lower;
		slot_submit(slot);
	}
	return err;
}

/* Reads all of it back, and leaves. */
static int worker_end(struct loop *loop, void *arg)
{
	struct worker *w = arg;
	uint8_t expected[BLOCK];
	struct buf buf = pool_buf(w->pool, 0);

	(void)loop;
	for (unsigned i = 0; i < REGION; i++) {
		struct io io = { .kind = IO_READ,
			.off = ((uint64_t)w->index * REGION + i) * BLOCK,
			.len = BLOCK,
			.buf = &buf };

		fill(expected, w->tag[i]);
		w->errors += bdev_io_wait(w->lane, &io, 0) || memcmp(expected, buf.p, BLOCK);
	}
	lane_unmap(w->lane, w->pool);
	lane_close(w->lane);
	pool_free(w->pool);
	return 0;
}

struct killer {
	struct loop_timer timer;
	struct loop *loop;
	struct flaky_path *way;
	struct worker *worker;
	unsigned paths, workers, seed, kills;
	bool switches; /* the access of the paths, too */
	volatile int over;
};

static void killer_fire(struct loop_timer *timer)
{
	struct killer *k = container_of(timer, struct killer, timer);
	unsigned dice = (unsigned)rand_r(&k->seed), over = 0;
	struct flaky_path *way = &k->way[dice / 64 % k->paths];

	for (unsigned i = 0; i < k->workers; i++)
		over += atomic_load(&k->worker[i].over);
	k->over = over == k->workers;
	if (k->kills < KILLS && dice % 8 < 2 &&
		(dice % 8 ? flaky_kill(way) : flaky_kill_lane(way, dice / 256 % k->workers))) {
		k->kills++;
		atomic_store(&way->refuse, dice / 1024 % 8 == 0);
	}
	if (k->switches && dice / 2048 % 4 == 0)
		flaky_access(way, dice / 8192 % 4);
	loop_timer_set(k->loop, &k->timer, loop_clock() + MSEC);
}

/* One disk, one or two ways to it, lanes on the main loop (lanes = 1, even seeds) or on threads.
 * Returns the errors. */
static unsigned schedule(unsigned seed, unsigned lanes)
{
	static const char *const two[] = { "flaky://a/?path=b",
		"flaky://a/?path=b&policy=round-robin", "flaky://a/?path=b&policy=queue-depth" };
	struct flaky_disk disk;
	struct flaky_path way[2] = { { .host = "a" }, { .host = "b" } };
	struct bdev_env env = { .write = true, .on_loss_ms = UINT32_MAX };
	struct worker *worker = calloc(lanes, sizeof(*worker));
	struct killer killer = { .timer.fire = killer_fire,
		.way = way,
		.paths = 1 + seed / 2 % 2,
		.worker = worker,
		.workers = lanes,
		.switches = seed / 7 % 2,
		.seed = seed };
	struct workers *threads = NULL;
	struct bdev *bdev = NULL;
	struct loop *loop;
	struct diag diag;
	unsigned errors = 0;

	flaky_disk_init(&disk, (uint64_t)lanes * REGION * BLOCK);
	for (unsigned i = 0; i < 2; i++) {
		way[i].disk = &disk;
		way[i].id.uuid[0] = 7;
		way[i].quiesce_ms = 4 + 3 * i;
		way[i].fences = seed / 3 % 2;
		way[i].fence_ms = seed / 6 % 3;
		way[i].deaf = (seed / 4 + i) % 2;
		way[i].delay_us = seed % 3 ? 700 : 0;
		way[i].io_refuse_dice = seed % 5 ? 0 : 150;
	}
	flaky_paths(way, 2, seed);
	if (loop_new(&loop, &(struct loop_options){ .name = "test", .verbose = getenv("TRACE") },
		    &diag))
		return 1;
	killer.loop = loop;
	if (lanes > 1 || seed % 2)
		errors += workers_start(&threads, lanes, loop_options(loop), &diag) != 0;
	errors += bdev_open(&bdev, loop, killer.paths == 1 ? "flaky://a/" : two[seed / 8 % 3], &env,
			  &diag) != 0;
	for (unsigned i = 0; i < lanes && !errors; i++) {
		worker[i].loop = threads ? workers_loop(threads, i) : loop;
		worker[i].bdev = bdev;
		worker[i].index = i;
		worker[i].seed = seed * 31 + i;
		worker[i].left = 300 + seed % 300;
		errors += loop_call(loop, worker[i].loop, worker_start, &worker[i]) != 0;
	}
	loop_timer_set(loop, &killer.timer, loop_clock() + MSEC);
	if (!errors && !loop_wait(loop, &killer.over, wait_limit())) {
		fprintf(stderr, "seed %u on %u lanes: it hangs\n", seed, lanes);
		_exit(1);
	}
	loop_timer_del(loop, &killer.timer);
	for (unsigned i = 0; i < lanes && worker[i].lane; i++) {
		loop_call(loop, worker[i].loop, worker_end, &worker[i]);
		errors += worker[i].errors;
	}
	bdev_close(bdev);
	errors += (unsigned)(atomic_load(&way[0].lanes_open) + atomic_load(&way[1].lanes_open));
	workers_stop(threads);
	loop_free(loop);
	flaky_disk_fini(&disk);
	free(worker);
	if (errors)
		fprintf(stderr, "seed %u on %u lanes: %u errors\n", seed, lanes, errors);
	return errors;
}

/* Most of a schedule is waiting: several at once, each in a process of its own. */
static void schedules(unsigned lanes)
{
	const char *more = getenv("SCHEDULES");
	unsigned count = more ? (unsigned)atoi(more) : 96, children = 24;
	int status;

	for (unsigned child = 0; child < children; child++) {
		pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (pid)
			continue;
		for (unsigned seed = child; seed < count; seed += children)
			if (schedule(seed, lanes))
				_exit(1);
		_exit(0);
	}
	for (unsigned child = 0; child < children; child++) {
		cr_assert_gt(wait(&status), 0);
		cr_expect_eq(status, 0, "a schedule went wrong (its seed is on stderr), status %#x",
			(unsigned)status);
	}
}

Test(paths_lane, loses_nothing_on_one_lane)
{
	schedules(1);
}

Test(paths_lane, loses_nothing_on_two_lanes)
{
	schedules(2);
}

Test(paths_lane, loses_nothing_on_four_lanes)
{
	schedules(4);
}
