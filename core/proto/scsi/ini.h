/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's side of SCSI disks (SAM-5, SPC-4, SBC-3), for every transport: opening a logical
 * unit, requests as CDBs, the meaning of statuses. A status is one number, the `detail` of an io:
 * SAM status, sense key, ASC, ASCQ, from the lowest byte on. SCSI_INI_DEFERRED is set if the sense
 * data is about an earlier command. */
#pragma once
#include "bdev.h"
#include "cache.h"
#include "uri.h"
#include "wire/scsi.h"

#define SCSI_INI_CDB  16
#define SCSI_INI_PAGE 4096 /* most data of a command that opens the disk */
#define SCSI_INI_SEEK 64   /* LUNs to inquire if the URI names none */

enum scsi_ini_retry { /* bits, the lower ones are enum bdev_retry */
	SCSI_FINAL,
	SCSI_SOON = BDEV_RETRY,
	SCSI_WAIT = BDEV_RETRY | BDEV_WAIT_READY,
	SCSI_ELSEWHERE = BDEV_OTHER_PATH,
	SCSI_AT_ONCE = 8,
};
#define SCSI_SOON_MS 100
#define SCSI_TRIES   50 /* of one command */

#define SCSI_INI_DEFERRED 0x8000u

uint32_t scsi_ini_detail(uint8_t status, const uint8_t *sense, size_t len);
int scsi_ini_errno(uint32_t detail); /* positive; 0: success */
const char *scsi_ini_text(uint32_t detail);
int scsi_ini_diag(struct diag *, uint32_t detail, const char *what);
/* Return how a command that failed without effect, or that can be repeated, may be retried: bits of
 * enum scsi_ini_retry. */
unsigned scsi_ini_retry(uint32_t detail);
unsigned scsi_ini_cdb_len(uint8_t opcode);
/* Encode a single-level LUN as most targets do: up to 255 as a peripheral device, up to 16383 in
 * flat space (SAM-5, 4.7). */
void scsi_ini_lun(uint8_t lun[8], uint64_t number);

/* A logical unit, while it is opened and after. The transport embeds it and calls it on one thread;
 * lanes read what is constant after done(). */
struct scsi_ini {
	/* Set by the transport. */
	/* Send a command to ini->lun that reads `in` bytes; scsi_ini_answered() follows, never
	 * inside. One at a time. */
	void (*submit)(struct scsi_ini *, const uint8_t cdb[SCSI_INI_CDB], uint32_t in);
	/* The unit is open, or failed with why (once); later: a poll has ended, see resized. */
	void (*done)(struct scsi_ini *, const struct diag *why);
	struct loop *loop;
	uint64_t deadline_ns; /* to open it; 0: none */
	uint8_t lun[8];
	bool any_lun; /* find the target's only disk */
	/* for hints, set by scsi_disk_read(): the URI up to its LUN, and its keys from '?' on */
	char uri[URI_MAX], keys[URI_MAX];

	/* valid after done() */
	uint64_t blocks;
	uint8_t shift, physical; /* log2: bytes per block; blocks per physical block */
	char vendor[9], product[17], revision[5], serial[257];
	uint8_t naa[16], naa_len, eui[16], eui_len;
	bool write_protected;
	bool cached; /* may have a volatile write cache; atomic: it may be turned on */
	bool wce;    /* the caching mode page reported it as enabled */
	bool fua;
	bool thin, reads_zero, can_unmap, same_unmaps;
	bool resized;
	/* of the path; transition_ms: the longest time of a transition, constant after done() */
	uint8_t access; /* enum bdev_access */
	const char *access_word;
	uint16_t access_group;
	bool preferred; /* by the target */
	uint32_t transition_ms;
	uint32_t most, unmap, unmaps, same; /* blocks per transfer, UNMAP, its ranges, WRITE SAME */
	/* private */
	uint8_t step, tries;
	/* LUNs to inquire; those found to be disks come first */
	uint8_t seek[SCSI_INI_SEEK][8], seek_count, seek_at, disks;
	bool missing, up;
	uint8_t pages; /* supported VPD pages */
	/* ALUA: TPGS; target port group and relative port of the path, -1: unknown; whether the
	 * target takes the extended form of REPORT TARGET PORT GROUPS */
	uint8_t tpgs;
	int32_t group, port;
	bool extended;
	struct loop_timer timer;
};
void scsi_ini_start(struct scsi_ini *);
/* Read access and size again. False: it is not open, or not idle. */
bool scsi_ini_poll(struct scsi_ini *);
void scsi_ini_answered(struct scsi_ini *, uint32_t detail, const uint8_t *page, uint32_t len);
const char *scsi_ini_command_name(const struct scsi_ini *); /* of the one in flight */
void scsi_ini_stop(struct scsi_ini *); /* no done() follows; allowed on a zeroed one */
/* alua.c: whether the target reports the access of the path; for ini.c: before the opening; a
 * designator of VPD page 83h; the answer to REPORT TARGET PORT GROUPS */
bool scsi_ini_reports_access(const struct scsi_ini *);
void scsi_ini_reset_access(struct scsi_ini *);
void scsi_ini_read_port(struct scsi_ini *, const uint8_t *designator);
void scsi_ini_read_groups(struct scsi_ini *, const uint8_t *page, uint32_t len);
/* Return whether a status suggests that the access of the path has changed. */
bool scsi_ini_is_access(uint32_t detail);
/* most: bytes that the transport moves with one command. -EROFS: write protected. */
int scsi_ini_limits(
	const struct scsi_ini *, uint64_t most, bool write, struct bdev_limits *, struct diag *);
void scsi_ini_id(const struct scsi_ini *, struct bdev_id *);
struct out;
void scsi_ini_show(const struct scsi_ini *, struct out *); /* rows of `info` */

#define SCSI_INI_PARAM 24
enum scsi_ini_data { SCSI_NO_DATA, SCSI_IN, SCSI_OUT, SCSI_PARAM, SCSI_ZEROS };
/* Encode a request, or a flush in its place. Return its data: IN, OUT: the io's buffer; PARAM: what
 * param now contains; ZEROS: a block of zeros. */
enum scsi_ini_data scsi_ini_encode(const struct scsi_ini *, const struct io *, bool flush,
	uint8_t cdb[SCSI_INI_CDB], uint8_t param[SCSI_INI_PARAM]);
struct scsi_ini_io { /* in io->lower */
	struct scsi_cache_sent sent;
	uint8_t tries;
	bool flush;   /* the data is written; now flush, for IO_FUA */
	bool aborted; /* by the transport, after a timeout */
};
/* Evaluate the response to what scsi_ini_encode() made. moved: bytes of data transferred. true: the
 * io is complete, its status and detail are set. false: send its next command. */
bool scsi_ini_finish(const struct scsi_ini *, struct io *, uint32_t detail, uint32_t moved);
enum scsi_cache_use scsi_ini_cache_use(const struct scsi_ini *, const struct io *);
/* Return true if a flush failed because the disk has no volatile write cache: it does not know the
 * command and reports no enabled cache. The flush has then succeeded. */
bool scsi_ini_proves_uncached(const struct scsi_ini *, const struct io *, uint32_t detail);
/* Return the status of a request that needs no command, or 1 if it needs one. */
int scsi_ini_status_now(const struct scsi_ini *, const struct io *);
