/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations: who may do what under each type, how they change hands, and what happens to the
 * commands of one who has lost them. */
/* Link: leap */
#include "leap.h"
#include "tgt_rig.h"

enum { REGISTER, RESERVE, RELEASE, CLEAR, PREEMPT, PREEMPT_ABORT, IGNORE };

static struct scsi_host *second, *third;

static void begin_three(void)
{
	begin();
	second = scsi_host_dial(&rig, 2);
	third = scsi_host_dial(&rig, 3);
	ready(second);
	ready(third);
}

static void end_three(void)
{
	scsi_host_leave(second);
	scsi_host_leave(third);
	end();
}

static struct scsi_ask pr_flags(struct scsi_host *from, uint8_t action, uint8_t type, uint64_t key,
	uint64_t other, uint8_t flags)
{
	static uint8_t list[24];
	struct scsi_ask with = { .cdb = { 0x5f, action, type, [8] = 24 } };

	memset(list, 0, sizeof(list));
	wire_put_be(list, 8, key);
	wire_put_be(list + 8, 8, other);
	list[20] = flags;
	return ask(from, listing(with, list, sizeof(list)));
}

static struct scsi_ask pr(
	struct scsi_host *from, uint8_t action, uint8_t type, uint64_t key, uint64_t other)
{
	return pr_flags(from, action, type, key, other, 0);
}

static struct scsi_ask pr_in(struct scsi_host *from, uint8_t action)
{
	memset(in, 0xee, 4096);
	return ask(
		from, (struct scsi_ask){ .cdb = { 0x5e, action, [7] = 16 }, .expected_in = 4096 });
}

static bool conflicts(struct scsi_ask got)
{
	return got.status == SCSI_CONFLICT;
}

static bool may(struct scsi_host *from, uint8_t opcode)
{
	struct scsi_ask got = ask(from, opcode == 0x28 ? reading(ask10(opcode, 0, 0, 1), BLOCK)
						       : writing(ask10(opcode, 0, 0, 1), BLOCK));

	cr_assert(!got.status || conflicts(got));
	return !got.status;
}

Test(scsi_tgt_pr, who_may_read_and_write)
{
	static const struct {
		uint8_t type;
		bool other_reads, registrant;
	} rows[] = { { 1, true, false }, { 3, false, false }, { 5, true, true }, { 6, false, true },
		{ 7, true, true }, { 8, false, true } };

	begin_three();
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(second, REGISTER, 0, 0, 22));
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		GOOD(pr(host, RESERVE, rows[i].type, 11, 0));
		cr_assert(may(host, 0x28) && may(host, 0x2a));
		cr_assert_eq(may(second, 0x28), rows[i].other_reads || rows[i].registrant);
		cr_assert_eq(may(second, 0x2a), rows[i].registrant);
		cr_assert_eq(may(third, 0x28), rows[i].other_reads);
		cr_assert(!may(third, 0x2a) && !may(third, 0x41));
		GOOD(ask(third, (struct scsi_ask){ 0 }));
		GOOD(ask(third, (struct scsi_ask){ .cdb = { 0x25 }, .expected_in = 8 }));
		GOOD(ask(third, writing((struct scsi_ask){ .cdb = { 0x0a, 0, 0, 0, 1 }, .lun = 1 },
					BLOCK)));
		cr_assert_eq(conflicts(pr(second, RESERVE, rows[i].type, 22, 0)), rows[i].type < 7);
		cr_assert(conflicts(pr(third, RESERVE, rows[i].type, 0, 0)));
		CHECK(pr(host, RELEASE, 2, 11, 0), 5, 0x26, 4);
		GOOD(pr(host, RELEASE, rows[i].type, 11, 0));
		if (rows[i].registrant)
			CHECK(ask(second, (struct scsi_ask){ 0 }), 6, 0x2a, 4);
		cr_assert(may(third, 0x2a));
	}
	end_three();
}

Test(scsi_tgt_pr, keys)
{
	struct scsi_ask got;

	begin_three();
	cr_assert(conflicts(pr(host, REGISTER, 0, 5, 11)));
	GOOD(pr(host, REGISTER, 0, 0, 11));
	cr_assert(conflicts(pr(host, REGISTER, 0, 0, 12)));
	GOOD(pr(host, REGISTER, 0, 11, 12));
	GOOD(pr(host, IGNORE, 0, 99, 13));
	GOOD(pr(second, IGNORE, 0, 0, 22));
	GOOD(pr(third, REGISTER, 0, 0, 0));
	CHECK(pr_flags(third, REGISTER, 0, 0, 33, 1), 5, 0x26, 0); /* APTPL */
	CHECK(pr_flags(third, REGISTER, 0, 0, 33, 8), 5, 0x26, 0); /* SPEC_I_PT */
	got = pr_in(third, 0);
	cr_assert(!got.status && got.moved == 24 && wire_be(in + 4, 4) == 16);
	cr_assert(wire_be(in + 8, 8) == 13 && wire_be(in + 16, 8) == 22);
	cr_assert_eq(wire_be(in, 4), 5, "generation");
	GOOD(pr(host, RESERVE, 5, 13, 0));
	got = pr_in(third, 1);
	cr_assert(!got.status && got.moved == 24 && wire_be(in + 8, 8) == 13 && in[21] == 5);
	got = pr_in(third, 3);
	cr_assert(!got.status && got.moved == 8 + 2 * 48 && in[20] == 1 && in[8 + 48 + 12] == 0);
	cr_assert(in[8 + 24] == SCSI_SRP && in[8 + 47] == 1 && in[8 + 48 + 47] == 2);
	GOOD(pr_in(third, 2));
	cr_assert(in[1] == 8 && in[4] == 0xea && in[5] == 1);
	CHECK(pr_in(third, 4), 5, 0x24, 0);
	GOOD(pr(host, REGISTER, 0, 13, 0)); /* the holder leaves */
	CHECK(ask(second, (struct scsi_ask){ 0 }), 6, 0x2a, 4);
	cr_assert_eq(pr_in(third, 1).moved, 8);
	CHECK(pr(second, RESERVE, 2, 22, 0), 5, 0x24, 0);
	CHECK(pr(second, RESERVE, 0x11, 22, 0), 5, 0x24, 0); /* scope */
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x5f, 0, 0, [8] = 23 }, .expected_out = 23 }),
		5, 0x1a, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x5f, 0, 0, [8] = 24 }, .expected_out = 23 }),
		5, 0x24, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x5f, 9, 0, [8] = 24 }, .expected_out = 24 }),
		5, 0x24, 0);
	end_three();
}

/* A registration is the port's: its other connections have it, and it is kept without any. */
Test(scsi_tgt_pr, belongs_to_the_port)
{
	struct scsi_host *again;

	begin_three();
	GOOD(pr(second, REGISTER, 0, 0, 22));
	GOOD(pr(second, RESERVE, 3, 22, 0));
	again = scsi_host_dial(&rig, 2);
	ready(again);
	cr_assert(may(again, 0x2a));
	scsi_host_leave(second);
	scsi_host_leave(again);
	cr_assert(!may(third, 0x28));
	second = scsi_host_dial(&rig, 2);
	ready(second);
	cr_assert(may(second, 0x2a));
	end_three();
}

Test(scsi_tgt_pr, preempt_and_clear)
{
	begin_three();
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(second, REGISTER, 0, 0, 22));
	GOOD(pr(third, REGISTER, 0, 0, 33));
	GOOD(pr(host, RESERVE, 1, 11, 0));
	cr_assert(conflicts(pr(second, PREEMPT, 1, 99, 11)));
	cr_assert(conflicts(pr(second, PREEMPT, 1, 22, 44)));
	CHECK(pr(second, PREEMPT, 1, 22, 0), 5, 0x26, 0);
	CHECK(pr(second, PREEMPT, 4, 22, 11), 5, 0x24, 0);
	GOOD(pr(second, PREEMPT, 3, 22, 11)); /* takes it */
	CHECK(ask(host, (struct scsi_ask){ 0 }), 6, 0x2a, 5);
	CHECK(ask(third, (struct scsi_ask){ 0 }), 6, 0x2a, 4); /* another type */
	cr_assert(may(second, 0x2a) && !may(host, 0x28) && !may(third, 0x28));
	GOOD(pr(second, PREEMPT, 3, 22, 33)); /* only the registration */
	CHECK(ask(third, (struct scsi_ask){ 0 }), 6, 0x2a, 5);
	cr_assert(may(second, 0x2a));
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(host, CLEAR, 0, 11, 0));
	CHECK(ask(second, (struct scsi_ask){ 0 }), 6, 0x2a, 3);
	cr_assert(may(third, 0x2a));
	cr_assert_eq(pr_in(third, 0).moved, 8);
	/* all registrants: key 0 takes it from all */
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(second, REGISTER, 0, 0, 22));
	GOOD(pr(host, RESERVE, 8, 11, 0));
	GOOD(pr(host, REGISTER, 0, 11, 0)); /* one of the holders leaves */
	cr_assert(may(second, 0x2a) && !may(host, 0x28));
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(host, PREEMPT, 1, 11, 0));
	CHECK(ask(second, (struct scsi_ask){ 0 }), 6, 0x2a, 5);
	cr_assert(may(host, 0x2a) && !may(second, 0x2a) && may(second, 0x28));
	end_three();
}

Test(scsi_tgt_pr, scope_and_type_only_where_they_matter)
{
	begin_three();
	GOOD(pr(host, REGISTER, 0x10, 0, 11));
	GOOD(pr(second, REGISTER, 0xff, 0, 22));
	CHECK(pr(host, RESERVE, 0x11, 11, 0), 5, 0x24, 0);
	CHECK(pr(host, RESERVE, 2, 11, 0), 5, 0x24, 0);
	GOOD(pr(host, RESERVE, 1, 11, 0));
	CHECK(pr(host, RELEASE, 0x11, 11, 0), 5, 0x26, 4);
	GOOD(pr(host, PREEMPT, 0, 11, 22)); /* only a registration */
	CHECK(ask(second, (struct scsi_ask){ 0 }), 6, 0x2a, 5);
	GOOD(pr(second, REGISTER, 0, 0, 22));
	CHECK(pr(second, PREEMPT, 0, 22, 11), 5, 0x24, 0);
	CHECK(pr(second, PREEMPT, 0x11, 22, 11), 5, 0x24, 0);
	cr_assert(may(host, 0x2a) && !may(second, 0x2a));
	GOOD(pr(second, CLEAR, 0x2f, 22, 0));
	CHECK(ask(host, (struct scsi_ask){ 0 }), 6, 0x2a, 3);
	cr_assert(may(third, 0x2a));
	end_three();
}

/* What the other host had in work ends, or is done before anything that is written now. */
Test(scsi_tgt_pr, preempt_and_abort)
{
	struct scsi_ask slow = writing(ask10(0x2a, 0, 9, 1), BLOCK);
	struct scsi_ask held = writing(ask10(0x2a, 0, 0, 1), BLOCK), mine = held;
	volatile int never = 0;

	begin_three();
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(second, REGISTER, 0, 0, 22));
	GOOD(pr(second, RESERVE, 1, 22, 0));
	slow.slow = true;
	slow.out = held.out = out;
	mine.out = out + 8192;
	scsi_host_send(second, &slow);
	loop_wait(loop, &never, loop_clock() + 20000000);
	disk[0]->hold = true;
	scsi_host_send(second, &held);
	loop_wait(loop, &never, loop_clock() + 20000000);
	GOOD(pr(host, PREEMPT_ABORT, 1, 11, 22));
	cr_assert(loop_wait(loop, &slow.done, loop_clock() + 10000000000ull));
	cr_assert_eq(slow.status, SCSI_TASK_ABORTED);
	scsi_host_send(host, &mine);
	loop_wait(loop, &never, loop_clock() + 20000000);
	disk[0]->hold = false;
	cr_assert(loop_wait(loop, &mine.done, loop_clock() + 10000000000ull));
	cr_assert(held.done && !mine.status);
	cr_assert_eq(memcmp(disk[0]->bytes, out + 8192, BLOCK), 0);
	end_three();
}

Test(scsi_tgt_pr, reserve_6)
{
	struct scsi_ask reserve = { .cdb = { 0x16 } }, release = { .cdb = { 0x17 } };

	begin_three();
	GOOD(ask(host, reserve));
	GOOD(ask(host, reserve));
	cr_assert(
		conflicts(ask(second, reserve)) && conflicts(ask(second, (struct scsi_ask){ 0 })));
	GOOD(ask(second, release)); /* changes nothing */
	GOOD(ask(second, (struct scsi_ask){ .cdb = { 0x12, 0, 0, 0, 96 }, .expected_in = 96 }));
	cr_assert(!may(second, 0x28) && may(host, 0x2a));
	cr_assert(conflicts(pr(host, REGISTER, 0, 0, 11)));
	GOOD(ask(host, release));
	cr_assert(may(second, 0x28));
	GOOD(ask(second, reserve));
	cr_assert(!may(host, 0x28));
	scsi_host_leave(second);
	cr_assert(may(host, 0x28));
	second = scsi_host_dial(&rig, 2);
	ready(second);
	GOOD(ask(second, reserve));
	cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
	ready(host);
	cr_assert(may(host, 0x28));
	GOOD(pr(host, REGISTER, 0, 0, 11));
	cr_assert(conflicts(ask(host, reserve)));
	end_three();
}

static unsigned registered(struct scsi_host *from)
{
	GOOD(pr_in(from, 0));
	return (unsigned)wire_be(in + 4, 4) / 8;
}

/* A port that registers and leaves; it may reserve before. */
static void pass_by(unsigned port, unsigned type)
{
	struct scsi_host *passer = scsi_host_dial(&rig, port);

	ready(passer);
	GOOD(pr(passer, REGISTER, 0, 0, 0x5000 + port));
	if (type)
		GOOD(pr(passer, RESERVE, (uint8_t)type, 0x5000 + port, 0));
	scsi_host_leave(passer);
}

/* However many ports have registered and left, one that is here can register and preempt. */
Test(scsi_tgt_pr, the_absent_keep_nobody_from_registering)
{
	begin_three();
	for (unsigned name = 1; name < 11; name++)
		for (unsigned port = 0; port < 20; port++)
			pass_by(name << 8 | port, name == 1 && !port ? 3 : 0);
	cr_assert(!may(host, 0x28), "the reservation stays");
	GOOD(pr(host, REGISTER, 0, 0, 11));
	cr_assert_leq(registered(second), 64 + 1);
	GOOD(pr(second, REGISTER, 0, 0, 22));
	GOOD(pr(host, PREEMPT, 3, 11, 0x5100));
	cr_assert(may(host, 0x2a) && !may(second, 0x28) && !may(third, 0x28));
	end_three();
}

/* An initiator with a new port for each session loses its own registrations only. */
Test(scsi_tgt_pr, each_name_keeps_a_few_registrations)
{
	begin_three();
	pass_by(1 << 8, 0);
	for (unsigned port = 0; port < 100; port++)
		pass_by(2 << 8 | port, 0);
	GOOD(pr(host, REGISTER, 0, 0, 11));
	cr_assert_eq(registered(host), 1 + 17 + 1, "the last one was here when it registered");
	cr_assert_eq(wire_be(in + 8, 8), 0x5100);
	cr_assert_eq(wire_be(in + 16, 8), 0x5200 + 83);
	/* one that comes back has it again, and keeps it as long as it is here */
	scsi_host_leave(second);
	second = scsi_host_dial(&rig, 2 << 8 | 83);
	ready(second);
	for (unsigned port = 100; port < 200; port++)
		pass_by(2 << 8 | port, 0);
	cr_assert(conflicts(pr(second, REGISTER, 0, 0, 1)));
	GOOD(pr(second, REGISTER, 0, 0x5200 + 83, 1));
	end_three();
}

/* Ports that are here are not limited. A list that is too long ends with a whole entry. */
Test(scsi_tgt_pr, all_that_are_here_may_register)
{
	struct scsi_ask with = { .cdb = { 0x5e, 3, [7] = 255 }, .expected_in = 65535 };
	struct scsi_host *present[56];
	unsigned count = sizeof(present) / sizeof(*present), each = 24 + 252;

	begin_three();
	rig.id_len = 252;
	for (unsigned i = 0; i < 70; i++)
		pass_by((i / 16 + 1) << 8 | i % 16, 0);
	for (unsigned i = 0; i < count; i++) {
		present[i] = scsi_host_dial(&rig, 0x900 + i);
		ready(present[i]);
		GOOD(pr(present[i], REGISTER, 0, 0, i + 1));
	}
	cr_assert_eq(registered(host), 64 + count);
	with = ask(host, with);
	cr_assert(!with.status && with.moved == 8 + 32760 / each * each);
	cr_assert_eq(wire_be(in + 4, 4), (64 + count) * each);
	for (unsigned i = 0; i < count; i++) {
		GOOD(pr(present[i], REGISTER, 0, i + 1, i + 1));
		scsi_host_leave(present[i]);
	}
	end_three();
}

/* The same disk as a unit of another target, say by another protocol. */
static struct scsi_rig elsewhere;

static struct scsi_ask at_1(struct scsi_ask with)
{
	with.lun = 1;
	return with;
}

Test(scsi_tgt_pr, of_a_disk_that_two_targets_serve)
{
	uint8_t take[24] = { [7] = 22, [15] = 11 }, list[24] = { [15] = 22 };
	struct scsi_ask held[4];

	begin();
	elsewhere = rig;
	elsewhere.disk[0] = rig.disk[1];
	elsewhere.disk[1] = rig.disk[0];
	elsewhere.target = (struct target){ 0 };
	cr_assert_eq(scsi_rig_start(&elsewhere, &why), 0, "%s", why.text);
	second = scsi_host_dial(&elsewhere, 2);
	ready(second);
	GOOD(pr(host, REGISTER, 0, 0, 11));
	GOOD(pr(host, RESERVE, 1, 11, 0));
	cr_assert(conflicts(ask(second, at_1(writing(ask10(0x2a, 0, 0, 1), BLOCK)))));
	GOOD(ask(second, at_1(reading(ask10(0x28, 0, 0, 1), BLOCK))));
	cr_assert(may(second, 0x2a), "the other disk");
	GOOD(ask(second, at_1(listing((struct scsi_ask){ .cdb = { 0x5f, REGISTER, [8] = 24 } },
				 list, sizeof(list)))));
	GOOD(pr_in(host, 0));
	cr_assert_eq(wire_be(in + 4, 4), 16, "both keys");

	/* what the first has in work ends, and it hears of it */
	disk[0]->hold = true;
	for (int i = 0; i < 4; i++) {
		held[i] = reading(ask10(0x28, 0, (unsigned)i, 1), BLOCK);
		held[i].in = in + i * BLOCK;
		scsi_host_send(host, &held[i]);
	}
	take[7] = 22;
	GOOD(ask(second,
		at_1(listing((struct scsi_ask){ .cdb = { 0x5f, PREEMPT_ABORT, 1, [8] = 24 } }, take,
			sizeof(take)))));
	for (int i = 0; i < 4; i++) {
		loop_wait(loop, &held[i].done, loop_clock() + 20000000000);
		cr_assert_eq(held[i].status, SCSI_TASK_ABORTED);
	}
	disk[0]->hold = false;
	CHECK(ask(host, (struct scsi_ask){ 0 }), 6, 0x2a, 5);
	cr_assert(!may(host, 0x2a) && may(host, 0x28));
	GOOD(ask(second, at_1(writing(ask10(0x2a, 0, 0, 1), BLOCK))));

	/* it stays with the disk when that target has gone */
	scsi_host_leave(second);
	cr_assert_eq(scsi_rig_stop(&elsewhere, &why), 0, "%s", why.text);
	cr_assert(!may(host, 0x2a));
	end();
	begin();
	cr_assert(may(host, 0x2a), "and ends with the last one");
	end();
}

/* On loops of their own: for the thread sanitizer, too. */
Test(scsi_tgt_pr, two_threads)
{
	const struct loop_options opt = { .name = "test" };
	struct scsi_ask reads[2][8];
	uint8_t list[24] = { [15] = 11 }, take[24] = { [7] = 11 }, got[2][8][BLOCK];
	const struct bdev_env env = { .write = true };
	struct workers *workers;
	struct bdev *ram;

	leap_now = 0;
	set_up();
	cr_assert_eq(bdev_open(&ram, loop, "ram:4M", &env, &why), 0, "%s", why.text);
	rig.disk[0] = ram;
	rig.disks = 1;
	cr_assert_eq(workers_start(&workers, 2, &opt, &why), 0);
	loops[0] = workers_loop(workers, 0);
	loops[1] = workers_loop(workers, 1);
	rig.nloops = 2;
	cr_assert_eq(scsi_rig_start(&rig, &why), 0);
	host = scsi_host_dial(&rig, 1);
	second = scsi_host_dial(&rig, 2);
	ready(host);
	ready(second);
	for (unsigned round = 0; round < 50; round++) {
		struct scsi_host *from[2] = { host, second };
		struct scsi_ask change[2];

		for (unsigned i = 0; i < 16; i++) {
			struct scsi_ask *with = &reads[i / 8][i % 8];

			*with = reading(ask10(0x28, 0, 0, 1), BLOCK);
			with->in = got[i / 8][i % 8];
			scsi_host_send(from[i / 8], with);
		}
		for (unsigned i = 0; i < 2; i++) {
			bool adds = round % 3 == 0, clears = round % 3 == 2;

			change[i] = (struct scsi_ask){ .cdb = { 0x5f,
							       adds     ? IGNORE
							       : clears ? CLEAR
									: RESERVE,
							       3, [8] = 24 } };
			change[i] = listing(change[i], adds ? list : take, 24);
			scsi_host_send(from[i], &change[i]);
		}
		if (round % 10 == 9)
			cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
		for (unsigned i = 0; i < 2; i++)
			loop_wait(loop, &change[i].done, 0);
		for (unsigned i = 0; i < 16; i++)
			loop_wait(loop, &reads[i / 8][i % 8].done, 0);
	}
	scsi_host_leave(host);
	scsi_host_leave(second);
	cr_assert_eq(scsi_rig_stop(&rig, &why), 0, "%s", why.text);
	workers_stop(workers);
	bdev_close(ram);
	fake_disk_free(disk[0]);
	fake_disk_free(disk[1]);
	loop_free(loop);
}
