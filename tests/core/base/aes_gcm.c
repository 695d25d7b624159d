/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AES-GCM by each implementation that this CPU can run: known answers (McGrew, Viega: "The
 * Galois/Counter Mode of Operation", test cases 3, 4, 15, 16), and parts of random lengths compared
 * with mbedTLS's whole messages. */
#include "aes_gcm_engine.h"
#include <criterion/criterion.h>
#include <mbedtls/gcm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 20000

static const uint8_t key[32] = { 0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f,
	0x94, 0x67, 0x30, 0x83, 0x08, 0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a,
	0x8f, 0x94, 0x67, 0x30, 0x83, 0x08 };
static const uint8_t nonce[AES_GCM_NONCE] = { 0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde,
	0xca, 0xf8, 0x88 };
static const uint8_t plain[64] = { 0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09,
	0xc5, 0xaf, 0xf5, 0x26, 0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda, 0x2e, 0x4c,
	0x30, 0x3d, 0x8a, 0x31, 0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95, 0x95, 0x68, 0x09, 0x53, 0x2f,
	0xcf, 0x0e, 0x24, 0x49, 0xa6, 0xb5, 0x25, 0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57,
	0xba, 0x63, 0x7b, 0x39, 0x1a, 0xaf, 0xd2, 0x55 };
static const uint8_t ad[20] = { 0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed, 0xfa,
	0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2 };

static void hex(const uint8_t *p, size_t len, char *to)
{
	for (size_t i = 0; i < len; i++)
		sprintf(to + 2 * i, "%02x", p[i]);
}

static void known(const struct aes_gcm_engine *engine, unsigned key_len, size_t len, size_t ad_len,
	const char *end, const char *tag)
{
	struct aes_gcm *gcm = aes_gcm_new_with(engine, key, key_len);
	uint8_t text[64], got[AES_GCM_TAG];
	char shown[33];

	aes_gcm_start(gcm, nonce, ad, ad_len, true);
	aes_gcm_update(gcm, text, plain, len);
	aes_gcm_finish(gcm, got);
	hex(text + len - 4, 4, shown);
	cr_assert_str_eq(shown, end, "%s", engine->name);
	hex(got, sizeof(got), shown);
	cr_assert_str_eq(shown, tag, "%s", engine->name);
	aes_gcm_free(gcm);
}

Test(aes_gcm, known_answers)
{
	for (const struct aes_gcm_engine *const *e = aes_gcm_engines; *e; e++) {
		if (!(*e)->usable())
			continue;
		known(*e, 16, 64, 0, "473f5985", "4d5c2af327cd64a62cf35abd2ba6fab4");
		known(*e, 16, 60, 20, "3d58e091", "5bc94fbc3221a5db94fae95ae7121a47");
		known(*e, 32, 64, 0, "898015ad", "b094dac5d93471bdec1a502270e3cc6c");
		known(*e, 32, 60, 20, "bcc9f662", "76fc6ece0f4e1768cddf8853bb2d551b");
	}
}

/* Encrypt or decrypt in place, in parts. */
static void in_parts(
	struct aes_gcm *gcm, uint8_t *text, size_t len, size_t ad_len, bool seal, uint8_t *tag)
{
	aes_gcm_start(gcm, nonce, plain, ad_len, seal);
	for (size_t at = 0, part; at < len; at += part) {
		part = (size_t)rand() % (rand() % 4 ? len - at : 40);
		part = part < len - at ? part + 1 : len - at;
		aes_gcm_update(gcm, text + at, text + at, part);
	}
	aes_gcm_finish(gcm, tag);
}

static void compare(
	const struct aes_gcm_engine *engine, struct aes_gcm *gcm, unsigned key_len, size_t len)
{
	static uint8_t text[LONGEST], original[LONGEST], right[LONGEST];
	uint8_t tag[AES_GCM_TAG], right_tag[AES_GCM_TAG];
	size_t ad_len = (size_t)rand() % sizeof(plain);
	mbedtls_gcm_context theirs;

	for (size_t i = 0; i < len; i++)
		text[i] = original[i] = (uint8_t)rand();
	mbedtls_gcm_init(&theirs);
	cr_assert_eq(mbedtls_gcm_setkey(&theirs, MBEDTLS_CIPHER_ID_AES, key, key_len * 8), 0);
	mbedtls_gcm_crypt_and_tag(&theirs, MBEDTLS_GCM_ENCRYPT, len, nonce, sizeof(nonce), plain,
		ad_len, text, right, sizeof(right_tag), right_tag);
	mbedtls_gcm_free(&theirs);
	in_parts(gcm, text, len, ad_len, true, tag);
	cr_assert(!memcmp(text, right, len), "%s: %zu bytes", engine->name, len);
	cr_assert_arr_eq(tag, right_tag, sizeof(tag));
	in_parts(gcm, text, len, ad_len, false, tag);
	cr_assert(!memcmp(text, original, len), "%s: %zu bytes", engine->name, len);
	cr_assert_arr_eq(tag, right_tag, sizeof(tag));
}

Test(aes_gcm, parts_of_any_length_equal_the_whole)
{
	for (const struct aes_gcm_engine *const *e = aes_gcm_engines; *e; e++)
		for (unsigned key_len = 16; (*e)->usable() && key_len <= 32; key_len += 16) {
			struct aes_gcm *gcm = aes_gcm_new_with(*e, key, key_len);

			for (size_t len = 0; len < 600; len++)
				compare(*e, gcm, key_len, len);
			for (unsigned i = 0; i < 40; i++)
				compare(*e, gcm, key_len, (size_t)rand() % LONGEST);
			aes_gcm_free(gcm);
		}
}

/* The first that the CPU can run is chosen. */
Test(aes_gcm, best_engine)
{
	struct aes_gcm *gcm = aes_gcm_new(key, 16);
	const struct aes_gcm_engine *const *e = aes_gcm_engines;

	while (!(*e)->usable())
		e++;
	cr_assert_eq(gcm->engine, *e);
	aes_gcm_free(gcm);
	aes_gcm_free(NULL);
}
