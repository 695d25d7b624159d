/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A host of the target that serving.c begins, over the endpoint in memory. */
#include "capsules.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ep_peer peer;
uint8_t *memory;
uint8_t capsules_host[16] = { 7 };
const char *capsules_name = HOST;
struct ep *admin, *io; /* as the target sees them */

struct capsules_answer answers[64];
unsigned replies;
static struct ep *gone[8];
unsigned goings;

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

bool capsules_is_gone(const struct ep *ep)
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
void capsules_settle(void)
{
	static struct loop_work work = { .run = turn_over };

	for (unsigned i = 0; i < 300; i++) {
		turned = 0;
		loop_work_add(loop, &work);
		loop_wait(loop, &turned, 0);
	}
}

struct ep *capsules_call(uint16_t qid, uint16_t depth)
{
	struct nvmf_rdma_req req = {
		.qid = put_le16(qid), .hrqsize = put_le16(depth), .hsqsize = put_le16(depth - 1)
	};

	cr_assert(ep_pair_call(&peer, &req, sizeof(req), 4));
	capsules_settle();
	return peer.called;
}

struct nvme_sgl capsules_keyed(uint64_t off, uint32_t len)
{
	return (struct nvme_sgl){ .addr = put_le64(AT + off),
		.keyed = { put_le24(len), put_le32(KEY) },
		.type = NVME_SGL_KEYED };
}

/* Sends a command and gives its status; UINT32_MAX: no answer. */
uint32_t capsules_command(struct ep *ep, const void *capsule, uint32_t len)
{
	unsigned before = replies = 0;

	cr_assert(ep_pair_deliver(ep, capsule, len));
	capsules_settle();
	if (replies == before)
		return UINT32_MAX;
	cr_assert_eq(replies, before + 1);
	return get_le16(answers[before].cqe.status) >> 1;
}

uint32_t capsules_result(void)
{
	return (uint32_t)get_le64(answers[replies - 1].cqe.result);
}

uint32_t capsules_connect_to(
	struct ep *ep, uint16_t qid, uint16_t cntlid, const char *nqn, uint16_t sqsize)
{
	struct nvmf_connect_sqe sqe = { .opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = NVMF_CONNECT,
		.qid = put_le16(qid),
		.sqsize = put_le16(sqsize),
		.sgl = capsules_keyed(0, 1024),
		.kato = put_le32(5000) };
	struct nvmf_connect_data data = { .cntlid = put_le16(cntlid) };

	memcpy(data.hostid, capsules_host, sizeof(data.hostid));
	snprintf(data.subnqn, sizeof(data.subnqn), "%s", nqn);
	snprintf(data.hostnqn, sizeof(data.hostnqn), "%s", capsules_name);
	memcpy(memory, &data, sizeof(data));
	return capsules_command(ep, &sqe, sizeof(sqe));
}

uint32_t capsules_property(struct ep *ep, bool set, uint32_t offset, uint64_t value)
{
	struct nvmf_property_sqe sqe = { .opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = set ? NVMF_PROPERTY_SET : NVMF_PROPERTY_GET,
		.attrib = offset == NVME_CAP,
		.offset = put_le32(offset),
		.value = put_le64(value) };

	return capsules_command(ep, &sqe, sizeof(sqe));
}

void capsules_begin(void)
{
	serving_begin(SIZE, TRANSPORT_VERBS, 0);
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
void capsules_begin_live(void)
{
	capsules_begin();
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(
			     admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	io = capsules_call(1, DEPTH);
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), 0);
}

void capsules_end(void)
{
	serving_end();
	free(memory);
}

struct nvme_sqe capsules_rw(uint8_t opcode, uint64_t lba, uint32_t blocks)
{
	return (struct nvme_sqe){ .opcode = opcode,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32((uint32_t)lba),
		.cdw11 = put_le32((uint32_t)(lba >> 32)),
		.cdw12 = put_le32(blocks - 1),
		.sgl = capsules_keyed(0, blocks * 512) };
}

uint32_t capsules_run(struct nvme_sqe sqe)
{
	return capsules_command(io, &sqe, sizeof(sqe));
}
