/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target over the endpoint in memory, command by command: descriptors, invalidation, refusals, and hosts that break
 * rules, which end their own session and nobody else's. */
#include "ep_pair.h"
#include "serving.h"
#include "wire/nvmf.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE (4u << 20)
#define NQN SERVING_NQN
#define HOST "nqn.host"
#define MEMORY (2u << 20)
#define AT 0x7f0000001000ull
#define KEY 0x1234
#define DEPTH 16

static struct ep_peer peer;
static uint8_t *memory;
static struct ep *admin, *io; /* as the target sees them */

struct answer {
	struct nvme_cqe cqe;
	struct ep *ep;
};
static struct answer answers[64];
static unsigned replies;
static struct ep *gone[8];
static unsigned goings;

static void answered(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	(void)p;
	cr_assert_eq(len, sizeof(struct nvme_cqe));
	cr_assert_lt(replies, 64);
	memcpy(&answers[replies].cqe, bytes, len);
	answers[replies++].ep = ep;
}

static void went(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	if (goings < 8)
		gone[goings++] = ep;
}

static bool is_gone(const struct ep *ep)
{
	for (unsigned i = 0; i < goings; i++)
		if (gone[i] == ep)
			return true;
	return false;
}

static volatile int turned;

static void turn_over(struct loop_work *work)
{
	(void)work;
	turned = 1;
}

/* So many turns that what can happen by itself has happened. */
static void settle(void)
{
	static struct loop_work work = { .run = turn_over };

	for (unsigned i = 0; i < 300; i++) {
		turned = 0;
		loop_work_add(loop, &work);
		loop_wait(loop, &turned, 0);
	}
}

static struct ep *call(uint16_t qid, uint16_t depth)
{
	struct nvmf_rdma_req req = { .qid = put_le16(qid), .hrqsize = put_le16(depth), .hsqsize = put_le16(depth - 1) };

	cr_assert(ep_pair_call(&peer, &req, sizeof(req), 4));
	settle();
	return peer.called;
}

static struct nvme_sgl keyed(uint64_t off, uint32_t len)
{
	return (struct nvme_sgl){ .addr = put_le64(AT + off), .keyed = { put_le24(len), put_le32(KEY) }, .type = NVME_SGL_KEYED };
}

/* Sends a command and gives its status; UINT32_MAX: no answer. */
static uint32_t command(struct ep *ep, const void *capsule, uint32_t len)
{
	unsigned before = replies = 0;

	cr_assert(ep_pair_deliver(ep, capsule, len));
	settle();
	if (replies == before)
		return UINT32_MAX;
	cr_assert_eq(replies, before + 1);
	return get_le16(answers[before].cqe.status) >> 1;
}

static uint32_t result(void)
{
	return (uint32_t)get_le64(answers[replies - 1].cqe.result);
}

static uint32_t connect_to(struct ep *ep, uint16_t qid, uint16_t cntlid, const char *nqn, uint16_t sqsize)
{
	struct nvmf_connect_sqe sqe = { .opcode = NVME_FABRICS, .flags = NVME_PSDT_SGL, .fctype = NVMF_CONNECT, .qid = put_le16(qid),
					.sqsize = put_le16(sqsize), .sgl = keyed(0, 1024), .kato = put_le32(5000) };
	struct nvmf_connect_data data = { .hostid = { 7 }, .cntlid = put_le16(cntlid) };

	snprintf(data.subnqn, sizeof(data.subnqn), "%s", nqn);
	snprintf(data.hostnqn, sizeof(data.hostnqn), HOST);
	memcpy(memory, &data, sizeof(data));
	return command(ep, &sqe, sizeof(sqe));
}

static uint32_t property(struct ep *ep, bool set, uint32_t offset, uint64_t value)
{
	struct nvmf_property_sqe sqe = { .opcode = NVME_FABRICS, .flags = NVME_PSDT_SGL, .fctype = set ? NVMF_PROPERTY_SET : NVMF_PROPERTY_GET,
					 .attrib = offset == NVME_CAP, .offset = put_le32(offset), .value = put_le64(value) };

	return command(ep, &sqe, sizeof(sqe));
}

static void begin(void)
{
	serving_begin(SIZE, TARGET_RDMA_VERBS, 0);
	for (unsigned i = 0; i < SIZE; i++)
		backing->bytes[i] = (uint8_t)(i * 7 + i / 511);
	memory = calloc(1, MEMORY);
	peer.message = answered;
	peer.gone = went;
	peer.memory = memory;
	peer.memory_at = AT;
	peer.memory_len = MEMORY;
	peer.memory_key = KEY;
	ep_pair_peer(loop, &peer);
	opt.depth = DEPTH;
	serving_start();
}

/* An admin queue, enabled, and I/O queue 1. */
static void begin_live(void)
{
	begin();
	admin = call(0, DEPTH);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES), 0);
	io = call(1, DEPTH);
	cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
}

static void end(void)
{
	serving_end();
	free(memory);
}

static struct nvme_sqe rw(uint8_t opcode, uint64_t lba, uint32_t blocks)
{
	return (struct nvme_sqe){ .opcode = opcode, .flags = NVME_PSDT_SGL, .nsid = put_le32(1), .cdw10 = put_le32((uint32_t)lba),
				  .cdw11 = put_le32((uint32_t)(lba >> 32)), .cdw12 = put_le32(blocks - 1), .sgl = keyed(0, blocks * 512) };
}

static uint32_t run(struct nvme_sqe sqe)
{
	return command(io, &sqe, sizeof(sqe));
}

Test(nvme_serve_rdma, reads_and_writes_in_pieces)
{
	struct nvme_sqe sqe;

	begin_live();
	cr_assert_eq(run(rw(NVME_IO_READ, 3, 8)), 0);
	cr_assert_arr_eq(memory, backing->bytes + 3 * 512, 8 * 512);
	peer.writes = 0;
	cr_assert_eq(run(rw(NVME_IO_READ, 0, 2048)), 0); /* 1 MiB: eight buffers */
	cr_assert_arr_eq(memory, backing->bytes, 1 << 20);
	cr_assert_eq(peer.writes, 8);
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(i * 3 + i / 1021);
	peer.reads = 0;
	cr_assert_eq(run(rw(NVME_IO_WRITE, 100, 2048)), 0);
	cr_assert_arr_eq(backing->bytes + 100 * 512, memory, 1 << 20);
	cr_assert_eq(peer.reads, 8);
	sqe = rw(NVME_IO_COMPARE, 100, 2048);
	cr_assert_eq(run(sqe), 0);
	memory[1 << 19] ^= 1;
	cr_assert_eq(run(sqe), NVME_COMPARE_FAILURE);
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	end();
}

Test(nvme_serve_rdma, data_in_the_capsule)
{
	struct { struct nvme_sqe sqe; uint8_t data[4096]; } capsule = { .sqe = rw(NVME_IO_WRITE, 8, 8) };

	begin_live();
	capsule.sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(4096) };
	memset(capsule.data, 0x42, sizeof(capsule.data));
	peer.reads = 0;
	cr_assert_eq(command(io, &capsule, sizeof(capsule)), 0);
	cr_assert_arr_eq(backing->bytes + 8 * 512, capsule.data, 4096);
	cr_assert_eq(peer.reads, 0);
	capsule.sqe.opcode = NVME_IO_COMPARE;
	cr_assert_eq(command(io, &capsule, sizeof(capsule)), 0);
	capsule.data[4095]++;
	cr_assert_eq(command(io, &capsule, sizeof(capsule)), NVME_COMPARE_FAILURE);
	cr_assert_eq(command(io, &capsule, sizeof(capsule) - 512), NVME_SGL_LENGTH);
	capsule.sqe.sgl.addr = put_le64(64);
	cr_assert_eq(command(io, &capsule, sizeof(capsule)), NVME_SGL_OFFSET_BAD);
	capsule.sqe.opcode = NVME_IO_READ;
	cr_assert_eq(command(io, &capsule, sizeof(capsule)), NVME_SGL_TYPE);
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	end();
}

Test(nvme_serve_rdma, keys_are_invalidated_when_asked)
{
	struct nvme_sqe sqe = rw(NVME_IO_READ, 0, 8);

	begin_live();
	cr_assert_eq(run(sqe), 0);
	cr_assert_eq(peer.invals, 0);
	sqe.sgl.type = NVME_SGL_KEYED_INVAL;
	cr_assert_eq(run(sqe), 0);
	cr_assert_eq(peer.invals, 1);
	cr_assert_eq(peer.inval_key, KEY);
	sqe.cdw10 = put_le32(SIZE / 512);
	cr_assert_eq(run(sqe), NVME_LBA_RANGE);
	cr_assert_eq(peer.invals, 2);
	end();
}

Test(nvme_serve_rdma, refusals)
{
	struct nvme_sqe sqe;

	begin_live();
	cr_assert_eq(run(rw(NVME_IO_READ, SIZE / 512 - 7, 8)), NVME_LBA_RANGE);
	cr_assert_eq(run(rw(NVME_IO_READ, UINT64_MAX, 8)), NVME_LBA_RANGE);
	cr_assert_eq(run(rw(NVME_IO_READ, 0, 2049)), NVME_INVALID_FIELD); /* more than MDTS */
	sqe = rw(NVME_IO_READ, 0, 8);
	sqe.nsid = put_le32(2);
	cr_assert_eq(run(sqe), NVME_INVALID_NS);
	sqe.nsid = put_le32(0);
	cr_assert_eq(run(sqe), NVME_INVALID_NS);
	sqe = rw(NVME_IO_READ, 0, 8);
	sqe.sgl = keyed(0, 512);
	cr_assert_eq(run(sqe), NVME_SGL_LENGTH);
	sqe.sgl.type = NVME_SGL_TRANSPORT;
	cr_assert_eq(run(sqe), NVME_SGL_TYPE);
	sqe = rw(NVME_IO_READ, 0, 8);
	sqe.flags |= 1; /* fused */
	cr_assert_eq(run(sqe), NVME_INVALID_FIELD);
	sqe.flags = 0; /* PRP */
	cr_assert_eq(run(sqe), NVME_INVALID_FIELD);
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		sqe = rw((uint8_t)opcode, 0, 8);
		if (opcode > NVME_IO_READ && opcode != NVME_IO_COMPARE && opcode != NVME_IO_WRITE_ZEROES && opcode != NVME_IO_DSM &&
		    opcode != NVME_FABRICS)
			cr_assert_eq(run(sqe), NVME_INVALID_OPCODE, "%02x", opcode);
	}
	cr_assert_eq(property(io, false, NVME_CSTS, 0), NVME_INVALID_OPCODE);
	cr_assert_eq(property(admin, false, 0x1234, 0), NVME_INVALID_FIELD);
	cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), NVME_SEQUENCE);
	cr_assert_eq(run(rw(NVME_IO_READ, 0, 8)), 0);
	cr_assert_eq(goings, 0);
	end();
}

/* What is written to a read-only disk. */
Test(nvme_serve_rdma, read_only)
{
	begin();
	backing->bdev.lim.ro = true;
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	cr_assert_eq(target_start(&target, loop, &opt, 1000, NULL), 0);
	admin = call(0, DEPTH);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES), 0);
	io = call(1, DEPTH);
	cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
	cr_assert_eq(run(rw(NVME_IO_READ, 0, 8)), 0);
	cr_assert_eq(run(rw(NVME_IO_WRITE, 0, 8)), NVME_WRITE_PROTECTED);
	cr_assert_eq(run(rw(NVME_IO_WRITE_ZEROES, 0, 8)), NVME_WRITE_PROTECTED);
	cr_assert_eq(run(rw(NVME_IO_DSM, 0, 8)), NVME_WRITE_PROTECTED);
	end();
}

/* Two connects at once on one connection: one queue. */
Test(nvme_serve_rdma, connects_that_overlap)
{
	struct nvmf_connect_sqe sqe = { .opcode = NVME_FABRICS, .flags = NVME_PSDT_SGL, .fctype = NVMF_CONNECT, .sqsize = put_le16(DEPTH - 1),
					.sgl = keyed(0, 1024) };
	struct nvmf_connect_data data = { .cntlid = put_le16(0xffff), .subnqn = NQN, .hostnqn = HOST };
	unsigned good = 0;

	begin();
	admin = call(0, DEPTH);
	memcpy(memory, &data, sizeof(data));
	for (unsigned i = 0; i < 3; i++)
		cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	settle();
	cr_assert_eq(replies, 3);
	for (unsigned i = 0; i < 3; i++)
		good += !get_le16(answers[i].cqe.status);
	cr_assert_eq(good, 1);
	end();
}

/* The host goes while its shutdown is at a disk that is stuck. */
Test(nvme_serve_rdma, gone_while_shutting_down)
{
	begin_live();
	backing->hold = true;
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(NVME_CSTS_SHST(result()), NVME_SHST_RUNNING);
	ep_pair_cut(admin);
	settle();
	cr_assert_eq(backing->cancelled, 1);
	backing->hold = false;
	end();
}

Test(nvme_serve_rdma, connects_refused)
{
	begin();
	admin = call(0, DEPTH);
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), NVME_SEQUENCE);
	cr_assert_eq(connect_to(admin, 0, 0xffff, "nqn.other", DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(result(), NVMF_IATTR_DATA << 16 | 256);
	cr_assert_eq(connect_to(admin, 0, 3, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(result(), NVMF_IATTR_DATA << 16 | 16);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, 0), NVMF_PARAM);
	cr_assert_eq(result(), 44);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH), NVMF_PARAM);
	cr_assert_eq(result(), 44);
	cr_assert_eq(connect_to(admin, 1, 1, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(result(), 1);
	io = call(1, DEPTH);
	cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), NVME_SEQUENCE); /* not enabled yet */
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES), 0);
	cr_assert_eq(connect_to(io, 65, 1, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(result(), 42);
	cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
	cr_assert_eq(connect_to(call(1, DEPTH), 1, 1, NQN, DEPTH - 1), NVME_SEQUENCE); /* that queue is taken */
	end();
}

Test(nvme_serve_rdma, queues_up_to_64)
{
	struct target_status status;

	begin_live();
	for (uint16_t qid = 2; qid <= 64; qid++) {
		io = call(qid, 2);
		cr_assert_eq(connect_to(io, qid, 1, NQN, 1), 0);
		cr_assert_eq(run(rw(NVME_IO_READ, qid, 8)), 0);
	}
	target_get_status(target, &status);
	cr_assert_eq(status.queues, 64);
	cr_assert_eq(status.reads, 63);
	ep_pair_cut(io);
	settle();
	target_get_status(target, &status);
	cr_assert_eq(status.queues, 63);
	io = call(64, 2); /* the number is free again */
	cr_assert_eq(connect_to(io, 64, 1, NQN, 1), 0);
	end();
}

/* As Linux 6.12 sends it: one range, in a page of its own. */
Test(nvme_serve_rdma, ranges_in_more_room_than_they_need)
{
	struct nvme_dsm_range range = { .blocks = put_le32(8), .lba = put_le64(16) };
	struct nvme_sqe sqe = { .opcode = NVME_IO_DSM, .flags = NVME_PSDT_SGL, .nsid = put_le32(1),
				.cdw11 = put_le32(NVME_DSM_DEALLOCATE), .sgl = keyed(0, 4096) };
	struct { struct nvme_sqe sqe; uint8_t data[4096]; } capsule = { .sqe = sqe };

	begin_live();
	memcpy(memory, &range, sizeof(range));
	cr_assert_eq(run(sqe), 0);
	for (unsigned i = 0; i < 8 * 512; i++)
		cr_assert_eq(backing->bytes[16 * 512 + i], 0, "byte %u", i);
	range.lba = put_le64(64);
	memcpy(capsule.data, &range, sizeof(range));
	capsule.sqe.sgl = (struct nvme_sgl){ .block.len = put_le32(sizeof(capsule.data)), .type = NVME_SGL_OFFSET };
	cr_assert_eq(command(io, &capsule, sizeof(capsule)), 0);
	for (unsigned i = 0; i < 8 * 512; i++)
		cr_assert_eq(backing->bytes[64 * 512 + i], 0, "byte %u", i);
	sqe.sgl = keyed(0, sizeof(range) - 1);
	cr_assert_eq(run(sqe), NVME_SGL_LENGTH);
	end();
}

static uint16_t rejected(uint16_t recfmt, uint16_t qid, uint16_t receives, uint16_t entries, unsigned len)
{
	struct nvmf_rdma_req req = { .recfmt = put_le16(recfmt), .qid = put_le16(qid), .hrqsize = put_le16(receives),
				     .hsqsize = put_le16((uint16_t)(entries - 1)) };

	cr_assert(ep_pair_call(&peer, &req, len, 4));
	settle();
	cr_assert(peer.rejected);
	return get_le16(((struct nvmf_rdma_rej *)(void *)peer.reply)->status);
}

Test(nvme_serve_rdma, calls_refused)
{
	begin();
	cr_assert_eq(rejected(0, 0, 8, 8, 31), NVMF_RDMA_INVALID_LEN);
	cr_assert_eq(rejected(1, 0, 8, 8, 32), NVMF_RDMA_INVALID_RECFMT);
	cr_assert_eq(rejected(0, 65, 8, 8, 32), NVMF_RDMA_INVALID_QID);
	cr_assert_eq(rejected(0, 0, 0, 8, 32), NVMF_RDMA_INVALID_HRQSIZE);
	cr_assert_eq(rejected(0, 0, 8, 1, 32), NVMF_RDMA_INVALID_HSQSIZE);
	cr_assert_eq(rejected(0, 0, 8, DEPTH + 1, 32), NVMF_RDMA_INVALID_HSQSIZE);
	end();
}

/* Each of them ends its queue; the disk goes on for another. */
Test(nvme_serve_rdma, hosts_that_break_rules)
{
	struct nvme_sqe sqe = rw(NVME_IO_WRITE, 0, 8);
	struct ep *other;

	begin_live();
	other = call(2, DEPTH);
	cr_assert_eq(connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	cr_assert_eq(command(other, &sqe, 63), UINT32_MAX);
	cr_assert(is_gone(other));
	other = call(2, DEPTH);
	cr_assert_eq(connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	sqe.sgl.keyed.key = put_le32(KEY + 1); /* a wild key */
	cr_assert_eq(command(other, &sqe, sizeof(sqe)), UINT32_MAX);
	cr_assert(is_gone(other));
	other = call(2, DEPTH);
	cr_assert_eq(connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	sqe.sgl = keyed(MEMORY - 512, 4096); /* beyond the end */
	cr_assert_eq(command(other, &sqe, sizeof(sqe)), UINT32_MAX);
	cr_assert(is_gone(other));
	other = call(2, DEPTH);
	cr_assert_eq(connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	cr_assert(ep_pair_deliver_inval(other, &sqe, sizeof(sqe), 5));
	settle();
	cr_assert(is_gone(other));
	cr_assert_eq(run(rw(NVME_IO_READ, 0, 8)), 0);
	end();
}

/* An admin queue that goes takes its I/O queues along. */
Test(nvme_serve_rdma, controllers_end_as_a_whole)
{
	struct target_status status;

	begin_live();
	target_get_status(target, &status);
	cr_assert_eq(status.hosts, 1);
	cr_assert_eq(status.queues, 1);
	ep_pair_cut(admin);
	settle();
	cr_assert(is_gone(io));
	target_get_status(target, &status);
	cr_assert_eq(status.hosts, 0);
	end();
}

static uint32_t admin_command(uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11, uint32_t len)
{
	struct nvme_sqe sqe = { .opcode = opcode, .flags = NVME_PSDT_SGL, .nsid = put_le32(nsid), .cdw10 = put_le32(cdw10),
				.cdw11 = put_le32(cdw11), .sgl = keyed(0, len) };

	memset(memory, 0xee, 8192);
	return command(admin, &sqe, sizeof(sqe));
}

static uint32_t status_of(uint16_t cid)
{
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == cid)
			return get_le16(answers[i].cqe.status) >> 1;
	return UINT32_MAX;
}

/* Sends one Abort and gives what is said of it: 0 aborted, 1 not; what it aborted is among the answers. */
static uint32_t abort_it(uint16_t qid, uint16_t cid)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ABORT, .flags = NVME_PSDT_SGL, .cid = put_le16(0x7777),
				.cdw10 = put_le32(qid | (uint32_t)cid << 16) };

	replies = 0;
	cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	settle();
	cr_assert_eq(status_of(0x7777), 0);
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == 0x7777)
			return (uint32_t)get_le64(answers[i].cqe.result);
	return UINT32_MAX;
}

static void submit(uint8_t opcode, uint16_t cid, uint32_t blocks)
{
	struct nvme_sqe sqe = rw(opcode, 0, blocks);

	sqe.cid = put_le16(cid);
	cr_assert(ep_pair_deliver(io, &sqe, sizeof(sqe)));
	settle();
}

/* What waits for a buffer is dropped, also a read that the disk holds; a write at the disk goes on. Nothing else is disturbed. */
Test(nvme_serve_rdma, abort)
{
	begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.buffers = 2; /* one of them for one connection */
	cr_assert_eq(target_start(&target, loop, &opt, 1000, NULL), 0);
	admin = call(0, DEPTH);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES), 0);
	io = call(1, DEPTH);
	cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), 0);

	backing->hold = true;
	replies = 0;
	submit(NVME_IO_WRITE, 100, 8); /* at the disk */
	submit(NVME_IO_WRITE, 101, 8); /* in line */
	submit(NVME_IO_READ, 102, 8); /* in line */
	cr_assert_eq(replies, 0);
	cr_assert_eq(abort_it(1, 100), 1);
	cr_assert_eq(replies, 1);
	cr_assert_eq(abort_it(1, 101), 0);
	cr_assert_eq(replies, 2);
	cr_assert_eq(status_of(101), NVME_ABORT_REQUESTED);
	cr_assert_eq(abort_it(1, 101), 1); /* it is no more */
	cr_assert_eq(abort_it(1, 999), 1);
	cr_assert_eq(abort_it(2, 102), 1);
	cr_assert_eq(abort_it(0, 0x7777), 1); /* itself */
	cr_assert_eq(backing->cancelled, 0);
	backing->hold = false;
	replies = 0;
	submit(NVME_IO_FLUSH, 103, 1);
	cr_assert_eq(replies, 3);
	cr_assert_eq(status_of(100), 0);
	cr_assert_eq(status_of(102), 0);

	backing->hold = true;
	submit(NVME_IO_READ, 104, 8);
	cr_assert_eq(abort_it(1, 104), 0);
	cr_assert_eq(status_of(104), NVME_ABORT_REQUESTED);
	cr_assert_eq(backing->cancelled, 1);
	backing->hold = false;
	cr_assert_eq(run(rw(NVME_IO_READ, 3, 8)), 0);
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	end();
}

/* A request for an event, of which only one may be left; and as many Aborts at once as were offered. */
Test(nvme_serve_rdma, abort_of_admin_commands)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ASYNC_EVENT, .flags = NVME_PSDT_SGL };
	unsigned limit = 0;

	begin_live();
	for (uint16_t cid = 50; cid < 54; cid++) {
		sqe.cid = put_le16(cid);
		cr_assert_eq(command(admin, &sqe, sizeof(sqe)), UINT32_MAX);
	}
	cr_assert_eq(abort_it(0, 51), 0);
	cr_assert_eq(status_of(51), NVME_ABORT_REQUESTED);
	cr_assert_eq(abort_it(0, 51), 1);
	cr_assert_eq(abort_it(0, 53), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_ASYNC_EVENT, NVME_EVENT_NS_ATTR, 0), 0);
	replies = 0;
	backing->bdev.lim.size -= 512;
	target_resized(target, &backing->bdev);
	settle();
	cr_assert_eq(replies, 1);
	cr_assert(status_of(50) == 0 || status_of(52) == 0);
	sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ABORT, .flags = NVME_PSDT_SGL, .cdw10 = put_le32(1) };
	replies = 0;
	for (unsigned i = 0; i < 6; i++)
		cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	settle();
	cr_assert_eq(replies, 6);
	for (unsigned i = 0; i < 6; i++)
		limit += get_le16(answers[i].cqe.status) >> 1 == NVME_ABORT_LIMIT;
	cr_assert_eq(limit, 2);
	/* the host goes while one is on its way */
	cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	ep_pair_cut(admin);
	settle();
	cr_assert(is_gone(io));
	end();
}

Test(nvme_serve_rdma, admin_commands)
{
	begin_live();
	for (unsigned cns = 0; cns < 256; cns++) {
		bool known = cns <= 3 || cns == 6 || cns == 8;

		cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 1, cns, 0, 4096), known ? 0u : NVME_INVALID_FIELD, "CNS %02x", cns);
	}
	cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 2, NVME_CNS_NS, 0, 4096), NVME_INVALID_NS);
	cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS, 0, 4092), NVME_SGL_LENGTH);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0xffffffff, NVME_LOG_SMART | 127 << 16, 0, 512), 0);
	cr_assert_eq(memory[3], 100);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_ERROR | 15 << 16, 0, 64), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_FIRMWARE | 127 << 16, 0, 512), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_CHANGED_NS | 2047 << 16, 0, 8192), 0); /* zeroes behind its end */
	cr_assert_eq(memory[8191], 0);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 15 << 16, 0, 64), NVME_INVALID_LOG);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_SMART | 0xffffu << 16, 0xffff, 64), NVME_INVALID_FIELD);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_QUEUES, 7 << 16 | 7, 0), 0);
	cr_assert_eq(result(), 63 << 16 | 63);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, 9000, 0), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_FEATURES, 0, NVME_FEATURE_KATO, 0, 0), 0);
	cr_assert_eq(result(), 9000);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_FEATURES, 0, NVME_FEATURE_HOST_ID, 1, 16), 0);
	cr_assert_eq(memory[0], 7);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_HOST_ID, 1, 16), NVME_SEQUENCE);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, 1u << 31 | NVME_FEATURE_KATO, 1, 0), NVME_FEATURE_UNSAVEABLE);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, 0x99, 1, 0), NVME_INVALID_FIELD);
	cr_assert_eq(admin_command(NVME_ADMIN_ABORT, 0, 1, 0, 0), 0);
	cr_assert_eq(result(), 1);
	cr_assert_eq(admin_command(0x0d, 0, 0, 0, 0), NVME_INVALID_OPCODE);
	cr_assert_eq(admin_command(NVME_ADMIN_KEEP_ALIVE, 0, 0, 0, 0), 0);
	cr_assert_eq(ep_pair_receives(admin), DEPTH);
	end();
}

Test(nvme_serve_rdma, events)
{
	begin_live();
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
	cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), NVME_AER_LIMIT);
	backing->bdev.lim.size = SIZE / 2;
	replies = 0;
	target_resized(target, &backing->bdev);
	settle();
	cr_assert_eq(replies, 0); /* not asked for yet */
	cr_assert(ep_pair_deliver(admin, &(struct nvme_sqe){ .opcode = NVME_ADMIN_SET_FEATURES, .flags = NVME_PSDT_SGL,
		.cdw10 = put_le32(NVME_FEATURE_ASYNC_EVENT), .cdw11 = put_le32(NVME_EVENT_NS_ATTR) }, 64));
	settle();
	cr_assert_eq(replies, 2); /* that, and the event */
	replies = 0;
	backing->bdev.lim.size = SIZE;
	target_resized(target, &backing->bdev);
	settle();
	cr_assert_eq(replies, 0); /* its log was not read */
	cr_assert(ep_pair_deliver(admin, &(struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG, .flags = NVME_PSDT_SGL, .sgl = keyed(0, 4096),
		.cdw10 = put_le32(NVME_LOG_CHANGED_NS | 1023 << 16) }, 64));
	settle();
	cr_assert_eq(memory[0], 1);
	cr_assert_eq(replies, 2);
	end();
}

/* A device goes and comes back: the discovery log tells of it, and its readers are told. */
Test(nvme_serve_rdma, discovery_hears_of_devices)
{
	const struct nvmf_log_head *head;
	volatile int never = 0;
	uint64_t before;

	begin();
	head = (const void *)memory;
	admin = call(0, DEPTH);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NVMF_DISCOVERY_NQN, DEPTH - 1), 0);
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_ASYNC_EVENT, NVME_EVENT_DISC_LOG, 0), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
	cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS, 0, 4096), NVME_INVALID_FIELD);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 511 << 16, 0, 2048), 0);
	cr_assert_eq(get_le64(head->numrec), 1);
	before = get_le64(head->genctr);
	cr_assert_str_eq(((const struct nvmf_log_entry *)(const void *)(memory + 1024))->subnqn, NQN);
	replies = 0;
	ep_pair_lose(&peer);
	settle();
	cr_assert_eq(replies, 1);
	cr_assert_eq(result(), 0x70f002);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 255 << 16, 0, 1024), 0);
	cr_assert_eq(get_le64(head->numrec), 0);
	cr_assert_gt(get_le64(head->genctr), before);
	for (unsigned i = 0; i < 400 && !peer.listener; i++)
		loop_wait(loop, &never, loop_clock() + 10000000);
	cr_assert_not_null(peer.listener);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 255 << 16, 0, 1024), 0);
	cr_assert_eq(get_le64(head->numrec), 1);
	end();
}

/* A device that gives little: fewer commands in work than the host may send; one read at once. */
Test(nvme_serve_rdma, small_devices)
{
	struct nvme_sqe sqe = rw(NVME_IO_WRITE, 0, 8);

	peer.limit = (struct ep_caps){ .send = 6, .ord = 1 };
	peer.late_sent = true;
	begin_live();
	for (unsigned round = 0; round < 4; round++) {
		replies = 0;
		for (unsigned i = 0; i < DEPTH - 1; i++) {
			sqe.cid = put_le16((uint16_t)i);
			sqe.cdw10 = put_le32(8 * i);
			sqe.opcode = round % 2 ? NVME_IO_READ : NVME_IO_WRITE;
			cr_assert(ep_pair_deliver(io, &sqe, sizeof(sqe)));
		}
		settle();
		settle();
		cr_assert_eq(replies, DEPTH - 1);
	}
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	end();
}

/* Memory that cannot be reached any more, of a host that is alive otherwise: its queue ends, whichever way the data should go. */
Test(nvme_serve_rdma, transfers_without_an_end)
{
	begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.stall_ms = 200;
	cr_assert_eq(target_start(&target, loop, &opt, 1000, NULL), 0);
	admin = call(0, DEPTH);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES), 0);
	for (unsigned reads = 0; reads < 2; reads++) {
		volatile int never = 0;

		io = call(1, DEPTH);
		cr_assert_eq(connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
		peer.stuck = true;
		cr_assert_eq(run(rw(reads ? NVME_IO_READ : NVME_IO_WRITE, 0, 8)), UINT32_MAX);
		for (unsigned i = 0; i < 1000 && !is_gone(io); i++) {
			loop_wait(loop, &never, loop_clock() + 20000000);
			cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
		}
		cr_assert(is_gone(io));
		peer.stuck = false;
		goings = 0;
	}
	cr_assert(!is_gone(admin));
	end();
}

/* Silence: a controller without keep-alive ends. */
Test(nvme_serve_rdma, keep_alive_expires)
{
	volatile int never = 0;

	begin_live();
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, 100, 0), 0);
	loop_wait(loop, &never, loop_clock() + 800000000ull);
	cr_assert(!is_gone(admin));
	loop_wait(loop, &never, loop_clock() + 600000000ull);
	cr_assert(is_gone(admin));
	settle();
	cr_assert(is_gone(io));
	end();
}

Test(nvme_serve_rdma, shutdown_flushes)
{
	begin_live();
	backing->flushes = 0;
	cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(NVME_CSTS_SHST(result()), NVME_SHST_COMPLETE);
	cr_assert_eq(backing->flushes, 1);
	cr_assert_eq(property(admin, true, NVME_CC, 0), 0); /* and disabled: its I/O queues end */
	cr_assert(is_gone(io));
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(result(), 0);
	end();
}

/* What could not be flushed is not reported as safe: a fatal status tells the host not to wait, a reset takes it back. */
Test(nvme_serve_rdma, shutdown_that_cannot_flush)
{
	const uint32_t on = NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES;
	struct fake_disk *second;

	begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	second = fake_disk_new(loop, SIZE, 512);
	opt.disks = 2;
	opt.disk[1] = opt.disk[0];
	opt.disk[1].bdev = &second->bdev;
	cr_assert_eq(target_start(&target, loop, &opt, 1000, NULL), 0);
	admin = call(0, DEPTH);
	cr_assert_eq(connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(property(admin, true, NVME_CC, on), 0);
	backing->flush_status = -EIO;
	second->flushes = 0;
	cr_assert_eq(property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(result(), NVME_CSTS_CFS | NVME_CSTS_RDY | NVME_SHST_RUNNING << 2);
	cr_assert_eq(second->flushes, 1); /* the others are flushed all the same */
	backing->flush_status = 0;
	cr_assert_eq(property(admin, true, NVME_CC, 0), 0);
	cr_assert_eq(property(admin, true, NVME_CC, on), 0);
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(result(), NVME_CSTS_RDY);
	cr_assert_eq(property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(NVME_CSTS_SHST(result()), NVME_SHST_COMPLETE);
	end();
	fake_disk_free(second);
}

/* A host that asks for it again and again while a disk flushes, and leaves. */
Test(nvme_serve_rdma, shutdown_begun_anew)
{
	const uint32_t on = NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES;

	begin_live();
	backing->hold = true;
	cr_assert_eq(property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(property(admin, true, NVME_CC, on), 0);
	cr_assert_eq(property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	ep_pair_cut(admin);
	settle();
	cr_assert_eq(backing->cancelled, 1);
	backing->hold = false;
	end();
}

/* Requests for events end with the controller they were made of: the host has all of its queue again. */
Test(nvme_serve_rdma, a_reset_gives_back_the_queue)
{
	begin_live();
	for (unsigned round = 0; round < 2 * DEPTH; round++) {
		for (unsigned i = 0; i < 4; i++)
			cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
		cr_assert_eq(ep_pair_receives(admin), DEPTH - 4);
		cr_assert_eq(property(admin, true, NVME_CC, 0), 0);
		cr_assert_eq(ep_pair_receives(admin), DEPTH);
		cr_assert_eq(property(admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES), 0);
	}
	end();
}
