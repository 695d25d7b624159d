/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDUs and FPDUs of a host without any state machine. */
#include "raw_host.h"
#include "tune.h"
#include "wire/iwarp.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS 0x1000 /* of the memory with RAW_KEY */

struct raw_host *raw_dial(const struct addr *to, bool iwarp)
{
	int family = to->ss.ss_family;
	struct raw_host *raw = calloc(1, sizeof(*raw));

	if (!raw)
		abort();
	raw->iwarp = iwarp;
	raw->msn = 1;
	raw->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (family != AF_UNIX)
		tune_tcp(raw->fd);
	if (raw->fd < 0 || (connect(raw->fd, (const struct sockaddr *)&to->ss, to->len) &&
				   errno != EINPROGRESS))
		abort();
	return raw;
}

void raw_close(struct raw_host *raw)
{
	if (raw)
		close(raw->fd);
	free(raw);
}

void raw_reset(struct raw_host *raw)
{
	const struct linger now = { .l_onoff = 1 };

	setsockopt(raw->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	raw_close(raw);
}

void raw_bytes(struct raw_host *raw, const void *p, size_t len)
{
	if (!len || len > sizeof(raw->out) - raw->out_len)
		return;
	memcpy(raw->out + raw->out_len, p, len);
	raw->out_len += len;
}

static void put_pdu(struct raw_host *raw, struct nvme_tcp_pdu *pdu, const void *data)
{
	uint8_t head[NVME_TCP_HEAD_MAX];

	raw_bytes(raw, head, nvme_tcp_put(head, pdu, 0, 4));
	raw_bytes(raw, data, pdu->data);
}

void raw_fpdu(struct raw_host *raw, const void *ddp, uint32_t len)
{
	static const uint8_t zeroes[8];
	be16 head = put_be16((uint16_t)len);

	raw_bytes(raw, &head, sizeof(head));
	raw_bytes(raw, ddp, len);
	raw_bytes(raw, zeroes, (0 - (MPA_LEN_SIZE + len)) % 4 + MPA_CRC_SIZE);
}

static void mpa_request(struct raw_host *raw, uint16_t qid, uint16_t depth)
{
	struct {
		struct mpa_frame frame;
		struct nvmf_rdma_req req;
	} hello = { .frame = { .key = MPA_KEY_REQ,
			    .revision = 1,
			    .priv_len = put_be16(sizeof(hello.req)) } };

	nvmf_rdma_req_put(&hello.req,
		&(struct nvmf_rdma_req_info){ .qid = qid, .receives = depth, .depth = depth });
	raw_bytes(raw, &hello, sizeof(hello));
}

void raw_hello(struct raw_host *raw, uint16_t qid, uint16_t depth)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ };

	if (raw->iwarp)
		mpa_request(raw, qid, depth);
	else
		put_pdu(raw, &pdu, NULL);
}

void raw_command(struct raw_host *raw, const struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD, .sqe = *sqe, .data = len };
	static uint8_t send[sizeof(struct ddp_untagged) + sizeof(*sqe) + 16384];
	struct ddp_untagged *head = (struct ddp_untagged *)(void *)send;

	if (!raw->iwarp) {
		put_pdu(raw, &pdu, data);
		return;
	}
	*head = (struct ddp_untagged){ .c = { .ddp = DDP_LAST | DDP_VERSION,
					       .rdmap = RDMAP_VERSION | RDMAP_SEND },
		.msn = put_be32(raw->msn++) };
	len = len < 16384 ? len : 16384;
	memcpy(head + 1, sqe, sizeof(*sqe));
	if (len)
		memcpy((uint8_t *)(head + 1) + sizeof(*sqe), data, len);
	raw_fpdu(raw, send + MPA_LEN_SIZE,
		(uint32_t)(sizeof(*head) - MPA_LEN_SIZE + sizeof(*sqe) + len));
}

static void drop_transfer(struct raw_host *raw, unsigned i)
{
	memmove(raw->transfer + i, raw->transfer + i + 1,
		(--raw->transfers - i) * sizeof(raw->transfer[0]));
}

static void give_tagged(struct raw_host *raw, const struct raw_transfer *transfer, const void *data,
	uint32_t len, bool last)
{
	static uint8_t segment[sizeof(struct ddp_tagged) + 32768];
	struct ddp_tagged *head = (struct ddp_tagged *)(void *)segment;

	*head = (struct ddp_tagged){
		.c = { .ddp = (uint8_t)(DDP_TAGGED | DDP_VERSION | (last ? DDP_LAST : 0)),
			.rdmap = RDMAP_VERSION | RDMAP_READ_RESP },
		.stag = put_be32(transfer->stag),
		.to = put_be64(transfer->off)
	};
	memcpy(head + 1, data, len);
	raw_fpdu(raw, segment + MPA_LEN_SIZE, (uint32_t)(sizeof(*head) - MPA_LEN_SIZE + len));
}

void raw_give(struct raw_host *raw, unsigned i, const void *data, uint32_t len, bool lie)
{
	struct raw_transfer *transfer = &raw->transfer[i];
	bool last;

	len = len && len < transfer->len ? len : transfer->len;
	if (raw->iwarp && len > 32768)
		len = 32768;
	last = (len == transfer->len) != lie;
	if (raw->iwarp) {
		give_tagged(raw, transfer, data, len, last);
	} else {
		struct nvme_tcp_pdu pdu = { .type = NVME_TCP_H2C_DATA,
			.flags = last ? NVME_TCP_LAST : 0,
			.data = len,
			.xfer = { transfer->cccid, transfer->ttag, (uint32_t)transfer->off, len } };

		put_pdu(raw, &pdu, data);
	}
	transfer->off += len;
	transfer->at += len;
	transfer->len -= len;
	if (!transfer->len)
		drop_transfer(raw, i);
}

static void add_transfer(struct raw_host *raw, struct raw_transfer transfer)
{
	if (raw->transfers < RAW_TRANSFERS)
		raw->transfer[raw->transfers++] = transfer;
}

static void receive_reply(struct raw_host *raw, const struct nvme_cqe *cqe)
{
	raw->reply = *cqe;
	raw->replies++;
}

/* One PDU; 0: not all of it is there. */
static size_t take_pdu(struct raw_host *raw, const uint8_t *p, size_t len)
{
	struct nvme_tcp_pdu pdu;
	unsigned hlen = len < 8 ? 0 : nvme_tcp_hlen(p[0]);

	if (len < 8 || len < hlen)
		return 0;
	if (nvme_tcp_get(&pdu, p, hlen, 0, NULL))
		abort();
	if (len < pdu.plen)
		return 0;
	if (pdu.type == NVME_TCP_ICRESP)
		raw->up = true;
	else if (pdu.type == NVME_TCP_R2T)
		add_transfer(raw, (struct raw_transfer){ .cccid = pdu.xfer.cccid,
					  .ttag = pdu.xfer.ttag,
					  .off = pdu.xfer.off,
					  .at = pdu.xfer.off,
					  .len = pdu.xfer.len });
	else if (pdu.type == NVME_TCP_RSP)
		receive_reply(raw, &pdu.cqe);
	if (pdu.type == NVME_TCP_C2H_DATA && !pdu.xfer.off)
		memcpy(raw->data, p + pdu.pdo,
			pdu.data < sizeof(raw->data) ? pdu.data : sizeof(raw->data));
	return pdu.plen;
}

static void receive_write(struct raw_host *raw, const struct ddp_tagged *head)
{
	uint32_t len = MPA_LEN_SIZE + get_be16(head->c.len) - (uint32_t)sizeof(*head);
	uint64_t at = get_be64(head->to) - ADDRESS;

	if (at < sizeof(raw->data))
		memcpy(raw->data + at, head + 1,
			len < sizeof(raw->data) - at ? len : sizeof(raw->data) - at);
}

static size_t take_fpdu(struct raw_host *raw, const uint8_t *p, size_t len)
{
	const struct rdmap_read_req *req = (const void *)p;
	size_t all =
		len < 4 ? 0 : (MPA_LEN_SIZE + get_be16(req->u.c.len) + 3) / 4 * 4 + MPA_CRC_SIZE;
	struct nvme_cqe cqe;

	if (!all || len < all)
		return 0;
	switch (p[3] & RDMAP_OP_MASK) {
	case RDMAP_WRITE:
		receive_write(raw, (const void *)p);
		break;
	case RDMAP_SEND:
	case RDMAP_SEND_INVAL:
		memcpy(&cqe, &req->u + 1, sizeof(cqe));
		receive_reply(raw, &cqe);
		break;
	case RDMAP_READ_REQ:
		add_transfer(raw, (struct raw_transfer){ .stag = get_be32(req->sink_stag),
					  .off = get_be64(req->sink_to),
					  .at = get_be64(req->source_to) - ADDRESS,
					  .len = get_be32(req->len) });
		break;
	case RDMAP_TERMINATE:
		raw->over = true;
		break;
	}
	return all;
}

static size_t take(struct raw_host *raw, const uint8_t *p, size_t len)
{
	const struct mpa_frame *frame = (const void *)p;

	if (!raw->iwarp)
		return take_pdu(raw, p, len);
	if (raw->up)
		return take_fpdu(raw, p, len);
	if (len < sizeof(*frame) || len < sizeof(*frame) + get_be16(frame->priv_len))
		return 0;
	raw->up = !(frame->flags & MPA_REJECT);
	raw->over = !raw->up;
	return sizeof(*frame) + get_be16(frame->priv_len);
}

static bool receive(struct raw_host *raw)
{
	ssize_t got = recv(raw->fd, raw->in + raw->in_len, sizeof(raw->in) - raw->in_len, 0);
	size_t at = 0, used;

	if (got <= 0) {
		raw->over |= !got || errno != EAGAIN;
		return false;
	}
	raw->in_len += (size_t)got;
	while ((used = take(raw, raw->in + at, raw->in_len - at)))
		at += used;
	raw->in_len -= at;
	memmove(raw->in, raw->in + at, raw->in_len);
	return true;
}

bool raw_poll(struct raw_host *raw)
{
	ssize_t put = raw->out_len ? send(raw->fd, raw->out, raw->out_len, MSG_NOSIGNAL) : 0;
	bool moved = put > 0;

	if (put > 0) {
		raw->out_len -= (size_t)put;
		memmove(raw->out, raw->out + put, raw->out_len);
	}
	while (!raw->deaf && !raw->over && receive(raw))
		moved = true;
	return moved;
}

struct nvme_sgl raw_sgl(const struct raw_host *raw, uint32_t len)
{
	if (raw->iwarp)
		return (struct nvme_sgl){ .addr = put_le64(ADDRESS),
			.keyed = { put_le24(len), put_le32(RAW_KEY) },
			.type = NVME_SGL_KEYED };
	return (struct nvme_sgl){ .type = NVME_SGL_TRANSPORT, .block.len = put_le32(len) };
}

struct nvme_sqe raw_rw(
	const struct raw_host *raw, uint8_t opcode, uint16_t cid, uint64_t lba, uint32_t blocks)
{
	return (struct nvme_sqe){ .opcode = opcode,
		.flags = NVME_PSDT_SGL,
		.cid = put_le16(cid),
		.nsid = put_le32(1),
		.cdw10 = put_le32((uint32_t)lba),
		.cdw11 = put_le32((uint32_t)(lba >> 32)),
		.cdw12 = put_le32(blocks - 1),
		.sgl = raw_sgl(raw, blocks * 512) };
}

struct nvme_sqe raw_property(bool set, uint32_t offset, uint64_t value)
{
	struct nvmf_property_sqe property = { .opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = set ? NVMF_PROPERTY_SET : NVMF_PROPERTY_GET,
		.attrib = !set && offset == NVME_CAP,
		.offset = put_le32(offset),
		.value = put_le64(value) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &property, sizeof(sqe));
	return sqe;
}

void raw_connect(struct raw_host *raw, const struct nvmf_connect *ask)
{
	struct nvmf_connect_data data;
	struct nvmf_connect_sqe connect;
	struct nvme_sqe sqe;

	nvmf_connect_put(&connect, &data, ask);
	connect.sgl =
		(struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(sizeof(data)) };
	memcpy(&sqe, &connect, sizeof(sqe));
	raw_command(raw, &sqe, &data, sizeof(data));
}
