/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP target over the endpoint in memory: logins, descriptors, immediate data, task management,
 * and initiators that break rules, which end only their own channel. */
/* Link: leap */
#include "disk.h"
#include "ep_pair.h"
#include "host.h"
#include "leap.h"
#include "serve.h"
#include "wire/srp.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#define MEMORY (2u << 20)
#define KEY    7
#define AT     0x1000u
#define SIZE   (8u << 20)

static struct fake_disk *backing;
static struct target *target;
static struct target_options opt;
static struct ep_peer peer;
static struct ep *chan;
static unsigned gone, answers;
static struct ep *last_gone;
static uint8_t answer[256];
static uint32_t answer_len;
static uint64_t answer_tag[64];

static void went(struct ep_peer *me, struct ep *ep)
{
	(void)me;
	last_gone = ep;
	gone++;
}

static void message(struct ep_peer *me, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	(void)me;
	(void)ep;
	if (len >= 16 && answers < 64)
		answer_tag[answers] = wire_be(bytes + 8, 8);
	answers++;
	answer_len = len < sizeof(answer) ? len : sizeof(answer);
	memcpy(answer, bytes, answer_len);
}

static void settle(void)
{
	for (int i = 0; i < 6; i++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000000);
	}
}

static void begin_at(sa_family_t family, const uint8_t gid[16])
{
	host_begin(0);
	peer = (struct ep_peer){ .message = message,
		.gone = went,
		.memory = calloc(1, MEMORY),
		.memory_at = AT,
		.memory_len = MEMORY,
		.memory_key = KEY };
	ep_pair_peer(loop, &peer);
	backing = fake_disk_new(loop, SIZE, 512);
	for (unsigned i = 0; i < SIZE; i++)
		backing->bytes[i] = (uint8_t)(i * 5 + i / 509);
	opt.disk[0] = (struct target_disk_options){
		.bdev = &backing->bdev, .uuid[7] = 9, .serial = "S1"
	};
	opt.disks = opt.listens = opt.nloops = 1;
	opt.loops = &loop;
	opt.listen[0].transports = TRANSPORT_VERBS;
	opt.listen[0].at.ss.ss_family = family;
	if (family == ADDR_IB)
		addr_set_ib(&opt.listen[0].at, gid, 0xffff, 7);
	cr_assert_eq(srp_serve(&target, loop, &opt, 1000, NULL), 0);
}

static void begin(void)
{
	begin_at(AF_INET, NULL);
}

static void end(void)
{
	struct diag diag = { 0 };

	cr_assert_eq(target_stop(target, 2000, &diag), 0, "%s", diag.text);
	fake_disk_free(backing);
	free(peer.memory);
	host_end();
}

static struct srp_login_cm login_of(uint8_t initiator, uint8_t flags)
{
	struct srp_login_cm login = { .opcode = SRP_LOGIN_REQ,
		.flags = flags,
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT),
		.it_iu_len = put_be32(8260),
		.imm_offset = put_be16(68) };

	login.initiator[15] = initiator;
	login.target[7] = login.target[15] = 9;
	return login;
}

static struct ep *log_in(struct srp_login_cm login)
{
	peer.called = NULL;
	peer.rejected = false;
	cr_assert(ep_pair_call(&peer, &login, sizeof(login), 4));
	settle();
	return peer.called;
}

static void live(void)
{
	begin();
	chan = log_in(login_of(1, SRP_IMMEDIATE));
	cr_assert_not_null(chan);
	cr_assert_eq(((struct srp_login_rsp *)(void *)peer.reply)->opcode, SRP_LOGIN_RSP);
	cr_assert_eq(get_be32(((struct srp_login_rsp *)(void *)peer.reply)->delta) + 1,
		ep_pair_receives(chan), "a receive for each request, and for an answer");
}

static void refused(struct srp_login_cm login, uint32_t reason)
{
	const struct srp_login_rej *rej = (const void *)peer.reply;

	login.tag = put_be64(0x1234);
	cr_assert_null(log_in(login));
	cr_assert(peer.rejected);
	cr_assert_eq(peer.reply_len, sizeof(*rej));
	cr_assert_eq(rej->opcode, SRP_LOGIN_REJ);
	cr_assert_eq(get_be32(rej->reason), reason);
	cr_assert_eq(get_be64(rej->tag), 0x1234);
}

/* One message with 64 to 4096 bytes, and its response. */
static struct {
	struct srp_cmd cmd;
	uint8_t rest[9000];
} iu;

static void command(uint8_t format, uint8_t opcode, uint64_t lba, uint32_t count)
{
	memset(&iu, 0, sizeof(iu));
	iu.cmd = (struct srp_cmd){ .opcode = SRP_CMD, .format = format, .tag = put_be64(0xfedc) };
	iu.cmd.cdb[0] = opcode;
	wire_put_be(iu.cmd.cdb + 2, 4, lba);
	wire_put_be(iu.cmd.cdb + 7, 2, count);
}

static void direct(uint8_t *to, uint32_t at, uint32_t len)
{
	struct srp_direct desc = { put_be64(AT + at), put_be32(KEY), put_be32(len) };

	memcpy(to, &desc, sizeof(desc));
}

static const struct srp_rsp *run(uint32_t len)
{
	const struct srp_rsp *rsp = (const void *)answer;
	unsigned before = answers;

	cr_assert(ep_pair_deliver(chan, &iu, len));
	settle();
	cr_assert_eq(answers, before + 1, "one response");
	cr_assert_eq(rsp->opcode, SRP_RSP);
	cr_assert_eq(get_be64(rsp->tag), 0xfedc);
	cr_assert_eq(get_be32(rsp->delta), 1);
	cr_assert_eq(ep_pair_receives(chan), 65);
	return rsp;
}

static void first_attention(void)
{
	command(0, 0x00, 0, 0);
	cr_assert_eq(run(48)->status, 2);
	cr_assert_eq(answer[36 + 12], 0x29, "power on");
	command(0, 0x00, 0, 0);
	cr_assert_eq(run(48)->status, 0);
}

Test(srp_serve, logins)
{
	struct srp_login_cm login = login_of(1, 0);

	begin();
	login.opcode = SRP_CMD;
	refused(login, SRP_REJ_NO_CHANNEL);
	login = login_of(1, 0);
	login.it_iu_len = put_be32(63);
	refused(login, SRP_REJ_IU_TOO_LONG);
	login.it_iu_len = put_be32(1 << 20);
	refused(login, SRP_REJ_IU_TOO_LONG);
	login = login_of(1, 0);
	login.target[0] = 1;
	refused(login, SRP_REJ_NO_ASSOCIATION);
	login = login_of(1, 0);
	login.formats = put_be16(0x10);
	refused(login, SRP_REJ_FORMAT);
	cr_assert_not_null(log_in(login_of(1, 0)));
	end();
}

/* By a service ID on InfiniBand a login has the form of the standard. */
Test(srp_serve, logins_by_service_id)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 7 };
	const struct srp_login_rsp *rsp = (const void *)peer.reply;
	const struct srp_login_rej *rej = (const void *)peer.reply;
	struct srp_login_req req = { .opcode = SRP_LOGIN_REQ,
		.tag = put_be64(0x1234),
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT),
		.flags = SRP_IMMEDIATE,
		.it_iu_len = put_be32(8260),
		.imm_offset = put_be16(68),
		.initiator = { 1 } };

	req.target[7] = req.target[15] = 9;
	begin_at(ADDR_IB, gid);
	cr_assert(ep_pair_call(&peer, &req, sizeof(req) - 1, 4));
	cr_assert(peer.rejected);
	cr_assert_eq(get_be32(rej->reason), SRP_REJ_NO_CHANNEL, "too short");
	req.target[0] = 1;
	cr_assert(ep_pair_call(&peer, &req, sizeof(req), 4));
	cr_assert(peer.rejected);
	cr_assert_eq(get_be32(rej->reason), SRP_REJ_NO_ASSOCIATION);
	cr_assert_eq(get_be64(rej->tag), 0x1234);
	req.target[0] = 0;
	cr_assert(ep_pair_call(&peer, &req, sizeof(req), 4));
	settle();
	chan = peer.called;
	cr_assert_not_null(chan);
	cr_assert_eq(rsp->opcode, SRP_LOGIN_RSP);
	cr_assert_eq(get_be64(rsp->tag), 0x1234);
	cr_assert_eq(rsp->flags & SRP_IMMEDIATE, SRP_IMMEDIATE);
	first_attention();
	end();
}

Test(srp_serve, only_initiators_on_the_list)
{
	opt.hosts = 1;
	opt.host[0] = "00000000000000000000000000000002";
	begin();
	refused(login_of(1, 0), SRP_REJ_CHANNELS);
	cr_assert_not_null(log_in(login_of(2, 0)));
	end();
}

Test(srp_serve, a_login_ends_other_channels_of_its_port_unless_multichannel)
{
	struct ep *other;
	struct target_status status;

	begin();
	cr_assert_not_null(log_in(login_of(1, 0)));
	other = log_in(login_of(2, 0));
	cr_assert_not_null(log_in(login_of(1, SRP_MULTI_CHANNEL)));
	cr_assert_eq(((struct srp_login_rsp *)(void *)peer.reply)->flags, SRP_CHANNELS_STAY);
	target_get_status(target, &status);
	cr_assert_eq(status.queues, 3);
	cr_assert_eq(status.clients, 2);
	cr_assert_eq(gone, 0);
	cr_assert_not_null(log_in(login_of(1, 0)));
	cr_assert_eq(gone, 2);
	cr_assert_eq(other->state, EP_UP);
	end();
}

Test(srp_serve, of_two_logins_at_once_the_later_one_stays)
{
	struct srp_login_cm login = login_of(1, 0);
	struct target_status status;

	begin();
	cr_assert_not_null(log_in(login));
	for (int i = 0; i < 3; i++)
		cr_assert(ep_pair_call(&peer, &login, sizeof(login), 4));
	settle();
	cr_assert_eq(gone, 3);
	cr_assert_neq(last_gone, peer.called);
	cr_assert_eq(peer.called->state, EP_UP);
	target_get_status(target, &status);
	cr_assert_eq(status.queues, 1);
	end();
}

Test(srp_serve, direct_data_in_pieces)
{
	live();
	first_attention();
	command(SRP_DIRECT, 0x28, 3, 2048);
	direct(iu.rest, 100, 1 << 20);
	cr_assert_eq(run(64)->status, 0);
	cr_assert_arr_eq(peer.memory + 100, backing->bytes + 3 * 512, 1 << 20);
	memset(peer.memory, 0x42, 1 << 20);
	command(SRP_DIRECT << 4, 0x2a, 5, 2048);
	direct(iu.rest, 0, 1 << 20);
	cr_assert_eq(run(64)->status, 0);
	cr_assert_arr_eq(backing->bytes + 5 * 512, peer.memory, 1 << 20);
	end();
}

static void table(unsigned count, uint32_t each, uint32_t gap, uint32_t all)
{
	be32 len = put_be32(all);

	direct(iu.rest, 0, count * 16);
	memcpy(iu.rest + 16, &len, sizeof(len));
	for (unsigned i = 0; i < count; i++)
		direct(iu.rest + 20 + i * 16, i * gap, each);
}

Test(srp_serve, indirect_data)
{
	live();
	first_attention();
	command(SRP_INDIRECT, 0x28, 8, 10);
	iu.cmd.in_descs = 5;
	table(5, 1024, 2048, 5120);
	cr_assert_eq(run(48 + 20 + 5 * 16)->status, 0);
	for (unsigned i = 0; i < 5; i++) {
		cr_assert_arr_eq(peer.memory + i * 2048, backing->bytes + 8 * 512 + i * 1024, 1024);
		cr_assert_eq(peer.memory[i * 2048 + 1024], 0, "nothing between them");
	}
	command(SRP_INDIRECT << 4, 0x2a, 100, 10);
	iu.cmd.out_descs = 5;
	iu.cmd.add_cdb = 2 << 2;
	memmove(iu.rest + 8, iu.rest, 8);
	table(5, 1024, 2048, 5120);
	memmove(iu.rest + 8, iu.rest, 20 + 5 * 16);
	cr_assert_eq(run(48 + 8 + 20 + 5 * 16)->status, 0);
	cr_assert_arr_eq(backing->bytes + 100 * 512, peer.memory, 1024);
	end();
}

Test(srp_serve, immediate_data)
{
	be32 len = put_be32(4096);

	live();
	first_attention();
	command(SRP_IMM << 4, 0x2a, 16, 8);
	memcpy(iu.rest, &len, sizeof(len));
	memset(iu.rest + 20, 0x77, 4096);
	peer.reads = 0;
	cr_assert_eq(run(68 + 4096)->status, 0);
	cr_assert_eq(backing->bytes[16 * 512], 0x77);
	cr_assert_eq(backing->bytes[16 * 512 + 4095], 0x77);
	cr_assert_eq(peer.reads, 0);
	end();
}

Test(srp_serve, residuals_and_sense)
{
	const struct srp_rsp *rsp;

	live();
	first_attention();
	command(SRP_DIRECT, 0x12, 0, 0);
	iu.cmd.cdb[4] = 96;
	direct(iu.rest, 0, 4096);
	rsp = run(64);
	cr_assert_eq(rsp->status, 0);
	cr_assert_eq(rsp->flags, SRP_RSP_IN_UNDER);
	cr_assert_geq(get_be32(rsp->in_residual), 4096 - 96);
	command(SRP_DIRECT, 0x28, 0, 8);
	direct(iu.rest, 0, 512);
	rsp = run(64);
	cr_assert(rsp->flags & SRP_RSP_IN_OVER);
	cr_assert_eq(get_be32(rsp->in_residual), 7 * 512);
	command(SRP_DIRECT, 0x28, SIZE / 512, 8);
	direct(iu.rest, 0, 4096);
	rsp = run(64);
	cr_assert_eq(rsp->status, 2);
	cr_assert(rsp->flags & SRP_RSP_SENSE);
	cr_assert_eq(get_be32(rsp->sense_len), answer_len - 36);
	cr_assert_eq(answer[36 + 2] & 0xf, 5);
	cr_assert_eq(answer[36 + 12], 0x21);
	end();
}

Test(srp_serve, task_management)
{
	struct srp_tsk_mgmt *task = (void *)&iu;
	const struct srp_rsp *rsp;

	live();
	first_attention();
	command(0, 0, 0, 0);
	task->opcode = SRP_TSK_MGMT;
	memset(task->reserved2, 0, sizeof(*task) - 16);
	task->function = SRP_TSK_LUN_RESET;
	rsp = run(sizeof(*task));
	cr_assert_eq(rsp->flags, SRP_RSP_DATA);
	cr_assert_eq(answer[39], 0);
	task->function = 0x33;
	run(sizeof(*task));
	cr_assert_eq(answer[39], 4, "not supported");
	task->function = SRP_TSK_LUN_RESET;
	task->lun[1] = 9;
	run(sizeof(*task));
	cr_assert_eq(answer[39], 5, "failed");
	/* a write whose disk does not answer is not in the way of the others */
	backing->hold = true;
	command(SRP_DIRECT, 0x28, 0, 8);
	direct(iu.rest, 0, 4096);
	cr_assert(ep_pair_deliver(chan, &iu, 64));
	settle();
	backing->hold = false;
	end();
}

static int deltas(void)
{
	return (int)get_be32(((const struct srp_rsp *)(const void *)answer)->delta);
}

static void send_task(uint8_t function, uint64_t of)
{
	struct srp_tsk_mgmt *task = (void *)&iu;

	memset(&iu, 0, sizeof(*task));
	*task = (struct srp_tsk_mgmt){ .opcode = SRP_TSK_MGMT,
		.tag = put_be64(0xabcd),
		.function = function,
		.task_tag = put_be64(of) };
	cr_assert(ep_pair_deliver(chan, &iu, sizeof(*task)));
	settle();
}

/* Reads at a disk that does not answer; those without a buffer wait for one. */
static void hold_reads(unsigned count)
{
	backing->hold = true;
	for (unsigned i = 0; i < count; i++) {
		command(SRP_DIRECT, 0x28, i, 1);
		direct(iu.rest, i * 512, 512);
		iu.cmd.tag = put_be64(i);
		cr_assert(ep_pair_deliver(chan, &iu, 64));
	}
	settle();
}

Test(srp_serve, an_aborted_command_gives_its_request_back)
{
	opt.buffers = 4;
	live();
	first_attention();
	hold_reads(10);
	answers = 0;
	send_task(SRP_TSK_ABORT_TASK, 9);
	cr_assert_eq(answers, 1, "of the function alone");
	cr_assert_eq(get_be64(((const struct srp_rsp *)(const void *)answer)->tag), 0xabcd);
	cr_assert_eq(answer[39], 0);
	cr_assert_eq(deltas(), 2);
	cr_assert_eq(ep_pair_receives(chan), 65 - 9);
	send_task(SRP_TSK_ABORT_TASK, 9);
	cr_assert_eq(answer[39], 5, "it has gone");
	cr_assert_eq(deltas(), 1);
	backing->hold = false;
	end();
}

/* Looks between what the endpoint does, and asks for the abort once some data is on its way. */
static unsigned asked_at, looks;
static void look(struct loop_work *work)
{
	struct srp_tsk_mgmt task = { .opcode = SRP_TSK_MGMT,
		.tag = put_be64(0xabcd),
		.function = SRP_TSK_ABORT_TASK,
		.task_tag = put_be64(0xfedc) };

	asked_at = peer.writes;
	if (asked_at >= 5)
		cr_assert(ep_pair_deliver(chan, &task, sizeof(task)));
	else if (looks--)
		loop_work_add(loop, work);
}
static struct loop_work spy = { .run = look };

static void look_again(struct loop_timer *timer)
{
	looks = 100;
	if (asked_at >= 5)
		return;
	loop_work_add(loop, &spy);
	loop_timer_set(loop, timer, loop_now(loop) + 1);
}
static struct loop_timer each_turn = { .fire = look_again };

/* Its memory is the initiator's again once a function has been answered. */
Test(srp_serve, no_data_comes_after_the_answer_that_a_command_is_gone)
{
	volatile int never = 0;
	be32 all = put_be32(200 * 512);

	leap_now = 0; /* the endpoint moves data in all turns of the loop */
	live();
	first_attention();
	peer.fault.pause = 4;
	answers = peer.writes = 0;
	command(SRP_INDIRECT, 0x28, 0, 200);
	iu.cmd.in_descs = 200;
	direct(iu.rest, 0, 200 * 16);
	memcpy(iu.rest + 16, &all, sizeof(all));
	for (unsigned i = 0; i < 200; i++)
		direct(iu.rest + 20 + i * 16, i * 1024, 512);
	cr_assert(ep_pair_deliver(chan, &iu, 48 + 20 + 200 * 16));
	loop_timer_set(loop, &each_turn, loop_now(loop));
	while (answers < 2)
		loop_wait(loop, &never, loop_clock() + 1000000);
	cr_assert_lt(asked_at, 64);
	cr_assert_eq(answer_tag[0], 0xfedc);
	cr_assert_eq(answer_tag[1], 0xabcd);
	cr_assert_eq(peer.writes, 200);
	cr_assert_eq(answer[39], 5, "the task was over");
	end();
}

/* A function answered while another channel of the port still moves data. */
static void reset_waits(uint8_t format, uint8_t opcode)
{
	struct ep *first, *other;

	live();
	first_attention();
	first = chan;
	other = log_in(login_of(1, SRP_MULTI_CHANNEL));
	cr_assert_not_null(other);
	chan = other;
	command(0, 0x00, 0, 0);
	cr_assert_eq(run(48)->status, 0, "the port has had its attention");
	peer.stuck = true;
	command(format, opcode, 0, 8);
	direct(iu.rest, 0, 4096);
	cr_assert(ep_pair_deliver(other, &iu, 64));
	settle();
	chan = first;
	answers = 0;
	send_task(SRP_TSK_LUN_RESET, 0);
	settle();
	cr_assert_eq(answers, 0, "the other channel's command is not over");
	ep_pair_cut(other);
	for (int i = 0; i < 1000 && !answers; i++)
		settle();
	cr_assert_eq(answers, 1);
	cr_assert_eq(answer[39], 0);
	other = log_in(login_of(1, SRP_MULTI_CHANNEL));
	command(0, 0x00, 0, 0);
	cr_assert_eq(run(48)->status, 2);
	cr_assert_eq(answer[36 + 12], 0x29, "reset");
	chan = other;
	command(0, 0x00, 0, 0);
	cr_assert_eq(run(48)->status, 0, "once for all channels");
	end();
}

Test(srp_serve, an_attention_is_of_the_port_over_whichever_channel)
{
	struct ep *first;

	live();
	first = chan;
	chan = log_in(login_of(1, SRP_MULTI_CHANNEL));
	cr_assert_not_null(chan);
	first_attention();
	chan = first;
	command(0, 0x00, 0, 0);
	cr_assert_eq(run(48)->status, 0, "once for all channels");
	end();
}

Test(srp_serve, a_reset_waits_for_reads_of_the_port_s_other_channels)
{
	reset_waits(SRP_DIRECT, 0x28);
}

Test(srp_serve, a_reset_waits_for_writes_of_the_port_s_other_channels)
{
	reset_waits(SRP_DIRECT << 4, 0x2a);
}

Test(srp_serve, but_not_for_other_ports)
{
	struct ep *first, *other;

	live();
	first_attention();
	first = chan;
	other = log_in(login_of(2, 0));
	chan = other;
	first_attention();
	peer.stuck = true;
	command(SRP_DIRECT, 0x28, 0, 8);
	direct(iu.rest, 0, 4096);
	cr_assert(ep_pair_deliver(other, &iu, 64));
	settle();
	chan = first;
	answers = 0;
	send_task(SRP_TSK_LUN_RESET, 0);
	cr_assert_eq(answers, 1);
	cr_assert_eq(answer[39], 0);
	ep_pair_cut(other);
	end();
}

#define TABLE (1u << 20)

/* A command whose table is in the initiator's memory: its length there, the entries that come
 * along. */
static uint32_t far_table(uint8_t format, uint8_t opcode, unsigned count, unsigned here)
{
	struct srp_direct table = { put_be64(AT + TABLE), put_be32(KEY), put_be32(count * 16) };
	be32 all = put_be32(count * 512);

	command(format, opcode, 8, count);
	*(opcode == 0x28 ? &iu.cmd.in_descs : &iu.cmd.out_descs) = (uint8_t)here;
	memcpy(iu.rest, &table, sizeof(table));
	memcpy(iu.rest + 16, &all, sizeof(all));
	for (unsigned i = 0; i < count; i++) {
		direct(peer.memory + TABLE + i * 16, i * 1024, 512);
		if (i < here)
			direct(iu.rest + 20 + i * 16, i * 1024, 512);
	}
	return 48 + 20 + here * 16;
}

Test(srp_serve, a_table_in_the_initiator_s_memory)
{
	live();
	first_attention();
	for (unsigned here = 0; here < 30; here += 12) {
		unsigned count = here == 24 ? 1000 : 300;

		memset(peer.memory, 0, TABLE);
		cr_assert_eq(run(far_table(SRP_INDIRECT, 0x28, count, here))->status, 0);
		for (unsigned i = 0; i < count; i++) {
			cr_assert_arr_eq(
				peer.memory + i * 1024, backing->bytes + (8 + i) * 512, 512);
			cr_assert_eq(peer.memory[i * 1024 + 512], 0, "nothing between them");
		}
	}
	for (unsigned i = 0; i < TABLE; i++)
		peer.memory[i] = (uint8_t)(i * 3 + i / 1021);
	cr_assert_eq(run(far_table(SRP_INDIRECT << 4, 0x2a, 700, 5))->status, 0);
	for (unsigned i = 0; i < 700; i++)
		cr_assert_arr_eq(backing->bytes + (8 + i) * 512, peer.memory + i * 1024, 512);
	end();
}

/* Otherwise the function would find no task, and the command would be executed after it. */
Test(srp_serve, what_comes_behind_such_a_command_waits_for_its_table)
{
	struct srp_tsk_mgmt task = { .opcode = SRP_TSK_MGMT,
		.tag = put_be64(0xabcd),
		.function = SRP_TSK_ABORT_TASK,
		.task_tag = put_be64(0xfedc) };

	live();
	first_attention();
	backing->hold = true;
	answers = 0;
	cr_assert(ep_pair_deliver(chan, &iu, far_table(SRP_INDIRECT, 0x28, 10, 0)));
	cr_assert(ep_pair_deliver(chan, &task, sizeof(task)));
	settle();
	cr_assert_eq(answers, 2);
	cr_assert_eq(answer_tag[0], 0xfedc);
	cr_assert_eq(answer_tag[1], 0xabcd);
	cr_assert_eq(peer.writes, 0);
	backing->hold = false;
	end();
}

Test(srp_serve, a_table_that_never_comes_ends_its_channel)
{
	struct ep *other;

	live();
	other = log_in(login_of(2, 0));
	first_attention();
	peer.stuck = true;
	cr_assert(ep_pair_deliver(chan, &iu, far_table(SRP_INDIRECT, 0x28, 10, 0)));
	settle();
	cr_assert_eq(gone, 0);
	loop_wait(loop, (volatile int *)&gone, loop_clock() + 60000000000);
	cr_assert_eq(gone, 1);
	cr_assert_eq(last_gone, chan);
	cr_assert_eq(other->state, EP_UP);
	peer.stuck = false;
	end();
}

Test(srp_serve, more_functions_than_places)
{
	struct srp_tsk_mgmt task = { .opcode = SRP_TSK_MGMT, .function = SRP_TSK_ABORT_TASK };

	live();
	first_attention();
	answers = 0;
	for (unsigned i = 0; i < 40; i++) {
		task.tag = put_be64(i);
		cr_assert(ep_pair_deliver(chan, &task, sizeof(task)));
	}
	settle();
	cr_assert_eq(answers, 40);
	for (unsigned i = 0; i < 40; i++)
		cr_assert_eq(answer_tag[i], i);
	end();
}

static void resize(void)
{
	backing->bdev.lim.size -= 4096;
	target_resized(target, &backing->bdev);
	settle();
}

Test(srp_serve, a_new_size_is_an_event)
{
	struct srp_plain reply = { .opcode = SRP_AER_RSP };

	live();
	cr_assert_not_null(log_in(login_of(1, SRP_MULTI_CHANNEL)));
	first_attention();
	answers = 0;
	resize();
	cr_assert_eq(answers, 1, "one channel of the port is enough");
	cr_assert_eq(answer[0], SRP_AER_REQ);
	cr_assert_eq(answer_len, sizeof(struct srp_aer_req) + 18);
	cr_assert_eq(answer[36 + 2], 6);
	cr_assert_eq(answer[36 + 12], 0x2a);
	resize();
	cr_assert_eq(answers, 1, "the first is not answered yet");
	cr_assert(ep_pair_deliver(chan, &reply, sizeof(reply)));
	settle();
	cr_assert_eq(answers, 2);
	cr_assert(ep_pair_deliver(chan, &reply, sizeof(reply)));
	settle();
	cr_assert_eq(answers, 2);
	cr_assert_eq(ep_pair_receives(chan), 65);
	cr_assert_eq(gone, 0);
	end();
}

/* Between all that happens while a channel ends. */
static unsigned resizes;
static void resize_again(struct loop_msg *msg)
{
	backing->bdev.lim.size -= 4096;
	target_resized(target, &backing->bdev);
	if (++resizes < 100)
		loop_post(loop, msg);
}
static struct loop_msg resizing = { .run = resize_again };

Test(srp_serve, a_new_size_while_a_channel_ends)
{
	live();
	iu.cmd.opcode = SRP_I_LOGOUT;
	cr_assert(ep_pair_deliver(chan, &iu, 16));
	loop_post(loop, &resizing);
	for (int i = 0; i < 1000 && resizes < 100; i++)
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 1000000);
	cr_assert_eq(resizes, 100);
	cr_assert_eq(gone, 1);
	end();
}

Test(srp_serve, a_stop_logs_out)
{
	live();
	first_attention();
	end();
	cr_assert_eq(answer[0], SRP_T_LOGOUT);
	cr_assert_eq(answer_len, sizeof(struct srp_t_logout));
}

Test(srp_serve, devices_with_few_requests)
{
	begin();
	peer.limit.send = 3;
	cr_assert_null(log_in(login_of(1, 0)));
	peer.limit.send = 8;
	cr_assert_not_null(log_in(login_of(1, 0)));
	cr_assert_eq(get_be32(((struct srp_login_rsp *)(void *)peer.reply)->delta), 1);
	peer.limit.send = 0;
	peer.limit.recv = 1;
	cr_assert_null(log_in(login_of(1, 0)));
	end();
}

Test(srp_serve, logout)
{
	live();
	iu.cmd.opcode = SRP_I_LOGOUT;
	cr_assert(ep_pair_deliver(chan, &iu, 16));
	settle();
	cr_assert_eq(gone, 1);
	end();
}

/* Ends this channel alone. */
static void breaks(uint32_t len)
{
	struct ep *other = log_in(login_of(2, 0));
	unsigned before = gone;

	cr_assert(ep_pair_deliver(chan, &iu, len));
	settle();
	cr_assert_eq(gone, before + 1);
	cr_assert_eq(last_gone, chan);
	cr_assert_eq(other->state, EP_UP);
	end();
}

Test(srp_serve, a_short_command)
{
	live();
	command(0, 0, 0, 0);
	breaks(47);
}

Test(srp_serve, a_strange_message)
{
	live();
	command(0, 0, 0, 0);
	iu.cmd.opcode = SRP_RSP;
	breaks(64);
}

Test(srp_serve, nothing_at_all)
{
	live();
	breaks(0);
}

Test(srp_serve, a_descriptor_cut_off)
{
	live();
	command(SRP_DIRECT, 0x28, 0, 8);
	breaks(63);
}

Test(srp_serve, both_directions)
{
	live();
	command(SRP_DIRECT << 4 | SRP_DIRECT, 0x28, 0, 8);
	breaks(80);
}

Test(srp_serve, a_reserved_format)
{
	live();
	command(7, 0x28, 0, 8);
	breaks(80);
}

Test(srp_serve, a_table_elsewhere)
{
	live();
	command(SRP_INDIRECT, 0x28, 0, 8);
	iu.cmd.in_descs = 2;
	table(5, 1024, 1024, 4096);
	breaks(48 + 20 + 2 * 16);
}

Test(srp_serve, a_table_cut_off)
{
	live();
	command(SRP_INDIRECT, 0x28, 0, 8);
	iu.cmd.in_descs = 5;
	table(5, 1024, 1024, 4096);
	breaks(48 + 20 + 5 * 16 - 1);
}

Test(srp_serve, a_table_of_less_than_its_sum)
{
	live();
	command(SRP_INDIRECT, 0x28, 0, 8);
	iu.cmd.in_descs = 2;
	table(2, 1024, 1024, 4096);
	breaks(48 + 20 + 2 * 16);
}

static void bad_table(uint32_t bytes, uint32_t all)
{
	uint32_t len;

	live();
	first_attention();
	len = far_table(SRP_INDIRECT, 0x28, 10, 2);
	wire_put_be(iu.rest + 12, 4, bytes);
	wire_put_be(iu.rest + 16, 4, all);
	breaks(len);
}

Test(srp_serve, a_far_table_of_odd_length)
{
	bad_table(10 * 16 + 8, 512);
}

Test(srp_serve, a_far_table_that_is_too_long)
{
	bad_table((2048 + 1) * 16, 512);
}

Test(srp_serve, a_far_table_shorter_than_its_beginning)
{
	bad_table(16, 512);
}

Test(srp_serve, a_far_table_of_less_than_its_sum)
{
	bad_table(10 * 16, 10 * 512 + 1);
}

Test(srp_serve, a_far_table_in_memory_that_is_not_its_own)
{
	uint32_t len;

	live();
	first_attention();
	len = far_table(SRP_INDIRECT, 0x28, 10, 0);
	wire_put_be(iu.rest, 8, AT + MEMORY - 16);
	breaks(len);
}

Test(srp_serve, an_answer_to_nothing)
{
	live();
	iu.cmd.opcode = SRP_AER_RSP;
	breaks(16);
}

Test(srp_serve, a_cdb_beyond_the_end)
{
	live();
	command(0, 0x28, 0, 8);
	iu.cmd.add_cdb = 0xff;
	breaks(64);
}

Test(srp_serve, immediate_data_beyond_the_end)
{
	be32 len = put_be32(0xffffffff);

	live();
	command(SRP_IMM << 4, 0x2a, 0, 8);
	memcpy(iu.rest, &len, sizeof(len));
	breaks(68 + 512);
}

Test(srp_serve, immediate_data_to_be_read)
{
	live();
	command(SRP_IMM, 0x28, 0, 8);
	breaks(68 + 512);
}

Test(srp_serve, memory_that_is_not_its_own)
{
	live();
	first_attention();
	command(SRP_DIRECT, 0x28, 0, 8);
	direct(iu.rest, MEMORY - 512, 4096);
	breaks(64);
}
