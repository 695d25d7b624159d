/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The arithmetic of DH-HMAC-CHAP (Base 2.1, 8.3.5.5). */
#include "chap.h"
#include <errno.h>
#include <mbedtls/bignum.h>
#include <mbedtls/dhm.h>
#include <mbedtls/md.h>
#include <string.h>

static const struct hash {
	const char *name;
	mbedtls_md_type_t md;
	uint8_t len;
} hashes[] = {
	[NVME_CHAP_SHA256] = { "sha256", MBEDTLS_MD_SHA256, 32 },
	[NVME_CHAP_SHA384] = { "sha384", MBEDTLS_MD_SHA384, 48 },
	[NVME_CHAP_SHA512] = { "sha512", MBEDTLS_MD_SHA512, 64 },
};
#define HASHES (sizeof(hashes) / sizeof(hashes[0]))

static const uint8_t p2048[] = MBEDTLS_DHM_RFC7919_FFDHE2048_P_BIN,
		     p3072[] = MBEDTLS_DHM_RFC7919_FFDHE3072_P_BIN,
		     p4096[] = MBEDTLS_DHM_RFC7919_FFDHE4096_P_BIN,
		     p6144[] = MBEDTLS_DHM_RFC7919_FFDHE6144_P_BIN,
		     p8192[] = MBEDTLS_DHM_RFC7919_FFDHE8192_P_BIN;
#define GENERATOR 2

static const struct group {
	const char *name;
	const uint8_t *p;
	uint16_t len;
} groups[] = {
	[NVME_CHAP_NULL] = { "null", NULL, 0 },
	[NVME_CHAP_2048] = { "ffdhe2048", p2048, sizeof(p2048) },
	[NVME_CHAP_3072] = { "ffdhe3072", p3072, sizeof(p3072) },
	[NVME_CHAP_4096] = { "ffdhe4096", p4096, sizeof(p4096) },
	[NVME_CHAP_6144] = { "ffdhe6144", p6144, sizeof(p6144) },
	[NVME_CHAP_8192] = { "ffdhe8192", p8192, sizeof(p8192) },
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

unsigned nvme_chap_hash_len(uint8_t hash)
{
	return hash < HASHES ? hashes[hash].len : 0;
}

int nvme_chap_group_len(uint8_t group)
{
	return group < GROUPS ? groups[group].len : -1;
}

const char *nvme_chap_hash_name(uint8_t hash)
{
	return hash < HASHES && hashes[hash].name ? hashes[hash].name : "unknown";
}

const char *nvme_chap_group_name(uint8_t group)
{
	return group < GROUPS ? groups[group].name : "unknown";
}

int nvme_chap_hash_find(const char *name)
{
	for (unsigned i = NVME_CHAP_SHA256; i < HASHES; i++)
		if (!strcmp(hashes[i].name, name))
			return (int)i;
	return -1;
}

int nvme_chap_group_find(const char *name)
{
	for (unsigned i = 0; i < GROUPS; i++)
		if (!strcmp(groups[i].name, name))
			return (int)i;
	return -1;
}

struct part {
	const void *p;
	size_t len;
};

static int hmac(uint8_t *to, uint8_t hash, const uint8_t *key, size_t key_len,
	const struct part *part, unsigned parts)
{
	mbedtls_md_context_t md;
	int err;

	mbedtls_md_init(&md);
	err = mbedtls_md_setup(&md, mbedtls_md_info_from_type(hashes[hash].md), 1);
	if (!err)
		err = mbedtls_md_hmac_starts(&md, key, key_len);
	for (unsigned i = 0; i < parts && !err; i++)
		err = mbedtls_md_hmac_update(&md, part[i].p, part[i].len);
	if (!err)
		err = mbedtls_md_hmac_finish(&md, to);
	mbedtls_md_free(&md);
	return err ? -ENOMEM : 0;
}

/* Bind the secret to the name of the side that has it. */
static int transform(uint8_t to[NVME_CHAP_HASH_MAX], const struct nvme_key *secret, const char *nqn)
{
	static const char text[] = "NVMe-over-Fabrics";
	const struct part part[] = { { nqn, strlen(nqn) }, { text, sizeof(text) - 1 } };

	if (secret->hash)
		return hmac(to, secret->hash, secret->key, secret->len, part, 2);
	memcpy(to, secret->key, secret->len);
	return 0;
}

int nvme_chap_respond(uint8_t response[NVME_CHAP_HASH_MAX], const struct nvme_key *secret,
	const struct nvme_chap_round *round)
{
	const char *role = round->controller ? "Controller" : "HostHost";
	const char *own = round->controller ? round->subnqn : round->hostnqn;
	const char *other = round->controller ? round->hostnqn : round->subnqn;
	uint8_t key[NVME_CHAP_HASH_MAX], challenge[NVME_CHAP_HASH_MAX], numbers[7] = { 0 };
	const unsigned len = nvme_chap_hash_len(round->hash);
	const struct part given = { round->challenge, len };
	const struct part part[] = { { challenge, len }, { numbers, sizeof(numbers) },
		{ role, strlen(role) }, { own, strlen(own) }, { "", 1 }, { other, strlen(other) } };
	size_t key_len = secret->hash ? nvme_chap_hash_len(secret->hash) : secret->len;
	int err = transform(key, secret, own);

	wire_put_le(numbers, 4, round->seq);
	wire_put_le(numbers + 4, 2, round->tid);
	numbers[6] = round->sc_c;
	memcpy(challenge, round->challenge, len);
	if (!err && round->session_key)
		err = hmac(challenge, round->hash, round->session_key, len, &given, 1);
	if (!err)
		err = hmac(response, round->hash, key, key_len, part, 6);
	explicit_bzero(key, sizeof(key));
	return err;
}

bool nvme_chap_hash_concatenates(uint8_t hash)
{
	return hash == NVME_CHAP_SHA256 || hash == NVME_CHAP_SHA384;
}

bool nvme_chap_group_concatenates(uint8_t group)
{
	return nvme_chap_group_len(group) > 0;
}

int nvme_chap_generate_psk(uint8_t psk[NVME_CHAP_HASH_MAX], uint8_t hash,
	const uint8_t *session_key, const uint8_t *c1, const uint8_t *c2)
{
	const unsigned len = nvme_chap_hash_len(hash);
	const struct part part[] = { { c1, len }, { c2, len } };

	return hmac(psk, hash, session_key, len, part, 2);
}

bool nvme_chap_equal(const uint8_t *one, const uint8_t *other, size_t len)
{
	volatile uint8_t differ = 0;

	for (size_t i = 0; i < len; i++)
		differ |= one[i] ^ other[i];
	return !differ;
}

/* base^exponent mod p. -ERANGE: base is not in 2 ... p - 2. */
static int power(uint8_t *to, const struct group *group, const uint8_t *exponent,
	const uint8_t *base, size_t base_len)
{
	mbedtls_mpi p, x, b, r, most;
	int err;

	mbedtls_mpi_init(&p);
	mbedtls_mpi_init(&x);
	mbedtls_mpi_init(&b);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&most);
	err = mbedtls_mpi_read_binary(&p, group->p, group->len);
	if (!err)
		err = mbedtls_mpi_read_binary(&x, exponent, NVME_CHAP_PRIVATE);
	if (!err)
		err = mbedtls_mpi_read_binary(&b, base, base_len);
	if (!err)
		err = mbedtls_mpi_sub_int(&most, &p, 2);
	if (!err && (mbedtls_mpi_cmp_int(&b, 2) < 0 || mbedtls_mpi_cmp_mpi(&b, &most) > 0))
		err = -ERANGE;
	else if (!err)
		err = mbedtls_mpi_exp_mod(&r, &b, &x, &p, NULL) ||
				      mbedtls_mpi_write_binary(&r, to, group->len)
			      ? -ENOMEM
			      : 0;
	mbedtls_mpi_free(&p);
	mbedtls_mpi_free(&x);
	mbedtls_mpi_free(&b);
	mbedtls_mpi_free(&r);
	mbedtls_mpi_free(&most);
	return err == -ERANGE ? err : err ? -ENOMEM : 0;
}

int nvme_chap_public(
	uint8_t value[NVME_CHAP_DH_MAX], uint8_t group, const uint8_t exponent[NVME_CHAP_PRIVATE])
{
	const uint8_t generator = GENERATOR;

	return power(value, &groups[group], exponent, &generator, 1);
}

int nvme_chap_session_key(uint8_t key[NVME_CHAP_HASH_MAX], uint8_t hash, uint8_t group,
	const uint8_t exponent[NVME_CHAP_PRIVATE], const uint8_t *peer)
{
	uint8_t shared[NVME_CHAP_DH_MAX];
	int err = power(shared, &groups[group], exponent, peer, groups[group].len);

	if (!err && mbedtls_md(mbedtls_md_info_from_type(hashes[hash].md), shared,
			    groups[group].len, key))
		err = -ENOMEM;
	explicit_bzero(shared, sizeof(shared));
	return err;
}
