/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's sessions (RFC 7143) over any carrier: logins, commands, other requests. A session
 * has one connection, so a command out of order is dropped (4.2.2.1). An error in any PDU ends the
 * session (ErrorRecoveryLevel 0). */
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct iscsi_tgt_cmd *cmd_of(struct target_cmd *cmd)
{
	return (struct iscsi_tgt_cmd *)cmd;
}

static const struct iscsi_tgt_carrier *carrier_of(const struct iscsi_tgt_conn *conn)
{
	return (const struct iscsi_tgt_carrier *)(const void *)conn->base.carrier;
}

void iscsi_tgt_protocol_error(struct iscsi_tgt_conn *conn, const char *text)
{
	if (!target_conn_is_closing(&conn->base))
		target_conn_fail(&conn->base, DIAG_PROTOCOL, EPROTO, text);
}

/* ---- Sending. */

/* Commands with a response in flight count as free: the initiator reads this after their responses.
 */
static be32 max_cmdsn(const struct iscsi_tgt_conn *conn)
{
	unsigned used = conn->base.used - conn->responses_in_flight;

	used = used < conn->depth ? used : conn->depth;
	return put_be32(conn->exp_cmdsn + (conn->depth - used) - 1);
}

void iscsi_tgt_set_numbers(struct iscsi_tgt_conn *conn, void *bhs, bool counts, bool ending)
{
	struct iscsi_scsi_rsp *rsp = bhs;

	conn->responses_in_flight += ending;
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
	if (len && data != answer->data)
		memcpy(answer->data, data, len);
	carrier_of(conn)->send(conn, &answer->pdu, bhs, answer->data, len);
}

uint8_t iscsi_tgt_residual(const struct scsi_cmd *cmd)
{
	return !cmd->residual ? 0 : cmd->overflow ? ISCSI_OVERFLOW : ISCSI_UNDERFLOW;
}

uint32_t iscsi_tgt_make_response(struct iscsi_tgt_cmd *cmd, struct iscsi_scsi_rsp *rsp)
{
	const struct scsi_cmd *scsi = &cmd->scsi;

	*rsp = (struct iscsi_scsi_rsp){ .opcode = ISCSI_SCSI_RSP,
		.flags = ISCSI_FINAL | iscsi_tgt_residual(scsi),
		.status = scsi->status,
		.itt = put_be32(cmd->itt),
		.residual = put_be32(scsi->residual) };
	iscsi_tgt_set_numbers((struct iscsi_tgt_conn *)scsi->base.conn, rsp, true, true);
	cmd->sense[0] = 0;
	cmd->sense[1] = scsi->sense_len;
	memcpy(cmd->sense + 2, scsi->sense, scsi->sense_len);
	return scsi->sense_len ? 2u + scsi->sense_len : 0;
}

void iscsi_tgt_response_sent(struct iscsi_tgt_cmd *cmd)
{
	((struct iscsi_tgt_conn *)cmd->scsi.base.conn)->responses_in_flight--;
	target_cmd_replied(&cmd->scsi.base);
}

static void answer_sent(struct iscsi_tgt_conn *conn, struct iscsi_tgt_answer *answer)
{
	answer->busy = false;
	if (answer->ends_session && conn->refused.err) {
		target_conn_fail(
			&conn->base, conn->refused.code, conn->refused.err, conn->refused.text);
	} else if (answer->ends_session) {
		target_conn_finish(&conn->base);
	} else if (!target_conn_is_closing(&conn->base)) {
		carrier_of(conn)->resume_rx(conn);
	}
}

bool iscsi_tgt_pdu_sent(struct iscsi_tgt_conn *conn, const struct iscsi_tgt_pdu *pdu)
{
	for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++)
		if (pdu == &conn->answer[i].pdu) {
			answer_sent(conn, &conn->answer[i]);
			return true;
		}
	for (unsigned i = 0; i < ISCSI_TGT_TASKS; i++)
		if (pdu == &conn->task[i].rsp) {
			conn->task[i].busy = false;
			return true;
		}
	return false;
}

/* ---- Commands. */

/* Check CmdSN and advance ExpCmdSN. Immediate PDUs always pass. */
static bool is_next_cmdsn(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_scsi_cmd *pdu = (const void *)&conn->bhs;

	if (conn->bhs.opcode & ISCSI_IMMEDIATE)
		return true;
	if (get_be32(pdu->cmdsn) != conn->exp_cmdsn) {
		conn->discard_data = true;
		return false;
	}
	conn->exp_cmdsn++;
	return true;
}

void iscsi_tgt_reject(struct iscsi_tgt_conn *conn, uint8_t reason, const char *ends)
{
	struct iscsi_reject pdu = { .opcode = ISCSI_REJECT,
		.flags = ISCSI_FINAL,
		.reason = reason,
		.itt = put_be32(ISCSI_NO_TAG) };
	struct iscsi_tgt_answer *answer = free_answer(conn);

	if (ends)
		diag_set(&conn->refused, DIAG_PROTOCOL, EPROTO, "%s", ends);
	answer->ends_session = conn->logged_out = ends;
	iscsi_tgt_set_numbers(conn, &pdu, true, false);
	send_answer(conn, answer, &pdu, &conn->bhs, ISCSI_BHS);
	conn->discard_data = true;
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

/* Immediate commands in flight: their slots are not part of the window. */
static unsigned count_immediate(const struct iscsi_tgt_conn *conn)
{
	unsigned count = 0;

	for (unsigned i = 0; i < conn->base.prepared; i++) {
		struct target_cmd *base = target_cmd_at(&conn->base, i);

		count += base->state != TARGET_CMD_FREE && cmd_of(base)->immediate_cmd;
	}
	return count;
}

static bool begin_command(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_scsi_cmd *pdu = (const void *)&conn->bhs;
	uint32_t expected = get_be32(pdu->expected);
	bool writes = pdu->flags & ISCSI_CMD_WRITE;
	struct target_cmd *base;
	struct iscsi_tgt_cmd *cmd;

	if (!conn->node)
		iscsi_tgt_protocol_error(conn, "SCSI command in a discovery session");
	else if (conn->len && (!writes || !conn->immediate_data || conn->len > expected ||
				      conn->len > conn->first_burst))
		iscsi_tgt_protocol_error(conn, "more data in a command than allowed");
	else if (!(pdu->flags & ISCSI_FINAL) &&
		 (!conn->unsolicited || !writes || conn->len >= conn->first_burst ||
			 conn->len >= expected))
		iscsi_tgt_protocol_error(conn, "more unsolicited data than allowed");
	if (target_conn_is_closing(&conn->base))
		return false;
	if (!is_next_cmdsn(conn))
		return true;
	if (pdu->opcode & ISCSI_IMMEDIATE && count_immediate(conn) >= ISCSI_TGT_IMMEDIATE) {
		iscsi_tgt_reject(conn, ISCSI_REJECT_TOO_MANY, NULL);
		return true;
	}
	base = target_cmd_alloc(&conn->base);
	if (!base) {
		iscsi_tgt_protocol_error(conn, "more commands than MaxCmdSN allows");
		return false;
	}
	cmd = cmd_of(base);
	cmd->itt = get_be32(pdu->itt);
	cmd->immediate_cmd = pdu->opcode & ISCSI_IMMEDIATE;
	cmd->unsolicited_len = conn->len;
	cmd->unsolicited_pending = !(pdu->flags & ISCSI_FINAL);
	cmd->digest_error = cmd->no_room = false;
	cmd->scsi.nexus = conn->nexus;
	memcpy(cmd->scsi.lun, pdu->lun, sizeof(pdu->lun));
	memset(cmd->scsi.cdb, 0, sizeof(cmd->scsi.cdb));
	memcpy(cmd->scsi.cdb, pdu->cdb, sizeof(pdu->cdb));
	cmd->scsi.cdb_len = sizeof(pdu->cdb);
	cmd->scsi.attr = attribute(pdu->flags);
	cmd->scsi.tag = cmd->itt;
	cmd->scsi.expected_out = writes ? expected : 0;
	cmd->scsi.expected_in = pdu->flags & ISCSI_CMD_READ && !writes ? expected : 0;
	conn->cmd = cmd;
	return true;
}

uint32_t iscsi_tgt_decode(struct target_cmd *base)
{
	struct iscsi_tgt_cmd *cmd = cmd_of(base);
	uint32_t status = cmd->no_room ? SCSI_TASK_SET_FULL : scsi_decode(base);

	if (status || !(base->flags & TARGET_OUT) || !base->data_len ||
		base->data_len > cmd->unsolicited_len || cmd->digest_error)
		return status;
	base->immediate = true;
	base->pool = base->conn->pool;
	base->p = cmd->unsolicited_data;
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

	iscsi_tgt_set_numbers(task->conn, &rsp, true, false);
	carrier_of(task->conn)->send(task->conn, &task->rsp, &rsp, NULL, 0);
}

static bool begin_task(struct iscsi_tgt_conn *conn)
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
		iscsi_tgt_protocol_error(conn, "task management in a discovery session");
		return false;
	}
	if (!is_next_cmdsn(conn))
		return true;
	while (task < conn->task + ISCSI_TGT_TASKS && task->busy)
		task++;
	if (task == conn->task + ISCSI_TGT_TASKS) {
		iscsi_tgt_reject(conn, ISCSI_REJECT_TOO_MANY, NULL);
		return true;
	}
	task->tmf = (struct scsi_tmf){ .function = (uint8_t)(function - 1),
		.tag = get_be32(req->ref_itt),
		.done = task_done };
	task->conn = conn;
	task->itt = get_be32(req->itt);
	task->busy = true;
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
	size_t left = conn->targets_len - conn->targets_sent;
	uint32_t most = conn->max_send < ISCSI_PDU_DATA ? conn->max_send : ISCSI_PDU_DATA,
		 len = left < most ? (uint32_t)left : most;
	bool last = len == left;

	rsp.flags = last ? ISCSI_FINAL : ISCSI_CONTINUE;
	rsp.ttt = put_be32(last ? ISCSI_NO_TAG : 1);
	iscsi_tgt_set_numbers(conn, &rsp, true, false);
	send_answer(conn, free_answer(conn), &rsp, conn->targets + conn->targets_sent, len);
	conn->targets_sent += len;
	if (last) {
		free(conn->targets);
		conn->targets = NULL;
	}
}

/* Answer each key. In full feature phase only MaxRecvDataSegmentLength may change; a larger value
 * is ignored, as shorter PDUs are always allowed. false: the text is malformed. */
static bool answer_keys(struct iscsi_tgt_conn *conn, struct iscsi_text *text, struct wr *out)
{
	struct iscsi_keys keys;
	char *key, *value;
	size_t at = 0;
	int n;

	iscsi_keys_init(&keys, !conn->node);
	while ((n = iscsi_text_next(text, &at, &key, &value, NULL)) > 0) {
		bool declares = !strcmp(key, iscsi_key_name(ISCSI_MAX_RECV)), known = false;

		for (unsigned i = 0; i < ISCSI_KEYS; i++)
			known |= !strcmp(key, iscsi_key_name(i));
		if (known && !declares)
			iscsi_text_put(out, key, "Reject");
		else if (iscsi_keys_receive(&keys, key, value, out, NULL))
			return false;
	}
	if (n || out->bad)
		return false;
	if (keys.seen & 1u << ISCSI_MAX_RECV && keys.value[ISCSI_MAX_RECV] < conn->max_send)
		conn->max_send = keys.value[ISCSI_MAX_RECV];
	return true;
}

static bool handle_text(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_text_req *req = (const void *)&conn->bhs;
	static const char key[] = "SendTargets=";
	struct iscsi_tgt_answer *answer = free_answer(conn);
	struct iscsi_text text = { .bytes = (char *)conn->text, .len = conn->len };
	struct iscsi_text_rsp rsp = { .opcode = ISCSI_TEXT_RSP, .itt = req->itt };
	struct wr out = wr_init(
		answer->data, conn->max_send < ISCSI_PDU_DATA ? conn->max_send : ISCSI_PDU_DATA);

	if (get_be32(req->ttt) != ISCSI_NO_TAG && conn->targets) {
		send_targets(conn, req->itt);
		return true;
	}
	/* some initiators omit the last 0 */
	text.bytes[text.len < ISCSI_PDU_DATA ? text.len++ : ISCSI_PDU_DATA - 1] = 0;
	if (req->flags & ISCSI_CONTINUE) {
		iscsi_tgt_reject(conn, ISCSI_REJECT_UNSUPPORTED, NULL);
	} else if (!strncmp(text.bytes, key, sizeof(key) - 1)) {
		if (iscsi_tgt_list_targets(conn, text.bytes + sizeof(key) - 1)) {
			target_conn_fail(&conn->base, DIAG_NO_MEMORY, ENOMEM, "out of memory");
			return false;
		}
		send_targets(conn, req->itt);
	} else if (!answer_keys(conn, &text, &out)) {
		iscsi_tgt_reject(conn, ISCSI_REJECT_PROTOCOL, NULL);
	} else {
		bool final = req->flags & ISCSI_FINAL;

		rsp.flags = final ? ISCSI_FINAL : 0;
		rsp.ttt = put_be32(final ? ISCSI_NO_TAG : 1);
		iscsi_tgt_set_numbers(conn, &rsp, true, false);
		send_answer(conn, answer, &rsp, answer->data, (uint32_t)(out.p - answer->data));
	}
	return true;
}

static void handle_nop_out(struct iscsi_tgt_conn *conn)
{
	const struct iscsi_nop *req = (const void *)&conn->bhs;
	struct iscsi_nop rsp = { .opcode = ISCSI_NOP_IN,
		.flags = ISCSI_FINAL,
		.itt = req->itt,
		.ttt = put_be32(ISCSI_NO_TAG) };
	uint32_t len = conn->len < conn->max_send ? conn->len : conn->max_send;

	if (get_be32(req->itt) == ISCSI_NO_TAG) /* an answer to our ping */
		return;
	memcpy(rsp.lun, req->lun, sizeof(rsp.lun));
	iscsi_tgt_set_numbers(conn, &rsp, true, false);
	send_answer(conn, free_answer(conn), &rsp, conn->text, len);
}

/* With an answer in flight the initiator is not reading: send no ping, but keep the time limit. The
 * other answer is left to a PDU received in part, or a logout. */
static void silence_fired(struct loop_timer *timer)
{
	struct iscsi_tgt_conn *conn = container_of(timer, struct iscsi_tgt_conn, silence);
	bool busy = false;
	struct iscsi_nop ping = { .opcode = ISCSI_NOP_IN,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.ttt = put_be32(0) };

	if (target_conn_is_closing(&conn->base))
		return;
	if (!conn->rx_since_ping && conn->ping_outstanding) {
		target_conn_fail(&conn->base, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out waiting for the answer to a ping");
		return;
	}
	conn->ping_outstanding = !conn->rx_since_ping;
	conn->rx_since_ping = false;
	for (unsigned i = 0; i < ISCSI_TGT_ANSWERS; i++)
		busy |= conn->answer[i].busy;
	if (conn->ping_outstanding && !busy) {
		iscsi_tgt_set_numbers(conn, &ping, false, false);
		send_answer(conn, conn->answer, &ping, NULL, 0);
	}
	loop_timer_set(conn->base.loop, timer,
		loop_now(conn->base.loop) + ISCSI_TGT_SILENT_MS * 1000000ull);
}

/* Report a stop of the target to the initiator, which would otherwise see a lost connection. */
void iscsi_tgt_closing(struct target_conn *base)
{
	struct iscsi_tgt_conn *conn = (struct iscsi_tgt_conn *)base;
	struct iscsi_tgt_answer *answer = free_answer(conn);
	struct iscsi_async pdu = { .opcode = ISCSI_ASYNC,
		.flags = ISCSI_FINAL,
		.no_tag = put_be32(ISCSI_NO_TAG),
		.event = ISCSI_ASYNC_DROP_ALL,
		.parameter = { [1] = put_be16(2) } };

	if (!target_stopping(base->target) || !conn->full_feature || !conn->node ||
		conn->logged_out || !answer)
		return;
	iscsi_tgt_set_numbers(conn, &pdu, true, false);
	send_answer(conn, answer, &pdu, NULL, 0);
}

/* All commands of the session have ended: this is the last response. */
static void send_logout_response(struct scsi_tmf *tmf)
{
	struct iscsi_tgt_conn *conn = container_of(tmf, struct iscsi_tgt_conn, logout);
	struct iscsi_tgt_answer *answer = free_answer(conn);
	struct iscsi_logout_rsp rsp = {
		.opcode = ISCSI_LOGOUT_RSP, .flags = ISCSI_FINAL, .itt = conn->logout_itt
	};

	iscsi_tgt_set_numbers(conn, &rsp, true, false);
	answer->ends_session = true;
	send_answer(conn, answer, &rsp, NULL, 0);
}

/* End commands that wait for data: an initiator that logs out sends no more. */
static void handle_logout(struct iscsi_tgt_conn *conn)
{
	conn->logged_out = true;
	conn->logout_itt = conn->bhs.itt;
	conn->logout =
		(struct scsi_tmf){ .function = SCSI_NEXUS_RESET, .done = send_logout_response };
	if (conn->nexus)
		scsi_tmf(conn->nexus, &conn->logout);
	else
		send_logout_response(&conn->logout);
}

/* ---- The login. */

static bool is_listed(const struct target_options *opt, const char *initiator)
{
	for (unsigned i = 0; i < opt->hosts; i++)
		if (!strcmp(opt->host[i], initiator))
			return true;
	return false;
}

/* Copy the names and secrets of the initiator to conn->chap, unless it need not authenticate. An
 * unknown one gets a secret that is in no file. *md5: MD5 is permitted to one of all initiators. */
static void look_up(struct iscsi_tgt_conn *conn, struct iscsi_initiator *chap, bool *md5)
{
	struct iscsi_target *target = iscsi_tgt_of(conn);
	const struct iscsi_initiator *known = NULL;

	pthread_mutex_lock(&target->initiators_lock);
	if (target->base.opt.initiators) {
		known = iscsi_initiators_find(target->base.opt.initiators, conn->initiator);
		conn->authenticates = known || !is_listed(&target->base.opt, conn->initiator);
		conn->own_line = iscsi_initiator_is_own(known);
		*md5 = target->base.opt.initiators->md5;
	}
	if (known)
		*chap = *known;
	pthread_mutex_unlock(&target->initiators_lock);
	if (!known)
		memcpy(chap->secret[0], target->decoy, sizeof(target->decoy));
}

/* MD5 is refused after the response, not before it, if others may use it: so that its refusal does
 * not tell which initiators are known. */
static void require_chap(const struct iscsi_tgt_conn *conn, bool md5, const char *target,
	struct iscsi_login_grant *grant)
{
	const struct iscsi_initiator *chap = conn->chap;
	unsigned md5_bit = ISCSI_CHAP_BIT(ISCSI_CHAP_MD5);

	grant->auth = (struct iscsi_auth){ .user = chap->user[0],
		.secret = chap->secret[0],
		.target_user = chap->user[1][0] ? chap->user[1] : target,
		.target_secret = chap->secret[1][0] ? chap->secret[1] : NULL,
		.algs = md5 ? ISCSI_CHAP_ALL : ISCSI_CHAP_ALL & ~md5_bit };
	grant->refused_algs = !chap->name[0] ? ISCSI_CHAP_ALL : chap->md5 ? 0 : md5_bit;
}

/* Check the names of a login. The target's loop authorizes the session later. */
static uint16_t admit(
	void *user, const struct iscsi_login_names *names, struct iscsi_login_grant *grant)
{
	struct iscsi_tgt_conn *conn = user;
	const struct iscsi_target *target = iscsi_tgt_of(conn);
	const struct target_options *opt = &target->base.opt;
	bool md5 = false;

	snprintf(conn->initiator, sizeof(conn->initiator), "%s", names->initiator);
	memcpy(conn->isid, names->isid, sizeof(conn->isid));
	conn->chap = calloc(1, sizeof(*conn->chap));
	if (!conn->chap)
		return ISCSI_NO_RESOURCES;
	look_up(conn, conn->chap, &md5);
	if (!conn->authenticates && opt->hosts && !is_listed(opt, names->initiator))
		return ISCSI_FORBIDDEN;
	conn->node = names->target ? iscsi_tgt_find(target, names->target) : NULL;
	conn->unknown_node = names->target && !conn->node;
	if (conn->unknown_node && !conn->authenticates)
		return ISCSI_NOT_FOUND;
	*grant = (struct iscsi_login_grant){ .tpgt = iscsi_tgt_portal_group(conn), .tsih = 1 };
	if (conn->authenticates)
		require_chap(
			conn, md5, names->target ? names->target : target->node[0].name, grant);
	return 0;
}

static int begin_login(struct iscsi_tgt_conn *conn, uint32_t recv_max, struct diag *diag)
{
	struct iscsi_login_tgt_params params = { .admit = admit,
		.user = conn,
		.rdma = carrier_of(conn)->transports != TRANSPORT_TCP,
		.recv_max = recv_max };
	uint8_t random[17];

	conn->login = calloc(1, sizeof(*conn->login));
	if (!conn->login)
		return diag_sys(diag, ENOMEM, "login");
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return diag_sys(diag, EAGAIN, "read random numbers");
	iscsi_login_tgt_start(conn->login, &params, random);
	explicit_bzero(random, sizeof(random));
	conn->login->keys.own[ISCSI_FIRST_BURST] = ISCSI_TGT_FIRST_BURST;
	conn->login->keys.own[ISCSI_MAX_BURST] = ISCSI_TGT_MAX_BURST - 1;
	return 0;
}

static void end_login(struct iscsi_tgt_conn *conn)
{
	if (conn->login)
		iscsi_login_tgt_end(conn->login);
	if (conn->chap)
		explicit_bzero(conn->chap, sizeof(*conn->chap));
	free(conn->chap);
	free(conn->login);
	conn->chap = NULL;
	conn->login = NULL;
}

static void send_login(struct iscsi_tgt_conn *conn, bool ends)
{
	struct iscsi_tgt_answer *answer = free_answer(conn);
	struct iscsi_login_tgt *login = conn->login;

	answer->ends_session = ends;
	send_answer(conn, answer, &login->rsp, login->data, iscsi_login_tgt_len(login));
}

static bool handle_login(struct iscsi_tgt_conn *conn)
{
	struct iscsi_login_tgt *login = conn->login;
	int next =
		iscsi_login_tgt_receive(login, &conn->bhs, conn->text, conn->len, &conn->refused);

	if (next == ISCSI_LOGIN_DONE) {
		iscsi_tgt_authorize(conn);
		return true;
	}
	if (next < 0 && login->answer && conn->refused.code == DIAG_AUTH) {
		iscsi_tgt_report_failure(conn);
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

	len = (len + 4) & ~3; /* with a zero and padding */
	conf->id[0] = 0x40 | SCSI_ISCSI;
	wire_put_be(conf->id + 2, 2, (uint64_t)len);
	conf->id_len = (uint16_t)(4 + len);
	conf->name_at = 4;
	conf->name_len = (uint16_t)strlen(conn->initiator);
}

static int enter_full_feature(struct iscsi_tgt_conn *conn, struct diag *diag)
{
	const struct iscsi_keys *keys = &conn->login->keys;
	struct scsi_nexus_conf conf = { .conn = &conn->base, .recall = carrier_of(conn)->recall };
	int err = 0;

	conn->immediate_data = keys->value[ISCSI_IMMEDIATE_DATA];
	conn->unsolicited = !keys->value[ISCSI_INITIAL_R2T];
	conn->time2retain = keys->value[ISCSI_TIME2RETAIN];
	/* RFC 7143, 13.14: irrelevant without both */
	conn->first_burst = conn->immediate_data || conn->unsolicited
				    ? keys->value[ISCSI_FIRST_BURST]
				    : ISCSI_TGT_FIRST_BURST;
	conn->exp_cmdsn = get_be32(conn->login->first.cmdsn);
	conn->statsn = conn->login->statsn;
	conn->login->rsp.tsih = put_be16(conn->node ? conn->tsih : 1);
	if (conn->node) {
		conf.target = conn->node->scsi;
		port_id(conn, &conf);
		err = scsi_nexus_new(&conn->nexus, &conf, diag);
	}
	if (!err)
		err = carrier_of(conn)->enter_full_feature(conn, diag);
	if (err)
		return err;
	conn->login->rsp.max_cmdsn = max_cmdsn(conn);
	target_conn_live(&conn->base, conn->base.slots);
	for (unsigned i = 0; conn->node && !err && i < TARGET_DISKS; i++)
		if (conn->node->disks & 1u << i)
			err = target_conn_map(&conn->base, i, diag);
	return err;
}

void iscsi_tgt_authorized(struct loop_msg *hop)
{
	struct iscsi_tgt_conn *conn = container_of(hop, struct iscsi_tgt_conn, hop);
	struct diag why = { 0 };

	conn->login_pending = false;
	if (conn->base.state != TARGET_OPENING) {
		target_conn_wake(&conn->base);
		return;
	}
	if (conn->status) {
		if (!conn->refused.err)
			diag_set(&conn->refused, DIAG_BUSY, EBUSY, "login refused with status %04x",
				conn->status);
		conn->login->out.p = conn->login->data;
		conn->login->rsp.flags = 0;
		conn->login->rsp.status_class = (uint8_t)(conn->status >> 8);
		conn->login->rsp.status_detail = (uint8_t)conn->status;
		send_login(conn, true);
		return;
	}
	if (enter_full_feature(conn, &why)) {
		target_conn_fail(&conn->base, why.code, why.err, why.text);
		return;
	}
	send_login(conn, false);
	end_login(conn);
	__atomic_store_n(&conn->full_feature, true, __ATOMIC_RELEASE);
	conn->silence.fire = silence_fired;
	if (conn->node)
		loop_timer_set(conn->base.loop, &conn->silence,
			loop_now(conn->base.loop) + ISCSI_TGT_SILENT_MS * 1000000ull);
	loop_trace(conn->base.loop, "%s: %s logged in to %s", conn->base.name, conn->initiator,
		conn->node ? conn->node->name : "discovery");
	carrier_of(conn)->resume_rx(conn);
}

/* ---- Receiving. */

bool iscsi_tgt_can_receive(struct iscsi_tgt_conn *conn)
{
	return !target_conn_is_closing(&conn->base) && !conn->login_pending && !conn->logged_out &&
	       free_answer(conn);
}

bool iscsi_tgt_begin_pdu(struct iscsi_tgt_conn *conn)
{
	uint8_t opcode = ISCSI_OPCODE(conn->bhs.opcode);
	bool text = conn->login || opcode == ISCSI_NOP_OUT || opcode == ISCSI_TEXT_REQ;

	conn->rx_since_ping = true;
	conn->discard_data = false;
	conn->cmd = NULL;
	if (text && conn->len > ISCSI_PDU_DATA) {
		iscsi_tgt_protocol_error(conn, "PDU with more text than 8192 bytes");
		return false;
	}
	if (conn->login)
		return true;
	switch (opcode) {
	case ISCSI_SCSI_CMD:
		return begin_command(conn);
	case ISCSI_NOP_OUT:
	case ISCSI_TEXT_REQ:
		is_next_cmdsn(conn);
		return true;
	case ISCSI_TASK_REQ:
	case ISCSI_LOGOUT_REQ:
		if (conn->len) {
			iscsi_tgt_protocol_error(conn, "data in a PDU that has none");
			return false;
		}
		return opcode == ISCSI_LOGOUT_REQ ? is_next_cmdsn(conn) || true : begin_task(conn);
	case ISCSI_LOGIN_REQ:
		iscsi_tgt_protocol_error(conn, "login request after the login");
		return false;
	default:
		iscsi_tgt_reject(conn, ISCSI_REJECT_UNSUPPORTED, NULL);
		return true;
	}
}

bool iscsi_tgt_dispatch_pdu(struct iscsi_tgt_conn *conn)
{
	if (conn->discard_data)
		return true;
	if (conn->login)
		return handle_login(conn) && !conn->login_pending;
	switch (ISCSI_OPCODE(conn->bhs.opcode)) {
	case ISCSI_SCSI_CMD:
		scsi_run(&conn->cmd->scsi);
		break;
	case ISCSI_NOP_OUT:
		handle_nop_out(conn);
		break;
	case ISCSI_TEXT_REQ:
		return handle_text(conn);
	case ISCSI_LOGOUT_REQ:
		handle_logout(conn);
		return false;
	default:
		break;
	}
	return !target_conn_is_closing(&conn->base);
}

int iscsi_tgt_open(struct iscsi_tgt_conn *conn, uint32_t recv_max, struct diag *diag)
{
	int err = begin_login(conn, recv_max, diag);

	if (err)
		end_login(conn);
	return err;
}

void iscsi_tgt_free(struct iscsi_tgt_conn *conn)
{
	loop_timer_del(conn->base.loop, &conn->silence);
	scsi_nexus_free(conn->nexus);
	end_login(conn);
	free(conn->targets);
}
