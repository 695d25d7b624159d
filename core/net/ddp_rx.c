/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The receiving half of software iWARP. Headers go through a staging area. Payload is received
 * straight into its destination once the segment's header has been checked, unless segments are so
 * small that a system call for each costs more than the copy. All state is in struct ddp_rx, so
 * that parsing can resume at any byte, also within an upcall that turns the loop. */
#include "crc32c.h"
#include "iwarp.h"
#include "tcp.h"
#include <errno.h>
#include <stdlib.h>

#define STAGE_SMALL 512  /* bytes to stage behind a payload received in place */
#define LARGE       8192 /* payload worth a recv() of its own */
#define ROUNDS      16

int ddp_rx_init(struct iwarp *iw, struct diag *diag)
{
	struct ddp_rx *rx = &iw->rx;

	rx->stage = malloc(DDP_RX_STAGE);
	rx->rx_end = &rx->rx;
	rx->send_msn = rx->read_msn = 1;
	rx->first = true;
	return rx->stage ? 0 : diag_sys(diag, ENOMEM, "receive buffer");
}

void ddp_rx_fini(struct iwarp *iw)
{
	free(iw->rx.stage);
	iw->rx.stage = NULL;
}

void ddp_rx_post(struct iwarp *iw, struct ep_rx *chain)
{
	struct ddp_rx *rx = &iw->rx;

	while (chain) {
		struct ep_rx *one = chain;
		chain = one->next;
		one->next = NULL;
		*rx->rx_end = one;
		rx->rx_end = &one->next;
	}
}

bool ddp_rx_fills(const struct iwarp *iw, const struct pool *pool)
{
	const struct ddp_rx *rx = &iw->rx;

	return rx->step == DDP_RX_PAYLOAD && rx->remaining && rx->to >= pool->base &&
	       rx->to < pool->base + pool->len;
}

static void fault_tagged(struct iwarp *iw, enum stag_fault fault, const char *what, uint32_t stag,
	uint64_t to, uint32_t len)
{
	static const struct {
		unsigned term;
		const char *text;
	} faults[] = {
		[STAG_UNKNOWN] = { TERM_DDP_STAG, "unknown STag" },
		[STAG_NOT_YOURS] = { TERM_DDP_OWNER, "STag of another connection" },
		[STAG_RIGHTS] = { TERM_DDP_STAG, "no access rights" },
		[STAG_BOUNDS] = { TERM_DDP_BOUNDS, "out of bounds" },
		[STAG_WRAP] = { TERM_DDP_WRAP, "address wraps around" },
	};
	unsigned term = faults[fault].term;

	/* RFC 5040 section 7: RDMAP checks what a Read Request refers to. */
	if (what[0] == 'r')
		term = fault == STAG_RIGHTS      ? TERM_RDMAP_ACCESS
		       : fault == STAG_NOT_YOURS ? TERM_RDMAP_OWNER
		       : fault == STAG_BOUNDS    ? TERM_RDMAP_BOUNDS
		       : fault == STAG_WRAP      ? TERM_RDMAP_WRAP
						 : TERM_RDMAP_STAG;
	iwarp_fault(iw, term, "the peer %s %u bytes at %#llx with STag %#x: %s", what, len,
		(unsigned long long)to, stag, faults[fault].text);
}

static bool begin_write(struct iwarp *iw, const struct ddp_tagged *t, uint32_t len)
{
	struct ddp_rx *rx = &iw->rx;
	enum stag_fault fault;

	if (!len) /* RFC 5040 section 5.1: nothing to check */
		return true;
	fault = stag_find(iw->stags, &iw->holds, get_be32(t->stag), get_be64(t->to), len,
		EP_REMOTE_WRITE, &rx->to);
	if (fault)
		fault_tagged(iw, fault, "writes", get_be32(t->stag), get_be64(t->to), len);
	return !fault;
}

/* Check that the response continues the oldest read: inside its memory, right behind the data
 * received so far. */
static bool begin_response(struct iwarp *iw, const struct ddp_tagged *t, uint32_t len)
{
	struct ddp_rx *rx = &iw->rx;
	const struct ddp_entry *read = ddp_tx_oldest_read(iw);
	bool last = t->c.ddp & DDP_LAST;
	enum stag_fault fault = STAG_OK;

	if (!read) {
		iwarp_fault(iw, TERM_DDP_STAG, "unexpected Read Response from the peer");
		return false;
	}
	if (len > read->len - rx->read_off || (last && len != read->len - rx->read_off)) {
		iwarp_fault(iw, TERM_DDP_BOUNDS,
			"the peer answered a read of %u bytes with another length", read->len);
		return false;
	}
	if (!len)
		return true;
	if (get_be32(t->stag) != read->sge[0].lkey ||
		get_be64(t->to) != read->sink_to + rx->read_off) {
		iwarp_fault(iw, TERM_DDP_BOUNDS,
			"the peer answered a read with data for another offset");
		return false;
	}
	fault = stag_find(iw->stags, &iw->holds, get_be32(t->stag), get_be64(t->to), len,
		EP_READ_SINK, &rx->to);
	if (fault)
		fault_tagged(
			iw, fault, "answers a read of", get_be32(t->stag), get_be64(t->to), len);
	return !fault;
}

static bool in_order(
	struct iwarp *iw, const struct ddp_untagged *u, uint32_t qn, uint32_t msn, uint32_t mo)
{
	if (get_be32(u->qn) != qn)
		iwarp_fault(iw, TERM_DDP_QN, "message on DDP queue %u, expected %u",
			get_be32(u->qn), qn);
	else if (get_be32(u->msn) != msn)
		iwarp_fault(iw, TERM_DDP_MSN, "message %u on DDP queue %u, expected %u",
			get_be32(u->msn), qn, msn);
	else if (get_be32(u->mo) != mo)
		iwarp_fault(iw, TERM_DDP_MO, "message offset %u, expected %u", get_be32(u->mo), mo);
	else
		return true;
	return false;
}

static bool begin_send(struct iwarp *iw, const struct ddp_untagged *u, uint32_t len)
{
	struct ddp_rx *rx = &iw->rx;

	if (!in_order(iw, u, DDP_QN_SEND, rx->send_msn, rx->mo))
		return false;
	if (rx->sending && (u->c.rdmap & RDMAP_OP_MASK) != rx->sending_op) {
		iwarp_fault(iw, TERM_RDMAP_OPCODE, "the peer changed the opcode within a message");
		return false;
	}
	if (!rx->rx) {
		iwarp_fault(iw, TERM_DDP_NO_BUFFER,
			"the peer sent more messages than receives are posted");
		return false;
	}
	if (len > rx->rx->cap - rx->mo) {
		iwarp_fault(iw, TERM_DDP_TOO_LONG, "the peer sent a message longer than %u bytes",
			rx->rx->cap);
		return false;
	}
	rx->sending = true;
	rx->sending_op = u->c.rdmap & RDMAP_OP_MASK;
	rx->to = rx->rx->p + rx->mo;
	return true;
}

static bool begin_read_req(struct iwarp *iw, const struct rdmap_read_req *r, uint32_t len)
{
	uint32_t read_len = get_be32(r->len);
	enum stag_fault fault;
	uint8_t *p;

	if (!in_order(iw, &r->u, DDP_QN_READ, iw->rx.read_msn, 0))
		return false;
	if (len || !(r->u.c.ddp & DDP_LAST)) {
		iwarp_fault(iw, TERM_DDP_TOO_LONG, "Read Request too long");
		return false;
	}
	fault = read_len ? stag_find(iw->stags, &iw->holds, get_be32(r->source_stag),
				   get_be64(r->source_to), read_len, EP_REMOTE_READ, &p)
			 : STAG_OK;
	if (fault)
		fault_tagged(iw, fault, "reads", get_be32(r->source_stag), get_be64(r->source_to),
			read_len);
	return !fault;
}

static bool begin_terminate(struct iwarp *iw, const struct ddp_untagged *u, uint32_t len)
{
	struct ddp_rx *rx = &iw->rx;

	if (!in_order(iw, u, DDP_QN_TERMINATE, 1, 0))
		return false;
	if (len > sizeof(rx->note)) {
		iwarp_fault(iw, TERM_DDP_TOO_LONG, "Terminate message too long");
		return false;
	}
	rx->to = rx->note;
	return true;
}

static bool begin_segment(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	const void *head = rx->head;

	switch ((enum rdmap_op)(((const struct ddp_common *)head)->rdmap & RDMAP_OP_MASK)) {
	case RDMAP_WRITE:
		return begin_write(iw, head, rx->remaining);
	case RDMAP_READ_RESP:
		return begin_response(iw, head, rx->remaining);
	case RDMAP_SEND:
	case RDMAP_SEND_INVAL:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INVAL:
		return begin_send(iw, head, rx->remaining);
	case RDMAP_READ_REQ:
		return begin_read_req(iw, head, rx->remaining);
	case RDMAP_TERMINATE:
		return begin_terminate(iw, head, rx->remaining);
	case RDMAP_OPS:
		break;
	}
	return false;
}

/* Check the first four bytes. Returns the header's length, or 0 if the session has ended. */
static uint32_t check_common(struct iwarp *iw, const struct ddp_common *c)
{
	unsigned op = c->rdmap & RDMAP_OP_MASK;
	bool tagged = op == RDMAP_WRITE || op == RDMAP_READ_RESP;
	uint32_t head = ddp_head_len(op);

	if ((c->ddp & DDP_VERSION_MASK) != DDP_VERSION)
		iwarp_fault(iw,
			c->ddp & DDP_TAGGED ? TERM_DDP_TAGGED_VERSION : TERM_DDP_UNTAGGED_VERSION,
			"unsupported DDP version %u", c->ddp & DDP_VERSION_MASK);
	else if ((c->rdmap & RDMAP_VERSION_MASK) != RDMAP_VERSION)
		iwarp_fault(iw, TERM_RDMAP_VERSION, "unsupported RDMAP version %u", c->rdmap >> 6);
	else if (op >= RDMAP_OPS || tagged != !!(c->ddp & DDP_TAGGED))
		iwarp_fault(iw, TERM_RDMAP_OPCODE, "unexpected RDMAP opcode %u (%stagged)", op,
			c->ddp & DDP_TAGGED ? "" : "un");
	else if (get_be16(c->len) + MPA_LEN_SIZE < head)
		iwarp_fault(iw, TERM_MPA_FRAME, "FPDU of %u bytes is too short for its header",
			get_be16(c->len));
	else
		return head;
	return 0;
}

/* Parse a header from the stage. False: more bytes are needed, or the session has ended. */
static bool parse_head(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	const struct ddp_common *c = (const void *)(rx->stage + rx->at);
	uint32_t staged = rx->end - rx->at, len;

	if (staged < sizeof(*c))
		return false;
	rx->head_len = 0;
	/* RFC 6581 section 9.2: the first FPDU may be empty, to signal that the initiator is
	 * ready. */
	if (rx->first && !get_be16(c->len)) {
		len = sizeof(*c);
	} else {
		len = check_common(iw, c);
		if (!len || staged < len)
			return false;
	}
	wire_copy(rx->head, c, len);
	rx->at += len;
	rx->crc = iw->crc ? crc32c(0, rx->head, len) : 0;
	rx->placed = 0;
	if (!get_be16(c->len)) {
		rx->remaining = rx->pad = 0;
		rx->step = DDP_RX_TAIL;
		return true;
	}
	rx->head_len = len;
	rx->remaining = get_be16(c->len) + MPA_LEN_SIZE - len;
	rx->pad = -(len + rx->remaining) & 3;
	if (c->ddp & DDP_TAGGED) { /* a large message's short last segment predicts nothing about
				      the next */
		rx->large = rx->remaining >= LARGE || (rx->large && rx->middle);
		rx->middle = !(c->ddp & DDP_LAST);
	}
	rx->step = DDP_RX_PAYLOAD;
	if (!begin_segment(iw))
		return false;
	rx->step = rx->remaining ? DDP_RX_PAYLOAD : DDP_RX_TAIL;
	return true;
}

static void placed(struct iwarp *iw, uint32_t bytes)
{
	struct ddp_rx *rx = &iw->rx;

	if (iw->crc)
		rx->crc = crc32c(rx->crc, rx->to, bytes);
	rx->to += bytes;
	rx->placed += bytes;
	rx->remaining -= bytes;
	if (!rx->remaining)
		rx->step = DDP_RX_TAIL;
}

static bool parse_payload(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	uint32_t bytes = rx->end - rx->at < rx->remaining ? rx->end - rx->at : rx->remaining;

	if (!bytes)
		return false;
	wire_copy(rx->to, rx->stage + rx->at, bytes);
	rx->at += bytes;
	placed(iw, bytes);
	return true;
}

static void message_in(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	const struct ddp_untagged *u = (const void *)rx->head;
	struct ep_rx *one = rx->rx;

	one->len = rx->mo;
	one->invalidated =
		rx->sending_op == RDMAP_SEND_INVAL || rx->sending_op == RDMAP_SEND_SE_INVAL;
	one->inval_rkey = one->invalidated ? get_be32(u->inval) : 0;
	if (one->invalidated && stag_invalidate(iw->stags, &iw->holds, one->inval_rkey)) {
		iwarp_fault(iw, TERM_RDMAP_INVALIDATE,
			"the peer invalidated STag %#x, which was not advertised to it",
			one->inval_rkey);
		return;
	}
	rx->rx = one->next;
	if (!rx->rx)
		rx->rx_end = &rx->rx;
	one->next = NULL;
	rx->sending = false;
	rx->mo = 0;
	rx->send_msn++;
	iw->touched = true;
	if (rx->at != rx->end)
		loop_work_add(iw->ep.loop, &iw->work); /* in case an upcall turns the loop */
	iw->ep.ev->recv(&iw->ep, one);
}

static void terminated(struct iwarp *iw)
{
	const struct rdmap_terminate *t = (const void *)iw->rx.head;
	unsigned term = (unsigned)t->layer_type << 8 | t->code;

	diag_set(iwarp_why(iw), DIAG_PROTOCOL, ECONNABORTED, "the peer ended the connection: %s",
		iwarp_term_text(term));
	iwarp_end(iw);
}

/* Handle a complete FPDU whose CRC is valid. */
static void segment_in(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	const struct ddp_common *c = (const void *)rx->head;
	bool last = c->ddp & DDP_LAST;

	switch ((enum rdmap_op)(c->rdmap & RDMAP_OP_MASK)) {
	case RDMAP_WRITE:
	case RDMAP_OPS:
		break;
	case RDMAP_READ_RESP:
		rx->read_off = last ? 0 : rx->read_off + rx->placed;
		if (last)
			ddp_tx_read_answered(iw);
		break;
	case RDMAP_SEND:
	case RDMAP_SEND_INVAL:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INVAL:
		rx->mo += rx->placed;
		if (last)
			message_in(iw);
		break;
	case RDMAP_READ_REQ:
		rx->read_msn++;
		if (!ddp_tx_respond(iw, (const void *)rx->head))
			iwarp_fault(iw, TERM_RDMAP_STREAM,
				"the peer exceeded the negotiated read depth of %u",
				iw->ep.caps.ird);
		break;
	case RDMAP_TERMINATE:
		terminated(iw);
		break;
	}
}

static bool parse_tail(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	const uint8_t *p = rx->stage + rx->at;
	uint32_t crc = rx->crc;
	le32 sum;

	if (rx->end - rx->at < rx->pad + MPA_CRC_SIZE)
		return false;
	memcpy(&sum, p + rx->pad, sizeof(sum));
	if (iw->crc && crc32c(crc, p, rx->pad) != get_le32(sum)) {
		rx->head_len = 0; /* the header itself may be corrupt */
		iwarp_fault(iw, TERM_MPA_CRC, "CRC-32C mismatch in an FPDU");
		return false;
	}
	rx->at += rx->pad + MPA_CRC_SIZE;
	rx->step = DDP_RX_HEAD;
	if (rx->first) {
		rx->first = iw->tx.hold = false;
		loop_work_add(iw->ep.loop, &iw->work);
	}
	if (rx->head_len)
		segment_in(iw);
	return true;
}

void ddp_rx_parse(struct iwarp *iw)
{
	const struct ddp_rx *rx = &iw->rx;

	while (iw->ep.state == EP_UP)
		if ((rx->step == DDP_RX_HEAD && !parse_head(iw)) ||
			(rx->step == DDP_RX_PAYLOAD && !parse_payload(iw)) ||
			(rx->step == DDP_RX_TAIL && !parse_tail(iw)))
			break;
}

void ddp_rx_ended(struct iwarp *iw, int err)
{
	const struct ddp_rx *rx = &iw->rx;

	if (err && err != ECONNRESET)
		diag_sys(iwarp_why(iw), err, "receive from the peer");
	else if (err)
		diag_set(iwarp_why(iw), DIAG_CLOSED, err, "connection reset by the peer");
	else
		diag_set(iwarp_why(iw), DIAG_CLOSED, ECONNRESET, "connection closed by the peer%s",
			rx->step != DDP_RX_HEAD || rx->end != rx->at || rx->sending
				? " in the middle of a message"
				: "");
	iwarp_end(iw);
}

bool ddp_rx_readable(struct iwarp *iw)
{
	struct ddp_rx *rx = &iw->rx;
	bool any = false;

	for (int round = 0; round < ROUNDS && iw->ep.state == EP_UP; round++) {
		struct iovec iov[2];
		size_t requested;
		ssize_t got;
		bool direct;

		ddp_rx_parse(iw);
		if (iw->ep.state != EP_UP)
			break;
		direct = rx->step == DDP_RX_PAYLOAD;
		memmove(rx->stage, rx->stage + rx->at, rx->end - rx->at);
		rx->end -= rx->at;
		rx->at = 0;
		iov[0] = (struct iovec){ rx->to, direct ? rx->remaining : 0 };
		iov[1] = (struct iovec){ rx->stage + rx->end,
			(rx->large ? STAGE_SMALL : DDP_RX_STAGE) - rx->end };
		requested = iov[0].iov_len + iov[1].iov_len;
		got = tcp_recv(iw->fd.fd, iov + !direct, 1 + direct);
		if (got <= 0) {
			if (got < 0 && errno == EINTR)
				continue;
			if (got && errno == EAGAIN)
				break;
			ddp_rx_ended(iw, got ? errno : 0);
			return true;
		}
		any = true;
		iw->moved += (uint64_t)got;
		if (direct) {
			uint32_t part = (size_t)got < rx->remaining ? (uint32_t)got : rx->remaining;
			placed(iw, part);
			rx->end += (uint32_t)got - part;
		} else {
			rx->end += (uint32_t)got;
		}
		ddp_rx_parse(iw);
		if ((size_t)got < requested)
			break;
	}
	return any;
}
