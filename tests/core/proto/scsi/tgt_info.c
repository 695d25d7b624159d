/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a unit says of itself, in whole and cut off, and what of it can be set. */
#include "tgt_rig.h"

static struct scsi_ask page(uint8_t number, uint16_t room)
{
	struct scsi_ask with = { .cdb = { 0x12, 1, number }, .expected_in = room };

	memset(in, 0xee, sizeof(in));
	wire_put_be(with.cdb + 3, 2, room);
	return ask(host, with);
}

Test(scsi_tgt_info, inquiry)
{
	struct scsi_ask with = { .cdb = { 0x12, 0, 0, 0, 96 }, .expected_in = 96 }, got;

	begin();
	got = ask(host, with);
	cr_assert(!got.status && got.moved == 96 && !got.residual);
	cr_assert(!in[0] && in[2] == 6 && in[3] == 0x12 && in[4] == 91 && in[7] == 2);
	cr_assert(!memcmp(in + 8, "rdmastor", 8));
	with.lun = 7;
	GOOD(ask(host, with));
	cr_assert_eq(in[0], 0x7f);
	with.lun = 0;
	with.cdb[4] = 5;
	memset(in, 0xee, 96);
	got = ask(host, with);
	cr_assert(got.moved == 5 && in[5] == 0xee && got.residual == 91 && !got.over);
	with.expected_in = 3;
	got = ask(host, with);
	cr_assert(got.moved == 3 && got.residual == 2 && got.over);
	with.cdb[4] = 0;
	got = ask(host, with);
	cr_assert(!got.status && !got.moved);
	with.cdb[2] = 0x80;
	CHECK(ask(host, with), 5, 0x24, 0);
	CHECK(page(0xb3, 100), 5, 0x24, 0);
	end();
}

Test(scsi_tgt_info, vital_product_data)
{
	struct scsi_ask got;
	unsigned at = 4;
	bool eui = false, t10 = false;

	begin();
	disk[0]->bdev.lim.best = 4096;
	got = page(0, 255);
	cr_assert(!got.status && got.moved == 10 && in[3] == 6 && in[9] == 0xb2);
	page(0x80, 255);
	cr_assert(in[3] == 7 && !memcmp(in + 4, "serial0", 7) && in[11] == 0xee);
	got = page(0x83, 4096);
	while (at < got.moved) {
		eui |= in[at + 1] == 2 && in[at + 3] == 16 && in[at + 4] == 0x42;
		t10 |= in[at + 1] == 1 && !memcmp(in + at + 4, "rdmastorserial0", 15);
		at += 4u + in[at + 3];
	}
	cr_assert(at == got.moved && eui && t10);
	got = page(0xb0, 255);
	cr_assert(got.moved == 64 && in[3] == 0x3c && !in[5]);
	cr_assert(wire_be(in + 8, 4) == 65536 && wire_be(in + 6, 2) == 8);
	cr_assert_eq(wire_be(in + 20, 4), UINT32_MAX);
	page(0xb1, 255);
	cr_assert_eq(in[5], 1);
	page(0xb2, 255);
	cr_assert(in[5] == 0xe0 && in[6] == 2);
	disk[0]->bdev.lim.max[IO_TRIM] = disk[0]->bdev.lim.max[IO_ZERO] = 0;
	disk[0]->bdev.lim.max[IO_COMPARE_WRITE] = 65536;
	page(0xb2, 255);
	cr_assert(!in[5] && !in[6]);
	page(0xb0, 255);
	cr_assert(in[5] == 128 && !in[20] && !in[27]);
	end();
}

Test(scsi_tgt_info, capacity_and_units)
{
	struct scsi_ask got;

	begin();
	got = ask(host, (struct scsi_ask){ .cdb = { 0x25 }, .expected_in = 8 });
	cr_assert(!got.status && wire_be(in, 4) == LAST - 1 && wire_be(in + 4, 4) == BLOCK);
	got = ask(host, (struct scsi_ask){ .cdb = { 0x9e, 0x10, [13] = 32 }, .expected_in = 32 });
	cr_assert(!got.status && wire_be(in, 8) == LAST - 1 && in[14] == 0x80);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x9e, 0x11 } }), 5, 0x24, 0);
	got = ask(host,
		(struct scsi_ask){ .cdb = { 0xa0, [9] = 255 }, .expected_in = 255, .lun = 9 });
	cr_assert(!got.status && got.moved == 24 && in[3] == 16 && in[17] == 1);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0xa0, [9] = 15 }, .expected_in = 15 }), 5, 0x24,
		0);
	CHECK(ask(host, (struct scsi_ask){ .lun = 2 }), 5, 0x25, 0);
	got = ask(
		host, (struct scsi_ask){ .cdb = { 3, 0, 0, 0, 18 }, .expected_in = 18, .lun = 2 });
	cr_assert(!got.status && in[2] == 5 && in[12] == 0x25);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0xf0 } }), 5, 0x20, 0);
	end();
}

Test(scsi_tgt_info, commands)
{
	struct scsi_ask with = { .cdb = { 0xa3, 0x0c, 0, [8] = 0xff, [9] = 0xff },
		.expected_in = 65535 },
			got;

	begin();
	got = ask(host, with);
	cr_assert(!got.status && got.moved == 4 + wire_be(in, 4) && wire_be(in, 4) % 8 == 0);
	with.cdb[2] = 1;
	with.cdb[3] = 0x28;
	got = ask(host, with);
	cr_assert(!got.status && in[1] == 3 && in[3] == 10 && in[4] == 0x28 && got.moved == 14);
	with.cdb[3] = 0x89; /* not of this disk */
	GOOD(ask(host, with));
	cr_assert_eq(in[1], 1);
	with.cdb[3] = 0x9e;
	CHECK(ask(host, with), 5, 0x24, 0);
	with.cdb[2] = 0x82;
	with.cdb[5] = 0x10;
	got = ask(host, with);
	cr_assert(!got.status && in[1] == 0x83 && got.moved == 4 + 16 + 12);
	end();
}

/* MODE SENSE's answer with one byte changed, as MODE SELECT's list. */
static struct scsi_ask select_with(uint8_t number, unsigned at, uint8_t value)
{
	struct scsi_ask sense = { .cdb = { 0x1a, 8, number, 0, 255 }, .expected_in = 255 };
	struct scsi_ask with = { .cdb = { 0x15, 0x10 } };

	sense = ask(host, sense);
	in[0] = 0;
	in[2] = 0;
	in[at] = value;
	with.cdb[4] = (uint8_t)sense.moved;
	return ask(host, listing(with, in, sense.moved));
}

Test(scsi_tgt_info, modes)
{
	struct scsi_host *second;
	struct scsi_ask got;

	begin();
	second = scsi_host_dial(&rig, 2);
	ready(second);
	disk[0]->bdev.lim.fua = false;
	got = ask(host,
		(struct scsi_ask){ .cdb = { 0x5a, 0x10, 0x3f, [8] = 255 }, .expected_in = 255 });
	cr_assert(!got.status && got.moved == 8 + 16 + 20 + 12 && wire_be(in, 2) == got.moved - 2);
	cr_assert(in[24] == 8 && in[26] == 4 && in[44] == 10 && wire_be(in + 8, 8) == LAST);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x1a, 0, 0xc8, 0, 255 }, .expected_in = 255 }),
		5, 0x39, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x1a, 0, 0x05, 0, 255 }, .expected_in = 255 }),
		5, 0x24, 0);
	got = ask(
		host, (struct scsi_ask){ .cdb = { 0x5a, 8, 0x7f, [8] = 255 }, .expected_in = 255 });
	cr_assert(!got.status && in[10] == 0 && in[28 + 4] == 0, "nothing can be changed");
	GOOD(select_with(8, 6, 4)); /* what is */
	GOOD(select_with(10, 8, 0));
	/* what would hold for the others, and stay when this initiator has left */
	CHECK(select_with(8, 6, 0), 5, 0x26, 0);  /* write cache off */
	CHECK(select_with(10, 8, 8), 5, 0x26, 0); /* software write protect */
	GOOD(ask(second, (struct scsi_ask){ 0 }));
	GOOD(ask(second, writing(ask10(0x2a, 0, 1, 1), BLOCK)));
	CHECK(select_with(10, 9, 0), 5, 0x26, 0);  /* TAS can't be changed */
	CHECK(select_with(10, 5, 11), 5, 0x26, 0); /* a page length */
	CHECK(select_with(10, 3, 9), 5, 0x26, 0);  /* a block descriptor of 9 */
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x15, 0x10, 0, 0, 3 }, .expected_out = 3 }), 5,
		0x1a, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x15, 0x11 } }), 5, 0x24, 0);
	scsi_host_leave(second);
	end();
}

Test(scsi_tgt_info, attentions)
{
	struct scsi_host *second;
	struct scsi_ask got;

	begin();
	second = scsi_host_dial(&rig, 2);
	GOOD(ask(second, (struct scsi_ask){ .cdb = { 0x12, 0, 0, 0, 96 }, .expected_in = 96 }));
	CHECK(ask(second, reading(ask10(0x28, 0, 0, 1), BLOCK)), 6, 0x29, 0);
	GOOD(ask(second, reading(ask10(0x28, 0, 0, 1), BLOCK)));
	got = ask(second,
		(struct scsi_ask){ .cdb = { 3, 1, 0, 0, 18 }, .expected_in = 18, .lun = 1 });
	cr_assert(!got.status && got.moved == 8 && in[0] == 0x72 && in[1] == 6 && in[2] == 0x29);
	GOOD(ask(second, (struct scsi_ask){ .lun = 1 }));
	disk[1]->bdev.lim.size = SIZE / 2;
	target_resized(&rig.target, &disk[1]->bdev);
	CHECK(ask(second, (struct scsi_ask){ .lun = 1 }), 6, 0x2a, 9);
	CHECK(ask(host, (struct scsi_ask){ .lun = 1 }), 6, 0x2a, 9);
	GOOD(ask(host, (struct scsi_ask){ 0 }));
	scsi_host_leave(second);
	end();
}
