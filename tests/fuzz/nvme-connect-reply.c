/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* What a target answers while a connection is made, over RDMA: the codecs under any bytes, and the
 * initiator on the endpoint in memory, whose peer accepts, rejects and replies as the input says.
 * Each request ends once. */
#include "../fake/nvme_target.h"
#include "bdev.h"
#include "ep_pair.h"
#include "protocol.h"
#include "script.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TURN_MAX 20000 /* turns */
#define IDLE     5
#define REQUESTS 8
#define ROOM     16384

static struct target target;
static struct script script;
static struct loop *loop;
static struct bdev *disk;
static struct lane *lane;
static struct ep *queue[8]; /* in the order they dialled; NULL = gone */
static unsigned queues, idle, done_count;
static struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	int dones;
} request[REQUESTS];

static void check(int err, const struct diag *diag)
{
	if (err && (err != -diag->err || !diag->text[0]))
		abort();
}

static void check_codec(const uint8_t *data, size_t size)
{
	static const struct nvmf_connect asked = { .subnqn = "a", .hostnqn = "b" };
	struct nvmf_connect_reply reply;
	struct nvme_ctrl_info ctrl;
	struct nvme_ns_info ns;
	struct nvme_ns_ids ids;
	struct nvme_nvm_info nvm;
	struct diag diag = { 0 };
	uint16_t value;
	int err = nvmf_connect_reply_get(&reply, data, size, &diag);

	check(err, &diag);
	if (!err && reply.status)
		check(nvmf_connect_diag(&diag, &reply, &asked), &diag);
	check(nvmf_rdma_rep_get(&value, data, size, &diag), &diag);
	err = nvmf_rdma_rej_get(&value, data, size, &diag);
	check(err, &diag);
	if (!err && !*nvmf_rdma_status_text(value))
		abort();
	check(nvme_ctrl_get(&ctrl, data, size, &diag), &diag);
	err = nvme_ns_get(&ns, data, size, &diag);
	check(err, &diag);
	if (!err && ns.blocks &&
		(ns.shift < 9 || ns.shift > 16 || ns.blocks > (uint64_t)INT64_MAX >> ns.shift))
		abort();
	check(nvme_ns_ids_get(&ids, data, size, &diag), &diag);
	check(nvme_nvm_get(&nvm, data, size, &diag), &diag);
}

/* As they are, and as the beginning of a whole page: a fuzzer is slow to find lengths. */
static void check_codecs(const uint8_t *data, size_t size)
{
	uint8_t page[NVME_IDENTIFY_LEN] = { 0 };

	check_codec(data, size);
	memcpy(page, data, size < sizeof(page) ? size : sizeof(page));
	check_codec(page, sizeof(page));
}

static unsigned number_of(const struct ep *ep)
{
	unsigned i = 0;

	while (i < queues && queue[i] != ep)
		i++;
	return i;
}

static void gone(struct ep_peer *peer, struct ep *ep)
{
	unsigned i = number_of(ep);

	(void)peer;
	if (i < queues)
		queue[i] = NULL;
}

static void cut(struct ep *ep)
{
	gone(NULL, ep);
	ep_pair_cut(ep);
}

/* The connect request: accepted or rejected, with private data of any kind. */
static void asked(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	struct nvmf_rdma_req_info ask;
	uint8_t rep[EP_PRIV_MAX] = { 0 };
	enum script_step step = script_next(&script);

	(void)peer;
	if (nvmf_rdma_req_get(&ask, priv, len, NULL) || queues == 8)
		abort();
	queue[queues++] = ep;
	nvmf_rdma_rep_put((void *)rep, ask.depth);
	switch (step) {
	case SCRIPT_CORRUPT:
		script_spoil(&script, rep, sizeof(struct nvmf_rdma_rep));
		break;
	case SCRIPT_FILLED:
	case SCRIPT_RAW:
		len = script_byte(&script) % EP_PRIV_MAX;
		script_bytes(&script, rep, len);
		ep_pair_accept(ep, rep, len);
		return;
	case SCRIPT_MADE:
		len = script_byte(&script) % EP_PRIV_MAX;
		script_bytes(&script, rep, len);
		gone(NULL, ep);
		ep_pair_reject(ep, script_byte(&script) % 40, rep, len);
		return;
	case SCRIPT_HANG_UP:
		cut(ep);
		return;
	case SCRIPT_GOOD:
	case SCRIPT_TWICE:
	case SCRIPT_SILENT:
		break;
	}
	ep_pair_accept(ep, rep, sizeof(struct nvmf_rdma_rep));
}

/* Where the data of a command is; NULL = it has none. The host must have given the rights. */
static uint8_t *data_of(struct ep *ep, const struct nvme_sqe *sqe, uint32_t *len)
{
	bool out = sqe->opcode == NVME_FABRICS || sqe->opcode == NVME_IO_WRITE ||
		   sqe->opcode == NVME_IO_DSM;
	uint8_t *data;

	if (sqe->sgl.type == NVME_SGL_OFFSET) {
		*len = get_le32(sqe->sgl.block.len);
		return (uint8_t *)sqe + sizeof(*sqe);
	}
	*len = get_le24(sqe->sgl.keyed.len);
	if (!*len)
		return NULL;
	data = ep_pair_memory(ep, get_le32(sqe->sgl.keyed.key), get_le64(sqe->sgl.addr), *len,
		out ? EP_REMOTE_READ : EP_REMOTE_WRITE);
	if (!data)
		abort();
	return data;
}

static void answer(struct ep *ep, struct nvme_cqe *cqe, uint8_t *data, uint32_t len)
{
	uint8_t raw[64];

	switch (script_next(&script)) {
	case SCRIPT_TWICE:
		ep_pair_deliver(ep, cqe, sizeof(*cqe));
		break;
	case SCRIPT_CORRUPT:
		script_spoil(&script, (void *)cqe, sizeof(*cqe));
		break;
	case SCRIPT_FILLED:
		script_fill(&script, data, data ? len : 0);
		break;
	case SCRIPT_RAW:
		len = script_byte(&script) % sizeof(raw);
		ep_pair_deliver(ep, raw, script_bytes(&script, raw, len));
		return;
	case SCRIPT_MADE:
		cqe->result = put_le64(script_u16(&script));
		cqe->status = put_le16(script_u16(&script));
		if (cqe->status.b[0] & 1) {
			ep_pair_deliver_inval(ep, cqe, sizeof(*cqe), script_byte(&script));
			return;
		}
		break;
	case SCRIPT_SILENT:
		return;
	case SCRIPT_HANG_UP:
		cut(ep);
		return;
	case SCRIPT_GOOD:
		break;
	}
	ep_pair_deliver(ep, cqe, sizeof(*cqe));
}

static void message(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct nvme_sqe *sqe = (const void *)bytes;
	uint32_t data_len = 0;
	struct nvme_cqe cqe;
	uint8_t *data;

	(void)peer;
	idle = 0;
	if (len < sizeof(*sqe))
		abort();
	data = data_of(ep, sqe, &data_len);
	if (sqe->sgl.type == NVME_SGL_OFFSET && len != sizeof(*sqe) + data_len)
		abort();
	if (target_do(&target, (uint16_t)number_of(ep), sqe, data, data_len, &cqe))
		answer(ep, &cqe, sqe->sgl.type == NVME_SGL_OFFSET ? NULL : data, data_len);
}

static void turn(void)
{
	static struct nvme_cqe cqe;

	script_turn(loop);
	if (++idle < IDLE)
		return;
	for (unsigned i = 0; i < queues; i++) {
		if (queue[i] && queue[i]->state == EP_UP) {
			cqe.cid = put_le16(script_byte(&script));
			answer(queue[i], &cqe, NULL, 0);
		}
	}
}

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	if (r->dones++ || io->status > 0)
		abort();
	done_count++;
}

static void submit_all(struct pool *pool)
{
	static const uint8_t kind[] = { IO_READ, IO_WRITE, IO_FLUSH, IO_TRIM, IO_ZERO };

	done_count = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *r = &request[i];
		bool flush = kind[i % 5] == IO_FLUSH;

		r->buf = pool_buf(pool, i);
		r->io = (struct io){ .kind = kind[i % 5],
			.flags = kind[i % 5] == IO_TRIM ? IO_FUA : 0,
			.len = flush   ? 0
			       : i % 2 ? 4096
				       : ROOM,
			.off = flush ? 0 : i * 4096,
			.buf = kind[i % 5] <= IO_WRITE ? &r->buf : NULL,
			.done = done,
			.lower = r->lower };
		r->dones = 0;
		bdev_submit(lane, &r->io);
	}
}

static bool used; /* a lane, which was still up in the end */

static void use_lane(void)
{
	struct diag diag = { 0 };
	int turns_left = TURN_MAX;
	struct pool *pool;

	if (pool_new(&pool, ROOM, REQUESTS, NULL) || disk->ops->lane(&lane, disk, loop, &diag))
		abort();
	while (lane->state == LANE_OPENING && turns_left--)
		turn();
	if (lane->state == LANE_UP && !lane_map(lane, pool, &diag)) {
		submit_all(pool);
		while (done_count < REQUESTS && turns_left--)
			turn();
		used |= lane->state == LANE_UP;
		lane_unmap(lane, pool);
	}
	if (turns_left < 0 || (lane->state == LANE_DOWN && !lane->why.text[0]))
		abort();
	lane->ops->free(lane);
	pool_free(pool);
}

static void run(const uint8_t *data, size_t size)
{
	static const struct bdev_env env = {
		.hostnqn = "nqn.me", .write = true, .timeout_ms = 60000
	};
	struct ep_peer peer = { .request = asked, .message = message, .gone = gone };
	int turns_left = TURN_MAX;
	struct uri uri;

	peer.delayed_sent = data[0] & 1;
	peer.limit.inline_max = data[0] & 2 ? 16 : 0;
	peer.limit.sge = data[0] & 4 ? 1 : 0;
	script = (struct script){ data + 2, data + size, data[1] };
	target.cc = 0;
	queues = idle = 0;
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri,
			data[0] & 8 ? "nvme+rdma://10.0.0.1/t1?depth=4"
				    : "nvme+rdma://10.0.0.1/t1/1",
			NULL))
		abort();
	ep_pair_peer(loop, &peer);
	if (bdev_start(&disk, loop, &uri, &env, NULL, NULL, NULL))
		abort();
	while (disk->state == BDEV_OPENING && turns_left--)
		turn();
	if (turns_left < 0 || (disk->state == BDEV_DOWN && !disk->why.text[0]))
		abort();
	if (disk->state == BDEV_UP && disk->lim.block == 512 && disk->lim.max[IO_READ] >= ROOM &&
		disk->lim.size >= 1 << 20 && disk->lim.max[IO_TRIM] >= ROOM &&
		disk->lim.max[IO_ZERO] >= ROOM)
		use_lane();
	disk->ops->free(disk);
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
	check_codecs(data, size);
	if (size >= 2)
		run(data, size);
	return 0;
}
