/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decode base64 with mbedTLS, but reject what it tolerates: blanks, line breaks, and a last group
 * without its padding, which it drops. */
#include "base64.h"
#include <mbedtls/base64.h>
#include <stdbool.h>
#include <string.h>

int base64_get(uint8_t *to, size_t room, const char *text, size_t len)
{
	uint8_t last[4] = "====";
	size_t whole, n, more = 0;
	bool bad;

	while (len && text[len - 1] == '=' && len % 4 != 1)
		len--;
	whole = len & ~(size_t)3;
	for (size_t i = 0; i < len; i++)
		if (strchr("= \r\n", text[i]))
			return -1;
	memcpy(last, text + whole, len - whole);
	bad = mbedtls_base64_decode(to, room, &n, (const uint8_t *)text, whole) ||
	      (len > whole && mbedtls_base64_decode(to + n, room - n, &more, last, sizeof(last)));
	explicit_bzero(last, sizeof(last));
	return bad || !len ? -1 : (int)(n + more);
}
