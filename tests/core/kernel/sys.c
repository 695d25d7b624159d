/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reading small files under a root. */
#include "kernel_sys.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

Test(sys, reads_trimmed_and_cut)
{
	struct tree tree = tree_new();
	char text[8];

	tree_file(&tree, "a/b", "word \n\n");
	cr_assert_eq(kernel_sys_read(tree.root, text, sizeof(text), "%s/b", "a"), 4);
	cr_assert_str_eq(text, "word");
	tree_file(&tree, "a/b", "0123456789");
	cr_assert_eq(kernel_sys_read(tree.root, text, sizeof(text), "a/b"), 7);
	cr_assert_str_eq(text, "0123456");
	tree_file(&tree, "a/b", " \n");
	cr_assert_eq(kernel_sys_read(tree.root, text, sizeof(text), "a/b"), 0);
	cr_assert_str_eq(text, "");
	cr_assert_eq(kernel_sys_read(tree.root, text, sizeof(text), "a/c"), -ENOENT);
	cr_assert_eq(kernel_sys_read(tree.root, text, sizeof(text), "a"), -EISDIR);
	tree_free(&tree);
}

Test(sys, reads_files_of_any_length)
{
	struct tree tree = tree_new();
	static char big[100000];
	char *text;

	memset(big, 'x', sizeof(big) - 1);
	tree_file(&tree, "big", big);
	text = kernel_sys_read_all(tree.root, "big");
	cr_assert_str_eq(text, big);
	free(text);
	cr_assert_null(kernel_sys_read_all(tree.root, "none"));
	cr_assert(kernel_sys_exists(tree.root, "big"));
	cr_assert_not(kernel_sys_exists(tree.root, "none"));
	tree_free(&tree);
}

Test(sys, a_configuration_has_an_end)
{
	struct tree tree = tree_new();
	static char big[SYS_CONF_MAX + 2];
	char *text;

	tree_link(&tree, "endless", "/dev/zero");
	cr_assert_null(kernel_sys_read_conf(tree.root, "endless"));
	cr_assert_eq(errno, EFBIG);
	memset(big, 'x', sizeof(big) - 1);
	tree_file(&tree, "big", big);
	cr_assert_null(kernel_sys_read_conf(tree.root, "big"));
	big[SYS_CONF_MAX] = 0;
	tree_file(&tree, "big", big);
	text = kernel_sys_read_conf(tree.root, "big");
	cr_assert_str_eq(text, big);
	free(text);
	tree_free(&tree);
}

static void add(const char *name, void *arg)
{
	strcat(arg, name);
}

Test(sys, lists_names)
{
	struct tree tree = tree_new();
	char names[64] = "";

	tree_file(&tree, "d/x", "");
	cr_assert(kernel_sys_list(tree.root, "d", add, names));
	cr_assert_str_eq(names, "x");
	cr_assert_not(kernel_sys_list(tree.root, "none", add, names));
	tree_free(&tree);
}
