/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The filter of SRP targets: as many values as an option has, and which targets may match. */
#include "srp_show.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct srp_filter filter;
static struct opt_list list;
static struct diag why;

Test(srp_show, values_of_a_key_are_replaced)
{
	const struct mad_target target = { .prefix = 0xfe80000000000000, .guid = 7 };

	for (list.count = 0; list.count < OPT_LIST_MAX; list.count++)
		list.item[list.count] = "fe80::8";
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(srp_filter_read(&filter, SRP_DGID, &list, &why), 0, "%s", why.text);
	cr_assert_eq(filter.key[SRP_DGID].count, OPT_LIST_MAX);
	cr_assert(filter.on && !srp_filter_may_match(&filter, &target));
	list.item[0] = "fe80::7";
	list.count = 1;
	cr_assert_eq(srp_filter_read(&filter, SRP_DGID, &list, &why), 0, "%s", why.text);
	cr_assert_eq(filter.key[SRP_DGID].count, 1);
	cr_assert(srp_filter_may_match(&filter, &target));
}

Test(srp_show, invalid_values)
{
	list = (struct opt_list){ .item = { "10000" }, .count = 1 };
	cr_assert_eq(srp_filter_read(&filter, SRP_PKEY, &list, &why), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "--pkey '10000' 4_hexadecimal");
}
