/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nbd core/target */
/* The NBD client (attach, one lane, every kind of request) against a server that does what the
 * input says: include/stream.h in memory, in place of core/net/tcp.c. Each request ends once, its
 * buffer is only accessed while it is in flight, and after a successful read holds the data. */
#include "bdev.h"
#include "protocol.h"
#include "script.h"
#include "stream.h"
#include "wire/nbd.h"
#include <errno.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE     (1u << 20)
#define IN       (1u << 18)
#define TURN_MAX 5000 /* turns */
#define SIGNALS  64   /* pieces that may come in one turn */
#define IDLE     3    /* turns without an event until the peer sends unprompted */
#define ROOM     16384
#define GUARD    512
#define EACH     (ROOM + 2 * GUARD)
#define UNREAD   0xee
#define EDGE     0x77
#define TAKEN    0xdd /* what a buffer is filled with that is its owner's again */
#define CONTEXT  7

static struct peer {
	struct stream stream;
	struct script script;
	struct loop_poller poller;
	struct stream_out *out, **out_end, *unsent, **unsent_end;
	bool live, over, down_reported, hung, busy, greeted, serving, structured, delayed_sent;
	uint8_t cookie[8]; /* of the last request */
	uint64_t off;
	uint32_t len, chunk, from, to;
	unsigned idle;
	uint8_t in[IN];
} peer;

static uint8_t byte_at(uint64_t off)
{
	return (uint8_t)(off % 251 % 200);
}

static void give(const void *p, size_t len)
{
	if (!len || len > IN - peer.to)
		return;
	memcpy(peer.in + peer.to, p, len);
	peer.to += (uint32_t)len;
}

static void give_rep(uint32_t option, uint32_t type, const void *data, uint32_t len)
{
	struct nbd_rep rep = { put_be64(NBD_REP_MAGIC), put_be32(option), put_be32(type),
		put_be32(len) };

	give(&rep, sizeof(rep));
	give(data, len);
}

static void give_chunk(uint16_t type, bool done, const void *head, uint32_t head_len, uint32_t len)
{
	struct nbd_chunk chunk;

	nbd_chunk_put(&chunk, type, done, peer.cookie, head_len + len);
	give(&chunk, sizeof(chunk));
	give(head, head_len);
}

static void give_data(uint64_t off, uint32_t len, bool done)
{
	be64 at = put_be64(off);
	uint8_t data[ROOM];

	len = len < sizeof(data) ? len : sizeof(data);
	for (uint32_t i = 0; i < len; i++)
		data[i] = byte_at(off + i);
	if (peer.structured)
		give_chunk(NBD_REPLY_TYPE_OFFSET_DATA, done, &at, sizeof(at), len);
	give(data, len);
}

static void give_simple(uint32_t error)
{
	struct nbd_simple_reply reply;

	nbd_simple_put(&reply, error, peer.cookie);
	give(&reply, sizeof(reply));
}

static void give_status(uint32_t context)
{
	struct {
		be32 context, len[6];
	} status = { put_be32(context), { { { 0 } } } };
	const uint32_t runs[6] = { 700, 3, 4096, 0, SIZE, 1 };

	for (unsigned i = 0; i < 6; i++)
		status.len[i] = put_be32(runs[i]);
	give_chunk(NBD_REPLY_TYPE_BLOCK_STATUS, true, &status, sizeof(status), 0);
}

static void answer_option(uint32_t option, const void *data, uint32_t len)
{
	struct nbd_info_export export = { put_be16(NBD_INFO_EXPORT), put_be64(SIZE),
		put_be16(0x86d) };
	uint8_t context[4 + sizeof(NBD_META_ALLOCATION) - 1] = { 0, 0, 0, CONTEXT };
	struct nbd_go go;
	struct nbd_meta meta;

	switch (option) {
	case NBD_OPT_STRUCTURED_REPLY:
		give_rep(option, peer.structured ? NBD_REP_ACK : NBD_REP_ERR_UNSUP, NULL, 0);
		return;
	case NBD_OPT_SET_META_CONTEXT:
		if (!nbd_meta_get(&meta, data, len) || !meta.allocation || meta.queries != 1)
			abort();
		memcpy(context + 4, NBD_META_ALLOCATION, sizeof(context) - 4);
		give_rep(option, NBD_REP_META_CONTEXT, context, sizeof(context));
		give_rep(option, NBD_REP_ACK, NULL, 0);
		return;
	case NBD_OPT_GO:
		if (!nbd_go_get(&go, data, len) || go.info_types != 1u << NBD_INFO_BLOCK_SIZE)
			abort();
		give_rep(option, NBD_REP_INFO, &export, sizeof(export));
		give_rep(option, NBD_REP_ACK, NULL, 0);
		return;
	default:
		give_rep(option, NBD_REP_ERR_UNSUP, NULL, 0);
	}
}

static void answer_request(uint16_t type)
{
	be64 off = put_be64(peer.off);
	be32 half = put_be32(peer.len / 2);
	uint8_t hole[12];

	if (type == NBD_CMD_READ && peer.structured && peer.len >= 1024 && peer.off % 8192) {
		memcpy(hole, &off, 8);
		memcpy(hole + 8, &half, 4);
		give_data(peer.off + peer.len / 2, peer.len - peer.len / 2, false);
		give_chunk(NBD_REPLY_TYPE_OFFSET_HOLE, true, hole, sizeof(hole), 0);
	} else if (type == NBD_CMD_READ) {
		if (!peer.structured)
			give_simple(0);
		give_data(peer.off, peer.len, true);
	} else if (type == NBD_CMD_BLOCK_STATUS) {
		give_status(CONTEXT);
	} else {
		give_simple(0);
	}
}

/* Well-formed, with values of the input's choice. */
static void give_made(void)
{
	uint8_t what = script_byte(&peer.script),
		error[14] = { 0, 0, 0, script_byte(&peer.script) };
	be64 off = put_be64(peer.off + script_byte(&peer.script) * 256u - 4096);
	uint32_t len = script_byte(&peer.script) * 128u;
	uint8_t hole[12] = { 0 };

	memcpy(hole, &off, 8);
	wire_put_be(hole + 8, 4, len);
	peer.cookie[0] ^= what & 0x40 ? 1 : 0;
	switch (what & 7) {
	case 0:
		give_simple(error[3]);
		break;
	case 1:
	case 2:
		give_data(get_be64(off), len, what & 8);
		break;
	case 3:
		give_chunk(NBD_REPLY_TYPE_OFFSET_HOLE, what & 8, hole, sizeof(hole), 0);
		break;
	case 4:
		give_chunk(NBD_REPLY_TYPE_ERROR, what & 8, error, 6, 0);
		break;
	case 5:
		give_chunk(NBD_REPLY_TYPE_ERROR_OFFSET, what & 8, error, 14, 0);
		break;
	case 6:
		give_status(CONTEXT + (what >> 3 & 1));
		break;
	case 7:
		give_chunk(NBD_REPLY_TYPE_NONE, what & 8, NULL, 0, 0);
		break;
	}
}

/* The client's flags precede its first option. */
static const struct nbd_opt *option_of(const uint8_t *p)
{
	const struct nbd_opt *opt = (const struct nbd_opt *)(const void *)p;

	if (get_be64(opt->magic) == NBD_OPT_MAGIC)
		return opt;
	return (const struct nbd_opt *)(const void *)(p + 4);
}

static bool is_option(const uint8_t *p, uint32_t len)
{
	const struct nbd_opt *opt = option_of(p);

	return get_be64(opt->magic) == NBD_OPT_MAGIC &&
	       p + len == (const uint8_t *)(opt + 1) + get_be32(opt->len);
}

/* p NULL: not in answer to a request. */
static void answer_well(const uint8_t *p)
{
	const struct nbd_greeting greeting = { put_be64(NBD_GREETING_MAGIC),
		put_be64(NBD_OPT_MAGIC), put_be16(3) };
	const struct nbd_request *req = (const struct nbd_request *)(const void *)p;
	const struct nbd_opt *opt;

	if (!peer.greeted) {
		peer.greeted = true;
		give(&greeting, sizeof(greeting));
	} else if (p && peer.serving) {
		answer_request(get_be16(req->type));
	} else if (p) {
		opt = option_of(p);
		answer_option(get_be32(opt->option), opt + 1, get_be32(opt->len));
	}
}

static void answer(const uint8_t *p)
{
	enum script_step step = script_next(&peer.script);
	uint32_t from = peer.to;

	switch (step) {
	case SCRIPT_GOOD:
	case SCRIPT_FILLED:
		answer_well(p);
		break;
	case SCRIPT_TWICE:
		answer_well(p);
		answer_well(p);
		break;
	case SCRIPT_CORRUPT:
		answer_well(p);
		script_spoil(&peer.script, peer.in + from, peer.to - from);
		break;
	case SCRIPT_RAW:
		if (IN - peer.to > 256)
			peer.to += script_bytes(
				&peer.script, peer.in + peer.to, script_byte(&peer.script));
		break;
	case SCRIPT_MADE:
		give_made();
		break;
	case SCRIPT_SILENT:
		break;
	case SCRIPT_HANG_UP:
		peer.hung = true;
		break;
	}
}

/* One element of the out-list is one message; anything wrong in it is a finding. The phase follows
 * from the client's own bytes: after a spoiled answer to NBD_OPT_GO it can fall back to
 * NBD_OPT_EXPORT_NAME, and raw bytes can end the handshake. */
static void client_sent(const struct stream_out *out)
{
	static uint8_t bytes[65536];
	const struct nbd_request *req = (const struct nbd_request *)(const void *)bytes;
	uint32_t len = 0;

	for (unsigned i = 0; i < out->niov; i++) {
		if (out->iov[i].iov_len > sizeof(bytes) - len)
			abort();
		memcpy(bytes + len, out->iov[i].iov_base, out->iov[i].iov_len);
		len += (uint32_t)out->iov[i].iov_len;
	}
	if (get_be32(req->magic) == NBD_REQUEST_MAGIC) {
		bool write = get_be16(req->type) == NBD_CMD_WRITE;

		if (len != sizeof(*req) + (write ? get_be32(req->len) : 0))
			abort();
		peer.serving = true;
		memcpy(peer.cookie, req->cookie, sizeof(peer.cookie));
		peer.off = get_be64(req->off);
		peer.len = get_be32(req->len);
		for (uint32_t i = sizeof(*req); i < len; i++)
			if (bytes[i] == TAKEN)
				abort();
		if (get_be16(req->type) == NBD_CMD_DISC)
			return;
	} else if (peer.serving || !is_option(bytes, len)) {
		abort();
	}
	answer(bytes);
}

static void tell_sent(void)
{
	while (!peer.over && peer.unsent) {
		struct stream_out *out = peer.unsent;

		peer.unsent = out->next;
		if (!peer.unsent)
			peer.unsent_end = &peer.unsent;
		peer.stream.ev->sent(&peer.stream, out);
	}
}

static void hear(void)
{
	while (!peer.over && peer.out) {
		struct stream_out *out = peer.out;

		peer.out = out->next;
		if (!peer.out)
			peer.out_end = &peer.out;
		client_sent(out);
		out->next = NULL;
		*peer.unsent_end = out;
		peer.unsent_end = &out->next;
		peer.busy = true;
		if (!peer.delayed_sent)
			tell_sent();
	}
}

static void turn_live(void)
{
	if (peer.over) {
		peer.busy = !peer.down_reported;
		if (peer.down_reported)
			return;
		peer.down_reported = true;
		peer.stream.state = STREAM_DOWN;
		peer.stream.ev->down(&peer.stream);
		return;
	}
	if (peer.stream.state == STREAM_CONNECTING) {
		peer.stream.state = STREAM_UP;
		peer.busy = true;
		peer.stream.ev->up(&peer.stream);
		answer(NULL);
		return;
	}
	/* Level-triggered: a piece is all that the socket holds, and the next one has come when the
	 * reader is through with it. */
	for (unsigned i = 0; i < SIGNALS && !peer.over && (peer.from != peer.to || peer.hung);
		i++) {
		peer.busy = true;
		peer.stream.ev->readable(&peer.stream);
	}
	tell_sent();
	if (!peer.over && peer.from == peer.to)
		hear();
}

static bool turn(struct loop_poller *poller)
{
	(void)poller;
	peer.busy = false;
	if (peer.live)
		turn_live();
	peer.idle = peer.busy ? 0 : peer.idle + 1;
	if (peer.idle > IDLE && peer.live && !peer.over)
		answer(NULL);
	return true;
}

static bool never_sleeps(struct loop_poller *poller)
{
	(void)poller;
	return false;
}

static void stream_begin(struct loop *loop, const struct stream_events *events, void *user)
{
	peer.stream = (struct stream){ .ev = events, .loop = loop, .user = user, .route = "peer" };
	peer.out_end = &peer.out;
	peer.unsent_end = &peer.unsent;
	peer.out = peer.unsent = NULL;
	peer.live = true;
}

int stream_dial(struct stream **out, struct loop *loop, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	(void)dial, (void)diag;
	if (peer.live)
		abort();
	peer.greeted = peer.serving = false;
	stream_begin(loop, events, user);
	*out = &peer.stream;
	return 0;
}

void stream_probe(struct stream *stream, uint32_t idle_ms)
{
	(void)stream, (void)idle_ms;
}

bool stream_is_unacknowledged(struct stream *stream, uint32_t ms)
{
	(void)stream, (void)ms;
	return false;
}

/* Who takes the descriptor over finds what has not been read. */
struct stream_detached stream_detach(struct stream *stream)
{
	if (!peer.live || peer.over || peer.out || peer.unsent || stream != &peer.stream)
		abort();
	peer.live = false;
	return (struct stream_detached){ .fd = 1000 };
}

int stream_start_tls(struct stream *stream, const struct stream_tls *with, struct diag *diag)
{
	(void)stream, (void)with, (void)diag;
	abort();
}

int stream_attach(struct stream **out, struct loop *loop, const struct stream_detached *from,
	const struct addr *addr, const struct stream_events *events, void *user, struct diag *diag)
{
	(void)addr, (void)diag;
	if (peer.live || from->fd != 1000)
		abort();
	stream_begin(loop, events, user);
	peer.stream.state = STREAM_UP;
	*out = &peer.stream;
	return 0;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	uint32_t left = peer.to - peer.from, from = peer.from;

	if (peer.over)
		return -ENOTCONN;
	if (!left && peer.hung) {
		diag_set(&stream->why, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
		peer.over = true;
		return -ECONNRESET;
	}
	if (peer.chunk && left > peer.chunk)
		left = peer.chunk;
	for (int i = 0; i < count && left; i++) {
		uint32_t len = iov[i].iov_len < left ? (uint32_t)iov[i].iov_len : left;

		for (uint32_t k = 0; k < len;
			k++) /* a byte that is still UNREAD was never received */
			((uint8_t *)iov[i].iov_base)[k] = peer.in[peer.from + k] == UNREAD
								  ? UNREAD + 1
								  : peer.in[peer.from + k];
		peer.from += len;
		left -= len;
	}
	from = peer.from - from;
	if (peer.from == peer.to)
		peer.from = peer.to = 0;
	return from;
}

void stream_send(struct stream *stream, struct stream_out *chain)
{
	(void)stream;
	if (peer.over)
		return;
	*peer.out_end = chain;
	while (*peer.out_end)
		peer.out_end = &(*peer.out_end)->next;
}

void stream_close(struct stream *stream)
{
	(void)stream;
	peer.over = true;
}

void stream_reset(struct stream *stream)
{
	stream_close(stream);
}

void stream_free(struct stream *stream)
{
	(void)stream;
	peer.live = false;
}

struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[8];
	int dones;
};

static const struct {
	uint8_t kind, flags;
	uint32_t off, len;
} what[] = {
	{ IO_READ, 0, 0, 4096 },
	{ IO_WRITE, 0, 4096, 8192 },
	{ IO_WRITE, IO_FUA, 65536, 4096 },
	{ IO_READ, 0, 4608, ROOM },
	{ IO_MAP, 0, 8192, 65536 },
	{ IO_TRIM, 0, 8192, 8192 },
	{ IO_ZERO, IO_KEEP, 0, 4096 },
	{ IO_ZERO, IO_FAST, 0, 4096 },
	{ IO_FLUSH, 0, 0, 0 },
	{ IO_WRITE, 0, 0, ROOM },
};
#define REQUESTS (sizeof(what) / sizeof(what[0]))

static struct loop *loop;
static struct bdev *disk;
static struct lane *lane;
static struct request request[REQUESTS];
static unsigned done_count;

static bool all(const uint8_t *p, uint8_t value, uint32_t len)
{
	while (len && *p == value)
		p++, len--;
	return !len;
}

static void check_map(const struct io *io)
{
	const struct map_run *run = (const struct map_run *)(const void *)io->buf->p;
	uint64_t sum = 0;

	if (!io->detail)
		abort();
	for (uint32_t i = 0; i < io->detail; i++) {
		if (!run[i].len || run[i].len % 512 || run[i].len > io->len - sum)
			abort();
		sum += run[i].len;
	}
}

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	if (r->dones++ || io->status > 0)
		abort();
	for (uint32_t i = 0; io->kind == IO_READ && !io->status && i < io->len; i++)
		if (r->buf.p[i] == UNREAD)
			abort();
	if (io->kind == IO_MAP && !io->status)
		check_map(io);
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
		if (what[i].kind <= IO_WRITE || what[i].kind == IO_MAP)
			r->io.buf = &r->buf;
		r->dones = 0;
		r->io.status = -ENOTSUP;
		if (disk->lim.max[what[i].kind])
			bdev_submit(lane, &r->io);
		else
			done(&r->io);
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
		submit_all(pool);
		while (done_count < REQUESTS && turns_left--)
			script_turn(loop);
		if (turns_left < 0)
			abort();
		for (int i = 0; i < 2 * IDLE + 10; i++)
			script_turn(loop);
		check_buffers(pool);
		used |= lane->state == LANE_UP;
	}
	if (lane->state == LANE_DOWN && !lane->why.text[0])
		abort();
	lane->ops->free(lane);
	pool_free(pool);
}

/* Three bytes of the input say how: flags, how much arrives at once, how many good answers come
 * first. Its rest is the script. */
static void run(const uint8_t *data, size_t size)
{
	static const struct bdev_env env = { .write = true, .timeout_ms = 60000 };
	struct diag diag = { 0 };
	struct uri uri;
	int turns_left = TURN_MAX;

	peer = (struct peer){ .script = { data + 3, data + size, data[2] },
		.poller = { .poll = turn, .arm = never_sleeps },
		.chunk = data[1],
		.structured = data[0] & 1,
		.delayed_sent = data[0] & 2 };
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri, data[0] & 4 ? "nbd://10.0.0.1/disk?depth=2" : "nbd://10.0.0.1/disk",
			&diag))
		abort();
	loop_poller_add(loop, &peer.poller);
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
			disk->lim.size >= SIZE && !disk->lim.ro)
			use_lane();
	}
	disk->ops->free(disk);
	loop_poller_del(loop, &peer.poller);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!used) {
		run(script_right, sizeof(script_right));
		if (!used)
			abort();
	}
	if (size >= 3)
		run(data, size);
	return 0;
}
