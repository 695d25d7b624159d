/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TCP carrier (TCP Transport Specification 1.1): PDUs over a stream, and checks that the
 * controller may send what it sends. */
#include "nvme.h"
#include "pdu.h"
#include "psk.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct nvme_tcp_slot {
	struct nvme_slot slot; /* first member; its sqe is in cmd */
	uint32_t moved;        /* bytes of data received, or assigned to H2CData PDUs */
	uint32_t left;         /* bytes of the current R2T without a PDU so far */
	uint16_t ttag;
	bool in_capsule; /* the write data is in the capsule */
	bool sending;    /* an H2CData PDU waits for `sent` */
	struct nvme_pdu_out cmd, h2c;
};

struct nvme_tcp {
	struct nvme_queue queue; /* first member */
	struct nvme_pdu_out icreq;
	struct loop_timer timer; /* until ICResp */
	unsigned offer, tries;   /* of conf->tls: the current one, how many were refused */
	bool securing;           /* the TLS handshake has not ended */
	struct diag refused;     /* the best reason for that */
	uint64_t deadline_ns;
	uint32_t max_h2c;
	bool greeted, closing;
	struct nvme_tcp_slot *filling; /* the slot whose data is being received */
	struct nvme_pdus pdus;
};

static void tcp_fail(struct nvme_tcp *tcp, enum diag_code code, int err, const char *text)
{
	if (tcp->closing)
		return;
	diag_set(&tcp->queue.why, code, err, "queue %u: %s", tcp->queue.qid, text);
	tcp->closing = true;
	stream_reset(tcp->pdus.stream);
}

static unsigned digests(const struct nvme_conf *conf)
{
	return (conf->hdr_digest ? NVME_TCP_DGST_HDR : 0) |
	       (conf->data_digest ? NVME_TCP_DGST_DATA : 0);
}

static void tcp_submit(struct nvme_queue *queue, struct nvme_slot *nvme)
{
	struct nvme_tcp *tcp = (struct nvme_tcp *)queue;
	struct nvme_tcp_slot *slot = (struct nvme_tcp_slot *)nvme;
	const struct nvme_data *data = &nvme->data;
	/* 3.3.2.1: the admin queue and Fabrics commands always accept 8 KiB. */
	uint32_t room = !queue->qid || nvme->sqe->opcode == NVME_FABRICS ? NVME_TCP_ADMIN_INCAP
									 : queue->incap;
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD };

	slot->in_capsule = data->out && data->len && data->len <= room;
	nvme_slot_describe(
		nvme, (struct nvme_sgl){ .block.len = put_le32(data->len),
			      .type = slot->in_capsule ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT });
	pdu.sqe = *nvme->sqe;
	pdu.data = slot->in_capsule ? data->len : 0;
	slot->moved = 0;
	slot->left = 0;
	slot->sending = false;
	nvme->flight.unsent = 1;
	nvme_pdu_send(&tcp->pdus, &slot->cmd, &pdu, data->p, false);
}

/* Send the next piece that the controller has requested. */
static void send_piece(struct nvme_tcp *tcp, struct nvme_tcp_slot *slot)
{
	uint32_t len = slot->left < tcp->max_h2c ? slot->left : tcp->max_h2c;
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_H2C_DATA,
		.flags = len == slot->left ? NVME_TCP_LAST : 0,
		.data = len,
		.xfer = { .cccid = slot->slot.flight.tag,
			.ttag = slot->ttag,
			.off = slot->moved,
			.len = len } };

	nvme_pdu_send(&tcp->pdus, &slot->h2c, &pdu, slot->slot.data.p + slot->moved, false);
	slot->moved += len;
	slot->left -= len;
	slot->sending = true;
	slot->slot.flight.unsent++;
}

static void handle_r2t(
	struct nvme_tcp *tcp, struct nvme_tcp_slot *slot, const struct nvme_tcp_pdu *pdu)
{
	uint32_t rest = slot->slot.data.len - slot->moved;

	if (!slot->slot.data.out || slot->in_capsule || slot->left || slot->sending) {
		tcp_fail(tcp, DIAG_PROTOCOL, EPROTO,
			"the controller requested data (R2T) unexpectedly");
		return;
	}
	if (pdu->xfer.off != slot->moved || !pdu->xfer.len || pdu->xfer.len > rest) {
		tcp_fail(tcp, DIAG_PROTOCOL, EPROTO,
			"the controller requested data (R2T) outside the command's buffer");
		return;
	}
	slot->ttag = pdu->xfer.ttag;
	slot->left = pdu->xfer.len;
	send_piece(tcp, slot);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct nvme_tcp *tcp = stream->user;
	struct nvme_queue *queue = &tcp->queue;
	struct nvme_tcp_slot *slot;
	size_t at = (size_t)((uint8_t *)out - queue->inflight.slots);

	if (tcp->closing || out == &tcp->icreq.out)
		return;
	slot = inflight_slot(&queue->inflight, (unsigned)(at / sizeof(*slot)));
	if (out == &slot->h2c.out) {
		slot->sending = false;
		if (slot->left)
			send_piece(tcp, slot);
	}
	if (inflight_sent(&slot->slot.flight)) {
		queue->reply(queue, &slot->slot);
		if (!tcp->closing)
			queue->ev->idle(queue);
	}
}

static void send_icreq(struct nvme_tcp *tcp)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ,
		.ic.dgst = (uint8_t)digests(tcp->queue.conf) };

	nvme_pdu_send(&tcp->pdus, &tcp->icreq, &pdu, NULL, false);
}

/* The offer that was accepted last comes first. */
static unsigned current_offer(const struct nvme_tcp *tcp)
{
	const struct nvme_tls *tls = tcp->queue.conf->tls;

	return (__atomic_load_n(&tls->last, __ATOMIC_RELAXED) + tcp->tries) % tls->offers;
}

static void up(struct stream *stream)
{
	struct nvme_tcp *tcp = stream->user;
	const struct nvme_tls *tls = tcp->queue.conf->tls;
	struct stream_tls with = { .creds = tls ? tls->creds[tcp->offer] : NULL };
	struct diag why = { 0 };

	tcp->queue.peer = stream->peer;
	snprintf(tcp->queue.route, sizeof(tcp->queue.route), "%s", stream->route);
	if (tcp->deadline_ns)
		loop_timer_set(tcp->queue.loop, &tcp->timer, tcp->deadline_ns);
	if (!with.creds) {
		send_icreq(tcp);
		return;
	}
	tcp->securing = true;
	if (stream_start_tls(stream, &with, &why))
		tcp_fail(tcp, why.code, why.err, why.text);
}

static void secured(struct stream *stream)
{
	struct nvme_tcp *tcp = stream->user;

	tcp->securing = false;
	if (tcp->closing)
		return;
	snprintf(tcp->queue.security, sizeof(tcp->queue.security), "%.79s", stream->security);
	__atomic_store_n(&tcp->queue.conf->tls->last, tcp->offer, __ATOMIC_RELAXED);
	send_icreq(tcp);
}

static void handle_icresp(struct nvme_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	unsigned requested = digests(tcp->queue.conf);

	if (pdu->ic.pfv)
		tcp_fail(tcp, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the controller uses an unsupported version of NVMe/TCP");
	else if (pdu->ic.pda > 31)
		tcp_fail(tcp, DIAG_PROTOCOL, EPROTO,
			"the controller requires an invalid data alignment (CPDA)");
	else if (pdu->ic.max < NVME_TCP_MIN_H2C)
		tcp_fail(tcp, DIAG_PROTOCOL, EPROTO,
			"the controller's data limit per PDU (MAXH2CDATA) is less than 4096 bytes");
	else if (requested & ~pdu->ic.dgst)
		tcp_fail(tcp, DIAG_UNSUPPORTED, ENOTSUP,
			"the controller does not support the requested digests");
	else if (pdu->ic.dgst & ~requested)
		tcp_fail(tcp, DIAG_PROTOCOL, EPROTO,
			"the controller enabled digests that were not requested");
	if (tcp->closing)
		return;
	tcp->pdus.dgst = requested;
	tcp->pdus.align = (pdu->ic.pda + 1u) * 4;
	tcp->max_h2c = pdu->ic.max & ~3u;
	tcp->greeted = true;
	loop_timer_del(tcp->queue.loop, &tcp->timer);
	tcp->queue.ev->up(&tcp->queue);
}

static void connect_timeout(struct loop_timer *timer)
{
	struct nvme_tcp *tcp = container_of(timer, struct nvme_tcp, timer);
	char at[ADDR_TEXT];

	if (tcp->securing) {
		tcp_fail(tcp, DIAG_TIMEOUT, ETIMEDOUT,
			"the controller did not finish the TLS handshake");
		return;
	}
	tcp_fail(tcp, DIAG_TIMEOUT, ETIMEDOUT,
		"no answer to the connection request (ICReq): is this an NVMe/TCP port?");
	diag_hint(&tcp->queue.why, HINT_OTHER_PROTOCOL, addr_text(&tcp->queue.peer, at));
}

static void hint_at_tls(struct nvme_tcp *tcp)
{
	diag_hint(&tcp->queue.why,
		tcp->queue.security[0] ? "is this an NVMe/TCP port?"
				       : "is this an NVMe/TCP port? One that requires TLS needs "
					 "tls-key-file=FILE");
}

static void broken(struct nvme_tcp *tcp, const char *text)
{
	bool first = !tcp->greeted && !tcp->closing;

	tcp_fail(tcp, DIAG_PROTOCOL, EPROTO, text);
	if (first)
		hint_at_tls(tcp);
}

static struct nvme_tcp_slot *find_slot(struct nvme_tcp *tcp, uint16_t cid)
{
	struct nvme_tcp_slot *slot = inflight_find(&tcp->queue.inflight, cid);

	if (!slot)
		broken(tcp, "PDU for a command that is not in flight");
	return slot;
}

static void handle_response(
	struct nvme_tcp *tcp, struct nvme_tcp_slot *slot, const struct nvme_cqe *cqe)
{
	bool good = !NVME_STATUS_CODE(get_le16(cqe->status) >> 1);

	if (good && slot->slot.data.len && !slot->in_capsule &&
		slot->moved != slot->slot.data.len) {
		broken(tcp, slot->slot.data.out
				    ? "the controller reported success of a write before it "
				      "had the data"
				    : "the controller reported success of a read before it "
				      "sent the data");
		return;
	}
	slot->slot.cqe = *cqe;
	if (inflight_replied(&slot->slot.flight))
		tcp->queue.reply(&tcp->queue, &slot->slot);
}

static void handle_c2h_data(struct nvme_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	struct nvme_tcp_slot *slot = find_slot(tcp, pdu->xfer.cccid);

	if (!slot)
		return;
	if (slot->slot.data.out || pdu->xfer.off != slot->moved ||
		pdu->data > slot->slot.data.len - slot->moved) {
		broken(tcp, "the controller sent data outside the command's buffer");
		return;
	}
	if (pdu->flags & NVME_TCP_SUCCESS && !(pdu->flags & NVME_TCP_LAST)) {
		broken(tcp, "the controller reported success before the last data");
		return;
	}
	tcp->filling = slot;
	nvme_pdu_data(&tcp->pdus, slot->slot.data.p + slot->moved);
}

static void dispatch_pdu(struct nvme_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	struct nvme_tcp_slot *slot;
	char text[160];

	if (!tcp->greeted && pdu->type != NVME_TCP_ICRESP && pdu->type != NVME_TCP_C2H_TERM) {
		broken(tcp, "the controller's first PDU is not an ICResp");
		return;
	}
	switch ((enum nvme_tcp_type)pdu->type) {
	case NVME_TCP_ICRESP:
		if (tcp->greeted)
			broken(tcp, "unexpected second ICResp");
		else
			handle_icresp(tcp, pdu);
		return;
	case NVME_TCP_C2H_TERM:
		nvme_pdu_term_text(text, sizeof(text), "controller", pdu);
		broken(tcp, text);
		return;
	case NVME_TCP_RSP:
		slot = find_slot(tcp, get_le16(pdu->cqe.cid));
		if (slot)
			handle_response(tcp, slot, &pdu->cqe);
		return;
	case NVME_TCP_C2H_DATA:
		handle_c2h_data(tcp, pdu);
		return;
	case NVME_TCP_R2T:
		slot = find_slot(tcp, pdu->xfer.cccid);
		if (slot)
			handle_r2t(tcp, slot, pdu);
		return;
	case NVME_TCP_ICREQ:
	case NVME_TCP_H2C_TERM:
	case NVME_TCP_CMD:
	case NVME_TCP_H2C_DATA:
		break;
	}
	broken(tcp, "the controller sent a PDU that only hosts may send");
}

static bool pdu_header(struct nvme_pdus *pdus)
{
	struct nvme_tcp *tcp = container_of(pdus, struct nvme_tcp, pdus);

	dispatch_pdu(tcp, &pdus->pdu);
	return !tcp->closing;
}

static bool pdu_data(struct nvme_pdus *pdus, bool good)
{
	struct nvme_tcp *tcp = container_of(pdus, struct nvme_tcp, pdus);
	struct nvme_tcp_slot *slot = tcp->filling;

	tcp->filling = NULL;
	if (!good) {
		broken(tcp, "data digest error");
		return false;
	}
	slot->moved += pdus->pdu.data;
	if (pdus->pdu.flags & NVME_TCP_SUCCESS) {
		const struct nvme_cqe cqe = { .sqhd = put_le16(NVME_SQHD_NONE),
			.cid = put_le16(pdus->pdu.xfer.cccid) };

		handle_response(tcp, slot, &cqe);
	}
	return !tcp->closing;
}

static void pdu_bad(struct nvme_pdus *pdus, uint16_t fes, uint32_t fei, const char *text)
{
	(void)fes, (void)fei;
	broken(container_of(pdus, struct nvme_tcp, pdus), text);
}

static const struct nvme_pdu_events pdu_events = { pdu_header, pdu_data, pdu_bad };

static void readable(struct stream *stream)
{
	struct nvme_tcp *tcp = stream->user;
	bool goes_on = nvme_pdu_receive(&tcp->pdus);

	if (tcp->closing)
		return;
	if (goes_on) {
		tcp->queue.ev->idle(&tcp->queue);
	} else {
		tcp->closing = true; /* the stream reports why */
		stream_close(stream);
	}
}

static int dial(struct nvme_tcp *tcp, struct diag *diag);

/* Connect again to offer another key. False: there is none, or what failed was not the handshake.
 */
static bool offer_next(struct nvme_tcp *tcp)
{
	struct stream *stream = tcp->pdus.stream;
	unsigned offers = tcp->queue.conf->tls ? tcp->queue.conf->tls->offers : 0;

	if (!tcp->securing || tcp->closing)
		return false;
	if (!tcp->tries || tcp->refused.code != DIAG_AUTH)
		tcp->refused = stream->why;
	tcp->tries++;
	if (tcp->tries == offers)
		return false;
	tcp->securing = false;
	stream_free(stream);
	tcp->pdus.stream = NULL;
	loop_timer_del(tcp->queue.loop, &tcp->timer);
	dial(tcp, &tcp->queue.why);
	return !tcp->queue.why.err;
}

/* All keys were refused, or the controller has closed each connection without a word. */
static void explain_refusal(struct nvme_tcp *tcp)
{
	const struct diag *refused = &tcp->refused;
	struct diag *why = &tcp->queue.why;

	if (refused->code == DIAG_CLOSED)
		diag_set(why, DIAG_CLOSED, ECONNRESET,
			"queue %u: the controller closed the connection during the TLS handshake: "
			"it refuses the key, or does not use TLS",
			tcp->queue.qid);
	else
		diag_set(why, refused->code, refused->err, "queue %u: %s", tcp->queue.qid,
			refused->text);
	if (tcp->queue.conf->concat && tcp->queue.conf->secret[1])
		diag_hint(why,
			"Linux' target forgets the generated key if it authenticates itself: "
			"omit dhchap-ctrl-secret-file=");
	else if (tcp->queue.conf->concat)
		diag_hint(why, "the key was generated by authentication, and targets keep it for "
			       "an hour at most: connecting again makes a new one");
	else
		diag_hint(why,
			"compare what both ends print: rdmastor nvme check-tls-key -f FILE "
			"-n HOSTNQN -c %s",
			tcp->queue.conf->subnqn);
}

static void down(struct stream *stream)
{
	struct nvme_tcp *tcp = stream->user;

	if (offer_next(tcp))
		return;
	if (!tcp->queue.why.err && tcp->securing && !tcp->closing)
		explain_refusal(tcp);
	if (!tcp->queue.why.err) {
		tcp->queue.why = stream->why;
		if (!tcp->greeted && stream->why.code == DIAG_CLOSED)
			hint_at_tls(tcp);
	}
	tcp->closing = true;
	loop_timer_del(tcp->queue.loop, &tcp->timer);
	tcp->queue.ev->down(&tcp->queue);
}

static const struct stream_events events = {
	.up = up, .readable = readable, .sent = sent, .down = down, .secured = secured
};

static int dial(struct nvme_tcp *tcp, struct diag *diag)
{
	const struct nvme_conf *conf = tcp->queue.conf;
	uint64_t now = loop_clock();
	const struct stream_dial dial = { .dst = conf->dst,
		.src = conf->src,
		.iface = conf->iface[0] ? conf->iface : NULL,
		.tos = conf->tos,
		.timeout_ms = !tcp->deadline_ns ? 0
			      : tcp->deadline_ns <= now
				      ? 1
				      : (uint32_t)((tcp->deadline_ns - now) / MSEC) + 1 };
	int err;

	if (conf->tls)
		tcp->offer = current_offer(tcp);
	err = stream_dial(&tcp->pdus.stream, tcp->queue.loop, &dial, &events, tcp, diag);
	if (err)
		tcp->pdus.stream = NULL;
	return err;
}

static void tcp_free(struct nvme_queue *queue)
{
	struct nvme_tcp *tcp = (struct nvme_tcp *)queue;

	loop_timer_del(queue->loop, &tcp->timer);
	if (tcp->pdus.stream)
		stream_free(tcp->pdus.stream);
	inflight_fini(&queue->inflight);
	free(tcp);
}

static int tcp_open(struct nvme_queue **out, struct loop *loop, const struct nvme_conf *conf,
	uint16_t qid, uint16_t depth, uint32_t timeout_ms, const struct nvme_queue_events *ev,
	void *user, struct diag *diag)
{
	struct nvme_tcp *tcp = calloc(1, sizeof(*tcp));
	int err;

	if (!tcp)
		return diag_sys(diag, ENOMEM, "queue %u", qid);
	tcp->queue = (struct nvme_queue){ .carrier = &nvme_tcp,
		.ev = ev,
		.conf = conf,
		.loop = loop,
		.user = user,
		.qid = qid,
		.depth = depth };
	nvme_pdu_init(&tcp->pdus, &pdu_events);
	tcp->timer.fire = connect_timeout;
	tcp->deadline_ns = timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
	err = inflight_init(
		&tcp->queue.inflight, loop, depth - 1, sizeof(struct nvme_tcp_slot), NULL, diag);
	for (unsigned i = 0; !err && i < depth - 1u; i++) {
		struct nvme_tcp_slot *slot = inflight_slot(&tcp->queue.inflight, i);

		slot->slot.sqe = &((struct nvme_tcp_cmd *)(void *)slot->cmd.head)->sqe;
	}
	if (!err)
		err = dial(tcp, diag);
	if (err) {
		tcp_free(&tcp->queue);
		return err;
	}
	*out = &tcp->queue;
	return 0;
}

/* If commands are in flight, reset the connection, so that they do not arrive later. */
static void tcp_close(struct nvme_queue *queue)
{
	struct nvme_tcp *tcp = (struct nvme_tcp *)queue;

	if (tcp->closing)
		return;
	tcp->closing = true;
	if (queue->inflight.used)
		stream_reset(tcp->pdus.stream);
	else
		stream_close(tcp->pdus.stream);
}

const struct nvme_carrier nvme_tcp = {
	.name = "tcp",
	.trtype = NVMF_TRTYPE_TCP,
	.open = tcp_open,
	.submit = tcp_submit,
	.close = tcp_close,
	.free = tcp_free,
};
