/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Open a logical unit: its type, size and features. Pages that a target does not support are
 * skipped. */
#include "ini.h"
#include "names.h"
#include "out.h"
#include "wire.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define LUNS_LEN        SCSI_INI_PAGE
#define ATTENTIONS      16 /* consecutive ones; a few at most */
#define BEST            4096
#define GROUPS_EXTENDED 0x20

enum { PAGE_SERIAL = 1, PAGE_IDS = 2, PAGE_LIMITS = 4, PAGE_THIN = 8 };

enum step {
	STEP_LUNS,
	STEP_SEEK,
	STEP_INQUIRY,
	STEP_READY,
	STEP_SIZE,
	STEP_SIZE10,
	STEP_PAGES,
	STEP_SERIAL,
	STEP_IDS,
	STEP_LIMITS,
	STEP_THIN,
	STEP_CACHE,
	STEP_GROUPS,
	STEP_DONE
};

static const struct {
	const char *what;
	uint8_t page; /* the step is skipped if the target lacks this VPD page */
	uint16_t in;
	uint8_t cdb[SCSI_INI_CDB];
} commands[] = {
	[STEP_LUNS] = { "REPORT LUNS", 0, LUNS_LEN,
		{ 0xa0, [6] = 0, 0, LUNS_LEN >> 8, LUNS_LEN & 0xff } },
	[STEP_SEEK] = { "INQUIRY", 0, 36, { 0x12, [4] = 36 } },
	[STEP_INQUIRY] = { "INQUIRY", 0, 96, { 0x12, [4] = 96 } },
	[STEP_READY] = { "TEST UNIT READY", 0, 0, { 0x00 } },
	[STEP_SIZE] = { "READ CAPACITY(16)", 0, 32, { 0x9e, 0x10, [13] = 32 } },
	[STEP_SIZE10] = { "READ CAPACITY(10)", 0, 8, { 0x25 } },
	[STEP_PAGES] = { "INQUIRY (supported pages)", 0, 255, { 0x12, 1, 0x00, [4] = 255 } },
	[STEP_SERIAL] = { "INQUIRY (serial number)", PAGE_SERIAL, 255,
		{ 0x12, 1, 0x80, [4] = 255 } },
	[STEP_IDS] = { "INQUIRY (identification)", PAGE_IDS, 1024, { 0x12, 1, 0x83, 4, 0 } },
	[STEP_LIMITS] = { "INQUIRY (block limits)", PAGE_LIMITS, 64, { 0x12, 1, 0xb0, [4] = 64 } },
	[STEP_THIN] = { "INQUIRY (provisioning)", PAGE_THIN, 64, { 0x12, 1, 0xb2, [4] = 64 } },
	[STEP_CACHE] = { "MODE SENSE(6)", 0, 192, { 0x1a, 0x08, 0x08, [4] = 192 } },
	[STEP_GROUPS] = { "REPORT TARGET PORT GROUPS", 0, SCSI_INI_PAGE,
		{ 0xa3, GROUPS_EXTENDED | 0x0a, [8] = SCSI_INI_PAGE >> 8, SCSI_INI_PAGE & 0xff } },
	[STEP_DONE] = { "opening" },
};

unsigned scsi_ini_cdb_len(uint8_t opcode)
{
	static const uint8_t lens[8] = { 6, 10, 10, 16, 16, 12, 16, 16 };

	return lens[opcode >> 5];
}

void scsi_ini_lun(uint8_t lun[8], uint64_t number)
{
	memset(lun, 0, 8);
	for (unsigned i = 0; i < 8; i += 2) {
		lun[i] = (uint8_t)(number >> (8 * i + 8));
		lun[i + 1] = (uint8_t)(number >> 8 * i);
	}
	if (number > 0xff && number <= 0x3fff)
		lun[0] |= 0x40;
}

const char *scsi_ini_command_name(const struct scsi_ini *ini)
{
	return commands[ini->step].what;
}

static void finish(struct scsi_ini *ini, const struct diag *why)
{
	loop_timer_del(ini->loop, &ini->timer);
	ini->step = STEP_DONE;
	ini->up = !why;
	ini->done(ini, why);
}

static void step_send(struct scsi_ini *ini)
{
	uint8_t cdb[SCSI_INI_CDB];

	memcpy(cdb, commands[ini->step].cdb, sizeof(cdb));
	if (ini->step == STEP_GROUPS && !ini->extended)
		cdb[1] &= (uint8_t)~GROUPS_EXTENDED;
	ini->submit(ini, cdb, commands[ini->step].in);
}

static void fired(struct loop_timer *timer)
{
	step_send(container_of(timer, struct scsi_ini, timer));
}

/* Go to the next step that the disk supports. */
static void next_step(struct scsi_ini *ini)
{
	ini->tries = 0;
	ini->step++;
	while (ini->step < STEP_DONE && commands[ini->step].page &&
		!(ini->pages & commands[ini->step].page))
		ini->step++;
	if (ini->step == STEP_GROUPS && !scsi_ini_reports_access(ini))
		ini->step++;
}

/* List the LUNs through LUN 0: Linux 6.12 does not answer for another LUN that does not exist. */
static void no_lun(struct scsi_ini *ini)
{
	ini->missing = true;
	ini->step = STEP_LUNS;
	memset(ini->lun, 0, sizeof(ini->lun));
}

static uint64_t number_of(const uint8_t from[8])
{
	uint8_t lun[8];

	memcpy(lun, from, sizeof(lun));
	lun[0] &= lun[0] >> 6 == 1 ? 0x3f : 0xff;
	return lun_number(lun);
}

static void open_lun(struct scsi_ini *ini, const uint8_t lun[8])
{
	memcpy(ini->lun, lun, sizeof(ini->lun));
	ini->tries = 0;
	ini->step = STEP_INQUIRY;
}

static int choose_disk(struct scsi_ini *ini, struct diag *why)
{
	char names[200] = "", uris[sizeof(why->hint)] = "";
	size_t at = 0, end = 0;

	if (!ini->disks)
		return diag_set(why, DIAG_NOT_FOUND, ENOENT,
			"none of the target's %u LUNs is a disk", ini->seek_count);
	if (ini->disks == 1) {
		open_lun(ini, ini->seek[0]);
		return 0;
	}
	for (unsigned i = 0; i < ini->disks && at < sizeof(names) - 24; i++) {
		uint64_t number = number_of(ini->seek[i]);
		size_t left = sizeof(uris) - end;
		int len = snprintf(uris + end, left, "%s%s/%" PRIu64 "%s", i ? ", " : "", ini->uri,
			number, ini->keys);

		at += (size_t)snprintf(
			names + at, sizeof(names) - at, "%s%" PRIu64, i ? ", " : "", number);
		if ((size_t)len < left)
			end += (size_t)len;
		uris[end] = 0;
	}
	diag_set(why, DIAG_USAGE, EINVAL, "the target has %u disks: LUNs %s", ini->disks, names);
	return diag_hint(
		why, end ? "available there: %s" : "add one of these LUNs to the URI%s", uris);
}

/* Skip LUNs that fail or are not disks. */
static int next_lun(struct scsi_ini *ini, bool is_disk, struct diag *why)
{
	if (is_disk)
		memmove(ini->seek[ini->disks++], ini->seek[ini->seek_at], sizeof(*ini->seek));
	if (++ini->seek_at == ini->seek_count)
		return choose_disk(ini, why);
	memcpy(ini->lun, ini->seek[ini->seek_at], sizeof(ini->lun));
	ini->tries = 0;
	return 0;
}

static int read_luns(struct scsi_ini *ini, const uint8_t *page, uint32_t len, struct diag *why)
{
	uint32_t count = len < 8 ? 0 : (uint32_t)wire_be(page, 4) / 8;
	char names[200] = "";
	size_t at = 0;

	if (count > (len - 8) / 8)
		count = (len - 8) / 8;
	for (uint32_t i = 0; i < count && at < sizeof(names) - 24; i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%" PRIu64, i ? ", " : "",
			number_of(page + 8 + i * 8));
	if (!count)
		return diag_set(why, DIAG_NOT_FOUND, ENOENT,
			"the target shows this initiator no LUN: is it on the access list?");
	if (ini->missing)
		return diag_set(
			why, DIAG_NOT_FOUND, ENOENT, "no such LUN; existing LUNs: %s", names);
	if (count == 1) {
		open_lun(ini, page + 8);
		return 0;
	}
	if (count > SCSI_INI_SEEK)
		return diag_set(why, DIAG_USAGE, EINVAL, "no LUN given, and the target has %u: %s",
			count, names);
	memcpy(ini->seek, page + 8, count * sizeof(*ini->seek));
	memcpy(ini->lun, page + 8, sizeof(ini->lun));
	ini->seek_count = (uint8_t)count;
	ini->seek_at = ini->disks = 0;
	return 0;
}

/* Copy text of a page without its padding. Keep all other bytes, as it identifies the disk. */
static void put_text(char *to, const uint8_t *from, size_t len)
{
	while (len && (from[len - 1] == ' ' || !from[len - 1]))
		len--;
	while (len && *from == ' ') {
		from++;
		len--;
	}
	for (size_t i = 0; i < len; i++)
		to[i] = from[i] ? (char)from[i] : ' ';
	to[len] = 0;
}

static int read_inquiry(struct scsi_ini *ini, const uint8_t *page, uint32_t len, struct diag *why)
{
	if (len < 36)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"INQUIRY: %u bytes of data: must be at least 36", len);
	if (page[0] >> 5) {
		no_lun(ini);
		return 0;
	}
	if (page[0] & 0x1f)
		return diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
			"this LUN is not a disk (device type %02xh)", page[0] & 0x1f);
	put_text(ini->vendor, page + 8, 8);
	put_text(ini->product, page + 16, 16);
	put_text(ini->revision, page + 32, 4);
	ini->tpgs = page[5] >> 4 & 3;
	return 0;
}

static int read_size(
	struct scsi_ini *ini, uint64_t last, uint32_t block, unsigned shift, struct diag *why)
{
	uint8_t bits = (uint8_t)__builtin_ctz(block | 1u << 31);

	if (block < 512 || block > 65536 || block & (block - 1))
		return diag_set(
			why, DIAG_UNSUPPORTED, ENOTSUP, "blocks of %u bytes: not supported", block);
	if (last >= (uint64_t)INT64_MAX >> bits)
		return diag_set(
			why, DIAG_PROTOCOL, EPROTO, "last block %" PRIu64 " is absurd", last);
	if (ini->up && bits != ini->shift)
		return diag_set(why, DIAG_MISMATCH, EIO,
			"the disk now has blocks of %u bytes instead of %u", block,
			1u << ini->shift);
	ini->resized = ini->up && ini->blocks != last + 1;
	ini->blocks = last + 1;
	if (ini->up) /* lanes read the rest */
		return 0;
	ini->shift = bits;
	ini->physical = (uint8_t)shift;
	return 0;
}

static int read_size16(struct scsi_ini *ini, const uint8_t *page, uint32_t len, struct diag *why)
{
	if (len < 16)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"READ CAPACITY(16): %u bytes of data: must be at least 16", len);
	if (!ini->up) {
		ini->thin = page[14] & 0x80;
		ini->reads_zero = page[14] & 0x40;
	}
	return read_size(
		ini, wire_be(page, 8), (uint32_t)wire_be(page + 8, 4), page[13] & 0xf, why);
}

static int read_size10(struct scsi_ini *ini, const uint8_t *page, uint32_t len, struct diag *why)
{
	if (len < 8)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"READ CAPACITY(10): %u bytes of data: must be 8", len);
	if (wire_be(page, 4) == UINT32_MAX)
		return diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
			"the disk is larger than READ CAPACITY(10) can say, and has no other");
	return read_size(ini, wire_be(page, 4), (uint32_t)wire_be(page + 4, 4), 0, why);
}

static uint32_t page_len(const uint8_t *page, uint32_t len)
{
	uint32_t reported = len < 4 ? 0 : (uint32_t)wire_be(page + 2, 2) + 4;

	return reported < len ? reported : len;
}

static void read_pages(struct scsi_ini *ini, const uint8_t *page, uint32_t len)
{
	for (uint32_t i = 4; i < page_len(page, len); i++)
		ini->pages |= page[i] == 0x80   ? PAGE_SERIAL
			      : page[i] == 0x83 ? PAGE_IDS
			      : page[i] == 0xb0 ? PAGE_LIMITS
			      : page[i] == 0xb2 ? PAGE_THIN
						: 0;
}

/* Binary designators of the logical unit and of the port (SPC-4, 7.8.6). */
static void read_ids(struct scsi_ini *ini, const uint8_t *page, uint32_t len)
{
	len = page_len(page, len);
	for (uint32_t at = 4; at + 4 <= len && page[at + 3] <= len - at - 4;
		at += 4u + page[at + 3]) {
		const uint8_t *id = page + at;
		uint8_t n = id[3];

		if ((id[0] & 0xf) != 1 || n > 16)
			continue;
		scsi_ini_read_port(ini, id);
		if (id[1] & 0x30)
			continue;
		if ((id[1] & 0xf) == 3 && n > ini->naa_len) {
			memcpy(ini->naa, id + 4, n);
			ini->naa_len = n;
		} else if ((id[1] & 0xf) == 2 && n > ini->eui_len) {
			memcpy(ini->eui, id + 4, n);
			ini->eui_len = n;
		}
	}
}

static void read_limits(struct scsi_ini *ini, const uint8_t *page, uint32_t len)
{
	uint64_t same;

	len = page_len(page, len);
	if (len >= 12)
		ini->most = (uint32_t)wire_be(page + 8, 4);
	if (len >= 28) {
		ini->unmap = (uint32_t)wire_be(page + 20, 4);
		ini->unmaps = (uint32_t)wire_be(page + 24, 4);
	}
	if (len >= 44) {
		same = wire_be(page + 36, 8);
		ini->same = same < UINT32_MAX ? (uint32_t)same : UINT32_MAX;
	}
}

static void read_thin(struct scsi_ini *ini, const uint8_t *page, uint32_t len)
{
	if (page_len(page, len) < 8)
		return;
	ini->can_unmap = page[5] & 0x80;
	ini->same_unmaps = page[5] & 0x40;
}

static void read_cache(struct scsi_ini *ini, const uint8_t *page, uint32_t len)
{
	uint32_t at;

	if (len < 4)
		return;
	ini->write_protected = page[2] & 0x80;
	ini->fua = page[2] & 0x10;
	at = 4u + page[3];
	if (at + 3 <= len && (page[at] & 0x3f) == 0x08)
		ini->cached = ini->wce = page[at + 2] & 0x04;
}

/* Process a response with GOOD. Afterwards ini->step is unchanged, or the step to go to. */
static int handle_answer(struct scsi_ini *ini, const uint8_t *page, uint32_t len, struct diag *why)
{
	switch ((enum step)ini->step) {
	case STEP_LUNS:
		return read_luns(ini, page, len, why);
	case STEP_SEEK:
		return next_lun(ini, len >= 36 && !page[0], why);
	case STEP_INQUIRY:
		return read_inquiry(ini, page, len, why);
	case STEP_SIZE:
		return read_size16(ini, page, len, why);
	case STEP_SIZE10:
		return read_size10(ini, page, len, why);
	case STEP_PAGES:
		read_pages(ini, page, len);
		break;
	case STEP_SERIAL:
		len = page_len(page, len);
		if (len > 4)
			put_text(ini->serial, page + 4, len - 4);
		break;
	case STEP_IDS:
		read_ids(ini, page, len);
		break;
	case STEP_LIMITS:
		read_limits(ini, page, len);
		break;
	case STEP_THIN:
		read_thin(ini, page, len);
		break;
	case STEP_CACHE:
		read_cache(ini, page, len);
		break;
	case STEP_GROUPS:
		scsi_ini_read_groups(ini, page, len);
		break;
	case STEP_READY:
	case STEP_DONE:
		break;
	}
	return 0;
}

/* The step of a poll after the answer to another one: access, then size unless the path is closed.
 */
static uint8_t next_poll(const struct scsi_ini *ini, uint8_t step)
{
	if (step == STEP_GROUPS && ini->step == step)
		return ini->access > BDEV_ACCESS_NON_OPTIMIZED ? STEP_DONE : STEP_SIZE;
	return ini->step > STEP_SIZE10 ? STEP_DONE : ini->step;
}

/* Return whether the disk can be used without this command. A reservation conflict of TEST UNIT
 * READY proves that the disk exists, and so does a path that is closed. */
static bool optional(const struct scsi_ini *ini, uint32_t detail)
{
	bool illegal = (detail & 0xffff) == (2 | 5 << 8);

	return (ini->step == STEP_READY &&
		       ((detail & 0xff) == 0x18 || scsi_ini_errno(detail) == EHOSTUNREACH)) ||
	       (illegal && (ini->step == STEP_SIZE || ini->step > STEP_SIZE10));
}

static bool retry(struct scsi_ini *ini, uint32_t detail)
{
	unsigned again = scsi_ini_retry(detail);
	bool at_once = again & SCSI_AT_ONCE;
	uint64_t soon = loop_now(ini->loop) + SCSI_SOON_MS * MSEC;

	if (!(again & (SCSI_AT_ONCE | SCSI_SOON)) ||
		ini->tries++ == (at_once ? ATTENTIONS : SCSI_TRIES) ||
		(ini->deadline_ns && soon > ini->deadline_ns))
		return false;
	if (at_once)
		step_send(ini);
	else
		loop_timer_set(ini->loop, &ini->timer, soon);
	return true;
}

/* Go to the next step, unless the answer to this one has set it. */
static void advance(struct scsi_ini *ini, uint8_t step, uint32_t detail)
{
	if (ini->up && step == STEP_GROUPS) {
		ini->step = next_poll(ini, step);
		ini->tries = 0;
		return;
	}
	if (ini->step == step && step != STEP_SEEK)
		next_step(ini);
	if (step == STEP_SIZE && !detail)
		next_step(ini);
	if (ini->up)
		ini->step = next_poll(ini, step);
}

void scsi_ini_answered(struct scsi_ini *ini, uint32_t detail, const uint8_t *from, uint32_t len)
{
	uint8_t page[SCSI_INI_PAGE], step = ini->step;
	struct diag why = { 0 };
	int err = 0;

	if (step == STEP_DONE)
		return;
	if (len > commands[step].in)
		len = commands[step].in;
	/* An RDMA target may still write to it: check and use a copy. */
	memcpy(page, from, len);
	if (detail && retry(ini, detail))
		return;
	if (step == STEP_GROUPS && ini->extended && detail && optional(ini, detail)) {
		ini->extended = false;
		step_send(ini);
		return;
	}
	if (!detail)
		err = handle_answer(ini, page, len, &why);
	else if (step == STEP_SEEK)
		err = next_lun(ini, false, &why);
	else if (!ini->missing && step < STEP_SIZE && scsi_ini_errno(detail) == ENODEV)
		no_lun(ini);
	else if (ini->up && scsi_ini_errno(detail) != ENODEV && !optional(ini, detail))
		ini->step = STEP_DONE; /* retried by the next poll */
	else if (!optional(ini, detail))
		err = scsi_ini_diag(&why, detail, commands[step].what);
	if (err) {
		finish(ini, &why);
		return;
	}
	advance(ini, step, detail);
	if (ini->step == STEP_DONE)
		finish(ini, NULL);
	else
		step_send(ini);
}

void scsi_ini_start(struct scsi_ini *ini)
{
	ini->timer.fire = fired;
	ini->cached = true; /* unless reported otherwise */
	scsi_ini_reset_access(ini);
	ini->step = ini->any_lun ? STEP_LUNS : STEP_INQUIRY;
	step_send(ini);
}

bool scsi_ini_poll(struct scsi_ini *ini)
{
	if (ini->step != STEP_DONE || !ini->up)
		return false;
	ini->resized = false;
	ini->deadline_ns = 0;
	ini->tries = 0;
	ini->step = scsi_ini_reports_access(ini) ? STEP_GROUPS : STEP_SIZE;
	step_send(ini);
	return true;
}

void scsi_ini_stop(struct scsi_ini *ini)
{
	if (ini->loop)
		loop_timer_del(ini->loop, &ini->timer);
	ini->step = STEP_DONE;
	ini->up = false;
}

static uint32_t bytes(const struct scsi_ini *ini, uint64_t blocks, uint64_t most)
{
	uint64_t room = most >> ini->shift;

	return (uint32_t)((blocks && blocks < room ? blocks : room) << ini->shift);
}

int scsi_ini_limits(const struct scsi_ini *ini, uint64_t most, bool write, struct bdev_limits *lim,
	struct diag *diag)
{
	uint64_t all = 1u << 31;

	if (write && ini->write_protected)
		return diag_set(diag, DIAG_PERMISSION, EROFS, "the disk is write protected");
	lim->block = 1u << ini->shift;
	lim->size = ini->blocks << ini->shift;
	lim->best = lim->block > BEST ? lim->block : BEST;
	if (ini->physical + ini->shift <= 20 && 1u << (ini->physical + ini->shift) > lim->best)
		lim->best = 1u << (ini->physical + ini->shift);
	lim->max[IO_READ] = lim->max[IO_WRITE] = bytes(ini, ini->most, most);
	while (lim->best > lim->max[IO_READ] && lim->best > lim->block)
		lim->best /= 2;
	lim->max[IO_FLUSH] = 1;
	if (ini->thin && ini->can_unmap && ini->unmap && ini->unmaps)
		lim->max[IO_TRIM] = bytes(ini, ini->unmap, all);
	if (ini->same || ini->same_unmaps)
		lim->max[IO_ZERO] = bytes(ini, ini->same, all);
	lim->io_size = sizeof(struct scsi_ini_io);
	lim->ro = ini->write_protected || !write;
	lim->ro_disk = ini->write_protected;
	lim->fua = true;
	return 0;
}

void scsi_ini_id(const struct scsi_ini *ini, struct bdev_id *id)
{
	if (ini->naa_len == sizeof(id->nguid))
		memcpy(id->nguid, ini->naa, sizeof(id->nguid));
	else if (ini->eui_len == sizeof(id->nguid))
		memcpy(id->nguid, ini->eui, sizeof(id->nguid));
	if (ini->naa_len == sizeof(id->eui64))
		memcpy(id->eui64, ini->naa, sizeof(id->eui64));
	else if (ini->eui_len == sizeof(id->eui64))
		memcpy(id->eui64, ini->eui, sizeof(id->eui64));
	snprintf(id->model, sizeof(id->model), "%s%s%s", ini->vendor, ini->vendor[0] ? " " : "",
		ini->product);
	snprintf(id->serial, sizeof(id->serial), "%.20s", ini->serial);
	snprintf(id->firmware, sizeof(id->firmware), "%s", ini->revision);
}

void scsi_ini_show(const struct scsi_ini *ini, struct out *out)
{
	uint8_t lun[8];

	memcpy(lun, ini->lun, sizeof(lun));
	lun[0] &= lun[0] >> 6 == 1 ? 0x3f : 0xff;
	out_u64(out, "lun", "LUN:         ", lun_number(lun));
}
