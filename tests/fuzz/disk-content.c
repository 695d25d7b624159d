/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/block/content.c core/block/content_format.c */
/* Whatever a disk begins and ends with: what is read of it ends, and each partition is inside the
 * disk. The first byte of the input: whether the GPT's checksums are right. */
#include "content.h"
#include "disk.h"
#include "wire.h"
#include <stdlib.h>

#define BLOCK 512u
#define SIZE  (256u << 10)
#define TABLE (16u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t crc(const uint8_t *p, size_t len)
{
	uint32_t rest = UINT32_MAX;

	for (size_t bit = 0; bit < 8 * len; bit++)
		rest = rest >> 1 ^ ((rest ^ p[bit / 8] >> bit % 8) & 1 ? 0xedb88320 : 0);
	return ~rest;
}

static void seal(uint8_t *bytes)
{
	uint8_t *header = bytes + BLOCK;
	uint64_t at = wire_le(header + 72, 8), len;

	len = wire_le(header + 80, 4) * wire_le(header + 84, 4);
	if (at < SIZE / BLOCK && len <= TABLE && len <= SIZE - at * BLOCK)
		wire_put_le(header + 88, 4, crc(bytes + at * BLOCK, len));
	memset(header + 16, 0, 4);
	wire_put_le(header + 16, 4, crc(header, 92));
}

static void check(const struct content *content)
{
	if (content->table == CONTENT_NO_TABLE && content->count)
		abort();
	for (unsigned i = 0; i < content->count; i++) {
		const struct content_partition *p = &content->partition[i];

		if (!p->number || !p->off || !p->size || p->off > SIZE || p->size > SIZE - p->off)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loop_options options = { .name = "fuzz" };
	struct content content;
	struct fake_disk *disk;
	struct loop *loop;

	if (!size || size - 1 > SIZE)
		return 0;
	if (loop_new(&loop, &options, NULL))
		abort();
	disk = fake_disk_new(loop, SIZE, BLOCK);
	memcpy(disk->bytes, data + 1, size - 1);
	if (data[0] & 1)
		seal(disk->bytes);
	if (content_read(&disk->bdev, 0, &content, NULL))
		abort();
	check(&content);
	content_free(&content);
	fake_disk_free(disk);
	loop_free(loop);
	return 0;
}
