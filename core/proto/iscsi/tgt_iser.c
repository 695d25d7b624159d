/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's sessions over iSER (RFC 7145 as in Linux: from the first login request on, no Hello
 * messages): each PDU is one SEND with an iSER header. Data of a write is immediate data, then RDMA
 * reads; data of a read is RDMA writes, followed by a SEND with the response. During the login
 * there is one receive, as login requests arrive one at a time. */
#include "target_rdma.h"
#include "tgt.h"
#include "wire/iser.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADS ((uint32_t)(sizeof(struct iser_hdr) + ISCSI_BHS))
#define EACH  (HEADS + ISCSI_PDU_DATA)
#define PAGE  4096u
/* of receives: immediate data is aligned for the disk */
#define STRIDE (PAGE + ISCSI_PDU_DATA)
#define REPLY  128

struct iser_cmd {
	struct iscsi_tgt_cmd cmd; /* first */
	struct xfer_seg from;     /* data to read */
	uint32_t inval;           /* STag; 0: none */
};

struct iser {
	struct iscsi_tgt_conn conn; /* first */
	struct pool *own;           /* the login's receive, answers, task management responses */
	bool own_known, invalidates;
};
_Static_assert(REPLY >= HEADS + sizeof(((struct iscsi_tgt_cmd *)NULL)->sense), "a response");

static struct iser *iser_of(const struct target_conn *conn)
{
	return (struct iser *)(uintptr_t)conn;
}

static struct iser_cmd *cmd_of(struct target_cmd *cmd)
{
	return (struct iser_cmd *)cmd;
}

/* ---- Sending. */

/* Write the PDU to p, with its data after the headers. Return the length of the message. */
static uint32_t write_pdu(uint8_t *p, const void *bhs, const void *data, uint32_t len)
{
	struct iser_hdr *hdr = (void *)p;
	struct iscsi_bhs *head = (void *)(p + sizeof(*hdr));

	*hdr = (struct iser_hdr){ .flags = ISER_CONTROL };
	memcpy(head, bhs, sizeof(*head));
	head->data_len = put_be24(len);
	if (len && data != p + HEADS)
		memcpy(p + HEADS, data, len);
	return HEADS + len;
}

static void send_pdu(struct iscsi_tgt_conn *conn, struct iscsi_tgt_pdu *pdu, const void *bhs,
	const void *data, uint32_t len)
{
	const struct ep *ep = conn->base.ep;
	uint32_t bytes = write_pdu(pdu->p, bhs, data, len);

	pdu->op = (struct ep_op){ .nsge = 1,
		.flags = ep->caps.inline_max >= bytes ? EP_INLINE : 0,
		.sge = { { pdu->p, bytes, iser_of(&conn->base)->own->key[ep->dom].lkey } } };
	ring_add(&conn->base.rdma.ring, &pdu->op);
	target_conn_wake(&conn->base);
}

static struct ep_op *make_reply(struct target_cmd *base)
{
	struct iser_cmd *cmd = cmd_of(base);
	struct iscsi_scsi_rsp rsp;
	uint32_t len = iscsi_tgt_make_response(&cmd->cmd, &rsp);

	len = write_pdu(target_rdma_reply_buf(base), &rsp, cmd->cmd.sense, len);
	return target_rdma_make_reply(base, len, cmd->inval ? EP_SEND_INVAL : EP_SEND, cmd->inval);
}

static void reply(struct target_cmd *base)
{
	ring_add(&base->conn->rdma.ring, make_reply(base));
}

/* ---- Data. */

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	target_rdma_push(base, len, last ? make_reply(base) : NULL);
}

/* Immediate data is the beginning of the first piece, which is longer; the STag is that of the
 * rest. */
static void pull(struct target_cmd *base, uint32_t len)
{
	struct iser_cmd *cmd = cmd_of(base);
	uint32_t immediate_len = base->at ? 0 : cmd->cmd.unsolicited_len;
	struct buf buf = { base->p + immediate_len, len - immediate_len, base->pool };

	if (immediate_len)
		memcpy(base->p, cmd->cmd.unsolicited_data, immediate_len);
	target_rdma_read(base, &buf, &cmd->from,
		base->at + immediate_len - cmd->cmd.unsolicited_len, len - immediate_len);
}

/* ---- Receiving. */

static void begin_command(struct iser *iser, struct ep_rx *rx)
{
	const struct iser_hdr *hdr = (const void *)rx->p;
	struct iser_cmd *cmd = (struct iser_cmd *)iser->conn.cmd;
	const struct scsi_cmd *scsi = &cmd->cmd.scsi;
	struct target_rdma_cmd *rdma = scsi->base.rdma;
	bool from = hdr->flags & ISER_WRITE_STAG, to = hdr->flags & ISER_READ_STAG;

	rdma->rx = rx;
	cmd->cmd.unsolicited_data = iser->conn.text;
	cmd->from = (struct xfer_seg){ get_be64(hdr->write_base), get_be32(hdr->write_stag),
		from && scsi->expected_out ? scsi->expected_out - cmd->cmd.unsolicited_len : 0 };
	rdma->one = (struct xfer_seg){ get_be64(hdr->read_base), get_be32(hdr->read_stag),
		to ? scsi->expected_in : 0 };
	cmd->inval = !iser->invalidates ? 0 : to ? rdma->one.rkey : from ? cmd->from.rkey : 0;
}

static void receive_pdu(struct iser *iser, struct ep_rx *rx)
{
	struct iscsi_tgt_conn *conn = &iser->conn;
	const struct iser_hdr *hdr = (const void *)rx->p;
	uint32_t head = HEADS;

	if (rx->len < HEADS || ISER_OPCODE(hdr->flags) != ISER_CONTROL) {
		iscsi_tgt_protocol_error(conn, "message that is not a PDU behind an iSER header");
		return;
	}
	memcpy(&conn->bhs, rx->p + sizeof(*hdr), sizeof(conn->bhs));
	head += conn->bhs.ahs_len * 4u;
	conn->len = get_be24(conn->bhs.data_len);
	conn->text = rx->p + head;
	if (conn->bhs.ahs_len &&
		(conn->login || ISCSI_OPCODE(conn->bhs.opcode) != ISCSI_SCSI_CMD)) {
		iscsi_tgt_protocol_error(conn, "additional header segment in a PDU that has none");
		return;
	}
	if (head > rx->len || conn->len > rx->len - head) {
		iscsi_tgt_protocol_error(conn, "PDU that is longer than its message");
		return;
	}
	if (!iscsi_tgt_begin_pdu(conn))
		return;
	if (conn->cmd)
		begin_command(iser, rx);
	iscsi_tgt_dispatch_pdu(conn);
	/* After the last login request the session posts its own receives. */
	if (!conn->cmd && !conn->login_pending)
		ring_repost(&conn->base.rdma.ring, rx);
}

/* For the initiator a command is over with its response, here with the `sent` of that. */
static bool can_receive(struct iser *iser, const struct ep_rx *rx)
{
	struct iscsi_tgt_conn *conn = &iser->conn;
	const struct iscsi_bhs *bhs = (const void *)(rx->p + sizeof(struct iser_hdr));

	return iscsi_tgt_can_receive(conn) &&
	       (conn->login || rx->len < HEADS || ISCSI_OPCODE(bhs->opcode) != ISCSI_SCSI_CMD ||
		       target_conn_can_alloc(&conn->base) || !conn->responses_in_flight);
}

static bool receive(struct target_conn *conn, struct ep_rx *rx)
{
	struct iser *iser = iser_of(conn);

	if (!can_receive(iser, rx))
		return false;
	receive_pdu(iser, rx);
	return true;
}

static void resume(struct target_conn *conn)
{
	target_rdma_resume(conn, receive);
}

static void resume_rx(struct iscsi_tgt_conn *conn)
{
	resume(&conn->base);
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	target_rdma_received(ep, rx, receive);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct iser *iser = ep->user;

	if (!xfer_sent(&iser->conn.base.rdma.port, op) &&
		!iscsi_tgt_pdu_sent(&iser->conn, container_of(op, struct iscsi_tgt_pdu, op)))
		iscsi_tgt_response_sent(&cmd_of(target_rdma_cmd_of(op))->cmd);
}

/* ---- The connection. */

/* The device is known: limit commands to its resources. */
static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct iser *iser = ep->user;
	struct iscsi_tgt_conn *conn = &iser->conn;
	struct iser_private rep = { .flags = ISER_NO_ZBVA |
					     (iser->invalidates ? 0 : ISER_NO_INVALIDATE) };
	unsigned reserved = ISCSI_TGT_ANSWERS + ISCSI_TGT_TASKS + 2 * ISCSI_TGT_IMMEDIATE;
	int err;

	conn->base.ep = ep;
	conn->depth = target_rdma_depth(ep, ISCSI_TGT_DEPTH, ISCSI_TGT_UNEXPECTED, reserved);
	if (!conn->depth)
		return -ENOSPC;
	err = iscsi_tgt_open(conn, ISCSI_PDU_DATA, &ep->why);
	if (!err)
		err = target_rdma_alloc(&conn->base, conn->depth + ISCSI_TGT_IMMEDIATE, &ep->why);
	if (!err)
		err = ep->ops->reg(ep, iser->own, EP_LOCAL, &ep->why);
	if (err)
		return err;
	iser->own_known = true;
	conn->login->keys.own[ISCSI_UNEXPECTED_PDUS] = ISCSI_TGT_UNEXPECTED;
	ring_start(&conn->base.rdma.ring, ep, iser->own, iser->own->base, EACH, EACH, 1);
	memcpy(priv, &rep, sizeof(rep));
	return sizeof(rep);
}

/* Post receives for all PDUs that the window allows, and for unexpected ones. */
static int enter_full_feature(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	const struct iscsi_keys *keys = &conn->login->keys;
	unsigned receives = ISCSI_TGT_UNEXPECTED + (conn->node ? conn->depth : 0);
	struct target_rdma_layout layout = { .receives_at = PAGE - HEADS,
		.stride = STRIDE,
		.receive = EACH,
		.count = receives,
		.replies_at = (size_t)receives * STRIDE,
		.reply = conn->node ? REPLY : 0 };
	int err;

	conn->max_send = keys->value[conn->node ? ISCSI_INITIATOR_RECV : ISCSI_MAX_RECV];
	err = pool_new(&conn->base.pool,
		(uint32_t)layout.replies_at + conn->base.slots * layout.reply, 1, diag);
	return err ? err : target_rdma_start(&conn->base, &layout, EP_LOCAL, diag);
}

static const struct ep_events events = { requested, target_rdma_up, received, sent,
	target_rdma_idle, target_rdma_down };

static void iser_free(struct target_conn *conn)
{
	struct iser *iser = iser_of(conn);

	if (iser->own_known)
		conn->ep->ops->unreg(conn->ep, iser->own);
	target_rdma_free(conn);
	iscsi_tgt_free(&iser->conn);
	if (iser->own)
		explicit_bzero(iser->own->base, iser->own->len); /* proofs of CHAP */
	pool_free(iser->own);
}

static int iser_open(struct target_conn *conn, struct diag *diag)
{
	struct iser *iser = iser_of(conn);
	unsigned slots = ISCSI_TGT_DEPTH + ISCSI_TGT_IMMEDIATE,
		 receives = ISCSI_TGT_DEPTH + ISCSI_TGT_UNEXPECTED;
	uint8_t *p;
	int err = pool_new(
		&iser->own, (1 + ISCSI_TGT_ANSWERS) * EACH + ISCSI_TGT_TASKS * REPLY, 1, diag);

	if (err)
		return target_rdma_reject(conn, err);
	p = iser->own->base + EACH;
	for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++, p += EACH) {
		iser->conn.answer[i].pdu.p = p;
		iser->conn.answer[i].data = p + HEADS;
	}
	for (unsigned i = 0; i < ISCSI_TGT_TASKS; i++, p += REPLY)
		iser->conn.task[i].rsp.p = p;
	return target_rdma_accept(conn, &events, 2 * slots + ISCSI_TGT_ANSWERS + ISCSI_TGT_TASKS,
		receives, REPLY, diag);
}

/* The last PDU may announce the end. */
static void iser_close(struct target_conn *conn)
{
	target_rdma_flush(conn);
	target_rdma_close(conn);
}

static const struct iscsi_tgt_carrier carrier = {
	.base = { .name = "iser",
		.cmd_size = sizeof(struct iser_cmd),
		.open = iser_open,
		.pull = pull,
		.push = push,
		.reply = reply,
		.forget = target_rdma_forget,
		.flush = target_rdma_flush,
		.resume = resume,
		.moved = target_rdma_progress,
		.hung_up = target_rdma_hung_up,
		.close = iser_close,
		.reset = target_rdma_reset,
		.free = iser_free },
	.transports = TRANSPORT_RDMA,
	.send = send_pdu,
	.enter_full_feature = enter_full_feature,
	.resume_rx = resume_rx,
};

void iscsi_tgt_iser_incoming(struct target *target, struct ep_incoming *incoming)
{
	const struct iser_private *req = (const void *)incoming->priv;
	struct iser *iser =
		target_make_room(target, &incoming->peer) ? calloc(1, sizeof(*iser)) : NULL;
	char text[ADDR_TEXT];

	if (!iser) {
		ep_reject(incoming, NULL, 0);
		return;
	}
	iser->conn.base.rdma.incoming = incoming;
	iser->invalidates =
		incoming->priv_len >= sizeof(*req) && !(req->flags & ISER_NO_INVALIDATE);
	iser->conn.base.local = incoming->local;
	snprintf(iser->conn.base.name, sizeof(iser->conn.base.name), "iser initiator %s",
		addr_text(&incoming->peer, text));
	target_conn_begin(target, &iser->conn.base, &carrier.base, &incoming->peer);
}
