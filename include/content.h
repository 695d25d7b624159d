/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is on a disk: its partition table, and the file systems and other formats that their first
 * blocks name. Everything read is hostile. On the bdev's loop, which these run. */
#pragma once
#include "bdev.h"
#include "names.h"

#define CONTENT_NUMBER_MAX 1024 /* of a partition */

enum content_table { CONTENT_NO_TABLE, CONTENT_MBR, CONTENT_GPT };

struct content_format {  /* "" = not known */
	char type[20];   /* as blkid(8) names it: "ext4", "vfat", "LVM2_member" */
	char label[257]; /* as it is on the disk */
	char uuid[41];   /* or what else identifies it */
};

struct content_partition {
	uint32_t number;      /* as Linux counts */
	uint64_t off, size;   /* bytes; inside the disk */
	char type[UUID_TEXT]; /* GUID of GPT, "0x83" of MBR */
	char uuid[UUID_TEXT]; /* GPT's; "" = none */
	char name[145];       /* GPT's, UTF-8 */
	struct content_format format;
};

struct content {
	struct content_format format; /* of the whole disk */
	uint8_t table;                /* enum content_table */
	bool backup;                  /* GPT: the first one is damaged */
	unsigned count, left_out;     /* left_out: of wrong place or size, or too many */
	struct content_partition *partition;
};

/* timeout_ms limits each read; 0: no limit. Returns -errno if a read fails; a bad table is not an
 * error. */
int content_read(struct bdev *, uint32_t timeout_ms, struct content *, struct diag *);
void content_free(struct content *);
/* The place of a partition in bytes. -ENOENT: there is none of that number. */
int content_find_partition(struct bdev *, uint32_t number, uint32_t timeout_ms, uint64_t *start,
	uint64_t *size, struct diag *);
