/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SCSI statuses and sense data (SPC-4, 4.5 and annex F) as numbers, errno and sentences. */
#include "ini.h"
#include <errno.h>

#define ANY 0x100 /* of rows: every qualifier, every additional code */

enum key { NO_SENSE, RECOVERED, NOT_READY, MEDIUM, HARDWARE, ILLEGAL, ATTENTION, PROTECT, BLANK };
enum { ABORTED = 0xb, OVERFLOW = 0xd, MISCOMPARE = 0xe };

/* The first that fits. */
static const struct row {
	uint8_t key;
	uint16_t asc, ascq;
	uint8_t err, again;
	const char *text;
} rows[] = {
	{ NOT_READY, 0x04, 0x01, EAGAIN, SCSI_WAIT, "the disk is becoming ready" },
	{ NOT_READY, 0x04, 0x02, EAGAIN, 0, "the disk is stopped: it needs START UNIT" },
	{ NOT_READY, 0x04, 0x03, EAGAIN, 0, "the disk is not ready: it needs manual help" },
	{ NOT_READY, 0x04, 0x04, EBUSY, 0, "a format is in progress" },
	{ NOT_READY, 0x04, 0x0a, EHOSTUNREACH, SCSI_WAIT | SCSI_ELSEWHERE,
		"asymmetric access is changing" },
	{ NOT_READY, 0x04, 0x0b, EHOSTUNREACH, SCSI_ELSEWHERE, "this target port is in standby" },
	{ NOT_READY, 0x04, 0x0c, EHOSTUNREACH, SCSI_ELSEWHERE, "this target port is unavailable" },
	{ NOT_READY, 0x04, 0x12, EHOSTUNREACH, SCSI_ELSEWHERE, "this target port is offline" },
	{ NOT_READY, 0x3a, ANY, ENOMEDIUM, 0, "no medium" },
	{ NOT_READY, ANY, ANY, EAGAIN, 0, "the disk is not ready" },
	{ MEDIUM, 0x0c, ANY, EIO, 0, "write error on the medium" },
	{ MEDIUM, 0x11, ANY, EIO, 0, "unrecovered read error on the medium" },
	{ MEDIUM, ANY, ANY, EIO, 0, "error of the medium" },
	{ HARDWARE, ANY, ANY, EIO, 0, "error of the disk's hardware" },
	{ ILLEGAL, 0x20, 0x00, ENOTSUP, 0, "the disk does not know this command" },
	{ ILLEGAL, 0x21, ANY, EINVAL, 0, "block address out of range" },
	{ ILLEGAL, 0x24, ANY, EINVAL, 0, "invalid field in the command" },
	{ ILLEGAL, 0x25, ANY, ENODEV, 0, "no such LUN" },
	{ ILLEGAL, 0x26, ANY, EINVAL, 0, "invalid field in the parameters" },
	{ ILLEGAL, ANY, ANY, EINVAL, 0, "invalid command" },
	{ ATTENTION, 0x29, ANY, EAGAIN, SCSI_AT_ONCE, "the disk was reset" },
	{ ATTENTION, 0x2a, 0x06, EAGAIN, SCSI_AT_ONCE, "asymmetric access has changed" },
	{ ATTENTION, 0x2a, 0x09, EAGAIN, SCSI_AT_ONCE, "the disk's size has changed" },
	{ ATTENTION, 0x3f, 0x0e, EAGAIN, SCSI_AT_ONCE, "the target's LUNs have changed" },
	{ ATTENTION, ANY, ANY, EAGAIN, SCSI_AT_ONCE, "unit attention" },
	{ PROTECT, 0x27, 0x07, ENOSPC, 0, "no space left on the thin disk" },
	{ PROTECT, ANY, ANY, EROFS, 0, "the disk is write protected" },
	{ BLANK, ANY, ANY, EIO, 0, "blank medium" },
	{ ABORTED, ANY, ANY, EIO, SCSI_SOON, "the target aborted the command" },
	{ OVERFLOW, ANY, ANY, EIO, 0, "volume overflow" },
	{ MISCOMPARE, ANY, ANY, EBADE, 0, "the data is not the same" },
};

/* By the status alone. */
static const struct {
	uint8_t status, err, again;
	const char *text;
} plain[] = {
	{ 0x00, 0, 0, "success" },
	{ SCSI_CHECK_CONDITION, EIO, 0, "the command failed without a reason" },
	{ 0x08, EBUSY, SCSI_WAIT, "the disk is busy" },
	{ 0x18, EBUSY, 0, "reservation conflict: another initiator holds the disk" },
	{ 0x28, EBUSY, SCSI_WAIT, "the disk's queue is full" },
	{ 0x30, EIO, 0, "the disk waits for CLEAR ACA" },
	{ SCSI_TASK_ABORTED, EIO, SCSI_SOON, "the task was aborted" },
};

/* The command was not executed (SPC-4 4.5.5). */
static const struct row deferred = { 0, ANY, ANY, EIO, SCSI_AT_ONCE,
	"an earlier command failed after it was answered" };

static const struct row *row_of(uint32_t detail)
{
	uint8_t key = detail >> 8 & 0xf, asc = detail >> 16 & 0xff, ascq = detail >> 24 & 0xff;

	if ((detail & 0xff) != SCSI_CHECK_CONDITION)
		return NULL;
	if (detail & SCSI_INI_DEFERRED)
		return &deferred;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].key == key && (rows[i].asc == ANY || rows[i].asc == asc) &&
			(rows[i].ascq == ANY || rows[i].ascq == ascq))
			return &rows[i];
	return NULL;
}

static int plain_at(uint32_t detail)
{
	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].status == (detail & 0xff))
			return (int)i;
	return -1;
}

/* Fixed format has response code 70h or 71h, descriptors 72h or 73h; of the odd ones it is about an
 * earlier command. */
uint32_t scsi_ini_detail(uint8_t status, const uint8_t *sense, size_t len)
{
	uint8_t code = len ? sense[0] & 0x7f : 0, key = 0, asc = 0, ascq = 0;
	uint32_t detail = status | (code == 0x71 || code == 0x73 ? SCSI_INI_DEFERRED : 0);

	if (status != SCSI_CHECK_CONDITION)
		return status;
	if ((code | 1) == 0x71 && len > 2) {
		key = sense[2] & 0xf;
		asc = len > 12 ? sense[12] : 0;
		ascq = len > 13 ? sense[13] : 0;
	} else if ((code | 1) == 0x73 && len > 3) {
		key = sense[1] & 0xf;
		asc = sense[2];
		ascq = sense[3];
	}
	if (key == RECOVERED && detail == status)
		return 0;
	return detail | (uint32_t)key << 8 | (uint32_t)asc << 16 | (uint32_t)ascq << 24;
}

int scsi_ini_errno(uint32_t detail)
{
	const struct row *row = row_of(detail);
	int at = plain_at(detail);

	return row ? row->err : at < 0 ? EIO : plain[at].err;
}

const char *scsi_ini_text(uint32_t detail)
{
	const struct row *row = row_of(detail);
	int at = plain_at(detail);

	return row ? row->text : at < 0 ? "unknown SCSI status" : plain[at].text;
}

bool scsi_ini_is_access(uint32_t detail)
{
	const uint32_t changed = SCSI_CHECK_CONDITION | ATTENTION << 8 | 0x2a << 16;

	/* 2Ah/06h: changed; 2Ah/07h: an implicit transition has failed */
	return detail == (changed | 6u << 24) || detail == (changed | 7u << 24) ||
	       scsi_ini_errno(detail) == EHOSTUNREACH;
}

unsigned scsi_ini_retry(uint32_t detail)
{
	const struct row *row = row_of(detail);
	int at = plain_at(detail);

	return row ? row->again : at < 0 ? SCSI_FINAL : plain[at].again;
}

int scsi_ini_diag(struct diag *diag, uint32_t detail, const char *what)
{
	int err = scsi_ini_errno(detail);
	enum diag_code code = DIAG_IO;

	if (err == EBUSY || err == EAGAIN)
		code = DIAG_BUSY;
	else if (err == ENODEV)
		code = DIAG_NOT_FOUND;
	else if (err == EHOSTUNREACH)
		code = DIAG_UNREACHABLE;
	else if (err == EROFS)
		code = DIAG_PERMISSION;
	else if (err == ENOTSUP || err == EINVAL)
		code = DIAG_UNSUPPORTED;
	if ((detail & 0xff) != SCSI_CHECK_CONDITION)
		return diag_set(diag, code, err ? err : EPROTO, "%s: %s (status %02xh)", what,
			scsi_ini_text(detail), detail & 0xff);
	return diag_set(diag, code, err, "%s: %s (sense %xh/%02xh/%02xh)", what,
		scsi_ini_text(detail), detail >> 8 & 0xf, detail >> 16 & 0xff, detail >> 24);
}
