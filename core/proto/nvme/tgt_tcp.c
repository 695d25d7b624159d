/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's TCP carrier (TCP Transport Specification 1.1): replies and data, and checks that
 * hosts may send what they send. The stream sends all of one turn with one sendmsg(). */
#include "pdu.h"
#include "tgt.h"
#include "tls.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* a data digest error fails the command, not the connection (3.3.1.1.1) */
#define NVME_TGT_TCP_TRANSIENT NVME_STATUS(0, 0x22)

struct nvme_tgt_tcp_cmd {
	struct nvme_tgt_cmd cmd; /* first member */
	uint32_t capsule_len;    /* bytes of data in the capsule */
	uint32_t r2t_len;        /* bytes of an R2T to be received, and where to */
	uint32_t got;
	uint32_t status;          /* status of the data: digest error */
	bool r2t_unsent;          /* the R2T was not sent yet */
	bool success;             /* C2HData includes the success status, there is no reply */
	struct nvme_pdu_out data; /* C2HData or R2T */
	struct nvme_pdu_out reply;
};

struct nvme_tgt_tcp {
	struct nvme_tgt_queue queue;     /* first member */
	struct nvme_pdu_out icresp, bye; /* ICResp, C2HTermReq */
	bool greeted;
	struct tls_creds
		*creds; /* until the first byte, or the end of TLS's handshake; NULL: plain */
	struct nvme_tgt_tcp_cmd *filling; /* the command whose data is being received */
	struct nvme_pdus pdus;
};

static struct nvme_tgt_tcp *tcp_of(const struct target_conn *conn)
{
	return (struct nvme_tgt_tcp *)conn;
}

/* End the session with the reason; fei: offset of the invalid field. */
static void terminate(struct nvme_tgt_tcp *tcp, uint16_t fes, uint32_t fei, const char *text)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_C2H_TERM, .term = { fes, fei } };
	struct nvme_tgt_queue *queue = &tcp->queue;

	if (target_conn_is_closing(&queue->base))
		return;
	nvme_pdu_send(&tcp->pdus, &tcp->bye, &pdu, NULL, false);
	target_conn_fail(&queue->base, DIAG_PROTOCOL, EPROTO, text);
}

static void handle_icreq(struct nvme_tgt_tcp *tcp, const struct nvme_tcp_pdu *icreq)
{
	const struct target_options *opt = &nvme_tgt_of(&tcp->queue)->base.opt;
	unsigned demanded = (opt->hdr_digest ? NVME_TCP_DGST_HDR : 0) |
			    (opt->data_digest ? NVME_TCP_DGST_DATA : 0);
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICRESP,
		.ic = { .dgst = icreq->ic.dgst, .max = opt->buffer } };

	if (icreq->ic.pfv)
		terminate(tcp, NVME_TCP_FES_PARAM, offsetof(struct nvme_tcp_ic, pfv),
			"unsupported version of NVMe/TCP");
	else if (icreq->ic.pda > 31)
		terminate(tcp, NVME_TCP_FES_HEADER, offsetof(struct nvme_tcp_ic, pda),
			"the host requests an invalid data alignment");
	else if (icreq->ic.dgst & ~(NVME_TCP_DGST_HDR | NVME_TCP_DGST_DATA))
		terminate(tcp, NVME_TCP_FES_HEADER, offsetof(struct nvme_tcp_ic, dgst),
			"the host requests an unknown digest");
	else if (demanded & ~icreq->ic.dgst)
		terminate(tcp, NVME_TCP_FES_PARAM, offsetof(struct nvme_tcp_ic, dgst),
			"the host does not use the required digests");
	if (target_conn_is_closing(&tcp->queue.base))
		return;
	nvme_pdu_send(&tcp->pdus, &tcp->icresp, &pdu, NULL, false);
	tcp->pdus.dgst = icreq->ic.dgst;
	tcp->pdus.align = (icreq->ic.pda + 1u) * 4;
	tcp->greeted = true;
}

static uint32_t descriptor(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_tcp_cmd *tcmd = (struct nvme_tgt_tcp_cmd *)cmd;
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;
	bool out = cmd->op->flags & OP_OUT;

	if (sgl->type != NVME_SGL_TRANSPORT && !(sgl->type == NVME_SGL_OFFSET && out))
		return NVME_SGL_TYPE;
	cmd->base.pool = cmd->base.conn->pool;
	cmd->base.p = pool_buf(cmd->base.pool, target_cmd_index(&cmd->base)).p;
	if (!nvme_tgt_cmd_fits(cmd, get_le32(sgl->block.len)))
		return NVME_SGL_LENGTH;
	if (sgl->type == NVME_SGL_TRANSPORT)
		return tcmd->capsule_len ? NVME_SGL_TYPE : NVME_OK;
	if (get_le64(sgl->addr))
		return NVME_SGL_OFFSET_BAD;
	if (tcmd->capsule_len != get_le32(sgl->block.len))
		return NVME_SGL_LENGTH;
	cmd->base.immediate = true;
	return tcmd->status;
}

static void pull(struct target_cmd *cmd, uint32_t len)
{
	struct nvme_tgt_tcp *tcp = tcp_of(cmd->conn);
	struct nvme_tgt_tcp_cmd *tcmd = (struct nvme_tgt_tcp_cmd *)cmd;
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_R2T,
		.xfer = { get_le16(tcmd->cmd.sqe.cid), (uint16_t)target_cmd_index(cmd), cmd->at,
			len } };

	tcmd->r2t_len = len;
	tcmd->got = 0;
	tcmd->status = 0;
	tcmd->r2t_unsent = true;
	nvme_pdu_send(&tcp->pdus, &tcmd->data, &pdu, NULL, false);
}

static void reply(struct target_cmd *cmd)
{
	struct nvme_tgt_tcp *tcp = tcp_of(cmd->conn);
	struct nvme_tgt_tcp_cmd *tcmd = (struct nvme_tgt_tcp_cmd *)cmd;
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_RSP, .cqe = tcmd->cmd.cqe };

	nvme_pdu_send(&tcp->pdus, &tcmd->reply, &pdu, NULL, false);
}

/* Without SQ flow control the reply has no information beyond the last data, so it can be left out
 * (3.3.2.2). */
static void push(struct target_cmd *cmd, uint32_t len, bool last)
{
	struct nvme_tgt_tcp *tcp = tcp_of(cmd->conn);
	struct nvme_tgt_tcp_cmd *tcmd = (struct nvme_tgt_tcp_cmd *)cmd;
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_C2H_DATA,
		.data = len,
		.xfer = { .cccid = get_le16(tcmd->cmd.sqe.cid), .off = cmd->at, .len = len } };

	tcmd->success = last && tcp->queue.no_sqfc && !get_le64(tcmd->cmd.cqe.result);
	pdu.flags = (last ? NVME_TCP_LAST : 0) | (tcmd->success ? NVME_TCP_SUCCESS : 0);
	/* quiet: the reply follows at once */
	nvme_pdu_send(&tcp->pdus, &tcmd->data, &pdu, cmd->p, last && !tcmd->success);
	if (last && !tcmd->success)
		reply(cmd);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct nvme_tgt_tcp *tcp = stream->user;
	size_t at = (size_t)((uint8_t *)out - tcp->queue.base.cmds);
	struct nvme_tgt_tcp_cmd *tcmd;

	if (out == &tcp->icresp.out || out == &tcp->bye.out)
		return;
	tcmd = (struct nvme_tgt_tcp_cmd *)nvme_tgt_cmd_at(
		&tcp->queue, (unsigned)(at / sizeof(*tcmd)));
	if (tcmd->r2t_unsent)
		tcmd->r2t_unsent = false;
	else if (out == &tcmd->reply.out || tcmd->success)
		target_cmd_replied(&tcmd->cmd.base);
	else
		target_cmd_pushed(&tcmd->cmd.base);
}

/* Slots are freed before a reply was fully sent, so a host that counts correctly always finds
 * one. */
static void handle_command(struct nvme_tgt_tcp *tcp)
{
	struct target_conn *conn = &tcp->queue.base;
	struct target_cmd *cmd;

	if (tcp->pdus.pdu.data > NVME_TCP_ADMIN_INCAP) {
		terminate(tcp, NVME_TCP_FES_LIMIT, 4, "in-capsule data exceeds IOCCSZ");
		return;
	}
	cmd = target_cmd_alloc(conn);
	if (!cmd) {
		terminate(tcp, NVME_TCP_FES_SEQUENCE, 0,
			"more commands in flight than queue entries");
		return;
	}
	tcp->filling = (struct nvme_tgt_tcp_cmd *)cmd;
	tcp->filling->capsule_len = tcp->pdus.pdu.data;
	tcp->filling->status = 0;
	tcp->filling->r2t_len = 0;
	tcp->filling->r2t_unsent = tcp->filling->success = false;
	tcp->filling->cmd.sqe = tcp->pdus.pdu.sqe;
	if (tcp->pdus.pdu.data)
		nvme_pdu_data(&tcp->pdus, pool_buf(conn->pool, target_cmd_index(cmd)).p);
	else
		target_cmd_run(cmd);
}

static void handle_h2c_data(struct nvme_tgt_tcp *tcp)
{
	const struct nvme_tcp_pdu *pdu = &tcp->pdus.pdu;
	struct nvme_tgt_queue *queue = &tcp->queue;
	struct target_cmd *cmd = pdu->xfer.ttag < queue->base.slots
					 ? target_cmd_at(&queue->base, pdu->xfer.ttag)
					 : NULL;
	struct nvme_tgt_tcp_cmd *tcmd = (struct nvme_tgt_tcp_cmd *)cmd;
	bool last = pdu->flags & NVME_TCP_LAST;

	if (!cmd || cmd->state != TARGET_CMD_PULL || tcmd->r2t_unsent)
		terminate(tcp, NVME_TCP_FES_HEADER, offsetof(struct nvme_tcp_data, ttag),
			"data for an unknown transfer tag");
	else if (pdu->xfer.cccid != get_le16(tcmd->cmd.sqe.cid))
		terminate(tcp, NVME_TCP_FES_HEADER, offsetof(struct nvme_tcp_data, cccid),
			"data for a command that does not own the transfer tag");
	else if (pdu->xfer.off != cmd->at + tcmd->got)
		terminate(tcp, NVME_TCP_FES_RANGE, offsetof(struct nvme_tcp_data, off),
			"data at an unexpected offset");
	else if (pdu->data > tcmd->r2t_len - tcmd->got)
		terminate(tcp, NVME_TCP_FES_RANGE, offsetof(struct nvme_tcp_data, len),
			"more data than requested by R2T");
	else if (pdu->data > nvme_tgt_of(queue)->base.opt.buffer)
		terminate(tcp, NVME_TCP_FES_LIMIT, offsetof(struct nvme_tcp_data, len),
			"more data in a PDU than MAXH2CDATA");
	else if (last != (pdu->data == tcmd->r2t_len - tcmd->got))
		terminate(tcp, NVME_TCP_FES_HEADER, 1, "LAST_PDU flag is missing or misplaced");
	if (target_conn_is_closing(&queue->base))
		return;
	tcp->filling = tcmd;
	nvme_pdu_data(&tcp->pdus, cmd->p + tcmd->got);
}

static void dispatch_pdu(struct nvme_tgt_tcp *tcp, const struct nvme_tcp_pdu *pdu)
{
	char text[160];

	if (!tcp->greeted && pdu->type != NVME_TCP_ICREQ && pdu->type != NVME_TCP_H2C_TERM) {
		terminate(tcp, NVME_TCP_FES_SEQUENCE, 0, "the first PDU is not ICReq");
		return;
	}
	switch ((enum nvme_tcp_type)pdu->type) {
	case NVME_TCP_ICREQ:
		if (tcp->greeted)
			terminate(tcp, NVME_TCP_FES_SEQUENCE, 0, "a second ICReq");
		else
			handle_icreq(tcp, pdu);
		return;
	case NVME_TCP_H2C_TERM:
		nvme_pdu_term_text(text, sizeof(text), "host", pdu);
		target_conn_fail(&tcp->queue.base, DIAG_CLOSED, ECONNABORTED, text);
		return;
	case NVME_TCP_CMD:
		handle_command(tcp);
		return;
	case NVME_TCP_H2C_DATA:
		handle_h2c_data(tcp);
		return;
	case NVME_TCP_ICRESP:
	case NVME_TCP_C2H_TERM:
	case NVME_TCP_RSP:
	case NVME_TCP_C2H_DATA:
	case NVME_TCP_R2T:
		break;
	}
	terminate(tcp, NVME_TCP_FES_SEQUENCE, 0, "PDU type that only controllers may send");
}

static bool pdu_header(struct nvme_pdus *pdus)
{
	struct nvme_tgt_tcp *tcp = container_of(pdus, struct nvme_tgt_tcp, pdus);

	dispatch_pdu(tcp, &pdus->pdu);
	return !target_conn_is_closing(&tcp->queue.base);
}

static bool pdu_data(struct nvme_pdus *pdus, bool good)
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
		if (tcmd->got == tcmd->r2t_len)
			target_cmd_pulled(&tcmd->cmd.base, tcmd->status);
	}
	return !target_conn_is_closing(&tcp->queue.base);
}

static void pdu_bad(struct nvme_pdus *pdus, uint16_t fes, uint32_t fei, const char *text)
{
	terminate(container_of(pdus, struct nvme_tgt_tcp, pdus), fes, fei, text);
}

static const struct nvme_pdu_events pdu_events = { pdu_header, pdu_data, pdu_bad };

static void drop_creds(struct nvme_tgt_tcp *tcp)
{
	tls_creds_free(tcp->creds);
	tcp->creds = NULL;
}

static void start_tls(struct nvme_tgt_tcp *tcp)
{
	struct target_conn *conn = &tcp->queue.base;
	const struct stream_tls tls = { .creds = tcp->creds,
		.client = conn->admission.peer_addr->network };
	struct diag why = { 0 };

	tcp->queue.securing = true;
	if (stream_start_tls(conn->stream, &tls, &why))
		target_conn_fail(conn, why.code, why.err, why.text);
}

static void go_plain(struct nvme_tgt_tcp *tcp)
{
	drop_creds(tcp);
	__atomic_store_n(&tcp->queue.has_keys, false, __ATOMIC_RELAXED);
}

/* The first byte is that of a ClientHello or of ICReq. True: it is not TLS. */
static bool classify(struct nvme_tgt_tcp *tcp)
{
	int first = stream_peek(tcp->queue.base.stream);

	if (first == -EAGAIN)
		return false;
	if (first < 0)
		target_stream_ended(&tcp->queue.base);
	else if (first == TLS_FIRST_BYTE)
		start_tls(tcp);
	else
		go_plain(tcp);
	return first >= 0 && first != TLS_FIRST_BYTE;
}

static void secured(struct stream *stream)
{
	struct nvme_tgt_tcp *tcp = stream->user;
	struct nvme_psk_names names;

	tcp->queue.securing = false;
	drop_creds(tcp);
	tcp->queue.identity = strdup(stream_tls_peer(stream));
	tcp->queue.concatenated =
		tcp->queue.identity &&
		nvme_psk_parse(tcp->queue.identity, strlen(tcp->queue.identity), &names) &&
		names.generated;
	if (!tcp->queue.identity)
		target_conn_fail(&tcp->queue.base, DIAG_NO_MEMORY, ENOMEM, "out of memory");
}

static void readable(struct stream *stream)
{
	struct nvme_tgt_tcp *tcp = stream->user;

	if (!target_conn_is_closing(&tcp->queue.base) && tcp->creds && !classify(tcp))
		return;
	if (!target_conn_is_closing(&tcp->queue.base) && !nvme_pdu_receive(&tcp->pdus))
		target_stream_ended(&tcp->queue.base);
}

static const struct stream_events events = {
	.readable = readable, .sent = sent, .down = target_stream_down, .secured = secured
};

static void tcp_free(struct target_conn *conn)
{
	if (conn->stream)
		stream_free(conn->stream);
	drop_creds(tcp_of(conn));
	free(tcp_of(conn)->queue.identity);
	pool_free(conn->pool);
}

static int tcp_open(struct target_conn *conn, struct diag *diag)
{
	struct nvme_tgt_tcp *tcp = tcp_of(conn);
	struct nvme_tgt_queue *queue = &tcp->queue;
	int err;

	queue->max_depth = nvme_tgt_of(queue)->base.opt.depth;
	nvme_pdu_init(&tcp->pdus, &pdu_events);
	err = target_conn_alloc_cmds(conn, queue->max_depth, diag);
	if (!err)
		err = pool_new(&conn->pool, NVME_TCP_ADMIN_INCAP, queue->max_depth, diag);
	if (err) {
		close(conn->fd);
		drop_creds(tcp);
		return err;
	}
	err = target_stream_open(conn, &events, diag);
	tcp->pdus.stream = conn->stream;
	if (err) {
		drop_creds(tcp);
		pool_free(conn->pool);
		conn->pool = NULL;
	}
	return err;
}

const struct nvme_tgt_carrier nvme_tgt_tcp = {
	.base = { .name = "tcp",
		.cmd_size = sizeof(struct nvme_tgt_tcp_cmd),
		.open = tcp_open,
		.pull = pull,
		.push = push,
		.reply = reply,
		.moved = target_stream_moved,
		.hung_up = target_stream_hung_up,
		.close = target_stream_close,
		.reset = target_stream_reset,
		.free = tcp_free },
	.trtype = NVMF_TRTYPE_TCP,
	.incap = NVME_TCP_ADMIN_INCAP,
	.descriptor = descriptor,
};

void nvme_tgt_tcp_incoming(struct target *target, int fd, const struct addr *peer)
{
	const struct nvme_hosts *hosts = target->opt.chap.hosts;
	struct nvme_tgt_tcp *tcp = target_stream_new(target, sizeof(*tcp), fd, peer);

	if (!tcp)
		return;
	if (hosts && hosts->creds) {
		tcp->creds = tls_creds_hold(hosts->creds);
		tcp->queue.has_keys = true;
	}
	nvme_tgt_queue_begin(target, &tcp->queue, &nvme_tgt_tcp, peer);
}
