/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the controller says over NVMe/TCP: whether it may, and what follows from it. */
#include "tcp.h"
#include <errno.h>

static void broken(struct nvme_tcp *tcp, const char *text)
{
	nvme_tcp_fail(tcp, DIAG_PROTOCOL, EPROTO, text);
}

static struct nvme_tcp_slot *find_slot(struct nvme_tcp *tcp, uint16_t cid)
{
	struct nvme_tcp_slot *slot = inflight_find(&tcp->queue.inflight, cid);

	if (!slot)
		broken(tcp, "PDU for a command that is not in flight");
	return slot;
}

static void reply(struct nvme_tcp *tcp, struct nvme_tcp_slot *slot, const struct nvme_cqe *cqe)
{
	bool good = !NVME_STATUS_CODE(get_le16(cqe->status) >> 1);

	if (good && slot->slot.data.len && !slot->inside && slot->moved != slot->slot.data.len) {
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

static void terminated(struct nvme_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	char text[160];

	nvme_pdu_term_text(text, sizeof(text), "controller", pdu);
	broken(tcp, text);
}

static void data_begins(struct nvme_tcp *tcp, const struct nvme_tcp_pdu *pdu)
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

static void act_on(struct nvme_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	struct nvme_tcp_slot *slot;

	if (!tcp->greeted && pdu->type != NVME_TCP_ICRESP && pdu->type != NVME_TCP_C2H_TERM) {
		broken(tcp, "the controller's first PDU is not an ICResp");
		return;
	}
	switch ((enum nvme_tcp_type)pdu->type) {
	case NVME_TCP_ICRESP:
		if (tcp->greeted)
			broken(tcp, "unexpected second ICResp");
		else
			nvme_tcp_greeted(tcp, pdu);
		return;
	case NVME_TCP_C2H_TERM:
		terminated(tcp, pdu);
		return;
	case NVME_TCP_RSP:
		slot = find_slot(tcp, get_le16(pdu->cqe.cid));
		if (slot)
			reply(tcp, slot, &pdu->cqe);
		return;
	case NVME_TCP_C2H_DATA:
		data_begins(tcp, pdu);
		return;
	case NVME_TCP_R2T:
		slot = find_slot(tcp, pdu->xfer.cccid);
		if (slot)
			nvme_tcp_ready_for(tcp, slot, pdu);
		return;
	case NVME_TCP_ICREQ:
	case NVME_TCP_H2C_TERM:
	case NVME_TCP_CMD:
	case NVME_TCP_H2C_DATA:
		break;
	}
	broken(tcp, "the controller sent a PDU that only hosts may send");
}

static bool header(struct nvme_pdus *pdus)
{
	struct nvme_tcp *tcp = container_of(pdus, struct nvme_tcp, pdus);

	act_on(tcp, &pdus->pdu);
	return !tcp->closing;
}

static bool data(struct nvme_pdus *pdus, bool good)
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

		reply(tcp, slot, &cqe);
	}
	return !tcp->closing;
}

static void bad(struct nvme_pdus *pdus, uint16_t fes, uint32_t fei, const char *text)
{
	(void)fes, (void)fei;
	broken(container_of(pdus, struct nvme_tcp, pdus), text);
}

const struct nvme_pdu_events nvme_tcp_pdu_events = { header, data, bad };

void nvme_tcp_readable(struct stream *stream)
{
	struct nvme_tcp *tcp = stream->user;
	bool goes_on = nvme_pdu_receive(&tcp->pdus);

	if (tcp->closing)
		return;
	if (goes_on) {
		tcp->queue.ev->idle(&tcp->queue);
	} else {
		tcp->closing = true; /* the stream knows why */
		stream_close(stream);
	}
}
