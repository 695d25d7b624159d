/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the tests of the SRP initiator share: the target in tests/fake on the endpoint in memory, a
 * disk and a lane, requests, and a target that keeps their answers until the test gives them. */
#pragma once
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

static inline void begin(void)
{
	host_begin(0);
	srp_peer_init(&target, loop);
}

static inline void end(void)
{
	host_end();
	srp_peer_fini(&target);
}

static inline int attach(const char *rest)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000 };
	char text[200];

	snprintf(text, sizeof(text), "srp+cm://10.0.0.1:5555/0002c903000e8acd/2%s", rest);
	return host_attach(text, &env);
}

static inline void refused(const char *rest, int err, enum diag_code code, const char *words)
{
	int got = attach(rest);

	cr_assert_eq(got, -err, "%d: %s", got, why.text);
	diag_says(&why, code, NULL, words);
	end();
}

static inline void lane_up(void)
{
	host_open_lane();
	cr_assert_eq(pool_new(&pool, ROOM, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

static inline void up(const char *rest)
{
	begin();
	cr_assert_eq(attach(rest), 0, "%s", why.text);
	lane_up();
}

static inline void down(void)
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

static inline void done(struct io *io)
{
	(void)io;
	finished++;
}

static inline void submit(unsigned at, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
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

static inline void turns_until(unsigned count)
{
	uint64_t until = loop_clock() + 20000000000ull;
	volatile int never = 0;

	while (finished < count && loop_clock() < until)
		loop_wait(loop, &never, loop_clock() + 1000000);
	cr_assert_eq(finished, count);
}

/* 64 writes of several lengths at once, then 64 reads. */
static inline void work(void)
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

static inline int one(uint8_t kind, uint8_t flags, uint32_t len)
{
	finished = 0;
	submit(0, kind, flags, 0, len);
	turns_until(1);
	return request_of[0].io.status;
}

/* Some turns, in which nothing need happen. */
static inline void pass(void)
{
	for (int i = 0; i < 5; i++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000000);
	}
}

static inline void fails(uint8_t status, uint8_t key, uint8_t asc, uint8_t ascq, unsigned times)
{
	target.failing = times;
	target.status = status;
	memcpy(target.sense, (uint8_t[]){ key, asc, ascq }, 3);
}

/* --- answers that wait */

static unsigned held;
static struct srp_cmd hold[128];
static uint8_t hold_data[128][64 + 512];

static struct srp_tsk_mgmt task;
static unsigned tasks;

/* Answers to I/O wait here. */
static inline bool keep(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
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

static inline void answer(unsigned at, int32_t delta)
{
	struct srp_rsp rsp = {
		.opcode = SRP_RSP, .delta = put_be32((uint32_t)delta), .tag = hold[at].tag
	};

	cr_assert(ep_pair_deliver(target.chan[1], &rsp, sizeof(rsp)));
	pass();
}

static inline void credit(int32_t delta)
{
	struct srp_cred_req req = { .opcode = SRP_CRED_REQ, .delta = put_be32((uint32_t)delta) };

	cr_assert(ep_pair_deliver(target.chan[1], &req, sizeof(req)));
	pass();
}

static inline void ten_held(int32_t limit)
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

static inline void answer_task(uint8_t code, uint32_t delta)
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

static inline void wait_until(const unsigned *what, unsigned count)
{
	volatile int never = 0;

	for (int i = 0; i < 1000 && *what < count; i++)
		loop_wait(loop, &never, loop_clock() + 100000000);
	cr_assert_eq(*what, count);
}

static inline void delay_one(void)
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
