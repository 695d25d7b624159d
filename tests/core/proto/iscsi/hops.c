/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Link: leap getaddrinfo freeaddrinfo */
#include "dial.h"
#include "iscsi.h"
#include "lookups.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static struct loop *loop;
static struct iscsi_redirects redirects;
static volatile int over;

static void resolved(struct iscsi_redirects *h)
{
	(void)h;
	over = 1;
}

/* 0 or -errno with hops.why */
static int on(const char *to, bool numbers)
{
	over = 0;
	iscsi_redirects_follow(&redirects, loop, to, numbers, 1000);
	cr_assert_eq(over, 0, "not from inside");
	cr_assert(loop_wait(loop, &over, loop_clock() + 10000000000ull));
	return -redirects.why.err;
}

static const char *at(char text[ADDR_TEXT])
{
	return addr_text(&redirects.visited[redirects.count], text);
}

static void init(void)
{
	struct addr first;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	addr_parse(&first, "10.0.0.1:3260", 0, NULL);
	iscsi_redirects_init(&redirects, &first, resolved);
}

static void fini(void)
{
	iscsi_redirects_cancel(&redirects);
	loop_free(loop);
}
TestSuite(iscsi_redirects, .init = init, .fini = fini);

Test(iscsi_redirects, who_was_asked_is_not_asked_again)
{
	char text[ADDR_TEXT];

	cr_assert_eq(on("10.0.0.2", true), 0, "%s", redirects.why.text);
	cr_assert_str_eq(at(text), "10.0.0.2:3260");
	cr_assert_eq(on("[::1]:3261", true), 0, "%s", redirects.why.text);
	cr_assert_str_eq(at(text), "[::1]:3261");
	cr_assert_eq(on("10.0.0.1:3260", true), -ELOOP);
	diag_says(&redirects.why, DIAG_PROTOCOL, NULL, "redirect 10.0.0.1:3260");
	cr_assert_str_eq(at(text), "[::1]:3261", "one stays where one is");
}

Test(iscsi_redirects, there_is_an_end)
{
	char text[32];

	for (unsigned i = 0; i < ISCSI_REDIRECTS; i++) {
		snprintf(text, sizeof(text), "10.0.1.%u", i);
		cr_assert_eq(on(text, true), 0);
	}
	cr_assert_eq(on("10.0.2.1", true), -ELOOP);
	diag_says(&redirects.why, DIAG_PROTOCOL, NULL, "redirect 8");
}

Test(iscsi_redirects, names_and_nonsense)
{
	char text[ADDR_TEXT];

	names_set("disk.example", "10.0.0.7", 0);
	cr_assert_eq(on("disk.example:3261", true), -EAFNOSUPPORT);
	cr_assert_eq(names_asked("disk.example"), 0);
	cr_assert_eq(on("disk.example:3261", false), 0, "%s", redirects.why.text);
	cr_assert_str_eq(at(text), "10.0.0.7:3261");
	cr_assert_eq(on("10.0.0.7:3261", false), -ELOOP);
	cr_assert_neq(on("10.0.0.2:0", true), 0);
	cr_assert_neq(on("", true), 0);
	cr_assert_neq(on("[::1", true), 0);
}

Test(iscsi_redirects, a_lookup_can_be_left)
{
	const volatile int never = 0;

	names_hold("mute.example", true);
	iscsi_redirects_follow(&redirects, loop, "mute.example:3260", false, 10);
	iscsi_redirects_cancel(&redirects);
	loop_wait(loop, &never, loop_clock() + 50000000);
	cr_assert_eq(over, 0);
	cr_assert_eq(on("mute.example:3260", false), -ETIMEDOUT);
}
