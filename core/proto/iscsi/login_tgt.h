/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's side of the login phase (RFC 7143, 6.3), without a connection: requests in,
 * responses out. The caller decides which initiators may log in. */
#pragma once
#include "chap_tgt.h"
#include "keys.h"
#include "login.h"
#include "text.h"

struct iscsi_login_names {
	const char *initiator, *target; /* target NULL: a discovery session */
	const uint8_t *isid;            /* 6 bytes; identifies the initiator's session */
};
struct iscsi_login_grant { /* the caller's strings, which outlive the login */
	/* user NULL: no CHAP. target_secret needs target_user. */
	struct iscsi_auth auth;
	/* Bits of auth.algs: a response with one of these fails, as a wrong one does. All of them:
	 * the initiator is unknown, and its answers are those to any other. */
	unsigned refused_algs;
	const char *redirect; /* HOST:PORT, with ISCSI_MOVED or ISCSI_MOVED_FOR_NOW */
	uint16_t tpgt, tsih;  /* tsih: of the new session, not 0 */
};
struct iscsi_login_tgt_params {
	/* Called once, with the names of the first request. Return 0 with the grant filled in, or
	 * the status of a refusal (enum iscsi_login_refusal). */
	uint16_t (*admit)(void *user, const struct iscsi_login_names *, struct iscsi_login_grant *);
	void *user;
	bool rdma;         /* over iSER */
	uint32_t recv_max; /* largest data segment to receive, in bytes */
};

enum iscsi_login_tgt_step {
	ISCSI_TGT_METHOD,
	ISCSI_TGT_ALG,
	ISCSI_TGT_PROOF,
	ISCSI_TGT_AUTHENTICATED
};

struct iscsi_login_tgt {
	struct iscsi_login_tgt_params params;
	struct iscsi_login_grant grant;
	struct iscsi_keys keys; /* the caller may set own[] before the first request */
	struct iscsi_chap_tgt chap;
	struct iscsi_text text;
	uint8_t random[17];
	uint8_t stage, step; /* enum iscsi_stage, enum iscsi_login_tgt_step */
	bool admitted, by_chap, finished;
	unsigned requests;
	uint32_t statsn;              /* of the next response */
	struct iscsi_login_req first; /* request */
	/* target "": a discovery session */
	char initiator[ISCSI_NAME_MAX + 1], target[ISCSI_NAME_MAX + 1];
	/* The response: rsp, and iscsi_login_tgt_len() bytes of data. */
	bool answer; /* send it, even after an error: then it is a refusal that ends the connection
		      */
	struct iscsi_login_rsp rsp;
	uint8_t data[ISCSI_PDU_DATA];
	struct wr out; /* into data */
};

void iscsi_login_tgt_start(
	struct iscsi_login_tgt *, const struct iscsi_login_tgt_params *, const uint8_t random[17]);
static inline uint32_t iscsi_login_tgt_len(const struct iscsi_login_tgt *login)
{
	return (uint32_t)(login->out.p - login->data);
}
/* Process a request. ISCSI_LOGIN_SEND: send the response; ISCSI_LOGIN_DONE: the full feature phase
 * begins after the response, but first.tsih, if not 0, asks for another connection of that session,
 * which the caller may refuse; ISCSI_LOGIN_MOVED: the response is a redirect; or -errno. */
int iscsi_login_tgt_receive(struct iscsi_login_tgt *, const struct iscsi_bhs *, const uint8_t *data,
	uint32_t len, struct diag *);
void iscsi_login_tgt_end(struct iscsi_login_tgt *); /* free what it holds, wipe secrets */
