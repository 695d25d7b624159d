/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDUs over iSER (RFC 7145): each is one SEND behind an iSER header, as Linux has it from the first
 * login request on. In the full feature phase of a session that header has the STag of the
 * command's data. The target transfers the data by RDMA; a write may carry immediate data. The STag
 * is that of the whole pool, so a command that times out can't be aborted: the connection must end
 * before its memory is reused. Linux 6.12's target assigns and sends StatSN without a lock, so
 * responses arrive out of order. */
#include "wire/iser.h"
#include "carrier.h"
#include "ini.h"
#include "min.h"
#include "ring.h"
#include <errno.h>
#include <stdlib.h>

#define HEADS        (sizeof(struct iser_hdr) + ISCSI_BHS)
#define HEAD         80 /* HEADS, padded for alignment */
#define EACH         (HEADS + ISCSI_PDU_DATA + 3)
#define BUFFER       ((uint32_t)(EACH + 63) & ~63u)
#define RX           (HEADS + ISCSI_ISER_RECV)
#define RECEIVES     8 /* of any PDU; those of a session's commands come on top */
#define BUFFERS      (ISCSI_CARRIER_SENDS + RECEIVES)
#define HEAD_AT(tag) (BUFFERS * BUFFER + (tag)*HEAD)

struct iser_slot {
	struct iscsi_slot base; /* first */
	struct ep_op op;
	uint32_t flushes; /* iser->flushes when it was posted: the next flush sends it */
};

struct iser {
	struct iscsi_carrier_conn conn; /* first */
	struct ep *ep;
	struct pool *pool; /* BUFFERS, then a session's headers of commands and receives */
	bool in_session;   /* else it is allocated alone */
	bool registered, terminated;
	/* Send no immediate data before: Linux's target (6.12) receives commands before it has
	 * finished the login that it has answered, and rejects data with them
	 * (iscsi_post_login_handler()). */
	bool pdu_received;
	bool busy[ISCSI_CARRIER_SENDS];
	uint32_t flushes; /* so far */
	struct loop_work flush;
	struct ep_op op[ISCSI_CARRIER_SENDS];
	struct ring ring, responses; /* responses: only receives */
};

struct iser_sess {
	struct iscsi_sess base; /* first */
	struct iser iser;
};

static struct iser *iser_of(struct iscsi_sess *sess)
{
	return &((struct iser_sess *)sess)->iser;
}

static struct iscsi_sess *sess_of(struct iser *iser)
{
	return &container_of(iser, struct iser_sess, iser)->base;
}

/* ---- Control-type PDUs, in both phases. */

static void flush(struct loop_work *work)
{
	struct iser *iser = container_of(work, struct iser, flush);

	iser->flushes++;
	ring_flush(&iser->ring);
}

/* Headers go to the offset `at` of the pool; data is in op->sge[1] already. */
static void post(struct iser *iser, struct ep_op *op, uint32_t at, const struct iser_hdr *hdr,
	const void *bhs)
{
	uint8_t *p = iser->pool->base + at;

	memcpy(p, hdr, sizeof(*hdr));
	memcpy(p + sizeof(*hdr), bhs, ISCSI_BHS);
	op->kind = EP_SEND;
	op->sge[0] = (struct ep_sge){ p, HEADS, iser->pool->key[iser->ep->dom].lkey };
	if (!iser->ring.chain)
		loop_work_add(iser->conn.loop, &iser->flush);
	ring_add(&iser->ring, op);
}

static int send_control(
	struct iscsi_carrier_conn *conn, const void *bhs, const void *data, uint32_t len)
{
	struct iser *iser = (struct iser *)conn;
	struct iser_hdr hdr = { .flags = ISER_CONTROL };
	struct iscsi_bhs head = *(const struct iscsi_bhs *)bhs;
	unsigned i = 0;

	if (len > ISCSI_PDU_DATA)
		return -EMSGSIZE;
	while (i < ISCSI_CARRIER_SENDS && iser->busy[i])
		i++;
	if (i == ISCSI_CARRIER_SENDS)
		return -ENOBUFS;
	iser->busy[i] = true;
	iser->op[i] = (struct ep_op){ .nsge = 1 };
	head.ahs_len = 0;
	head.data_len = put_be24(len);
	if (len)
		memcpy(iser->pool->base + i * BUFFER + HEADS, data, len);
	post(iser, &iser->op[i], i * BUFFER, &hdr, &head);
	iser->op[i].sge[0].len += len;
	return 0;
}

static void terminate(struct iscsi_carrier_conn *conn)
{
	struct iser *iser = (struct iser *)conn;

	loop_work_del(conn->loop, &iser->flush);
	if (iser->registered)
		iser->ep->ops->unreg(iser->ep, iser->pool);
	if (iser->ep)
		iser->ep->ops->free(iser->ep);
	if (iser->pool) {
		explicit_bzero(iser->pool->base, iser->pool->len);
		pool_free(iser->pool);
	}
	ring_fini(&iser->ring);
	ring_fini(&iser->responses);
	if (!iser->in_session)
		free(iser);
}

/* ---- Login and discovery. */

static void fail(struct iser *iser, const struct diag *why)
{
	if (iser->terminated)
		return;
	iser->terminated = true;
	iser->conn.why = *why;
	iser->conn.ev->connection_terminate_notify(&iser->conn);
}

static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct iser *iser = ep->user;
	struct iser_private own = { .flags = ISER_NO_ZBVA | ISER_NO_INVALIDATE };
	const unsigned least = iser->in_session ? 1 : 0; /* commands */
	int err;

	if (ep->caps.send < ISCSI_CARRIER_SENDS + least || ep->caps.recv < RECEIVES + least)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device allows only %u requests and %u receives per connection",
			ep->caps.send, ep->caps.recv);
	err = ep->ops->reg(ep, iser->pool, EP_LOCAL, &ep->why);
	if (err)
		return err;
	iser->registered = true;
	ring_start(&iser->ring, ep, iser->pool, iser->pool->base + ISCSI_CARRIER_SENDS * BUFFER,
		BUFFER, EACH, RECEIVES);
	memcpy(priv, &own, sizeof(own));
	return sizeof(own);
}

static void up(struct ep *ep)
{
	struct iser *iser = ep->user;

	iser->conn.peer = ep->peer;
	memcpy(iser->conn.route, ep->route, sizeof(iser->conn.route));
	iser->conn.ev->up(&iser->conn);
}

static void login_received(struct ep *ep, struct ep_rx *rx)
{
	struct iser *iser = ep->user;
	const struct iser_hdr *hdr = (const void *)rx->p;
	const struct iscsi_bhs *bhs = (const void *)(rx->p + sizeof(*hdr));
	struct diag why = { 0 };
	uint32_t len = rx->len >= HEADS ? get_be24(bhs->data_len) : 0;

	if (iser->terminated)
		return;
	if (rx->len < HEADS || ISER_OPCODE(hdr->flags) != ISER_CONTROL)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"invalid message of %u bytes: expected an iSCSI PDU after an iSER header",
			rx->len);
	else if (bhs->ahs_len)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"unexpected additional header segment in a PDU: is it an iSCSI target?");
	else if (len > rx->len - HEADS || len > ISCSI_PDU_DATA)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"data segment of %u bytes exceeds the message of %u", len, rx->len);
	/* Linux 6.1: one thread resets the length of another's response */
	if (why.err && len > rx->len - HEADS && ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGIN_RSP)
		diag_hint(&why, "try again: Linux's target may mix up the responses of one login");
	if (why.err) {
		fail(iser, &why);
		return;
	}
	iser->conn.ev->control_notify(&iser->conn, bhs, rx->p + HEADS, len);
	ring_repost(&iser->ring, rx);
}

static void login_sent(struct ep *ep, struct ep_op *op)
{
	struct iser *iser = ep->user;

	iser->busy[op - iser->op] = false;
}

static void login_idle(struct ep *ep)
{
	flush(&((struct iser *)ep->user)->flush);
}

static void login_down(struct ep *ep)
{
	struct diag closed = { 0 };

	diag_set(&closed, DIAG_CLOSED, ECONNRESET, "connection closed by the target");
	fail(ep->user, ep->why.err ? &ep->why : &closed);
}

static const struct ep_events login_events = { requested, up, login_received, login_sent,
	login_idle, login_down };

/* ---- Full feature phase: sending. */

static void send_command(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	struct iser *iser = iser_of(sess);
	const struct iscsi_agreed_params *agreed = &sess->dial.result.agreed;
	const struct scsi_data *data = &slot->data;
	struct iser_slot *iser_slot = (struct iser_slot *)slot;
	struct ep_op *op = &iser_slot->op;
	struct iser_hdr hdr = { .flags = ISER_CONTROL };
	uint32_t now = data->out && agreed->immediate_data && iser->pdu_received ? data->len : 0;
	uint8_t dom = iser->ep->dom;

	now = min_u32(now, min_u32(agreed->first_burst, agreed->max_xmit));
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
	post(iser, op, HEAD_AT(slot->base.flight.tag), &hdr, &slot->cmd);
}

/* ---- Full feature phase: receiving. */

static bool is_up(struct iser *iser)
{
	return sess_of(iser)->base.state == SCSI_SESS_UP;
}

/* Return whether it responds to a command whose send is still in the chain. */
static bool is_unsent(struct iser *iser)
{
	struct iscsi_sess *sess = sess_of(iser);
	const struct iscsi_scsi_rsp *rsp = (const void *)&sess->bhs;
	struct iscsi_slot *slot = ISCSI_OPCODE(rsp->opcode) == ISCSI_SCSI_RSP
					  ? iscsi_sess_find_slot(sess, get_be32(rsp->itt))
					  : NULL;

	return slot && ((struct iser_slot *)slot)->flushes == iser->flushes;
}

static void handle_message(struct iser *iser, struct ep_rx *rx)
{
	struct iscsi_sess *sess = sess_of(iser);
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
		sess->len > sess->dial.result.agreed.max_recv) {
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
	struct iser *iser = ep->user;

	if (is_up(iser))
		handle_message(iser, rx);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct iscsi_sess *sess = sess_of(ep->user);
	const struct inflight *inflight = &sess->base.inflight;
	const uint8_t *at = (const uint8_t *)op;

	if (at >= inflight->slots && at < inflight->slots + inflight->count * inflight->size)
		iscsi_sess_sent(sess, &container_of(op, struct iser_slot, op)->base);
	else
		login_sent(ep, op);
}

static void idle(struct ep *ep)
{
	struct iser *iser = ep->user;
	struct scsi_sess *sess = &sess_of(iser)->base;

	if (!is_up(iser))
		return;
	sess->ev->idle(sess);
	if (is_up(iser) && iser->ring.repost)
		loop_work_add(sess->loop, &iser->flush);
}

static void down(struct ep *ep)
{
	iscsi_sess_down(sess_of(ep->user), &ep->why);
}

/* ---- The connection. */

static void enable(struct iscsi_carrier_conn *conn, uint32_t recv_max)
{
	static const struct ep_events events = {
		.recv = received, .sent = sent, .idle = idle, .down = down
	};
	struct iser *iser = (struct iser *)conn;
	const struct ep_caps *caps = &iser->ep->caps;
	struct iscsi_sess *sess;

	(void)recv_max; /* conn.recv_limit is no more than a login's */
	if (!iser->in_session)
		return;
	sess = sess_of(iser);
	sess->max_cmds = (uint16_t)min_u32(sess->max_cmds, caps->send - ISCSI_CARRIER_SENDS);
	sess->max_cmds = (uint16_t)min_u32(sess->max_cmds, caps->recv - RECEIVES);
	sess->backend = iser->ep->ops->name;
	iser->ep->ev = &events;
	ring_start(&iser->responses, iser->ep, iser->pool,
		iser->pool->base + HEAD_AT(sess->base.inflight.count), RX, RX, sess->max_cmds);
}

/* commands: of a session. */
static int start(struct iser *iser, struct loop *loop, struct ep_dial *to, unsigned commands,
	const struct iscsi_carrier_events *ev, void *user, struct diag *diag)
{
	static const struct iscsi_carrier_ops ops = { send_control, enable, terminate };
	int err;

	iser->conn = (struct iscsi_carrier_conn){
		.ops = &ops, .ev = ev, .loop = loop, .user = user, .recv_limit = ISCSI_PDU_DATA
	};
	iser->flush.run = flush;
	to->caps.send += ISCSI_CARRIER_SENDS;
	to->caps.recv += RECEIVES;
	err = ring_init(&iser->ring, RECEIVES, diag);
	if (!err && commands)
		err = ring_init(&iser->responses, commands, diag);
	if (!err)
		err = pool_new(&iser->pool, BUFFERS * BUFFER + commands * (HEAD + RX), 1, diag);
	if (!err)
		err = ep_dial(&iser->ep, loop, to, &login_events, iser, diag);
	if (err) {
		iser->ep = NULL;
		terminate(&iser->conn);
	}
	return err;
}

static struct ep_dial dial_to(
	const struct iscsi_conf *conf, const struct addr *at, uint32_t timeout_ms)
{
	struct ep_dial to = { .dst = *at, .backend = EP_VERBS, .timeout_ms = timeout_ms };

	if (conf) {
		to.src = conf->base.src;
		to.dev = conf->dev[0] ? conf->dev : NULL;
		to.backend = conf->backend;
		to.tos = conf->base.tos;
		to.no_crc = conf->no_crc;
	}
	return to;
}

int iscsi_iser(struct iscsi_carrier_conn **out, struct loop *loop, const struct iscsi_conf *conf,
	const struct addr *addr, uint32_t timeout_ms, const struct iscsi_carrier_events *ev,
	void *user, struct diag *diag)
{
	struct ep_dial to = dial_to(conf, addr, timeout_ms);
	struct iser *iser = calloc(1, sizeof(*iser));

	if (!iser)
		return diag_sys(diag, ENOMEM, "iSER connection");
	to.caps = (struct ep_caps){ .sge = 1, .ord = 1, .ird = 1 };
	*out = &iser->conn;
	return start(iser, loop, &to, 0, ev, user, diag);
}

static int connect_to(struct iscsi_sess *sess, const struct addr *at, uint32_t timeout_ms,
	const struct iscsi_carrier_events *ev, struct diag *diag)
{
	struct iser *iser = iser_of(sess);
	const struct iscsi_conf *conf = sess->conf;
	/* the rest of the time is for iser_proto.suggest() */
	struct ep_dial to = dial_to(conf, at, timeout_ms - timeout_ms / 5);

	/* The target reads our memory (ird); we do not read its memory. */
	to.caps = (struct ep_caps){ .send = conf->base.depth,
		.recv = conf->base.depth,
		.sge = 2,
		.inline_max = HEADS,
		.ord = 1,
		.ird = 16 };
	*iser = (struct iser){ .in_session = true };
	sess->dial.conn = &iser->conn;
	return start(iser, sess->base.loop, &to, sess->base.inflight.count, ev, &sess->dial, diag);
}

/* After `down` the target can't access memory any more. */
static void close_now(struct iscsi_sess *sess)
{
	struct ep *ep = iser_of(sess)->ep;

	if (sess->base.inflight.used)
		ep_abandon(ep);
	else
		ep->ops->close(ep);
}

static int map(struct scsi_sess *sess, struct pool *pool, struct diag *diag)
{
	struct ep *ep = iser_of((struct iscsi_sess *)sess)->ep;

	if (sess->state != SCSI_SESS_UP)
		return diag_set(diag, DIAG_CLOSED, ENOTCONN, "the session is not connected");
	return ep->ops->reg(ep, pool, EP_REMOTE_READ | EP_REMOTE_WRITE, diag);
}

static void unmap(struct scsi_sess *sess, struct pool *pool)
{
	struct ep *ep = iser_of((struct iscsi_sess *)sess)->ep;

	ep->ops->unreg(ep, pool);
}

static const struct iscsi_sess_carrier carrier = { .id = ISCSI_ISER,
	.slot_size = sizeof(struct iser_slot),
	.connect = connect_to,
	.command = send_command,
	.close = close_now };

static int open_iser(
	struct scsi_sess *sess, const struct scsi_conf *conf, unsigned number, struct diag *diag)
{
	return iscsi_sess_open(sess, conf, &carrier, number, diag);
}

const struct scsi_carrier iscsi_iser_carrier = { .sess_size = sizeof(struct iser_sess),
	.sessions = "sessions",
	.pings = true,
	.open = open_iser,
	.send = iscsi_sess_send,
	.end = iscsi_sess_end,
	.fail = iscsi_sess_fail,
	.logout = iscsi_sess_logout,
	.fini = iscsi_sess_fini,
	.identify = iscsi_sess_identify,
	.map = map,
	.unmap = unmap };
