/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* Hosts that know the protocol and break it, at the NVMe target over TCP and software iWARP: the
 * input is a list of steps, each on one of a few connections. Steps are well-formed commands,
 * transfers and disconnects; each of their fields is right, or a wrong one of the input's choice.
 * The clock is fake, so that time limits are part of it. Afterwards an honest host must find the
 * target as it should be, and nothing may leak. */
/* Link: leap */
#include "disk.h"
#include "leap.h"
#include "raw_host.h"
#include "script.h"
#include "serve.h"
#include <sys/socket.h>

#define NQN      "nqn.t"
#define HOST     "nqn.host"
#define SIZE     (1u << 20)
#define DEPTH    8
#define HOSTS    8 /* connections of the script */
#define MOST     4 /* connections that the target takes */
#define STEPS    200
#define TURNS    10000 /* until a reply must have come */
#define STALL_MS 10000
#define SECOND   1000000000ull
#define PIECE    32768 /* transfers are cut at multiples of it */
#define BLOCKS   (sizeof(pattern) / 512)
#define INSIDE   4096 /* bytes of data in a capsule, at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The low bits of a step; the high ones choose the connection. */
enum step {
	DIAL,
	HELLO,
	CONNECT,
	PROPERTY_SET,
	PROPERTY_GET,
	IDENTIFY,
	SET_FEATURE,
	GET_FEATURE,
	LOG,
	ABORT,
	EVENT,
	KEEP_ALIVE_OR_RESERVE,
	READ,
	WRITE,
	WRITE_INSIDE,
	COMPARE,
	COMPARE_INSIDE,
	ZERO,
	TRIM,
	FLUSH,
	DISCONNECT,
	GIVE,
	GIVE_ALL,
	ANY,
	RAW,
	SPOIL,
	CLOSE,
	DEAF,
	HOLD,
	GROW,
	PASS,
	STOP,
};
#define STEP_BITS 5

/* The first byte of an input: how far honest steps have come on the first connections. */
enum prelude { NOTHING, ADMIN, ONE_QUEUE, TWO_QUEUES }; /* its two lowest bits */
enum { IWARP = 4, SHUFFLED = 8, DISCOVERY = 16, BUNDLED = 32 };
/* DISCOVERY: also a discovery controller, on the last connection. BUNDLED: steps leave together. */
#define BUNDLE 4

struct host {
	struct raw_host *raw;
	unsigned asked; /* commands */
	bool dirty;     /* its bytes may hold any number of commands */
};

static struct loop *loop;
static struct fake_disk *disk;
static struct target *target;
static struct addr bound;
static struct host host[HOSTS];
static struct script script;
static uint16_t cntlid; /* of the first controller */
static uint16_t cid;
static struct nvmf_connect_data asked; /* by the last Connect without data in its capsule */
static uint8_t pattern[5 * PIECE];     /* more than a buffer of the target */

static void start_target(void)
{
	struct target_options opt = { .disks = 1,
		.listens = 1,
		.nloops = 1,
		.depth = DEPTH,
		.buffers = 4,
		.connections = MOST,
		.stall_ms = STALL_MS };
	struct addr *at = &opt.listen[0].at;

	opt.disk[0] =
		(struct target_disk_options){ .bdev = &disk->bdev, .name = NQN, .serial = "S1" };
	opt.loops = &loop;
	at->ss.ss_family = AF_UNIX; /* without a name it gets one that no file system knows */
	at->len = sizeof(at->ss.ss_family);
	opt.listen[0].transports = TRANSPORT_TCP | TRANSPORT_IWARP;
	opt.listen[0].no_crc = true;
	if (nvme_serve(&target, loop, &opt, 1000, NULL))
		abort();
	target_transports(target, 0, &bound);
}

/* The same in each piece of a transfer, however long it is. */
static void fill_pattern(void)
{
	for (unsigned i = 0; i < PIECE; i++)
		pattern[i] = (uint8_t)(i * 31 + i / 509);
	for (unsigned i = PIECE; i < sizeof(pattern); i += PIECE)
		memcpy(pattern + i, pattern, PIECE);
}

static void begin(bool shuffled)
{
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	disk = fake_disk_new(loop, SIZE, 512);
	disk->bdev.lim.size = SIZE / 2;
	disk->seed = shuffled;
	cid = 0;
	fill_pattern();
	start_target();
}

static void set_access(enum access access)
{
	enum access before;

	target_set_access(target, 1, access, &before);
}

static void check(const struct host *h)
{
	if (!h->dirty && h->raw->replies > h->asked)
		abort();
}

static void turn(void)
{
	script_turn(loop);
	for (unsigned i = 0; i < HOSTS; i++) {
		if (!host[i].raw)
			continue;
		raw_poll(host[i].raw);
		check(&host[i]);
	}
}

static void turns(unsigned count)
{
	while (count--)
		turn();
}

static void pass(uint32_t ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * (SECOND / 1000));
}

/* --- honest steps */

static void dial(struct host *h, bool iwarp)
{
	raw_close(h->raw);
	*h = (struct host){ .raw = raw_dial(&bound, iwarp) };
}

static void command(struct host *h, struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	sqe->cid = put_le16(cid++);
	raw_command(h->raw, sqe, data, len);
	h->asked++;
}

static void await(const bool *up)
{
	for (unsigned i = 0; !*up; i++) {
		if (i == TURNS)
			abort();
		turn();
	}
}

/* Until all commands are answered. */
static void await_answers(struct host *h)
{
	for (unsigned i = 0; h->raw->replies < h->asked; i++) {
		if (i == TURNS || h->raw->over)
			abort();
		turn();
		while (h->raw->transfers)
			raw_give(h->raw, 0, pattern, 0, false);
	}
}

/* The last one must have succeeded. */
static void answered(struct host *h)
{
	await_answers(h);
	if (get_le16(h->raw->reply.status))
		abort();
}

static void reserve(struct host *h, uint8_t opcode, uint32_t cdw10, uint64_t key, uint64_t other)
{
	struct nvme_reserve_keys keys = { put_le64(key), put_le64(other) };
	uint32_t len = opcode == NVME_IO_RESERVE_RELEASE ? 8 : sizeof(keys);
	struct nvme_sqe sqe = { .opcode = opcode,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32(cdw10),
		.sgl = { .type = NVME_SGL_OFFSET, .block.len = put_le32(len) } };

	command(h, &sqe, &keys, len);
}

/* Whatever hosts have reserved and left behind, another one can register and clear it. */
static void clear_reservations(struct host *h)
{
	reserve(h, NVME_IO_RESERVE_REGISTER, NVME_RESERVE_REPLACE | NVME_RESERVE_IEKEY, 0, 77);
	await_answers(h);
	reserve(h, NVME_IO_RESERVE_REGISTER, NVME_RESERVE_REGISTER, 0, 77);
	answered(h);
	reserve(h, NVME_IO_RESERVE_RELEASE, NVME_RESERVE_CLEAR, 77, 0);
	answered(h);
}

static void join(struct host *h, bool iwarp, uint16_t qid, uint16_t controller, const char *nqn)
{
	struct nvmf_connect ask = { .qid = qid,
		.depth = DEPTH,
		.cntlid = qid ? controller : NVMF_CNTLID_ANY,
		.hostid[15] = 1,
		.hostnqn = HOST };
	struct nvme_sqe enable =
		raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);

	memcpy(ask.subnqn, nqn, strlen(nqn));
	dial(h, iwarp);
	raw_hello(h->raw, qid, DEPTH);
	await(&h->raw->up);
	raw_connect(h->raw, &ask);
	h->asked++;
	answered(h);
	if (qid)
		return;
	cntlid = (uint16_t)get_le64(h->raw->reply.result);
	command(h, &enable, NULL, 0);
	answered(h);
}

static void prelude(uint8_t how)
{
	unsigned queues = how & 3;

	for (unsigned i = 0; i < queues; i++)
		join(&host[i], how & IWARP, (uint16_t)i, cntlid, NQN);
	if (how & DISCOVERY)
		join(&host[HOSTS - 1], how & IWARP, 0, 0, NVMF_DISCOVERY_NQN);
}

static void leave_all(void)
{
	for (unsigned i = 0; i < HOSTS; i++) {
		raw_close(host[i].raw);
		host[i] = (struct host){ 0 };
	}
}

static bool deserted(void)
{
	struct target_status status;

	target_get_status(target, &status);
	return !status.clients && !status.queues;
}

static void honest(bool iwarp)
{
	struct host *admin = &host[0], *io = &host[1];
	struct nvme_sqe sqe;

	for (unsigned i = 0; !deserted(); i++) {
		if (i == 100)
			abort();
		pass(10);
	}
	fill_pattern();
	join(admin, iwarp, 0, 0, NQN);
	join(io, iwarp, 1, cntlid, NQN);
	clear_reservations(io);
	sqe = raw_rw(io->raw, NVME_IO_WRITE, 0, 16, BLOCKS);
	command(io, &sqe, NULL, 0);
	answered(io);
	for (unsigned i = 0; i < BLOCKS * 512; i += PIECE)
		if (memcmp(disk->bytes + 16 * 512 + i, pattern, PIECE))
			abort();
	sqe = raw_rw(io->raw, NVME_IO_READ, 0, 16, 8);
	command(io, &sqe, NULL, 0);
	answered(io);
	if (!iwarp && memcmp(io->raw->data, pattern, 4096))
		abort();
	leave_all();
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

static const void *some_data(void)
{
	switch (script_byte(&script) % 4) {
	case 1:
		memcpy(pattern, &asked, sizeof(asked));
		break;
	case 2:
		return disk->bytes;
	case 3:
		return disk->bytes + 512;
	}
	return pattern;
}

/* Fields are read one by one: compilers differ in the order of arguments. */
static void connect_step(struct host *h)
{
	struct nvmf_connect ask = { .qid = (uint16_t)FIELD(0, 1, 2, 3, 64, 65, 0xffff) };
	struct nvmf_connect_sqe connect;
	struct nvmf_connect_data data;
	struct nvme_sqe sqe;
	uint8_t names;

	ask.depth = (uint16_t)FIELD(DEPTH, 1, 2, 9, 1000);
	ask.kato_ms = (uint32_t)FIELD(0, 1000, 5000, UINT32_MAX);
	ask.cntlid = ask.qid ? cntlid : NVMF_CNTLID_ANY;
	ask.cntlid = (uint16_t)FIELD(ask.cntlid, NVMF_CNTLID_ANY, 0, 1, 2, 0xfff0);
	names = script_byte(&script);
	strcpy(ask.subnqn, names & 1 ? NVMF_DISCOVERY_NQN : names & 2 ? "nqn.other" : NQN);
	strcpy(ask.hostnqn, names & 4 ? "nqn.stranger" : HOST);
	ask.hostid[0] = names & 8;
	ask.hostid[15] = !(names & 64);
	ask.no_sqfc = names & 16;
	nvmf_connect_put(&connect, &data, &ask);
	connect.recfmt = put_le16((uint16_t)FIELD(0, 1));
	memcpy(&sqe, &connect, sizeof(sqe));
	if (names & 32) { /* the data comes by transfer */
		asked = data;
		sqe.sgl = raw_sgl(h->raw, (uint32_t)FIELD(sizeof(data), 0, 1, 512, 4096, 131072));
		command(h, &sqe, NULL, 0);
		return;
	}
	sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET,
		.block.len = put_le32((uint32_t)FIELD(sizeof(data), 0, 512, 4096)) };
	command(h, &sqe, &data, (uint32_t)FIELD(sizeof(data), 0, 512, 1023));
}

static void property_step(struct host *h, bool set)
{
	static const uint32_t on = NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES;
	uint32_t offset = (uint32_t)FIELD(
		set ? NVME_CC : NVME_CSTS, NVME_CAP, NVME_VS, NVME_CC, NVME_CSTS, 0x18, UINT32_MAX);
	uint64_t value = FIELD(on, 0, on | NVME_CC_SHN_NORMAL, on | 2u << 14, NVME_CC_EN,
		on | NVME_CC_CSS_ALL, UINT32_MAX);
	struct nvme_sqe sqe = raw_property(set, offset, value);

	command(h, &sqe, NULL, 0);
}

static void admin_step(struct host *h, enum step step)
{
	static const uint8_t opcode[] = {
		[IDENTIFY] = NVME_ADMIN_IDENTIFY,
		[SET_FEATURE] = NVME_ADMIN_SET_FEATURES,
		[GET_FEATURE] = NVME_ADMIN_GET_FEATURES,
		[LOG] = NVME_ADMIN_GET_LOG,
		[ABORT] = NVME_ADMIN_ABORT,
		[EVENT] = NVME_ADMIN_ASYNC_EVENT,
		[KEEP_ALIVE_OR_RESERVE] = NVME_ADMIN_KEEP_ALIVE,
	};
	struct nvme_sqe sqe = { .opcode = opcode[step], .flags = NVME_PSDT_SGL };
	uint32_t len = 0, cdw10 = 0;

	switch (step) {
	case IDENTIFY:
		cdw10 = (uint32_t)FIELD(NVME_CNS_CTRL, 0, 2, 3, 6, 8, 0x10, 0x11, 0x1f);
		sqe.nsid = put_le32((uint32_t)FIELD(1, 0, 2, UINT32_MAX));
		len = (uint32_t)FIELD(4096, 0, 512, 8192);
		break;
	case SET_FEATURE:
	case GET_FEATURE:
		cdw10 = (uint32_t)FIELD(
			NVME_FEATURE_ASYNC_EVENT, 1, 6, 7, 0xf, 0x81, 0x20, 1u << 31, 0x82, 0x83);
		sqe.nsid = put_le32((uint32_t)FIELD(1, 0, 2, UINT32_MAX));
		sqe.cdw11 = put_le32(
			(uint32_t)FIELD(NVME_EVENT_NS_ATTR | NVME_EVENT_ANA | NVME_EVENT_DISC_LOG,
				0, 1, 1000, UINT32_MAX, NVME_RESERVE_NOTICES));
		len = cdw10 == NVME_FEATURE_HOST_ID ? 16 : 0;
		break;
	case LOG:
		len = (uint32_t)FIELD(1024, 4, 16, 512, 4096, 131072, 1 << 20);
		cdw10 = (uint32_t)FIELD(NVME_LOG_DISCOVERY, 1, 2, 3, 4, 5, NVME_LOG_ANA,
				NVME_LOG_ANA | NVME_LOG_ANA_RGO, NVME_LOG_RESERVATION) |
			(len / 4 - 1) << 16;
		sqe.cdw11 = put_le32((len / 4 - 1) >> 16);
		sqe.cdw12 = put_le32((uint32_t)FIELD(0, 4, 512, 1020, 1024, UINT32_MAX));
		break;
	case ABORT:
		cdw10 = script_byte(&script) % 4;
		cdw10 |= (uint32_t)(uint16_t)(cid - 1 - script_byte(&script) % 16) << 16;
		break;
	default:
		break;
	}
	sqe.cdw10 = put_le32(cdw10);
	sqe.sgl = raw_sgl(h->raw, len);
	command(h, &sqe, NULL, 0);
}

static void io_step(struct host *h, enum step step)
{
	static const uint8_t opcode[] = {
		[READ] = NVME_IO_READ,
		[WRITE] = NVME_IO_WRITE,
		[WRITE_INSIDE] = NVME_IO_WRITE,
		[COMPARE] = NVME_IO_COMPARE,
		[COMPARE_INSIDE] = NVME_IO_COMPARE,
		[ZERO] = NVME_IO_WRITE_ZEROES,
		[FLUSH] = NVME_IO_FLUSH,
	};
	bool inside = step == WRITE_INSIDE || step == COMPARE_INSIDE;
	uint64_t blocks = FIELD(8, 1, 2, 16, 64, 65, 128, 129, 256, 257, 600, 2048, 65536);
	uint64_t lba = FIELD(0, 1, 8, 1000, 1016, 1024, 2047, 1ull << 40, UINT64_MAX, 1ull << 63);
	uint32_t flags = (uint32_t)FIELD(0, NVME_RW_FUA, NVME_WZ_DEAC, NVME_RW_FUA | NVME_WZ_DEAC);
	struct nvme_sqe sqe = raw_rw(h->raw, opcode[step], 0, lba, (uint32_t)blocks);
	const void *data = inside ? some_data() : NULL;
	uint32_t len = (uint32_t)blocks * 512;

	sqe.nsid = put_le32((uint32_t)FIELD(1, 0, 2, UINT32_MAX));
	sqe.cdw12 = put_le32((uint32_t)(blocks - 1) | flags);
	if (step == ZERO || step == FLUSH) {
		sqe.sgl = (struct nvme_sgl){ 0 };
	} else if (inside) {
		sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET };
		sqe.sgl.addr = put_le64(FIELD(0, 8, 4096));
		sqe.sgl.block.len = put_le32((uint32_t)FIELD(len, 0, len - 1, len + 512));
		len = (uint32_t)FIELD(len, 0, 511, INSIDE);
		command(h, &sqe, data, len < INSIDE ? len : INSIDE);
		return;
	} else {
		sqe.sgl = raw_sgl(h->raw, (uint32_t)FIELD(len, 0, 1, len + 512, 0xffffff));
	}
	command(h, &sqe, NULL, 0);
}

static void trim_step(struct host *h)
{
	unsigned ranges = (unsigned)FIELD(1, 2, 3, 256);
	struct nvme_dsm_range range[4] = { 0 };
	struct nvme_sqe sqe = raw_rw(h->raw, NVME_IO_DSM, 0, ranges - 1, 1);

	for (unsigned i = 0; i < 4; i++) {
		range[i].lba = put_le64(FIELD(8 * i, 0, 1024, UINT64_MAX));
		range[i].blocks = put_le32((uint32_t)FIELD(8, 0, 1, 1016, UINT32_MAX));
	}
	sqe.cdw11 = put_le32((uint32_t)FIELD(NVME_DSM_DEALLOCATE, 0, UINT32_MAX));
	sqe.cdw12 = put_le32(0);
	memcpy(pattern, range, sizeof(range)); /* for those that come by transfer */
	if (ranges > 4 || script_byte(&script)) {
		sqe.sgl = raw_sgl(h->raw, (uint32_t)FIELD(ranges * 16, 0, 15, 4096));
		command(h, &sqe, NULL, 0);
		return;
	}
	sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(ranges * 16) };
	command(h, &sqe, range, ranges * 16);
}

static void reserve_step(struct host *h)
{
	uint8_t opcode = (uint8_t)FIELD(NVME_IO_RESERVE_ACQUIRE, NVME_IO_RESERVE_REGISTER,
		NVME_IO_RESERVE_RELEASE, NVME_IO_RESERVE_REPORT);
	uint32_t cdw10 = (uint32_t)FIELD(0, 1, 2, 3, NVME_RESERVE_IEKEY, 1u << 30, 3u << 30);
	uint64_t key = FIELD(1, 0, 2, UINT64_MAX), other = FIELD(1, 0, 2, UINT64_MAX);
	struct nvme_reserve_keys keys = { put_le64(key), put_le64(other) };
	struct nvme_sqe sqe = { .opcode = opcode, .flags = NVME_PSDT_SGL };
	uint32_t len;

	cdw10 |= (uint32_t)FIELD(0, 1, 2) | (uint32_t)FIELD(1, 0, 2, 3, 4, 5, 6, 7, 255) << 8;
	sqe.nsid = put_le32((uint32_t)FIELD(1, 0, 2, UINT32_MAX));
	if (opcode == NVME_IO_RESERVE_REPORT) {
		cdw10 = (uint32_t)FIELD(127, 0, 15, 20, 40000, UINT32_MAX);
		sqe.cdw11 = put_le32((uint32_t)FIELD(NVME_RESERVE_EDS, 0));
		sqe.sgl = raw_sgl(h->raw, (uint32_t)FIELD(cdw10 * 4 + 4, 0, 64, 4096));
	} else if (script_byte(&script)) {
		memcpy(pattern, &keys, sizeof(keys));
		sqe.sgl = raw_sgl(h->raw, (uint32_t)FIELD(16, 0, 8, 4096));
	}
	sqe.cdw10 = put_le32(cdw10);
	if (sqe.sgl.type) {
		command(h, &sqe, NULL, 0);
		return;
	}
	len = (uint32_t)FIELD(opcode == NVME_IO_RESERVE_RELEASE ? 8 : 16, 0, 8, 16);
	sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(len) };
	command(h, &sqe, &keys, len);
}

static void disconnect_step(struct host *h)
{
	struct nvme_sqe sqe = raw_property(false, 0, 0);

	((struct nvmf_property_sqe *)(void *)&sqe)->fctype = NVMF_DISCONNECT;
	command(h, &sqe, NULL, 0);
}

static void give_step(struct host *h)
{
	const void *data = some_data();
	unsigned i = script_byte(&script);
	struct raw_transfer *transfer, again;
	uint32_t len;
	uint8_t how;

	if (!h->raw->transfers)
		return;
	i %= h->raw->transfers;
	transfer = &h->raw->transfer[i];
	again = *transfer;
	transfer->cccid ^= (uint16_t)FIELD(0, 1, 0x8000);
	transfer->ttag ^= (uint16_t)FIELD(0, 1, 2, 0x8000);
	transfer->stag ^= (uint32_t)FIELD(0, 1, 0x100);
	transfer->off += FIELD(0, 512, UINT64_MAX - 511, 1ull << 40);
	transfer->len += (uint32_t)FIELD(0, 512, UINT32_MAX - 511);
	transfer->len = transfer->len < sizeof(pattern) ? transfer->len : sizeof(pattern);
	len = (uint32_t)FIELD(0, 1, 512, 4096, 65536);
	how = script_byte(&script);
	raw_give(h->raw, i, data, len, how & 1);
	if (how & 2 && h->raw->transfers < RAW_TRANSFERS)
		h->raw->transfer[h->raw->transfers++] = again;
}

static void give_all_step(struct host *h)
{
	for (unsigned i = 0; i < 40; i++) {
		turn();
		if (h->raw->transfers && !h->raw->transfer[0].len)
			return; /* give_step() has left nothing to give */
		if (h->raw->transfers)
			raw_give(h->raw, 0, pattern, 0, false);
	}
}

static void any_step(struct host *h)
{
	struct nvme_sqe sqe = { .sgl = raw_sgl(h->raw, 4096) };
	uint8_t len = script_byte(&script);

	script_bytes(&script, (uint8_t *)&sqe, len < sizeof(sqe) ? len : sizeof(sqe));
	command(h, &sqe, NULL, 0);
}

static void raw_step(struct host *h)
{
	uint8_t bytes[256];

	raw_bytes(h->raw, bytes, script_bytes(&script, bytes, script_byte(&script)));
	h->dirty = true;
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

	turn();
	/* A disk that holds on looks at each millisecond whether it still does. */
	pass(ms[disk->hold ? 0 : script_byte(&script) % 4]);
}

static void step_on(struct host *h, enum step step)
{
	uint16_t qid;

	switch (step) {
	case HELLO:
		qid = (uint16_t)FIELD(0, 1, 2, 65);
		raw_hello(h->raw, qid, (uint16_t)FIELD(DEPTH, 1, 2, 9, 1000));
		break;
	case CONNECT:
		connect_step(h);
		break;
	case PROPERTY_SET:
	case PROPERTY_GET:
		property_step(h, step == PROPERTY_SET);
		break;
	case IDENTIFY:
	case SET_FEATURE:
	case GET_FEATURE:
	case LOG:
	case ABORT:
	case EVENT:
		admin_step(h, step);
		break;
	case KEEP_ALIVE_OR_RESERVE:
		if (script_byte(&script) & 1)
			reserve_step(h);
		else
			admin_step(h, step);
		break;
	case READ:
	case WRITE:
	case WRITE_INSIDE:
	case COMPARE:
	case COMPARE_INSIDE:
	case ZERO:
	case FLUSH:
		io_step(h, step);
		break;
	case TRIM:
		trim_step(h);
		break;
	case DISCONNECT:
		disconnect_step(h);
		break;
	case GIVE:
		give_step(h);
		break;
	case GIVE_ALL:
		give_all_step(h);
		break;
	case ANY:
		any_step(h);
		break;
	case RAW:
		raw_step(h);
		break;
	case SPOIL:
		script_spoil(&script, h->raw->out, (uint32_t)h->raw->out_len);
		h->dirty = true;
		break;
	case CLOSE:
		raw_close(h->raw);
		*h = (struct host){ 0 };
		break;
	case DEAF:
		h->raw->deaf = !h->raw->deaf;
		break;
	default:
		break;
	}
}

static void one_step(void)
{
	uint8_t byte = script_byte(&script);
	struct host *h = &host[byte >> STEP_BITS];
	enum step step = byte & ((1 << STEP_BITS) - 1);

	switch (step) {
	case DIAL:
		dial(h, script_byte(&script) & 1);
		break;
	case HOLD:
		disk->hold = !disk->hold;
		break;
	case GROW:
		disk->bdev.lim.size = SIZE;
		target_resized(target, &disk->bdev);
		/* the first change is one that refuses nothing */
		set_access((target_get_access(target, 0) + 1) % ACCESSES);
		break;
	case PASS:
		pass_step();
		break;
	case STOP:
		stop_step();
		break;
	default:
		if (h->raw)
			step_on(h, step);
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
	prelude(how);
	script = (struct script){ .p = data + !!size, .end = data + size };
	for (unsigned i = 0; i < STEPS && script.p < script.end; i++) {
		one_step();
		if (!spoils_next() && (!(how & BUNDLED) || i % BUNDLE == BUNDLE - 1))
			turns(2);
	}
	turns(4);
	disk->hold = false;
	leave_all();
	turns(4);
	set_access(ACCESS_OPTIMIZED);
	honest(how & IWARP);
	if (target_stop(target, 5000, NULL))
		abort();
	fake_disk_free(disk);
	loop_free(loop);
	return 0;
}
