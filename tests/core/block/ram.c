/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ram: against a plain array, with its holes; and that it gives memory back. */
#include "bdev.h"
#include "protocol.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct scheme *const schemes[] = { &ram_proto.scheme, NULL };

#define SIZE (1u << 20)
#define MSEC 1000000ull

struct rig {
	struct loop *loop;
	struct bdev *bdev;
	struct lane *lane;
	struct pool *pool;
	struct buf buf;
};

static void rig_init(struct rig *rig, const char *uri)
{
	cr_assert_eq(loop_new(&rig->loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(
		bdev_open(&rig->bdev, rig->loop, uri, &(struct bdev_env){ .write = true }, NULL),
		0);
	cr_assert_eq(lane_open(&rig->lane, rig->bdev, rig->loop, NULL), 0);
	cr_assert_eq(pool_new(&rig->pool, SIZE, 1, NULL), 0);
	rig->buf = pool_buf(rig->pool, 0);
}

static void rig_fini(struct rig *rig)
{
	lane_close(rig->lane);
	bdev_close(rig->bdev);
	pool_free(rig->pool);
	loop_free(rig->loop);
}

static int run(struct rig *rig, enum io_kind kind, unsigned flags, uint64_t off, uint32_t len)
{
	struct io io = { .kind = (uint8_t)kind,
		.flags = (uint8_t)flags,
		.off = off,
		.len = len,
		.buf = &rig->buf };
	int err = bdev_io_wait(rig->lane, &io, 1000);

	return err ? err : (int)io.detail;
}

Test(ram, is_what_was_written)
{
	static uint8_t model[SIZE];
	struct rig rig;
	unsigned seed = 5;

	rig_init(&rig, "ram:1M?block=512");
	for (unsigned i = 0; i < 3000; i++) {
		uint32_t block = (uint32_t)rand_r(&seed) % (SIZE / 512), most = SIZE / 512 - block;
		uint32_t len = (1 + (uint32_t)rand_r(&seed) % (i % 10 ? 32 : 1024)),
			 off = block * 512;

		len = (len < most ? len : most) * 512;
		switch (rand_r(&seed) % 5) {
		case 0:
		case 1:
			memset(rig.buf.p, rand_r(&seed), len);
			memcpy(model + off, rig.buf.p, len);
			cr_assert_eq(run(&rig, IO_WRITE, i % 2 ? IO_FUA : 0, off, len), 0);
			break;
		case 2:
			memset(model + off, 0, len);
			cr_assert_eq(run(&rig, IO_TRIM, 0, off, len), 0);
			break;
		case 3:
			memset(model + off, 0, len);
			cr_assert_eq(run(&rig, IO_ZERO, i % 3 ? IO_KEEP : IO_FAST, off, len), 0);
			break;
		default:
			memset(rig.buf.p, 0x55, len);
			cr_assert_eq(run(&rig, IO_READ, 0, off, len), 0);
			cr_assert_eq(memcmp(rig.buf.p, model + off, len), 0);
		}
	}
	cr_assert_eq(run(&rig, IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(run(&rig, IO_READ, 0, 0, SIZE), 0);
	cr_assert_eq(memcmp(rig.buf.p, model, SIZE), 0);
	rig_fini(&rig);
}

static void assert_runs(
	struct rig *rig, uint64_t off, uint32_t len, unsigned n, const struct map_run *expected)
{
	const struct map_run *got = (const struct map_run *)(void *)rig->buf.p;

	cr_assert_eq(run(rig, IO_MAP, 0, off, len), (int)n);
	for (unsigned i = 0; i < n; i++)
		cr_assert(got[i].len == expected[i].len && got[i].flags == expected[i].flags,
			"run %u: %llu, %u", i, (unsigned long long)got[i].len, got[i].flags);
}

#define HOLE (MAP_HOLE | MAP_ZERO)

Test(ram, map_tells_holes)
{
	struct rig rig;

	rig_init(&rig, "ram:1M");
	assert_runs(&rig, 0, SIZE, 1, (struct map_run[]){ { SIZE, HOLE, 0 } });
	cr_assert_eq(run(&rig, IO_WRITE, 0, 65536 * 2 + 512, 512), 0);
	cr_assert_eq(run(&rig, IO_ZERO, IO_KEEP, 65536 * 3 - 512, 1024), 0);
	assert_runs(&rig, 0, SIZE, 3,
		(struct map_run[]){
			{ 131072, HOLE, 0 }, { 131072, 0, 0 }, { SIZE - 262144, HOLE, 0 } });
	assert_runs(
		&rig, 131072 - 512, 1024, 2, (struct map_run[]){ { 512, HOLE, 0 }, { 512, 0, 0 } });
	rig.buf.cap = sizeof(struct map_run);
	assert_runs(&rig, 0, SIZE, 1, (struct map_run[]){ { 131072, HOLE, 0 } });
	rig.buf.cap = SIZE;
	cr_assert_eq(run(&rig, IO_TRIM, 0, 131072 + 512, 65536), 0);
	assert_runs(&rig, 0, SIZE, 3,
		(struct map_run[]){
			{ 131072, HOLE, 0 }, { 131072, 0, 0 }, { SIZE - 262144, HOLE, 0 } });
	cr_assert_eq(run(&rig, IO_TRIM, 0, 131072, 131072), 0);
	assert_runs(&rig, 0, SIZE, 1, (struct map_run[]){ { SIZE, HOLE, 0 } });
	rig_fini(&rig);
}

Test(ram, an_odd_end_is_a_whole_chunk)
{
	struct rig rig;

	rig_init(&rig, "ram:66048");
	cr_assert_eq(run(&rig, IO_WRITE, 0, 65536, 512), 0);
	assert_runs(&rig, 0, 66048, 2, (struct map_run[]){ { 65536, HOLE, 0 }, { 512, 0, 0 } });
	cr_assert_eq(run(&rig, IO_TRIM, 0, 65536, 512), 0);
	assert_runs(&rig, 0, 66048, 1, (struct map_run[]){ { 66048, HOLE, 0 } });
	rig_fini(&rig);
}

static long resident_kib(void)
{
	long total, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	cr_assert_eq(fscanf(f, "%ld %ld", &total, &resident), 2);
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

Test(ram, takes_memory_as_it_is_written_and_gives_it_back)
{
	struct rig rig;
	long empty, full;

	rig_init(&rig, "ram:1T");
	memset(rig.buf.p, 1, SIZE);
	empty = resident_kib();
	for (unsigned i = 0; i < 32; i++)
		cr_assert_eq(run(&rig, IO_READ, 0, (uint64_t)i << 32, SIZE), 0);
	cr_assert_lt(resident_kib(), empty + 4096, "reading holes takes none");
	memset(rig.buf.p, 1, SIZE);
	for (unsigned i = 0; i < 32; i++)
		cr_assert_eq(run(&rig, IO_WRITE, 0, (uint64_t)i << 32, SIZE), 0);
	full = resident_kib();
	cr_assert_gt(full, empty + 28 * 1024);
	for (unsigned i = 0; i < 32; i++)
		cr_assert_eq(run(&rig, IO_TRIM, 0, (uint64_t)i << 32, SIZE), 0);
	cr_assert_lt(resident_kib(), full - 28 * 1024);
	rig_fini(&rig);
}

/* An owner that always submits again from done() must not starve the loop's timers. */
struct endless {
	struct io io;
	struct lane *lane;
	unsigned long count;
	bool end;
	volatile int over;
};

static void endless_done(struct io *io)
{
	struct endless *e = container_of(io, struct endless, io);

	e->count++;
	if (e->end)
		e->over = 1;
	else
		bdev_submit(e->lane, io);
}

struct turns {
	struct loop_timer timer;
	struct loop *loop;
	unsigned long count;
};

static void count_turn(struct loop_timer *timer)
{
	struct turns *turns = container_of(timer, struct turns, timer);

	turns->count++;
	loop_timer_set(turns->loop, timer, loop_now(turns->loop) + 1);
}

Test(ram, leaves_the_loop_to_others)
{
	struct turns turns = { .timer.fire = count_turn };
	struct rig rig;
	struct endless e = { .io = { .kind = IO_FLUSH, .done = endless_done } };
	volatile int never = 0;

	rig_init(&rig, "ram:1M");
	e.lane = rig.lane;
	bdev_submit(rig.lane, &e.io);
	turns.loop = rig.loop;
	count_turn(&turns.timer);
	while (turns.count < 100)
		loop_wait(rig.loop, &never, loop_clock() + MSEC);
	loop_timer_del(rig.loop, &turns.timer);
	cr_assert_gt(
		e.count, 10 * turns.count, "%lu in %lu turns", (unsigned long)e.count, turns.count);
	e.end = true;
	loop_wait(rig.loop, &e.over, 0);
	rig_fini(&rig);
}

static int write_everywhere(struct loop *loop, void *arg)
{
	struct rig rig = { .loop = loop, .bdev = arg };
	int err = lane_open(&rig.lane, rig.bdev, loop, NULL);

	if (!err)
		err = pool_new(&rig.pool, 65536, 1, NULL);
	rig.buf = pool_buf(rig.pool, 0);
	memset(rig.buf.p, 3, 65536);
	for (unsigned i = 0; i < 16 && !err; i++)
		err = run(&rig, IO_WRITE, 0, i * 65536ull, 65536);
	lane_close(rig.lane);
	pool_free(rig.pool);
	return err;
}

Test(ram, is_one_disk_for_all_threads)
{
	struct rig rig;
	struct workers *workers;

	rig_init(&rig, "ram:1M");
	cr_assert_eq(workers_start(&workers, 2, loop_options(rig.loop), NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(
			loop_call(rig.loop, workers_loop(workers, i), write_everywhere, rig.bdev),
			0);
	cr_assert_eq(run(&rig, IO_READ, 0, 0, SIZE), 0);
	for (unsigned i = 0; i < SIZE; i++)
		cr_assert_eq(rig.buf.p[i], 3);
	workers_stop(workers);
	rig_fini(&rig);
}
