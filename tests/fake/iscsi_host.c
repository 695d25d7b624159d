/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An iSCSI initiator made by hand. */
#include "iscsi_host.h"
#include "crc32c.h"
#include "tune.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct iscsi_host *iscsi_host_dial(const struct addr *to)
{
	struct iscsi_host *h = calloc(1, sizeof(*h));

	if (!h)
		abort();
	h->statsn = 1;
	h->fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0)
		abort();
	if (to->ss.ss_family != AF_UNIX)
		tune_tcp(h->fd);
	if (connect(h->fd, (const struct sockaddr *)&to->ss, to->len) && errno != EINPROGRESS)
		abort();
	return h;
}

void iscsi_host_leave(struct iscsi_host *h)
{
	if (h)
		close(h->fd);
	free(h);
}

/* --- what the target sends */

/* Only these do not count in StatSN; a ping that the target asks for has no tag of ours. */
static bool counts(const struct iscsi_bhs *bhs, bool status)
{
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);

	return opcode != ISCSI_R2T && (opcode != ISCSI_DATA_IN || status) &&
	       (opcode != ISCSI_NOP_IN || get_be32(bhs->itt) != ISCSI_NO_TAG);
}

static void answer_ping(struct iscsi_host *h, const struct iscsi_nop *ping)
{
	struct iscsi_nop nop = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.ttt = ping->ttt,
		.sn = put_be32(h->cmdsn) };

	if (get_be32(ping->ttt) != ISCSI_NO_TAG && !h->mute)
		iscsi_host_put(h, &nop, NULL, 0);
}

static void took(
	struct iscsi_host *h, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_data_in *in = (const void *)bhs;
	const struct iscsi_r2t *r2t = (const void *)bhs;
	const struct iscsi_scsi_rsp *rsp = (const void *)bhs;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	uint32_t offset = get_be32(in->offset);
	bool status =
		opcode == ISCSI_SCSI_RSP || (opcode == ISCSI_DATA_IN && bhs->flags & ISCSI_STATUS);

	if (counts(bhs, status) && get_be32(rsp->statsn) != h->statsn++)
		abort();
	h->seen[opcode]++;
	h->last[opcode] = *bhs;
	if (opcode == ISCSI_LOGIN_RSP) {
		h->up = bhs->flags & ISCSI_FINAL && ISCSI_NSG(bhs->flags) == ISCSI_STAGE_FULL &&
			!((const struct iscsi_login_rsp *)(const void *)bhs)->status_class;
	} else if (opcode == ISCSI_R2T && h->r2ts < ISCSI_HOST_R2TS) {
		h->r2t[h->r2ts++] = (struct iscsi_host_r2t){ .itt = get_be32(r2t->itt),
			.ttt = get_be32(r2t->ttt),
			.offset = get_be32(r2t->offset),
			.len = get_be32(r2t->desired) };
	} else if (opcode == ISCSI_DATA_IN && offset < sizeof(h->data)) {
		memcpy(h->data + offset, data,
			len < sizeof(h->data) - offset ? len : sizeof(h->data) - offset);
	}
	if (opcode == ISCSI_NOP_IN)
		answer_ping(h, (const void *)bhs);
	if (opcode != ISCSI_DATA_IN && len) {
		memcpy(h->text, data, len);
		h->text_len = len;
	}
	if (!status)
		return;
	h->status = opcode == ISCSI_DATA_IN ? in->status : rsp->status;
	h->replies++;
	if (!h->dirty && h->replies > h->asked)
		abort();
}

/* One PDU of what has come; 0: it is not whole. */
static size_t cut(struct iscsi_host *h)
{
	const struct iscsi_bhs *bhs = (const void *)h->in;
	bool digests = h->up && h->digests;
	uint32_t len, head = ISCSI_BHS + (digests ? 4 : 0), all;

	if (h->in_len < head)
		return 0;
	len = get_be24(bhs->data_len);
	all = head + (len + 3) / 4 * 4 + (digests && len ? 4 : 0);
	if (bhs->ahs_len || len > ISCSI_HOST_RECV)
		abort();
	if (h->in_len < all)
		return 0;
	if (digests &&
		(crc32c(0, h->in, ISCSI_BHS) !=
				get_le32(*(const le32 *)(const void *)(h->in + ISCSI_BHS)) ||
			(len && crc32c(0, h->in + head, all - 4 - head) !=
					get_le32(*(const le32 *)(const void *)(h->in + all - 4)))))
		abort();
	took(h, bhs, h->in + head, len);
	return all;
}

void iscsi_host_poll(struct iscsi_host *h)
{
	size_t used;
	ssize_t n = h->out_len ? send(h->fd, h->out, h->out_len, MSG_NOSIGNAL) : 0;

	if (n > 0) {
		h->out_len -= (size_t)n;
		memmove(h->out, h->out + n, h->out_len);
	}
	while (!h->deaf && !h->over) {
		n = recv(h->fd, h->in + h->in_len, sizeof(h->in) - h->in_len, 0);
		h->over = !n || (n < 0 && errno != EAGAIN);
		if (n <= 0)
			return;
		h->in_len += (size_t)n;
		while ((used = cut(h))) {
			h->in_len -= used;
			memmove(h->in, h->in + used, h->in_len);
		}
	}
}

/* --- what the initiator sends */

void iscsi_host_add(struct iscsi_host *h, const void *p, size_t len)
{
	if (!len || h->out_len + len > sizeof(h->out))
		return;
	memcpy(h->out + h->out_len, p, len);
	h->out_len += len;
}

void iscsi_host_put(struct iscsi_host *h, void *pdu, const void *data, uint32_t len)
{
	static const uint8_t zeroes[4];
	struct iscsi_bhs *bhs = pdu;
	uint32_t pad = -len & 3;
	bool digests = h->up && h->digests;
	le32 crc;

	bhs->data_len = put_be24(len);
	crc = put_le32(crc32c(0, bhs, ISCSI_BHS));
	if (h->out_len + ISCSI_BHS + len + 16 > sizeof(h->out))
		return;
	iscsi_host_add(h, bhs, ISCSI_BHS);
	if (digests)
		iscsi_host_add(h, &crc, sizeof(crc));
	iscsi_host_add(h, data, len);
	iscsi_host_add(h, zeroes, pad);
	if (!digests || !len)
		return;
	crc = put_le32(crc32c(crc32c(0, data, len), zeroes, pad));
	iscsi_host_add(h, &crc, sizeof(crc));
}

void iscsi_host_login(struct iscsi_host *h, const struct iscsi_host_login *with)
{
	static const char crc[] = "HeaderDigest=CRC32C\0DataDigest=CRC32C";
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL | ISCSI_STAGES(ISCSI_STAGE_OPERATIONAL, ISCSI_STAGE_FULL),
		.isid = { 0x80, [5] = with->isid },
		.cmdsn = put_be32(h->cmdsn) };
	char text[1024];
	size_t len = 1 + (size_t)snprintf(text, sizeof(text), "InitiatorName=%s", with->name);

	if (with->target)
		len += 1 + (size_t)snprintf(text + len, sizeof(text) - len,
				   "TargetName=%s%cSessionType=Normal%cImmediateData=Yes%c"
				   "MaxRecvDataSegmentLength=%d%cMaxBurstLength=%d",
				   with->target, 0, 0, 0, ISCSI_HOST_RECV, 0, ISCSI_HOST_BURST);
	else
		len += 1 +
		       (size_t)snprintf(text + len, sizeof(text) - len, "SessionType=Discovery");
	if (with->target && !with->default_burst)
		len += 1 +
		       (size_t)snprintf(text + len, sizeof(text) - len, "FirstBurstLength=8192");
	if (with->digests) {
		memcpy(text + len, crc, sizeof(crc));
		len += sizeof(crc);
	}
	if (with->keys) {
		memcpy(text + len, with->keys, with->keys_len);
		len += with->keys_len;
	}
	h->digests = with->digests;
	iscsi_host_put(h, &req, text, (uint32_t)len);
}

struct iscsi_scsi_cmd iscsi_host_command(struct iscsi_host *h, uint8_t flags, uint32_t expected)
{
	return (struct iscsi_scsi_cmd){ .opcode = ISCSI_SCSI_CMD,
		.flags = ISCSI_FINAL | ISCSI_SIMPLE | flags,
		.itt = put_be32(h->itt++),
		.expected = put_be32(expected),
		.cmdsn = put_be32(h->cmdsn) };
}

void iscsi_host_rw(struct iscsi_scsi_cmd *cmd, uint8_t opcode, uint32_t lba, uint16_t blocks)
{
	cmd->cdb[0] = opcode;
	wire_put_be(cmd->cdb + 2, 4, lba);
	wire_put_be(cmd->cdb + 7, 2, blocks);
}

void iscsi_host_ask(
	struct iscsi_host *h, struct iscsi_scsi_cmd *cmd, const void *data, uint32_t len)
{
	h->cmdsn += !(cmd->opcode & ISCSI_IMMEDIATE);
	h->asked++;
	iscsi_host_put(h, cmd, data, len);
}

void iscsi_host_give(
	struct iscsi_host *h, unsigned i, uint32_t len, uint8_t flags, const void *data)
{
	struct iscsi_host_r2t *r2t = &h->r2t[i];
	struct iscsi_data_out pdu = { .opcode = ISCSI_DATA_OUT,
		.flags = flags,
		.itt = put_be32(r2t->itt),
		.ttt = put_be32(r2t->ttt),
		.datasn = put_be32(r2t->datasn++),
		.offset = put_be32(r2t->offset) };

	iscsi_host_put(h, &pdu, data, len);
	r2t->offset += len;
	r2t->len -= len < r2t->len ? len : r2t->len;
	if (!r2t->len)
		h->r2t[i] = h->r2t[--h->r2ts];
}
