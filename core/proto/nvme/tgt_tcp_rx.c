/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What hosts say over NVMe/TCP: whether they may, and what follows from it. */
#include "tgt_tcp.h"
#include <errno.h>

/* Slots are given back before a reply has left whole, so a host that counts always finds one. */
static void command_begins(struct nvme_tgt_tcp *tcp)
{
	struct target_conn *conn = &tcp->queue.base;
	struct target_cmd *cmd;

	if (tcp->pdus.pdu.data > NVME_TCP_ADMIN_INCAP) {
		nvme_tgt_tcp_terminate(
			tcp, NVME_TCP_FES_LIMIT, 4, "in-capsule data exceeds IOCCSZ");
		return;
	}
	cmd = target_cmd_take(conn);
	if (!cmd) {
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_SEQUENCE, 0,
			"more commands in flight than queue entries");
		return;
	}
	tcp->filling = (struct nvme_tgt_tcp_cmd *)cmd;
	tcp->filling->inside = tcp->pdus.pdu.data;
	tcp->filling->status = 0;
	tcp->filling->want = 0;
	tcp->filling->asking = tcp->filling->success = false;
	tcp->filling->cmd.sqe = tcp->pdus.pdu.sqe;
	if (tcp->pdus.pdu.data)
		nvme_pdu_data(&tcp->pdus, pool_buf(conn->pool, target_cmd_index(cmd)).p);
	else
		target_cmd_run(cmd);
}

static void transfer_begins(struct nvme_tgt_tcp *tcp)
{
	const struct nvme_tcp_pdu *pdu = &tcp->pdus.pdu;
	struct nvme_tgt_queue *queue = &tcp->queue;
	struct target_cmd *cmd = pdu->xfer.ttag < queue->base.slots
					 ? target_cmd_at(&queue->base, pdu->xfer.ttag)
					 : NULL;
	struct nvme_tgt_tcp_cmd *tcmd = (struct nvme_tgt_tcp_cmd *)cmd;
	bool last = pdu->flags & NVME_TCP_LAST;

	if (!cmd || cmd->state != TARGET_CMD_PULL || tcmd->asking)
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_HEADER,
			offsetof(struct nvme_tcp_data, ttag), "data for an unknown transfer tag");
	else if (pdu->xfer.cccid != get_le16(tcmd->cmd.sqe.cid))
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_HEADER,
			offsetof(struct nvme_tcp_data, cccid),
			"data for a command that does not own the transfer tag");
	else if (pdu->xfer.off != cmd->at + tcmd->got)
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_RANGE, offsetof(struct nvme_tcp_data, off),
			"data at an unexpected offset");
	else if (pdu->data > tcmd->want - tcmd->got)
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_RANGE, offsetof(struct nvme_tcp_data, len),
			"more data than requested by R2T");
	else if (pdu->data > nvme_tgt_of(queue)->opt.buffer)
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_LIMIT, offsetof(struct nvme_tcp_data, len),
			"more data in a PDU than MAXH2CDATA");
	else if (last != (pdu->data == tcmd->want - tcmd->got))
		nvme_tgt_tcp_terminate(
			tcp, NVME_TCP_FES_HEADER, 1, "LAST_PDU flag is missing or misplaced");
	if (target_conn_gone(&queue->base))
		return;
	tcp->filling = tcmd;
	nvme_pdu_data(&tcp->pdus, cmd->p + tcmd->got);
}

static void terminated(struct nvme_tgt_tcp *tcp)
{
	char text[160];

	nvme_pdu_term_text(text, sizeof(text), "host", &tcp->pdus.pdu);
	target_conn_fail(&tcp->queue.base, DIAG_CLOSED, ECONNABORTED, text);
}

static void act_on(struct nvme_tgt_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	if (!tcp->greeted && pdu->type != NVME_TCP_ICREQ && pdu->type != NVME_TCP_H2C_TERM) {
		nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_SEQUENCE, 0, "the first PDU is not ICReq");
		return;
	}
	switch ((enum nvme_tcp_type)pdu->type) {
	case NVME_TCP_ICREQ:
		if (tcp->greeted)
			nvme_tgt_tcp_terminate(tcp, NVME_TCP_FES_SEQUENCE, 0, "a second ICReq");
		else
			nvme_tgt_tcp_greet(tcp, pdu);
		return;
	case NVME_TCP_H2C_TERM:
		terminated(tcp);
		return;
	case NVME_TCP_CMD:
		command_begins(tcp);
		return;
	case NVME_TCP_H2C_DATA:
		transfer_begins(tcp);
		return;
	case NVME_TCP_ICRESP:
	case NVME_TCP_C2H_TERM:
	case NVME_TCP_RSP:
	case NVME_TCP_C2H_DATA:
	case NVME_TCP_R2T:
		break;
	}
	nvme_tgt_tcp_terminate(
		tcp, NVME_TCP_FES_SEQUENCE, 0, "PDU type that only controllers may send");
}

static bool header(struct nvme_pdus *pdus)
{
	struct nvme_tgt_tcp *tcp = container_of(pdus, struct nvme_tgt_tcp, pdus);

	act_on(tcp, &pdus->pdu);
	return !target_conn_gone(&tcp->queue.base);
}

static bool data(struct nvme_pdus *pdus, bool good)
{
	struct nvme_tgt_tcp *tcp = container_of(pdus, struct nvme_tgt_tcp, pdus);
	struct nvme_tgt_tcp_cmd *tcmd = tcp->filling;

	tcp->filling = NULL;
	if (!good)
		tcmd->status = NVME_TGT_TCP_TRANSIENT;
	if (pdus->pdu.type == NVME_TCP_CMD) {
		target_cmd_run(&tcmd->cmd.base);
	} else {
		tcmd->got += pdus->pdu.data;
		if (tcmd->got == tcmd->want)
			target_cmd_pulled(&tcmd->cmd.base, tcmd->status);
	}
	return !target_conn_gone(&tcp->queue.base);
}

static void bad(struct nvme_pdus *pdus, uint16_t fes, uint32_t fei, const char *text)
{
	nvme_tgt_tcp_terminate(container_of(pdus, struct nvme_tgt_tcp, pdus), fes, fei, text);
}

const struct nvme_pdu_events nvme_tgt_tcp_pdu_events = { header, data, bad };

void nvme_tgt_tcp_readable(struct stream *stream)
{
	struct nvme_tgt_tcp *tcp = stream->user;
	struct nvme_tgt_queue *queue = &tcp->queue;

	if (!target_conn_gone(&queue->base) && !nvme_pdu_receive(&tcp->pdus) &&
		!target_conn_gone(&queue->base))
		target_conn_fail(&queue->base, stream->why.code, stream->why.err, stream->why.text);
}
