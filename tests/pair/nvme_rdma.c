/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator over RDMA against the controller in tests/fake, on the endpoint in memory:
 * placement of data, reuse of tags, and messages if the target breaks a rule. */
/* Link: leap */
#include "../fake/nvme_target.h"
#include "ep_pair.h"
#include "host.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SEC        1000000000ull
#define TAG_UNSEEN 0xffff

enum evil { GOOD, UNKNOWN_CID, SHORT_REPLY, TWICE, INVALIDATES, BAD_HEAD, SILENT };

static struct target target;
static struct ep_peer peer;
static struct ep *queue[65536]; /* by qid */
static enum evil evil;
static unsigned inside, keyed, reject;
static bool no_private_data, mute;
static uint16_t receives, format; /* of the reply to connect, in place of what is due */
static uint16_t event_cid;

static uint16_t qid_of(const struct ep *ep)
{
	for (unsigned i = 0; i < 65536; i++)
		if (queue[i] == ep)
			return (uint16_t)i;
	cr_assert(false, "no such queue");
	return 0;
}

static void request(struct ep_peer *me, struct ep *ep, const uint8_t *priv, unsigned len)
{
	struct nvmf_rdma_req_info ask;
	struct nvmf_rdma_rep rep;
	struct nvmf_rdma_rej rej;

	(void)me;
	cr_assert_eq(nvmf_rdma_req_get(&ask, priv, len, NULL), 0);
	cr_assert_eq(ask.receives, ep_pair_receives(ep), "as many as it says");
	cr_assert_geq(ask.receives, ask.depth - 1u);
	queue[ask.qid] = ep;
	nvmf_rdma_rej_put(&rej, (uint16_t)reject);
	nvmf_rdma_rep_put(&rep, receives && (receives > 2 || ask.qid == 0) ? receives : ask.depth);
	rep.recfmt = put_le16(format);
	if (reject)
		ep_pair_reject(ep, 28, &rej, sizeof(rej));
	else if (no_private_data)
		ep_pair_accept(ep, NULL, 0);
	else
		ep_pair_accept(ep, &rep, sizeof(rep));
}

static void answer(struct ep *ep, uint16_t qid, struct nvme_cqe *cqe)
{
	uint32_t len = sizeof(*cqe);

	if (qid && evil == SILENT)
		return;
	if (qid && evil == UNKNOWN_CID)
		cqe->cid = put_le16(get_le16(cqe->cid) + 1);
	if (qid && evil == SHORT_REPLY)
		len = 15;
	if (qid && evil == BAD_HEAD)
		cqe->sqhd = put_le16(5000);
	if (qid && evil == INVALIDATES)
		cr_assert(ep_pair_deliver_inval(ep, cqe, len, 1));
	else
		cr_assert(ep_pair_deliver(ep, cqe, len), "a receive is posted for each command");
	if (qid && evil == TWICE)
		ep_pair_deliver(ep, cqe, len);
}

static void message(struct ep_peer *me, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct nvme_sqe *sqe = (const void *)bytes;
	uint16_t qid = qid_of(ep);
	bool out = sqe->opcode == NVME_FABRICS || sqe->opcode == NVME_IO_WRITE ||
		   sqe->opcode == NVME_IO_DSM;
	uint32_t data_len = get_le24(sqe->sgl.keyed.len);
	struct nvme_cqe cqe;
	uint8_t *data = NULL;

	(void)me;
	cr_assert_geq(len, 64);
	cr_assert_eq(sqe->flags, NVME_PSDT_SGL);
	if (sqe->sgl.type == NVME_SGL_OFFSET) {
		data_len = get_le32(sqe->sgl.block.len);
		cr_assert_eq(len, 64 + data_len);
		cr_assert_eq(get_le64(sqe->sgl.addr), 0);
		data = (uint8_t *)bytes + 64;
		inside += qid != 0;
	} else {
		cr_assert_eq(sqe->sgl.type, NVME_SGL_KEYED);
		cr_assert_eq(len, 64);
		if (data_len) {
			data = ep_pair_memory(ep, get_le32(sqe->sgl.keyed.key),
				get_le64(sqe->sgl.addr), data_len,
				out ? EP_REMOTE_READ : EP_REMOTE_WRITE);
			cr_assert_not_null(data, "registered, with the right it needs");
		}
		keyed += qid != 0;
	}
	if (!qid && sqe->opcode == NVME_ADMIN_ASYNC_EVENT)
		event_cid = get_le16(sqe->cid);
	if (target_do(&target, qid, sqe, data, data_len, &cqe) && !mute)
		answer(ep, qid, &cqe);
}

static void begin(void)
{
	host_begin(0);
	target_init(&target);
	peer.request = request;
	peer.message = message;
	ep_pair_peer(loop, &peer);
}

static void end(void)
{
	host_end();
	target_fini(&target);
}

static int attach(const char *keys)
{
	struct bdev_env env = {
		.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2",
		.write = true,
		.timeout_ms = 1000
	};
	char text[200];

	snprintf(text, sizeof(text), "nvme+rdma://10.0.0.1/t1/1%s", keys);
	return host_attach(text, &env);
}

static void some_turns(void)
{
	for (int i = 0; i < 3; i++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000000);
	}
}

struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
};
static int finished, statuses[256];

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	statuses[r->io.off / 65536 % 256] = io->status;
	finished++;
}

static struct request request_of[64];
static struct pool *pool;

static void submit(unsigned at, uint8_t kind, uint64_t off, uint32_t len)
{
	struct request *r = &request_of[at];

	r->buf = pool_buf(pool, at);
	r->io = (struct io){ .kind = kind,
		.off = off,
		.len = len,
		.buf = &r->buf,
		.done = done,
		.lower = r->lower };
	bdev_submit(lane, &r->io);
}

static void up(const char *keys)
{
	begin();
	cr_assert_eq(attach(keys), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 65536, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

static void down(void)
{
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

/* 64 writes at once, with data in the capsule and outside it, then 64 reads. */
static void work(void)
{
	for (int pass = 0; pass < 2; pass++) {
		finished = 0;
		for (unsigned i = 0; i < 64; i++) {
			uint32_t len = i % 3 ? i % 2 ? 512 : 8192 : 65536;

			if (pass)
				memset(pool_buf(pool, i).p, 0, 65536);
			else
				memset(pool_buf(pool, i).p, (int)i + 1, 65536);
			submit(i, pass ? IO_READ : IO_WRITE, i * 65536ull, len);
		}
		for (int turns = 0; finished < 64 && turns < 200; turns++)
			some_turns();
		cr_assert_eq(finished, 64);
		for (unsigned i = 0; i < 64; i++) {
			cr_assert_eq(request_of[i].io.status, 0);
			cr_assert_eq(target.disk[i * 65536], i + 1);
			cr_assert_eq(pool_buf(pool, i).p[511], i + 1);
		}
	}
}

Test(nvme_rdma, writes_inside_and_beside_the_capsule)
{
	up("");
	work();
	cr_assert_eq(inside, 42, "up to IOCCSZ");
	cr_assert_eq(keyed, 22 + 64 + 1, "the rest, and Connect");
	down();
}

Test(nvme_rdma, a_tag_is_free_only_when_its_send_is)
{
	peer.delayed_sent = true;
	up("?depth=4");
	work();
	down();
}

Test(nvme_rdma, a_device_without_inline_sends)
{
	peer.limit.inline_max = 16;
	peer.delayed_sent = true;
	up("");
	work();
	down();
}

Test(nvme_rdma, a_device_with_one_sge_and_few_requests)
{
	peer.limit.sge = 1;
	peer.limit.send = 8;
	peer.limit.recv = 6;
	up("");
	work();
	cr_assert_eq(inside, 0);
	down();
}

Test(nvme_rdma, a_controller_without_offsets_in_capsules)
{
	begin();
	target.id.sgls = 5;
	cr_assert_eq(attach(""), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 65536, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	work();
	cr_assert_eq(inside, 0);
	down();
}

Test(nvme_rdma, no_keyed_descriptors_no_disk)
{
	begin();
	target.id.sgls = 1;
	cr_assert_eq(attach(""), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "descriptor SGLS 00000001h");
	end();
}

Test(nvme_rdma, as_many_lanes_as_were_granted)
{
	struct lane *more[4];

	begin();
	cr_assert_eq(attach(""), 0, "%s", why.text);
	for (int i = 0; i < 4; i++) {
		host_open_lane();
		more[i] = lane;
	}
	cr_assert_eq(disk->ops->lane(&lane, disk, loop, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "4 I/O queue");
	cr_assert_not_null(queue[4]);
	lane_close(more[2]);
	queue[3] = NULL;
	host_open_lane();
	cr_assert_not_null(queue[3], "a queue id given back is used again");
	for (int i = 0; i < 4; i++)
		if (i != 2)
			lane_close(more[i]);
	end();
}

Test(nvme_rdma, rejected_with_a_reason)
{
	begin();
	reject = NVMF_RDMA_NO_RESOURCES;
	cr_assert_eq(attach(""), -ECONNREFUSED);
	diag_says(&why, DIAG_REFUSED, NULL, "queue_0 resources");
	end();
}

Test(nvme_rdma, accepted_without_private_data)
{
	begin();
	no_private_data = true;
	cr_assert_eq(attach(""), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "queue_0 private_data _0_bytes 32");
	end();
}

static void accepted_badly(enum diag_code code, const char *words)
{
	begin();
	cr_assert_lt(attach(""), 0);
	diag_says(&why, code, NULL, words);
	end();
}

Test(nvme_rdma, accepted_with_a_single_receive)
{
	receives = 1;
	accepted_badly(DIAG_PROTOCOL, "queue_0 receive");
}

Test(nvme_rdma, accepted_in_an_unknown_format)
{
	format = 7;
	accepted_badly(DIAG_PROTOCOL, "queue_0 connection_reply format 7");
}

/* One command at once: the event request takes it for good. */
Test(nvme_rdma, accepted_with_two_receives)
{
	receives = 2;
	accepted_badly(DIAG_BUSY, "admin_queue identify_namespace");
}

Test(nvme_rdma, accepted_with_more_receives_than_asked_for)
{
	receives = 65535;
	up("");
	work();
	down();
}

Test(nvme_rdma, a_device_for_one_request)
{
	peer.limit.recv = 1;
	accepted_badly(DIAG_NO_DEVICE, "RDMA_device 1_request");
}

Test(nvme_rdma, rejected_for_an_unlisted_reason)
{
	reject = 999;
	accepted_badly(DIAG_REFUSED, "queue_0 reason");
}

Test(nvme_rdma, a_lost_connection_ends_every_request)
{
	up("?depth=8");
	evil = SILENT;
	finished = 0;
	for (unsigned i = 0; i < 20; i++)
		submit(i, i % 2 ? IO_READ : IO_WRITE, i * 65536ull, 4096);
	some_turns();
	cr_assert_eq(finished, 0);
	ep_pair_cut(queue[1]);
	some_turns();
	cr_assert_eq(finished, 20, "those in flight and those waiting");
	for (int i = 0; i < 20; i++)
		cr_assert_eq(statuses[i], -ENOTCONN);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_CLOSED, NULL, "peer");
	cr_assert_eq(disk->state, BDEV_UP, "the admin queue is another connection");
	submit(0, IO_READ, 0, 4096);
	some_turns();
	cr_assert_eq(finished, 21);
	down();
}

Test(nvme_rdma, a_lost_admin_queue_takes_the_disk_down)
{
	begin();
	cr_assert_eq(attach(""), 0, "%s", why.text);
	ep_pair_cut(queue[0]);
	some_turns();
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_CLOSED, "10.0.0.1:4420", "peer");
	end();
}

static void breach(enum evil how, const char *words)
{
	up("");
	evil = how;
	finished = 0;
	submit(0, IO_READ, 0, 4096);
	some_turns();
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, words);
	cr_assert_eq(finished, 1);
	down();
}

Test(nvme_rdma, reply_to_nothing)
{
	breach(UNKNOWN_CID, "queue_1 reply in_flight");
}

Test(nvme_rdma, reply_cut_short)
{
	breach(SHORT_REPLY, "queue_1 reply 16");
}

Test(nvme_rdma, reply_twice)
{
	breach(TWICE, "queue_1 reply in_flight");
}

Test(nvme_rdma, key_invalidated)
{
	breach(INVALIDATES, "queue_1 invalidated key");
}

Test(nvme_rdma, impossible_queue_head)
{
	breach(BAD_HEAD, "queue_head 5000 64");
}

/* The controller says that a namespace has changed. */
static void notice(void)
{
	const struct nvme_cqe cqe = { .result = put_le64(NVME_AER_NOTICE |
							 NVME_NOTICE_NS_CHANGED << 8 |
							 NVME_LOG_CHANGED_NS << 16),
		.sqhd = put_le16(NVME_SQHD_NONE),
		.cid = put_le16(event_cid) };

	event_cid = TAG_UNSEEN;
	cr_assert(ep_pair_deliver(queue[0], &cqe, sizeof(cqe)));
	some_turns();
}

static unsigned changes;

static void count_change(struct bdev *bdev)
{
	changes++;
	settled = bdev->state != BDEV_OPENING;
}

Test(nvme_rdma, a_disk_that_grows_says_so)
{
	begin();
	cr_assert_eq(attach(""), 0, "%s", why.text);
	disk->changed = count_change;
	target.blocks = 6000;
	notice();
	cr_assert_eq(changes, 1);
	cr_assert_eq(disk->lim.size, 6000 * 512);
	cr_assert_neq(event_cid, TAG_UNSEEN, "the next event is asked for");
	notice();
	cr_assert_eq(changes, 1, "nothing new");
	end();
}

Test(nvme_rdma, a_namespace_taken_away_takes_the_disk_down)
{
	begin();
	cr_assert_eq(attach(""), 0, "%s", why.text);
	target.nsid[0] = 2;
	notice();
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_NOT_FOUND, NULL, "namespace_1");
	end();
}

Test(nvme_rdma, a_namespace_formatted_anew_takes_the_disk_down)
{
	begin();
	cr_assert_eq(attach(""), 0, "%s", why.text);
	target.shift = 12;
	notice();
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_MISMATCH, NULL, "namespace_1 4096 512");
	end();
}

Test(nvme_rdma, no_answer_within_the_time_to_connect)
{
	begin();
	mute = true;
	cr_assert_eq(attach(""), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, NULL, "connect");
	end();
}

static void silent_for(const char *keys, uint32_t ms)
{
	uint64_t begun;

	begin();
	cr_assert_eq(attach(keys), 0, "%s", why.text);
	mute = true;
	disk->changed = count_change;
	settled = 0;
	begun = loop_clock();
	loop_wait(loop, &settled, begun + 100 * SEC);
	cr_assert_eq(disk->state, BDEV_DOWN);
	diag_says(&disk->why, DIAG_TIMEOUT, NULL, "keep-alive");
	cr_assert_leq(loop_clock() - begun, ms * MSEC);
	cr_assert_geq(loop_clock() - begun, ms / 2 * MSEC);
	end();
}

Test(nvme_rdma, no_answer_to_a_keep_alive)
{
	silent_for("", 7500);
}

Test(nvme_rdma, no_answer_to_a_keep_alive_in_a_time_of_the_uri)
{
	silent_for("?detect=1", 1000);
}
