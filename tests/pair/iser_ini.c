/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI initiator over iSER, on the endpoint in memory: where data goes, how many commands are
 * out, when memory is given back, and targets that lie. The target's disk is that of the SRP
 * target. */
/* Link: leap */
#include "../fake/srp_peer.h"
#include "host.h"
#include "leap.h"
#include "says.h"
#include "wire/iscsi.h"
#include "wire/iser.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROOM  65536
#define HEADS 76
#define RECV  8192 /* of the target */
#define CONNS 32

static struct srp_peer target; /* the disk, and the fabric */
static struct pool *pool;
static struct conn {
	struct ep *ep;
	bool full;
	uint32_t statsn, cmdsn;
} conn_of[CONNS];
static unsigned conns, along, keyed, aborts, finished;
static uint32_t window; /* commands that each connection may have out */
static bool immediate;
static uint32_t first_burst;
/* Sees each PDU of the full feature phase first; false: it is answered there, or never. */
static bool (*script)(struct conn *, const struct iser_hdr *, struct iscsi_scsi_cmd *);

struct pdu {
	struct iser_hdr hdr;
	union {
		struct iscsi_bhs bhs;
		struct iscsi_scsi_rsp rsp;
		struct iscsi_login_rsp login;
		struct iscsi_nop nop;
	};
	uint8_t data[2048];
};

static struct pdu make(uint8_t opcode, uint32_t itt)
{
	struct pdu pdu = { .hdr.flags = ISER_CONTROL };

	pdu.rsp = (struct iscsi_scsi_rsp){
		.opcode = opcode, .flags = ISCSI_FINAL, .itt = put_be32(itt)
	};
	return pdu;
}

/* With the next status number, and the window, but without the last bytes of the data segment. */
static bool give_part(struct conn *conn, struct pdu *pdu, uint32_t len, uint32_t without)
{
	pdu->rsp.statsn = put_be32(conn->statsn++);
	pdu->rsp.exp_cmdsn = put_be32(conn->cmdsn);
	pdu->rsp.max_cmdsn = put_be32(conn->cmdsn + window - 1);
	pdu->bhs.data_len = put_be24(len);
	return ep_pair_deliver(conn->ep, pdu, HEADS + len - without);
}

static bool give(struct conn *conn, struct pdu *pdu, uint32_t len)
{
	return give_part(conn, pdu, len, 0);
}

static uint32_t withheld; /* bytes of each login response's data segment */

static void take_login(struct conn *conn, const struct iscsi_login_req *req)
{
	struct pdu pdu = make(ISCSI_LOGIN_RSP, get_be32(req->itt));
	int len = 0;

	cr_assert_eq(ISCSI_OPCODE(req->opcode), ISCSI_LOGIN_REQ);
	pdu.login.flags = req->flags;
	pdu.login.tsih = put_be16(1);
	memcpy(pdu.login.isid, req->isid, sizeof(req->isid));
	conn->cmdsn = get_be32(req->cmdsn);
	if (ISCSI_CSG(req->flags) == ISCSI_STAGE_SECURITY) {
		len = sprintf((char *)pdu.data, "AuthMethod=None") + 1;
	} else { /* each key ends with a zero */
		len = sprintf((char *)pdu.data,
			"HeaderDigest=None,DataDigest=None,RDMAExtensions=Yes,"
			"InitiatorRecvDataSegmentLength=512,TargetRecvDataSegmentLength=%u,"
			"ImmediateData=%s,InitialR2T=No,MaxBurstLength=1048576,"
			"FirstBurstLength=%u,DefaultTime2Wait=0,DefaultTime2Retain=0,"
			"ErrorRecoveryLevel=0,MaxConnections=1,MaxOutstandingR2T=1,"
			"DataPDUInOrder=Yes,DataSequenceInOrder=Yes,",
			RECV, immediate ? "Yes" : "No", first_burst);
		for (char *p = (char *)pdu.data; (p = strchr(p, ',')); p++)
			*p = 0;
	}
	conn->full = req->flags & ISCSI_FINAL && ISCSI_NSG(req->flags) == ISCSI_STAGE_FULL;
	cr_assert(give_part(conn, &pdu, (uint32_t)len, withheld));
}

/* The response that is due, which the disk gives as SRP's. */
static uint32_t execute(struct conn *conn, const struct iser_hdr *hdr,
	const struct iscsi_scsi_cmd *cmd, struct pdu *pdu)
{
	static uint8_t srp[64 + (2u << 20)];
	struct srp_cmd *as = (void *)srp;
	const uint8_t *imm_data = (const uint8_t *)(cmd + 1);
	uint32_t len = get_be32(cmd->expected), now = get_be24(cmd->data_len), size = 64;
	struct srp_direct *desc = (void *)(as + 1);
	uint8_t out[96];
	const struct srp_rsp *rsp = (const void *)out;

	memset(srp, 0, 64);
	as->opcode = SRP_CMD;
	memcpy(as->lun, cmd->lun, sizeof(as->lun));
	memcpy(as->cdb, cmd->cdb, sizeof(as->cdb));
	cr_assert_leq(now, RECV);
	along += now != 0;
	keyed += !!(hdr->flags & (ISER_WRITE_STAG | ISER_READ_STAG));
	if (cmd->flags & ISCSI_CMD_WRITE) {
		be32 imm = put_be32(len);

		cr_assert(now <= len && !(hdr->flags & ISER_READ_STAG));
		as->format = SRP_IMM << 4;
		memcpy(desc, &imm, sizeof(imm));
		memcpy(srp + 64, imm_data, now);
		if (len > now) {
			const void *rest;

			cr_assert(hdr->flags & ISER_WRITE_STAG);
			rest = ep_pair_memory(conn->ep, get_be32(hdr->write_stag),
				get_be64(hdr->write_base), len - now, EP_REMOTE_READ);
			cr_assert(rest, "memory of a write");
			memcpy(srp + 64 + now, rest, len - now);
		}
		size += len;
	} else if (cmd->flags & ISCSI_CMD_READ) {
		cr_assert(hdr->flags & ISER_READ_STAG && !now);
		as->format = SRP_DIRECT;
		desc->va = hdr->read_base;
		desc->key = hdr->read_stag;
		desc->len = cmd->expected;
	}
	srp_peer_do(&target, conn->ep, as, size, out);
	*pdu = make(ISCSI_SCSI_RSP, get_be32(cmd->itt));
	pdu->rsp.status = rsp->status;
	if (rsp->flags & (SRP_RSP_IN_UNDER | SRP_RSP_OUT_UNDER)) {
		pdu->rsp.flags |= ISCSI_UNDERFLOW;
		pdu->rsp.residual =
			cmd->flags & ISCSI_CMD_WRITE ? rsp->out_residual : rsp->in_residual;
	}
	if (rsp->status != 2)
		return 0;
	pdu->data[1] = SRP_SENSED;
	memcpy(pdu->data + 2, rsp + 1, SRP_SENSED);
	return 2 + SRP_SENSED;
}

static void message(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	static uint8_t copy[HEADS + RECV];
	const struct iser_hdr *hdr = (const void *)copy;
	struct iscsi_scsi_cmd *cmd = (void *)(copy + sizeof(*hdr));
	struct conn *conn = conn_of;
	struct pdu pdu;

	(void)peer;
	while (conn->ep != ep)
		cr_assert(++conn < conn_of + conns);
	cr_assert(len >= HEADS && len <= sizeof(copy));
	memcpy(copy, bytes, len);
	cr_assert_eq(ISER_OPCODE(hdr->flags), ISER_CONTROL);
	cr_assert_eq(get_be24(cmd->data_len), len - HEADS);
	if (!conn->full) {
		take_login(conn, (const void *)cmd);
		return;
	}
	cr_assert_eq(get_be32(cmd->cmdsn), conn->cmdsn);
	conn->cmdsn += !(cmd->opcode & ISCSI_IMMEDIATE);
	if (script && !script(conn, hdr, cmd))
		return;
	switch (ISCSI_OPCODE(cmd->opcode)) {
	case ISCSI_SCSI_CMD:
		len = execute(conn, hdr, cmd, &pdu);
		cr_assert(give(conn, &pdu, len), "no receive for a response");
		break;
	case ISCSI_NOP_OUT:
		if (get_be32(cmd->itt) == ISCSI_NO_TAG)
			break;
		pdu = make(ISCSI_NOP_IN, get_be32(cmd->itt));
		pdu.nop.ttt = put_be32(ISCSI_NO_TAG);
		give(conn, &pdu, 0);
		break;
	case ISCSI_TASK_REQ:
		aborts++;
		pdu = make(ISCSI_TASK_RSP, get_be32(cmd->itt));
		give(conn, &pdu, 0);
		break;
	case ISCSI_LOGOUT_REQ:
		pdu = make(ISCSI_LOGOUT_RSP, get_be32(cmd->itt));
		give(conn, &pdu, 0);
		break;
	default:
		cr_assert_fail("PDU of type %#x", cmd->opcode);
	}
}

static void request(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	const struct iser_private *own = (const void *)priv;

	(void)peer;
	cr_assert_eq(len, sizeof(*own));
	cr_assert(own->flags & ISER_NO_INVALIDATE, "keys are not a command's own");
	cr_assert_lt(conns, CONNS);
	conn_of[conns++] = (struct conn){ .ep = ep, .statsn = 7 };
	ep_pair_accept(ep, own, sizeof(*own));
}

static void begin(void)
{
	leap_now = 1000000000;
	host_begin(0);
	srp_peer_init(&target, loop);
	target.it_iu = 64 + (2u << 20);
	target.peer.request = request;
	target.peer.message = message;
	conns = along = keyed = aborts = finished = 0;
	window = 64;
	immediate = true;
	first_burst = 65536;
	script = NULL;
	withheld = 0;
}

static void end(void)
{
	host_end();
	srp_peer_fini(&target);
}

static int attach(const char *rest)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };
	char text[200];

	snprintf(text, sizeof(text), "iser://10.0.0.1/iqn.x:t%s", rest);
	return host_attach(text, &env);
}

static void lane_up(void)
{
	host_open_lane();
	cr_assert_eq(pool_new(&pool, ROOM, 64, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
}

static void up(const char *rest)
{
	cr_assert_eq(attach(rest), 0, "%s", why.text);
	lane_up();
}

static void down(void)
{
	lane_unmap(lane, pool);
	pool_free(pool);
	end();
}

struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
};
static struct request request_of[64];

static void done(struct io *io)
{
	(void)io;
	finished++;
}

static void submit(unsigned at, uint8_t kind, uint64_t off, uint32_t len)
{
	struct request *r = &request_of[at];

	r->buf = pool_buf(pool, at);
	r->io = (struct io){ .kind = kind,
		.off = off,
		.len = len,
		.buf = &r->buf,
		.done = done,
		.lower = r->lower };
	bdev_submit(lane, &r->io);
}

static void pass(unsigned ms)
{
	volatile int never = 0;

	for (unsigned i = 0; i < ms; i++)
		loop_wait(loop, &never, loop_clock() + 1000000);
}

static void turns_until(unsigned count)
{
	for (unsigned i = 0; i < 200000 && finished < count; i++)
		pass(1);
	cr_assert_eq(finished, count);
}

static int one(uint8_t kind, uint32_t len)
{
	finished = 0;
	submit(0, kind, 0, len);
	turns_until(1);
	return request_of[0].io.status;
}

/* 64 writes of several lengths at once, then 64 reads. */
static void work(void)
{
	along = keyed = 0;
	for (int pass = 0; pass < 2; pass++) {
		finished = 0;
		for (unsigned i = 0; i < 64; i++) {
			uint8_t *p = pool_buf(pool, i).p;

			for (unsigned at = 0; at < ROOM; at++)
				p[at] = pass ? 0 : (uint8_t)(i + at / 512 + 1);
			submit(i, pass ? IO_READ : IO_WRITE, i * (uint64_t)ROOM,
				i % 3 ? i % 2 ? 512 : 8192 : ROOM);
		}
		turns_until(64);
		for (unsigned i = 0; i < 64; i++) {
			const struct io *io = &request_of[i].io;

			cr_assert_eq(io->status, 0);
			for (unsigned at = 0; at < io->len; at++)
				cr_assert_eq(pool_buf(pool, i).p[at], (uint8_t)(i + at / 512 + 1));
			cr_assert_arr_eq(
				target.disk + i * (size_t)ROOM, pool_buf(pool, i).p, io->len);
		}
	}
}

Test(iser_ini, data_comes_along_or_is_read)
{
	begin();
	up("/0");
	cr_assert_eq(one(IO_READ, 512), 0);
	work();
	cr_assert_eq(along, 64, "the first 8 KiB of each write");
	cr_assert_eq(keyed, 22 + 64);
	down();
}

/* Linux's target may not have ended the login yet. */
Test(iser_ini, no_data_comes_along_before_an_answer)
{
	begin();
	up("/0");
	along = keyed = 0;
	cr_assert_eq(one(IO_WRITE, 512), 0);
	cr_assert_eq(along, 0);
	cr_assert_eq(keyed, 1);
	cr_assert_eq(one(IO_WRITE, 512), 0);
	cr_assert_eq(along, 1);
	down();
}

Test(iser_ini, a_target_without_immediate_data)
{
	begin();
	immediate = false;
	up("/0");
	cr_assert_eq(one(IO_READ, 512), 0);
	work();
	cr_assert_eq(along, 0);
	cr_assert_eq(keyed, 128);
	down();
}

static bool fits_first_burst(
	struct conn *conn, const struct iser_hdr *hdr, struct iscsi_scsi_cmd *cmd)
{
	(void)conn, (void)hdr;
	cr_assert_leq(get_be24(cmd->data_len), first_burst);
	return true;
}

Test(iser_ini, no_more_data_comes_along_than_the_first_burst_may_have)
{
	begin();
	first_burst = 2048;
	up("/0");
	script = fits_first_burst;
	cr_assert_eq(one(IO_READ, 512), 0);
	work();
	cr_assert_eq(along, 64);
	down();
}

Test(iser_ini, a_device_with_few_sends)
{
	begin();
	target.peer.limit.send = 16;
	target.peer.limit.inline_max = 16;
	target.peer.delayed_sent = true;
	up("/0");
	work();
	down();
}

Test(iser_ini, a_device_with_one_sge_and_few_requests)
{
	begin();
	target.peer.limit.sge = 1;
	target.peer.limit.inline_max = 16;
	target.peer.limit.send = 16;
	target.peer.limit.recv = 11;
	target.peer.delayed_sent = true;
	up("/0");
	work();
	cr_assert_eq(along, 0);
	down();
}

Test(iser_ini, a_device_with_too_few_receives)
{
	begin();
	target.peer.limit.recv = 7;
	cr_assert_lt(attach("/0"), 0);
	diag_says(&why, DIAG_NO_DEVICE, "10.0.0.1:3260", "7_receives");
	end();
	begin();
	target.peer.limit.recv = 8;
	cr_assert_lt(attach("/0"), 0);
	diag_says(&why, DIAG_NO_DEVICE, "10.0.0.1:3260", "8_receives");
	end();
}

Test(iser_ini, the_window_holds)
{
	begin();
	window = 2;
	up("/0");
	work();
	down();
}

static struct conn *held_by;
static struct iscsi_scsi_cmd held_cmd[8];
static struct iser_hdr held_hdr[8];
static unsigned held, hold;

static bool is_rw(const struct iscsi_scsi_cmd *cmd)
{
	return ISCSI_OPCODE(cmd->opcode) == ISCSI_SCSI_CMD &&
	       (cmd->cdb[0] == 0x28 || cmd->cdb[0] == 0x2a);
}

static bool keep(struct conn *conn, const struct iser_hdr *hdr, struct iscsi_scsi_cmd *cmd)
{
	if (!is_rw(cmd) || held >= hold)
		return true;
	held_by = conn;
	held_hdr[held] = *hdr;
	held_cmd[held++] = *cmd;
	return false;
}

static void keep_next(unsigned count)
{
	script = keep;
	held = 0;
	hold = count;
}

static bool reachable_when_done;

static void done_after_close(struct io *io)
{
	reachable_when_done = held_by->ep->state != EP_DOWN;
	done(io);
}

/* Its key is the pool's, which only the end of the connection takes from the target. */
Test(iser_ini, the_memory_of_an_overdue_command_is_invalidated_before_its_end)
{
	begin();
	up("/0");
	keep_next(1);
	submit(0, IO_READ, 0, 512);
	request_of[0].io.done = done_after_close;
	pass(5);
	cr_assert_eq(held, 1);
	cr_assert_eq(held_by->ep->state, EP_UP);
	reachable_when_done = true;
	turns_until(1);
	cr_assert_eq(aborts, 0, "an answer to an abort would prove nothing");
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	cr_assert_not(reachable_when_done);
	pass(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_TIMEOUT, "10.0.0.1:3260", "read time");
	down();
}

static uint32_t exp_statsn; /* of the last command */

static bool note_exp_statsn(
	struct conn *conn, const struct iser_hdr *hdr, struct iscsi_scsi_cmd *cmd)
{
	(void)conn, (void)hdr;
	exp_statsn = get_be32(cmd->exp_statsn);
	return true;
}

/* Linux 6.12 over iSER. What was acknowledged stays so. */
Test(iser_ini, status_numbers_out_of_order)
{
	struct pdu pdu;

	begin();
	up("/0");
	keep_next(2);
	finished = 0;
	submit(0, IO_READ, 0, 512);
	submit(1, IO_READ, 512, 512);
	pass(5);
	cr_assert_eq(held, 2);
	execute(held_by, &held_hdr[0], &held_cmd[0], &pdu);
	held_by->statsn++;
	cr_assert(give(held_by, &pdu, 0));
	execute(held_by, &held_hdr[1], &held_cmd[1], &pdu);
	held_by->statsn -= 2;
	cr_assert(give(held_by, &pdu, 0));
	held_by->statsn++;
	turns_until(2);
	cr_assert_eq(request_of[0].io.status, 0);
	cr_assert_eq(request_of[1].io.status, 0);
	script = note_exp_statsn;
	cr_assert_eq(one(IO_WRITE, 512), 0);
	cr_assert_eq(exp_statsn, held_by->statsn - 1);
	cr_assert_eq(lane->state, LANE_UP);
	down();
}

static void ends(const char *words)
{
	turns_until(1);
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	pass(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", words);
	down();
}

static void read_held(void)
{
	begin();
	up("/0");
	keep_next(1);
	finished = 0;
	submit(0, IO_READ, 0, 512);
	pass(5);
	cr_assert_eq(held, 1);
}

/* RFC 7143, 4.2.2.2: no more apart than 2^31 - 1. */
Test(iser_ini, a_status_number_far_ahead)
{
	struct pdu pdu;

	read_held();
	held_by->statsn += 65537;
	execute(held_by, &held_hdr[0], &held_cmd[0], &pdu);
	give(held_by, &pdu, 0);
	ends("status numbers out_of_order");
}

static void submit_next(struct io *io)
{
	done(io);
	submit(1, IO_READ, 0, 512);
}

/* The next one's tag can be guessed, but it has not left yet. */
Test(iser_ini, an_answer_to_a_command_that_has_not_left)
{
	struct pdu pdu;

	begin();
	up("/0?depth=1");
	keep_next(1);
	finished = 0;
	submit(0, IO_READ, 0, 512);
	request_of[0].io.done = submit_next;
	pass(5);
	cr_assert_eq(held, 1);
	execute(held_by, &held_hdr[0], &held_cmd[0], &pdu);
	cr_assert(give(held_by, &pdu, 0));
	pdu.rsp.itt = put_be32(get_be32(held_cmd[0].itt) + 0x10000);
	cr_assert(give(held_by, &pdu, 0));
	turns_until(2);
	cr_assert_eq(request_of[0].io.status, 0);
	cr_assert_eq(request_of[1].io.status, -ENOTCONN);
	pass(1);
	diag_says(&lane->why, DIAG_PROTOCOL, "10.0.0.1:3260", "response in_flight");
	down();
}

Test(iser_ini, an_answer_twice)
{
	struct pdu pdu;

	read_held();
	pdu = make(ISCSI_SCSI_RSP, get_be32(held_cmd[0].itt) + 0x10000);
	give(held_by, &pdu, 0);
	ends("response in_flight");
}

Test(iser_ini, pdus_that_only_tcp_has)
{
	static const uint8_t types[] = { ISCSI_DATA_IN, ISCSI_R2T, ISCSI_TASK_RSP, ISCSI_LOGIN_RSP,
		ISCSI_TEXT_RSP, ISCSI_SCSI_CMD };

	for (unsigned i = 0; i < sizeof(types); i++) {
		struct pdu pdu;

		read_held();
		pdu = make(types[i], get_be32(held_cmd[0].itt));
		give(held_by, &pdu, 0);
		ends("type asked");
	}
}

Test(iser_ini, a_login_response_longer_than_its_message)
{
	begin();
	withheld = 1;
	cr_assert_eq(attach("/0"), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, "10.0.0.1:3260", "data segment message again");
	end();
}

Test(iser_ini, messages_that_are_no_pdu)
{
	struct pdu pdu;

	read_held();
	pdu = make(ISCSI_NOP_IN, ISCSI_NO_TAG);
	ep_pair_deliver(held_by->ep, &pdu, HEADS - 1);
	ends("message header");

	read_held();
	pdu.hdr.flags = 0x20;
	ep_pair_deliver(held_by->ep, &pdu, HEADS);
	ends("message header");

	read_held();
	pdu = make(ISCSI_NOP_IN, ISCSI_NO_TAG);
	pdu.bhs.data_len = put_be24(1);
	ep_pair_deliver(held_by->ep, &pdu, HEADS);
	ends("data segment message");

	read_held();
	pdu.bhs.data_len = put_be24(513);
	ep_pair_deliver(held_by->ep, &pdu, HEADS + 513);
	ends("data segment limit");

	read_held();
	pdu.bhs.data_len = put_be24(0);
	pdu.bhs.ahs_len = 1;
	ep_pair_deliver(held_by->ep, &pdu, HEADS + 4);
	ends("PDU");
}

Test(iser_ini, sense_that_is_not_there)
{
	struct pdu pdu;

	read_held();
	pdu = make(ISCSI_SCSI_RSP, get_be32(held_cmd[0].itt));
	pdu.rsp.status = 2;
	pdu.data[1] = 200;
	give(held_by, &pdu, 20);
	ends("sense");
}

Test(iser_ini, a_key_is_not_for_the_target_to_invalidate)
{
	struct pdu pdu;

	read_held();
	pdu = make(ISCSI_SCSI_RSP, get_be32(held_cmd[0].itt));
	ep_pair_deliver_inval(held_by->ep, &pdu, HEADS, get_be32(held_hdr[0].read_stag));
	ends("invalidated key");
}

Test(iser_ini, the_connection_is_cut)
{
	read_held();
	ep_pair_cut(held_by->ep);
	turns_until(1);
	cr_assert_eq(request_of[0].io.status, -ENOTCONN);
	pass(1);
	cr_assert_eq(lane->state, LANE_DOWN);
	down();
}

/* Right behind the last PDU of the login. */
static bool chatters;

static void chatty(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	struct conn *conn = conn_of;
	struct pdu pdu = make(ISCSI_NOP_IN, ISCSI_NO_TAG);
	bool full;

	while (conn->ep != ep)
		conn++;
	full = conn->full;
	message(peer, ep, bytes, len);
	if (full || !conn->full)
		return;
	pdu.nop.ttt = put_be32(5);
	give(conn, &pdu, 0);
	conn->statsn--; /* it is not numbered */
	chatters = true;
}

Test(iser_ini, a_target_that_speaks_at_once)
{
	begin();
	target.peer.message = chatty;
	chatters = false;
	up("/0");
	cr_assert(chatters);
	work();
	down();
}

static unsigned pongs;

static bool count_pongs(struct conn *conn, const struct iser_hdr *hdr, struct iscsi_scsi_cmd *cmd)
{
	const struct iscsi_nop *nop = (const void *)cmd;

	(void)conn, (void)hdr;
	if (ISCSI_OPCODE(cmd->opcode) == ISCSI_NOP_OUT && get_be32(cmd->itt) == ISCSI_NO_TAG)
		cr_assert_eq(get_be32(nop->ttt), pongs++);
	return true;
}

Test(iser_ini, pings_at_once_are_answered_one_by_one)
{
	struct pdu pdu = make(ISCSI_NOP_IN, ISCSI_NO_TAG);

	begin();
	up("/0");
	script = count_pongs;
	pongs = 0;
	for (unsigned i = 0; i < 3; i++) {
		pdu.nop.ttt = put_be32(i);
		give(&conn_of[1], &pdu, 0);
		conn_of[1].statsn--; /* it is not numbered */
	}
	pass(5);
	cr_assert_eq(pongs, 3);
	work();
	down();
}

Test(iser_ini, usage)
{
	static const struct {
		const char *uri, *words;
	} rows[] = {
		{ "iser:///iqn.x/0", "HOST/IQN" },
		{ "iser://10.0.0.1", "iser://HOST/IQN/LUN iser-discover" },
		{ "iser://10.0.0.1/a%20disk", "invalid 'a_disk' blanks" },
		{ "iser://10.0.0.1/iqn.x/z", "LUN 'z'" },
		{ "iser://10.0.0.1/iqn.x/0?rdma=x", "verbs,_iwarp_or_auto" },
		{ "iser://10.0.0.1/iqn.x/0?rdma=iwarp&dev=x", "dev" },
		{ "iser://10.0.0.1/iqn.x/0?hdr_digest=1", "hdr_digest" },
		{ "iser://10.0.0.1/iqn.x/0?data_digest=1", "data_digest" },
		{ "iser://10.0.0.1/iqn.x/0?iface=lo", "iface" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bdev_env env = { .initiator = "iqn.x:me" };

		begin();
		cr_assert_lt(host_attach(rows[i].uri, &env), 0, "%s", rows[i].uri);
		diag_says(&why, DIAG_USAGE, NULL, rows[i].words);
		end();
	}
}
