/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's side of the login phase (RFC 7143, 6.3), without a connection: responses in,
 * requests out. */
#pragma once
#include "chap.h"
#include "iscsi.h"
#include "keys.h"
#include "text.h"

#define ISCSI_LOGIN_REQUESTS 64 /* limit, against endless negotiation */
#define ISCSI_LOGIN_TEXT     65536

struct iscsi_login_params {
	const char *initiator, *target; /* target NULL: a discovery session */
	const struct iscsi_auth *auth;
	bool rdma;                                  /* offer the keys of iSER */
	uint32_t recv_max;                          /* largest data segment to receive, in bytes */
	const struct iscsi_offered_params *offered; /* NULL: defaults */
	const uint8_t *isid;                        /* NULL: random */
	uint16_t tsih; /* 0: a new session; else ask for a second connection of this one */
};

enum iscsi_login_step {
	ISCSI_LOGIN_METHOD,
	ISCSI_LOGIN_CHALLENGE,
	ISCSI_LOGIN_PROOF,
	ISCSI_LOGIN_KEYS,
	ISCSI_LOGIN_FINISHED
};
enum iscsi_login_next { ISCSI_LOGIN_SEND, ISCSI_LOGIN_DONE, ISCSI_LOGIN_MOVED };

struct iscsi_login {
	struct iscsi_login_params params;
	struct iscsi_keys keys;
	struct iscsi_chap chap;
	struct iscsi_text text;
	uint8_t step; /* enum iscsi_login_step */
	bool started; /* a response has arrived */
	bool by_chap;
	unsigned requests, method_requests; /* so far; when the target chose the AuthMethod */
	uint32_t cmdsn, exp_statsn, max_cmdsn;
	uint16_t tsih;
	int tpgt;           /* -1: not reported */
	uint16_t status;    /* ISCSI_LOGIN_STATUS of the last response */
	char redirect[300]; /* HOST:PORT, after ISCSI_LOGIN_MOVED */
	/* The next request: req, and iscsi_login_len() bytes of data. */
	struct iscsi_login_req req;
	uint8_t data[ISCSI_PDU_DATA];
	struct wr out; /* into data; bad: the names do not fit */
};

/* Prepare the first request. What params points to must outlive the login. */
void iscsi_login_start(
	struct iscsi_login *, const struct iscsi_login_params *, const uint8_t random[32]);
static inline uint32_t iscsi_login_len(const struct iscsi_login *login)
{
	return (uint32_t)(login->out.p - login->data);
}
/* Process a response. ISCSI_LOGIN_SEND: send the next request; ISCSI_LOGIN_DONE: logged in;
 * ISCSI_LOGIN_MOVED: redirected; or -errno. */
int iscsi_login_receive(struct iscsi_login *, const struct iscsi_bhs *, const uint8_t *data,
	uint32_t len, struct diag *);
void iscsi_login_agreed(const struct iscsi_login *, struct iscsi_agreed_params *); /* after DONE */
void iscsi_login_end(struct iscsi_login *); /* free what it holds, wipe secrets */

/* Set the diag for a login status that is not success (11.13.5), with a hint. Return -errno. */
int iscsi_login_status(uint8_t status_class, uint8_t detail, bool with_secret, struct diag *);
const char *iscsi_reject_text(uint8_t reason); /* 11.17.1 */
