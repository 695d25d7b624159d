/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CHAP (RFC 7143, 12.1.3; RFC 1994): digests, and the initiator's side of the exchange. */
#pragma once
#include "diag.h"
#include "iscsi.h"
#include "wire.h"
#include "wire/iscsi.h"

#define ISCSI_CHAP_DIGEST_MAX 32
#define ISCSI_CHAP_MD5_OPTION "--chap-algs md5" /* in hints; sess.c replaces it by a key */

/* Return the name that iscsi_chap_algs() reads; NULL: unknown. */
const char *iscsi_chap_name(unsigned alg);
/* Compute digest(id, secret, challenge). Return its length; 0: unknown algorithm or no memory. */
unsigned iscsi_chap_digest(unsigned alg, uint8_t id, const char *secret, const uint8_t *challenge,
	size_t len, uint8_t digest[ISCSI_CHAP_DIGEST_MAX]);
/* Compare the value of a CHAP_R with the expected digest, in constant time. 1: equal; 0; -ENOMEM.
 */
int iscsi_chap_verify(unsigned alg, uint8_t id, const char *secret, const uint8_t *challenge,
	size_t len, const char *value);
#define ISCSI_CHAP_BIT(alg) (1u << ((alg)-ISCSI_CHAP_MD5)) /* of iscsi_auth.algs */
bool iscsi_chap_allows(const struct iscsi_auth *, uint64_t alg);

/* -EINVAL: both directions use the same secret (RFC 7143, 12.1.3). */
int iscsi_auth_check(const struct iscsi_auth *, struct diag *);

struct iscsi_chap { /* the initiator's side */
	const struct iscsi_auth *auth;
	uint64_t alg, id;
	/* the target's; ours for mutual CHAP */
	uint8_t challenge[ISCSI_CHAP_BINARY_MAX], own[16];
	int challenge_len;
	uint8_t own_id;
	bool got_alg, got_id, got_name, proved; /* proved: the target's response is right */
};
void iscsi_chap_init(struct iscsi_chap *, const struct iscsi_auth *, const uint8_t random[17]);
void iscsi_chap_offer(const struct iscsi_chap *, struct wr *); /* write CHAP_A */
/* Process a CHAP_* key of the target. -EPROTO, -EACCES, -ENOMEM. */
int iscsi_chap_receive(struct iscsi_chap *, const char *key, const char *value, struct diag *);
/* Write the response, and our challenge for mutual CHAP. -EPROTO: the challenge is incomplete. */
int iscsi_chap_respond(struct iscsi_chap *, struct wr *, struct diag *);
/* At the end: -EACCES if mutual CHAP was required and the target has not authenticated itself. */
int iscsi_chap_check(const struct iscsi_chap *, struct diag *);
