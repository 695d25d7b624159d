/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cross-Controller Reset at the target: a host ends one of its controllers by another one, and what
 * it wrote there precedes all that it writes later. */
/* Link: leap */
#include "../../core/proto/nvme/codec.h"
#include "capsules.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define INVALID NVME_INVALID_FIELD
#define RESET   0x5555 /* command ID */
#define DONE    (NVME_CROSS_RESET_DONE | NVME_CROSS_RESET_VALID)

/* The controllers 1 (admin, io) and 2 of the same host. */
static struct ep *other_admin, *other_io;

static struct nvme_ctrl_info identify(struct ep *ep)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.cdw10 = put_le32(NVME_CNS_CTRL),
		.sgl = capsules_keyed(0, NVME_IDENTIFY_LEN) };
	struct nvme_ctrl_info info;

	cr_assert_eq(capsules_command(ep, &sqe, sizeof(sqe)), 0);
	cr_assert_eq(nvme_ctrl_get(&info, memory, NVME_IDENTIFY_LEN, NULL), 0);
	return info;
}

static void begin(void)
{
	capsules_begin_live();
	other_admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(other_admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(other_admin, true, NVME_CC,
			     NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	other_io = capsules_call(1, DEPTH);
	cr_assert_eq(capsules_connect_to(other_io, 1, 2, NQN, DEPTH - 1), 0);
}

static struct nvme_sqe cross_reset(uint16_t cntlid, uint8_t ciu, uint64_t cirn)
{
	return (struct nvme_sqe){ .opcode = NVME_ADMIN_CROSS_RESET,
		.flags = NVME_PSDT_SGL,
		.cid = put_le16(RESET),
		.cdw10 = put_le32(cntlid | (uint32_t)ciu << 16),
		.cdw12 = put_le32((uint32_t)cirn),
		.cdw13 = put_le32((uint32_t)(cirn >> 32)) };
}

static uint32_t reset_by(struct ep *by, const struct nvme_ctrl_info *id)
{
	struct nvme_sqe sqe = cross_reset(id->cntlid, id->ciu, id->cirn);

	return capsules_command(by, &sqe, sizeof(sqe));
}

static uint32_t reset(const struct nvme_ctrl_info *id)
{
	return reset_by(admin, id);
}

static void submit(struct ep *ep, uint64_t lba, uint16_t cid)
{
	struct nvme_sqe sqe = capsules_rw(NVME_IO_WRITE, lba, 8);

	sqe.cid = put_le16(cid);
	cr_assert(ep_pair_deliver(ep, &sqe, sizeof(sqe)));
	capsules_settle();
}

static uint32_t result_of(uint16_t cid)
{
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == cid)
			return (uint32_t)get_le64(answers[i].cqe.result);
	return 0;
}

Test(nvme_serve_reset, each_controller_has_an_instance_of_its_own)
{
	struct nvme_ctrl_info one, two;

	begin();
	one = identify(admin);
	two = identify(other_admin);
	cr_assert(one.ccrl && one.ciu && one.cirn);
	cr_assert_neq(one.cntlid, two.cntlid);
	cr_assert_neq(one.cirn, two.cirn);
	capsules_end();
}

static uint32_t status_of(uint16_t cid)
{
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == cid)
			return get_le16(answers[i].cqe.status) >> 1;
	return UINT32_MAX;
}

static void wait_ms(unsigned ms)
{
	int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * MSEC);
}

/* Controller 1 resets controller 2, which has a write at the disk. */
static void begin_with_a_reset(void)
{
	struct nvme_ctrl_info two;

	begin();
	two = identify(other_admin);
	backing->hold = backing->keep = true;
	submit(other_io, 0, 100);
	cr_assert_eq(reset(&two), UINT32_MAX);
}

/* The answer comes once the disk is done with all writes of the controller. */
Test(nvme_serve_reset, the_answer_waits_for_the_disk)
{
	begin_with_a_reset();
	wait_ms(1000);
	cr_assert_eq(replies, 0);
	backing->hold = backing->keep = false;
	submit(io, 32, 103);
	wait_ms(10);
	cr_assert_eq(status_of(RESET), 0);
	cr_assert_eq(result_of(RESET), DONE | NVME_CROSS_RESET_BEGUN);
	cr_assert(capsules_is_gone(other_admin) && capsules_is_gone(other_io));
	capsules_end();
}

/* The host must know by then, and waits for the quiet time instead. */
Test(nvme_serve_reset, a_stuck_disk_is_reported)
{
	begin_with_a_reset();
	wait_ms(3000);
	cr_assert_eq(status_of(RESET), NVME_INTERNAL);
	backing->hold = backing->keep = false;
	submit(io, 32, 103);
	wait_ms(10);
	cr_assert(capsules_is_gone(other_admin) && capsules_is_gone(other_io));
	capsules_end();
}

Test(nvme_serve_reset, a_controller_that_has_ended_is_known)
{
	struct nvme_ctrl_info two;

	begin();
	two = identify(other_admin);
	ep_pair_cut(other_admin);
	capsules_settle();
	cr_assert(capsules_is_gone(other_io));
	cr_assert_eq(reset(&two), 0);
	cr_assert_eq(capsules_result(), DONE);
	capsules_end();
}

/* The controller of another target, of a forger, or the one that executes the command. */
Test(nvme_serve_reset, no_other_controller_is_ended)
{
	struct nvme_ctrl_info one, two, wrong;

	begin();
	one = identify(admin);
	two = identify(other_admin);
	wrong = two;
	wrong.cirn++;
	cr_assert_eq(reset(&wrong), INVALID);
	wrong = two;
	wrong.ciu++;
	cr_assert_eq(reset(&wrong), INVALID);
	wrong = two;
	wrong.cntlid = 3;
	cr_assert_eq(reset(&wrong), INVALID);
	cr_assert_eq(reset(&one), INVALID);
	capsules_settle();
	cr_assert_not(capsules_is_gone(other_admin) || capsules_is_gone(other_io));
	cr_assert_eq(identify(other_admin).cirn, two.cirn);
	capsules_end();
}

/* As many at once as the controller reports (CCRL). */
Test(nvme_serve_reset, a_flood_is_refused)
{
	struct nvme_ctrl_info two;
	struct nvme_sqe sqe;
	unsigned limit = 0;

	begin();
	two = identify(other_admin);
	sqe = cross_reset(two.cntlid, two.ciu, two.cirn);
	replies = 0;
	for (unsigned i = 0; i < two.ccrl + 2u; i++)
		cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	capsules_settle();
	for (unsigned i = 0; i < replies; i++)
		limit += get_le16(answers[i].cqe.status) >> 1 == NVME_CROSS_RESET_LIMIT;
	cr_assert_eq(limit, 2);
	capsules_end();
}

/* The host leaves while the disk still has a write of the other controller: until the disk is done,
 * or for longer than the reset may take. */
static void host_leaves(unsigned ms)
{
	begin_with_a_reset();
	ep_pair_cut(admin);
	wait_ms(ms);
	backing->hold = backing->keep = false;
	admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	wait_ms(3000);
	cr_assert(capsules_is_gone(io) && capsules_is_gone(other_io));
	capsules_end();
}
Test(nvme_serve_reset, the_host_leaves_before_the_answer)
{
	host_leaves(100);
}
Test(nvme_serve_reset, the_host_leaves_and_the_disk_is_stuck)
{
	host_leaves(3000);
}

Test(nvme_serve_reset, two_controllers_reset_each_other)
{
	struct nvme_ctrl_info one, two;
	struct nvme_sqe sqe;

	begin();
	one = identify(admin);
	two = identify(other_admin);
	sqe = cross_reset(two.cntlid, two.ciu, two.cirn);
	cr_assert(ep_pair_deliver(admin, &sqe, sizeof(sqe)));
	sqe = cross_reset(one.cntlid, one.ciu, one.cirn);
	cr_assert(ep_pair_deliver(other_admin, &sqe, sizeof(sqe)));
	wait_ms(3000);
	cr_assert(capsules_is_gone(other_io) && capsules_is_gone(io));
	capsules_end();
}

static void let_go(struct loop_timer *timer)
{
	(void)timer;
	backing->hold = backing->keep = false;
}

/* While a reset waits for the disk. */
Test(nvme_serve_reset, the_target_stops)
{
	struct loop_timer later = { .fire = let_go };
	begin_with_a_reset();
	loop_timer_set(loop, &later, loop_clock() + 500 * MSEC);
	capsules_end();
}

/* A CIRN that another host has got hold of. */
Test(nvme_serve_reset, another_host_has_no_authority)
{
	struct nvme_ctrl_info one;

	begin();
	one = identify(admin);
	capsules_host[0]++;
	ep_pair_cut(other_admin);
	capsules_settle();
	other_admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(other_admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cr_assert_eq(capsules_property(other_admin, true, NVME_CC,
			     NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	cr_assert_eq(reset_by(other_admin, &one), INVALID);
	cr_assert_not(capsules_is_gone(io));
	capsules_host[0]--;
	capsules_end();
}
