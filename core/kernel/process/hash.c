/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HMAC-SHA-256 (RFC 2104) of a key of at most one block. */
#include "hash.h"
#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 64

static void sha256(uint8_t out[32], const uint8_t head[BLOCK], const void *text, size_t len)
{
	mbedtls_sha256_context context;

	mbedtls_sha256_init(&context);
	/* only hardware implementations fail, and then a wrong identity must not be used */
	if (mbedtls_sha256_starts(&context, 0) || mbedtls_sha256_update(&context, head, BLOCK) ||
		mbedtls_sha256_update(&context, text, len) || mbedtls_sha256_finish(&context, out))
		abort();
	mbedtls_sha256_free(&context);
}

void kernel_hash_hmac(
	uint8_t out[32], const void *key, size_t key_len, const void *text, size_t len)
{
	uint8_t inner[BLOCK] = { 0 }, outer[BLOCK];

	memcpy(inner, key, key_len);
	for (int i = 0; i < BLOCK; i++) {
		outer[i] = inner[i] ^ 0x5c;
		inner[i] ^= 0x36;
	}
	sha256(out, inner, text, len);
	sha256(out, outer, out, 32);
}
