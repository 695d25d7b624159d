/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Text keys, numbers and binary values, as peers may write them. */
#include "text.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct diag why;

static int add(struct iscsi_text *t, const char *bytes, size_t len)
{
	return iscsi_text_add(t, (const uint8_t *)bytes, (uint32_t)len, 64, &why);
}

Test(iscsi_text, pairs)
{
	static const char bytes[] = "A=1\0TargetName=iqn.x:a\0\0\0Empty=\0";
	struct iscsi_text t = { 0 };
	char *key, *value;
	size_t at = 0;

	cr_assert_eq(add(&t, bytes, sizeof(bytes) - 1), 0);
	cr_assert_eq(iscsi_text_next(&t, &at, &key, &value, &why), 1);
	cr_assert_str_eq(key, "A");
	cr_assert_str_eq(value, "1");
	cr_assert_eq(iscsi_text_next(&t, &at, &key, &value, &why), 1);
	cr_assert_str_eq(value, "iqn.x:a");
	cr_assert_eq(iscsi_text_next(&t, &at, &key, &value, &why), 1);
	cr_assert_str_eq(key, "Empty");
	cr_assert_str_eq(value, "");
	cr_assert_eq(iscsi_text_next(&t, &at, &key, &value, &why), 0);
	iscsi_text_free(&t);
}

Test(iscsi_text, a_pair_over_two_pdus)
{
	struct iscsi_text t = { 0 };
	char *key, *value;
	size_t at = 0;

	cr_assert_eq(add(&t, "Targe", 5), 0);
	cr_assert_eq(add(&t, "tAlias=x", 9), 0);
	cr_assert_eq(iscsi_text_next(&t, &at, &key, &value, &why), 1);
	cr_assert_str_eq(key, "TargetAlias");
	iscsi_text_free(&t);
}

static void refused(const char *bytes, size_t len, const char *words)
{
	struct iscsi_text t = { 0 };
	char *key, *value;
	size_t at = 0;

	cr_assert_eq(add(&t, bytes, len), 0);
	cr_assert_eq(iscsi_text_next(&t, &at, &key, &value, &why), -EPROTO, "%s", bytes);
	diag_says(&why, DIAG_PROTOCOL, NULL, words);
	iscsi_text_free(&t);
}

Test(iscsi_text, what_is_none)
{
	char longest[64];

	refused("A=1", 3, "text ends");
	refused("A", 2, "text key=value");
	refused("=1", 3, "text key=value");
	refused("A b=1", 6, "text key=value");
	memset(longest, 'A', sizeof(longest));
	longest[63] = 0;
	refused(longest, 64, "text key=value");
	longest[63] = 'A';
	refused(longest, 64, "text ends");
}

Test(iscsi_text, bounds)
{
	struct iscsi_text t = { 0 };
	uint8_t zeroes[65] = { 0 };

	cr_assert_eq(iscsi_text_add(&t, zeroes, 64, 64, &why), 0);
	cr_assert_eq(iscsi_text_add(&t, zeroes, 1, 64, &why), -EMSGSIZE);
	diag_says(&why, DIAG_PROTOCOL, NULL, "text 64");
	iscsi_text_clear(&t);
	for (unsigned i = 0; i < ISCSI_TEXT_PDUS; i++)
		cr_assert_eq(iscsi_text_add(&t, zeroes, 0, 64, &why), 0);
	cr_assert_eq(iscsi_text_add(&t, zeroes, 0, 64, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "text 256 PDU");
	iscsi_text_free(&t);
}

Test(iscsi_text, lists)
{
	const char *at = "a,too-long,,bc,", *none = "";
	char item[4];

	cr_assert(iscsi_list_next(&at, item, sizeof(item)) && !strcmp(item, "a"));
	cr_assert(iscsi_list_next(&at, item, sizeof(item)) && !*item);
	cr_assert(iscsi_list_next(&at, item, sizeof(item)) && !strcmp(item, "bc"));
	cr_assert_not(iscsi_list_next(&at, item, sizeof(item)));
	cr_assert_not(iscsi_list_next(&none, item, sizeof(item)));
}

Test(iscsi_text, binary_values)
{
	uint8_t b[4];

	cr_assert_eq(iscsi_binary_get("0x01020304", b, 4), 4);
	cr_assert_eq(b[3], 4);
	cr_assert_eq(iscsi_binary_get("0X123", b, 4), 2, "an odd number of digits");
	cr_assert(b[0] == 0x01 && b[1] == 0x23);
	cr_assert_eq(iscsi_binary_get("0x0102030405", b, 4), -1, "too long");
	cr_assert_eq(iscsi_binary_get("0x", b, 4), -1);
	cr_assert_eq(iscsi_binary_get("0x0g", b, 4), -1);
	cr_assert_eq(iscsi_binary_get("0bAQIDBA==", b, 4), 4, "RFC 4648");
	cr_assert(b[0] == 1 && b[3] == 4);
	cr_assert_eq(iscsi_binary_get("0bAQIDBAU=", b, 4), -1, "too long");
	cr_assert_eq(iscsi_binary_get("0bAQ*=", b, 4), -1);
	cr_assert_eq(iscsi_binary_get("0b", b, 4), -1);
	cr_assert_eq(iscsi_binary_get("0102", b, 4), -1);
	cr_assert_eq(iscsi_binary_get("", b, 4), -1);
}

Test(iscsi_text, writing)
{
	uint8_t bytes[16];
	struct wr w = wr_init(bytes, sizeof(bytes));

	iscsi_text_put(&w, "A", "%u", 12);
	iscsi_text_put_binary(&w, "B", (const uint8_t *)"\x01\xfe", 2);
	cr_assert_not(w.bad);
	cr_assert_eq(w.p - bytes, 14);
	cr_assert_eq(memcmp(bytes, "A=12\0B=0x01fe", 14), 0);
	iscsi_text_put(&w, "C", "%u", 1);
	cr_assert(w.bad, "no room");
}
