/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loss policy: what is accepted, what is refused, and that its text is read again. */
#include "policy.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

Test(policy, one_grammar)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} good[] = { { "fail-fast", 0 }, { "forever", UINT32_MAX }, { "60", 60000 },
		{ "wait=60", 60000 }, { "0.5", 500 }, { "600", 600000 } };
	static const char *const wrong[] = { "", "soon", "wait=", "wait=forever", "-1", "10x",
		"failfast" };
	static const char *const outside[] = { "0", "0.0", "wait=0", "601", "wait=601",
		"99999999999" };
	struct diag diag;
	uint32_t ms;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(
			loss_read(good[i].text, "loss=", 600, &ms, NULL), 0, "%s", good[i].text);
		cr_assert_eq(ms, good[i].ms, "%s gave %u", good[i].text, ms);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		diag = (struct diag){ 0 };
		cr_assert_eq(
			loss_read(wrong[i], "loss=", 600, &ms, &diag), -EINVAL, "'%s'", wrong[i]);
		diag_says(&diag, DIAG_USAGE, NULL, "loss= wait=SECONDS");
		text_says(diag.text, wrong[i]);
	}
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		diag = (struct diag){ 0 };
		cr_assert_eq(loss_read(outside[i], "loss=", 600, &ms, &diag), -ERANGE, "'%s'",
			outside[i]);
		diag_says(&diag, DIAG_USAGE, NULL, "loss= 0.001_to_600 fail-fast forever");
	}
}

Test(policy, whole_seconds_and_their_text)
{
	static const struct {
		uint32_t ms;
		int seconds;
		const char *text;
	} all[] = { { 0, 0, "fail-fast" }, { 1, 1, "wait=1" }, { 60000, 60, "wait=60" },
		{ 60001, 61, "wait=61" }, { 4294967000, 4294967, "wait=4294967" },
		{ LOSS_FOREVER, VALUE_OFF, "forever" } };
	char text[LOSS_TEXT];
	uint32_t ms;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_assert_eq(loss_seconds(all[i].ms), all[i].seconds, "%u", all[i].ms);
		cr_assert_str_eq(loss_text(all[i].seconds, text), all[i].text);
		cr_assert_eq(loss_read(all[i].text, "", LOSS_MAX, &ms, NULL), 0);
		cr_assert_eq(loss_seconds(ms), all[i].seconds);
	}
}
