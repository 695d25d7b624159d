/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Initiators that know iSCSI and break its rules: command numbers, task tags, and data that the
 * target has not asked for. */
/* Link: leap */
#include "iscsi_hostile_rig.h"

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
