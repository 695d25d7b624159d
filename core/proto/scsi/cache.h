/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tells when a disk has lost writes that were answered and not flushed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct scsi_cache { /* of a disk; atomic: all of its sessions share it */
	/* numbers of flushes: the last one sent; the first one that covers every write that was
	 * answered; the last one that has succeeded */
	uint64_t flushes, written, flushed;
	uint32_t resets; /* seen */
};
struct scsi_cache_view {  /* of a session */
	uint64_t written; /* the same, of its own writes */
	uint32_t resets;  /* of these it has reported, or seen to be over */
	bool answered;
};
enum scsi_cache_use { SCSI_CACHE_NONE, SCSI_CACHE_WRITE, SCSI_CACHE_FLUSH };
struct scsi_cache_sent { /* of a command that reports unit attentions */
	uint64_t since;
	uint32_t resets;
	uint8_t use;
	bool fresh; /* none of its session had been answered well */
};

void scsi_cache_sending(struct scsi_cache *, const struct scsi_cache_view *, enum scsi_cache_use,
	struct scsi_cache_sent *);
/* detail: as scsi_ini_detail() gives it. True: writes may be lost. */
bool scsi_cache_answered(struct scsi_cache *, struct scsi_cache_view *,
	const struct scsi_cache_sent *, uint32_t detail);
/* A disk without a write cache may have one from now on. */
bool scsi_cache_may_be_on(const struct scsi_cache_sent *, uint32_t detail);
