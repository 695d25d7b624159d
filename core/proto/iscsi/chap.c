/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's side of CHAP, and what both sides share. mbedTLS computes the digests. */
#include "chap.h"
#include "text.h"
#include "uri.h"
#include <errno.h>
#include <mbedtls/md5.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>
#include <mbedtls/sha3.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const struct {
	const char *name;
	unsigned len;
} algs[] = { { "md5", 16 }, { "sha1", 20 }, { "sha256", 32 }, { "sha3-256", 32 } };
#define MD5_HINT "a target that has only MD5 needs " ISCSI_CHAP_MD5_OPTION
#define ALGS     (sizeof(algs) / sizeof(algs[0]))

const char *iscsi_chap_name(unsigned alg)
{
	return alg - ISCSI_CHAP_MD5 < ALGS ? algs[alg - ISCSI_CHAP_MD5].name : NULL;
}

int iscsi_chap_algs(const char *text, unsigned *bits, struct diag *diag)
{
	static const struct {
		const char *word;
		unsigned alg;
	} words[] = { { "md5", ISCSI_CHAP_MD5 }, { "sha1", ISCSI_CHAP_SHA1 },
		{ "sha256", ISCSI_CHAP_SHA256 }, { "sha-256", ISCSI_CHAP_SHA256 },
		{ "sha3-256", ISCSI_CHAP_SHA3_256 } };
	unsigned i;

	*bits = 0;
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");

		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i].word) == n && !strncasecmp(words[i].word, p, n))
				break;
		if (i == sizeof(words) / sizeof(words[0]))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"unknown CHAP algorithm '%.*s': expected sha3-256, sha256, sha1 or "
				"md5",
				(int)n, p);
		*bits |= ISCSI_CHAP_BIT(words[i].alg);
		p += n;
		if (!*p)
			return 0;
	}
}

unsigned iscsi_chap_digest(unsigned alg, uint8_t id, const char *secret, const uint8_t *challenge,
	size_t len, uint8_t digest[ISCSI_CHAP_DIGEST_MAX])
{
	size_t secret_len = strlen(secret), all = 1 + secret_len + len;
	uint8_t *bytes = malloc(all);
	int err = 1;

	if (!bytes)
		return 0;
	bytes[0] = id;
	memcpy(bytes + 1, secret, secret_len);
	memcpy(bytes + 1 + secret_len, challenge, len);
	switch (alg) {
	case ISCSI_CHAP_MD5:
		err = mbedtls_md5(bytes, all, digest);
		break;
	case ISCSI_CHAP_SHA1:
		err = mbedtls_sha1(bytes, all, digest);
		break;
	case ISCSI_CHAP_SHA256:
		err = mbedtls_sha256(bytes, all, digest, 0);
		break;
	case ISCSI_CHAP_SHA3_256:
		err = mbedtls_sha3(MBEDTLS_SHA3_256, bytes, all, digest, ISCSI_CHAP_DIGEST_MAX);
		break;
	}
	explicit_bzero(bytes, all);
	free(bytes);
	return err ? 0 : algs[alg - ISCSI_CHAP_MD5].len;
}

int iscsi_chap_verify(unsigned alg, uint8_t id, const char *secret, const uint8_t *challenge,
	size_t len, const char *value)
{
	uint8_t theirs[ISCSI_CHAP_DIGEST_MAX + 1], right[ISCSI_CHAP_DIGEST_MAX];
	unsigned digest_len = iscsi_chap_digest(alg, id, secret, challenge, len, right), differ = 0;

	if (!digest_len)
		return -ENOMEM;
	if (iscsi_binary_get(value, theirs, sizeof(theirs)) != (int)digest_len)
		return 0;
	for (unsigned i = 0; i < digest_len; i++)
		differ |= theirs[i] ^ right[i];
	return !differ;
}

bool iscsi_chap_allows(const struct iscsi_auth *auth, uint64_t alg)
{
	unsigned allowed =
		auth->algs ? auth->algs : ISCSI_CHAP_ALL & ~ISCSI_CHAP_BIT(ISCSI_CHAP_MD5);

	return alg >= ISCSI_CHAP_MD5 && alg - ISCSI_CHAP_MD5 < ALGS &&
	       allowed & ISCSI_CHAP_BIT(alg);
}

/* 12.1.3: with one secret the peer could reflect a challenge to us and use our response. */
int iscsi_auth_check(const struct iscsi_auth *auth, struct diag *diag)
{
	if (auth->user && auth->target_secret && !strcmp(auth->secret, auth->target_secret))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"the CHAP secrets of both directions are the same: RFC 7143 forbids this");
	return 0;
}

void iscsi_chap_init(
	struct iscsi_chap *chap, const struct iscsi_auth *auth, const uint8_t random[17])
{
	*chap = (struct iscsi_chap){ .auth = auth, .own_id = random[16] };
	memcpy(chap->own, random, sizeof(chap->own));
}

void iscsi_chap_offer(const struct iscsi_chap *chap, struct wr *w)
{
	char text[16] = "";

	for (unsigned i = ALGS; i-- > 0;)
		if (iscsi_chap_allows(chap->auth, ISCSI_CHAP_MD5 + i))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
				*text ? "," : "", ISCSI_CHAP_MD5 + i);
	iscsi_text_put(w, "CHAP_A", "%s", text);
}

static int sent_twice(const char *key, struct diag *diag)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s sent twice", key);
}

static int read_alg(struct iscsi_chap *chap, const char *value, struct diag *diag)
{
	if (chap->got_alg)
		return sent_twice("CHAP_A", diag);
	if (!strcmp(value, "Reject")) {
		diag_set(diag, DIAG_AUTH, EACCES,
			"the target supports none of the offered CHAP algorithms");
		if (!iscsi_chap_allows(chap->auth, ISCSI_CHAP_MD5))
			diag_hint(diag, MD5_HINT);
		return -EACCES;
	}
	if (parse_u64(value, 0, 255, &chap->alg, NULL) ||
		!iscsi_chap_allows(chap->auth, chap->alg)) {
		diag_set(diag, DIAG_PROTOCOL, EPROTO, "CHAP_A=%.20s was not offered", value);
		if (chap->alg == ISCSI_CHAP_MD5)
			diag_hint(diag, MD5_HINT);
		return -EPROTO;
	}
	chap->got_alg = true;
	return 0;
}

static int read_challenge(struct iscsi_chap *chap, const char *value, struct diag *diag)
{
	if (chap->challenge_len)
		return sent_twice("CHAP_C", diag);
	chap->challenge_len = iscsi_binary_get(value, chap->challenge, sizeof(chap->challenge));
	if (chap->challenge_len <= 0)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"invalid CHAP challenge: must be a binary value of 1 to %u bytes",
			ISCSI_CHAP_BINARY_MAX);
	return 0;
}

static int check_response(struct iscsi_chap *chap, const char *value, struct diag *diag)
{
	int proved;

	if (!chap->auth->target_secret || !chap->got_alg)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "unexpected CHAP response");
	proved = iscsi_chap_verify((unsigned)chap->alg, chap->own_id, chap->auth->target_secret,
		chap->own, sizeof(chap->own), value);
	if (proved < 0)
		return diag_sys(diag, ENOMEM, "CHAP response");
	chap->proved = proved;
	if (!chap->proved)
		return diag_set(diag, DIAG_AUTH, EACCES,
			"the target failed mutual CHAP: it is another target, or the target secret "
			"is wrong");
	return 0;
}

int iscsi_chap_receive(
	struct iscsi_chap *chap, const char *key, const char *value, struct diag *diag)
{
	const char *name = chap->auth->target_user;

	if (!strcmp(key, "CHAP_A"))
		return read_alg(chap, value, diag);
	if (!strcmp(key, "CHAP_C"))
		return read_challenge(chap, value, diag);
	if (!strcmp(key, "CHAP_R"))
		return check_response(chap, value, diag);
	if (!strcmp(key, "CHAP_I")) {
		if (chap->got_id)
			return sent_twice(key, diag);
		chap->got_id = !parse_u64(value, 0, 255, &chap->id, NULL);
		return chap->got_id ? 0
				    : diag_set(diag, DIAG_PROTOCOL, EPROTO,
					      "CHAP_I=%.20s: must be 0 to 255", value);
	}
	if (!strcmp(key, "CHAP_N")) {
		chap->got_name = !name || !strcmp(name, value);
		return chap->got_name ? 0
				      : diag_set(diag, DIAG_AUTH, EACCES,
						"the target is '%.100s', not '%s'", value, name);
	}
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%.20s is not a key of CHAP", key);
}

int iscsi_chap_respond(struct iscsi_chap *chap, struct wr *w, struct diag *diag)
{
	uint8_t digest[ISCSI_CHAP_DIGEST_MAX];
	unsigned len;

	if (!chap->got_alg || !chap->got_id || !chap->challenge_len)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "CHAP challenge without %s",
			!chap->got_alg  ? "CHAP_A"
			: !chap->got_id ? "CHAP_I"
					: "CHAP_C");
	len = iscsi_chap_digest((unsigned)chap->alg, (uint8_t)chap->id, chap->auth->secret,
		chap->challenge, (size_t)chap->challenge_len, digest);
	if (!len)
		return diag_sys(diag, ENOMEM, "CHAP response");
	iscsi_text_put(w, "CHAP_N", "%s", chap->auth->user);
	iscsi_text_put_binary(w, "CHAP_R", digest, len);
	if (!chap->auth->target_secret)
		return 0;
	iscsi_text_put(w, "CHAP_I", "%u", chap->own_id);
	iscsi_text_put_binary(w, "CHAP_C", chap->own, sizeof(chap->own));
	return 0;
}

int iscsi_chap_check(const struct iscsi_chap *chap, struct diag *diag)
{
	if (!chap->auth->target_secret || (chap->proved && chap->got_name))
		return 0;
	return diag_set(
		diag, DIAG_AUTH, EACCES, "the target accepted the login without mutual CHAP");
}
