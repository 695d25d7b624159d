/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe/TCP PDUs on a stream, either end's (TCP Transport Specification 1.1). They are cut out of it
 * at any byte: headers go through a staging area, data that is still to come is received straight
 * to where it belongs. */
#include "pdu.h"
#include "crc32c.h"
#include <stdio.h>

#define LARGE  8192 /* data worth a receive of its own: copying it costs more than the call */
#define ROUNDS 64   /* receives in one turn: the rest of the loop wants its share */
/* behind such data: the next header, and little of the data that follows it */
#define STAGE_SMALL 512

_Static_assert(STAGE_SMALL > NVME_TCP_HEAD_MAX + NVME_TCP_DIGEST,
	"a header fits, however much of it is there");

enum part { PART_HEAD, PART_PAD, PART_DATA, PART_DIGEST };

void nvme_pdu_send(struct nvme_pdus *pdus, struct nvme_pdu_out *out, struct nvme_tcp_pdu *pdu,
	uint8_t *data, bool quiet)
{
	unsigned before = nvme_tcp_put(out->head, pdu, pdus->dgst, pdus->align);

	if (pdu->flags & NVME_TCP_HDGST)
		*(le32 *)(void *)(out->head + pdu->hlen) =
			put_le32(crc32c(0, out->head, pdu->hlen));
	out->out =
		(struct stream_out){ .niov = 1, .iov = { { out->head, before } }, .quiet = quiet };
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

	pdus->sink = to;
	pdus->pad = pdu->pdo - pdu->hlen - (pdu->flags & NVME_TCP_HDGST ? NVME_TCP_DIGEST : 0);
	pdus->rest = pdu->data;
	pdus->crc = 0;
	pdus->part = pdus->pad ? PART_PAD : PART_DATA;
}

void nvme_pdu_term_text(char *text, size_t size, const char *who, const struct nvme_tcp_pdu *pdu)
{
	snprintf(text, size, "the %s terminated the connection: %s (%u, field %u)", who,
		nvme_tcp_fes_text(pdu->term.fes), pdu->term.fes, pdu->term.fei);
}

static bool bad(struct nvme_pdus *pdus, uint16_t fes, uint32_t fei, const char *text)
{
	pdus->over = true;
	pdus->ev->bad(pdus, fes, fei, text);
	return false;
}

static bool wrong(struct nvme_pdus *pdus, const uint8_t *p, uint32_t len)
{
	struct diag why = { 0 };

	nvme_tcp_get(&pdus->pdu, p, len, pdus->dgst, &why);
	return bad(pdus, NVME_TCP_FES_HEADER, 1, why.text);
}

static bool digest_is(const uint8_t *p, uint32_t crc)
{
	return get_le32(*(const le32 *)(const void *)p) == crc;
}

/* Whoever moves large data sends a reply or a command between, not several. */
static void expect(struct nvme_pdus *pdus)
{
	if (pdus->pdu.data) {
		pdus->large = pdus->pdu.data >= LARGE;
		pdus->plain = 0;
	} else if (pdus->plain < 2) {
		pdus->large &= !pdus->plain++;
	}
}

/* All of these give false when more bytes are needed, or the session is over. */
static bool take_header(struct nvme_pdus *pdus)
{
	const uint8_t *p = pdus->staging + pdus->from;
	uint32_t have = pdus->to - pdus->from, len, whole;

	if (have < sizeof(struct nvme_tcp_head))
		return false;
	len = nvme_tcp_hlen(p[0]);
	if (!len || p[2] != len)
		return bad(pdus, NVME_TCP_FES_HEADER, len ? 2 : 0, "not an NVMe/TCP PDU");
	whole = len +
		(pdus->dgst & NVME_TCP_DGST_HDR && p[1] & NVME_TCP_HDGST ? NVME_TCP_DIGEST : 0);
	if (have < whole)
		return false;
	if (whole > len && !digest_is(p + len, crc32c(0, p, len)))
		return bad(pdus, NVME_TCP_FES_HDGST, crc32c(0, p, len), "header digest error");
	if (nvme_tcp_get(&pdus->pdu, p, len, pdus->dgst, NULL))
		return wrong(pdus, p, len);
	pdus->from += whole;
	expect(pdus);
	pdus->over |= !pdus->ev->header(pdus);
	return !pdus->over;
}

static bool take_pad(struct nvme_pdus *pdus)
{
	uint32_t have = pdus->to - pdus->from, len = have < pdus->pad ? have : pdus->pad;

	pdus->from += len;
	pdus->pad -= len;
	if (!pdus->pad)
		pdus->part = PART_DATA;
	return len;
}

static bool data_ended(struct nvme_pdus *pdus, bool good)
{
	pdus->part = PART_HEAD;
	pdus->over |= !pdus->ev->data(pdus, good);
	return !pdus->over;
}

/* Bytes that are in the sink now. */
static bool took(struct nvme_pdus *pdus, uint32_t len)
{
	bool digest = pdus->dgst & NVME_TCP_DGST_DATA;

	if (digest)
		pdus->crc = crc32c(pdus->crc, pdus->sink, len);
	pdus->sink += len;
	pdus->rest -= len;
	if (pdus->rest)
		return true;
	if (!digest)
		return data_ended(pdus, true);
	pdus->part = PART_DIGEST;
	return true;
}

static bool take_data(struct nvme_pdus *pdus)
{
	uint32_t have = pdus->to - pdus->from, len = have < pdus->rest ? have : pdus->rest;

	if (!len)
		return false;
	memcpy(pdus->sink, pdus->staging + pdus->from, len);
	pdus->from += len;
	return took(pdus, len);
}

static bool take_digest(struct nvme_pdus *pdus)
{
	bool good;

	if (pdus->to - pdus->from < NVME_TCP_DIGEST)
		return false;
	good = digest_is(pdus->staging + pdus->from, pdus->crc);
	pdus->from += NVME_TCP_DIGEST;
	return data_ended(pdus, good);
}

static bool take(struct nvme_pdus *pdus)
{
	switch ((enum part)pdus->part) {
	case PART_HEAD:
		return take_header(pdus);
	case PART_PAD:
		return take_pad(pdus);
	case PART_DATA:
		return take_data(pdus);
	case PART_DIGEST:
		return take_digest(pdus);
	}
	return false;
}

/* Once what the stream holds; *more: perhaps not all of it. Needs: what is in staging is less than
 * one part of a PDU. */
static ssize_t receive(struct nvme_pdus *pdus, bool *more)
{
	uint32_t direct = pdus->part == PART_DATA ? pdus->rest : 0, room, len;
	struct iovec iov[2];
	ssize_t got;

	memmove(pdus->staging, pdus->staging + pdus->from, pdus->to - pdus->from);
	pdus->to -= pdus->from;
	pdus->from = 0;
	room = (pdus->large ? STAGE_SMALL : PDU_STAGING) - pdus->to;
	iov[0] = (struct iovec){ pdus->sink, direct };
	iov[1] = (struct iovec){ pdus->staging + pdus->to, room };
	got = stream_recv(pdus->stream, iov + !direct, direct ? 2 : 1);
	*more = got > 0 && (size_t)got == (size_t)direct + room;
	if (got <= 0)
		return got;
	len = got < direct ? (uint32_t)got : direct;
	pdus->to += (uint32_t)got - len;
	if (len)
		took(pdus, len);
	return got;
}

/* A socket that gave less than there was room for is empty: asking it again would be one call in
 * vain for each batch. */
bool nvme_pdu_receive(struct nvme_pdus *pdus)
{
	bool more = true;
	ssize_t got = 0;

	for (int round = 0; round < ROUNDS && more && !pdus->over; round++) {
		got = receive(pdus, &more);
		while (got > 0 && !pdus->over && take(pdus))
			;
	}
	return got >= 0;
}
