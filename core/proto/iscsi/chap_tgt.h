/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's side of CHAP: challenge the initiator, and respond to its challenge (RFC 7143,
 * 12.1.3). */
#pragma once
#include "chap.h"

struct iscsi_chap_tgt {
	/* user, secret: of the initiator; target_user, target_secret: of this side */
	const struct iscsi_auth *auth;
	unsigned refused_algs; /* of struct iscsi_login_grant */
	unsigned alg;
	uint8_t id, challenge[16];
};
struct iscsi_chap_keys { /* CHAP_N, CHAP_R, CHAP_I, CHAP_C of the initiator; NULL: not sent */
	const char *name, *response, *id, *challenge;
};
void iscsi_chap_tgt_init(struct iscsi_chap_tgt *, const struct iscsi_auth *, unsigned refused_algs,
	const uint8_t random[17]);
/* Process a CHAP_A: choose the strongest common algorithm and write the challenge. -EACCES: there
 * is not one. */
int iscsi_chap_tgt_challenge(struct iscsi_chap_tgt *, const char *algs, struct wr *, struct diag *);
/* Check the response; if the initiator sent a challenge, write our response to it. -EACCES: wrong
 * user or secret, or the challenge is not acceptable; -EPROTO, -ENOMEM. */
int iscsi_chap_tgt_check(
	const struct iscsi_chap_tgt *, const struct iscsi_chap_keys *, struct wr *, struct diag *);
