/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which connections over RDMA/CM a command ends, as the kernel does not report their addresses. */
#include "attach_detach.h"
#include "attach_srp.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define A     "srp+cm://10.0.0.1:5555/0002c90300a0b0c0/1"
#define B     "srp+cm://10.0.0.2:5555/0002c90300a0b0c0/1"
#define ON(d) "?dev=" d

static struct kernel_srp host[3];
static struct diag why;

static int choose(unsigned hosts, char **word, unsigned words, unsigned *count)
{
	static const struct srp_options options;

	for (unsigned i = 0; i < 3; i++) {
		host[i] = (struct kernel_srp){
			.id_ext = 1, .ioc_guid = 0x0002c90300a0b0c0, .by_cm = true, .port = 1
		};
		snprintf(host[i].host, sizeof(host[i].host), "host%u", i + 6);
		strcpy(host[i].dev, i < 2 ? "mlx5_0" : "mlx5_1");
	}
	*count = hosts;
	why = (struct diag){ 0 };
	return srp_select(-1, word, words, &options, host, count, &why);
}

Test(srp_select, as_many_as_addresses)
{
	char *all[] = { A, B, A };
	unsigned count;

	cr_assert_eq(choose(2, all, 3, &count), 0);
	cr_assert_eq(count, 2);
	cr_assert_eq(choose(1, all, 1, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(choose(3, all, 3, &count), -EINVAL, "one more than addresses");
	text_says(why.text, "host6 host7 host8");
}

Test(srp_select, an_address_given_twice_is_one)
{
	char *twice[] = { A, A };
	unsigned count;

	cr_assert_eq(choose(2, twice, 2, &count), -EINVAL);
	cr_assert_eq(count, 0);
	text_says(why.hint, "srp-disconnect_host6");
}

Test(srp_select, an_address_through_another_device)
{
	char *both[] = { A ON("mlx5_0"), B ON("mlx5_1") };
	unsigned count;

	cr_assert_eq(choose(3, both, 2, &count), -EINVAL, "two through mlx5_0, one of them named");
	both[1] = B ON("mlx5_0");
	cr_assert_eq(choose(3, both, 2, &count), 0);
	cr_assert_eq(count, 2);
}
