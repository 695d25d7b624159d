/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Base64 by the examples of RFC 4648, 10, and every short text against a decoder that is written
 * down bit by bit. */
#include "base64.h"
#include <criterion/criterion.h>
#include <string.h>

Test(base64, examples)
{
	static const char *const row[][2] = { { "Zg==", "f" }, { "Zm8=", "fo" }, { "Zm9v", "foo" },
		{ "Zm9vYg==", "foob" }, { "Zm9vYmE=", "fooba" }, { "Zm9vYmFy", "foobar" },
		{ "Zg", "f" }, { "Zm8", "fo" }, { "Zm9vYg", "foob" }, { "Zm9vYmE", "fooba" },
		{ "+/+/", "\xfb\xff\xbf" } };
	uint8_t got[8];

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		int len = (int)strlen(row[i][1]);

		memset(got, 0x55, sizeof(got));
		cr_assert_eq(base64_get(got, (size_t)len, row[i][0], strlen(row[i][0])), len, "%s",
			row[i][0]);
		cr_assert_arr_eq(got, row[i][1], (size_t)len, "%s", row[i][0]);
		cr_assert_eq(got[len], 0x55);
		cr_assert_eq(base64_get(got, (size_t)len - 1, row[i][0], strlen(row[i][0])), -1,
			"no room for %s", row[i][0]);
	}
	cr_assert_eq(base64_get(got, sizeof(got), "Zm9v:", 4), 3, "no end but the length");
}

static int by_bits(uint8_t *to, size_t room, const char *text, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0, bits = 0;
	uint32_t word = 0;

	while (len && text[len - 1] == '=' && len % 4 != 1)
		len--;
	if (!len || len % 4 == 1)
		return -1;
	for (size_t i = 0; i < len; i++) {
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;

		if (!at)
			return -1;
		word = word << 6 | (uint32_t)(at - digits);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (n == room)
			return -1;
		to[n++] = (uint8_t)(word >> bits);
	}
	return (int)n;
}

/* All texts of up to six of these characters. */
Test(base64, malformed_texts)
{
	static const char some[] = "A/z=\n -\xc3";
	const unsigned kinds = sizeof(some); /* the NUL too */
	uint8_t got[5], expected[5];
	unsigned good = 0;

	for (unsigned len = 0, texts = 1; len <= 6; len++, texts *= kinds)
		for (unsigned number = 0; number < texts; number++) {
			char text[7] = "";
			int n;

			for (unsigned i = 0, rest = number; i < len; i++, rest /= kinds)
				text[i] = some[rest % kinds];
			n = by_bits(expected, 4, text, len);
			cr_assert_eq(base64_get(got, 4, text, len), n, "'%s', %u", text, len);
			cr_assert(n < 0 || !memcmp(got, expected, (size_t)n), "'%s'", text);
			good += n > 0;
		}
	cr_assert_gt(good, 100);
}
