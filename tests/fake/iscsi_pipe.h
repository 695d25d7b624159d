/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* include/stream.h in memory with an iSCSI target behind it: included by one file of a test, in
 * place of core/net/tcp.c. It holds the initiator to RFC 7143 by assertion: whole PDUs with good
 * digests, command numbers in order and inside the window, data only where it was asked for. */
#pragma once
#include "crc32c.h"
#include "iscsi.h"
#include "stream.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define PIPES     80
#define PIPE_LEN  (1u << 21)
#define PIPE_DISK (8u << 20)
#define SIGNALS   256 /* in one turn, for a reader that stops early */
#define TASKS     128
#define TASK_ROOM (1u << 20)

struct task { /* a command that waits for data */
	bool on;
	uint32_t itt, len, got, end, ttt, datasn;
	uint8_t cdb[16];
	uint8_t *data;
};

struct pipe {
	struct stream stream;
	struct addr dst;
	unsigned number; /* in the order of connecting */
	bool over, down_reported, hung, up, full, discovery, logged_out;
	struct stream_out *out, **out_end, *unsent, **unsent_end;
	uint32_t statsn, exp_cmdsn, max_cmdsn;
	bool digest[2]; /* of headers, of data */
	uint8_t isid[6];
	struct task task[TASKS];
	struct {
		uint32_t itt, next;
	} sn[TASKS]; /* of Data-Ins and R2Ts */
	unsigned sns;
	uint32_t from, to;
	uint8_t in[PIPE_LEN];
};

static struct target { /* all connections of one run */
	struct loop_poller poller;
	struct pipe *pipe[PIPES];
	unsigned dials, logins, logouts, pings, pongs, aborts;
	uint32_t chunk; /* bytes that one recv() gives; 0: all */
	unsigned slow;  /* PDUs of the host that leave in one turn; 0: all */
	/* delayed_sent: `sent` waits until the test calls tell_sent(); lying: what the host sends
	 * need not be what an honest target has asked for */
	bool delayed_sent, lying, busy;
	/* of logins */
	uint16_t status;      /* of the first response; 0: success */
	const char *redirect; /* "HOST:PORT" */
	unsigned redirects;   /* so many logins are sent there */
	bool for_good;        /* as moved permanently */
	bool digests, initial_r2t, immediate, no_pdu_order, no_sequence_order;
	bool keys_first; /* answers keys before the last response, which has no data */
	uint32_t recv, first_burst, max_burst, window;
	/* of the disk */
	uint8_t *disk;
	uint32_t piece, r2t;                /* bytes of a Data-In, of an R2T */
	bool small, readonly, split_status; /* small: no READ CAPACITY(16), no pages */
	bool no_cache, no_fua, deferred;    /* deferred: sense data is about an earlier command */
	unsigned failing, only;             /* as of tests/fake/srp_peer.h */
	uint8_t fails_with, sense[3], no_luns; /* no_luns: of REPORT LUNS */
	/* of ALUA: TPGS, 0: none; state of the one port group; how often that was reported */
	uint8_t tpgs, access;
	const char *preferred; /* address at which it has the PREF bit; NULL: none */
	unsigned reports;
	unsigned commands, writes, reads, flushes, fuas, unmaps, sames, capacities;
	uint64_t blocks;
	uint8_t spoil; /* 1: the next header digest, 2: the next data digest */
	/* Sees each PDU in full feature phase, first; false: it is answered there, or never. */
	bool (*script)(struct pipe *, const struct iscsi_bhs *, const uint8_t *data, uint32_t len);
	/* NULL, or sees each PDU in full feature phase when it is queued, before it leaves. */
	void (*queued)(struct pipe *, const struct iscsi_bhs *, const uint8_t *data, uint32_t len);
	/* NULL, or sees all that the initiator receives, first. */
	void (*gave)(struct pipe *, const uint8_t *, uint32_t len);
} target;

static struct pipe *pipe_of(struct stream *stream)
{
	return container_of(stream, struct pipe, stream);
}

/* ---- What the target sends. */

static void give(struct pipe *pipe, void *head, const void *data, uint32_t len)
{
	struct iscsi_bhs *bhs = head;
	uint8_t tail[8] = { 0 };
	uint32_t pad = -len & 3;
	le32 crc;

	if (pipe->over || len + ISCSI_BHS + 16 > PIPE_LEN - pipe->to)
		return;
	bhs->data_len = put_be24(len);
	memcpy(pipe->in + pipe->to, bhs, ISCSI_BHS);
	pipe->to += ISCSI_BHS;
	crc = put_le32(crc32c(0, bhs, ISCSI_BHS) ^ (target.spoil & 1));
	if (pipe->full && pipe->digest[0]) {
		memcpy(pipe->in + pipe->to, &crc, 4);
		pipe->to += 4;
		target.spoil &= (uint8_t)~1;
	}
	if (!len)
		return;
	memcpy(pipe->in + pipe->to, data, len);
	memcpy(pipe->in + pipe->to + len, tail, pad);
	crc = put_le32(crc32c(0, pipe->in + pipe->to, len + pad) ^ (target.spoil >> 1 & 1));
	pipe->to += len + pad;
	if (pipe->full && pipe->digest[1]) {
		memcpy(pipe->in + pipe->to, &crc, 4);
		pipe->to += 4;
		target.spoil &= (uint8_t)~2;
	}
}

/* The numbers, which all of a target's PDUs have at the same place. */
static void put_numbers(struct pipe *pipe, void *head, bool counts)
{
	struct iscsi_scsi_rsp *rsp = head;

	if ((int32_t)(pipe->exp_cmdsn + target.window - 1 - pipe->max_cmdsn) > 0)
		pipe->max_cmdsn = pipe->exp_cmdsn + target.window - 1;
	rsp->statsn = put_be32(counts ? pipe->statsn++ : pipe->statsn);
	rsp->exp_cmdsn = put_be32(pipe->exp_cmdsn);
	rsp->max_cmdsn = put_be32(pipe->max_cmdsn);
}

static void give_status(
	struct pipe *pipe, uint32_t itt, uint8_t status, uint8_t flags, uint32_t residual)
{
	struct iscsi_scsi_rsp rsp = { .opcode = ISCSI_SCSI_RSP,
		.flags = ISCSI_FINAL | flags,
		.status = status,
		.itt = put_be32(itt),
		.residual = put_be32(residual) };
	uint8_t sense[20] = { 0, 18, target.deferred ? 0x71 : 0x70, [2 + 7] = 10 };

	memcpy(&sense[2 + 2], &target.sense[0], 1);
	memcpy(&sense[2 + 12], &target.sense[1], 2);
	put_numbers(pipe, &rsp, true);
	give(pipe, &rsp, sense, status == 2 ? sizeof(sense) : 0);
}

static be32 next_sn(struct pipe *pipe, uint32_t itt)
{
	unsigned i = 0;

	while (i < TASKS && pipe->sn[i].itt != itt)
		i++;
	if (i == TASKS) {
		i = pipe->sns++ % TASKS;
		pipe->sn[i].itt = itt;
		pipe->sn[i].next = 0;
	}
	return put_be32(pipe->sn[i].next++);
}

/* flags: of the last; without ISCSI_STATUS no status is sent. */
static void give_data_in(struct pipe *pipe, uint32_t itt, uint32_t at, const uint8_t *data,
	uint32_t len, uint8_t flags, uint32_t residual)
{
	struct iscsi_data_in in = { .opcode = ISCSI_DATA_IN,
		.flags = flags,
		.itt = put_be32(itt),
		.ttt = put_be32(ISCSI_NO_TAG),
		.datasn = next_sn(pipe, itt),
		.offset = put_be32(at),
		.residual = put_be32(residual) };

	put_numbers(pipe, &in, flags & ISCSI_STATUS);
	give(pipe, &in, data, len);
}

static void give_r2t(struct pipe *pipe, uint32_t itt, uint32_t ttt, uint32_t at, uint32_t len)
{
	struct iscsi_r2t r2t = { .opcode = ISCSI_R2T,
		.flags = ISCSI_FINAL,
		.itt = put_be32(itt),
		.ttt = put_be32(ttt),
		.r2tsn = next_sn(pipe, itt),
		.offset = put_be32(at),
		.desired = put_be32(len) };

	put_numbers(pipe, &r2t, false);
	give(pipe, &r2t, NULL, 0);
}

static void give_plain(struct pipe *pipe, uint8_t opcode, uint32_t itt, uint8_t third, bool counts)
{
	struct iscsi_task_rsp rsp = {
		.opcode = opcode, .flags = ISCSI_FINAL, .response = third, .itt = put_be32(itt)
	};

	put_numbers(pipe, &rsp, counts);
	give(pipe, &rsp, NULL, 0);
}

static void give_nop(struct pipe *pipe, uint32_t itt, uint32_t ttt)
{
	struct iscsi_nop nop = { .opcode = ISCSI_NOP_IN,
		.flags = ISCSI_FINAL,
		.itt = put_be32(itt),
		.ttt = put_be32(ttt) };

	put_numbers(pipe, &nop, itt != ISCSI_NO_TAG);
	give(pipe, &nop, NULL, 0);
}

static inline void give_async(struct pipe *pipe, enum iscsi_async_event event, uint16_t seconds)
{
	struct iscsi_async async = { .opcode = ISCSI_ASYNC,
		.flags = ISCSI_FINAL,
		.no_tag = put_be32(ISCSI_NO_TAG),
		.event = (uint8_t)event,
		.parameter[2] = put_be16(seconds) };

	put_numbers(pipe, &async, true);
	give(pipe, &async, NULL, 0);
}

static void hang_up(struct pipe *pipe)
{
	pipe->hung = true;
}

/* ---- The disk. */

static uint32_t inquire(const uint8_t *cdb, uint8_t page[256])
{
	static const uint8_t pages[] = { 0x00, 0x80, 0xb0, 0xb2, 0x83 };
	static const uint8_t ids[] = { 1, 3, 0, 8, 0x50, 1, 2, 3, 4, 5, 6, 7, /* NAA */
		1, 0x95, 0, 4, 0, 0, 0, 1 };                                  /* port group */

	page[1] = cdb[2];
	switch (cdb[1] ? cdb[2] : -1) {
	case -1:
		page[1] = 0;
		page[5] = (uint8_t)(target.tpgs << 4);
		memcpy(page + 8, "ACME    Anvil           1.0 ", 28);
		return 96;
	case 0x00:
		memcpy(page + 4, pages, sizeof(pages));
		page[3] = sizeof(pages) - !target.tpgs;
		break;
	case 0x80:
		memcpy(page + 4, "S3R1AL", 6);
		page[3] = 6;
		break;
	case 0x83:
		memcpy(page + 4, ids, sizeof(ids));
		page[3] = sizeof(ids);
		break;
	case 0xb0:
		wire_put_be(page + 20, 4, 4096); /* UNMAP */
		wire_put_be(page + 24, 4, 1);
		wire_put_be(page + 36, 8, 2048); /* WRITE SAME */
		page[3] = 60;
		break;
	case 0xb2:
		page[5] = 0xc4;
		page[3] = 60;
		break;
	default:
		return 0;
	}
	return page[3] + 4u;
}

/* Of commands that only ask; *len 0: none, or unknown. */
static uint8_t answer(struct pipe *pipe, const uint8_t *cdb, uint8_t page[256], uint32_t *len)
{
	char at[ADDR_TEXT];

	memset(page, 0, 256);
	*len = 0;
	switch (cdb[0]) {
	case 0x00: /* TEST UNIT READY */
		return 0;
	case 0x12:
		*len = target.small && cdb[1] ? 0 : inquire(cdb, page);
		break;
	case 0xa0: /* REPORT LUNS */
		wire_put_be(page, 4, target.no_luns ? 0 : 8);
		*len = target.no_luns ? 8 : 16;
		break;
	case 0x25: /* READ CAPACITY(10), (16) */
		target.capacities++;
		wire_put_be(page, 4, target.blocks - 1);
		wire_put_be(page + 4, 4, 512);
		*len = 8;
		break;
	case 0x9e:
		target.capacities++;
		wire_put_be(page, 8, target.blocks - 1);
		wire_put_be(page + 8, 4, 512);
		page[14] = 0xc0;
		*len = target.small ? 0 : 32;
		break;
	case 0xa3: /* REPORT TARGET PORT GROUPS */
		target.reports++;
		page[3] = 8;
		page[4] = target.access;
		if (target.preferred && !strcmp(addr_host(&pipe->dst, at), target.preferred))
			page[4] |= 0x80;
		page[7] = 1;
		*len = target.tpgs ? 12 : 0;
		break;
	case 0x1a: /* MODE SENSE(6) */
		page[0] = 23;
		page[2] = (target.no_fua ? 0 : 0x10) | (target.readonly ? 0x80 : 0);
		page[4] = 0x08;
		page[5] = 18;
		page[6] = target.no_cache ? 0 : 4;
		*len = target.small ? 0 : 24;
		break;
	default:
		break;
	}
	if (*len)
		return 0;
	memcpy(target.sense, (uint8_t[]){ 5, 0x20, 0 }, 3);
	return 2;
}

static bool is_rw(const uint8_t *cdb)
{
	return cdb[0] == 0x28 || cdb[0] == 0x2a || cdb[0] == 0x88 || cdb[0] == 0x8a;
}

static uint64_t lba_of(const uint8_t *cdb)
{
	return cdb[0] & 0x80 ? wire_be(cdb + 2, 8) : wire_be(cdb + 2, 4);
}

static void give_read(struct pipe *pipe, uint32_t itt, const uint8_t *from, uint32_t len)
{
	uint32_t at, now;

	for (at = 0; at < len; at += now) {
		bool last;

		now = len - at < target.piece ? len - at : target.piece;
		last = at + now == len;
		give_data_in(pipe, itt, at, from + at, now,
			!last                 ? 0
			: target.split_status ? ISCSI_FINAL
					      : ISCSI_FINAL | ISCSI_STATUS,
			0);
	}
	if (target.split_status)
		give_status(pipe, itt, 0, 0, 0);
}

/* All data of the command is here. */
static void execute(
	struct pipe *pipe, uint32_t itt, const uint8_t *cdb, const uint8_t *data, uint32_t len)
{
	uint8_t page[256];
	uint32_t have;
	uint8_t *at = target.disk + lba_of(cdb) * 512;

	target.commands++;
	if (target.failing && (!target.only || target.only == cdb[0] + 1u)) {
		target.failing--;
		give_status(pipe, itt, target.fails_with, 0, 0);
	} else if (is_rw(cdb)) {
		uint32_t blocks =
			(uint32_t)(cdb[0] & 0x80 ? wire_be(cdb + 10, 4) : wire_be(cdb + 7, 2));

		assert(len == blocks * 512 && lba_of(cdb) + blocks <= target.blocks);
		target.fuas += !(~cdb[1] & 8);
		if (cdb[0] & 2) {
			target.writes++;
			memcpy(at, data, len);
			give_status(pipe, itt, 0, 0, 0);
		} else {
			target.reads++;
			give_read(pipe, itt, at, len);
		}
	} else if (cdb[0] == 0x42) {
		assert(len == 24 && wire_be(data, 2) == 22 && wire_be(data + 2, 2) == 16);
		target.unmaps++;
		memset(target.disk + wire_be(data + 8, 8) * 512, 0, wire_be(data + 16, 4) * 512);
		give_status(pipe, itt, 0, 0, 0);
	} else if (cdb[0] == 0x93) {
		assert(len == 512);
		target.sames++;
		memset(at, 0, wire_be(cdb + 10, 4) * 512);
		give_status(pipe, itt, 0, 0, 0);
	} else if (cdb[0] == 0x35) {
		target.flushes++;
		give_status(pipe, itt, 0, 0, 0);
	} else {
		uint8_t status = answer(pipe, cdb, page, &have);

		if (!have)
			give_status(pipe, itt, status, 0, 0);
		else if (have < len)
			give_data_in(pipe, itt, 0, page, have,
				ISCSI_FINAL | ISCSI_STATUS | ISCSI_UNDERFLOW, len - have);
		else
			give_data_in(pipe, itt, 0, page, len, ISCSI_FINAL | ISCSI_STATUS, 0);
	}
}

/* ---- What the host sends, honestly answered. */

/* Nothing more is expected unasked: ask for what is missing. */
static void go_on_task(struct pipe *pipe, struct task *task)
{
	if (task->got < task->end)
		return;
	if (task->got == task->len) {
		task->on = false;
		execute(pipe, task->itt, task->cdb, task->data, task->len);
		return;
	}
	task->end = task->len - task->got < target.r2t ? task->len : task->got + target.r2t;
	task->ttt = 0x1000 + task->got / 4;
	task->datasn = 0;
	give_r2t(pipe, task->itt, task->ttt, task->got, task->end - task->got);
}

static void take_command(
	struct pipe *pipe, const struct iscsi_scsi_cmd *cmd, const uint8_t *data, uint32_t len)
{
	uint32_t expected_len = get_be32(cmd->expected), at = 0;
	bool final = cmd->flags & ISCSI_FINAL;
	struct task *task;

	assert(ISCSI_ATTR(cmd->flags) == ISCSI_SIMPLE && len <= expected_len);
	if (!(cmd->flags & ISCSI_CMD_WRITE)) {
		assert(final && !len && !(cmd->flags & ISCSI_CMD_READ) == !expected_len);
		execute(pipe, get_be32(cmd->itt), cmd->cdb, NULL, expected_len);
		return;
	}
	assert(len <= target.first_burst && (target.immediate || !len));
	assert(final || (!target.initial_r2t && len < target.first_burst && len < expected_len));
	while (pipe->task[at].on)
		assert(++at < TASKS);
	task = &pipe->task[at];
	if (!task->data)
		task->data = malloc(TASK_ROOM);
	assert(task->data && expected_len <= TASK_ROOM);
	task->on = true;
	task->itt = get_be32(cmd->itt);
	task->len = expected_len;
	task->got = len;
	task->ttt = ISCSI_NO_TAG;
	task->datasn = 0;
	task->end = final                               ? len
		    : expected_len < target.first_burst ? expected_len
							: target.first_burst;
	memcpy(task->cdb, cmd->cdb, sizeof(task->cdb));
	memcpy(task->data, data, len);
	if (final)
		go_on_task(pipe, task);
}

static struct task *task_of(struct pipe *pipe, uint32_t itt)
{
	for (unsigned i = 0; i < TASKS; i++)
		if (pipe->task[i].on && pipe->task[i].itt == itt)
			return &pipe->task[i];
	return NULL;
}

static void take_data_out(
	struct pipe *pipe, const struct iscsi_data_out *out, const uint8_t *data, uint32_t len)
{
	struct task *task = task_of(pipe, get_be32(out->itt));
	bool fits = task && get_be32(out->ttt) == task->ttt &&
		    get_be32(out->datasn) == task->datasn && get_be32(out->offset) == task->got &&
		    len && len <= task->end - task->got;

	assert(!task || fits || target.lying);
	if (!fits) /* also of one that the script has ended */
		return;
	task->datasn++;
	memcpy(task->data + task->got, data, len);
	task->got += len;
	assert(!(out->flags & ISCSI_FINAL) == (task->got < task->end) || target.lying);
	go_on_task(pipe, task);
}

static void take_abort(struct pipe *pipe, const struct iscsi_task_req *req)
{
	struct task *task = task_of(pipe, get_be32(req->ref_itt));

	assert((req->flags & 0x7f) == ISCSI_ABORT_TASK);
	if (task)
		task->on = false;
	give_plain(pipe, ISCSI_TASK_RSP, get_be32(req->itt), ISCSI_TASK_COMPLETE, true);
}

/* Full feature phase. */
static void target_do(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	static const char list[] = "TargetName=iqn.2024-01.test:one\0"
				   "TargetAddress=10.0.0.1:3260,1\0"
				   "TargetName=iqn.2024-01.test:two\0"
				   "TargetAddress=10.0.0.1:3260,1";
	struct iscsi_text_rsp text = { .opcode = ISCSI_TEXT_RSP,
		.flags = ISCSI_FINAL,
		.itt = bhs->itt,
		.ttt = put_be32(ISCSI_NO_TAG) };
	uint32_t itt = get_be32(bhs->itt);

	switch (ISCSI_OPCODE(bhs->opcode)) {
	case ISCSI_SCSI_CMD:
		take_command(pipe, (const void *)bhs, data, len);
		break;
	case ISCSI_DATA_OUT:
		take_data_out(pipe, (const void *)bhs, data, len);
		break;
	case ISCSI_NOP_OUT:
		if (itt == ISCSI_NO_TAG)
			target.pongs++;
		else
			target.pings++, give_nop(pipe, itt, ISCSI_NO_TAG);
		break;
	case ISCSI_TASK_REQ:
		target.aborts++;
		take_abort(pipe, (const void *)bhs);
		break;
	case ISCSI_TEXT_REQ:
		assert(pipe->discovery && len == 16 && !strcmp((char *)data, "SendTargets=All"));
		put_numbers(pipe, &text, true);
		give(pipe, &text, list, sizeof(list));
		break;
	case ISCSI_LOGOUT_REQ:
		give_plain(pipe, ISCSI_LOGOUT_RSP, itt, 0, true);
		hang_up(pipe);
		break;
	default:
		assert(!"a request");
	}
}

static size_t put_key(char *to, const char *key, const char *offered)
{
	const char *yes[] = { "No", "Yes" }, *value = NULL;
	uint32_t number = 0, own = 0;

	if (!strcmp(key, "HeaderDigest") || !strcmp(key, "DataDigest"))
		value = target.digests && strstr(offered, "CRC32C") ? "CRC32C" : "None";
	else if (!strcmp(key, "InitialR2T"))
		value = yes[target.initial_r2t || *offered == 'Y'];
	else if (!strcmp(key, "ImmediateData"))
		value = yes[target.immediate && *offered == 'Y'];
	else if (!strcmp(key, "DataPDUInOrder"))
		value = yes[!target.no_pdu_order];
	else if (!strcmp(key, "DataSequenceInOrder"))
		value = yes[!target.no_sequence_order];
	else if (!strcmp(key, "AuthMethod"))
		value = "None";
	else if (!strcmp(key, "MaxBurstLength"))
		own = target.max_burst;
	else if (!strcmp(key, "FirstBurstLength"))
		own = target.first_burst;
	else if (strncmp(key, "Default", 7) && strncmp(key, "Max", 3) && strncmp(key, "Err", 3))
		return 0;
	if (value)
		return (size_t)sprintf(to, "%s=%s", key, value) + 1;
	if (!strcmp(key, "MaxRecvDataSegmentLength"))
		return (size_t)sprintf(to, "%s=%u", key, target.recv) + 1;
	number = (uint32_t)atoi(offered);
	return (size_t)sprintf(to, "%s=%u", key, own && own < number ? own : number) + 1;
}

static void take_login(
	struct pipe *pipe, const struct iscsi_login_req *req, const uint8_t *data, uint32_t len)
{
	struct iscsi_login_rsp rsp = { .opcode = ISCSI_LOGIN_RSP,
		.flags = req->flags,
		.tsih = put_be16(1),
		.itt = req->itt,
		.status_class = (uint8_t)(target.status >> 8),
		.status_detail = (uint8_t)target.status };
	char text[2048];
	size_t n = 0;

	assert(ISCSI_OPCODE(req->opcode) == ISCSI_LOGIN_REQ);
	memcpy(rsp.isid, req->isid, sizeof(rsp.isid));
	memcpy(pipe->isid, req->isid, sizeof(rsp.isid));
	pipe->exp_cmdsn = get_be32(req->cmdsn);
	for (const char *p = (const void *)data, *end = p + len, *value; p < end;
		p = value + strlen(value) + 1) {
		char key[64];

		value = strchr(p, '=') + 1;
		snprintf(key, sizeof(key), "%.*s", (int)(value - p - 1), p);
		pipe->discovery |= !strcmp(key, "SessionType") && !strcmp(value, "Discovery");
		n += put_key(text + n, key, value);
	}
	for (const char *p = (const void *)data; p < (const char *)data + len; p += strlen(p) + 1) {
		if (!strncmp(p, "HeaderDigest=", 13))
			pipe->digest[0] = target.digests && strstr(p, "CRC32C");
		else if (!strncmp(p, "DataDigest=", 11))
			pipe->digest[1] = target.digests && strstr(p, "CRC32C");
	}
	if (pipe->discovery)
		rsp.status_class = rsp.status_detail = 0;
	if (target.redirects && !pipe->discovery) {
		target.redirects--;
		rsp.status_class = 1;
		rsp.status_detail = target.for_good ? 2 : 1;
		rsp.flags = 0;
		n = (size_t)sprintf(text, "TargetAddress=%s", target.redirect) + 1;
	} else if (rsp.status_class) {
		n = 0;
		rsp.flags = 0;
	}
	if (target.keys_first && n && ISCSI_NSG(req->flags) == ISCSI_STAGE_FULL)
		rsp.flags = ISCSI_STAGE_OPERATIONAL << 2;
	put_numbers(pipe, &rsp, true);
	give(pipe, &rsp, text, (uint32_t)n);
	if (rsp.status_class || !(rsp.flags & ISCSI_FINAL) ||
		ISCSI_NSG(rsp.flags) != ISCSI_STAGE_FULL)
		return;
	pipe->full = true;
	target.logins++;
}

/* One element of the out-list is one PDU: its bytes, valid until the next call, and its length. */
static const uint8_t *pdu_of(const struct stream_out *out, uint32_t *len)
{
	static uint8_t bytes[1 << 21];

	*len = 0;
	for (unsigned i = 0; i < out->niov; i++) {
		assert(out->iov[i].iov_len <= sizeof(bytes) - *len);
		memcpy(bytes + *len, out->iov[i].iov_base, out->iov[i].iov_len);
		*len += (uint32_t)out->iov[i].iov_len;
	}
	return bytes;
}

static uint32_t head_len(const struct pipe *pipe)
{
	return ISCSI_BHS + 4u * (pipe->full && pipe->digest[0]);
}

static void host_sent(struct pipe *pipe, const struct stream_out *out)
{
	uint32_t len, head = head_len(pipe), have, whole;
	const uint8_t *bytes = pdu_of(out, &len);
	const struct iscsi_bhs *bhs = (const void *)bytes;
	const struct iscsi_scsi_cmd *cmd = (const void *)bytes;
	uint8_t opcode;
	le32 crc;

	have = get_be24(bhs->data_len);
	whole = head + ((have + 3) & ~3u) + 4u * (have && pipe->full && pipe->digest[1]);
	assert(len == whole && !bhs->ahs_len && have <= target.recv);
	memcpy(&crc, bytes + ISCSI_BHS, 4);
	assert(head == ISCSI_BHS || get_le32(crc) == crc32c(0, bytes, ISCSI_BHS));
	memcpy(&crc, bytes + len - 4, 4);
	assert(!have || !pipe->full || !pipe->digest[1] ||
		get_le32(crc) == crc32c(0, bytes + head, (have + 3) & ~3u));
	if (!pipe->full) {
		take_login(pipe, (const void *)bytes, bytes + head, have);
		return;
	}
	opcode = ISCSI_OPCODE(bhs->opcode);
	assert(!pipe->logged_out);
	if (opcode != ISCSI_DATA_OUT) { /* 4.2.2.1 */
		assert(get_be32(cmd->cmdsn) == pipe->exp_cmdsn);
		assert((int32_t)(pipe->statsn - get_be32(cmd->exp_statsn)) >= 0 || target.lying);
		if (!(bhs->opcode & ISCSI_IMMEDIATE)) {
			assert((int32_t)(pipe->max_cmdsn - pipe->exp_cmdsn) >= 0 || target.lying);
			pipe->exp_cmdsn++;
		}
	}
	if (opcode == ISCSI_LOGOUT_REQ) {
		pipe->logged_out = true;
		target.logouts++;
	}
	if (!target.script || target.script(pipe, bhs, bytes + head, have))
		target_do(pipe, bhs, bytes + head, have);
}

/* ---- The stream. */

static void tell_sent(struct pipe *pipe)
{
	while (!pipe->over && pipe->unsent) {
		struct stream_out *out = pipe->unsent;

		pipe->unsent = out->next;
		if (!pipe->unsent)
			pipe->unsent_end = &pipe->unsent;
		pipe->stream.ev->sent(&pipe->stream, out);
	}
}

static void hear(struct pipe *pipe, bool tell)
{
	unsigned most = tell && target.slow ? target.slow : UINT_MAX;

	while (pipe->out && most--) {
		struct stream_out *out = pipe->out;

		pipe->out = out->next;
		if (!pipe->out)
			pipe->out_end = &pipe->out;
		host_sent(pipe, out);
		out->next = NULL;
		*pipe->unsent_end = out;
		pipe->unsent_end = &out->next;
		target.busy = true;
		if (tell)
			tell_sent(pipe);
	}
}

/* One turn of one connection; it may be gone afterwards. */
static void turn_pipe(struct pipe *pipe)
{
	if (pipe->over) {
		if (pipe->down_reported)
			return;
		pipe->down_reported = true;
		pipe->stream.state = STREAM_DOWN;
		target.busy = true;
		pipe->stream.ev->down(&pipe->stream);
		return;
	}
	if (!pipe->up) {
		pipe->up = target.busy = true;
		pipe->stream.state = STREAM_UP;
		pipe->stream.ev->up(&pipe->stream);
		return;
	}
	hear(pipe, !target.delayed_sent);
	for (unsigned i = 0; i < SIGNALS && !pipe->over && (pipe->from != pipe->to || pipe->hung);
		i++) {
		target.busy = true;
		pipe->stream.ev->readable(&pipe->stream);
	}
}

static bool turn_all(struct loop_poller *poller)
{
	(void)poller;
	target.busy = false;
	for (unsigned i = 0; i < PIPES; i++)
		if (target.pipe[i])
			turn_pipe(target.pipe[i]);
	return target.busy;
}

static bool is_quiet(struct loop_poller *poller)
{
	(void)poller;
	for (unsigned i = 0; i < PIPES; i++) {
		const struct pipe *pipe = target.pipe[i];

		if (pipe && !pipe->down_reported &&
			(pipe->over || !pipe->up || pipe->out || pipe->hung ||
				pipe->from != pipe->to))
			return false;
	}
	return true;
}

int stream_dial(struct stream **out, struct loop *on, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	struct pipe *pipe = calloc(1, sizeof(*pipe));
	unsigned at = 0;

	(void)diag;
	while (at < PIPES && target.pipe[at])
		at++;
	assert(pipe && at < PIPES);
	pipe->stream = (struct stream){ .ev = events, .loop = on, .user = user, .route = "pipe" };
	pipe->number = target.dials++;
	pipe->dst = dial->dst;
	pipe->statsn = 100;
	pipe->out_end = &pipe->out;
	pipe->unsent_end = &pipe->unsent;
	*out = &pipe->stream;
	target.pipe[at] = pipe;
	return 0;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	struct pipe *pipe = pipe_of(stream);
	uint32_t left = pipe->to - pipe->from, got = 0;

	if (pipe->over)
		return -ENOTCONN;
	if (!left && pipe->hung) {
		diag_set(&stream->why, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
		pipe->over = true;
		return -ECONNRESET;
	}
	if (target.chunk && left > target.chunk)
		left = target.chunk;
	for (int i = 0; i < count && left; i++) {
		uint32_t len = iov[i].iov_len < left ? (uint32_t)iov[i].iov_len : left;

		memcpy(iov[i].iov_base, pipe->in + pipe->from, len);
		if (target.gave)
			target.gave(pipe, iov[i].iov_base, len);
		pipe->from += len;
		left -= len;
		got += len;
	}
	if (pipe->from == pipe->to)
		pipe->from = pipe->to = 0;
	return got;
}

void stream_send(struct stream *stream, struct stream_out *chain)
{
	struct pipe *pipe = pipe_of(stream);
	const uint8_t *bytes;
	uint32_t len;

	if (pipe->over || !chain)
		return;
	for (struct stream_out *out = chain; out && target.queued && pipe->full; out = out->next) {
		bytes = pdu_of(out, &len);
		target.queued(pipe, (const void *)bytes, bytes + head_len(pipe),
			get_be24(((const struct iscsi_bhs *)bytes)->data_len));
	}
	*pipe->out_end = chain;
	while (*pipe->out_end)
		pipe->out_end = &(*pipe->out_end)->next;
}

/* What was queued in this turn still leaves. */
void stream_close(struct stream *stream)
{
	struct pipe *pipe = pipe_of(stream);

	if (!pipe->over)
		hear(pipe, false);
	pipe->over = true;
}

void stream_reset(struct stream *stream)
{
	pipe_of(stream)->over = true;
}

void stream_free(struct stream *stream)
{
	struct pipe *pipe = pipe_of(stream);

	for (unsigned i = 0; i < PIPES; i++)
		if (target.pipe[i] == pipe)
			target.pipe[i] = NULL;
	for (unsigned i = 0; i < TASKS; i++)
		free(pipe->task[i].data);
	free(pipe);
}

void stream_probe(struct stream *stream, uint32_t idle_ms)
{
	(void)stream, (void)idle_ms;
}

bool stream_is_unacknowledged(struct stream *stream, uint32_t ms)
{
	(void)stream, (void)ms;
	return false;
}

/* Only real sockets come from elsewhere or go there. */
struct stream_detached stream_detach(struct stream *stream)
{
	(void)stream;
	abort();
}

int stream_attach(struct stream **out, struct loop *on, const struct stream_detached *from,
	const struct addr *peer, const struct stream_events *events, void *user, struct diag *diag)
{
	(void)out, (void)on, (void)from, (void)peer, (void)events, (void)user, (void)diag;
	abort();
}

int stream_start_tls(struct stream *stream, const struct stream_tls *with, struct diag *diag)
{
	(void)stream, (void)with, (void)diag;
	abort();
}

int stream_accept(struct stream **out, struct loop *on, int fd, const struct addr *peer,
	const struct stream_events *events, void *user, struct diag *diag)
{
	(void)out, (void)on, (void)fd, (void)peer, (void)events, (void)user, (void)diag;
	abort();
}

/* ---- Its life. Between the two, the test may change what it likes. */

static void target_begin(struct loop *on)
{
	target = (struct target){ .poller = { .poll = turn_all, .arm = is_quiet },
		.immediate = true,
		.recv = 8192,
		.first_burst = 65536,
		.max_burst = 262144,
		.window = 32,
		.piece = 8192,
		.r2t = 262144,
		.blocks = PIPE_DISK / 512,
		.disk = calloc(1, PIPE_DISK) };
	assert(target.disk);
	loop_poller_add(on, &target.poller);
}

/* Every connection was freed. */
static void target_end(struct loop *on)
{
	loop_poller_del(on, &target.poller);
	for (unsigned i = 0; i < PIPES; i++)
		assert(!target.pipe[i]);
	free(target.disk);
	target.disk = NULL;
}

/* The n-th connection that was made, NULL: gone. */
static inline struct pipe *pipe_number(unsigned n)
{
	for (unsigned i = 0; i < PIPES; i++)
		if (target.pipe[i] && target.pipe[i]->number == n)
			return target.pipe[i];
	return NULL;
}
