/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stages of a login, driven by the target's responses. */
#include "login.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>

#define SECOND_CID 1 /* the first connection of a session has CID 0 */

static uint8_t stage(const struct iscsi_login *login)
{
	return login->step < ISCSI_LOGIN_KEYS ? ISCSI_STAGE_SECURITY : ISCSI_STAGE_OPERATIONAL;
}

static bool transit(const struct iscsi_login *login)
{
	return ISCSI_FINAL & login->req.flags;
}

/* Begin a request without text. ready: offer to end the stage. */
static void begin(struct iscsi_login *login, bool ready)
{
	uint8_t now = stage(login),
		next = now == ISCSI_STAGE_SECURITY ? ISCSI_STAGE_OPERATIONAL : ISCSI_STAGE_FULL;

	login->requests++;
	login->out = wr_init(login->data, sizeof(login->data));
	login->req.flags = ready ? ISCSI_FINAL | ISCSI_STAGES(now, next) : ISCSI_STAGES(now, 0);
	login->req.cmdsn = put_be32(login->cmdsn);
	login->req.exp_statsn = put_be32(login->exp_statsn);
	login->req.tsih = put_be16(login->params.tsih ? login->params.tsih : login->tsih);
}

void iscsi_login_start(struct iscsi_login *login, const struct iscsi_login_params *params,
	const uint8_t random[32])
{
	struct wr *w = &login->out;

	*login = (struct iscsi_login){ .params = *params, .tpgt = -1, .cmdsn = 1 };
	iscsi_chap_init(&login->chap, params->auth, random);
	iscsi_keys_init(&login->keys, !params->target);
	login->req = (struct iscsi_login_req){ .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.itt = put_be32(1),
		.cid = put_be16(params->tsih ? SECOND_CID : 0) };
	login->req.isid[0] = 0x80; /* 11.12.5: random */
	memcpy(login->req.isid + 1, random + 17, 5);
	if (params->isid)
		memcpy(login->req.isid, params->isid, sizeof(login->req.isid));
	begin(login, !params->auth->user);
	iscsi_text_put(w, "InitiatorName", "%s", params->initiator);
	if (!params->tsih) /* 13.21: only on the first connection of a session */
		iscsi_text_put(w, "SessionType", "%s", params->target ? "Normal" : "Discovery");
	if (params->target)
		iscsi_text_put(w, "TargetName", "%s", params->target);
	iscsi_text_put(w, "AuthMethod", "%s",
		!params->auth->user           ? "None"
		: params->auth->target_secret ? "CHAP"
					      : "CHAP,None");
}

static void set_digest(struct iscsi_keys *keys, enum iscsi_key key, uint8_t digest)
{
	keys->own[key] = digest != ISCSI_DIGEST_NONE;
	if (digest == ISCSI_DIGEST_CRC32C)
		keys->exclusive |= 1u << key;
	else if (digest == ISCSI_DIGEST_NONE_CRC32C)
		keys->standard_first |= 1u << key;
}

static void set_own_keys(struct iscsi_login *login, const struct iscsi_offered_params *offered)
{
	struct iscsi_keys *keys = &login->keys;

	if (!login->params.rdma) {
		set_digest(keys, ISCSI_HEADER_DIGEST, offered->header_digest);
		set_digest(keys, ISCSI_DATA_DIGEST, offered->data_digest);
	}
	keys->own[ISCSI_INITIAL_R2T] = offered->initial_r2t;
	keys->own[ISCSI_IMMEDIATE_DATA] = offered->immediate_data;
	keys->own[ISCSI_FIRST_BURST] = offered->first_burst;
	keys->own[ISCSI_MAX_BURST] = offered->max_burst;
	keys->own[ISCSI_MAX_R2T] = offered->max_r2t;
	keys->own[ISCSI_ERL] = offered->erl;
	keys->own[ISCSI_TARGET_RECV] = offered->target_recv;
	keys->own[ISCSI_TIME2RETAIN] = offered->time2retain;
	keys->own[ISCSI_TIME2WAIT] = 0; /* a lost session logs in again at once */
}

static void offer(struct iscsi_login *login)
{
	static const enum iscsi_key both[] = { ISCSI_HEADER_DIGEST, ISCSI_DATA_DIGEST,
		ISCSI_TIME2WAIT, ISCSI_TIME2RETAIN, ISCSI_ERL };
	static const enum iscsi_key normal[] = { ISCSI_MAX_CONNECTIONS, ISCSI_INITIAL_R2T,
		ISCSI_IMMEDIATE_DATA, ISCSI_MAX_BURST, ISCSI_FIRST_BURST, ISCSI_MAX_R2T,
		ISCSI_PDU_IN_ORDER, ISCSI_SEQUENCE_IN_ORDER };
	static const enum iscsi_key rdma[] = { ISCSI_RDMA_EXTENSIONS, ISCSI_INITIATOR_RECV,
		ISCSI_TARGET_RECV, ISCSI_UNEXPECTED_PDUS,
		/* the last two have these defaults, and Linux (6.12) knows neither */
		ISCSI_HELLO_REQUIRED };
	struct iscsi_keys *keys = &login->keys;
	struct wr *w = &login->out;
	bool leads = !login->params.tsih; /* else the session has these parameters (13) */

	keys->own[ISCSI_MAX_RECV] = keys->own[ISCSI_INITIATOR_RECV] = login->params.recv_max;
	if (login->params.offered)
		set_own_keys(login, login->params.offered);
	if (!login->params.target)
		keys->own[ISCSI_TIME2WAIT] = keys->own[ISCSI_TIME2RETAIN] = 0;
	for (size_t i = 0; i < (leads ? sizeof(both) / sizeof(both[0]) : 2); i++)
		iscsi_keys_offer(keys, both[i], w);
	if (login->params.target && leads)
		for (size_t i = 0; i < sizeof(normal) / sizeof(normal[0]); i++)
			iscsi_keys_offer(keys, normal[i], w);
	if (login->params.rdma && login->params.target &&
		leads) { /* RFC 7145, 6: irrelevant to discovery */
		keys->own[ISCSI_RDMA_EXTENSIONS] = 1;
		for (size_t i = 0;
			i < sizeof(rdma) / sizeof(rdma[0]) - (login->params.offered ? 2 : 0); i++)
			iscsi_keys_offer(keys, rdma[i], w);
	} else {
		iscsi_keys_offer(keys, ISCSI_MAX_RECV, w);
	}
}

/* Linux' target may repeat its first answer in the next one: doc/kernel-defects.md. */
static bool is_repeated(const struct iscsi_login *login, const char *method)
{
	return login->requests > login->method_requests &&
	       !strcmp(method, login->by_chap ? "CHAP" : "None");
}

static int handle_auth_method(struct iscsi_login *login, const char *value, struct diag *diag)
{
	bool chap = !strcmp(value, "CHAP"), none = !strcmp(value, "None");

	if (login->step != ISCSI_LOGIN_METHOD)
		return is_repeated(login, value)
			       ? 0
			       : diag_set(diag, DIAG_PROTOCOL, EPROTO, "AuthMethod sent twice");
	login->method_requests = login->requests;
	if (chap && login->params.auth->user) {
		login->by_chap = true;
		login->step = ISCSI_LOGIN_CHALLENGE;
	} else if (none && login->params.auth->user && login->params.auth->target_secret) {
		return diag_set(diag, DIAG_AUTH, EACCES,
			"the target continues without CHAP, which mutual CHAP requires");
	} else if (!none && !login->params.auth->user) {
		diag_set(diag, DIAG_AUTH, EACCES, "the target requires CHAP (AuthMethod=%.40s)",
			value);
		return diag_hint(diag, "add --user NAME --secret-file FILE");
	} else if (!none) {
		return diag_set(diag, DIAG_AUTH, EACCES,
			"the target does not support CHAP (AuthMethod=%.40s)", value);
	} else {
		login->step = ISCSI_LOGIN_PROOF; /* no CHAP */
	}
	return 0;
}

static int read_portal_tag(struct iscsi_login *login, const char *value, struct diag *diag)
{
	uint64_t tag;

	if (parse_u64(value, 0, 65535, &tag, NULL))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"TargetPortalGroupTag=%.40s: must be 0 to 65535", value);
	login->tpgt = (int)tag;
	return 0;
}

static int handle_key(struct iscsi_login *login, const char *key, const char *value,
	struct wr *answer, struct diag *diag)
{
	if (!strcmp(key, "TargetPortalGroupTag"))
		return read_portal_tag(login, value, diag);
	if (!strcmp(key, "TargetAlias") || !strcmp(key, "TargetAddress"))
		return 0;
	if (!strcmp(key, "AuthMethod"))
		return handle_auth_method(login, value, diag);
	if (!strncmp(key, "CHAP_", 5)) {
		if (login->by_chap && stage(login) == ISCSI_STAGE_SECURITY)
			return iscsi_chap_receive(&login->chap, key, value, diag);
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%.20s outside of CHAP", key);
	}
	return iscsi_keys_receive(&login->keys, key, value, answer, diag);
}

/* Read the new address of a target that has moved. */
static int read_redirect(struct iscsi_login *login, struct diag *diag)
{
	char *key, *value;
	size_t at = 0;
	int n;

	while ((n = iscsi_text_next(&login->text, &at, &key, &value, diag)) > 0) {
		size_t len = strcspn(value, ",");

		if (strcmp(key, "TargetAddress") || !len || len >= sizeof(login->redirect))
			continue;
		memcpy(login->redirect, value, len);
		login->redirect[len] = 0;
		return ISCSI_LOGIN_MOVED;
	}
	return n < 0 ? n
		     : diag_set(diag, DIAG_PROTOCOL, EPROTO,
			       "redirect without a TargetAddress: the target has moved");
}

static int check_status(
	struct iscsi_login *login, uint8_t status_class, uint8_t detail, struct diag *diag)
{
	int err = iscsi_login_status(status_class, detail, login->params.auth->user, diag);

	if (status_class != ISCSI_LOGIN_INITIATOR || detail > 1 || !login->by_chap)
		return err;
	if (login->chap.got_alg && login->chap.alg == ISCSI_CHAP_SHA256) /* tgt 1.0.85 */
		diag_hint(diag, "check user and secret; tgt mistakes SHA-256 for SHA1 and "
				"needs " ISCSI_CHAP_MD5_OPTION);
	else if (!login->chap.got_alg && !iscsi_chap_allows(login->params.auth, ISCSI_CHAP_MD5))
		diag_hint(diag, "check user and secret; a target that has only MD5 "
				"needs " ISCSI_CHAP_MD5_OPTION);
	else if (login->params.auth->algs == ISCSI_CHAP_BIT(ISCSI_CHAP_MD5))
		diag_hint(diag, "check user and secret; the target may not permit MD5: rdmastor "
				"serve needs chap=md5 in its initiators file");
	return err;
}

static int check(struct iscsi_login *login, const struct iscsi_login_rsp *rsp, uint32_t len,
	struct diag *diag)
{
	if (ISCSI_OPCODE(rsp->opcode) != ISCSI_LOGIN_RSP)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"PDU with opcode 0x%02x instead of a login response",
			ISCSI_OPCODE(rsp->opcode));
	if (get_be32(rsp->itt) != get_be32(login->req.itt))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "response to another login");
	if (len > ISCSI_PDU_DATA)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "login response of more than %u bytes",
			ISCSI_PDU_DATA);
	login->started = true;
	login->status = ISCSI_LOGIN_STATUS(rsp->status_class, rsp->status_detail);
	login->exp_statsn = get_be32(rsp->statsn) + 1;
	login->max_cmdsn = get_be32(rsp->max_cmdsn);
	if (rsp->status_class > ISCSI_LOGIN_REDIRECT)
		return check_status(login, rsp->status_class, rsp->status_detail, diag);
	if (rsp->status_class)
		return 0;
	if (rsp->version_active)
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the target supports iSCSI version 0x%02x only", rsp->version_active);
	if (ISCSI_CSG(rsp->flags) != stage(login))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"login response of stage %u in stage %u", ISCSI_CSG(rsp->flags),
			stage(login));
	if (rsp->flags & ISCSI_FINAL &&
		(!transit(login) || rsp->flags & ISCSI_CONTINUE ||
			ISCSI_NSG(rsp->flags) != ISCSI_NSG(login->req.flags)))
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "the target ends a login stage too early");
	return 0;
}

/* Make the next request of the security stage, or the first of the operational stage. */
static int continue_security(struct iscsi_login *login, bool ended, struct diag *diag)
{
	int err = 0;

	if (ended) {
		err = login->by_chap ? iscsi_chap_check(&login->chap, diag) : 0;
		login->step = ISCSI_LOGIN_KEYS;
		begin(login, true);
		offer(login);
	} else if (login->step == ISCSI_LOGIN_METHOD) {
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "no answer to AuthMethod");
	} else if (login->step == ISCSI_LOGIN_CHALLENGE && !login->chap.got_alg) {
		if (login->chap.got_id || login->chap.challenge_len)
			return iscsi_chap_respond(&login->chap, &login->out, diag);
		begin(login, false);
		iscsi_chap_offer(&login->chap, &login->out);
	} else if (login->step == ISCSI_LOGIN_CHALLENGE) {
		begin(login, true);
		err = iscsi_chap_respond(&login->chap, &login->out, diag);
		login->step = ISCSI_LOGIN_PROOF;
	} else {
		begin(login, true);
	}
	return err;
}

static int continue_login(struct iscsi_login *login, bool ended, const struct wr *answer,
	const uint8_t *answers, struct diag *diag)
{
	size_t len = (size_t)(answer->p - answers);
	int err;

	if (answer->bad)
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "more keys than fit into one login PDU");
	if (ended && len)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the target ends a login stage with an offer unanswered");
	if (stage(login) == ISCSI_STAGE_SECURITY) {
		err = continue_security(login, ended, diag);
		if (err)
			return err;
	} else if (ended) {
		login->step = ISCSI_LOGIN_FINISHED;
		err = iscsi_keys_settled(&login->keys, diag);
		return err ? err : ISCSI_LOGIN_DONE;
	} else {
		begin(login, true);
	}
	wr_bytes(&login->out, answers, len);
	if (login->out.bad)
		return diag_set(diag, DIAG_USAGE, EMSGSIZE, "names too long for one login request");
	return ISCSI_LOGIN_SEND;
}

int iscsi_login_receive(struct iscsi_login *login, const struct iscsi_bhs *bhs, const uint8_t *data,
	uint32_t len, struct diag *diag)
{
	const struct iscsi_login_rsp *rsp = (const void *)bhs;
	uint8_t answers[ISCSI_PDU_DATA];
	struct wr answer = wr_init(answers, sizeof(answers));
	char *key, *value;
	size_t at = 0;
	int n = check(login, rsp, len, diag);

	if (!n)
		n = iscsi_text_add(&login->text, data, len, ISCSI_LOGIN_TEXT, diag);
	if (n)
		return n;
	if (login->requests >= ISCSI_LOGIN_REQUESTS)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "login not finished after %u requests",
			ISCSI_LOGIN_REQUESTS);
	if (rsp->status_class == ISCSI_LOGIN_REDIRECT)
		return read_redirect(login, diag);
	if (rsp->flags & ISCSI_CONTINUE) {
		if (!len)
			return diag_set(
				diag, DIAG_PROTOCOL, EPROTO, "empty text with the continue bit");
		begin(login, false);
		return ISCSI_LOGIN_SEND;
	}
	while ((n = iscsi_text_next(&login->text, &at, &key, &value, diag)) > 0) {
		n = handle_key(login, key, value, &answer, diag);
		if (n)
			return n;
	}
	if (n)
		return n;
	iscsi_text_clear(&login->text);
	login->tsih = get_be16(rsp->tsih);
	return continue_login(login, rsp->flags & ISCSI_FINAL, &answer, answers, diag);
}

void iscsi_login_agreed(const struct iscsi_login *login, struct iscsi_agreed_params *agreed)
{
	const uint32_t *value = login->keys.value;
	bool rdma = login->params.rdma;

	*agreed = (struct iscsi_agreed_params){ .header_digest = value[ISCSI_HEADER_DIGEST],
		.data_digest = value[ISCSI_DATA_DIGEST],
		.initial_r2t = value[ISCSI_INITIAL_R2T],
		.immediate_data = value[ISCSI_IMMEDIATE_DATA],
		.pdu_in_order = value[ISCSI_PDU_IN_ORDER],
		.sequence_in_order = value[ISCSI_SEQUENCE_IN_ORDER],
		.max_recv = rdma ? value[ISCSI_INITIATOR_RECV] : login->params.recv_max,
		.max_xmit = rdma ? value[ISCSI_TARGET_RECV] : value[ISCSI_MAX_RECV],
		.first_burst = value[ISCSI_FIRST_BURST],
		.max_burst = value[ISCSI_MAX_BURST],
		.max_r2t = value[ISCSI_MAX_R2T],
		.erl = value[ISCSI_ERL],
		.time2wait = value[ISCSI_TIME2WAIT],
		.time2retain = value[ISCSI_TIME2RETAIN],
		.exp_statsn = login->exp_statsn,
		.max_cmdsn = login->max_cmdsn,
		.tsih = login->tsih,
		.tpgt = login->tpgt };
	if (login->by_chap)
		snprintf(agreed->alg, sizeof(agreed->alg), "%s",
			iscsi_chap_name((unsigned)login->chap.alg));
}

void iscsi_login_end(struct iscsi_login *login)
{
	iscsi_text_free(&login->text);
	explicit_bzero(&login->chap, sizeof(login->chap));
	explicit_bzero(login->data, sizeof(login->data));
}
