/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI targets over TCP that are right for a while and then lie, while a disk is opened and while
 * requests are out, on a clock that leaps: each request ends once, what is over has a reason, no
 * byte of a buffer that was given back is sent or changed, and all of it ends. */
#include "bdev.h"
#include "iscsi_pipe.h"
#include "leap.h"
#include "script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM     65536
#define GUARD    64
#define EACH     (GUARD + ROOM + GUARD)
#define EDGE     0xee
#define TAKEN    0xdd /* what a buffer is filled with that is its owner's again */
#define CONTENT  0x5a
#define LIMIT    3600000000000ull
#define REQUESTS (sizeof(what) / sizeof(what[0]))

static const struct {
	uint8_t kind, flags;
	uint32_t off, len;
} what[] = {
	{ IO_READ, 0, 0, 4096 },
	{ IO_WRITE, 0, 4096, 4096 },
	{ IO_WRITE, IO_FUA, 65536, 65536 },
	{ IO_READ, 0, 8192, 65536 },
	{ IO_TRIM, IO_FUA, 8192, 8192 },
	{ IO_ZERO, 0, 0, 4096 },
	{ IO_FLUSH, 0, 0, 0 },
	{ IO_WRITE, 0, 131072, 512 },
	{ IO_READ, 0, 131072, 512 },
};
static struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	int dones;
} request[REQUESTS];

static struct script script;
static volatile int over;
static unsigned done_count;

/* A PDU with numbers that are right, and fields of the input's choice. */
static void give_made(struct pipe *pipe, uint32_t itt)
{
	static const uint8_t opcodes[] = { ISCSI_NOP_IN, ISCSI_SCSI_RSP, ISCSI_TASK_RSP,
		ISCSI_DATA_IN, ISCSI_DATA_IN, ISCSI_R2T, ISCSI_R2T, ISCSI_ASYNC, ISCSI_REJECT,
		ISCSI_LOGOUT_RSP, ISCSI_TEXT_RSP, ISCSI_LOGIN_RSP };
	struct iscsi_data_in in = { .opcode = opcodes[script_byte(&script) % sizeof(opcodes)] };
	static uint8_t data[2048];
	uint8_t how = script_byte(&script);
	uint32_t len = how & 1 ? script_u16(&script) % sizeof(data) : 0;
	bool counts = in.opcode == ISCSI_NOP_IN    ? how & 4
		      : in.opcode == ISCSI_DATA_IN ? how & 8
						   : in.opcode != ISCSI_R2T;

	in.flags = (how & 2 ? ISCSI_FINAL : 0) | (counts ? ISCSI_STATUS : 0) |
		   (how >> 3 & (ISCSI_UNDERFLOW | ISCSI_OVERFLOW));
	in.status = how & 64 ? script_byte(&script) : 0;
	in.itt = put_be32(how & 4 ? itt : ISCSI_NO_TAG);
	in.ttt = put_be32(how & 128 ? script_byte(&script) : ISCSI_NO_TAG);
	put_numbers(pipe, &in, counts);
	in.offset = put_be32(how & 16 ? script_u16(&script) : 0);
	in.residual = put_be32(how & 32 ? script_u16(&script) : 0);
	if (in.opcode == ISCSI_ASYNC)
		in.datasn = put_be32((uint32_t)script_byte(&script) << 24);
	memset(data, 0, sizeof(data));
	script_bytes(&script, data, how & 32 ? 32 : 0);
	give(pipe, &in, data, len);
}

/* False: it is answered here, if at all. */
static bool step(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	uint32_t from = pipe->to, at;

	if (opcode == ISCSI_DATA_OUT || opcode == ISCSI_SCSI_CMD)
		for (uint32_t i = 0; i < len; i++)
			assert(data[i] != TAKEN);
	switch (script_next(&script)) {
	case SCRIPT_GOOD:
		return true;
	case SCRIPT_SPOILED:
		target_do(pipe, bhs, data, len);
		script_spoil(&script, pipe->in + from, pipe->to - from);
		break;
	case SCRIPT_RAW:
		if (PIPE_LEN - pipe->to > 256)
			pipe->to +=
				script_bytes(&script, pipe->in + pipe->to, script_byte(&script));
		break;
	case SCRIPT_SILENT:
		break;
	case SCRIPT_TWICE:
		target_do(pipe, bhs, data, len);
		at = pipe->to - from;
		if (at > PIPE_LEN - pipe->to)
			break;
		memcpy(pipe->in + pipe->to, pipe->in + from, at);
		pipe->to += at;
		break;
	case SCRIPT_MADE:
		give_made(pipe, get_be32(bhs->itt));
		return script_byte(&script) & 1;
	case SCRIPT_HANG_UP:
		hang_up(pipe);
		break;
	case SCRIPT_FILLED:
		target_do(pipe, bhs, data, len);
		at = from + ISCSI_BHS;
		if (pipe->to > at)
			script_fill(&script, pipe->in + at, pipe->to - at);
		break;
	}
	return false;
}

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	assert(!r->dones++ && io->status <= 0);
	memset(r->buf.p, TAKEN, ROOM);
	over = ++done_count == REQUESTS;
}

static void wait_for(struct loop *loop)
{
	assert(loop_wait(loop, &over, loop_clock() + LIMIT));
}

static void submit_all(struct lane *lane, struct pool *pool)
{
	const struct bdev_limits *lim = &lane->bdev->lim;

	over = 0;
	done_count = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *r = &request[i];

		r->dones = 0;
		r->buf = pool_buf(pool, i);
		memset(r->buf.p, EDGE, EACH);
		r->buf.p += GUARD;
		memset(r->buf.p, CONTENT, ROOM);
		r->io = (struct io){ .kind = what[i].kind,
			.flags = what[i].flags,
			.off = what[i].off,
			.len = what[i].len,
			.buf = what[i].kind <= IO_WRITE ? &r->buf : NULL,
			.done = done,
			.lower = r->lower };
		if (lim->max[r->io.kind] < r->io.len)
			r->io.kind = IO_FLUSH, r->io.off = r->io.len = 0, r->io.flags = 0;
		bdev_submit(lane, &r->io);
	}
}

static void check_buffers(struct pool *pool)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		for (unsigned k = 0; k < EACH; k++)
			assert(pool_buf(pool, i).p[k] ==
				(k < GUARD || k >= GUARD + ROOM ? EDGE : TAKEN));
}

static void lane_changed(struct lane *lane)
{
	over = lane->state != LANE_OPENING;
}

static void disk_changed(struct bdev *disk)
{
	over = disk->state != BDEV_OPENING;
}

static void use_lane(struct loop *loop, struct bdev *disk)
{
	volatile int never = 0;
	struct pool *pool;
	struct lane *lane;

	over = 0;
	if (disk->ops->lane(&lane, disk, loop, NULL) || pool_new(&pool, EACH, REQUESTS, NULL))
		abort();
	lane->changed = lane_changed;
	wait_for(loop);
	if (lane->state == LANE_UP && !lane_map(lane, pool, NULL)) {
		submit_all(lane, pool);
		lane->changed = NULL;
		wait_for(loop);
		loop_wait(loop, &never, loop_clock() + 60000000000ull);
		check_buffers(pool);
		lane_unmap(lane, pool);
	}
	assert(lane->state != LANE_DOWN || lane->why.text[0]);
	lane->ops->free(lane);
	pool_free(pool);
}

static void run(void)
{
	static const struct bdev_env env = {
		.write = true, .timeout_ms = 60000, .initiator = "iqn.x:me"
	};
	static const char *const rests[] = { "/0", "", "/0?depth=1&hdr_digest=1&data_digest=1",
		"/0?data_digest=1" };
	uint8_t how = script_byte(&script), more = script_byte(&script);
	struct bdev *disk;
	struct loop *loop;
	struct uri uri;
	char text[200];

	snprintf(text, sizeof(text), "iscsi://10.0.0.1/iqn.x:t%s", rests[how & 3]);
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri, text, NULL))
		abort();
	target_begin(loop);
	target.digests = how & 2;
	target.initial_r2t = how & 4;
	target.immediate = how & 8;
	target.small = how & 16;
	target.split_status = how & 32;
	target.chunk = how & 64 ? 1 + more : 0;
	if (how & 128) {
		target.r2t = target.piece = 1021;
		target.window = 2;
		target.recv = 4093;
	}
	target.lying = true;
	target.script = step;
	script.good = script_byte(&script) & 31;
	over = 0;
	if (bdev_start(&disk, loop, &uri, &env, disk_changed, NULL, NULL))
		abort();
	wait_for(loop);
	assert(disk->state != BDEV_DOWN || (disk->why.text[0] && disk->why.err));
	disk->changed = NULL;
	if (disk->state == BDEV_UP) {
		assert(disk->lim.max[IO_READ] && disk->lim.depth &&
			!(disk->lim.size % disk->lim.block));
		if (disk->lim.block == 512 && disk->lim.max[IO_READ] >= ROOM &&
			disk->lim.size == PIPE_DISK)
			use_lane(loop, disk);
	}
	disk->ops->free(disk);
	target_end(loop);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	script = (struct script){ .p = data, .end = data + size };
	if (size >= 3)
		run();
	return 0;
}
