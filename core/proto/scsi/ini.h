/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SCSI disks from an initiator's side (SAM-5, SPC-4, SBC-3), for every transport that carries SCSI
 * commands: the questions when a logical unit is opened, requests as CDBs, and what an answer
 * means. A status is one number, the `detail` of an io: SAM status, sense key, ASC, ASCQ, from the
 * lowest byte on; SCSI_INI_DEFERRED: the sense data is about an earlier command. */
#pragma once
#include "bdev.h"
#include "cache.h"
#include "uri.h"
#include "wire/scsi.h"

#define SCSI_INI_CDB  16
#define SCSI_INI_PAGE 4096 /* most that a command of the opening reads */
#define SCSI_INI_SEEK 64   /* LUNs that are inquired, if none is named */

enum scsi_ini_again { /* bits, the lower ones are enum bdev_again */
	SCSI_FINAL,
	SCSI_SOON = BDEV_AGAIN,
	SCSI_WAIT = BDEV_AGAIN | BDEV_WAIT,
	SCSI_ELSEWHERE = BDEV_ELSEWHERE,
	SCSI_AT_ONCE = 8,
};
#define SCSI_SOON_MS 100
#define SCSI_TRIES   50 /* of one command */

#define SCSI_INI_DEFERRED 0x8000u

uint32_t scsi_ini_detail(uint8_t status, const uint8_t *sense, size_t len);
int scsi_ini_errno(uint32_t detail); /* positive; 0: success */
const char *scsi_ini_text(uint32_t detail);
int scsi_ini_diag(struct diag *, uint32_t detail, const char *what);
/* The command has changed nothing, or would do the same again, and may be sent once more: bits of
 * enum scsi_ini_again. */
unsigned scsi_ini_again(uint32_t detail);
unsigned scsi_ini_cdb_len(uint8_t opcode);
/* Single level, as most targets have it: 8 bits as they are, 14 in flat space (SAM-5, 4.7). */
void scsi_ini_lun(uint8_t lun[8], uint64_t number);

/* One logical unit while it is opened and after. Its transport embeds it, sets what is marked so,
 * and calls it on one thread; lanes read what is fixed once `done` has come. */
struct scsi_ini {
	/* The transport's. One command at a time to ini->lun, whose answer it brings with
	 * scsi_ini_answered(), never from inside: it reads `in` bytes into the transport's memory.
	 */
	void (*submit)(struct scsi_ini *, const uint8_t cdb[SCSI_INI_CDB], uint32_t in);
	/* All is known, or why not (once); later, a look is over: resized says what it found */
	void (*done)(struct scsi_ini *, const struct diag *why);
	struct loop *loop;
	uint64_t deadline_ns; /* of the opening; 0 = none */
	uint8_t lun[8];
	bool any_lun; /* the only disk that there is */
	/* for hints, by scsi_disk_read(): the URI up to its LUN, and its keys from '?' on */
	char uri[URI_MAX], keys[URI_MAX];

	/* known when done */
	uint64_t blocks;
	uint8_t shift, physical; /* block size, and that of the medium above it, as powers of 2 */
	char vendor[9], product[17], revision[5], serial[257];
	uint8_t naa[16], naa_len, eui[16], eui_len;
	bool write_protected;
	bool cached; /* a volatile write cache, as far as is known; atomic: it may be turned on */
	bool wce;    /* the caching mode page reported it as enabled */
	bool fua;
	bool thin, reads_zero, can_unmap, same_unmaps;
	bool resized;
	uint32_t most, unmap, unmaps, same; /* blocks per transfer, UNMAP, its ranges, WRITE SAME */
	/* its own */
	uint8_t step, tries;
	/* LUNs to inquire, those found to be disks first */
	uint8_t seek[SCSI_INI_SEEK][8], seeks, sought, disks;
	bool missing, up;
	uint8_t pages; /* VPD pages there are */
	struct loop_timer timer;
};
void scsi_ini_start(struct scsi_ini *);
void scsi_ini_look(struct scsi_ini *); /* at the size, again; done() follows */
void scsi_ini_answered(struct scsi_ini *, uint32_t detail, const uint8_t *page, uint32_t len);
const char *scsi_ini_what(const struct scsi_ini *); /* the command that is out */
void scsi_ini_stop(struct scsi_ini *); /* no done() any more; allowed on a zeroed one */
/* most: bytes that the transport moves with one command. */
int scsi_ini_limits(
	const struct scsi_ini *, uint64_t most, bool write, struct bdev_limits *, struct diag *);
void scsi_ini_id(const struct scsi_ini *, struct bdev_id *);
struct out;
void scsi_ini_facts(const struct scsi_ini *, struct out *); /* rows of `info` */

/* A request as a command. */
#define SCSI_INI_PARAM 24
enum scsi_ini_data { SCSI_NO_DATA, SCSI_IN, SCSI_OUT, SCSI_PARAM, SCSI_ZEROS };
/* IN, OUT: the io's buffer. PARAM: what is in `param` now. ZEROS: one block of zeros. flush: a
 * flush in its place. */
enum scsi_ini_data scsi_ini_put(const struct scsi_ini *, const struct io *, bool flush,
	uint8_t cdb[SCSI_INI_CDB], uint8_t param[SCSI_INI_PARAM]);
/* What an io needs of io->lower. */
struct scsi_ini_io {
	struct scsi_cache_sent sent;
	uint8_t tries;
	bool flush;   /* what was to be on stable storage is written: the flush behind it */
	bool aborted; /* once, as there was no answer in time; the transport's */
};
/* An answer to what scsi_ini_put() gave: whether the io is done, with status and detail set;
 * otherwise its next command is to be sent. moved: bytes of its data. */
bool scsi_ini_took(const struct scsi_ini *, struct io *, uint32_t detail, uint32_t moved);
enum scsi_cache_use scsi_ini_use(const struct scsi_ini *, const struct io *); /* of its command */
/* The disk's answer to a flush, and the lack of a caching mode page, prove that it has no volatile
 * write cache: the flush has succeeded. */
bool scsi_ini_proves_uncached(const struct scsi_ini *, const struct io *, uint32_t detail);
/* Done without a command, with this status; 1: it is one. */
int scsi_ini_early(const struct scsi_ini *, const struct io *);
