/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Targets that lie to the iSCSI initiator over TCP: a request fails alone or with its session, and
 * never succeeds with wrong data. */
/* Link: leap */
#include "iscsi_ini_rig.h"

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
