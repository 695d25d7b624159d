/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Initiators that know iSCSI and break its rules, at the target over TCP. Whatever they do, no byte
 * of the disk changes that they did not properly write, their session survives or ends alone, what
 * they held is free again, and an honest session is served all the time. The clock is fake, except
 * where several threads run. */
/* Link: leap malloc calloc realloc */
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
static struct iscsi_host *host[HOSTS];
static uint8_t pattern[1 << 18], before[SIZE];
static struct diag why;
static unsigned allocations;
static unsigned most_turns = 500; /* of a millisecond, in which an answer must come; 0: any */

void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__wrap_malloc(size_t len)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_malloc(len);
}

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_calloc(size_t count, size_t len)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_calloc(count, len);
}

void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_realloc(void *p, size_t len)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_realloc(p, len);
}

/* --- the target, and initiators that come and go */

static void start(struct bdev *bdev, unsigned nloops)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct target_options opt = { .disks = 1,
		.listens = 1,
		.loops = loops,
		.nloops = nloops,
		.buffers = BUFFERS,
		.connections = 1000,
		.stall_ms = leap_limit_ms(STALL_MS) };

	opt.disk[0] = (struct target_disk_options){ .bdev = bdev, .name = IQN, .serial = "S1" };
	memcpy(&opt.listen[0].at.ss, &in, sizeof(in));
	opt.listen[0].at.len = sizeof(in);
	opt.listen[0].transports = TRANSPORT_TCP;
	cr_assert_eq(iscsi_serve(&target, loop, &opt, 1000, &why), 0, "%s", why.text);
	target_transports(target, 0, &bound);
}

static void set_up(void)
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

static void turn(void)
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

static void turns(unsigned count)
{
	while (count--)
		turn();
}

static struct iscsi_host *dial(unsigned i)
{
	iscsi_host_leave(host[i]);
	host[i] = iscsi_host_dial(&bound);
	return host[i];
}

static void ask_login(unsigned i, uint8_t isid)
{
	char name[32];
	struct iscsi_host_login with = { .name = name, .target = IQN, .isid = isid };

	snprintf(name, sizeof(name), "iqn.i%u", i ? 1 : 0); /* 0: honest */
	iscsi_host_login(host[i], &with);
}

static uint8_t status_of(struct iscsi_host *h, struct iscsi_scsi_cmd cmd)
{
	uint32_t replies = h->replies;

	iscsi_host_ask(h, &cmd, NULL, 0);
	UNTIL(h->replies > replies || h->over);
	cr_assert(!h->over);
	return h->status;
}

static void ready(struct iscsi_host *h)
{
	UNTIL(h->up);
	while (status_of(h, iscsi_host_command(h, 0, 0)))
		;
}

static struct iscsi_host *join(unsigned i, uint8_t isid)
{
	struct iscsi_host *h = dial(i);

	ask_login(i, isid);
	ready(h);
	return h;
}

static void give_all(struct iscsi_host *h, const uint8_t *data)
{
	while (h->r2ts) {
		uint32_t left = h->r2t[0].len;
		uint32_t len = left < ISCSI_HOST_RECV ? left : ISCSI_HOST_RECV;

		iscsi_host_give(h, 0, len, len == left ? ISCSI_FINAL : 0, data + h->r2t[0].offset);
	}
}

static struct iscsi_scsi_cmd writing(struct iscsi_host *h, uint32_t lba, uint16_t blocks)
{
	struct iscsi_scsi_cmd cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, blocks * BLOCK);

	iscsi_host_rw(&cmd, 0x2a, lba, blocks);
	return cmd;
}

static void ask_write(struct iscsi_host *h, uint32_t lba, uint16_t blocks)
{
	struct iscsi_scsi_cmd cmd = writing(h, lba, blocks);

	iscsi_host_ask(h, &cmd, NULL, 0);
}

/* 32 KiB there and back, with all buffers free for it. */
static void honest_works(void)
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

static void begin(void)
{
	set_up();
	start(&disk->bdev, 1);
	join(0, 0);
	memcpy(before + OWN_LBA * BLOCK, pattern, 32768);
	honest_works();
}

/* No byte has changed but what the test has put into `before`. */
static void unchanged(void)
{
	cr_assert_eq(memcmp(disk->bytes, before, SIZE), 0);
}

static void end(void)
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

static void is_over(struct iscsi_host *h)
{
	UNTIL(h->over);
	honest_works();
	unchanged();
}

static void ping(struct iscsi_host *h, uint32_t cmdsn, uint32_t len)
{
	struct iscsi_nop nop = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(0x70000000 + h->itt++),
		.ttt = put_be32(ISCSI_NO_TAG),
		.sn = put_be32(cmdsn) };

	iscsi_host_put(h, &nop, pattern, len);
}

static uint32_t expected_cmdsn(struct iscsi_host *h)
{
	const struct iscsi_nop *nop = (const void *)&h->last[ISCSI_NOP_IN];
	unsigned seen = h->seen[ISCSI_NOP_IN];

	ping(h, h->cmdsn, 0);
	UNTIL(h->seen[ISCSI_NOP_IN] > seen);
	return get_be32(nop->exp_sn);
}

/* --- numbers and tags */

Test(iscsi_hostile, cmdsn_outside_the_window)
{
	static const uint32_t off[] = { 1, 63, 64, 65, 1000, UINT32_MAX, UINT32_MAX - 1, 1u << 31 };
	struct iscsi_host *h;
	uint32_t replies, now;

	begin();
	h = join(1, 1);
	replies = h->replies;
	now = h->cmdsn;
	for (unsigned i = 0; i < sizeof(off) / sizeof(*off); i++) {
		struct iscsi_scsi_cmd cmd = writing(h, 0, 8);

		cmd.cmdsn = put_be32(now + off[i]);
		iscsi_host_ask(h, &cmd, pattern, 4096); /* which is the data of all of it */
		h->asked--;
		h->cmdsn = now;
		cr_assert_eq(expected_cmdsn(h), now, "CmdSN +%u was taken", off[i]);
	}
	unchanged();
	cr_assert_eq(h->replies, replies);
	cr_assert_eq(h->r2ts, 0);
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
	cr_assert_eq(expected_cmdsn(h), now + 1);
	end();
}

Test(iscsi_hostile, two_commands_with_one_tag)
{
	struct iscsi_host *h;
	struct iscsi_scsi_cmd cmd;

	begin();
	h = join(1, 1);
	for (unsigned i = 0; i < 2; i++) {
		cmd = writing(h, 100 * i, 32);
		cmd.itt = put_be32(0x77);
		iscsi_host_ask(h, &cmd, NULL, 0);
	}
	UNTIL(h->r2ts == 2);
	cr_assert_neq(h->r2t[0].ttt, h->r2t[1].ttt);
	give_all(h, pattern);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	memcpy(before, pattern, 32 * BLOCK);
	memcpy(before + 100 * BLOCK, pattern, 32 * BLOCK);
	end();
}

/* --- Data-Out */

enum lie {
	BEHIND,
	BEFORE,
	FAR_BEHIND,
	TOO_LONG,
	OTHER_TTT,
	NO_TTT,
	LATER_TTT,
	OTHER_ITT,
	DATASN,
	NO_FINAL,
	EARLY_FINAL,
	EMPTY,
	AGAIN,
	LIES
};

static void lie_about(struct iscsi_host *h, enum lie lie)
{
	struct iscsi_host_r2t *r2t = &h->r2t[0];
	uint32_t len = ISCSI_HOST_RECV;
	uint8_t flags = 0;

	switch (lie) {
	case BEHIND:
		r2t->offset += BLOCK;
		break;
	case BEFORE:
		r2t->offset -= BLOCK;
		break;
	case FAR_BEHIND:
		r2t->offset += 1u << 30;
		break;
	case TOO_LONG:
		len = 65532;
		break;
	case OTHER_TTT:
		r2t->ttt ^= 1;
		break;
	case NO_TTT:
		r2t->ttt = ISCSI_NO_TAG;
		break;
	case LATER_TTT:
		r2t->ttt += 72; /* no command has this slot */
		break;
	case OTHER_ITT:
		r2t->itt ^= 1;
		break;
	case DATASN:
		r2t->datasn++;
		break;
	case NO_FINAL:
		iscsi_host_give(h, 0, len, 0, pattern);
		break;
	case EARLY_FINAL:
		flags = ISCSI_FINAL;
		break;
	case EMPTY:
		len = 0;
		break;
	default: /* AGAIN: the same part twice */
		iscsi_host_give(h, 0, len, 0, pattern);
		r2t->offset -= len;
	}
	iscsi_host_give(h, 0, len, flags, pattern);
	if (lie == NO_FINAL) /* more than all of it, without an end */
		iscsi_host_give(h, 0, len, 0, pattern);
}

/* Each of them more often than there are buffers. Data with the tag of an unknown command
 * (it may have been aborted) is not a protocol error, and is discarded. */
Test(iscsi_hostile, data_that_was_not_asked_for)
{
	begin();
	for (enum lie lie = 0; lie < LIES; lie++)
		for (unsigned i = 0; i < 2 * BUFFERS; i++) {
			struct iscsi_host *h = join(1, 1);

			ask_write(h, 64, 32);
			UNTIL(h->r2ts == 1);
			h->r2t[0].len = 1u << 30; /* is kept here whatever is sent */
			lie_about(h, lie);
			if (lie == OTHER_TTT)
				turns(5);
			else
				UNTIL(h->over);
			unchanged();
		}
	honest_works();
	end();
}

/* Data behind a command, for tags as the target has made them so far. */
Test(iscsi_hostile, data_before_it_is_asked_for)
{
	begin();
	for (unsigned i = 0; i < 2 * BUFFERS; i++) {
		struct iscsi_host *h = join(1, 1);
		uint32_t ttt;

		ask_write(h, 0, 8);
		UNTIL(h->r2ts == 1);
		ttt = h->r2t[0].ttt;
		give_all(h, before);
		UNTIL(h->replies == h->asked);
		ask_write(h, 0, 8);
		for (unsigned round = 0; round < 3; round++) {
			h->r2t[0] = (struct iscsi_host_r2t){
				.itt = h->itt - 1, .ttt = ttt + (round << 16), .len = 4096
			};
			h->r2ts = 1;
			iscsi_host_give(h, 0, 4096, ISCSI_FINAL, pattern);
		}
		turns(5);
		unchanged();
	}
	end();
}

Test(iscsi_hostile, more_with_a_command_than_allowed)
{
	begin();
	for (unsigned i = 0; i < 4 * BUFFERS; i++) {
		struct iscsi_host *h = join(1, 1);
		struct iscsi_scsi_cmd cmd = writing(h, 64, 8);
		uint32_t len = 4096;

		if (i % 4 == 0)
			len = 16384; /* than FirstBurstLength */
		else if (i % 4 == 1)
			cmd.expected = put_be32(2048); /* than it says itself */
		else if (i % 4 == 2)
			cmd.flags &= (uint8_t)~ISCSI_CMD_WRITE;
		else
			cmd.flags &= (uint8_t)~ISCSI_FINAL;
		iscsi_host_ask(h, &cmd, pattern, len);
		is_over(h);
	}
	end();
}

static void ask_task(struct iscsi_host *h, uint8_t function, uint32_t itt)
{
	struct iscsi_task_req req = { .opcode = ISCSI_TASK_REQ | ISCSI_IMMEDIATE,
		.flags = (uint8_t)(ISCSI_FINAL | function),
		.itt = put_be32(h->itt++),
		.ref_itt = put_be32(itt),
		.cmdsn = put_be32(h->cmdsn) };

	iscsi_host_put(h, &req, NULL, 0);
}

static uint8_t task(struct iscsi_host *h, uint8_t function, uint32_t itt)
{
	const struct iscsi_task_rsp *rsp = (const void *)&h->last[ISCSI_TASK_RSP];
	unsigned seen = h->seen[ISCSI_TASK_RSP];

	ask_task(h, function, itt);
	UNTIL(h->seen[ISCSI_TASK_RSP] > seen);
	return rsp->response;
}

static void pass(unsigned seconds)
{
	while (seconds--) {
		volatile int never = 0;

		turn();
		loop_wait(loop, &never, loop_clock() + 1000 * MSEC);
	}
}

/* --- unsolicited data, digests */

static struct iscsi_host *join_with(unsigned i, const char *keys, size_t len, bool digests)
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
#define EAGER "InitialR2T=No"

/* With the default of FirstBurstLength, which is 64 KiB. */
static struct iscsi_host *join_by_default(unsigned i, const char *keys, size_t len)
{
	struct iscsi_host_login with = { .name = "iqn.default",
		.target = IQN,
		.isid = (uint8_t)i,
		.default_burst = true,
		.keys = keys,
		.keys_len = len };
	struct iscsi_host *h = dial(i);

	iscsi_host_login(h, &with);
	ready(h);
	return h;
}

static uint32_t window(const struct iscsi_host *h)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&h->last[ISCSI_SCSI_RSP];

	return get_be32(rsp->max_cmdsn) - get_be32(rsp->exp_cmdsn) + 1;
}

/* The part of the pattern from `at` on, of a write that begins there. */
static void volunteer(struct iscsi_host *h, uint32_t itt, uint32_t datasn, uint32_t at,
	uint32_t len, uint8_t flags)
{
	struct iscsi_data_out pdu = { .opcode = ISCSI_DATA_OUT,
		.flags = flags,
		.itt = put_be32(itt),
		.ttt = put_be32(ISCSI_NO_TAG),
		.datasn = put_be32(datasn),
		.offset = put_be32(at) };

	iscsi_host_put(h, &pdu, pattern + at, len);
}

/* The first 65024 bytes of a write of 65536, whose last 512 follow with volunteer(). */
static uint32_t begin_long(struct iscsi_host *h)
{
	struct iscsi_scsi_cmd cmd = writing(h, 0, 128);

	cmd.flags &= (uint8_t)~ISCSI_FINAL;
	iscsi_host_ask(h, &cmd, pattern, 65024);
	turns(2);
	return get_be32(cmd.itt);
}

/* Data that may come along with all commands of a session has a bound, whatever was negotiated: a
 * few long bursts are kept. The window stays as it is, and short bursts have their own room. */
Test(iscsi_hostile, long_first_bursts_beyond_the_room_for_them)
{
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *h;
	uint32_t itt[8];

	begin();
	h = join_by_default(1, EAGER, sizeof(EAGER));
	cr_assert_eq(window(h), 64);
	for (unsigned i = 0; i < 8; i++)
		itt[i] = begin_long(h);
	for (unsigned round = 0; round < 2; round++) {
		uint32_t one_more = begin_long(h);

		volunteer(h, one_more, 0, 65024, 512, ISCSI_FINAL);
		UNTIL(h->replies == h->asked - 8);
		cr_assert_eq(h->status, SCSI_TASK_SET_FULL);
		cmd = writing(h, 0, 16);
		iscsi_host_ask(h, &cmd, pattern, 8192);
		UNTIL(h->replies == h->asked - 8);
		cr_assert_eq(h->status, 0);
		cr_assert_eq(memcmp(disk->bytes, pattern, 8192), 0);
		volunteer(h, itt[round], 0, 65024, 512, ISCSI_FINAL);
		UNTIL(h->replies == h->asked - 7);
		cr_assert_eq(h->status, 0);
		cr_assert_eq(memcmp(disk->bytes, pattern, 65536), 0);
		itt[round] = begin_long(h);
	}
	cr_assert(!h->over);
	memcpy(before, pattern, 65536);
	for (unsigned i = 0; i < 8; i++)
		volunteer(h, itt[i], 0, 65024, 512, ISCSI_FINAL);
	UNTIL(h->replies == h->asked);
	end();
}

/* With parts of all sizes, before and behind R2T. */
Test(iscsi_hostile, unsolicited_data)
{
	struct iscsi_host *h;

	begin();
	h = join_with(1, EAGER, sizeof(EAGER), false);
	for (unsigned i = 0; i < 64; i++) {
		uint16_t blocks = (uint16_t)(1 + i * 5);
		uint32_t all = blocks * BLOCK, first = all < 8192 ? all : 8192;
		uint32_t inside = i % 3 ? first / (i % 4 + 2) / 4 * 4 : 0, part = 4 * (1 + i * 20);
		struct iscsi_scsi_cmd cmd = writing(h, 0, blocks);
		uint32_t itt = get_be32(cmd.itt), datasn = 0;
		unsigned asked = h->seen[ISCSI_R2T];

		if (i % 5 == 0 && inside + part < first) /* less than it may */
			first = inside + part;
		memset(disk->bytes, 0, all);
		cmd.flags &= (uint8_t)~ISCSI_FINAL;
		if (i % 7 == 0)
			cmd.flags = (uint8_t)((cmd.flags & ~7) | ISCSI_ORDERED);
		iscsi_host_ask(h, &cmd, pattern, inside);
		for (uint32_t at = inside; at < first; at += part) {
			uint32_t len = first - at < part ? first - at : part;

			if (i % 2)
				turn();
			volunteer(h, itt, datasn++, at, len, at + len == first ? ISCSI_FINAL : 0);
		}
		for (unsigned n = 0; h->replies < h->asked; n++) {
			cr_assert_lt(n, most_turns, "write %u", i);
			turn();
			give_all(h, pattern);
		}
		cr_assert_eq(h->status, 0);
		cr_assert_eq(h->seen[ISCSI_R2T] == asked, all == first);
		cr_assert_eq(memcmp(disk->bytes, pattern, all), 0);
	}
	memcpy(before, disk->bytes, 512 * BLOCK);
	end();
}

/* Immediate data fills the first half of the buffer, so no R2T is sent for that. */
Test(iscsi_hostile, a_piece_of_immediate_data)
{
	static const char keys[] = "InitialR2T=No";
	struct iscsi_host *h;
	struct iscsi_scsi_cmd cmd;

	begin();
	h = join_by_default(1, keys, sizeof(keys));
	cmd = writing(h, 0, 256);
	cmd.cdb[0] = 0x2e; /* WRITE AND VERIFY has pieces of half a buffer */
	iscsi_host_ask(h, &cmd, pattern, 65536);
	UNTIL(h->r2ts == 1);
	cr_assert_eq(h->r2t[0].offset, 65536);
	h->r2t[0].offset = 0; /* the pattern once more */
	for (unsigned at = 0; at < 65536; at += 8192) {
		struct iscsi_host_r2t r2t = h->r2t[0];
		struct iscsi_data_out pdu = { .opcode = ISCSI_DATA_OUT,
			.flags = at == 57344 ? ISCSI_FINAL : 0,
			.itt = put_be32(r2t.itt),
			.ttt = put_be32(r2t.ttt),
			.datasn = put_be32(at / 8192),
			.offset = put_be32(65536 + at % 32768) };

		if (at == 32768) /* the next R2T */
			break;
		pdu.flags = at == 24576 ? ISCSI_FINAL : 0;
		iscsi_host_put(h, &pdu, pattern + at, 8192);
	}
	h->r2ts = 0;
	UNTIL(h->r2ts == 1);
	cr_assert_eq(h->r2t[0].offset, 65536 + 32768);
	for (unsigned at = 0; at < 32768; at += 8192)
		iscsi_host_give(h, 0, 8192, at == 24576 ? ISCSI_FINAL : 0, pattern + 32768 + at);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	memcpy(before, pattern, 65536);
	memcpy(before + 65536, pattern, 65536);
	end();
}

Test(iscsi_hostile, unsolicited_data_that_lies)
{
	begin();
	for (unsigned i = 0; i < 7 * 2 * BUFFERS; i++) {
		struct iscsi_host *h = join_with(1, EAGER, sizeof(EAGER), false);
		struct iscsi_scsi_cmd cmd = writing(h, 64, 32);
		uint32_t itt = get_be32(cmd.itt);

		cmd.flags &= (uint8_t)~ISCSI_FINAL;
		if (i % 7 == 5)
			cmd.expected = put_be32(0);
		iscsi_host_ask(h, &cmd, pattern, i % 7 == 6 ? 8192 : i % 7 == 5 ? 0 : 512);
		if (i % 7 == 0)
			volunteer(h, itt, 0, 1024, 512, ISCSI_FINAL);
		else if (i % 7 == 1)
			volunteer(h, itt, 1, 512, 512, ISCSI_FINAL);
		else if (i % 7 == 2)
			volunteer(h, itt, 0, 512, 8192, ISCSI_FINAL);
		else if (i % 7 == 3)
			volunteer(h, itt, 0, 512, 7680, 0);
		else if (i % 7 == 4)
			volunteer(h, itt, 0, 512, 0, 0);
		is_over(h);
	}
	end();
}

/* Data that never comes holds a buffer no longer than a transfer may take; when the write is
 * aborted what still arrives is discarded. */
Test(iscsi_hostile, unsolicited_data_that_never_comes)
{
	struct iscsi_host *h;

	begin();
	h = join_with(1, EAGER, sizeof(EAGER), false);
	for (unsigned i = 0; i < 4 * BUFFERS; i++) {
		struct iscsi_scsi_cmd cmd = writing(h, 64, 32);
		uint32_t itt = get_be32(cmd.itt);

		cmd.flags &= (uint8_t)~ISCSI_FINAL;
		if (i % 2) /* which waits for an earlier one */
			cmd.flags = (uint8_t)((cmd.flags & ~7) | ISCSI_ORDERED);
		iscsi_host_ask(h, &cmd, pattern, 512);
		turn();
		if (i % 4 >= 2)
			volunteer(h, itt, 0, 512, 512, 0);
		turn();
		cr_assert_eq(task(h, ISCSI_ABORT_TASK, itt), ISCSI_TASK_COMPLETE);
		h->asked--;
		volunteer(h, itt, 1, 1024, 512, ISCSI_FINAL);
		turns(2);
		honest_works();
		unchanged();
	}
	for (unsigned i = 0; i < 2 * BUFFERS; i++) {
		struct iscsi_scsi_cmd cmd = writing(h, 64, 32);

		cmd.flags &= (uint8_t)~ISCSI_FINAL;
		iscsi_host_ask(h, &cmd, pattern, 512);
	}
	turn();
	honest_works();
	for (unsigned i = 0; i < STALL_MS / 1000 + 5 && !h->over; i++) {
		pass(1);
		honest_works();
	}
	is_over(h);
	end();
}

static void spoil(struct iscsi_host *h, size_t from_end)
{
	h->out[h->out_len - from_end] ^= 1;
}

/* A write with a wrong digest fails alone, and no byte of it is written. */
Test(iscsi_hostile, digests_that_do_not_match)
{
	const struct iscsi_reject *reject;
	struct iscsi_host *h;
	struct iscsi_scsi_cmd cmd;

	begin();
	for (unsigned i = 0; i < 4 * BUFFERS; i++) {
		bool solicited = i % 2;

		h = join_with(1, EAGER, sizeof(EAGER), true);
		reject = (const void *)&h->last[ISCSI_REJECT];
		cmd = writing(h, 64, solicited ? 80 : 8);
		if (solicited) {
			iscsi_host_ask(h, &cmd, NULL, 0);
			UNTIL(h->r2ts == 1);
			iscsi_host_give(h, 0, 8192, 0, pattern);
			spoil(h, i % 4 == 1 ? 4 : 100);
			UNTIL(h->seen[ISCSI_REJECT] == 1);
			cr_assert_lt(h->replies, h->asked, "answered before all data has come");
			give_all(h, pattern);
		} else {
			cmd.flags &= (uint8_t)~ISCSI_FINAL;
			iscsi_host_ask(h, &cmd, pattern, 512);
			volunteer(h, get_be32(cmd.itt), 0, 512, 512, 0);
			spoil(h, 4);
			volunteer(h, get_be32(cmd.itt), 1, 1024, 3072, ISCSI_FINAL);
		}
		UNTIL(h->replies == h->asked);
		cr_assert_eq(h->seen[ISCSI_REJECT], 1);
		cr_assert_eq(reject->reason, ISCSI_REJECT_DATA_DIGEST);
		cr_assert_eq(h->status, 2);
		cr_assert(h->text[4] == 0xb && h->text[14] == 0x47 && h->text[15] == 5);
		unchanged();
		cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
		honest_works();
	}
	/* with a command, a ping: the session ends behind the reject; in a header: at once */
	for (unsigned i = 0; i < 3; i++) {
		h = join_with(1, EAGER, sizeof(EAGER), true);
		cmd = writing(h, 64, 8);
		if (i)
			iscsi_host_ask(h, &cmd, pattern, 4096);
		else
			ping(h, h->cmdsn, 512);
		spoil(h, i == 2 ? 4096 + 5 : 4);
		is_over(h);
		cr_assert_eq(h->seen[ISCSI_REJECT], i < 2);
	}
	end();
}

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

Test(iscsi_hostile, a_second_login)
{
	static const char text[] = "InitiatorName=iqn.i1\0TargetName=" IQN;
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL),
		.isid = { 0x80, [5] = 1 } };
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	ask_login(1, 1);
	is_over(h);
	/* another connection for a session: each has one */
	h = join(1, 1);
	req.tsih = ((const struct iscsi_login_rsp *)(const void *)&h->last[ISCSI_LOGIN_RSP])->tsih;
	h = dial(2);
	req.cid = put_be16(1);
	iscsi_host_put(h, &req, text, sizeof(text));
	is_over(h);
	cr_assert_eq(login_status(h) >> 8, ISCSI_LOGIN_INITIATOR);
	cr_assert_eq(status_of(host[1], iscsi_host_command(host[1], 0, 0)), 0);
	end();
}

static void ask_logout(struct iscsi_host *h)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(h->itt++),
		.cmdsn = put_be32(h->cmdsn) };

	iscsi_host_put(h, &req, NULL, 0);
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

/* --- sessions that begin again */

/* What the disk still has of the earlier session lands before anything of the new one. */
Test(iscsi_hostile, a_session_begun_again)
{
	struct iscsi_host *old, *h;
	struct iscsi_scsi_cmd cmd;

	begin();
	for (unsigned i = 0; i < 2 * BUFFERS; i++) {
		unsigned submitted;

		old = join(1, 1);
		submitted = disk->submitted;
		disk->hold = disk->keep = true;
		cmd = writing(old, 0, 8);
		iscsi_host_ask(old, &cmd, pattern + 4096, 4096);
		ask_write(old, 64, 8); /* and one whose data never comes */
		UNTIL(disk->submitted == submitted + 1 && old->r2ts);
		dial(2);
		ask_login(2, 1); /* as host 1 */
		h = host[2];
		UNTIL(h->up && old->over);
		cr_assert_eq(old->replies, old->asked - 2);
		disk->stuck = disk->last;
		disk->hold = disk->keep = false;
		h->asked = 0;
		ready(h);
		cmd = iscsi_host_command(h, ISCSI_CMD_READ, 4096);
		iscsi_host_rw(&cmd, 0x28, 0, 8);
		iscsi_host_ask(h, &cmd, NULL, 0);
		turns(20);
		cr_assert_eq(h->replies, h->asked - 1, "a read overtook a write before it");
		disk->stuck = NULL;
		UNTIL(h->replies == h->asked);
		cr_assert_eq(memcmp(h->data, pattern + 4096, 4096), 0);
		memcpy(before, pattern + 4096, 4096);
		cmd = writing(h, 0, 8);
		iscsi_host_ask(h, &cmd, pattern, 4096);
		UNTIL(h->replies == h->asked);
		memcpy(before, pattern, 4096);
		unchanged();
	}
	end();
}

static uint8_t simple(struct iscsi_host *h, uint8_t opcode)
{
	struct iscsi_scsi_cmd cmd = iscsi_host_command(h, 0, 0);

	cmd.cdb[0] = opcode;
	return status_of(h, cmd);
}

/* A session that begins again has lost what it had reserved, and what it reserves then is its own,
 * although the disk has not yet let go of the earlier one. */
Test(iscsi_hostile, a_reservation_begun_again)
{
	enum { READY = 0, RESERVE = 0x16, RELEASE = 0x17, CONFLICT = 0x18 };
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *old, *h;

	begin();
	for (unsigned i = 0; i < 2; i++) {
		unsigned submitted = disk->submitted;

		old = join(1, 1);
		cr_assert_eq(simple(old, RESERVE), 0);
		disk->hold = disk->keep = true;
		cmd = writing(old, 64, 8);
		iscsi_host_ask(old, &cmd, before + 64 * BLOCK, 4096);
		UNTIL(disk->submitted == submitted + 1);
		dial(2);
		ask_login(2, 1); /* as host 1 */
		h = host[2];
		ready(h);
		if (i)
			cr_assert_eq(simple(h, RESERVE), 0);
		disk->hold = disk->keep = false;
		turns(20);
		cr_assert_eq(simple(host[0], READY), i ? CONFLICT : 0);
		cr_assert_eq(simple(h, RELEASE), 0);
		cr_assert_eq(simple(host[0], READY), 0);
	}
	end();
}

/* Registrations belong to the port and outlive its sessions. */
Test(iscsi_hostile, a_registration_outlives_sessions)
{
	static const uint8_t keys[24] = { [15] = 7 }, reserve[24] = { [7] = 7 };
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	for (unsigned action = 0; action < 2; action++) { /* REGISTER, RESERVE exclusive access */
		cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, 24);
		cmd.cdb[0] = 0x5f;
		cmd.cdb[1] = (uint8_t)action;
		cmd.cdb[2] = 3;
		cmd.cdb[8] = 24;
		iscsi_host_ask(h, &cmd, action ? reserve : keys, 24);
		UNTIL(h->replies == h->asked);
		cr_assert_eq(h->status, 0);
	}
	iscsi_host_leave(h);
	host[1] = NULL;
	turns(20);
	cmd = writing(host[0], OWN_LBA, 8);
	cr_assert_eq(status_of(host[0], cmd), 0x18);
	h = join(2, 2); /* another port of the same initiator */
	cr_assert_eq(status_of(h, writing(h, 64, 8)), 0x18);
	h = join(1, 1);
	cmd = writing(h, 64, 8);
	iscsi_host_ask(h, &cmd, before + 64 * BLOCK, 4096);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, 24);
	cmd.cdb[0] = 0x5f;
	cmd.cdb[1] = 3; /* CLEAR */
	cmd.cdb[8] = 24;
	iscsi_host_ask(h, &cmd, reserve, 24);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	end();
}

/* --- too much of it */

/* The target stops reading once it has two answers that could not leave. */
Test(iscsi_hostile, pings_without_reading)
{
	struct iscsi_host *h;
	unsigned sent = 0, made;

	begin();
	h = join(1, 1);
	h->deaf = true;
	honest_works();
	made = allocations;
	for (unsigned i = 0; i < 10000; i++) {
		if (sizeof(h->out) - h->out_len > 8192) {
			ping(h, h->cmdsn, 4096);
			sent++;
		}
		if (i % 16 == 0)
			turn();
		if (i % 1000 == 0)
			honest_works();
	}
	cr_assert_eq(allocations, made, "%u allocations", allocations - made);
	cr_assert_gt(sent, 100);
	h->deaf = false;
	UNTIL(h->seen[ISCSI_NOP_IN] == sent);
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
	end();
}

static unsigned connections(void)
{
	unsigned count = 0;

	for (const struct target_conn *conn = target->conns; conn; conn = conn->peer_next)
		count++;
	return count;
}

/* The target's socket: the one that is connected to the initiator's. */
static int accepted(const struct iscsi_host *h)
{
	struct sockaddr_in own, peer;
	socklen_t len = sizeof(own);

	cr_assert_eq(getsockname(h->fd, (struct sockaddr *)&own, &len), 0);
	for (int fd = 0;; fd++) {
		cr_assert_lt(fd, 256);
		len = sizeof(peer);
		if (!getpeername(fd, (struct sockaddr *)&peer, &len) &&
			peer.sin_port == own.sin_port)
			return fd;
	}
}

/* After one of these numbers of pings the first answer can't leave. Once half of the next has come,
 * the target needs its other answer for that: it sends no ping of its own. */
Test(iscsi_hostile, half_a_ping_without_reading)
{
	static const int small = 4096;
	static const uint8_t rest[4096];

	begin();
	for (unsigned count = 0; count < 16; count++) {
		struct iscsi_host *h = join(1, 1);

		h->deaf = true;
		cr_assert_eq(setsockopt(h->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
		cr_assert_eq(
			setsockopt(accepted(h), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
		for (unsigned i = 0; i < count; i++) {
			ping(h, h->cmdsn, 8192);
			turns(2);
		}
		ping(h, h->cmdsn, 8192);
		h->out_len -= h->out_len < sizeof(rest) ? 0 : sizeof(rest);
		pass(45);
		iscsi_host_add(h, rest, sizeof(rest));
		turns(2);
		honest_works();
	}
	end();
}

/* A thousand that do not log in, each after some of its login: the honest session is not delayed,
 * an initiator from another port gets in, and few of them are kept. */
Test(iscsi_hostile, a_thousand_pending_connections)
{
	static struct iscsi_host *raw_client[1000];
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_STAGES(ISCSI_STAGE_SECURITY, 0) };
	unsigned count = 0, most = 0;

	begin();
	for (unsigned i = 0; i < 1000; i++) {
		struct iscsi_host *h = raw_client[i] = iscsi_host_dial(&bound);

		if (i % 3 == 1)
			iscsi_host_add(h, pattern + ISCSI_OPCODE(i), 47);
		else if (i % 3 == 2)
			iscsi_host_put(h, &req, "InitiatorName=iqn.i2", 21);
		iscsi_host_poll(h);
		if (i % 10)
			continue;
		honest_works();
		count = connections();
		most = count > most ? count : most;
	}
	cr_assert_leq(most, 100, "%u connections", most);
	join(1, 1);
	honest_works();
	for (unsigned i = 0; i < 1000; i++)
		iscsi_host_leave(raw_client[i]);
	end();
}

/* A command window full of writes without data, of several sessions. */
Test(iscsi_hostile, windows_full_of_writes)
{
	unsigned made;

	begin();
	for (unsigned i = 1; i < HOSTS; i++)
		join(i, (uint8_t)i);
	made = allocations;
	for (unsigned n = 0; n < 64; n++)
		for (unsigned i = 1; i < HOSTS; i++)
			ask_write(host[i], 0, 2048);
	turns(20);
	for (unsigned i = 1; i < HOSTS; i++)
		cr_assert_leq(host[i]->seen[ISCSI_R2T], BUFFERS);
	honest_works();
	cr_assert_eq(allocations, made);
	for (unsigned i = 0; i < 2 * STALL_MS / 1000; i++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000 * MSEC);
		honest_works();
	}
	for (unsigned i = 1; i < HOSTS; i++)
		UNTIL(host[i]->over);
	end();
}

/* --- several threads, for ThreadSanitizer */

Test(iscsi_hostile, sessions_on_threads)
{
	const struct bdev_env env = { .write = true };
	struct workers *workers;
	struct bdev *ram;

	leap_now = 0;
	most_turns = 0;
	set_up();
	cr_assert_eq(
		workers_start(&workers, WORKERS, &(struct loop_options){ .name = "workers" }, &why),
		0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = workers_loop(workers, i);
	cr_assert_eq(bdev_open(&ram, loop, "ram:8M?block=512", &env, &why), 0);
	start(ram, WORKERS);
	join(0, 0);
	for (unsigned i = 0; i < 60; i++) {
		unsigned n = 1 + i % (HOSTS - 1);
		struct iscsi_host *h = dial(n);

		ask_login(n, (uint8_t)(i % 2));
		for (unsigned t = 0; t < 5 && !h->up; t++)
			turn();
		if (h->up) { /* or its successor was faster */
			h->dirty = true;
			ask_write(h, 0, 256);
			ask_task(h, i % 3 ? ISCSI_LUN_RESET : ISCSI_ABORT_TASK_SET, 0);
			if (i % 5 == 0)
				ask_logout(h);
		}
		turn();
		if (i % 10 == 0) {
			ready(host[0]);
			cr_assert(!host[0]->over);
		}
	}
	ready(host[0]);
	for (unsigned i = 0; i < HOSTS; i++)
		iscsi_host_leave(host[i]);
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	workers_stop(workers);
	bdev_close(ram);
	fake_disk_free(disk);
	loop_free(loop);
}

/* --- COMPARE AND WRITE */

struct counting {
	bool asked, compares; /* one that compares: its answer is awaited */
	uint32_t value;
};

/* A step of a session that adds to the counter in the first block; true: it did. */
static bool count_on(struct iscsi_host *h, struct counting *c)
{
	static const uint8_t zeroes[BLOCK];
	uint8_t data[2 * BLOCK] = { 0 };
	struct iscsi_scsi_cmd cmd;
	bool added = false;

	if (c->asked && h->replies < h->asked)
		return false;
	if (c->asked && c->compares) {
		cr_assert(!h->status || h->status == 2 || h->status == 8, "%x", h->status);
		cr_assert(h->status != 2 || (h->text[4] & 0xf) == 0xe); /* MISCOMPARE */
		added = !h->status;
	}
	c->compares = c->asked && !c->compares;
	c->asked = true;
	if (!c->compares) {
		cmd = iscsi_host_command(h, ISCSI_CMD_READ, BLOCK);
		iscsi_host_rw(&cmd, 0x28, 0, 1);
		iscsi_host_ask(h, &cmd, NULL, 0);
		return added;
	}
	cr_assert_eq(memcmp(h->data + 4, zeroes, BLOCK - 4), 0);
	c->value = (uint32_t)wire_be(h->data, 4);
	wire_put_be(data, 4, c->value);
	wire_put_be(data + BLOCK, 4, c->value + 1);
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, sizeof(data));
	cmd.cdb[0] = 0x89;
	cmd.cdb[13] = 1;
	iscsi_host_ask(h, &cmd, data, sizeof(data));
	return added;
}

/* Until so many have been added, by sessions at two targets. */
static void count_all(struct bdev *bdev, unsigned nloops, uint32_t most)
{
	struct counting counting[HOSTS] = { 0 };
	struct target *first = NULL;
	struct iscsi_scsi_cmd cmd;
	uint32_t added = 0;

	start(bdev, nloops);
	for (unsigned i = 0; i < HOSTS; i++) {
		if (i == HOSTS / 2) {
			first = target;
			start(bdev, nloops);
		}
		join_with(i, "k=1", 4, false);
	}
	while (added < most) {
		volatile int never = 0;

		for (unsigned i = 0; i < HOSTS; i++) {
			iscsi_host_poll(host[i]);
			cr_assert(!host[i]->over);
			added += count_on(host[i], &counting[i]);
			iscsi_host_poll(host[i]);
		}
		loop_wait(loop, &never, loop_clock() + (leap_now ? MSEC : 0));
	}
	for (unsigned i = 0; i < HOSTS; i++) {
		UNTIL(host[i]->replies == host[i]->asked);
		added += counting[i].compares && !host[i]->status;
	}
	cmd = iscsi_host_command(host[0], ISCSI_CMD_READ, BLOCK);
	iscsi_host_rw(&cmd, 0x28, 0, 1);
	cr_assert_eq(status_of(host[0], cmd), 0);
	cr_assert_eq(wire_be(host[0]->data, 4), added);
	for (unsigned i = 0; i < HOSTS; i++)
		iscsi_host_leave(host[i]);
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	cr_assert_eq(target_stop(first, leap_limit_ms(5000), &why), 0, "%s", why.text);
	cr_assert_eq(bdev->orphans, 0);
	fake_disk_free(disk);
}

/* A disk that answers in any order: no addition is lost. */
Test(iscsi_hostile, compare_and_write_is_atomic)
{
	set_up();
	memset(disk->bytes, 0, BLOCK);
	disk->bdev.lim.sole_writer = true;
	disk->seed = 7;
	disk->pace_ns = MSEC;
	count_all(&disk->bdev, 1, 500);
	loop_free(loop);
}

Test(iscsi_hostile, compare_and_write_on_threads)
{
	const struct bdev_env env = { .write = true };
	struct workers *workers;
	struct bdev *ram;

	leap_now = 0;
	most_turns = 0;
	set_up();
	cr_assert_eq(
		workers_start(&workers, WORKERS, &(struct loop_options){ .name = "workers" }, &why),
		0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = workers_loop(workers, i);
	cr_assert_eq(bdev_open(&ram, loop, "ram:8M?block=512", &env, &why), 0);
	count_all(ram, WORKERS, 100);
	workers_stop(workers);
	bdev_close(ram);
	loop_free(loop);
}

/* A write that the disk has lands before the comparison, one that comes later behind the write. */
Test(iscsi_hostile, compare_and_write_among_writes)
{
	static uint8_t data[2 * 8 * BLOCK];
	struct iscsi_host *h, *other;
	struct iscsi_scsi_cmd cmd;

	begin();
	disk->bdev.lim.sole_writer = true;
	h = join(1, 1);
	other = join(2, 2);
	for (unsigned i = 0; i < 3; i++) {
		memset(data, 'a' + (int)i, 8 * BLOCK);
		memset(data + 8 * BLOCK, 'n', 8 * BLOCK);
		disk->hold = disk->keep = true;
		cmd = writing(other, 64, 8);
		iscsi_host_ask(other, &cmd, data, 8 * BLOCK);
		turns(5);
		cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, sizeof(data));
		cmd.cdb[0] = 0x89;
		cmd.cdb[9] = 64;
		cmd.cdb[13] = 8;
		iscsi_host_ask(h, &cmd, data, sizeof(data));
		turns(5);
		cmd = writing(other, 68, 8);
		iscsi_host_ask(other, &cmd, pattern, 8 * BLOCK);
		turns(50);
		cr_assert(h->replies < h->asked && other->replies < other->asked);
		disk->hold = disk->keep = false;
		UNTIL(h->replies == h->asked && other->replies == other->asked);
		cr_assert_eq(h->status, 0);
		cr_assert_eq(other->status, 0);
		memset(before + 64 * BLOCK, 'n', 4 * BLOCK);
		memcpy(before + 68 * BLOCK, pattern, 8 * BLOCK);
		unchanged();
	}
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, sizeof(data));
	cmd.cdb[0] = 0x89;
	cmd.cdb[9] = 64;
	cmd.cdb[13] = 8;
	iscsi_host_ask(h, &cmd, data, sizeof(data)); /* miscompare */
	UNTIL(h->replies == h->asked);
	cr_assert(h->status == 2 && (h->text[4] & 0xf) == 0xe);
	end();
}
