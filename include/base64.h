/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Base64 (RFC 4648, 4), as keys and CHAP values use it. To write it, use mbedtls_base64_encode().
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Padding may be missing, but nothing else may be: blanks and line breaks are refused. The number
 * of bytes; -1: malformed, empty or more than room. */
int base64_get(uint8_t *to, size_t room, const char *text, size_t len);
