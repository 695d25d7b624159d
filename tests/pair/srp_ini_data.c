/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data of the SRP initiator: immediate and direct, to devices and targets with little room,
 * flushes, and errors of the disk. */
/* Link: leap */
#include "srp_ini_rig.h"

Test(srp_ini, immediate_and_direct_data)
{
	up("/0");
	target.inside = target.keyed = 0;
	work();
	cr_assert_eq(target.inside, 42, "up to 8 KiB");
	cr_assert_eq(target.keyed, 22 + 64);
	down();
}

Test(srp_ini, no_immediate_data)
{
	up("/0?immediate=no");
	target.inside = 0;
	work();
	cr_assert_eq(target.inside, 0);
	down();
}

Test(srp_ini, a_target_without_immediate_data)
{
	begin();
	target.no_imm = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	work();
	cr_assert_eq(target.inside, 0);
	down();
}

Test(srp_ini, a_target_with_short_buffers_is_asked_for_less)
{
	begin();
	target.long_rejects = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	work();
	cr_assert_eq(target.inside, 0);
	cr_assert_eq(target.peer.dials, 4, "each channel twice");
	down();
}

Test(srp_ini, a_target_takes_only_some_immediate_data)
{
	begin();
	target.it_iu = 64 + 512;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	target.inside = 0;
	work();
	cr_assert_eq(target.inside, 21);
	down();
}

Test(srp_ini, a_tag_is_free_only_when_its_send_is)
{
	begin();
	target.peer.delayed_sent = true;
	target.peer.limit.inline_max = 16;
	cr_assert_eq(attach("/0?depth=4"), 0, "%s", why.text);
	lane_up();
	work();
	down();
}

Test(srp_ini, a_device_with_one_sge_and_few_requests)
{
	begin();
	target.peer.limit.sge = 1;
	target.peer.limit.send = 8;
	target.peer.limit.recv = 6;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	work();
	cr_assert_eq(target.inside, 0);
	down();
}

Test(srp_ini, write_zeroes_trim_flush_and_fua)
{
	up("/0");
	memset(target.disk, 1, 4096);
	cr_assert_eq(one(IO_TRIM, 0, 1024), 0);
	cr_assert_eq(target.unmaps, 1);
	cr_assert_eq(target.disk[1023], 0);
	cr_assert_eq(target.disk[1024], 1);
	cr_assert_eq(one(IO_ZERO, IO_KEEP, 2048), 0);
	cr_assert_eq(target.sames, 1);
	cr_assert_eq(target.unmaps, 1, "no hole");
	cr_assert_eq(target.disk[2047], 0);
	cr_assert_eq(target.disk[2048], 1);
	cr_assert_eq(one(IO_ZERO, 0, 4096), 0);
	cr_assert_eq(target.unmaps, 2);
	cr_assert_eq(one(IO_ZERO, IO_FAST, 4096), -ENOTSUP);
	cr_assert_eq(target.flushes, 0);
	cr_assert_eq(one(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(target.flushes, 1);
	cr_assert_eq(one(IO_WRITE, IO_FUA, 512), 0);
	cr_assert_eq(target.fuas, 1);
	cr_assert_eq(target.flushes, 1);
	cr_assert_eq(one(IO_ZERO, IO_FUA, 512), 0);
	cr_assert_eq(target.flushes, 2, "WRITE SAME has no FUA");
	down();
}

Test(srp_ini, fua_of_a_disk_that_has_none_is_a_flush)
{
	begin();
	target.old = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	cr_assert_eq(one(IO_WRITE, IO_FUA, 512), 0);
	cr_assert_eq(target.fuas, 0);
	cr_assert_eq(target.flushes, 1);
	down();
}

Test(srp_ini, nothing_to_flush_without_a_cache)
{
	begin();
	target.no_cache = true;
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	lane_up();
	cr_assert_eq(one(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(one(IO_ZERO, IO_FUA, 512), 0);
	cr_assert_eq(target.flushes, 0);
	down();
}

Test(srp_ini, what_changed_nothing_is_sent_again)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000 };

	begin();
	host_open("srp+cm://10.0.0.1:5555/0002c903000e8acd/2/0?loss=20", &env);
	cr_assert_eq(pool_new(&pool, ROOM, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	fails(2, 6, 0x29, 0, 3); /* was reset */
	cr_assert_eq(one(IO_WRITE, 0, 512), 0);
	fails(2, 2, 0x04, 0x0b, 2); /* standby */
	cr_assert_eq(one(IO_WRITE, 0, 512), 0);
	fails(0x28, 0, 0, 0, 2); /* queue full */
	cr_assert_eq(one(IO_READ, 0, 512), 0);
	fails(8, 0, 0, 0, 1); /* busy */
	cr_assert_eq(one(IO_FLUSH, 0, 0), 0);
	cr_assert_eq(target.failing, 0);
	down();
}

Test(srp_ini, errors_of_the_disk)
{
	up("/0");
	fails(2, 3, 0x11, 0, 1);
	cr_assert_eq(one(IO_READ, 0, 512), -EIO);
	text_says(disk->status_text(request_of[0].io.detail), "read medium");
	fails(0x18, 0, 0, 0, 1);
	cr_assert_eq(one(IO_WRITE, 0, 512), -EBUSY);
	text_says(disk->status_text(request_of[0].io.detail), "reservation");
	fails(2, 7, 0x27, 7, 1);
	cr_assert_eq(one(IO_WRITE, 0, 512), -ENOSPC);
	cr_assert_eq(target.failing, 0);
	down();
}

Test(srp_ini, less_data_than_asked_for_is_an_error)
{
	up("/0");
	fails(0, 0, 0, 0, 1); /* good, and nothing moved */
	cr_assert_eq(one(IO_READ, 0, 512), -EIO);
	fails(0, 0, 0, 0, 1);
	cr_assert_eq(one(IO_WRITE, 0, ROOM), -EIO);
	down();
}

static bool has_more(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
{
	uint8_t out[96];

	if (!n || cmd->opcode != SRP_CMD)
		return true;
	srp_peer_do(me, me->chan[n], cmd, len, out);
	((struct srp_rsp *)(void *)out)->flags |= SRP_RSP_IN_OVER;
	cr_assert(ep_pair_deliver(me->chan[n], out, sizeof(struct srp_rsp)));
	return false;
}

Test(srp_ini, more_data_than_asked_for_is_an_error)
{
	up("/0");
	target.script = has_more;
	cr_assert_eq(one(IO_READ, 0, 512), -EIO);
	target.script = NULL;
	cr_assert_eq(one(IO_READ, 0, 512), 0);
	down();
}
