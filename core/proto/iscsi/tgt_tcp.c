/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's sessions over TCP (RFC 7143): PDUs and digests, Data-In, R2T and Data-Out. */
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCSI_CRC_ERROR SCSI_CHECK(0x0b, 0x47, 0x05)

struct tcp_cmd {
	struct iscsi_tgt_cmd cmd;       /* first */
	uint32_t piece_len, piece_done; /* of the piece: all, received */
	uint32_t burst, data_in_sent;   /* requested by R2T, not received yet; sent as Data-In */
	uint32_t datasn, in_datasn; /* expected of the next Data-Out; of the next Data-In or R2T */
	uint16_t round;             /* upper half of the TTT, counts the slot's R2Ts */
	bool last, with_status;     /* of the piece: it is the last; its Data-In has the status */
	bool r2t_in_flight, abandoned; /* the R2T is not sent yet; recalled during a transfer */
	bool piece_unsolicited;        /* all of the piece is unsolicited data */
	uint8_t long_burst; /* number of the room for a long burst; 0: the command's own room */
	struct iscsi_tgt_pdu data, rsp;
};

struct tcp {
	struct iscsi_tgt_conn conn; /* first */
	struct iscsi_tcp_rx rx;
	uint32_t max_burst;
	struct loop_work pull_work; /* finishes pieces of unsolicited data */
	struct tcp_cmd *filling;    /* the command whose Data-Out it is */
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

	iscsi_tcp_put(&pdu->tcp, bhs, data, len, tcp->rx.header_digest && conn->full_feature,
		tcp->rx.data_digest && conn->full_feature);
	stream_send(tcp->conn.base.stream, &pdu->tcp.out);
}

static void reply(struct target_cmd *base)
{
	struct tcp_cmd *cmd = cmd_of(base);
	struct iscsi_scsi_rsp rsp;
	uint32_t len = iscsi_tgt_make_response(&cmd->cmd, &rsp);

	rsp.exp_datasn = put_be32(cmd->in_datasn);
	send_pdu(&tcp_of(base->conn)->conn, &cmd->rsp, &rsp, cmd->cmd.sense, len);
}

/* Send the next Data-In of the piece. The F bit ends a burst; the last one has the status if that
 * is GOOD. */
static void send_data_in(struct tcp *tcp, struct tcp_cmd *cmd)
{
	const struct scsi_cmd *scsi = &cmd->cmd.scsi;
	uint32_t at = scsi->base.at + cmd->data_in_sent, left = cmd->piece_len - cmd->data_in_sent,
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
	iscsi_tgt_set_numbers(&tcp->conn, &pdu, cmd->with_status, cmd->with_status);
	if (!cmd->with_status)
		pdu.statsn = put_be32(0);
	send_pdu(&tcp->conn, &cmd->data, &pdu, scsi->base.p + cmd->data_in_sent, len);
	cmd->data_in_sent += len;
	if (cmd->last && len == left && !cmd->with_status)
		reply(&cmd->cmd.scsi.base);
}

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	struct tcp_cmd *cmd = cmd_of(base);

	cmd->piece_len = len;
	cmd->data_in_sent = 0;
	cmd->last = last;
	send_data_in(tcp_of(base->conn), cmd);
}

/* ---- Data-Out. */

static void send_r2t(struct tcp *tcp, struct tcp_cmd *cmd)
{
	const struct target_cmd *base = &cmd->cmd.scsi.base;
	uint32_t left = cmd->piece_len - cmd->piece_done;
	struct iscsi_r2t pdu = { .opcode = ISCSI_R2T,
		.flags = ISCSI_FINAL,
		.itt = put_be32(cmd->cmd.itt),
		.r2tsn = put_be32(cmd->in_datasn++),
		.offset = put_be32(base->at + cmd->piece_done) };

	cmd->burst = left < tcp->max_burst ? left : tcp->max_burst;
	cmd->datasn = 0;
	cmd->round++;
	memcpy(pdu.lun, cmd->cmd.scsi.lun, sizeof(pdu.lun));
	pdu.ttt = put_be32((uint32_t)cmd->round << 16 | target_cmd_index(base));
	pdu.desired = put_be32(cmd->burst);
	iscsi_tgt_set_numbers(&tcp->conn, &pdu, false, false);
	cmd->r2t_in_flight = true;
	send_pdu(&tcp->conn, &cmd->data, &pdu, NULL, 0);
}

/* Copy unsolicited data, which is the beginning of the first piece. */
static void copy_unsolicited(struct tcp_cmd *cmd)
{
	const struct target_cmd *base = &cmd->cmd.scsi.base;
	uint32_t unsolicited = cmd->cmd.unsolicited_len, len = cmd->piece_len;

	if (base->at >= unsolicited)
		return;
	cmd->piece_done = unsolicited - base->at < len ? unsolicited - base->at : len;
	memcpy(base->p, cmd->cmd.unsolicited_data + base->at, cmd->piece_done);
}

static void pull(struct target_cmd *base, uint32_t len)
{
	struct tcp_cmd *cmd = cmd_of(base);
	struct tcp *tcp = tcp_of(base->conn);

	cmd->piece_len = len;
	cmd->piece_done = 0;
	cmd->abandoned = false;
	if (cmd->cmd.unsolicited_pending)
		return;
	copy_unsolicited(cmd);
	cmd->piece_unsolicited = cmd->piece_done == len || cmd->cmd.digest_error;
	if (cmd->piece_unsolicited)
		loop_work_add(base->conn->loop, &tcp->pull_work);
	else
		send_r2t(tcp, cmd);
}

static bool recall(struct scsi_cmd *scsi)
{
	struct tcp_cmd *cmd = (struct tcp_cmd *)scsi;

	if (!cmd->r2t_in_flight && tcp_of(scsi->base.conn)->filling != cmd)
		return true;
	cmd->abandoned = true;
	return false;
}

static void pulled(struct tcp_cmd *cmd)
{
	cmd->abandoned = false;
	target_cmd_pulled(&cmd->cmd.scsi.base, cmd->cmd.digest_error ? SCSI_CRC_ERROR : SCSI_GOOD);
}

static void finish_immediate_pulls(struct loop_work *work)
{
	struct target_conn *conn = &container_of(work, struct tcp, pull_work)->conn.base;

	for (unsigned i = 0; i < conn->prepared && !target_conn_is_closing(conn); i++) {
		struct tcp_cmd *cmd = cmd_of(target_cmd_at(conn, i));

		if (cmd->piece_unsolicited && cmd->cmd.scsi.base.state == TARGET_CMD_PULL) {
			cmd->piece_unsolicited = false;
			pulled(cmd);
		}
	}
}

/* Find the command that expects unsolicited Data-Out. */
static struct tcp_cmd *find_unsolicited(struct target_conn *conn, uint32_t itt)
{
	for (unsigned i = 0; i < conn->prepared; i++) {
		struct tcp_cmd *cmd = cmd_of(target_cmd_at(conn, i));
		uint8_t state = cmd->cmd.scsi.base.state;

		if ((state == TARGET_CMD_PULL || state == TARGET_CMD_WAIT_BUFFER ||
			    state == TARGET_CMD_RECEIVING) &&
			cmd->cmd.unsolicited_pending && cmd->cmd.itt == itt)
			return cmd;
	}
	return NULL;
}

/* Store it after the immediate data: the command may have no buffer yet. */
static bool begin_unsolicited(struct tcp *tcp, uint8_t **to)
{
	struct iscsi_tgt_conn *conn = &tcp->conn;
	const struct iscsi_data_out *pdu = (const void *)&conn->bhs;
	struct tcp_cmd *cmd = find_unsolicited(&conn->base, get_be32(pdu->itt));
	uint32_t most;

	if (!cmd) { /* refused or aborted */
		conn->discard_data = true;
		return true;
	}
	most = cmd->cmd.scsi.expected_out;
	most = most < conn->first_burst ? most : conn->first_burst;
	if (get_be32(pdu->offset) != cmd->cmd.unsolicited_len ||
		get_be32(pdu->datasn) != cmd->datasn)
		iscsi_tgt_protocol_error(conn, "data at an unexpected offset");
	else if (!conn->len || conn->len > most - cmd->cmd.unsolicited_len)
		iscsi_tgt_protocol_error(conn, "more unsolicited data than allowed, or none");
	else if (!(pdu->flags & ISCSI_FINAL) && conn->len == most - cmd->cmd.unsolicited_len)
		iscsi_tgt_protocol_error(conn, "the final bit of data is missing or misplaced");
	if (target_conn_is_closing(&conn->base))
		return false;
	tcp->filling = cmd;
	*to = cmd->cmd.unsolicited_data + cmd->cmd.unsolicited_len;
	return true;
}

static bool begin_data_out(struct tcp *tcp, uint8_t **to)
{
	struct iscsi_tgt_conn *conn = &tcp->conn;
	const struct iscsi_data_out *pdu = (const void *)&conn->bhs;
	uint32_t ttt = get_be32(pdu->ttt), index = ttt & 0xffff;
	struct target_cmd *base =
		index < conn->base.slots ? target_cmd_at(&conn->base, index) : NULL;
	struct tcp_cmd *cmd = (struct tcp_cmd *)base;

	conn->rx_since_ping = true;
	if (ttt == ISCSI_NO_TAG && conn->unsolicited)
		return begin_unsolicited(tcp, to);
	if (!base) {
		iscsi_tgt_protocol_error(conn, "data for an unknown transfer tag");
		return false;
	}
	/* of an aborted command */
	if (base->state != TARGET_CMD_PULL || cmd->round != ttt >> 16 || !cmd->burst) {
		conn->discard_data = true;
		return true;
	}
	if (cmd->r2t_in_flight || get_be32(pdu->itt) != cmd->cmd.itt)
		iscsi_tgt_protocol_error(
			conn, "data for a command that does not own the transfer tag");
	else if (get_be32(pdu->offset) != base->at + cmd->piece_done ||
		 get_be32(pdu->datasn) != cmd->datasn)
		iscsi_tgt_protocol_error(conn, "data at an unexpected offset");
	else if (!conn->len || conn->len > cmd->burst)
		iscsi_tgt_protocol_error(conn, "more data than requested by R2T, or none");
	else if (!(pdu->flags & ISCSI_FINAL) != (conn->len < cmd->burst))
		iscsi_tgt_protocol_error(conn, "the final bit of data is missing or misplaced");
	if (target_conn_is_closing(&conn->base))
		return false;
	tcp->filling = cmd;
	*to = base->p + cmd->piece_done;
	return true;
}

static void finish_unsolicited(struct tcp *tcp, struct tcp_cmd *cmd)
{
	const struct iscsi_data_out *pdu = (const void *)&tcp->conn.bhs;

	cmd->cmd.unsolicited_len += tcp->conn.len;
	cmd->cmd.unsolicited_pending = !(pdu->flags & ISCSI_FINAL);
	if (cmd->cmd.scsi.base.state != TARGET_CMD_PULL ||
		(cmd->cmd.unsolicited_pending && !cmd->abandoned))
		return;
	copy_unsolicited(cmd);
	if (cmd->piece_done == cmd->piece_len || cmd->abandoned || cmd->cmd.digest_error)
		pulled(cmd);
	else
		send_r2t(tcp, cmd);
}

static void finish_data_out(struct tcp *tcp, struct tcp_cmd *cmd)
{
	cmd->datasn++;
	if (cmd->cmd.unsolicited_pending) {
		finish_unsolicited(tcp, cmd);
		return;
	}
	cmd->piece_done += tcp->conn.len;
	cmd->burst -= tcp->conn.len;
	if (cmd->piece_done == cmd->piece_len || cmd->abandoned ||
		(cmd->cmd.digest_error && !cmd->burst))
		pulled(cmd);
	else if (!cmd->burst)
		send_r2t(tcp, cmd);
}

/* ---- Receiving. */

/* Elements of the pool that hold one long burst; they follow the commands' own elements. */
static uint32_t burst_elements(const struct iscsi_tgt_conn *conn)
{
	return (conn->first_burst + ISCSI_TGT_FIRST_BURST - 1) / ISCSI_TGT_FIRST_BURST;
}

/* Return room for the command's unsolicited data; NULL: no room for a long burst. */
static uint8_t *find_unsolicited_buf(struct iscsi_tgt_conn *conn, struct tcp_cmd *cmd)
{
	uint32_t most = cmd->cmd.unsolicited_pending ? cmd->cmd.scsi.expected_out : conn->len,
		 used = 0;
	uint32_t i = target_cmd_index(&cmd->cmd.scsi.base);

	cmd->long_burst = 0;
	if (most > conn->first_burst)
		most = conn->first_burst;
	if (most <= ISCSI_TGT_FIRST_BURST)
		return pool_buf(conn->base.pool, i).p;
	for (i = 0; i < conn->base.prepared; i++) {
		const struct tcp_cmd *other = cmd_of(target_cmd_at(&conn->base, i));

		if (other->cmd.scsi.base.state != TARGET_CMD_FREE)
			used |= 1u << other->long_burst;
	}
	for (i = 1; used & 1u << i; i++)
		;
	if (i > ISCSI_TGT_LONG_BURSTS)
		return NULL;
	cmd->long_burst = (uint8_t)i;
	return pool_buf(conn->base.pool, conn->base.slots + (i - 1) * burst_elements(conn)).p;
}

/* Set *to where the PDU's data goes. false: the connection has ended. */
static bool begin_pdu(struct tcp *tcp, uint8_t **to)
{
	struct iscsi_tgt_conn *conn = &tcp->conn;
	struct tcp_cmd *cmd;

	if (conn->len > ISCSI_TGT_RECV) {
		iscsi_tgt_protocol_error(conn, "PDU with more data than MaxRecvDataSegmentLength");
		return false;
	}
	if (!conn->login && ISCSI_OPCODE(conn->bhs.opcode) == ISCSI_DATA_OUT)
		return begin_data_out(tcp, to);
	if (!iscsi_tgt_begin_pdu(conn))
		return false;
	cmd = (struct tcp_cmd *)conn->cmd;
	if (!cmd) {
		*to = conn->discard_data ? NULL : conn->text;
		return true;
	}
	cmd->burst = cmd->datasn = cmd->in_datasn = 0;
	cmd->r2t_in_flight = cmd->abandoned = cmd->with_status = cmd->piece_unsolicited = false;
	*to = cmd->cmd.unsolicited_data = find_unsolicited_buf(conn, cmd);
	if (!*to) { /* nor for unsolicited Data-Out */
		cmd->cmd.no_room = true;
		cmd->cmd.unsolicited_pending = false;
	}
	return true;
}

/* Process a complete PDU. false: the connection has ended, or must not receive for now. */
static bool finish_pdu(struct tcp *tcp)
{
	struct tcp_cmd *cmd = tcp->filling;

	if (!cmd)
		return iscsi_tgt_dispatch_pdu(&tcp->conn);
	tcp->filling = NULL;
	finish_data_out(tcp, cmd);
	return !target_conn_is_closing(&tcp->conn.base);
}

/* 7.8: an error in Data-Out fails its command once all data has arrived; an error in other data
 * ends the session. */
static bool handle_data_digest_error(struct tcp *tcp)
{
	bool ready = iscsi_tgt_can_receive(&tcp->conn);

	if (ready)
		iscsi_tgt_reject(&tcp->conn, ISCSI_REJECT_DATA_DIGEST,
			tcp->filling ? NULL : "data digest error");
	else
		iscsi_tgt_protocol_error(&tcp->conn, "data digest error");
	if (tcp->filling)
		tcp->filling->cmd.digest_error = true;
	return ready;
}

static bool pdu_complete(struct iscsi_tcp_rx *rx, bool wrong)
{
	struct tcp *tcp = container_of(rx, struct tcp, rx);

	return (!wrong || handle_data_digest_error(tcp)) && finish_pdu(tcp);
}

/* While all answers are in flight, receive only PDUs that need none. */
static bool can_receive(struct iscsi_tgt_conn *conn)
{
	return !conn->login && ISCSI_OPCODE(conn->bhs.opcode) == ISCSI_DATA_OUT
		       ? !target_conn_is_closing(&conn->base)
		       : iscsi_tgt_can_receive(conn);
}

static bool parse_header(struct iscsi_tcp_rx *rx, const uint8_t *p, bool wrong, uint8_t **to)
{
	struct tcp *tcp = container_of(rx, struct tcp, rx);
	struct iscsi_tgt_conn *conn = &tcp->conn;

	memcpy(&conn->bhs, p, ISCSI_BHS);
	if (wrong) {
		iscsi_tgt_protocol_error(conn, "header digest error");
		return false;
	}
	if (!can_receive(conn)) {
		stream_set_interest(conn->base.stream, STREAM_RDHUP);
		return false;
	}
	conn->len = rx->len;
	conn->discard_data = false;
	tcp->filling = NULL;
	if (!begin_pdu(tcp, to))
		return false;
	if (conn->discard_data)
		*to = NULL;
	return true;
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	return iscsi_tcp_rx_part(cutter, p, have, parse_header, pdu_complete);
}

static bool payload(struct cutter *cutter)
{
	return iscsi_tcp_rx_payload(cutter, pdu_complete);
}

static void readable(struct stream *stream)
{
	struct tcp *tcp = stream->user;

	if (!target_conn_is_closing(&tcp->conn.base) && cutter_receive(&tcp->rx.cutter, stream))
		target_stream_ended(&tcp->conn.base);
}

/* ---- Sent PDUs. */

static void cmd_sent(struct tcp *tcp, struct tcp_cmd *cmd, struct stream_out *out)
{
	if (out == &cmd->rsp.tcp.out) {
		iscsi_tgt_response_sent(&cmd->cmd);
	} else if (cmd->r2t_in_flight) {
		cmd->r2t_in_flight = false;
		if (cmd->abandoned)
			pulled(cmd);
	} else if (cmd->data_in_sent < cmd->piece_len) {
		send_data_in(tcp, cmd);
	} else if (cmd->with_status) {
		iscsi_tgt_response_sent(&cmd->cmd);
	} else if (!cmd->last) {
		target_cmd_pushed(&cmd->cmd.scsi.base);
	}
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct tcp *tcp = stream->user;
	struct target_conn *base = &tcp->conn.base;
	size_t at = (size_t)((uint8_t *)out - base->cmds);

	if (!iscsi_tgt_pdu_sent(&tcp->conn, container_of(out, struct iscsi_tgt_pdu, tcp.out)))
		cmd_sent(tcp, cmd_of(target_cmd_at(base, (unsigned)(at / sizeof(struct tcp_cmd)))),
			out);
}

static const struct stream_events events = {
	.readable = readable, .sent = sent, .down = target_stream_down
};

/* ---- The carrier. */

static int enter_full_feature(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	const struct iscsi_keys *keys = &conn->login->keys;
	struct tcp *tcp = tcp_of(&conn->base);
	uint32_t slots = conn->depth + ISCSI_TGT_IMMEDIATE, each = conn->first_burst, more = 0;
	int err;

	conn->max_send = keys->value[ISCSI_MAX_RECV];
	tcp->max_burst = keys->value[ISCSI_MAX_BURST];
	tcp->rx.header_digest = keys->value[ISCSI_HEADER_DIGEST];
	tcp->rx.data_digest = keys->value[ISCSI_DATA_DIGEST];
	if (!conn->node)
		return 0;
	if (each > ISCSI_TGT_FIRST_BURST) {
		each = ISCSI_TGT_FIRST_BURST;
		more = ISCSI_TGT_LONG_BURSTS * burst_elements(conn);
	}
	err = target_conn_alloc_cmds(&conn->base, slots, diag);
	return err ? err : pool_new(&conn->base.pool, each, (uint16_t)(slots + more), diag);
}

/* An answer is free again: continue receiving. */
static void resume_rx(struct iscsi_tgt_conn *conn)
{
	struct tcp *tcp = tcp_of(&conn->base);

	stream_set_interest(tcp->conn.base.stream, STREAM_READ);
	cutter_resume(&tcp->rx.cutter);
}

static void tcp_free(struct target_conn *base)
{
	struct tcp *tcp = tcp_of(base);
	bool used = base->stream && stream_progress(base->stream);

	iscsi_tgt_free(&tcp->conn);
	if (base->stream)
		stream_free(base->stream);
	pool_free(base->pool);
	loop_work_del(base->loop, &tcp->pull_work);
	if (!used)
		return;
	explicit_bzero(tcp->stage, sizeof(tcp->stage)); /* proofs of CHAP */
	explicit_bzero(tcp->text, sizeof(tcp->text));
	explicit_bzero(tcp->answer, sizeof(tcp->answer));
}

static int tcp_open(struct target_conn *base, struct diag *diag)
{
	static const struct cutter_events pdus = { part, payload, iscsi_tcp_rx_landed };
	struct tcp *tcp = tcp_of(base);
	struct iscsi_tgt_conn *conn = &tcp->conn;
	int err;

	tcp->rx.ahs = true;
	cutter_init(&tcp->rx.cutter, &pdus, tcp->stage, sizeof(tcp->stage));
	tcp->pull_work.run = finish_immediate_pulls;
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
	.transports = TRANSPORT_TCP,
	.send = send_pdu,
	.enter_full_feature = enter_full_feature,
	.resume_rx = resume_rx,
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
