/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* NVMe/TCP PDUs and the ANA log: the codec under any bytes, and the whole initiator (attach, one
 * lane, every kind of request) against a target that does what the input says. Each request ends
 * once, and no buffer is touched before or after its time. */
#include "bdev.h"
#include "pipe.h"
#include "protocol.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TURN_MAX 20000 /* turns */
#define GUARD    4096
#define ROOM     65536
#define EACH     (ROOM + 2 * GUARD)
#define UNREAD   0xee
#define EDGE     0x77

struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	int dones;
};

static const struct {
	uint8_t kind, flags;
	uint32_t off, len;
} what[] = {
	{ IO_READ, 0, 0, 4096 },
	{ IO_WRITE, 0, 4096, 24576 },
	{ IO_WRITE, IO_FUA, 65536, 4096 },
	{ IO_READ, 0, 8192, 65536 },
	{ IO_TRIM, IO_FUA, 8192, 8192 },
	{ IO_ZERO, 0, 0, 4096 },
	{ IO_FLUSH, 0, 0, 0 },
	{ IO_WRITE, 0, 0, 65536 },
};
#define REQUESTS (sizeof(what) / sizeof(what[0]))

static struct target target;
static struct loop *loop;
static struct bdev *disk;
static struct lane *lane;
static struct request request[REQUESTS];
static unsigned done_count;

static void check_codec(const uint8_t *data, size_t size)
{
	struct nvme_tcp_pdu pdu, again;
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct diag diag = { 0 };
	unsigned dgst = data[0] & 3;

	if (nvme_tcp_get(&pdu, data + 1, size - 1, dgst, &diag)) {
		if (!diag.err || !diag.text[0])
			abort();
		return;
	}
	if (pdu.data > pdu.plen - pdu.hlen || (pdu.pdo && pdu.pdo + pdu.data > pdu.plen))
		abort();
	again = pdu;
	nvme_tcp_put(out, &again, dgst, 4);
	if (again.data != pdu.data || again.plen > pdu.plen ||
		nvme_tcp_get(&again, out, again.hlen, dgst, &diag))
		abort();
}

/* The ANA log. The first byte is also the group. */
static void check_ana(const uint8_t *data, size_t size)
{
	struct diag diag = { 0 };
	uint8_t state = 0;

	if (nvme_ana_get(&state, data, size, data[0] & 7, &diag)) {
		if (!diag.err || !diag.text[0])
			abort();
	} else if (!state || (state > NVME_ANA_PERSISTENT_LOSS && state != NVME_ANA_CHANGE)) {
		abort();
	}
}

static bool all(const uint8_t *p, uint8_t value, uint32_t len)
{
	while (len && *p == value)
		p++, len--;
	return !len;
}

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	if (r->dones++ || io->status > 0)
		abort();
	if (io->kind == IO_READ && !io->status && all(r->buf.p, UNREAD, io->len))
		abort();
	memset(r->buf.p, TAKEN, ROOM);
	done_count++;
}

static void submit_all(struct pool *pool)
{
	done_count = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *r = &request[i];

		memset(pool->base + i * EACH, EDGE, EACH);
		r->buf = (struct buf){ pool->base + i * EACH + GUARD, ROOM, pool };
		memset(r->buf.p, what[i].kind == IO_READ ? UNREAD : (int)i + 1, ROOM);
		r->io = (struct io){ .kind = what[i].kind,
			.flags = what[i].flags,
			.off = what[i].off,
			.len = what[i].len,
			.done = done,
			.lower = r->lower };
		if (what[i].kind <= IO_WRITE)
			r->io.buf = &r->buf;
		r->dones = 0;
		bdev_submit(lane, &r->io);
	}
}

static void check_buffers(const struct pool *pool)
{
	for (unsigned i = 0; i < REQUESTS; i++) {
		const uint8_t *at = pool->base + i * EACH;

		if (!all(at, EDGE, GUARD) || !all(at + GUARD, TAKEN, ROOM) ||
			!all(at + GUARD + ROOM, EDGE, GUARD))
			abort();
	}
}

static bool used; /* a lane, which was still up in the end */

static void use_lane(void)
{
	struct diag diag = { 0 };
	struct pool *pool;
	int turns_left = TURN_MAX;

	if (pool_new(&pool, EACH, REQUESTS, NULL) || disk->ops->lane(&lane, disk, loop, &diag))
		abort();
	while (lane->state == LANE_OPENING && turns_left--)
		script_turn(loop);
	if (turns_left < 0)
		abort();
	if (lane->state == LANE_UP) {
		if (lane_map(lane, pool, NULL))
			abort();
		submit_all(pool);
		while (done_count < REQUESTS && turns_left--)
			script_turn(loop);
		if (turns_left < 0)
			abort();
		for (int i = 0; i < 2 * IDLE + 10; i++)
			script_turn(loop);
		check_buffers(pool);
		used |= lane->state == LANE_UP;
		lane_unmap(lane, pool);
	}
	if (lane->state == LANE_DOWN && !lane->why.text[0])
		abort();
	lane->ops->free(lane);
	pool_free(pool);
}

static void run(const uint8_t *data, size_t size)
{
	static const struct bdev_env env = {
		.hostnqn = "nqn.me", .write = true, .timeout_ms = 60000
	};
	char text[100];
	struct diag diag = { 0 };
	struct uri uri;
	int turns_left = TURN_MAX;

	snprintf(text, sizeof(text),
		"nvme+tcp://10.0.0.1/t1%s?depth=%u&hdr_digest=%u&data_digest=%u",
		data[3] & 64 ? "" : "/1", data[3] & 32 ? 4 : 64, data[0] & 1, data[0] >> 1 & 1);
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri, text, &diag))
		abort();
	wire_begin(loop, &target, data, data + 4, size - 4);
	if (bdev_start(&disk, loop, &uri, &env, NULL, NULL, &diag))
		abort();
	while (disk->state == BDEV_OPENING && turns_left--)
		script_turn(loop);
	if (turns_left < 0 || (disk->state == BDEV_DOWN && !disk->why.text[0]))
		abort();
	if (disk->state == BDEV_UP) {
		if (!disk->lim.max[IO_READ] || !disk->lim.depth || disk->lim.size % disk->lim.block)
			abort();
		if (disk->lim.block == 512 && disk->lim.max[IO_READ] >= ROOM &&
			disk->lim.size >= 1 << 20)
			use_lane();
	}
	disk->ops->free(disk);
	wire_end(loop);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!target.disk)
		target_init(&target);
	if (!used) {
		run(script_right, sizeof(script_right));
		if (!used)
			abort();
	}
	if (!size)
		return 0;
	check_codec(data, size);
	check_ana(data, size);
	if (size >= 4)
		run(data, size);
	return 0;
}
