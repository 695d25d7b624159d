/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* DH-HMAC-CHAP against values computed by Python's hashlib, hmac and integers, with primes from the
 * formula of RFC 7919; messages in pieces, unknown and with lengths that lie. */
#include "chap.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>

#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
#define SUBNQN  "nqn.2024-01.com.example:disk"
#define KEY32   "ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:"
#define KEY48   "MDc+RUxTWmFob3Z9hIuSmaCnrrW8w8rR2N/m7fT7AgkQFx4lLDM6QUhPVl1ka3J51wkKvA==:"
#define KEY64                                                                                      \
	"QEdOVVxjanF4f4aNlJuiqbC3vsXM09rh6O/2/QQLEhkgJy41PENKUVhfZm10e4KJkJeepayzusHIz9bd5Ovy+eQY" \
	"loY=:"

static struct diag why;

static void fill(uint8_t *to, size_t len, unsigned from, unsigned step)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(from + i * step);
}

static void hex_eq(const uint8_t *bytes, size_t len, const char *hex)
{
	char text[2 * NVME_CHAP_HASH_MAX + 1] = "";

	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	cr_assert_str_eq(text, hex);
}

static void responds(const char *text, uint8_t hash, bool controller, bool dh, const char *hex)
{
	struct nvme_key secret;
	uint8_t challenge[64], session_key[64], response[64];
	struct nvme_chap_round round = { .controller = controller,
		.hash = hash,
		.tid = 0xa0b1,
		.seq = 0x01020304,
		.challenge = challenge,
		.session_key = dh ? session_key : NULL,
		.hostnqn = HOSTNQN,
		.subnqn = SUBNQN };

	fill(challenge, sizeof(challenge), 200, 1);
	fill(session_key, sizeof(session_key), 90, 1);
	cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", text, &why), 0);
	cr_assert_eq(nvme_chap_respond(response, &secret, &round), 0);
	hex_eq(response, nvme_chap_hash_len(hash), hex);
}

Test(chap, responses)
{
	responds("DHHC-1:00:" KEY32, NVME_CHAP_SHA256, false, false,
		"887220fcf06ead77f2efc527ff37e592d3c4f5a1346f384e1f0fc719e6251e98");
	responds("DHHC-1:02:" KEY48, NVME_CHAP_SHA384, false, true,
		"c9aabbb2f9f1fa932a2d6956b69487e5518668f35afc32e9b308680f5bc116ef63b04d96fadab493"
		"982334b825115ae2");
	responds("DHHC-1:03:" KEY64, NVME_CHAP_SHA512, true, true,
		"d6ad5f7461c10bc2b3a6077b48348bdd18ca9854434924b38a1792b6fe478f2f1618c73dcbfbd644"
		"54f34cc41b7a7d884fb50c225a5fef58b1be96b07e4deb5b");
	responds("DHHC-1:01:" KEY32, NVME_CHAP_SHA512, true, false,
		"efae33d137d876fdcc42c890a962dd86317da65b71fb845828dede43605cf0d44896176a4cfcfa01"
		"12dbc4d43c5adf1782125454793d395c93f4d68e6b990a1e");
	responds("DHHC-1:01:" KEY32, NVME_CHAP_SHA256, false, true,
		"ced59c30a1b040590efa76dd7742fd22c509ce78887022669096ae96860969c1");
}

/* Linux before 7.1 has 0 in place of SC_C in the response of the controller. */
Test(chap, responses_with_concatenation)
{
	static const char *const hex[] = {
		"567bb7caeaee0500c3b637633d184c94fc9271032b0a2a3bb548648878e68152",
		"0240126028c8d6891feb2f5948290068600a6db59893d12139d1d214db8c26ba",
		"47c261c58ee38f838621cde2ed7530592507bd6dc4f8151e8b9b4bbcb237724b",
		"356ddec97f2796559799e30e15a3e59dfa0b775daf332e8c5bfec95887e03a99"
	};
	uint8_t challenge[64], session_key[64], response[64];
	struct nvme_key secret;

	fill(challenge, sizeof(challenge), 200, 1);
	fill(session_key, sizeof(session_key), 90, 1);
	cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", "DHHC-1:01:" KEY32, &why), 0);
	for (unsigned i = 0; i < 4; i++) {
		const struct nvme_chap_round round = { .controller = i % 2,
			.hash = NVME_CHAP_SHA256,
			.sc_c = i < 2 ? NVME_AUTH_NEW_TLS_PSK : NVME_AUTH_REPLACE_TLS_PSK,
			.tid = 0xa0b1,
			.seq = 0x01020304,
			.challenge = challenge,
			.session_key = session_key,
			.hostnqn = HOSTNQN,
			.subnqn = SUBNQN };

		cr_assert_eq(nvme_chap_respond(response, &secret, &round), 0);
		hex_eq(response, 32, hex[i]);
	}
}

static void generates(uint8_t hash, const char *hex)
{
	uint8_t key[64], c1[64], c2[64], psk[64];

	fill(key, sizeof(key), 90, 1);
	fill(c1, sizeof(c1), 200, 1);
	fill(c2, sizeof(c2), 17, 3);
	cr_assert_eq(nvme_chap_generate_psk(psk, hash, key, c1, c2), 0);
	hex_eq(psk, nvme_chap_hash_len(hash), hex);
}

Test(chap, generated_psks)
{
	generates(NVME_CHAP_SHA256,
		"3d500e43e24de53f4ac9e5abdfd2331625dfaf045d5f0dbc9d5b4ea991a8d03e");
	generates(NVME_CHAP_SHA384,
		"cb60a45981c1e3f0f8332975d0f91e1508ba5cbdcf983679203bc9d7e88d5f1368192192fd188456"
		"bf4587468c6b6bcb");
	for (uint8_t hash = 0; hash < 5; hash++)
		cr_assert_eq(nvme_chap_hash_concatenates(hash),
			hash == NVME_CHAP_SHA256 || hash == NVME_CHAP_SHA384);
	for (uint8_t group = 0; group < 8; group++)
		cr_assert_eq(nvme_chap_group_concatenates(group),
			group >= NVME_CHAP_2048 && group <= NVME_CHAP_8192);
}

/* Digests of the public value of x, and of the shared secret by both sides. */
Test(chap, groups)
{
	static const struct {
		uint8_t hash;
		const char *public, *shared;
	} known[] = {
		[NVME_CHAP_2048] = { NVME_CHAP_SHA384,
			"764afe8b9721786726005cf6bab6dc41ac30a1462ca41bf1c1eda504f2cab6a9",
			"d3ec7c90b85243e8df38d0fe72566e24ffcace4e7f6dcd699aee8a9b91aa8390d2cce19f3c"
			"f8066e4a2e2bdbf82b96eb" },
		[NVME_CHAP_3072] = { NVME_CHAP_SHA512,
			"88c14fc86315f9e8c9c66a9d930b3659efba5177da99c3195545de9dfe208fbe",
			"a18615211a66e84a4630c51b4b0af24870d95e50c85624e2009b5ecafa9fdc6eadc7e5b7c8"
			"f367a63d5d5dd72a0d9de473bfa4a2b7b7d8c58628c6762bd42967" },
		[NVME_CHAP_4096] = { NVME_CHAP_SHA256,
			"9be2b76d096050dd3de2c633251f63ee03d4a695b9d8db9e37552e6768e82161",
			"b482ead9179c0de60341152ed8ee9a9f1acce97549bbe3ac9fe78756a7c4e0ad" },
		[NVME_CHAP_6144] = { NVME_CHAP_SHA384,
			"d61307b2dfbbff166737048b2ee5c27e163873846df2cea3cc606276a255c777",
			"86b30e9daa557f84b0d4fdbb9790bb25535d09cdac8777594fc31c6a8173af82f7cc4e14f3"
			"098f108f67048ebdb1ece5" },
		[NVME_CHAP_8192] = { NVME_CHAP_SHA512,
			"87dbf08d703f3858844f13840986d6e10051b4f0551a37005e35d786e10d4a13",
			"7f8d3c4a8e94ae067cfa4901bb463a708022e9346ce7aa20493133c57e20742248ca2dad14"
			"505e1b6b59ced8cc7c7243367a5f6876425dde171300d9bf92bf68" },
	};
	uint8_t x[NVME_CHAP_PRIVATE], y[NVME_CHAP_PRIVATE], key[64], digest[32];
	uint8_t a[NVME_CHAP_DH_MAX], b[NVME_CHAP_DH_MAX];

	fill(x, sizeof(x), 3, 5);
	fill(y, sizeof(y), 1, 11);
	for (uint8_t group = NVME_CHAP_2048; group <= NVME_CHAP_8192; group++) {
		uint8_t hash = known[group].hash;
		size_t len = (size_t)nvme_chap_group_len(group);

		cr_assert_eq(nvme_chap_public(a, group, x), 0);
		mbedtls_sha256(a, len, digest, 0);
		hex_eq(digest, sizeof(digest), known[group].public);
		cr_assert_eq(nvme_chap_public(b, group, y), 0);
		cr_assert_eq(nvme_chap_session_key(key, hash, group, x, b), 0);
		hex_eq(key, nvme_chap_hash_len(hash), known[group].shared);
		cr_assert_eq(nvme_chap_session_key(key, hash, group, y, a), 0);
		hex_eq(key, nvme_chap_hash_len(hash), known[group].shared);
	}
	cr_assert_eq(nvme_chap_group_len(NVME_CHAP_NULL), 0);
	cr_assert_eq(nvme_chap_group_len(NVME_CHAP_8192 + 1), -1);
}

/* 0, 1, p - 1, p and p + 1 have known powers, whatever the exponent is. */
Test(chap, values_that_reveal_the_secret)
{
	uint8_t x[NVME_CHAP_PRIVATE], key[64], value[256] = { 0 };
	uint8_t p[256];

	fill(x, sizeof(x), 3, 5);
	memset(p, 0xff, sizeof(p));
	for (unsigned last = 0; last < 2; last++) {
		value[255] = (uint8_t)last;
		cr_assert_eq(nvme_chap_session_key(key, NVME_CHAP_SHA256, NVME_CHAP_2048, x, value),
			-ERANGE);
	}
	value[255] = 2;
	cr_assert_eq(nvme_chap_session_key(key, NVME_CHAP_SHA256, NVME_CHAP_2048, x, value), 0);
	/* greater than p, which has no more than its first and last 64 bits set */
	cr_assert_eq(nvme_chap_session_key(key, NVME_CHAP_SHA256, NVME_CHAP_2048, x, p), -ERANGE);
}

Test(chap, names)
{
	cr_assert_eq(nvme_chap_hash_find("sha384"), NVME_CHAP_SHA384);
	cr_assert_eq(nvme_chap_hash_find("md5"), -1);
	cr_assert_eq(nvme_chap_group_find("null"), NVME_CHAP_NULL);
	cr_assert_eq(nvme_chap_group_find("ffdhe6144"), NVME_CHAP_6144);
	cr_assert_eq(nvme_chap_group_find("secp256r1"), -1);
	cr_assert_str_eq(nvme_chap_hash_name(0), "unknown");
	cr_assert_str_eq(nvme_chap_group_name(0x20), "unknown");
}

/* Each message survives a round trip, in a buffer of its length; one byte less is refused. */
static struct nvme_auth_msg passes(const struct nvme_auth_msg *sent, size_t expected)
{
	static uint8_t out[NVME_AUTH_MSG_MAX];
	struct nvme_auth_msg msg;
	size_t len = nvme_auth_put(out, sent);
	uint8_t *exact = malloc(len);

	cr_assert_eq(len, expected);
	memcpy(exact, out, len);
	cr_assert_eq(nvme_auth_get(&msg, exact, len, &why), 0, "%s", why.text);
	if (sent->kind != NVME_AUTH_SUCCESS2)
		for (size_t cut = 0; cut < len; cut++)
			cr_assert_eq(nvme_auth_get(&msg, exact, cut, &why), -EPROTO);
	free(exact);
	cr_assert_eq(nvme_auth_get(&msg, out, sizeof(out), &why), 0);
	cr_assert_eq(msg.kind, sent->kind);
	cr_assert_eq(msg.tid, sent->tid);
	return msg;
}

Test(chap, messages)
{
	uint8_t bytes[1152];
	struct nvme_auth_msg msg;

	fill(bytes, sizeof(bytes), 0, 3);
	msg = passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_NEGOTIATE,
			     .tid = 0x1234,
			     .sc_c = 2,
			     .hashes = 3,
			     .groups = 2,
			     .hash_ids = { 3, 2, 1 },
			     .group_ids = { 0x20, 1 } },
		72);
	cr_assert(msg.sc_c == 2 && msg.hashes == 3 && msg.groups == 2);
	cr_assert(msg.hash_ids[0] == 3 && msg.group_ids[0] == 0x20 && msg.group_ids[1] == 1);
	msg = passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_CHALLENGE,
			     .tid = 1,
			     .hash = 2,
			     .group = 5,
			     .seq = 0x01020304,
			     .hash_len = 48,
			     .dh_len = 1024,
			     .challenge = bytes,
			     .dh = bytes + 48 },
		16 + 48 + 1024);
	cr_assert(msg.hash == 2 && msg.group == 5 && msg.seq == 0x01020304);
	cr_assert_arr_eq(msg.challenge, bytes, 48);
	cr_assert_arr_eq(msg.dh, bytes + 48, 1024);
	msg = passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_REPLY,
			     .seq = 9,
			     .valid = true,
			     .hash_len = 64,
			     .dh_len = 256,
			     .response = bytes,
			     .challenge = bytes + 64,
			     .dh = bytes + 128 },
		16 + 128 + 256);
	cr_assert(msg.valid && msg.seq == 9 && msg.dh_len == 256);
	cr_assert_arr_eq(msg.response, bytes, 384);
	msg = passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS1,
			     .hash_len = 32,
			     .valid = true,
			     .response = bytes },
		16 + 32);
	cr_assert_arr_eq(msg.response, bytes, 32);
	msg = passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS1, .hash_len = 32 }, 16);
	cr_assert(!msg.valid && !msg.response);
	passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS2, .tid = 7 }, 16);
	msg = passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_FAILURE1, .reason = 5 }, 8);
	cr_assert_str_eq(nvme_auth_reason_text(msg.reason), "no usable DH group");
	passes(&(struct nvme_auth_msg){ .kind = NVME_AUTH_FAILURE2, .reason = 1 }, 8);
	cr_assert_str_eq(nvme_auth_reason_text(200), "unlisted reason");
}

static void refused(const uint8_t *bytes, size_t len, uint16_t kind, const char *words)
{
	struct nvme_auth_msg msg;

	why = (struct diag){ 0 };
	cr_assert_eq(nvme_auth_get(&msg, bytes, len, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, words);
	cr_assert_eq(msg.kind, kind);
}

Test(chap, invalid_messages)
{
	uint8_t bytes[256] = { 1, 9 };

	refused(bytes, sizeof(bytes), NVME_AUTH_UNKNOWN, "unknown authentication message");
	bytes[1] = 1;
	bytes[6] = 20;
	refused(bytes, sizeof(bytes), NVME_AUTH_CHALLENGE, "digest of 20 bytes");
	bytes[1] = 2;
	refused(bytes, sizeof(bytes), NVME_AUTH_REPLY, "digest of 20 bytes");
	bytes[1] = 3;
	bytes[8] = 1;
	refused(bytes, sizeof(bytes), NVME_AUTH_SUCCESS1, "digest of 20 bytes");
	memset(bytes, 0, sizeof(bytes));
	bytes[7] = 4; /* descriptors */
	refused(bytes, sizeof(bytes), NVME_AUTH_NEGOTIATE, "must be at least");
	bytes[7] = 1;
	bytes[8] = NVME_AUTH_DHCHAP;
	bytes[10] = 31;
	refused(bytes, sizeof(bytes), NVME_AUTH_NEGOTIATE, "31 hashes");
}

/* The second of three protocols is ours; without ours there are no hashes. */
Test(chap, other_protocols)
{
	uint8_t bytes[8 + 3 * 64] = {
		[7] = 3, [8] = 9, [10] = 200, [72] = 1, [74] = 1, [75] = 1, [76] = 2, [106] = 3
	};
	struct nvme_auth_msg msg;

	cr_assert_eq(nvme_auth_get(&msg, bytes, sizeof(bytes), &why), 0);
	cr_assert(msg.hashes == 1 && msg.hash_ids[0] == 2);
	cr_assert(msg.groups == 1 && msg.group_ids[0] == 3);
	bytes[72] = 9;
	cr_assert_eq(nvme_auth_get(&msg, bytes, sizeof(bytes), &why), 0);
	cr_assert_eq(msg.hashes, 0);
}
