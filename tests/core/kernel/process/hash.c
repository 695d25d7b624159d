/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HMAC-SHA-256 against RFC 4231. */
#include "hash.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void check(
	const void *key, size_t key_len, const void *text, size_t len, const char *expected)
{
	uint8_t out[32];
	char hex[65];

	kernel_hash_hmac(out, key, key_len, text, len);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", out[i]);
	cr_assert_str_eq(hex, expected);
}

Test(hash, rfc4231)
{
	uint8_t key[25], data[50];

	memset(key, 0x0b, 20);
	/* 4.2 */
	check(key, 20, "Hi There", 8,
		"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	/* 4.3 */
	check("Jefe", 4, "what do ya want for nothing?", 28,
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, 20);
	memset(data, 0xdd, 50);
	/* 4.4 */
	check(key, 20, data, 50,
		"773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
}

/* openssl dgst -sha256 -hmac k, of n times 'a': lengths around the padding's limits */
Test(hash, lengths_around_a_block)
{
	char text[130];

	memset(text, 'a', sizeof(text));
	check("k", 1, text, 55, "2cc44ce77061ae61e565e2ba633d3fb0c3f0a40d8183dc37eb47a18abda4baf2");
	check("k", 1, text, 56, "bc446082d08be8bf111c25f6b4d227bfbcc94721f7388c69fc93a6699de8ab3b");
	check("k", 1, text, 64, "51dc6773c877547b2f5658b10ed96a5a72709ba469f445538da56af1b8ffb1cd");
	check("k", 1, text, 119,
		"cf4a16a9fb2bd68c1a8a6c6031d71ccf825afaf2b4a9824fbcce733f072563e3");
	check("k", 1, text, 120,
		"265c5724e8e371067fb5913e233628f1373cecd93d4261a2e4822938037a781e");
}
