/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session's PDUs over iSER (RFC 7145, as in Linux): each is one SEND with an iSER header, which
 * has the STag of the command's data. The target transfers the data by RDMA; a write may carry
 * immediate data. The STag is that of the whole pool, so a command that times out can't be aborted:
 * the connection must end before its memory is reused. Linux 6.12's target assigns and sends StatSN
 * without a lock, so responses arrive out of order. */
#include "carrier.h"
#include "ini.h"
#include "ring.h"
#include "wire/iser.h"
#include <errno.h>

#define HEADS (sizeof(struct iser_hdr) + ISCSI_BHS)
#define HEAD  80 /* HEADS, padded for alignment */
#define RX    (HEADS + ISCSI_ISER_RECV)

struct iser_slot {
	struct iscsi_slot base; /* first */
	struct ep_op op;
	uint32_t flushes; /* iser->flushes when it was posted: the next flush sends it */
};

struct iser_control { /* a PDU without a slot */
	struct ep_op op;
	bool busy;
};

struct iser_sess {
	struct iscsi_sess base;          /* first */
	struct iscsi_carrier_conn *conn; /* of the login; owns the endpoint */
	struct ep *ep;
	struct pool *pool; /* headers of commands and of controls, then receives */
	struct ring ring;
	struct ep_rx *early; /* receives from before the session took over */
	struct iser_control control[ISCSI_CONTROLS];
	struct loop_work flush;
	uint32_t flushes; /* so far */
	bool registered;
	/* Send no immediate data before: Linux's target (6.12) receives commands before it has
	 * finished the login that it has answered, and rejects data with them
	 * (iscsi_post_login_handler()). */
	bool pdu_received;
};

static struct iser_sess *iser_of(struct iscsi_sess *sess)
{
	return (struct iser_sess *)sess;
}

static bool is_up(const struct iser_sess *iser)
{
	return iser->base.base.state == SCSI_SESS_UP;
}

/* ---- Sending. */

static void flush(struct loop_work *work)
{
	struct iser_sess *iser = container_of(work, struct iser_sess, flush);

	iser->flushes++;
	if (is_up(iser))
		ring_flush(&iser->ring);
}

static uint8_t *head_at(const struct iser_sess *iser, unsigned i)
{
	return iser->pool->base + i * HEAD;
}

/* Data is in op->sge[1] already. A message without data that is small enough is inlined, and its
 * completion is not reported. */
static void post(struct iser_sess *iser, struct ep_op *op, unsigned i, const struct iser_hdr *hdr,
	const void *bhs)
{
	uint8_t *p = head_at(iser, i);

	memcpy(p, hdr, sizeof(*hdr));
	memcpy(p + sizeof(*hdr), bhs, ISCSI_BHS);
	op->kind = EP_SEND;
	op->sge[0] = (struct ep_sge){ p, HEADS, iser->pool->key[iser->ep->dom].lkey };
	if (!iser->ring.chain)
		loop_work_add(iser->base.base.loop, &iser->flush);
	ring_add(&iser->ring, op);
}

static void send_command(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	struct iser_sess *iser = iser_of(sess);
	const struct iscsi_negotiated *agreed = &sess->agreed;
	const struct scsi_data *data = &slot->data;
	struct iser_slot *iser_slot = (struct iser_slot *)slot;
	struct ep_op *op = &iser_slot->op;
	struct iser_hdr hdr = { .flags = ISER_CONTROL };
	uint32_t now = data->out && agreed->immediate_data && iser->pdu_received ? data->len : 0;
	uint8_t dom = iser->ep->dom;

	now = now < agreed->first_burst ? now : agreed->first_burst;
	now = now < agreed->max_xmit ? now : agreed->max_xmit;
	now = iser->ep->caps.sge > 1 ? now & ~3u : 0;
	*op = (struct ep_op){ .nsge = 1 };
	if (now) {
		op->sge[1] = (struct ep_sge){ data->p, now, data->pool->key[dom].lkey };
		op->nsge = 2;
		slot->cmd.data_len = put_be24(now);
	}
	if (data->len > now) {
		be32 key = put_be32(data->pool->key[dom].rkey);
		be64 at = put_be64(pool_raddr(data->pool, dom, data->p) + now);

		if (data->out) {
			hdr.flags |= ISER_WRITE_STAG;
			hdr.write_stag = key;
			hdr.write_base = at;
		} else {
			hdr.flags |= ISER_READ_STAG;
			hdr.read_stag = key;
			hdr.read_base = at;
		}
	}
	slot->at = data->len; /* the target does not report progress */
	if (op->nsge == 1 && iser->ep->caps.inline_max >= HEADS)
		op->flags = EP_INLINE | EP_UNSIGNALED;
	slot->base.flight.unsent = !(op->flags & EP_UNSIGNALED);
	iser_slot->flushes = iser->flushes;
	post(iser, op, slot->base.flight.tag, &hdr, &slot->cmd);
}

static bool send_control(struct iscsi_sess *sess, void *bhs)
{
	struct iser_sess *iser = iser_of(sess);
	struct iser_hdr hdr = { .flags = ISER_CONTROL };

	for (unsigned i = 0; i < ISCSI_CONTROLS; i++) {
		struct iser_control *control = &iser->control[i];

		if (control->busy)
			continue;
		control->busy = true;
		control->op = (struct ep_op){ .nsge = 1 };
		post(iser, &control->op, sess->base.inflight.count + i, &hdr, bhs);
		return true;
	}
	return false;
}

/* ---- Receiving. */

/* Return whether it responds to a command whose send is still in the chain. */
static bool is_unsent(struct iser_sess *iser)
{
	const struct iscsi_scsi_rsp *rsp = (const void *)&iser->base.bhs;
	struct iscsi_slot *slot = ISCSI_OPCODE(rsp->opcode) == ISCSI_SCSI_RSP
					  ? iscsi_sess_find_slot(&iser->base, get_be32(rsp->itt))
					  : NULL;

	return slot && ((struct iser_slot *)slot)->flushes == iser->flushes;
}

static void handle_message(struct iser_sess *iser, struct ep_rx *rx)
{
	struct iscsi_sess *sess = &iser->base;
	const struct iser_hdr *hdr = (const void *)rx->p;
	uint32_t len = rx->len < HEADS ? 0 : rx->len - (uint32_t)HEADS;

	if (rx->invalidated) {
		iscsi_sess_protocol_error(sess, "the target invalidated a key that it may not");
		return;
	}
	if (rx->len < HEADS || ISER_OPCODE(hdr->flags) != ISER_CONTROL) {
		iscsi_sess_protocol_error(sess, "message without an iSER header and a PDU");
		return;
	}
	memcpy(&sess->bhs, rx->p + sizeof(*hdr), ISCSI_BHS);
	sess->len = get_be24(sess->bhs.data_len);
	if (sess->bhs.ahs_len || sess->len > len || sess->len > sizeof(sess->text) ||
		sess->len > sess->agreed.max_recv) {
		iscsi_sess_protocol_error(
			sess, "data segment of a PDU exceeds its message, or the limit");
		return;
	}
	if (is_unsent(iser)) {
		iscsi_sess_protocol_error(sess, "response to a command that is not in flight");
		return;
	}
	memcpy(sess->text, rx->p + HEADS, sess->len);
	sess->silent_beats = 0;
	iser->pdu_received = true;
	ring_repost(&iser->ring, rx);
	iscsi_sess_dispatch(sess);
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct iser_sess *iser = ep->user;

	if (is_up(iser))
		handle_message(iser, rx);
}

/* May also report the last request of the login. */
static void sent(struct ep *ep, struct ep_op *op)
{
	struct iser_sess *iser = ep->user;
	const struct inflight *inflight = &iser->base.base.inflight;
	const uint8_t *at = (const uint8_t *)op;

	if (at >= inflight->slots && at < inflight->slots + inflight->count * inflight->size) {
		iscsi_sess_sent(&iser->base, &container_of(op, struct iser_slot, op)->base);
		return;
	}
	for (unsigned i = 0; i < ISCSI_CONTROLS; i++)
		if (op == &iser->control[i].op)
			iser->control[i].busy = false;
}

static void idle(struct ep *ep)
{
	struct iser_sess *iser = ep->user;
	struct scsi_sess *sess = &iser->base.base;

	if (!is_up(iser))
		return;
	sess->ev->idle(sess);
	if (is_up(iser) && iser->ring.repost)
		loop_work_add(sess->loop, &iser->flush);
}

static void down(struct ep *ep)
{
	struct iser_sess *iser = ep->user;

	iscsi_sess_down(&iser->base, &ep->why);
}

static void none(struct ep *ep)
{
	(void)ep;
}

static const struct ep_events events = { NULL, none, received, sent, idle, down };

/* ---- The connection. */

static int connect_to(struct iscsi_sess *sess, const struct addr *at, uint32_t timeout_ms,
	const struct iscsi_carrier_events *ev, struct diag *diag)
{
	const struct iscsi_conf *conf = sess->conf;
	struct ep_dial to = { .dst = *at,
		.src = conf->base.src,
		.dev = conf->dev[0] ? conf->dev : NULL,
		.backend = conf->backend,
		.tos = conf->base.tos,
		/* the rest of the time is for iser_proto.suggest() */
		.timeout_ms = timeout_ms - timeout_ms / 5,
		.no_crc = conf->no_crc };

	/* The target reads our memory (ird); we do not read its memory. */
	to.caps = (struct ep_caps){ .send = conf->base.depth + ISCSI_CONTROLS,
		.recv = conf->base.depth,
		.sge = 2,
		.inline_max = HEADS,
		.ord = 1,
		.ird = 16 };
	return iscsi_iser_from(&sess->dial.conn, sess->base.loop, &to, ev, &sess->dial, diag);
}

static int start(struct iscsi_sess *sess, struct iscsi_carrier_conn *conn, struct diag *diag)
{
	struct iser_sess *iser = iser_of(sess);
	unsigned heads = sess->base.inflight.count + ISCSI_CONTROLS;
	uint32_t sends, receives;
	int err;

	iser->conn = conn;
	iser->ep = iscsi_iser_detach(conn, &events, iser, &iser->early);
	sends = iser->ep->caps.send - ISCSI_CARRIER_SENDS;
	receives = iser->ep->caps.recv - ISCSI_ISER_RECEIVES; /* not for responses to commands */
	if (sends <= ISCSI_CONTROLS || !receives)
		return diag_set(diag, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device allows only %u requests and %u receives per connection",
			iser->ep->caps.send, iser->ep->caps.recv);
	if (sess->max_cmds > sends - ISCSI_CONTROLS)
		sess->max_cmds = (uint16_t)(sends - ISCSI_CONTROLS);
	if (sess->max_cmds > receives)
		sess->max_cmds = (uint16_t)receives;
	iser->flush.run = flush;
	sess->backend = iser->ep->ops->name;
	err = ring_init(&iser->ring, sess->max_cmds, diag);
	if (!err)
		err = pool_new(
			&iser->pool, (uint32_t)(heads * HEAD + sess->max_cmds * RX), 1, diag);
	if (!err)
		err = iser->ep->ops->reg(iser->ep, iser->pool, EP_LOCAL, diag);
	if (err)
		return err;
	iser->registered = true;
	ring_start(&iser->ring, iser->ep, iser->pool, head_at(iser, heads), RX, RX, sess->max_cmds);
	return 0;
}

static void run(struct iscsi_sess *sess)
{
	struct iser_sess *iser = iser_of(sess);
	struct ep_rx *rx;

	while (is_up(iser) && (rx = iser->early)) {
		iser->early = rx->next;
		handle_message(iser, rx);
	}
	if (is_up(iser))
		idle(iser->ep);
}

/* After `down` the target can't access memory any more. */
static void close_now(struct iscsi_sess *sess)
{
	struct iser_sess *iser = iser_of(sess);

	iser->ep->ops->close(iser->ep);
}

static void fini(struct iscsi_sess *sess)
{
	struct iser_sess *iser = iser_of(sess);

	loop_work_del(sess->base.loop, &iser->flush);
	if (iser->registered)
		iser->ep->ops->unreg(iser->ep, iser->pool);
	if (iser->conn)
		iser->conn->ops->connection_terminate(iser->conn);
	if (iser->pool)
		pool_free(iser->pool);
	ring_fini(&iser->ring);
}

static int map(struct scsi_sess *sess, struct pool *pool, struct diag *diag)
{
	struct ep *ep = ((struct iser_sess *)sess)->ep;

	if (sess->state != SCSI_SESS_UP)
		return diag_set(diag, DIAG_CLOSED, ENOTCONN, "the session is not connected");
	return ep->ops->reg(ep, pool, EP_REMOTE_READ | EP_REMOTE_WRITE, diag);
}

static void unmap(struct scsi_sess *sess, struct pool *pool)
{
	struct ep *ep = ((struct iser_sess *)sess)->ep;

	ep->ops->unreg(ep, pool);
}

static const struct iscsi_sess_carrier carrier = { .id = ISCSI_ISER,
	.slot_size = sizeof(struct iser_slot),
	.connect = connect_to,
	.hold = iscsi_iser_hold,
	.start = start,
	.run = run,
	.command = send_command,
	.control = send_control,
	.close = close_now,
	.fini = fini };

static int open_iser(
	struct scsi_sess *sess, const struct scsi_conf *conf, unsigned number, struct diag *diag)
{
	return iscsi_sess_open(sess, conf, &carrier, number, diag);
}

const struct scsi_carrier iscsi_iser_carrier = { .sess_size = sizeof(struct iser_sess),
	.sessions = "sessions",
	.open = open_iser,
	.send = iscsi_sess_send,
	.end = iscsi_sess_end,
	.fail = iscsi_sess_fail,
	.logout = iscsi_sess_logout,
	.fini = iscsi_sess_fini,
	.map = map,
	.unmap = unmap };
