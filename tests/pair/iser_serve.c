/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI target over iSER, on the endpoint in memory: logins, data by STag and along with
 * commands, the command window, and initiators that break rules, which end their own session. */
/* Link: leap */
#include "disk.h"
#include "ep_pair.h"
#include "host.h"
#include "iscsi.h"
#include "serve.h"
#include "wire/iser.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#define MEMORY  (2u << 20)
#define KEY     7
#define AT      0x1000u
#define SIZE    (8u << 20)
#define HEADS   76
#define DEPTH   64
#define WINDOW  80 /* receives of a session: those of the window, and 16 */
#define IQN     "iqn.t"
#define RDMA    "RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=8192\0"
#define NORMAL  "InitiatorName=iqn.i\0TargetName=" IQN "\0SessionType=Normal\0"
#define LOGIN   NORMAL "TargetRecvDataSegmentLength=8192\0" RDMA
#define READ16  0x88
#define WRITE16 0x8a

static struct fake_disk *backing;
static struct target *target;
static struct target_options opt;
static struct ep_peer peer;
static struct ep *conn, *last_gone;
static unsigned gone, answers, chase; /* chase: commands to send, one at each answer */
static uint32_t cmdsn, statsn;
/* the last PDU that came, and the next to be sent */
static struct {
	struct iser_hdr hdr;
	union {
		struct iscsi_bhs bhs;
		struct iscsi_scsi_rsp rsp;
		struct iscsi_login_rsp login;
	};
	char data[8192];
} got;
static uint32_t got_len;
static struct {
	struct iser_hdr hdr;
	union {
		struct iscsi_bhs bhs;
		struct iscsi_scsi_cmd cmd;
		struct iscsi_login_req login;
		struct iscsi_task_req task;
	};
	uint8_t data[9000];
} pdu;

static void send_read(void);

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
	cr_assert_leq(len, sizeof(got));
	memcpy(&got, bytes, len);
	got_len = len - HEADS;
	cr_assert_eq(got.hdr.flags, ISER_CONTROL);
	cr_assert_eq(get_be24(got.bhs.data_len), got_len);
	cr_assert_eq(get_be32(got.rsp.statsn), statsn++);
	if (chase) {
		chase--;
		send_read();
	}
}

static void settle(void)
{
	for (int i = 0; i < 8; i++) {
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
	opt.disk[0] =
		(struct target_disk_options){ .bdev = &backing->bdev, .name = IQN, .serial = "S1" };
	opt.disks = opt.listens = opt.nloops = 1;
	opt.loops = &loop;
	opt.listen[0].transports = TRANSPORT_VERBS;
	cr_assert_eq(addr_parse(&opt.listen[0].at, "127.0.0.1", ISCSI_PORT, NULL), 0);
	cr_assert_eq(iscsi_serve(&target, loop, &opt, 1000, NULL), 0);
}

static void end(void)
{
	struct diag diag = { 0 };

	cr_assert_eq(target_stop(target, 2000, &diag), 0, "%s", diag.text);
	fake_disk_free(backing);
	free(peer.memory);
	host_end();
}

/* --- PDUs */

static void make(uint8_t opcode, uint8_t flags)
{
	memset(&pdu, 0, sizeof(pdu));
	pdu.hdr.flags = ISER_CONTROL;
	pdu.bhs.opcode = opcode;
	pdu.bhs.flags = flags;
	pdu.bhs.itt = put_be32(0x1234);
	pdu.cmd.cmdsn = put_be32(cmdsn);
	cmdsn += !(opcode & ISCSI_IMMEDIATE);
}

static bool deliver(uint32_t data)
{
	pdu.bhs.data_len = put_be24(data);
	return ep_pair_deliver(conn, &pdu, HEADS + data);
}

/* It has one answer. */
static uint8_t ask(uint32_t data)
{
	unsigned before = answers;

	cr_assert(deliver(data));
	settle();
	cr_assert_eq(answers, before + 1, "%u answers", answers - before);
	cr_assert_eq(get_be32(got.bhs.itt), 0x1234);
	return got.bhs.opcode;
}

static bool call(uint8_t flags)
{
	struct iser_private priv = { .flags = flags };

	peer.called = NULL;
	statsn = 1;
	if (!ep_pair_call(&peer, &priv, sizeof(priv), 4))
		return false;
	settle();
	conn = peer.called;
	return conn;
}

/* The status of a login in one request, for the full feature phase. */
static uint16_t log_in(uint8_t port, const char *text, uint32_t len)
{
	cr_assert(call(ISER_NO_ZBVA));
	cr_assert_eq(ep_pair_receives(conn), 1, "one login request at a time");
	cmdsn = 1;
	make(ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL));
	pdu.login.isid[5] = port;
	memcpy(pdu.data, text, len);
	cr_assert_eq(ask(len), ISCSI_LOGIN_RSP);
	return ISCSI_LOGIN_STATUS(got.login.status_class, got.login.status_detail);
}

static bool has(const char *pair)
{
	return memmem(got.data, got_len, pair, strlen(pair) + 1);
}

static void live(void)
{
	begin();
	cr_assert_eq(log_in(1, LOGIN, sizeof(LOGIN) - 1), 0);
	cr_assert_eq(ep_pair_receives(conn), WINDOW, "a receive for each request");
	cr_assert_eq(peer.reply_len, sizeof(struct iser_private));
	cr_assert_eq(peer.reply[0], ISER_NO_ZBVA, "it invalidates");
}

static void command(uint8_t opcode, uint64_t lba, uint32_t count, uint32_t expected)
{
	make(ISCSI_SCSI_CMD, ISCSI_FINAL | ISCSI_SIMPLE);
	pdu.cmd.cdb[0] = opcode;
	wire_put_be(pdu.cmd.cdb + 2, 8, lba);
	wire_put_be(pdu.cmd.cdb + 10, 4, count);
	pdu.cmd.expected = put_be32(expected);
	if (opcode == WRITE16)
		pdu.bhs.flags |= ISCSI_CMD_WRITE;
	else if (expected)
		pdu.bhs.flags |= ISCSI_CMD_READ;
}

static void read_to(uint64_t at)
{
	pdu.hdr.flags |= ISER_READ_STAG;
	pdu.hdr.read_stag = put_be32(KEY);
	pdu.hdr.read_base = put_be64(at);
}

static void send_read(void)
{
	command(READ16, 0, 8, 4096);
	read_to(AT);
	cr_assert(deliver(0), "a receive for each request");
}

static void write_from(uint64_t at)
{
	pdu.hdr.flags |= ISER_WRITE_STAG;
	pdu.hdr.write_stag = put_be32(KEY);
	pdu.hdr.write_base = put_be64(at);
}

static uint8_t run(uint32_t data)
{
	cr_assert_eq(ask(data), ISCSI_SCSI_RSP);
	cr_assert_eq(get_be32(got.rsp.max_cmdsn), cmdsn + DEPTH - 1);
	cr_assert_eq(ep_pair_receives(conn), WINDOW);
	return got.rsp.status;
}

static void ready(void)
{
	live();
	command(0, 0, 0, 0);
	cr_assert_eq(run(0), 2);
	cr_assert_eq(got.data[2 + 12], 0x29, "power on");
	command(0, 0, 0, 0);
	cr_assert_eq(run(0), 0);
	cr_assert_eq(peer.invals, 0);
}

/* --- logins */

Test(iser_serve, keys)
{
	static const char text[] = LOGIN "HeaderDigest=CRC32C,None\0InitialR2T=No\0"
					 "MaxOutstandingUnexpectedPDUs=4\0iSERHelloRequired=No";

	begin();
	cr_assert_eq(log_in(1, text, sizeof(text)), 0);
	cr_assert(has("RDMAExtensions=Yes"));
	cr_assert(has("InitiatorRecvDataSegmentLength=8192"));
	cr_assert(has("TargetRecvDataSegmentLength=8192"));
	cr_assert(has("MaxOutstandingUnexpectedPDUs=16"));
	cr_assert(has("iSERHelloRequired=No"));
	cr_assert(has("HeaderDigest=None"));
	cr_assert(has("InitialR2T=Yes"));
	cr_assert_eq(log_in(2, LOGIN, sizeof(LOGIN) - 1), 0);
	cr_assert(!has("MaxOutstandingUnexpectedPDUs=16"), "unknown to that initiator");
	cr_assert(call(ISER_NO_ZBVA | ISER_NO_INVALIDATE));
	cr_assert_eq(peer.reply[0], ISER_NO_ZBVA | ISER_NO_INVALIDATE);
	end();
}

Test(iser_serve, a_session_needs_the_extensions)
{
	static const char text[] = NORMAL "InitialR2T=Yes";

	begin();
	cr_assert_eq(log_in(1, text, sizeof(text)), ISCSI_INITIATOR_ERROR);
	cr_assert_eq(gone, 1);
	end();
}

Test(iser_serve, discovery)
{
	static const char text[] = "InitiatorName=iqn.i\0SessionType=Discovery\0" RDMA;

	begin();
	cr_assert_eq(log_in(1, text, sizeof(text) - 1), 0);
	cr_assert_eq(ep_pair_receives(conn), WINDOW - DEPTH);
	make(ISCSI_TEXT_REQ, ISCSI_FINAL);
	wire_put_be(pdu.bhs.rest, 4, ISCSI_NO_TAG);
	memcpy(pdu.data, "SendTargets=All", 16);
	cr_assert_eq(ask(16), ISCSI_TEXT_RSP);
	cr_assert(has("TargetName=" IQN));
	cr_assert(has("TargetAddress=127.0.0.1:3260,1"), "a portal of RDMA");
	make(ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE, ISCSI_FINAL);
	cr_assert_eq(ask(0), ISCSI_LOGOUT_RSP);
	cr_assert_eq(gone, 1);
	end();
}

Test(iser_serve, the_same_port_again)
{
	struct ep *first, *other;

	live();
	first = conn;
	cr_assert_eq(log_in(2, LOGIN, sizeof(LOGIN) - 1), 0);
	other = conn;
	cr_assert_eq(gone, 0);
	cr_assert_eq(log_in(1, LOGIN, sizeof(LOGIN) - 1), 0);
	cr_assert_eq(gone, 1);
	cr_assert_eq(last_gone, first);
	cr_assert_eq(other->state, EP_UP);
	end();
}

/* --- data */

Test(iser_serve, data_by_stag_in_pieces)
{
	ready();
	command(READ16, 3, 2048, 1 << 20);
	read_to(AT + 100);
	cr_assert_eq(run(0), 0);
	cr_assert_arr_eq(peer.memory + 100, backing->bytes + 3 * 512, 1 << 20);
	cr_assert_eq(peer.invals, 1);
	cr_assert_eq(peer.inval_key, KEY);
	memset(peer.memory, 0x42, 1 << 20);
	command(WRITE16, 5, 2048, 1 << 20);
	write_from(AT);
	cr_assert_eq(run(0), 0);
	cr_assert_arr_eq(backing->bytes + 5 * 512, peer.memory, 1 << 20);
	cr_assert_eq(peer.invals, 2);
	end();
}

/* The STag's base is where the data that does not come along begins. */
Test(iser_serve, immediate_data)
{
	ready();
	command(WRITE16, 16, 8, 4096);
	memset(pdu.data, 0x77, 4096);
	cr_assert_eq(run(4096), 0);
	cr_assert_eq(backing->bytes[16 * 512], 0x77);
	cr_assert_eq(backing->bytes[16 * 512 + 4095], 0x77);
	cr_assert_eq(peer.reads, 0);
	memset(peer.memory, 0x99, MEMORY);
	command(WRITE16, 64, 1024, 1024 * 512);
	memset(pdu.data, 0x55, 8192);
	write_from(AT + 17);
	cr_assert_eq(run(8192), 0);
	cr_assert_eq(backing->bytes[64 * 512 + 8191], 0x55);
	cr_assert_arr_eq(backing->bytes + 64 * 512 + 8192, peer.memory, 1024 * 512 - 8192);
	cr_assert_neq(backing->bytes[(64 + 1024) * 512], 0x99);
	end();
}

Test(iser_serve, residuals_and_sense)
{
	ready();
	command(0x12, 0, 0, 4096);
	memset(pdu.cmd.cdb + 2, 0, 14);
	pdu.cmd.cdb[4] = 96;
	read_to(AT);
	cr_assert_eq(run(0), 0);
	cr_assert_eq(got.rsp.flags, ISCSI_FINAL | ISCSI_UNDERFLOW);
	cr_assert_geq(get_be32(got.rsp.residual), 4096 - 96);
	cr_assert_arr_eq(peer.memory + 8, "rdmastor", 8);
	command(READ16, SIZE / 512, 8, 4096);
	read_to(AT);
	cr_assert_eq(run(0), 2);
	cr_assert_eq(got_len, 20);
	cr_assert_eq(got.data[2 + 12], 0x21, "beyond the end");
	cr_assert_eq(peer.inval_key, KEY, "also of a command that failed");
	end();
}

/* --- order */

Test(iser_serve, a_window_of_commands)
{
	unsigned before;

	ready();
	backing->hold = true;
	before = answers;
	for (unsigned i = 0; i < DEPTH; i++)
		send_read();
	settle();
	cr_assert_eq(answers, before);
	cr_assert_eq(ep_pair_receives(conn), WINDOW - DEPTH);
	make(ISCSI_NOP_OUT | ISCSI_IMMEDIATE, ISCSI_FINAL);
	wire_put_be(pdu.bhs.rest, 4, ISCSI_NO_TAG);
	memcpy(pdu.data, "ping", 4);
	cr_assert_eq(ask(4), ISCSI_NOP_IN);
	cr_assert_arr_eq(got.data, "ping", 4);
	cr_assert_eq(get_be32(got.rsp.max_cmdsn), cmdsn - 1, "no room");
	backing->hold = false;
	end();
}

/* An initiator has the response, and so a place in the window, before the target knows that it has
 * left. */
Test(iser_serve, commands_ahead_of_completions)
{
	unsigned before;

	ready();
	peer.delayed_sent = true;
	before = answers;
	chase = 1000;
	for (unsigned i = 0; i < DEPTH; i++)
		send_read();
	for (int i = 0; i < 1000 && answers < before + DEPTH + 1000; i++)
		settle();
	cr_assert_eq(answers, before + DEPTH + 1000);
	cr_assert_eq(gone, 0);
	end();
}

Test(iser_serve, task_management)
{
	ready();
	make(ISCSI_TASK_REQ | ISCSI_IMMEDIATE, ISCSI_FINAL | ISCSI_LUN_RESET);
	cr_assert_eq(ask(0), ISCSI_TASK_RSP);
	cr_assert_eq(got.rsp.response, ISCSI_TASK_COMPLETE);
	make(ISCSI_TASK_REQ | ISCSI_IMMEDIATE, ISCSI_FINAL | ISCSI_ABORT_TASK);
	pdu.task.ref_itt = put_be32(1);
	cr_assert_eq(ask(0), ISCSI_TASK_RSP);
	cr_assert_eq(got.rsp.response, ISCSI_TASK_NONE);
	end();
}

/* The initiator takes its memory back when it has the response: that waits for READs and WRITEs. */
static void abort_waits(uint8_t opcode)
{
	unsigned before;

	ready();
	peer.stuck = true;
	before = answers;
	command(opcode, 0, 8, 4096);
	if (opcode == WRITE16)
		write_from(AT);
	else
		read_to(AT);
	pdu.bhs.itt = put_be32(0x77);
	cr_assert(deliver(0));
	settle();
	make(ISCSI_TASK_REQ | ISCSI_IMMEDIATE, ISCSI_FINAL | ISCSI_ABORT_TASK);
	pdu.task.ref_itt = put_be32(0x77);
	cr_assert(deliver(0));
	settle();
	cr_assert_eq(answers, before);
	ep_pair_cut(conn);
	settle();
	cr_assert_eq(backing->written, 0);
	end();
}

Test(iser_serve, an_abort_waits_for_data_to_be_read)
{
	abort_waits(WRITE16);
}

Test(iser_serve, an_abort_waits_for_data_to_be_written)
{
	abort_waits(READ16);
}

/* --- initiators that break rules */

/* Ends this session alone. */
static void ended(bool delivered)
{
	struct ep *mine = conn, *other;
	unsigned before;

	cr_assert(delivered);
	settle();
	before = gone;
	cr_assert_geq(gone, 1);
	cr_assert_eq(last_gone, mine);
	cr_assert_eq(log_in(2, LOGIN, sizeof(LOGIN) - 1), 0);
	other = conn;
	cr_assert_eq(other->state, EP_UP);
	cr_assert_eq(gone, before);
	end();
}

Test(iser_serve, a_message_shorter_than_its_headers)
{
	live();
	command(0, 0, 0, 0);
	ended(ep_pair_deliver(conn, &pdu, HEADS - 1));
}

Test(iser_serve, a_hello)
{
	live();
	command(0, 0, 0, 0);
	pdu.hdr.flags = 0x20;
	ended(deliver(0));
}

Test(iser_serve, a_login_longer_than_its_message)
{
	begin();
	cr_assert(call(0));
	make(ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE, ISCSI_FINAL | 7);
	memcpy(pdu.data, LOGIN, sizeof(LOGIN));
	pdu.bhs.data_len = put_be24(sizeof(LOGIN));
	ended(ep_pair_deliver(conn, &pdu, HEADS + sizeof(LOGIN) - 1));
}

Test(iser_serve, a_login_with_a_header_segment)
{
	begin();
	cr_assert(call(0));
	make(ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE, ISCSI_FINAL | 7);
	pdu.bhs.ahs_len = 1;
	ended(deliver(sizeof(LOGIN)));
}

Test(iser_serve, two_logins_at_once)
{
	begin();
	cr_assert(call(0));
	make(ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE, ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, 0));
	cr_assert(deliver(0));
	cr_assert(!deliver(0), "no receive");
	ep_pair_cut(conn);
	settle();
	end();
}

Test(iser_serve, a_command_before_the_login)
{
	begin();
	cr_assert(call(0));
	command(0, 0, 0, 0);
	ended(deliver(0));
}

Test(iser_serve, a_header_segment_beyond_the_end)
{
	live();
	command(0, 0, 0, 0);
	pdu.bhs.ahs_len = 255;
	ended(ep_pair_deliver(conn, &pdu, HEADS + 255 * 4 - 1));
}

Test(iser_serve, data_beyond_the_message)
{
	live();
	command(WRITE16, 0, 16, 8192);
	pdu.bhs.data_len = put_be24(8192);
	ended(ep_pair_deliver(conn, &pdu, HEADS + 8191));
}

Test(iser_serve, more_immediate_data_than_expected)
{
	live();
	command(WRITE16, 0, 8, 4096);
	ended(deliver(4097));
}

Test(iser_serve, unsolicited_data_to_follow)
{
	live();
	command(WRITE16, 0, 8, 4096);
	pdu.bhs.flags &= (uint8_t)~ISCSI_FINAL;
	ended(deliver(0));
}

Test(iser_serve, a_write_without_stag)
{
	ready();
	command(WRITE16, 0, 8, 4096);
	ended(deliver(0));
}

Test(iser_serve, a_read_without_stag)
{
	ready();
	command(READ16, 0, 8, 4096);
	write_from(AT);
	ended(deliver(0));
}

Test(iser_serve, memory_that_is_not_its_own)
{
	ready();
	command(WRITE16, 0, 8, 4096);
	write_from(AT + MEMORY - 512);
	ended(deliver(0));
}

Test(iser_serve, an_address_from_zero)
{
	ready();
	command(READ16, 0, 8, 4096);
	read_to(0);
	ended(deliver(0));
}

Test(iser_serve, an_stag_of_another)
{
	ready();
	command(READ16, 0, 8, 4096);
	read_to(AT);
	pdu.hdr.read_stag = put_be32(KEY + 1);
	ended(deliver(0));
}

Test(iser_serve, an_invalidation)
{
	live();
	command(0, 0, 0, 0);
	ended(ep_pair_deliver_inval(conn, &pdu, HEADS, KEY));
}

Test(iser_serve, a_data_out_pdu_is_rejected)
{
	unsigned before;

	live();
	before = answers;
	make(ISCSI_DATA_OUT | ISCSI_IMMEDIATE, ISCSI_FINAL);
	cr_assert(deliver(512));
	settle();
	cr_assert_eq(answers, before + 1);
	cr_assert_eq(got.bhs.opcode, ISCSI_REJECT);
	cr_assert_eq(ep_pair_receives(conn), WINDOW);
	end();
}

Test(iser_serve, more_commands_than_the_window)
{
	ready();
	backing->hold = true;
	for (unsigned i = 0; i < DEPTH + 8 + 1; i++)
		send_read();
	backing->hold = false;
	ended(true);
}

/* As long as nothing it sends is taken, pings use up the receives and no memory. */
Test(iser_serve, more_unexpected_pdus_than_allowed)
{
	unsigned taken = 0;

	live();
	for (unsigned i = 0; i < WINDOW + 1; i++) {
		make(ISCSI_NOP_OUT | ISCSI_IMMEDIATE, ISCSI_FINAL);
		wire_put_be(pdu.bhs.rest, 4, ISCSI_NO_TAG);
		taken += deliver(0);
	}
	cr_assert_eq(taken, WINDOW);
	settle();
	cr_assert_eq(gone, 0);
	cr_assert_eq(ep_pair_receives(conn), WINDOW);
	end();
}
