/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The login phase as the initiator runs it (RFC 7143, 6.3), without any connection: requests out,
 * responses in. */
#pragma once
#include "chap.h"
#include "iscsi.h"
#include "keys.h"
#include "text.h"

#define ISCSI_LOGIN_REQUESTS 64 /* after so many there is no end in sight */
#define ISCSI_LOGIN_TEXT     65536

struct iscsi_login_how {
	const char *initiator, *target; /* target NULL: a discovery session */
	const struct iscsi_auth *auth;
	bool rdma;                       /* with the keys of iSER */
	uint32_t recv_max;               /* data segments that can be taken later */
	const struct iscsi_offer *offer; /* NULL: nothing in particular is wished */
	const uint8_t *isid;             /* NULL: random */
};

enum iscsi_login_step {
	ISCSI_LOGIN_METHOD,
	ISCSI_LOGIN_CHALLENGE,
	ISCSI_LOGIN_PROOF,
	ISCSI_LOGIN_KEYS,
	ISCSI_LOGIN_OVER
};
enum iscsi_login_next { ISCSI_LOGIN_SEND, ISCSI_LOGIN_DONE, ISCSI_LOGIN_MOVED };

struct iscsi_login {
	struct iscsi_login_how how;
	struct iscsi_keys keys;
	struct iscsi_chap chap;
	struct iscsi_text text;
	uint8_t step; /* enum iscsi_login_step */
	bool started; /* a response has come */
	bool by_chap;
	unsigned requests;
	uint32_t cmdsn, exp_statsn, max_cmdsn;
	uint16_t tsih;
	int tpgt;           /* -1: not told */
	uint16_t status;    /* of the last response, ISCSI_LOGIN_STATUS */
	char redirect[300]; /* HOST:PORT of a target that moved */
	/* The request to be sent. */
	struct iscsi_login_req req;
	uint8_t data[ISCSI_PDU_DATA];
	struct wr out; /* into data */
};

void iscsi_login_start(
	struct iscsi_login *, const struct iscsi_login_how *, const uint8_t random[32]);
static inline uint32_t iscsi_login_len(const struct iscsi_login *login)
{
	return (uint32_t)(login->out.p - login->data);
}
/* enum iscsi_login_next, or -errno. */
int iscsi_login_take(struct iscsi_login *, const struct iscsi_bhs *, const uint8_t *data,
	uint32_t len, struct diag *);
void iscsi_login_agreed(const struct iscsi_login *, struct iscsi_agreed *); /* after DONE */
void iscsi_login_end(struct iscsi_login *);                                 /* frees, wipes */

/* A login status that is no success (11.13.5); hints too. -errno. */
int iscsi_login_status(uint8_t status_class, uint8_t detail, bool with_secret, struct diag *);
const char *iscsi_reject_word(uint8_t reason); /* 11.17.1 */
