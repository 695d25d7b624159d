/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Errors of a disk as the iSCSI initiator over TCP reports them: what is sent again, also on
 * another path, and flushes that fail once the disk has lost writes. */
/* Link: leap */
#include "iscsi_ini_rig.h"

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

/* ---- ALUA: over `paths`. */

#define STANDBY 2

static const char *prefers; /* an address; NULL: none */

static void open_alua(const char *keys, uint8_t state)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };
	char text[200];

	snprintf(text, sizeof(text), "iscsi://10.0.0.1/" IQN "/0?%s", keys);
	begin();
	target.tpgs = 1;
	target.access = state;
	target.preferred = prefers;
	host_open(text, &env);
	cr_assert_eq(pool_new(&pool, ROOM, COUNT, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

Test(iscsi_ini, a_closed_port_group_is_waited_for)
{
	open_alua("loss=20", 0);
	cr_assert_eq(target.reports, 1);
	target.access = STANDBY;
	fails(2, 6, 0x2a, 6, 1); /* asymmetric access state changed */
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0, "executed after the unit attention");
	run_ms(200);
	cr_assert_eq(target.reports, 2);
	finished = 0;
	submit(0, IO_WRITE, 0, 0, 512);
	run_ms(5000);
	cr_assert_eq(finished, 0);
	cr_assert_eq(target.writes, 1, "not even sent");
	target.access = 1;
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	cr_assert_leq(target.reports, 9, "once a second");
	target.access = STANDBY;
	fails(2, 2, 0x04, 0x0b, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), -EHOSTUNREACH);
	diag_says(&disk->why, DIAG_UNREACHABLE, NULL, "access_state standby");
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

Test(iscsi_ini, a_port_group_that_is_closed_from_the_start)
{
	open_alua("loss=20", STANDBY);
	finished = 0;
	submit(0, IO_WRITE, 0, 0, 512);
	run_ms(3000);
	cr_assert_eq(finished, 0);
	target.access = 0;
	turns_until(1);
	cr_assert_eq(request[0].io.status, 0);
	down();
}

static void have_sent(uint64_t first, uint64_t second)
{
	struct bdev_path path;

	cr_assert(bdev_path(disk, 1, &path));
	cr_assert_eq(path.requests, first);
	cr_assert(bdev_path(disk, 2, &path));
	cr_assert_eq(path.requests, second);
}

Test(iscsi_ini, the_port_group_that_the_target_prefers)
{
	struct bdev_path path;

	prefers = "10.0.0.2";
	open_alua("path=10.0.0.2", 0);
	cr_assert(bdev_path(disk, 2, &path));
	cr_assert(path.preferred);
	cr_assert_eq(path.group, 1);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	have_sent(0, 1);
	target.preferred = NULL;
	fails(2, 6, 0x2a, 6, 1); /* asymmetric access state changed */
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0, "executed after the unit attention");
	have_sent(0, 2);
	run_ms(200);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	have_sent(1, 2);
	cr_assert(bdev_path(disk, 2, &path));
	cr_assert_not(path.preferred);
	down();
	prefers = "10.0.0.1";
	open_alua("path=10.0.0.2&preferred=10.0.0.2", 0);
	cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	have_sent(1, 0); /* the named path is the first one */
	cr_assert(bdev_path(disk, 1, &path));
	cr_assert_str_eq(path.uri, "iscsi://10.0.0.2/" IQN "/0");
	down();
	prefers = NULL;
}

/* A unit attention with each command costs ten reports a second. */
Test(iscsi_ini, unit_attentions_without_end)
{
	unsigned reports;
	uint64_t start;

	open_alua("loss=20", 0);
	reports = target.reports;
	for (start = loop_clock(); loop_clock() - start < 3000000000ull; run_ms(5)) {
		fails(2, 6, 0x2a, 6, 2);
		target.access = !target.access;
		cr_assert_eq(one(IO_WRITE, 0, 0, 512), 0);
	}
	cr_assert_gt(target.reports, reports + 10);
	cr_assert_leq(target.reports, reports + 35);
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
