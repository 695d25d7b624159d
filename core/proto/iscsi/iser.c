/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDUs over iSER (RFC 7145): each is one SEND behind an iSER header, as Linux has it from the first
 * login request on. */
#include "wire/iser.h"
#include "carrier.h"
#include "ring.h"
#include <errno.h>
#include <stdlib.h>

#define HEADS (sizeof(struct iser_hdr) + ISCSI_BHS)
#define EACH  (HEADS + ISCSI_PDU_DATA + 3)

struct iser {
	struct iscsi_carrier_conn conn;
	struct ep *ep;
	struct pool *pool; /* buffers to send, then those of receives */
	bool registered, terminated;
	bool in_upcall; /* in received(): sends are flushed after its receive is posted again */
	bool held;
	struct ep_rx *early, **early_end; /* completed while held */
	uint32_t recv_max;
	bool busy[ISCSI_CARRIER_SENDS];
	struct ep_op op[ISCSI_CARRIER_SENDS];
	struct ring ring;
};

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
	int err;

	if (ep->caps.send < ISCSI_CARRIER_SENDS || ep->caps.recv < ISCSI_ISER_RECEIVES)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device allows only %u requests and %u receives per connection",
			ep->caps.send, ep->caps.recv);
	err = ep->ops->reg(ep, iser->pool, EP_LOCAL, &ep->why);
	if (err)
		return err;
	iser->registered = true;
	ring_start(&iser->ring, ep, iser->pool, pool_buf(iser->pool, ISCSI_CARRIER_SENDS).p,
		iser->pool->each, EACH, ISCSI_ISER_RECEIVES);
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

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct iser *iser = ep->user;
	const struct iser_hdr *hdr = (const void *)rx->p;
	const struct iscsi_bhs *bhs = (const void *)(rx->p + sizeof(*hdr));
	struct diag why = { 0 };
	uint32_t len = rx->len >= HEADS ? get_be24(bhs->data_len) : 0;

	if (iser->terminated)
		return;
	if (iser->held) {
		rx->next = NULL;
		*iser->early_end = rx;
		iser->early_end = &rx->next;
		return;
	}
	if (rx->len < HEADS || ISER_OPCODE(hdr->flags) != ISER_CONTROL)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"invalid message of %u bytes: expected an iSCSI PDU after an iSER header",
			rx->len);
	else if (bhs->ahs_len)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"unexpected additional header segment in a PDU: is it an iSCSI target?");
	else if (len > rx->len - HEADS || len > iser->recv_max)
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"data segment of %u bytes exceeds the message of %u", len, rx->len);
	/* Linux 6.1: one thread resets the length of another's response */
	if (why.err && len > rx->len - HEADS && ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGIN_RSP)
		diag_hint(&why, "try again: Linux's target may mix up the responses of one login");
	if (why.err) {
		fail(iser, &why);
		return;
	}
	iser->in_upcall = true;
	iser->conn.ev->control_notify(&iser->conn, bhs, rx->p + HEADS, len);
	iser->in_upcall = false;
	ring_repost(&iser->ring, rx);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct iser *iser = ep->user;

	iser->busy[op - iser->op] = false;
}

static void idle(struct ep *ep)
{
	struct iser *iser = ep->user;

	if (!iser->terminated)
		ring_flush(&iser->ring);
}

static void down(struct ep *ep)
{
	struct diag closed = { 0 };

	diag_set(&closed, DIAG_CLOSED, ECONNRESET, "connection closed by the target");
	fail(ep->user, ep->why.err ? &ep->why : &closed);
}

static const struct ep_events events = { requested, up, received, sent, idle, down };

static int send_control(
	struct iscsi_carrier_conn *conn, const void *bhs, const void *data, uint32_t len)
{
	struct iser *iser = (struct iser *)conn;
	struct iser_hdr hdr = { .flags = ISER_CONTROL };
	struct iscsi_bhs *head;
	unsigned i = 0;
	uint8_t *p;

	if (len > ISCSI_PDU_DATA)
		return -EMSGSIZE;
	while (i < ISCSI_CARRIER_SENDS && iser->busy[i])
		i++;
	if (i == ISCSI_CARRIER_SENDS)
		return -ENOBUFS;
	p = pool_buf(iser->pool, i).p;
	memcpy(p, &hdr, sizeof(hdr));
	memcpy(p + sizeof(hdr), bhs, ISCSI_BHS);
	head = (struct iscsi_bhs *)(p + sizeof(hdr));
	head->ahs_len = 0;
	head->data_len = put_be24(len);
	if (len)
		memcpy(p + HEADS, data, len);
	iser->op[i] = (struct ep_op){ .kind = EP_SEND,
		.nsge = 1,
		.sge = { { p, (uint32_t)HEADS + len, iser->pool->key[iser->ep->dom].lkey } } };
	iser->busy[i] = true;
	ring_add(&iser->ring, &iser->op[i]);
	if (!iser->in_upcall)
		ring_flush(&iser->ring);
	return 0;
}

static void enable(struct iscsi_carrier_conn *conn, uint32_t recv_max)
{
	((struct iser *)conn)->recv_max = recv_max;
}

static void terminate(struct iscsi_carrier_conn *conn)
{
	struct iser *iser = (struct iser *)conn;

	if (iser->registered)
		iser->ep->ops->unreg(iser->ep, iser->pool);
	if (iser->ep)
		iser->ep->ops->free(iser->ep);
	if (iser->pool) {
		explicit_bzero(iser->pool->base, iser->pool->len);
		pool_free(iser->pool);
	}
	ring_fini(&iser->ring);
	free(iser);
}

static const struct iscsi_carrier_ops ops = { send_control, enable, terminate };

int iscsi_iser(struct iscsi_carrier_conn **out, struct loop *loop, const struct addr *addr,
	uint32_t timeout_ms, const struct iscsi_carrier_events *ev, void *user, struct diag *diag)
{
	struct ep_dial to = { .dst = *addr,
		.backend = EP_VERBS,
		.timeout_ms = timeout_ms,
		.caps = { .sge = 1, .ord = 1, .ird = 1 } };

	return iscsi_iser_from(out, loop, &to, ev, user, diag);
}

int iscsi_iser_from(struct iscsi_carrier_conn **out, struct loop *loop,
	const struct ep_dial *params, const struct iscsi_carrier_events *ev, void *user,
	struct diag *diag)
{
	struct iser *iser = calloc(1, sizeof(*iser));
	struct ep_dial to = *params;
	int err;

	if (!iser)
		return diag_sys(diag, ENOMEM, "iSER connection");
	to.caps.send += ISCSI_CARRIER_SENDS;
	to.caps.recv += ISCSI_ISER_RECEIVES;
	iser->conn = (struct iscsi_carrier_conn){
		.ops = &ops, .ev = ev, .loop = loop, .user = user, .recv_limit = ISCSI_PDU_DATA
	};
	iser->recv_max = ISCSI_PDU_DATA;
	iser->early_end = &iser->early;
	err = ring_init(&iser->ring, ISCSI_ISER_RECEIVES, diag);
	if (!err)
		err = pool_new(&iser->pool, (EACH + 4095) & ~4095u,
			ISCSI_CARRIER_SENDS + ISCSI_ISER_RECEIVES, diag);
	if (!err)
		err = ep_dial(&iser->ep, loop, &to, &events, iser, diag);
	if (err) {
		iser->ep = NULL;
		terminate(&iser->conn);
		return err;
	}
	*out = &iser->conn;
	return 0;
}

void iscsi_iser_hold(struct iscsi_carrier_conn *conn)
{
	((struct iser *)conn)->held = true;
}

struct ep *iscsi_iser_detach(struct iscsi_carrier_conn *conn, const struct ep_events *ev,
	void *user, struct ep_rx **early)
{
	struct iser *iser = (struct iser *)conn;

	iser->terminated = true;
	iser->ep->ev = ev;
	iser->ep->user = user;
	*early = iser->early;
	return iser->ep;
}
