/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/srp core/proto/scsi core/target */
/* SRP targets that are right for a while and then lie, while a disk is opened and while requests
 * are out: each request ends once, with a reason for what is over, and all of it ends. A read or
 * write succeeds only if the target has said so of this very command, and a message that breaks a
 * rule ends the channel. */
#include "../fake/srp_peer.h"
#include "bdev.h"
#include "script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM     65536
#define TURN_MAX 400
#define OUT      80

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
};
#define REQUESTS (sizeof(what) / sizeof(what[0]))

struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	int dones;
	bool granted; /* the target has said of its last command that all is well */
};

static struct srp_peer target;
static struct script script;
static struct request request[REQUESTS];
static unsigned done_count;
static uint8_t good; /* answers in the opening, in the upper bits: then to requests */

/* Expected state of a channel. */
static struct known {
	int64_t window;
	struct {
		uint64_t tag;
		struct request *of; /* NULL: none of ours */
	} out[OUT];
	unsigned outs;
	uint64_t answered; /* tag */
	bool broken;       /* nothing more comes */
	struct loop_work is_over;
} known[SRP_CHANS];

static struct request *find_request(const uint8_t *cdb)
{
	uint64_t off = (cdb[0] & 0x80 ? wire_be(cdb + 2, 8) : wire_be(cdb + 2, 4)) * 512;
	uint8_t opcode = cdb[0] & 0x0f;

	if (cdb[0] != 0x28 && cdb[0] != 0x2a && cdb[0] != 0x88 && cdb[0] != 0x8a)
		return NULL;
	for (unsigned i = 0; i < REQUESTS; i++)
		if (what[i].kind == (opcode == 8 ? IO_READ : IO_WRITE) && what[i].off == off)
			return &request[i];
	abort();
}

static unsigned find_out(const struct known *chan, uint64_t tag)
{
	unsigned i = 0;

	while (i < chan->outs && chan->out[i].tag != tag)
		i++;
	return i;
}

/* False: it has to end the channel, or does so. */
static bool is_legal(struct known *chan, const uint8_t *bytes, uint32_t len)
{
	const struct srp_rsp *rsp = (const void *)bytes;
	uint32_t data, sense;

	if (len < 16 || (len < sizeof(*rsp) && rsp->opcode != SRP_CRED_REQ))
		return false;
	chan->window += (int32_t)get_be32(rsp->delta) - (rsp->opcode == SRP_RSP);
	if (chan->window < 0 || chan->window > INT32_MAX)
		return false;
	if (rsp->opcode != SRP_RSP)
		return rsp->opcode == SRP_CRED_REQ || rsp->opcode == SRP_AER_REQ;
	data = rsp->flags & SRP_RSP_DATA ? get_be32(rsp->data_len) : 0;
	sense = rsp->flags & SRP_RSP_SENSE ? get_be32(rsp->sense_len) : 0;
	len -= sizeof(*rsp);
	return find_out(chan, get_be64(rsp->tag)) < chan->outs && data <= len &&
	       sense <= len - data && (data < 4 || !bytes[sizeof(*rsp) + 3]);
}

/* The initiator has seen what breaks a rule. */
static void is_over(struct loop_work *work)
{
	if (target.chan[container_of(work, struct known, is_over) - known])
		abort();
}

/* A tag that is not known here may be that of a command on its way. No initiator can tell such an
 * answer from one that overtook the completion of its send, so it gets a tag that is never sent. */
static void deliver(unsigned n, uint8_t *bytes, uint32_t len)
{
	struct srp_rsp *rsp = (void *)bytes;
	struct known *chan = &known[n];
	struct ep *ep = target.chan[n];
	unsigned i;

	if (len >= sizeof(*rsp) && rsp->opcode == SRP_RSP &&
		find_out(chan, get_be64(rsp->tag)) == chan->outs)
		rsp->tag.b[0] |= 0x80;
	if (!ep || chan->broken || !ep_pair_deliver(ep, bytes, len))
		return;
	if (!is_legal(chan, bytes, len)) {
		chan->broken = true;
		chan->is_over.run = is_over;
		loop_work_add(ep->loop, &chan->is_over);
		return;
	}
	if (rsp->opcode != SRP_RSP)
		return;
	i = find_out(chan, get_be64(rsp->tag));
	if (chan->out[i].of)
		chan->out[i].of->granted =
			!rsp->status && !(rsp->flags & (SRP_RSP_IN_OVER | SRP_RSP_OUT_OVER)) &&
			!(rsp->flags & SRP_RSP_IN_UNDER && get_be32(rsp->in_residual)) &&
			!(rsp->flags & SRP_RSP_OUT_UNDER && get_be32(rsp->out_residual));
	chan->answered = chan->out[i].tag;
	chan->out[i] = chan->out[--chan->outs];
}

static void took(struct known *chan, const struct srp_cmd *cmd)
{
	struct request *of = find_request(cmd->cdb);

	if (find_out(chan, get_be64(cmd->tag)) < chan->outs || chan->outs == OUT)
		abort();
	chan->out[chan->outs].tag = get_be64(cmd->tag);
	chan->out[chan->outs++].of = of;
	if (of)
		of->granted = false;
}

static uint32_t made(uint8_t out[512], const struct srp_cmd *cmd, uint64_t answered)
{
	struct srp_rsp *rsp = (void *)out;
	uint8_t kind = script_byte(&script);
	uint32_t len = sizeof(*rsp);

	memset(out, 0, 512);
	rsp->opcode = kind & 1   ? SRP_RSP
		      : kind & 2 ? SRP_CRED_REQ
		      : kind & 4 ? SRP_AER_REQ
				 : SRP_T_LOGOUT;
	rsp->delta = put_be32((uint32_t)(int8_t)script_byte(&script));
	if (!(kind & 1))
		return kind & 6 ? len : 16;
	rsp->tag = cmd->tag;
	if (kind & 2) { /* good but for a residual */
		rsp->delta = put_be32(1);
		rsp->flags = (uint8_t)(SRP_RSP_OUT_OVER << (kind >> 2 & 3));
		rsp->in_residual = rsp->out_residual = put_be32(script_u16(&script));
		return len;
	}
	if (kind & 8)
		rsp->tag.b[7] ^= script_byte(&script);
	if (kind & 16)
		rsp->tag = put_be64(answered);
	rsp->flags = script_byte(&script);
	rsp->status = kind & 32 ? 0 : script_byte(&script);
	if (kind & 64)
		rsp->delta = put_be32(1);
	rsp->in_residual = rsp->out_residual = put_be32(script_u16(&script));
	rsp->sense_len = put_be32(script_byte(&script));
	rsp->data_len = put_be32(script_byte(&script) & 7);
	return len + script_bytes(&script, out + len, script_byte(&script));
}

/* False: it is answered here, if it is. */
static bool step(struct srp_peer *me, unsigned n, const struct srp_cmd *cmd, uint32_t len)
{
	struct ep *ep = me->chan[n];
	uint8_t out[512];

	if (cmd->opcode != SRP_CMD || known[n].broken)
		return false;
	took(&known[n], cmd);
	switch (script_next(&script)) {
	case SCRIPT_GOOD:
		len = srp_peer_do(me, ep, cmd, len, out);
		break;
	case SCRIPT_CORRUPT:
		len = srp_peer_do(me, ep, cmd, len, out);
		script_spoil(&script, out, len);
		break;
	case SCRIPT_RAW:
		len = script_bytes(&script, out, script_byte(&script));
		break;
	case SCRIPT_SILENT:
		return false;
	case SCRIPT_TWICE:
		len = srp_peer_do(me, ep, cmd, len, out);
		deliver(n, out, len);
		break;
	case SCRIPT_MADE:
		len = made(out, cmd, known[n].answered);
		break;
	case SCRIPT_HANG_UP:
		ep_pair_cut(ep);
		return false;
	case SCRIPT_FILLED:
		len = srp_peer_do(me, ep, cmd, len, out);
		if (cmd->format == SRP_DIRECT && cmd->cdb[0] != 0x28) {
			const struct srp_direct *desc = (const void *)(cmd + 1);

			script_fill(&script,
				ep_pair_memory(ep, get_be32(desc->key), get_be64(desc->va),
					get_be32(desc->len), EP_REMOTE_WRITE),
				get_be32(desc->len));
		}
		break;
	}
	deliver(n, out, len);
	return false;
}

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	if (r->dones++ || io->status > 0)
		abort();
	if (!io->status && io->kind <= IO_WRITE && io->len && !r->granted)
		abort();
	done_count++;
}

static void hang_up(void)
{
	for (unsigned i = 0; i < target.chans; i++)
		if (target.chan[i])
			ep_pair_cut(target.chan[i]);
}

static void gone(struct ep_peer *peer, struct ep *ep)
{
	(void)peer;
	for (unsigned i = 0; i < target.chans; i++)
		if (target.chan[i] == ep)
			target.chan[i] = NULL;
}

static bool used; /* a lane, which was still up in the end */

static void use_lane(struct loop *loop, struct bdev *disk)
{
	struct pool *pool;
	struct lane *lane;
	struct diag diag = { 0 };
	int turns_left = TURN_MAX;

	if (disk->ops->lane(&lane, disk, loop, &diag) || pool_new(&pool, ROOM, REQUESTS, NULL))
		abort();
	while (lane->state == LANE_OPENING)
		script_turn(loop);
	if (lane->state == LANE_UP && !lane_map(lane, pool, &diag)) {
		done_count = 0;
		script.good = good >> 5;
		for (unsigned i = 0; i < REQUESTS; i++) {
			struct request *r = &request[i];

			r->dones = 0;
			r->buf = pool_buf(pool, i);
			r->io = (struct io){ .kind = what[i].kind,
				.flags = what[i].flags,
				.off = what[i].off,
				.len = what[i].len,
				.buf = what[i].kind <= IO_WRITE ? &r->buf : NULL,
				.done = done,
				.lower = r->lower };
			if (disk->lim.max[r->io.kind] < r->io.len)
				r->io.kind = IO_FLUSH, r->io.off = r->io.len = 0, r->io.flags = 0;
			bdev_submit(lane, &r->io);
		}
		while (done_count < REQUESTS) {
			if (turns_left-- == 0)
				hang_up();
			script_turn(loop);
		}
		used |= lane->state == LANE_UP;
		lane_unmap(lane, pool);
	}
	lane->ops->free(lane);
	pool_free(pool);
}

static void run(void)
{
	static const struct bdev_env env = { .write = true, .timeout_ms = 60000 };
	struct bdev *disk;
	struct loop *loop;
	struct uri uri;
	struct diag diag = { 0 };
	int turns_left = TURN_MAX;
	uint8_t how = script_byte(&script);

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri, how & 1 ? "srp+cm://10.0.0.1:5/1/2" : "srp+cm://10.0.0.1:5/1/2/0",
			&diag))
		abort();
	srp_peer_init(&target, loop);
	target.peer.gone = gone;
	target.script = step;
	target.peer.delayed_sent = how & 2;
	target.old = how & 4;
	target.limit = how & 8 ? 1 : 64;
	good = script_byte(&script);
	script.good = good & 31;
	memset(known, 0, sizeof(known));
	for (unsigned i = 0; i < SRP_CHANS; i++)
		known[i].window = target.limit;
	if (bdev_start(&disk, loop, &uri, &env, NULL, NULL, &diag))
		abort();
	while (disk->state == BDEV_OPENING) {
		if (turns_left-- == 0)
			hang_up();
		script_turn(loop);
	}
	if (disk->state == BDEV_DOWN && !disk->why.text[0])
		abort();
	if (disk->state == BDEV_UP) {
		if (!disk->lim.max[IO_READ] || !disk->lim.depth || disk->lim.size % disk->lim.block)
			abort();
		if (disk->lim.block == 512 && disk->lim.max[IO_READ] >= ROOM &&
			disk->lim.size == SRP_DISK)
			use_lane(loop, disk);
	}
	disk->ops->free(disk);
	loop_free(loop);
	srp_peer_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!used) {
		script = (struct script){ script_right, script_right + sizeof(script_right), 0 };
		run();
		if (!used)
			abort();
	}
	script = (struct script){ .p = data, .end = data + size };
	if (size >= 2)
		run();
	return 0;
}
