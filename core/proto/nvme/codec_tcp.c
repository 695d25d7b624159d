/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode and decode headers of NVMe/TCP PDUs (TCP Transport Specification 1.1, 3.6). The carrier
 * checks what the session allows, and the digests. */
#include "codec.h"
#include <errno.h>

enum { MAY_DATA = 1, MUST_DATA = 2, DIGESTS = 4 };

static const struct {
	uint8_t hlen, rules, flags;
} kind[] = {
	[NVME_TCP_ICREQ] = { 128, 0, 0 },
	[NVME_TCP_ICRESP] = { 128, 0, 0 },
	[NVME_TCP_H2C_TERM] = { 24, MAY_DATA, 0 },
	[NVME_TCP_C2H_TERM] = { 24, MAY_DATA, 0 },
	[NVME_TCP_CMD] = { 72, MAY_DATA | DIGESTS, 0 },
	[NVME_TCP_RSP] = { 24, DIGESTS, 0 },
	[NVME_TCP_H2C_DATA] = { 24, MUST_DATA | DIGESTS, NVME_TCP_LAST },
	[NVME_TCP_C2H_DATA] = { 24, MUST_DATA | DIGESTS, NVME_TCP_LAST | NVME_TCP_SUCCESS },
	[NVME_TCP_R2T] = { 24, DIGESTS, 0 },
};

unsigned nvme_tcp_hlen(uint8_t type)
{
	return type < sizeof(kind) / sizeof(kind[0]) ? kind[type].hlen : 0;
}

static void body_put(uint8_t *out, const struct nvme_tcp_pdu *pdu)
{
	struct nvme_tcp_ic *ic = (void *)out;
	struct nvme_tcp_term *term = (void *)out;
	struct nvme_tcp_data *data = (void *)out;

	switch ((enum nvme_tcp_type)pdu->type) {
	case NVME_TCP_ICREQ:
	case NVME_TCP_ICRESP:
		ic->pfv = put_le16(pdu->ic.pfv);
		ic->pda = pdu->ic.pda;
		ic->dgst = pdu->ic.dgst;
		ic->max = put_le32(pdu->ic.max);
		break;
	case NVME_TCP_H2C_TERM:
	case NVME_TCP_C2H_TERM:
		term->fes = put_le16(pdu->term.fes);
		term->fei = put_le32(pdu->term.fei);
		break;
	case NVME_TCP_CMD:
		((struct nvme_tcp_cmd *)(void *)out)->sqe = pdu->sqe;
		break;
	case NVME_TCP_RSP:
		((struct nvme_tcp_rsp *)(void *)out)->cqe = pdu->cqe;
		break;
	case NVME_TCP_H2C_DATA:
	case NVME_TCP_C2H_DATA:
	case NVME_TCP_R2T:
		data->cccid = put_le16(pdu->xfer.cccid);
		data->ttag = put_le16(pdu->xfer.ttag);
		data->off = put_le32(pdu->xfer.off);
		data->len = put_le32(pdu->xfer.len);
		break;
	}
}

unsigned nvme_tcp_put(
	uint8_t out[NVME_TCP_HEAD_MAX], struct nvme_tcp_pdu *pdu, unsigned dgst, unsigned align)
{
	unsigned head = nvme_tcp_hlen(pdu->type), before;

	if (!(kind[pdu->type].rules & DIGESTS))
		dgst = 0;
	pdu->hlen = (uint8_t)head;
	before = head + (dgst & NVME_TCP_DGST_HDR ? NVME_TCP_DIGEST : 0);
	if (pdu->data && kind[pdu->type].rules & DIGESTS)
		before = (before + align - 1) / align * align;
	pdu->pdo = pdu->data && kind[pdu->type].rules & DIGESTS ? (uint8_t)before : 0;
	pdu->plen =
		before + pdu->data + (pdu->data && dgst & NVME_TCP_DGST_DATA ? NVME_TCP_DIGEST : 0);
	pdu->flags = (uint8_t)((pdu->flags & kind[pdu->type].flags) |
			       (dgst & NVME_TCP_DGST_HDR ? NVME_TCP_HDGST : 0) |
			       (pdu->data && dgst & NVME_TCP_DGST_DATA ? NVME_TCP_DDGST : 0));
	memset(out, 0, before);
	*(struct nvme_tcp_head *)(void *)out = (struct nvme_tcp_head){
		.type = pdu->type,
		.flags = pdu->flags,
		.hlen = pdu->hlen,
		.pdo = pdu->pdo,
		.plen = put_le32(pdu->plen),
	};
	body_put(out, pdu);
	return before;
}

static void body_get(struct nvme_tcp_pdu *pdu, const void *p)
{
	const struct nvme_tcp_ic *ic = p;
	const struct nvme_tcp_term *term = p;
	const struct nvme_tcp_data *data = p;

	switch ((enum nvme_tcp_type)pdu->type) {
	case NVME_TCP_ICREQ:
	case NVME_TCP_ICRESP:
		pdu->ic.pfv = get_le16(ic->pfv);
		pdu->ic.pda = ic->pda;
		pdu->ic.dgst = ic->dgst;
		pdu->ic.max = get_le32(ic->max);
		break;
	case NVME_TCP_H2C_TERM:
	case NVME_TCP_C2H_TERM:
		pdu->term.fes = get_le16(term->fes);
		pdu->term.fei = get_le32(term->fei);
		break;
	case NVME_TCP_CMD:
		pdu->sqe = ((const struct nvme_tcp_cmd *)p)->sqe;
		break;
	case NVME_TCP_RSP:
		pdu->cqe = ((const struct nvme_tcp_rsp *)p)->cqe;
		break;
	case NVME_TCP_H2C_DATA:
	case NVME_TCP_C2H_DATA:
	case NVME_TCP_R2T:
		pdu->xfer.cccid = get_le16(data->cccid);
		pdu->xfer.ttag = get_le16(data->ttag);
		pdu->xfer.off = get_le32(data->off);
		pdu->xfer.len = get_le32(data->len);
		break;
	}
}

static int bad(struct diag *diag, const struct nvme_tcp_pdu *pdu, const char *field)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO,
		"PDU of type %02xh: invalid %s (flags %02xh, header %u, data at %u, length %u)",
		pdu->type, field, pdu->flags, pdu->hlen, pdu->pdo, pdu->plen);
}

int nvme_tcp_get(
	struct nvme_tcp_pdu *pdu, const void *p, size_t len, unsigned dgst, struct diag *diag)
{
	const struct nvme_tcp_head *head = p;
	unsigned hlen, rules, before, after;

	if (len < sizeof(*head) || !(hlen = nvme_tcp_hlen(head->type)) || len < hlen)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "unknown PDU (type %02xh, %zu bytes)",
			len ? head->type : 0, len);
	*pdu = (struct nvme_tcp_pdu){ .type = head->type,
		.flags = head->flags,
		.hlen = head->hlen,
		.pdo = head->pdo,
		.plen = get_le32(head->plen) };
	rules = kind[pdu->type].rules;
	if (!(rules & DIGESTS))
		dgst = 0;
	if (pdu->hlen != hlen)
		return bad(diag, pdu, "header length");
	if (!(pdu->flags & NVME_TCP_HDGST) != !(dgst & NVME_TCP_DGST_HDR) ||
		(pdu->flags & NVME_TCP_DDGST && !(dgst & NVME_TCP_DGST_DATA)))
		return bad(diag, pdu, "digest flag");
	before = hlen + (dgst & NVME_TCP_DGST_HDR ? NVME_TCP_DIGEST : 0);
	if (pdu->plen < before)
		return bad(diag, pdu, "length");
	if (!(rules & (MAY_DATA | MUST_DATA)) || pdu->plen == before) {
		if (rules & MUST_DATA || pdu->plen != before)
			return bad(diag, pdu, "length");
		pdu->pdo = 0; /* reserved if there is no data */
	} else if (!(rules & DIGESTS)) {
		if (pdu->plen > NVME_TCP_TERM_MAX)
			return bad(diag, pdu, "length");
		pdu->data = pdu->plen - before;
		pdu->pdo = 0;
	} else {
		after = dgst & NVME_TCP_DGST_DATA ? NVME_TCP_DIGEST : 0;
		if (!(pdu->flags & NVME_TCP_DDGST) != !after)
			return bad(diag, pdu, "digest flag");
		if (pdu->pdo < before || pdu->pdo % 4 || pdu->plen < pdu->pdo + after + 1)
			return bad(diag, pdu, "data offset");
		pdu->data = pdu->plen - pdu->pdo - after;
	}
	body_get(pdu, p);
	if (rules & MUST_DATA && pdu->xfer.len != pdu->data)
		return bad(diag, pdu, "data length");
	return 0;
}
