/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/scsi core/target */
/* Initiators that send any CDB with any parameter data: the input is a list of steps, each a
 * command or a task management function of one of two hosts at two units, or that it leaves, or
 * another access to one of their target port groups. The transport under them aborts when more is
 * moved than a host has room for. In the end nothing may be left in work, and an honest host reads
 * what it wrote.
 *
 * A step: a byte of choices; of a command its CDB of 16 bytes, room (2 bytes), bytes it sends (2
 * bytes), data in the input (1 byte), those; behind them zeros are sent. */
#include "disk.h"
#include "scsi_host.h"
#include "wire.h"
#include <stdlib.h>
#include <string.h>

#define SIZE  (256u << 10)
#define BLOCK 512u
#define STEPS 24 /* of an input; less than a connection's depth */
#define SEC   1000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum choice { SECOND = 1, UNIT = 2, ATTR = 12, KIND = 48, INSIDE = 64, ACCESS = 128 };
enum kind { COMMAND, SLOW, ASIDE, MANAGE };
#define LEAVE (SCSI_NEXUS_RESET + 1) /* as a function: it leaves, and connects again */

static struct loop *loop;
static struct fake_disk *disk[2];
static uint8_t in[STEPS][65536], out[STEPS][65536];

static void begin(void)
{
	static const struct loop_options options = { .name = "fuzz" };

	if (loop_new(&loop, &options, NULL))
		abort();
	for (unsigned i = 0; i < 2; i++) {
		disk[i] = fake_disk_new(loop, SIZE, BLOCK);
		disk[i]->bdev.lim.max[IO_COMPARE_WRITE] = i ? 0 : 16 * BLOCK;
		disk[i]->bdev.lim.max[IO_TRIM] = i ? 0 : 65536;
		disk[i]->bdev.lim.fua = i;
	}
}

/* false: the input is at its end */
static bool read_ask(struct rd *rd, struct scsi_ask *ask, unsigned i)
{
	const uint8_t *p = rd_take(rd, 16 + 5), *data;

	if (!p)
		return false;
	memcpy(ask->cdb, p, 16);
	ask->expected_in = (uint32_t)wire_be(p + 16, 2);
	ask->expected_out = (uint32_t)wire_be(p + 18, 2);
	data = rd_take(rd, p[20]);
	memset(out[i], 0, sizeof(out[i]));
	if (data)
		memcpy(out[i], data, p[20]);
	ask->in = in[i];
	ask->out = out[i];
	return data;
}

static void set_access(struct scsi_rig *rig, unsigned group, enum access access)
{
	enum access before;

	if (target_set_access(&rig->target, group, access, &before))
		abort();
}

static void honest(struct scsi_rig *rig)
{
	struct scsi_host *host = scsi_host_dial(rig, 9);
	uint8_t list[24] = { [15] = 9 }, keys[24] = { [7] = 9 };
	struct scsi_ask clear[] = {
		{ .cdb = { 0x5f, 6, 0, [8] = 24 }, .out = list, .expected_out = 24 },
		{ .cdb = { 0x5f, 3, 0, [8] = 24 }, .out = keys, .expected_out = 24 },
		{ .cdb = { 0x2a, [8] = 1 }, .out = out[0], .expected_out = BLOCK },
		{ .cdb = { 0x28, [8] = 1 }, .in = in[0], .expected_in = BLOCK },
	};

	memset(out[0], 0x5a, BLOCK);
	if (scsi_host_manage(host, SCSI_LUN_RESET, 0, 0) != SCSI_TMF_DONE)
		abort();
	for (unsigned i = 0; i < sizeof(clear) / sizeof(*clear); i++) {
		do
			scsi_host_ask(host, &clear[i]);
		while (clear[i].key == 6);
		/* a host may have protected the unit */
		if (clear[i].status && !(clear[i].asc == 0x27 && clear[i].ascq == 2))
			abort();
		if (clear[i].status)
			memcpy(out[0], disk[0]->bytes, BLOCK);
	}
	if (memcmp(in[0], out[0], BLOCK))
		abort();
	scsi_host_leave(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd rd = rd_init(data, size);
	struct scsi_ask asks[STEPS] = { 0 };
	struct scsi_host *host[2];
	struct scsi_rig rig;
	unsigned sent = 0;

	if (!loop)
		begin();
	rig = (struct scsi_rig){ .loop = loop,
		.loops = &loop,
		.nloops = 1,
		.disk = { &disk[0]->bdev, &disk[1]->bdev },
		.disks = 2,
		.group = { 1, 2 },
		.listens = 2 };
	if (scsi_rig_start(&rig, NULL))
		abort();
	host[0] = scsi_host_dial(&rig, 0);
	host[1] = scsi_host_dial_at(&rig, 1, 1);
	for (unsigned lun = 0; lun < 2; lun++)
		for (unsigned i = 0; i < 2; i++)
			scsi_host_ask(host[i], &(struct scsi_ask){ .lun = (uint8_t)lun });
	while (sent < STEPS && rd_left(&rd)) {
		const uint8_t *choice = rd_take(&rd, 1);
		struct scsi_host *from = host[*choice & SECOND];
		uint8_t lun = *choice & UNIT ? 1 : 0, kind = (*choice & KIND) >> 4;
		struct scsi_ask *ask = &asks[sent];
		uint8_t function = (uint8_t)((*choice & ATTR) >> 2 | (*choice & INSIDE) >> 4);

		if (*choice & ACCESS) {
			set_access(&rig, 1 + (*choice & SECOND), function % ACCESSES);
			continue;
		}
		if (kind == MANAGE && function == LEAVE) {
			for (unsigned i = 0; i < sent; i++)
				asks[i].done |= asks[i].host == from;
			scsi_host_leave(from);
			host[*choice & SECOND] =
				scsi_host_dial_at(&rig, *choice & SECOND, *choice & SECOND);
			continue;
		}
		if (kind == MANAGE) {
			scsi_host_manage(from, function, lun, sent / 2);
			continue;
		}
		if (!read_ask(&rd, ask, sent))
			break;
		ask->lun = lun;
		ask->attr = (*choice & ATTR) >> 2;
		ask->tag = sent++;
		ask->slow = kind == SLOW;
		ask->immediate = *choice & INSIDE && ask->expected_out <= 8192;
		scsi_host_send(from, ask);
		if (kind == COMMAND)
			loop_wait(loop, &ask->done, loop_clock() + SEC / 1000);
	}
	scsi_host_give(host[0]);
	scsi_host_give(host[1]);
	for (unsigned i = 0; i < sent; i++)
		if (!loop_wait(loop, &asks[i].done, 0))
			abort();
	set_access(&rig, 1, ACCESS_OPTIMIZED);
	honest(&rig);
	scsi_host_leave(host[0]);
	scsi_host_leave(host[1]);
	if (scsi_rig_stop(&rig, NULL))
		abort();
	return 0;
}
