/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The parameters of ib_srp. */
#include "kernel_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct tree tree;
static struct diag why;

static void setup(void)
{
	tree = tree_new();
	why = (struct diag){ 0 };
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(srp_module, .init = setup, .fini = fini);

static int load(const char *param, bool *loaded)
{
	char *params[] = { (char *)param };

	why = (struct diag){ 0 };
	return kernel_srp_load(tree.root, params, 1, loaded, &why);
}

static void count(const char *name, const char *value, void *arg)
{
	if (!strcmp(name, "cmd_sg_entries"))
		cr_assert_str_eq(value, "12");
	++*(unsigned *)arg;
}

Test(srp_module, parameters)
{
	unsigned seen = 0;
	bool loaded;

	cr_assert_eq(load("cmd_sg_entries=12", &loaded), -ENOENT);
	cr_assert_eq(why.code, DIAG_NO_MODULE);
	cr_assert_eq(load("cmd_sg_entries", &loaded), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "--module-param cmd_sg_entries NAME=VALUE");
	cr_assert_eq(load("a b=1", &loaded), -EINVAL);
	tree_dir(&tree, "sys/class/infiniband_srp");
	tree_file(&tree, "sys/module/ib_srp/parameters/cmd_sg_entries", "12\n");
	tree_file(&tree, "sys/module/ib_srp/parameters/prefer_fr", "Y\n");
	cr_assert_eq(load("cmd_sg_entries=12", &loaded), 0, "%s", why.text);
	cr_assert(!loaded);
	cr_assert_eq(load("prefer_fr=1", &loaded), 0, "%s", why.text);
	cr_assert_eq(load("prefer_fr=0", &loaded), -EALREADY);
	cr_assert_eq(load("cmd_sg_entries=13", &loaded), -EALREADY);
	diag_says(&why, DIAG_BUSY, NULL, "ib_srp cmd_sg_entries=12");
	cr_assert_eq(load("sparkle=1", &loaded), -ENOENT);
	kernel_srp_module_params(tree.root, count, &seen);
	cr_assert_eq(seen, 2);
}
