/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decode Base64 (RFC 4648, 4) of keys and CHAP values. To encode, use mbedtls_base64_encode(). */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Return the number of bytes; -1: malformed, empty or longer than room. Padding is optional; blanks
 * and line breaks are malformed. */
int base64_get(uint8_t *to, size_t room, const char *text, size_t len);
