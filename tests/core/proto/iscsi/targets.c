/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answers to SendTargets: those of LIO, and invalid ones. */
#include "targets.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static struct diag why;

static int get(const char *bytes, size_t len, struct iscsi_target_list *found)
{
	struct iscsi_text t = { 0 };
	struct addr asked;
	int err;

	*found = (struct iscsi_target_list){ 0 };
	addr_parse(&asked, "10.0.0.9:3261", 0, NULL);
	iscsi_text_add(&t, (const uint8_t *)bytes, (uint32_t)len, 65536, &why);
	err = iscsi_targets_parse(&t, &asked, found, &why);
	iscsi_text_free(&t);
	return err;
}
#define GET(text, found) get(text, sizeof(text), found)

Test(iscsi_targets, a_list)
{
	struct iscsi_target_list found;

	cr_assert_eq(GET("TargetName=iqn.x:a\0TargetAddress=10.0.0.1:3260,1\0TargetAddress=[fd00::"
			 "1]:3261,2\0TargetName=iqn.x:b\0TargetName=iqn.x:c\0"
			 "TargetAddress=host.example,65535\0",
			     &found),
		0, "%s", why.text);
	cr_assert_eq(found.count, 4);
	cr_assert_str_eq(found.record[0].name, "iqn.x:a");
	cr_assert_str_eq(found.record[0].host, "10.0.0.1");
	cr_assert(found.record[0].port == 3260 && found.record[0].tpgt == 1);
	cr_assert_str_eq(found.record[1].name, "iqn.x:a");
	cr_assert_str_eq(found.record[1].host, "fd00::1");
	cr_assert(found.record[1].port == 3261 && found.record[1].tpgt == 2);
	cr_assert_str_eq(found.record[2].name, "iqn.x:b");
	cr_assert_str_eq(found.record[2].host, "10.0.0.9", "without an address it is here");
	cr_assert(found.record[2].port == 3261 && found.record[2].tpgt == -1);
	cr_assert_str_eq(found.record[3].host, "host.example");
	cr_assert(found.record[3].port == 3260 && found.record[3].tpgt == 65535);
	iscsi_target_list_free(&found);
}

static void refused(const char *text, size_t len, enum diag_code code, const char *words)
{
	struct iscsi_target_list found;

	cr_assert_lt(get(text, len, &found), 0, "%s", text);
	diag_says(&why, code, NULL, words);
	iscsi_target_list_free(&found);
}
#define REFUSED(text, code, words) refused(text, sizeof(text), code, words)
#define NO_ADDRESS(at)                                                                             \
	REFUSED("TargetName=a\0TargetAddress=" at, DIAG_PROTOCOL, "TargetAddress=" at)

/* What is not understood of a list is left out. */
Test(iscsi_targets, a_list_with_odd_ones)
{
	static const char *const odd[] = { "fe80::1:3260,1", "127.0.0.1:99999,1", "[fd00::1", "" };
	char text[200];

	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		int len = snprintf(text, sizeof(text),
			"TargetName=iqn.x:a%cTargetAddress=%s%cTargetAddress=10.0.0.1:3260,1%c"
			"TargetName=iqn x%cTargetAddress=10.0.0.2%cTargetName=iqn.x:b",
			0, odd[i], 0, 0, 0, 0);
		struct iscsi_target_list found;

		cr_assert_eq(get(text, (size_t)len + 1, &found), 0, "%s: %s", odd[i], why.text);
		cr_assert(found.count == 2 && found.skips == 2, "%s: %u", odd[i], found.skips);
		diag_says(&found.skipped, DIAG_PROTOCOL, NULL, "TargetAddress");
		cr_assert_str_eq(found.record[0].name, "iqn.x:a");
		cr_assert_str_eq(found.record[0].host, "10.0.0.1");
		cr_assert_str_eq(found.record[1].name, "iqn.x:b");
		iscsi_target_list_free(&found);
	}
}

Test(iscsi_targets, addresses_of_the_portal_that_was_asked)
{
	struct iscsi_target_list found;

	cr_assert_eq(GET("TargetName=iqn.x:a\0TargetAddress=0.0.0.0:3260,1\0"
			 "TargetAddress=[fe80::1%12]:3260,1\0",
			     &found),
		0, "%s", why.text);
	cr_assert(found.count == 2 && !found.skips);
	cr_assert_str_eq(found.record[0].host, "10.0.0.9");
	cr_assert_eq(found.record[0].port, 3260);
	cr_assert_str_eq(found.record[1].host, "fe80::1", "the target's interface is nothing here");
	iscsi_target_list_free(&found);
}

Test(iscsi_targets, what_is_no_list)
{
	REFUSED("TargetAddress=10.0.0.1:3260,1", DIAG_PROTOCOL, "address name");
	REFUSED("TargetName=", DIAG_PROTOCOL, "target name 0");
	REFUSED("TargetName=iqn a", DIAG_PROTOCOL, "target name control");
	REFUSED("TargetName=iqn\na", DIAG_PROTOCOL, "target name control");
	REFUSED("SendTargets=Reject", DIAG_REFUSED, "SendTargets=Reject");
	NO_ADDRESS("");
	NO_ADDRESS(":3260,1");
	NO_ADDRESS("10.0.0.1:0,1");
	NO_ADDRESS("10.0.0.1:65536,1");
	NO_ADDRESS("10.0.0.1:3260,65536");
	NO_ADDRESS("10.0.0.1:3260,x");
	NO_ADDRESS("[fd00::1");
	NO_ADDRESS("[host]:1");
	NO_ADDRESS("[fd00::1]x");
	NO_ADDRESS("a\x1b[2J:1");
}
