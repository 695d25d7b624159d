/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order in which commands start, and how they are ended by others. */
/* Link: leap */
#include "tgt_rig.h"

#define DROPPED 0xff /* no reply */

static volatile int never;

static void pass(void)
{
	loop_wait(loop, &never, loop_clock() + 20000000);
}

static void await(struct scsi_ask *with)
{
	cr_assert(loop_wait(loop, &with->done, loop_clock() + 10000000000ull));
}

static struct scsi_ask a_write(uint64_t tag, uint32_t lba)
{
	struct scsi_ask with = writing(ask10(0x2a, 0, lba, 1), BLOCK);

	with.tag = tag;
	with.out = out;
	return with;
}

static struct scsi_ask a_read(uint64_t tag)
{
	struct scsi_ask with = reading(ask10(0x28, 0, 0, 1), BLOCK);

	with.tag = tag;
	with.in = in;
	return with;
}

Test(scsi_tgt_tmf, ordered_commands_wait)
{
	struct scsi_ask first = a_read(1), ordered = a_read(2), later = a_read(3), head = a_read(4);
	struct scsi_ask elsewhere = a_read(5);

	begin();
	ordered.attr = SCSI_ORDERED;
	head.attr = SCSI_HEAD;
	elsewhere.lun = 1;
	disk[0]->hold = true;
	scsi_host_send(host, &first);
	scsi_host_send(host, &ordered);
	scsi_host_send(host, &later);
	scsi_host_send(host, &elsewhere);
	await(&elsewhere);
	cr_assert_eq(disk[0]->submitted, 1);
	scsi_host_send(host, &head);
	pass();
	cr_assert_eq(disk[0]->submitted, 2);
	disk[0]->hold = false;
	await(&later);
	cr_assert(first.order < ordered.order && ordered.order < later.order);
	cr_assert(head.done && disk[0]->submitted == 4);
	end();
}

Test(scsi_tgt_tmf, abort_task)
{
	struct scsi_ask held = a_write(1, 0), slow = a_write(2, 1), read = a_read(3),
			wait = a_read(4);

	begin();
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK, 0, 77), SCSI_TMF_NO_TASK);
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK, 5, 77), SCSI_TMF_NO_LUN);
	cr_assert_eq(scsi_host_manage(host, SCSI_CLEAR_ACA, 0, 0), SCSI_TMF_UNSUPPORTED);
	slow.slow = true;
	wait.attr = SCSI_ORDERED;
	scsi_host_send(host, &slow);
	pass();
	disk[0]->hold = true;
	scsi_host_send(host, &held);
	scsi_host_send(host, &read);
	scsi_host_send(host, &wait);
	pass();
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK, 0, 4), SCSI_TMF_DONE);
	cr_assert(wait.done && wait.status == DROPPED);
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK, 0, 2), SCSI_TMF_DONE);
	cr_assert(slow.done && slow.status == DROPPED);
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK, 0, 3), SCSI_TMF_NO_TASK);
	cr_assert(read.done && read.status == SCSI_TASK_ABORTED);
	cr_assert(!held.done);
	disk[0]->hold = false;
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK, 0, 1), SCSI_TMF_NO_TASK);
	cr_assert(held.done && !held.status, "the disk had it");
	cr_assert_neq(memcmp(disk[0]->bytes + BLOCK, out, BLOCK), 0);
	GOOD(ask(host, (struct scsi_ask){ .attr = SCSI_ORDERED }));
	end();
}

/* A piece of it is written; the rest never comes to the disk. */
Test(scsi_tgt_tmf, abort_between_pieces)
{
	struct scsi_ask big = writing(ask16(0x8a, 0, 0, 1024), 1024 * BLOCK);

	begin();
	big.out = out;
	big.tag = 9;
	disk[0]->hold = true;
	scsi_host_send(host, &big);
	pass();
	cr_assert_eq(disk[0]->submitted, 1);
	disk[0]->hold = false;
	cr_assert_eq(scsi_host_manage(host, SCSI_ABORT_TASK_SET, 0, 0), SCSI_TMF_DONE);
	cr_assert(big.done && big.status == DROPPED);
	cr_assert_eq(disk[0]->written, 131072);
	end();
}

Test(scsi_tgt_tmf, reset_reaches_other_initiators)
{
	struct scsi_host *second;
	struct scsi_ask slow = a_write(1, 1), read = a_read(2), held = a_write(3, 0), mine;
	struct scsi_ask spared = a_write(4, 3);

	begin();
	second = scsi_host_dial(&rig, 2);
	ready(second);
	slow.slow = spared.slow = true;
	spared.lun = 1;
	scsi_host_send(second, &slow);
	scsi_host_send(second, &spared);
	pass();
	disk[0]->hold = true;
	scsi_host_send(second, &read);
	scsi_host_send(second, &held);
	pass();
	cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
	cr_assert(slow.done && slow.status == SCSI_TASK_ABORTED);
	await(&read);
	cr_assert_eq(read.status, SCSI_TASK_ABORTED);
	cr_assert(!held.done && !spared.done);
	/* what the disk still has of it comes before what is written now */
	while (ask(host, (struct scsi_ask){ 0 }).status)
		;
	mine = a_write(5, 0);
	mine.out = out + 8192;
	scsi_host_send(host, &mine);
	pass();
	disk[0]->hold = false;
	await(&mine);
	cr_assert(held.done && !mine.status);
	cr_assert_eq(memcmp(disk[0]->bytes, out + 8192, BLOCK), 0);
	CHECK(ask(second, (struct scsi_ask){ 0 }), 6, 0x29, 3);
	scsi_host_give(second);
	await(&spared);
	cr_assert(!spared.status);
	cr_assert_eq(scsi_host_manage(second, SCSI_TARGET_RESET, 0, 0), SCSI_TMF_DONE);
	CHECK(ask(host, (struct scsi_ask){ .lun = 1 }), 6, 0x29, 3);
	scsi_host_leave(second);
	end();
}

/* Of a command with many ranges only what the disk has when it is aborted is executed, and only
 * requests to these blocks wait for it. */
Test(scsi_tgt_tmf, a_reset_leaves_only_what_the_disk_has)
{
	static uint8_t list[8 + 16 * 2] = { 0, 38, 0, 32, [15] = 8, [19] = 4, [31] = 32, [35] = 4 };
	struct scsi_ask unmap = listing(
		(struct scsi_ask){ .cdb = { 0x42, [8] = sizeof(list) } }, list, sizeof(list));
	struct scsi_ask other = a_write(1, 32), same = a_read(2);
	struct scsi_host *second;

	begin();
	second = scsi_host_dial(&rig, 2);
	ready(second);
	disk[0]->bdev.lim.max[IO_TRIM] = 2 * BLOCK;
	disk[0]->hold = disk[0]->keep = true;
	scsi_host_send(second, &unmap);
	pass();
	cr_assert_eq(disk[0]->submitted, 1);
	cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
	while (ask(host, (struct scsi_ask){ 0 }).status)
		;
	same.cdb[5] = 9;
	scsi_host_send(host, &same);
	scsi_host_send(host, &other);
	pass();
	cr_assert_eq(disk[0]->submitted, 2, "a write of other blocks waits, or a read does not");
	disk[0]->hold = disk[0]->keep = false;
	await(&same);
	await(&other);
	await(&unmap);
	cr_assert(!same.status && !other.status && !in[1]);
	cr_assert_eq(unmap.status, SCSI_TASK_ABORTED);
	cr_assert_eq(disk[0]->zeroed, 2 * BLOCK);
	cr_assert_eq(disk[0]->bdev.orphans, 0);
	scsi_host_leave(second);
	end();
}

/* With two more initiators; the disk holds the command of one of them. */
static void begin_held(struct scsi_host **second, struct scsi_host **third, struct scsi_ask *held)
{
	begin();
	*second = scsi_host_dial(&rig, 2);
	*third = scsi_host_dial(&rig, 3);
	ready(*second);
	ready(*third);
	disk[0]->hold = disk[0]->keep = true;
	scsi_host_send(*second, held);
	pass();
}

/* What waits for another's write, and is aborted for a third initiator, never gets to the disk. */
Test(scsi_tgt_tmf, a_reset_cancels_what_is_not_at_the_disk)
{
	struct scsi_ask held = a_write(1, 0), waits = a_write(2, 0), mine = a_read(3);
	struct scsi_host *second, *third;

	begin_held(&second, &third, &held);
	cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
	while (ask(third, (struct scsi_ask){ 0 }).status)
		;
	waits.out = out + 8192;
	scsi_host_send(third, &waits);
	pass();
	cr_assert_eq(disk[0]->submitted, 1);
	cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
	while (ask(host, (struct scsi_ask){ 0 }).status)
		;
	await(&waits);
	cr_assert_eq(waits.status, SCSI_TASK_ABORTED);
	disk[0]->hold = disk[0]->keep = false;
	scsi_host_send(host, &mine);
	await(&mine);
	cr_assert_eq(memcmp(in, out, BLOCK), 0);
	cr_assert_eq(memcmp(disk[0]->bytes, out, BLOCK), 0);
	scsi_host_leave(second);
	scsi_host_leave(third);
	end();
}

/* What the disk has of an initiator that left is its own, until a reset makes everybody wait. */
Test(scsi_tgt_tmf, a_reset_after_a_connection_has_gone)
{
	struct scsi_ask held = a_write(1, 0), before = a_read(2), after = a_read(3);
	struct scsi_host *second, *third;

	begin_held(&second, &third, &held);
	scsi_host_drop(second);
	scsi_host_send(third, &before);
	pass();
	cr_assert_eq(disk[0]->submitted, 2);
	cr_assert_eq(scsi_host_manage(host, SCSI_LUN_RESET, 0, 0), SCSI_TMF_DONE);
	while (ask(host, (struct scsi_ask){ 0 }).status)
		;
	scsi_host_send(host, &after);
	pass();
	cr_assert_eq(disk[0]->submitted, 2, "a read after a reset overtakes what the disk has");
	disk[0]->hold = disk[0]->keep = false;
	await(&after);
	cr_assert_eq(memcmp(in, out, BLOCK), 0);
	scsi_host_leave(second);
	scsi_host_leave(third);
	end();
}

/* The connection goes while a reset is on its way, and while commands wait for their turn. */
Test(scsi_tgt_tmf, a_connection_that_goes)
{
	struct scsi_ask held = a_write(1, 0), wait = a_write(2, 1);
	struct scsi_host *second;

	begin();
	second = scsi_host_dial(&rig, 2);
	ready(second);
	wait.attr = SCSI_ORDERED;
	disk[0]->hold = true;
	scsi_host_send(second, &held);
	scsi_host_send(second, &wait);
	pass();
	disk[0]->hold = false;
	scsi_host_leave(second);
	cr_assert_neq(memcmp(disk[0]->bytes + BLOCK, out, BLOCK), 0);
	end();
}
