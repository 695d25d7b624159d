/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CHAP (RFC 7143, 12.1.3; RFC 1994): digests, and the exchange as the initiator has it. */
#pragma once
#include "diag.h"
#include "iscsi.h"
#include "wire.h"
#include "wire/iscsi.h"

#define ISCSI_CHAP_DIGEST_MAX 32

const char *iscsi_chap_name(unsigned alg); /* as iscsi_chap_algs() reads it; NULL: none of ours */
/* digest(id, secret, challenge); its length, 0: no such algorithm. */
unsigned iscsi_chap_digest(unsigned alg, uint8_t id, const char *secret, const uint8_t *challenge,
	size_t len, uint8_t digest[ISCSI_CHAP_DIGEST_MAX]);
/* Whether the value of a CHAP_R is that digest: 1, 0, -ENOMEM. Every wrong one takes equally long.
 */
int iscsi_chap_proves(unsigned alg, uint8_t id, const char *secret, const uint8_t *challenge,
	size_t len, const char *value);
bool iscsi_chap_wanted(const struct iscsi_auth *, uint64_t alg);

/* what we are to prove ourselves with is fit for it */
int iscsi_auth_check(const struct iscsi_auth *, struct diag *);

struct iscsi_chap { /* the initiator's */
	const struct iscsi_auth *auth;
	uint64_t alg, id;
	uint8_t challenge[ISCSI_CHAP_BINARY_MAX], own[16]; /* theirs, and ours for mutual CHAP */
	int challenge_len;
	uint8_t own_id;
	bool got_alg, got_id, got_name, proved;
};
void iscsi_chap_init(struct iscsi_chap *, const struct iscsi_auth *, const uint8_t random[17]);
void iscsi_chap_offer(const struct iscsi_chap *, struct wr *); /* CHAP_A */
/* A CHAP_ key of the target. 0, or -errno. */
int iscsi_chap_take(struct iscsi_chap *, const char *key, const char *value, struct diag *);
/* The response, with our own challenge for mutual CHAP. 0, or -EPROTO: the challenge is not
 * complete. */
int iscsi_chap_answer(struct iscsi_chap *, struct wr *, struct diag *);
/* at the end: the target has proved itself where it had to */
int iscsi_chap_check(const struct iscsi_chap *, struct diag *);
