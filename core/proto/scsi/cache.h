/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Detects that a disk has lost writes that were completed but not flushed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct scsi_cache { /* of a disk; atomic, shared by all of its sessions */
	/* Flushes are numbered: the last one sent; the first one that covers all completed writes;
	 * the last one that succeeded. */
	uint64_t flushes, written, flushed;
	uint32_t resets; /* detected */
};
struct scsi_cache_view {  /* of a session */
	uint64_t written; /* as above, of its own writes */
	uint32_t resets;  /* of scsi_cache.resets: reported by the session, or over for it */
	bool answered;    /* a command has completed with GOOD */
};
enum scsi_cache_use { SCSI_CACHE_NONE, SCSI_CACHE_WRITE, SCSI_CACHE_FLUSH };
struct scsi_cache_sent { /* of a command that reports unit attentions */
	uint64_t since;
	uint32_t resets;
	uint8_t use;
	bool fresh; /* sent before any command of its session completed with GOOD */
};

/* Before sending a command: fill in its scsi_cache_sent. */
void scsi_cache_sending(struct scsi_cache *, const struct scsi_cache_view *, enum scsi_cache_use,
	struct scsi_cache_sent *);
/* After its response, with scsi_ini_detail()'s value. true: writes may be lost. */
bool scsi_cache_answered(struct scsi_cache *, struct scsi_cache_view *,
	const struct scsi_cache_sent *, uint32_t detail);
/* Return whether the response means that a write cache may have been turned on. */
bool scsi_cache_may_be_on(const struct scsi_cache_sent *, uint32_t detail);
