/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Failures: what they return, what they keep. */
#include "diag.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(diag, returns_the_negative_errno_and_names_the_innermost_object)
{
	struct diag diag;
	cr_assert_eq(diag_set(&diag, DIAG_REFUSED, ECONNREFUSED, "target refused %s", "us"),
		-ECONNREFUSED);
	cr_assert_eq(diag_ctx(&diag, "inner"), -ECONNREFUSED);
	cr_assert_eq(diag_ctx(&diag, "outer"), -ECONNREFUSED);
	cr_assert_eq(diag_hint(&diag, "go away"), -ECONNREFUSED);
	cr_assert_str_eq(diag.object, "inner");
	cr_assert_str_eq(diag.text, "target refused us");
	cr_assert_str_eq(diag.hint, "go away");
	diag_set(&diag, DIAG_IO, EIO, "other");
	cr_assert_str_eq(diag.object, "", "a new failure starts without an object");
}

Test(diag, an_object_has_no_secret_even_if_it_is_cut)
{
	struct diag diag = { 0 };
	char secret[600];

	memset(secret, 's', sizeof(secret));
	secret[sizeof(secret) - 1] = 0;
	diag_set(&diag, DIAG_USAGE, EINVAL, "text");
	diag_ctx(&diag, "iscsi:joe:%s@10.0.0.1::::iqn.a:b", secret);
	cr_assert_str_eq(diag.object, "iscsi:joe@10.0.0.1::::iqn.a:b");
}

Test(diag, an_errno_gives_code_word_and_text)
{
	struct diag diag;
	cr_assert_eq(diag_sys(&diag, ENOENT, "open %s", "x"), -ENOENT);
	cr_assert_str_eq(diag.text, "open x: no such file or directory");
	cr_assert_str_eq(diag_code_word(diag.code), "not-found");
	cr_assert_str_eq(diag_errno_word(diag.err), "ENOENT");
	cr_assert_str_eq(diag_errno_word(4095), "EUNKNOWN");
	cr_assert_str_eq(diag_code_word(99), "system");
}

Test(diag, a_null_diag_and_overlong_texts_are_harmless)
{
	struct diag diag;
	char big[2000];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	cr_assert_eq(diag_sys(NULL, EIO, "x"), -EIO);
	cr_assert_lt(diag_ctx(NULL, "x"), 0, "a failure stays one");
	cr_assert_lt(diag_hint(NULL, "x"), 0);
	diag_sys(&diag, EIO, "%s", big);
	diag_ctx(&diag, "%s", big);
	diag_hint(&diag, "%s", big);
	cr_assert_lt(strlen(diag.text), sizeof(diag.text));
}

Test(diag, durations_have_one_form)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0 s" },
		{ 1, "1 ms" },
		{ 250, "250 ms" },
		{ 500, "0.5 s" },
		{ 299, "300 ms" },
		{ 496, "0.5 s" },
		{ 946, "0.95 s" },
		{ 146, "150 ms" },
		{ 999, "1 s" },
		{ 1000, "1 s" },
		{ 1500, "1.5 s" },
		{ 9999, "10 s" },
		{ 10000, "10 s" },
		{ 59940, "59.9 s" },
		{ 999499, "999 s" },
		{ 999500, "1000 s" },
		{ 3600000, "3600 s" },
	};
	char text[DIAG_SECONDS];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_assert_str_eq(diag_seconds(rows[i].ms, text), rows[i].text);
	cr_assert(*diag_seconds(UINT64_MAX, text));
}

Test(diag, one_of_two_reasons_that_has_the_other_in_it_is_enough)
{
	struct diag diag = { .err = 1 };

	diag_both(&diag, "TCP", "refused", "RDMA", "no device");
	cr_assert_str_eq(diag.text, "TCP: refused; RDMA: no device");
	diag_both(&diag, "TCP", "refused", "RDMA", "no device; over TCP: refused");
	cr_assert_str_eq(diag.text, "no device; over TCP: refused");
	diag_both(&diag, "RDMA", "no device; over TCP: refused", "TCP", "refused");
	cr_assert_str_eq(diag.text, "no device; over TCP: refused");
	diag_both(&diag, "RDMA", diag.text, "TCP", "refused");
	cr_assert_str_eq(diag.text, "no device; over TCP: refused");
	diag_both(&diag, "A", "same", "B", "same");
	cr_assert_str_eq(diag.text, "same");
}
