/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An NVMe/TCP target with blocking sockets and a thread per connection. */
#include "crc32c.h"
#include "nvme_target.h"
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct conn {
	struct tcp_target *tt;
	int fd;
	unsigned dgst; /* agreed */
	uint16_t qid;
	bool known; /* its Connect was seen */
	struct nvme_tcp_pdu pdu;
	uint8_t data[1 << 20];
};

static bool take(struct conn *c, void *p, size_t len)
{
	return !len || recv(c->fd, p, len, MSG_WAITALL) == (ssize_t)len;
}

static bool give(struct conn *c, struct nvme_tcp_pdu *pdu, const uint8_t *data, unsigned spoil)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	unsigned before = nvme_tcp_put(out, pdu, c->dgst, 4);
	le32 digest = put_le32(crc32c(0, out, pdu->hlen) ^ (spoil & 1));

	if (pdu->flags & NVME_TCP_HDGST)
		memcpy(out + pdu->hlen, &digest, 4);
	if (send(c->fd, out, before, MSG_NOSIGNAL) != (ssize_t)before)
		return false;
	if (pdu->data && send(c->fd, data, pdu->data, MSG_NOSIGNAL) != (ssize_t)pdu->data)
		return false;
	digest = put_le32(pdu->data ? crc32c(0, data, pdu->data) ^ (spoil >> 1) : 0);
	return !(pdu->flags & NVME_TCP_DDGST) || send(c->fd, &digest, 4, MSG_NOSIGNAL) == 4;
}

/* One PDU from the host; its digests must be right. */
static bool next(struct conn *c, uint8_t *data)
{
	uint8_t head[NVME_TCP_HEAD_MAX + 4];
	unsigned hlen, hdgst;
	le32 digest;

	if (!take(c, head, 8))
		return false;
	hlen = nvme_tcp_hlen(head[0]);
	hdgst = head[1] & NVME_TCP_HDGST ? 4 : 0;
	assert(hlen);
	if (!take(c, head + 8, hlen + hdgst - 8))
		return false;
	assert(!nvme_tcp_get(&c->pdu, head, hlen, c->dgst, NULL));
	assert(!hdgst || get_le32(*(le32 *)(void *)(head + hlen)) == crc32c(0, head, hlen));
	if (!c->pdu.data)
		return true;
	assert(c->pdu.data <= sizeof(c->data) && c->pdu.pdo % ((c->tt->pda + 1) * 4) == 0);
	if (!take(c, head, c->pdu.pdo - hlen - hdgst) || !take(c, data, c->pdu.data))
		return false;
	if (!(c->pdu.flags & NVME_TCP_DDGST))
		return true;
	return take(c, &digest, 4) &&
	       (assert(get_le32(digest) == crc32c(0, data, c->pdu.data)), true);
}

static bool greet(struct conn *c)
{
	struct tcp_target *tt = c->tt;
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICRESP };
	struct nvme_tcp_pdu rsp = { .type = NVME_TCP_RSP };

	if (!next(c, c->data))
		return false;
	assert(c->pdu.type == NVME_TCP_ICREQ);
	if (tt->script && tt->script(c->fd, 0xffff, 0, 0))
		return take(c, c->data, 1);
	pdu.ic.dgst = c->pdu.ic.dgst & tt->dgst;
	pdu.ic.pda = (uint8_t)tt->pda;
	pdu.ic.max = tt->max_h2c;
	switch (tt->evil) {
	case EVIL_MUTE:
		return take(c, c->data, 1);
	case EVIL_REPLY_FIRST:
		return give(c, &rsp, NULL, 0);
	case EVIL_GARBAGE:
		return send(c->fd, "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", 40,
			       MSG_NOSIGNAL) == 40 &&
		       take(c, c->data, 1);
	case EVIL_VERSION:
		pdu.ic.pfv = 1;
		break;
	case EVIL_ALIGNMENT:
		pdu.ic.pda = 32;
		break;
	case EVIL_SMALL_H2C:
		pdu.ic.max = 4095;
		break;
	case EVIL_MORE_DIGESTS:
		pdu.ic.dgst = 3;
		break;
	case EVIL_NO_DIGESTS:
		pdu.ic.dgst = 0;
		break;
	default:
		break;
	}
	if (!give(c, &pdu, NULL, 0))
		return false;
	c->dgst = pdu.ic.dgst;
	return true;
}

static bool reply(struct conn *c, const struct nvme_cqe *cqe)
{
	struct nvme_tcp_pdu rsp = { .type = NVME_TCP_RSP, .cqe = *cqe };

	return give(c, &rsp, NULL, 0);
}

static bool ask_data(struct conn *c, uint16_t cid, uint32_t len)
{
	for (uint32_t at = 0, piece; at < len; at += piece) {
		struct nvme_tcp_pdu r2t = { .type = NVME_TCP_R2T,
			.xfer = { .cccid = cid, .ttag = (uint16_t)(at / 512 + 3), .off = at } };

		piece = len - at < c->tt->r2t_piece ? len - at : c->tt->r2t_piece;
		r2t.xfer.len = piece;
		if (!give(c, &r2t, NULL, 0))
			return false;
		for (uint32_t got = 0; got < piece; got += c->pdu.data) {
			if (!next(c, c->data + at + got))
				return false;
			/* Other commands may come in between; these tests send one write at a time.
			 */
			assert(c->pdu.type == NVME_TCP_H2C_DATA && c->pdu.xfer.cccid == cid &&
				c->pdu.xfer.ttag == r2t.xfer.ttag);
			assert(c->pdu.xfer.off == at + got && c->pdu.data <= c->tt->max_h2c);
			assert(!(c->pdu.flags & NVME_TCP_LAST) == (got + c->pdu.data < piece));
		}
	}
	return true;
}

static bool give_data(struct conn *c, uint16_t cid, uint32_t len, bool success)
{
	for (uint32_t at = 0, now; at < len; at += now) {
		struct nvme_tcp_pdu pdu = { .type = NVME_TCP_C2H_DATA,
			.xfer = { .cccid = cid, .off = at } };

		now = len - at < c->tt->c2h_piece ? len - at : c->tt->c2h_piece;
		pdu.data = pdu.xfer.len = now;
		pdu.flags = at + now == len ? NVME_TCP_LAST | (success ? NVME_TCP_SUCCESS : 0) : 0;
		if (!give(c, &pdu, c->data + at, 0))
			return false;
	}
	return true;
}

/* False: the connection has come to its end. */
static bool be_evil(struct conn *c, uint16_t cid, uint32_t len)
{
	struct nvme_tcp_pdu data = { .type = NVME_TCP_C2H_DATA,
		.data = len,
		.flags = NVME_TCP_LAST,
		.xfer = { .cccid = cid, .len = len } };
	struct nvme_tcp_pdu r2t = { .type = NVME_TCP_R2T, .xfer = { .cccid = cid, .len = len } };
	struct nvme_tcp_pdu other = { .type = NVME_TCP_ICRESP, .ic.max = 65536 };
	struct nvme_cqe cqe = { .cid = put_le16(cid), .sqhd = put_le16(NVME_SQHD_NONE) };

	switch (c->tt->evil) {
	case EVIL_SECOND_ICRESP:
		give(c, &other, NULL, 0);
		break;
	case EVIL_UNKNOWN_CID:
		cqe.cid = put_le16((uint16_t)(cid + 1));
		reply(c, &cqe);
		break;
	case EVIL_HOST_PDU:
		data.type = NVME_TCP_H2C_DATA;
		give(c, &data, c->data, 0);
		break;
	case EVIL_HEADER_DIGEST:
		give(c, &data, c->data, 1);
		break;
	case EVIL_DATA_DIGEST:
		give(c, &data, c->data, 2);
		break;
	case EVIL_DATA_TOO_LONG:
		data.data = data.xfer.len = len + 512;
		give(c, &data, c->data, 0);
		break;
	case EVIL_DATA_OFFSET:
		data.xfer.off = 512;
		data.data = data.xfer.len = len - 512;
		give(c, &data, c->data, 0);
		break;
	case EVIL_DATA_FOR_WRITE:
		give(c, &data, c->data, 0);
		break;
	case EVIL_EARLY_SUCCESS:
		data.flags = NVME_TCP_SUCCESS;
		give(c, &data, c->data, 0);
		break;
	case EVIL_SHORT_READ:
		data.data = data.xfer.len = len / 2;
		give(c, &data, c->data, 0);
		reply(c, &cqe);
		break;
	case EVIL_R2T_TOO_LONG:
		r2t.xfer.len++;
		give(c, &r2t, NULL, 0);
		break;
	case EVIL_R2T_FOR_READ:
		give(c, &r2t, NULL, 0);
		break;
	case EVIL_WRITE_UNREAD:
		reply(c, &cqe);
		break;
	case EVIL_TERM:
		other = (struct nvme_tcp_pdu){ .type = NVME_TCP_C2H_TERM,
			.term = { .fes = NVME_TCP_FES_RANGE, .fei = 12 } };
		give(c, &other, NULL, 0);
		break;
	case EVIL_HANG_UP:
		return false;
	default:
		assert(!"an evil of the greeting");
	}
	return take(c, c->data, 1);
}

static void keep_event(struct conn *c, uint16_t cid)
{
	pthread_mutex_lock(&c->tt->target.lock);
	c->tt->event.fd = c->fd;
	c->tt->event.cid = cid;
	pthread_mutex_unlock(&c->tt->target.lock);
}

bool tcp_target_notice(struct tcp_target *tt, enum nvme_aer_notice notice)
{
	struct nvme_tcp_pdu rsp = { .type = NVME_TCP_RSP };
	uint8_t out[NVME_TCP_HEAD_MAX];
	unsigned len;
	int fd;

	pthread_mutex_lock(&tt->target.lock);
	fd = tt->event.fd;
	rsp.cqe = (struct nvme_cqe){ .cid = put_le16(tt->event.cid),
		.sqhd = put_le16(NVME_SQHD_NONE),
		.result = put_le64(NVME_AER_NOTICE | (uint32_t)notice << 8) };
	tt->event.fd = 0;
	pthread_mutex_unlock(&tt->target.lock);
	len = nvme_tcp_put(out, &rsp, 0, 4);
	return fd && send(fd, out, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool one(struct conn *c)
{
	const struct nvme_sqe sqe = c->pdu.sqe;
	uint16_t cid = get_le16(sqe.cid);
	uint32_t len = get_le32(sqe.sgl.block.len);
	bool out = sqe.opcode == NVME_IO_WRITE || sqe.opcode == NVME_IO_DSM ||
		   sqe.opcode == NVME_FABRICS;
	struct nvme_cqe cqe;

	assert(c->pdu.type == NVME_TCP_CMD && len <= sizeof(c->data) && sqe.flags == NVME_PSDT_SGL);
	assert(c->pdu.data ? sqe.sgl.type == NVME_SGL_OFFSET && c->pdu.data == len
			   : sqe.sgl.type == NVME_SGL_TRANSPORT);
	if (!c->known) {
		c->qid = get_le16(((const struct nvmf_connect_sqe *)(const void *)&sqe)->qid);
		c->known = true;
	}
	if (c->tt->script && c->qid && sqe.opcode != NVME_FABRICS &&
		c->tt->script(c->fd, c->qid, cid, len)) {
		while (take(c, c->data, 1)) /* whatever the host still sends */
			;
		return false;
	}
	if (c->tt->evil >= EVIL_SECOND_ICRESP && c->qid && sqe.opcode != NVME_FABRICS)
		return be_evil(c, cid, len);
	if (out && len && !c->pdu.data && !ask_data(c, cid, len))
		return false;
	if (!target_do(&c->tt->target, c->qid, &sqe, c->data, len, &cqe)) {
		if (!c->qid && sqe.opcode == NVME_ADMIN_ASYNC_EVENT)
			keep_event(c, cid);
		return true;
	}
	if (out || !len || get_le16(cqe.status))
		return reply(c, &cqe);
	return give_data(c, cid, len, c->tt->success) && (c->tt->success || reply(c, &cqe));
}

static void *serve(void *arg)
{
	struct conn *c = arg;

	if (greet(c)) {
		while (next(c, c->data) && one(c))
			;
	}
	shutdown(c->fd, SHUT_RDWR);
	free(c);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct tcp_target *tt = arg;
	int fd, on = 1;

	while ((fd = accept(tt->listener, NULL, NULL)) >= 0) {
		struct conn *c = calloc(1, sizeof(*c));

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		assert(c && tt->conns < 80);
		c->tt = tt;
		c->fd = tt->fd[tt->conns] = fd;
		assert(!pthread_create(&tt->conn[tt->conns], NULL, serve, c));
		tt->conns++;
	}
	return NULL;
}

void tcp_target_start(struct tcp_target *tt)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);

	tt->max_h2c = tt->max_h2c ? tt->max_h2c : 65536;
	tt->c2h_piece = tt->c2h_piece ? tt->c2h_piece : 1 << 20;
	tt->r2t_piece = tt->r2t_piece ? tt->r2t_piece : 1 << 20;
	tt->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert(tt->listener >= 0 && !bind(tt->listener, (struct sockaddr *)&sa, len) &&
		!listen(tt->listener, 8));
	assert(!getsockname(tt->listener, (struct sockaddr *)&sa, &len));
	tt->port = ntohs(sa.sin_port);
	assert(!pthread_create(&tt->acceptor, NULL, accept_all, tt));
}

void tcp_target_stop(struct tcp_target *tt)
{
	shutdown(tt->listener, SHUT_RDWR);
	pthread_join(tt->acceptor, NULL);
	close(tt->listener);
	for (unsigned i = 0; i < tt->conns; i++) {
		shutdown(tt->fd[i], SHUT_RDWR);
		pthread_join(tt->conn[i], NULL);
		close(tt->fd[i]);
	}
	tt->conns = 0;
}
