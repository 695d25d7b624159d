/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Initiators that know iSCSI and break its rules: task management, PDUs in the wrong phase,
 * silence, text, logouts. */
/* Link: leap */
#include "iscsi_hostile_rig.h"

/* --- task management */

Test(iscsi_hostile, task_management_of_itself)
{
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	cr_assert_eq(task(h, ISCSI_ABORT_TASK, h->itt), ISCSI_TASK_NONE);
	cr_assert_eq(task(h, ISCSI_ABORT_TASK, ISCSI_NO_TAG), ISCSI_TASK_NONE);
	cr_assert_eq(task(h, ISCSI_TASK_REASSIGN, h->itt), ISCSI_TASK_UNSUPPORTED);
	cr_assert_eq(task(h, 0, 0), ISCSI_TASK_UNSUPPORTED);
	cr_assert_eq(task(h, 0x7f, 0), ISCSI_TASK_UNSUPPORTED);
	/* many at once: none is lost */
	for (unsigned i = 0; i < 100; i++)
		ask_task(h, i % 2 ? ISCSI_ABORT_TASK_SET : ISCSI_LUN_RESET, 0);
	UNTIL(h->seen[ISCSI_TASK_RSP] + h->seen[ISCSI_REJECT] == 105);
	cr_assert_gt(h->seen[ISCSI_TASK_RSP], 5);
	ready(h);
	ready(host[0]); /* a unit attention for the resets */
	end();
}

/* An aborted write gives its buffer back although its data still arrives, which is discarded. */
Test(iscsi_hostile, aborted_writes_and_their_data)
{
	static const uint8_t functions[] = { ISCSI_ABORT_TASK, ISCSI_ABORT_TASK_SET,
		ISCSI_CLEAR_TASK_SET, ISCSI_LUN_RESET, ISCSI_WARM_RESET };
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	for (unsigned i = 0; i < 4 * BUFFERS; i++) {
		uint32_t itt = h->itt;

		ask_write(h, 64, 32);
		UNTIL(h->r2ts == 1);
		if (i % 2)
			iscsi_host_give(h, 0, ISCSI_HOST_RECV, 0, pattern);
		cr_assert_eq(task(h, functions[i % 5], itt), ISCSI_TASK_COMPLETE);
		h->asked--;
		give_all(h, pattern);
		turns(2);
		ready(h);
		ready(host[0]);
		honest_works();
		unchanged();
	}
	cr_assert_eq(h->replies, h->asked);
	end();
}

/* --- the wrong phase */

Test(iscsi_hostile, before_and_during_the_login)
{
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, 0) };
	static const char text[] = "InitiatorName=iqn.i1\0TargetName=" IQN;
	static const uint8_t opcodes[] = { ISCSI_TEXT_REQ, ISCSI_NOP_OUT, ISCSI_SCSI_CMD,
		ISCSI_TASK_REQ, ISCSI_LOGOUT_REQ, ISCSI_DATA_OUT };

	begin();
	for (unsigned i = 0; i < 2 * sizeof(opcodes); i++) {
		struct iscsi_host *h = dial(1);
		struct iscsi_scsi_cmd cmd = writing(h, 0, 8);

		if (i % 2) {
			iscsi_host_put(h, &req, text, sizeof(text));
			UNTIL(h->seen[ISCSI_LOGIN_RSP] == 1);
		}
		cmd.opcode = opcodes[i / 2];
		iscsi_host_put(h, &cmd, pattern, 4096);
		is_over(h);
		cr_assert(!h->up);
	}
	end();
}

static uint16_t login_status(const struct iscsi_host *h)
{
	const struct iscsi_login_rsp *rsp = (const void *)&h->last[ISCSI_LOGIN_RSP];

	return ISCSI_LOGIN_STATUS(rsp->status_class, rsp->status_detail);
}

static uint16_t ask_to_join(struct iscsi_host *h, struct iscsi_login_req *req)
{
	static const char text[] = "InitiatorName=iqn.i1\0TargetName=" IQN;

	iscsi_host_put(h, req, text, sizeof(text));
	is_over(h);
	return login_status(h);
}

/* Each session has one connection. That it has too many with another one tells that the target
 * knows it; nothing happens to the session. */
Test(iscsi_hostile, a_second_login)
{
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL),
		.isid = { 0x80, [5] = 1 },
		.cid = put_be16(1) };
	const struct iscsi_login_rsp *rsp;
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	ask_login(1, 1);
	is_over(h);
	h = join(1, 1);
	rsp = (const void *)&h->last[ISCSI_LOGIN_RSP];
	req.tsih = rsp->tsih;
	cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_TOO_MANY);
	req.tsih = put_be16((uint16_t)(get_be16(rsp->tsih) + 1));
	cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_NO_SESSION);
	req.tsih = rsp->tsih;
	req.isid[1] = 7;
	cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_NO_SESSION);
	cr_assert_eq(status_of(host[1], iscsi_host_command(host[1], 0, 0)), 0);
	end();
}

/* One whose connection was lost is known until DefaultTime2Retain has passed, or its initiator port
 * logs in again; one that has logged out is not. */
Test(iscsi_hostile, a_session_that_is_lost)
{
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL),
		.isid = { 0x80, [5] = 1 },
		.cid = put_be16(1) };
	const struct iscsi_login_rsp *rsp;
	struct iscsi_host *h;

	begin();
	for (unsigned i = 0; i < 3; i++) {
		h = join(1, 1);
		rsp = (const void *)&h->last[ISCSI_LOGIN_RSP];
		req.tsih = rsp->tsih;
		if (i == 2) {
			ask_logout(h);
			is_over(h);
			cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_NO_SESSION);
			break;
		}
		iscsi_host_leave(h);
		host[1] = NULL;
		turns(50);
		cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_TOO_MANY);
		if (i) {
			join(1, 1);
			cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_NO_SESSION);
			continue;
		}
		pass(15);
		cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_TOO_MANY);
		pass(5);
		cr_assert_eq(ask_to_join(dial(2), &req), ISCSI_NO_SESSION);
	}
	end();
}

/* Their data never comes; the logout does not wait for it. */
Test(iscsi_hostile, logout_with_writes)
{
	begin();
	for (unsigned i = 0; i < 2 * BUFFERS; i++) {
		struct iscsi_host *h = join(1, 1);

		ask_write(h, 64, 32);
		ask_write(h, 128, 32);
		UNTIL(h->r2ts == 2);
		ask_logout(h);
		is_over(h);
		cr_assert_eq(h->seen[ISCSI_LOGOUT_RSP], 1);
	}
	end();
}

Test(iscsi_hostile, pdus_that_do_not_exist)
{
	struct iscsi_host *h;
	unsigned count = 0;

	begin();
	h = join(1, 1);
	for (unsigned opcode = 0x08; opcode < 0x40; opcode++) { /* SNACK is 10h */
		struct iscsi_bhs bhs = { .opcode = (uint8_t)opcode, .flags = ISCSI_FINAL };

		iscsi_host_put(h, &bhs, pattern, opcode % 3 ? 0 : 4096);
		count++;
		UNTIL(h->seen[ISCSI_REJECT] == count);
		cr_assert(h->text_len >= ISCSI_BHS && h->text[0] == opcode);
	}
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
	end();
}

/* --- silence */

/* An initiator that answers pings may be silent for days; one that does not is gone, with what it
 * had reserved. */
Test(iscsi_hostile, silence)
{
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *h, *mute;
	unsigned pings;

	begin();
	h = join(1, 1);
	mute = join(2, 2);
	mute->mute = true;
	cmd = iscsi_host_command(mute, 0, 0);
	cmd.cdb[0] = 0x16; /* RESERVE 6 */
	cr_assert_eq(status_of(mute, cmd), 0);
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0x18); /* RESERVATION CONFLICT */
	pass(15);
	cr_assert_eq(mute->seen[ISCSI_NOP_IN], 0);
	pass(30);
	cr_assert_eq(mute->seen[ISCSI_NOP_IN], 1);
	pass(30);
	cr_assert(mute->over);
	cr_assert_eq(mute->seen[ISCSI_NOP_IN], 1);
	pings = h->seen[ISCSI_NOP_IN];
	cr_assert_geq(pings, 1);
	pass(24 * 3600);
	cr_assert(!h->over);
	cr_assert_geq(h->seen[ISCSI_NOP_IN], pings + 24 * 3600 / 60);
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
	end();
}

/* Each session gets a message, connections in the login phase get none. */
Test(iscsi_hostile, a_target_that_stops)
{
	const struct iscsi_async *async;
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	dial(2);
	turn();
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	turn();
	async = (const void *)&h->last[ISCSI_ASYNC];
	cr_assert(h->over && h->seen[ISCSI_ASYNC] == 1);
	cr_assert_eq(async->event, ISCSI_ASYNC_DROP_ALL);
	cr_assert(host[2]->over && !host[2]->seen[ISCSI_ASYNC]);
	for (unsigned i = 0; i < HOSTS; i++) {
		iscsi_host_leave(host[i]);
		host[i] = NULL;
	}
	fake_disk_free(disk);
	loop_free(loop);
}

/* --- text */

static const uint8_t *text(struct iscsi_host *h, uint8_t flags, const char *keys, uint32_t len)
{
	struct iscsi_text_req req = { .opcode = ISCSI_TEXT_REQ | ISCSI_IMMEDIATE,
		.flags = flags,
		.itt = put_be32(h->itt++),
		.ttt = put_be32(ISCSI_NO_TAG),
		.cmdsn = put_be32(h->cmdsn) };
	unsigned seen = h->seen[ISCSI_TEXT_RSP] + h->seen[ISCSI_REJECT];

	memset(h->text, 0, sizeof(h->text));
	h->text_len = 0;
	iscsi_host_put(h, &req, keys, len);
	UNTIL(h->seen[ISCSI_TEXT_RSP] + h->seen[ISCSI_REJECT] > seen);
	return h->text;
}
#define TEXT(h, keys) text(h, ISCSI_FINAL, keys, sizeof(keys))

Test(iscsi_hostile, keys_after_the_login)
{
	static const char expected[] = "HeaderDigest=Reject\0X-com.example=NotUnderstood\0"
				       "IFMarker=Reject";
	static char many[8192];
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *h;
	unsigned seen;

	begin();
	h = join(1, 1);
	TEXT(h, "HeaderDigest=CRC32C\0X-com.example=1\0IFMarker=No");
	cr_assert_eq(h->text_len, sizeof(expected));
	cr_assert_eq(memcmp(h->text, expected, sizeof(expected)), 0);
	/* what the initiator declares holds for the next command */
	TEXT(h, "MaxRecvDataSegmentLength=512");
	cr_assert_eq(h->text_len, 0);
	seen = h->seen[ISCSI_DATA_IN];
	cmd = iscsi_host_command(h, ISCSI_CMD_READ, 8192);
	iscsi_host_rw(&cmd, 0x28, 0, 16);
	cr_assert_eq(status_of(h, cmd), 0);
	cr_assert_eq(h->seen[ISCSI_DATA_IN] - seen, 16);
	cr_assert_eq(memcmp(h->data, before, 8192), 0);
	/* malformed, answers to nothing, too much to answer, a text in several PDUs */
	seen = h->seen[ISCSI_REJECT];
	TEXT(h, "MaxRecvDataSegmentLength=511");
	TEXT(h, "no key");
	TEXT(h, "X-com.example=NotUnderstood");
	for (unsigned i = 0; i + 4 <= sizeof(many); i += 4)
		memcpy(many + i, "k=1", 4);
	text(h, ISCSI_FINAL, many, sizeof(many));
	memset(many, 'S', sizeof(many));
	memcpy(many, "SendTargets=", 12);
	text(h, ISCSI_CONTINUE, many, sizeof(many));
	cr_assert_eq(h->seen[ISCSI_REJECT] - seen, 5);
	/* a name without an end that no target has */
	text(h, ISCSI_FINAL, many, sizeof(many));
	cr_assert_eq(h->text_len, 0);
	TEXT(h, "SendTargets=");
	cr_assert_eq(memcmp(h->text, "TargetName=" IQN, sizeof("TargetName=" IQN)), 0);
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
	end();
}
