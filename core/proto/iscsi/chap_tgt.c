/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's side of CHAP. */
#include "chap_tgt.h"
#include "text.h"
#include "uri.h"
#include <errno.h>

#define MD5_REFUSED                                                                                \
	"the initiator offers no CHAP algorithm but MD5, which needs chap=md5 in the initiators "  \
	"file"

void iscsi_chap_tgt_init(struct iscsi_chap_tgt *chap, const struct iscsi_auth *auth,
	unsigned refused_algs, const uint8_t random[17])
{
	*chap = (struct iscsi_chap_tgt){
		.auth = auth, .refused_algs = refused_algs, .id = random[16]
	};
	memcpy(chap->challenge, random, sizeof(chap->challenge));
}

/* Return the strongest acceptable algorithm of the initiator's list, which has the highest number;
 * 0: none. *md5: the list has MD5. */
static unsigned choose(const struct iscsi_auth *auth, const char *list, bool *md5)
{
	unsigned best = 0;
	char number[8];
	uint64_t alg;

	*md5 = false;
	while (iscsi_list_next(&list, number, sizeof(number))) {
		if (parse_u64(number, 0, 255, &alg, NULL))
			continue;
		*md5 |= alg == ISCSI_CHAP_MD5;
		if (iscsi_chap_allows(auth, alg) && alg > best)
			best = (unsigned)alg;
	}
	return best;
}

int iscsi_chap_tgt_challenge(
	struct iscsi_chap_tgt *chap, const char *algs, struct wr *w, struct diag *diag)
{
	bool md5;

	chap->alg = choose(chap->auth, algs, &md5);
	if (!chap->alg && md5)
		return diag_set(diag, DIAG_AUTH, EACCES, MD5_REFUSED " (CHAP_A=%.40s)", algs);
	if (!chap->alg)
		return diag_set(diag, DIAG_AUTH, EACCES,
			"no acceptable CHAP algorithm in CHAP_A=%.40s", algs);
	iscsi_text_put(w, "CHAP_A", "%u", chap->alg);
	iscsi_text_put(w, "CHAP_I", "%u", chap->id);
	iscsi_text_put_binary(w, "CHAP_C", chap->challenge, sizeof(chap->challenge));
	return 0;
}

/* Mutual CHAP: respond to the initiator's challenge. */
static int respond(const struct iscsi_chap_tgt *chap, const struct iscsi_chap_keys *keys,
	struct wr *w, struct diag *diag)
{
	uint8_t challenge[ISCSI_CHAP_BINARY_MAX], digest[ISCSI_CHAP_DIGEST_MAX];
	const struct iscsi_auth *auth = chap->auth;
	uint64_t id;
	unsigned n;
	int len;

	if (!keys->challenge || !keys->id)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "challenge to the target without %s",
			keys->id ? "CHAP_C" : "CHAP_I");
	len = iscsi_binary_get(keys->challenge, challenge, sizeof(challenge));
	if (len <= 0 || parse_u64(keys->id, 0, 255, &id, NULL))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"invalid challenge to the target: must be a binary value of 1 to %u bytes "
			"with an identifier of 0 to 255",
			ISCSI_CHAP_BINARY_MAX);
	if (len == sizeof(chap->challenge) && !memcmp(challenge, chap->challenge, (size_t)len))
		return diag_set(diag, DIAG_AUTH, EACCES,
			"the initiator reflects the target's own challenge");
	if (!auth->target_secret)
		return diag_set(diag, DIAG_AUTH, EACCES,
			"the initiator requests mutual CHAP, but the target has no secret for it");
	n = iscsi_chap_digest(
		chap->alg, (uint8_t)id, auth->target_secret, challenge, (size_t)len, digest);
	if (!n)
		return diag_sys(diag, ENOMEM, "CHAP response");
	iscsi_text_put(w, "CHAP_N", "%s", auth->target_user);
	iscsi_text_put_binary(w, "CHAP_R", digest, n);
	return 0;
}

int iscsi_chap_tgt_check(const struct iscsi_chap_tgt *chap, const struct iscsi_chap_keys *keys,
	struct wr *w, struct diag *diag)
{
	bool refused = chap->refused_algs & ISCSI_CHAP_BIT(chap->alg), named;
	int right;

	if (!keys->name || !keys->response)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "CHAP response without %s",
			keys->name ? "CHAP_R" : "CHAP_N");
	right = iscsi_chap_verify(chap->alg, chap->id, chap->auth->secret, chap->challenge,
		sizeof(chap->challenge), keys->response);
	if (right < 0)
		return diag_sys(diag, ENOMEM, "CHAP response");
	named = !strcmp(keys->name, chap->auth->user);
	if (chap->refused_algs == ISCSI_CHAP_ALL)
		return diag_set(diag, DIAG_AUTH, EACCES, "unknown initiator");
	if (refused)
		return diag_set(diag, DIAG_AUTH, EACCES, MD5_REFUSED);
	if (!right || !named)
		return diag_set(diag, DIAG_AUTH, EACCES,
			"unknown CHAP user '%.100s' or wrong secret", keys->name);
	return keys->challenge || keys->id ? respond(chap, keys, w, diag) : 0;
}
