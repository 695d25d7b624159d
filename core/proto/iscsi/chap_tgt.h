/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CHAP as the target has it: it challenges who logs in, and answers a challenge of his. RFC
 * 7143, 12.1.3. */
#pragma once
#include "chap.h"

struct iscsi_chap_tgt {
	/* user: who may log in; target_user and target_secret: what this side proves itself with */
	const struct iscsi_auth *auth;
	unsigned alg;
	uint8_t id, challenge[16];
};
struct iscsi_chap_said { /* the initiator's keys; NULL: not given */
	const char *name, *response, *id, *challenge;
};
void iscsi_chap_tgt_init(
	struct iscsi_chap_tgt *, const struct iscsi_auth *, const uint8_t random[17]);
/* To a CHAP_A: an algorithm, and the challenge. 0; -EACCES: there is none that both have. */
int iscsi_chap_tgt_challenge(struct iscsi_chap_tgt *, const char *algs, struct wr *, struct diag *);
/* Who it is, and our own response where one was asked for. 0; -EACCES: it did not prove that it is
 * the user; -EPROTO, -ENOMEM. */
int iscsi_chap_tgt_check(
	const struct iscsi_chap_tgt *, const struct iscsi_chap_said *, struct wr *, struct diag *);
