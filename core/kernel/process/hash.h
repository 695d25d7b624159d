/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Derive names from secrets that must not be copied. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* HMAC-SHA-256 (RFC 2104, FIPS 180-4) of a key of at most 64 bytes. */
void kernel_hash_hmac(
	uint8_t out[32], const void *key, size_t key_len, const void *text, size_t len);
