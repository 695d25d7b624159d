/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* iSCSI targets over iSER that are right for a while and then lie, while a disk is opened and while
 * requests are out, also with late answers, on a clock that leaps: iscsi_ini.h has what holds all
 * the time. The target's disk is that of the SRP target. */
/* Link: leap */
#include "../fake/srp_peer.h"
#include "iscsi_ini.h"
#include "wire/iser.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADS 76
#define RECV  8192 /* of the target */
#define SENSE 512  /* longest data segment for the initiator: the least that may be */

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
	struct known known;
	struct ep *ep;  /* NULL: gone */
	bool full, odd; /* odd: its login was not as it should be */
	uint32_t statsn, cmdsn;
	uint32_t delayed_len; /* 0: none */
	uint8_t delayed[HEADS + RECV];
} conn_of[CONNS];
static unsigned conns;
static uint32_t window, first_burst;
static bool immediate;

static bool is_gone(struct known *known)
{
	return !container_of(known, struct conn, known)->ep;
}

/* The target moves all other data by itself. */
static bool is_legal_own(const struct known *known, const struct iscsi_bhs *bhs, uint32_t len)
{
	(void)known, (void)len;
	return ISCSI_OPCODE(bhs->opcode) == ISCSI_SCSI_RSP;
}

static void note_own(
	struct known *known, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)known, (void)bhs, (void)data, (void)len;
	abort();
}

static void note_message(struct conn *conn, const struct pdu *pdu, uint32_t len, bool invalidates)
{
	if (invalidates || len < HEADS || ISER_OPCODE(pdu->hdr.flags) != ISER_CONTROL ||
		pdu->bhs.ahs_len || get_be24(pdu->bhs.data_len) > len - HEADS)
		breach(&conn->known);
	else
		note(&conn->known, &pdu->bhs, pdu->data, get_be24(pdu->bhs.data_len));
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
	r->moved = r->io.len;
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

	*pdu = make(ISCSI_SCSI_RSP, flaw == 5 ? conn->known.answered : itt);
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
	if (len && conn->ep && !conn->known.broken && ep_pair_deliver(conn->ep, pdu, len) &&
		conn->known.loop)
		note_message(conn, pdu, len, false);
}

static void deliver_inval(struct conn *conn, const struct pdu *pdu, uint32_t len, uint32_t key)
{
	if (!conn->known.broken && ep_pair_deliver_inval(conn->ep, pdu, len, key) &&
		conn->known.loop)
		note_message(conn, pdu, len, true);
}

/* ---- What it does. */

static void answer_delayed(struct conn *conn)
{
	const struct iser_hdr *hdr = (const void *)conn->delayed;
	struct pdu pdu = { 0 };

	if (!conn->delayed_len)
		return;
	conn->delayed_len = 0;
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
	if (conn->known.broken)
		return;
	memcpy(copy, bytes, len);
	if (ISER_OPCODE(hdr->flags) != ISER_CONTROL || get_be24(cmd->data_len) != len - HEADS ||
		(conn->full && get_be32(cmd->cmdsn) != conn->cmdsn))
		abort();
	for (uint32_t i = HEADS; i < len && conn->full; i++)
		if (copy[i] == TAKEN)
			abort();
	if (conn->full && !conn->odd && !conn->known.loop)
		known_begin(&conn->known, ep->loop, conn->statsn, conn->cmdsn + window - 1);
	if (conn->known.loop)
		check_pdu(&conn->known, (const void *)cmd);
	conn->cmdsn += conn->full && !(cmd->opcode & ISCSI_IMMEDIATE);
	answer_delayed(conn);
	if (!conn->ep)
		return;
	step = script_next(&script);
	conn->odd |= !conn->full && step != SCRIPT_GOOD && step != SCRIPT_SILENT;
	switch (step) {
	case SCRIPT_GOOD:
		deliver(conn, &pdu, answer(conn, hdr, cmd, &pdu));
		break;
	case SCRIPT_CORRUPT:
		len = answer(conn, hdr, cmd, &pdu);
		script_spoil(&script, (uint8_t *)&pdu, len);
		deliver(conn, &pdu, len);
		break;
	case SCRIPT_RAW:
		deliver(conn, &pdu, script_bytes(&script, (uint8_t *)&pdu, script_byte(&script)));
		break;
	case SCRIPT_SILENT: /* until the next */
		memcpy(conn->delayed, copy, len);
		conn->delayed_len = len;
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

static void answer_request(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)peer;
	if (len != sizeof(struct iser_private))
		abort();
	if (conns == CONNS) {
		ep_pair_reject(ep, 28, NULL, 0);
		return;
	}
	conn_of[conns++] = (struct conn){ .ep = ep,
		.statsn = 7,
		.known.first_burst = first_burst,
		.known.immediate = immediate };
	ep_pair_accept(ep, priv, len);
}

static void gone(struct ep_peer *peer, struct ep *ep)
{
	(void)peer;
	for (unsigned i = 0; i < conns; i++)
		if (conn_of[i].ep == ep)
			conn_of[i].ep = NULL;
}

static void run(void)
{
	static const char *const rests[] = { "/0", "", "/0?depth=1", "/0?depth=4" };
	uint8_t how = script_byte(&script);
	struct loop *loop;
	char text[100];

	snprintf(text, sizeof(text), "iser://10.0.0.1/iqn.x:t%s", rests[how & 3]);
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	srp_peer_init(&target, loop);
	target.it_iu = 64 + (2u << 20);
	target.peer.request = answer_request;
	target.peer.message = message;
	target.peer.gone = gone;
	target.peer.delayed_sent = how & 4;
	target.old = how & 8;
	immediate = how & 16;
	window = how & 32 ? 2 : 64;
	target.peer.limit.sge = how & 64 ? 1 : 0;
	first_burst = how & 128 ? 2048 : 65536;
	conns = 0;
	use_disk(loop, text, SRP_DISK);
	loop_free(loop);
	srp_peer_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!used) {
		leap_now = 1000000000;
		script = (struct script){ script_right, script_right + sizeof(script_right), 0 };
		run();
		assert(used);
	}
	leap_now = 1000000000;
	script = (struct script){ .p = data, .end = data + size };
	if (size >= 2)
		run();
	return 0;
}
