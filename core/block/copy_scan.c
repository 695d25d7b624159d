/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Detect zeroes and compare in steps of 64 bytes, which compilers vectorise. */
#include "copy_scan.h"
#include <stdint.h>
#include <string.h>

#define STEP  64
#define WORDS (STEP / sizeof(uint64_t))

bool scan_zero(const void *memory, size_t len)
{
	const uint8_t *p = memory, *end = p + len;

	for (; end - p >= STEP; p += STEP) {
		uint64_t word[WORDS], sum = 0;

		memcpy(word, p, STEP);
		for (unsigned i = 0; i < WORDS; i++)
			sum |= word[i];
		if (sum)
			return false;
	}
	for (; p < end; p++)
		if (*p)
			return false;
	return true;
}

size_t scan_differs(const void *a, const void *b, size_t len)
{
	const uint8_t *p = a, *q = b;
	size_t at = 0;

	for (; len - at >= STEP; at += STEP) {
		uint64_t left[WORDS], right[WORDS], sum = 0;

		memcpy(left, p + at, STEP);
		memcpy(right, q + at, STEP);
		for (unsigned i = 0; i < WORDS; i++)
			sum |= left[i] ^ right[i];
		if (sum)
			break;
	}
	while (at < len && p[at] == q[at])
		at++;
	return at;
}
