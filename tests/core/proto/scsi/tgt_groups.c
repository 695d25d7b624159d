/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Target port groups: reports, designators, unit attentions, and the commands that each state
 * allows. */
#include "tgt_rig.h"

#define TPG_STATES 5
static const struct {
	uint8_t state, asc, ascq; /* asc 0: commands are executed */
} states[TPG_STATES] = { [ACCESS_OPTIMIZED] = { 0 },
	[ACCESS_NON_OPTIMIZED] = { 1, 0, 0 },
	[ACCESS_INACCESSIBLE] = { 3, 0x04, 0x0c },
	[ACCESS_LOSS] = { 0xe, 0x04, 0x12 },
	[ACCESS_CHANGE] = { 0xf, 0x04, 0x0a } };

static struct scsi_host *other; /* by the listener of group 700 */

/* Listeners in groups 2, 700 and 2. */
static void begin_groups(void)
{
	set_up();
	rig.protocol = SCSI_ISCSI;
	rig.listens = 3;
	rig.group[0] = rig.group[2] = 2;
	rig.group[1] = 700;
	cr_assert_eq(scsi_rig_start(&rig, &why), 0, "%s", why.text);
	host = scsi_host_dial_at(&rig, 1, 0);
	other = scsi_host_dial_at(&rig, 2, 1);
	ready(host);
	ready(other);
}

static void end_groups(void)
{
	scsi_host_leave(other);
	end();
}

static struct scsi_ask report(struct scsi_host *from, bool extended, uint16_t room)
{
	struct scsi_ask with = { .cdb = { 0xa3, extended ? 0x2a : 0x0a }, .expected_in = room };

	memset(in, 0xee, 256);
	wire_put_be(with.cdb + 6, 4, room);
	return ask(from, with);
}

static void set_access(unsigned group, enum access access)
{
	enum access before;

	cr_assert_eq(target_set_access(&rig.target, group, access, &before), 0);
}

Test(scsi_tgt_groups, report)
{
	static const uint8_t groups[] = { 0, 0xcb, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, /* the first */
		0, 0xcb, 700 >> 8, 700 & 0xff, 0, 0, 0, 1, 0, 0, 700 >> 8, 700 & 0xff };
	struct scsi_ask got;

	begin_groups();
	got = report(host, false, 255);
	cr_assert(!got.status && got.moved == 28 && wire_be(in, 4) == 24);
	cr_assert(!memcmp(in + 4, groups, sizeof(groups)));
	got = report(other, true, 255);
	cr_assert(!got.status && got.moved == 32 && wire_be(in, 4) == 28);
	cr_assert(wire_be(in + 4, 4) == 0x101e0000, "extended header, 30 s of transition");
	cr_assert(!memcmp(in + 8, groups, sizeof(groups)));
	got = report(host, false, 17);
	cr_assert(!got.status && got.moved == 17 && wire_be(in, 4) == 24 && in[17] == 0xee);
	got = report(host, true, 4);
	cr_assert(!got.status && got.moved == 4 && wire_be(in, 4) == 28 && in[4] == 0xee);
	CHECK(report(host, false, 3), 5, 0x24, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0xa3, 0x4a, [9] = 255 }, .expected_in = 255 }),
		5, 0x24, 0);
	/* groups are set by the target alone */
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0xa4, 0x0a, [9] = 8 }, .expected_out = 8 }), 5,
		0x20, 0);
	set_access(700, ACCESS_LOSS);
	ready(host);
	report(host, false, 255);
	cr_assert(!in[4] && !in[9] && in[16] == 0xe && in[21] == 2, "by implicit change");
	set_access(700, ACCESS_OPTIMIZED);
	end_groups();
}

Test(scsi_tgt_groups, one_group_by_default)
{
	struct scsi_ask got;

	begin();
	got = report(host, false, 255);
	cr_assert(!got.status && got.moved == 16 && in[3] == 12 && !in[4] && in[5] == 0xcb);
	cr_assert(wire_be(in + 6, 2) == 1 && in[11] == 1 && wire_be(in + 14, 2) == 1);
	end();
}

/* The designators of the path by which the command came. */
static void check_path(struct scsi_host *from, uint16_t group, const char *name)
{
	struct scsi_ask with = { .cdb = { 0x12, 1, 0x83, 0, 255 }, .expected_in = 255 };
	unsigned at = 4, ports = 0, groups = 0, names = 0;

	with = ask(from, with);
	cr_assert(!with.status && with.moved > 4 && with.moved == 4 + wire_be(in + 2, 2));
	for (; at < with.moved; at += 4u + in[at + 3]) {
		ports += in[at + 1] == 0x94 && wire_be(in + at + 4, 4) == group;
		groups += in[at + 1] == 0x95 && wire_be(in + at + 4, 4) == group;
		names += in[at + 1] == 0x98 && !strcmp((char *)in + at + 4, name);
	}
	cr_assert(ports == 1 && groups == 1 && names == 1, "%u %u %u", ports, groups, names);
}

Test(scsi_tgt_groups, each_path_names_its_own)
{
	struct scsi_ask with = { .cdb = { 0x12, 0, 0, 0, 96 }, .expected_in = 96 };

	begin_groups();
	GOOD(ask(host, with));
	cr_assert_eq(in[5] & 0x30, 0x10, "implicit");
	check_path(host, 2, "iqn.test,t,0x0002");
	check_path(other, 700, "iqn.test,t,0x02bc");
	end_groups();
}

static bool is_allowed(struct scsi_host *from, struct scsi_ask with, enum access access)
{
	with = ask(from, with);
	cr_assert(!with.status ||
			  (with.status == 2 && with.key == 2 && with.asc == states[access].asc &&
				  with.ascq == states[access].ascq),
		"opcode %02x in state %u: status %x, sense %x/%02x/%02x", with.cdb[0], access,
		with.status, with.key, with.asc, with.ascq);
	return !with.status;
}

/* What a host needs to attach the disk, and to register on all paths, goes through in each. */
static void check_always(struct scsi_host *from, enum access access)
{
	static const uint8_t key[24] = { [15] = 7 }, no_key[24] = { 0 };
	static const struct scsi_ask asks[] = {
		{ .cdb = { 0x12, 0, 0, 0, 96 }, .expected_in = 96 },
		{ .cdb = { 0xa0, [9] = 64 }, .expected_in = 64 },
		{ .cdb = { 0xa3, 0x0a, [9] = 64 }, .expected_in = 64 },
		{ .cdb = { 0xa3, 0x0c, [9] = 64 }, .expected_in = 64 },
		{ .cdb = { 0x25 }, .expected_in = 8 },
		{ .cdb = { 0x9e, 0x10, [13] = 32 }, .expected_in = 32 },
		{ .cdb = { 0x1a, 8, 8, 0, 64 }, .expected_in = 64 },
		{ .cdb = { 0x5e, 0, [8] = 64 }, .expected_in = 64 },
		{ .cdb = { 0x5f, 6, 0, [8] = 24 }, .out = key, .expected_out = 24 },
		{ .cdb = { 0x5f, 6, 0, [8] = 24 }, .out = no_key, .expected_out = 24 },
	};

	for (unsigned i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		cr_assert(is_allowed(from, asks[i], access), "%u", i);
	GOOD(ask(from, (struct scsi_ask){ .cdb = { 3, 0, 0, 0, 18 }, .expected_in = 18 }));
	cr_assert(in[2] == (states[access].asc ? 2 : 0) && in[12] == states[access].asc &&
			  in[13] == states[access].ascq,
		"state %u: %x/%02x/%02x", access, in[2], in[12], in[13]);
}

Test(scsi_tgt_groups, states)
{
	static const struct scsi_ask ready_asks[] = { { .cdb = { 0x00 } },
		{ .cdb = { 0x1b, 0, 0, 0, 1 } }, { .cdb = { 0x35 } }, { .cdb = { 0x16 } },
		{ .cdb = { 0x17 } } };

	begin_groups();
	for (enum access access = ACCESSES; access-- > 0;) {
		bool allowed = !states[access].asc;

		set_access(2, access);
		ready(other);
		CHECK(ask(host, (struct scsi_ask){ 0 }), 6, 0x2a, 6);
		report(host, false, 255);
		cr_assert(in[4] == states[access].state && !in[16]);
		for (unsigned i = 0; i < sizeof(ready_asks) / sizeof(*ready_asks); i++)
			cr_assert_eq(is_allowed(host, ready_asks[i], access), allowed);
		cr_assert_eq(
			is_allowed(host, reading(ask10(0x28, 0, 3, 1), BLOCK), access), allowed);
		out[0] = (uint8_t)(0xa0 + access);
		cr_assert_eq(
			is_allowed(host, writing(ask10(0x2a, 0, 3, 1), BLOCK), access), allowed);
		cr_assert_eq(disk[0]->bytes[3 * BLOCK] == out[0], allowed);
		check_always(host, access);
		GOOD(ask(other, reading(ask10(0x28, 0, 3, 1), BLOCK)));
	}
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0xf0 } }), 5, 0x20, 0);
	end_groups();
}

Test(scsi_tgt_groups, one_attention_per_nexus)
{
	struct scsi_host *both;

	begin_groups();
	both = scsi_host_dial_at(&rig, 1, 1); /* host's port, at the other target port */
	ready(both);
	set_access(2, ACCESS_NON_OPTIMIZED);
	set_access(2, ACCESS_NON_OPTIMIZED); /* no change */
	CHECK(ask(host, (struct scsi_ask){ 0 }), 6, 0x2a, 6);
	CHECK(ask(both, (struct scsi_ask){ 0 }), 6, 0x2a, 6);
	CHECK(ask(other, reading(ask10(0x28, 0, 0, 1), BLOCK)), 6, 0x2a, 6);
	for (unsigned i = 0; i < 2; i++) {
		GOOD(ask(host, (struct scsi_ask){ 0 }));
		GOOD(ask(both, (struct scsi_ask){ 0 }));
		GOOD(ask(other, (struct scsi_ask){ 0 }));
		if (!i)
			set_access(2, ACCESS_NON_OPTIMIZED);
	}
	CHECK(ask(host, (struct scsi_ask){ .lun = 1 }), 6, 0x2a, 6);
	GOOD(ask(host, (struct scsi_ask){ .lun = 1 }));
	scsi_host_leave(both);
	end_groups();
}

/* A command in flight is completed; the next one is refused. */
Test(scsi_tgt_groups, in_flight)
{
	struct scsi_ask with = ask10(0x2a, 0, 0, 1), next = { .in = in, .out = out };

	begin_groups();
	with.in = in;
	with.out = out;
	with.expected_out = BLOCK;
	with.slow = true;
	scsi_host_send(host, &with);
	GOOD(ask(host, (struct scsi_ask){ 0 })); /* behind it: it has begun */
	set_access(2, ACCESS_CHANGE);
	ready(other);
	CHECK(ask(host, next), 6, 0x2a, 6);
	CHECK(ask(host, next), 2, 0x04, 0x0a);
	cr_assert(!with.done);
	scsi_host_give(host);
	cr_assert(loop_wait(loop, &with.done, 0));
	GOOD(with);
	cr_assert(!memcmp(disk[0]->bytes, out, BLOCK));
	CHECK(ask(host, next), 2, 0x04, 0x0a);
	end_groups();
}

Test(scsi_tgt_groups, registrations_name_the_target_port)
{
	const uint8_t key[24] = { [15] = 9 };

	begin_groups();
	GOOD(ask(other, listing((struct scsi_ask){ .cdb = { 0x5f, 6, 0, [8] = 24 } }, key, 24)));
	GOOD(ask(host, (struct scsi_ask){ .cdb = { 0x5e, 3, [8] = 255 }, .expected_in = 255 }));
	cr_assert_eq(wire_be(in + 8 + 18, 2), 700);
	end_groups();
}
