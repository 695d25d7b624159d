/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP initiator against the target in tests/fake, on the endpoint in memory: opening the disk,
 * placement of data, commands in flight, and messages about invalid answers. */
/* Link: leap */
#include "../fake/srp_peer.h"
#include "host.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 65536

static struct srp_peer target;
static struct pool *pool;

static void begin(void)
{
	host_begin(0);
	srp_peer_init(&target, loop);
}

static void end(void)
{
	host_end();
	srp_peer_fini(&target);
}

static int attach(const char *rest)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000 };
	char text[200];

	snprintf(text, sizeof(text), "srp+cm://10.0.0.1:5555/0002c903000e8acd/2%s", rest);
	return host_attach(text, &env);
}

static void refused(const char *rest, int err, enum diag_code code, const char *words)
{
	int got = attach(rest);

	cr_assert_eq(got, -err, "%d: %s", got, why.text);
	diag_says(&why, code, NULL, words);
	end();
}

static void lane_up(void)
{
	host_open_lane();
	cr_assert_eq(pool_new(&pool, ROOM, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

static void up(const char *rest)
{
	begin();
	cr_assert_eq(attach(rest), 0, "%s", why.text);
	lane_up();
}

static void down(void)
{
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
};
static unsigned finished;
static struct request request_of[64];

static void done(struct io *io)
{
	(void)io;
	finished++;
}

static void submit(unsigned at, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
{
	struct request *r = &request_of[at];

	r->buf = pool_buf(pool, at);
	r->io = (struct io){ .kind = kind,
		.flags = flags,
		.off = off,
		.len = len,
		.buf = &r->buf,
		.done = done,
		.lower = r->lower };
	bdev_submit(lane, &r->io);
}

static void turns_until(unsigned count)
{
	uint64_t until = loop_clock() + 20000000000ull;
	volatile int never = 0;

	while (finished < count && loop_clock() < until)
		loop_wait(loop, &never, loop_clock() + 1000000);
	cr_assert_eq(finished, count);
}

/* 64 writes of several lengths at once, then 64 reads. */
static void work(void)
{
	for (int pass = 0; pass < 2; pass++) {
		finished = 0;
		for (unsigned i = 0; i < 64; i++) {
			memset(pool_buf(pool, i).p, pass ? 0 : (int)i + 1, ROOM);
			submit(i, pass ? IO_READ : IO_WRITE, 0, i * (uint64_t)ROOM,
				i % 3 ? i % 2 ? 512 : 8192 : ROOM);
		}
		turns_until(64);
		for (unsigned i = 0; i < 64; i++) {
			cr_assert_eq(request_of[i].io.status, 0);
			cr_assert_eq(target.disk[i * ROOM], i + 1);
			cr_assert_eq(pool_buf(pool, i).p[511], i + 1);
		}
	}
}

static int one(uint8_t kind, uint8_t flags, uint32_t len)
{
	finished = 0;
	submit(0, kind, flags, 0, len);
	turns_until(1);
	return request_of[0].io.status;
}

/* Some turns, in which nothing need happen. */
static void pass(void)
{
	for (int i = 0; i < 5; i++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000000);
	}
}

Test(srp_ini, what_the_disk_says)
{
	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, SRP_DISK);
	cr_assert_eq(disk->lim.block, 512);
	cr_assert_eq(disk->lim.best, 4096, "its physical block");
	cr_assert_eq(disk->lim.max[IO_READ], 1024 * 512);
	cr_assert_eq(disk->lim.max[IO_TRIM], 4096 * 512);
	cr_assert_eq(disk->lim.max[IO_ZERO], 2048 * 512);
	cr_assert_not(disk->lim.ro);
	cr_assert_str_eq(disk->id.model, "ACME Anvil");
	cr_assert_str_eq(disk->id.serial, "S3R1AL");
	cr_assert_str_eq(disk->id.firmware, "1.0");
	cr_assert_eq(disk->id.nguid[0], 0x60, "the logical unit's, not the port's");
	end();
}

Test(srp_ini, an_old_disk)
{
	begin();
	target.old = true;
	cr_assert_eq(attach(""), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, SRP_DISK);
	cr_assert_eq(disk->lim.max[IO_TRIM], 0);
	cr_assert_eq(disk->lim.max[IO_ZERO], 0);
	lane_up();
	work();
	down();
}

Test(srp_ini, immediate_and_direct_data)
{
	up("/0");
	target.inside = target.keyed = 0;
	work();
	cr_assert_eq(target.inside, 42, "up to 8 KiB");
	cr_assert_eq(target.keyed, 22 + 64);
	down();
}

Test(srp_ini, a_service_on_infiniband)
{
	static const char *const bad[][2] = {
		{ "srp://5/1/2?service_id=7", "GID" },
		{ "srp://[fe80::1]/1/2", "service_id" },
		{ "srp://[fe80::1]/1/2?service_id=x", "service_id" },
		{ "srp://[fe80::1]/1/2?service_id=7&pkey=10000", "pkey" },
		{ "srp://[fe80::1]:5555/1/2?service_id=7", "port" },
		{ "srp://[fe80::1]/1?service_id=7", "ID_EXT" },
		{ "srp://[fe80::1]/1/2?service_id=7&io_class=101", "io_class" },
		{ "srp://[fe80::1]/1/2?service_id=7&max_sect=8", "max_sect" },
	};
	static const uint8_t ids[16] = { [7] = 2, 0, 2, 0xc9, 3, 0, 0x0e, 0x8a, 0xcd };
	struct bdev_env env = { .write = true, .timeout_ms = 2000 };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		begin();
		cr_assert_lt(host_attach(bad[i][0], &env), 0, "%s", bad[i][0]);
		diag_says(&why, DIAG_USAGE, NULL, bad[i][1]);
		end();
	}
	begin();
	target.by_service = true;
	cr_assert_eq(host_attach("srp://fe800000000000000002c90300003001/0002c903000e8acd/2"
				 "?pkey=ffff&service_id=0002c903000e8acd&initiator_ext=5",
			     &env),
		0, "%s", why.text);
	lane_up();
	work();
	cr_assert_gt(target.inside, 0, "immediate data as well");
	cr_assert_arr_eq(target.target, ids, sizeof(ids), "ID_EXT, then IOC_GUID");
	cr_assert_eq(target.initiator[7], 5);
	down();
}

/* Both identifiers have the GUID first. */
Test(srp_ini, a_target_of_revision_10)
{
	static const uint8_t ids[16] = { 0, 2, 0xc9, 3, 0, 0x0e, 0x8a, 0xcd, [15] = 2 };
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .hostid = "HOSTHOST" };

	begin();
	target.by_service = true;
	cr_assert_eq(host_attach("srp://fe800000000000000002c90300003001/0002c903000e8acd/2"
				 "?service_id=7&io_class=ff00&initiator_ext=5",
			     &env),
		0, "%s", why.text);
	lane_up();
	work();
	cr_assert_arr_eq(target.target, ids, sizeof(ids));
	cr_assert_arr_eq(target.initiator, "HOSTHOST\0\0\0\0\0\0\0\5", 16);
	down();
}

Test(srp_ini, no_immediate_data)
{
	up("/0?immediate=no");
	target.inside = 0;
	work();
	cr_assert_eq(target.inside, 0);
	down();
}

Test(srp_ini, a_target_without_immediate_data)
{
	begin();
	target.no_imm = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	work();
	cr_assert_eq(target.inside, 0);
	down();
}

Test(srp_ini, a_target_with_short_buffers_is_asked_for_less)
{
	begin();
	target.long_rejects = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	work();
	cr_assert_eq(target.inside, 0);
	cr_assert_eq(target.peer.dials, 4, "each channel twice");
	down();
}

Test(srp_ini, a_target_takes_only_some_immediate_data)
{
	begin();
	target.it_iu = 64 + 512;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	target.inside = 0;
	work();
	cr_assert_eq(target.inside, 21);
	down();
}

Test(srp_ini, a_tag_is_free_only_when_its_send_is)
{
	begin();
	target.peer.delayed_sent = true;
	target.peer.limit.inline_max = 16;
	cr_assert_eq(attach("/0?depth=4"), 0, "%s", why.text);
	lane_up();
	work();
	down();
}

Test(srp_ini, a_device_with_one_sge_and_few_requests)
{
	begin();
	target.peer.limit.sge = 1;
	target.peer.limit.send = 8;
	target.peer.limit.recv = 6;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	work();
	cr_assert_eq(target.inside, 0);
	down();
}

Test(srp_ini, write_zeroes_trim_flush_and_fua)
{
	up("/0");
	memset(target.disk, 1, 4096);
	cr_assert_eq(one(IO_TRIM, 0, 1024), 0);
	cr_assert_eq(target.unmaps, 1);
	cr_assert_eq(target.disk[1023], 0);
	cr_assert_eq(target.disk[1024], 1);
	cr_assert_eq(one(IO_ZERO, IO_KEEP, 2048), 0);
	cr_assert_eq(target.sames, 1);
	cr_assert_eq(target.unmaps, 1, "no hole");
	cr_assert_eq(target.disk[2047], 0);
	cr_assert_eq(target.disk[2048], 1);
	cr_assert_eq(one(IO_ZERO, 0, 4096), 0);
	cr_assert_eq(target.unmaps, 2);
	cr_assert_eq(one(IO_ZERO, IO_FAST, 4096), -ENOTSUP);
	cr_assert_eq(target.flushes, 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(target.flushes, 1);
	cr_assert_eq(one(IO_WRITE, IO_FUA, 512), 0);
	cr_assert_eq(target.fuas, 1);
	cr_assert_eq(target.flushes, 1);
	cr_assert_eq(one(IO_ZERO, IO_FUA, 512), 0);
	cr_assert_eq(target.flushes, 2, "WRITE SAME has no FUA");
	down();
}

Test(srp_ini, fua_of_a_disk_that_has_none_is_a_flush)
{
	begin();
	target.old = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	cr_assert_eq(one(IO_WRITE, IO_FUA, 512), 0);
	cr_assert_eq(target.fuas, 0);
	cr_assert_eq(target.flushes, 1);
	down();
}

Test(srp_ini, nothing_to_flush_without_a_cache)
{
	begin();
	target.no_cache = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	cr_assert_eq(one(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(one(IO_ZERO, IO_FUA, 512), 0);
	cr_assert_eq(target.flushes, 0);
	down();
}

static void fails(uint8_t status, uint8_t key, uint8_t asc, uint8_t ascq, unsigned times)
{
	target.failing = times;
	target.status = status;
	memcpy(target.sense, (uint8_t[]){ key, asc, ascq }, 3);
}

Test(srp_ini, what_changed_nothing_is_sent_again)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000 };

	begin();
	host_open("srp+cm://10.0.0.1:5555/0002c903000e8acd/2/0?loss=20", &env);
	cr_assert_eq(pool_new(&pool, ROOM, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	fails(2, 6, 0x29, 0, 3); /* was reset */
	cr_assert_eq(one(IO_WRITE, 0, 512), 0);
	fails(2, 2, 0x04, 0x0b, 2); /* standby */
	cr_assert_eq(one(IO_WRITE, 0, 512), 0);
	fails(0x28, 0, 0, 0, 2); /* queue full */
	cr_assert_eq(one(IO_READ, 0, 512), 0);
	fails(8, 0, 0, 0, 1); /* busy */
	cr_assert_eq(one(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(target.failing, 0);
	down();
}

Test(srp_ini, errors_of_the_disk)
{
	up("/0");
	fails(2, 3, 0x11, 0, 1);
	cr_assert_eq(one(IO_READ, 0, 512), -EIO);
	text_says(disk->status_text(request_of[0].io.detail), "read medium");
	fails(0x18, 0, 0, 0, 1);
	cr_assert_eq(one(IO_WRITE, 0, 512), -EBUSY);
	text_says(disk->status_text(request_of[0].io.detail), "reservation");
	fails(2, 7, 0x27, 7, 1);
	cr_assert_eq(one(IO_WRITE, 0, 512), -ENOSPC);
	cr_assert_eq(target.failing, 0);
	down();
}

Test(srp_ini, less_data_than_asked_for_is_an_error)
{
	up("/0");
	fails(0, 0, 0, 0, 1); /* good, and nothing moved */
	cr_assert_eq(one(IO_READ, 0, 512), -EIO);
	fails(0, 0, 0, 0, 1);
	cr_assert_eq(one(IO_WRITE, 0, ROOM), -EIO);
	down();
}

static bool has_more(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
{
	uint8_t out[96];

	if (!n || cmd->opcode != SRP_CMD)
		return true;
	srp_peer_do(me, me->chan[n], cmd, len, out);
	((struct srp_rsp *)(void *)out)->flags |= SRP_RSP_IN_OVER;
	cr_assert(ep_pair_deliver(me->chan[n], out, sizeof(struct srp_rsp)));
	return false;
}

Test(srp_ini, more_data_than_asked_for_is_an_error)
{
	up("/0");
	target.script = has_more;
	cr_assert_eq(one(IO_READ, 0, 512), -EIO);
	target.script = NULL;
	cr_assert_eq(one(IO_READ, 0, 512), 0);
	down();
}

Test(srp_ini, opening_goes_on_after_unit_attentions)
{
	begin();
	fails(2, 6, 0x29, 0, 5);
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	end();
}

Test(srp_ini, but_not_for_ever)
{
	begin();
	fails(2, 6, 0x29, 0, 1000);
	refused("/0", EAGAIN, DIAG_BUSY, "INQUIRY reset 6h/29h/00h");
}

Test(srp_ini, a_reservation_does_not_hide_the_disk)
{
	begin();
	target.only = 0x00 + 1; /* TEST UNIT READY */
	fails(0x18, 0, 0, 0, 1);
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	end();
}

Test(srp_ini, the_target_and_its_luns)
{
	begin();
	refused("/5", ENOENT, DIAG_NOT_FOUND, "LUN _0");
	begin();
	target.luns = 3;
	refused("", EINVAL, DIAG_USAGE, "3_disks LUNs_0,_1,_2 /0,_ /1,_ /2");
	begin();
	target.luns = 0;
	refused("", ENOENT, DIAG_NOT_FOUND, "LUN access");
	begin();
	target.luns = 2;
	cr_assert_eq(attach("/1"), 0, "%s", why.text);
	end();
}

Test(srp_ini, what_is_no_disk_of_ours)
{
	begin();
	target.type = 5;
	refused("/0", ENOTSUP, DIAG_UNSUPPORTED, "disk 05h");
	begin();
	target.block = 520;
	refused("/0", ENOTSUP, DIAG_UNSUPPORTED, "520");
	begin();
	target.blocks = 1ull << 60;
	refused("/0", EPROTO, DIAG_PROTOCOL, "last_block");
	begin();
	target.protected = true;
	refused("/0", EROFS, DIAG_PERMISSION, "write_protected");
}

Test(srp_ini, refused_logins)
{
	begin();
	target.reject = SRP_REJ_NO_ASSOCIATION;
	refused("/0", ECONNREFUSED, DIAG_NOT_FOUND, "ID_EXT 0x00010003");
	begin();
	target.reject = SRP_REJ_CHANNELS;
	refused("/0", EACCES, DIAG_AUTH, "initiator 0x00010006");
	begin();
	target.reject = 77;
	refused("/0", ECONNREFUSED, DIAG_REFUSED, "0x0000004d");
	begin();
	target.limit = 0;
	refused("/0", EPROTO, DIAG_PROTOCOL, "limit_0");
	begin();
	target.limit = -3;
	refused("/0", EPROTO, DIAG_PROTOCOL, "limit_-3");
	begin();
	target.it_iu = 63;
	refused("/0", EMSGSIZE, DIAG_UNSUPPORTED, "63_bytes");
}

static void no_login(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	(void)priv;
	ep_pair_accept(ep, &(struct srp_login_rsp){ .opcode = SRP_RSP }, len - 5);
}

Test(srp_ini, accepted_without_a_login_response)
{
	begin();
	target.peer.request = no_login;
	refused("/0", EPROTO, DIAG_PROTOCOL, "login_response");
}

static struct srp_login_cm asked;

static void record(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	cr_assert_eq(len, sizeof(asked));
	memcpy(&asked, priv, len);
	ep_pair_reject(ep, 8, NULL, 0);
}

/* Otherwise each of its logins would end the other one's channels. */
Test(srp_ini, a_disk_that_is_open_twice_has_two_ports)
{
	struct srp_login_cm first;
	struct bdev *one;

	begin();
	target.peer.request = record;
	cr_assert_lt(attach("/0"), 0);
	first = asked;
	one = disk;
	cr_assert_lt(attach("/0"), 0);
	cr_assert_neq(memcmp(asked.initiator, first.initiator, 16), 0);
	cr_assert_arr_eq(asked.initiator + 8, first.initiator + 8, 8, "the same host");
	one->ops->free(one);
	one = disk;
	cr_assert_lt(attach("/0"), 0);
	cr_assert_arr_eq(asked.initiator, first.initiator, 16, "the one that came back");
	one->ops->free(one);
	end();
}

Test(srp_ini, usage)
{
	static const struct {
		const char *uri, *words;
	} rows[] = {
		{ "srp+cm://10.0.0.1/1/2", "HOST:PORT" },
		{ "srp+cm://me@10.0.0.1:5/1/2", "users" },
		{ "srp+cm://10.0.0.1:5/1", "IOC_GUID/ID_EXT" },
		{ "srp+cm://10.0.0.1:5/x/2", "IOC_GUID_'x'" },
		{ "srp+cm://10.0.0.1:5/1/12345678901234567890", "ID_EXT" },
		{ "srp+cm://10.0.0.1:5/1/2/x", "LUN_'x'" },
		{ "srp+cm://10.0.0.1:5/1/2?depth=0", "depth" },
		{ "srp+cm://10.0.0.1:5/1/2?initiator_ext=x", "initiator_ext" },
		{ "srp+cm://10.0.0.1:5/1/2?rdma=x", "verbs,_iwarp_or_auto" },
		{ "srp+cm://10.0.0.1:5/1/2?rdma=iwarp&dev=x", "dev" },
		{ "srp+cm://10.0.0.1:5/1/2?max_sect=5", "max_sect" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		cr_assert_lt(
			host_attach(rows[i].uri, &(struct bdev_env){ 0 }), 0, "%s", rows[i].uri);
		diag_says(&why, DIAG_USAGE, NULL, rows[i].words);
		end();
	}
}

/* --- the request limit */

static unsigned held;
static struct srp_cmd hold[128];
static uint8_t hold_data[128][64 + 512];

static struct srp_tsk_mgmt task;
static unsigned tasks;

/* Answers to I/O wait here. */
static bool keep(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
{
	(void)me;
	if (n && cmd->opcode == SRP_TSK_MGMT) {
		cr_assert_eq(len, sizeof(task));
		memcpy(&task, cmd, sizeof(task));
		tasks++;
	}
	if (!n || cmd->opcode != SRP_CMD)
		return n == 0;
	memcpy(hold_data[held], cmd, len < sizeof(hold_data[0]) ? len : sizeof(hold_data[0]));
	hold[held++] = *cmd;
	return false;
}

static void answer(unsigned at, int32_t delta)
{
	struct srp_rsp rsp = {
		.opcode = SRP_RSP, .delta = put_be32((uint32_t)delta), .tag = hold[at].tag
	};

	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	pass();
}

static void credit(int32_t delta)
{
	struct srp_cred_req req = { .opcode = SRP_CRED_REQ, .delta = put_be32((uint32_t)delta) };

	cr_assert(ep_pair_deliver(target.chan[1], &req, sizeof(req)));
	pass();
}

static void ten_held(int32_t limit)
{
	begin();
	target.limit = limit;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	target.script = keep;
	held = finished = 0;
	for (unsigned i = 0; i < 10; i++)
		submit(i, IO_READ, 0, i * 512ull, 512);
	pass();
}

Test(srp_ini, the_request_limit_holds)
{
	ten_held(3);
	cr_assert_eq(held, 3);
	answer(0, 1);
	cr_assert_eq(held, 4, "one for one");
	answer(1, 0);
	cr_assert_eq(held, 4, "the limit is less");
	answer(2, 3);
	cr_assert_eq(held, 7, "and more");
	credit(2);
	cr_assert_eq(held, 9, "without an answer");
	credit(-1);
	answer(3, 1);
	cr_assert_eq(held, 9, "and back");
	answer(4, 1);
	cr_assert_eq(held, 10);
	cr_assert_eq(finished, 5);
	for (unsigned i = 5; i < 10; i++)
		answer(i, 1);
	cr_assert_eq(finished, 10);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static void shut(unsigned seconds)
{
	ten_held(1);
	answer(0, 0);
	cr_assert_eq(held, 1);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + seconds * 1000000000ull);
}

Test(srp_ini, a_request_limit_that_is_raised_after_a_delay)
{
	shut(29);
	cr_assert_eq(finished, 1);
	credit(2);
	cr_assert_eq(held, 3);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 20000000000ull);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, a_request_limit_that_is_never_raised_ends_the_channel)
{
	shut(31);
	cr_assert_eq(finished, 10);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "takes_no_command");
	cr_assert_eq(request_of[9].io.status, -ENOTCONN);
	down();
}

/* --- commands without an answer */

static void answer_task(uint8_t code, uint32_t delta)
{
	uint8_t bytes[sizeof(struct srp_rsp) + 4] = { [sizeof(struct srp_rsp) + 3] = code };
	struct srp_rsp rsp = { .opcode = SRP_RSP,
		.delta = put_be32(delta),
		.tag = task.tag,
		.flags = SRP_RSP_DATA,
		.data_len = put_be32(4) };

	memcpy(bytes, &rsp, sizeof(rsp));
	cr_assert(ep_pair_deliver(target.chan[1], bytes, sizeof(bytes)));
	pass();
}

static void wait_until(const unsigned *what, unsigned count)
{
	volatile int never = 0;

	for (int i = 0; i < 1000 && *what < count; i++)
		loop_wait(loop, &never, loop_clock() + 100000000);
	cr_assert_eq(*what, count);
}

static void delay_one(void)
{
	tasks = 0;
	ten_held(64);
	for (unsigned i = 1; i < 10; i++)
		answer(i, 1);
	wait_until(&tasks, 1);
	cr_assert_eq(task.function, SRP_TSK_ABORT_TASK);
	cr_assert_eq(get_be64(task.task_tag), get_be64(hold[0].tag));
	cr_assert_arr_eq(task.lun, hold[0].lun, 8);
	cr_assert_eq(finished, 9);
	submit(1, IO_READ, 0, 0, 512);
	pass();
	cr_assert_eq(held, 11);
	cr_assert_neq(get_be64(hold[10].tag), get_be64(hold[0].tag));
	answer(10, 1);
}

Test(srp_ini, an_overdue_command_is_aborted_and_sent_again)
{
	delay_one();
	answer_task(0, 2);
	wait_until(&held, 12);
	cr_assert_arr_eq(hold[11].cdb, hold[0].cdb, 16);
	answer(11, 1);
	cr_assert_eq(finished, 11);
	cr_assert_eq(request_of[0].io.status, 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

/* Another channel, or another path, may help. */
Test(srp_ini, a_command_that_is_overdue_again_ends_the_channel)
{
	delay_one();
	answer_task(0, 2);
	wait_until(&held, 12);
	submit(1, IO_READ, 0, 0, 512);
	pass();
	answer(12, 1);
	wait_until(&finished, 12);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "read no_answer");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	down();
}

/* The target may look for the tag after it has answered the command. */
Test(srp_ini, a_tag_is_not_used_again_before_its_abort_is_answered)
{
	delay_one();
	answer(0, 1);
	cr_assert_eq(finished, 10);
	for (unsigned i = 1; i < 64; i++)
		submit(i, IO_READ, 0, 0, 512);
	pass();
	cr_assert_eq(held, 11 + 62, "one of the requests is the abort's");
	for (unsigned i = 11; i < held; i++)
		cr_assert_neq(get_be64(hold[i].tag), get_be64(hold[0].tag));
	answer_task(5, 1);
	cr_assert_eq(request_of[0].io.status, 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, a_refused_abort_ends_the_channel)
{
	delay_one();
	answer_task(4, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "read no_abort");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	down();
}

Test(srp_ini, a_dead_target_is_not_waited_for_command_by_command)
{
	tasks = 0;
	ten_held(64);
	wait_until(&finished, 10);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:5555", "read no_answer");
	down();
}

/* No request of the limit is left for an abort, until one is answered. */
static void delay_at_the_limit(void)
{
	tasks = 0;
	ten_held(3);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 31000000000ull);
	cr_assert_eq(tasks, 0);
	cr_assert_eq(held, 3);
	answer(1, 1);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(held, 3);
}

Test(srp_ini, an_abort_waits_for_the_request_limit)
{
	delay_at_the_limit();
	answer_task(0, 2);
	cr_assert_eq(held, 5);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, an_abort_takes_the_request_that_the_target_gives)
{
	tasks = 0;
	ten_held(3);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 31000000000ull);
	credit(1);
	cr_assert_eq(tasks, 1);
	cr_assert_eq(held, 3);
	down();
}

/* Only a response does, and it has none. */
Test(srp_ini, an_aborted_command_gives_no_request_back)
{
	delay_at_the_limit();
	answer_task(0, 1);
	cr_assert_eq(held, 4);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static unsigned answers;

static bool count_answers(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
{
	(void)me;
	if (n != 1 || cmd->opcode == SRP_CMD)
		return true;
	cr_assert_eq(len, sizeof(struct srp_plain));
	cr_assert_eq(((const struct srp_plain *)(const void *)cmd)->tag.b[7], 7);
	answers += cmd->opcode == SRP_CRED_RSP || cmd->opcode == SRP_AER_RSP;
	return true;
}

Test(srp_ini, the_target_s_requests_are_answered)
{
	struct srp_cred_req credits = { .opcode = SRP_CRED_REQ, .tag.b[7] = 7 };
	struct srp_aer_req event = { .opcode = SRP_AER_REQ, .tag.b[7] = 7 };

	up("/0");
	target.script = count_answers;
	for (int i = 0; i < 10; i++) {
		cr_assert(ep_pair_deliver(target.chan[1], &credits, sizeof(credits)));
		cr_assert(ep_pair_deliver(target.chan[1], &event, sizeof(event)));
		pass();
	}
	cr_assert_eq(answers, 20);
	work();
	down();
}

Test(srp_ini, an_event_makes_it_look_at_the_size)
{
	struct srp_aer_req event = { .opcode = SRP_AER_REQ };

	up("/0");
	target.blocks /= 2;
	cr_assert(ep_pair_deliver(target.chan[0], &event, sizeof(event)));
	pass();
	cr_assert_eq(disk->lim.size, SRP_DISK / 2);
	down();
}

/* --- lies */

static void breaks(enum diag_code code, const char *words, const void *bytes, uint32_t len)
{
	ten_held(64);
	cr_assert_eq(held, 10);
	cr_assert(ep_pair_deliver(target.chan[1], bytes, len));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, code, "10.0.0.1:5555", words);
	cr_assert_eq(finished, 10);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(request_of[i].io.status, -ENOTCONN);
	down();
}

static struct srp_rsp rsp_of(uint64_t tag)
{
	return (struct srp_rsp){ .opcode = SRP_RSP, .delta = put_be32(1), .tag = put_be64(tag) };
}

Test(srp_ini, lies)
{
	struct srp_rsp rsp = rsp_of(11);
	struct srp_t_logout logout = { .opcode = SRP_T_LOGOUT, .reason = put_be32(4) };
	struct srp_cred_req req = { .opcode = SRP_CRED_REQ, .delta = put_be32(0x80000000) };

	breaks(DIAG_PROTOCOL, "in_flight", &rsp, sizeof(rsp));
	rsp.tag = put_be64(1ull << 32);
	breaks(DIAG_PROTOCOL, "in_flight", &rsp, sizeof(rsp));
	rsp = rsp_of(0);
	breaks(DIAG_PROTOCOL, "36_bytes", &rsp, 35);
	rsp.flags = SRP_RSP_SENSE;
	rsp.sense_len = put_be32(1);
	breaks(DIAG_PROTOCOL, "sense_data", &rsp, sizeof(rsp));
	rsp.flags = SRP_RSP_SENSE | SRP_RSP_DATA;
	rsp.data_len = put_be32(0xffffffff);
	breaks(DIAG_PROTOCOL, "sense_data", &rsp, sizeof(rsp));
	rsp = rsp_of(0);
	rsp.delta = put_be32(0x80000000);
	breaks(DIAG_PROTOCOL, "request_limit", &rsp, sizeof(rsp));
	breaks(DIAG_PROTOCOL, "request_limit", &req, sizeof(req));
	breaks(DIAG_PROTOCOL, "too_short", &req, 15);
	req.opcode = SRP_AER_REQ;
	breaks(DIAG_PROTOCOL, "too_short", &req, sizeof(req));
	req.opcode = SRP_LOGIN_RSP;
	breaks(DIAG_PROTOCOL, "type", &req, sizeof(req));
	breaks(DIAG_PROTOCOL, "type", &req, 0);
	breaks(DIAG_CLOSED, "logged_out 0x4", &logout, sizeof(logout));
}

/* To a command that has ended, or was aborted, whose place another one has by now. */
static void answered_twice(unsigned first, unsigned next)
{
	struct srp_rsp rsp = rsp_of(get_be64(hold[first].tag));

	cr_assert_eq((uint16_t)get_be64(hold[next].tag), (uint16_t)get_be64(hold[first].tag));
	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:5555", "in_flight");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	down();
}

Test(srp_ini, a_second_answer_is_not_the_next_command_s)
{
	ten_held(64);
	answer(0, 1);
	submit(0, IO_READ, 0, 0, 512);
	pass();
	cr_assert_eq(held, 11);
	answered_twice(0, 10);
}

Test(srp_ini, an_answer_after_the_abort_s_is_not_the_next_try_s)
{
	delay_one();
	answer_task(0, 2);
	wait_until(&held, 12);
	answered_twice(0, 11);
}

/* Status GOOD with a residual. */
Test(srp_ini, residuals_of_either_kind_are_errors)
{
	static const uint8_t flags[] = { SRP_RSP_IN_UNDER, SRP_RSP_OUT_UNDER, SRP_RSP_IN_OVER,
		SRP_RSP_OUT_OVER, SRP_RSP_OUT_UNDER | SRP_RSP_IN_UNDER,
		SRP_RSP_OUT_OVER | SRP_RSP_IN_UNDER };

	ten_held(64);
	for (unsigned i = 0; i < sizeof(flags); i++) {
		struct srp_rsp rsp = rsp_of(get_be64(hold[i].tag));

		rsp.flags = flags[i];
		if (flags[i] == SRP_RSP_OUT_UNDER)
			rsp.out_residual = put_be32(1);
		else if (flags[i] & SRP_RSP_IN_UNDER)
			rsp.in_residual = put_be32(0xffffffff);
		cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
		pass();
		cr_assert_eq(finished, i + 1);
		cr_assert_eq(request_of[i].io.status, -EIO, "flags %#x", flags[i]);
	}
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(srp_ini, a_response_code_says_that_the_command_is_invalid)
{
	uint8_t bytes[sizeof(struct srp_rsp) + 4] = { 0 };
	struct srp_rsp rsp = rsp_of(0);

	rsp.flags = SRP_RSP_DATA;
	rsp.data_len = put_be32(4);
	memcpy(bytes, &rsp, sizeof(rsp));
	bytes[sizeof(bytes) - 1] = 2;
	breaks(DIAG_PROTOCOL, "invalid", bytes, sizeof(bytes));
}

Test(srp_ini, an_answer_that_comes_twice)
{
	struct srp_rsp rsp = rsp_of(0);

	ten_held(64);
	rsp.tag = hold[0].tag;
	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "in_flight");
	cr_assert_eq(finished, 10);
	down();
}

Test(srp_ini, requests_without_waiting_for_answers)
{
	struct srp_cred_req req = { .opcode = SRP_CRED_REQ };

	target.peer.delayed_sent = true;
	up("/0");
	for (int i = 0; i < 5; i++)
		ep_pair_deliver(target.chan[1], &req, sizeof(req));
	pass();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "wait");
	down();
}

Test(srp_ini, a_key_that_nobody_gave)
{
	struct srp_rsp rsp = rsp_of(0);

	ten_held(64);
	cr_assert(ep_pair_deliver_inval(target.chan[1], &rsp, sizeof(rsp), 1));
	pass();
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "key");
	down();
}

Test(srp_ini, the_first_channel_ends_the_disk)
{
	up("/0");
	ep_pair_cut(target.chan[0]);
	pass();
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_CLOSED, "10.0.0.1:5555", "closed");
	down();
}

Test(srp_ini, a_target_that_opens_nothing)
{
	begin();
	target.script = keep;
	target.chans = 0;
	target.peer.stuck = true;
	target.peer.cut_at = 0;
	target.delta = 0;
	target.limit = 1;
	target.script = NULL;
	refused("/0", ETIMEDOUT, DIAG_TIMEOUT, "takes_no_command");
}

Test(srp_ini, as_many_lanes_as_asked_for)
{
	struct lane *more;

	begin();
	cr_assert_eq(attach("/0?queues=2"), 0, "%s", why.text);
	host_open_lane();
	more = lane;
	host_open_lane();
	cr_assert_eq(disk->ops->lane(&(struct lane *){ NULL }, disk, loop, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "2_channels");
	lane_close(more);
	end();
}
