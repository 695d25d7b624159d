/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Recognize file systems and other formats by their first bytes; find a partition. */
#pragma once
#include "content.h"

#define CONTENT_START 69632u /* bytes: btrfs has its superblock at 64 KiB */

/* start: CONTENT_START bytes, padded with zeroes. */
void content_format(struct content_format *, const uint8_t *start);
/* Return whether the first sector of that format looks like an MBR. */
bool content_has_boot_sector(const struct content_format *);
/* Convert up to count little-endian UTF-16 units, or up to the first 0, to UTF-8. */
void content_utf16(char *to, size_t len, const uint8_t *units, unsigned count);

#define CONTENT_NUMBER_MAX 1024 /* largest partition number */
/* Get the start and size of a partition in bytes. -ENOENT: no partition with that number. */
int content_find_partition(struct bdev *, uint32_t number, uint32_t timeout_ms, uint64_t *start,
	uint64_t *size, struct diag *);
