/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The content of a disk: its partition table, file systems and other formats, which are recognized
 * by their first blocks. The data is not trusted. Call these functions on the bdev's loop, which
 * they run. */
#pragma once
#include "bdev.h"
#include "names.h"

enum content_table { CONTENT_NO_TABLE, CONTENT_MBR, CONTENT_GPT };

struct content_format {  /* "": unknown */
	char type[20];   /* as blkid(8) names it: "ext4", "vfat", "LVM2_member" */
	char label[257]; /* as stored on the disk */
	char uuid[41];   /* or another identifier */
};

struct content_partition {
	uint32_t number;      /* as in Linux */
	uint64_t off, size;   /* bytes; inside the disk */
	char type[UUID_TEXT]; /* GUID of GPT, "0x83" of MBR */
	char uuid[UUID_TEXT]; /* of GPT; "": none */
	char name[145];       /* of GPT, UTF-8 */
	struct content_format format;
};

struct content {
	struct content_format format; /* of the whole disk */
	uint8_t table;                /* enum content_table */
	bool backup;                  /* GPT: the primary table is damaged */
	unsigned count, left_out;     /* left_out: invalid or too many */
	struct content_partition *partition;
};

/* Read the content; content_free() frees it. timeout_ms: limit of each read, 0: none. Return 0, or
 * -errno if a read failed; an invalid table is not an error. */
int content_read(struct bdev *, uint32_t timeout_ms, struct content *, struct diag *);
void content_free(struct content *);
