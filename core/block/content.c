/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read partition tables: GPT (UEFI 2.10, 5.3), with its copy at the end of the disk, and MBR with
 * logical partitions. */
#include "content.h"
#include "content_format.h"
#include "names.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER      (256u << 10)
#define GPT_HEADER  92
#define GPT_ENTRY   128
#define GPT_TABLE   (128u << 10) /* longest */
#define LOGICAL_MAX 60
#define FORMATS_MAX 64 /* partitions whose format is looked at */
#define MBR_ENTRIES 446
#define MBR_GPT     0xee
#define SECTOR_MIN  512

struct reader {
	struct bdev *bdev;
	struct lane *lane;
	struct pool *pool;
	uint32_t timeout_ms;
	bool read; /* something was */
};

static int reader_open(struct reader *r, struct bdev *bdev, uint32_t timeout_ms, struct diag *diag)
{
	int err;

	*r = (struct reader){ .bdev = bdev, .timeout_ms = timeout_ms };
	err = lane_open(&r->lane, bdev, bdev->loop, diag);
	if (!err)
		err = pool_new(&r->pool, BUFFER, 1, diag);
	return err ? err : lane_map(r->lane, r->pool, diag);
}

static void reader_close(struct reader *r)
{
	if (r->pool && r->lane)
		lane_unmap(r->lane, r->pool);
	lane_close(r->lane);
	if (r->pool)
		pool_free(r->pool);
}

static void hint_mtu(const struct bdev *bdev, struct diag *diag)
{
	struct uri *uri = uri_new(bdev->uri);

	if (uri && uri->host[0])
		diag_hint_mtu(diag, uri->host);
	free(uri);
}

/* Any bytes of the disk. */
static int read_at(struct reader *r, uint64_t off, uint32_t len, void *to, struct diag *diag)
{
	const struct bdev_limits *lim = &r->bdev->lim;
	uint32_t most = lim->max[IO_READ] < BUFFER ? lim->max[IO_READ] & ~(lim->block - 1) : BUFFER;
	uint8_t *p = to;

	while (len) {
		uint32_t skip = (uint32_t)(off & (lim->block - 1)), n = most - skip;
		struct buf buf = pool_buf(r->pool, 0);
		struct io io = { .kind = IO_READ, .off = off - skip, .buf = &buf };
		int err;

		n = n < len ? n : len;
		io.len = (skip + n + lim->block - 1) & ~(lim->block - 1);
		err = bdev_io_wait(r->lane, &io, r->timeout_ms);
		if (err) {
			const char *text = bdev_status_text(r->bdev, &io);

			diag_sys(diag, -err, "read at byte %llu", (unsigned long long)io.off);
			if (text)
				diag_set(diag, DIAG_IO, -err, "read at byte %llu: %s",
					(unsigned long long)io.off, text);
			if (err == -ETIMEDOUT && !r->read)
				hint_mtu(r->bdev, diag);
			diag_ctx(diag, "%s", r->bdev->uri);
			return err;
		}
		r->read = true;
		memcpy(p, buf.p + skip, n);
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

/* ---- GPT */

static uint32_t crc32(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* The first three fields are little-endian. */
static void guid_text(char text[UUID_TEXT], const uint8_t *guid)
{
	uint8_t uuid[16] = { guid[3], guid[2], guid[1], guid[0], guid[5], guid[4], guid[7],
		guid[6] };

	memcpy(uuid + 8, guid + 8, 8);
	uuid_text(text, uuid);
}

static void add_partition(
	const struct reader *r, struct content *content, const struct content_partition *partition)
{
	struct content_partition *more = NULL;
	bool fits = partition->off && partition->size &&
		    bdev_range_ok(&r->bdev->lim, partition->off, partition->size);

	if (fits && content->count < CONTENT_NUMBER_MAX)
		more = realloc(content->partition, (content->count + 1) * sizeof(*more));
	if (!more) {
		content->left_out++;
		return;
	}
	content->partition = more;
	more[content->count++] = *partition;
}

static void add_gpt_entry(struct reader *r, struct content *content, const uint8_t *entry,
	uint32_t number, uint32_t sector)
{
	static const uint8_t unused[16];
	struct content_partition partition = { .number = number };
	uint64_t first = wire_le(entry + 32, 8), last = wire_le(entry + 40, 8);

	if (!memcmp(entry, unused, sizeof(unused)))
		return;
	if (first <= last && last < r->bdev->lim.size / sector) {
		partition.off = first * sector;
		partition.size = (last - first + 1) * sector;
	}
	guid_text(partition.type, entry);
	guid_text(partition.uuid, entry + 16);
	content_utf16(partition.name, sizeof(partition.name), entry + 56, 36);
	add_partition(r, content, &partition);
}

/* Whether there is a valid table, whose header is at that sector; or -errno. */
static int read_gpt(
	struct reader *r, struct content *content, uint32_t sector, uint64_t at, struct diag *diag)
{
	uint8_t header[SECTOR_MIN], *table;
	uint32_t size, count, each, crc;
	uint64_t entries, sectors = r->bdev->lim.size / sector;
	int err = read_at(r, at * sector, sizeof(header), header, diag);

	if (err)
		return err;
	size = (uint32_t)wire_le(header + 12, 4);
	crc = (uint32_t)wire_le(header + 16, 4);
	entries = wire_le(header + 72, 8);
	count = (uint32_t)wire_le(header + 80, 4);
	each = (uint32_t)wire_le(header + 84, 4);
	if (memcmp(header, "EFI PART", 8) || size < GPT_HEADER || size > sizeof(header))
		return 0;
	memset(header + 16, 0, 4);
	if (crc32(header, size) != crc || wire_le(header + 24, 8) != at || each < GPT_ENTRY ||
		each % 8 || each > GPT_TABLE || count > GPT_TABLE / each || entries >= sectors ||
		count * each > (sectors - entries) * sector)
		return 0;
	table = malloc((size_t)count * each + 1);
	if (!table)
		return diag_sys(diag, ENOMEM, "partition table");
	err = read_at(r, entries * sector, count * each, table, diag);
	if (!err && crc32(table, (size_t)count * each) == wire_le(header + 88, 4)) {
		content->table = CONTENT_GPT;
		for (uint32_t i = 0; i < count; i++)
			add_gpt_entry(r, content, table + (size_t)i * each, i + 1, sector);
	}
	free(table);
	return err ? err : content->table == CONTENT_GPT;
}

/* An image may be of a disk with other blocks than it has itself. */
static int find_gpt(struct reader *r, struct content *content, struct diag *diag)
{
	const uint32_t sectors[] = { r->bdev->lim.block, 512, 4096 };
	uint64_t size = r->bdev->lim.size;
	int rc = 0;

	for (unsigned i = 0; !rc && i < sizeof(sectors) / sizeof(*sectors); i++)
		if ((!i || sectors[i] != sectors[0]) && size / sectors[i] > 2)
			rc = read_gpt(r, content, sectors[i], 1, diag);
	for (unsigned i = 0; !rc && i < sizeof(sectors) / sizeof(*sectors); i++)
		if ((!i || sectors[i] != sectors[0]) && size / sectors[i] > 2) {
			rc = read_gpt(r, content, sectors[i], size / sectors[i] - 1, diag);
			content->backup = rc > 0;
		}
	return rc;
}

/* ---- MBR */

struct mbr_entry {
	uint8_t boot, type;
	uint32_t first, count; /* blocks */
};

static struct mbr_entry mbr_entry(const uint8_t *sector, unsigned i)
{
	const uint8_t *p = sector + MBR_ENTRIES + 16 * i;

	return (struct mbr_entry){ .boot = p[0],
		.type = p[4],
		.first = (uint32_t)wire_le(p + 8, 4),
		.count = (uint32_t)wire_le(p + 12, 4) };
}

static bool is_extended(uint8_t type)
{
	return type == 0x05 || type == 0x0f || type == 0x85;
}

/* The boot sector of a file system has the same mark. */
static bool is_mbr(const uint8_t *sector)
{
	bool used = false;

	if (sector[510] != 0x55 || sector[511] != 0xaa)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		struct mbr_entry entry = mbr_entry(sector, i);

		if (entry.boot & 0x7f)
			return false;
		used |= entry.type && entry.count;
	}
	return used;
}

static void add_mbr_entry(struct reader *r, struct content *content, const struct mbr_entry *entry,
	uint64_t base, uint32_t number)
{
	struct content_partition partition = { .number = number,
		.off = (base + entry->first) * r->bdev->lim.block,
		.size = (uint64_t)entry->count * r->bdev->lim.block };

	snprintf(partition.type, sizeof(partition.type), "0x%02x", entry->type);
	add_partition(r, content, &partition);
}

/* A chain of sectors like the first one: each has a partition and, relative to the extended
 * partition, the next sector. */
static int read_logical(
	struct reader *r, struct content *content, uint64_t extended, struct diag *diag)
{
	uint64_t at = extended, block = r->bdev->lim.block;
	uint8_t sector[SECTOR_MIN];
	int err;

	for (uint32_t number = 5; number < 5 + LOGICAL_MAX; number++) {
		struct mbr_entry entry, next;

		if (!at || !bdev_range_ok(&r->bdev->lim, at * block, block))
			return 0;
		err = read_at(r, at * block, sizeof(sector), sector, diag);
		if (err)
			return err;
		if (sector[510] != 0x55 || sector[511] != 0xaa)
			return 0;
		entry = mbr_entry(sector, 0);
		next = mbr_entry(sector, 1);
		if (entry.type && entry.count && !is_extended(entry.type))
			add_mbr_entry(r, content, &entry, at, number);
		if (!is_extended(next.type) || !next.first)
			return 0;
		at = extended + next.first;
	}
	return 0;
}

static int find_mbr(
	struct reader *r, struct content *content, const uint8_t *sector, struct diag *diag)
{
	int err = 0;

	content->table = CONTENT_MBR;
	for (unsigned i = 0; i < 4; i++) {
		struct mbr_entry entry = mbr_entry(sector, i);

		if (entry.type && entry.count)
			add_mbr_entry(r, content, &entry, 0, i + 1);
	}
	for (unsigned i = 0; i < 4 && !err; i++) {
		struct mbr_entry entry = mbr_entry(sector, i);

		if (is_extended(entry.type) && entry.count) {
			err = read_logical(r, content, entry.first, diag);
			break;
		}
	}
	return err;
}

/* ---- */

static int read_format(struct reader *r, uint64_t off, uint64_t size, uint8_t *start,
	struct content_format *format, struct diag *diag)
{
	uint32_t len = size < CONTENT_START ? (uint32_t)size : CONTENT_START;
	int err = read_at(r, off, len, start, diag);

	memset(start + len, 0, CONTENT_START - len);
	if (!err)
		content_format(format, start);
	return err;
}

/* The format of the whole disk, and its table. GPT first: its MBR only keeps others away. `start`:
 * room for CONTENT_START bytes. */
static int read_whole(struct reader *r, struct content *content, uint8_t *start, struct diag *diag)
{
	int rc = read_format(r, 0, r->bdev->lim.size, start, &content->format, diag);

	if (!rc)
		rc = find_gpt(r, content, diag);
	if (!rc && is_mbr(start) && !content_has_boot_sector(&content->format))
		rc = find_mbr(r, content, start, diag);
	return rc < 0 ? rc : 0;
}

int content_read(struct bdev *bdev, uint32_t timeout_ms, struct content *content, struct diag *diag)
{
	uint8_t *start = malloc(CONTENT_START);
	struct reader r = { 0 };
	int err = start ? reader_open(&r, bdev, timeout_ms, diag)
			: diag_sys(diag, ENOMEM, "read the disk");

	*content = (struct content){ 0 };
	if (!err)
		err = read_whole(&r, content, start, diag);
	for (unsigned i = 0; !err && i < content->count && i < FORMATS_MAX; i++)
		err = read_format(&r, content->partition[i].off, content->partition[i].size, start,
			&content->partition[i].format, diag);
	reader_close(&r);
	free(start);
	if (err)
		content_free(content);
	return err;
}

void content_free(struct content *content)
{
	free(content->partition);
	*content = (struct content){ 0 };
}

static int no_partition(const struct content *content, uint32_t number, struct diag *diag)
{
	char list[100] = "";

	if (content->table == CONTENT_NO_TABLE)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no partition table");
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no partition %u", number);
	for (unsigned i = 0; i < content->count; i++) {
		size_t at = strlen(list);

		if (at > sizeof(list) - 20) {
			snprintf(list + at, sizeof(list) - at, ", ...");
			break;
		}
		snprintf(list + at, sizeof(list) - at, "%s%u", at ? ", " : "",
			content->partition[i].number);
	}
	diag_hint(diag, "existing partitions: %s", list[0] ? list : "none");
	return -ENOENT;
}

int content_find_partition(struct bdev *bdev, uint32_t number, uint32_t timeout_ms, uint64_t *start,
	uint64_t *size, struct diag *diag)
{
	uint8_t *bytes = malloc(CONTENT_START);
	struct content content = { 0 };
	struct reader r = { 0 };
	unsigned i = 0;
	int err = bytes ? reader_open(&r, bdev, timeout_ms, diag)
			: diag_sys(diag, ENOMEM, "read the disk");

	if (!err)
		err = read_whole(&r, &content, bytes, diag);
	reader_close(&r);
	free(bytes);
	while (!err && i < content.count && content.partition[i].number != number)
		i++;
	if (!err && i == content.count) {
		err = no_partition(&content, number, diag);
	} else if (!err) {
		*start = content.partition[i].off;
		*size = content.partition[i].size;
	}
	content_free(&content);
	return err;
}
