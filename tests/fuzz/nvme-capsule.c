/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* A host over RDMA that sends any capsules (two bytes of length, then that many): on an admin queue
 * or an I/O queue, as the first byte of the input says. Each is answered, or ends the session; the
 * receives are posted again. */
#include "../../core/proto/nvme/codec.h"
#include "disk.h"
#include "ep_pair.h"
#include "serve.h"
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#define NQN    "nqn.t"
#define MEMORY (1u << 20)
#define DEPTH  4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct target *target;
static struct ep_peer peer;
static uint16_t cntlid;
static struct ep *admin, *driven;
static bool gone, admin_gone;
static struct nvme_cqe last; /* answer */

static void went(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	gone |= ep == driven;
	admin_gone |= ep == admin;
}

static void message(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	(void)p;
	(void)ep;
	if (len != sizeof(last))
		abort();
	memcpy(&last, bytes, len);
}

static void begin(void)
{
	static const struct loop_options options = { .name = "fuzz" };
	struct target_options opt = {
		.disks = 1, .listens = 1, .nloops = 1, .depth = DEPTH, .buffers = 2
	};

	if (loop_new(&loop, &options, NULL))
		abort();
	peer = (struct ep_peer){ .gone = went,
		.message = message,
		.memory = calloc(1, MEMORY),
		.memory_at = 0x1000,
		.memory_len = MEMORY,
		.memory_key = 7 };
	ep_pair_peer(loop, &peer);
	opt.disk[0] = (struct target_disk_options){
		.bdev = &fake_disk_new(loop, 1 << 20, 512)->bdev, .name = NQN, .serial = "S1"
	};
	opt.loops = &loop;
	opt.listen[0].transports = TRANSPORT_VERBS;
	opt.listen[0].at.ss.ss_family = AF_INET;
	if (nvme_serve(&target, loop, &opt, 1000, NULL))
		abort();
}

static volatile int turned;

static void stop(struct loop_work *work)
{
	(void)work;
	turned = 1;
}

/* Without waiting for anything. */
static void turns(unsigned count)
{
	static struct loop_work work = { .run = stop };

	while (count--) {
		turned = 0;
		loop_work_add(loop, &work);
		loop_wait(loop, &turned, 0);
	}
}

/* Which the target has to like. */
static void run(struct ep *ep, const void *sqe)
{
	last.status = put_le16(0xffff);
	if (!ep_pair_deliver(ep, sqe, sizeof(struct nvme_sqe)))
		abort();
	turns(20);
	if (get_le16(last.status))
		abort();
}

static struct ep *join(uint16_t qid)
{
	struct nvmf_connect ask = { .qid = qid,
		.depth = DEPTH,
		.cntlid = qid ? cntlid : 0xffff,
		.subnqn = NQN,
		.hostnqn = "nqn.host" };
	struct nvmf_property_sqe set = { .opcode = NVME_FABRICS,
		.fctype = NVMF_PROPERTY_SET,
		.offset = put_le32(NVME_CC),
		.value = put_le64(NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES) };
	struct nvmf_connect_sqe sqe;
	struct nvmf_rdma_req req;
	struct ep *ep;

	nvmf_rdma_req_put(&req,
		&(struct nvmf_rdma_req_info){ .qid = qid, .receives = DEPTH, .depth = DEPTH });
	if (!ep_pair_call(&peer, &req, sizeof(req), 2))
		abort();
	turns(10);
	ep = peer.called;
	if (!ep)
		abort();
	nvmf_connect_put(&sqe, (void *)peer.memory, &ask);
	sqe.sgl = (struct nvme_sgl){ .addr = put_le64(0x1000),
		.keyed = { put_le24(1024), put_le32(7) },
		.type = NVME_SGL_KEYED };
	run(ep, &sqe);
	if (!qid) {
		cntlid = (uint16_t)get_le64(last.result);
		run(ep, &set);
	}
	return ep;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned kept;

	if (!loop)
		begin();
	gone = admin_gone = false;
	admin = driven = join(0);
	if (size && data[0] & 1)
		driven = join(1);
	for (size_t at = 1; at + 2 <= size && !gone;) {
		size_t len = data[at] | (size_t)data[at + 1] << 8;

		at += 2;
		if (len > size - at)
			len = size - at;
		if (len > 64 + 4096)
			len = 64 + 4096;
		ep_pair_deliver(driven, data + at, (uint32_t)len);
		turns(30);
		at += len;
	}
	turns(30);
	/* only event requests keep their receive, at most four */
	kept = gone ? 0 : DEPTH - ep_pair_receives(driven);
	if (kept > 4 || (kept && driven != admin))
		abort();
	if (!admin_gone)
		ep_pair_cut(admin);
	turns(60);
	return 0;
}
