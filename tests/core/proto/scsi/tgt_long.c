/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands that make many requests of their own hold no data buffer that others wait for. */
/* Link: leap */
#include "tgt_rig.h"

#define MANY    16 /* hosts, as many as there are buffers */
#define BLOCKS  (SIZE / BLOCK)
#define RANGES  60
#define PATTERN 8192 /* in out: a block for those that compare or repeat one */

static struct scsi_host *other[MANY];
static struct scsi_ask asked[MANY];
static uint8_t list[8 + 16 * RANGES];

static void dial_others(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		other[i] = scsi_host_dial(&rig, 2 + i);
		ready(other[i]);
	}
}

/* All others have such a command in work; a read comes in turn, long before they are done. */
static void read_beside(struct scsi_ask with)
{
	struct scsi_ask read = reading(ask10(0x28, 0, 0, 1), BLOCK);
	unsigned before = disk[0]->submitted, then;

	read.in = in;
	for (unsigned i = 0; i < MANY; i++) {
		asked[i] = with;
		asked[i].in = in;
		scsi_host_send(other[i], &asked[i]);
	}
	scsi_host_ask(host, &read);
	then = disk[0]->submitted - before;
	GOOD(read);
	for (unsigned i = 0; i < MANY; i++) {
		cr_assert(loop_wait(loop, &asked[i].done, loop_clock() + 20000000000ull));
		GOOD(asked[i]);
	}
	cr_assert_leq(then, 8 * MANY);
	cr_assert_gt(disk[0]->submitted - before, 24 * MANY, "the commands are not long");
}

static void end_all(void)
{
	for (unsigned i = 0; i < MANY; i++)
		scsi_host_leave(other[i]);
	end();
}

static struct scsi_ask same_block(struct scsi_ask with, bool inside)
{
	with.out = out + PATTERN;
	with.expected_out = BLOCK;
	with.immediate = inside;
	return with;
}

Test(scsi_tgt_long, write_same)
{
	begin();
	dial_others();
	for (unsigned inside = 0; inside < 2; inside++) {
		out[PATTERN + 1] = (uint8_t)inside;
		read_beside(same_block(ask10(0x41, 0, 0, BLOCKS), inside));
		for (unsigned i = 0; i < BLOCKS; i++)
			cr_assert_eq(memcmp(disk[0]->bytes + i * BLOCK, out + PATTERN, BLOCK), 0);
	}
	end_all();
}

Test(scsi_tgt_long, write_same_of_zeros_on_a_disk_that_has_no_zero)
{
	set_up();
	disk[0]->bdev.lim.max[IO_ZERO] = 0;
	cr_assert_eq(scsi_rig_start(&rig, &why), 0, "%s", why.text);
	host = scsi_host_dial(&rig, 1);
	ready(host);
	dial_others();
	memset(out + PATTERN, 0, BLOCK);
	read_beside(same_block(ask10(0x41, 0, 0, BLOCKS), false));
	cr_assert(!disk[0]->bytes[0] && !memcmp(disk[0]->bytes, disk[0]->bytes + 1, SIZE - 1));
	end_all();
}

Test(scsi_tgt_long, verify)
{
	struct scsi_ask got;

	begin();
	dial_others();
	read_beside(ask10(0x2f, 0, 0, BLOCKS));
	for (unsigned i = 0; i < BLOCKS; i++)
		memcpy(disk[0]->bytes + i * BLOCK, out + PATTERN, BLOCK);
	read_beside(same_block(ask10(0x2f, 6, 0, BLOCKS), false));
	disk[0]->bytes[SIZE - BLOCK + 7] ^= 1;
	got = ask(host, same_block(ask10(0x2f, 6, 0, BLOCKS), false));
	CHECK(got, 0xe, 0x1d, 0);
	cr_assert(got.info_valid && got.info == SIZE - BLOCK + 7);
	end_all();
}

Test(scsi_tgt_long, extended_copy)
{
	struct scsi_ask copy = { .cdb = { 0x83, [13] = 108 } };

	begin();
	dial_others();
	put_copy_list(list);
	list[87] = 1;
	wire_put_be(list + 90, 2, BLOCKS);
	read_beside(listing(copy, list, 108));
	cr_assert_eq(memcmp(disk[0]->bytes, disk[1]->bytes, SIZE), 0);
	end_all();
}

Test(scsi_tgt_long, unmap)
{
	struct scsi_ask unmap = { .cdb = { 0x42 } };

	begin();
	dial_others();
	wire_put_be(list, 2, sizeof(list) - 2);
	wire_put_be(list + 2, 2, sizeof(list) - 8);
	for (unsigned i = 0; i < RANGES; i++) {
		wire_put_be(list + 8 + 16 * i, 8, 8 * i);
		wire_put_be(list + 16 + 16 * i, 4, 1);
	}
	wire_put_be(unmap.cdb + 7, 2, sizeof(list));
	read_beside(listing(unmap, list, sizeof(list)));
	cr_assert_eq(disk[0]->zeroed, MANY * RANGES * BLOCK);
	end_all();
}

static volatile int never, back;

static void pass(void)
{
	loop_wait(loop, &never, loop_clock() + 20000000);
}

static bool all(const struct target_fence *fence, const struct target_conn *conn)
{
	(void)fence;
	(void)conn;
	return true;
}

static void fence_back(struct target_fence *fence)
{
	(void)fence;
	back = 1;
}

static void fence(void)
{
	struct target_fence fence = { .match = all, .done = fence_back, .home = loop };

	back = 0;
	target_fence(&rig.target, &fence);
	cr_assert(loop_wait(loop, &back, loop_clock() + 5000000000ull));
}

static void await(struct scsi_ask *with)
{
	cr_assert(loop_wait(loop, &with->done, loop_clock() + 10000000000ull));
}

/* Its initiator port comes back over another connection while the disk has a part of the command:
 * the command ends behind that, and overwrites nothing that is written now. */
Test(scsi_tgt_long, a_fence_ends_it)
{
	struct scsi_ask same = same_block(ask10(0x41, 0, 0, BLOCKS), false);
	struct scsi_ask new = writing(ask10(0x2a, 0, BLOCKS - 1, 1), BLOCK);
	struct scsi_host *second;

	begin();
	disk[0]->hold = disk[0]->keep = true;
	scsi_host_send(host, &same);
	pass();
	cr_assert_eq(disk[0]->submitted, 1);
	fence();
	second = scsi_host_dial(&rig, 1);
	new.out = out;
	while (ask(second, (struct scsi_ask){ 0 }).status)
		;
	scsi_host_send(second, &new);
	pass();
	cr_assert_eq(disk[0]->submitted, 1, "the old command is not over");
	disk[0]->hold = false;
	await(&same);
	await(&new);
	cr_assert_eq(same.status, SCSI_BUSY);
	cr_assert_eq(disk[0]->written, 131072 + BLOCK);
	GOOD(new);
	cr_assert_eq(memcmp(disk[0]->bytes + SIZE - BLOCK, out, BLOCK), 0);
	cr_assert_eq(disk[0]->bdev.orphans, 0);
	scsi_host_leave(second);
	end();
}

/* Hosts that have been quick may hold all buffers. */
static void be_quick(struct scsi_host *from)
{
	for (unsigned i = 0; i < 8; i++) {
		struct scsi_ask with = reading(ask10(0x28, 0, 0, 1), BLOCK);

		with.lun = 1;
		GOOD(ask(from, with));
	}
}

/* As before, while the command waits for its next buffer. */
Test(scsi_tgt_long, a_fence_ends_it_between_its_parts)
{
	struct scsi_ask same = same_block(ask10(0x41, 0, 0, BLOCKS), false), slow[MANY];

	begin();
	dial_others();
	for (unsigned i = 0; i < MANY; i++)
		be_quick(other[i]);
	disk[0]->hold = disk[0]->keep = true;
	scsi_host_send(host, &same);
	pass();
	for (unsigned i = 0; i < MANY; i++) { /* all other buffers; the last one waits */
		slow[i] = writing(ask10(0x2a, 0, 0, 1), BLOCK);
		slow[i].lun = 1;
		slow[i].out = out;
		slow[i].slow = true;
		scsi_host_send(other[i], &slow[i]);
	}
	pass();
	disk[0]->hold = false;
	pass();
	cr_assert_eq(disk[0]->submitted, 1, "it waits for a buffer");
	fence();
	for (unsigned i = 0; i < MANY; i++)
		scsi_host_give(other[i]);
	await(&same);
	cr_assert_eq(same.status, SCSI_BUSY);
	cr_assert_eq(disk[0]->submitted, 1);
	for (unsigned i = 0; i < MANY; i++) {
		await(&slow[i]);
		GOOD(slow[i]);
	}
	end_all();
}

/* All of them have the same limit, which the Block Limits page has. */
Test(scsi_tgt_long, limits)
{
	const uint32_t most = (32u << 20) / BLOCK;

	set_up();
	disk[0]->bdev.lim.size = 64u << 20;
	cr_assert_eq(scsi_rig_start(&rig, &why), 0, "%s", why.text);
	host = scsi_host_dial(&rig, 1);
	ready(host);
	GOOD(ask(host, (struct scsi_ask){ .cdb = { 0x12, 1, 0xb0, 0, 64 }, .expected_in = 64 }));
	cr_assert_eq(wire_be(in + 8, 4), most);
	cr_assert_eq(wire_be(in + 36, 8), most);
	CHECK(ask(host, writing(ask16(0x93, 0, 0, most + 1), BLOCK)), 5, 0x24, 0);
	CHECK(ask(host, ask16(0x93, 1, 0, most + 1)), 5, 0x24, 0);
	CHECK(ask(host, ask16(0x8f, 0, 0, most + 1)), 5, 0x24, 0);
	end();
}
