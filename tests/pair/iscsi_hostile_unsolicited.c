/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Initiators that know iSCSI and break its rules: unsolicited data, right, wrong or missing, and
 * digests that do not match. */
/* Link: leap */
#include "iscsi_hostile_rig.h"

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
