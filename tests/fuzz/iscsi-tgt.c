/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* Initiators that know iSCSI and break it, at the target over TCP: the input is a list of steps,
 * each on one of a few connections. Steps are well-formed PDUs; each of their fields is right, or a
 * wrong one of the input's choice. The clock is fake, so that time limits are part of it. The
 * target's digests and numbers are checked all the time. Afterwards an honest initiator must find
 * the target as it should be, and nothing may leak. */
/* Link: leap */
#include "disk.h"
#include "iscsi_host.h"
#include "leap.h"
#include "script.h"
#include "serve.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define IQN      "iqn.t"
#define NAME     "iqn.i"
#define ASK_ONE  "SendTargets=" IQN
#define SIZE     (1u << 20)
#define HOSTS    4
#define MOST     3 /* connections that the target takes */
#define STEPS    200
#define TURNS    10000 /* until an answer must have come */
#define STALL_MS 10000
#define SECOND   1000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The low bits of a step; the high ones choose the connection. */
enum step {
	DIAL,
	LOGIN,
	COMMAND,
	WRITE,
	WRITE_INSIDE,
	READ,
	LIST, /* a command with a parameter list */
	GIVE,
	GIVE_ALL,
	NOP,
	TEXT,
	TASK,
	LOGOUT,
	ANY,
	RAW,
	SPOIL,
	CLOSE,
	DEAF,
	HOLD,
	GROW,
	PASS,
	STOP,
	VOLUNTEER, /* unsolicited data */
};
#define STEP_BITS 5

/* The first byte of an input: how many initiators have logged in before the first step. */
enum { DIGESTS = 4, SHUFFLED = 8, BUNDLED = 16, DISCOVERY = 32, EAGER = 64 };
#define BUNDLE 4 /* steps that leave together */

static struct loop *loop;
static struct fake_disk *disk;
static struct target *target;
static struct addr bound;
static struct iscsi_host *host[HOSTS];
static struct script script;
static bool eager; /* InitialR2T=No, without which no unsolicited data is taken */
static uint8_t pattern[65536];

static void start_target(void)
{
	struct target_options opt = { .disks = 1,
		.listens = 1,
		.nloops = 1,
		.buffer = 131072,
		.buffers = 4,
		.connections = MOST,
		.stall_ms = STALL_MS };
	struct addr *at = &opt.listen[0].at;

	opt.disk[0] =
		(struct target_disk_options){ .bdev = &disk->bdev, .name = IQN, .serial = "S1" };
	opt.loops = &loop;
	at->ss.ss_family = AF_UNIX; /* without a name it gets one that no file system knows */
	at->len = sizeof(at->ss.ss_family);
	opt.listen[0].transports = TRANSPORT_TCP;
	if (iscsi_serve(&target, loop, &opt, 1000, NULL))
		abort();
	target_transports(target, 0, &bound);
}

static void begin(bool shuffled)
{
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	disk = fake_disk_new(loop, SIZE, 512);
	disk->bdev.lim.size = SIZE / 2;
	disk->seed = shuffled;
	for (unsigned i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 31 + i / 509);
	start_target();
}

static void turns(unsigned count)
{
	while (count--) {
		script_turn(loop);
		for (unsigned i = 0; i < HOSTS; i++)
			if (host[i])
				iscsi_host_poll(host[i]);
	}
}

static void pass(uint32_t ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * (SECOND / 1000));
}

/* --- what the initiators send */

static void hang_up(unsigned i)
{
	iscsi_host_leave(host[i]);
	host[i] = NULL;
}

static struct iscsi_host *dial(unsigned i)
{
	hang_up(i);
	host[i] = iscsi_host_dial(&bound);
	return host[i];
}

static void log_in(struct iscsi_host *h, uint8_t isid, bool discovery, bool digests)
{
	static const char keys[] = "InitialR2T=No";
	const struct iscsi_host_login with = { .name = NAME,
		.target = discovery ? NULL : IQN,
		.isid = isid,
		.digests = digests,
		.default_burst = eager,
		.keys = eager ? keys : NULL,
		.keys_len = sizeof(keys) };

	iscsi_host_login(h, &with);
}

static void join(unsigned i, bool discovery, bool digests)
{
	struct iscsi_host *h = dial(i);

	log_in(h, (uint8_t)i, discovery, digests);
	for (unsigned n = 0; !h->up; n++) {
		if (n == TURNS || h->over)
			abort();
		turns(1);
	}
}

static void give_all(struct iscsi_host *h)
{
	while (h->r2ts) {
		uint32_t len = h->r2t[0].len < ISCSI_HOST_RECV ? h->r2t[0].len : ISCSI_HOST_RECV,
			 at = h->r2t[0].offset % 32768;

		iscsi_host_give(h, 0, len, len == h->r2t[0].len ? ISCSI_FINAL : 0, pattern + at);
	}
}

static uint8_t answered(struct iscsi_host *h)
{
	for (unsigned i = 0; h->replies < h->asked; i++) {
		if (i == TURNS || h->over)
			abort();
		give_all(h);
		turns(1);
	}
	return h->status;
}

static void honest(bool digests)
{
	struct target_status now;
	struct iscsi_logout_req out = { .opcode = ISCSI_LOGOUT_REQ, .flags = ISCSI_FINAL };
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *h;

	for (unsigned i = 0; target_get_status(target, &now), now.clients; i++) {
		if (i == 100)
			abort();
		pass(10);
	}
	join(0, false, digests);
	h = host[0];
	for (unsigned i = 0; i < 4; i++) { /* TEST UNIT READY, past unit attentions */
		cmd = iscsi_host_command(h, 0, 0);
		iscsi_host_ask(h, &cmd, NULL, 0);
		if (!answered(h))
			break;
	}
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, 32768);
	iscsi_host_rw(&cmd, 0x2a, 16, 64);
	iscsi_host_ask(h, &cmd, pattern, 1000);
	if (answered(h) || memcmp(disk->bytes + 8192, pattern, 32768))
		abort();
	cmd = iscsi_host_command(h, ISCSI_CMD_READ, 32768);
	iscsi_host_rw(&cmd, 0x28, 16, 64);
	iscsi_host_ask(h, &cmd, NULL, 0);
	if (answered(h) || memcmp(h->data, pattern, 32768))
		abort();
	out.cmdsn = put_be32(h->cmdsn++);
	iscsi_host_put(h, &out, NULL, 0);
	for (unsigned i = 0; !h->over; i++) {
		if (i == TURNS)
			abort();
		turns(1);
	}
	hang_up(0);
}

/* --- steps of the script */

/* The right value where the input says 0, or has ended. */
static uint64_t field(uint64_t right, const uint64_t *wrong, unsigned count)
{
	uint8_t byte = script_byte(&script);

	return byte ? wrong[byte % count] : right;
}
#define FIELD(right, ...)                                                                          \
	field(right, (const uint64_t[]){ __VA_ARGS__ },                                            \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void change_command(struct iscsi_scsi_cmd *cmd)
{
	uint8_t byte = script_byte(&script);

	if (byte & 1)
		cmd->opcode |= ISCSI_IMMEDIATE;
	cmd->flags = (uint8_t)FIELD(cmd->flags, 0x82, 0x83, 0xa1, 0xc1, 0xe1, 0x01, 0x84, 0xa2);
	if (eager && byte & 4)
		cmd->flags &= (uint8_t)~ISCSI_FINAL;
	cmd->lun[1] = byte >> 1 & 1;
	cmd->cmdsn = put_be32(get_be32(cmd->cmdsn) + (uint32_t)FIELD(0, 1, UINT32_MAX, 100));
	cmd->itt = put_be32((uint32_t)FIELD(get_be32(cmd->itt), 0, 1, UINT32_MAX));
	cmd->expected = put_be32(
		(uint32_t)FIELD(get_be32(cmd->expected), 0, 1, 8, 512, 65536, UINT32_MAX, 1 << 24));
}

static void rw_step(struct iscsi_host *h, enum step step)
{
	uint16_t blocks = (uint16_t)FIELD(8, 0, 1, 16, 31, 33, 64, 127, 256, 300, 1000, 0xffff);
	uint32_t lba = (uint32_t)FIELD(0, 1, 8, 1000, 1016, 1023, 1024, 2047, UINT32_MAX),
		 len = blocks * 512u;
	static const uint8_t opcodes[] = { 0x2a, 0x2e, 0x2f, 0x41, 0x89, 0x93, 0x8a };
	uint8_t opcode = opcodes[script_byte(&script) % sizeof(opcodes)];
	struct iscsi_scsi_cmd cmd =
		iscsi_host_command(h, step == READ ? ISCSI_CMD_READ : ISCSI_CMD_WRITE, len);

	iscsi_host_rw(&cmd, step == READ ? 0x28 : opcode, lba, blocks);
	if (opcode > 0x80 && step != READ) { /* of 16 bytes */
		wire_put_be(cmd.cdb + 2, 8, lba);
		wire_put_be(cmd.cdb + 10, 4, blocks);
		cmd.cdb[13] = opcode == 0x89 ? (uint8_t)blocks : cmd.cdb[13];
	}
	cmd.cdb[1] = (uint8_t)FIELD(0, 8, 0x10, 2, 6, 0xe0);
	change_command(&cmd);
	iscsi_host_ask(h, &cmd, pattern,
		step == WRITE_INSIDE
			? (uint32_t)FIELD(len < 8192 ? len : 8192, 0, 1, 511, 4096, 8193)
			: 0);
}

static void command_step(struct iscsi_host *h, bool list)
{
	uint32_t room = (uint32_t)FIELD(255, 0, 4, 8, 24, 36, 4096, 65536);
	struct iscsi_scsi_cmd cmd =
		iscsi_host_command(h, list ? ISCSI_CMD_WRITE : ISCSI_CMD_READ, room);
	uint8_t data[256] = { 0 };

	script_bytes(&script, cmd.cdb, script_byte(&script) % 17);
	change_command(&cmd);
	if (list)
		script_bytes(&script, data, script_byte(&script));
	iscsi_host_ask(h, &cmd, data, list && room < sizeof(data) ? room : 0);
}

static void give_step(struct iscsi_host *h)
{
	unsigned i = script_byte(&script);
	uint32_t len;
	uint8_t flags;

	if (!h->r2ts)
		return;
	i %= h->r2ts;
	h->r2t[i].itt ^= (uint32_t)FIELD(0, 1, 1u << 31);
	h->r2t[i].ttt ^= (uint32_t)FIELD(0, 1, 1 << 16, 0xffff, 1u << 31);
	h->r2t[i].offset += (uint32_t)FIELD(0, 1, 512, UINT32_MAX - 511, 1u << 31);
	h->r2t[i].datasn += (uint32_t)FIELD(0, 1, UINT32_MAX);
	len = h->r2t[i].len < ISCSI_HOST_RECV ? h->r2t[i].len : ISCSI_HOST_RECV;
	flags = len == h->r2t[i].len ? ISCSI_FINAL : 0;
	flags = (uint8_t)FIELD(flags, ISCSI_FINAL, 0);
	len = (uint32_t)FIELD(len, 0, 1, 3, 512, 4096, 65535);
	iscsi_host_give(h, i, len, flags, pattern);
}

/* For one of the last commands. */
static void volunteer_step(struct iscsi_host *h)
{
	uint32_t back = script_byte(&script) % 4,
		 at = (uint32_t)FIELD(0, 4, 512, 1000, 8192, 65532);
	uint32_t len = (uint32_t)FIELD(512, 0, 4, 1000, 7680, 8192);
	struct iscsi_data_out pdu = { .opcode = ISCSI_DATA_OUT,
		.flags = (uint8_t)FIELD(ISCSI_FINAL, 0),
		.itt = put_be32(h->itt - 1 - back),
		.ttt = put_be32(ISCSI_NO_TAG),
		.datasn = put_be32((uint32_t)FIELD(0, 1, 2)),
		.offset = put_be32(at) };

	iscsi_host_put(h, &pdu, pattern, len);
}

static void other_step(struct iscsi_host *h, enum step step)
{
	static const uint8_t opcode[] = { [NOP] = ISCSI_NOP_OUT,
		[TEXT] = ISCSI_TEXT_REQ,
		[TASK] = ISCSI_TASK_REQ,
		[LOGOUT] = ISCSI_LOGOUT_REQ };
	static const char *const texts[] = { "SendTargets=All", "SendTargets=", ASK_ONE,
		"SendTargets=iqn.none", "MaxRecvDataSegmentLength=512", "" };
	const char *text = texts[script_byte(&script) % (sizeof(texts) / sizeof(*texts))];
	struct iscsi_task_req req = { .opcode = opcode[step],
		.flags = ISCSI_FINAL,
		.itt = put_be32(h->itt++),
		.ref_itt = put_be32(ISCSI_NO_TAG),
		.cmdsn = put_be32(h->cmdsn) };
	uint32_t len = step == TEXT ? (uint32_t)strlen(text) + 1 : 0;

	if (step == TASK) {
		req.flags |= (uint8_t)FIELD(ISCSI_ABORT_TASK, 2, 3, 4, 5, 6, 7, 8, 0, 0x7f);
		req.ref_itt = put_be32(h->itt - 2 - script_byte(&script) % 8);
	}
	req.flags ^= (uint8_t)FIELD(0, ISCSI_FINAL, ISCSI_CONTINUE, 1, 2);
	req.ref_itt = put_be32((uint32_t)FIELD(get_be32(req.ref_itt), 1, 0, 77));
	req.itt = put_be32((uint32_t)FIELD(get_be32(req.itt), ISCSI_NO_TAG, 0));
	req.cmdsn = put_be32(h->cmdsn + (uint32_t)FIELD(0, 1, UINT32_MAX));
	len = (uint32_t)FIELD(len, 0, 1, 5, 512, 8192, 8193);
	if (script_byte(&script) & 1)
		req.opcode |= ISCSI_IMMEDIATE;
	else
		h->cmdsn++;
	iscsi_host_put(h, &req,
		step == TEXT && len <= strlen(text) + 1 ? (const void *)text : pattern, len);
}

static void stop_step(void)
{
	struct diag why = { 0 };

	disk->hold = false;
	if (target_stop(target, 3, &why) && why.code != DIAG_TIMEOUT)
		abort();
	start_target();
}

static void pass_step(void)
{
	static const uint32_t ms[] = { 1, 1200, 7000, STALL_MS + 1000 };

	turns(1);
	/* A disk that holds on looks at each millisecond whether it still does. */
	pass(ms[disk->hold ? 0 : script_byte(&script) % 4]);
}

static void step_on(struct iscsi_host *h, unsigned i, enum step step)
{
	uint8_t bytes[256];
	uint8_t how;

	switch (step) {
	case LOGIN:
		how = script_byte(&script);
		log_in(h, how & 4 ? 0 : (uint8_t)i, how & 1, how & 2);
		break;
	case COMMAND:
	case LIST:
		command_step(h, step == LIST);
		break;
	case WRITE:
	case WRITE_INSIDE:
	case READ:
		rw_step(h, step);
		break;
	case GIVE:
		give_step(h);
		break;
	case GIVE_ALL:
		for (unsigned n = 0; n < 20; n++) {
			turns(1);
			give_all(h);
		}
		break;
	case VOLUNTEER:
		volunteer_step(h);
		break;
	case NOP:
	case TEXT:
	case TASK:
	case LOGOUT:
		other_step(h, step);
		break;
	case ANY:
		memset(bytes, 0, ISCSI_BHS);
		how = script_byte(&script);
		script_bytes(&script, bytes, how % (ISCSI_BHS + 1));
		iscsi_host_put(h, bytes, pattern, (uint32_t)FIELD(0, 4, 512, 4096));
		h->dirty = true;
		break;
	case RAW:
		how = script_byte(&script);
		iscsi_host_add(h, bytes, script_bytes(&script, bytes, how));
		h->dirty = true;
		break;
	case SPOIL:
		script_spoil(&script, h->out, (uint32_t)h->out_len);
		h->dirty = true;
		break;
	case CLOSE:
		hang_up(i);
		break;
	case DEAF:
		h->deaf = !h->deaf;
		break;
	default:
		break;
	}
}

static void one_step(void)
{
	uint8_t byte = script_byte(&script);
	unsigned i = (byte >> STEP_BITS) % HOSTS;
	enum step step = byte & ((1 << STEP_BITS) - 1);

	switch (step) {
	case DIAL:
		dial(i);
		break;
	case HOLD:
		disk->hold = !disk->hold;
		break;
	case GROW:
		disk->bdev.lim.size = SIZE;
		target_resized(target, &disk->bdev);
		break;
	case PASS:
		pass_step();
		break;
	case STOP:
		stop_step();
		break;
	default:
		if (host[i])
			step_on(host[i], i, step);
	}
}

/* The next step changes what this one has put. */
static bool spoils_next(void)
{
	return script.p < script.end && (*script.p & ((1 << STEP_BITS) - 1)) == SPOIL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t how = size ? data[0] : 0;

	begin(how & SHUFFLED);
	eager = how & EAGER;
	for (unsigned i = 0; i < (how & 3u); i++)
		join(i, how & DISCOVERY && i == 2, how & DIGESTS);
	script = (struct script){ .p = data + !!size, .end = data + size };
	for (unsigned i = 0; i < STEPS && script.p < script.end; i++) {
		one_step();
		if (!spoils_next() && (!(how & BUNDLED) || i % BUNDLE == BUNDLE - 1))
			turns(2);
	}
	turns(4);
	disk->hold = false;
	for (unsigned i = 0; i < HOSTS; i++)
		hang_up(i);
	turns(4);
	honest(how & DIGESTS);
	if (target_stop(target, 5000, NULL))
		abort();
	fake_disk_free(disk);
	loop_free(loop);
	return 0;
}
