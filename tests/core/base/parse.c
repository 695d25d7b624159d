/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbers, sizes and times: whole or refused. */
#include "says.h"
#include "uri.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

Test(parse, numbers)
{
	uint64_t value = 7;
	struct diag diag = { 0 };

	cr_assert_eq(parse_u64("0", 0, 10, &value, &diag), 0);
	cr_assert_eq(value, 0);
	cr_assert_eq(parse_u64("18446744073709551615", 0, UINT64_MAX, &value, &diag), 0);
	cr_assert_eq(value, UINT64_MAX);
	cr_assert_eq(parse_u64("0x1F", 0, 100, &value, &diag), 0);
	cr_assert_eq(value, 31);
	cr_assert_eq(parse_u64("010", 0, 100, &value, &diag), 0);
	cr_assert_eq(value, 10, "no octal");
}

Test(parse, numbers_with_anything_else_are_refused_and_quoted)
{
	static const char *const bad[] = { "", "10x", "x", "-1", "+1", " 1", "1 ", "1.5", "0x",
		"0xg", "1e3", "٣" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct diag diag = { 0 };
		char text[64];
		uint64_t value = 7;

		cr_assert_eq(
			parse_u64(bad[i], 0, UINT64_MAX, &value, &diag), -EINVAL, "'%s'", bad[i]);
		snprintf(text, sizeof(text), "'%s'", bad[i]);
		cr_assert(strstr(diag.text, text), "%s is not in: %s", text, diag.text);
		cr_assert_eq(diag.code, DIAG_USAGE);
		cr_assert_eq(value, 7, "untouched");
	}
}

Test(parse, numbers_out_of_range_name_the_range)
{
	struct diag diag = { 0 };
	uint64_t value;

	cr_assert_eq(parse_u64("0", 1, 65535, &value, &diag), -ERANGE);
	diag_says(&diag, DIAG_USAGE, NULL, "1_to_65535");
	cr_assert_eq(parse_u64("65536", 1, 65535, &value, &diag), -ERANGE);
	cr_assert_eq(parse_u64("18446744073709551616", 0, UINT64_MAX, &value, &diag), -ERANGE);
	cr_assert_eq(parse_u64("0x10000000000000000", 0, UINT64_MAX, &value, &diag), -ERANGE);
}

Test(parse, sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "4k", 4096 },
		{ "4K", 4096 },
		{ "1M", 1 << 20 },
		{ "3G", 3ull << 30 },
		{ "2T", 2ull << 40 },
		{ "64MiB", 64 << 20 },
		{ "16777215T", 16777215ull << 40 },
	};
	static const char *const bad[] = { "", "M", "1X", "1MB", "1Mi", "1 M", "1.5G", "-1", "1M1",
		"16777216T", "18446744073709551616" };
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(parse_size(good[i].text, &bytes, NULL), 0, "%s", good[i].text);
		cr_assert_eq(bytes, good[i].bytes, "%s", good[i].text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct diag diag = { 0 };

		cr_assert_lt(parse_size(bad[i], &bytes, &diag), 0, "'%s'", bad[i]);
		cr_assert(strstr(diag.text, bad[i]), "'%s' is quoted in: %s", bad[i], diag.text);
	}
}

Test(parse, times)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} good[] = {
		{ "0", 0 },
		{ "30", 30000 },
		{ "30s", 30000 },
		{ "0.5", 500 },
		{ "1.25", 1250 },
		{ "0.001", 1 },
		{ "0.0001", 1 },
		{ "1.0000", 1000 },
		{ "500ms", 500 },
		{ "4294967", 4294967000u },
	};
	static const char *const bad[] = { "", "x", "1x", "1.", ".5", "1.5.5", "1m", "5 ms", "-1",
		"1.5ms", "4294968", "4294967295ms", "99999999999999999999" };
	uint32_t ms;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(parse_msec(good[i].text, &ms, NULL), 0, "%s", good[i].text);
		cr_assert_eq(ms, good[i].ms, "%s gave %u", good[i].text, ms);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct diag diag = { 0 };

		cr_assert_lt(parse_msec(bad[i], &ms, &diag), 0, "'%s'", bad[i]);
		cr_assert(strstr(diag.text, bad[i]), "'%s' is quoted in: %s", bad[i], diag.text);
	}
}
