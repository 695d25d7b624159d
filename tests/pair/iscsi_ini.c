/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI initiator over TCP against the target of tests/fake, on a connection in memory and a
 * fake clock: placement of data, completion of commands, commands in flight, and messages about
 * invalid answers. */
/* Link: leap */
#include "host.h"
#include "iscsi_pipe.h"
#include "leap.h"
#include "says.h"
#include <criterion/criterion.h>

#define ROOM  (256u << 10)
#define COUNT 64
#define IQN   "iqn.2024-01.test:one"
/* the initiator's task tags of a ping, and in that of an abort */
#define PING  0xfffffffd
#define ABORT 0x80000000

static struct pool *pool;
static struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	unsigned dones;
} request[COUNT];
static unsigned finished;

static void begin(void)
{
	host_begin(0);
	target_begin(loop);
}

static void end(void)
{
	host_hang_up();
	target_end(loop);
	loop_free(loop);
}

static int attach(const char *rest)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };
	char text[200];

	snprintf(text, sizeof(text), "iscsi://10.0.0.1/" IQN "%s", rest);
	return host_attach(text, &env);
}

static void refused(const char *rest, int err, enum diag_code code, const char *words)
{
	int got = attach(rest);

	cr_assert_eq(got, -err, "%d: %s", got, why.text);
	diag_says(&why, code, "10.0.0.1:3260", words);
	end();
}

static void lane_up(void)
{
	host_open_lane();
	cr_assert_eq(pool_new(&pool, ROOM, COUNT, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

static void up(const char *rest)
{
	cr_assert_eq(attach(rest), 0, "%s", why.text);
	lane_up();
}

static void down(void)
{
	target.script = NULL;
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

static void run_ms(uint64_t ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * 1000000);
}

static void done(struct io *io)
{
	container_of(io, struct request, io)->dones++;
	finished++;
}

static void submit(unsigned at, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
{
	struct request *r = &request[at];

	r->buf = pool_buf(pool, at);
	r->dones = 0;
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
	uint64_t until = loop_clock() + 600000000000ull;

	while (finished < count && loop_clock() < until)
		run_ms(1);
	cr_assert_eq(finished, count);
}

/* 64 writes of several lengths at once, then 64 reads. */
static void work(void)
{
	for (int pass = 0; pass < 2; pass++) {
		unsigned count = 0;

		finished = 0;
		for (unsigned i = 0; i < COUNT; i++) {
			uint8_t *p = pool_buf(pool, i).p;
			uint32_t len = i % 3 ? i % 2 ? 512 : 8704 : i % 9 ? 65536 : 65536 + 8192;

			for (uint32_t k = 0; k < ROOM; k++)
				p[k] = pass ? 0xee : (uint8_t)(k * 31 + i + k / 509);
			count++;
			submit(i, pass ? IO_READ : IO_WRITE, 0, i * UINT64_C(65536), len);
			if (i % 9 == 0) /* the next begins behind it */
				i++;
		}
		turns_until(count);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		const uint8_t *p = pool_buf(pool, i).p;

		if (!request[i].io.done)
			continue;
		cr_assert_eq(request[i].io.status, 0);
		cr_assert_arr_eq(p, target.disk + i * 65536, request[i].io.len);
		for (uint32_t k = 0; k < request[i].io.len; k++)
			cr_assert_eq(p[k], (uint8_t)(k * 31 + i + k / 509), "%u of %u", k, i);
		cr_assert_eq(p[request[i].io.len], 0xee);
	}
}

static int one(uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
{
	finished = 0;
	submit(0, kind, flags, off, len);
	turns_until(1);
	return request[0].io.status;
}

/* ---- Honest targets. */

Test(iscsi_ini, what_the_disk_says)
{
	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, PIPE_DISK);
	cr_assert_eq(disk->lim.block, 512);
	cr_assert_eq(disk->lim.max[IO_READ], 1 << 20);
	cr_assert_eq(disk->lim.max[IO_TRIM], 4096 * 512);
	cr_assert_eq(disk->lim.max[IO_ZERO], 2048 * 512);
	cr_assert_str_eq(disk->id.model, "ACME Anvil");
	cr_assert_str_eq(disk->id.serial, "S3R1AL");
	end();
}

Test(iscsi_ini, immediate_data_and_r2t)
{
	begin();
	target.initial_r2t = true;
	up("/0");
	work();
	down();
}

Test(iscsi_ini, unsolicited_data)
{
	begin();
	up("/0");
	work();
	down();
}

Test(iscsi_ini, unsolicited_data_that_is_not_immediate)
{
	begin();
	target.immediate = false;
	target.first_burst = 4096;
	up("/0");
	work();
	down();
}

Test(iscsi_ini, nothing_unsolicited)
{
	begin();
	target.immediate = false;
	target.initial_r2t = true;
	target.r2t = 8192;
	target.split_status = true;
	up("/0");
	work();
	down();
}

Test(iscsi_ini, digests_and_small_pieces)
{
	begin();
	target.digests = true;
	target.recv = 512;
	target.piece = 1000;
	target.r2t = 1002;
	target.first_burst = 513;
	target.max_burst = 1002;
	target.chunk = 777;
	up("/0?hdr_digest=1&data_digest=1");
	cr_assert(target.pipe[1]->digest[0] && target.pipe[1]->digest[1]);
	work();
	down();
}

Test(iscsi_ini, a_last_login_response_without_data)
{
	begin();
	target.keys_first = true;
	up("/0");
	work();
	down();
}

/* RFC 7143 knows no alignment of bursts. */
Test(iscsi_ini, bursts_of_odd_lengths)
{
	begin();
	target.recv = 8191;
	target.piece = 8191;
	target.first_burst = 4099;
	target.r2t = 1501;
	up("/0");
	work();
	down();
}

Test(iscsi_ini, a_small_window)
{
	begin();
	target.window = 2;
	up("/0");
	work();
	down();
}

Test(iscsi_ini, write_zeroes_trim_flush_and_fua)
{
	begin();
	up("/0");
	memset(target.disk, 1, 4096);
	cr_assert_eq(one(IO_TRIM, 0, 0, 1024), 0);
	cr_assert_eq(target.unmaps, 1);
	cr_assert_eq(target.disk[1023], 0);
	cr_assert_eq(target.disk[1024], 1);
	cr_assert_eq(one(IO_ZERO, IO_KEEP, 0, 2048), 0);
	cr_assert_eq(target.sames, 1);
	cr_assert_eq(target.disk[2047], 0);
	cr_assert_eq(target.disk[2048], 1);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(target.flushes, 1);
	cr_assert_eq(one(IO_WRITE, IO_FUA, 0, 512), 0);
	cr_assert_eq(target.fuas, 1);
	cr_assert_eq(target.flushes, 1);
	down();
}

Test(iscsi_ini, an_old_disk)
{
	begin();
	target.small = true;
	up("/0");
	cr_assert_eq(disk->lim.size, PIPE_DISK);
	cr_assert_eq(disk->lim.max[IO_TRIM], 0);
	work();
	down();
}

Test(iscsi_ini, every_session_logs_out)
{
	begin();
	up("/0");
	work();
	lane_unmap(lane, pool);
	pool_free(pool);
	lane_close(lane);
	lane = NULL;
	cr_assert_eq(target.logouts, 1);
	disk->ops->stop(disk);
	run_ms(10);
	cr_assert_eq(disk->state, BDEV_DOWN);
	cr_assert_eq(target.logouts, 2);
	end();
}

/* The disk's first session and two lanes. */
static void take_isids(uint8_t isid[3][6], const char *rest)
{
	struct lane *second;
	unsigned from = target.dials;

	cr_assert_eq(attach(rest), 0, "%s", why.text);
	host_open_lane();
	cr_assert(host_try_lane(&second), "%s", why.text);
	for (unsigned i = 0; i < 3; i++)
		memcpy(isid[i], pipe_number(from + i)->isid, 6);
	lane_close(second);
}

Test(iscsi_ini, sessions_are_ports_that_come_back)
{
	uint8_t isid[4][3][6], (*all)[6] = isid[0];
	struct bdev *first;
	struct lane *its;

	begin();
	take_isids(isid[0], "/0");
	first = disk;
	its = lane;
	take_isids(isid[1], "/0"); /* the same disk once more */
	host_hang_up();
	take_isids(isid[2], "/0?queues=9");
	host_hang_up();
	disk = first;
	lane = its;
	host_hang_up();
	for (unsigned i = 0; i < 9; i++) {
		cr_assert_eq(all[i][0], 0x80, "random, 11.12.5");
		for (unsigned k = 0; k < i; k++)
			cr_assert_arr_neq(all[i], all[k], 6);
	}
	take_isids(isid[3], "/0");
	cr_assert_arr_eq(isid[3], isid[0], sizeof(isid[0]));
	end();
}

/* ---- Redirection. */

/* By every session, which begins at the portal of the URI. */
Test(iscsi_ini, redirects_are_followed)
{
	static const struct {
		const char *to, *at;
		bool for_good;
	} rows[] = { { "10.0.0.7:3261", "10.0.0.7:3261", false },
		{ "10.0.0.7,2", "10.0.0.7:3260", true },
		{ "[2001:db8::7]:3261,1", "[2001:db8::7]:3261", false },
		{ "[2001:db8::7]", "[2001:db8::7]:3260", true } };
	char text[ADDR_TEXT];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin();
		target.redirect = rows[i].to;
		target.for_good = rows[i].for_good;
		target.redirects = 1;
		cr_assert_eq(attach("/0"), 0, "%s: %s", rows[i].to, why.text);
		cr_assert_str_eq(addr_text(&pipe_number(1)->dst, text), rows[i].at);
		target.redirects = 1;
		host_open_lane();
		cr_assert_str_eq(addr_text(&pipe_number(3)->dst, text), rows[i].at);
		end();
	}
}

Test(iscsi_ini, but_not_in_circles)
{
	begin();
	target.redirect = "10.0.0.7:3261";
	target.redirects = 100;
	refused("/0", ELOOP, DIAG_PROTOCOL, "redirect 10.0.0.7");
	cr_assert_leq(target.dials, 3);
}

/* ---- Responses to logins, and the disks of a target. */

Test(iscsi_ini, refused_logins)
{
	begin();
	target.status = ISCSI_NOT_FOUND;
	refused("/0", ENOENT, DIAG_NOT_FOUND, "name 0203");
	begin();
	target.status = ISCSI_FORBIDDEN;
	refused("/0", EPERM, DIAG_AUTH, "initiator 0202");
	begin();
	target.status = ISCSI_NOT_PROVED;
	refused("/0", EACCES, DIAG_AUTH, "authentication user=");
	begin();
	target.status = ISCSI_NO_RESOURCES;
	refused("/0", EAGAIN, DIAG_BUSY, "resources 0302");
}

Test(iscsi_ini, a_wrong_target_name_is_followed_by_the_right_ones)
{
	struct bdev_env env = { .timeout_ms = 2000, .initiator = "iqn.x:me" };

	begin();
	target.status = ISCSI_NOT_FOUND;
	cr_assert_eq(host_attach("iscsi://10.0.0.1/iqn.2024-01.test:none/0", &env), -ENOENT);
	bdev_suggest(loop, "iscsi://10.0.0.1/iqn.2024-01.test:none/0", &env, loop_clock(), &why);
	diag_says(&why, DIAG_NOT_FOUND, "10.0.0.1:3260",
		"name iscsi://10.0.0.1:3260/" IQN ", iscsi://10.0.0.1:3260/iqn.2024-01.test:two");
	/* a name of any form is the target's to judge */
	cr_assert_eq(host_attach("iscsi://10.0.0.1/kumo%2Fdisk/0", &env), -ENOENT);
	/* as Linux's target has it */
	diag_set(&why, DIAG_BUSY, EAGAIN, "unavailable");
	why.hint[0] = 0;
	bdev_suggest(loop, "iscsi://10.0.0.1/iqn.2024-01.test:none/0", &env, loop_clock(), &why);
	text_says(why.hint, IQN " iqn.2024-01.test:two");
	why.hint[0] = 0;
	bdev_suggest(loop, "iscsi://10.0.0.1/" IQN "/7", &env, loop_clock(), &why);
	cr_assert_str_eq(why.hint, "", "only its LUN is missing");
	end();
}

/* "No" is an invalid answer to an offer of "Yes" (RFC 7143, 13.18 and 13.19). */
Test(iscsi_ini, a_target_that_keeps_no_order)
{
	begin();
	target.no_pdu_order = true;
	refused("/0", EPROTO, DIAG_PROTOCOL, "DataPDUInOrder offered");
	begin();
	target.no_sequence_order = true;
	refused("/0", EPROTO, DIAG_PROTOCOL, "DataSequenceInOrder offered");
}

static void fails(uint8_t status, uint8_t key, uint8_t asc, uint8_t ascq, unsigned times)
{
	target.failing = times;
	target.fails_with = status;
	memcpy(target.sense, (uint8_t[]){ key, asc, ascq }, 3);
}

Test(iscsi_ini, a_disk_that_does_not_open)
{
	begin();
	target.only = 0x12 + 1;
	fails(2, 5, 0x25, 0, 1);
	refused("/5", ENOENT, DIAG_NOT_FOUND, "LUN _0");
	begin();
	target.no_luns = 1;
	refused("", ENOENT, DIAG_NOT_FOUND, "LUN access");
	begin();
	target.only = 1;
	fails(2, 2, 0x04, 0x02, 1000);
	refused("/0", EAGAIN, DIAG_BUSY, "START_UNIT 2h/04h/02h");
	begin();
	target.readonly = true;
	refused("/0", EROFS, DIAG_PERMISSION, "write_protected");
	begin();
	target.blocks = 0;
	refused("/0", EPROTO, DIAG_PROTOCOL, "last_block");
}

Test(iscsi_ini, errors_of_the_disk)
{
	begin();
	up("/0");
	fails(2, 3, 0x11, 0, 1);
	cr_assert_eq(one(IO_READ, 0, 0, 512), -EIO);
	text_says(disk->status_text(request[0].io.detail), "read medium");
	fails(0x18, 0, 0, 0, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), -EBUSY);
	text_says(disk->status_text(request[0].io.detail), "reservation");
	fails(2, 7, 0x27, 7, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), -ENOSPC);
	fails(2, 7, 0x27, 0, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), -EROFS);
	fails(2, 6, 0x29, 0, 3);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	cr_assert_eq(target.failing, 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

/* ---- Refused for now, or at this port: over `paths`. */

static void open_paths(const char *keys)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };
	char text[200];

	snprintf(text, sizeof(text), "iscsi://10.0.0.1/" IQN "/0?%s", keys);
	begin();
	host_open(text, &env);
	cr_assert_eq(pool_new(&pool, ROOM, COUNT, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

Test(iscsi_ini, what_is_refused_for_now_is_sent_again)
{
	static const uint8_t kinds[] = { IO_READ, IO_WRITE, IO_FLUSH, IO_TRIM, IO_ZERO };

	open_paths("loss=20");
	for (unsigned i = 0; i < sizeof(kinds); i++) {
		uint32_t len = kinds[i] == IO_FLUSH ? 0 : 512;

		fails(0x28, 0, 0, 0, 2); /* queue full */
		cr_assert_eq(one(kinds[i], 0, 0, len), 0);
		fails(2, 0xb, 0x47, 3, 2); /* aborted command */
		cr_assert_eq(one(kinds[i], 0, 0, len), 0);
		for (uint8_t ascq = 0xa; ascq <= 0xc;
			ascq++) { /* transition, standby, unavailable */
			fails(2, 2, 0x04, ascq, 3);
			cr_assert_eq(one(kinds[i], 0, 0, len), 0);
		}
		cr_assert_eq(target.failing, 0);
	}
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, what_this_port_cannot_do_another_does)
{
	open_paths("loss=fail-fast");
	fails(2, 2, 0x04, 0x0b, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), -EHOSTUNREACH);
	text_says(disk->status_text(request[0].io.detail), "standby");
	down();
	open_paths("loss=fail-fast&path=10.0.0.2");
	for (uint8_t ascq = 0xa; ascq <= 0xc; ascq++) {
		fails(2, 2, 0x04, ascq, 1);
		cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
		cr_assert_eq(target.failing, 0);
		run_ms(200);
	}
	down();
}

/* ---- Writes that a reset of the disk may have lost. */

static void attention(uint8_t opcode, uint8_t asc, uint8_t ascq)
{
	target.only = opcode + 1;
	fails(2, 6, asc, ascq, 1);
}

static unsigned notes;
static char noted[sizeof(why.text)];

static void listen_to(struct bdev *bdev)
{
	if (!bdev->why.err)
		return;
	notes++;
	memcpy(noted, bdev->why.text, sizeof(noted));
	diag_says(&bdev->why, DIAG_IO, NULL, "writes lost");
}

Test(iscsi_ini, a_flush_fails_after_a_power_failure_of_the_disk)
{
	begin();
	up("/0");
	disk->changed = listen_to;
	notes = 0;
	attention(0x2a, 0x29, 0); /* of the new session */
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	attention(0x35, 0x29, 3); /* another initiator resets the LUN */
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	attention(0x28, 0x29, 1);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0, "all was flushed");
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	attention(0x35, 0x29, 1);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), -EIO);
	text_says(disk->status_text(request[0].io.detail), "reset");
	text_says(noted, "reset");
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	cr_assert_eq(one(IO_WRITE, IO_FUA, 0, 512), -EIO);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), -EIO);
	attention(0x35, 0x29, 4);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), -EIO);
	run_ms(10);
	cr_assert_eq(target.failing, 0);
	cr_assert_eq(notes, 1);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, a_flush_fails_after_a_deferred_write_error)
{
	begin();
	up("/0");
	disk->changed = listen_to;
	notes = 0;
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	target.deferred = true;
	target.only = 0x28 + 1;
	fails(2, 3, 0x0c, 0, 1);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0, "it was not executed");
	cr_assert_eq(target.failing, 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), -EIO);
	text_says(disk->status_text(request[0].io.detail), "earlier failed");
	run_ms(10);
	cr_assert_eq(notes, 1);
	down();
}

static void behind_a_write(uint8_t flags, int status)
{
	begin();
	target.no_fua = true;
	up("/0");
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	attention(0x35, 0x29, 0);
	cr_assert_eq(one(IO_WRITE, flags, 0, 512), status);
	down();
}

Test(iscsi_ini, a_power_failure_between_a_forced_write_and_its_flush)
{
	behind_a_write(IO_FUA, -EIO);
	behind_a_write(0, 0);
}

static char reported[1000];

static void report(struct bdev *bdev, bool bad, const char *line)
{
	(void)bdev, (void)bad;
	snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "%s\n", line);
}

/* The watching session notices it, all connections are lost, and no flush has been sent yet. */
Test(iscsi_ini, a_power_failure_is_remembered_over_reconnects)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };
	struct io io = { .kind = IO_FLUSH };

	begin();
	cr_assert_eq(bdev_open(&disk, loop, "iscsi://10.0.0.1/" IQN "/0?loss=forever", &env, &why),
		0, "%s", why.text);
	disk->report = report;
	cr_assert_eq(lane_open(&lane, disk, loop, &why), 0, "%s", why.text);
	cr_assert_eq(pool_new(&pool, ROOM, COUNT, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	run_ms(6000);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	attention(0x9e, 0x29, 1);
	run_ms(6000);
	cr_assert_eq(target.failing, 0);
	text_says(reported, "iscsi://10.0.0.1/" IQN "/0?loss=forever: reset lost flushes");
	cr_assert_eq(strchr(reported, '\n')[1], 0, "one line: %s", reported);
	for (unsigned i = 0; i < 2; i++)
		hang_up(pipe_number(i));
	run_ms(1000);
	text_says(reported, "restored");
	cr_assert_eq(bdev_io_wait(lane, &io, 5000), -EIO);
	io = (struct io){ .kind = IO_FLUSH };
	cr_assert_eq(bdev_io_wait(lane, &io, 5000), -EIO);
	down();
}

/* Another initiator turns it on. */
Test(iscsi_ini, a_write_cache_that_is_turned_on_is_flushed)
{
	begin();
	target.no_cache = target.no_fua = true;
	up("/0");
	attention(0x2a, 0x29, 0); /* of the new session */
	cr_assert_eq(one(IO_WRITE, IO_FUA, 0, 512), 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(target.flushes, 0);
	attention(0x2a, 0x2a, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(target.flushes, 1);
	cr_assert_eq(one(IO_WRITE, IO_FUA, 0, 512), 0);
	cr_assert_eq(target.flushes, 2);
	down();
}

static void no_flush_command(void)
{
	target.only = 0x35 + 1;
	fails(2, 5, 0x20, 0, 2);
}

/* Neither the caching mode page nor SYNCHRONIZE CACHE. */
Test(iscsi_ini, a_disk_that_cannot_be_flushed_has_no_write_cache)
{
	begin();
	target.small = true;
	up("/0");
	no_flush_command();
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(target.failing, 1);
	cr_assert_eq(one(IO_WRITE, IO_FUA, 0, 512), 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(target.failing, 1, "asked once");
	attention(0x28, 0x29, 1);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0, "no cache that could lose a write");
	down();
	begin();
	target.small = true;
	up("/0");
	no_flush_command();
	cr_assert_eq(one(IO_WRITE, IO_FUA, 0, 512), 0, "a flush behind a write");
	cr_assert_eq(target.failing, 1);
	down();
	begin();
	up("/0");
	no_flush_command();
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), -ENOTSUP, "its page reports a cache");
	text_says(disk->status_text(request[0].io.detail), "command");
	down();
}

static bool status_in_data(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;

	(void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || cmd->cdb[0] != 0x35)
		return true;
	give_data_in(pipe, get_be32(bhs->itt), 0, NULL, 0, ISCSI_FINAL | ISCSI_STATUS, 0);
	return false;
}

Test(iscsi_ini, a_status_of_no_data_in_a_data_in)
{
	begin();
	up("/0");
	target.script = status_in_data;
	cr_assert_eq(one(IO_FLUSH, 0, 0, 0), 0);
	down();
}

/* ---- A target that lies to the first read or write. */

enum lie {
	LIE_NONE,
	LIE_OVERFLOW,
	LIE_UNDERFLOW,
	LIE_RESERVED_BITS,
	LIE_GOOD_WITHOUT_DATA,
	LIE_HALF_A_READ,
	LIE_FAILURE,
	LIE_FAILURE_SENSE,
	LIE_LONG_SENSE,
	LIE_ODD_SENSE,
	LIE_TWICE,
	LIE_BEYOND,
	LIE_GAP,
	LIE_OVERLAP,
	LIE_HUGE,
	LIE_DATASN,
	LIE_FOR_A_WRITE,
	LIE_R2T_OF_READ,
	LIE_R2T_BEYOND,
	LIE_R2T_LATER,
	LIE_R2T_EMPTY,
	LIE_R2T_LONG,
	LIE_R2T_NO_TAG,
	LIE_R2T_THIRD,
	LIE_R2TSN,
	LIE_AFTER_STATUS,
	LIE_STATSN,
	LIE_OLD_STATSN,
	LIE_LOGOUT,
	LIE_LOGIN,
	LIE_TEXT,
	LIE_TASK,
	LIE_TASK_ABORTED,
	LIE_PONG,
	LIE_PONG_TAG,
	LIE_AHS,
	LIE_LONG_TEXT,
	LIE_SENSE,
	LIE_REJECT,
	LIE_DROP,
	LIE_DROP_ALL,
	LIE_HEADER_DIGEST,
	LIE_DATA_DIGEST,
	LIE_HANG_UP,
	LIE_HALF_A_PDU,
	LIE_WINDOW_BACK,
};
static enum lie lie;

static void give_raw(struct pipe *pipe, uint8_t opcode, uint8_t ahs, uint32_t len)
{
	struct iscsi_bhs bhs = { .opcode = opcode, .flags = ISCSI_FINAL, .ahs_len = ahs };

	put_numbers(pipe, &bhs, true);
	give(pipe, &bhs, NULL, 0);
	bhs.data_len = put_be24(len);
	memcpy(pipe->in + pipe->to - ISCSI_BHS, &bhs, ISCSI_BHS);
}

/* CHECK CONDITION, reset, with so many bytes of sense data. */
static void give_sense(struct pipe *pipe, uint32_t itt, uint8_t response, uint8_t key, uint16_t len)
{
	static uint8_t sense[2 + 8000];
	struct iscsi_scsi_rsp rsp = { .opcode = ISCSI_SCSI_RSP,
		.flags = ISCSI_FINAL,
		.response = response,
		.status = 2,
		.itt = put_be32(itt) };

	memset(sense, 0, sizeof(sense));
	wire_put_be(sense, 2, len);
	memcpy(sense + 2, (uint8_t[]){ 0x70, 0, key, [7] = 10, [12] = 0x29 }, 13);
	put_numbers(pipe, &rsp, true);
	give(pipe, &rsp, sense, 2u + len);
}

static void tell_lie(struct pipe *pipe, uint32_t itt, uint32_t len)
{
	const uint8_t *p = target.disk;
	const uint8_t last = ISCSI_FINAL | ISCSI_STATUS;

	switch (lie) {
	case LIE_NONE:
		break;
	case LIE_OVERFLOW:
		give_data_in(pipe, itt, 0, p, len, last | ISCSI_OVERFLOW, 512);
		break;
	case LIE_UNDERFLOW:
		give_data_in(pipe, itt, 0, p, len, last | ISCSI_UNDERFLOW, 512);
		break;
	case LIE_RESERVED_BITS:
		give_data_in(pipe, itt, 0, p, len, ISCSI_FINAL, 0);
		give_status(pipe, itt, 0x80, 0, 0);
		break;
	case LIE_GOOD_WITHOUT_DATA:
		give_status(pipe, itt, 0, 0, 0);
		break;
	case LIE_HALF_A_READ:
		give_data_in(pipe, itt, 0, p, len / 2, last, 0);
		break;
	case LIE_FAILURE:
		give_plain(pipe, ISCSI_SCSI_RSP, itt, 1, true);
		break;
	case LIE_FAILURE_SENSE:
		give_sense(pipe, itt, 1, 6, 18);
		break;
	case LIE_LONG_SENSE:
		give_sense(pipe, itt, 0, 3, 8000);
		break;
	case LIE_ODD_SENSE:
		give_sense(pipe, itt, 0, 3, 17);
		break;
	case LIE_TWICE:
		give_data_in(pipe, itt, 0, p, len, last, 0);
		pipe->statsn--;
		give_data_in(pipe, itt, 0, p, len, last, 0);
		break;
	case LIE_BEYOND:
		give_data_in(pipe, itt, 0, p, len + 4, last, 0);
		break;
	case LIE_GAP:
		give_data_in(pipe, itt, 512, p, 512, last, 0);
		break;
	case LIE_OVERLAP:
		give_data_in(pipe, itt, 0, p, 512, 0, 0);
		give_data_in(pipe, itt, 256, p, 512, 0, 0);
		break;
	case LIE_HUGE:
		give_raw(pipe, ISCSI_DATA_IN, 0, 0xffffff);
		((struct iscsi_data_in *)(void *)(pipe->in + pipe->to - ISCSI_BHS))->itt =
			put_be32(itt);
		break;
	case LIE_DATASN:
		next_sn(pipe, itt);
		give_data_in(pipe, itt, 0, p, len, last, 0);
		break;
	case LIE_FOR_A_WRITE:
		give_data_in(pipe, itt, 0, p, 512, 0, 0);
		break;
	case LIE_R2T_OF_READ:
		give_r2t(pipe, itt, 1, 0, 512);
		break;
	case LIE_R2T_BEYOND:
		give_r2t(pipe, itt, 1, 0, len + 1);
		break;
	case LIE_R2T_LATER:
		give_r2t(pipe, itt, 1, 512, 512);
		break;
	case LIE_R2T_EMPTY:
		give_r2t(pipe, itt, 1, 0, 0);
		break;
	case LIE_R2T_LONG:
		give_r2t(pipe, itt, 1, 0, len);
		break;
	case LIE_R2T_NO_TAG:
		give_r2t(pipe, itt, ISCSI_NO_TAG, 0, 512);
		break;
	case LIE_R2T_THIRD:
		give_r2t(pipe, itt, 1, 0, 512);
		give_r2t(pipe, itt, 2, 512, 512);
		give_r2t(pipe, itt, 3, 512, 512);
		break;
	case LIE_R2TSN:
		next_sn(pipe, itt);
		give_r2t(pipe, itt, 1, 0, 512);
		break;
	case LIE_AFTER_STATUS:
		give_data_in(pipe, itt, 0, p, len, ISCSI_FINAL, 0);
		give_status(pipe, itt, 0, 0, 0);
		give_data_in(pipe, itt, 0, p, len, ISCSI_FINAL, 0);
		break;
	case LIE_STATSN:
		pipe->statsn++;
		give_data_in(pipe, itt, 0, p, len, last, 0);
		break;
	case LIE_OLD_STATSN:
		pipe->statsn--;
		give_data_in(pipe, itt, 0, p, len, last, 0);
		break;
	case LIE_LOGOUT:
		give_plain(pipe, ISCSI_LOGOUT_RSP, 0, 0, true);
		break;
	case LIE_LOGIN:
		give_plain(pipe, ISCSI_LOGIN_RSP, 1, 0, true);
		break;
	case LIE_TEXT:
		give_plain(pipe, ISCSI_TEXT_RSP, ISCSI_NO_TAG, 0, true);
		break;
	case LIE_TASK:
		give_plain(pipe, ISCSI_TASK_RSP, itt, 0, true);
		break;
	case LIE_TASK_ABORTED:
		give_plain(pipe, ISCSI_TASK_RSP, itt | ABORT, 0, true);
		break;
	case LIE_PONG:
		give_nop(pipe, 77, ISCSI_NO_TAG);
		break;
	case LIE_PONG_TAG:
		give_nop(pipe, PING, ISCSI_NO_TAG);
		break;
	case LIE_AHS:
		give_raw(pipe, ISCSI_SCSI_RSP, 2, 0);
		break;
	case LIE_LONG_TEXT:
		give_raw(pipe, ISCSI_ASYNC, 0, 8193);
		break;
	case LIE_SENSE: {
		struct iscsi_scsi_rsp rsp = {
			.opcode = ISCSI_SCSI_RSP, .status = 2, .itt = put_be32(itt)
		};

		put_numbers(pipe, &rsp, true);
		give(pipe, &rsp, "\0\7\x70", 4);
		break;
	}
	case LIE_REJECT:
		give_plain(pipe, ISCSI_REJECT, ISCSI_NO_TAG, 4, true);
		break;
	case LIE_DROP:
		give_async(pipe, ISCSI_ASYNC_DROP, 0);
		break;
	case LIE_DROP_ALL:
		give_async(pipe, ISCSI_ASYNC_DROP_ALL, 0);
		break;
	case LIE_HEADER_DIGEST:
	case LIE_DATA_DIGEST:
		target.spoil = lie == LIE_HEADER_DIGEST ? 1 : 2;
		give_data_in(pipe, itt, 0, p, len, last, 0);
		break;
	case LIE_HANG_UP:
		hang_up(pipe);
		break;
	case LIE_HALF_A_PDU:
		give_data_in(pipe, itt, 0, p, len, last, 0);
		pipe->to -= len / 2;
		hang_up(pipe);
		break;
	case LIE_WINDOW_BACK:
		pipe->max_cmdsn -= 100;
		target.window = 0;
		give_data_in(pipe, itt, 0, p, len, last, 0);
		pipe->max_cmdsn += 100;
		target.window = 32;
		break;
	}
}

static bool lies(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;
	enum lie now = lie;

	(void)data, (void)len;
	if (!lie || ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || !is_rw(cmd->cdb))
		return true;
	tell_lie(pipe, get_be32(bhs->itt), get_be32(cmd->expected));
	lie = LIE_NONE;
	return now == LIE_NONE;
}

/* The request ends with this status, and the lane stays; or with its end. */
static void lied(enum lie what, uint8_t kind, int status)
{
	begin();
	target.digests = true;
	target.immediate = false;
	target.initial_r2t = true;
	target.max_burst = target.r2t = 4096;
	up(what == LIE_HEADER_DIGEST || what == LIE_DATA_DIGEST ? "/0?hdr_digest=1&data_digest=1"
								: "/0");
	target.script = lies;
	lie = what;
	cr_assert_eq(one(kind, 0, 0, 8192), status, "lie %u: %d", what, request[0].io.status);
	run_ms(10);
	cr_assert_eq(request[0].dones, 1);
}

static void breaks(enum lie what, uint8_t kind, enum diag_code code, const char *words)
{
	lied(what, kind, -ENOTCONN);
	cr_assert_eq(lane->state, LANE_DOWN, "lie %u", what);
	diag_says(&lane->why, code, "10.0.0.1:3260", words);
	down();
}

static void only_fails(enum lie what, uint8_t kind, int status)
{
	lied(what, kind, status);
	cr_assert_eq(lane->state, LANE_UP, "lie %u: %s", what, lane->why.text);
	lie = LIE_NONE;
	cr_assert_eq(one(kind, 0, 0, 8192), 0, "the session continues");
	down();
}

Test(iscsi_ini, data_that_is_too_little_or_too_much_is_no_success)
{
	only_fails(LIE_OVERFLOW, IO_READ, -EIO);
	only_fails(LIE_UNDERFLOW, IO_READ, -EIO);
	only_fails(LIE_HALF_A_READ, IO_READ, -EIO);
	only_fails(LIE_GOOD_WITHOUT_DATA, IO_READ, -EIO);
}

Test(iscsi_ini, a_status_with_reserved_bits_is_no_success)
{
	only_fails(LIE_RESERVED_BITS, IO_READ, -EIO);
}

Test(iscsi_ini, success_of_a_write_without_a_transfer)
{
	breaks(LIE_GOOD_WITHOUT_DATA, IO_WRITE, DIAG_PROTOCOL, "success data");
}

/* Only this command fails: the session stays, and the command is not retried forever. */
Test(iscsi_ini, a_command_that_the_target_fails_to_execute)
{
	only_fails(LIE_FAILURE, IO_READ, -EIO);
	only_fails(LIE_FAILURE, IO_WRITE, -EIO);
	only_fails(LIE_FAILURE_SENSE, IO_READ, -EIO); /* not a unit attention */
}

Test(iscsi_ini, sense_data_of_any_length)
{
	begin();
	up("/0?depth=1");
	target.script = lies;
	lie = LIE_LONG_SENSE;
	cr_assert_eq(one(IO_READ, 0, 0, 512), -EIO);
	text_says(disk->status_text(request[0].io.detail), "medium");
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	down();
	begin();
	target.digests = true;
	up("/0?hdr_digest=1&data_digest=1");
	target.script = lies;
	lie = LIE_ODD_SENSE;
	cr_assert_eq(one(IO_READ, 0, 0, 512), -EIO);
	cr_assert_eq(lane->state, LANE_UP, "%s", lane->why.text);
	down();
}

Test(iscsi_ini, a_window_that_goes_back_changes_nothing)
{
	only_fails(LIE_WINDOW_BACK, IO_READ, 0);
}

/* A NOP-In that needs no answer, with these numbers. */
static void give_window(struct pipe *pipe, uint32_t exp, uint32_t max)
{
	struct iscsi_scsi_rsp nop = { .opcode = ISCSI_NOP_IN,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.statsn = put_be32(pipe->statsn),
		.exp_cmdsn = put_be32(exp),
		.max_cmdsn = put_be32(max) };

	/* of the target transfer tag */
	((struct iscsi_nop *)(void *)&nop)->ttt = put_be32(ISCSI_NO_TAG);
	give(pipe, &nop, NULL, 0);
	run_ms(10);
}

/* By a PDU that was sent earlier. */
Test(iscsi_ini, a_window_does_not_close_again)
{
	begin();
	target.window = 4;
	up("/0");
	give_window(pipe_number(1), pipe_number(1)->exp_cmdsn, pipe_number(1)->exp_cmdsn - 1);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	down();
}

/* The fake asserts that no command leaves outside the window. */
Test(iscsi_ini, an_absurd_window_changes_nothing)
{
	uint32_t next;

	begin();
	target.window = 1;
	up("/0");
	target.window = 0; /* the next answer closes it */
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	next = pipe_number(1)->exp_cmdsn;
	finished = target.reads = 0;
	submit(0, IO_READ, 0, 0, 512);
	give_window(pipe_number(1), next + 100, next + 10);
	cr_assert_eq(target.reads, 0);
	target.window = 1;
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

Test(iscsi_ini, lies_about_data)
{
	breaks(LIE_BEYOND, IO_READ, DIAG_PROTOCOL, "beyond");
	breaks(LIE_GAP, IO_READ, DIAG_PROTOCOL, "order");
	breaks(LIE_OVERLAP, IO_READ, DIAG_PROTOCOL, "order");
	breaks(LIE_HUGE, IO_READ, DIAG_PROTOCOL, "beyond");
	breaks(LIE_DATASN, IO_READ, DIAG_PROTOCOL, "order");
	breaks(LIE_FOR_A_WRITE, IO_WRITE, DIAG_PROTOCOL, "no_read");
	breaks(LIE_HEADER_DIGEST, IO_READ, DIAG_PROTOCOL, "header_digest");
	breaks(LIE_DATA_DIGEST, IO_READ, DIAG_PROTOCOL, "data_digest");
	breaks(LIE_HALF_A_PDU, IO_READ, DIAG_CLOSED, "closed");
	breaks(LIE_HANG_UP, IO_WRITE, DIAG_CLOSED, "closed");
}

Test(iscsi_ini, lies_about_data_that_is_wanted)
{
	breaks(LIE_R2T_OF_READ, IO_READ, DIAG_PROTOCOL, "no_write");
	breaks(LIE_R2T_BEYOND, IO_WRITE, DIAG_PROTOCOL, "beyond");
	breaks(LIE_R2T_LATER, IO_WRITE, DIAG_PROTOCOL, "order");
	breaks(LIE_R2T_EMPTY, IO_WRITE, DIAG_PROTOCOL, "order");
	breaks(LIE_R2T_LONG, IO_WRITE, DIAG_PROTOCOL, "agreed");
	breaks(LIE_R2T_NO_TAG, IO_WRITE, DIAG_PROTOCOL, "order");
	breaks(LIE_R2T_THIRD, IO_WRITE, DIAG_PROTOCOL, "order");
	breaks(LIE_R2TSN, IO_WRITE, DIAG_PROTOCOL, "order");
}

Test(iscsi_ini, pdus_out_of_place)
{
	breaks(LIE_LOGOUT, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_LOGIN, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_TEXT, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_TASK, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_TASK_ABORTED, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_PONG, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_PONG_TAG, IO_READ, DIAG_PROTOCOL, "not_asked");
	breaks(LIE_AHS, IO_READ, DIAG_PROTOCOL, "additional");
	breaks(LIE_LONG_TEXT, IO_READ, DIAG_PROTOCOL, "too_long");
	breaks(LIE_SENSE, IO_READ, DIAG_PROTOCOL, "sense");
	breaks(LIE_REJECT, IO_READ, DIAG_PROTOCOL, "reject");
	breaks(LIE_DROP, IO_READ, DIAG_CLOSED, "ends");
	breaks(LIE_DROP_ALL, IO_READ, DIAG_CLOSED, "ends");
	breaks(LIE_STATSN, IO_READ, DIAG_PROTOCOL, "number");
	breaks(LIE_OLD_STATSN, IO_READ, DIAG_PROTOCOL, "number");
}

static bool gives_too_much(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;

	(void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || !is_rw(cmd->cdb))
		return true;
	give_data_in(pipe, get_be32(bhs->itt), 0, target.disk, (256u << 10) + 4, ISCSI_FINAL, 0);
	return false;
}

/* The read is for more. */
Test(iscsi_ini, a_data_segment_beyond_the_limit)
{
	struct pool *large;

	begin();
	up("/0");
	cr_assert_eq(pool_new(&large, 512u << 10, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, large, NULL), 0);
	target.script = gives_too_much;
	finished = 0;
	request[0].dones = 0;
	request[0].buf = pool_buf(large, 0);
	request[0].io = (struct io){ .kind = IO_READ,
		.len = 512u << 10,
		.buf = &request[0].buf,
		.done = done,
		.lower = request[0].lower };
	bdev_submit(lane, &request[0].io);
	turns_until(1);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	run_ms(1);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "data_segment limit agreed");
	lane_unmap(lane, large);
	pool_free(large);
	down();
}

/* ---- An answer that comes twice must not end the next command, which has the same place. */

static void read_next(struct io *io)
{
	finished++;
	memset(pool_buf(pool, 1).p, 0xee, 512);
	submit(1, IO_READ, 0, 65536, 8192);
	(void)io;
}

static void answered_twice(enum lie what)
{
	begin();
	up("/0?depth=1");
	memset(target.disk + 65536, 7, 8192);
	target.script = lies;
	lie = what;
	finished = 0;
	request[0].io.status = -1;
	submit(0, IO_READ, 0, 0, 8192);
	request[0].io.done = read_next;
	turns_until(2);
	cr_assert_eq(request[0].io.status, 0);
	cr_assert(request[1].io.status == -ENOTCONN ||
			  (!request[1].io.status && pool_buf(pool, 1).p[0] == 7),
		"success over another's data");
	run_ms(10);
	cr_assert_eq(lane->state, LANE_DOWN);
	down();
}

Test(iscsi_ini, an_answer_that_comes_twice)
{
	answered_twice(LIE_TWICE);
	answered_twice(LIE_AFTER_STATUS);
}

/* ---- Early answers. */

static unsigned early;

/* An error after the first part of the data: the rest of the burst is dropped. */
static bool fails_early(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;

	(void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || !is_rw(cmd->cdb) || early++)
		return true;
	memcpy(target.sense, (uint8_t[]){ 7, 0x27, 0 }, 3);
	give_status(pipe, get_be32(bhs->itt), 2, 0, 0);
	return false;
}

/* What waits for its place must not wait for another PDU of the target. */
Test(iscsi_ini, an_early_error_makes_room_for_the_next)
{
	begin();
	target.recv = 512;
	up("/0?depth=1");
	target.script = fails_early;
	target.delayed_sent = true;
	early = finished = 0;
	submit(0, IO_WRITE, 0, 0, 65536);
	submit(1, IO_READ, 0, 0, 512);
	for (unsigned i = 0; i < 100; i++) {
		run_ms(1);
		tell_sent(pipe_number(1));
	}
	cr_assert_eq(request[0].io.status, -EROFS);
	cr_assert_eq(finished, 2);
	cr_assert_eq(request[1].io.status, 0);
	down();
}

/* The place of a command that was answered early is free when it has left, and the window may be
 * closed then. */
Test(iscsi_ini, an_early_error_does_not_open_the_window)
{
	begin();
	target.recv = 512;
	target.window = 1;
	up("/0");
	target.script = fails_early;
	target.delayed_sent = true;
	target.window = 0;
	early = finished = target.reads = 0;
	submit(0, IO_WRITE, 0, 0, 65536);
	submit(1, IO_READ, 0, 0, 512);
	for (unsigned i = 0; i < 100; i++) {
		run_ms(1);
		tell_sent(pipe_number(1));
	}
	cr_assert_eq(finished, 1);
	cr_assert_eq(target.reads, 0);
	target.delayed_sent = false;
	target.window = 1;
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
	turns_until(2);
	cr_assert_eq(request[1].io.status, 0);
	down();
}

/* It has its answer, so that an abort would prove nothing. */
Test(iscsi_ini, an_answered_command_that_never_leaves_is_not_aborted)
{
	begin();
	target.recv = 512;
	up("/0");
	target.script = fails_early;
	target.delayed_sent = true;
	early = finished = target.aborts = 0;
	submit(0, IO_WRITE, 0, 0, 65536);
	turns_until(1);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_eq(target.aborts, 0);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "write time");
	down();
}

static unsigned data_outs[2], finals; /* of each burst; of both */

static bool fails_in_the_first;

/* Two bursts are asked for at once; the first Data-Out is answered with an error, or the last one
 * with success. */
static bool asks_for_two_bursts(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;
	const struct iscsi_data_out *out = (const void *)bhs;
	uint32_t itt = get_be32(bhs->itt), all = get_be32(cmd->expected);

	(void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_SCSI_CMD && is_rw(cmd->cdb) && !early++) {
		give_r2t(pipe, itt, 0, 0, all / 2);
		give_r2t(pipe, itt, 1, all / 2, all / 2);
		return false;
	}
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_DATA_OUT)
		return true;
	finals += !!(out->flags & ISCSI_FINAL);
	cr_assert_lt(get_be32(out->ttt), 2);
	cr_assert_eq(get_be32(out->datasn), data_outs[get_be32(out->ttt)]++);
	cr_assert_eq(get_be32(out->offset), (data_outs[0] + data_outs[1] - 1) * 512);
	if (fails_in_the_first && data_outs[0] + data_outs[1] == 1) {
		memcpy(target.sense, (uint8_t[]){ 7, 0x27, 0 }, 3);
		give_status(pipe, itt, 2, 0, 0);
	} else if (finals == 2) {
		give_status(pipe, itt, 0, 0, 0);
	}
	return false;
}

/* More Data-Outs than leave together. */
static void two_bursts(bool fails, int status)
{
	begin();
	target.immediate = false;
	target.initial_r2t = true;
	target.recv = 512;
	up("/0?depth=1");
	target.script = asks_for_two_bursts;
	target.slow = 1;
	fails_in_the_first = fails;
	early = finished = finals = data_outs[0] = data_outs[1] = 0;
	submit(0, IO_WRITE, 0, 0, 65536);
	turns_until(1);
	cr_assert_eq(request[0].io.status, status);
	cr_assert_eq(data_outs[0], 64);
}

Test(iscsi_ini, a_burst_begins_behind_the_one_before)
{
	two_bursts(false, 0);
	cr_assert_eq(data_outs[1], 64);
	down();
}

/* The answer comes with the first Data-Out. */
Test(iscsi_ini, a_burst_that_has_begun_is_sent_to_its_end_and_no_other)
{
	two_bursts(true, -EROFS);
	cr_assert_eq(data_outs[1], 0);
	cr_assert_eq(finals, 1);
	target.script = NULL;
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

/* ---- Silence. */

static unsigned unanswered;
static uint32_t last_itt;

static bool keeps_silent(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;

	(void)pipe, (void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || !is_rw(cmd->cdb) || !unanswered)
		return true;
	unanswered--;
	last_itt = get_be32(bhs->itt);
	return false;
}

/* The others go on, and the same command is given once more. */
Test(iscsi_ini, an_overdue_command_is_aborted_and_sent_again)
{
	uint64_t from;

	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	from = loop_clock();
	cr_assert_eq(one(IO_WRITE, 0, 0, 65536), 0);
	cr_assert_geq(loop_clock() - from, 30000000000ull);
	cr_assert_eq(target.aborts, 1);
	cr_assert_eq(target.writes, 1);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

/* The second time, another path or a new session is to be tried. */
Test(iscsi_ini, but_only_once)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1000;
	cr_assert_eq(one(IO_READ, 0, 0, 512), -ENOTCONN);
	cr_assert_eq(target.aborts, 1);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

/* Each has a time limit of its own, also while another is aborted. */
Test(iscsi_ini, several_overdue_commands)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 3;
	finished = target.aborts = 0;
	for (unsigned i = 0; i < 5; i++) {
		submit(i, IO_WRITE, 0, i * 65536, 65536);
		run_ms(1000);
	}
	cr_assert_eq(finished, 2);
	run_ms(24000);
	cr_assert_eq(target.aborts, 0);
	run_ms(5000);
	cr_assert_eq(target.aborts, 3);
	turns_until(5);
	cr_assert_eq(target.writes, 5);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static uint8_t abort_response;

static bool aborts_badly(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_TASK_REQ)
		return keeps_silent(pipe, bhs, data, len);
	target.aborts++;
	if (abort_response == 1) /* it has just ended */
		give_read(pipe, last_itt, target.disk, 512);
	if (abort_response != 0xee)
		give_plain(pipe, ISCSI_TASK_RSP, get_be32(bhs->itt), abort_response, true);
	return false;
}

Test(iscsi_ini, a_command_that_ends_before_its_abort)
{
	begin();
	up("/0");
	target.script = aborts_badly;
	unanswered = abort_response = 1;
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(target.aborts, 1);
	cr_assert_eq(target.reads, 0);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static uint32_t kept_itt[2];
static unsigned kept;

/* Reads are not answered, and an abort of the first one as if it were of the second one. */
static bool aborts_another(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;

	(void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_TASK_REQ) {
		target.aborts++;
		cr_assert_eq(get_be32(bhs->itt), kept_itt[0] | ABORT);
		give_plain(pipe, ISCSI_TASK_RSP, kept_itt[1] | ABORT, ISCSI_TASK_COMPLETE, true);
		return false;
	}
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD || !is_rw(cmd->cdb))
		return true;
	if (kept < 2)
		kept_itt[kept] = get_be32(bhs->itt);
	kept++;
	return false;
}

static void two_kept(void)
{
	begin();
	up("/0");
	target.script = aborts_another;
	kept = finished = target.aborts = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(15000);
	submit(1, IO_READ, 0, 512, 512);
}

/* A second try of a command that may still be executed would be one too many. */
Test(iscsi_ini, the_answer_to_an_abort_ends_no_other_command)
{
	two_kept();
	run_ms(16000);
	cr_assert_eq(target.aborts, 1);
	cr_assert_eq(kept, 2);
	cr_assert_eq(finished, 0);
	give_read(pipe_number(1), kept_itt[1], target.disk + 512, 512);
	turns_until(1);
	cr_assert_eq(request[1].io.status, 0);
	turns_until(2);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	run_ms(1);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

/* The tag of the command, which is not that of the abort. */
Test(iscsi_ini, an_abort_is_answered_by_its_own_tag)
{
	two_kept();
	target.script = aborts_badly; /* not at all */
	abort_response = 0xee;
	unanswered = 1000;
	run_ms(15500);
	cr_assert_eq(target.aborts, 1);
	give_plain(pipe_number(1), ISCSI_TASK_RSP, kept_itt[0], ISCSI_TASK_COMPLETE, true);
	run_ms(10);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "not_asked");
	down();
}

static void abort_fails(uint8_t response)
{
	begin();
	up("/0");
	target.script = aborts_badly;
	unanswered = 1;
	abort_response = response;
	cr_assert_eq(one(IO_READ, 0, 0, 512), -ENOTCONN);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

static void many_overdue(unsigned count)
{
	finished = target.aborts = 0;
	unanswered = count;
	for (unsigned i = 0; i < count; i++)
		submit(i, IO_READ, 0, i * 512, 512);
	turns_until(count);
}

/* More aborts than a carrier can send at once. */
Test(iscsi_ini, many_commands_overdue_at_once)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	many_overdue(30);
	for (unsigned i = 0; i < 30; i++)
		cr_assert_eq(request[i].io.status, 0);
	cr_assert_eq(target.aborts, 30);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, many_aborts_without_an_answer)
{
	begin();
	up("/0");
	target.script = aborts_badly;
	abort_response = 0xee;
	many_overdue(30);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_leq(target.aborts, 4);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

/* It may still be executed, which only the end of the session tells. */
Test(iscsi_ini, a_target_that_does_not_abort)
{
	abort_fails(ISCSI_TASK_UNSUPPORTED);
	abort_fails(ISCSI_TASK_REJECTED);
	abort_fails(0xee); /* no answer */
}

static bool mute(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)bhs, (void)data, (void)len;
	return pipe->number == 0;
}

Test(iscsi_ini, an_idle_session_is_pinged)
{
	begin();
	up("/0");
	target.pings = 0;
	run_ms(60000);
	cr_assert_geq(target.pings, 5);
	cr_assert_leq(target.pings, 30);
	cr_assert_eq(lane->state, LANE_UP);
	target.script = mute;
	run_ms(60000);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "ping");
	down();
}

static uint32_t kept_ping;
static unsigned kept_pings;

static bool keeps_pings(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data, (void)len;
	if (pipe->number != 1 || ISCSI_OPCODE(bhs->opcode) != ISCSI_NOP_OUT ||
		get_be32(bhs->itt) == ISCSI_NO_TAG)
		return true;
	kept_ping = get_be32(bhs->itt);
	kept_pings++;
	return false;
}

/* Two of one tag would have two answers. */
Test(iscsi_ini, one_ping_at_a_time)
{
	begin();
	up("/0");
	target.script = keeps_pings;
	for (unsigned i = 0; i < 4; i++) {
		run_ms(11000);
		give_nop(pipe_number(1), ISCSI_NO_TAG, i);
	}
	run_ms(1);
	cr_assert_eq(kept_pings, 1);
	cr_assert_eq(kept_ping, PING);
	give_nop(pipe_number(1), kept_ping, ISCSI_NO_TAG);
	run_ms(11000);
	cr_assert_eq(kept_pings, 2);
	cr_assert_eq(lane->state, LANE_UP);
	give_nop(pipe_number(1), kept_ping - 1, ISCSI_NO_TAG);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "not_asked");
	down();
}

static bool mute_of_pings(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data, (void)len;
	return pipe->number != 1 || ISCSI_OPCODE(bhs->opcode) != ISCSI_NOP_OUT;
}

/* One PDU of data that takes 25 s; no other can come within it. */
Test(iscsi_ini, data_is_a_sign_of_life)
{
	struct pipe *pipe;
	uint32_t end;

	begin();
	target.piece = 65536;
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = 0;
	submit(0, IO_READ, 0, 0, 65536);
	run_ms(1);
	pipe = pipe_number(1);
	cr_assert_eq(pipe->to, 0);
	give_read(pipe, last_itt, target.disk, 65536);
	end = pipe->to;
	target.script = mute_of_pings;
	for (pipe->to = 2048; pipe->to + 2048 < end; pipe->to += 2048) {
		uint32_t at = pipe->to;

		run_ms(800);
		cr_assert_eq(lane->state, LANE_UP, "%s", lane->why.text);
		if (!pipe->to) /* all of it was read */
			pipe->from = pipe->to = at;
	}
	pipe->to = end;
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

Test(iscsi_ini, a_window_that_stays_closed)
{
	begin();
	target.window = 1;
	up("/0");
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	target.window = 0; /* the last answer opens no more */
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	cr_assert_eq(one(IO_READ, 0, 0, 512), -ENOTCONN);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "takes_no_command");
	down();
}

Test(iscsi_ini, a_window_that_opens_after_a_delay)
{
	begin();
	target.window = 1;
	up("/0");
	target.window = 0;
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	finished = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(8000);
	cr_assert_eq(finished, 0);
	target.window = 1;
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

Test(iscsi_ini, a_target_that_takes_no_first_command)
{
	begin();
	target.window = 0;
	refused("/0", ETIMEDOUT, DIAG_TIMEOUT, "takes_no_command");
}

/* ---- What the target asks for. */

static uint32_t pong_ttt;

static bool notes_pongs(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_nop *nop = (const void *)bhs;

	(void)pipe, (void)data, (void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_NOP_OUT && get_be32(bhs->itt) == ISCSI_NO_TAG)
		pong_ttt = get_be32(nop->ttt);
	return true;
}

Test(iscsi_ini, pings_are_answered)
{
	begin();
	up("/0");
	target.script = notes_pongs;
	for (uint32_t i = 0; i < 20; i++) {
		give_nop(pipe_number(1), ISCSI_NO_TAG, i);
		run_ms(1);
		cr_assert_eq(pong_ttt, i);
	}
	cr_assert_eq(target.pongs, 20);
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG); /* needs no answer */
	run_ms(1);
	cr_assert_eq(target.pongs, 20);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, more_pings_than_anyone_answers)
{
	begin();
	up("/0");
	for (uint32_t i = 0; i < 20; i++)
		give_nop(pipe_number(1), ISCSI_NO_TAG, i);
	run_ms(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "NOP-In");
	down();
}

Test(iscsi_ini, an_event_makes_it_look_at_the_size)
{
	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	target.blocks /= 2;
	give_async(pipe_number(0), ISCSI_ASYNC_SCSI, 0);
	run_ms(1);
	cr_assert_eq(disk->lim.size, PIPE_DISK / 2);
	end();
}

Test(iscsi_ini, an_event_that_means_nothing)
{
	begin();
	up("/0");
	give_async(pipe_number(1), ISCSI_ASYNC_NEGOTIATE, 3);
	give_async(pipe_number(1), (enum iscsi_async_event)255, 3);
	cr_assert_eq(one(IO_READ, 0, 0, 512), 0);
	down();
}

/* What is in flight ends first: it need not be sent twice. */
Test(iscsi_ini, a_logout_that_the_target_asks_for_waits_for_commands)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(1);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 3);
	run_ms(10);
	submit(1, IO_READ, 0, 0, 512);
	cr_assert_eq(target.logouts, 0);
	give_read(pipe_number(1), last_itt, target.disk, 512);
	turns_until(2);
	cr_assert_eq(request[0].io.status, 0);
	cr_assert_eq(request[1].io.status, -ENOTCONN);
	run_ms(1);
	cr_assert_eq(target.logouts, 1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_CLOSED, "10.0.0.1:3260", "logout");
	down();
}

Test(iscsi_ini, but_not_longer_than_it_allows)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(1);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 3);
	run_ms(2000);
	cr_assert_eq(finished, 0);
	run_ms(2000);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_eq(lane->state, LANE_DOWN);
	down();
}

static unsigned pings_delayed;

/* The logout is not answered, either. */
static bool answers_nothing(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data, (void)len;
	pings_delayed += pipe->number == 1 && ISCSI_OPCODE(bhs->opcode) == ISCSI_NOP_OUT;
	return pipe->number == 0;
}

/* No PDU follows the request for a logout (the fake asserts it), also if the target is silent. */
Test(iscsi_ini, a_logout_is_not_waited_for_longer_than_30_s)
{
	begin();
	up("/0");
	target.script = answers_nothing;
	pings_delayed = 0;
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 65535);
	run_ms(12000);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 65535); /* once more */
	cr_assert_eq(target.logouts, 1);
	for (unsigned i = 0; i < 17; i++) {
		give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
		run_ms(1000);
	}
	cr_assert_eq(lane->state, LANE_UP);
	give_nop(pipe_number(1), ISCSI_NO_TAG, ISCSI_NO_TAG);
	run_ms(2000);
	cr_assert_eq(lane->state, LANE_DOWN);
	cr_assert_eq(pings_delayed, 0);
	diag_says(&lane->why, DIAG_CLOSED, "10.0.0.1:3260", "logout");
	down();
}

/* The session ends all the same. */
Test(iscsi_ini, an_overdue_command_is_not_aborted_during_a_logout)
{
	begin();
	up("/0");
	target.script = keeps_silent;
	unanswered = 1;
	finished = target.aborts = 0;
	submit(0, IO_READ, 0, 0, 512);
	run_ms(20000);
	give_async(pipe_number(1), ISCSI_ASYNC_LOGOUT, 30);
	run_ms(9000);
	cr_assert_eq(finished, 0);
	run_ms(2000);
	cr_assert_eq(request[0].io.status, -ENOTCONN);
	cr_assert_eq(target.aborts, 0);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_CLOSED, "10.0.0.1:3260", "logout");
	down();
}

/* ---- The end. */

Test(iscsi_ini, a_lane_that_is_given_up_just_when_it_is_logged_in)
{
	struct diag over = { 0 };

	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	for (unsigned turns = 1; turns < 40; turns++) {
		volatile int never = 0;

		cr_assert_eq(disk->ops->lane(&lane, disk, loop, &why), 0);
		for (unsigned i = 0; i < turns; i++)
			loop_wait(loop, &never, loop_clock());
		diag_set(&over, DIAG_CLOSED, ECONNABORTED, "given up");
		lane->ops->abort(lane, &over);
		run_ms(10);
		cr_assert_eq(lane->state, LANE_DOWN, "after %u turns", turns);
		diag_says(&lane->why, DIAG_CLOSED, NULL, "given_up");
		lane->ops->free(lane);
	}
	lane = NULL;
	end();
}

Test(iscsi_ini, the_first_session_ends_the_disk)
{
	begin();
	up("/0");
	hang_up(pipe_number(0));
	run_ms(1);
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_CLOSED, "10.0.0.1:3260", "closed");
	down();
}

Test(iscsi_ini, usage)
{
	static const struct {
		const char *uri, *words;
	} rows[] = {
		{ "iscsi://10.0.0.1", "target iser-discover" },
		{ "iscsi://10.0.0.1/what%20now/0", "name_'what_now' blanks" },
		{ "iscsi://10.0.0.1/" IQN "/x", "LUN_'x'" },
		{ "iscsi://10.0.0.1/" IQN "/0?depth=0", "depth" },
		{ "iscsi://10.0.0.1/" IQN "/0?queues=65", "queues" },
		{ "iscsi://10.0.0.1/" IQN "/0?initiator=me", "initiator" },
		{ "iscsi://10.0.0.1/" IQN "/0?user=joe", "CHAP_secret secret-file=FILE" },
		{ "iscsi://10.0.0.1/" IQN "/0?target_user=joe",
			"secret target_user target-secret-file=FILE" },
		{ "iscsi://10.0.0.1/" IQN "/0?nothing=1", "nothing" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bdev_env env = { .initiator = "iqn.x:me" };

		begin();
		cr_assert_lt(host_attach(rows[i].uri, &env), 0, "%s", rows[i].uri);
		diag_says(&why, DIAG_USAGE, NULL, rows[i].words);
		end();
	}
}
