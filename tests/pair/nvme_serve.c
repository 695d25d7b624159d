/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our initiator against our target in one process, over TCP and over software iWARP on 127.0.0.1.
 */
/* Link: leap */
#include "../fake/discover.h"
#include "leap.h"
#include "says.h"
#include "serving.h"
#include "wait.h"
#include "wire/nvmf.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#define SEC  1000000000ull
#define SIZE (16u << 20)
#define NQN  SERVING_NQN
#define HOST "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2"
#define MANY 48

enum serve_way { TCP, IWARP };

static void begin(void)
{
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
}

static int attach_as(enum serve_way way, const char *keys, const char *hostnqn)
{
	struct bdev_env env = { .hostid = { 9 }, .write = true, .timeout_ms = leap_limit_ms(5000) };
	char text[300];

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", hostnqn);
	snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" NQN "/1%s%s%s",
		way == TCP ? "tcp" : "rdma", serving_port(), way == TCP ? "" : "?rdma=iwarp",
		!keys[0]     ? ""
		: way == TCP ? "?"
			     : "&",
		keys);
	return host_attach(text, &env);
}

static void attach(enum serve_way way, const char *keys)
{
	cr_assert_eq(attach_as(way, keys, HOST), 0, "%s", why.text);
	host_open_lane();
}

/* Lengths around every limit: a block, the capsule, a buffer, several, all that one command takes.
 */
static void moves_data(void)
{
	static const uint32_t lengths[] = { 512, 4096, 4608, 8192, 8704, 131072, 131584, 300 << 10,
		1 << 20 };
	struct pool *pool;
	struct buf buf;

	cr_assert_eq(pool_new(&pool, 1 << 20, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (uint32_t k = 0; k < lengths[i]; k++)
			buf.p[k] = (uint8_t)(k * 31 + i + k / 509);
		cr_assert_eq(host_io(IO_WRITE, i & 1 ? IO_FUA : 0, 1024 * i, lengths[i], &buf), 0);
		cr_assert_arr_eq(backing->bytes + 1024 * i, buf.p, lengths[i]);
		memset(buf.p, 0xee, lengths[i]);
		cr_assert_eq(host_io(IO_READ, 0, 1024 * i, lengths[i], &buf), 0);
		cr_assert_arr_eq(
			backing->bytes + 1024 * i, buf.p, lengths[i], "read of %u", lengths[i]);
	}
	cr_assert_eq(host_io(IO_ZERO, 0, 4096, 65536, NULL), 0);
	for (unsigned i = 0; i < 65536; i++)
		cr_assert_eq(backing->bytes[4096 + i], 0);
	cr_assert_eq(host_io(IO_FLUSH, 0, 0, 0, NULL), 0);
	cr_assert_gt(backing->flushes, 0);
	lane_unmap(lane, pool);
	pool_free(pool);
}

static void works(enum serve_way way, const char *keys)
{
	begin();
	serving_start();
	attach(way, keys);
	moves_data();
	serving_end();
}

Test(nvme_serve, tcp)
{
	works(TCP, "");
}
Test(nvme_serve, tcp_digests)
{
	works(TCP, "hdr_digest=1&data_digest=1");
}
Test(nvme_serve, tcp_data_digest)
{
	works(TCP, "data_digest=1");
}
Test(nvme_serve, iwarp)
{
	works(IWARP, "");
}

struct batch {
	struct io io[MANY];
	struct buf buf[MANY];
	unsigned done[MANY], count;
	volatile int over;
};
static struct batch batch;

static void batch_done(struct io *io)
{
	batch.done[io - batch.io]++;
	batch.over = ++batch.count == MANY;
}

/* More requests than there are buffers, each longer than one: they wait in line, each is done once.
 */
static void waits_in_line(enum serve_way way)
{
	uint8_t *lower;
	struct pool *pool;

	begin();
	opt.buffers = 2;
	serving_start();
	attach(way, "");
	lower = calloc(MANY, disk->lim.io_size);
	cr_assert_eq(pool_new(&pool, 256 << 10, MANY, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	for (unsigned round = 0; round < 2; round++) {
		batch = (struct batch){ 0 };
		for (unsigned i = 0; i < MANY; i++) {
			batch.buf[i] = pool_buf(pool, i);
			if (!round)
				memset(batch.buf[i].p, (int)i + 1, 256 << 10);
			batch.io[i] = (struct io){ .kind = round ? IO_READ : IO_WRITE,
				.off = (uint64_t)i << 18,
				.len = 256 << 10,
				.buf = &batch.buf[i],
				.done = batch_done,
				.lower = lower + i * disk->lim.io_size };
			bdev_submit(lane, &batch.io[i]);
		}
		cr_assert(loop_wait(loop, &batch.over, loop_clock() + 30 * SEC));
		for (unsigned i = 0; i < MANY; i++) {
			cr_assert_eq(batch.done[i], 1);
			cr_assert_eq(batch.io[i].status, 0);
			for (unsigned k = 0; k < 256 << 10; k += 4093)
				cr_assert_eq(round ? batch.buf[i].p[k]
						   : backing->bytes[((uint64_t)i << 18) + k],
					i + 1);
		}
		if (!round)
			memset(pool->base, 0, pool->len);
	}
	lane_unmap(lane, pool);
	pool_free(pool);
	free(lower);
	serving_end();
}

Test(nvme_serve, tcp_waits_in_line)
{
	waits_in_line(TCP);
}
Test(nvme_serve, iwarp_waits_in_line)
{
	waits_in_line(IWARP);
}

/* The disk's failures come through as what they are, and the next request works. */
Test(nvme_serve, errors_of_the_disk)
{
	struct pool *pool;
	struct buf buf;

	begin();
	serving_start();
	attach(TCP, "");
	cr_assert_eq(pool_new(&pool, 65536, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	backing->bad_off = 4096;
	backing->bad_len = 512;
	backing->bad_status = -EIO;
	cr_assert_eq(host_io(IO_READ, 0, 0, 65536, &buf), -EIO);
	cr_assert_eq(host_io(IO_READ, 0, 0, 4096, &buf), 0);
	backing->fail_write = 70000;
	cr_assert_eq(host_io(IO_WRITE, 0, 65536, 65536, &buf), -EIO);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 65536, &buf), 0);
	lane_unmap(lane, pool);
	pool_free(pool);
	serving_end();
}

Test(nvme_serve, a_disk_without_fua_is_flushed)
{
	struct pool *pool;
	struct buf buf;

	begin();
	backing->bdev.lim.fua = false;
	serving_start();
	attach(TCP, "");
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 4096, &buf), 0);
	cr_assert_eq(backing->flushes, 0);
	cr_assert_eq(host_io(IO_WRITE, IO_FUA, 0, 4096, &buf), 0);
	cr_assert_eq(backing->flushes, 1);
	lane_unmap(lane, pool);
	pool_free(pool);
	serving_end();
}

Test(nvme_serve, identity_and_limits)
{
	begin();
	serving_start();
	attach(TCP, "");
	cr_assert_eq(disk->lim.size, SIZE);
	cr_assert_eq(disk->lim.max[IO_READ], 1 << 20);
	cr_assert_str_eq(disk->id.serial, "S1");
	cr_assert_eq(disk->id.uuid[2], 3);
	cr_assert_eq(disk->id.nguid[2], 6);
	serving_end();
}

Test(nvme_serve, read_only)
{
	begin();
	opt.disk[0].ro = true;
	serving_start();
	attach_as(TCP, "", HOST);
	cr_assert(disk->state == BDEV_DOWN || disk->lim.ro);
	serving_end();
}

Test(nvme_serve, hosts_not_allowed)
{
	begin();
	opt.host[opt.hosts++] = "nqn.other";
	serving_start();
	cr_assert_eq(attach_as(IWARP, "", HOST), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, NQN " " HOST);
	host_hang_up();
	cr_assert_eq(attach_as(TCP, "", "nqn.other"), 0);
	serving_end();
}

Test(nvme_serve, a_subsystem_that_is_not)
{
	begin();
	serving_start();
	opt.disk[0].name = "nqn.other";
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	serving_start();
	cr_assert_eq(attach_as(TCP, "", HOST), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "subsystem " NQN);
	serving_end();
}

static void grown(struct bdev *bdev)
{
	settled = bdev->lim.size == SIZE;
}

Test(nvme_serve, hosts_hear_of_a_resize)
{
	begin();
	backing->bdev.lim.size = SIZE / 2;
	serving_start();
	attach(TCP, "");
	cr_assert_eq(disk->lim.size, SIZE / 2);
	disk->changed = grown;
	settled = 0;
	backing->bdev.lim.size = SIZE;
	target_resized(target, &backing->bdev);
	cr_assert(loop_wait(loop, &settled, loop_clock() + 5 * SEC));
	serving_end();
}

Test(nvme_serve, discovery)
{
	struct bdev_env env = { .hostnqn = HOST, .timeout_ms = 5000 };
	struct nvmf_log log;
	char text[100], expect[10];
	struct uri uri;

	begin();
	opt.disks = 3; /* two subsystems, one of them with two namespaces */
	opt.disk[1] = opt.disk[2] = opt.disk[0];
	opt.disk[1].name = "nqn.second";
	serving_start();
	for (int rdma = 0; rdma < 2; rdma++) {
		snprintf(text, sizeof(text),
			rdma ? "nvme+rdma://127.0.0.1:%u?rdma=iwarp" : "nvme+tcp://127.0.0.1:%u",
			serving_port());
		cr_assert_eq(uri_parse(&uri, text, NULL), 0);
		cr_assert_eq(discover(loop, &uri, &env, 0, &log, &why), 0, "%s", why.text);
		snprintf(expect, sizeof(expect), "%u", serving_port());
		cr_assert_eq(log.count, 4);
		for (unsigned i = 0; i < 4; i++) {
			cr_assert_eq(
				log.record[i].trtype, i % 2 ? NVMF_TRTYPE_TCP : NVMF_TRTYPE_RDMA);
			cr_assert_str_eq(log.record[i].subnqn, i < 2 ? NQN : "nqn.second");
			cr_assert_str_eq(log.record[i].traddr, "127.0.0.1");
			cr_assert_str_eq(log.record[i].trsvcid, expect);
		}
		nvmf_log_free(&log);
	}
	serving_end();
}

/* The host goes in the middle of everything: the target gives it all back. */
static void host_vanishes(enum serve_way way)
{
	uint8_t *lower;
	struct pool *pool;

	begin();
	serving_start();
	for (unsigned round = 0; round < 6; round++) {
		attach(way, "");
		lower = calloc(MANY, disk->lim.io_size);
		cr_assert_eq(pool_new(&pool, 256 << 10, MANY, NULL), 0);
		cr_assert_eq(lane_map(lane, pool, NULL), 0);
		batch = (struct batch){ 0 };
		for (unsigned i = 0; i < MANY; i++) {
			batch.buf[i] = pool_buf(pool, i);
			batch.io[i] = (struct io){ .kind = i % 2 ? IO_READ : IO_WRITE,
				.off = (uint64_t)i << 18,
				.len = 256 << 10,
				.buf = &batch.buf[i],
				.done = batch_done,
				.lower = lower + i * disk->lim.io_size };
			bdev_submit(lane, &batch.io[i]);
		}
		batch.over = 0;
		loop_wait(loop, &batch.over, loop_clock() + round * 2000000ull);
		if (!batch.over) {
			diag_set(&why, DIAG_CLOSED, ECONNRESET, "test");
			lane->ops->abort(lane, &why);
			cr_assert(loop_wait(loop, &batch.over, loop_clock() + 5 * SEC));
		}
		lane_unmap(lane, pool);
		host_hang_up();
		pool_free(pool);
		free(lower);
	}
	serving_end();
}

Test(nvme_serve, tcp_host_vanishes)
{
	host_vanishes(TCP);
}
Test(nvme_serve, iwarp_host_vanishes)
{
	host_vanishes(IWARP);
}

/* A disk that answers nothing: the stop is bounded and says so; requests it lets go of are given
 * up. */
Test(nvme_serve, stop_with_a_disk_that_is_stuck)
{
	struct pool *pool;
	uint8_t *lower;

	begin();
	serving_start();
	attach(TCP, "");
	lower = calloc(1, disk->lim.io_size);
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	backing->hold = true;
	batch.buf[0] = pool_buf(pool, 0);
	batch.io[0] = (struct io){ .kind = IO_READ,
		.len = 4096,
		.buf = &batch.buf[0],
		.done = batch_done,
		.lower = lower };
	bdev_submit(lane, &batch.io[0]);
	batch.over = 0;
	loop_wait(loop, &batch.over, loop_clock() + SEC / 5);
	backing->bdev.lim.max[IO_FLUSH] = 0;
	cr_assert_eq(target_stop(target, 300, &why), -ETIMEDOUT, "%s", why.text);
	diag_says(&why, DIAG_TIMEOUT, NULL, "requests 0.3_s");
	target = NULL;
	cr_assert_eq(backing->cancelled, 1);
	for (unsigned i = 0; i < 100 && !batch.count; i++)
		loop_wait(loop, &batch.over, loop_clock() + SEC / 100);
	cr_assert_eq(batch.count, 1);
	lane_unmap(lane, pool);
	pool_free(pool);
	free(lower);
	serving_end();
}

/* What it does not give back either stays with it: nothing can be freed. */
Test(nvme_serve, stop_with_a_disk_that_keeps_its_requests)
{
	static uint8_t *lower; /* never freed: the disk keeps using it */
	struct pool *pool;

	begin();
	serving_start();
	attach(TCP, "");
	lower = calloc(1, disk->lim.io_size);
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	backing->hold = backing->keep = true;
	batch.buf[0] = pool_buf(pool, 0);
	batch.io[0] = (struct io){ .kind = IO_READ,
		.len = 4096,
		.buf = &batch.buf[0],
		.done = batch_done,
		.lower = lower };
	bdev_submit(lane, &batch.io[0]);
	batch.over = 0;
	loop_wait(loop, &batch.over, loop_clock() + SEC / 5);
	cr_assert_eq(target_stop(target, 300, &why), -EINPROGRESS);
	diag_says(&why, DIAG_TIMEOUT, NULL, "data disk 0.3_s");
}

Test(nvme_serve, stop_that_cannot_flush_fails)
{
	begin();
	serving_start();
	backing->flush_status = -EIO;
	cr_assert_eq(target_stop(target, 1000, &why), -EIO);
	diag_says(&why, DIAG_IO, NULL, "data disk flush");
	target = NULL;
	serving_end();
}

Test(nvme_serve, stop_does_not_wait_for_a_flush_that_is_never_answered)
{
	uint64_t before;

	begin();
	serving_start();
	backing->hold = backing->keep = true;
	before = loop_clock();
	cr_assert_eq(target_stop(target, 50, &why), -EINPROGRESS, "not to be closed");
	cr_assert_lt(loop_clock() - before, 2 * SEC);
	diag_says(&why, DIAG_TIMEOUT, NULL, "data disk flush");
}

/* Several threads: queues spread over them, hosts come and go, all of it ends. Data is checked
 * across queues. */
Test(nvme_serve, threads)
{
	const struct loop_options options = { .name = "workers" };
	const struct bdev_env env = { .write = true };
	struct loop *loops[3];
	struct lane *lanes[5];
	struct pool *pool;
	struct bdev *ram;
	struct workers *workers;
	struct buf buf;

	leap_now = 0;
	begin();
	cr_assert_eq(bdev_open(&ram, loop, "ram:16M", &env, &why), 0);
	cr_assert_eq(workers_start(&workers, 3, &options, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		loops[i] = workers_loop(workers, i);
	opt.loops = loops;
	opt.nloops = 3;
	opt.disk[0].bdev = ram;
	serving_start();
	for (unsigned round = 0; round < 4; round++) {
		attach(round % 2 ? IWARP : TCP, "queues=6");
		cr_assert_eq(pool_new(&pool, 65536, 1, NULL), 0);
		buf = pool_buf(pool, 0);
		for (unsigned i = 0; i < 5; i++) {
			struct lane *first = lane;

			host_open_lane();
			lanes[i] = lane;
			lane = first;
		}
		for (unsigned i = 0; i < 40; i++) {
			struct lane *first = lane;

			lane = lanes[i % 5];
			cr_assert_eq(lane_map(lane, pool, NULL), 0);
			if (i % 2) {
				cr_assert_eq(
					host_io(IO_READ, 0, (uint64_t)(i - 1) << 16, 65536, &buf),
					0);
				cr_assert_eq(buf.p[12345], i - 1 + round);
			} else {
				memset(buf.p, (int)(i + round), 65536);
				cr_assert_eq(
					host_io(IO_WRITE, 0, (uint64_t)i << 16, 65536, &buf), 0);
			}
			lane_unmap(lane, pool);
			lane = first;
		}
		for (unsigned i = 0; i < 5; i++)
			lanes[i]->ops->free(lanes[i]);
		pool_free(pool);
		host_hang_up();
	}
	cr_assert_eq(target_stop(target, NO_LIMIT_MS, &why), 0, "%s", why.text);
	target = NULL;
	workers_stop(workers);
	bdev_close(ram);
	serving_end();
}
