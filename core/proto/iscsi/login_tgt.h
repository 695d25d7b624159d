/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The login phase as the target runs it (RFC 7143, 6.3), without any connection: requests in,
 * responses out. Who may log in, its caller says. */
#pragma once
#include "chap_tgt.h"
#include "keys.h"
#include "login.h"
#include "text.h"

struct iscsi_login_asked {              /* who wants in, and where */
	const char *initiator, *target; /* target NULL: a discovery session */
	const uint8_t *isid;            /* 6 bytes: with the initiator's name, its session */
};
struct iscsi_login_grant {      /* texts are the caller's and outlive the login */
	struct iscsi_auth auth; /* user NULL: without CHAP. target_user with every target_secret */
	const char *redirect;   /* HOST:PORT, with ISCSI_MOVED or ISCSI_MOVED_FOR_NOW */
	uint16_t tpgt, tsih;    /* tsih: of the new session, not 0 */
};
struct iscsi_login_tgt_how {
	/* 0 with the grant filled in, or the status of a refusal (enum iscsi_login_refusal). Asked
	 * once. */
	uint16_t (*admit)(void *user, const struct iscsi_login_asked *, struct iscsi_login_grant *);
	void *user;
	bool rdma;         /* over iSER */
	uint32_t recv_max; /* data segments that can be taken later */
};

enum iscsi_login_tgt_step { ISCSI_TGT_METHOD, ISCSI_TGT_ALG, ISCSI_TGT_PROOF, ISCSI_TGT_LET_IN };

struct iscsi_login_tgt {
	struct iscsi_login_tgt_how how;
	struct iscsi_login_grant grant;
	/* own[] may be set by the caller between start and the first request */
	struct iscsi_keys keys;
	struct iscsi_chap_tgt chap;
	struct iscsi_text text;
	uint8_t random[17];
	uint8_t stage, step; /* enum iscsi_stage, enum iscsi_login_tgt_step */
	bool admitted, by_chap, over;
	unsigned requests;
	uint32_t statsn;              /* of the next response */
	struct iscsi_login_req first; /* request */
	/* target "": a discovery session */
	char initiator[ISCSI_NAME_MAX + 1], target[ISCSI_NAME_MAX + 1];
	/* The response. */
	/* it is to be sent, also after an error: then it is a refusal, and the connection ends
	 * behind it */
	bool answer;
	struct iscsi_login_rsp rsp;
	uint8_t data[ISCSI_PDU_DATA];
	struct wr out; /* into data */
};

void iscsi_login_tgt_start(
	struct iscsi_login_tgt *, const struct iscsi_login_tgt_how *, const uint8_t random[17]);
static inline uint32_t iscsi_login_tgt_len(const struct iscsi_login_tgt *login)
{
	return (uint32_t)(login->out.p - login->data);
}
/* A request. ISCSI_LOGIN_SEND; ISCSI_LOGIN_DONE: the full feature phase begins behind the response;
 * ISCSI_LOGIN_MOVED: the initiator is sent elsewhere; or -errno. */
int iscsi_login_tgt_take(struct iscsi_login_tgt *, const struct iscsi_bhs *, const uint8_t *data,
	uint32_t len, struct diag *);
void iscsi_login_tgt_end(struct iscsi_login_tgt *); /* frees, wipes */
