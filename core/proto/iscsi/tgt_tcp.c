/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's sessions on a TCP connection (RFC 7143): PDUs and their digests, Data-In, and the
 * data that initiators send after R2T. */
#include "crc32c.h"
#include "cutter.h"
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCSI_CRC_ERROR SCSI_CHECK(0x0b, 0x47, 0x05)

struct tcp_cmd {
	struct iscsi_tgt_cmd cmd;   /* first */
	uint32_t want, got;         /* of the piece: wanted, arrived */
	uint32_t burst, out;        /* of the R2T still to come; given to Data-In */
	uint32_t datasn, in_datasn; /* of the next Data-Out; Data-In and R2T so far */
	uint16_t round;             /* of this slot, part of its transfer tags */
	bool last, with_status;     /* the piece is the last; the status is in its Data-In */
	bool asking, abandoned;     /* the R2T has not left yet; taken back, but not over */
	bool whole;                 /* all of the piece came along */
	uint8_t room;               /* for a long burst, from 1 on; 0: its own, for a short one */
	struct iscsi_tgt_pdu data, rsp;
};

struct tcp {
	struct iscsi_tgt_conn conn; /* first */
	struct cutter cutter;
	bool header_digest, data_digest; /* of all PDUs behind the login */
	uint32_t max_burst;
	/* the PDU that arrives */
	uint32_t crc;
	uint8_t trailer; /* bytes behind the data: padding, digest */
	bool in_trailer;
	bool dropped; /* its data goes nowhere */
	struct loop_work came;   /* pieces that came along */
	struct tcp_cmd *filling; /* whose solicited data it is */
	uint8_t stage[ISCSI_BHS + 255 * 4 + ISCSI_DIGEST];
	uint8_t text[ISCSI_PDU_DATA], answer[ISCSI_TGT_ANSWERS][ISCSI_PDU_DATA];
};

static struct tcp *tcp_of(const struct target_conn *conn)
{
	return (struct tcp *)(uintptr_t)conn;
}

static struct tcp_cmd *cmd_of(struct target_cmd *cmd)
{
	return (struct tcp_cmd *)cmd;
}

/* ---- Sending. */

static void send_pdu(struct iscsi_tgt_conn *conn, struct iscsi_tgt_pdu *pdu, const void *bhs,
	const void *data, uint32_t len)
{
	struct tcp *tcp = tcp_of(&conn->base);

	iscsi_tcp_put(&pdu->tcp, bhs, data, len, tcp->header_digest && conn->full,
		tcp->data_digest && conn->full);
	stream_send(tcp->conn.base.stream, &pdu->tcp.out);
}

static void reply(struct target_cmd *base)
{
	struct tcp_cmd *cmd = cmd_of(base);
	struct iscsi_scsi_rsp rsp;
	uint32_t len = iscsi_tgt_response(&cmd->cmd, &rsp);

	rsp.exp_datasn = put_be32(cmd->in_datasn);
	send_pdu(&tcp_of(base->conn)->conn, &cmd->rsp, &rsp, cmd->cmd.sense, len);
}

/* The next Data-In of the piece. The F bit ends a burst; the status goes along with the last one,
 * if it says no more than that all is well. */
static void send_data(struct tcp *tcp, struct tcp_cmd *cmd)
{
	const struct scsi_cmd *scsi = &cmd->cmd.scsi;
	uint32_t at = scsi->base.at + cmd->out, left = cmd->want - cmd->out,
		 burst = tcp->max_burst - at % tcp->max_burst;
	uint32_t len = left < tcp->conn.max_send ? left : tcp->conn.max_send;
	struct iscsi_data_in pdu = { .opcode = ISCSI_DATA_IN,
		.itt = put_be32(cmd->cmd.itt),
		.ttt = put_be32(ISCSI_NO_TAG),
		.datasn = put_be32(cmd->in_datasn++),
		.offset = put_be32(at) };

	len = len < burst ? len : burst;
	cmd->with_status = cmd->last && len == left && !scsi->status;
	if (len == burst || (cmd->last && len == left))
		pdu.flags = ISCSI_FINAL;
	if (cmd->with_status) {
		pdu.flags |= ISCSI_STATUS | iscsi_tgt_residual(scsi);
		pdu.residual = put_be32(scsi->residual);
	}
	iscsi_tgt_number(&tcp->conn, &pdu, cmd->with_status, cmd->with_status);
	if (!cmd->with_status)
		pdu.statsn = put_be32(0);
	send_pdu(&tcp->conn, &cmd->data, &pdu, scsi->base.p + cmd->out, len);
	cmd->out += len;
	if (cmd->last && len == left && !cmd->with_status)
		reply(&cmd->cmd.scsi.base);
}

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	struct tcp_cmd *cmd = cmd_of(base);

	cmd->want = len;
	cmd->out = 0;
	cmd->last = last;
	send_data(tcp_of(base->conn), cmd);
}

/* ---- Data that initiators send. */

static void ask_data(struct tcp *tcp, struct tcp_cmd *cmd)
{
	const struct target_cmd *base = &cmd->cmd.scsi.base;
	uint32_t left = cmd->want - cmd->got;
	struct iscsi_r2t pdu = { .opcode = ISCSI_R2T,
		.flags = ISCSI_FINAL,
		.itt = put_be32(cmd->cmd.itt),
		.r2tsn = put_be32(cmd->in_datasn++),
		.offset = put_be32(base->at + cmd->got) };

	cmd->burst = left < tcp->max_burst ? left : tcp->max_burst;
	cmd->datasn = 0;
	cmd->round++;
	memcpy(pdu.lun, cmd->cmd.scsi.lun, sizeof(pdu.lun));
	pdu.ttt = put_be32((uint32_t)cmd->round << 16 | target_cmd_index(base));
	pdu.desired = put_be32(cmd->burst);
	iscsi_tgt_number(&tcp->conn, &pdu, false, false);
	cmd->asking = true;
	send_pdu(&tcp->conn, &cmd->data, &pdu, NULL, 0);
}

/* Takes what came along, which is the beginning of the first piece. */
static void take_inside(struct tcp_cmd *cmd)
{
	const struct target_cmd *base = &cmd->cmd.scsi.base;
	uint32_t inside = cmd->cmd.inside, len = cmd->want;

	if (base->at >= inside)
		return;
	cmd->got = inside - base->at < len ? inside - base->at : len;
	memcpy(base->p, cmd->cmd.came + base->at, cmd->got);
}

static void pull(struct target_cmd *base, uint32_t len)
{
	struct tcp_cmd *cmd = cmd_of(base);
	struct tcp *tcp = tcp_of(base->conn);

	cmd->want = len;
	cmd->got = 0;
	cmd->abandoned = false;
	if (cmd->cmd.more)
		return;
	take_inside(cmd);
	cmd->whole = cmd->got == len || cmd->cmd.spoiled;
	if (cmd->whole)
		loop_work_add(base->conn->loop, &tcp->came);
	else
		ask_data(tcp, cmd);
}

static bool recall(struct scsi_cmd *scsi)
{
	struct tcp_cmd *cmd = (struct tcp_cmd *)scsi;

	if (!cmd->asking && tcp_of(scsi->base.conn)->filling != cmd)
		return true;
	cmd->abandoned = true;
	return false;
}

static void pulled(struct tcp_cmd *cmd)
{
	cmd->abandoned = false;
	target_cmd_pulled(&cmd->cmd.scsi.base, cmd->cmd.spoiled ? SCSI_CRC_ERROR : SCSI_GOOD);
}

static void came(struct loop_work *work)
{
	struct target_conn *conn = &container_of(work, struct tcp, came)->conn.base;

	for (unsigned i = 0; i < conn->slots && !target_conn_gone(conn); i++) {
		struct tcp_cmd *cmd = cmd_of(target_cmd_at(conn, i));

		if (cmd->whole && cmd->cmd.scsi.base.state == TARGET_CMD_PULL) {
			cmd->whole = false;
			pulled(cmd);
		}
	}
}

/* The command that unsolicited data is for. */
static struct tcp_cmd *awaits(struct target_conn *conn, uint32_t itt)
{
	for (unsigned i = 0; i < conn->slots; i++) {
		struct tcp_cmd *cmd = cmd_of(target_cmd_at(conn, i));
		uint8_t state = cmd->cmd.scsi.base.state;

		if ((state == TARGET_CMD_PULL || state == TARGET_CMD_LINE ||
			    state == TARGET_CMD_FETCH) &&
			cmd->cmd.more && cmd->cmd.itt == itt)
			return cmd;
	}
	return NULL;
}

/* It goes where immediate data goes, as the command may have no buffer yet. */
static bool take_unsolicited(struct tcp *tcp, uint8_t **to)
{
	struct iscsi_tgt_conn *conn = &tcp->conn;
	const struct iscsi_data_out *pdu = (const void *)&conn->bhs;
	struct tcp_cmd *cmd = awaits(&conn->base, get_be32(pdu->itt));
	uint32_t most;

	if (!cmd) { /* it has been refused or aborted */
		conn->unwanted = true;
		return true;
	}
	most = cmd->cmd.scsi.want_out;
	most = most < conn->first_burst ? most : conn->first_burst;
	if (get_be32(pdu->offset) != cmd->cmd.inside || get_be32(pdu->datasn) != cmd->datasn)
		iscsi_tgt_broken(conn, "data at an unexpected offset");
	else if (!conn->len || conn->len > most - cmd->cmd.inside)
		iscsi_tgt_broken(conn, "more unsolicited data than allowed, or none");
	else if (!(pdu->flags & ISCSI_FINAL) && conn->len == most - cmd->cmd.inside)
		iscsi_tgt_broken(conn, "the final bit of data is missing or misplaced");
	if (target_conn_gone(&conn->base))
		return false;
	tcp->filling = cmd;
	*to = cmd->cmd.came + cmd->cmd.inside;
	return true;
}

static bool take_data(struct tcp *tcp, uint8_t **to)
{
	struct iscsi_tgt_conn *conn = &tcp->conn;
	const struct iscsi_data_out *pdu = (const void *)&conn->bhs;
	uint32_t ttt = get_be32(pdu->ttt), index = ttt & 0xffff;
	struct target_cmd *base =
		index < conn->base.slots ? target_cmd_at(&conn->base, index) : NULL;
	struct tcp_cmd *cmd = (struct tcp_cmd *)base;

	conn->heard = true;
	if (ttt == ISCSI_NO_TAG && conn->unsolicited)
		return take_unsolicited(tcp, to);
	if (!base) {
		iscsi_tgt_broken(conn, "data for an unknown transfer tag");
		return false;
	}
	/* of a command that has been aborted */
	if (base->state != TARGET_CMD_PULL || cmd->round != ttt >> 16 || !cmd->burst) {
		conn->unwanted = true;
		return true;
	}
	if (cmd->asking || get_be32(pdu->itt) != cmd->cmd.itt)
		iscsi_tgt_broken(conn, "data for a command that does not own the transfer tag");
	else if (get_be32(pdu->offset) != base->at + cmd->got ||
		 get_be32(pdu->datasn) != cmd->datasn)
		iscsi_tgt_broken(conn, "data at an unexpected offset");
	else if (!conn->len || conn->len > cmd->burst)
		iscsi_tgt_broken(conn, "more data than requested by R2T, or none");
	else if (!(pdu->flags & ISCSI_FINAL) != (conn->len < cmd->burst))
		iscsi_tgt_broken(conn, "the final bit of data is missing or misplaced");
	if (target_conn_gone(&conn->base))
		return false;
	tcp->filling = cmd;
	*to = base->p + cmd->got;
	return true;
}

static void took_unsolicited(struct tcp *tcp, struct tcp_cmd *cmd)
{
	const struct iscsi_data_out *pdu = (const void *)&tcp->conn.bhs;

	cmd->cmd.inside += tcp->conn.len;
	cmd->cmd.more = !(pdu->flags & ISCSI_FINAL);
	if (cmd->cmd.scsi.base.state != TARGET_CMD_PULL || (cmd->cmd.more && !cmd->abandoned))
		return;
	take_inside(cmd);
	if (cmd->got == cmd->want || cmd->abandoned || cmd->cmd.spoiled)
		pulled(cmd);
	else
		ask_data(tcp, cmd);
}

static void took_data(struct tcp *tcp, struct tcp_cmd *cmd)
{
	cmd->datasn++;
	if (cmd->cmd.more) {
		took_unsolicited(tcp, cmd);
		return;
	}
	cmd->got += tcp->conn.len;
	cmd->burst -= tcp->conn.len;
	if (cmd->got == cmd->want || cmd->abandoned || (cmd->cmd.spoiled && !cmd->burst))
		pulled(cmd);
	else if (!cmd->burst)
		ask_data(tcp, cmd);
}

/* ---- Receiving. */

/* Of a long burst, in those elements of the pool that are behind the commands' own. */
static uint32_t room_elements(const struct iscsi_tgt_conn *conn)
{
	return (conn->first_burst + ISCSI_TGT_FIRST_BURST - 1) / ISCSI_TGT_FIRST_BURST;
}

/* Room for what may come along with the command; NULL: none for a long burst. */
static uint8_t *find_room(struct iscsi_tgt_conn *conn, struct tcp_cmd *cmd)
{
	uint32_t most = cmd->cmd.more ? cmd->cmd.scsi.want_out : conn->len, used = 0;
	uint32_t i = target_cmd_index(&cmd->cmd.scsi.base);

	cmd->room = 0;
	if (most > conn->first_burst)
		most = conn->first_burst;
	if (most <= ISCSI_TGT_FIRST_BURST)
		return pool_buf(conn->base.pool, i).p;
	for (i = 0; i < conn->base.slots; i++) {
		const struct tcp_cmd *other = cmd_of(target_cmd_at(&conn->base, i));

		if (other->cmd.scsi.base.state != TARGET_CMD_FREE)
			used |= 1u << other->room;
	}
	for (i = 1; used & 1u << i; i++)
		;
	if (i > ISCSI_TGT_LONG_BURSTS)
		return NULL;
	cmd->room = (uint8_t)i;
	return pool_buf(conn->base.pool, conn->base.slots + (i - 1) * room_elements(conn)).p;
}

/* The header is there: where does the data go? NULL: nowhere. false: the connection has ended. */
static bool take_head(struct tcp *tcp, uint8_t **to)
{
	struct iscsi_tgt_conn *conn = &tcp->conn;
	struct tcp_cmd *cmd;

	*to = NULL;
	if (conn->len > ISCSI_TGT_RECV) {
		iscsi_tgt_broken(conn, "PDU with more data than MaxRecvDataSegmentLength");
		return false;
	}
	if (!conn->login && ISCSI_OPCODE(conn->bhs.opcode) == ISCSI_DATA_OUT)
		return take_data(tcp, to);
	if (!iscsi_tgt_head(conn))
		return false;
	cmd = (struct tcp_cmd *)conn->cmd;
	if (!cmd) {
		*to = conn->unwanted ? NULL : conn->text;
		return true;
	}
	cmd->burst = cmd->datasn = cmd->in_datasn = 0;
	cmd->asking = cmd->abandoned = cmd->with_status = cmd->whole = false;
	*to = cmd->cmd.came = find_room(conn, cmd);
	if (!*to) { /* nor for what follows */
		cmd->cmd.no_room = true;
		cmd->cmd.more = false;
	}
	return true;
}

/* The whole PDU is there. false: the connection has ended, or nothing more is taken for now. */
static bool took_pdu(struct tcp *tcp)
{
	struct tcp_cmd *cmd = tcp->filling;

	if (!cmd)
		return iscsi_tgt_took(&tcp->conn);
	tcp->filling = NULL;
	took_data(tcp, cmd);
	return !target_conn_gone(&tcp->conn.base);
}

static bool digest_is(const uint8_t *p, uint32_t crc)
{
	return get_le32(*(const le32 *)(const void *)p) == crc;
}

/* 7.8: a command whose solicited or unsolicited data has an error fails once all of it has come; an
 * error elsewhere ends the session. */
static bool spoiled(struct tcp *tcp)
{
	bool ready = iscsi_tgt_ready(&tcp->conn);

	if (ready)
		iscsi_tgt_reject(&tcp->conn, ISCSI_REJECT_DATA_DIGEST,
			tcp->filling ? NULL : "data digest error");
	else
		iscsi_tgt_broken(&tcp->conn, "data digest error");
	if (tcp->filling)
		tcp->filling->cmd.spoiled = true;
	return ready;
}

static int take_trailer(struct tcp *tcp, const uint8_t *p, uint32_t have)
{
	uint32_t pad = -tcp->conn.len & 3;

	if (have < tcp->trailer)
		return 0;
	if (tcp->data_digest && !tcp->dropped &&
		!digest_is(p + pad, crc32c(tcp->crc, p, pad)) && !spoiled(tcp))
		return CUTTER_STOP;
	tcp->in_trailer = false;
	if (!took_pdu(tcp))
		cutter_stop(&tcp->cutter);
	return tcp->trailer;
}

/* With all answers on their way nothing that may have one is taken until one of them has left. */
static bool may_take(struct iscsi_tgt_conn *conn)
{
	return !conn->login && ISCSI_OPCODE(conn->bhs.opcode) == ISCSI_DATA_OUT
		       ? !target_conn_gone(&conn->base)
		       : iscsi_tgt_ready(conn);
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct tcp *tcp = container_of(cutter, struct tcp, cutter);
	struct iscsi_tgt_conn *conn = &tcp->conn;
	uint32_t head = ISCSI_BHS;
	uint8_t *to = NULL;

	if (tcp->in_trailer)
		return take_trailer(tcp, p, have);
	if (have < ISCSI_BHS)
		return 0;
	memcpy(&conn->bhs, p, ISCSI_BHS);
	head += conn->bhs.ahs_len * 4u;
	if (have < head + (tcp->header_digest ? ISCSI_DIGEST : 0))
		return 0;
	if (tcp->header_digest && !digest_is(p + head, crc32c(0, p, head))) {
		iscsi_tgt_broken(conn, "header digest error");
		return CUTTER_STOP;
	}
	if (!may_take(conn)) {
		stream_hear(tcp->conn.base.stream, STREAM_WATCH);
		return CUTTER_STOP;
	}
	head += tcp->header_digest ? ISCSI_DIGEST : 0;
	conn->len = get_be24(conn->bhs.data_len);
	conn->unwanted = false;
	tcp->filling = NULL;
	tcp->crc = 0;
	if (!take_head(tcp, &to))
		return CUTTER_STOP;
	tcp->dropped = !to || conn->unwanted;
	tcp->trailer =
		(uint8_t)((-conn->len & 3) + (conn->len && tcp->data_digest ? ISCSI_DIGEST : 0));
	if (conn->len)
		cutter_payload(cutter, tcp->dropped ? NULL : to, conn->len);
	else if (!took_pdu(tcp))
		cutter_stop(cutter);
	return (int)head;
}

static bool payload(struct cutter *cutter)
{
	struct tcp *tcp = container_of(cutter, struct tcp, cutter);

	tcp->in_trailer = tcp->trailer;
	return tcp->in_trailer || took_pdu(tcp);
}

static void landed(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	struct tcp *tcp = container_of(cutter, struct tcp, cutter);

	if (tcp->data_digest)
		tcp->crc = crc32c(tcp->crc, p, len);
}

static void readable(struct stream *stream)
{
	struct tcp *tcp = stream->user;

	if (!target_conn_gone(&tcp->conn.base) && cutter_receive(&tcp->cutter, stream))
		target_stream_ended(&tcp->conn.base);
}

/* ---- What has left. */

static void cmd_sent(struct tcp *tcp, struct tcp_cmd *cmd, struct stream_out *out)
{
	if (out == &cmd->rsp.tcp.out) {
		iscsi_tgt_responded(&cmd->cmd);
	} else if (cmd->asking) {
		cmd->asking = false;
		if (cmd->abandoned)
			pulled(cmd);
	} else if (cmd->out < cmd->want) {
		send_data(tcp, cmd);
	} else if (cmd->with_status) {
		iscsi_tgt_responded(&cmd->cmd);
	} else if (!cmd->last) {
		target_cmd_pushed(&cmd->cmd.scsi.base);
	}
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct tcp *tcp = stream->user;
	struct target_conn *base = &tcp->conn.base;
	size_t at = (size_t)((uint8_t *)out - base->cmds);

	if (!iscsi_tgt_sent(&tcp->conn, container_of(out, struct iscsi_tgt_pdu, tcp.out)))
		cmd_sent(tcp, cmd_of(target_cmd_at(base, (unsigned)(at / sizeof(struct tcp_cmd)))),
			out);
}

static const struct stream_events events = {
	.readable = readable, .sent = sent, .down = target_stream_down
};

/* ---- The carrier. */

static int live(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	const struct iscsi_keys *keys = &conn->login->keys;
	struct tcp *tcp = tcp_of(&conn->base);
	uint32_t slots = conn->depth + ISCSI_TGT_IMMEDIATE, each = conn->first_burst, more = 0;
	int err;

	conn->max_send = keys->value[ISCSI_MAX_RECV];
	tcp->max_burst = keys->value[ISCSI_MAX_BURST];
	tcp->header_digest = keys->value[ISCSI_HEADER_DIGEST];
	tcp->data_digest = keys->value[ISCSI_DATA_DIGEST];
	if (!conn->node)
		return 0;
	if (each > ISCSI_TGT_FIRST_BURST) {
		each = ISCSI_TGT_FIRST_BURST;
		more = ISCSI_TGT_LONG_BURSTS * room_elements(conn);
	}
	err = target_conn_room(&conn->base, slots, diag);
	return err ? err : pool_new(&conn->base.pool, each, (uint16_t)(slots + more), diag);
}

/* An answer has left: what waits behind may be taken. */
static void more(struct iscsi_tgt_conn *conn)
{
	struct tcp *tcp = tcp_of(&conn->base);

	stream_hear(tcp->conn.base.stream, STREAM_READ);
	cutter_resume(&tcp->cutter);
}

static void tcp_free(struct target_conn *base)
{
	struct tcp *tcp = tcp_of(base);
	bool used = base->stream && stream_moved(base->stream);

	iscsi_tgt_free(&tcp->conn);
	if (base->stream)
		stream_free(base->stream);
	pool_free(base->pool);
	loop_work_del(base->loop, &tcp->came);
	if (!used)
		return;
	explicit_bzero(tcp->stage, sizeof(tcp->stage)); /* proofs of CHAP */
	explicit_bzero(tcp->text, sizeof(tcp->text));
	explicit_bzero(tcp->answer, sizeof(tcp->answer));
}

static int tcp_open(struct target_conn *base, struct diag *diag)
{
	static const struct cutter_events pdus = { part, payload, landed };
	struct tcp *tcp = tcp_of(base);
	struct iscsi_tgt_conn *conn = &tcp->conn;
	int err;

	cutter_init(&tcp->cutter, &pdus, tcp->stage, sizeof(tcp->stage));
	tcp->came.run = came;
	conn->text = tcp->text;
	conn->depth = ISCSI_TGT_DEPTH;
	for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++)
		conn->answer[i].data = tcp->answer[i];
	err = iscsi_tgt_open(conn, ISCSI_TGT_RECV, diag);
	if (err) {
		close(base->fd);
		return err;
	}
	conn->login->keys.own[ISCSI_HEADER_DIGEST] = conn->login->keys.own[ISCSI_DATA_DIGEST] = 1;
	conn->login->keys.own[ISCSI_INITIAL_R2T] = 0;
	err = target_stream_open(base, &events, diag);
	if (err)
		iscsi_tgt_free(conn);
	return err;
}

static const struct iscsi_tgt_carrier carrier = {
	.base = { .name = "tcp",
		.cmd_size = sizeof(struct tcp_cmd),
		.open = tcp_open,
		.pull = pull,
		.push = push,
		.reply = reply,
		.moved = target_stream_moved,
		.hung_up = target_stream_hung_up,
		.close = target_stream_close,
		.reset = target_stream_reset,
		.free = tcp_free },
	.ways = WAY_TCP,
	.send = send_pdu,
	.live = live,
	.more = more,
	.recall = recall,
};

void iscsi_tgt_incoming(struct target *target, int fd, const struct addr *peer)
{
	struct tcp *tcp = target_stream_new(target, sizeof(*tcp), fd, peer);
	char text[ADDR_TEXT];

	if (!tcp)
		return;
	snprintf(tcp->conn.base.name, sizeof(tcp->conn.base.name), "iscsi initiator %s",
		addr_text(peer, text));
	target_conn_begin(target, &tcp->conn.base, &carrier.base, peer);
}
