/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/serve core/block */
/* What the ublk driver may say: descriptors and results of fetches, for tags that there are and
 * that there are not, over a disk that answers out of order. Every request is answered exactly
 * once. */
#include "../../core/serve/ublk.h"
#include "disk.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH    4
#define CAP      16384
#define RECORD   16
#define TURN_MAX 200000 /* turns until a request counts as lost */

static struct loop *loop;
static struct fake_disk *disk;
static struct pool *pool;
static struct ublk_desc desc[DEPTH];
static struct ublk_tag tag[DEPTH];
static struct ublk_queue q;
static unsigned asked[DEPTH], answered[DEPTH];
static volatile int turned;

/* Stands for ublk_queue.c's, which tells the kernel. */
void ublk_queue_commit(struct ublk_queue *queue, unsigned at, int result)
{
	if (queue != &q || at >= DEPTH || ++answered[at] > asked[at] || result > CAP)
		abort();
}

static void start(void)
{
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		pool_new(&pool, CAP, DEPTH, NULL))
		abort();
	disk = fake_disk_new(loop, 1 << 20, 512);
	disk->bdev.lim.max[IO_WRITE] = 7000;
	disk->bdev.lim.max[IO_TRIM] = 0;
	disk->bdev.lim.fua = true;
	q = (struct ublk_queue){ .loop = loop,
		.home = loop,
		.depth = DEPTH,
		.cap = CAP,
		.pool = pool,
		.lim = &disk->bdev.lim,
		.tag = tag,
		.desc = desc };
	if (lane_open(&q.lane, &disk->bdev, loop, NULL))
		abort();
}

static void reset(uint8_t how)
{
	q.lost = q.ours = 0;
	q.refused = 0;
	q.ro = how & 1;
	q.quiet_ns = how & 2 ? loop_clock() + 1000000 : 0;
	disk->seed = how >> 2;
	disk->bad_off = 65536;
	disk->bad_len = how & 4 ? 512 : 0;
	disk->bad_status = -5;
	ublk_io_init(&q);
	for (unsigned i = 0; i < DEPTH; i++) {
		void *lower = tag[i].split.io.lower;

		if (!lower)
			lower = calloc(1, disk->bdev.lim.io_size + 8);
		tag[i] = (struct ublk_tag){ .queue = &q,
			.split.lane = q.lane,
			.split.io.lower = lower,
			.base = pool_buf(pool, i).p };
		asked[i] = answered[i] = 0;
	}
}

static void mark(struct loop_work *work)
{
	(void)work;
	turned = 1;
}

static void turn(void)
{
	struct loop_work work = { .run = mark };

	turned = 0;
	loop_work_add(loop, &work);
	loop_wait(loop, &turned, 0);
}

/* Tag, op, flags, result, start, sectors. */
static void record(const uint8_t *p)
{
	uint64_t at = p[0] & 32 ? UINT64_MAX - p[1] : p[0] & 7u, first = 0;
	int result = p[3] & 1 ? 0 : (int8_t)p[3];
	uint32_t sectors;

	memcpy(&sectors, p + 12, 4);
	memcpy(&first, p + 4, p[0] & 8 ? 8 : 2);
	if (!(p[0] & 16))
		sectors &= 63;
	if (at < DEPTH && !tag[at].ours && !tag[at].lost) {
		desc[at] = (struct ublk_desc){ .op_flags = p[1] % 8u | (uint32_t)p[2] << 8,
			.start = first,
			.sectors = sectors };
		asked[at] += !result;
	}
	ublk_io_result(&q, at, result);
	if (p[0] & 64)
		turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!loop)
		start();
	if (!size)
		return 0;
	reset(data[0]);
	for (size_t at = 1; at + RECORD <= size; at += RECORD)
		record(data + at);
	for (int turns_left = TURN_MAX; q.ours; turns_left--) {
		if (!turns_left)
			abort();
		turn();
	}
	for (unsigned i = 0; i < DEPTH; i++)
		if (asked[i] != answered[i])
			abort();
	return 0;
}
