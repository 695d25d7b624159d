/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP initiator opens a disk and its channels: logins, what the disk reports, LUNs, and
 * messages about what can't be opened. */
/* Link: leap */
#include "srp_ini_rig.h"

Test(srp_ini, what_the_disk_says)
{
	begin();
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, SRP_DISK);
	cr_assert_eq(disk->lim.block, 512);
	cr_assert_eq(disk->lim.best, 4096, "its physical block");
	cr_assert_eq(disk->lim.max[IO_READ], 1024 * 512);
	cr_assert_eq(disk->lim.max[IO_TRIM], 4096 * 512);
	cr_assert_eq(disk->lim.max[IO_ZERO], 2048 * 512);
	cr_assert_not(disk->lim.ro);
	cr_assert_str_eq(disk->id.model, "ACME Anvil");
	cr_assert_str_eq(disk->id.serial, "S3R1AL");
	cr_assert_str_eq(disk->id.firmware, "1.0");
	cr_assert_eq(disk->id.nguid[0], 0x60, "the logical unit's, not the port's");
	end();
}

Test(srp_ini, an_old_disk)
{
	begin();
	target.old = true;
	cr_assert_eq(attach(""), 0, "%s", why.text);
	cr_assert_eq(disk->lim.size, SRP_DISK);
	cr_assert_eq(disk->lim.max[IO_TRIM], 0);
	cr_assert_eq(disk->lim.max[IO_ZERO], 0);
	lane_up();
	work();
	down();
}

Test(srp_ini, a_service_on_infiniband)
{
	static const char *const bad[][2] = {
		{ "srp://5/1/2?service_id=7", "GID" },
		{ "srp://[fe80::1]/1/2", "service_id" },
		{ "srp://[fe80::1]/1/2?service_id=x", "service_id" },
		{ "srp://[fe80::1]/1/2?service_id=7&pkey=10000", "pkey" },
		{ "srp://[fe80::1]:5555/1/2?service_id=7", "port" },
		{ "srp://[fe80::1]/1?service_id=7", "ID_EXT" },
		{ "srp://[fe80::1]/1/2?service_id=7&io_class=101", "io_class" },
		{ "srp://[fe80::1]/1/2?service_id=7&max_sect=8", "max_sect" },
	};
	static const uint8_t ids[16] = { [7] = 2, 0, 2, 0xc9, 3, 0, 0x0e, 0x8a, 0xcd };
	struct bdev_env env = { .write = true, .timeout_ms = 2000 };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		begin();
		cr_assert_lt(host_attach(bad[i][0], &env), 0, "%s", bad[i][0]);
		diag_says(&why, DIAG_USAGE, NULL, bad[i][1]);
		end();
	}
	begin();
	target.by_service = true;
	cr_assert_eq(host_attach("srp://fe800000000000000002c90300003001/0002c903000e8acd/2"
				 "?pkey=ffff&service_id=0002c903000e8acd&initiator_ext=5",
			     &env),
		0, "%s", why.text);
	lane_up();
	work();
	cr_assert_gt(target.inside, 0, "immediate data as well");
	cr_assert_arr_eq(target.target, ids, sizeof(ids), "ID_EXT, then IOC_GUID");
	cr_assert_eq(target.initiator[7], 5);
	down();
}

/* Both identifiers have the GUID first. */
Test(srp_ini, a_target_of_revision_10)
{
	static const uint8_t ids[16] = { 0, 2, 0xc9, 3, 0, 0x0e, 0x8a, 0xcd, [15] = 2 };
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .hostid = "HOSTHOST" };

	begin();
	target.by_service = true;
	cr_assert_eq(host_attach("srp://fe800000000000000002c90300003001/0002c903000e8acd/2"
				 "?service_id=7&io_class=ff00&initiator_ext=5",
			     &env),
		0, "%s", why.text);
	lane_up();
	work();
	cr_assert_arr_eq(target.target, ids, sizeof(ids));
	cr_assert_arr_eq(target.initiator, "HOSTHOST\0\0\0\0\0\0\0\5", 16);
	down();
}

Test(srp_ini, opening_goes_on_after_unit_attentions)
{
	begin();
	fails(2, 6, 0x29, 0, 5);
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	end();
}

Test(srp_ini, but_not_for_ever)
{
	begin();
	fails(2, 6, 0x29, 0, 1000);
	refused("/0", EAGAIN, DIAG_BUSY, "INQUIRY reset 6h/29h/00h");
}

Test(srp_ini, a_reservation_does_not_hide_the_disk)
{
	begin();
	target.only = 0x00 + 1; /* TEST UNIT READY */
	fails(0x18, 0, 0, 0, 1);
	cr_assert_eq(attach("/0"), 0, "%s", why.text);
	end();
}

Test(srp_ini, the_target_and_its_luns)
{
	begin();
	refused("/5", ENOENT, DIAG_NOT_FOUND, "LUN _0");
	begin();
	target.luns = 3;
	refused("", EINVAL, DIAG_USAGE, "3_disks LUNs_0,_1,_2 /0,_ /1,_ /2");
	begin();
	target.luns = 0;
	refused("", ENOENT, DIAG_NOT_FOUND, "LUN access");
	begin();
	target.luns = 2;
	cr_assert_eq(attach("/1"), 0, "%s", why.text);
	end();
}

Test(srp_ini, what_is_no_disk_of_ours)
{
	begin();
	target.type = 5;
	refused("/0", ENOTSUP, DIAG_UNSUPPORTED, "disk 05h");
	begin();
	target.block = 520;
	refused("/0", ENOTSUP, DIAG_UNSUPPORTED, "520");
	begin();
	target.blocks = 1ull << 60;
	refused("/0", EPROTO, DIAG_PROTOCOL, "last_block");
	begin();
	target.protected = true;
	refused("/0", EROFS, DIAG_PERMISSION, "write_protected");
}

Test(srp_ini, refused_logins)
{
	begin();
	target.reject = SRP_REJ_NO_ASSOCIATION;
	refused("/0", ECONNREFUSED, DIAG_NOT_FOUND, "ID_EXT 0x00010003");
	begin();
	target.reject = SRP_REJ_CHANNELS;
	refused("/0", EACCES, DIAG_AUTH, "initiator 0x00010006");
	begin();
	target.reject = 77;
	refused("/0", ECONNREFUSED, DIAG_REFUSED, "0x0000004d");
	begin();
	target.limit = 0;
	refused("/0", EPROTO, DIAG_PROTOCOL, "limit_0");
	begin();
	target.limit = -3;
	refused("/0", EPROTO, DIAG_PROTOCOL, "limit_-3");
	begin();
	target.it_iu = 63;
	refused("/0", EMSGSIZE, DIAG_UNSUPPORTED, "63_bytes");
}

static void no_login(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	(void)priv;
	ep_pair_accept(ep, &(struct srp_login_rsp){ .opcode = SRP_RSP }, len - 5);
}

Test(srp_ini, accepted_without_a_login_response)
{
	begin();
	target.peer.request = no_login;
	refused("/0", EPROTO, DIAG_PROTOCOL, "login_response");
}

static struct srp_login_cm asked;

static void record(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	cr_assert_eq(len, sizeof(asked));
	memcpy(&asked, priv, len);
	ep_pair_reject(ep, 8, NULL, 0);
}

/* Otherwise each of its logins would end the other one's channels. */
Test(srp_ini, a_disk_that_is_open_twice_has_two_ports)
{
	struct srp_login_cm first;
	struct bdev *one;

	begin();
	target.peer.request = record;
	cr_assert_lt(attach("/0"), 0);
	first = asked;
	one = disk;
	cr_assert_lt(attach("/0"), 0);
	cr_assert_neq(memcmp(asked.initiator, first.initiator, 16), 0);
	cr_assert_arr_eq(asked.initiator + 8, first.initiator + 8, 8, "the same host");
	one->ops->free(one);
	one = disk;
	cr_assert_lt(attach("/0"), 0);
	cr_assert_arr_eq(asked.initiator, first.initiator, 16, "the one that came back");
	one->ops->free(one);
	end();
}

Test(srp_ini, usage)
{
	static const struct {
		const char *uri, *words;
	} rows[] = {
		{ "srp+cm://10.0.0.1/1/2", "HOST:PORT" },
		{ "srp+cm://me@10.0.0.1:5/1/2", "users" },
		{ "srp+cm://10.0.0.1:5/1", "IOC_GUID/ID_EXT" },
		{ "srp+cm://10.0.0.1:5/x/2", "IOC_GUID_'x'" },
		{ "srp+cm://10.0.0.1:5/1/12345678901234567890", "ID_EXT" },
		{ "srp+cm://10.0.0.1:5/1/2/x", "LUN_'x'" },
		{ "srp+cm://10.0.0.1:5/1/2?depth=0", "depth" },
		{ "srp+cm://10.0.0.1:5/1/2?initiator_ext=x", "initiator_ext" },
		{ "srp+cm://10.0.0.1:5/1/2?rdma=x", "verbs,_iwarp_or_auto" },
		{ "srp+cm://10.0.0.1:5/1/2?rdma=iwarp&dev=x", "dev" },
		{ "srp+cm://10.0.0.1:5/1/2?max_sect=5", "max_sect" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		cr_assert_lt(
			host_attach(rows[i].uri, &(struct bdev_env){ 0 }), 0, "%s", rows[i].uri);
		diag_says(&why, DIAG_USAGE, NULL, rows[i].words);
		end();
	}
}

Test(srp_ini, the_first_channel_ends_the_disk)
{
	up("/0");
	ep_pair_cut(target.chan[0]);
	pass();
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_CLOSED, "10.0.0.1:5555", "closed");
	down();
}

static bool silent(
	struct srp_peer *peer, unsigned number, const struct srp_cmd *cmd, uint32_t len)
{
	(void)peer, (void)number, (void)cmd, (void)len;
	return false;
}

Test(srp_ini, a_silent_target_is_lost_within_the_time_to_detect_it)
{
	volatile int never = 0;

	up("/0?detect=1");
	loop_wait(loop, &never, loop_clock() + 60 * SEC);
	cr_assert_eq(disk->state, BDEV_UP);
	target.script = silent;
	loop_wait(loop, &never, loop_clock() + 1300 * MSEC);
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_TIMEOUT, "10.0.0.1:5555", "READ_CAPACITY");
	down();
}

Test(srp_ini, a_target_that_opens_nothing)
{
	begin();
	target.script = keep;
	target.chans = 0;
	target.peer.stuck = true;
	target.peer.cut_at = 0;
	target.delta = 0;
	target.limit = 1;
	target.script = NULL;
	refused("/0", ETIMEDOUT, DIAG_TIMEOUT, "takes_no_command");
}

Test(srp_ini, as_many_lanes_as_asked_for)
{
	struct lane *more;

	begin();
	cr_assert_eq(attach("/0?queues=2"), 0, "%s", why.text);
	host_open_lane();
	more = lane;
	host_open_lane();
	cr_assert_eq(disk->ops->lane(&(struct lane *){ NULL }, disk, loop, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "2_channels");
	lane_close(more);
	end();
}
