/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI targets over iSER that are right for a while and then lie, while a disk is opened and while
 * requests are out, on a clock that leaps: each request ends once, what is over has a reason, no
 * byte of a buffer that was given back is sent or changed, also by an answer that is late, and all
 * of it ends. A read or write succeeds only if the target has said so of this very command, with
 * the data of then; a PDU that breaks a rule ends the session; numbers and window are kept. The
 * target's disk is that of the SRP target. */
#include "../fake/srp_peer.h"
#include "bdev.h"
#include "leap.h"
#include "script.h"
#include "wire/iscsi.h"
#include "wire/iser.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM  65536
#define GUARD 64
#define EACH  (GUARD + ROOM + GUARD)
#define EDGE  0xee
#define TAKEN 0xdd /* what a buffer is filled with that is its owner's again */
#define HEADS 76
#define RECV  8192 /* of the target */
#define SENSE 512  /* longest data segment for the initiator: the least that may be */
#define LIMIT 3600000000000ull
#define CONNS 64
#define OUT   80

static const struct {
	uint8_t kind, flags;
	uint32_t off, len;
} what[] = {
	{ IO_READ, 0, 0, 4096 },
	{ IO_WRITE, 0, 4096, 4096 },
	{ IO_WRITE, IO_FUA, 65536, 65536 },
	{ IO_READ, 0, 8192, 65536 },
	{ IO_TRIM, IO_FUA, 8192, 8192 },
	{ IO_ZERO, 0, 0, 4096 },
	{ IO_FLUSH, 0, 0, 0 },
	{ IO_WRITE, 0, 131072, 512 },
	{ IO_READ, 0, 131072, 512 },
};
#define REQUESTS (sizeof(what) / sizeof(what[0]))

static struct request {
	struct io io;
	struct buf buf;
	uint64_t lower[16];
	int dones;
	/* of its last command: the target has said that all is well; has moved what it reads */
	bool granted, moved;
	uint8_t image[ROOM]; /* what it has moved */
} request[REQUESTS];

struct pdu {
	struct iser_hdr hdr;
	union {
		struct iscsi_bhs bhs;
		struct iscsi_scsi_rsp rsp;
		struct iscsi_login_rsp login;
		struct iscsi_nop nop;
		struct iscsi_async async;
	};
	uint8_t data[SENSE];
};

static struct srp_peer target; /* the disk, and the fabric */
static struct conn {
	struct ep *ep; /* NULL: gone */
	bool full, odd; /* odd: its login was not as it should be */
	uint32_t statsn, cmdsn;
	/* of the initiator, in the full feature phase, if the login was good */
	bool known;
	uint32_t exp_statsn, max_cmdsn; /* by what was sent to it */
	uint32_t settled, acked; /* the former: before the clock last went on; by the initiator */
	uint64_t said_ns;
	struct {
		uint32_t itt;
		struct request *of; /* NULL: none of ours */
	} out[OUT];
	unsigned outs;
	uint32_t answered, ping; /* task tags */
	bool pinged, broken;       /* by the target; nothing more comes */
	struct loop_work is_over;
	uint32_t late_len; /* 0: none */
	uint8_t late[HEADS + RECV];
} conn_of[CONNS];
static unsigned conns, done_count;
static uint32_t window, first_burst;
static bool immediate;
static uint8_t good; /* answers in the opening, in the upper bits: then to requests */
static struct script script;
static volatile int over;

/* ---- What the initiator may make of it. */

/* What it writes: never TAKEN. */
static const uint8_t *pattern(const struct request *r)
{
	static uint8_t bytes[ROOM + REQUESTS];

	for (unsigned i = 0; !bytes[1] && i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 191);
	return bytes + (r - request);
}

static struct request *find_request(const uint8_t *cdb)
{
	bool shorter = cdb[0] == 0x28 || cdb[0] == 0x2a, reads = cdb[0] == 0x28 || cdb[0] == 0x88;
	uint64_t lba = shorter ? wire_be(cdb + 2, 4) : wire_be(cdb + 2, 8);
	uint32_t blocks = (uint32_t)(shorter ? wire_be(cdb + 7, 2) : wire_be(cdb + 10, 4));

	if (!reads && cdb[0] != 0x2a && cdb[0] != 0x8a)
		return NULL;
	for (unsigned i = 0; i < REQUESTS; i++)
		if (what[i].kind == (reads ? IO_READ : IO_WRITE) && what[i].off == lba * 512 &&
			what[i].len == blocks * 512)
			return &request[i];
	abort();
}

static bool before(uint32_t a, uint32_t b) /* RFC 1982 */
{
	return a != b && b - a < UINT32_C(1) << 31;
}

static unsigned find_out(const struct conn *conn, uint32_t itt)
{
	unsigned i = 0;

	while (i < conn->outs && conn->out[i].itt != itt)
		i++;
	return i;
}

/* False: it has to end the session, or does so. */
static bool is_legal(const struct conn *conn, const struct pdu *pdu, uint32_t len)
{
	uint32_t data, itt;

	if (len < HEADS || ISER_OPCODE(pdu->hdr.flags) != ISER_CONTROL || pdu->bhs.ahs_len)
		return false;
	data = get_be24(pdu->bhs.data_len);
	itt = get_be32(pdu->bhs.itt);
	if (data > len - HEADS)
		return false;
	switch (ISCSI_OPCODE(pdu->bhs.opcode)) {
	case ISCSI_SCSI_RSP:
		return find_out(conn, itt) < conn->outs &&
		       (data < 2 || wire_be(pdu->data, 2) <= data - 2);
	case ISCSI_NOP_IN:
		return itt == ISCSI_NO_TAG || (conn->pinged && itt == conn->ping);
	default:
		return ISCSI_OPCODE(pdu->bhs.opcode) == ISCSI_ASYNC;
	}
}

static void settle(struct conn *conn)
{
	if (leap_now != conn->said_ns)
		conn->settled = conn->exp_statsn;
	conn->said_ns = leap_now;
}

/* The initiator has seen what breaks a rule. */
static void is_over(struct loop_work *work)
{
	if (container_of(work, struct conn, is_over)->ep)
		abort();
}

/* The target has sent it. */
static void note(struct conn *conn, const struct pdu *pdu, uint32_t len, bool invalidates)
{
	uint32_t itt = get_be32(pdu->bhs.itt), statsn = get_be32(pdu->rsp.statsn),
		 exp = get_be32(pdu->rsp.exp_cmdsn), max = get_be32(pdu->rsp.max_cmdsn);
	unsigned i = find_out(conn, itt);

	if (invalidates || !is_legal(conn, pdu, len)) {
		conn->broken = true;
		conn->is_over.run = is_over;
		loop_work_add(conn->ep->loop, &conn->is_over);
		return;
	}
	settle(conn);
	if ((ISCSI_OPCODE(pdu->bhs.opcode) != ISCSI_NOP_IN || itt != ISCSI_NO_TAG) &&
		!before(statsn, conn->exp_statsn))
		conn->exp_statsn = statsn + 1;
	if (!before(max, exp - 1) && before(conn->max_cmdsn, max))
		conn->max_cmdsn = max;
	if (ISCSI_OPCODE(pdu->bhs.opcode) == ISCSI_NOP_IN && itt != ISCSI_NO_TAG)
		conn->pinged = false;
	if (ISCSI_OPCODE(pdu->bhs.opcode) != ISCSI_SCSI_RSP)
		return;
	if (conn->out[i].of)
		conn->out[i].of->granted =
			!pdu->rsp.response && !pdu->rsp.status &&
			!(pdu->rsp.flags & ISCSI_OVERFLOW) &&
			!(pdu->rsp.flags & ISCSI_UNDERFLOW && get_be32(pdu->rsp.residual));
	conn->answered = itt;
	conn->out[i] = conn->out[--conn->outs];
}

/* The initiator has sent it, and knows what was sent to it before the clock last went on. */
static void judge(struct conn *conn, const struct iscsi_scsi_cmd *cmd)
{
	uint32_t itt = get_be32(cmd->itt), exp = get_be32(cmd->exp_statsn);
	uint32_t now = get_be24(cmd->data_len);

	settle(conn);
	if (before(conn->exp_statsn, exp) || before(exp, conn->settled) ||
		before(exp, conn->acked))
		abort();
	conn->acked = exp;
	if (!(cmd->opcode & ISCSI_IMMEDIATE) && before(conn->max_cmdsn, get_be32(cmd->cmdsn)))
		abort();
	if (ISCSI_OPCODE(cmd->opcode) == ISCSI_NOP_OUT && itt != ISCSI_NO_TAG) {
		conn->pinged = true;
		conn->ping = itt;
	}
	if (ISCSI_OPCODE(cmd->opcode) != ISCSI_SCSI_CMD)
		return;
	if (now > first_burst || (now && !immediate) || find_out(conn, itt) < conn->outs ||
		conn->outs == OUT)
		abort();
	conn->out[conn->outs].itt = itt;
	conn->out[conn->outs].of = find_request(cmd->cdb);
	if (conn->out[conn->outs].of)
		conn->out[conn->outs].of->granted = conn->out[conn->outs].of->moved = false;
	conn->outs++;
}

/* ---- What the target sends. */

static struct pdu make(uint8_t opcode, uint32_t itt)
{
	struct pdu pdu = { .hdr.flags = ISER_CONTROL };

	pdu.rsp = (struct iscsi_scsi_rsp){
		.opcode = opcode, .flags = ISCSI_FINAL, .itt = put_be32(itt)
	};
	return pdu;
}

/* With the next status number, and the window; its length. */
static uint32_t finish(struct conn *conn, struct pdu *pdu, uint32_t len)
{
	pdu->rsp.statsn = put_be32(conn->statsn++);
	pdu->rsp.exp_cmdsn = put_be32(conn->cmdsn);
	pdu->rsp.max_cmdsn = put_be32(conn->cmdsn + window - 1);
	pdu->bhs.data_len = put_be24(len);
	return HEADS + len;
}

static uint32_t log_in(struct conn *conn, const struct iscsi_login_req *req, struct pdu *pdu)
{
	int len;

	*pdu = make(ISCSI_LOGIN_RSP, get_be32(req->itt));
	pdu->login.flags = req->flags;
	pdu->login.tsih = put_be16(1);
	memcpy(pdu->login.isid, req->isid, sizeof(req->isid));
	conn->cmdsn = get_be32(req->cmdsn);
	if (ISCSI_CSG(req->flags) == ISCSI_STAGE_SECURITY) {
		len = sprintf((char *)pdu->data, "AuthMethod=None") + 1;
	} else { /* each key ends with a zero */
		len = sprintf((char *)pdu->data,
			"HeaderDigest=None,DataDigest=None,RDMAExtensions=Yes,"
			"InitiatorRecvDataSegmentLength=%u,TargetRecvDataSegmentLength=%u,"
			"ImmediateData=%s,InitialR2T=No,MaxBurstLength=1048576,"
			"FirstBurstLength=%u,DefaultTime2Wait=0,DefaultTime2Retain=0,"
			"ErrorRecoveryLevel=0,MaxConnections=1,MaxOutstandingR2T=1,"
			"DataPDUInOrder=Yes,DataSequenceInOrder=Yes,",
			SENSE, RECV, immediate ? "Yes" : "No", first_burst);
		for (char *p = (char *)pdu->data; (p = strchr(p, ',')); p++)
			*p = 0;
	}
	conn->full = req->flags & ISCSI_FINAL && ISCSI_NSG(req->flags) == ISCSI_STAGE_FULL;
	return finish(conn, pdu, (uint32_t)len);
}

static void moved(struct request *r)
{
	const uint8_t *at = r ? target.disk + r->io.off : NULL;

	if (!r)
		return;
	if (r->io.kind == IO_WRITE && memcmp(at, pattern(r), r->io.len) != 0)
		abort();
	memcpy(r->image, at, r->io.len);
	r->moved = true;
}

/* The response that is due, which the disk gives as SRP's. */
static uint32_t execute(struct conn *conn, const struct iser_hdr *hdr,
	const struct iscsi_scsi_cmd *cmd, struct pdu *pdu)
{
	static uint8_t srp[64 + (2u << 20)];
	struct srp_cmd *as = (void *)srp;
	uint32_t len = get_be32(cmd->expected), now = get_be24(cmd->data_len), size = 64;
	struct srp_direct *desc = (void *)(as + 1);
	uint8_t out[96];
	const struct srp_rsp *rsp = (const void *)out;

	memset(srp, 0, 64);
	as->opcode = SRP_CMD;
	memcpy(as->lun, cmd->lun, sizeof(as->lun));
	memcpy(as->cdb, cmd->cdb, sizeof(as->cdb));
	if (cmd->flags & ISCSI_CMD_WRITE) {
		be32 imm = put_be32(len);

		if (now > len || len > 2u << 20)
			abort();
		as->format = SRP_IMM << 4;
		memcpy(desc, &imm, sizeof(imm));
		memcpy(srp + 64, cmd + 1, now);
		if (len > now) {
			const void *rest = ep_pair_memory(conn->ep, get_be32(hdr->write_stag),
				get_be64(hdr->write_base), len - now, EP_REMOTE_READ);

			if (!(hdr->flags & ISER_WRITE_STAG) || !rest)
				abort();
			memcpy(srp + 64 + now, rest, len - now);
		}
		size += len;
	} else if (cmd->flags & ISCSI_CMD_READ) {
		if (!(hdr->flags & ISER_READ_STAG) || now)
			abort();
		as->format = SRP_DIRECT;
		desc->va = hdr->read_base;
		desc->key = hdr->read_stag;
		desc->len = cmd->expected;
	}
	srp_peer_do(&target, conn->ep, as, size, out);
	if (!rsp->status && !rsp->flags)
		moved(find_request(cmd->cdb));
	*pdu = make(ISCSI_SCSI_RSP, get_be32(cmd->itt));
	pdu->rsp.status = rsp->status;
	if (rsp->flags & (SRP_RSP_IN_UNDER | SRP_RSP_OUT_UNDER)) {
		pdu->rsp.flags |= ISCSI_UNDERFLOW;
		pdu->rsp.residual =
			cmd->flags & ISCSI_CMD_WRITE ? rsp->out_residual : rsp->in_residual;
	}
	if (rsp->status != 2)
		return finish(conn, pdu, 0);
	pdu->data[1] = SRP_SENSED;
	memcpy(pdu->data + 2, rsp + 1, SRP_SENSED);
	return finish(conn, pdu, 2 + SRP_SENSED);
}

/* 0: nothing is due. */
static uint32_t answer(struct conn *conn, const struct iser_hdr *hdr,
	const struct iscsi_scsi_cmd *cmd, struct pdu *pdu)
{
	uint32_t itt = get_be32(cmd->itt);

	switch (ISCSI_OPCODE(cmd->opcode)) {
	case ISCSI_LOGIN_REQ:
		return log_in(conn, (const void *)cmd, pdu);
	case ISCSI_SCSI_CMD:
		return execute(conn, hdr, cmd, pdu);
	case ISCSI_NOP_OUT:
		*pdu = make(ISCSI_NOP_IN, itt);
		pdu->nop.ttt = put_be32(ISCSI_NO_TAG);
		return itt == ISCSI_NO_TAG ? 0 : finish(conn, pdu, 0);
	case ISCSI_TASK_REQ:
		*pdu = make(ISCSI_TASK_RSP, itt);
		return finish(conn, pdu, 0);
	case ISCSI_LOGOUT_REQ:
		*pdu = make(ISCSI_LOGOUT_RSP, itt);
		return finish(conn, pdu, 0);
	default:
		abort();
	}
}

/* A response to this very command, or to an earlier one, with one flaw. */
static uint32_t flawed(struct conn *conn, struct pdu *pdu, uint32_t itt, unsigned flaw)
{
	uint16_t value = script_u16(&script);
	uint32_t len = flaw == 3 ? 2u + value % 32 : 0;

	*pdu = make(ISCSI_SCSI_RSP, flaw == 5 ? conn->answered : itt);
	if (flaw < 2)
		pdu->rsp.flags |= flaw ? ISCSI_OVERFLOW : ISCSI_UNDERFLOW;
	if (flaw == 2)
		pdu->rsp.response = (uint8_t)(value | 1);
	if (flaw == 3) /* sense data beyond the segment */
		wire_put_be(pdu->data, 2, len - 1 + value / 32);
	pdu->rsp.residual = put_be32(value);
	len = finish(conn, pdu, len);
	if (flaw == 4) /* no such data segment is in the message */
		pdu->bhs.data_len = put_be24(1 + value);
	if (flaw == 6)
		pdu->rsp.statsn = put_be32(conn->statsn - value % 8);
	if (flaw == 7)
		pdu->rsp.max_cmdsn = put_be32(conn->cmdsn - value % 8);
	return len;
}

/* Numbers that are right, and fields of the input's choice. */
static uint32_t made(struct conn *conn, struct pdu *pdu, uint32_t itt)
{
	static const uint8_t opcodes[] = { ISCSI_NOP_IN, ISCSI_SCSI_RSP, ISCSI_SCSI_RSP,
		ISCSI_TASK_RSP, ISCSI_DATA_IN, ISCSI_R2T, ISCSI_ASYNC, ISCSI_REJECT,
		ISCSI_LOGOUT_RSP, ISCSI_TEXT_RSP, ISCSI_LOGIN_RSP };
	uint8_t kind = script_byte(&script), how = script_byte(&script);
	uint8_t opcode = opcodes[kind / 2 % sizeof(opcodes)];
	uint32_t len = how & 1 ? script_u16(&script) % (SENSE + 1) : 0;

	if (kind & 1)
		return flawed(conn, pdu, itt, how & 7);
	*pdu = make(opcode, how & 2 ? itt : ISCSI_NO_TAG);
	pdu->rsp.flags |= how >> 3 & (ISCSI_UNDERFLOW | ISCSI_OVERFLOW);
	pdu->rsp.status = how & 64 ? script_byte(&script) : 0;
	pdu->rsp.residual = put_be32(how & 32 ? script_u16(&script) : 0);
	if (opcode == ISCSI_NOP_IN)
		pdu->nop.ttt = put_be32(how & 128 ? script_byte(&script) : ISCSI_NO_TAG);
	if (opcode == ISCSI_ASYNC)
		pdu->async.event = script_byte(&script);
	script_bytes(&script, pdu->data, how & 4 ? 32 : 0);
	return finish(conn, pdu, len);
}

static void deliver(struct conn *conn, const struct pdu *pdu, uint32_t len)
{
	if (len && conn->ep && !conn->broken && ep_pair_deliver(conn->ep, pdu, len) && conn->known)
		note(conn, pdu, len, false);
}

static void deliver_inval(struct conn *conn, const struct pdu *pdu, uint32_t len, uint32_t key)
{
	if (!conn->broken && ep_pair_deliver_inval(conn->ep, pdu, len, key) && conn->known)
		note(conn, pdu, len, true);
}

/* ---- What it does. */

static void answer_late(struct conn *conn)
{
	const struct iser_hdr *hdr = (const void *)conn->late;
	struct pdu pdu = { 0 };

	if (!conn->late_len)
		return;
	conn->late_len = 0;
	deliver(conn, &pdu, answer(conn, hdr, (const void *)(hdr + 1), &pdu));
}

static void message(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	static uint8_t copy[HEADS + RECV];
	const struct iser_hdr *hdr = (const void *)copy;
	const struct iscsi_scsi_cmd *cmd = (const void *)(copy + sizeof(*hdr));
	struct conn *conn = conn_of;
	struct pdu pdu = { 0 };
	enum script_step step;

	(void)peer;
	while (conn->ep != ep)
		if (++conn == conn_of + conns)
			abort();
	if (len < HEADS || len > sizeof(copy))
		abort();
	if (conn->broken)
		return;
	memcpy(copy, bytes, len);
	if (ISER_OPCODE(hdr->flags) != ISER_CONTROL || get_be24(cmd->data_len) != len - HEADS ||
		(conn->full && get_be32(cmd->cmdsn) != conn->cmdsn))
		abort();
	for (uint32_t i = HEADS; i < len && conn->full; i++)
		if (copy[i] == TAKEN)
			abort();
	if (conn->full && !conn->odd && !conn->known) {
		conn->known = true;
		conn->acked = conn->settled = conn->exp_statsn = conn->statsn;
		conn->max_cmdsn = conn->cmdsn + window - 1;
	}
	if (conn->known)
		judge(conn, cmd);
	conn->cmdsn += conn->full && !(cmd->opcode & ISCSI_IMMEDIATE);
	answer_late(conn);
	if (!conn->ep)
		return;
	step = script_next(&script);
	conn->odd |= !conn->full && step != SCRIPT_GOOD && step != SCRIPT_SILENT;
	switch (step) {
	case SCRIPT_GOOD:
		deliver(conn, &pdu, answer(conn, hdr, cmd, &pdu));
		break;
	case SCRIPT_SPOILED:
		len = answer(conn, hdr, cmd, &pdu);
		script_spoil(&script, (uint8_t *)&pdu, len);
		deliver(conn, &pdu, len);
		break;
	case SCRIPT_RAW:
		deliver(conn, &pdu, script_bytes(&script, (uint8_t *)&pdu, script_byte(&script)));
		break;
	case SCRIPT_SILENT: /* until the next */
		memcpy(conn->late, copy, len);
		conn->late_len = len;
		break;
	case SCRIPT_TWICE:
		len = answer(conn, hdr, cmd, &pdu);
		deliver(conn, &pdu, len);
		deliver(conn, &pdu, len);
		break;
	case SCRIPT_MADE:
		len = made(conn, &pdu, get_be32(cmd->itt));
		deliver(conn, &pdu, len);
		if (conn->ep && script_byte(&script) & 1)
			deliver(conn, &pdu, answer(conn, hdr, cmd, &pdu));
		break;
	case SCRIPT_HANG_UP:
		ep_pair_cut(ep);
		break;
	case SCRIPT_FILLED: /* or with a key invalidated */
		len = answer(conn, hdr, cmd, &pdu);
		if (len > HEADS)
			script_fill(&script, pdu.data, len - HEADS);
		else if (len && hdr->flags & (ISER_WRITE_STAG | ISER_READ_STAG))
			deliver_inval(conn, &pdu, len,
				get_be32(hdr->flags & ISER_READ_STAG ? hdr->read_stag
								     : hdr->write_stag));
		else
			deliver(conn, &pdu, len);
		break;
	}
}

static void request_came(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	if (len != sizeof(struct iser_private))
		abort();
	if (conns == CONNS) {
		ep_pair_reject(ep, 28, NULL, 0);
		return;
	}
	conn_of[conns++] = (struct conn){ .ep = ep, .statsn = 7 };
	ep_pair_accept(ep, priv, len);
}

static void gone(struct ep_peer *peer, struct ep *ep)
{
	(void)peer;
	for (unsigned i = 0; i < conns; i++)
		if (conn_of[i].ep == ep)
			conn_of[i].ep = NULL;
}

/* ---- The initiator. */

static void done(struct io *io)
{
	struct request *r = container_of(io, struct request, io);

	if (r->dones++ || io->status > 0)
		abort();
	if (!io->status && io->kind <= IO_WRITE && io->len && !r->granted)
		abort();
	if (!io->status && io->kind == IO_READ && r->moved &&
		memcmp(r->buf.p, r->image, io->len) != 0)
		abort();
	memset(r->buf.p, TAKEN, ROOM);
	over = ++done_count == REQUESTS;
}

static void wait_for(struct loop *loop)
{
	if (!loop_wait(loop, &over, loop_clock() + LIMIT))
		abort();
}

static void submit_all(struct lane *lane, struct pool *pool)
{
	over = 0;
	done_count = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *r = &request[i];

		r->dones = 0;
		r->granted = true; /* as far as is known */
		r->moved = false;
		r->buf = pool_buf(pool, i);
		memset(r->buf.p, EDGE, EACH);
		r->buf.p += GUARD;
		memcpy(r->buf.p, pattern(r), ROOM);
		r->io = (struct io){ .kind = what[i].kind,
			.flags = what[i].flags,
			.off = what[i].off,
			.len = what[i].len,
			.buf = what[i].kind <= IO_WRITE ? &r->buf : NULL,
			.done = done,
			.lower = r->lower };
		if (lane->bdev->lim.max[r->io.kind] < r->io.len)
			r->io.kind = IO_FLUSH, r->io.off = r->io.len = 0, r->io.flags = 0;
		bdev_submit(lane, &r->io);
	}
}

static void check_buffers(struct pool *pool)
{
	static uint8_t all[EACH];

	memset(all, EDGE, EACH);
	memset(all + GUARD, TAKEN, ROOM);
	for (unsigned i = 0; i < REQUESTS; i++)
		if (memcmp(pool_buf(pool, i).p, all, EACH) != 0)
			abort();
}

static void lane_changed(struct lane *lane)
{
	over = lane->state != LANE_OPENING;
}

static void disk_changed(struct bdev *disk)
{
	over = disk->state != BDEV_OPENING;
}

static void use_lane(struct loop *loop, struct bdev *disk)
{
	volatile int never = 0;
	struct pool *pool;
	struct lane *lane;

	over = 0;
	if (disk->ops->lane(&lane, disk, loop, NULL) || pool_new(&pool, EACH, REQUESTS, NULL))
		abort();
	lane->changed = lane_changed;
	over = lane->state != LANE_OPENING;
	wait_for(loop);
	if (lane->state == LANE_UP && !lane_map(lane, pool, NULL)) {
		script.good = good >> 5;
		submit_all(lane, pool);
		lane->changed = NULL;
		wait_for(loop);
		loop_wait(loop, &never, loop_clock() + 60000000000ull);
		check_buffers(pool);
		lane_unmap(lane, pool);
	}
	if (lane->state == LANE_DOWN && !lane->why.text[0])
		abort();
	lane->ops->free(lane);
	pool_free(pool);
}

static void run(void)
{
	static const struct bdev_env env = {
		.write = true, .timeout_ms = 60000, .initiator = "iqn.x:me"
	};
	static const char *const rests[] = { "/0", "", "/0?depth=1", "/0?depth=4" };
	uint8_t how = script_byte(&script);
	struct bdev *disk;
	struct loop *loop;
	struct uri uri;
	char text[100];

	snprintf(text, sizeof(text), "iser://10.0.0.1/iqn.x:t%s", rests[how & 3]);
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri, text, NULL))
		abort();
	srp_peer_init(&target, loop);
	target.it_iu = 64 + (2u << 20);
	target.peer.request = request_came;
	target.peer.message = message;
	target.peer.gone = gone;
	target.peer.late_sent = how & 4;
	target.old = how & 8;
	immediate = how & 16;
	window = how & 32 ? 2 : 64;
	target.peer.limit.sge = how & 64 ? 1 : 0;
	first_burst = how & 128 ? 2048 : 65536;
	conns = 0;
	good = script_byte(&script);
	script.good = good & 31;
	over = 0;
	if (bdev_start(&disk, loop, &uri, &env, disk_changed, NULL, NULL))
		abort();
	over = disk->state != BDEV_OPENING;
	wait_for(loop);
	if (disk->state == BDEV_DOWN && !(disk->why.text[0] && disk->why.err))
		abort();
	disk->changed = NULL;
	if (disk->state == BDEV_UP) {
		if (!disk->lim.max[IO_READ] || !disk->lim.depth || disk->lim.size % disk->lim.block)
			abort();
		if (disk->lim.block == 512 && disk->lim.max[IO_READ] >= ROOM &&
			disk->lim.size == SRP_DISK)
			use_lane(loop, disk);
	}
	disk->ops->free(disk);
	loop_free(loop);
	srp_peer_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	leap_now = 1000000000;
	script = (struct script){ .p = data, .end = data + size };
	if (size >= 2)
		run();
	return 0;
}
