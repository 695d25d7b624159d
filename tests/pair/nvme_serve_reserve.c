/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations at the NVMe target: what each type allows, keys, preemption with the commands of the
 * preempted host, notifications, a disk that SCSI initiators use as well. */
/* Link: leap */
#include "scsi_host.h"
/* its names come after those in the functions of headers */
#include "capsules.h"
#include "leap.h"
#include "raw_host.h"
#include "reservation_state.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EACH(rows) (sizeof(rows) / sizeof(*(rows)))
#define PENDING    UINT32_MAX
#define IEKEY      NVME_RESERVE_IEKEY

/* Three hosts, each with a controller, its admin queue and one I/O queue. */
static struct machine {
	uint8_t id;
	const char *name; /* NULL: one that several may have */
	struct ep *admin, *io;
} one = { 1, "nqn.one" }, two = { 2, "nqn.two" }, three = { 3, "nqn.three" };

static void dial(struct machine *m)
{
	uint16_t cntlid;

	capsules_host[0] = m->id;
	capsules_name = m->name ? m->name : HOST;
	m->admin = capsules_call(0, DEPTH);
	cr_assert_eq(capsules_connect_to(m->admin, 0, 0xffff, NQN, DEPTH - 1), 0);
	cntlid = (uint16_t)capsules_result();
	cr_assert_eq(capsules_property(
			     m->admin, true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		0);
	m->io = capsules_call(1, DEPTH);
	cr_assert_eq(capsules_connect_to(m->io, 1, cntlid, NQN, DEPTH - 1), 0);
}

static void hang_up(struct machine *m)
{
	ep_pair_cut(m->admin);
	capsules_settle();
}

static void begin(void)
{
	capsules_begin();
	dial(&one);
	dial(&two);
	dial(&three);
}

static uint32_t change_len(const struct machine *m, uint8_t opcode, uint32_t cdw10, uint64_t key,
	uint64_t other, uint32_t len)
{
	struct nvme_reserve_keys keys = { put_le64(key), put_le64(other) };
	struct nvme_sqe sqe = { .opcode = opcode,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32(cdw10),
		.sgl = capsules_keyed(0, len) };

	memcpy(memory, &keys, sizeof(keys));
	return capsules_command(m->io, &sqe, sizeof(sqe));
}

static uint32_t registers(const struct machine *m, uint32_t cdw10, uint64_t key, uint64_t new_key)
{
	return change_len(m, NVME_IO_RESERVE_REGISTER, cdw10, key, new_key, 16);
}

static uint32_t acquire(
	const struct machine *m, uint32_t action, unsigned type, uint64_t key, uint64_t other)
{
	return change_len(m, NVME_IO_RESERVE_ACQUIRE, action | type << 8, key, other, 16);
}

static uint32_t release(const struct machine *m, uint32_t action, unsigned type, uint64_t key)
{
	return change_len(m, NVME_IO_RESERVE_RELEASE, action | type << 8, key, 0, 8);
}

/* The report is in the memory. */
static const struct nvme_reserve_registrant *report(const struct machine *m, uint32_t len)
{
	struct nvme_sqe sqe = { .opcode = NVME_IO_RESERVE_REPORT,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32(len / 4 - 1),
		.cdw11 = put_le32(NVME_RESERVE_EDS),
		.sgl = capsules_keyed(0, len) };

	memset(memory, 0xee, len + 64);
	cr_assert_eq(capsules_command(m->io, &sqe, sizeof(sqe)), 0);
	return (const void *)(memory + 64);
}

static unsigned registrants(void)
{
	return memory[5] | (unsigned)memory[6] << 8;
}

static uint32_t run(const struct machine *m, uint8_t opcode, uint32_t nsid)
{
	struct nvme_sqe sqe = capsules_rw(opcode, 0, 1);

	sqe.nsid = put_le32(nsid);
	memset(memory, 0, 512);
	if (opcode == NVME_IO_COMPARE)
		memcpy(memory, backing->bytes, 512);
	if (opcode == NVME_IO_DSM) {
		sqe.sgl = capsules_keyed(0, 16);
		sqe.cdw11 = put_le32(NVME_DSM_DEALLOCATE);
		memory[4] = 1;
	}
	return capsules_command(m->io, &sqe, sizeof(sqe));
}

/* Whether a host may use each command: one that reads, or that writes. */
static void may(const struct machine *m, bool reads, bool writes)
{
	static const struct {
		uint8_t opcode;
		bool writes;
		uint32_t nsid;
	} rows[] = {
		{ NVME_IO_READ, false, 1 },
		{ NVME_IO_COMPARE, false, 1 },
		{ NVME_IO_WRITE, true, 1 },
		{ NVME_IO_WRITE_ZEROES, true, 1 },
		{ NVME_IO_DSM, true, 1 },
		{ NVME_IO_FLUSH, true, 1 },
		{ NVME_IO_FLUSH, true, NVME_NSID_ALL },
	};

	for (unsigned i = 0; i < EACH(rows); i++)
		cr_assert_eq(run(m, rows[i].opcode, rows[i].nsid),
			(rows[i].writes ? writes : reads) ? NVME_OK : NVME_CONFLICT,
			"host %u, command %02x", m->id, rows[i].opcode);
}

Test(nvme_serve_reserve, what_each_type_allows)
{
	static const struct {
		uint8_t type;
		bool others_read, registrants;
	} rows[] = {
		{ NVME_WRITE_EXCLUSIVE, true, false },
		{ NVME_EXCLUSIVE_ACCESS, false, false },
		{ NVME_WRITE_EXCLUSIVE_REGISTRANTS, true, true },
		{ NVME_EXCLUSIVE_ACCESS_REGISTRANTS, false, true },
		{ NVME_WRITE_EXCLUSIVE_ALL, true, true },
		{ NVME_EXCLUSIVE_ACCESS_ALL, false, true },
	};

	begin();
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	may(&three, true, true);
	for (unsigned i = 0; i < EACH(rows); i++) {
		unsigned type = rows[i].type;
		bool all = type >= NVME_WRITE_EXCLUSIVE_ALL;

		cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, type, 11, 0), 0);
		may(&one, true, true);
		may(&two, rows[i].others_read || rows[i].registrants, rows[i].registrants);
		may(&three, rows[i].others_read, false);
		cr_assert_eq(report(&three, 64 + 128)[0].rcsts, 1);
		cr_assert_eq(memory[4], type);
		cr_assert_eq(((const struct nvme_reserve_registrant *)(memory + 64))[1].rcsts, all);
		cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, type, 11, 0), 0, "it has it");
		cr_assert_eq(acquire(&two, NVME_RESERVE_ACQUIRE, type, 22, 0),
			all ? NVME_OK : NVME_CONFLICT);
		cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, type % 6 + 1, 11, 0),
			NVME_CONFLICT, "it has another type");
		cr_assert_eq(
			release(&one, NVME_RESERVE_RELEASE, type % 6 + 1, 11), NVME_INVALID_FIELD);
		cr_assert_eq(release(&one, NVME_RESERVE_RELEASE, type, 12), NVME_CONFLICT);
		cr_assert_eq(release(&three, NVME_RESERVE_RELEASE, type, 0), NVME_CONFLICT);
		if (!all)
			cr_assert_eq(release(&two, NVME_RESERVE_RELEASE, type, 22), 0,
				"no effect: it is not the holder");
		may(&three, rows[i].others_read, false);
		cr_assert_eq(release(&one, NVME_RESERVE_RELEASE, type, 11), 0);
		may(&three, true, true);
	}
	capsules_end();
}

Test(nvme_serve_reserve, keys)
{
	const struct nvme_reserve_registrant *reg;
	uint32_t persist = (uint32_t)NVME_CPTPL_ON << 30;

	begin();
	cr_assert_eq(registers(&one, NVME_RESERVE_REPLACE, 0, 11), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_REPLACE | IEKEY, 0, 11), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_UNREGISTER, 0, 0), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_UNREGISTER | IEKEY, 0, 0), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 0), NVME_INVALID_FIELD);
	report(&one, 64);
	cr_assert(!registrants() && !memory[0]);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER | persist, 99, 11), 0);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0, "the same key");
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER | IEKEY, 11, 12), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_REPLACE, 12, 13), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_REPLACE, 11, 0), NVME_INVALID_FIELD);
	cr_assert_eq(registers(&one, NVME_RESERVE_REPLACE, 11, 12), 0);
	cr_assert_eq(registers(&one, NVME_RESERVE_REPLACE | IEKEY, 99, UINT64_MAX), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, UINT64_MAX), 0);
	reg = report(&three, 64 + 128 + 64);
	cr_assert(registrants() == 2 && memory[0] == 5 && !memory[4] && !memory[9]);
	cr_assert(reg[0].hostid[0] == 1 && reg[1].hostid[0] == 2 && !reg[0].rcsts);
	cr_assert(get_le64(reg[0].rkey) == UINT64_MAX && get_le16(reg[0].cntlid) == 0xffff);
	cr_assert_eq(get_le64(reg[2].rkey), 0, "zeroes behind the last");
	cr_assert_eq(registers(&one, NVME_RESERVE_UNREGISTER, 5, 0), NVME_CONFLICT);
	cr_assert_eq(registers(&one, NVME_RESERVE_UNREGISTER, UINT64_MAX, 0), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_UNREGISTER | IEKEY, 5, 0), 0);
	report(&one, 64);
	cr_assert_eq(registrants(), 0);
	capsules_end();
}

static uint32_t report_status(uint32_t nsid, uint32_t numd, uint32_t cdw11, uint32_t len)
{
	return capsules_run((struct nvme_sqe){ .opcode = NVME_IO_RESERVE_REPORT,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(nsid),
		.cdw10 = put_le32(numd),
		.cdw11 = put_le32(cdw11),
		.sgl = capsules_keyed(0, len) });
}

Test(nvme_serve_reserve, wrong_parameters_change_nothing)
{
	begin();
	io = one.io;
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	for (unsigned action = 3; action < 8; action++) {
		cr_assert_eq(registers(&one, action | IEKEY, 11, 12), NVME_INVALID_FIELD);
		cr_assert_eq(acquire(&one, action, 1, 11, 0), NVME_INVALID_FIELD);
		cr_assert_eq(release(&one, action, 1, 11), NVME_INVALID_FIELD);
	}
	cr_assert_eq(release(&one, 2, 1, 11), NVME_INVALID_FIELD);
	cr_assert_eq(registers(&one, 1u << 30 | IEKEY | NVME_RESERVE_REPLACE, 11, 12),
		NVME_INVALID_FIELD, "CPTPL 1");
	cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE | IEKEY, 1, 11, 0), NVME_INVALID_FIELD);
	cr_assert_eq(release(&one, NVME_RESERVE_CLEAR | IEKEY, 1, 11), NVME_INVALID_FIELD);
	for (unsigned type = 0; type < 256; type += type == 0 ? 7 : 31)
		cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, type, 11, 0), NVME_INVALID_FIELD);
	cr_assert_eq(change_len(&one, NVME_IO_RESERVE_REGISTER, 0, 11, 12, 8), NVME_SGL_LENGTH);
	cr_assert_eq(change_len(&one, NVME_IO_RESERVE_ACQUIRE, 1 << 8, 11, 0, 15), NVME_SGL_LENGTH);
	cr_assert_eq(change_len(&one, NVME_IO_RESERVE_RELEASE, 1 << 8, 11, 0, 0), NVME_SGL_LENGTH);
	cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT, 1, 11, 0), NVME_INVALID_FIELD);
	cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT, 1, 11, 22), NVME_CONFLICT);
	cr_assert_eq(acquire(&two, NVME_RESERVE_ACQUIRE, 1, 0, 0), NVME_CONFLICT);
	cr_assert_eq(report_status(1, 15, 0, 64), NVME_HOST_ID_FORMAT);
	cr_assert_eq(report_status(2, 15, 1, 64), NVME_INVALID_NS);
	cr_assert_eq(report_status(NVME_NSID_ALL, 15, 1, 64), NVME_INVALID_NS);
	cr_assert_eq(report_status(1, UINT32_MAX, 1, 64), NVME_INVALID_FIELD);
	cr_assert_eq(report_status(1, 262144, 1, 64), NVME_INVALID_FIELD);
	cr_assert_eq(report_status(1, 15, 1, 60), NVME_SGL_LENGTH);
	/* longer than a buffer, and the shortest */
	report(&one, 1 << 20);
	cr_assert(registrants() == 1 && !memory[(1 << 20) - 1] && memory[1 << 20] == 0xee);
	report(&one, 4);
	cr_assert(memory[0] == 1 && memory[4] == 0xee);
	report(&one, 64 + 20);
	cr_assert(memory[64] == 0xff && memory[64 + 8] == 11 && memory[64 + 20] == 0xee);
	may(&three, true, true);
	capsules_end();
}

/* A reservation is of one namespace, and a Flush may be of all. */
Test(nvme_serve_reserve, other_namespaces_are_free)
{
	struct fake_disk *other;

	capsules_begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	other = fake_disk_new(loop, SIZE, 512);
	opt.disk[1] = opt.disk[0];
	opt.disk[1].bdev = &other->bdev;
	opt.disks = 2;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	dial(&one);
	dial(&two);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, NVME_EXCLUSIVE_ACCESS, 11, 0), 0);
	for (unsigned round = 0; round < 2; round++) {
		cr_assert_eq(run(&two, NVME_IO_WRITE, 2), 0);
		cr_assert_eq(run(&two, NVME_IO_FLUSH, 2), 0);
		cr_assert_eq(run(&two, NVME_IO_FLUSH, NVME_NSID_ALL), NVME_CONFLICT);
		cr_assert_eq(run(&two, NVME_IO_FLUSH, 1), NVME_CONFLICT);
	}
	cr_assert_eq(run(&one, NVME_IO_FLUSH, NVME_NSID_ALL), 0);
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	target = NULL;
	fake_disk_free(other);
	capsules_end();
}

/* Hosts without an identifier would share their registrations. */
Test(nvme_serve_reserve, a_host_needs_an_identifier)
{
	struct machine nameless = { 0 };

	begin();
	dial(&nameless);
	cr_assert_eq(registers(&nameless, NVME_RESERVE_REGISTER, 0, 11), NVME_NO_HOST_ID);
	cr_assert_eq(acquire(&nameless, NVME_RESERVE_ACQUIRE, 1, 11, 0), NVME_NO_HOST_ID);
	cr_assert_eq(release(&nameless, NVME_RESERVE_CLEAR, 1, 11), NVME_NO_HOST_ID);
	report(&nameless, 64);
	may(&nameless, true, true);
	capsules_end();
}

/* A registration is the host's: its other controllers have it, and it is kept without any. */
Test(nvme_serve_reserve, belongs_to_the_host)
{
	struct machine again = { 2, "nqn.two" };

	begin();
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	cr_assert_eq(acquire(&two, NVME_RESERVE_ACQUIRE, NVME_EXCLUSIVE_ACCESS, 22, 0), 0);
	dial(&again);
	may(&again, true, true);
	hang_up(&two);
	hang_up(&again);
	may(&three, false, false);
	dial(&two);
	may(&two, true, true);
	cr_assert_eq(report(&one, 128)[0].hostid[0], 2);
	cr_assert_eq(registers(&two, NVME_RESERVE_UNREGISTER, 22, 0), 0);
	may(&three, true, true);
	capsules_end();
}

static uint32_t log_page(const struct machine *m, uint32_t flags)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG,
		.flags = NVME_PSDT_SGL,
		.cdw10 = put_le32(NVME_LOG_RESERVATION | 15 << 16 | flags),
		.sgl = capsules_keyed(0, 64) };

	memset(memory, 0xee, 64);
	return capsules_command(m->admin, &sqe, sizeof(sqe));
}

/* Read the oldest notification, which must be this one. */
static void notified(const struct machine *m, uint8_t type, uint8_t others, uint8_t count)
{
	cr_assert_eq(log_page(m, 0), 0);
	cr_assert(memory[0] == count && memory[8] == type && memory[9] == others,
		"host %u: count %u, type %u, %u others", m->id, memory[0], memory[8], memory[9]);
	cr_assert_eq(memory[12], !!type);
}

Test(nvme_serve_reserve, preempt_and_clear)
{
	begin();
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	cr_assert_eq(registers(&three, NVME_RESERVE_REGISTER, 0, 33), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, NVME_WRITE_EXCLUSIVE, 11, 0), 0);
	cr_assert_eq(acquire(&two, NVME_RESERVE_PREEMPT, 1, 99, 11), NVME_CONFLICT);
	cr_assert_eq(acquire(&two, NVME_RESERVE_PREEMPT, 0, 22, 11), NVME_INVALID_FIELD);
	cr_assert_eq(acquire(&two, NVME_RESERVE_PREEMPT, NVME_EXCLUSIVE_ACCESS, 22, 11), 0);
	notified(&one, NVME_REGISTRATION_PREEMPTED, 0, 1);
	notified(&three, NVME_RESERVATION_RELEASED, 0, 1); /* another type */
	notified(&two, 0, 0, 0);
	may(&two, true, true);
	may(&one, false, false);
	/* only a registration */
	cr_assert_eq(acquire(&two, NVME_RESERVE_PREEMPT, 0, 22, 33), 0);
	notified(&three, NVME_REGISTRATION_PREEMPTED, 0, 2);
	report(&two, 64);
	cr_assert(registrants() == 1 && memory[4] == NVME_EXCLUSIVE_ACCESS);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(release(&one, NVME_RESERVE_CLEAR, 0, 11), 0);
	notified(&two, NVME_RESERVATION_PREEMPTED, 0, 1);
	notified(&one, 0, 0, 0);
	may(&three, true, true);
	/* all registrants hold it: key 0 takes it from all */
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, NVME_EXCLUSIVE_ACCESS_ALL, 11, 0), 0);
	cr_assert_eq(registers(&one, NVME_RESERVE_UNREGISTER, 11, 0), 0);
	may(&two, true, true);
	may(&one, false, false);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT, NVME_WRITE_EXCLUSIVE, 11, 0), 0);
	may(&one, true, true);
	may(&two, true, false);
	capsules_end();
}

static void submit(struct ep *ep, struct nvme_sqe sqe, uint16_t cid)
{
	sqe.cid = put_le16(cid);
	cr_assert(ep_pair_deliver(ep, &sqe, sizeof(sqe)));
	capsules_settle();
}

static uint32_t status_of(uint16_t cid)
{
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == cid)
			return get_le16(answers[i].cqe.status) >> 1;
	return PENDING;
}

static void wait_ms(unsigned ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * MSEC);
}

static uint32_t result_of(uint16_t cid)
{
	for (unsigned i = 0; i < replies; i++)
		if (get_le16(answers[i].cqe.cid) == cid)
			return (uint32_t)get_le64(answers[i].cqe.result);
	return 0;
}

static struct nvme_sqe preempt_and_abort(uint64_t key, uint64_t other)
{
	struct nvme_reserve_keys keys = { put_le64(key), put_le64(other) };

	memcpy(memory, &keys, sizeof(keys));
	return (struct nvme_sqe){ .opcode = NVME_IO_RESERVE_ACQUIRE,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32(NVME_RESERVE_PREEMPT_ABORT | NVME_WRITE_EXCLUSIVE << 8),
		.sgl = capsules_keyed(0, 16) };
}

/* What the other host has in work at any of its controllers ends, or is done before anything that
 * is written now. */
Test(nvme_serve_reserve, preempt_and_abort)
{
	struct nvme_sqe old = capsules_rw(NVME_IO_WRITE, 0, 8), mine = old;
	struct machine again = { 2, "nqn.two" };
	unsigned submitted;

	begin();
	dial(&again);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	cr_assert_eq(acquire(&two, NVME_RESERVE_ACQUIRE, NVME_WRITE_EXCLUSIVE, 22, 0), 0);
	backing->hold = true;
	replies = 0;
	old.sgl = capsules_keyed(8192, 4096);
	mine.sgl = capsules_keyed(16384, 4096);
	memset(memory + 8192, 0xaa, 4096);
	memset(memory + 16384, 0xbb, 4096);
	submit(two.io, old, 100);
	submit(again.io, old, 101);
	submit(two.io, capsules_rw(NVME_IO_READ, 64, 8), 102);
	submit(three.io, capsules_rw(NVME_IO_READ, 64, 8), 103);
	submit(one.io, preempt_and_abort(11, 22), 104);
	cr_assert_eq(status_of(104), 0, "it waits for no disk");
	cr_assert_eq(status_of(102), NVME_PREEMPTED);
	cr_assert_eq(status_of(103), PENDING, "that host was not preempted");
	submit(two.io, old, 105);
	submit(again.io, old, 106);
	cr_assert_eq(status_of(105), NVME_CONFLICT);
	cr_assert_eq(status_of(106), NVME_CONFLICT);
	submitted = backing->submitted;
	submit(one.io, mine, 107);
	submit(one.io, capsules_rw(NVME_IO_READ, 0, 8), 108);
	cr_assert_eq(backing->submitted, submitted, "they wait for the old writes");
	backing->hold = false;
	wait_ms(10);
	cr_assert(status_of(107) == 0 && status_of(108) == 0);
	cr_assert_eq(status_of(103), 0);
	cr_assert_neq(status_of(100), PENDING);
	cr_assert_neq(status_of(101), PENDING);
	cr_assert_eq(backing->bytes[0], 0xbb);
	cr_assert_eq(backing->bytes[4095], 0xbb);
	cr_assert_eq(report(&one, 128)[0].hostid[0], 1);
	cr_assert_eq(registrants(), 1);
	capsules_end();
}

/* A write that waits for a buffer, or a list of ranges to trim, does not continue either. */
Test(nvme_serve_reserve, preempt_ends_what_has_not_begun)
{
	struct nvme_sqe trim = capsules_rw(NVME_IO_DSM, 0, 1);
	struct nvme_dsm_range ranges[2] = { { .blocks = put_le32(8) },
		{ .blocks = put_le32(8), .lba = put_le64(64) } };
	uint8_t before;

	begin();
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	backing->hold = true;
	before = backing->bytes[64 * 512 + 1];
	cr_assert_neq(before, 0);
	trim.cdw10 = put_le32(1);
	trim.cdw11 = put_le32(NVME_DSM_DEALLOCATE);
	trim.sgl = capsules_keyed(8192, sizeof(ranges));
	memcpy(memory + 8192, ranges, sizeof(ranges));
	replies = 0;
	submit(two.io, trim, 100);
	for (unsigned i = 0; i < 4; i++)
		submit(two.io, capsules_rw(NVME_IO_WRITE, 256 + 256 * i, 256), (uint16_t)(101 + i));
	submit(one.io, preempt_and_abort(11, 22), 110);
	cr_assert_eq(status_of(110), 0);
	backing->hold = false;
	wait_ms(10);
	cr_assert_eq(status_of(100), NVME_PREEMPTED);
	cr_assert_eq(backing->bytes[64 * 512 + 1], before);
	for (uint16_t cid = 101; cid < 105; cid++)
		cr_assert(status_of(cid) != PENDING);
	capsules_end();
}

static uint32_t feature(
	const struct machine *m, bool set, uint8_t id, uint32_t nsid, uint32_t value)
{
	struct nvme_sqe sqe = { .opcode = set ? NVME_ADMIN_SET_FEATURES : NVME_ADMIN_GET_FEATURES,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(nsid),
		.cdw10 = put_le32(id),
		.cdw11 = put_le32(value) };

	return capsules_command(m->admin, &sqe, sizeof(sqe));
}

Test(nvme_serve_reserve, notifications)
{
	struct nvme_sqe event = { .opcode = NVME_ADMIN_ASYNC_EVENT, .flags = NVME_PSDT_SGL };
	unsigned notices = NVME_FEATURE_RESERVE_NOTICES;

	begin();
	submit(two.admin, event, 100);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	replies = 0;
	submit(one.io, preempt_and_abort(11, 22), 101);
	cr_assert(status_of(100) == 0 && status_of(101) == 0);
	cr_assert_eq(result_of(100), NVME_AER_IO | NVME_LOG_RESERVATION << 16);
	/* none until the log is read, which may be without an effect */
	submit(two.admin, event, 102);
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	replies = 0;
	submit(one.io, preempt_and_abort(11, 22), 103);
	cr_assert_eq(status_of(102), PENDING);
	cr_assert_eq(log_page(&two, NVME_LOG_RAE), 0);
	cr_assert(memory[0] == 1 && memory[9] == 1);
	replies = 0;
	submit(two.admin,
		(struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG,
			.flags = NVME_PSDT_SGL,
			.cdw10 = put_le32(NVME_LOG_RESERVATION | 15 << 16),
			.sgl = capsules_keyed(0, 64) },
		104);
	cr_assert(status_of(104) == 0 && memory[0] == 1);
	cr_assert_eq(result_of(102), NVME_AER_IO | NVME_LOG_RESERVATION << 16);
	notified(&two, NVME_REGISTRATION_PREEMPTED, 0, 2);
	notified(&two, 0, 0, 0);

	/* what is masked is not kept */
	cr_assert_eq(feature(&two, true, notices, 2, 0), NVME_INVALID_NS);
	cr_assert_eq(feature(&two, true, notices, 1, 1), NVME_INVALID_FIELD);
	cr_assert_eq(feature(&two, false, notices, NVME_NSID_ALL, 0), NVME_INVALID_NS);
	cr_assert_eq(
		feature(&two, true, notices, NVME_NSID_ALL, 1u << NVME_REGISTRATION_PREEMPTED), 0);
	cr_assert_eq(feature(&two, false, notices, 1, 0), 0);
	cr_assert_eq(capsules_result(), 1u << NVME_REGISTRATION_PREEMPTED);
	cr_assert_eq(feature(&one, false, notices, 1, 0), 0);
	cr_assert_eq(capsules_result(), 0, "of another controller");
	cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT, 1, 11, 22), 0);
	notified(&two, 0, 0, 0);
	cr_assert_eq(feature(&two, true, notices, 1, 0), 0);

	/* the newest are kept */
	for (unsigned i = 0; i < 40; i++) {
		cr_assert_eq(registers(&two, NVME_RESERVE_REGISTER, 0, 22), 0);
		cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT, 1, 11, 22), 0);
	}
	notified(&two, NVME_REGISTRATION_PREEMPTED, 31, 2 + 9);
	notified(&two, NVME_REGISTRATION_PREEMPTED, 30, 2 + 10);
	capsules_end();
}

/* Reservations end with the process, and the target says so. */
Test(nvme_serve_reserve, features)
{
	uint8_t persistence = NVME_FEATURE_RESERVE_PERSISTENCE;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32(NVME_CNS_NS),
		.sgl = capsules_keyed(0, NVME_IDENTIFY_LEN) };

	begin();
	cr_assert_eq(feature(&one, false, persistence, 1, 0), 0);
	cr_assert_eq(capsules_result(), 0);
	cr_assert_eq(feature(&one, true, persistence, 1, 1), NVME_INVALID_FIELD);
	cr_assert_eq(feature(&one, true, persistence, 1, 0), 0);
	cr_assert_eq(feature(&one, true, persistence, NVME_NSID_ALL, 0), 0);
	cr_assert_eq(feature(&one, true, persistence, 0, 0), NVME_INVALID_NS);
	cr_assert_eq(feature(&one, false, persistence, 2, 0), NVME_INVALID_NS);
	cr_assert_eq(capsules_command(one.admin, &sqe, sizeof(sqe)), 0);
	cr_assert_eq(((const struct nvme_id_ns *)memory)->rescap, 0xfe);
	sqe.cdw10 = put_le32(NVME_CNS_NS_INDEPENDENT);
	cr_assert_eq(capsules_command(one.admin, &sqe, sizeof(sqe)), 0);
	cr_assert_eq(((const struct nvme_id_ns_independent *)memory)->rescap, 0xfe);
	sqe.cdw10 = put_le32(NVME_CNS_CTRL);
	cr_assert_eq(capsules_command(one.admin, &sqe, sizeof(sqe)), 0);
	cr_assert(get_le16(((const struct nvme_id_ctrl *)memory)->oncs) & NVME_ONCS_RESERVATIONS);
	cr_assert(get_le32(((const struct nvme_id_ctrl *)memory)->ctratt) & NVME_CTRATT_RHII);
	capsules_end();
}

/* --- a folder of reservations; each start is one of another process */

static char dir[] = "/tmp/nvme_serve_reserve.XXXXXX";
static struct reservation_state *state;

static void not_saved(const struct diag *reason, void *user)
{
	(void)user;
	cr_assert_fail("%s: %s", reason->object, reason->text);
}

static void start_with_state(unsigned expected)
{
	unsigned restored;

	cr_assert_eq(reservation_state_open(&state, dir, loop, not_saved, NULL, &why), 0, "%s",
		why.text);
	cr_assert_eq(
		reservation_state_add(state, &backing->bdev, opt.disk[0].nguid, &restored, &why), 0,
		"%s", why.text);
	cr_assert_eq(restored, expected);
	serving_start();
	dial(&one);
	dial(&two);
}

static void stop_with_state(void)
{
	hang_up(&one);
	hang_up(&two);
	serving_stop();
	reservation_state_close(state);
}

static void restart_with_state(unsigned expected)
{
	stop_with_state();
	start_with_state(expected);
}

/* A thread writes the file. */
static uint32_t saved(uint32_t status)
{
	while (!replies)
		wait_ms(1);
	return status != PENDING ? status : get_le16(answers[0].cqe.status) >> 1u;
}

static uint32_t persistence(uint32_t nsid)
{
	cr_assert_eq(feature(&one, false, NVME_FEATURE_RESERVE_PERSISTENCE, nsid, 0), 0);
	return capsules_result();
}

Test(nvme_serve_reserve, persist)
{
	uint32_t on = (uint32_t)NVME_CPTPL_ON << 30, off = (uint32_t)NVME_CPTPL_OFF << 30;
	uint8_t set = NVME_FEATURE_RESERVE_PERSISTENCE;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.nsid = put_le32(1),
		.cdw10 = put_le32(NVME_CNS_NS),
		.sgl = capsules_keyed(0, NVME_IDENTIFY_LEN) };
	char command[64];

	cr_assert(mkdtemp(dir));
	capsules_begin();
	serving_stop();
	start_with_state(0);
	cr_assert_eq(capsules_command(one.admin, &sqe, sizeof(sqe)), 0);
	cr_assert_eq(((const struct nvme_id_ns *)memory)->rescap, 0xff);
	cr_assert_eq(persistence(1), 0);
	cr_assert_eq(saved(registers(&one, NVME_RESERVE_REGISTER, 0, 11)), 0);
	restart_with_state(0);
	cr_assert_eq(saved(registers(&one, NVME_RESERVE_REGISTER | on, 0, 11)), 0);
	cr_assert_eq(persistence(1), 1);
	cr_assert_eq(report(&one, 128)->rkey.b[0], 11);
	cr_assert_eq(memory[9], 1);
	cr_assert_eq(saved(registers(&two, NVME_RESERVE_REGISTER, 0, 22)), 0);
	cr_assert_eq(saved(acquire(&one, NVME_RESERVE_ACQUIRE, NVME_EXCLUSIVE_ACCESS, 11, 0)), 0);
	may(&two, false, false);
	restart_with_state(2);
	may(&one, true, true);
	may(&two, false, false);
	cr_assert_eq(persistence(1), 1);
	report(&two, 128);
	cr_assert_eq(registrants(), 2);
	cr_assert_eq(
		saved(acquire(&two, NVME_RESERVE_PREEMPT_ABORT, NVME_WRITE_EXCLUSIVE, 22, 11)), 0);
	restart_with_state(1);
	may(&one, true, false);
	may(&two, true, true);
	cr_assert_eq(saved(feature(&one, true, set, NVME_NSID_ALL, 0)), 0);
	may(&one, true, false);
	restart_with_state(0);
	may(&one, true, true);
	cr_assert_eq(saved(feature(&one, true, set, 1, 1)), 0);
	cr_assert_eq(saved(feature(&one, true, set, 2, 1)), NVME_INVALID_NS);
	cr_assert_eq(saved(registers(&one, NVME_RESERVE_REGISTER, 0, 11)), 0);
	restart_with_state(1);
	cr_assert_eq(saved(registers(&two, NVME_RESERVE_REGISTER | off, 0, 22)), 0);
	restart_with_state(0);
	stop_with_state();
	serving_start();
	capsules_end();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_assert_eq(system(command), 0);
}

/* --- a disk that is also served to SCSI initiators */

static struct scsi_rig rig;
static struct scsi_host *port;
static uint8_t list[24], in[512];

static uint8_t ask(struct scsi_ask with)
{
	with.out = list;
	with.in = in;
	scsi_host_ask(port, &with);
	return with.status;
}

static uint8_t pr_out(uint8_t action, uint8_t type, uint64_t key, uint64_t other)
{
	memset(list, 0, sizeof(list));
	wire_put_be(list, 8, key);
	wire_put_be(list + 8, 8, other);
	return ask((struct scsi_ask){
		.cdb = { 0x5f, action, type, [8] = 24 }, .expected_out = sizeof(list) });
}

static uint8_t scsi_read(void)
{
	return ask((struct scsi_ask){ .cdb = { 0x28, [8] = 1 }, .expected_in = 512 });
}

static void begin_both(void)
{
	begin();
	rig = (struct scsi_rig){
		.loop = loop, .loops = &loop, .nloops = 1, .disk = { &backing->bdev }, .disks = 1
	};
	cr_assert_eq(scsi_rig_start(&rig, NULL), 0);
	port = scsi_host_dial(&rig, 7);
	while (ask((struct scsi_ask){ 0 }))
		;
}

static void end_both(void)
{
	scsi_host_leave(port);
	cr_assert_eq(scsi_rig_stop(&rig, NULL), 0);
	capsules_end();
}

Test(nvme_serve_reserve, one_set_for_nvme_and_scsi)
{
	const struct nvme_reserve_registrant *reg;

	begin_both();
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(pr_out(0, 0, 0, 77), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_ACQUIRE, NVME_EXCLUSIVE_ACCESS, 11, 0), 0);
	cr_assert_eq(scsi_read(), SCSI_CONFLICT);
	may(&one, true, true);
	/* both see all keys and the type */
	reg = report(&two, 64 + 128);
	cr_assert(registrants() == 2 && get_le64(reg[0].rkey) == 11 && get_le64(reg[1].rkey) == 77);
	cr_assert(reg[0].rcsts == 1 && reg[1].rcsts == 0 && reg[1].hostid[0]);
	cr_assert_eq(ask((struct scsi_ask){ .cdb = { 0x5e, 3, [7] = 2 }, .expected_in = 512 }), 0);
	cr_assert_eq(wire_be(in + 4, 4), 2 * 48);
	cr_assert(in[8 + 7] == 11 && in[8 + 12] == 1 && in[8 + 13] == 3 && in[8 + 24] == 0xf);
	cr_assert_eq(memcmp(in + 8 + 24 + 8, "\1", 2), 0, "the host identifier");

	/* SCSI takes it, with all that NVMe has in work; NVMe takes it back */
	backing->hold = true;
	replies = 0;
	submit(one.io, capsules_rw(NVME_IO_READ, 0, 8), 100);
	cr_assert_eq(pr_out(5, 1, 77, 11), 0);
	capsules_settle();
	cr_assert_eq(status_of(100), NVME_PREEMPTED);
	backing->hold = false;
	cr_assert_eq(scsi_read(), 0);
	may(&one, true, false);
	notified(&one, NVME_REGISTRATION_PREEMPTED, 0, 1);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT_ABORT, NVME_EXCLUSIVE_ACCESS, 11, 77), 0);
	cr_assert_eq(ask((struct scsi_ask){ 0 }), 2, "a unit attention");
	cr_assert_eq(scsi_read(), SCSI_CONFLICT);
	cr_assert_eq(release(&one, NVME_RESERVE_CLEAR, 0, 11), 0);

	/* RESERVE 6 excludes all others */
	cr_assert_eq(ask((struct scsi_ask){ .cdb = { 0x16 } }), 0);
	may(&one, false, false);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), NVME_CONFLICT);
	cr_assert_eq(ask((struct scsi_ask){ .cdb = { 0x17 } }), 0);
	may(&one, true, true);
	end_both();
}

/* A host that registers with another identifier each time takes no place from others. */
Test(nvme_serve_reserve, each_name_keeps_a_few_registrations)
{
	begin();
	for (uint8_t id = 100; id < 130; id++) {
		struct machine passer = { id };

		dial(&passer);
		cr_assert_eq(registers(&passer, NVME_RESERVE_REGISTER, 0, id), 0);
		if (id == 100)
			cr_assert_eq(acquire(&passer, NVME_RESERVE_ACQUIRE, NVME_EXCLUSIVE_ACCESS,
					     id, 0),
				0);
		hang_up(&passer);
	}
	may(&two, false, false);
	cr_assert_eq(registers(&one, NVME_RESERVE_REGISTER, 0, 11), 0);
	cr_assert_eq(report(&one, 64 + 64 * 40)[0].hostid[0], 100, "the holder");
	cr_assert_leq(registrants(), 17 + 1);
	cr_assert_eq(acquire(&one, NVME_RESERVE_PREEMPT, NVME_EXCLUSIVE_ACCESS, 11, 100), 0);
	may(&one, true, true);
	capsules_end();
}

/* --- on several threads, for the thread sanitizer, too */

static struct remote {
	uint8_t id;
	uint16_t cntlid;
	struct raw_host *admin, *io;
	unsigned sent[2]; /* commands: admin, io */
} left = { .id = 1 }, right = { .id = 2 };

static void wait_for(const struct raw_host *raw, unsigned count)
{
	struct raw_host *all[] = { left.admin, left.io, right.admin, right.io };
	volatile int never = 0;

	while (raw->replies < count || !raw->up) {
		for (unsigned i = 0; i < EACH(all); i++)
			if (all[i])
				raw_poll(all[i]);
		loop_wait(loop, &never, loop_clock() + MSEC / 10);
	}
}

static void send_to(
	struct remote *r, bool io_queue, struct nvme_sqe sqe, const void *data, uint32_t len)
{
	sqe.flags = NVME_PSDT_SGL;
	sqe.cid = put_le16((uint16_t)r->sent[io_queue]++);
	if (len)
		sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(len) };
	raw_command(io_queue ? r->io : r->admin, &sqe, data, len);
}

static uint32_t answer_of(struct remote *r, bool io_queue)
{
	struct raw_host *raw = io_queue ? r->io : r->admin;

	wait_for(raw, r->sent[io_queue]);
	return get_le16(raw->reply.status) >> 1;
}

static void join(struct remote *r, const struct addr *at, bool io_queue)
{
	struct nvmf_connect connect = { .qid = io_queue,
		.depth = 32,
		.cntlid = io_queue ? r->cntlid : NVMF_CNTLID_ANY,
		.hostid = { r->id },
		.subnqn = NQN,
		.hostnqn = HOST };
	struct raw_host *raw = raw_dial(at, false);

	*(io_queue ? &r->io : &r->admin) = raw;
	raw_hello(raw, io_queue, 32);
	wait_for(raw, 0);
	raw_connect(raw, &connect);
	r->sent[io_queue] = 1;
	cr_assert_eq(answer_of(r, io_queue), 0);
	if (io_queue)
		return;
	r->cntlid = (uint16_t)get_le64(raw->reply.result);
	send_to(r, false, raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES),
		NULL, 0);
	cr_assert_eq(answer_of(r, false), 0);
}

static void send_change(
	struct remote *r, uint8_t opcode, uint32_t cdw10, uint64_t key, uint64_t other)
{
	struct nvme_reserve_keys keys = { put_le64(key), put_le64(other) };

	send_to(r, true,
		(struct nvme_sqe){
			.opcode = opcode, .nsid = put_le32(1), .cdw10 = put_le32(cdw10) },
		&keys, opcode == NVME_IO_RESERVE_RELEASE ? 8 : 16);
}

/* Both hosts do I/O, each with writes to its own blocks, and one takes the reservation from the
 * other. */
static void fight(struct remote *winner, struct remote *loser)
{
	static const uint8_t data[512];
	uint32_t preempt = NVME_RESERVE_PREEMPT_ABORT | NVME_EXCLUSIVE_ACCESS << 8;

	send_change(winner, NVME_IO_RESERVE_REGISTER, NVME_RESERVE_REGISTER, 0, winner->id);
	send_change(loser, NVME_IO_RESERVE_REGISTER, NVME_RESERVE_REGISTER, 0, loser->id);
	cr_assert_eq(answer_of(winner, true), 0);
	cr_assert_eq(answer_of(loser, true), 0);
	for (unsigned i = 0; i < 8; i++) {
		send_to(loser, true, raw_rw(loser->io, NVME_IO_READ, 0, 8 * i, 8), NULL, 0);
		send_to(loser, true, raw_rw(loser->io, NVME_IO_WRITE, 0, 1024u * loser->id + i, 1),
			data, 512);
		send_to(winner, true, raw_rw(winner->io, NVME_IO_READ, 0, 8 * i, 8), NULL, 0);
	}
	send_change(winner, NVME_IO_RESERVE_ACQUIRE, preempt, winner->id, loser->id);
	answer_of(winner, true);
	send_to(loser, true, raw_rw(loser->io, NVME_IO_WRITE, 0, 1024u * loser->id, 1), data, 512);
	answer_of(loser, true);
	/* only now it is known which answer is the last */
	send_change(winner, NVME_IO_RESERVE_ACQUIRE,
		NVME_RESERVE_ACQUIRE | NVME_EXCLUSIVE_ACCESS << 8, winner->id, 0);
	cr_assert_eq(answer_of(winner, true), 0);
	send_to(loser, true, raw_rw(loser->io, NVME_IO_WRITE, 0, 1024u * loser->id, 1), data, 512);
	cr_assert_eq(answer_of(loser, true), NVME_CONFLICT);
	send_to(loser, false,
		(struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG,
			.cdw10 = put_le32(NVME_LOG_RESERVATION | 15 << 16),
			.sgl = raw_sgl(loser->admin, 64) },
		NULL, 0);
	cr_assert_eq(answer_of(loser, false), 0);
	cr_assert_eq(loser->admin->data[8], NVME_REGISTRATION_PREEMPTED);
	send_change(winner, NVME_IO_RESERVE_RELEASE, NVME_RESERVE_CLEAR, winner->id, 0);
	cr_assert_eq(answer_of(winner, true), 0);
}

Test(nvme_serve_reserve, threads)
{
	const struct loop_options options = { .name = "workers" };
	const struct bdev_env env = { .write = true };
	struct remote *both[] = { &left, &right };
	struct workers *workers;
	struct loop *loops[3];
	struct bdev *ram;
	struct addr at;

	leap_now = 0;
	serving_begin(SIZE, TRANSPORT_TCP, 0);
	cr_assert_eq(bdev_open(&ram, loop, "ram:4M", &env, &why), 0);
	cr_assert_eq(workers_start(&workers, 3, &options, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		loops[i] = workers_loop(workers, i);
	opt.loops = loops;
	opt.nloops = 3;
	opt.disk[0].bdev = ram;
	serving_start();
	cr_assert(target_transports(target, 0, &at));
	for (unsigned i = 0; i < 4; i++)
		join(both[i / 2], &at, i % 2);
	for (unsigned round = 0; round < 40; round++)
		fight(both[round % 2], both[!(round % 2)]);
	for (unsigned i = 0; i < 2; i++) {
		raw_close(both[i]->admin);
		raw_close(both[i]->io);
	}
	cr_assert_eq(target_stop(target, NO_LIMIT_MS, &why), 0, "%s", why.text);
	target = NULL;
	workers_stop(workers);
	bdev_close(ram);
	serving_end();
}
