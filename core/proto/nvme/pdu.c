/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe/TCP PDUs on a stream, for both ends (TCP Transport Specification 1.1): lay them out for
 * sending, and check those that the cutter finds. */
#include "pdu.h"
#include "crc32c.h"
#include <stdio.h>

void nvme_pdu_send(struct nvme_pdus *pdus, struct nvme_pdu_out *out, struct nvme_tcp_pdu *pdu,
	uint8_t *data, bool quiet)
{
	unsigned before = nvme_tcp_put(out->head, pdu, pdus->dgst, pdus->align);

	if (pdu->flags & NVME_TCP_HDGST)
		*(le32 *)(void *)(out->head + pdu->hlen) =
			put_le32(crc32c(0, out->head, pdu->hlen));
	out->out = (struct stream_out){
		.niov = 1, .iov = { { out->head, before } }, .unsignaled = quiet
	};
	if (pdu->data)
		out->out.iov[out->out.niov++] = (struct iovec){ data, pdu->data };
	if (pdu->data && pdu->flags & NVME_TCP_DDGST) {
		out->ddgst = put_le32(crc32c(0, data, pdu->data));
		out->out.iov[out->out.niov++] = (struct iovec){ &out->ddgst, sizeof(out->ddgst) };
	}
	stream_send(pdus->stream, &out->out);
}

void nvme_pdu_data(struct nvme_pdus *pdus, uint8_t *to)
{
	const struct nvme_tcp_pdu *pdu = &pdus->pdu;

	pdus->crc = 0;
	cutter_skip(&pdus->cutter,
		pdu->pdo - pdu->hlen - (pdu->flags & NVME_TCP_HDGST ? NVME_TCP_DIGEST : 0));
	cutter_payload(&pdus->cutter, to, pdu->data);
}

void nvme_pdu_term_text(char *text, size_t size, const char *sender, const struct nvme_tcp_pdu *pdu)
{
	snprintf(text, size, "the %s terminated the connection: %s (%u, field %u)", sender,
		nvme_tcp_fes_text(pdu->term.fes), pdu->term.fes, pdu->term.fei);
}

static int bad(struct nvme_pdus *pdus, uint16_t fes, uint32_t fei, const char *text)
{
	pdus->closed = true;
	pdus->ev->bad(pdus, fes, fei, text);
	return CUTTER_STOP;
}

static int wrong(struct nvme_pdus *pdus, const uint8_t *p, uint32_t len)
{
	struct diag why = { 0 };

	nvme_tcp_get(&pdus->pdu, p, len, pdus->dgst, &why);
	return bad(pdus, NVME_TCP_FES_HEADER, 1, why.text);
}

static bool digest_is(const uint8_t *p, uint32_t crc)
{
	return get_le32(*(const le32 *)(const void *)p) == crc;
}

static int parse_header(struct nvme_pdus *pdus, const uint8_t *p, uint32_t have)
{
	uint32_t len, whole;

	if (have < sizeof(struct nvme_tcp_head))
		return 0;
	len = nvme_tcp_hlen(p[0]);
	if (!len || p[2] != len)
		return bad(pdus, NVME_TCP_FES_HEADER, len ? 2 : 0, "not an NVMe/TCP PDU");
	whole = len +
		(pdus->dgst & NVME_TCP_DGST_HDR && p[1] & NVME_TCP_HDGST ? NVME_TCP_DIGEST : 0);
	if (have < whole)
		return 0;
	if (whole > len && !digest_is(p + len, crc32c(0, p, len)))
		return bad(pdus, NVME_TCP_FES_HDGST, crc32c(0, p, len), "header digest error");
	if (nvme_tcp_get(&pdus->pdu, p, len, pdus->dgst, NULL))
		return wrong(pdus, p, len);
	pdus->closed |= !pdus->ev->header(pdus);
	return pdus->closed ? CUTTER_STOP : (int)whole;
}

static bool data_ended(struct nvme_pdus *pdus, bool good)
{
	pdus->closed |= !pdus->ev->data(pdus, good);
	return !pdus->closed;
}

static int check_ddgst(struct nvme_pdus *pdus, const uint8_t *p, uint32_t have)
{
	if (have < NVME_TCP_DIGEST)
		return 0;
	pdus->trailer = false;
	return data_ended(pdus, digest_is(p, pdus->crc)) ? NVME_TCP_DIGEST : CUTTER_STOP;
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct nvme_pdus *pdus = container_of(cutter, struct nvme_pdus, cutter);

	return pdus->trailer ? check_ddgst(pdus, p, have) : parse_header(pdus, p, have);
}

static bool payload(struct cutter *cutter)
{
	struct nvme_pdus *pdus = container_of(cutter, struct nvme_pdus, cutter);

	if (!(pdus->dgst & NVME_TCP_DGST_DATA))
		return data_ended(pdus, true);
	pdus->trailer = true;
	return true;
}

static void landed(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	struct nvme_pdus *pdus = container_of(cutter, struct nvme_pdus, cutter);

	if (pdus->dgst & NVME_TCP_DGST_DATA)
		pdus->crc = crc32c(pdus->crc, p, len);
}

void nvme_pdu_init(struct nvme_pdus *pdus, const struct nvme_pdu_events *ev)
{
	static const struct cutter_events events = { part, payload, landed };

	pdus->ev = ev;
	pdus->align = 4;
	cutter_init(&pdus->cutter, &events, pdus->staging, sizeof(pdus->staging));
}

bool nvme_pdu_receive(struct nvme_pdus *pdus)
{
	return pdus->closed || !cutter_receive(&pdus->cutter, pdus->stream);
}
