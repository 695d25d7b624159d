/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's controllers over the endpoint in memory: aborts, admin commands, events, keep-alive,
 * shutdown. */
/* Link: leap */
#include "capsules.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static uint32_t admin_command(
	uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11, uint32_t len)
{
	struct nvme_sqe sqe = { .opcode = opcode,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(nsid),
		.cdw10 = put_le32(cdw10),
		.cdw11 = put_le32(cdw11),
		.sgl = capsules_keyed(0, len) };

	memset(memory, 0xee, 8192);
	return capsules_command(admin, &sqe, sizeof(sqe));
}

static uint32_t status_of(uint16_t cid)
{
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == cid)
			return get_le16(answers[i].cqe.status) >> 1;
	return UINT32_MAX;
}

/* Send an Abort and return its result: 0 aborted, 1 not. The answer to the aborted command is
 * recorded, too. */
static uint32_t abort_it(uint16_t qid, uint16_t cid)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ABORT,
		.flags = NVME_PSDT_SGL,
		.cid = put_le16(0x7777),
		.cdw10 = put_le32(qid | (uint32_t)cid << 16) };

	replies = 0;
	cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	capsules_settle();
	cr_assert_eq(status_of(0x7777), 0);
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == 0x7777)
			return (uint32_t)get_le64(answers[i].cqe.result);
	return UINT32_MAX;
}

static void submit_to(struct ep *ep, uint8_t opcode, uint16_t cid, uint64_t lba, uint32_t blocks)
{
	struct nvme_sqe sqe = capsules_rw(opcode, lba, blocks);

	sqe.cid = put_le16(cid);
	cr_assert(ep_pair_deliver(ep, &sqe, sizeof(sqe)));
	capsules_settle();
}

static void submit(uint8_t opcode, uint16_t cid, uint32_t blocks)
{
	submit_to(io, opcode, cid, 0, blocks);
}

/* Abort ends commands that wait for a buffer and a read at the disk. A write at the disk and all
 * other commands continue. */
Test(nvme_serve_admin, abort)
{
	capsules_begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.buffers = 2; /* one of them for one connection */
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(
			     admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	io = capsules_call(1, DEPTH);
	cr_assert_eq(capsules_connect_to(io, 1, 1, NQN, DEPTH - 1), 0);

	backing->hold = true;
	replies = 0;
	submit(NVME_IO_WRITE, 100, 8); /* at the disk */
	submit(NVME_IO_WRITE, 101, 8); /* in line */
	submit(NVME_IO_READ, 102, 8);  /* in line */
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
	cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 3, 8)), 0);
	cr_assert_eq(ep_pair_receives(io), DEPTH);
	capsules_end();
}

/* The host does not wait for a write that could not be aborted: it writes the same blocks again by
 * another queue, whose requests the disk may execute first. */
Test(nvme_serve_admin, a_write_again_after_an_abort)
{
	int never = 0;
	struct ep *second;
	unsigned at_disk;

	capsules_begin_live();
	second = capsules_call(2, DEPTH);
	cr_assert_eq(capsules_connect_to(second, 2, 1, NQN, DEPTH - 1), 0);
	backing->hold = true;
	replies = 0;
	submit(NVME_IO_WRITE, 100, 8);
	at_disk = backing->submitted;
	cr_assert_eq(abort_it(1, 100), 1);
	submit_to(second, NVME_IO_WRITE, 101, 4, 8);
	cr_assert_eq(backing->submitted, at_disk, "it overtakes the write before it");
	submit_to(second, NVME_IO_WRITE, 102, 8, 8);
	cr_assert_eq(backing->submitted, at_disk + 1, "other blocks do not wait");
	replies = 0;
	backing->hold = false;
	submit_to(second, NVME_IO_FLUSH, 103, 0, 1);
	loop_wait(loop, &never, loop_clock() + 10 * MSEC);
	cr_assert_eq(status_of(100), 0);
	cr_assert_eq(status_of(101), 0);
	cr_assert_eq(status_of(102), 0);
	cr_assert_eq(backing->submitted, at_disk + 3, "with the flush");
	capsules_end();
}

/* Of a write that is longer than a buffer, only what the disk has is executed after an Abort. */
Test(nvme_serve_admin, an_aborted_write_ends_with_its_piece)
{
	unsigned at_disk;

	capsules_begin_live();
	backing->hold = true;
	replies = 0;
	submit(NVME_IO_WRITE, 100, 2048);
	at_disk = backing->submitted;
	cr_assert_eq(abort_it(1, 100), 1);
	backing->hold = false;
	submit(NVME_IO_FLUSH, 103, 1);
	cr_assert_eq(status_of(100), NVME_ABORT_REQUESTED);
	cr_assert_eq(backing->submitted, at_disk + 1, "the flush alone");
	capsules_end();
}

/* Abort of one AER among several, and as many concurrent Aborts as the limit (ACL) allows. */
Test(nvme_serve_admin, abort_of_admin_commands)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ASYNC_EVENT, .flags = NVME_PSDT_SGL };
	unsigned limit = 0;

	capsules_begin_live();
	for (uint16_t cid = 50; cid < 54; cid++) {
		sqe.cid = put_le16(cid);
		cr_assert_eq(capsules_command(admin, &sqe, sizeof(sqe)), UINT32_MAX);
	}
	cr_assert_eq(abort_it(0, 51), 0);
	cr_assert_eq(status_of(51), NVME_ABORT_REQUESTED);
	cr_assert_eq(abort_it(0, 51), 1);
	cr_assert_eq(abort_it(0, 53), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_ASYNC_EVENT,
			     NVME_EVENT_NS_ATTR, 0),
		0);
	replies = 0;
	backing->bdev.lim.size -= 512;
	target_resized(target, &backing->bdev);
	capsules_settle();
	cr_assert_eq(replies, 1);
	cr_assert(status_of(50) == 0 || status_of(52) == 0);
	sqe = (struct nvme_sqe){
		.opcode = NVME_ADMIN_ABORT, .flags = NVME_PSDT_SGL, .cdw10 = put_le32(1)
	};
	replies = 0;
	for (unsigned i = 0; i < 6; i++)
		cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	capsules_settle();
	cr_assert_eq(replies, 6);
	for (unsigned i = 0; i < 6; i++)
		limit += get_le16(answers[i].cqe.status) >> 1 == NVME_ABORT_LIMIT;
	cr_assert_eq(limit, 2);
	/* the host goes while one is on its way */
	cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	ep_pair_cut(admin);
	capsules_settle();
	cr_assert(capsules_is_gone(io));
	capsules_end();
}

Test(nvme_serve_admin, admin_commands)
{
	capsules_begin_live();
	for (unsigned cns = 0; cns < 256; cns++) {
		bool known = cns <= 3 || cns == 6 || cns == 8;

		cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 1, cns, 0, 4096),
			known ? 0u : NVME_INVALID_FIELD, "CNS %02x", cns);
	}
	cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 2, NVME_CNS_NS, 0, 4096), NVME_INVALID_NS);
	cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS, 0, 4092), NVME_SGL_LENGTH);
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0xffffffff, NVME_LOG_SMART | 127 << 16, 0, 512),
		0);
	cr_assert_eq(memory[3], 100);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_ERROR | 15 << 16, 0, 64), 0);
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_FIRMWARE | 127 << 16, 0, 512), 0);
	/* zeroes behind its end */
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_CHANGED_NS | 2047 << 16, 0, 8192), 0);
	cr_assert_eq(memory[8191], 0);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 15 << 16, 0, 64),
		NVME_INVALID_LOG);
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_SMART | 0xffffu << 16, 0xffff, 64),
		NVME_INVALID_FIELD);
	cr_assert_eq(
		admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_QUEUES, 7 << 16 | 7, 0), 0);
	cr_assert_eq(capsules_result(), 63 << 16 | 63);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, 9000, 0), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_FEATURES, 0, NVME_FEATURE_KATO, 0, 0), 0);
	cr_assert_eq(capsules_result(), 9000);
	cr_assert_eq(admin_command(NVME_ADMIN_GET_FEATURES, 0, NVME_FEATURE_HOST_ID, 1, 16), 0);
	cr_assert_eq(memory[0], 7);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_HOST_ID, 1, 16),
		NVME_SEQUENCE);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, 1u << 31 | NVME_FEATURE_KATO, 1, 0),
		NVME_FEATURE_UNSAVEABLE);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, 0x99, 1, 0), NVME_INVALID_FIELD);
	cr_assert_eq(admin_command(NVME_ADMIN_ABORT, 0, 1, 0, 0), 0);
	cr_assert_eq(capsules_result(), 1);
	cr_assert_eq(admin_command(0x0d, 0, 0, 0, 0), NVME_INVALID_OPCODE);
	cr_assert_eq(admin_command(NVME_ADMIN_KEEP_ALIVE, 0, 0, 0, 0), 0);
	cr_assert_eq(ep_pair_receives(admin), DEPTH);
	capsules_end();
}

Test(nvme_serve_admin, events)
{
	capsules_begin_live();
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
	cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), NVME_AER_LIMIT);
	backing->bdev.lim.size = SIZE / 2;
	replies = 0;
	target_resized(target, &backing->bdev);
	capsules_settle();
	cr_assert_eq(replies, 0); /* not asked for yet */
	cr_assert(ep_pair_deliver(admin,
		&(struct nvme_sqe){ .opcode = NVME_ADMIN_SET_FEATURES,
			.flags = NVME_PSDT_SGL,
			.cdw10 = put_le32(NVME_FEATURE_ASYNC_EVENT),
			.cdw11 = put_le32(NVME_EVENT_NS_ATTR) },
		64));
	capsules_settle();
	cr_assert_eq(replies, 2); /* that, and the event */
	replies = 0;
	backing->bdev.lim.size = SIZE;
	target_resized(target, &backing->bdev);
	capsules_settle();
	cr_assert_eq(replies, 0); /* its log was not read */
	cr_assert(ep_pair_deliver(admin,
		&(struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG,
			.flags = NVME_PSDT_SGL,
			.sgl = capsules_keyed(0, 4096),
			.cdw10 = put_le32(NVME_LOG_CHANGED_NS | 1023 << 16) },
		64));
	capsules_settle();
	cr_assert_eq(memory[0], 1);
	cr_assert_eq(replies, 2);
	capsules_end();
}

static const struct {
	enum access access;
	uint8_t state;
	uint32_t status;
} ana[] = {
	{ ACCESS_NON_OPTIMIZED, 2, 0 },
	{ ACCESS_INACCESSIBLE, 3, 0x302 },
	{ ACCESS_LOSS, 4, 0x301 },
	{ ACCESS_CHANGE, 15, 0x303 },
	{ ACCESS_OPTIMIZED, 1, 0 },
};

static uint64_t le(const uint8_t *p, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | p[bytes];
	return value;
}

/* The ANA log of one group with one namespace, byte by byte. */
static void ana_log_is(uint8_t state, uint64_t changes)
{
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, 0x0c | 15 << 16, 0, 64), 0);
	cr_assert_eq(le(memory, 8), changes + 1);
	cr_assert_eq(le(memory + 8, 2), 1); /* groups */
	cr_assert_eq(le(memory + 10, 6), 0);
	cr_assert_eq(le(memory + 16, 4), 1); /* ANA group ID */
	cr_assert_eq(le(memory + 20, 4), 1); /* namespaces */
	cr_assert_eq(le(memory + 24, 8), changes + 1);
	cr_assert_eq(memory[32], state);
	for (unsigned i = 33; i < 48; i++)
		cr_assert_eq(memory[i], 0);
	cr_assert_eq(le(memory + 48, 4), 1); /* NSID */
	cr_assert_eq(le(memory + 52, 8), 0);
}

/* Each ANA state is in the log, in the status of I/O commands, and in the used blocks of the
 * namespace; admin commands work in all of them. */
Test(nvme_serve_admin, ana_states)
{
	enum access before;

	capsules_begin_live();
	cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 0, NVME_CNS_CTRL, 0, 4096), 0);
	cr_assert_eq(memory[76] & 8, 8);                     /* CMIC */
	cr_assert_eq(le(memory + 92, 4) & 1 << 11, 1 << 11); /* OAES */
	cr_assert_gt(memory[342], 0);                        /* ANATT */
	cr_assert_eq(memory[343], 0x5f);                     /* ANACAP */
	cr_assert_eq(le(memory + 344, 4), 1);                /* ANAGRPMAX */
	cr_assert_eq(le(memory + 348, 4), 1);                /* NANAGRPID */
	cr_assert_eq(le(memory + 540, 4), 1);                /* MNAN: at most NN, not 0 */
	ana_log_is(1, 0);
	cr_assert_eq(target_set_access(target, 7, ACCESS_LOSS, &before), -ENOENT);
	for (unsigned i = 0; i < sizeof(ana) / sizeof(*ana); i++) {
		cr_assert_eq(target_set_access(target, 1, ana[i].access, &before), 0);
		cr_assert_eq(before, i ? ana[i - 1].access : ACCESS_OPTIMIZED);
		cr_assert_eq(capsules_run(capsules_rw(NVME_IO_WRITE, 0, 8)), ana[i].status);
		cr_assert_eq(capsules_run(capsules_rw(NVME_IO_READ, 0, 8)), ana[i].status);
		cr_assert_eq(capsules_run((struct nvme_sqe){ .opcode = NVME_IO_FLUSH,
				     .flags = NVME_PSDT_SGL,
				     .nsid = put_le32(NVME_NSID_ALL) }),
			ana[i].status);
		ana_log_is(ana[i].state, i + 1);
		cr_assert_eq(admin_command(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS, 0, 4096), 0);
		cr_assert_eq(le(memory, 8), SIZE / 512);
		cr_assert_eq(le(memory + 16, 8), ana[i].status ? 0 : SIZE / 512); /* NUSE */
		cr_assert_eq(le(memory + 92, 4), 1);                              /* ANAGRPID */
		cr_assert_eq(
			admin_command(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS_INDEPENDENT, 0, 4096), 0);
		cr_assert_eq(le(memory + 4, 4), 1);
	}
	/* the state it has: no change */
	cr_assert_eq(target_set_access(target, 1, ACCESS_OPTIMIZED, &before), 0);
	ana_log_is(1, sizeof(ana) / sizeof(*ana));
	/* groups only */
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, 0x0c | 1 << 8 | 15 << 16, 0, 64), 0);
	cr_assert_eq(le(memory + 20, 4), 0);
	cr_assert_eq(le(memory + 48, 8), 0);
	capsules_end();
}

/* A write at the disk ends as usual when its path becomes inaccessible. */
Test(nvme_serve_admin, ana_commands_in_flight)
{
	enum access before;

	capsules_begin_live();
	backing->hold = true;
	replies = 0;
	submit(NVME_IO_WRITE, 100, 8);
	cr_assert_eq(target_set_access(target, 1, ACCESS_INACCESSIBLE, &before), 0);
	submit(NVME_IO_WRITE, 101, 8);
	cr_assert_eq(status_of(101), 0x302);
	cr_assert_eq(status_of(100), UINT32_MAX);
	backing->hold = false;
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 10 * MSEC);
	capsules_settle();
	cr_assert_eq(status_of(100), 0);
	capsules_end();
}

/* A change is an event: once, until the log was read. */
Test(nvme_serve_admin, ana_event)
{
	enum access before;

	capsules_begin_live();
	cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
	cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
	cr_assert_eq(
		admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_ASYNC_EVENT, 1 << 11, 0), 0);
	replies = 0;
	cr_assert_eq(target_set_access(target, 1, ACCESS_INACCESSIBLE, &before), 0);
	capsules_settle();
	cr_assert_eq(replies, 1);
	cr_assert_eq(capsules_result(), 2 | 3 << 8 | 0x0c << 16);
	cr_assert_eq(target_set_access(target, 1, ACCESS_OPTIMIZED, &before), 0);
	capsules_settle();
	cr_assert_eq(replies, 1); /* its log was not read */
	/* retain the event, then not */
	cr_assert_eq(admin_command(NVME_ADMIN_GET_LOG, 0, 0x0c | 1 << 15 | 15 << 16, 0, 64), 0);
	cr_assert_eq(replies, 1);
	replies = 0;
	cr_assert(ep_pair_deliver(admin,
		&(struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG,
			.flags = NVME_PSDT_SGL,
			.sgl = capsules_keyed(0, 64),
			.cdw10 = put_le32(0x0c | 15 << 16) },
		64));
	capsules_settle();
	cr_assert_eq(replies, 2); /* the log, and the next event */
	capsules_end();
}

/* Controller IDs are those of the range; when all are in use, others are refused for now. */
Test(nvme_serve_admin, cntlid_range)
{
	struct ep *queue[3];

	capsules_begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.cntlid_min = 500;
	opt.cntlid_max = 501;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		queue[i] = capsules_call(0, DEPTH);
		cr_assert_eq(capsules_connect_to(queue[i], 0, 0xffff, NQN, DEPTH - 1),
			i < 2 ? 0u : NVMF_BUSY);
		if (i < 2)
			cr_assert_eq(capsules_result(), 500 + i);
	}
	ep_pair_cut(queue[0]);
	capsules_settle();
	queue[0] = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(queue[0], 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_result(), 500);
	capsules_end();
}

/* A device goes and comes back: the discovery log changes, and its readers get an event. */
Test(nvme_serve_admin, discovery_hears_of_devices)
{
	const struct nvmf_log_head *head;
	volatile int never = 0;
	uint64_t before;

	capsules_begin();
	head = (const void *)memory;
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NVMF_DISCOVERY_NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, NVME_CC_EN), 0);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_ASYNC_EVENT,
			     NVME_EVENT_DISC_LOG, 0),
		0);
	cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
	cr_assert_eq(
		admin_command(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS, 0, 4096), NVME_INVALID_FIELD);
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 511 << 16, 0, 2048), 0);
	cr_assert_eq(get_le64(head->numrec), 1);
	before = get_le64(head->genctr);
	cr_assert_str_eq(
		((const struct nvmf_log_entry *)(const void *)(memory + 1024))->subnqn, NQN);
	replies = 0;
	ep_pair_lose(&peer);
	capsules_settle();
	cr_assert_eq(replies, 1);
	cr_assert_eq(capsules_result(), 0x70f002);
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 255 << 16, 0, 1024), 0);
	cr_assert_eq(get_le64(head->numrec), 0);
	cr_assert_gt(get_le64(head->genctr), before);
	for (unsigned i = 0; i < 400 && !peer.listener; i++)
		loop_wait(loop, &never, loop_clock() + 10000000);
	cr_assert_not_null(peer.listener);
	cr_assert_eq(
		admin_command(NVME_ADMIN_GET_LOG, 0, NVME_LOG_DISCOVERY | 255 << 16, 0, 1024), 0);
	cr_assert_eq(get_le64(head->numrec), 1);
	capsules_end();
}

/* Silence: a controller without keep-alive ends. */
Test(nvme_serve_admin, keep_alive_expires)
{
	volatile int never = 0;

	capsules_begin_live();
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, 100, 0), 0);
	loop_wait(loop, &never, loop_clock() + 800000000ull);
	cr_assert(!capsules_is_gone(admin));
	loop_wait(loop, &never, loop_clock() + 600000000ull);
	cr_assert(capsules_is_gone(admin));
	capsules_settle();
	cr_assert(capsules_is_gone(io));
	capsules_end();
}

/* Discovery controllers, which any peer can have, don't live as long as a host likes. */
Test(nvme_serve_admin, discovery_is_not_kept_forever)
{
	capsules_begin();
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NVMF_DISCOVERY_NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, NVME_CC_EN), 0);
	cr_assert_eq(
		admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, UINT32_MAX, 0), 0);
	cr_assert_eq(capsules_result(), 120000);
	cr_assert_eq(admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, 5000, 0), 0);
	cr_assert_eq(capsules_result(), 5000);
	capsules_end();
	capsules_begin_live();
	cr_assert_eq(
		admin_command(NVME_ADMIN_SET_FEATURES, 0, NVME_FEATURE_KATO, UINT32_MAX, 0), 0);
	cr_assert_eq(capsules_result(), UINT32_MAX);
	capsules_end();
}

Test(nvme_serve_admin, shutdown_flushes)
{
	capsules_begin_live();
	backing->flushes = 0;
	cr_assert_eq(capsules_property(admin, true, NVME_CC,
			     NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES | NVME_CC_SHN_NORMAL),
		0);
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(NVME_CSTS_SHST(capsules_result()), NVME_SHST_COMPLETE);
	cr_assert_eq(backing->flushes, 1);
	/* and disabled: its I/O queues end */
	cr_assert_eq(capsules_property(admin, true, NVME_CC, 0), 0);
	cr_assert(capsules_is_gone(io));
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(capsules_result(), 0);
	capsules_end();
}

/* What could not be flushed is not reported as safe: a fatal status tells the host not to wait, a
 * reset takes it back. */
Test(nvme_serve_admin, shutdown_that_cannot_flush)
{
	const uint32_t on = NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES;
	struct fake_disk *second;

	capsules_begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	second = fake_disk_new(loop, SIZE, 512);
	opt.disks = 2;
	opt.disk[1] = opt.disk[0];
	opt.disk[1].bdev = &second->bdev;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on), 0);
	backing->flush_status = -EIO;
	second->flushes = 0;
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(capsules_result(), NVME_CSTS_CFS | NVME_CSTS_RDY | NVME_SHST_RUNNING << 2);
	cr_assert_eq(second->flushes, 1); /* the others are flushed all the same */
	backing->flush_status = 0;
	cr_assert_eq(capsules_property(admin, true, NVME_CC, 0), 0);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on), 0);
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(capsules_result(), NVME_CSTS_RDY);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(capsules_property(admin, false, NVME_CSTS, 0), 0);
	cr_assert_eq(NVME_CSTS_SHST(capsules_result()), NVME_SHST_COMPLETE);
	capsules_end();
	fake_disk_free(second);
}

/* A host that asks for it again and again while a disk flushes, and leaves. */
Test(nvme_serve_admin, shutdown_begun_anew)
{
	const uint32_t on = NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES;

	capsules_begin_live();
	backing->hold = true;
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on), 0);
	cr_assert_eq(capsules_property(admin, true, NVME_CC, on | NVME_CC_SHN_NORMAL), 0);
	ep_pair_cut(admin);
	capsules_settle();
	cr_assert_eq(backing->cancelled, 1);
	backing->hold = false;
	capsules_end();
}

/* Requests for events end with the controller they were made of: the host has all of its queue
 * again. */
Test(nvme_serve_admin, a_reset_gives_back_the_queue)
{
	capsules_begin_live();
	for (unsigned round = 0; round < 2 * DEPTH; round++) {
		for (unsigned i = 0; i < 4; i++)
			cr_assert_eq(admin_command(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0, 0), UINT32_MAX);
		cr_assert_eq(ep_pair_receives(admin), DEPTH - 4);
		cr_assert_eq(capsules_property(admin, true, NVME_CC, 0), 0);
		cr_assert_eq(ep_pair_receives(admin), DEPTH);
		cr_assert_eq(capsules_property(admin, true, NVME_CC,
				     NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
			0);
	}
	capsules_end();
}
