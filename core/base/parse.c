/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse numbers, sizes and times of options and URIs. The whole text must match: no sign, no
 * blanks, no locale. */
#include "names.h"
#include "uri.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Read digits of the base from *text on. False if there is no digit or the number does not fit. */
static bool digits(const char **text, unsigned base, uint64_t *value, bool *overflow)
{
	const char *p = *text;
	uint64_t sum = 0;

	for (;; p++) {
		int digit = hex_digit(*p);

		if (digit < 0 || (unsigned)digit >= base)
			break;
		if (__builtin_mul_overflow(sum, base, &sum) ||
			__builtin_add_overflow(sum, digit, &sum))
			*overflow = true;
	}
	*value = sum;
	bool some = p != *text;

	*text = p;
	return some;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value, struct diag *diag)
{
	bool hex = text[0] == '0' && (text[1] | 0x20) == 'x', overflow = false;
	const char *p = hex ? text + 2 : text;
	uint64_t sum;

	if (!digits(&p, hex ? 16 : 10, &sum, &overflow) || *p)
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid number '%s'", text);
	if (overflow || sum < min || sum > max)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "must be %" PRIu64 " to %" PRIu64, min, max);
	*value = sum;
	return 0;
}

int parse_size(const char *text, uint64_t *bytes, struct diag *diag)
{
	static const char units[] = "KMGTPE";
	bool overflow = false;
	const char *p = text;
	uint64_t sum;

	if (!digits(&p, 10, &sum, &overflow))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid size '%s'", text);
	const char *unit = *p ? strchr(units, toupper((unsigned char)*p)) : NULL;

	if (unit && __builtin_mul_overflow(sum, UINT64_C(1) << 10 * (unit - units + 1), &sum))
		overflow = true;
	if (unit)
		p += strcmp(p + 1, "iB") ? 1 : 3;
	if (*p) {
		diag_set(diag, DIAG_USAGE, EINVAL, "invalid size '%s'", text);
		diag_hint(diag, "a size is a whole number with an optional K, M, G or T (powers of "
				"1024), such as 64M");
		return -EINVAL;
	}
	if (overflow)
		return diag_set(diag, DIAG_USAGE, ERANGE, "'%s': must be less than 16E", text);
	*bytes = sum;
	return 0;
}

/* Parse ".25" as milliseconds, rounded up: a short time must not become 0, which means no limit. */
static uint64_t fraction(const char **text)
{
	const char *p = *text + 1;
	unsigned scale = 100, ms = 0;
	bool more = false;

	for (; isdigit((unsigned char)*p); p++, scale /= 10) {
		ms += (unsigned)(*p - '0') * scale;
		more |= !scale && *p != '0';
	}
	*text = p;
	return ms + more;
}

int parse_msec(const char *text, uint32_t *ms, struct diag *diag)
{
	bool overflow = false;
	const char *p = text;
	uint64_t sum;

	if (!digits(&p, 10, &sum, &overflow))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "invalid time '%s': expected seconds", text);
	if (strcmp(p, "ms")) {
		if (__builtin_mul_overflow(sum, UINT64_C(1000), &sum))
			overflow = true;
		if (*p == '.' && isdigit((unsigned char)p[1]) &&
			__builtin_add_overflow(sum, fraction(&p), &sum))
			overflow = true;
		if (*p && strcmp(p, "s"))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid time '%s': expected seconds", text);
	}
	if (overflow || sum > PARSE_MSEC_MAX)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "'%s': must be at most 4294967 seconds", text);
	*ms = (uint32_t)sum;
	return 0;
}
