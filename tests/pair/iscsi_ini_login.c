/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI initiator over TCP opens a disk and ends: logins, redirects, the ISIDs of its sessions,
 * what the disk reports, and messages about what can't be opened. */
/* Link: leap */
#include "iscsi_ini_rig.h"

Test(iscsi_ini, what_the_disk_says)
{
	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, PIPE_DISK);
	cr_assert_eq(disk->lim.block, 512);
	cr_assert_eq(disk->lim.max[IO_READ], 1 << 20);
	cr_assert_eq(disk->lim.max[IO_TRIM], 4096 * 512);
	cr_assert_eq(disk->lim.max[IO_ZERO], 2048 * 512);
	cr_assert_str_eq(disk->id.model, "ACME Anvil");
	cr_assert_str_eq(disk->id.serial, "S3R1AL");
	end();
}

Test(iscsi_ini, a_last_login_response_without_data)
{
	begin();
	target.keys_first = true;
	up("/0");
	work();
	down();
}

Test(iscsi_ini, an_old_disk)
{
	begin();
	target.small = true;
	up("/0");
	cr_assert_eq(disk->lim.size, PIPE_DISK);
	cr_assert_eq(disk->lim.max[IO_TRIM], 0);
	work();
	down();
}

Test(iscsi_ini, every_session_logs_out)
{
	begin();
	up("/0");
	work();
	lane_unmap(lane, pool);
	pool_free(pool);
	lane_close(lane);
	lane = NULL;
	cr_assert_eq(target.logouts, 1);
	disk->ops->stop(disk);
	run_ms(10);
	cr_assert_eq(disk->state, BDEV_DOWN);
	cr_assert_eq(target.logouts, 2);
	end();
}

/* The disk's first session and two lanes. */
static void take_isids(uint8_t isid[3][6], const char *rest)
{
	struct lane *second;
	unsigned from = target.dials;

	cr_assert_eq(attach(rest), 0, "%s", why.text);
	host_open_lane();
	cr_assert(host_try_lane(&second), "%s", why.text);
	for (unsigned i = 0; i < 3; i++)
		memcpy(isid[i], pipe_number(from + i)->isid, 6);
	lane_close(second);
}

Test(iscsi_ini, sessions_are_ports_that_come_back)
{
	uint8_t isid[4][3][6], (*all)[6] = isid[0];
	struct bdev *first;
	struct lane *its;

	begin();
	take_isids(isid[0], "/0");
	first = disk;
	its = lane;
	take_isids(isid[1], "/0"); /* the same disk once more */
	host_hang_up();
	take_isids(isid[2], "/0?queues=9");
	host_hang_up();
	disk = first;
	lane = its;
	host_hang_up();
	for (unsigned i = 0; i < 9; i++) {
		cr_assert_eq(all[i][0], 0x80, "random, 11.12.5");
		for (unsigned k = 0; k < i; k++)
			cr_assert_arr_neq(all[i], all[k], 6);
	}
	take_isids(isid[3], "/0");
	cr_assert_arr_eq(isid[3], isid[0], sizeof(isid[0]));
	end();
}

/* ---- Redirection. */

/* By every session, which begins at the portal of the URI. */
Test(iscsi_ini, redirects_are_followed)
{
	static const struct {
		const char *to, *at;
		bool for_good;
	} rows[] = { { "10.0.0.7:3261", "10.0.0.7:3261", false },
		{ "10.0.0.7,2", "10.0.0.7:3260", true },
		{ "[2001:db8::7]:3261,1", "[2001:db8::7]:3261", false },
		{ "[2001:db8::7]", "[2001:db8::7]:3260", true } };
	char text[ADDR_TEXT];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin();
		target.redirect = rows[i].to;
		target.for_good = rows[i].for_good;
		target.redirects = 1;
		cr_assert_eq(attach("/0"), 0, "%s: %s", rows[i].to, why.text);
		cr_assert_str_eq(addr_text(&pipe_number(1)->dst, text), rows[i].at);
		target.redirects = 1;
		host_open_lane();
		cr_assert_str_eq(addr_text(&pipe_number(3)->dst, text), rows[i].at);
		end();
	}
}

Test(iscsi_ini, but_not_in_circles)
{
	begin();
	target.redirect = "10.0.0.7:3261";
	target.redirects = 100;
	refused("/0", ELOOP, DIAG_PROTOCOL, "redirect 10.0.0.7");
	cr_assert_leq(target.dials, 3);
}

/* ---- Responses to logins, and the disks of a target. */

Test(iscsi_ini, refused_logins)
{
	begin();
	target.status = ISCSI_NOT_FOUND;
	refused("/0", ENOENT, DIAG_NOT_FOUND, "name 0203");
	begin();
	target.status = ISCSI_FORBIDDEN;
	refused("/0", EPERM, DIAG_AUTH, "initiator 0202");
	begin();
	target.status = ISCSI_NOT_PROVED;
	refused("/0", EACCES, DIAG_AUTH, "authentication user=");
	begin();
	target.status = ISCSI_NO_RESOURCES;
	refused("/0", EAGAIN, DIAG_BUSY, "resources 0302");
}

Test(iscsi_ini, a_wrong_target_name_is_followed_by_the_right_ones)
{
	struct bdev_env env = { .timeout_ms = 2000, .initiator = "iqn.x:me" };

	begin();
	target.status = ISCSI_NOT_FOUND;
	cr_assert_eq(host_attach("iscsi://10.0.0.1/iqn.2024-01.test:none/0", &env), -ENOENT);
	bdev_suggest(loop, "iscsi://10.0.0.1/iqn.2024-01.test:none/0", &env, loop_clock(), &why);
	diag_says(&why, DIAG_NOT_FOUND, "10.0.0.1:3260",
		"name iscsi://10.0.0.1:3260/" IQN ", iscsi://10.0.0.1:3260/iqn.2024-01.test:two");
	/* a name of any form is the target's to judge */
	cr_assert_eq(host_attach("iscsi://10.0.0.1/kumo%2Fdisk/0", &env), -ENOENT);
	/* as Linux's target has it */
	diag_set(&why, DIAG_BUSY, EAGAIN, "unavailable");
	why.hint[0] = 0;
	bdev_suggest(loop, "iscsi://10.0.0.1/iqn.2024-01.test:none/0", &env, loop_clock(), &why);
	text_says(why.hint, IQN " iqn.2024-01.test:two");
	why.hint[0] = 0;
	bdev_suggest(loop, "iscsi://10.0.0.1/" IQN "/7", &env, loop_clock(), &why);
	cr_assert_str_eq(why.hint, "", "only its LUN is missing");
	end();
}

/* "No" is an invalid answer to an offer of "Yes" (RFC 7143, 13.18 and 13.19). */
Test(iscsi_ini, a_target_that_keeps_no_order)
{
	begin();
	target.no_pdu_order = true;
	refused("/0", EPROTO, DIAG_PROTOCOL, "DataPDUInOrder offered");
	begin();
	target.no_sequence_order = true;
	refused("/0", EPROTO, DIAG_PROTOCOL, "DataSequenceInOrder offered");
}

Test(iscsi_ini, a_disk_that_does_not_open)
{
	begin();
	target.only = 0x12 + 1;
	fails(2, 5, 0x25, 0, 1);
	refused("/5", ENOENT, DIAG_NOT_FOUND, "LUN _0");
	begin();
	target.no_luns = 1;
	refused("", ENOENT, DIAG_NOT_FOUND, "LUN access");
	begin();
	target.only = 1;
	fails(2, 2, 0x04, 0x02, 1000);
	refused("/0", EAGAIN, DIAG_BUSY, "START_UNIT 2h/04h/02h");
	begin();
	target.readonly = true;
	refused("/0", EROFS, DIAG_PERMISSION, "write_protected");
	begin();
	target.blocks = 0;
	refused("/0", EPROTO, DIAG_PROTOCOL, "last_block");
}

/* ---- The end. */

Test(iscsi_ini, a_lane_that_is_given_up_just_when_it_is_logged_in)
{
	struct diag over = { 0 };

	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	for (unsigned turns = 1; turns < 40; turns++) {
		volatile int never = 0;

		cr_assert_eq(disk->ops->lane(&lane, disk, loop, &why), 0);
		for (unsigned i = 0; i < turns; i++)
			loop_wait(loop, &never, loop_clock());
		diag_set(&over, DIAG_CLOSED, ECONNABORTED, "given up");
		lane->ops->abort(lane, &over);
		run_ms(10);
		cr_assert_eq(lane->state, LANE_DOWN, "after %u turns", turns);
		diag_says(&lane->why, DIAG_CLOSED, NULL, "given_up");
		lane->ops->free(lane);
	}
	lane = NULL;
	end();
}

Test(iscsi_ini, the_first_session_ends_the_disk)
{
	begin();
	up("/0");
	hang_up(pipe_number(0));
	run_ms(1);
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_CLOSED, "10.0.0.1:3260", "closed");
	down();
}

Test(iscsi_ini, usage)
{
	static const struct {
		const char *uri, *words;
	} rows[] = {
		{ "iscsi://10.0.0.1", "target iser-discover" },
		{ "iscsi://10.0.0.1/what%20now/0", "name_'what_now' blanks" },
		{ "iscsi://10.0.0.1/" IQN "/x", "LUN_'x'" },
		{ "iscsi://10.0.0.1/" IQN "/0?depth=0", "depth" },
		{ "iscsi://10.0.0.1/" IQN "/0?queues=65", "queues" },
		{ "iscsi://10.0.0.1/" IQN "/0?initiator=me", "initiator" },
		{ "iscsi://10.0.0.1/" IQN "/0?user=joe", "CHAP_secret secret-file=FILE" },
		{ "iscsi://10.0.0.1/" IQN "/0?target_user=joe",
			"secret target_user target-secret-file=FILE" },
		{ "iscsi://10.0.0.1/" IQN "/0?nothing=1", "nothing" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bdev_env env = { .initiator = "iqn.x:me" };

		begin();
		cr_assert_lt(host_attach(rows[i].uri, &env), 0, "%s", rows[i].uri);
		diag_says(&why, DIAG_USAGE, NULL, rows[i].words);
		end();
	}
}
