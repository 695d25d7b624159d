/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which connections by RDMA/CM a command ends, whose addresses may be unknown. */
#include "attach_detach.h"
#include "attach_srp.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define A     "srp+cm://10.0.0.1:5555/0002c90300a0b0c0/1"
#define B     "srp+cm://10.0.0.2:5555/0002c90300a0b0c0/1"
#define C     "srp+cm://10.0.0.3:5555/0002c90300a0b0c0/1"
#define ON(d) "?dev=" d

static struct kernel_srp host[3];
static struct diag why;

/* at: the last digit of each host's address; '?': unknown */
static int choose(const char *at, char **word, unsigned words, unsigned *count)
{
	static const struct srp_options options;

	for (unsigned i = 0; i < 3; i++) {
		host[i] = (struct kernel_srp){
			.id_ext = 1, .ioc_guid = 0x0002c90300a0b0c0, .by_cm = true, .port = 1
		};
		snprintf(host[i].host, sizeof(host[i].host), "host%u", i + 6);
		strcpy(host[i].dev, i < 2 ? "mlx5_0" : "mlx5_1");
		if (i < strlen(at) && at[i] != '?')
			memcpy(host[i].dest,
				(uint8_t[]){ [10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(at[i] - '0') },
				16);
	}
	*count = (unsigned)strlen(at);
	why = (struct diag){ 0 };
	return srp_select(-1, word, words, &options, host, count, &why);
}

Test(srp_select, by_address)
{
	char *all[] = { C, A, C };
	unsigned count;

	cr_assert_eq(choose("123", all, 3, &count), 0);
	cr_assert_eq(count, 2);
	cr_assert(!strcmp(host[0].host, "host6") && !strcmp(host[1].host, "host8"));
	cr_assert_eq(choose("2", all, 2, &count), 0);
	cr_assert_eq(count, 0, "only the one in between is connected");
	cr_assert_eq(choose("12", all, 2, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(choose("11", all + 1, 1, &count), -EINVAL, "two initiators");
	text_says(why.text, "host6 host7 this_address");
	cr_assert_eq(count, 0);
}

Test(srp_select, of_unknown_addresses)
{
	char *some[] = { A, B, "host6" };
	unsigned count;

	cr_assert_eq(choose("?", some, 1, &count), 0);
	cr_assert_eq(count, 1, "there is no other");
	cr_assert_eq(choose("2?", some, 1, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_str_eq(host[0].host, "host7");
	cr_assert_eq(choose("?", some, 2, &count), -EINVAL, "at one of the two, or at neither");
	text_says(why.text, "log host6");
	text_says(why.hint, "srp-disconnect_host6");
	cr_assert_eq(choose("??", some, 2, &count), -EINVAL);
	text_says(why.text, "host6 host7");
	cr_assert_eq(count, 0);
	cr_assert_eq(choose("1?", some, 1, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_str_eq(host[0].host, "host6");
	some[1] = "srp+cm://localhost:5555/0002c90300a0b0c0/1";
	cr_assert_eq(choose("1?", some + 1, 1, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_str_eq(host[0].host, "host7");
	cr_assert_eq(choose("12", some + 1, 1, &count), 0);
	cr_assert_eq(count, 0, "the addresses of a name");
}

Test(srp_select, through_another_device)
{
	char *both[] = { A ON("mlx5_0"), B ON("mlx5_1") };
	unsigned count;

	cr_assert_eq(choose("???", both, 2, &count), -EINVAL, "two through mlx5_0");
	text_says(why.text, "host6 host7");
	cr_assert_eq(choose("12?", both, 2, &count), 0);
	cr_assert_eq(count, 2);
	cr_assert_str_eq(host[1].host, "host8");
}
