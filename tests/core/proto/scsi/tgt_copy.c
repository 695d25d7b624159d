/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* EXTENDED COPY: between units and within one; lists that lie. */
#include "tgt_rig.h"

#define LIST (16 + 64 + 28)

static uint8_t list[16 + 3 * 32 + 2 * 28];

/* Two descriptors, of unit 0 and 1, and a segment. */
static void fill(unsigned from, unsigned to, uint16_t blocks, uint64_t source, uint64_t sink)
{
	memset(list, 0, sizeof(list));
	put_copy_list(list);
	list[85] = (uint8_t)from;
	list[87] = (uint8_t)to;
	wire_put_be(list + 90, 2, blocks);
	wire_put_be(list + 92, 8, source);
	wire_put_be(list + 100, 8, sink);
}

static struct scsi_ask copy(uint32_t len)
{
	struct scsi_ask with = { .cdb = { 0x83 } };

	wire_put_be(with.cdb + 10, 4, len);
	return ask(host, listing(with, list, len));
}

Test(scsi_tgt_copy, copies)
{
	begin();
	fill(0, 1, 700, 3, 9); /* more than a buffer */
	GOOD(copy(LIST));
	cr_assert_eq(
		memcmp(disk[1]->bytes + 9 * BLOCK, disk[0]->bytes + 3 * BLOCK, 700 * BLOCK), 0);
	cr_assert_eq(disk[1]->written, 700 * BLOCK);
	fill(0, 0, 8, 0, 8);
	GOOD(copy(LIST));
	cr_assert_eq(memcmp(disk[0]->bytes, disk[0]->bytes + 8 * BLOCK, 8 * BLOCK), 0);
	fill(0, 0, 0, 0, 8);
	GOOD(copy(LIST));
	GOOD(copy(0));
	end();
}

Test(scsi_tgt_copy, refuses)
{
	begin();
	fill(0, 0, 8, 0, 7); /* overlapping */
	CHECK(copy(LIST), 0xa, 0x0d, 2);
	fill(0, 1, 8, 0, LAST - 7);
	CHECK(copy(LIST), 0xa, 0x0d, 2);
	fill(0, 1, 8, UINT64_MAX, 0);
	CHECK(copy(LIST), 0xa, 0x0d, 2);
	fill(1, 1, 8, 0, 100); /* neither is the unit asked */
	CHECK(copy(LIST), 0xa, 0x0d, 2);
	fill(0, 2, 8, 0, 100);
	CHECK(copy(LIST), 0xa, 0x0d, 2);
	fill(0, 1, 8, 0, 100);
	list[16 + 32 + 20] = 1; /* another disk */
	CHECK(copy(LIST), 0xa, 0x0d, 2);
	fill(0, 1, 8, 0, 100);
	CHECK(copy(LIST - 1), 5, 0x1a, 0);
	CHECK(copy(15), 5, 0x1a, 0);
	list[12] = 1;
	CHECK(copy(LIST), 5, 0x26, 0);
	fill(0, 1, 8, 0, 100);
	list[16] = 0xe0;
	CHECK(copy(LIST), 5, 0x26, 7);
	fill(0, 1, 8, 0, 100);
	list[80] = 3;
	CHECK(copy(LIST), 5, 0x26, 9);
	fill(0, 1, 8, 0, 100);
	wire_put_be(list + 8, 4, 56);
	CHECK(copy(LIST + 28), 5, 0x26, 8);
	wire_put_be(list + 8, 4, 0);
	wire_put_be(list + 2, 2, 96);
	CHECK(copy(LIST + 28), 5, 0x26, 6);
	wire_put_be(list + 8, 4, UINT32_MAX);
	CHECK(copy(LIST), 5, 0x1a, 0);
	cr_assert(!disk[0]->written && !disk[1]->written);
	fill(0, 1, 8, 0, 100);
	disk[1]->fail_write = 100 * BLOCK;
	CHECK(copy(LIST), 0xa, 0x0d, 1);
	disk[1]->fail_write = UINT64_MAX;
	GOOD(ask(host, (struct scsi_ask){ .cdb = { 0x16 }, .lun = 1 }));
	CHECK(copy(LIST), 0xa, 0x0d, 2); /* reserved, even if by this host */
	end();
}

Test(scsi_tgt_copy, operating_parameters)
{
	struct scsi_ask got;

	begin();
	got = ask(host, (struct scsi_ask){ .cdb = { 0x84, 3, [13] = 255 }, .expected_in = 255 });
	cr_assert(!got.status && got.moved == 46 && wire_be(in, 4) == 42 && in[9] == 2);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x84, 3, 1 } }), 5, 0x24, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x84, 0 } }), 5, 0x24, 0);
	end();
}
