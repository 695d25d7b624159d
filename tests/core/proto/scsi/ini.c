/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SCSI initiator: statuses and sense data as text, LUNs, and opening a disk whose pages are short,
 * long or wrong. */
#include "scsi/ini.h"
#include "names.h"
#include "says.h"
#include "wire.h"
#include <criterion/criterion.h>
#include <errno.h>

Test(scsi_ini, sense_in_both_formats)
{
	uint8_t fixed[18] = { 0x70, [2] = 3, [12] = 0x11, [13] = 4 };
	uint8_t descriptors[8] = { 0x72, 3, 0x11, 4 };
	uint8_t deferred[18] = { 0x71, [2] = 3, [12] = 0x11 };

	cr_assert_eq(scsi_ini_detail(2, fixed, 18), 0x04110302);
	cr_assert_eq(scsi_ini_detail(2, descriptors, 8), 0x04110302);
	cr_assert_eq(scsi_ini_detail(2, deferred, 18), 0x00118302, "of an earlier command");
	deferred[0] = 0x73;
	cr_assert_eq(scsi_ini_detail(2, deferred, 18), 0x00038002);
	deferred[0] = 0x71;
	deferred[2] = 1;
	cr_assert_eq(scsi_ini_detail(2, deferred, 18), 0x00118102, "this one is not executed");
	cr_assert_eq(scsi_ini_detail(2, fixed, 12), 0x00000302, "what there is of it");
	for (size_t len = 0; len < 3; len++)
		cr_assert_eq(scsi_ini_detail(2, fixed, len), 2);
	cr_assert_eq(scsi_ini_errno(2), EIO, "never success");
	cr_assert_eq(scsi_ini_detail(0, fixed, 18), 0);
	fixed[2] = 1;
	cr_assert_eq(scsi_ini_detail(2, fixed, 18), 0, "recovered");
	cr_assert_eq(scsi_ini_detail(0x18, fixed, 18), 0x18);
}

Test(scsi_ini, every_status_has_words_and_no_error_is_success)
{
	for (uint32_t key = 0; key < 16; key++)
		for (uint32_t asc = 0; asc < 256; asc++) {
			uint32_t detail = 2 | key << 8 | asc << 16;

			cr_assert_neq(scsi_ini_errno(detail), 0);
			cr_assert_neq(scsi_ini_text(detail)[0], 0);
		}
	for (uint32_t status = 2; status < 0x80; status += 2)
		cr_assert_neq(scsi_ini_errno(status), 0, "%x", status);
	cr_assert_eq(scsi_ini_errno(0), 0);
}

Test(scsi_ini, sent_again_only_where_nothing_was_done)
{
	cr_assert_eq(scsi_ini_retry(2 | 6 << 8 | 0x29 << 16), SCSI_AT_ONCE);
	cr_assert_eq(scsi_ini_retry(8), SCSI_WAIT);
	cr_assert_eq(scsi_ini_retry(0x28), SCSI_WAIT);
	cr_assert_eq(scsi_ini_retry(2 | 2 << 8 | 4 << 16 | 1u << 24), SCSI_WAIT);
	cr_assert_eq(scsi_ini_retry(2 | 0xb << 8), SCSI_SOON);
	cr_assert_eq(scsi_ini_retry(2 | 2 << 8 | 4 << 16 | 10u << 24), SCSI_WAIT | SCSI_ELSEWHERE);
	cr_assert_eq(scsi_ini_retry(2 | 2 << 8 | 4 << 16 | 11u << 24), SCSI_ELSEWHERE);
	cr_assert_eq(scsi_ini_retry(2 | 2 << 8 | 4 << 16 | 12u << 24), SCSI_ELSEWHERE);
	cr_assert_eq(scsi_ini_retry(2 | 2 << 8 | 4 << 16 | 18u << 24), SCSI_ELSEWHERE);
	cr_assert(scsi_ini_is_access(2 | 2 << 8 | 4 << 16 | 18u << 24));
	cr_assert(scsi_ini_is_access(2 | 6 << 8 | 0x2a << 16 | 6u << 24));
	cr_assert_not(scsi_ini_is_access(2 | 6 << 8 | 0x2a << 16 | 9u << 24));
	cr_assert_not(scsi_ini_is_access(2 | 3 << 8));
	cr_assert_eq(scsi_ini_retry(2 | 3 << 8), SCSI_FINAL);
	cr_assert_eq(scsi_ini_retry(2 | 5 << 8 | 0x24 << 16), SCSI_FINAL);
	cr_assert_eq(scsi_ini_retry(0x18), SCSI_FINAL);
	cr_assert_eq(scsi_ini_retry(0x77), SCSI_FINAL);
	cr_assert_eq(scsi_ini_retry(2 | 0x8300), SCSI_AT_ONCE);
	cr_assert_eq(scsi_ini_errno(2 | 0x8100), EIO);
}

Test(scsi_ini, luns)
{
	static const uint64_t numbers[] = { 0, 7, 255 };
	uint8_t lun[8];

	for (unsigned i = 0; i < 3; i++) {
		scsi_ini_lun(lun, numbers[i]);
		cr_assert_eq(lun[1], numbers[i]);
		cr_assert_eq(lun_number(lun), numbers[i]);
	}
	scsi_ini_lun(lun, 300);
	cr_assert_eq(lun[0], 0x41, "flat space");
	cr_assert_eq(lun[1], 0x2c);
}

/* --- the opening, with a page of the test's for each command */

static struct scsi_ini ini;
static uint8_t answers[256][64];
static uint32_t lens[256], sent, detail_of[256];
static uint8_t last, last_cdb[SCSI_INI_CDB];
static int ended; /* 1: up, -1: why */
static struct diag why;

/* VPD pages by their number, other commands by their opcode. */
static const uint8_t *types; /* of the device behind each LUN, if none is named */

static void submit(struct scsi_ini *scsi, const uint8_t cdb[SCSI_INI_CDB], uint32_t in)
{
	(void)in;
	if (types && cdb[0] == 0x12 && !cdb[1])
		answers[0x12][0] = types[scsi->lun[1]];
	memcpy(last_cdb, cdb, sizeof(last_cdb));
	last = cdb[0] == 0x12 && cdb[1] ? cdb[2] | 0x80 : cdb[0];
	sent++;
}

static void over(struct scsi_ini *scsi, const struct diag *diag)
{
	(void)scsi;
	ended = diag ? -1 : 1;
	if (diag)
		why = *diag;
}

static void begin(void)
{
	memset(answers, 0, sizeof(answers));
	lens[0x12] = 36;
	lens[0x9e] = 32;
	wire_put_be(answers[0x9e], 8, 2047);
	wire_put_be(answers[0x9e] + 8, 4, 512);
	detail_of[0x80] = detail_of[0x1a] = 2 | 5 << 8 | 0x20 << 16;
}

static void open_disk(void)
{
	ended = 0;
	sent = 0;
	memset(&ini, 0, sizeof(ini));
	cr_assert_eq(loop_new(&ini.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	ini.submit = submit;
	ini.any_lun = types;
	strcpy(ini.uri, "iscsi://h/iqn.x");
	strcpy(ini.keys, "?user=joe");
	ini.done = over;
	scsi_ini_start(&ini);
	while (!ended) {
		uint32_t before = sent;

		scsi_ini_answered(&ini, detail_of[last], answers[last], lens[last]);
		cr_assert(ended || sent == before + 1);
		cr_assert_lt(sent, 100);
	}
	loop_free(ini.loop);
}

static void opens(void)
{
	open_disk();
	cr_assert_eq(ended, 1, "%s", why.text);
}

static void fails(enum diag_code code, const char *words)
{
	open_disk();
	cr_assert_eq(ended, -1);
	diag_says(&why, code, NULL, words);
}

Test(scsi_ini, a_disk_with_nothing_but_a_size)
{
	struct bdev_limits lim = { 0 };

	begin();
	opens();
	cr_assert_eq(scsi_ini_limits(&ini, 1 << 20, true, &lim, &why), 0);
	cr_assert_eq(lim.size, 2048 * 512);
	cr_assert_eq(lim.max[IO_READ], 1 << 20);
	cr_assert_eq(lim.max[IO_TRIM] + lim.max[IO_ZERO], 0);
	cr_assert(ini.cached, "as far as is known");
}

Test(scsi_ini, short_and_wrong_answers)
{
	begin();
	lens[0x12] = 35;
	fails(DIAG_PROTOCOL, "INQUIRY 35");
	begin();
	lens[0x9e] = 15;
	fails(DIAG_PROTOCOL, "READ_CAPACITY(16) 15");
	begin();
	wire_put_be(answers[0x9e] + 8, 4, 0);
	fails(DIAG_UNSUPPORTED, "0_bytes");
	begin();
	wire_put_be(answers[0x9e] + 8, 4, 131072);
	fails(DIAG_UNSUPPORTED, "131072");
	begin();
	wire_put_be(answers[0x9e], 8, UINT64_MAX);
	fails(DIAG_PROTOCOL, "last_block");
	begin();
	answers[0x12][0] = 1;
	fails(DIAG_UNSUPPORTED, "01h");
	begin();
	detail_of[0x9e] = 2 | 5 << 8 | 0x20 << 16;
	lens[0x25] = 8;
	wire_put_be(answers[0x25], 8, UINT64_MAX);
	fails(DIAG_UNSUPPORTED, "larger");
	begin();
	lens[0x25] = 7;
	fails(DIAG_PROTOCOL, "READ_CAPACITY(10) 7");
	detail_of[0x9e] = 0;
}

static void has_luns(const uint8_t *of, unsigned count)
{
	begin();
	types = of;
	lens[0xa0] = 8 + 8 * count;
	wire_put_be(answers[0xa0], 4, 8 * count);
	for (unsigned i = 0; i < count; i++)
		answers[0xa0][8 + 8 * i + 1] = (uint8_t)i;
}

/* tgt has a controller at LUN 0. 7fh: no such device. */
Test(scsi_ini, the_only_disk_of_a_target_is_opened)
{
	has_luns((const uint8_t[]){ 0x0c, 0 }, 2);
	opens();
	cr_assert_eq(ini.lun[1], 1);
	has_luns((const uint8_t[]){ 0, 0x0c, 0x05, 0x7f }, 4);
	opens();
	cr_assert_eq(ini.lun[1], 0);
	has_luns((const uint8_t[]){ 0x0c, 0, 5, 0, 0x20 }, 5);
	fails(DIAG_USAGE, "2_disks LUNs_1,_3");
	cr_assert_str_eq(why.hint, "available there: iscsi://h/iqn.x/1?user=joe, "
				   "iscsi://h/iqn.x/3?user=joe");
	has_luns((const uint8_t[]){ 0x0c, 0x0d }, 2);
	fails(DIAG_NOT_FOUND, "none 2_LUNs disk");
	has_luns((const uint8_t[]){ 0x0c }, 1);
	fails(DIAG_UNSUPPORTED, "0ch");
	has_luns((const uint8_t[]){ 0x0c, 0x0c }, 2);
	lens[0x12] = 4;
	fails(DIAG_NOT_FOUND, "none");
	has_luns((const uint8_t[]){ 0, 0 }, 2);
	detail_of[0x12] = 2 | 5 << 8 | 0x25 << 16;
	fails(DIAG_NOT_FOUND, "none");
	detail_of[0x12] = 0;
	has_luns((const uint8_t[]){ 0, 0 }, 2);
	wire_put_be(answers[0xa0], 4, UINT32_MAX); /* more than came */
	fails(DIAG_USAGE, "2_disks");
	types = NULL;
}

/* Pages whose own length goes beyond what came. */
Test(scsi_ini, pages_that_end_early)
{
	static const uint8_t pages[] = { 0x80, 0x80 | 0x83, 0x80 | 0xb0, 0x80 | 0xb2, 0x1a };

	begin();
	detail_of[0x80] = detail_of[0x1a] = 0;
	for (unsigned i = 0; i < sizeof(pages); i++) {
		memset(answers[pages[i]], 0xff, 64);
		answers[pages[i]][3] = pages[i] == 0x1a ? 60 : 0xff;
	}
	for (uint32_t len = 0; len < 64; len++) {
		for (unsigned i = 0; i < sizeof(pages); i++)
			lens[pages[i]] = len;
		opens();
		cr_assert_leq(ini.naa_len, 16);
	}
}

/* --- ALUA: the port is number 2 of group 258; groups 1 and 258 are reported */

#define ILLEGAL_FIELD (2 | 5 << 8 | 0x24 << 16)

static void put_groups(unsigned at, uint8_t state)
{
	uint8_t *to = answers[0xa3] + at;

	wire_put_be(to, 4, 8 + 4 + 8 + 8);
	wire_put_be(answers[0xa3], 4, at + 8 + 4 + 8 + 8 - 4);
	to[0] = state == 4 ? 0x8e : 0xe; /* the other one */
	wire_put_be(to + 2, 2, 1);
	to[7] = 1;
	wire_put_be(to + 10, 2, 1);
	to[12] = state == 4 ? state : 0x80 | state; /* PREF is of one of them */
	wire_put_be(to + 14, 2, 258);
	to[19] = 2;
	wire_put_be(to + 22, 2, 3);
	wire_put_be(to + 26, 2, 2);
	lens[0xa3] = at + 28;
}

static void begin_alua(uint8_t state)
{
	static const uint8_t ids[] = { 0, 0x83, 0, 16, 1, 0x94, 0, 4, 0, 0, 0, 2, 1, 0x95, 0, 4, 0,
		0, 1, 2 };

	begin();
	answers[0x12][5] = 2 << 4;
	detail_of[0x80] = 0;
	memcpy(answers[0x80], ((const uint8_t[]){ 0, 0, 0, 1, 0x83 }), 5);
	lens[0x80] = 5;
	memcpy(answers[0x83], ids, sizeof(ids));
	lens[0x83] = sizeof(ids);
	detail_of[0xa3] = 0;
	put_groups(4, state);
}

static void access_is(enum bdev_access access, const char *word)
{
	opens();
	cr_assert_eq(ini.access, access);
	if (word)
		cr_assert_str_eq(ini.access_word, word);
	else
		cr_assert_null(ini.access_word);
}

Test(scsi_ini, access_of_the_own_group)
{
	static const struct {
		uint8_t state, access;
		const char *word;
	} rows[] = {
		{ 0, BDEV_ACCESS_OPTIMIZED, "optimized" },
		{ 1, BDEV_ACCESS_NON_OPTIMIZED, "non-optimized" },
		{ 2, BDEV_ACCESS_CLOSED, "standby" }, { 3, BDEV_ACCESS_CLOSED, "unavailable" },
		{ 4, BDEV_ACCESS_NON_OPTIMIZED, "lba-dependent" },
		{ 0xe, BDEV_ACCESS_CLOSED, "offline" }, { 0xf, BDEV_ACCESS_CHANGING, "transition" },
		{ 5, BDEV_ACCESS_OPTIMIZED, NULL }, /* reserved */
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_alua(rows[i].state);
		access_is(rows[i].access, rows[i].word);
		if (rows[i].word)
			cr_assert_eq(ini.access_group, 258);
		cr_assert_eq(ini.preferred, rows[i].state != 4, "PREF of state %u", rows[i].state);
		cr_assert_eq(last_cdb[0], 0xa3);
		cr_assert_eq(last_cdb[1], 0x2a, "extended");
		cr_assert_eq(wire_be(last_cdb + 6, 4), SCSI_INI_PAGE);
		cr_assert_eq(ini.transition_ms, 60000);
		answers[0x83][13] = 0x96; /* the group is unknown: by the port */
		access_is(rows[i].access, rows[i].word);
	}
}

Test(scsi_ini, time_of_a_transition)
{
	begin_alua(0);
	memset(answers[0xa3], 0, 64);
	put_groups(8, 3);
	answers[0xa3][4] = 0x10;
	answers[0xa3][5] = 7;
	access_is(BDEV_ACCESS_CLOSED, "unavailable");
	cr_assert_eq(ini.transition_ms, 7000);
	wire_put_be(answers[0xa3], 4, 28); /* as Linux does */
	access_is(BDEV_ACCESS_CLOSED, "unavailable");
}

Test(scsi_ini, targets_without_access_states)
{
	begin_alua(3);
	answers[0x12][5] = 0;
	access_is(BDEV_ACCESS_OPTIMIZED, NULL);
	cr_assert_neq(last_cdb[0], 0xa3, "not even asked");
	begin_alua(3);
	lens[0x83] = 4;
	access_is(BDEV_ACCESS_OPTIMIZED, NULL);
	cr_assert_neq(last_cdb[0], 0xa3);
	begin_alua(3);
	detail_of[0xa3] = ILLEGAL_FIELD;
	access_is(BDEV_ACCESS_OPTIMIZED, NULL);
	cr_assert_eq(last_cdb[1], 0x0a, "the short form is tried, too");
	detail_of[0xa3] = 0;
}

/* A report of any length that ends anywhere, with any counts. */
Test(scsi_ini, reports_that_lie)
{
	for (uint32_t len = 0; len < 64; len++) {
		begin_alua(3);
		lens[0xa3] = len;
		access_is(len < 24 ? BDEV_ACCESS_OPTIMIZED : BDEV_ACCESS_CLOSED,
			len < 24 ? NULL : "unavailable");
	}
	begin_alua(3);
	wire_put_be(answers[0xa3], 4, UINT32_MAX);
	access_is(BDEV_ACCESS_CLOSED, "unavailable");
	wire_put_be(answers[0xa3], 4, 12);
	access_is(BDEV_ACCESS_OPTIMIZED, NULL);
	begin_alua(3);
	answers[0xa3][4 + 7] = 255;
	access_is(BDEV_ACCESS_OPTIMIZED, NULL);
	begin_alua(3);
	answers[0xa3][4 + 12 + 3] = 9; /* no such group */
	access_is(BDEV_ACCESS_OPTIMIZED, NULL);
	begin();
	memset(answers[0xa3], 0xff, 64);
	for (uint32_t len = 0; len < 64; len++) {
		lens[0xa3] = len;
		opens();
	}
}

Test(scsi_ini, a_closed_path_opens_if_the_target_lets_it)
{
	uint32_t standby = 2 | 2 << 8 | 4 << 16 | 11u << 24;

	begin_alua(2);
	detail_of[0] = standby;
	access_is(BDEV_ACCESS_CLOSED, "standby");
	detail_of[0x9e] = 2 | 2 << 8 | 4 << 16 | 12u << 24;
	fails(DIAG_UNREACHABLE, "READ_CAPACITY unavailable");
	detail_of[0] = detail_of[0x9e] = 0;
}

/* Answer what a poll asks for until it has ended. */
static unsigned poll_disk(void)
{
	ended = 0;
	sent = 0;
	cr_assert_eq(loop_new(&ini.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert(scsi_ini_poll(&ini));
	while (!ended) {
		scsi_ini_answered(&ini, detail_of[last], answers[last], lens[last]);
		cr_assert_lt(sent, 100);
	}
	cr_assert_eq(ended, 1);
	loop_free(ini.loop);
	return sent;
}

Test(scsi_ini, polls_read_access_first)
{
	begin_alua(0);
	opens();
	wire_put_be(answers[0x9e], 8, 4095);
	put_groups(4, 1);
	cr_assert_eq(poll_disk(), 2);
	cr_assert_eq(ini.access, BDEV_ACCESS_NON_OPTIMIZED);
	cr_assert(ini.resized);
	put_groups(4, 2);
	detail_of[0x9e] = 2 | 2 << 8 | 4 << 16 | 11u << 24;
	cr_assert_eq(poll_disk(), 1, "a closed path has no size");
	cr_assert_str_eq(ini.access_word, "standby");
	detail_of[0x9e] = 0;
	detail_of[0xa3] = 2 | 4 << 8;
	cr_assert_eq(poll_disk(), 1);
	cr_assert_str_eq(ini.access_word, "standby", "as far as is known");
	detail_of[0xa3] = 0;
	put_groups(4, 0);
	cr_assert_eq(poll_disk(), 2);
	cr_assert_str_eq(ini.access_word, "optimized");
	cr_assert_not(ini.resized);
}

Test(scsi_ini, requests_as_commands)
{
	uint8_t cdb[SCSI_INI_CDB], param[SCSI_INI_PARAM];
	struct scsi_ini disk = { .blocks = 1ull << 40, .shift = 9, .fua = true, .cached = true };
	struct io io = { .kind = IO_WRITE, .flags = IO_FUA, .off = 512ull << 33, .len = 4096 };

	cr_assert_eq(scsi_ini_encode(&disk, &io, false, cdb, param), SCSI_OUT);
	cr_assert_eq(cdb[0], 0x8a);
	cr_assert_eq(cdb[1], 8);
	cr_assert_eq(wire_be(cdb + 2, 8), 1ull << 33);
	cr_assert_eq(wire_be(cdb + 10, 4), 8);
	disk.blocks = 1 << 20;
	io = (struct io){ .kind = IO_READ, .off = 512 * 5, .len = 512 };
	cr_assert_eq(scsi_ini_encode(&disk, &io, false, cdb, param), SCSI_IN);
	cr_assert_eq(cdb[0], 0x28);
	cr_assert_eq(cdb[1], 0);
	cr_assert_eq(wire_be(cdb + 2, 4), 5);
	cr_assert_eq(wire_be(cdb + 7, 2), 1);
	cr_assert_eq(scsi_ini_encode(&disk, &io, true, cdb, param), SCSI_NO_DATA);
	cr_assert_eq(cdb[0], 0x35);
	cr_assert_eq(scsi_ini_cdb_len(0x12), 6);
	cr_assert_eq(scsi_ini_cdb_len(0x42), 10);
	cr_assert_eq(scsi_ini_cdb_len(0x93), 16);
}
