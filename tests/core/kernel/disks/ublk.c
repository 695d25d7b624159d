/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ublk lacks, on trees of files. */
#include "kernel_nbd.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fails(const struct tree *tree, enum diag_code code, const char *words, const char *hint)
{
	struct diag diag = { 0 };

	cr_assert(kernel_ublk_open(tree->root, &diag) < 0);
	diag_says(&diag, code, NULL, words);
	text_says(diag.hint, hint);
}

Test(kernel_ublk, what_is_missing_is_named_with_the_way_round)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };
	int dev;

	tree_file(&tree, "proc/sys/kernel/io_uring_disabled", "2\n");
	fails(&tree, DIAG_UNSUPPORTED, "kernel.io_uring_disabled 2", "--nbd-dev");
	tree_file(&tree, "proc/sys/kernel/io_uring_disabled", "0\n");
	fails(&tree, DIAG_NO_MODULE, "module_ublk_drv", "--nbd-dev");
	tree_dir(&tree, "sys/class/misc/ublk-control");
	fails(&tree, DIAG_NO_DEVICE, "/dev/ublk-control", "");
	tree_file(&tree, "dev/ublk-control", "");
	dev = kernel_ublk_open(tree.root, &diag);
	cr_assert(dev >= 0, "%s", diag.text);
	cr_assert_eq(faccessat(dev, "ublk-control", F_OK, 0), 0);
	close(dev);
	tree_free(&tree);
}

Test(kernel_ublk, permission_is_named)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };

	tree_file(&tree, "dev/ublk-control", "");
	cr_assert_eq(fchmodat(tree.root, "dev/ublk-control", 0, 0), 0);
	cr_assert_eq(fchmodat(tree.root, ".", 0755, 0), 0);
	if (!geteuid())
		cr_assert_eq(seteuid(65534), 0);
	cr_assert_eq(kernel_ublk_open(tree.root, &diag), -EACCES);
	diag_says(&diag, DIAG_PERMISSION, NULL, "/dev/ublk-control");
	text_says(diag.hint, "--nbd-dev");
	if (!getuid())
		cr_assert_eq(seteuid(0), 0);
	tree_free(&tree);
}
