/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the tests of the device server share: a target with two disks in memory, and short ways to
 * ask it. */
#pragma once
#include "disk.h"
#include "scsi_host.h"
#include "wire.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define SIZE  (4u << 20)
#define BLOCK 512u
#define LAST  (SIZE / BLOCK) /* one behind the last block */

static struct loop *loop, *loops[2];
static struct fake_disk *disk[2];
static struct scsi_rig rig;
static struct scsi_host *host;
static struct diag why;
static uint8_t in[1 << 20], out[1 << 20];

static void set_up(void)
{
	const struct loop_options opt = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &opt, NULL), 0);
	loops[0] = loop;
	for (unsigned i = 0; i < 2; i++) {
		disk[i] = fake_disk_new(loop, SIZE, BLOCK);
		for (unsigned at = 0; at < SIZE; at++)
			disk[i]->bytes[at] = (uint8_t)(at * 7 + at / BLOCK + i);
	}
	for (unsigned i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 13 + i / 4096);
	rig = (struct scsi_rig){ .loop = loop,
		.loops = loops,
		.nloops = 1,
		.disk = { &disk[0]->bdev, &disk[1]->bdev },
		.disks = 2 };
}

static struct scsi_ask ask(struct scsi_host *from, struct scsi_ask with)
{
	if (!with.in)
		with.in = in;
	if (!with.out)
		with.out = out;
	scsi_host_ask(from, &with);
	return with;
}

/* Until no unit attention is left. */
static void ready(struct scsi_host *from)
{
	for (unsigned lun = 0; lun < rig.disks; lun++)
		while (ask(from, (struct scsi_ask){ .lun = (uint8_t)lun }).status)
			;
}

static void begin(void)
{
	set_up();
	cr_assert_eq(scsi_rig_start(&rig, &why), 0, "%s", why.text);
	host = scsi_host_dial(&rig, 1);
	ready(host);
}

static void end(void)
{
	scsi_host_leave(host);
	cr_assert_eq(scsi_rig_stop(&rig, &why), 0, "%s", why.text);
	fake_disk_free(disk[0]);
	fake_disk_free(disk[1]);
	loop_free(loop);
}

/* A parameter list of EXTENDED COPY: identification descriptors of units 0 and 1, and a segment
 * that lacks its units, length and places. For 108 bytes of zeroes. */
static inline void put_copy_list(uint8_t *to)
{
	wire_put_be(to + 2, 2, 64);
	wire_put_be(to + 8, 4, 28);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *p = to + 16 + 32 * i;

		p[0] = 0xe4;
		p[4] = 1;
		p[5] = 2;
		p[7] = 16;
		p[8] = 0x42;
		p[23] = (uint8_t)i;
	}
	to[80] = 2;
	to[83] = 24;
}

#define CHECK(answer, k, a, q)                                                                     \
	do {                                                                                       \
		struct scsi_ask was = (answer);                                                    \
                                                                                                   \
		cr_assert(was.status == 2 && was.key == (k) && was.asc == (a) && was.ascq == (q),  \
			"status %x, sense %x/%02x/%02x", was.status, was.key, was.asc, was.ascq);  \
	} while (0)
#define GOOD(answer)                                                                               \
	do {                                                                                       \
		struct scsi_ask was = (answer);                                                    \
                                                                                                   \
		cr_assert(!was.status, "status %x, sense %x/%02x/%02x", was.status, was.key,       \
			was.asc, was.ascq);                                                        \
	} while (0)

/* CDBs of 10 and 16 bytes with blocks. */
static inline struct scsi_ask ask10(uint8_t opcode, uint8_t bits, uint32_t lba, uint16_t blocks)
{
	struct scsi_ask with = { .cdb = { opcode, bits } };

	wire_put_be(with.cdb + 2, 4, lba);
	wire_put_be(with.cdb + 7, 2, blocks);
	return with;
}

static inline struct scsi_ask ask16(uint8_t opcode, uint8_t bits, uint64_t lba, uint32_t blocks)
{
	struct scsi_ask with = { .cdb = { opcode, bits } };

	wire_put_be(with.cdb + 2, 8, lba);
	wire_put_be(with.cdb + 10, 4, blocks);
	return with;
}

static inline struct scsi_ask reading(struct scsi_ask with, uint32_t room)
{
	with.expected_in = room;
	return with;
}

static inline struct scsi_ask writing(struct scsi_ask with, uint32_t len)
{
	with.expected_out = len;
	return with;
}

static inline struct scsi_ask listing(struct scsi_ask with, const void *list, uint32_t len)
{
	with.out = list;
	with.expected_out = len;
	return with;
}
