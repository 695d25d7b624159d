/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* An initiator that speaks iSER to the iSCSI target and breaks it: the input is a byte of options
 * and a list of PDUs, well-formed but for what the input changes, some of them at once. Numbers and
 * lengths of what the target sends are checked all the time; when all is answered, every receive is
 * posted again. Afterwards an honest initiator must be able to read. */
#include "disk.h"
#include "ep_pair.h"
#include "iscsi.h"
#include "script.h"
#include "serve.h"
#include "wire/iser.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY             (1u << 20)
#define AT                 0x1000u
#define KEY                7
#define DISK               (1u << 20)
#define HEADS              76
#define MOST               (HEADS + 8192)
#define WINDOW             80
#define DISCOVERY_RECEIVES 16 /* receives of a discovery session */
#define STEPS              100
#define NAME               "InitiatorName=iqn.i\0"
#define KEYS               "RDMAExtensions=Yes\0MaxOutstandingUnexpectedPDUs=4\0"
#define NORMAL             NAME "TargetName=iqn.t\0" KEYS
#define DISCOVERY_LOGIN    NAME "SessionType=Discovery\0" KEYS
#define READ10             0x28
#define WRITE10            0x2a

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INVALIDATE = 1, LOGGED_IN = 2, DISCOVERY = 4 };                           /* options */
enum step { RAW, READ, WRITE, NOP, TEXT, TASK, LOGIN, ANY };                     /* low bits */
enum { CORRUPT = 8, MISNUMBERED = 16, SHORT = 32, BUNDLED = 64, NO_STAG = 128 }; /* the others */

static struct loop *loop;
static struct fake_disk *disk;
static struct target *target;
static struct ep_peer peer;
static struct ep *conn;
static bool gone;
static uint32_t cmdsn, statsn;
static unsigned commands, responses;
static uint8_t status;
static struct script script;
static struct {
	struct iser_hdr hdr;
	union {
		struct iscsi_bhs bhs;
		struct iscsi_scsi_cmd cmd;
		struct iscsi_text_req text;
	};
	uint8_t data[MOST - HEADS];
} pdu;

static void went(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	gone |= ep == conn;
}

static void message(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct iser_hdr *hdr = (const void *)bytes;
	const struct iscsi_scsi_rsp *rsp = (const void *)(hdr + 1);

	(void)p;
	(void)ep;
	if (len < HEADS || hdr->flags != ISER_CONTROL || len - HEADS != get_be24(rsp->data_len) ||
		rsp->opcode < ISCSI_NOP_IN || get_be32(rsp->statsn) != statsn++)
		abort();
	if (rsp->opcode == ISCSI_SCSI_RSP && ++responses > commands)
		abort();
	status = rsp->status;
}

static void begin(void)
{
	struct target_options opt = {
		.disks = 1, .listens = 1, .nloops = 1, .buffer = 131072, .buffers = 2
	};

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	peer = (struct ep_peer){ .gone = went,
		.message = message,
		.memory = calloc(1, MEMORY),
		.memory_at = AT,
		.memory_len = MEMORY,
		.memory_key = KEY };
	ep_pair_peer(loop, &peer);
	disk = fake_disk_new(loop, DISK, 512);
	opt.disk[0] = (struct target_disk_options){
		.bdev = &disk->bdev, .name = "iqn.t", .serial = "S1"
	};
	opt.loops = &loop;
	opt.listen[0].transports = TRANSPORT_VERBS;
	opt.listen[0].at.ss.ss_family = AF_INET;
	if (iscsi_serve(&target, loop, &opt, 1000, NULL))
		abort();
}

static void turns(unsigned count)
{
	while (count--)
		script_turn(loop);
}

static void make(uint8_t opcode, uint8_t flags, uint32_t data)
{
	memset(&pdu, 0, HEADS);
	pdu.hdr.flags = ISER_CONTROL;
	pdu.bhs.opcode = opcode;
	pdu.bhs.flags = flags;
	pdu.bhs.data_len = put_be24(data);
	pdu.bhs.itt = put_be32(commands);
	pdu.text.ttt = put_be32(ISCSI_NO_TAG);
	pdu.cmd.cmdsn = put_be32(cmdsn);
	cmdsn += !(opcode & ISCSI_IMMEDIATE);
}

static uint32_t make_login(const char *text, uint32_t len)
{
	make(ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL), len);
	memset(pdu.bhs.lun, 0, sizeof(pdu.bhs.lun));
	pdu.text.ttt = put_be32(0);
	memcpy(pdu.data, text, len);
	return len;
}

static uint32_t make_command(uint8_t opcode, uint32_t lba, uint32_t blocks, uint32_t data)
{
	make(ISCSI_SCSI_CMD, ISCSI_FINAL | ISCSI_SIMPLE, data);
	pdu.cmd.expected = put_be32(blocks * 512);
	memset(pdu.cmd.cdb, 0, sizeof(pdu.cmd.cdb));
	pdu.cmd.cdb[0] = opcode;
	wire_put_be(pdu.cmd.cdb + 2, 4, lba);
	wire_put_be(pdu.cmd.cdb + 7, 2, blocks);
	if (opcode == WRITE10) {
		pdu.bhs.flags |= ISCSI_CMD_WRITE;
		pdu.hdr.flags |= ISER_WRITE_STAG;
		pdu.hdr.write_stag = put_be32(KEY);
		pdu.hdr.write_base = put_be64(AT);
	} else if (blocks) {
		pdu.bhs.flags |= ISCSI_CMD_READ;
		pdu.hdr.flags |= ISER_READ_STAG;
		pdu.hdr.read_stag = put_be32(KEY);
		pdu.hdr.read_base = put_be64(AT);
	}
	return data;
}

static void call(uint8_t options)
{
	struct iser_private priv = { .flags = options & INVALIDATE ? 0 : ISER_NO_INVALIDATE };

	gone = false;
	cmdsn = statsn = 1;
	commands = responses = 0;
	peer.called = NULL;
	if (!ep_pair_call(&peer, &priv, sizeof(priv), 2))
		abort();
	turns(20);
	conn = peer.called;
	if (!conn)
		abort();
	if (!(options & LOGGED_IN))
		return;
	if (!ep_pair_deliver(conn, &pdu,
		    HEADS + (options & DISCOVERY ? make_login(DISCOVERY_LOGIN,
							   sizeof(DISCOVERY_LOGIN) - 1)
						 : make_login(NORMAL, sizeof(NORMAL) - 1))))
		abort();
	turns(30);
	if (gone || ep_pair_receives(conn) != (options & DISCOVERY ? DISCOVERY_RECEIVES : WINDOW))
		abort();
}

static uint32_t make_step(uint8_t step)
{
	uint32_t value = script_byte(&script);

	switch (step & 7) {
	case RAW:
		return script_bytes(&script, (uint8_t *)&pdu, value * 8);
	case READ:
		return HEADS + make_command(READ10, value, script_byte(&script), 0);
	case WRITE:
		return HEADS + make_command(WRITE10, value & 15, value, (value & 3) * 2048);
	case NOP:
		make(ISCSI_NOP_OUT | (value & 1 ? ISCSI_IMMEDIATE : 0), ISCSI_FINAL, value);
		return HEADS + value;
	case TEXT:
		make(ISCSI_TEXT_REQ, ISCSI_FINAL, 16);
		memcpy(pdu.data, "SendTargets=All", 16);
		return HEADS + 16;
	case TASK:
		make(ISCSI_TASK_REQ | ISCSI_IMMEDIATE, (uint8_t)(ISCSI_FINAL | (value & 15)), 0);
		wire_put_be(pdu.bhs.rest, 4, script_byte(&script));
		return HEADS;
	case LOGIN:
		return HEADS +
		       make_login(value & 1 ? NORMAL : DISCOVERY_LOGIN,
			       value & 1 ? sizeof(NORMAL) - 1 : sizeof(DISCOVERY_LOGIN) - 1);
	default:
		make((uint8_t)value, script_byte(&script), 0);
		return HEADS;
	}
}

static void take_step(void)
{
	uint8_t step = script_byte(&script);
	uint32_t len = make_step(step);

	if (step & MISNUMBERED)
		pdu.cmd.cmdsn = put_be32(script_byte(&script));
	if (step & NO_STAG)
		pdu.hdr.flags &= ISER_OPCODE(0xff);
	if (step & CORRUPT)
		script_spoil(&script, (uint8_t *)&pdu, len);
	if (step & SHORT)
		len -= len < 16 ? len : script_byte(&script) & 15;
	commands++;
	if (!ep_pair_deliver(conn, &pdu, len)) {
		turns(50);
		if (!gone && !ep_pair_receives(conn))
			abort(); /* those of bundled PDUs were not posted again */
	} else if (!(step & BUNDLED)) {
		turns(50);
	}
}

static void honest(void)
{
	call(LOGGED_IN | INVALIDATE);
	for (unsigned i = 0; i < 2; i++) { /* the first finds a unit attention */
		commands++;
		memset(peer.memory, 0x5a, 4096);
		if (!ep_pair_deliver(conn, &pdu, HEADS + make_command(READ10, 5, 8, 0)))
			abort();
		turns(50);
	}
	if (gone || responses != 2 || status || memcmp(peer.memory, disk->bytes + 5 * 512, 4096))
		abort();
	ep_pair_cut(conn);
	turns(30);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t options;
	unsigned posted;

	if (!loop)
		begin();
	script = (struct script){ .p = data, .end = data + size };
	options = script_byte(&script);
	call(options);
	for (unsigned i = 0; !gone && i < STEPS && script.p < script.end; i++)
		take_step();
	turns(100);
	posted = gone ? 0 : ep_pair_receives(conn);
	if (!gone && posted != 1 && posted != DISCOVERY_RECEIVES && posted != WINDOW)
		abort();
	if (!gone)
		ep_pair_cut(conn);
	turns(30);
	honest();
	return 0;
}
