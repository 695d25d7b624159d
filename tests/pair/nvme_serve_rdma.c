/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target over the endpoint in memory: descriptors, data, invalidation, refusals, and hosts that
 * break rules, which end only their own session. */
/* Link: leap */
#include "capsules.h"
#include <criterion/criterion.h>
#include <string.h>

Test(nvme_serve_rdma, reads_and_writes_in_pieces)
{
	struct nvme_sqe sqe;

	capsules_begin_live();
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 3, 8)), 0);
	cr_assert_arr_eq(memory, backing->bytes + 3 * 512, 8 * 512);
	peer.writes = 0;
	/* 1 MiB: eight buffers */
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 2048)), 0);
	cr_assert_arr_eq(memory, backing->bytes, 1 << 20);
	cr_assert_eq(peer.writes, 8);
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(i * 3 + i / 1021);
	peer.reads = 0;
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_WRITE, 100, 2048)), 0);
	cr_assert_arr_eq(backing->bytes + 100 * 512, memory, 1 << 20);
	cr_assert_eq(peer.reads, 8);
	sqe = capsules_rw(NVME_IO_COMPARE, 100, 2048);
	cr_assert_eq(capsules_run(sqe), 0);
	memory[1 << 19] ^= 1;
	cr_assert_eq(capsules_run(sqe), NVME_COMPARE_FAILURE);
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	capsules_end();
}

Test(nvme_serve_rdma, data_in_the_capsule)
{
	struct {
		struct nvme_sqe sqe;
		uint8_t data[4096];
	} capsule = { .sqe = capsules_rw(NVME_IO_WRITE, 8, 8) };

	capsules_begin_live();
	capsule.sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(4096) };
	memset(capsule.data, 0x42, sizeof(capsule.data));
	peer.reads = 0;
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule)), 0);
	cr_assert_arr_eq(backing->bytes + 8 * 512, capsule.data, 4096);
	cr_assert_eq(peer.reads, 0);
	capsule.sqe.opcode = NVME_IO_COMPARE;
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule)), 0);
	capsule.data[4095]++;
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule)), NVME_COMPARE_FAILURE);
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule) - 512), NVME_SGL_LENGTH);
	capsule.sqe.sgl.addr = put_le64(64);
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule)), NVME_SGL_OFFSET_BAD);
	capsule.sqe.opcode = NVME_IO_READ;
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule)), NVME_SGL_TYPE);
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	capsules_end();
}

Test(nvme_serve_rdma, keys_are_invalidated_when_asked)
{
	struct nvme_sqe sqe = capsules_rw(NVME_IO_READ, 0, 8);

	capsules_begin_live();
	cr_assert_eq(capsules_run(sqe), 0);
	cr_assert_eq(peer.invals, 0);
	sqe.sgl.type = NVME_SGL_KEYED_INVAL;
	cr_assert_eq(capsules_run(sqe), 0);
	cr_assert_eq(peer.invals, 1);
	cr_assert_eq(peer.inval_key, KEY);
	sqe.cdw10 = put_le32(SIZE / 512);
	cr_assert_eq(capsules_run(sqe), NVME_LBA_RANGE);
	cr_assert_eq(peer.invals, 2);
	capsules_end();
}

Test(nvme_serve_rdma, refusals)
{
	static const uint8_t known[] = { NVME_IO_FLUSH, NVME_IO_WRITE, NVME_IO_READ,
		NVME_IO_COMPARE, NVME_IO_WRITE_ZEROES, NVME_IO_DSM, NVME_IO_RESERVE_REGISTER,
		NVME_IO_RESERVE_REPORT, NVME_IO_RESERVE_ACQUIRE, NVME_IO_RESERVE_RELEASE,
		NVME_FABRICS };
	struct nvme_sqe sqe;

	capsules_begin_live();
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, SIZE / 512 - 7, 8)), NVME_LBA_RANGE);
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, UINT64_MAX, 8)), NVME_LBA_RANGE);
	/* more than MDTS */
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 2049)), NVME_INVALID_FIELD);
	sqe = capsules_rw(NVME_IO_READ, 0, 8);
	sqe.nsid = put_le32(2);
	cr_assert_eq(capsules_run(sqe), NVME_INVALID_NS);
	sqe.nsid = put_le32(0);
	cr_assert_eq(capsules_run(sqe), NVME_INVALID_NS);
	sqe = capsules_rw(NVME_IO_READ, 0, 8);
	sqe.sgl = capsules_keyed(0, 512);
	cr_assert_eq(capsules_run(sqe), NVME_SGL_LENGTH);
	sqe.sgl.type = NVME_SGL_TRANSPORT;
	cr_assert_eq(capsules_run(sqe), NVME_SGL_TYPE);
	sqe = capsules_rw(NVME_IO_READ, 0, 8);
	sqe.flags |= 1; /* fused */
	cr_assert_eq(capsules_run(sqe), NVME_INVALID_FIELD);
	sqe.flags = 0; /* PRP */
	cr_assert_eq(capsules_run(sqe), NVME_INVALID_FIELD);
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		sqe = capsules_rw((uint8_t)opcode, 0, 8);
		if (!memchr(known, (int)opcode, sizeof(known)))
			cr_assert_eq(capsules_run(sqe), NVME_INVALID_OPCODE, "%02x", opcode);
	}
	cr_assert_eq(capsules_property(io, false, NVME_CSTS, 0), NVME_INVALID_OPCODE);
	cr_assert_eq(capsules_property(admin, false, 0x1234, 0), NVME_INVALID_FIELD);
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), NVME_SEQUENCE);
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 8)), 0);
	cr_assert_eq(goings, 0);
	capsules_end();
}

/* What is written to a read-only disk. */
Test(nvme_serve_rdma, read_only)
{
	capsules_begin();
	backing->bdev.lim.ro = true;
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(
			     admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	io = capsules_call(1, DEPTH);
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 8)), 0);
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_WRITE, 0, 8)), NVME_WRITE_PROTECTED);
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_WRITE_ZEROES, 0, 8)), NVME_WRITE_PROTECTED);
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_DSM, 0, 8)), NVME_WRITE_PROTECTED);
	capsules_end();
}

/* Two connects at once on one connection: one queue. */
Test(nvme_serve_rdma, connects_that_overlap)
{
	struct nvmf_connect_sqe sqe = { .opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = NVMF_CONNECT,
		.sqsize = put_le16(DEPTH - 1),
		.sgl = capsules_keyed(0, 1024) };
	struct nvmf_connect_data data = {
		.cntlid = put_le16(0xffff), .subnqn = NQN, .hostnqn = HOST
	};
	unsigned good = 0;

	capsules_begin();
	admin = capsules_call(0, DEPTH);
	memcpy(memory, &data, sizeof(data));
	for (unsigned i = 0; i < 3; i++)
		cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	capsules_settle();
	cr_assert_eq(replies, 3);
	for (unsigned i = 0; i < 3; i++)
		good += !get_le16(answers[i].cqe.status);
	cr_assert_eq(good, 1);
	capsules_end();
}

/* The host goes while its shutdown is at a disk that is stuck. */
Test(nvme_serve_rdma, gone_while_shutting_down)
{
	capsules_begin_live();
	backing->hold = true;
	cr_assert_eq(capsules_property(admin, true, NVME_CC,
			     NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES | NVME_CC_SHN_NORMAL),
		0);
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(NVME_CSTS_SHST(capsules_result()), NVME_SHST_RUNNING);
	ep_pair_cut(admin);
	capsules_settle();
	cr_assert_eq(backing->cancelled, 1);
	backing->hold = false;
	capsules_end();
}

Test(nvme_serve_rdma, connects_refused)
{
	capsules_begin();
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), NVME_SEQUENCE);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, "nqn.other", DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(capsules_result(), NVMF_IATTR_DATA << 16 | 256);
	cr_assert_eq(capsules_connect_to(admin, 0, 3, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(capsules_result(), NVMF_IATTR_DATA << 16 | 16);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, 0), NVMF_PARAM);
	cr_assert_eq(capsules_result(), 44);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH), NVMF_PARAM);
	cr_assert_eq(capsules_result(), 44);
	cr_assert_eq(capsules_connect_to(admin, 1, 1, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_result(), 1);
	io = capsules_call(1, DEPTH);
	/* not enabled yet */
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), NVME_SEQUENCE);
	cr_assert_eq(capsules_property(
			     admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	cr_assert_eq(capsules_connect_to(io, 65, 1, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(capsules_result(), 42);
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
	/* that queue is taken */
	cr_assert_eq(
		capsules_connect_to(capsules_call(1, DEPTH), 1, 1, NQN, DEPTH - 1), NVME_SEQUENCE);
	capsules_end();
}

Test(nvme_serve_rdma, queues_up_to_64)
{
	struct target_status status;

	capsules_begin_live();
	for (uint16_t qid = 2; qid <= 64; qid++) {
		io = capsules_call(qid, 2);
		cr_assert_eq(capsules_connect_to(io, qid, 1, NQN, 1), 0);
		cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, qid, 8)), 0);
	}
	target_get_status(target, &status);
	cr_assert_eq(status.queues, 64);
	cr_assert_eq(status.count.reads, 63);
	ep_pair_cut(io);
	capsules_settle();
	target_get_status(target, &status);
	cr_assert_eq(status.queues, 63);
	io = capsules_call(64, 2); /* the number is free again */
	cr_assert_eq(capsules_connect_to(io, 64, 1, NQN, 1), 0);
	capsules_end();
}

/* As Linux 6.12 sends it: one range, in a page of its own. */
Test(nvme_serve_rdma, ranges_in_more_room_than_they_need)
{
	struct nvme_dsm_range range = { .blocks = put_le32(8), .lba = put_le64(16) };
	struct nvme_sqe sqe = { .opcode = NVME_IO_DSM,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw11 = put_le32(NVME_DSM_DEALLOCATE),
		.sgl = capsules_keyed(0, 4096) };
	struct {
		struct nvme_sqe sqe;
		uint8_t data[4096];
	} capsule = { .sqe = sqe };

	capsules_begin_live();
	memcpy(memory, &range, sizeof(range));
	cr_assert_eq(capsules_run(sqe), 0);
	for (unsigned i = 0; i < 8 * 512; i++)
		cr_assert_eq(backing->bytes[16 * 512 + i], 0, "byte %u", i);
	range.lba = put_le64(64);
	memcpy(capsule.data, &range, sizeof(range));
	capsule.sqe.sgl = (struct nvme_sgl){ .block.len = put_le32(sizeof(capsule.data)),
		.type = NVME_SGL_OFFSET };
	cr_assert_eq(capsules_command(io, &capsule, sizeof(capsule)), 0);
	for (unsigned i = 0; i < 8 * 512; i++)
		cr_assert_eq(backing->bytes[64 * 512 + i], 0, "byte %u", i);
	sqe.sgl = capsules_keyed(0, sizeof(range) - 1);
	cr_assert_eq(capsules_run(sqe), NVME_SGL_LENGTH);
	capsules_end();
}

static uint16_t rejected(
	uint16_t recfmt, uint16_t qid, uint16_t receives, uint16_t entries, unsigned len)
{
	struct nvmf_rdma_req req = { .recfmt = put_le16(recfmt),
		.qid = put_le16(qid),
		.hrqsize = put_le16(receives),
		.hsqsize = put_le16((uint16_t)(entries - 1)) };

	cr_assert(ep_pair_call(&peer, &req, len, 4));
	capsules_settle();
	cr_assert(peer.rejected);
	return get_le16(((struct nvmf_rdma_rej *)(void *)peer.reply)->status);
}

Test(nvme_serve_rdma, calls_refused)
{
	capsules_begin();
	cr_assert_eq(rejected(0, 0, 8, 8, 31), NVMF_RDMA_INVALID_LEN);
	cr_assert_eq(rejected(1, 0, 8, 8, 32), NVMF_RDMA_INVALID_RECFMT);
	cr_assert_eq(rejected(0, 65, 8, 8, 32), NVMF_RDMA_INVALID_QID);
	cr_assert_eq(rejected(0, 0, 0, 8, 32), NVMF_RDMA_INVALID_HRQSIZE);
	cr_assert_eq(rejected(0, 0, 8, 1, 32), NVMF_RDMA_INVALID_HSQSIZE);
	cr_assert_eq(rejected(0, 0, 8, DEPTH + 1, 32), NVMF_RDMA_INVALID_HSQSIZE);
	capsules_end();
}

/* Each ends its own queue; other hosts can use the disk. */
Test(nvme_serve_rdma, hosts_that_break_rules)
{
	struct nvme_sqe sqe = capsules_rw(NVME_IO_WRITE, 0, 8);
	struct ep *other;

	capsules_begin_live();
	other = capsules_call(2, DEPTH);
	cr_assert_eq(capsules_connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_command(other, &sqe, 63), UINT32_MAX);
	cr_assert(capsules_is_gone(other));
	other = capsules_call(2, DEPTH);
	cr_assert_eq(capsules_connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	sqe.sgl.keyed.key = put_le32(KEY + 1); /* a wild key */
	cr_assert_eq(capsules_command(other, &sqe, sizeof(sqe)), UINT32_MAX);
	cr_assert(capsules_is_gone(other));
	other = capsules_call(2, DEPTH);
	cr_assert_eq(capsules_connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	sqe.sgl = capsules_keyed(MEMORY - 512, 4096); /* beyond the end */
	cr_assert_eq(capsules_command(other, &sqe, sizeof(sqe)), UINT32_MAX);
	cr_assert(capsules_is_gone(other));
	other = capsules_call(2, DEPTH);
	cr_assert_eq(capsules_connect_to(other, 2, 1, NQN, DEPTH - 1), 0);
	cr_assert(ep_pair_deliver_inval(other, &sqe, sizeof(sqe), 5));
	capsules_settle();
	cr_assert(capsules_is_gone(other));
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 8)), 0);
	capsules_end();
}

/* An admin queue that goes takes its I/O queues along. */
Test(nvme_serve_rdma, controllers_end_as_a_whole)
{
	struct target_status status;

	capsules_begin_live();
	target_get_status(target, &status);
	cr_assert_eq(status.clients, 1);
	cr_assert_eq(status.queues, 1);
	ep_pair_cut(admin);
	capsules_settle();
	cr_assert(capsules_is_gone(io));
	target_get_status(target, &status);
	cr_assert_eq(status.clients, 0);
	capsules_end();
}

/* A device that gives little: fewer commands in work than the host may send; one read at once. */
Test(nvme_serve_rdma, small_devices)
{
	struct nvme_sqe sqe = capsules_rw(NVME_IO_WRITE, 0, 8);

	peer.limit = (struct ep_caps){ .send = 6, .ord = 1 };
	peer.delayed_sent = true;
	capsules_begin_live();
	for (unsigned round = 0; round < 4; round++) {
		replies = 0;
		for (unsigned i = 0; i < DEPTH - 1; i++) {
			sqe.cid = put_le16((uint16_t)i);
			sqe.cdw10 = put_le32(8 * i);
			sqe.opcode = round % 2 ? NVME_IO_READ : NVME_IO_WRITE;
			cr_assert(ep_pair_deliver(io, &sqe, sizeof(sqe)));
		}
		capsules_settle();
		capsules_settle();
		cr_assert_eq(replies, DEPTH - 1);
	}
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	capsules_end();
}

/* Memory that cannot be reached any more, of a host that is alive otherwise: its queue ends,
 * whichever way the data should go. */
Test(nvme_serve_rdma, transfers_without_an_end)
{
	capsules_begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.stall_ms = 200;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(
			     admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	for (unsigned reads = 0; reads < 2; reads++) {
		volatile int never = 0;

		io = capsules_call(1, DEPTH);
		cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
		peer.stuck = true;
		cr_assert_eq(capsules_run(capsules_rw(reads ? NVME_IO_READ : NVME_IO_WRITE, 0, 8)),
			UINT32_MAX);
		for (unsigned i = 0; i < 1000 && !capsules_is_gone(io); i++) {
			loop_wait(loop, &never, loop_clock() + 20000000);
			cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
		}
		cr_assert(capsules_is_gone(io));
		peer.stuck = false;
		goings = 0;
	}
	cr_assert(!capsules_is_gone(admin));
	capsules_end();
}

/* Connecting and administration need no data buffer: the only one is held by a read that the host
 * does not take. */
Test(nvme_serve_rdma, administers_without_buffers)
{
	struct nvme_sqe identify = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.cdw10 = put_le32(NVME_CNS_CTRL),
		.sgl = capsules_keyed(4096, NVME_IDENTIFY_LEN) };
	struct ep *other;

	capsules_begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.buffers = 1;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(
			     admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	io = capsules_call(1, DEPTH);
	/* it has no memory for what an admin queue sends */
	cr_assert_eq(capsules_connect_to(io, 0, 0xffff, NQN, DEPTH - 1), NVMF_PARAM);
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
	peer.stuck = true;
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 8)), UINT32_MAX);
	peer.stuck = false;
	other = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(other, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(
			     other, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	cr_assert_eq(capsules_command(other, &identify, sizeof(identify)), 0);
	cr_assert_arr_eq(((struct nvme_id_ctrl *)(memory + 4096))->mn, "rdmastor", 8);
	cr_assert_eq(ep_pair_receives(other), DEPTH);
	cr_assert(!capsules_is_gone(io));
	ep_pair_cut(io);
	capsules_settle();
	capsules_end();
}

/* Before it is a queue's, a connection may have few commands in work; the others wait, and none is
 * lost. */
Test(nvme_serve_rdma, many_commands_before_connect)
{
	struct nvme_sqe identify = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.cdw10 = put_le32(NVME_CNS_CTRL),
		.sgl = capsules_keyed(4096, NVME_IDENTIFY_LEN) };

	capsules_begin();
	admin = capsules_call(0, DEPTH);
	replies = 0;
	for (unsigned i = 0; i < DEPTH; i++) {
		identify.cid = put_le16((uint16_t)i);
		cr_assert(ep_pair_deliver(admin, &identify, sizeof(identify)));
	}
	capsules_settle();
	cr_assert_eq(replies, DEPTH);
	for (unsigned i = 0; i < DEPTH; i++) {
		cr_assert_eq(get_le16(answers[i].cqe.cid), i);
		cr_assert_eq(get_le16(answers[i].cqe.status) >> 1, NVME_SEQUENCE);
	}
	cr_assert_eq(ep_pair_receives(admin), DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	capsules_end();
}
