/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator over TCP against the target in tests/fake: what it reads and writes, and what it
 * says when the target breaks a rule. */
/* Link: leap */
#include "../fake/nvme_target.h"
#include "host.h"
#include "protocol.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEC 1000000000ull

static struct tcp_target tt;

static void disk_down(struct bdev *bdev)
{
	settled = bdev->state == BDEV_DOWN;
}

static void begin(void)
{
	host_begin(0);
	target_init(&tt.target);
}

static void end(void)
{
	host_end();
	tcp_target_stop(&tt);
	target_fini(&tt.target);
}

/* Attaches without `paths`; 0 or -errno with `why`. */
static int attach_to(const char *path, bool write)
{
	struct bdev_env env = {
		.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2",
		.hostid = { 9 },
		.write = write,
		.timeout_ms = 2000
	};
	char text[200];

	tcp_target_start(&tt);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/%s", tt.port, path);
	return host_attach(text, &env);
}

/* Writes and reads lengths on both sides of every limit in force; 0 bad bytes. */
static void work(void)
{
	static const uint32_t lengths[] = { 512, 4096, 8192, 8704, 65536, 131072 };
	struct pool *pool;
	struct buf buf;

	cr_assert_eq(pool_new(&pool, 131072, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (uint32_t k = 0; k < lengths[i]; k++)
			buf.p[k] = (uint8_t)(k * 31 + i + k / 509);
		cr_assert_eq(host_io(IO_WRITE, 0, 1024 * i, lengths[i], &buf), 0);
		cr_assert_arr_eq(tt.target.disk + 1024 * i, buf.p, lengths[i]);
		memset(buf.p, 0xee, lengths[i]);
		cr_assert_eq(host_io(IO_READ, 0, 1024 * i, lengths[i], &buf), 0);
		cr_assert_arr_eq(tt.target.disk + 1024 * i, buf.p, lengths[i]);
	}
	lane_unmap(lane, pool);
	pool_free(pool);
}

static void works(const char *path)
{
	begin();
	cr_assert_eq(attach_to(path, true), 0, "%s", why.text);
	host_open_lane();
	work();
	end();
}

static volatile int fence_over;
static int fence_err;

static void fence_done(struct bdev_fence *fence, int err)
{
	(void)fence;
	fence_err = err;
	fence_over = 1;
}

/* What the disk makes of the target's answer to a Cross-Controller Reset. */
static int fence(uint16_t status, uint32_t result)
{
	struct bdev_fence of = { .session = { .id = 1, .instance = 1, .random = 1 },
		.done = fence_done };

	begin();
	tt.target.id.ciu = tt.target.id.ccrl = 1;
	tt.target.id.cirn = 77;
	tt.target.reset_status = status;
	tt.target.reset_result = result;
	cr_assert_eq(attach_to("nqn.2024-01.test:disk/1", true), 0, "%s", why.text);
	cr_assert_eq(disk->session.random, 77);
	cr_assert_neq(disk->ops->fence(disk, &of), 0, "of another target");
	memcpy(of.session.target, disk->session.target, sizeof(of.session.target));
	cr_assert_eq(disk->ops->fence(disk, &of), 0);
	cr_assert_neq(disk->ops->fence(disk, &of), 0, "one at a time");
	cr_assert(loop_wait(loop, &fence_over, loop_clock() + 5 * SEC));
	end();
	return fence_err;
}

Test(nvme_tcp, a_reset_that_has_ended_the_controller)
{
	cr_assert_eq(fence(0, NVME_CROSS_RESET_DONE | NVME_CROSS_RESET_VALID), 0);
}
Test(nvme_tcp, a_reset_that_is_not_over)
{
	cr_assert_neq(fence(0, NVME_CROSS_RESET_VALID), 0);
}
Test(nvme_tcp, a_reset_of_a_controller_that_is_unknown)
{
	cr_assert_neq(fence(0, NVME_CROSS_RESET_DONE), 0);
}
Test(nvme_tcp, a_reset_that_is_refused)
{
	cr_assert_neq(fence(NVME_STATUS(1, 0x41), 7), 0);
}

/* A lost write may be executed until the controller's keep-alive timer has expired, and CQT after
 * that. */
static void quiet_for(uint32_t ctratt, uint16_t cqt_ms, uint32_t kas_ms, uint32_t quiesce_ms)
{
	begin();
	tt.target.id.ctratt = ctratt;
	tt.target.id.cqt_ms = cqt_ms;
	tt.target.id.kas_ms = kas_ms;
	cr_assert_eq(attach_to("nqn.2024-01.test:disk/1", true), 0, "%s", why.text);
	cr_assert_eq(disk->lim.quiesce_ms, quiesce_ms);
	end();
}

Test(nvme_tcp, quiet_time_is_the_keep_alive_timeout)
{
	quiet_for(0, 0, 0, 5000);
}
Test(nvme_tcp, quiet_time_counts_a_second_timeout_if_traffic_restarts_it)
{
	quiet_for(1 << 6, 0, 0, 10000);
}
Test(nvme_tcp, quiet_time_includes_cqt)
{
	quiet_for(0, 700, 0, 5700);
}
Test(nvme_tcp, quiet_time_is_rounded_up_to_kas)
{
	quiet_for(0, 0, 3000, 6000);
	quiet_for(1 << 6, 700, 3000, 12700);
	quiet_for(0, 0, 100, 5000);
	quiet_for(0, 0, 6553500, 6553500);
}

Test(nvme_tcp, reads_and_writes)
{
	works("t1/1");
}

Test(nvme_tcp, many_small_pdus_with_every_option)
{
	tt.dgst = 3;
	tt.pda = 31;
	tt.max_h2c = 4096;
	tt.c2h_piece = 1024;
	tt.r2t_piece = 7168;
	tt.success = true;
	works("t1/1?hdr_digest=1&data_digest=1");
}

Test(nvme_tcp, header_digest_alone)
{
	tt.dgst = 1;
	tt.c2h_piece = 12288;
	works("t1/1?hdr_digest=1");
}

Test(nvme_tcp, data_digest_alone_and_an_odd_alignment)
{
	tt.dgst = 2;
	tt.pda = 4;
	works("t1/1?data_digest=1");
}

Test(nvme_tcp, limits_and_identity_come_from_the_controller)
{
	begin();
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, 4194304);
	cr_assert_eq(disk->lim.block, 512);
	cr_assert_eq(disk->lim.max[IO_READ], 131072, "MDTS 5");
	cr_assert_eq(disk->lim.max[IO_MAP], 0);
	cr_assert_eq(disk->lim.lanes, 4, "granted");
	cr_assert_eq(disk->lim.depth, 63, "MAXCMD 64");
	cr_assert_not(disk->lim.ro);
	cr_assert_str_eq(disk->id.model, "model");
	cr_assert_eq(disk->id.uuid[0], 0x12);
	cr_assert_eq(disk->id.nguid[0], 0xab);
	cr_assert_eq(tt.target.hello.kato_ms, 5000);
	cr_assert_eq(tt.target.hello.depth, 32);
	cr_assert_eq(tt.target.hello.hostid[0], 9);
	end();
}

Test(nvme_tcp, the_keep_alive_timeout_is_at_least_a_second)
{
	static const struct {
		const char *name;
		uint32_t kato_ms;
	} rows[] = { { "t1?detect=0.2", 1000 }, { "t1?detect=20", 20000 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		cr_assert_eq(attach_to(rows[i].name, true), 0, "%s", why.text);
		cr_assert_eq(tt.target.hello.kato_ms, rows[i].kato_ms);
		end();
	}
}

Test(nvme_tcp, flush_trim_and_zero)
{
	begin();
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(host_io(IO_FLUSH, 0, 0, 0, NULL), 0);
	cr_assert_eq(tt.target.flushes, 1);
	cr_assert_eq(host_io(IO_TRIM, 0, 4096, 8192, NULL), 0);
	cr_assert_eq(tt.target.trims, 1);
	cr_assert_eq(tt.target.trim_ranges, 1);
	cr_assert_eq(tt.target.flushes, 1);
	cr_assert_eq(host_io(IO_TRIM, IO_FUA, 4096, 8192, NULL), 0);
	cr_assert_eq(tt.target.flushes, 2, "DSM has no FUA");
	memset(tt.target.disk, 1, 65536);
	cr_assert_eq(host_io(IO_ZERO, IO_FUA, 4096, 8192, NULL), 0);
	cr_assert_eq(tt.target.last_cdw12, 15 | NVME_RW_FUA | NVME_WZ_DEAC);
	cr_assert_eq(tt.target.disk[4096] | tt.target.disk[12287], 0);
	cr_assert_eq(host_io(IO_ZERO, IO_KEEP, 4096, 512, NULL), 0);
	cr_assert_eq(tt.target.last_cdw12, 0);
	cr_assert_eq(host_io(IO_ZERO, IO_FAST, 4096, 512, NULL), -ENOTSUP);
	end();
}

Test(nvme_tcp, a_long_trim_is_several_ranges)
{
	begin();
	tt.target.nvm = (struct nvme_nvm_info){ .wzsl = 1, .dmrl = 4, .dmrsl = 10, .dmsl = 35 };
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	cr_assert_eq(disk->lim.max[IO_TRIM], 35 * 512, "DMSL");
	cr_assert_eq(disk->lim.max[IO_ZERO], 8192, "WZSL");
	host_open_lane();
	cr_assert_eq(host_io(IO_TRIM, 0, 512, 35 * 512, NULL), 0);
	cr_assert_eq(tt.target.trim_ranges, 4);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(get_le64(tt.target.range[i].lba), 1 + 10 * i);
		cr_assert_eq(get_le32(tt.target.range[i].blocks), i < 3 ? 10 : 5);
	}
	end();
}

Test(nvme_tcp, a_write_with_fua)
{
	struct pool *pool;
	struct buf buf;

	begin();
	tt.target.cap = 15 | 2ull << 24 | 1ull << 37;
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	cr_assert(disk->lim.fua);
	cr_assert_eq(disk->lim.depth, 15, "MQES 15");
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(IO_WRITE, IO_FUA, 4096, 4096, &buf), 0);
	cr_assert_eq(tt.target.last_cdw12, 7 | NVME_RW_FUA);
	pool_free(pool);
	end();
}

Test(nvme_tcp, without_a_write_cache_flush_is_no_command)
{
	begin();
	tt.target.id.vwc = 0;
	tt.target.id.oncs = 0;
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	cr_assert_eq(disk->lim.max[IO_TRIM], 0);
	cr_assert_eq(disk->lim.max[IO_ZERO], 0);
	host_open_lane();
	cr_assert_eq(host_io(IO_FLUSH, 0, 0, 0, NULL), 0);
	cr_assert_eq(tt.target.flushes, 0);
	end();
}

Test(nvme_tcp, a_failed_read_keeps_the_queue)
{
	struct io io = { .kind = IO_READ, .len = 512 };
	struct pool *pool;
	struct buf buf;

	begin();
	tt.target.io_status = NVME_STATUS(2, 0x81);
	cr_assert_eq(attach_to("t1", false), 0, "%s", why.text);
	cr_assert(disk->lim.ro);
	cr_assert_not(disk->lim.ro_disk, "it was opened for reading, and can be written");
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	io.buf = &buf;
	cr_assert_eq(bdev_io_wait(lane, &io, 0), -EIO);
	text_says(disk->status_text(io.detail), "unrecovered read");
	cr_assert_eq(lane->state, LANE_UP);
	pool_free(pool);
	end();
}

/* ---- Refused for now, or on this path: over `paths`. */

static void open_paths(bool two, const char *loss)
{
	struct bdev_env env = {
		.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2",
		.hostid = { 9 },
		.write = true,
		.timeout_ms = 2000
	};
	char text[300], path[60] = "";

	tcp_target_start(&tt);
	if (two)
		snprintf(path, sizeof(path), "&path=127.0.0.1:%u", tt.port);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/t1/1?loss=%s%s", tt.port, loss, path);
	host_open(text, &env);
}

static void refuse(uint32_t status, unsigned ios)
{
	pthread_mutex_lock(&tt.target.lock);
	tt.target.refuse_status = (uint16_t)status;
	tt.target.refuse_ios = ios;
	pthread_mutex_unlock(&tt.target.lock);
}

Test(nvme_tcp, what_is_refused_for_now_is_sent_again)
{
	static const uint16_t statuses[] = { NVME_STATUS(0, 0x04), NVME_STATUS(0, 0x05),
		NVME_STATUS(0, 0x07), NVME_STATUS(0, 0x08), NVME_STATUS(0, 0x21),
		NVME_STATUS(0, 0x22), NVME_STATUS(0, 0x24), NVME_STATUS(0, 0x82),
		NVME_STATUS(3, 0x00), NVME_STATUS(3, 0x01), NVME_STATUS(3, 0x02),
		NVME_STATUS(3, 0x03), NVME_STATUS(3, 0x60), NVME_STATUS(3, 0x70),
		NVME_STATUS(3, 0x71), NVME_STATUS(3, 0x7f) };
	static const uint8_t kinds[] = { IO_READ, IO_WRITE, IO_FLUSH, IO_ZERO, IO_TRIM };
	struct pool *pool;
	struct buf buf;

	begin();
	open_paths(false, "20");
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses) * sizeof(kinds); i++) {
		uint8_t kind = kinds[i % sizeof(kinds)];
		uint16_t status = statuses[i / sizeof(kinds)];

		refuse(status, 3);
		cr_assert_eq(
			host_io(kind, 0, 0, kind == IO_FLUSH ? 0 : 4096, &buf), 0, "%x", status);
		cr_assert_eq(tt.target.refuse_ios, 0);
	}
	refuse(NVME_STATUS(0, 0x82) | NVME_STATUS_DNR, 1);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 4096, &buf), -EAGAIN, "do not retry");
	refuse(NVME_STATUS(3, 0x02) | NVME_STATUS_DNR, 1);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 4096, &buf), -EHOSTUNREACH);
	refuse(NVME_STATUS(0, 0x83), 1);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 4096, &buf), -EBUSY, "another host may keep it");
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

Test(nvme_tcp, what_this_path_cannot_do_another_does)
{
	struct pool *pool;
	struct buf buf;

	for (unsigned two = 0; two < 2; two++) {
		begin();
		open_paths(two, "fail-fast");
		cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
		cr_assert_eq(lane_map(lane, pool, NULL), 0);
		buf = pool_buf(pool, 0);
		refuse(NVME_STATUS(3, 0x02), 1);
		cr_assert_eq(host_io(IO_WRITE, 0, 0, 4096, &buf), two ? 0 : -EHOSTUNREACH);
		lane_unmap(lane, pool);
		pool_free(pool);
		end();
	}
}

Test(nvme_tcp, io_queues_that_are_refused_for_now_are_connected_again)
{
	begin();
	tt.target.refuse_status = NVMF_BUSY;
	tt.target.refuse_connects = 3;
	open_paths(false, "20");
	cr_assert_eq(tt.target.refuse_connects, 0);
	cr_assert_eq(tt.target.io_connects, 1);
	end();
}

Test(nvme_tcp, a_queue_that_the_target_has_not_ended_yet_is_connected_again)
{
	begin();
	tt.target.refuse_status = NVME_SEQUENCE;
	tt.target.refuse_connects = 2;
	open_paths(false, "20");
	cr_assert_eq(tt.target.refuse_connects, 0);
	end();
}

Test(nvme_tcp, a_controller_that_is_not_ready_yet_is_waited_for)
{
	begin();
	tt.target.refuse_status = NVME_STATUS(0, 0x24);
	tt.target.refuse_admins = 12;
	cr_assert_eq(attach_to("t1/1", true), 0, "%s", why.text);
	cr_assert_eq(tt.target.refuse_admins, 0);
	end();
	begin();
	tt.target.refuse_status = NVME_STATUS(0, 0x24);
	tt.target.refuse_admins = 100000;
	cr_assert_eq(attach_to("t1/1", true), -EAGAIN);
	diag_says(&why, DIAG_BUSY, NULL, "media not_ready");
	end();
	begin();
	tt.target.refuse_status = NVME_STATUS(0, 0x24) | NVME_STATUS_DNR;
	tt.target.refuse_admins = 1;
	cr_assert_eq(attach_to("t1/1", true), -EAGAIN);
	end();
}

/* The same code means something else for each kind of command. */
Test(nvme_tcp, a_refused_write_is_no_refused_connect)
{
	struct io io = { .kind = IO_WRITE, .len = 512 };
	struct pool *pool;
	struct buf buf;

	begin();
	tt.target.io_status = NVME_STATUS(1, 0x82);
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	io.buf = &buf;
	cr_assert_eq(bdev_io_wait(lane, &io, 0), -EROFS);
	text_says(disk->status_text(io.detail), "read-only");
	pool_free(pool);
	end();
}

struct flood {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
};
static volatile int flooded;

static void flood_done(struct io *io)
{
	cr_assert_eq(io->status, 0);
	flooded++;
}

Test(nvme_tcp, more_requests_than_tags_wait_in_order)
{
	static struct flood flood[300];
	struct pool *pool;

	begin();
	tt.success = true;
	cr_assert_eq(attach_to("t1?depth=4", true), 0, "%s", why.text);
	cr_assert_eq(disk->lim.depth, 3);
	cr_assert_leq(disk->lim.io_size, sizeof(flood[0].lower));
	host_open_lane();
	for (size_t i = 0; i < tt.target.blocks * 512; i++)
		tt.target.disk[i] = (uint8_t)(i / 512 * 7 + i);
	cr_assert_eq(pool_new(&pool, 4096, 300, NULL), 0);
	for (unsigned i = 0; i < 300; i++) {
		flood[i].buf = pool_buf(pool, i);
		flood[i].io = (struct io){ .kind = IO_READ,
			.off = i * 512,
			.len = 4096,
			.buf = &flood[i].buf,
			.done = flood_done,
			.lower = flood[i].lower };
		bdev_submit(lane, &flood[i].io);
	}
	for (int turns = 0; flooded < 300 && turns < 1000; turns++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 5000000);
	}
	cr_assert_eq(flooded, 300);
	for (unsigned i = 0; i < 300; i++)
		cr_assert_arr_eq(flood[i].buf.p, tt.target.disk + i * 512, 4096);
	pool_free(pool);
	end();
}

Test(nvme_tcp, a_stop_is_orderly)
{
	begin();
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	bdev_close(disk);
	disk = NULL;
	cr_assert(tt.target.cc & NVME_CC_SHN_NORMAL, "shutdown was notified");
	end();
}

Test(nvme_tcp, a_controller_that_fails_in_its_shutdown)
{
	begin();
	tt.target.shut_fatal = true;
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	settled = 0;
	disk->changed = disk_down;
	disk->ops->stop(disk);
	cr_assert(loop_wait(loop, &settled, loop_clock() + 10 * SEC));
	diag_says(&disk->why, DIAG_IO, NULL, "shutdown CSTS.CFS data");
	end();
}

/* Attaching fails with this reason. */
static void refused(const char *path, int err, enum diag_code code, const char *words)
{
	int got = attach_to(path, true);

	cr_assert_eq(got, -err, "%d: %s", got, why.text);
	diag_says(&why, code, NULL, words);
	end();
}

Test(nvme_tcp, subsystem_unknown)
{
	begin();
	tt.target.connect =
		(struct nvmf_connect_reply){ .status = 0x4182, .ipo = 256, .ipo_data = true };
	refused("nqn.none", ENOENT, DIAG_NOT_FOUND, "subsystem nqn.none");
}

Test(nvme_tcp, authentication_required)
{
	begin();
	tt.target.connect.auth = true;
	refused("t1", EACCES, DIAG_AUTH, "DH-HMAC-CHAP");
}

Test(nvme_tcp, never_ready)
{
	begin();
	tt.target.never_ready = true;
	refused("t1", ETIMEDOUT, DIAG_TIMEOUT, "ready 1_s");
}

Test(nvme_tcp, fatal_status)
{
	begin();
	tt.target.fatal = true;
	refused("t1", EIO, DIAG_IO, "CSTS.CFS");
}

Test(nvme_tcp, several_namespaces_and_none_chosen)
{
	begin();
	tt.target.nsid[1] = 7;
	refused("t1", EINVAL, DIAG_USAGE, "2_namespaces 1,_7");
}

Test(nvme_tcp, no_namespace)
{
	begin();
	tt.target.nsid[0] = 0;
	refused("t1", ENOENT, DIAG_NOT_FOUND, "host namespace");
}

Test(nvme_tcp, not_that_namespace)
{
	begin();
	refused("t1/9", ENOENT, DIAG_NOT_FOUND, "namespace_9 1");
}

Test(nvme_tcp, a_namespace_by_its_uuid)
{
	begin();
	tt.target.nsid[1] = 7;
	cr_assert_eq(attach_to("t1/urn:uuid:12340000-0000-0000-0000-000000000007", false), 0, "%s",
		why.text);
	end();
}

Test(nvme_tcp, no_namespace_of_that_uuid)
{
	begin();
	refused("t1/urn:uuid:12340000-0000-0000-0000-000000000009", ENOENT, DIAG_NOT_FOUND,
		"1_namespace UUID");
}

Test(nvme_tcp, write_protected)
{
	begin();
	tt.target.ns.ro = true;
	refused("t1", EROFS, DIAG_PERMISSION, "namespace_1 write");
}

Test(nvme_tcp, a_write_protected_namespace_that_is_only_read)
{
	begin();
	tt.target.ns.ro = true;
	cr_assert_eq(attach_to("t1", false), 0, "%s", why.text);
	cr_assert(disk->lim.ro_disk);
	end();
}

Test(nvme_tcp, a_discovery_controller_is_no_disk)
{
	begin();
	tt.target.id.cntrltype = NVME_CTRL_DISCOVERY;
	refused("t1", EINVAL, DIAG_MISMATCH, "t1 discovery_controller");
}

Test(nvme_tcp, a_uri_without_a_subsystem)
{
	begin();
	cr_assert_eq(attach_to("", true), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "NQN nvmf-discover");
	end();
}

Test(nvme_tcp, a_namespace_that_is_no_number)
{
	begin();
	refused("t1/x", EINVAL, DIAG_USAGE, "namespace 'x' urn:uuid:UUID");
}

static void greeting(
	enum tcp_evil evil, const char *path, int err, enum diag_code code, const char *words)
{
	tt.evil = evil;
	begin();
	refused(path, err, code, words);
}

Test(nvme_tcp, mute_after_accept)
{
	greeting(EVIL_MUTE, "t1", ETIMEDOUT, DIAG_TIMEOUT, "queue_0 ICReq");
}

Test(nvme_tcp, does_not_begin_with_icresp)
{
	greeting(EVIL_REPLY_FIRST, "t1", EPROTO, DIAG_PROTOCOL, "queue_0 ICResp");
}

Test(nvme_tcp, another_protocol)
{
	greeting(EVIL_GARBAGE, "t1", EPROTO, DIAG_PROTOCOL, "queue_0 NVMe/TCP PDU");
}

Test(nvme_tcp, another_version)
{
	greeting(EVIL_VERSION, "t1", EPROTONOSUPPORT, DIAG_UNSUPPORTED, "queue_0 version NVMe/TCP");
}

Test(nvme_tcp, impossible_alignment)
{
	greeting(EVIL_ALIGNMENT, "t1", EPROTO, DIAG_PROTOCOL, "queue_0 alignment");
}

Test(nvme_tcp, too_small_h2c_limit)
{
	greeting(EVIL_SMALL_H2C, "t1", EPROTO, DIAG_PROTOCOL, "queue_0 4096 PDU");
}

Test(nvme_tcp, digests_nobody_asked_for)
{
	greeting(EVIL_MORE_DIGESTS, "t1", EPROTO, DIAG_PROTOCOL, "queue_0 digest");
}

Test(nvme_tcp, digests_denied)
{
	greeting(EVIL_NO_DIGESTS, "t1?hdr_digest=1", ENOTSUP, DIAG_UNSUPPORTED, "queue_0 digest");
}

/* The lane dies with this reason, and the request on it is done before. */
static void breach(
	enum tcp_evil evil, const char *keys, uint8_t kind, enum diag_code code, const char *words)
{
	struct pool *pool;
	struct buf buf;
	char path[64];

	begin();
	tt.dgst = 3;
	snprintf(path, sizeof(path), "t1/1%s", keys);
	cr_assert_eq(attach_to(path, true), 0, "%s", why.text);
	host_open_lane();
	tt.evil = evil;
	cr_assert_eq(pool_new(&pool, 65536, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(kind, 0, 0, 16384, &buf), -ENOTCONN);
	for (int turns = 0; lane->state != LANE_DOWN && turns < 100; turns++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000000);
	}
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, code, NULL, words);
	cr_assert_eq(host_io(kind, 0, 0, 16384, &buf), -ENOTCONN, "later ones end so too");
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

Test(nvme_tcp, second_icresp)
{
	breach(EVIL_SECOND_ICRESP, "", IO_READ, DIAG_PROTOCOL, "queue_1 ICResp");
}

Test(nvme_tcp, unknown_command)
{
	breach(EVIL_UNKNOWN_CID, "", IO_READ, DIAG_PROTOCOL, "queue_1 in_flight");
}

Test(nvme_tcp, pdu_of_hosts)
{
	breach(EVIL_HOST_PDU, "", IO_READ, DIAG_PROTOCOL, "queue_1 host");
}

Test(nvme_tcp, wrong_header_digest)
{
	breach(EVIL_HEADER_DIGEST, "?hdr_digest=1", IO_READ, DIAG_PROTOCOL,
		"queue_1 header_digest");
}

Test(nvme_tcp, wrong_data_digest)
{
	breach(EVIL_DATA_DIGEST, "?data_digest=1", IO_READ, DIAG_PROTOCOL, "queue_1 data_digest");
}

Test(nvme_tcp, data_too_long)
{
	breach(EVIL_DATA_TOO_LONG, "", IO_READ, DIAG_PROTOCOL, "queue_1 data buffer");
}

Test(nvme_tcp, data_at_a_wrong_offset)
{
	breach(EVIL_DATA_OFFSET, "", IO_READ, DIAG_PROTOCOL, "queue_1 data buffer");
}

Test(nvme_tcp, data_for_a_write)
{
	breach(EVIL_DATA_FOR_WRITE, "", IO_WRITE, DIAG_PROTOCOL, "queue_1 data buffer");
}

Test(nvme_tcp, success_before_the_last_data)
{
	breach(EVIL_EARLY_SUCCESS, "", IO_READ, DIAG_PROTOCOL, "queue_1 success last data");
}

Test(nvme_tcp, half_a_read)
{
	breach(EVIL_SHORT_READ, "", IO_READ, DIAG_PROTOCOL, "queue_1 success read data");
}

Test(nvme_tcp, r2t_beyond_the_buffer)
{
	breach(EVIL_R2T_TOO_LONG, "", IO_WRITE, DIAG_PROTOCOL, "queue_1 data buffer");
}

Test(nvme_tcp, r2t_for_a_read)
{
	breach(EVIL_R2T_FOR_READ, "", IO_READ, DIAG_PROTOCOL, "queue_1 R2T unexpected");
}

Test(nvme_tcp, a_write_without_a_transfer)
{
	breach(EVIL_WRITE_UNREAD, "", IO_WRITE, DIAG_PROTOCOL, "queue_1 success write data");
}

Test(nvme_tcp, termination_request)
{
	breach(EVIL_TERM, "", IO_READ, DIAG_PROTOCOL, "queue_1 4, field_12");
}

Test(nvme_tcp, connection_closed)
{
	breach(EVIL_HANG_UP, "", IO_READ, DIAG_CLOSED, "peer");
}

Test(nvme_tcp, an_idle_controller_is_kept_alive)
{
	volatile int never = 0;

	begin();
	cr_assert_eq(attach_to("t1", true), 0, "%s", why.text);
	loop_wait(loop, &never, loop_clock() + 5400000000);
	cr_assert_geq(tt.target.keep_alives, 2, "every 2.5 s");
	cr_assert_eq(disk->state, BDEV_UP);
	end();
}
