/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What carriers of targets over RDMA share (core/target/rdma.c): messages, each in a receive that
 * is posted again before the reply to it is sent; data transfers; replies, each chained to the data
 * of its command. A carrier parses messages, sets where the peer's memory is, and writes replies.
 *
 * The user of the endpoint, conn->ep, is the connection. Everything runs on its loop. */
#pragma once
#include "target.h"

struct target_rdma_cmd { /* of a command: cmd->rdma */
	struct target_cmd *cmd;
	struct xfer xfer;
	struct ep_op reply;
	struct ep_rx *rx; /* its message, until the reply; set by the carrier */
	/* The peer's memory for the data: `one`, set by the carrier, or what it lets seg and segs
	 * describe. */
	struct xfer_seg one;
	const struct xfer_seg *seg;
	unsigned segs;
};

/* ---- The connection. */

/* For carrier->open(): accept rdma.incoming with this many work requests and receives, or reject it
 * and return err. A failure releases what the carrier holds by carrier->free(). */
int target_rdma_accept(struct target_conn *, const struct ep_events *, uint32_t sends,
	uint32_t receives, uint32_t inline_max, struct diag *);
int target_rdma_reject(struct target_conn *, int err);
/* For ep_events.request(): return how many commands the device has room for, at most `depth`. Each
 * needs one receive and two work requests, in addition to the specified ones. 0: ep->why is set. */
unsigned target_rdma_depth(struct ep *, unsigned depth, uint32_t receives, uint32_t sends);
/* Allocate the commands. */
int target_rdma_alloc(struct target_conn *, unsigned slots, struct diag *);
struct target_rdma_layout { /* offsets in conn->pool, bytes */
	size_t receives_at, stride, replies_at;
	uint32_t receive, reply; /* sizes of one */
	unsigned count;          /* of receives */
};
/* Register conn->pool for that access, and the data buffers. Post the receives. */
int target_rdma_start(
	struct target_conn *, const struct target_rdma_layout *, unsigned access, struct diag *);

/* Functions of struct target_carrier and struct ep_events. A carrier may wrap them. */
void target_rdma_pull(struct target_cmd *, uint32_t len);
void target_rdma_flush(struct target_conn *);
uint64_t target_rdma_progress(struct target_conn *);
bool target_rdma_hung_up(struct target_conn *);
void target_rdma_close(struct target_conn *);
void target_rdma_reset(struct target_conn *);
void target_rdma_free(struct target_conn *); /* also conn->pool; allowed in any state */
void target_rdma_up(struct ep *);
void target_rdma_sent(struct ep *, struct ep_op *); /* needs: all sends are data or replies */
void target_rdma_idle(struct ep *);
void target_rdma_down(struct ep *);

/* ---- Data. */

/* Send len bytes of the data at cmd->p, followed by the reply unless that is NULL. */
void target_rdma_push(struct target_cmd *, uint32_t len, struct ep_op *reply);
/* Fill the buffer with len bytes of the data in the segment, from offset `at` on. */
void target_rdma_read(struct target_cmd *, const struct buf *, const struct xfer_seg *, uint32_t at,
	uint32_t len);
/* xfer->moved of each command, which a carrier may replace for a transfer of its own. */
void target_rdma_moved(struct xfer *);

/* ---- Messages. */

/* For ep_events.recv(). receive() processes a message, or returns false if it must wait: then it is
 * called again by target_rdma_resume(), which it must not call itself. */
static inline void target_rdma_received(
	struct ep *ep, struct ep_rx *rx, bool (*receive)(struct target_conn *, struct ep_rx *))
{
	struct target_conn *conn = ep->user;

	if (target_conn_is_closing(conn))
		return;
	if (__builtin_expect(rx->invalidated, false)) {
		target_conn_fail(conn, DIAG_PROTOCOL, EPROTO,
			"the host invalidated a key it was not offered");
		return;
	}
	if (!conn->rdma.backlog && receive(conn, rx))
		return;
	rx->next = NULL;
	*conn->rdma.backlog_end = rx;
	conn->rdma.backlog_end = &rx->next;
}

/* Process messages that had to wait. */
static inline void target_rdma_resume(
	struct target_conn *conn, bool (*receive)(struct target_conn *, struct ep_rx *))
{
	while (conn->rdma.backlog && !target_conn_is_closing(conn)) {
		struct ep_rx *rx = conn->rdma.backlog, *next = rx->next;

		if (!receive(conn, rx))
			return;
		conn->rdma.backlog = next;
		if (!next)
			conn->rdma.backlog_end = &conn->rdma.backlog;
	}
}

/* ---- Replies. */

/* Post the command's receive again; carrier->forget(). */
static inline void target_rdma_forget(struct target_cmd *cmd)
{
	if (cmd->rdma->rx)
		ring_repost(&cmd->conn->rdma.ring, cmd->rdma->rx);
	cmd->rdma->rx = NULL;
}

/* Return where to write the reply. */
static inline void *target_rdma_reply_buf(struct target_cmd *cmd)
{
	return cmd->rdma->reply.sge[0].p;
}

/* The reply is written: post the command's receive again, and return the reply as an operation.
 * kind and rkey: of struct ep_op. */
static inline struct ep_op *target_rdma_make_reply(
	struct target_cmd *cmd, uint32_t len, enum ep_kind kind, uint32_t rkey)
{
	struct ep_op *reply = &cmd->rdma->reply;

	reply->kind = (uint8_t)kind;
	reply->rkey = rkey;
	reply->flags = cmd->conn->ep->caps.inline_max >= len ? EP_INLINE : 0;
	reply->sge[0].len = len;
	target_rdma_forget(cmd);
	return reply;
}

/* Return the command of a reply that was sent. */
static inline struct target_cmd *target_rdma_cmd_of(struct ep_op *reply)
{
	return container_of(reply, struct target_rdma_cmd, reply)->cmd;
}
