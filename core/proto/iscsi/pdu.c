/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDUs over TCP: layout and digests. */
#include "pdu.h"

void iscsi_tcp_put(struct iscsi_tcp_pdu *pdu, const void *bhs, const void *data, uint32_t len,
	bool header_digest, bool data_digest)
{
	uint32_t pad = -len & 3;
	le32 crc;

	memcpy(pdu->head, bhs, ISCSI_BHS);
	((struct iscsi_bhs *)(void *)pdu->head)->data_len = put_be24(len);
	pdu->out = (struct stream_out){ .niov = 1, .iov = { { pdu->head, ISCSI_BHS } } };
	if (header_digest) {
		crc = put_le32(crc32c(0, pdu->head, ISCSI_BHS));
		memcpy(pdu->head + ISCSI_BHS, &crc, sizeof(crc));
		pdu->out.iov[0].iov_len += sizeof(crc);
	}
	if (!len)
		return;
	pdu->out.iov[pdu->out.niov++] = (struct iovec){ (void *)(uintptr_t)data, len };
	memset(pdu->tail, 0, pad);
	if (data_digest) {
		crc = put_le32(crc32c(crc32c(0, data, len), pdu->tail, pad));
		memcpy(pdu->tail + pad, &crc, sizeof(crc));
		pad += sizeof(crc);
	}
	if (pad)
		pdu->out.iov[pdu->out.niov++] = (struct iovec){ pdu->tail, pad };
}

void iscsi_tcp_rx_landed(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	struct iscsi_tcp_rx *rx = container_of(cutter, struct iscsi_tcp_rx, cutter);

	if (rx->data_digest)
		rx->crc = crc32c(rx->crc, p, len);
}
