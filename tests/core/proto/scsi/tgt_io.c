/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands that move blocks: what is read and written where, limits, residuals, errors of the disk,
 * parameter lists that lie. */
#include "tgt_rig.h"

static void forget(void)
{
	memset(in, 0xee, sizeof(in));
}

static void same(uint64_t lba, uint32_t len)
{
	cr_assert_eq(memcmp(in, disk[0]->bytes + lba * BLOCK, len), 0);
}

Test(scsi_tgt_io, reads_with_every_cdb)
{
	begin();
	GOOD(ask(host, reading((struct scsi_ask){ .cdb = { 0x08, 0, 1, 0, 0 } }, 256 * BLOCK)));
	same(256, 256 * BLOCK);
	forget();
	GOOD(ask(host, reading(ask10(0x28, 0x18, 9, 3), 3 * BLOCK)));
	same(9, 3 * BLOCK);
	forget();
	GOOD(ask(host, reading((struct scsi_ask){ .cdb = { 0xa8, 0, 0, 0, 0, 5, 0, 0, 0, 2 } },
			       2 * BLOCK)));
	same(5, 2 * BLOCK);
	forget();
	GOOD(ask(host, reading(ask16(0x88, 0, 100, 1500), 1500 * BLOCK))); /* in pieces */
	same(100, 1500 * BLOCK);
	GOOD(ask(host, ask10(0x28, 0, 0, 0)));
	GOOD(ask(host, ask10(0x28, 0, LAST, 0)));
	end();
}

Test(scsi_tgt_io, writes_with_every_cdb)
{
	begin();
	GOOD(ask(host, writing((struct scsi_ask){ .cdb = { 0x0a, 0, 0, 7, 2 } }, 2 * BLOCK)));
	cr_assert_eq(memcmp(disk[0]->bytes + 7 * BLOCK, out, 2 * BLOCK), 0);
	GOOD(ask(host, writing(ask10(0x2a, 0, 20, 8), 8 * BLOCK)));
	cr_assert_eq(memcmp(disk[0]->bytes + 20 * BLOCK, out, 8 * BLOCK), 0);
	cr_assert_eq(disk[0]->flushes, 0);
	disk[0]->bdev.lim.fua = false;
	GOOD(ask(host, writing(ask10(0x2a, 8, 20, 1), BLOCK))); /* FUA */
	cr_assert_eq(disk[0]->flushes, 1);
	GOOD(ask(host, writing(ask16(0x8a, 0, 40, 1000), 1000 * BLOCK)));
	cr_assert_eq(memcmp(disk[0]->bytes + 40 * BLOCK, out, 1000 * BLOCK), 0);
	GOOD(ask(host, writing((struct scsi_ask){ .cdb = { 0xaa, 0, 0, 0, 0, 1, 0, 0, 0, 1 },
				       .immediate = true,
				       .lun = 1 },
			       BLOCK)));
	cr_assert_eq(memcmp(disk[1]->bytes + BLOCK, out, BLOCK), 0);
	GOOD(ask(host, ask10(0x2a, 0, 3, 0)));
	end();
}

Test(scsi_tgt_io, refuses_what_is_not_on_the_disk)
{
	begin();
	CHECK(ask(host, reading(ask10(0x28, 0, LAST, 1), BLOCK)), 5, 0x21, 0);
	CHECK(ask(host, reading(ask10(0x28, 0, LAST - 1, 2), 2 * BLOCK)), 5, 0x21, 0);
	CHECK(ask(host, ask10(0x28, 0, LAST + 1, 0)), 5, 0x21, 0);
	CHECK(ask(host, reading(ask16(0x88, 0, UINT64_MAX, 2), 2 * BLOCK)), 5, 0x21, 0);
	CHECK(ask(host, reading(ask16(0x88, 0, 1ull << 55, 1), BLOCK)), 5, 0x21, 0);
	CHECK(ask(host, writing(ask10(0x2a, 0, LAST, 1), BLOCK)), 5, 0x21, 0);
	CHECK(ask(host, ask10(0x35, 0, LAST + 1, 0)), 5, 0x21, 0);
	CHECK(ask(host, reading(ask10(0x28, 0x20, 0, 1), BLOCK)), 5, 0x24, 0);       /* RDPROTECT */
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x28, [9] = 4 } }), 5, 0x24, 0); /* NACA */
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x28 }, .cdb_len = 6 }), 5, 0x24, 0);
	CHECK(ask(host, (struct scsi_ask){ .attr = SCSI_ACA }), 5, 0x24, 0);
	end();
}

Test(scsi_tgt_io, residuals)
{
	struct scsi_ask got;

	begin();
	got = ask(host, reading(ask10(0x28, 0, 3, 2), 5 * BLOCK));
	cr_assert(!got.status && !got.over && got.residual == 3 * BLOCK && got.moved == 2 * BLOCK);
	forget();
	got = ask(host, reading(ask10(0x28, 0, 3, 2), BLOCK + 100));
	cr_assert(!got.status && got.over && got.residual == BLOCK - 100);
	cr_assert_eq(got.moved, BLOCK + 100);
	same(3, BLOCK + 100);
	cr_assert_eq(in[BLOCK + 100], 0xee);
	got = ask(host, reading(ask10(0x28, 0, 3, 2), 0));
	cr_assert(!got.status && got.over && got.residual == 2 * BLOCK && !got.moved);
	got = ask(host, writing(ask10(0x2a, 0, 10, 2), BLOCK));
	cr_assert(!got.status && got.over && got.residual == BLOCK && got.moved == BLOCK);
	cr_assert_eq(memcmp(disk[0]->bytes + 10 * BLOCK, out, BLOCK), 0);
	cr_assert_neq(memcmp(disk[0]->bytes + 11 * BLOCK, out + BLOCK, BLOCK), 0);
	got = ask(host, writing(ask10(0x2a, 0, 20, 1), 2 * BLOCK));
	cr_assert(!got.status && !got.over && got.residual == BLOCK && got.moved == BLOCK);
	cr_assert_neq(memcmp(disk[0]->bytes + 21 * BLOCK, out + BLOCK, BLOCK), 0);
	got = ask(host, writing(ask10(0x2e, 2, 30, 2), BLOCK));
	cr_assert(!got.status && got.over && got.residual == BLOCK && got.moved == BLOCK);
	got = ask(host, writing(ask10(0x2a, 0, 40, 2), BLOCK + 200));
	CHECK(got, 5, 0x0e, 3);
	cr_assert(got.over && got.residual == BLOCK - 200 && !got.moved);
	CHECK(ask(host, writing(ask10(0x2f, 2, 10, 2), BLOCK)), 5, 0x0e, 3);
	got = ask(host, writing(ask10(0x2a, 0, 40, 2), 0));
	cr_assert(!got.status && got.over && got.residual == 2 * BLOCK);
	got = ask(host, writing(ask10(0x2a, 0, 0, 0), 100));
	cr_assert(!got.status && !got.over && got.residual == 100);
	end();
}

Test(scsi_tgt_io, errors_of_the_disk_have_their_sense)
{
	static const struct {
		int status;
		uint8_t key, asc, ascq;
	} expected[] = { { -EIO, 3, 0x11, 0 }, { -EHOSTUNREACH, 2, 4, 1 }, { -ETIMEDOUT, 2, 4, 1 },
		{ -ENXIO, 5, 0x21, 0 }, { -EACCES, 7, 0x27, 0 }, { -EBADMSG, 4, 0x44, 0 } };

	begin();
	disk[0]->bad_off = 5 * BLOCK;
	disk[0]->bad_len = 1;
	for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		disk[0]->bad_status = expected[i].status;
		CHECK(ask(host, reading(ask10(0x28, 0, 4, 3), 3 * BLOCK)), expected[i].key,
			expected[i].asc, expected[i].ascq);
	}
	disk[0]->bad_status = -EBUSY;
	cr_assert_eq(ask(host, reading(ask10(0x28, 0, 5, 1), BLOCK)).status, SCSI_BUSY);
	disk[0]->bad_status = -EBADE;
	CHECK(ask(host, reading(ask10(0x28, 0, 5, 1), BLOCK)), 4, 0x44, 0);
	disk[0]->fail_write = 9 * BLOCK;
	CHECK(ask(host, writing(ask10(0x2a, 0, 9, 1), BLOCK)), 3, 0x0c, 0);
	disk[0]->flush_status = -ENOSPC;
	CHECK(ask(host, ask10(0x35, 0, 0, 0)), 7, 0x27, 7);
	disk[0]->flush_status = 0;
	end();
}

Test(scsi_tgt_io, verify_compares)
{
	struct scsi_ask got;

	begin();
	memcpy(out, disk[0]->bytes + 10 * BLOCK, 600 * BLOCK);
	GOOD(ask(host, ask10(0x2f, 0, 10, 600)));
	cr_assert_eq(disk[0]->hits[609], 1, "not read");
	GOOD(ask(host, writing(ask10(0x2f, 2, 10, 600), 600 * BLOCK)));
	out[BLOCK * 300 + 7] ^= 1;
	got = ask(host, writing(ask10(0x2f, 2, 10, 600), 600 * BLOCK));
	CHECK(got, 0xe, 0x1d, 0);
	cr_assert(got.info_valid && got.info == BLOCK * 300 + 7);
	CHECK(ask(host, writing(ask10(0x2f, 4, 10, 1), BLOCK)), 5, 0x24, 0);
	memset(disk[0]->bytes, 5, 3 * BLOCK);
	memset(out, 5, BLOCK);
	GOOD(ask(host, writing(ask10(0x2f, 6, 0, 3), BLOCK)));
	disk[0]->bytes[2 * BLOCK + 9] = 6;
	CHECK(ask(host, writing(ask10(0x2f, 6, 0, 3), BLOCK)), 0xe, 0x1d, 0);
	got = writing(ask10(0x2f, 6, 0, 2), BLOCK);
	got.immediate = true;
	GOOD(ask(host, got));
	disk[0]->bad_off = 11 * BLOCK;
	disk[0]->bad_len = 1;
	disk[0]->bad_status = -EIO;
	CHECK(ask(host, ask16(0x8f, 0, 10, 2)), 3, 0x11, 0);
	GOOD(ask(host, ask10(0x2f, 0, 10, 0)));
	end();
}

Test(scsi_tgt_io, write_and_verify_reads_back)
{
	begin();
	GOOD(ask(host, writing(ask10(0x2e, 2, 50, 600), 600 * BLOCK)));
	cr_assert_eq(memcmp(disk[0]->bytes + 50 * BLOCK, out, 600 * BLOCK), 0);
	disk[0]->falsify = 51 * BLOCK + 3;
	CHECK(ask(host, writing(ask16(0x8e, 2, 50, 4), 4 * BLOCK)), 0xe, 0x1d, 0);
	GOOD(ask(host, writing(ask16(0x8e, 0, 50, 4), 4 * BLOCK)));
	end();
}

/* What came along is in memory that such a disk's target must not reach; it is copied. */
Test(scsi_tgt_io, immediate_data_for_an_exposed_disk)
{
	static const uint8_t opcodes[] = { 0x2a, 0x2e };
	const struct pool *own;

	set_up();
	disk[0]->bdev.lim.exposed = true;
	cr_assert_eq(scsi_rig_start(&rig, &why), 0, "%s", why.text);
	host = scsi_host_dial(&rig, 1);
	ready(host);
	GOOD(ask(host, writing(ask10(0x2a, 0, 8, 4), 4 * BLOCK)));
	own = disk[0]->pool;
	for (unsigned i = 0; i < sizeof(opcodes); i++) {
		struct scsi_ask with = writing(ask10(opcodes[i], 2 * i, 50, 4), 4 * BLOCK);

		with.immediate = true;
		memset(disk[0]->bytes + 50 * BLOCK, 0, 4 * BLOCK);
		GOOD(ask(host, with));
		cr_assert_eq(memcmp(disk[0]->bytes + 50 * BLOCK, out, 4 * BLOCK), 0);
		cr_assert_eq(disk[0]->pool, own, "opcode %02x", opcodes[i]);
	}
	disk[0]->falsify = 51 * BLOCK + 3;
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x2e, 2, [5] = 50, [8] = 4 },
				.expected_out = 4 * BLOCK,
				.immediate = true }),
		0xe, 0x1d, 0);
	end();
}

Test(scsi_tgt_io, write_same)
{
	struct scsi_ask got;

	begin();
	GOOD(ask(host, writing(ask10(0x41, 0, 2, 700), BLOCK)));
	for (unsigned i = 2; i < 702; i++)
		cr_assert_eq(memcmp(disk[0]->bytes + i * BLOCK, out, BLOCK), 0);
	cr_assert_neq(memcmp(disk[0]->bytes + 702 * BLOCK, out, BLOCK), 0);
	got = writing(ask16(0x93, 0, 900, 3), BLOCK);
	got.immediate = true;
	GOOD(ask(host, got));
	cr_assert_eq(memcmp(disk[0]->bytes + 902 * BLOCK, out, BLOCK), 0);
	memset(out, 0, BLOCK);
	GOOD(ask(host, writing(ask16(0x93, 8, 4, 5), BLOCK)));
	cr_assert_eq(disk[0]->zeroed, 5 * BLOCK);
	GOOD(ask(host, ask16(0x93, 1, 20, 6))); /* no data */
	cr_assert_eq(disk[0]->zeroed, 11 * BLOCK);
	cr_assert(!disk[0]->bytes[25 * BLOCK] && disk[0]->bytes[26 * BLOCK + 1]);
	CHECK(ask(host, writing(ask10(0x41, 0, 2, 0), BLOCK)), 5, 0x24, 0);
	CHECK(ask(host, writing(ask10(0x41, 0x10, 2, 1), BLOCK)), 5, 0x24, 0);
	CHECK(ask(host, writing(ask10(0x41, 0, LAST - 1, 2), BLOCK)), 5, 0x21, 0);
	CHECK(ask(host, writing(ask10(0x41, 0, 2, 2), BLOCK - 1)), 5, 0x24, 0);
	disk[0]->bdev.lim.max[IO_ZERO] = 0;
	CHECK(ask(host, writing(ask10(0x41, 8, 2, 2), BLOCK)), 5, 0x24, 0);
	GOOD(ask(host, writing(ask10(0x41, 0, 950, 2), BLOCK)));
	cr_assert(!disk[0]->bytes[951 * BLOCK + 1]);
	end();
}

Test(scsi_tgt_io, unmap)
{
	struct scsi_ask unmap = { .cdb = { 0x42 } };
	uint8_t list[8 + 16 * 3] = { 0, 54, 0, 48 };

	begin();
	wire_put_be(list + 8, 8, 4);
	wire_put_be(list + 16, 4, 3);
	wire_put_be(list + 24 + 16, 8, LAST - 1);
	wire_put_be(list + 32 + 16, 4, 1);
	wire_put_be(unmap.cdb + 7, 2, sizeof(list));
	GOOD(ask(host, listing(unmap, list, sizeof(list))));
	cr_assert_eq(disk[0]->zeroed, 4 * BLOCK);
	cr_assert(!disk[0]->bytes[6 * BLOCK + 1] && !disk[0]->bytes[SIZE - 1]);
	wire_put_be(list + 32 + 16, 4, 2);
	CHECK(ask(host, listing(unmap, list, sizeof(list))), 5, 0x21, 0);
	cr_assert_eq(disk[0]->zeroed, 4 * BLOCK, "before its list was checked");
	wire_put_be(list + 2, 2, 0xffff); /* more than came: what came counts */
	wire_put_be(list + 32 + 16, 4, 1);
	GOOD(ask(host, listing(unmap, list, sizeof(list))));
	wire_put_be(unmap.cdb + 7, 2, sizeof(list) + 1);
	CHECK(ask(host, listing(unmap, list, sizeof(list))), 5, 0x24, 0);
	wire_put_be(unmap.cdb + 7, 2, 7);
	CHECK(ask(host, listing(unmap, list, 7)), 5, 0x1a, 0);
	wire_put_be(unmap.cdb + 7, 2, 8);
	GOOD(ask(host, listing(unmap, list, 8)));
	wire_put_be(unmap.cdb + 7, 2, 0);
	GOOD(ask(host, unmap));
	wire_put_be(out + 2, 2, 16 * 257);
	wire_put_be(unmap.cdb + 7, 2, 8 + 16 * 257);
	CHECK(ask(host, writing(unmap, 8 + 16 * 257)), 5, 0x26, 0);
	disk[0]->bdev.lim.max[IO_TRIM] = 0;
	CHECK(ask(host, unmap), 5, 0x20, 0);
	end();
}

/* By the disk, or where only this process writes to it by the device server. */
static void compares_and_writes(bool own)
{
	struct scsi_ask caw = { .cdb = { 0x89, [9] = 6, [13] = 2 }, .expected_out = 4 * BLOCK },
			got;

	begin();
	CHECK(ask(host, caw), 5, 0x20, 0);
	disk[0]->bdev.lim.max[IO_COMPARE_WRITE] = own ? 0 : 8 * BLOCK;
	disk[0]->bdev.lim.max[IO_WRITE] = own ? 8 * BLOCK : disk[0]->bdev.lim.max[IO_WRITE];
	disk[0]->bdev.lim.sole_writer = own;
	GOOD(ask(host, (struct scsi_ask){ .cdb = { 0x12, 1, 0xb0, 0, 64 }, .expected_in = 64 }));
	cr_assert_eq(in[5], 8);
	memcpy(out, disk[0]->bytes + 6 * BLOCK, 2 * BLOCK);
	GOOD(ask(host, caw));
	cr_assert_eq(memcmp(disk[0]->bytes + 6 * BLOCK, out + 2 * BLOCK, 2 * BLOCK), 0);
	memcpy(out, disk[0]->bytes + 6 * BLOCK, 2 * BLOCK);
	out[700] ^= 1;
	caw.immediate = true;
	got = ask(host, caw);
	CHECK(got, 0xe, 0x1d, 0);
	cr_assert(got.info_valid && got.info == 700);
	caw.cdb[13] = 9;
	caw.expected_out = 18 * BLOCK;
	CHECK(ask(host, caw), 5, 0x24, 0);
	caw.cdb[13] = 0;
	caw.expected_out = 0;
	GOOD(ask(host, caw));
	disk[0]->fail_write = 6 * BLOCK;
	memcpy(out, disk[0]->bytes + 6 * BLOCK, 2 * BLOCK);
	caw.cdb[13] = 2;
	caw.expected_out = 4 * BLOCK;
	CHECK(ask(host, caw), 3, 0x0c, 0);
	cr_assert_eq(disk[0]->bdev.orphans, 0);
	end();
}

Test(scsi_tgt_io, compare_and_write)
{
	compares_and_writes(false);
}

Test(scsi_tgt_io, compare_and_write_on_a_disk_of_ours)
{
	compares_and_writes(true);
}

Test(scsi_tgt_io, lba_status)
{
	struct scsi_ask with = { .cdb = { 0x9e, 0x12, [9] = 4 }, .expected_in = 4096 }, got;

	begin();
	memset(disk[0]->hole + 6, 1, 3);
	wire_put_be(with.cdb + 10, 4, 4096);
	got = ask(host, with);
	GOOD(got);
	cr_assert_eq(got.moved, 8 + 3 * 16);
	cr_assert_eq(wire_be(in, 4), got.moved - 4);
	cr_assert(wire_be(in + 8, 8) == 4 && wire_be(in + 16, 4) == 2 && in[20] == 0);
	cr_assert(wire_be(in + 24, 8) == 6 && wire_be(in + 32, 4) == 3 && in[36] == 1);
	cr_assert(wire_be(in + 40, 8) == 9 && in[52] == 0);
	cr_assert_eq(wire_be(in + 48, 4), disk[0]->bdev.lim.max[IO_MAP] / BLOCK - 5);
	/* cut off at the allocation length */
	forget();
	wire_put_be(with.cdb + 10, 4, 24);
	got = ask(host, with);
	GOOD(got);
	cr_assert(got.moved == 24 && wire_be(in, 4) == 52 && wire_be(in + 16, 4) == 2);
	cr_assert_eq(in[24], 0xee);
	/* more runs than fit into an answer */
	for (unsigned i = 0; i < LAST; i += 2)
		disk[0]->hole[i] = 1;
	disk[0]->bdev.lim.max[IO_MAP] = SIZE;
	wire_put_be(with.cdb + 2, 8, 0);
	wire_put_be(with.cdb + 10, 4, sizeof(in));
	with.expected_in = sizeof(in);
	got = ask(host, with);
	GOOD(got);
	cr_assert_eq(got.moved, 8 + 2047 * 16);
	cr_assert_eq(wire_be(in, 4), got.moved - 4);
	/* the last block; behind it; a disk that has no map */
	wire_put_be(with.cdb + 2, 8, LAST - 1);
	got = ask(host, with);
	GOOD(got);
	cr_assert(got.moved == 24 && wire_be(in + 8, 8) == LAST - 1 && wire_be(in + 16, 4) == 1);
	wire_put_be(with.cdb + 2, 8, LAST);
	CHECK(ask(host, with), 5, 0x21, 0);
	disk[0]->bdev.lim.max[IO_MAP] = 0;
	wire_put_be(with.cdb + 2, 8, 6);
	got = ask(host, with);
	GOOD(got);
	cr_assert(got.moved == 24 && wire_be(in + 16, 4) == LAST - 6 && in[20] == 0);
	end();
}

Test(scsi_tgt_io, a_disk_that_is_read_only)
{
	uint8_t mode[4];

	set_up();
	rig.ro = true;
	cr_assert_eq(scsi_rig_start(&rig, &why), 0);
	host = scsi_host_dial(&rig, 1);
	ready(host);
	CHECK(ask(host, writing(ask10(0x2a, 0, 0, 1), BLOCK)), 7, 0x27, 0);
	CHECK(ask(host, writing(ask10(0x41, 0, 0, 1), BLOCK)), 7, 0x27, 0);
	CHECK(ask(host, (struct scsi_ask){ .cdb = { 0x42 } }), 7, 0x27, 0);
	GOOD(ask(host, reading(ask10(0x28, 0, 0, 1), BLOCK)));
	GOOD(ask(host,
		(struct scsi_ask){ .cdb = { 0x1a, 8, 0x3f, 0, 4 }, .in = mode, .expected_in = 4 }));
	cr_assert_eq(mode[2], 0x90);
	end();
}
