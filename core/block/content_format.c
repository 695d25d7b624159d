/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Recognise file systems and other formats by their magic numbers, as blkid(8) does. */
#include "content_format.h"
#include "wire.h"
#include <stdio.h>

enum id { NO_ID, UUID, TEXT, SERIAL4, SERIAL8 };

static const struct signature {
	const char *type;
	uint32_t off;
	const char *magic;
	uint8_t len;
	uint32_t label, label_len; /* label_len 0: none */
	uint32_t id;
	uint8_t id_as;
} signatures[] = {
	{ "crypto_LUKS", 0, "LUKS\xba\xbe\0\2", 8, 24, 48, 168, TEXT },
	{ "crypto_LUKS", 0, "LUKS\xba\xbe\0\1", 8, 0, 0, 168, TEXT },
	{ "LVM2_member", 536, "LVM2 001", 8, 0, 0, 0, NO_ID },
	{ "linux_raid_member", 4096, "\xfc\x4e\x2b\xa9", 4, 4128, 32, 4112, UUID },
	{ "xfs", 0, "XFSB", 4, 108, 12, 32, UUID },
	{ "btrfs", 65600, "_BHRfS_M", 8, 65835, 256, 65568, UUID },
	{ "f2fs", 1024, "\x10\x20\xf5\xf2", 4, 0, 0, 1132, UUID },
	{ "erofs", 1024, "\xe2\xe1\xf5\xe0", 4, 1088, 16, 1072, UUID },
	{ "squashfs", 0, "hsqs", 4, 0, 0, 0, NO_ID },
	{ "iso9660", 32769, "CD001", 5, 32808, 32, 0, NO_ID },
	{ "swap", 4086, "SWAPSPACE2", 10, 1052, 16, 1036, UUID },
	{ "ntfs", 3, "NTFS    ", 8, 0, 0, 72, SERIAL8 },
	{ "exfat", 3, "EXFAT   ", 8, 0, 0, 100, SERIAL4 },
	{ "vfat", 82, "FAT32   ", 8, 71, 11, 67, SERIAL4 },
	{ "vfat", 54, "FAT1", 4, 43, 11, 39, SERIAL4 },
};

/* Up to the first NUL, without the blanks behind. */
static void copy_label(char *label, const uint8_t *from, uint32_t len)
{
	uint32_t n = 0;

	while (n < len && from[n])
		n++;
	while (n && from[n - 1] == ' ')
		n--;
	memcpy(label, from, n);
	label[n] = 0;
}

static void format_id(struct content_format *format, const uint8_t *from, uint8_t as)
{
	uint32_t serial = (uint32_t)wire_le(from, 4);

	if (as == UUID)
		uuid_text(format->uuid, from);
	else if (as == TEXT)
		copy_label(format->uuid, from, 40);
	else if (as == SERIAL4)
		snprintf(format->uuid, sizeof(format->uuid), "%04X-%04X", serial >> 16,
			serial & 0xffff);
	else if (as == SERIAL8)
		snprintf(format->uuid, sizeof(format->uuid), "%016llX",
			(unsigned long long)wire_le(from, 8));
}

/* ext4 has features that ext3 lacks, which has a journal. */
static bool is_ext(struct content_format *format, const uint8_t *start)
{
	const uint8_t *super = start + 1024;
	uint64_t compat = wire_le(super + 92, 4), incompat = wire_le(super + 96, 4);

	if (wire_le(super + 56, 2) != 0xef53 ||
		wire_le(super + 90, 2)) /* a copy in another group */
		return false;
	snprintf(format->type, sizeof(format->type), "ext%d",
		incompat & 0x2c0 ? 4
		: compat & 4     ? 3
				 : 2);
	uuid_text(format->uuid, super + 104);
	copy_label(format->label, super + 120, 16);
	return true;
}

void content_format(struct content_format *format, const uint8_t *start)
{
	*format = (struct content_format){ 0 };
	if (is_ext(format, start))
		return;
	for (unsigned i = 0; i < sizeof(signatures) / sizeof(*signatures); i++) {
		const struct signature *s = &signatures[i];

		if (memcmp(start + s->off, s->magic, s->len))
			continue;
		snprintf(format->type, sizeof(format->type), "%s", s->type);
		copy_label(format->label, start + s->label, s->label_len);
		format_id(format, start + s->id, s->id_as);
		return;
	}
}

bool content_has_boot_sector(const struct content_format *format)
{
	return !strcmp(format->type, "ntfs") || strstr(format->type, "fat");
}

static unsigned put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

void content_utf16(char *to, size_t len, const uint8_t *units, unsigned count)
{
	size_t at = 0;

	for (unsigned i = 0; i < count && at + 5 <= len; i++) {
		uint32_t c = (uint32_t)wire_le(units + 2 * i, 2), low;

		if (!c)
			break;
		if (c >= 0xd800 && c < 0xe000) { /* a surrogate, alone or one of a pair */
			low = i + 1 < count ? (uint32_t)wire_le(units + 2 * i + 2, 2) : 0;
			if (c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
				i++;
			} else {
				c = 0xfffd;
			}
		}
		at += put_utf8(to + at, c);
	}
	to[at] = 0;
}
