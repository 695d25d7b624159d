/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP target over the endpoint in memory: logins, descriptors, immediate data, task management,
 * and initiators that break rules, which end their own channel and nobody else's. */
#include "disk.h"
#include "ep_pair.h"
#include "host.h"
#include "srp_target.h"
#include "wire/srp.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#define MEMORY (2u << 20)
#define KEY    7
#define AT     0x1000u
#define SIZE   (8u << 20)

static struct fake_disk *backing;
static struct srp_target *target;
static struct srp_target_options opt;
static struct ep_peer peer;
static struct ep *chan;
static unsigned gone, answers;
static struct ep *last_gone;
static uint8_t answer[256];
static uint32_t answer_len;

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

static void begin(void)
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
	opt.disk[0] = (struct srp_target_disk){ .bdev = &backing->bdev, .serial = "S1" };
	opt.disks = opt.listens = opt.nloops = 1;
	opt.loops = &loop;
	opt.guid[7] = 9;
	opt.listen[0].ways = WAY_VERBS;
	opt.listen[0].at.ss.ss_family = AF_INET;
	cr_assert_eq(srp_target_start(&target, loop, &opt, 1000, NULL), 0);
}

static void end(void)
{
	struct diag diag = { 0 };

	cr_assert_eq(srp_target_stop(target, 2000, &diag), 0, "%s", diag.text);
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
	cr_assert_eq(get_be32(((struct srp_login_rsp *)(void *)peer.reply)->delta),
		ep_pair_receives(chan), "a receive for each request");
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
	cr_assert_eq(ep_pair_receives(chan), 64);
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

Test(srp_serve, only_initiators_on_the_list)
{
	opt.initiators = 1;
	opt.initiator[0][15] = 2;
	begin();
	refused(login_of(1, 0), SRP_REJ_CHANNELS);
	cr_assert_not_null(log_in(login_of(2, 0)));
	end();
}

Test(srp_serve, a_login_ends_other_channels_of_its_port_unless_told)
{
	struct ep *other;
	struct srp_target_status status;

	begin();
	cr_assert_not_null(log_in(login_of(1, 0)));
	other = log_in(login_of(2, 0));
	cr_assert_not_null(log_in(login_of(1, SRP_MULTI_CHANNEL)));
	cr_assert_eq(((struct srp_login_rsp *)(void *)peer.reply)->flags, SRP_CHANNELS_STAY);
	srp_target_get_status(target, &status);
	cr_assert_eq(status.channels, 3);
	cr_assert_eq(status.initiators, 2);
	cr_assert_eq(gone, 0);
	cr_assert_not_null(log_in(login_of(1, 0)));
	cr_assert_eq(gone, 2);
	cr_assert_eq(other->state, EP_UP);
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
