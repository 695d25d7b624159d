/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDUs over TCP (RFC 7143, 11.1 and 11.2.3): header, header digest, data, padding to words, data
 * digest. */
#pragma once
#include "crc32c.h"
#include "cutter.h"
#include "wire/iscsi.h"

#define ISCSI_DIGEST 4

/* ---- Sending. */

struct iscsi_tcp_pdu {
	struct stream_out out;
	uint8_t head[ISCSI_BHS + ISCSI_DIGEST];
	uint8_t tail[3 + ISCSI_DIGEST]; /* padding, data digest */
};
/* Fill in `out`. The header is copied; data must stay valid until `out` is sent. */
void iscsi_tcp_put(struct iscsi_tcp_pdu *, const void *bhs, const void *data, uint32_t len,
	bool header_digest, bool data_digest);

/* ---- Receiving. */

struct iscsi_tcp_rx {
	struct cutter cutter;
	bool ahs;                        /* the peer may send additional header segments */
	bool header_digest, data_digest; /* of all PDUs from now on */
	uint32_t len;                    /* of the PDU's data */
	/* private */
	bool in_trailer, dropped;
	uint8_t trailer; /* bytes of padding and digest after the data */
	uint32_t crc;
};

/* The header at p, with len set, is complete; wrong: but its digest is wrong. Set *to where the
 * data goes, NULL to drop it. False: stop; the header is not used. */
typedef bool iscsi_tcp_header(struct iscsi_tcp_rx *, const uint8_t *p, bool wrong, uint8_t **to);
/* The PDU is complete; wrong: but its data digest is wrong. False: stop. */
typedef bool iscsi_tcp_complete(struct iscsi_tcp_rx *, bool wrong);

/* Functions of struct cutter_events; the first two need an owner's function around them. */
static inline int iscsi_tcp_rx_part(struct cutter *cutter, const uint8_t *p, uint32_t have,
	iscsi_tcp_header *header, iscsi_tcp_complete *complete)
{
	struct iscsi_tcp_rx *rx = container_of(cutter, struct iscsi_tcp_rx, cutter);
	const struct iscsi_bhs *bhs = (const void *)p;
	uint32_t len = ISCSI_BHS, pad;
	uint8_t *to = NULL;
	bool wrong = false;
	le32 digest;

	if (rx->in_trailer) {
		if (have < rx->trailer)
			return 0;
		rx->in_trailer = false;
		pad = -rx->len & 3;
		if (rx->data_digest && !rx->dropped) {
			memcpy(&digest, p + pad, sizeof(digest));
			wrong = get_le32(digest) != crc32c(rx->crc, p, pad);
		}
		if (!complete(rx, wrong))
			cutter_stop(cutter);
		return rx->trailer;
	}
	if (have < ISCSI_BHS)
		return 0;
	if (rx->ahs)
		len += bhs->ahs_len * 4u;
	if (have < len + (rx->header_digest ? ISCSI_DIGEST : 0))
		return 0;
	if (rx->header_digest) {
		memcpy(&digest, p + len, sizeof(digest));
		wrong = get_le32(digest) != crc32c(0, p, len);
		len += ISCSI_DIGEST;
	}
	rx->len = get_be24(bhs->data_len);
	if (!header(rx, p, wrong, &to))
		return CUTTER_STOP;
	if (rx->len) {
		rx->crc = 0;
		rx->dropped = !to;
		rx->trailer = (uint8_t)((-rx->len & 3) + (rx->data_digest ? ISCSI_DIGEST : 0));
		cutter_payload(cutter, to, rx->len);
	} else if (!complete(rx, false)) {
		cutter_stop(cutter);
	}
	return (int)len;
}

static inline bool iscsi_tcp_rx_payload(struct cutter *cutter, iscsi_tcp_complete *complete)
{
	struct iscsi_tcp_rx *rx = container_of(cutter, struct iscsi_tcp_rx, cutter);

	rx->in_trailer = rx->trailer;
	return rx->in_trailer || complete(rx, false);
}

void iscsi_tcp_rx_landed(struct cutter *, const uint8_t *p, uint32_t len);
