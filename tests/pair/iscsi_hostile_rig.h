/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the tests of initiators that break the rules of iSCSI share: the target over TCP, an honest
 * session, and others that ask for anything. Whatever they do, no byte of the disk changes that
 * they did not properly write, their session survives or ends alone, what they held is free again,
 * and the honest session is served all the time. The clock is fake, except where several threads
 * run. */
#pragma once
#include "disk.h"
#include "iscsi_host.h"
#include "leap.h"
#include "serve.h"
#include "target.h"
#include "wire/scsi.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MSEC     1000000ull
#define IQN      "iqn.t"
#define SIZE     (8u << 20)
#define BLOCK    512u
#define OWN_LBA  8192u /* the honest initiator's part of the disk, from there on */
#define BUFFERS  4
#define STALL_MS 30000
#define HOSTS    4
#define WORKERS  3

static struct loop *loop, *loops[WORKERS];
static struct fake_disk *disk;
static struct target *target;
static struct addr bound;
static unsigned listens = 1; /* number n is in group n + 1 */
static struct iscsi_host *host[HOSTS];
static uint8_t pattern[1 << 18], before[SIZE];
static struct diag why;
static unsigned most_turns = 500; /* of a millisecond, in which an answer must come; 0: any */

/* --- the target, and initiators that come and go */

static inline void start(struct bdev *bdev, unsigned nloops)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct target_options opt = { .disks = 1,
		.listens = listens,
		.loops = loops,
		.nloops = nloops,
		.buffers = BUFFERS,
		.connections = 1000,
		.stall_ms = leap_limit_ms(STALL_MS) };

	opt.disk[0] = (struct target_disk_options){ .bdev = bdev, .name = IQN, .serial = "S1" };
	for (unsigned i = 0; i < listens; i++) {
		memcpy(&opt.listen[i].at.ss, &in, sizeof(in));
		opt.listen[i].at.len = sizeof(in);
		opt.listen[i].transports = TRANSPORT_TCP;
		opt.listen[i].group = (uint16_t)(i + 1);
	}
	cr_assert_eq(iscsi_serve(&target, loop, &opt, 1000, &why), 0, "%s", why.text);
	target_transports(target, 0, &bound);
}

static inline void set_up(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = loop;
	disk = fake_disk_new(loop, SIZE, BLOCK);
	for (unsigned i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 31 + i / 509);
	for (unsigned i = 0; i < SIZE; i++)
		disk->bytes[i] = (uint8_t)(i * 7 + i / BLOCK);
	memcpy(before, disk->bytes, SIZE);
}

static inline void turn(void)
{
	volatile int never = 0;

	for (unsigned i = 0; i < HOSTS; i++)
		if (host[i])
			iscsi_host_poll(host[i]);
	loop_wait(loop, &never, loop_clock() + MSEC);
	for (unsigned i = 0; i < HOSTS; i++)
		if (host[i])
			iscsi_host_poll(host[i]);
}

#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		for (unsigned until = 0; !(condition); until++) {                                  \
			cr_assert(until < most_turns || !most_turns,                               \
				"not within %u turns: " #condition, most_turns);                   \
			turn();                                                                    \
		}                                                                                  \
	} while (0)

static inline void turns(unsigned count)
{
	while (count--)
		turn();
}

static inline struct iscsi_host *dial(unsigned i)
{
	iscsi_host_leave(host[i]);
	host[i] = iscsi_host_dial(&bound);
	return host[i];
}

static inline void ask_login(unsigned i, uint8_t isid)
{
	char name[32];
	struct iscsi_host_login with = { .name = name, .target = IQN, .isid = isid };

	snprintf(name, sizeof(name), "iqn.i%u", i ? 1 : 0); /* 0: honest */
	iscsi_host_login(host[i], &with);
}

static inline uint8_t status_of(struct iscsi_host *h, struct iscsi_scsi_cmd cmd)
{
	uint32_t replies = h->replies;

	iscsi_host_ask(h, &cmd, NULL, 0);
	UNTIL(h->replies > replies || h->over);
	cr_assert(!h->over);
	return h->status;
}

static inline void ready(struct iscsi_host *h)
{
	UNTIL(h->up);
	while (status_of(h, iscsi_host_command(h, 0, 0)))
		;
}

static inline struct iscsi_host *join(unsigned i, uint8_t isid)
{
	struct iscsi_host *h = dial(i);

	ask_login(i, isid);
	ready(h);
	return h;
}

static inline void give_all(struct iscsi_host *h, const uint8_t *data)
{
	while (h->r2ts) {
		uint32_t left = h->r2t[0].len;
		uint32_t len = left < ISCSI_HOST_RECV ? left : ISCSI_HOST_RECV;

		iscsi_host_give(h, 0, len, len == left ? ISCSI_FINAL : 0, data + h->r2t[0].offset);
	}
}

static inline struct iscsi_scsi_cmd writing(struct iscsi_host *h, uint32_t lba, uint16_t blocks)
{
	struct iscsi_scsi_cmd cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, blocks * BLOCK);

	iscsi_host_rw(&cmd, 0x2a, lba, blocks);
	return cmd;
}

static inline void ask_write(struct iscsi_host *h, uint32_t lba, uint16_t blocks)
{
	struct iscsi_scsi_cmd cmd = writing(h, lba, blocks);

	iscsi_host_ask(h, &cmd, NULL, 0);
}

/* 32 KiB there and back, with all buffers free for it. */
static inline void honest_works(void)
{
	struct iscsi_host *h = host[0];
	struct iscsi_scsi_cmd cmd = writing(h, OWN_LBA, 64);

	iscsi_host_ask(h, &cmd, NULL, 0);
	UNTIL(h->r2ts);
	give_all(h, pattern);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	cmd = iscsi_host_command(h, ISCSI_CMD_READ, 32768);
	iscsi_host_rw(&cmd, 0x28, OWN_LBA, 64);
	memset(h->data, 0, 32768);
	cr_assert_eq(status_of(h, cmd), 0);
	cr_assert_eq(memcmp(h->data, pattern, 32768), 0);
}

static inline void begin(void)
{
	set_up();
	start(&disk->bdev, 1);
	join(0, 0);
	memcpy(before + OWN_LBA * BLOCK, pattern, 32768);
	honest_works();
}

/* No byte has changed but what the test has put into `before`. */
static inline void unchanged(void)
{
	cr_assert_eq(memcmp(disk->bytes, before, SIZE), 0);
}

static inline void end(void)
{
	honest_works();
	unchanged();
	for (unsigned i = 0; i < HOSTS; i++) {
		iscsi_host_leave(host[i]);
		host[i] = NULL;
	}
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	cr_assert_eq(disk->bdev.orphans, 0);
	fake_disk_free(disk);
	loop_free(loop);
}

static inline void is_over(struct iscsi_host *h)
{
	UNTIL(h->over);
	honest_works();
	unchanged();
}

static inline void ping(struct iscsi_host *h, uint32_t cmdsn, uint32_t len)
{
	struct iscsi_nop nop = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(0x70000000 + h->itt++),
		.ttt = put_be32(ISCSI_NO_TAG),
		.sn = put_be32(cmdsn) };

	iscsi_host_put(h, &nop, pattern, len);
}

static inline void ask_task(struct iscsi_host *h, uint8_t function, uint32_t itt)
{
	struct iscsi_task_req req = { .opcode = ISCSI_TASK_REQ | ISCSI_IMMEDIATE,
		.flags = (uint8_t)(ISCSI_FINAL | function),
		.itt = put_be32(h->itt++),
		.ref_itt = put_be32(itt),
		.cmdsn = put_be32(h->cmdsn) };

	iscsi_host_put(h, &req, NULL, 0);
}

static inline uint8_t task(struct iscsi_host *h, uint8_t function, uint32_t itt)
{
	const struct iscsi_task_rsp *rsp = (const void *)&h->last[ISCSI_TASK_RSP];
	unsigned seen = h->seen[ISCSI_TASK_RSP];

	ask_task(h, function, itt);
	UNTIL(h->seen[ISCSI_TASK_RSP] > seen);
	return rsp->response;
}

static inline void pass(unsigned seconds)
{
	while (seconds--) {
		volatile int never = 0;

		turn();
		loop_wait(loop, &never, loop_clock() + 1000 * MSEC);
	}
}

static inline struct iscsi_host *join_with(unsigned i, const char *keys, size_t len, bool digests)
{
	char name[32];
	struct iscsi_host_login with = { .name = name,
		.target = IQN,
		.isid = 9,
		.digests = digests,
		.keys = keys,
		.keys_len = len };
	struct iscsi_host *h = dial(i);

	snprintf(name, sizeof(name), "iqn.i%u", i);
	iscsi_host_login(h, &with);
	ready(h);
	return h;
}

static inline void ask_logout(struct iscsi_host *h)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(h->itt++),
		.cmdsn = put_be32(h->cmdsn) };

	iscsi_host_put(h, &req, NULL, 0);
}
