/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Partition tables that are damaged or lie. tests/cli/part.sh has those of foreign tools. */
#include "content_format.h"
#include "disk.h"
#include "says.h"
#include "wire.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#define BLOCK 512u
#define SIZE  (4u << 20)
#define LAST  (SIZE / BLOCK - 1)
#define ENTRY 128u
#define COUNT 8u

static struct loop *loop;
static struct fake_disk *disk;
static struct content content;
static struct diag why;

static void begin(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	disk = fake_disk_new(loop, SIZE, BLOCK);
	memset(disk->bytes, 0, SIZE);
}

static void end(void)
{
	content_free(&content);
	fake_disk_free(disk);
	loop_free(loop);
}
TestSuite(content, .init = begin, .fini = end);

static uint32_t crc(const uint8_t *p, size_t len)
{
	uint32_t rest = UINT32_MAX;

	for (size_t bit = 0; bit < 8 * len; bit++)
		rest = rest >> 1 ^ ((rest ^ p[bit / 8] >> bit % 8) & 1 ? 0xedb88320 : 0);
	return ~rest;
}

static void put_entry(uint8_t *table, unsigned i, uint64_t first, uint64_t last)
{
	uint8_t *entry = table + i * ENTRY;

	memset(entry, 0x11, 32);
	wire_put_le(entry + 32, 8, first);
	wire_put_le(entry + 40, 8, last);
}

/* Make the header at that block fit what the table has now. */
static void seal(uint64_t at, uint64_t table, uint32_t count, uint32_t each)
{
	uint8_t *header = disk->bytes + at * BLOCK;

	memset(header, 0, BLOCK);
	memcpy(header, "EFI PART\0\0\1", 12);
	wire_put_le(header + 12, 4, 92);
	wire_put_le(header + 24, 8, at);
	wire_put_le(header + 72, 8, table);
	wire_put_le(header + 80, 4, count);
	wire_put_le(header + 84, 4, each);
	if (table < LAST && (uint64_t)count * each < SIZE - table * BLOCK)
		wire_put_le(header + 88, 4, crc(disk->bytes + table * BLOCK, count * each));
	wire_put_le(header + 16, 4, crc(header, 92));
}

static void put_gpt(void)
{
	uint8_t *table = disk->bytes + 2 * BLOCK;

	put_entry(table, 0, 40, 99);
	put_entry(table, 2, 200, LAST - 40);
	memcpy(disk->bytes + (LAST - 2) * BLOCK, table, COUNT * ENTRY);
	seal(1, 2, COUNT, ENTRY);
	seal(LAST, LAST - 2, COUNT, ENTRY);
}

static void look(void)
{
	content_free(&content);
	cr_assert_eq(content_read(&disk->bdev, 0, &content, &why), 0, "%s", why.text);
}

Test(content, gpt)
{
	uint64_t start, size;

	put_gpt();
	look();
	cr_assert(content.table == CONTENT_GPT && content.count == 2 && !content.backup);
	cr_assert_eq(content.partition[1].number, 3);
	cr_assert_eq(content.partition[1].off, 200 * BLOCK);
	cr_assert_str_eq(content.partition[0].uuid, "11111111-1111-1111-1111-111111111111");
	cr_assert_eq(content_find_partition(&disk->bdev, 1, 0, &start, &size, &why), 0);
	cr_assert(start == 40 * BLOCK && size == 60 * BLOCK);
	cr_assert_eq(content_find_partition(&disk->bdev, 2, 0, &start, &size, &why), -ENOENT);
}

Test(content, gpt_of_the_backup)
{
	put_gpt();
	disk->bytes[2 * BLOCK + 5] ^= 1; /* in the table, whose checksum fails */
	look();
	cr_assert(content.table == CONTENT_GPT && content.count == 2 && content.backup);
	disk->bytes[LAST * BLOCK + 50] ^= 1;
	look();
	cr_assert(content.table == CONTENT_NO_TABLE && !content.count);
}

/* Everything is in the image of a disk with blocks of 4 KiB. */
Test(content, gpt_of_other_blocks)
{
	static uint8_t saved[SIZE];

	put_entry(disk->bytes + 8192, 0, 6, 10);
	seal(8, 16, COUNT, ENTRY);
	wire_put_le(disk->bytes + 4096 + 24, 8, 1);
	wire_put_le(disk->bytes + 4096 + 72, 8, 2);
	memset(disk->bytes + 4096 + 16, 0, 4);
	wire_put_le(disk->bytes + 4096 + 16, 4, crc(disk->bytes + 4096, 92));
	memcpy(saved, disk->bytes, SIZE);
	look();
	cr_assert_eq(content.count, 1);
	cr_assert(content.partition[0].off == 24576 && content.partition[0].size == 20480);
}

Test(content, gpt_that_lies)
{
	static const struct {
		uint64_t table;
		uint32_t count, each;
	} lies[] = {
		{ LAST + 1, COUNT, ENTRY },
		{ UINT64_MAX, COUNT, ENTRY },
		{ LAST, COUNT, ENTRY },
		{ 2, UINT32_MAX, ENTRY },
		{ 2, COUNT, 0 },
		{ 2, COUNT, UINT32_MAX },
		{ 2, 1 << 16, 1 << 16 },
		{ 2, 1 << 11, ENTRY },
	};

	for (unsigned i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		seal(1, lies[i].table, lies[i].count, lies[i].each);
		look();
		cr_assert_eq(content.table, CONTENT_NO_TABLE, "lie %u", i);
	}
	put_entry(disk->bytes + 2 * BLOCK, 0, 100, 99);
	put_entry(disk->bytes + 2 * BLOCK, 1, 100, LAST + 1);
	put_entry(disk->bytes + 2 * BLOCK, 2, UINT64_MAX, UINT64_MAX);
	put_entry(disk->bytes + 2 * BLOCK, 3, 0, UINT64_MAX);
	put_entry(disk->bytes + 2 * BLOCK, 4, LAST, LAST);
	seal(1, 2, COUNT, ENTRY);
	look();
	cr_assert(content.count == 1 && content.left_out == 4 && content.partition[0].number == 5);
}

static void put_mbr(uint64_t at, unsigned i, uint8_t type, uint32_t first, uint32_t count)
{
	uint8_t *sector = disk->bytes + at * BLOCK, *entry = sector + 446 + 16 * i;

	sector[510] = 0x55;
	sector[511] = 0xaa;
	entry[4] = type;
	wire_put_le(entry + 8, 4, first);
	wire_put_le(entry + 12, 4, count);
}

/* A chain of logical partitions that bites its tail, and one that leads out of the disk. */
Test(content, mbr_without_end)
{
	put_mbr(0, 0, 0x83, 8, 8);
	put_mbr(0, 3, 5, 64, 64);
	put_mbr(64, 0, 0x83, 2, 2);
	put_mbr(64, 1, 5, 8, 8);
	put_mbr(72, 0, 0x83, 2, 2);
	put_mbr(72, 1, 5, 8, 8);
	look();
	cr_assert_eq(content.table, CONTENT_MBR);
	cr_assert_eq(content.count, 2 + 60);
	cr_assert_eq(content.partition[2].number, 5);
	put_mbr(72, 1, 5, UINT32_MAX, 8);
	look();
	cr_assert_eq(content.count, 2 + 2);
	put_mbr(72, 0, 0x83, UINT32_MAX, UINT32_MAX);
	look();
	cr_assert(content.count == 2 + 1 && content.left_out == 1);
}

Test(content, boot_sector_of_a_file_system)
{
	put_mbr(0, 0, 0x83, 8, 8);
	memcpy(disk->bytes + 54, "FAT16   ", 8);
	memcpy(disk->bytes + 43, "NO NAME    ", 11);
	look();
	cr_assert_eq(content.table, CONTENT_NO_TABLE);
	cr_assert_str_eq(content.format.type, "vfat");
	cr_assert_str_eq(content.format.label, "NO NAME");
	disk->bytes[446] = 0x12; /* no flag of an entry */
	memset(disk->bytes + 54, 0, 8);
	look();
	cr_assert_eq(content.table, CONTENT_NO_TABLE);
}

Test(content, a_disk_that_can_not_be_read)
{
	disk->bad_off = 0;
	disk->bad_len = BLOCK;
	disk->bad_status = -EIO;
	cr_assert_eq(content_read(&disk->bdev, 0, &content, &why), -EIO);
	cr_assert_eq(why.err, EIO);
}

/* What a live path holds ends with the reader's lane; whose answers are lost may be a matter of
 * their size. */
Test(content, a_disk_that_does_not_answer)
{
	disk->hold = disk->keep = true;
	strcpy(disk->bdev.uri, "x+tcp://[fd00::1]:7/disk");
	cr_assert_eq(content_read(&disk->bdev, 20, &content, &why), -ETIMEDOUT);
	cr_assert_eq(disk->aborted, 1);
	diag_says(&why, DIAG_TIMEOUT, "x+tcp://[fd00::1]:7/disk",
		"read_at_byte_0 ping_-M_do_-s_1452_fd00::1");
	disk->hold = disk->keep = false;
	cr_assert_eq(content_read(&disk->bdev, 0, &content, &why), 0, "its other lanes work");
}

Test(content, a_local_disk_has_no_path)
{
	disk->hold = disk->keep = true;
	cr_assert_eq(content_read(&disk->bdev, 20, &content, &why), -ETIMEDOUT);
	cr_assert_str_eq(why.hint, "");
}
