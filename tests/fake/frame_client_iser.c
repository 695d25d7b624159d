/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our iSCSI target over iSER and its initiators. */
#include "frame_client_rdma.h"
#include "iscsi.h"
#include "wire/iser.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IQN "iqn.t"

struct pdu {
	struct iser_hdr hdr;
	union {
		struct iscsi_bhs bhs;
		struct iscsi_login_req login;
		struct iscsi_login_rsp login_rsp;
		struct iscsi_scsi_cmd cmd;
		struct iscsi_scsi_rsp rsp;
		struct iscsi_nop nop;
	};
	char data[];
};

static int request(struct rdma_frame_client *rdma, uint8_t priv[EP_PRIV_MAX])
{
	const struct iser_private own = { .flags = ISER_NO_ZBVA | ISER_NO_INVALIDATE };

	(void)rdma;
	memcpy(priv, &own, sizeof(own));
	return sizeof(own);
}

static struct pdu *begin(
	struct rdma_frame_client *rdma, unsigned slot, uint8_t opcode, uint8_t flags)
{
	struct pdu *pdu = (void *)rdma_message(rdma, slot);

	pdu->hdr.flags = ISER_CONTROL;
	pdu->bhs.opcode = opcode;
	pdu->bhs.flags = flags;
	pdu->bhs.itt = put_be32(slot);
	pdu->cmd.cmdsn = put_be32(rdma->sn);
	return pdu;
}

static void up(struct rdma_frame_client *rdma)
{
	static const char text[] = "TargetName=" IQN "\0SessionType=Normal\0"
				   "RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=8192\0"
				   "TargetRecvDataSegmentLength=8192";
	struct pdu *pdu;
	size_t len;

	rdma->sn = 1;
	pdu = begin(rdma, 0, ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL));
	len = (size_t)sprintf(pdu->data, "InitiatorName=iqn.host%u", rdma->client.host) + 1;
	memcpy(pdu->data + len, text, sizeof(text));
	len += sizeof(text);
	pdu->bhs.data_len = put_be24((uint32_t)len);
	rdma_send(rdma, 0, (uint32_t)(sizeof(*pdu) + len));
}

static void pong(struct rdma_frame_client *rdma, be32 ttt)
{
	struct pdu *pdu = begin(rdma, RDMA_DEPTH, ISCSI_NOP_OUT | ISCSI_IMMEDIATE, ISCSI_FINAL);

	pdu->nop.itt = put_be32(ISCSI_NO_TAG);
	pdu->nop.ttt = ttt;
	rdma_send(rdma, RDMA_DEPTH, sizeof(*pdu));
}

static void read_data(struct rdma_frame_client *rdma, const uint8_t *message, uint32_t len)
{
	const struct pdu *pdu = (const void *)message;

	if (len < sizeof(*pdu))
		abort();
	if (pdu->bhs.opcode == ISCSI_LOGIN_RSP && !pdu->login_rsp.status_class)
		rdma_test(rdma);
	else if (pdu->bhs.opcode == ISCSI_SCSI_RSP)
		rdma_answered(rdma, get_be32(pdu->bhs.itt), pdu->rsp.status);
	else if (pdu->bhs.opcode == ISCSI_NOP_IN)
		pong(rdma, pdu->nop.ttt);
	else if (pdu->bhs.opcode != ISCSI_ASYNC) /* that it should log out */
		abort();
}

static uint32_t command(struct rdma_frame_client *rdma, unsigned slot, const uint8_t cdb[16],
	const uint8_t *data, uint32_t len)
{
	struct pdu *pdu = begin(rdma, slot, ISCSI_SCSI_CMD, ISCSI_FINAL | ISCSI_SIMPLE);

	rdma->sn++;
	memcpy(pdu->cmd.cdb, cdb, 16);
	pdu->cmd.expected = put_be32(len);
	if (data && rdma->reads[slot]) {
		pdu->bhs.flags |= ISCSI_CMD_READ;
		pdu->hdr.flags |= ISER_READ_STAG;
		pdu->hdr.read_stag = put_be32(rdma_key(rdma));
		pdu->hdr.read_base = put_be64(rdma_address(rdma, data));
	} else if (data) {
		pdu->bhs.flags |= ISCSI_CMD_WRITE;
		pdu->hdr.flags |= ISER_WRITE_STAG;
		pdu->hdr.write_stag = put_be32(rdma_key(rdma));
		pdu->hdr.write_base = put_be64(rdma_address(rdma, data));
	}
	return sizeof(*pdu);
}

static const struct rdma_proto proto = {
	.serve = iscsi_serve,
	.disk = { .name = IQN, .serial = "S1" },
	.request = request,
	.up = up,
	.read_data = read_data,
	.command = command,
};

const struct frame_kind frame_kind_iser = { RDMA_ROW, .name = "iSER", .own = &proto };
