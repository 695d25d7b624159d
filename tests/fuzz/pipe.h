/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* include/stream.h in memory, with an NVMe/TCP target of a script behind it: linked into a fuzzer
 * in place of core/net/tcp.c. It holds the host to the contract: whole PDUs with good digests, no
 * byte of a buffer that was given back. */
#pragma once
#include "../fake/nvme_target.h"
#include "crc32c.h"
#include "script.h"
#include "stream.h"
#include <errno.h>

#define PIPES    80
#define PIPE_LEN (1u << 18)
#define IDLE     3    /* turns without an event until the peer sends unprompted */
#define SIGNALS  256  /* in one turn, for what a reader has left */
#define TAKEN    0xdd /* what a fuzzer fills a buffer with that is its own again */

struct pipe {
	struct stream stream;
	bool over, down_reported, hung, known;
	uint16_t qid, cid;
	unsigned dgst;
	struct stream_out *out, **out_end, *unsent, **unsent_end;
	struct nvme_sqe cmd[256];
	uint32_t from, to;
	uint8_t in[PIPE_LEN];
	uint8_t data[1 << 17];
};

struct wire { /* all connections of one run */
	struct script script;
	struct target *target;
	struct loop_poller poller;
	struct pipe *pipe[PIPES];
	unsigned chunk, pda, idle;
	bool delayed_sent, success, busy;
};
static struct wire wire;

static struct pipe *pipe_of(struct stream *stream)
{
	return container_of(stream, struct pipe, stream);
}

static void give(struct pipe *pipe, struct nvme_tcp_pdu *pdu, const uint8_t *data)
{
	uint8_t head[NVME_TCP_HEAD_MAX];
	unsigned before = nvme_tcp_put(head, pdu, pipe->dgst, 4);
	le32 digest = put_le32(crc32c(0, head, pdu->hlen));

	if (pdu->plen > PIPE_LEN - pipe->to)
		return;
	if (pdu->flags & NVME_TCP_HDGST)
		memcpy(head + pdu->hlen, &digest, 4);
	memcpy(pipe->in + pipe->to, head, before);
	pipe->to += before;
	if (!pdu->data)
		return;
	memcpy(pipe->in + pipe->to, data, pdu->data);
	pipe->to += pdu->data;
	digest = put_le32(crc32c(0, data, pdu->data));
	if (!(pdu->flags & NVME_TCP_DDGST))
		return;
	memcpy(pipe->in + pipe->to, &digest, 4);
	pipe->to += 4;
}

static void give_reply(struct pipe *pipe, const struct nvme_cqe *cqe)
{
	struct nvme_tcp_pdu rsp = { .type = NVME_TCP_RSP, .cqe = *cqe };

	give(pipe, &rsp, NULL);
}

static bool is_out(const struct nvme_sqe *sqe)
{
	return sqe->opcode == NVME_IO_WRITE || sqe->opcode == NVME_IO_DSM ||
	       sqe->opcode == NVME_FABRICS;
}

static void execute(struct pipe *pipe, const struct nvme_sqe *sqe, bool filled)
{
	uint32_t len = get_le32(sqe->sgl.block.len);
	struct nvme_tcp_pdu data = {
		.type = NVME_TCP_C2H_DATA, .flags = NVME_TCP_LAST, .xfer.cccid = get_le16(sqe->cid)
	};
	struct nvme_cqe cqe;

	if (!target_do(wire.target, pipe->qid, sqe, pipe->data, len, &cqe))
		return;
	if (!len || is_out(sqe) || get_le16(cqe.status)) {
		give_reply(pipe, &cqe);
		return;
	}
	if (filled)
		script_fill(&wire.script, pipe->data, len);
	data.data = data.xfer.len = len;
	data.flags |= wire.success ? NVME_TCP_SUCCESS : 0;
	give(pipe, &data, pipe->data);
	if (!wire.success)
		give_reply(pipe, &cqe);
}

/* The host's own PDUs: anything wrong in them is a finding. */
static void check_host(const struct pipe *pipe, const struct nvme_tcp_pdu *pdu, const uint8_t *data)
{
	const struct nvme_sqe *sqe = &pipe->cmd[pdu->xfer.cccid % 256];

	if (pdu->type != NVME_TCP_H2C_DATA)
		return;
	if (sqe->opcode != NVME_IO_WRITE && sqe->opcode != NVME_IO_DSM)
		abort();
	if (pdu->xfer.off > get_le32(sqe->sgl.block.len) ||
		pdu->data > get_le32(sqe->sgl.block.len) - pdu->xfer.off)
		abort();
	for (uint32_t i = 0; sqe->opcode == NVME_IO_WRITE && i < pdu->data; i++)
		if (data[i] == TAKEN)
			abort();
}

static void answer_well(
	struct pipe *pipe, const struct nvme_tcp_pdu *pdu, const uint8_t *data, bool filled)
{
	struct nvme_tcp_pdu ic = { .type = NVME_TCP_ICRESP,
		.ic = { .pda = (uint8_t)wire.pda, .max = 8192 } };
	struct nvme_tcp_pdu r2t = { .type = NVME_TCP_R2T };
	const struct nvme_sqe *sqe;

	if (pdu->type == NVME_TCP_ICREQ) {
		ic.ic.dgst = pdu->ic.dgst;
		give(pipe, &ic, NULL);
	} else if (pdu->type == NVME_TCP_CMD) {
		sqe = &pipe->cmd[pipe->cid % 256];
		if (pdu->data)
			memcpy(pipe->data, data, pdu->data);
		if (is_out(sqe) && get_le32(sqe->sgl.block.len) && !pdu->data) {
			r2t.xfer.cccid = pipe->cid;
			r2t.xfer.len = get_le32(sqe->sgl.block.len);
			give(pipe, &r2t, NULL);
		} else {
			execute(pipe, sqe, filled);
		}
	} else if (pdu->type == NVME_TCP_H2C_DATA) {
		sqe = &pipe->cmd[pdu->xfer.cccid % 256];
		memcpy(pipe->data + pdu->xfer.off, data, pdu->data);
		if (pdu->flags & NVME_TCP_LAST &&
			pdu->xfer.off + pdu->data == get_le32(sqe->sgl.block.len))
			execute(pipe, sqe, false);
	}
}

static void give_made(struct pipe *pipe)
{
	struct script *script = &wire.script;
	uint8_t type = script_byte(script), cid = script_byte(script);
	struct nvme_tcp_pdu pdu = { .type = type % 10, .flags = type >> 4 };

	if (!nvme_tcp_hlen(pdu.type))
		return;
	pdu.xfer.cccid = cid < 4 ? pipe->cid : cid;
	pdu.xfer.off = script_byte(script) * 512u;
	pdu.xfer.len = script_byte(script) * 512u;
	if (pdu.type == NVME_TCP_RSP)
		pdu.cqe = (struct nvme_cqe){ .result = put_le64(script_u16(script)),
			.sqhd = put_le16(NVME_SQHD_NONE),
			.cid = put_le16(cid < 4 ? pipe->cid : cid),
			.status = put_le16(script_u16(script)) };
	else if (pdu.type == NVME_TCP_C2H_DATA || pdu.type == NVME_TCP_H2C_DATA)
		pdu.data = pdu.xfer.len;
	if (pdu.data > sizeof(pipe->data))
		pdu.data = pdu.xfer.len = sizeof(pipe->data);
	give(pipe, &pdu, pipe->data);
}

/* pdu NULL: not in answer to a request. */
static void answer(struct pipe *pipe, const struct nvme_tcp_pdu *pdu, const uint8_t *data)
{
	struct script *script = &wire.script;
	enum script_step step = script_next(script);
	uint32_t from = pipe->to;

	switch (step) {
	case SCRIPT_GOOD:
	case SCRIPT_TWICE:
		if (!pdu)
			break;
		answer_well(pipe, pdu, data, false);
		if (step == SCRIPT_TWICE)
			answer_well(pipe, pdu, data, false);
		break;
	case SCRIPT_CORRUPT:
		if (pdu)
			answer_well(pipe, pdu, data, false);
		script_spoil(script, pipe->in + from, pipe->to - from);
		break;
	case SCRIPT_FILLED:
		if (pdu)
			answer_well(pipe, pdu, data, true);
		break;
	case SCRIPT_RAW:
		if (PIPE_LEN - pipe->to > 256)
			pipe->to += script_bytes(script, pipe->in + pipe->to, script_byte(script));
		break;
	case SCRIPT_MADE:
		give_made(pipe);
		break;
	case SCRIPT_SILENT:
		break;
	case SCRIPT_HANG_UP:
		pipe->hung = true;
		break;
	}
}

/* One element of the out-list is one PDU. */
static void host_sent(struct pipe *pipe, const struct stream_out *out)
{
	static uint8_t bytes[1 << 18];
	struct nvme_tcp_pdu pdu;
	uint32_t len = 0;

	for (unsigned i = 0; i < out->niov; i++) {
		if (out->iov[i].iov_len > sizeof(bytes) - len)
			abort();
		memcpy(bytes + len, out->iov[i].iov_base, out->iov[i].iov_len);
		len += (uint32_t)out->iov[i].iov_len;
	}
	if (nvme_tcp_get(&pdu, bytes, nvme_tcp_hlen(bytes[0]), pipe->dgst, NULL) || pdu.plen != len)
		abort();
	if (pipe->dgst & NVME_TCP_DGST_HDR && pdu.type != NVME_TCP_ICREQ &&
		get_le32(*(le32 *)(void *)(bytes + pdu.hlen)) != crc32c(0, bytes, pdu.hlen))
		abort();
	if (pdu.flags & NVME_TCP_DDGST && get_le32(*(le32 *)(void *)(bytes + len - 4)) !=
						  crc32c(0, bytes + pdu.pdo, pdu.data))
		abort();
	if (pdu.type == NVME_TCP_CMD) {
		pipe->cid = get_le16(pdu.sqe.cid);
		pipe->cmd[pipe->cid % 256] = pdu.sqe;
		if (!pipe->known)
			pipe->qid = get_le16(((struct nvmf_connect_sqe *)(void *)&pdu.sqe)->qid);
		pipe->known = true;
	}
	check_host(pipe, &pdu, bytes + pdu.pdo);
	answer(pipe, &pdu, bytes + pdu.pdo);
	if (pdu.type == NVME_TCP_ICREQ)
		pipe->dgst = pdu.ic.dgst;
}

static void tell_sent(struct pipe *pipe)
{
	while (!pipe->over && pipe->unsent) {
		struct stream_out *out = pipe->unsent;

		pipe->unsent = out->next;
		if (!pipe->unsent)
			pipe->unsent_end = &pipe->unsent;
		if (!out->unsignaled)
			pipe->stream.ev->sent(&pipe->stream, out);
	}
}

static void hear(struct pipe *pipe)
{
	while (!pipe->over && pipe->out) {
		struct stream_out *out = pipe->out;

		pipe->out = out->next;
		if (!pipe->out)
			pipe->out_end = &pipe->out;
		host_sent(pipe, out);
		out->next = NULL;
		*pipe->unsent_end = out;
		pipe->unsent_end = &out->next;
		wire.busy = true;
		if (!wire.delayed_sent)
			tell_sent(pipe);
	}
}

/* One turn of one connection; it may be gone afterwards. */
static void turn_pipe(struct pipe *pipe)
{
	if (pipe->over) {
		if (pipe->down_reported)
			return;
		pipe->down_reported = true;
		pipe->stream.state = STREAM_DOWN;
		wire.busy = true;
		pipe->stream.ev->down(&pipe->stream);
		return;
	}
	if (pipe->stream.state == STREAM_CONNECTING) {
		pipe->stream.state = STREAM_UP;
		wire.busy = true;
		pipe->stream.ev->up(&pipe->stream);
		return;
	}
	/* Level-triggered: a piece is all that the socket holds, and the next one has come when the
	 * reader is through with it. */
	for (unsigned i = 0; i < SIGNALS && !pipe->over && (pipe->from != pipe->to || pipe->hung);
		i++) {
		wire.busy = true;
		pipe->stream.ev->readable(&pipe->stream);
	}
	tell_sent(pipe);
	if (!pipe->over && pipe->from == pipe->to)
		hear(pipe);
}

static bool turn_all(struct loop_poller *poller)
{
	struct pipe *last = NULL;

	(void)poller;
	wire.busy = false;
	for (unsigned i = 0; i < PIPES; i++) {
		if (wire.pipe[i])
			turn_pipe(wire.pipe[i]);
		if (wire.pipe[i] && !wire.pipe[i]->over)
			last = wire.pipe[i];
	}
	wire.idle = wire.busy ? 0 : wire.idle + 1;
	if (wire.idle > IDLE && last)
		answer(last, NULL, NULL);
	return true;
}

static bool never_sleeps(struct loop_poller *poller)
{
	(void)poller;
	return false;
}

int stream_dial(struct stream **out, struct loop *loop, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	struct pipe *pipe = calloc(1, sizeof(*pipe));
	unsigned at = 0;

	(void)dial, (void)diag;
	while (at < PIPES && wire.pipe[at])
		at++;
	if (!pipe || at == PIPES)
		abort();
	pipe->stream = (struct stream){ .ev = events, .loop = loop, .user = user, .route = "pipe" };
	pipe->out_end = &pipe->out;
	pipe->unsent_end = &pipe->unsent;
	*out = &pipe->stream;
	wire.pipe[at] = pipe;
	return 0;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	struct pipe *pipe = pipe_of(stream);
	uint32_t left = pipe->to - pipe->from, from = pipe->from;

	if (pipe->over)
		return -ENOTCONN;
	if (!left && pipe->hung) {
		diag_set(&stream->why, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
		pipe->over = true;
		return -ECONNRESET;
	}
	if (wire.chunk && left > wire.chunk)
		left = wire.chunk;
	for (int i = 0; i < count && left; i++) {
		uint32_t len = iov[i].iov_len < left ? (uint32_t)iov[i].iov_len : left;

		memcpy(iov[i].iov_base, pipe->in + pipe->from, len);
		pipe->from += len;
		left -= len;
	}
	from = pipe->from - from;
	if (pipe->from == pipe->to)
		pipe->from = pipe->to = 0;
	return from;
}

void stream_send(struct stream *stream, struct stream_out *chain)
{
	struct pipe *pipe = pipe_of(stream);

	if (pipe->over)
		return;
	*pipe->out_end = chain;
	while (*pipe->out_end)
		pipe->out_end = &(*pipe->out_end)->next;
}

void stream_close(struct stream *stream)
{
	pipe_of(stream)->over = true;
}

void stream_reset(struct stream *stream)
{
	stream_close(stream);
}

void stream_free(struct stream *stream)
{
	for (unsigned i = 0; i < PIPES; i++) {
		if (wire.pipe[i] == pipe_of(stream))
			wire.pipe[i] = NULL;
	}
	free(pipe_of(stream));
}

void stream_probe(struct stream *stream, uint32_t idle_ms)
{
	(void)stream, (void)idle_ms;
}

bool stream_is_unacknowledged(struct stream *stream, uint32_t ms)
{
	(void)stream, (void)ms;
	return false;
}

/* Only real sockets come from elsewhere or go there. */
struct stream_detached stream_detach(struct stream *stream)
{
	(void)stream;
	abort();
}

int stream_attach(struct stream **out, struct loop *on, const struct stream_detached *from,
	const struct addr *peer, const struct stream_events *events, void *user, struct diag *diag)
{
	(void)out, (void)on, (void)from, (void)peer, (void)events, (void)user, (void)diag;
	abort();
}

int stream_start_tls(struct stream *stream, const struct stream_tls *with, struct diag *diag)
{
	(void)stream, (void)with, (void)diag;
	abort();
}

int stream_accept(struct stream **out, struct loop *loop, int fd, const struct addr *peer,
	const struct stream_events *events, void *user, struct diag *diag)
{
	(void)out, (void)loop, (void)fd, (void)peer, (void)events, (void)user, (void)diag;
	abort();
}

/* Four bytes of the input say how; its rest is the script. */
static void wire_begin(struct loop *loop, struct target *target, const uint8_t head[4],
	const uint8_t *script, size_t len)
{
	wire = (struct wire){ .target = target,
		.script = { script, script + len, head[2] },
		.poller = { .poll = turn_all, .arm = never_sleeps },
		.chunk = head[1],
		.pda = head[3] & 31,
		.delayed_sent = head[0] & 4,
		.success = head[0] & 8 };
	target->cc = 0;
	loop_poller_add(loop, &wire.poller);
}

static void wire_end(struct loop *loop)
{
	loop_poller_del(loop, &wire.poller);
	for (unsigned i = 0; i < PIPES; i++) {
		if (wire.pipe[i])
			abort();
	}
}
