/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of a disk as SCSI commands (SBC-3), and their responses. IO_FUA without a FUA bit in the
 * command becomes a flush after it. */
#include "ini.h"
#include "wire.h"
#include <errno.h>

#define READ_10       0x28
#define WRITE_10      0x2a
#define SYNC_CACHE_10 0x35
#define UNMAP         0x42
#define READ_16       0x88
#define WRITE_16      0x8a
#define WRITE_SAME_16 0x93
#define RW_FUA        0x08
#define SAME_UNMAP    0x08
/* ILLEGAL REQUEST, INVALID COMMAND OPERATION CODE */
#define NO_COMMAND (SCSI_CHECK_CONDITION | 5 << 8 | 0x20 << 16)

/* Small disks need not support 16-byte commands. */
static void put_rw(const struct scsi_ini *ini, const struct io *io, uint8_t *cdb)
{
	uint64_t lba = io->off >> ini->shift;
	uint32_t count = io->len >> ini->shift;
	bool small = lba + count <= UINT32_MAX && count <= UINT16_MAX;

	cdb[1] = io->flags & IO_FUA && ini->fua ? RW_FUA : 0;
	if (small) {
		cdb[0] = io->kind == IO_READ ? READ_10 : WRITE_10;
		wire_put_be(cdb + 2, 4, lba);
		wire_put_be(cdb + 7, 2, count);
	} else {
		cdb[0] = io->kind == IO_READ ? READ_16 : WRITE_16;
		wire_put_be(cdb + 2, 8, lba);
		wire_put_be(cdb + 10, 4, count);
	}
}

enum scsi_ini_data scsi_ini_encode(const struct scsi_ini *ini, const struct io *io, bool flush,
	uint8_t cdb[SCSI_INI_CDB], uint8_t param[SCSI_INI_PARAM])
{
	memset(cdb, 0, SCSI_INI_CDB);
	switch (flush ? IO_FLUSH : (enum io_kind)io->kind) {
	case IO_READ:
	case IO_WRITE:
		put_rw(ini, io, cdb);
		return io->kind == IO_READ ? SCSI_IN : SCSI_OUT;
	case IO_TRIM:
		cdb[0] = UNMAP;
		cdb[8] = SCSI_INI_PARAM;
		memset(param, 0, SCSI_INI_PARAM);
		param[1] = SCSI_INI_PARAM - 2;
		param[3] = SCSI_INI_PARAM - 8;
		wire_put_be(param + 8, 8, io->off >> ini->shift);
		wire_put_be(param + 16, 4, io->len >> ini->shift);
		return SCSI_PARAM;
	case IO_ZERO:
		cdb[0] = WRITE_SAME_16;
		if (ini->same_unmaps && ini->reads_zero && !(io->flags & IO_KEEP))
			cdb[1] = SAME_UNMAP;
		wire_put_be(cdb + 2, 8, io->off >> ini->shift);
		wire_put_be(cdb + 10, 4, io->len >> ini->shift);
		return SCSI_ZEROS;
	case IO_FLUSH:
	case IO_MAP:
	case IO_COMPARE_WRITE:
	case IO_KINDS:
		break;
	}
	cdb[0] = SYNC_CACHE_10; /* all blocks */
	return SCSI_NO_DATA;
}

static bool is_cached(const struct scsi_ini *ini)
{
	return __atomic_load_n(&ini->cached, __ATOMIC_RELAXED);
}

enum scsi_cache_use scsi_ini_cache_use(const struct scsi_ini *ini, const struct io *io)
{
	const struct scsi_ini_io *own = io->lower;

	if (own->flush || io->kind == IO_FLUSH)
		return SCSI_CACHE_FLUSH;
	if (!is_cached(ini) || !bdev_changes_blocks(io->kind) ||
		(io->kind == IO_WRITE && io->flags & IO_FUA && ini->fua))
		return SCSI_CACHE_NONE;
	return SCSI_CACHE_WRITE;
}

bool scsi_ini_proves_uncached(const struct scsi_ini *ini, const struct io *io, uint32_t detail)
{
	return !ini->wce && scsi_ini_cache_use(ini, io) == SCSI_CACHE_FLUSH &&
	       (detail & 0xffffff) == NO_COMMAND;
}

int scsi_ini_status_now(const struct scsi_ini *ini, const struct io *io)
{
	if (io->kind == IO_FLUSH && !is_cached(ini))
		return 0;
	/* no page says how fast zeroing is */
	return io->kind == IO_MAP || (io->kind == IO_ZERO && io->flags & IO_FAST) ? -ENOTSUP : 1;
}

bool scsi_ini_finish(const struct scsi_ini *ini, struct io *io, uint32_t detail, uint32_t moved)
{
	struct scsi_ini_io *own = io->lower;
	bool again = scsi_ini_retry(detail) & SCSI_AT_ONCE ||
		     (own->aborted && detail == SCSI_TASK_ABORTED);
	bool data = (io->kind == IO_READ || io->kind == IO_WRITE) && !own->flush;

	if (again && own->tries < SCSI_TRIES) {
		own->tries++;
		return false;
	}
	io->detail = detail;
	io->status = -scsi_ini_errno(detail);
	if (!detail && data && moved != io->len)
		io->status = -EIO;
	if (io->status || own->flush || !(io->flags & IO_FUA) || !is_cached(ini) ||
		(data && ini->fua))
		return true;
	own->flush = true;
	own->tries = 0;
	return false;
}
