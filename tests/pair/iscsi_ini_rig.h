/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the tests of the iSCSI initiator over TCP share: the target of tests/fake on a connection in
 * memory, a disk and a lane on a fake clock, and requests. */
#pragma once
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

static inline void begin(void)
{
	host_begin(0);
	target_begin(loop);
}

static inline void end(void)
{
	host_hang_up();
	target_end(loop);
	loop_free(loop);
}

static inline int attach(const char *rest)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };
	char text[200];

	snprintf(text, sizeof(text), "iscsi://10.0.0.1/" IQN "%s", rest);
	return host_attach(text, &env);
}

static inline void refused(const char *rest, int err, enum diag_code code, const char *words)
{
	int got = attach(rest);

	cr_assert_eq(got, -err, "%d: %s", got, why.text);
	diag_says(&why, code, "10.0.0.1:3260", words);
	end();
}

static inline void lane_up(void)
{
	host_open_lane();
	cr_assert_eq(pool_new(&pool, ROOM, COUNT, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

static inline void up(const char *rest)
{
	cr_assert_eq(attach(rest), 0, "%s", why.text);
	lane_up();
}

static inline void down(void)
{
	target.script = NULL;
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

static inline void run_ms(uint64_t ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * 1000000);
}

static inline void done(struct io *io)
{
	container_of(io, struct request, io)->dones++;
	finished++;
}

static inline void submit(unsigned at, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
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

static inline void turns_until(unsigned count)
{
	uint64_t until = loop_clock() + 600000000000ull;

	while (finished < count && loop_clock() < until)
		run_ms(1);
	cr_assert_eq(finished, count);
}

/* 64 writes of several lengths at once, then 64 reads. */
static inline void work(void)
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

static inline int one(uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
{
	finished = 0;
	submit(0, kind, flags, off, len);
	turns_until(1);
	return request[0].io.status;
}

static inline void fails(uint8_t status, uint8_t key, uint8_t asc, uint8_t ascq, unsigned times)
{
	target.failing = times;
	target.fails_with = status;
	memcpy(target.sense, (uint8_t[]){ key, asc, ascq }, 3);
}

static unsigned unanswered;
static uint32_t last_itt;

static inline bool keeps_silent(
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
