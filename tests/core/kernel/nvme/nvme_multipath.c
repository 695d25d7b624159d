/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The driver's multipath: on or off, and the policy of a subsystem. */
/* Link: kernel_nvme_write */
#include "kernel_nvmf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct tree tree;
static struct diag why;
static char written[200];
static int write_err;

int __wrap_kernel_nvme_write(int, const char *, const char *, ...);

int __wrap_kernel_nvme_write(int root, const char *text, const char *fmt, ...)
{
	char path[160];
	va_list args;

	(void)root;
	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	snprintf(written, sizeof(written), "%s: %s", path, text);
	return write_err;
}

static void begin(void)
{
	tree = tree_new();
	tree_dir(&tree, "sys/class/nvme-subsystem/nvme-subsys0/nvme0");
	tree_dir(&tree, "sys/class/nvme-subsystem/nvme-subsys3/nvme1");
	why = (struct diag){ 0 };
	written[0] = 0;
	write_err = 0;
}

static void end(void)
{
	tree_free(&tree);
}
TestSuite(nvme_multipath, .init = begin, .fini = end);

Test(nvme_multipath, on_or_off)
{
	cr_assert(!kernel_nvmf_multipath(tree.root), "a kernel without it");
	tree_file(&tree, "sys/module/nvme_core/parameters/multipath", "N\n");
	cr_assert(!kernel_nvmf_multipath(tree.root));
	tree_file(&tree, "sys/module/nvme_core/parameters/multipath", "Y\n");
	cr_assert(kernel_nvmf_multipath(tree.root));
}

Test(nvme_multipath, policy)
{
	cr_assert_eq(kernel_nvmf_set_policy(tree.root, "nvme1", "round-robin", &why), 0);
	cr_assert_str_eq(written, "sys/class/nvme-subsystem/nvme-subsys3/iopolicy: round-robin");
	write_err = -EINVAL;
	cr_assert_eq(kernel_nvmf_set_policy(tree.root, "nvme1", "queue-depth", &why), -ENOTSUP);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "queue-depth");
	text_says(why.hint, "6.11");
	write_err = -ENOENT;
	cr_assert_eq(kernel_nvmf_set_policy(tree.root, "nvme1", "numa", &why), -ENOTSUP);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "multipath");
	write_err = -EACCES;
	cr_assert_eq(kernel_nvmf_set_policy(tree.root, "nvme1", "numa", &why), -EACCES);
	diag_says(&why, DIAG_PERMISSION, NULL, "root");
	cr_assert_eq(kernel_nvmf_set_policy(tree.root, "nvme7", "numa", &why), -ENOTSUP);
}
