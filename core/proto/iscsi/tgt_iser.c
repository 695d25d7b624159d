/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's sessions over iSER (RFC 7145 as in Linux: from the first login request on, no Hello
 * messages): each PDU is one SEND with an iSER header. Data of a write is immediate data, then RDMA
 * reads; data of a read is RDMA writes, followed by a SEND with the response. A receive is posted
 * again before the response to its command is sent. During the login there is one receive, as login
 * requests arrive one at a time. */
#include "tgt.h"
#include "wire/iser.h"
#include "xfer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADS ((uint32_t)(sizeof(struct iser_hdr) + ISCSI_BHS))
#define EACH  (HEADS + ISCSI_PDU_DATA)
#define PAGE  4096u
/* of receives: immediate data is aligned for the disk */
#define STRIDE (PAGE + ISCSI_PDU_DATA)
#define REPLY  128
#define READS  16 /* RDMA reads in flight of a connection */

struct iser_cmd {
	struct iscsi_tgt_cmd cmd; /* first */
	struct xfer xfer;
	struct ep_op reply;
	struct ep_rx *rx;         /* its PDU, until the reply */
	struct xfer_seg from, to; /* data to read, room for data */
	uint32_t inval;           /* 0: nothing */
};

struct iser {
	struct iscsi_tgt_conn conn; /* first */
	struct ep_incoming *incoming;
	struct ring ring;
	struct xfer_port port;
	struct ep_rx *backlog, **backlog_end; /* waits for a free answer or a `sent` */
	struct pool *own;  /* the login's receive, answers, task management responses */
	size_t replies_at; /* offset in the connection's pool, after the receives */
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

/* Make the PDU at p, with its data after the headers. */
static struct ep_op send_of(const struct iser *iser, const struct pool *pool, uint8_t *p,
	const void *bhs, const void *data, uint32_t len)
{
	struct iser_hdr *hdr = (void *)p;
	struct iscsi_bhs *head = (void *)(p + sizeof(*hdr));

	*hdr = (struct iser_hdr){ .flags = ISER_CONTROL };
	memcpy(head, bhs, sizeof(*head));
	head->data_len = put_be24(len);
	if (len && data != p + HEADS)
		memcpy(p + HEADS, data, len);
	return (struct ep_op){ .nsge = 1,
		.flags = iser->conn.base.ep->caps.inline_max >= HEADS + len ? EP_INLINE : 0,
		.sge = { { p, HEADS + len, pool->key[iser->conn.base.ep->dom].lkey } } };
}

static void send_pdu(struct iscsi_tgt_conn *conn, struct iscsi_tgt_pdu *pdu, const void *bhs,
	const void *data, uint32_t len)
{
	struct iser *iser = iser_of(&conn->base);

	pdu->op = send_of(iser, iser->own, pdu->p, bhs, data, len);
	ring_add(&iser->ring, &pdu->op);
	target_conn_wake(&conn->base);
}

static void forget(struct target_cmd *base)
{
	struct iser_cmd *cmd = cmd_of(base);

	if (cmd->rx)
		ring_repost(&iser_of(base->conn)->ring, cmd->rx);
	cmd->rx = NULL;
}

static struct ep_op *make_reply(struct target_cmd *base)
{
	struct iser *iser = iser_of(base->conn);
	struct iser_cmd *cmd = cmd_of(base);
	struct iscsi_scsi_rsp rsp;
	uint32_t len = iscsi_tgt_make_response(&cmd->cmd, &rsp);

	cmd->reply = send_of(iser, base->conn->pool,
		base->conn->pool->base + iser->replies_at + (size_t)target_cmd_index(base) * REPLY,
		&rsp, cmd->cmd.sense, len);
	if (cmd->inval) {
		cmd->reply.kind = EP_SEND_INVAL;
		cmd->reply.rkey = cmd->inval;
	}
	forget(base);
	return &cmd->reply;
}

static void reply(struct target_cmd *base)
{
	ring_add(&iser_of(base->conn)->ring, make_reply(base));
}

/* ---- Data. */

static void too_short(struct target_cmd *base)
{
	iscsi_tgt_protocol_error(
		&iser_of(base->conn)->conn, "command without an STag for all of its data");
}

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	struct iser_cmd *cmd = cmd_of(base);
	struct ep_op *behind = last ? make_reply(base) : NULL;
	struct buf buf = { base->p, len, base->pool };

	if (!xfer_push(&iser_of(base->conn)->port, &cmd->xfer, &buf, &cmd->to, 1, base->at, len,
		    behind))
		too_short(base);
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
	if (!xfer_pull(&iser_of(base->conn)->port, &cmd->xfer, &buf, &cmd->from, 1,
		    base->at + immediate_len - cmd->cmd.unsolicited_len, len - immediate_len))
		too_short(base);
}

static void moved(struct xfer *x)
{
	struct target_cmd *base = &container_of(x, struct iser_cmd, xfer)->cmd.scsi.base;

	base->conn->ep_moved += base->piece;
	if (base->state == TARGET_CMD_PULL)
		target_cmd_pulled(base, SCSI_GOOD);
	else if (base->state == TARGET_CMD_PUSH)
		target_cmd_pushed(base);
}

/* ---- Receiving. */

static void begin_command(struct iser *iser, struct ep_rx *rx)
{
	const struct iser_hdr *hdr = (const void *)rx->p;
	struct iser_cmd *cmd = (struct iser_cmd *)iser->conn.cmd;
	const struct scsi_cmd *scsi = &cmd->cmd.scsi;
	bool from = hdr->flags & ISER_WRITE_STAG, to = hdr->flags & ISER_READ_STAG;

	cmd->rx = rx;
	cmd->cmd.unsolicited_data = iser->conn.text;
	cmd->xfer.moved = moved;
	cmd->from = (struct xfer_seg){ get_be64(hdr->write_base), get_be32(hdr->write_stag),
		from && scsi->expected_out ? scsi->expected_out - cmd->cmd.unsolicited_len : 0 };
	cmd->to = (struct xfer_seg){ get_be64(hdr->read_base), get_be32(hdr->read_stag),
		to ? scsi->expected_in : 0 };
	cmd->inval = !iser->invalidates ? 0 : to ? cmd->to.rkey : from ? cmd->from.rkey : 0;
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
		ring_repost(&iser->ring, rx);
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

static void receive_backlog(struct iser *iser)
{
	while (iser->backlog && can_receive(iser, iser->backlog)) {
		struct ep_rx *rx = iser->backlog;

		iser->backlog = rx->next;
		if (!iser->backlog)
			iser->backlog_end = &iser->backlog;
		receive_pdu(iser, rx);
	}
}

static void resume_rx(struct iscsi_tgt_conn *conn)
{
	receive_backlog(iser_of(&conn->base));
}

static void resume(struct target_conn *conn)
{
	receive_backlog(iser_of(conn));
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct iser *iser = ep->user;

	if (rx->invalidated) {
		iscsi_tgt_protocol_error(
			&iser->conn, "an STag was invalidated that was not offered");
		return;
	}
	rx->next = NULL;
	*iser->backlog_end = rx;
	iser->backlog_end = &rx->next;
	receive_backlog(iser);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct iser *iser = ep->user;

	if (!xfer_sent(&iser->port, op) &&
		!iscsi_tgt_pdu_sent(&iser->conn, container_of(op, struct iscsi_tgt_pdu, op)))
		iscsi_tgt_response_sent(&container_of(op, struct iser_cmd, reply)->cmd);
}

static void flush(struct target_conn *conn)
{
	ring_flush(&iser_of(conn)->ring);
}

static void idle(struct ep *ep)
{
	struct iser *iser = ep->user;

	if (!target_conn_is_closing(&iser->conn.base))
		ring_flush(&iser->ring);
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
	conn->depth = ISCSI_TGT_DEPTH;
	if (ep->caps.send < reserved + 2 * conn->depth)
		conn->depth = ep->caps.send < reserved ? 0 : (ep->caps.send - reserved) / 2;
	if (ep->caps.recv < ISCSI_TGT_UNEXPECTED + conn->depth)
		conn->depth = ep->caps.recv < ISCSI_TGT_UNEXPECTED
				      ? 0
				      : ep->caps.recv - ISCSI_TGT_UNEXPECTED;
	if (!conn->depth || !ep->caps.ord || !ep->caps.read_sge)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device supports only %u receives, %u requests and %u reads per "
			"connection",
			ep->caps.recv, ep->caps.send, ep->caps.ord);
	err = iscsi_tgt_open(conn, ISCSI_PDU_DATA, &ep->why);
	if (!err)
		err = target_conn_alloc_cmds(
			&conn->base, conn->depth + ISCSI_TGT_IMMEDIATE, &ep->why);
	if (!err)
		err = xfer_port_init(&iser->port, &iser->ring, conn->base.slots, &ep->why);
	if (!err)
		err = ep->ops->reg(ep, iser->own, EP_LOCAL, &ep->why);
	if (err)
		return err;
	iser->own_known = true;
	conn->login->keys.own[ISCSI_UNEXPECTED_PDUS] = ISCSI_TGT_UNEXPECTED;
	ring_start(&iser->ring, ep, iser->own, iser->own->base, EACH, EACH, 1);
	memcpy(priv, &rep, sizeof(rep));
	return sizeof(rep);
}

/* Post receives for all PDUs that the window allows, and for unexpected ones. */
static int enter_full_feature(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	const struct iscsi_keys *keys = &conn->login->keys;
	struct iser *iser = iser_of(&conn->base);
	struct ep *ep = conn->base.ep;
	unsigned receives = ISCSI_TGT_UNEXPECTED + (conn->node ? conn->depth : 0);
	int err;

	conn->max_send = keys->value[conn->node ? ISCSI_INITIATOR_RECV : ISCSI_MAX_RECV];
	iser->replies_at = (size_t)receives * STRIDE;
	err = pool_new(&conn->base.pool,
		(uint32_t)iser->replies_at + (conn->node ? conn->base.slots * REPLY : 0), 1, diag);
	if (!err)
		err = target_ep_reg(&conn->base, EP_LOCAL, diag);
	if (!err)
		ring_start(&iser->ring, ep, conn->base.pool, conn->base.pool->base + PAGE - HEADS,
			STRIDE, EACH, receives);
	return err;
}

static void up(struct ep *ep)
{
	loop_trace(ep->loop, "%s: %s", ((struct iser *)ep->user)->conn.base.name, ep->route);
}

static const struct ep_events events = { requested, up, received, sent, idle, target_ep_down };

static void iser_free(struct target_conn *conn)
{
	struct iser *iser = iser_of(conn);

	if (iser->own_known)
		conn->ep->ops->unreg(conn->ep, iser->own);
	target_ep_free(conn);
	iscsi_tgt_free(&iser->conn);
	if (iser->own)
		explicit_bzero(iser->own->base, iser->own->len); /* proofs of CHAP */
	pool_free(iser->own);
	pool_free(conn->pool);
	ring_fini(&iser->ring);
	xfer_port_fini(&iser->port);
}

static int iser_open(struct target_conn *conn, struct diag *diag)
{
	struct iser *iser = iser_of(conn);
	unsigned slots = ISCSI_TGT_DEPTH + ISCSI_TGT_IMMEDIATE,
		 receives = ISCSI_TGT_DEPTH + ISCSI_TGT_UNEXPECTED;
	struct ep_caps caps = { .send = 2 * slots + ISCSI_TGT_ANSWERS + ISCSI_TGT_TASKS,
		.recv = receives,
		.sge = 1,
		.inline_max = REPLY,
		.read_sge = 1,
		.ord = READS };
	uint8_t *p;
	int err;

	iser->backlog_end = &iser->backlog;
	err = ring_init(&iser->ring, receives, diag);
	if (!err)
		err = pool_new(&iser->own, (1 + ISCSI_TGT_ANSWERS) * EACH + ISCSI_TGT_TASKS * REPLY,
			1, diag);
	if (err) {
		ep_reject(iser->incoming, NULL, 0);
	} else {
		p = iser->own->base + EACH;
		for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++, p += EACH) {
			iser->conn.answer[i].pdu.p = p;
			iser->conn.answer[i].data = p + HEADS;
		}
		for (unsigned i = 0; i < ISCSI_TGT_TASKS; i++, p += REPLY)
			iser->conn.task[i].rsp.p = p;
		err = ep_accept(&conn->ep, conn->loop, iser->incoming, &caps, &events, iser, diag);
	}
	if (err) {
		iser_free(conn);
		conn->pool = NULL;
	}
	return err;
}

/* The last PDU may announce the end. */
static void iser_close(struct target_conn *conn)
{
	flush(conn);
	target_ep_close(conn);
}

static const struct iscsi_tgt_carrier carrier = {
	.base = { .name = "iser",
		.cmd_size = sizeof(struct iser_cmd),
		.open = iser_open,
		.pull = pull,
		.push = push,
		.reply = reply,
		.forget = forget,
		.flush = flush,
		.resume = resume,
		.moved = target_ep_moved,
		.hung_up = target_ep_hung_up,
		.close = iser_close,
		.reset = target_ep_reset,
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
	iser->incoming = incoming;
	iser->invalidates =
		incoming->priv_len >= sizeof(*req) && !(req->flags & ISER_NO_INVALIDATE);
	iser->conn.base.local = incoming->local;
	snprintf(iser->conn.base.name, sizeof(iser->conn.base.name), "iser initiator %s",
		addr_text(&incoming->peer, text));
	target_conn_begin(target, &iser->conn.base, &carrier.base, &incoming->peer);
}
