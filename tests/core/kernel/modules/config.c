/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's configuration: packed, of a release, damaged, and what it says of an option. */
#include "child.h"
#include "kernel_facts.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static struct tree tree;
static char from[128];

static void begin(void)
{
	tree = tree_new();
	tree_file(&tree, "boot/config-6.12", "# CONFIG_NVME is not set\nCONFIG_NBD=m\n");
}

static void end(void)
{
	tree_free(&tree);
}

TestSuite(config, .init = begin, .fini = end);

static void pack(void)
{
	int in, out;

	tree_file(&tree, "text", "CONFIG_XNBD=y\nCONFIG_NBD=y\nCONFIG_NBD_MORE=m\n");
	tree_dir(&tree, "proc");
	in = openat(tree.root, "text", O_RDONLY);
	out = openat(tree.root, "proc/config.gz", O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(child_filter((char *const[]){ "gzip", "-c", NULL }, in, out, 5000), 0);
	close(in);
	close(out);
}

static char value(const char *name)
{
	char *config = kernel_config(tree.root, "6.12", from, sizeof(from)), is;

	cr_assert(config);
	is = kernel_config_value(config, name);
	free(config);
	return is;
}

Test(config, packed)
{
	pack();
	cr_assert_eq(value("NBD"), 'y');
	cr_assert_str_eq(from, "/proc/config.gz");
	cr_assert_eq(value("NBD_MORE"), 'm');
	cr_assert_eq(value("MORE"), 'n');
}

Test(config, of_the_release)
{
	cr_assert_eq(value("NBD"), 'm');
	cr_assert_str_eq(from, "/boot/config-6.12");
	cr_assert_eq(value("NVME"), 'n');
}

Test(config, a_damaged_file_is_not_used)
{
	int fd;

	pack();
	fd = openat(tree.root, "proc/config.gz", O_WRONLY);
	cr_assert_eq(ftruncate(fd, 30), 0);
	close(fd);
	cr_assert_eq(value("NBD"), 'm');
	cr_assert_str_eq(from, "/boot/config-6.12");
}

Test(config, unknown)
{
	cr_assert_null(kernel_config(tree.root, "6.13", from, sizeof(from)));
}
