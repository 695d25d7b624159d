/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the first bytes of a file system, or of another format, say about it. */
#pragma once
#include "content.h"

#define CONTENT_START 69632u /* bytes: btrfs has its superblock at 64 KiB */

/* start: CONTENT_START bytes, zeroes behind the end. */
void content_format(struct content_format *, const uint8_t *start);
/* Whether the first sector of that format looks like an MBR. */
bool content_has_boot_sector(const struct content_format *);
/* UTF-8 of so many little-endian UTF-16 units, or up to the first 0. to: 4 bytes for each and 1. */
void content_utf16(char *to, size_t len, const uint8_t *units, unsigned count);
