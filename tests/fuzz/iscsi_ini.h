/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What iscsi-ini and iser-ini share: requests to a disk, and an account of each connection, which
 * holds the initiator to what the target has sent. Each request ends once, what is over has a
 * reason, and no byte of a buffer that was given back is sent or changed. A read or write succeeds
 * only if the target has said so of this very command, with the data of then. A PDU that breaks a
 * rule ends the session in the same turn of the loop; numbers and window are kept. */
#pragma once
#include "bdev.h"
#include "leap.h"
#include "script.h"
#include "wire/iscsi.h"
#include <assert.h>

#define ROOM  65536
#define GUARD 64
#define EACH  (GUARD + ROOM + GUARD)
#define EDGE  0xee
#define TAKEN 0xdd /* what a buffer is filled with that is its owner's again */
#define LIMIT 3600000000000ull
#define LEAVE 31000000000ull /* longest time for a logout that the target asks for */
#define CONNS 64
#define OUT   80
#define PONGS 16
#define AHEAD 65536      /* furthest leap of a status number */
#define ABORT 0x80000000 /* in the task tag of an abort */

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
#define REQUESTS (sizeof(what) / sizeof(what[0]))

static struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	int dones;
	/* of its last command */
	bool granted;   /* the target has said that all is well */
	uint32_t owed;  /* bytes that have not come yet, where the carrier counts them */
	uint32_t moved; /* bytes of what it reads that the target has moved: those in image */
	uint8_t image[ROOM];
} request[REQUESTS];

struct out { /* a command */
	uint32_t itt, len;
	struct request *of; /* NULL: none of ours */
	bool reads, writes, aborting;
	/* TCP only. over: answered during a burst; at: bytes moved; sn: next DataSN or R2TSN of the
	 * target; unsent: queued Data-Outs */
	bool over;
	uint32_t at, sn, datasn;
	unsigned unsent;
	struct {
		uint32_t ttt, end;
	} burst[2]; /* that the initiator sends, if it has begun to, and has to send next */
	unsigned bursts;
	bool begun; /* a burst begins once all before it has left */
};

/* Of a connection in the full feature phase, after a good login. */
struct known {
	struct loop *loop; /* NULL: not yet */
	bool ordered;      /* by the carrier: status numbers have no gaps */
	uint32_t first_burst;
	bool immediate;
	uint32_t exp_statsn, max_cmdsn; /* by what was sent to the initiator */
	uint32_t settled, acked; /* the former: before the clock last went on; by the initiator */
	uint64_t settled_ns, leave_ns; /* leave: when a logout was asked for, 0: not */
	struct out out[OUT];
	unsigned outs, aborts;
	uint32_t answered, ping; /* task tags */
	bool pinged, broken;     /* by the target; nothing more comes */
	uint32_t pong[PONGS];    /* answers that are due, by their tags */
	unsigned pongs;
	struct loop_work is_over;
};

static volatile int over;
static unsigned done_count;
static struct script script;
static uint8_t good; /* answers in the opening, in the upper bits: then to requests */

/* ---- Of each carrier. */

static bool is_gone(struct known *);
/* Of PDUs that only this one has: false: it has to end the session; what it changes. */
static bool is_legal_own(const struct known *, const struct iscsi_bhs *, uint32_t len);
static void note_own(struct known *, const struct iscsi_bhs *, const uint8_t *data, uint32_t len);

/* ---- What the initiator may make of it. */

/* What it writes: never TAKEN. */
static const uint8_t *pattern(const struct request *r)
{
	static uint8_t bytes[ROOM + REQUESTS];

	for (unsigned i = 0; !bytes[1] && i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 191);
	return bytes + (r - request);
}

static struct request *find_request(const uint8_t *cdb)
{
	bool shorter = cdb[0] == 0x28 || cdb[0] == 0x2a, reads = cdb[0] == 0x28 || cdb[0] == 0x88;
	uint64_t lba = shorter ? wire_be(cdb + 2, 4) : wire_be(cdb + 2, 8);
	uint32_t blocks = (uint32_t)(shorter ? wire_be(cdb + 7, 2) : wire_be(cdb + 10, 4));

	if (!reads && cdb[0] != 0x2a && cdb[0] != 0x8a)
		return NULL;
	for (unsigned i = 0; i < REQUESTS; i++)
		if (what[i].kind == (reads ? IO_READ : IO_WRITE) && what[i].off == lba * 512 &&
			what[i].len == blocks * 512)
			return &request[i];
	abort();
}

static bool before(uint32_t a, uint32_t b) /* RFC 1982 */
{
	return a != b && b - a < UINT32_C(1) << 31;
}

/* Without an answer; NULL: not in flight. */
static struct out *find_out(const struct known *known, uint32_t itt)
{
	for (unsigned i = 0; i < known->outs; i++)
		if (known->out[i].itt == itt && !known->out[i].over)
			return (struct out *)&known->out[i];
	return NULL;
}

/* It uses up a status number. */
static bool is_numbered(const struct iscsi_bhs *bhs)
{
	switch (ISCSI_OPCODE(bhs->opcode)) {
	case ISCSI_DATA_IN:
		return ((const struct iscsi_data_in *)bhs)->flags & ISCSI_STATUS;
	case ISCSI_NOP_IN:
		return get_be32(bhs->itt) != ISCSI_NO_TAG;
	default:
		return ISCSI_OPCODE(bhs->opcode) != ISCSI_R2T;
	}
}

/* False: it has to end the session, or does so. */
static bool is_legal(
	const struct known *known, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)bhs;
	uint32_t itt = get_be32(bhs->itt), statsn = get_be32(rsp->statsn);

	if (is_numbered(bhs) && (known->ordered || !before(statsn, known->exp_statsn)) &&
		statsn - known->exp_statsn > (known->ordered ? 0 : AHEAD))
		return false;
	switch (ISCSI_OPCODE(bhs->opcode)) {
	case ISCSI_SCSI_RSP:
		return find_out(known, itt) && (len < 2 || wire_be(data, 2) <= len - 2) &&
		       is_legal_own(known, bhs, len);
	case ISCSI_NOP_IN:
		return itt == ISCSI_NO_TAG || (known->pinged && itt == known->ping);
	case ISCSI_ASYNC:
		return true;
	default:
		return is_legal_own(known, bhs, len);
	}
}

/* When the clock has advanced, the initiator must have sent all that was due before. */
static void settle(struct known *known)
{
	if (leap_now != known->settled_ns) {
		known->settled = known->exp_statsn;
		for (unsigned i = 0; i < known->outs; i++)
			assert(!known->out[i].bursts);
		assert(!known->pongs);
	}
	known->settled_ns = leap_now;
}

/* The initiator has seen what ends the session. */
static void is_over(struct loop_work *work)
{
	assert(is_gone(container_of(work, struct known, is_over)));
}

static void breach(struct known *known)
{
	known->broken = true;
	known->is_over.run = is_over;
	loop_work_add(known->loop, &known->is_over);
}

/* The command has its answer. What has begun is sent to its end, and what waits is not. */
static void answered(struct known *known, struct out *out, bool granted)
{
	if (out->of)
		out->of->granted = granted;
	known->answered = out->itt;
	out->bursts = out->begun;
	if (out->bursts)
		out->over = true;
	else
		*out = known->out[--known->outs];
}

static bool is_good(const struct iscsi_scsi_rsp *rsp)
{
	return !rsp->status && !(rsp->flags & ISCSI_OVERFLOW) &&
	       !(rsp->flags & ISCSI_UNDERFLOW && get_be32(rsp->residual));
}

static void note_async(struct known *known, const struct iscsi_async *async)
{
	if (async->event == ISCSI_ASYNC_LOGOUT && !known->leave_ns)
		known->leave_ns = leap_now;
	if (async->event == ISCSI_ASYNC_DROP || async->event == ISCSI_ASYNC_DROP_ALL)
		breach(known);
}

static void note_nop(struct known *known, const struct iscsi_nop *nop)
{
	if (get_be32(nop->itt) != ISCSI_NO_TAG)
		known->pinged = false;
	else if (get_be32(nop->ttt) != ISCSI_NO_TAG && known->pongs < PONGS)
		known->pong[known->pongs++] = get_be32(nop->ttt);
}

/* The target has sent it, and the initiator sees it in this turn. */
static void note(
	struct known *known, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)bhs;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	uint32_t itt = get_be32(bhs->itt), statsn = get_be32(rsp->statsn),
		 exp = get_be32(rsp->exp_cmdsn), max = get_be32(rsp->max_cmdsn);

	if (!is_legal(known, bhs, data, len)) {
		breach(known);
		return;
	}
	settle(known);
	if (is_numbered(bhs) && !before(statsn, known->exp_statsn))
		known->exp_statsn = statsn + 1;
	if (!before(max, exp - 1) && before(known->max_cmdsn, max))
		known->max_cmdsn = max;
	if (opcode == ISCSI_SCSI_RSP)
		answered(known, find_out(known, itt), !rsp->response && is_good(rsp));
	else if (opcode == ISCSI_NOP_IN)
		note_nop(known, (const void *)bhs);
	else if (opcode == ISCSI_ASYNC)
		note_async(known, (const void *)bhs);
	else
		note_own(known, bhs, data, len);
}

static void check_command(struct known *known, const struct iscsi_scsi_cmd *cmd)
{
	uint32_t itt = get_be32(cmd->itt), now = get_be24(cmd->data_len);
	struct out *out = &known->out[known->outs];

	assert(now <= known->first_burst && (!now || known->immediate));
	assert(known->outs < OUT && !find_out(known, itt));
	assert(!known->leave_ns || known->leave_ns == leap_now);
	*out = (struct out){ .itt = itt,
		.len = get_be32(cmd->expected),
		.of = find_request(cmd->cdb),
		.reads = cmd->flags & ISCSI_CMD_READ,
		.writes = cmd->flags & ISCSI_CMD_WRITE };
	known->outs++;
	if (!out->of)
		return;
	out->of->granted = false;
	out->of->moved = out->of->owed = 0;
}

static void check_nop(struct known *known, const struct iscsi_nop *nop)
{
	if (get_be32(nop->itt) != ISCSI_NO_TAG) {
		known->pinged = true;
		known->ping = get_be32(nop->itt);
		return;
	}
	assert(known->pongs && get_be32(nop->ttt) == known->pong[0]);
	memmove(known->pong, known->pong + 1, --known->pongs * sizeof(known->pong[0]));
}

/* The initiator has sent it, and knows what was sent to it before the clock last went on. */
static void check_pdu(struct known *known, const struct iscsi_bhs *bhs)
{
	const struct iscsi_scsi_cmd *cmd = (const void *)bhs;
	const struct iscsi_task_req *task = (const void *)bhs;
	uint32_t exp = get_be32(cmd->exp_statsn);
	struct out *out;

	settle(known);
	assert(!before(known->exp_statsn, exp) && !before(exp, known->settled) &&
		!before(exp, known->acked));
	known->acked = exp;
	assert(!known->leave_ns || leap_now - known->leave_ns <= LEAVE);
	if (ISCSI_OPCODE(cmd->opcode) == ISCSI_DATA_OUT)
		return;
	assert(cmd->opcode & ISCSI_IMMEDIATE || !before(known->max_cmdsn, get_be32(cmd->cmdsn)));
	switch (ISCSI_OPCODE(cmd->opcode)) {
	case ISCSI_SCSI_CMD:
		check_command(known, cmd);
		break;
	case ISCSI_NOP_OUT:
		check_nop(known, (const void *)bhs);
		break;
	case ISCSI_TASK_REQ:
		assert(get_be32(task->itt) == (get_be32(task->ref_itt) | ABORT));
		known->aborts++;
		out = find_out(known, get_be32(task->ref_itt));
		if (out)
			out->aborting = true;
		break;
	default:
		break;
	}
}

static void known_begin(struct known *known, struct loop *loop, uint32_t statsn, uint32_t max_cmdsn)
{
	known->loop = loop;
	known->acked = known->settled = known->exp_statsn = statsn;
	known->max_cmdsn = max_cmdsn;
}

/* ---- The initiator. */

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	assert(!r->dones++ && io->status <= 0);
	if (!io->status && io->kind <= IO_WRITE && io->len)
		assert(r->granted && !r->owed);
	if (!io->status && io->kind == IO_READ)
		assert(!memcmp(r->buf.p, r->image, r->moved));
	memset(r->buf.p, TAKEN, ROOM);
	over = ++done_count == REQUESTS;
}

static void wait_for(struct loop *loop)
{
	if (!loop_wait(loop, &over, loop_clock() + LIMIT))
		abort();
}

static void submit_all(struct lane *lane, struct pool *pool)
{
	over = 0;
	done_count = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *r = &request[i];

		r->dones = 0;
		r->granted = true; /* as far as is known */
		r->owed = r->moved = 0;
		r->buf = pool_buf(pool, i);
		memset(r->buf.p, EDGE, EACH);
		r->buf.p += GUARD;
		memcpy(r->buf.p, pattern(r), ROOM);
		r->io = (struct io){ .kind = what[i].kind,
			.flags = what[i].flags,
			.off = what[i].off,
			.len = what[i].len,
			.buf = what[i].kind <= IO_WRITE ? &r->buf : NULL,
			.done = done,
			.lower = r->lower };
		if (lane->bdev->lim.max[r->io.kind] < r->io.len)
			r->io.kind = IO_FLUSH, r->io.off = r->io.len = 0, r->io.flags = 0;
		bdev_submit(lane, &r->io);
	}
}

static void check_buffers(struct pool *pool)
{
	static uint8_t all[EACH];

	memset(all, EDGE, EACH);
	memset(all + GUARD, TAKEN, ROOM);
	for (unsigned i = 0; i < REQUESTS; i++)
		assert(!memcmp(pool_buf(pool, i).p, all, EACH));
}

static void lane_changed(struct lane *lane)
{
	over = lane->state != LANE_OPENING;
}

static void disk_changed(struct bdev *disk)
{
	over = disk->state != BDEV_OPENING;
}

static bool used; /* a lane, which was still up in the end */

static void use_lane(struct loop *loop, struct bdev *disk)
{
	volatile int never = 0;
	struct pool *pool;
	struct lane *lane;

	over = 0;
	if (disk->ops->lane(&lane, disk, loop, NULL) || pool_new(&pool, EACH, REQUESTS, NULL))
		abort();
	lane->changed = lane_changed;
	over = lane->state != LANE_OPENING;
	wait_for(loop);
	if (lane->state == LANE_UP && !lane_map(lane, pool, NULL)) {
		script.good = good >> 5;
		submit_all(lane, pool);
		lane->changed = NULL;
		wait_for(loop);
		loop_wait(loop, &never, loop_clock() + 60000000000ull);
		check_buffers(pool);
		used |= lane->state == LANE_UP;
		lane_unmap(lane, pool);
	}
	assert(lane->state != LANE_DOWN || lane->why.text[0]);
	lane->ops->free(lane);
	pool_free(pool);
}

/* Open the disk, and use it if it is the target's. */
static void use_disk(struct loop *loop, const char *text, uint64_t size)
{
	static const struct bdev_env env = {
		.write = true, .timeout_ms = 60000, .initiator = "iqn.x:me"
	};
	struct bdev *disk;
	struct uri uri;

	good = script_byte(&script);
	script.good = good & 31;
	over = 0;
	if (uri_parse(&uri, text, NULL) ||
		bdev_start(&disk, loop, &uri, &env, disk_changed, NULL, NULL))
		abort();
	over = disk->state != BDEV_OPENING;
	wait_for(loop);
	assert(disk->state != BDEV_DOWN || (disk->why.text[0] && disk->why.err));
	disk->changed = NULL;
	if (disk->state == BDEV_UP) {
		assert(disk->lim.max[IO_READ] && disk->lim.depth &&
			!(disk->lim.size % disk->lim.block));
		if (disk->lim.block == 512 && disk->lim.max[IO_READ] >= ROOM &&
			disk->lim.size == size)
			use_lane(loop, disk);
	}
	disk->ops->free(disk);
}
