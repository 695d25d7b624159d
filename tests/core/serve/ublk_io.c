/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests from descriptor to result, with the kernel's side of the ring played by the test. */
/* Link: leap */
#include "disk.h"
#include "ublk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 4
#define CAP   65536
#define DISK  (1u << 20)
#define NONE  INT32_MIN

struct rig {
	struct loop *loop;
	struct fake_disk *disk;
	struct ublk_queue q;
	struct ublk_desc desc[DEPTH];
	struct ublk_tag tag[DEPTH];
	struct pool *pool;
	int result[DEPTH];
	unsigned commits;
};

/* Stands for ublk_queue.c's, which tells the kernel. */
void ublk_queue_commit(struct ublk_queue *q, unsigned tag, int result)
{
	struct rig *rig = container_of(q, struct rig, q);

	cr_assert(tag < DEPTH);
	cr_assert_eq(rig->result[tag], NONE, "answered twice");
	rig->result[tag] = result;
	rig->commits++;
}

static void setup(struct rig *rig, uint32_t block)
{
	struct ublk_queue *q = &rig->q;
	struct diag diag = { 0 };

	memset(rig, 0, sizeof(*rig));
	cr_assert_eq(loop_new(&rig->loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	rig->disk = fake_disk_new(rig->loop, DISK, block);
	rig->disk->bdev.lim.fua = true;
	cr_assert_eq(pool_new(&rig->pool, CAP, DEPTH, &diag), 0);
	*q = (struct ublk_queue){ .loop = rig->loop,
		.home = rig->loop,
		.depth = DEPTH,
		.cap = CAP,
		.lim = &rig->disk->bdev.lim };
	q->tag = rig->tag;
	q->desc = rig->desc;
	cr_assert_eq(lane_open(&q->lane, &rig->disk->bdev, rig->loop, &diag), 0);
	for (unsigned i = 0; i < DEPTH; i++) {
		rig->tag[i].queue = q;
		rig->tag[i].base = pool_buf(rig->pool, i).p;
		rig->tag[i].split.lane = q->lane;
		rig->tag[i].split.io.lower = calloc(1, rig->disk->bdev.lim.io_size + 8);
		rig->result[i] = NONE;
	}
	ublk_io_init(q);
}

static void teardown(struct rig *rig)
{
	loop_timer_del(rig->loop, &rig->q.quiet);
	lane_close(rig->q.lane);
	for (unsigned i = 0; i < DEPTH; i++)
		free(rig->tag[i].split.io.lower);
	pool_free(rig->pool);
	fake_disk_free(rig->disk);
	loop_free(rig->loop);
}

static void ask(struct rig *rig, unsigned tag, uint32_t op, uint64_t start, uint32_t sectors)
{
	rig->desc[tag] = (struct ublk_desc){ .op_flags = op, .start = start, .sectors = sectors };
	rig->result[tag] = NONE;
	ublk_io_result(&rig->q, tag, 0);
}

static void wait_all(struct rig *rig)
{
	static const volatile int never;

	for (int i = 0; i < 100 && rig->q.ours; i++)
		loop_wait(rig->loop, &never, loop_clock() + 1000000);
}

static int result_of(struct rig *rig, uint32_t op, uint64_t start, uint32_t sectors)
{
	ask(rig, 0, op, start, sectors);
	wait_all(rig);
	return rig->result[0];
}

Test(ublk_io, data_arrives)
{
	struct rig rig;

	setup(&rig, 512);
	for (unsigned i = 0; i < CAP; i++)
		rig.tag[0].base[i] = (uint8_t)(i * 7 + i / 256);
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE | UBLK_OP_FUA, 8, CAP / 512), CAP);
	cr_assert_eq(memcmp(rig.disk->bytes + 4096, rig.tag[0].base, CAP), 0);
	memset(rig.tag[0].base, 0, CAP);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, 8, CAP / 512), CAP);
	cr_assert_eq(memcmp(rig.disk->bytes + 4096, rig.tag[0].base, CAP), 0);
	cr_assert_eq(result_of(&rig, UBLK_OP_FLUSH, 0, 0), 0);
	cr_assert_eq(rig.disk->flushes, 1);
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE_ZEROES | UBLK_OP_NOUNMAP, 8, 8), 0);
	cr_assert_eq(rig.disk->bytes[4096], 0);
	cr_assert_eq(rig.q.requests, 4);
	cr_assert_eq(rig.q.count.reads, 1);
	cr_assert_eq(rig.q.count.writes, 1);
	cr_assert_eq(rig.q.count.read_bytes, CAP);
	cr_assert_eq(rig.q.count.written_bytes, CAP);
	cr_assert_eq(rig.q.count.errors, 0);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, UINT64_MAX / 1024, 8), -EIO);
	cr_assert_eq(rig.q.count.errors, 1);
	teardown(&rig);
}

Test(ublk_io, longer_than_the_disk_takes_goes_in_pieces)
{
	struct rig rig;

	setup(&rig, 512);
	rig.disk->bdev.lim.max[IO_WRITE] = 5000; /* not whole blocks */
	rig.disk->bdev.lim.max[IO_READ] = 4096;
	rig.disk->bdev.lim.max[IO_ZERO] = 1024;
	ublk_io_init(&rig.q);
	memset(rig.tag[0].base, 0xa5, CAP);
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE, 0, 100), 51200);
	cr_assert_eq(rig.disk->written, 51200);
	cr_assert_eq(rig.disk->bytes[51199], 0xa5);
	memset(rig.tag[0].base, 0, CAP);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, 0, 100), 51200);
	cr_assert_eq(rig.tag[0].base[51199], 0xa5);
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE_ZEROES, 0, 2048), 0);
	cr_assert_eq(rig.disk->zeroed, DISK);
	rig.disk->fail_write = 20000;
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE, 0, 100), -EIO);
	teardown(&rig);
}

Test(ublk_io, what_cannot_be_is_refused)
{
	struct rig rig;

	setup(&rig, 4096);
	cr_assert_eq(result_of(&rig, 77, 0, 8), -EOPNOTSUPP);
	cr_assert_eq(result_of(&rig, 4 /* WRITE SAME */, 0, 8), -EOPNOTSUPP);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, 0, 0), -EINVAL);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, 1, 8), -EINVAL, "between blocks");
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, 0, 7), -EINVAL, "part of a block");
	cr_assert_eq(
		result_of(&rig, UBLK_OP_READ, 0, CAP / 512 + 8), -EINVAL, "more than the buffer");
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, DISK / 512, 8), -EIO);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, UINT64_MAX / 512 + 9, 8), -EINVAL, "wraps");
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE_ZEROES, 0, UINT32_MAX & ~7u), -EINVAL);
	rig.disk->bdev.lim.size = DISK / 2; /* shrinks */
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, DISK / 1024, 8), -EIO);
	rig.disk->bdev.lim.max[IO_TRIM] = 0;
	ublk_io_init(&rig.q);
	cr_assert_eq(result_of(&rig, UBLK_OP_DISCARD, 0, 8), -EOPNOTSUPP);
	rig.q.ro = true;
	cr_assert_eq(result_of(&rig, UBLK_OP_WRITE, 0, 8), -EROFS);
	cr_assert_eq(result_of(&rig, UBLK_OP_READ, 0, 8), 4096);
	teardown(&rig);
}

Test(ublk_io, a_disk_without_cache_needs_no_flush)
{
	struct rig rig;

	setup(&rig, 512);
	rig.disk->bdev.lim.max[IO_FLUSH] = 0;
	ublk_io_init(&rig.q);
	cr_assert_eq(result_of(&rig, UBLK_OP_FLUSH, 0, 0), 0);
	cr_assert_eq(rig.disk->flushes, 0);
	teardown(&rig);
}

Test(ublk_io, many_at_once_out_of_order)
{
	struct rig rig;

	setup(&rig, 512);
	rig.disk->seed = 5;
	for (unsigned i = 0; i < DEPTH; i++)
		ask(&rig, i, UBLK_OP_READ, i * 8, 8);
	cr_assert_eq(rig.q.ours, DEPTH);
	wait_all(&rig);
	cr_assert_eq(rig.commits, DEPTH);
	for (unsigned i = 0; i < DEPTH; i++)
		cr_assert_eq(rig.result[i], 4096);
	teardown(&rig);
}

Test(ublk_io, the_end_of_a_device_is_no_failure)
{
	struct rig rig;

	setup(&rig, 512);
	for (unsigned i = 0; i < DEPTH; i++)
		ublk_io_result(&rig.q, i, -ENODEV);
	cr_assert_eq(rig.q.lost, DEPTH);
	cr_assert_eq(rig.q.refused, 0);
	teardown(&rig);
}

Test(ublk_io, odd_answers_of_the_kernel_are_kept_apart)
{
	struct rig rig;

	setup(&rig, 512);
	ublk_io_result(&rig.q, DEPTH, 0); /* no such tag */
	cr_assert_eq(rig.q.refused, -EPROTO);
	ublk_io_result(&rig.q, UINT64_MAX, -ENODEV);
	cr_assert_eq(rig.q.lost, 0);
	rig.q.refused = 0;
	ask(&rig, 0, UBLK_OP_READ, 0, 8);
	ublk_io_result(&rig.q, 0, 0); /* it is here already */
	cr_assert_eq(rig.q.refused, -EPROTO);
	cr_assert_eq(rig.q.ours, 1);
	wait_all(&rig);
	cr_assert_eq(rig.commits, 1);
	rig.q.refused = 0;
	ublk_io_result(&rig.q, 1, -EBUSY);
	cr_assert_eq(rig.q.refused, -EBUSY);
	ublk_io_result(&rig.q, 2, 1); /* unexpected NEED_GET_DATA */
	cr_assert_eq(rig.q.refused, -EBUSY, "the first counts");
	cr_assert_eq(rig.q.lost, 2);
	ublk_io_result(&rig.q, 1, 0); /* lost: it fetched nothing */
	cr_assert_eq(rig.q.ours, 0);
	teardown(&rig);
}

Test(ublk_io, after_a_former_run_writes_are_delayed_and_reads_are_not)
{
	struct rig rig;

	setup(&rig, 512);
	rig.q.quiet_ns = loop_clock() + 150000000;
	ask(&rig, 0, UBLK_OP_WRITE, 0, 8);
	ask(&rig, 1, UBLK_OP_READ, 8, 8);
	ask(&rig, 2, UBLK_OP_WRITE_ZEROES, 16, 8);
	while (rig.result[1] == NONE)
		wait_all(&rig);
	cr_assert(loop_clock() < rig.q.quiet_ns || rig.result[0] != NONE);
	while (rig.q.ours)
		wait_all(&rig);
	cr_assert(loop_clock() >= rig.q.quiet_ns);
	cr_assert_eq(rig.result[0], 4096);
	cr_assert_eq(rig.result[2], 0);
	cr_assert_eq(rig.disk->written, 4096);
	teardown(&rig);
}
