/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stages of a login, driven by the initiator's requests. */
#include "login_tgt.h"
#include "names.h"
#include <errno.h>
#include <stdio.h>

#define ANY_LENGTH 0xffffffu

struct login_text { /* keys of one text that are not negotiated; pointers into it */
	const char *initiator, *target, *session, *method, *alg;
	struct iscsi_chap_keys chap;
};

void iscsi_login_tgt_start(struct iscsi_login_tgt *login,
	const struct iscsi_login_tgt_params *params, const uint8_t random[17])
{
	*login = (struct iscsi_login_tgt){ .params = *params, .statsn = 1 };
	memcpy(login->random, random, sizeof(login->random));
	iscsi_keys_init(&login->keys, false);
	login->keys.own[ISCSI_MAX_RECV] = login->keys.own[ISCSI_TARGET_RECV] = params->recv_max;
	login->keys.own[ISCSI_INITIATOR_RECV] = ANY_LENGTH;
	login->keys.own[ISCSI_RDMA_EXTENSIONS] = params->rdma;
}

static int refuse(struct iscsi_login_tgt *login, uint16_t status, int err)
{
	login->rsp.status_class = (uint8_t)(status >> 8);
	login->rsp.status_detail = (uint8_t)status;
	return err;
}

/* Begin the response. */
static void begin(struct iscsi_login_tgt *login, const struct iscsi_login_req *req)
{
	login->out = wr_init(login->data, sizeof(login->data));
	login->rsp = (struct iscsi_login_rsp){ .opcode = ISCSI_LOGIN_RSP,
		.tsih = req->tsih,
		.itt = req->itt,
		.statsn = put_be32(login->statsn++),
		.exp_cmdsn = req->cmdsn,
		.max_cmdsn = req->cmdsn };
	memcpy(login->rsp.isid, req->isid, sizeof(login->rsp.isid));
}

static int check_first(
	struct iscsi_login_tgt *login, const struct iscsi_login_req *req, struct diag *diag)
{
	if (req->version_min)
		return refuse(login, ISCSI_OTHER_VERSION,
			diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
				"the initiator requires iSCSI version 0x%02x or later",
				req->version_min));
	if (ISCSI_CSG(req->flags) > ISCSI_STAGE_OPERATIONAL)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "login begins in stage %u",
			ISCSI_CSG(req->flags));
	login->first = *req;
	login->stage = ISCSI_CSG(req->flags);
	return 0;
}

static int check(struct iscsi_login_tgt *login, const struct iscsi_login_req *req, uint32_t len,
	struct diag *diag)
{
	bool transit = req->flags & ISCSI_FINAL;
	int err;

	if (login->finished)
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "login request after the end of the login");
	err = login->requests++ ? 0 : check_first(login, req, diag);
	if (err)
		return err;
	if (len > ISCSI_PDU_DATA)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "login request of more than %u bytes",
			ISCSI_PDU_DATA);
	if (login->requests > ISCSI_LOGIN_REQUESTS)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "login not finished after %u requests",
			ISCSI_LOGIN_REQUESTS);
	if (memcmp(req->isid, login->first.isid, sizeof(req->isid)) ||
		get_be16(req->cid) != get_be16(login->first.cid) ||
		get_be16(req->tsih) != get_be16(login->first.tsih))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "request of another login");
	if (ISCSI_CSG(req->flags) != login->stage)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"login request of stage %u in stage %u", ISCSI_CSG(req->flags),
			login->stage);
	if (transit && (req->flags & ISCSI_CONTINUE || ISCSI_NSG(req->flags) <= login->stage ||
			       ISCSI_NSG(req->flags) == 2))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "request to go from stage %u to %u%s",
			login->stage, ISCSI_NSG(req->flags),
			req->flags & ISCSI_CONTINUE ? " within a text" : "");
	if (req->flags & ISCSI_CONTINUE && !len)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "empty text with the continue bit");
	return 0;
}

static const char **key_slot(struct login_text *login_text, const char *key)
{
	const struct {
		const char *key, **to;
	} slots[] = { { "InitiatorName", &login_text->initiator },
		{ "TargetName", &login_text->target }, { "SessionType", &login_text->session },
		{ "AuthMethod", &login_text->method }, { "CHAP_A", &login_text->alg },
		{ "CHAP_N", &login_text->chap.name }, { "CHAP_R", &login_text->chap.response },
		{ "CHAP_I", &login_text->chap.id }, { "CHAP_C", &login_text->chap.challenge } };

	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		if (!strcmp(slots[i].key, key))
			return slots[i].to;
	return NULL;
}

static int read_login_text(
	struct iscsi_login_tgt *login, struct login_text *login_text, struct diag *diag)
{
	char *key, *value;
	size_t at = 0;
	int n;

	while ((n = iscsi_text_next(&login->text, &at, &key, &value, diag)) > 0) {
		const char **to = key_slot(login_text, key);

		if (to && *to)
			return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s sent twice", key);
		if (to)
			*to = value;
		value[-1] = '='; /* negotiate() reads it again */
	}
	return n;
}

/* Negotiate the other keys; answers go into the response. */
static int negotiate(struct iscsi_login_tgt *login, struct diag *diag)
{
	struct login_text none = { 0 };
	char *key, *value;
	size_t at = 0;
	int n;

	while ((n = iscsi_text_next(&login->text, &at, &key, &value, diag)) > 0) {
		if (key_slot(&none, key) || !strcmp(key, "InitiatorAlias"))
			continue;
		n = iscsi_keys_receive(&login->keys, key, value, &login->out, diag);
		if (n)
			return n;
	}
	return n;
}

static int read_names(
	struct iscsi_login_tgt *login, const struct login_text *login_text, struct diag *diag)
{
	bool discovery = login_text->session && !strcmp(login_text->session, "Discovery");

	if (login_text->session && !discovery && strcmp(login_text->session, "Normal"))
		return refuse(login, ISCSI_SESSION_TYPE,
			diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP, "unknown session type %.40s",
				login_text->session));
	if (!login_text->initiator || (!discovery && !login_text->target))
		return refuse(login, ISCSI_MISSING,
			diag_set(diag, DIAG_PROTOCOL, EPROTO, "login without %s",
				login_text->initiator ? "TargetName" : "InitiatorName"));
	if (!name_is_plain(login_text->initiator) ||
		(!discovery && !name_is_plain(login_text->target)))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"invalid name: must be at most %u bytes without blanks and control "
			"characters",
			ISCSI_NAME_MAX);
	snprintf(login->initiator, sizeof(login->initiator), "%s", login_text->initiator);
	if (!discovery)
		snprintf(login->target, sizeof(login->target), "%s", login_text->target);
	login->keys.discovery = discovery;
	return 0;
}

/* Read the initiator's names and call admit(). 0, ISCSI_LOGIN_MOVED, -errno. */
static int admit(
	struct iscsi_login_tgt *login, const struct login_text *login_text, struct diag *diag)
{
	int err = read_names(login, login_text, diag);
	struct iscsi_login_names names = { login->initiator, *login->target ? login->target : NULL,
		login->first.isid };
	uint16_t status;

	if (err)
		return err;
	status = login->params.admit(login->params.user, &names, &login->grant);
	if (status == ISCSI_MOVED || status == ISCSI_MOVED_FOR_NOW) {
		iscsi_text_put(&login->out, "TargetAddress", "%s", login->grant.redirect);
		return refuse(login, status, ISCSI_LOGIN_MOVED);
	}
	if (status)
		return refuse(login, status,
			diag_set(diag, DIAG_REFUSED, EACCES, "%s is refused with login status %04x",
				login->initiator, status));
	login->admitted = true;
	iscsi_chap_tgt_init(
		&login->chap, &login->grant.auth, login->grant.refused_algs, login->random);
	if (*login->target)
		iscsi_text_put(&login->out, "TargetPortalGroupTag", "%u", login->grant.tpgt);
	return 0;
}

static int auth_failed(struct iscsi_login_tgt *login, const char *why, struct diag *diag)
{
	return refuse(login, ISCSI_NOT_PROVED,
		diag_set(diag, DIAG_AUTH, EACCES, "the initiator %s", why));
}

static bool has(const char *list, const char *word)
{
	char item[16];

	while (iscsi_list_next(&list, item, sizeof(item)))
		if (!strcmp(item, word))
			return true;
	return false;
}

static int choose_method(struct iscsi_login_tgt *login, const char *methods, struct diag *diag)
{
	login->by_chap = login->grant.auth.user;
	if (!has(methods, login->by_chap ? "CHAP" : "None"))
		return auth_failed(login,
			login->by_chap ? "does not offer CHAP, which is required"
				       : "requires CHAP, for which no secret is set",
			diag);
	iscsi_text_put(&login->out, "AuthMethod", "%s", login->by_chap ? "CHAP" : "None");
	login->step = login->by_chap ? ISCSI_TGT_ALG : ISCSI_TGT_AUTHENTICATED;
	return 0;
}

static int run_chap(
	struct iscsi_login_tgt *login, const struct login_text *login_text, struct diag *diag)
{
	int err;

	if (login->step == ISCSI_TGT_ALG && login_text->alg) {
		err = iscsi_chap_tgt_challenge(&login->chap, login_text->alg, &login->out, diag);
		if (!err)
			login->step = ISCSI_TGT_PROOF;
	} else if (login->step == ISCSI_TGT_PROOF && !login_text->alg) {
		err = iscsi_chap_tgt_check(&login->chap, &login_text->chap, &login->out, diag);
		if (!err)
			login->step = ISCSI_TGT_AUTHENTICATED;
	} else {
		err = diag_set(diag, DIAG_PROTOCOL, EPROTO, "CHAP keys out of place");
	}
	return err == -EACCES ? refuse(login, ISCSI_NOT_PROVED, err) : err;
}

/* Process the security keys, which are required before the operational stage. */
static int handle_security(struct iscsi_login_tgt *login, const struct login_text *login_text,
	bool transit, struct diag *diag)
{
	bool chap = login_text->alg || login_text->chap.name || login_text->chap.response ||
		    login_text->chap.id || login_text->chap.challenge;
	int err = 0;

	if ((login_text->method || chap) && login->stage != ISCSI_STAGE_SECURITY)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s outside of the security stage",
			chap ? "CHAP" : "AuthMethod");
	if (login_text->method && login->step != ISCSI_TGT_METHOD)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "AuthMethod sent twice");
	if (login_text->method)
		err = choose_method(login, login_text->method, diag);
	if (!err && chap)
		err = run_chap(login, login_text, diag);
	if (err || login->step != ISCSI_TGT_METHOD ||
		!(transit || login->stage == ISCSI_STAGE_OPERATIONAL))
		return err;
	if (login->grant.auth.user)
		return auth_failed(login, "continues without CHAP, which is required", diag);
	login->step = ISCSI_TGT_AUTHENTICATED;
	return 0;
}

/* Offer our keys; end the stage if both sides are ready. */
static int continue_login(
	struct iscsi_login_tgt *login, const struct iscsi_login_req *req, struct diag *diag)
{
	struct diag open = { 0 };

	if (login->stage == ISCSI_STAGE_OPERATIONAL && !(login->params.rdma && *login->target))
		iscsi_keys_offer(&login->keys, ISCSI_MAX_RECV, &login->out);
	/* Some initiators treat an unknown key as an error. */
	if (login->params.rdma && login->keys.seen & 1u << ISCSI_UNEXPECTED_PDUS)
		iscsi_keys_offer(&login->keys, ISCSI_UNEXPECTED_PDUS, &login->out);
	if (login->out.bad)
		return refuse(login, ISCSI_NO_RESOURCES,
			diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"more keys than fit into one login PDU"));
	if (!(req->flags & ISCSI_FINAL) || login->step != ISCSI_TGT_AUTHENTICATED ||
		iscsi_keys_settled(&login->keys, &open))
		return ISCSI_LOGIN_SEND;
	/* RFC 7145, 6.3: only the first connection of a session negotiates it */
	if (login->params.rdma && *login->target && ISCSI_NSG(req->flags) == ISCSI_STAGE_FULL &&
		!get_be16(login->first.tsih) && !login->keys.value[ISCSI_RDMA_EXTENSIONS])
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "login over iSER without RDMAExtensions=Yes");
	login->stage = ISCSI_NSG(req->flags);
	login->rsp.flags |= ISCSI_FINAL | login->stage;
	if (login->stage != ISCSI_STAGE_FULL)
		return ISCSI_LOGIN_SEND;
	login->rsp.tsih = put_be16(login->grant.tsih);
	return ISCSI_LOGIN_DONE;
}

static int handle_request(struct iscsi_login_tgt *login, const struct iscsi_login_req *req,
	const uint8_t *data, uint32_t len, struct diag *diag)
{
	struct login_text login_text = { 0 };
	int err;

	begin(login, req);
	err = check(login, req, len, diag);
	login->rsp.flags = ISCSI_STAGES(login->stage, 0);
	if (!err)
		err = iscsi_text_add(&login->text, data, len, ISCSI_LOGIN_TEXT, diag);
	if (err || req->flags & ISCSI_CONTINUE)
		return err ? err : ISCSI_LOGIN_SEND;
	err = read_login_text(login, &login_text, diag);
	if (!err && login->admitted &&
		(login_text.initiator || login_text.target || login_text.session))
		err = diag_set(diag, DIAG_PROTOCOL, EPROTO, "names change within a login");
	if (!err && !login->admitted)
		err = admit(login, &login_text, diag);
	if (!err)
		err = handle_security(login, &login_text, req->flags & ISCSI_FINAL, diag);
	if (!err)
		err = negotiate(login, diag);
	iscsi_text_clear(&login->text);
	return err ? err : continue_login(login, req, diag);
}

int iscsi_login_tgt_receive(struct iscsi_login_tgt *login, const struct iscsi_bhs *bhs,
	const uint8_t *data, uint32_t len, struct diag *diag)
{
	const struct iscsi_login_req *req = (const void *)bhs;
	int next;

	/* 6.3: a connection that begins with another PDU gets no response */
	login->answer = login->requests || ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGIN_REQ;
	if (ISCSI_OPCODE(bhs->opcode) != ISCSI_LOGIN_REQ) {
		login->finished = true;
		begin(login, req);
		return refuse(login, ISCSI_OUT_OF_PLACE,
			diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"PDU with opcode 0x%02x instead of a login request",
				ISCSI_OPCODE(bhs->opcode)));
	}
	next = handle_request(login, req, data, len, diag);
	login->finished = next != ISCSI_LOGIN_SEND;
	if (next < 0) {
		login->rsp.flags = 0;
		login->out = wr_init(login->data, sizeof(login->data));
		if (!login->rsp.status_class)
			refuse(login, next == -ENOMEM ? ISCSI_NO_RESOURCES : ISCSI_INITIATOR_ERROR,
				0);
	}
	return next;
}

void iscsi_login_tgt_end(struct iscsi_login_tgt *login)
{
	iscsi_text_free(&login->text);
	explicit_bzero(&login->chap, sizeof(login->chap));
	explicit_bzero(login->random, sizeof(login->random));
	if (login->requests)
		explicit_bzero(login->data, sizeof(login->data));
}
