/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sending half of software iWARP: cut ops and read responses into DDP segments, each an FPDU.
 * As many FPDUs as fit are laid out (headers, trailers and short messages copied to `wire`, other
 * payload in place) and sent with one sendmsg(). */
#include "crc32c.h"
#include "iwarp.h"
#include "min.h"
#include "tcp.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define BATCH_BYTES (1024 * 1024) /* per layout */
#define WIRE        65536         /* headers, trailers and short messages per sendmsg */
#define SHORT       8192          /* up to this length copying is cheaper than sending in place */
#define ROUNDS      16            /* sendmsgs per turn, to leave time for other events */
#define TRAILER     (3 + MPA_CRC_SIZE)

struct message { /* the message being cut into segments */
	uint8_t op, nsge;
	uint32_t len, msn, inval;
	uint32_t stag; /* of tagged messages */
	uint64_t to, sink_to;
	const struct ep_sge *sge;
	struct ep_sge one;
};

static uint32_t pow2_over(uint32_t n)
{
	uint32_t p = 1;
	while (p < n)
		p *= 2;
	return p;
}

int ddp_tx_init(struct iwarp *iw, struct diag *diag)
{
	struct ddp_tx *tx = &iw->tx;
	/* Room to spare for unsignaled ops: their owner gets them back with the peer's answer,
	 * possibly before ops posted earlier are done. */
	uint32_t size = pow2_over(iw->ep.caps.send * 2 + 16),
		 responses = pow2_over(iw->ep.caps.ird + 1);

	tx->ring = calloc(size, sizeof(*tx->ring));
	tx->response = calloc(responses, sizeof(*tx->response));
	tx->spill = iw->ep.caps.inline_max ? malloc((size_t)size * iw->ep.caps.inline_max) : NULL;
	tx->wire = malloc(WIRE);
	if (!tx->ring || !tx->response || !tx->wire || (iw->ep.caps.inline_max && !tx->spill))
		return diag_sys(diag, ENOMEM, "send queue");
	tx->mask = size - 1;
	tx->response_mask = responses - 1;
	tx->send_msn = tx->read_msn = 1;
	return 0;
}

void ddp_tx_fini(struct iwarp *iw)
{
	free(iw->tx.ring);
	free(iw->tx.response);
	free(iw->tx.spill);
	free(iw->tx.wire);
	iw->tx.ring = NULL;
	iw->tx.response = NULL;
	iw->tx.spill = NULL;
	iw->tx.wire = NULL;
}

static struct ddp_entry *entry(struct ddp_tx *tx, uint32_t at)
{
	return &tx->ring[at & tx->mask];
}

static void spill(struct iwarp *iw, struct ddp_entry *e, uint32_t at)
{
	uint8_t *to = iw->tx.spill + (size_t)(at & iw->tx.mask) * iw->ep.caps.inline_max, *p = to;

	for (unsigned i = 0; i < e->nsge; i++) {
		wire_copy(p, e->sge[i].p, e->sge[i].len);
		p += e->sge[i].len;
	}
	e->nsge = 1;
	e->sge[0] = (struct ep_sge){ .p = to, .len = e->len };
}

static bool add(struct iwarp *iw, const struct ep_op *op, struct ep_op *signaled)
{
	struct ddp_tx *tx = &iw->tx;
	struct ddp_entry *e;
	uint64_t len = 0;

	if (tx->tail - tx->head > tx->mask)
		return false;
	e = entry(tx, tx->tail);
	*e = (struct ddp_entry){ .op = signaled,
		.end = UINT64_MAX,
		.raddr = op->raddr,
		.rkey = op->rkey,
		.kind = op->kind,
		.nsge = op->nsge,
		.in_line = op->flags & EP_INLINE };
	for (unsigned i = 0; i < op->nsge; i++) {
		e->sge[i] = op->sge[i];
		len += op->sge[i].len;
	}
	if (len > iw->ep.caps.max_msg || op->nsge > EP_SGE ||
		(op->kind == EP_READ && op->nsge > 1) ||
		(e->in_line && len > iw->ep.caps.inline_max))
		return false;
	e->len = (uint32_t)len;
	if (op->kind == EP_READ && op->nsge)
		e->sink_to = stag_offset(iw->stags, op->sge[0].lkey, op->sge[0].p);
	if (e->in_line)
		spill(iw, e, tx->tail);
	tx->tail++;
	return true;
}

void ddp_tx_post(struct iwarp *iw, struct ep_op *chain)
{
	while (chain) {
		struct ep_op *op = chain;
		chain = op->next;
		if (!add(iw, op, op->flags & EP_UNSIGNALED ? NULL : op)) {
			diag_set(iwarp_why(iw), DIAG_PROTOCOL, ENOSPC,
				"more requests were posted than the send queue holds");
			iwarp_close(&iw->ep);
			return;
		}
	}
	loop_work_add(iw->ep.loop, &iw->work);
}

void ddp_tx_internal(struct iwarp *iw, uint8_t kind)
{
	/* Some adapters treat STag 0 as special (Linux siw sends 1 here, too). */
	if (add(iw, &(struct ep_op){ .kind = kind, .rkey = 1 }, NULL))
		loop_work_add(iw->ep.loop, &iw->work);
}

bool ddp_tx_respond(struct iwarp *iw, const struct rdmap_read_req *req)
{
	struct ddp_tx *tx = &iw->tx;
	struct ddp_response *response = &tx->response[tx->response_tail & tx->response_mask];

	if (tx->response_tail - tx->response_head >= iw->ep.caps.ird)
		return false;
	*response =
		(struct ddp_response){ UINT64_MAX, get_be64(req->sink_to), get_be64(req->source_to),
			get_be32(req->sink_stag), get_be32(req->source_stag), get_be32(req->len) };
	tx->response_tail++;
	loop_work_add(iw->ep.loop, &iw->work);
	return true;
}

bool ddp_tx_uses(const struct iwarp *iw, uint32_t stag)
{
	const struct ddp_tx *tx = &iw->tx;

	for (uint32_t i = tx->response_head; i != tx->response_tail; i++)
		if (tx->response[i & tx->response_mask].len &&
			tx->response[i & tx->response_mask].source_stag == stag)
			return true;
	return false;
}

struct ddp_entry *ddp_tx_oldest_read(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;

	if (!tx->reads)
		return NULL;
	while (entry(tx, tx->read_at)->kind != EP_READ || entry(tx, tx->read_at)->answered)
		tx->read_at++;
	return entry(tx, tx->read_at);
}

/* Report completed operations in post order. */
static void retire(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;

	while (tx->response_head != tx->response_next &&
		tx->response[tx->response_head & tx->response_mask].end <= tx->sent)
		tx->response_head++;
	while (iw->ep.state == EP_UP && tx->head != tx->next) {
		struct ddp_entry *e = entry(tx, tx->head);
		if (e->end > tx->sent || (e->kind == EP_READ && !e->answered))
			return;
		tx->head++;
		if (!e->op)
			continue;
		iw->touched = true;
		iw->ep.ev->sent(&iw->ep, e->op);
	}
}

void ddp_tx_read_answered(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;

	entry(tx, tx->read_at++)->answered = true;
	tx->reads--;
	loop_work_add(iw->ep.loop, &iw->work);
	retire(iw);
}

/* Add the bytes of the wire area that no iovec covers yet. */
static void cover(struct ddp_tx *tx, uint32_t *from)
{
	if (*from == tx->wire_used)
		return;
	tx->iov[tx->iov_count++] = (struct iovec){ tx->wire + *from, tx->wire_used - *from };
	*from = tx->wire_used;
}

static uint8_t *wire(struct ddp_tx *tx, uint32_t len)
{
	uint8_t *p = tx->wire + tx->wire_used;

	tx->wire_used += len;
	return p;
}

static uint32_t payload(struct iwarp *iw, const struct message *m, uint32_t off, uint32_t len,
	uint32_t *covered, uint32_t crc)
{
	struct ddp_tx *tx = &iw->tx;

	for (unsigned i = 0; len; i++) {
		uint32_t part = m->sge[i].len;
		uint8_t *p = m->sge[i].p;
		if (off >= part) {
			off -= part;
			continue;
		}
		p += off;
		part -= off;
		off = 0;
		part = part < len ? part : len;
		if (m->len <= SHORT) {
			uint8_t *to = wire(tx, part);
			wire_copy(to, p, part);
			p = to; /* the source may change before the CRC is computed, the copy may
				   not */
		} else {
			cover(tx, covered);
			tx->iov[tx->iov_count++] = (struct iovec){ p, part };
		}
		if (iw->crc)
			crc = crc32c(crc, p, part);
		len -= part;
	}
	return crc;
}

static void head_put(
	uint8_t *p, const struct message *m, uint32_t head, uint32_t off, uint32_t len, bool last)
{
	bool tagged = m->op == RDMAP_WRITE || m->op == RDMAP_READ_RESP;
	struct ddp_common c = { put_be16((uint16_t)(head - MPA_LEN_SIZE + len)),
		(uint8_t)((tagged ? DDP_TAGGED : 0) | (last ? DDP_LAST : 0) | DDP_VERSION),
		RDMAP_VERSION | m->op };

	if (tagged) {
		struct ddp_tagged t = { c, put_be32(m->stag), put_be64(m->to + off) };
		memcpy(p, &t, sizeof(t));
	} else {
		struct ddp_untagged u = { c, put_be32(m->inval),
			put_be32(m->op == RDMAP_READ_REQ ? DDP_QN_READ : DDP_QN_SEND),
			put_be32(m->msn), put_be32(off) };
		memcpy(p, &u, sizeof(u));
	}
}

static void trailer(struct iwarp *iw, uint32_t len, uint32_t crc)
{
	struct ddp_tx *tx = &iw->tx;
	uint32_t pad = -len & 3;
	uint8_t *p = wire(tx, pad + MPA_CRC_SIZE);
	le32 sum;

	if (pad) {
		memset(p, 0, pad);
		crc = iw->crc ? crc32c(crc, p, pad) : 0;
	}
	sum = put_le32(iw->crc ? crc : 0);
	memcpy(p + pad, &sum, sizeof(sum));
	tx->built += len + pad + MPA_CRC_SIZE;
}

/* Payload of the next FPDU of a message of that length. */
static uint32_t segment_len(const struct ddp_tx *tx, uint8_t op, uint32_t len)
{
	uint32_t most = (tx->ulpdu + MPA_LEN_SIZE - ddp_head_len(op)) & ~3u;

	return op == RDMAP_READ_REQ ? 0 : min_u32(len - tx->off, most);
}

/* Lay out one FPDU of the message, from tx->off. Returns whether it was the last. */
static bool segment(struct iwarp *iw, const struct message *m, uint32_t *covered)
{
	struct ddp_tx *tx = &iw->tx;
	uint32_t head = ddp_head_len(m->op), len = segment_len(tx, m->op, m->len), crc = 0;
	uint8_t *p = wire(tx, head);
	bool last;

	last = m->op == RDMAP_READ_REQ || tx->off + len == m->len;
	head_put(p, m, head, tx->off, len, last);
	if (m->op == RDMAP_READ_REQ) {
		struct rdmap_read_req *r = (void *)p;
		r->sink_stag = put_be32(m->sge ? m->sge->lkey : 1);
		r->sink_to = put_be64(m->sink_to);
		r->len = put_be32(m->len);
		r->source_stag = put_be32(m->stag);
		r->source_to = put_be64(m->to);
	}
	if (iw->crc)
		crc = crc32c(0, p, head);
	crc = payload(iw, m, tx->off, len, covered, crc);
	trailer(iw, head + len, crc);
	tx->off = last ? 0 : tx->off + len;
	return last;
}

/* Whether the next FPDU of a message of that length fits the layout, which has `batch` bytes. Linux
 * siw (6.12) confuses the bytes of a trailer that comes in two TCP segments. */
static bool room(const struct ddp_tx *tx, uint64_t batch, uint8_t op, uint32_t len, unsigned nsge)
{
	uint32_t fpdu = ((ddp_head_len(op) + segment_len(tx, op, len) + 3) & ~3u) + MPA_CRC_SIZE;
	bool copy = len <= SHORT;

	if (tx->aligned && batch && fpdu > tx->mss - batch % tx->mss)
		return false;
	return tx->wire_used + sizeof(struct rdmap_read_req) + (copy ? len : 0) + TRAILER <= WIRE &&
	       tx->iov_count + (copy ? 0 : 2 * nsge) + 2 <= DDP_TX_IOV;
}

static bool build_response(struct iwarp *iw, uint32_t *covered)
{
	struct ddp_tx *tx = &iw->tx;
	struct ddp_response *r = &tx->response[tx->response_next & tx->response_mask];
	struct message m = { .op = RDMAP_READ_RESP,
		.nsge = 1,
		.len = r->len,
		.stag = r->sink_stag,
		.to = r->sink_to,
		.one.len = r->len };
	uint8_t *p = NULL;

	/* The memory may have been unregistered since the request. */
	if (r->len && stag_find(iw->stags, &iw->holds, r->source_stag, r->source_to, r->len,
			      EP_REMOTE_READ, &p)) {
		/* drop the unsent layout, so that the stream ends between FPDUs */
		tx->iov_at = tx->iov_count = 0;
		iwarp_fault(iw, TERM_RDMAP_STAG, "the peer reads memory that was released");
		return false;
	}
	m.one.p = p;
	m.sge = &m.one;
	tx->answering = !segment(iw, &m, covered);
	if (tx->answering)
		return true;
	r->end = tx->built;
	tx->response_next++;
	tx->response_turn = false;
	return true;
}

static uint8_t rdmap_op(uint8_t kind)
{
	static const uint8_t ops[] = { [EP_SEND] = RDMAP_SEND,
		[EP_SEND_INVAL] = RDMAP_SEND_INVAL,
		[EP_WRITE] = RDMAP_WRITE,
		[EP_READ] = RDMAP_READ_REQ };

	return ops[kind];
}

static void build_op(struct iwarp *iw, uint32_t *covered)
{
	struct ddp_tx *tx = &iw->tx;
	struct ddp_entry *e = entry(tx, tx->next);
	struct message m = { .op = rdmap_op(e->kind),
		.nsge = e->nsge,
		.len = e->len,
		.sge = e->nsge ? e->sge : NULL,
		.stag = e->rkey,
		.to = e->raddr,
		.sink_to = e->sink_to };

	if (!tx->off)
		e->msn = e->kind == EP_READ    ? tx->read_msn++
			 : e->kind == EP_WRITE ? 0
					       : tx->send_msn++;
	m.msn = e->msn;
	m.inval = e->kind == EP_SEND_INVAL ? e->rkey : 0;
	if (!segment(iw, &m, covered))
		return;
	e->end = tx->built;
	if (e->kind == EP_READ && !tx->reads++)
		tx->read_at = tx->next;
	tx->next++;
	tx->response_turn = true;
}

/* Whether the next op may start: a read waits until the peer can serve one more. */
static bool op_ready(const struct iwarp *iw)
{
	const struct ddp_tx *tx = &iw->tx;

	if (tx->next == tx->tail)
		return false;
	return tx->off || tx->ring[tx->next & tx->mask].kind != EP_READ ||
	       tx->reads < iw->ep.caps.ord || !tx->reads;
}

/* Lay out the next batch; false if there is nothing to send. Responses and ops alternate, message
 * by message. */
static bool build(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;
	uint64_t start = tx->built, batch;
	uint32_t covered = 0;

	tx->iov_at = tx->iov_count = 0;
	tx->wire_used = 0;
	if (tx->aligned) {
		tx->mss = iwarp_mss(iw);
		tx->ulpdu = mpa_ulpdu(tx->mss, false);
	}
	while ((batch = tx->built - start) < BATCH_BYTES) {
		bool response = tx->response_next != tx->response_tail, op = op_ready(iw);
		const struct ddp_entry *e = entry(tx, tx->next);
		if (tx->off ? tx->answering : response && (tx->response_turn || !op)) {
			if (!room(tx, batch, RDMAP_READ_RESP,
				    tx->response[tx->response_next & tx->response_mask].len, 1))
				break;
			if (!build_response(iw, &covered))
				return false;
		} else if (op) {
			if (!room(tx, batch, rdmap_op(e->kind), e->len, e->nsge))
				break;
			build_op(iw, &covered);
		} else {
			break;
		}
	}
	cover(tx, &covered);
	return tx->iov_count;
}

static ssize_t send_batch(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;

	return tcp_send(iw->fd.fd, tx->iov + tx->iov_at, tx->iov_count - tx->iov_at,
		tx->aligned ? MSG_EOR : 0);
}

static void advance(struct ddp_tx *tx, size_t bytes)
{
	tx->sent += bytes;
	while (tx->iov_at < tx->iov_count && bytes >= tx->iov[tx->iov_at].iov_len)
		bytes -= tx->iov[tx->iov_at++].iov_len;
	if (bytes) {
		tx->iov[tx->iov_at].iov_base = (uint8_t *)tx->iov[tx->iov_at].iov_base + bytes;
		tx->iov[tx->iov_at].iov_len -= bytes;
	}
}

static void wait_room(struct iwarp *iw)
{
	iw->tx.blocked = true;
	loop_fd_change(iw->ep.loop, &iw->fd, EPOLLIN | EPOLLOUT);
}

void ddp_tx_flush(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;

	if (tx->turn != loop_now(iw->ep.loop))
		tx->rounds = 0;
	tx->turn = loop_now(iw->ep.loop);
	while (iw->ep.state == EP_UP && !tx->hold && !tx->blocked) {
		ssize_t bytes;

		if (tx->iov_at == tx->iov_count && !build(iw))
			return;
		if (tx->rounds++ == ROUNDS) {
			wait_room(iw);
			return;
		}
		bytes = send_batch(iw);
		if (bytes >= 0) {
			iw->moved += (uint64_t)bytes;
			advance(tx, (size_t)bytes);
			retire(iw);
		} else if (errno == EAGAIN) {
			wait_room(iw);
		} else if (errno != EINTR) {
			int err = errno;
			if (err == EPIPE || err == ECONNRESET)
				diag_set(iwarp_why(iw), DIAG_CLOSED, ECONNRESET,
					"connection reset by the peer");
			else
				diag_sys(iwarp_why(iw), err, "send to the peer");
			iwarp_end(iw);
		}
	}
}

void ddp_tx_last(struct iwarp *iw)
{
	struct ddp_tx *tx = &iw->tx;
	ssize_t bytes;

	if (tx->hold)
		return;
	while (tx->iov_at < tx->iov_count || build(iw)) {
		bytes = send_batch(iw);
		if (bytes <= 0)
			return;
		advance(tx, (size_t)bytes);
	}
}

/* Best effort, and only between FPDUs: in the middle of one the peer could not parse it. */
void ddp_tx_terminate(struct iwarp *iw, unsigned term, const uint8_t *culprit, uint32_t culprit_len)
{
	uint8_t buf[sizeof(struct rdmap_terminate) + MPA_LEN_SIZE + sizeof(struct rdmap_read_req) +
		    TRAILER];
	struct ddp_tx *tx = &iw->tx;
	struct rdmap_terminate t = {
		.u = { .c = { .ddp = DDP_LAST | DDP_VERSION,
			       .rdmap = RDMAP_VERSION | RDMAP_TERMINATE },
			.qn = put_be32(DDP_QN_TERMINATE),
			.msn = put_be32(1) },
		.layer_type = (uint8_t)(term >> 8),
		.code = (uint8_t)term,
		.which = culprit_len ? TERM_LEN | TERM_DDP |
					       (culprit_len == sizeof(struct rdmap_read_req)
							       ? TERM_RDMAP
							       : 0)
				     : 0,
	};
	uint32_t len = sizeof(t) + culprit_len;
	le32 sum;

	if (tx->iov_at != tx->iov_count || tx->hold)
		return;
	t.u.c.len = put_be16((uint16_t)(len - MPA_LEN_SIZE));
	memcpy(buf, &t, sizeof(t));
	if (culprit_len)
		/* the culprit begins with the segment's length */
		memcpy(buf + sizeof(t), culprit, culprit_len);
	memset(buf + len, 0, -len & 3);
	len += -len & 3;
	sum = put_le32(iw->crc ? crc32c(0, buf, len) : 0);
	memcpy(buf + len, &sum, sizeof(sum));
	send(iw->fd.fd, buf, len + sizeof(sum), MSG_NOSIGNAL | MSG_DONTWAIT);
}
