/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "iscsi.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static struct diag why;
static struct addr at;
static struct iscsi_hops hops;

static int on(const char *to, bool numbers)
{
	return iscsi_hops_on(&hops, to, numbers, &at, &why);
}

static void init(void)
{
	addr_parse(&at, "10.0.0.1:3260", 0, NULL);
	hops = (struct iscsi_hops){ .visited = { at } };
}
TestSuite(iscsi_hops, .init = init);

Test(iscsi_hops, who_was_asked_is_not_asked_again)
{
	char text[ADDR_TEXT];

	cr_assert_eq(on("10.0.0.2", true), 0, "%s", why.text);
	cr_assert_str_eq(addr_text(&at, text), "10.0.0.2:3260");
	cr_assert_eq(on("[::1]:3261", true), 0, "%s", why.text);
	cr_assert_str_eq(addr_text(&at, text), "[::1]:3261");
	cr_assert_eq(on("10.0.0.1:3260", true), -ELOOP);
	cr_assert_str_eq(why.text, "the target redirects in a circle: to 10.0.0.1:3260 again");
	cr_assert_str_eq(addr_text(&at, text), "[::1]:3261", "one stays where one is");
}

Test(iscsi_hops, there_is_an_end)
{
	char text[32];

	for (unsigned i = 0; i < ISCSI_HOPS; i++) {
		snprintf(text, sizeof(text), "10.0.1.%u", i);
		cr_assert_eq(on(text, true), 0);
	}
	cr_assert_eq(on("10.0.2.1", true), -ELOOP);
	cr_assert_str_eq(why.text, "the target redirects more than 8 times");
}

Test(iscsi_hops, names_and_nonsense)
{
	cr_assert_eq(on("localhost:3261", true), -EAFNOSUPPORT);
	cr_assert_eq(on("localhost:3261", false), 0, "%s", why.text);
	cr_assert_neq(on("10.0.0.2:0", true), 0);
	cr_assert_neq(on("", true), 0);
	cr_assert_neq(on("[::1", true), 0);
}
