/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's sessions over TCP (RFC 7143): logins, commands and their data, what else initiators
 * ask. Sequence numbers are those of one connection: a command that is not the next one is
 * dropped (4.2.2.1), an error in any PDU ends the session (ErrorRecoveryLevel 0). */
#include "crc32c.h"
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static struct iscsi_tgt_conn *conn_of(const struct target_conn *conn)
{
	return (struct iscsi_tgt_conn *)conn;
}

static struct iscsi_tgt_cmd *cmd_of(struct target_cmd *cmd)
{
	return (struct iscsi_tgt_cmd *)cmd;
}

static void broken(struct iscsi_tgt_conn *conn, const char *text)
{
	if (!target_conn_gone(&conn->base))
		target_conn_fail(&conn->base, DIAG_PROTOCOL, EPROTO, text);
}

/* ---- Sending. */

static void send_pdu(struct iscsi_tgt_conn *conn, struct iscsi_tgt_pdu *pdu, void *bhs,
	const void *data, uint32_t len)
{
	struct iscsi_bhs *head = (void *)pdu->head;
	uint32_t pad = -len & 3, before = ISCSI_BHS;

	memcpy(pdu->head, bhs, ISCSI_BHS);
	head->data_len = put_be24(len);
	if (conn->header_digest) {
		le32 crc = put_le32(crc32c(0, pdu->head, ISCSI_BHS));

		memcpy(pdu->head + before, &crc, sizeof(crc));
		before += ISCSI_DIGEST;
	}
	pdu->out = (struct stream_out){ .niov = 1, .iov = { { pdu->head, before } } };
	if (len) {
		pdu->out.iov[pdu->out.niov++] = (struct iovec){ (void *)(uintptr_t)data, len };
		memset(pdu->tail, 0, pad);
		if (conn->data_digest) {
			le32 crc = put_le32(crc32c(crc32c(0, data, len), pdu->tail, pad));

			memcpy(pdu->tail + pad, &crc, sizeof(crc));
		}
		pad += conn->data_digest ? ISCSI_DIGEST : 0;
		if (pad)
			pdu->out.iov[pdu->out.niov++] = (struct iovec){ pdu->tail, pad };
	}
	stream_send(conn->stream, &pdu->out);
}

/* Slots of commands whose responses are on their way count as free: the initiator reads this
 * behind them. */
static be32 max_cmdsn(const struct iscsi_tgt_conn *conn)
{
	unsigned used = conn->base.used - conn->leaving;

	used = used < ISCSI_TGT_DEPTH ? used : ISCSI_TGT_DEPTH;
	return put_be32(conn->exp_cmdsn + (ISCSI_TGT_DEPTH - used) - 1);
}

/* The numbers that all responses have at the same place. ending: this one ends a command. */
static void number(struct iscsi_tgt_conn *conn, void *bhs, bool counts, bool ending)
{
	struct iscsi_scsi_rsp *rsp = bhs;

	conn->leaving += ending;
	rsp->statsn = put_be32(counts ? conn->statsn++ : conn->statsn);
	rsp->exp_cmdsn = put_be32(conn->exp_cmdsn);
	rsp->max_cmdsn = max_cmdsn(conn);
}

static struct iscsi_tgt_answer *free_answer(struct iscsi_tgt_conn *conn)
{
	for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++)
		if (!conn->answer[i].busy)
			return &conn->answer[i];
	return NULL;
}

static void send_answer(struct iscsi_tgt_conn *conn, struct iscsi_tgt_answer *answer, void *bhs,
	const void *data, uint32_t len)
{
	answer->busy = true;
	if (len)
		memcpy(answer->data, data, len);
	send_pdu(conn, &answer->pdu, bhs, answer->data, len);
}

static uint8_t residual_flag(const struct scsi_cmd *cmd)
{
	return !cmd->residual ? 0 : cmd->over ? ISCSI_OVERFLOW : ISCSI_UNDERFLOW;
}

static void reply(struct target_cmd *base)
{
	struct iscsi_tgt_conn *conn = conn_of(base->conn);
	struct iscsi_tgt_cmd *cmd = cmd_of(base);
	const struct scsi_cmd *scsi = &cmd->scsi;
	struct iscsi_scsi_rsp rsp = { .opcode = ISCSI_SCSI_RSP,
		.flags = ISCSI_FINAL | residual_flag(scsi),
		.status = scsi->status,
		.itt = put_be32(cmd->itt),
		.exp_datasn = put_be32(cmd->in_datasn),
		.residual = put_be32(scsi->residual) };

	number(conn, &rsp, true, true);
	cmd->sense[0] = 0;
	cmd->sense[1] = scsi->sense_len;
	memcpy(cmd->sense + 2, scsi->sense, scsi->sense_len);
	send_pdu(conn, &cmd->rsp, &rsp, cmd->sense, scsi->sense_len ? 2u + scsi->sense_len : 0);
}

/* The next Data-In of the piece. The F bit ends a burst; the status goes along with the last one,
 * if it says no more than that all is well. */
static void send_data(struct iscsi_tgt_conn *conn, struct iscsi_tgt_cmd *cmd)
{
	const struct scsi_cmd *scsi = &cmd->scsi;
	uint32_t at = scsi->base.at + cmd->out, left = cmd->want - cmd->out,
		 burst = conn->max_burst - at % conn->max_burst;
	uint32_t len = left < conn->max_send ? left : conn->max_send;
	struct iscsi_data_in pdu = { .opcode = ISCSI_DATA_IN,
		.itt = put_be32(cmd->itt),
		.ttt = put_be32(ISCSI_NO_TAG),
		.datasn = put_be32(cmd->in_datasn++),
		.offset = put_be32(at) };

	len = len < burst ? len : burst;
	cmd->with_status = cmd->last && len == left && !scsi->status;
	if (len == burst || (cmd->last && len == left))
		pdu.flags = ISCSI_FINAL;
	if (cmd->with_status) {
		pdu.flags |= ISCSI_STATUS | residual_flag(scsi);
		pdu.residual = put_be32(scsi->residual);
	}
	number(conn, &pdu, cmd->with_status, cmd->with_status);
	if (!cmd->with_status)
		pdu.statsn = put_be32(0);
	send_pdu(conn, &cmd->data, &pdu, scsi->base.p + cmd->out, len);
	cmd->out += len;
	if (cmd->last && len == left && !cmd->with_status)
		reply(&cmd->scsi.base);
}

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	struct iscsi_tgt_cmd *cmd = cmd_of(base);

	cmd->want = len;
	cmd->out = 0;
	cmd->last = last;
	send_data(conn_of(base->conn), cmd);
}

/* ---- Data that initiators send. */

static void ask_data(struct iscsi_tgt_conn *conn, struct iscsi_tgt_cmd *cmd)
{
	const struct target_cmd *base = &cmd->scsi.base;
	uint32_t left = cmd->want - cmd->got;
	struct iscsi_r2t pdu = { .opcode = ISCSI_R2T,
		.flags = ISCSI_FINAL,
		.itt = put_be32(cmd->itt),
		.r2tsn = put_be32(cmd->in_datasn++),
		.offset = put_be32(base->at + cmd->got) };

	cmd->burst = left < conn->max_burst ? left : conn->max_burst;
	cmd->datasn = 0;
	cmd->round++;
	memcpy(pdu.lun, cmd->scsi.lun, sizeof(pdu.lun));
	pdu.ttt = put_be32((uint32_t)cmd->round << 16 | target_cmd_index(base));
	pdu.desired = put_be32(cmd->burst);
	number(conn, &pdu, false, false);
	cmd->asking = true;
	send_pdu(conn, &cmd->data, &pdu, NULL, 0);
}

/* What came along is the beginning of the first piece. */
static void pull(struct target_cmd *base, uint32_t len)
{
	struct iscsi_tgt_cmd *cmd = cmd_of(base);

	cmd->want = len;
	cmd->got = 0;
	cmd->abandoned = false;
	if (base->at < cmd->inside) {
		cmd->got = cmd->inside - base->at < len ? cmd->inside - base->at : len;
		memcpy(base->p, pool_buf(base->conn->pool, target_cmd_index(base)).p + base->at,
			cmd->got);
	}
	ask_data(conn_of(base->conn), cmd);
}

bool iscsi_tgt_recall(struct scsi_cmd *scsi)
{
	struct iscsi_tgt_cmd *cmd = (struct iscsi_tgt_cmd *)scsi;
	struct iscsi_tgt_conn *conn = conn_of(scsi->base.conn);

	if (!cmd->asking && conn->filling != cmd)
		return true;
	cmd->abandoned = true;
	return false;
}

static void pulled(struct iscsi_tgt_cmd *cmd)
{
	cmd->abandoned = false;
	target_cmd_pulled(&cmd->scsi.base, SCSI_GOOD);
}

static bool take_data(struct iscsi_tgt_conn *conn, uint8_t **to)
{
	const struct iscsi_data_out *pdu = (const void *)&conn->bhs;
	uint32_t ttt = get_be32(pdu->ttt), index = ttt & 0xffff;
	struct target_cmd *base =
		index < conn->base.slots ? target_cmd_at(&conn->base, index) : NULL;
	struct iscsi_tgt_cmd *cmd = (struct iscsi_tgt_cmd *)base;

	if (!base || ttt == ISCSI_NO_TAG) {
		broken(conn, "data for an unknown transfer tag");
		return false;
	}
	/* of a command that has been aborted */
	if (base->state != TARGET_CMD_PULL || cmd->round != ttt >> 16 || !cmd->burst) {
		conn->unwanted = true;
		return true;
	}
	if (cmd->asking || get_be32(pdu->itt) != cmd->itt)
		broken(conn, "data for a command that does not own the transfer tag");
	else if (get_be32(pdu->offset) != base->at + cmd->got ||
		 get_be32(pdu->datasn) != cmd->datasn)
		broken(conn, "data at an unexpected offset");
	else if (!conn->len || conn->len > cmd->burst)
		broken(conn, "more data than requested by R2T, or none");
	else if (!(pdu->flags & ISCSI_FINAL) != (conn->len < cmd->burst))
		broken(conn, "the final bit of data is missing or misplaced");
	if (target_conn_gone(&conn->base))
		return false;
	conn->filling = cmd;
	*to = base->p + cmd->got;
	return true;
}

static void took_data(struct iscsi_tgt_conn *conn, struct iscsi_tgt_cmd *cmd)
{
	cmd->datasn++;
	cmd->got += conn->len;
	cmd->burst -= conn->len;
	if (cmd->got == cmd->want || cmd->abandoned)
		pulled(cmd);
	else if (!cmd->burst)
		ask_data(conn, cmd);
}

/* ---- Commands. */

/* A PDU that counts: whether it is the next. An immediate one is always. */
static bool is_next(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_scsi_cmd *pdu = (const void *)&conn->bhs;

	if (conn->bhs.opcode & ISCSI_IMMEDIATE)
		return true;
	if (get_be32(pdu->cmdsn) != conn->exp_cmdsn) {
		conn->unwanted = true;
		return false;
	}
	conn->exp_cmdsn++;
	return true;
}

/* reason: 11.17.1. The PDU's data is dropped. */
static void reject(struct iscsi_tgt_conn *conn, uint8_t reason)
{
	struct iscsi_reject pdu = { .opcode = ISCSI_REJECT,
		.flags = ISCSI_FINAL,
		.reason = reason,
		.itt = put_be32(ISCSI_NO_TAG) };
	struct iscsi_tgt_answer *answer = free_answer(conn);

	number(conn, &pdu, true, false);
	send_answer(conn, answer, &pdu, &conn->bhs, ISCSI_BHS);
	conn->unwanted = true;
}

static uint8_t attribute(uint8_t flags)
{
	switch (ISCSI_ATTR(flags)) {
	case ISCSI_ORDERED:
		return SCSI_ORDERED;
	case ISCSI_HEAD_OF_QUEUE:
		return SCSI_HEAD;
	case ISCSI_ATTR_ACA:
		return SCSI_ACA;
	default:
		return SCSI_SIMPLE;
	}
}

/* Those have slots that MaxCmdSN promises to no other command. */
static unsigned immediates(const struct iscsi_tgt_conn *conn)
{
	unsigned count = 0;

	for (unsigned i = 0; i < conn->base.slots; i++) {
		struct target_cmd *base = target_cmd_at(&conn->base, i);

		count += base->state != TARGET_CMD_FREE && cmd_of(base)->immediate;
	}
	return count;
}

static bool take_command(struct iscsi_tgt_conn *conn, uint8_t **to)
{
	const struct iscsi_scsi_cmd *pdu = (const void *)&conn->bhs;
	uint32_t expected = get_be32(pdu->expected);
	bool writes = pdu->flags & ISCSI_CMD_WRITE;
	struct target_cmd *base;
	struct iscsi_tgt_cmd *cmd;

	if (!conn->node)
		broken(conn, "SCSI command in a discovery session");
	else if (conn->len && (!writes || !conn->immediate || conn->len > expected ||
				      conn->len > conn->first_burst))
		broken(conn, "more data in a command than allowed");
	else if (!(pdu->flags & ISCSI_FINAL))
		broken(conn, "unsolicited data in spite of InitialR2T=Yes");
	if (target_conn_gone(&conn->base))
		return false;
	if (!is_next(conn))
		return true;
	if (pdu->opcode & ISCSI_IMMEDIATE && immediates(conn) >= ISCSI_TGT_IMMEDIATE) {
		reject(conn, ISCSI_REJECT_TOO_MANY);
		return true;
	}
	base = target_cmd_take(&conn->base);
	if (!base) {
		broken(conn, "more commands than MaxCmdSN allows");
		return false;
	}
	cmd = cmd_of(base);
	cmd->itt = get_be32(pdu->itt);
	cmd->immediate = pdu->opcode & ISCSI_IMMEDIATE;
	cmd->inside = conn->len;
	cmd->burst = cmd->in_datasn = 0;
	cmd->asking = cmd->abandoned = cmd->with_status = false;
	cmd->scsi.nexus = conn->nexus;
	memcpy(cmd->scsi.lun, pdu->lun, sizeof(pdu->lun));
	memset(cmd->scsi.cdb, 0, sizeof(cmd->scsi.cdb));
	memcpy(cmd->scsi.cdb, pdu->cdb, sizeof(pdu->cdb));
	cmd->scsi.cdb_len = sizeof(pdu->cdb);
	cmd->scsi.attr = attribute(pdu->flags);
	cmd->scsi.tag = cmd->itt;
	cmd->scsi.want_out = writes ? expected : 0;
	cmd->scsi.want_in = pdu->flags & ISCSI_CMD_READ && !writes ? expected : 0;
	conn->filling = cmd;
	*to = pool_buf(conn->base.pool, target_cmd_index(base)).p;
	return true;
}

uint32_t iscsi_tgt_decode(struct target_cmd *base)
{
	struct iscsi_tgt_cmd *cmd = cmd_of(base);
	uint32_t status = scsi_decode(base);

	if (status || !(base->flags & TARGET_OUT) || !base->data_len ||
		base->data_len > cmd->inside)
		return status;
	base->inside = true;
	base->pool = base->conn->pool;
	base->p = pool_buf(base->pool, target_cmd_index(base)).p;
	return SCSI_GOOD;
}

/* ---- Task management. */

static void task_done(struct scsi_tmf *tmf)
{
	static const uint8_t responses[] = { [SCSI_TMF_DONE] = ISCSI_TASK_COMPLETE,
		[SCSI_TMF_NO_TASK] = ISCSI_TASK_NONE,
		[SCSI_TMF_NO_LUN] = ISCSI_TASK_NO_LUN,
		[SCSI_TMF_UNSUPPORTED] = ISCSI_TASK_UNSUPPORTED };
	struct iscsi_tgt_task *task = (struct iscsi_tgt_task *)tmf;
	struct iscsi_task_rsp rsp = { .opcode = ISCSI_TASK_RSP,
		.flags = ISCSI_FINAL,
		.response = responses[tmf->answer],
		.itt = put_be32(task->itt) };

	number(task->conn, &rsp, true, false);
	send_pdu(task->conn, &task->rsp, &rsp, NULL, 0);
}

static bool take_task(struct iscsi_tgt_conn *conn)
{
	static const int8_t functions[128] = { [ISCSI_ABORT_TASK] = SCSI_ABORT_TASK + 1,
		[ISCSI_ABORT_TASK_SET] = SCSI_ABORT_TASK_SET + 1,
		[ISCSI_CLEAR_ACA] = SCSI_CLEAR_ACA + 1,
		[ISCSI_CLEAR_TASK_SET] = SCSI_CLEAR_TASK_SET + 1,
		[ISCSI_LUN_RESET] = SCSI_LUN_RESET + 1,
		[ISCSI_WARM_RESET] = SCSI_TARGET_RESET + 1,
		[ISCSI_COLD_RESET] = SCSI_TARGET_RESET + 1 };
	const struct iscsi_task_req *req = (const void *)&conn->bhs;
	int8_t function = functions[req->flags & 0x7f];
	struct iscsi_tgt_task *task = conn->task;

	if (!conn->node) {
		broken(conn, "task management in a discovery session");
		return false;
	}
	if (!is_next(conn))
		return true;
	while (task < conn->task + ISCSI_TGT_TASKS && task->busy)
		task++;
	if (task == conn->task + ISCSI_TGT_TASKS) {
		reject(conn, ISCSI_REJECT_TOO_MANY);
		return true;
	}
	*task = (struct iscsi_tgt_task){ .tmf = { .function = (uint8_t)(function - 1),
						 .tag = get_be32(req->ref_itt),
						 .done = task_done },
		.conn = conn,
		.itt = get_be32(req->itt),
		.busy = true };
	memcpy(task->tmf.lun, req->lun, sizeof(req->lun));
	if (function) {
		scsi_tmf(conn->nexus, &task->tmf);
	} else {
		task->tmf.answer = SCSI_TMF_UNSUPPORTED;
		task_done(&task->tmf);
	}
	return true;
}

/* ---- Text, pings, logout. */

static void send_targets(struct iscsi_tgt_conn *conn, be32 itt)
{
	struct iscsi_text_rsp rsp = { .opcode = ISCSI_TEXT_RSP, .itt = itt };
	size_t left = conn->targets_len - conn->told;
	uint32_t most = conn->max_send < ISCSI_PDU_DATA ? conn->max_send : ISCSI_PDU_DATA,
		 len = left < most ? (uint32_t)left : most;
	bool over = len == left;

	rsp.flags = over ? ISCSI_FINAL : ISCSI_CONTINUE;
	rsp.ttt = put_be32(over ? ISCSI_NO_TAG : 1);
	number(conn, &rsp, true, false);
	send_answer(conn, free_answer(conn), &rsp, conn->targets + conn->told, len);
	conn->told += len;
	if (over) {
		free(conn->targets);
		conn->targets = NULL;
	}
}

static bool took_text(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_text_req *req = (const void *)&conn->bhs;
	static const char key[] = "SendTargets=";
	const char *text = (const char *)conn->text;

	if (get_be32(req->ttt) != ISCSI_NO_TAG && conn->targets) {
		send_targets(conn, req->itt);
		return true;
	}
	conn->text[conn->len < ISCSI_PDU_DATA ? conn->len : ISCSI_PDU_DATA - 1] = 0;
	if (req->flags & ISCSI_CONTINUE || strncmp(text, key, sizeof(key) - 1)) {
		reject(conn, ISCSI_REJECT_UNSUPPORTED);
		return true;
	}
	if (iscsi_tgt_list(conn, text + sizeof(key) - 1)) {
		target_conn_fail(&conn->base, DIAG_NO_MEMORY, ENOMEM, "out of memory");
		return false;
	}
	send_targets(conn, req->itt);
	return true;
}

static void took_ping(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_nop *req = (const void *)&conn->bhs;
	struct iscsi_nop rsp = { .opcode = ISCSI_NOP_IN,
		.flags = ISCSI_FINAL,
		.itt = req->itt,
		.ttt = put_be32(ISCSI_NO_TAG) };
	uint32_t len = conn->len < conn->max_send ? conn->len : conn->max_send;

	if (get_be32(req->itt) == ISCSI_NO_TAG) /* an answer */
		return;
	memcpy(rsp.lun, req->lun, sizeof(rsp.lun));
	number(conn, &rsp, true, false);
	send_answer(conn, free_answer(conn), &rsp, conn->text, len);
}

static void take_logout(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_logout_req *req = (const void *)&conn->bhs;
	struct iscsi_logout_rsp rsp = {
		.opcode = ISCSI_LOGOUT_RSP, .flags = ISCSI_FINAL, .itt = req->itt
	};
	struct iscsi_tgt_answer *answer = free_answer(conn);

	number(conn, &rsp, true, false);
	answer->ends = true;
	send_answer(conn, answer, &rsp, NULL, 0);
}

/* ---- The login. */

/* Judge the names of a login. The target's loop checks later whether another session fits. */
static uint16_t admit(
	void *user, const struct iscsi_login_asked *asked, struct iscsi_login_grant *grant)
{
	struct iscsi_tgt_conn *conn = user;
	const struct iscsi_target *target = iscsi_tgt_of(conn);
	const struct iscsi_target_options *opt = &target->opt;
	bool allowed = !opt->initiators;

	for (unsigned i = 0; i < opt->initiators; i++)
		allowed |= !strcmp(opt->initiator[i], asked->initiator);
	if (!allowed)
		return ISCSI_FORBIDDEN;
	conn->node = asked->target ? iscsi_tgt_find(target, asked->target) : NULL;
	if (asked->target && !conn->node)
		return ISCSI_NOT_FOUND;
	snprintf(conn->initiator, sizeof(conn->initiator), "%s", asked->initiator);
	memcpy(conn->isid, asked->isid, sizeof(conn->isid));
	*grant = (struct iscsi_login_grant){
		.auth = opt->auth, .tpgt = ISCSI_TARGET_PORTAL_TAG, .tsih = 1
	};
	if (!grant->auth.target_user)
		grant->auth.target_user = conn->node ? conn->node->name : target->node[0].name;
	return 0;
}

static int begin_login(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	struct iscsi_login_tgt_how how = {
		.admit = admit, .user = conn, .recv_max = ISCSI_TGT_RECV
	};
	uint8_t random[17];

	conn->login = calloc(1, sizeof(*conn->login));
	if (!conn->login)
		return diag_sys(diag, ENOMEM, "login");
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return diag_sys(diag, EAGAIN, "read random numbers");
	iscsi_login_tgt_start(conn->login, &how, random);
	explicit_bzero(random, sizeof(random));
	conn->login->keys.own[ISCSI_HEADER_DIGEST] = conn->login->keys.own[ISCSI_DATA_DIGEST] = 1;
	conn->login->keys.own[ISCSI_FIRST_BURST] = ISCSI_TGT_FIRST_BURST;
	conn->login->keys.own[ISCSI_MAX_BURST] = ISCSI_TGT_MAX_BURST - 1;
	return 0;
}

static void end_login(struct iscsi_tgt_conn *conn)
{
	if (conn->login)
		iscsi_login_tgt_end(conn->login);
	free(conn->login);
	conn->login = NULL;
}

static void send_login(struct iscsi_tgt_conn *conn, bool ends)
{
	struct iscsi_tgt_answer *answer = free_answer(conn);
	struct iscsi_login_tgt *login = conn->login;

	answer->ends = ends;
	send_answer(conn, answer, &login->rsp, login->data, iscsi_login_tgt_len(login));
}

static bool took_login(struct iscsi_tgt_conn *conn)
{
	struct iscsi_login_tgt *login = conn->login;
	int next = iscsi_login_tgt_take(login, &conn->bhs, conn->text, conn->len, &conn->refused);

	if (next == ISCSI_LOGIN_DONE) {
		iscsi_tgt_judge(conn);
		return true;
	}
	if (next < 0 && !login->answer) {
		target_conn_fail(
			&conn->base, conn->refused.code, conn->refused.err, conn->refused.text);
		return false;
	}
	send_login(conn, next != ISCSI_LOGIN_SEND);
	return next == ISCSI_LOGIN_SEND;
}

/* TransportID of an iSCSI initiator port (SPC-4, 7.6.4.7). */
static void port_id(const struct iscsi_tgt_conn *conn, struct scsi_nexus_conf *conf)
{
	const uint8_t *i = conn->isid;
	int len = snprintf((char *)conf->id + 4, sizeof(conf->id) - 4,
		"%s,i,0x%02x%02x%02x%02x%02x%02x", conn->initiator, i[0], i[1], i[2], i[3], i[4],
		i[5]);

	len = (len + 4) & ~3; /* a zero, and padding */
	conf->id[0] = 0x40 | SCSI_ISCSI;
	wire_put_be(conf->id + 2, 2, (uint64_t)len);
	conf->id_len = (uint16_t)(4 + len);
}

static int go_live(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	const struct iscsi_keys *keys = &conn->login->keys;
	struct scsi_nexus_conf conf = { .conn = &conn->base, .recall = iscsi_tgt_recall };
	int err = 0;

	conn->max_send = keys->value[ISCSI_MAX_RECV];
	conn->max_burst = keys->value[ISCSI_MAX_BURST];
	conn->first_burst = keys->value[ISCSI_FIRST_BURST];
	conn->immediate = keys->value[ISCSI_IMMEDIATE_DATA];
	conn->exp_cmdsn = get_be32(conn->login->first.cmdsn);
	conn->statsn = conn->login->statsn;
	conn->login->rsp.tsih = put_be16(conn->node ? conn->tsih : 1);
	conn->login->rsp.max_cmdsn = max_cmdsn(conn);
	if (conn->node) {
		conf.target = conn->node->scsi;
		port_id(conn, &conf);
		err = pool_new(&conn->base.pool, conn->first_burst, conn->base.slots, diag);
		if (!err)
			err = scsi_nexus_new(&conn->nexus, &conf, diag);
	}
	if (err)
		return err;
	target_conn_live(&conn->base, conn->base.slots);
	for (unsigned i = 0; conn->node && !err && i < TARGET_DISKS; i++)
		if (conn->node->disks & 1u << i)
			err = target_conn_map(&conn->base, i, diag);
	return err;
}

void iscsi_tgt_judged(struct loop_msg *hop)
{
	struct iscsi_tgt_conn *conn = container_of(hop, struct iscsi_tgt_conn, hop);
	const struct iscsi_keys *keys;
	struct diag why = { 0 };

	conn->asking = false;
	if (conn->base.state != TARGET_OPENING) {
		target_conn_wake(&conn->base);
		return;
	}
	if (conn->status) {
		diag_set(&conn->refused, DIAG_BUSY, EBUSY, "login refused");
		conn->login->out.p = conn->login->data;
		conn->login->rsp.flags = 0;
		conn->login->rsp.status_class = (uint8_t)(conn->status >> 8);
		conn->login->rsp.status_detail = (uint8_t)conn->status;
		send_login(conn, true);
		return;
	}
	if (go_live(conn, &why)) {
		target_conn_fail(&conn->base, why.code, why.err, why.text);
		return;
	}
	keys = &conn->login->keys;
	send_login(conn, false);
	conn->header_digest = keys->value[ISCSI_HEADER_DIGEST];
	conn->data_digest = keys->value[ISCSI_DATA_DIGEST];
	end_login(conn);
	__atomic_store_n(&conn->full, true, __ATOMIC_RELEASE);
	loop_trace(conn->base.loop, "%s: %s logged in to %s", conn->base.name, conn->initiator,
		conn->node ? conn->node->name : "discovery");
	stream_hear(conn->stream, STREAM_READ);
	cutter_resume(&conn->cutter);
}

/* ---- Receiving. */

static bool needs_answer(uint8_t opcode)
{
	return opcode != ISCSI_DATA_OUT;
}

/* The header is there: where does the data go? NULL: nowhere. false: the connection has ended. */
static bool take_head(struct iscsi_tgt_conn *conn, uint8_t **to)
{
	uint8_t opcode = ISCSI_OPCODE(conn->bhs.opcode);
	bool text = conn->login || opcode == ISCSI_NOP_OUT || opcode == ISCSI_TEXT_REQ;

	if (text && conn->len > sizeof(conn->text)) {
		broken(conn, "PDU with more text than 8192 bytes");
		return false;
	}
	if (conn->len > ISCSI_TGT_RECV) {
		broken(conn, "PDU with more data than MaxRecvDataSegmentLength");
		return false;
	}
	*to = conn->text;
	if (conn->login)
		return true;
	switch (opcode) {
	case ISCSI_SCSI_CMD:
		*to = NULL;
		return take_command(conn, to);
	case ISCSI_DATA_OUT:
		*to = NULL;
		return take_data(conn, to);
	case ISCSI_NOP_OUT:
	case ISCSI_TEXT_REQ:
		is_next(conn);
		return true;
	case ISCSI_TASK_REQ:
	case ISCSI_LOGOUT_REQ:
		if (conn->len) {
			broken(conn, "data in a PDU that has none");
			return false;
		}
		return opcode == ISCSI_LOGOUT_REQ ? is_next(conn) || true : take_task(conn);
	case ISCSI_LOGIN_REQ:
		broken(conn, "login request after the login");
		return false;
	default:
		reject(conn, ISCSI_REJECT_UNSUPPORTED);
		return true;
	}
}

/* The whole PDU is there. false: the connection has ended, or nothing more is taken for now. */
static bool took_pdu(struct iscsi_tgt_conn *conn)
{
	struct iscsi_tgt_cmd *cmd = conn->filling;

	conn->filling = NULL;
	if (conn->unwanted)
		return true;
	if (conn->login)
		return took_login(conn) && !conn->asking;
	switch (ISCSI_OPCODE(conn->bhs.opcode)) {
	case ISCSI_SCSI_CMD:
		scsi_run(&cmd->scsi);
		break;
	case ISCSI_DATA_OUT:
		took_data(conn, cmd);
		break;
	case ISCSI_NOP_OUT:
		took_ping(conn);
		break;
	case ISCSI_TEXT_REQ:
		return took_text(conn);
	case ISCSI_LOGOUT_REQ:
		take_logout(conn);
		return false;
	default:
		break;
	}
	return !target_conn_gone(&conn->base);
}

static bool digest_is(const uint8_t *p, uint32_t crc)
{
	return get_le32(*(const le32 *)(const void *)p) == crc;
}

static int take_trailer(struct iscsi_tgt_conn *conn, const uint8_t *p, uint32_t have)
{
	uint32_t pad = -conn->len & 3;

	if (have < conn->trailer)
		return 0;
	if (conn->data_digest && !conn->unwanted &&
		!digest_is(p + pad, crc32c(conn->crc, p, pad))) {
		broken(conn, "data digest error");
		return CUTTER_STOP;
	}
	conn->in_trailer = false;
	if (!took_pdu(conn))
		cutter_stop(&conn->cutter);
	return conn->trailer;
}

/* With all answers on their way nothing more is taken until one of them has left. */
static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct iscsi_tgt_conn *conn = container_of(cutter, struct iscsi_tgt_conn, cutter);
	uint32_t head = ISCSI_BHS;
	uint8_t *to = NULL;

	if (conn->in_trailer)
		return take_trailer(conn, p, have);
	if (have < ISCSI_BHS)
		return 0;
	memcpy(&conn->bhs, p, ISCSI_BHS);
	head += conn->bhs.ahs_len * 4u;
	if (have < head + (conn->header_digest ? ISCSI_DIGEST : 0))
		return 0;
	if (conn->header_digest && !digest_is(p + head, crc32c(0, p, head))) {
		broken(conn, "header digest error");
		return CUTTER_STOP;
	}
	if (target_conn_gone(&conn->base) || conn->asking ||
		(needs_answer(ISCSI_OPCODE(conn->bhs.opcode)) && !free_answer(conn))) {
		stream_hear(conn->stream, STREAM_WATCH);
		return CUTTER_STOP;
	}
	head += conn->header_digest ? ISCSI_DIGEST : 0;
	conn->len = get_be24(conn->bhs.data_len);
	conn->unwanted = false;
	conn->filling = NULL;
	conn->crc = 0;
	if (!take_head(conn, &to))
		return CUTTER_STOP;
	conn->unwanted |= conn->len && !to;
	conn->trailer =
		(uint8_t)((-conn->len & 3) + (conn->len && conn->data_digest ? ISCSI_DIGEST : 0));
	if (conn->len)
		cutter_payload(cutter, conn->unwanted ? NULL : to, conn->len);
	else if (!took_pdu(conn))
		cutter_stop(cutter);
	return (int)head;
}

static bool payload(struct cutter *cutter)
{
	struct iscsi_tgt_conn *conn = container_of(cutter, struct iscsi_tgt_conn, cutter);

	conn->in_trailer = conn->trailer;
	return conn->in_trailer || took_pdu(conn);
}

static void landed(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	struct iscsi_tgt_conn *conn = container_of(cutter, struct iscsi_tgt_conn, cutter);

	if (conn->data_digest)
		conn->crc = crc32c(conn->crc, p, len);
}

static void readable(struct stream *stream)
{
	struct iscsi_tgt_conn *conn = stream->user;

	if (!target_conn_gone(&conn->base) && cutter_receive(&conn->cutter, stream) &&
		!target_conn_gone(&conn->base))
		target_conn_fail(&conn->base, stream->why.code, stream->why.err, stream->why.text);
}

/* ---- What has left. */

static void answered(struct iscsi_tgt_conn *conn, struct iscsi_tgt_answer *answer)
{
	answer->busy = false;
	if (answer->ends && conn->refused.err) {
		target_conn_fail(
			&conn->base, conn->refused.code, conn->refused.err, conn->refused.text);
	} else if (answer->ends) {
		target_conn_finish(&conn->base);
	} else if (!target_conn_gone(&conn->base)) {
		stream_hear(conn->stream, STREAM_READ);
		cutter_resume(&conn->cutter);
	}
}

static void cmd_sent(struct iscsi_tgt_conn *conn, struct iscsi_tgt_cmd *cmd, struct stream_out *out)
{
	if (out == &cmd->rsp.out) {
		conn->leaving--;
		target_cmd_over(&cmd->scsi.base);
	} else if (cmd->asking) {
		cmd->asking = false;
		if (cmd->abandoned)
			pulled(cmd);
	} else if (cmd->out < cmd->want) {
		send_data(conn, cmd);
	} else if (cmd->with_status) {
		conn->leaving--;
		target_cmd_over(&cmd->scsi.base);
	} else if (!cmd->last) {
		target_cmd_pushed(&cmd->scsi.base);
	}
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct iscsi_tgt_conn *conn = stream->user;
	size_t at = (size_t)((uint8_t *)out - conn->base.cmds);

	for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++)
		if (out == &conn->answer[i].pdu.out) {
			answered(conn, &conn->answer[i]);
			return;
		}
	for (unsigned i = 0; i < ISCSI_TGT_TASKS; i++)
		if (out == &conn->task[i].rsp.out) {
			conn->task[i].busy = false;
			return;
		}
	cmd_sent(conn,
		cmd_of(target_cmd_at(&conn->base, (unsigned)(at / sizeof(struct iscsi_tgt_cmd)))),
		out);
}

static void down(struct stream *stream)
{
	struct iscsi_tgt_conn *conn = stream->user;

	if (!conn->base.why.err)
		conn->base.why = stream->why;
	target_conn_down(&conn->base);
}

static const struct stream_events events = { .readable = readable, .sent = sent, .down = down };

/* ---- The carrier. */

static void tcp_free(struct target_conn *base)
{
	struct iscsi_tgt_conn *conn = conn_of(base);

	scsi_nexus_free(conn->nexus);
	end_login(conn);
	free(conn->targets);
	if (conn->stream)
		stream_free(conn->stream);
	pool_free(base->pool);
	explicit_bzero(conn->stage, sizeof(conn->stage)); /* proofs of CHAP */
	explicit_bzero(conn->text, sizeof(conn->text));
	explicit_bzero(conn->answer, sizeof(conn->answer));
}

static int tcp_open(struct target_conn *base, struct diag *diag)
{
	static const struct cutter_events pdus = { part, payload, landed };
	struct iscsi_tgt_conn *conn = conn_of(base);
	unsigned slots = ISCSI_TGT_DEPTH + ISCSI_TGT_IMMEDIATE;
	int err, fd = conn->fd;

	cutter_init(&conn->cutter, &pdus, conn->stage, sizeof(conn->stage));
	base->local.len = sizeof(base->local.ss);
	if (getsockname(fd, (struct sockaddr *)&base->local.ss, &base->local.len))
		base->local = (struct addr){ 0 };
	err = begin_login(conn, diag);
	if (!err)
		err = target_conn_room(base, slots, diag);
	if (err)
		close(fd);
	else
		err = stream_accept(
			&conn->stream, base->loop, fd, &base->peer, &events, conn, diag);
	if (err) {
		conn->stream = NULL;
		end_login(conn);
	}
	return err;
}

static uint64_t tcp_moved(struct target_conn *conn)
{
	return stream_moved(conn_of(conn)->stream);
}

static bool tcp_hung_up(struct target_conn *conn)
{
	return stream_hung_up(conn_of(conn)->stream);
}

static void tcp_close(struct target_conn *conn)
{
	stream_close(conn_of(conn)->stream);
}

static void tcp_reset(struct target_conn *conn)
{
	stream_reset(conn_of(conn)->stream);
}

static const struct target_carrier carrier = { .name = "tcp",
	.cmd_size = sizeof(struct iscsi_tgt_cmd),
	.open = tcp_open,
	.pull = pull,
	.push = push,
	.reply = reply,
	.moved = tcp_moved,
	.hung_up = tcp_hung_up,
	.close = tcp_close,
	.reset = tcp_reset,
	.free = tcp_free };

void iscsi_tgt_incoming(struct target *target, int fd, const struct addr *peer)
{
	struct iscsi_tgt_conn *conn = target_room(target, peer) ? calloc(1, sizeof(*conn)) : NULL;
	char text[ADDR_TEXT];

	if (!conn) {
		close(fd);
		return;
	}
	conn->fd = fd;
	snprintf(conn->base.name, sizeof(conn->base.name), "iscsi initiator %s",
		addr_text(peer, text));
	target_conn_begin(target, &conn->base, &carrier, peer);
}
