/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A request longer than what the disk takes: which runs reach the disk, when it stops, what its
 * end says. The disk notes each request it gets. */
/* Link: leap malloc calloc */
#include "split.h"
#include "../../fake/disk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define MSEC  1000000ull
#define BLOCK 512u
#define SIZE  (1u << 20)
#define SEEN  64

struct seen {
	uint8_t kind, flags;
	uint64_t off;
	uint32_t len;
};

struct rig {
	struct loop *loop;
	struct fake_disk *disk;
	struct lane *lane;
	struct lane_ops ops, theirs;
	struct pool *pool;
	struct split split;
	struct bdev_orphan orphan;
	uint64_t lower[8];
	struct seen seen[SEEN];
	unsigned count, over;
	unsigned stop_at; /* stops the split when so many requests have reached the disk; 0 = never
			   */
	bool inside;      /* split_start() has not returned */
};
static struct rig *rig_now; /* of this test: Criterion gives each a process */

static void submit(struct lane *lane, struct io *io)
{
	struct rig *rig = rig_now;

	cr_assert_lt(rig->count, SEEN);
	rig->seen[rig->count++] = (struct seen){ io->kind, io->flags, io->off, io->len };
	rig->theirs.submit(lane, io);
	if (rig->count == rig->stop_at)
		split_stop(&rig->split);
}

static void setup(struct rig *rig, uint32_t most)
{
	const struct loop_options opt = { .name = "test" };

	*rig = (struct rig){ 0 };
	rig_now = rig;
	cr_assert_eq(loop_new(&rig->loop, &opt, NULL), 0);
	rig->disk = fake_disk_new(rig->loop, SIZE, BLOCK);
	for (unsigned kind = 0; kind < IO_KINDS; kind++)
		rig->disk->bdev.lim.max[kind] = kind == IO_FLUSH ? 1 : most;
	cr_assert_eq(lane_open(&rig->lane, &rig->disk->bdev, rig->loop, NULL), 0);
	rig->theirs = rig->ops = *rig->lane->ops;
	rig->ops.submit = submit;
	rig->lane->ops = &rig->ops;
	cr_assert_eq(pool_new(&rig->pool, 65536, 1, NULL), 0);
	for (unsigned i = 0; i < 65536; i++)
		pool_buf(rig->pool, 0).p[i] = (uint8_t)(i * 7 + i / 256);
	rig->split.io.lower = rig->lower;
	rig->split.io.own = &rig->orphan;
}

static void teardown(struct rig *rig)
{
	lane_close(rig->lane);
	pool_free(rig->pool);
	fake_disk_free(rig->disk);
	loop_free(rig->loop);
}

static void done(struct split *split)
{
	struct rig *rig = container_of(split, struct rig, split);

	cr_assert(!rig->inside);
	rig->over++;
}

static void start(struct rig *rig, enum io_kind kind, uint8_t flags, uint64_t off, uint64_t len)
{
	struct split *split = &rig->split;

	rig->count = rig->over = 0;
	split->lane = rig->lane;
	split->kind = (uint8_t)kind;
	split->flags = flags;
	split->off = off;
	split->len = len;
	split->buf = pool_buf(rig->pool, 0);
	split->done = done;
	rig->inside = true;
	split_start(split);
	rig->inside = false;
}

static int end(struct rig *rig)
{
	for (unsigned i = 0; i < 1000 && !rig->over; i++)
		loop_wait(rig->loop, &(volatile int){ 0 }, loop_clock() + MSEC / 10);
	loop_wait(rig->loop, &(volatile int){ 0 }, loop_clock() + MSEC);
	cr_assert_eq(rig->over, 1, "done %u times", rig->over);
	return rig->split.io.status;
}

static int result(struct rig *rig, enum io_kind kind, uint8_t flags, uint64_t off, uint64_t len)
{
	start(rig, kind, flags, off, len);
	return end(rig);
}

static void expect(const struct rig *rig, unsigned i, enum io_kind kind, uint8_t flags,
	uint64_t off, uint32_t len)
{
	const struct seen *seen = &rig->seen[i];

	cr_assert_lt(i, rig->count);
	cr_assert_eq(seen->kind, kind, "%u: kind %u", i, seen->kind);
	cr_assert_eq(seen->flags, flags, "%u: flags %u", i, seen->flags);
	cr_assert_eq(seen->off, off, "%u: offset %llu", i, (unsigned long long)seen->off);
	cr_assert_eq(seen->len, len, "%u: length %u", i, seen->len);
}

Test(split, what_the_disk_takes_is_one_run)
{
	static const enum io_kind kind[] = { IO_READ, IO_WRITE, IO_TRIM, IO_ZERO, IO_MAP };
	struct rig rig;

	setup(&rig, 16384);
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		cr_assert_eq(result(&rig, kind[i], 0, 4096, 16384), 0);
		cr_assert_eq(rig.count, 1);
		expect(&rig, 0, kind[i], 0, 4096, 16384);
		cr_assert_eq(rig.split.at, 16384);
	}
	cr_assert_eq(result(&rig, IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(rig.count, 1);
	expect(&rig, 0, IO_FLUSH, 0, 0, 0);
	teardown(&rig);
}

Test(split, data_of_all_runs_is_where_it_belongs)
{
	struct rig rig;
	uint8_t *p;

	setup(&rig, 4096);
	p = pool_buf(rig.pool, 0).p;
	cr_assert_eq(result(&rig, IO_WRITE, 0, 8192, 3 * 4096 + BLOCK), 0);
	cr_assert_eq(rig.count, 4);
	for (unsigned i = 0; i < 3; i++)
		expect(&rig, i, IO_WRITE, 0, 8192 + i * 4096, 4096);
	expect(&rig, 3, IO_WRITE, 0, 8192 + 3 * 4096, BLOCK);
	cr_assert_eq(memcmp(rig.disk->bytes + 8192, p, 3 * 4096 + BLOCK), 0);
	cr_assert_eq(rig.disk->bytes[8192 + 3 * 4096 + BLOCK], 0);

	memset(p, 0, 65536);
	cr_assert_eq(result(&rig, IO_READ, 0, 8192, 3 * 4096 + BLOCK), 0);
	cr_assert_eq(rig.count, 4);
	cr_assert_eq(memcmp(rig.disk->bytes + 8192, p, 3 * 4096 + BLOCK), 0);
	cr_assert_eq(p[3 * 4096 + BLOCK], 0);

	cr_assert_eq(result(&rig, IO_ZERO, IO_KEEP, 8192, 2 * 4096), 0);
	cr_assert_eq(rig.count, 2);
	expect(&rig, 1, IO_ZERO, IO_KEEP, 8192 + 4096, 4096);
	cr_assert_eq(rig.disk->bytes[8192 + 2 * 4096 - 1], 0);
	cr_assert_neq(memcmp(rig.disk->bytes + 8192 + 2 * 4096, rig.disk->bytes, 4096), 0);
	teardown(&rig);
}

Test(split, runs_are_whole_blocks)
{
	struct rig rig;

	setup(&rig, 3 * BLOCK + 100);
	cr_assert_eq(result(&rig, IO_READ, 0, BLOCK, 7 * BLOCK), 0);
	cr_assert_eq(rig.count, 3);
	expect(&rig, 0, IO_READ, 0, BLOCK, 3 * BLOCK);
	expect(&rig, 1, IO_READ, 0, 4 * BLOCK, 3 * BLOCK);
	expect(&rig, 2, IO_READ, 0, 7 * BLOCK, BLOCK);
	teardown(&rig);
}

/* As NVMe's Write Zeroes and NBD's trims may be: longer than one io can say. */
Test(split, more_than_32_bits)
{
	struct rig rig;

	setup(&rig, 1u << 31);
	rig.disk->bdev.lim.size = 1ull << 36;
	rig.disk->fail_write = 3ull << 31; /* the disk has no such memory: the last run fails */
	rig.disk->hold = true;
	start(&rig, IO_TRIM, 0, 3ull << 31, (1ull << 32) + BLOCK);
	expect(&rig, 0, IO_TRIM, 0, 3ull << 31, 1u << 31);
	rig.disk->hold = false;
	cr_assert_eq(end(&rig), -EIO);
	teardown(&rig);
}

Test(split, map_is_one_run)
{
	struct rig rig;
	const struct map_run *run;

	setup(&rig, 4096);
	memset(rig.disk->hole, 1, 4);
	cr_assert_eq(result(&rig, IO_MAP, 0, 0, 16384), 0);
	cr_assert_eq(rig.count, 1);
	expect(&rig, 0, IO_MAP, 0, 0, 4096);
	cr_assert_eq(rig.split.io.detail, 2);
	run = (const struct map_run *)(const void *)pool_buf(rig.pool, 0).p;
	cr_assert_eq(run[0].len, 4 * BLOCK);
	cr_assert_eq(run[0].flags, MAP_HOLE | MAP_ZERO);
	teardown(&rig);
}

Test(split, the_first_error_ends_it)
{
	struct rig rig;

	setup(&rig, 4096);
	rig.disk->bad_off = 2 * 4096;
	rig.disk->bad_len = BLOCK;
	rig.disk->bad_status = -EREMOTEIO;
	rig.disk->bad_detail = 77;
	cr_assert_eq(result(&rig, IO_READ, 0, 0, 16384), -EREMOTEIO);
	cr_assert_eq(rig.count, 3);
	cr_assert_eq(rig.split.io.detail, 77);
	cr_assert_eq(rig.split.at, 2 * 4096, "only what was done counts");

	rig.disk->fail_write = 4096;
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, 16384), -EIO);
	cr_assert_eq(rig.count, 2);
	cr_assert_eq(rig.disk->flushes, 0, "a failed request needs no flush");
	teardown(&rig);
}

Test(split, fua_of_the_disk_goes_with_each_run)
{
	struct rig rig;

	setup(&rig, 4096);
	rig.disk->bdev.lim.fua = true;
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, 8192), 0);
	cr_assert_eq(rig.count, 2);
	expect(&rig, 0, IO_WRITE, IO_FUA, 0, 4096);
	expect(&rig, 1, IO_WRITE, IO_FUA, 4096, 4096);
	teardown(&rig);
}

Test(split, fua_is_a_flush_where_the_disk_has_none)
{
	static const enum io_kind kind[] = { IO_WRITE, IO_TRIM, IO_ZERO };
	struct rig rig;

	setup(&rig, 4096);
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		rig.disk->flushes = 0;
		cr_assert_eq(
			result(&rig, kind[i], IO_FUA | (kind[i] == IO_ZERO ? IO_KEEP : 0), 0, 8192),
			0);
		cr_assert_eq(rig.count, 3);
		expect(&rig, 1, kind[i], kind[i] == IO_ZERO ? IO_KEEP : 0, 4096, 4096);
		expect(&rig, 2, IO_FLUSH, 0, 0, 0);
		cr_assert_eq(rig.disk->flushes, 1);
		cr_assert_eq(memcmp(rig.disk->safe, rig.disk->bytes, 8192), 0);
		cr_assert_eq(rig.split.at, 8192);
	}
	rig.disk->flush_status = -EIO;
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, BLOCK), -EIO, "the flush's error is its");
	cr_assert_eq(rig.count, 2);
	rig.disk->flush_status = 0;

	cr_assert_eq(result(&rig, IO_READ, IO_FUA, 0, BLOCK), 0);
	cr_assert_eq(rig.count, 1, "a read needs no flush");

	rig.disk->bdev.lim.max[IO_FLUSH] = 0;
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, BLOCK), 0);
	cr_assert_eq(rig.count, 1, "a disk without a write cache");
	expect(&rig, 0, IO_WRITE, 0, 0, BLOCK);
	teardown(&rig);
}

Test(split, nothing_is_submitted_for_one_who_left)
{
	struct rig rig;

	setup(&rig, 4096);
	rig.stop_at = 2;
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, 16384), -ECANCELED);
	cr_assert_eq(rig.count, 2);
	cr_assert_eq(rig.split.at, 8192);
	cr_assert_eq(rig.disk->written, 8192);

	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, 8192), -ECANCELED);
	cr_assert_eq(rig.count, 2, "the flush is left out");

	cr_assert_eq(result(&rig, IO_WRITE, 0, 0, 8192), 0, "its last run was in work already");
	cr_assert_eq(rig.count, 2);

	rig.stop_at = 0;
	cr_assert_eq(result(&rig, IO_WRITE, 0, 0, 16384), 0, "a new request starts afresh");
	cr_assert_eq(rig.count, 4);
	teardown(&rig);
}

Test(split, a_run_that_is_held_can_be_cancelled)
{
	struct rig rig;

	setup(&rig, 4096);
	rig.disk->hold = true;
	start(&rig, IO_READ, 0, 0, 16384);
	cr_assert(bdev_cancel(rig.lane, &rig.split.io));
	cr_assert_eq(end(&rig), -ECANCELED);
	cr_assert_eq(rig.count, 1);
	teardown(&rig);
}

/* All runs of a command pass its own orphan, and none takes it away: that is the owner's. */
Test(split, orphans_are_the_owners)
{
	struct rig rig;

	setup(&rig, 4096);
	start(&rig, IO_WRITE, IO_FUA, 0, 16384);
	bdev_orphan(&rig.disk->bdev, &rig.orphan, BDEV_CLIENT, NULL, 0, 16384);
	cr_assert_eq(end(&rig), 0);
	cr_assert_eq(rig.count, 5);
	cr_assert_eq(rig.disk->bdev.orphans, 1);
	cr_assert_eq(rig.orphan.bdev, &rig.disk->bdev);
	cr_assert_eq(rig.split.io.own, &rig.orphan);
	bdev_orphan_end(&rig.orphan);
	teardown(&rig);
}

static unsigned allocations;

void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__wrap_malloc(size_t len)
{
	allocations++;
	return __real_malloc(len);
}

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_calloc(size_t count, size_t len)
{
	allocations++;
	return __real_calloc(count, len);
}

Test(split, nothing_is_allocated)
{
	struct rig rig;
	unsigned before;

	setup(&rig, BLOCK);
	cr_assert_gt(allocations, 0);
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, 8 * BLOCK), 0);
	before = allocations;
	cr_assert_eq(result(&rig, IO_WRITE, IO_FUA, 0, 32 * BLOCK), 0);
	cr_assert_eq(rig.count, 33);
	cr_assert_eq(allocations, before);
	teardown(&rig);
}
