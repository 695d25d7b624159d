/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data of the iSCSI initiator over TCP: immediate, unsolicited and solicited, in bursts of any
 * length, with digests, and of commands that are answered before all of it was sent. */
/* Link: leap */
#include "iscsi_ini_rig.h"

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
