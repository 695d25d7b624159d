/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which modules the kernel's NFS client and server have, on trees of files; the way to an address.
 */
#include "kernel_nfs.h"
#include "kernel_nfsd.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static struct diag why;

Test(nfs, modules)
{
	struct tree tree = tree_new();

	cr_assert_eq(kernel_nfs_ready(tree.root, false, 0, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_nfs");
	cr_assert_null(strstr(why.text, "nfsv"), "%s", why.text);
	tree_dir(&tree, "sys/module/nfs");
	cr_assert_eq(kernel_nfs_ready(tree.root, false, 0, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_nfsv4");
	tree_dir(&tree, "sys/module/nfsv3");
	cr_assert(kernel_nfs_loaded(tree.root, false, 3));
	cr_assert_not(kernel_nfs_loaded(tree.root, false, 0), "nfsv4 can be loaded");
	cr_assert_not(kernel_nfs_loaded(tree.root, true, 3));
	cr_assert_eq(kernel_nfs_ready(tree.root, false, 0, &why), 0,
		"one version is enough when none is named");
	cr_assert_eq(kernel_nfs_ready(tree.root, false, 3, &why), 0);
	cr_assert_eq(kernel_nfs_ready(tree.root, false, 4, &why), -ENOENT);
	cr_assert_eq(kernel_nfs_ready(tree.root, true, 3, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_rpcrdma");
	tree_dir(&tree, "sys/module/rpcrdma");
	cr_assert_eq(kernel_nfs_ready(tree.root, true, 3, &why), 0);
	tree_free(&tree);
}

Test(nfs, modules_of_the_server)
{
	struct tree tree = tree_new();

	cr_assert_eq(kernel_nfsd_ready(tree.root, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_nfsd");
	tree_dir(&tree, "sys/module/nfsd");
	cr_assert_eq(kernel_nfsd_ready(tree.root, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_rpcrdma");
	tree_dir(&tree, "sys/module/rpcrdma");
	cr_assert_eq(kernel_nfsd_ready(tree.root, &why), 0);
	tree_free(&tree);
}

Test(nfs, built_in)
{
	struct tree tree = tree_new();
	struct utsname name;
	char path[200];

	uname(&name);
	snprintf(path, sizeof(path), "lib/modules/%s/modules.builtin", name.release);
	tree_file(&tree, path,
		"kernel/fs/nfs/nfs.ko\nkernel/fs/nfs/nfsv4.ko\nkernel/net/sunrpc/xprtrdma/"
		"rpcrdma.ko\n");
	cr_assert_eq(kernel_nfs_ready(tree.root, true, 4, &why), 0, "%s", why.text);
	cr_assert(kernel_nfs_loaded(tree.root, true, 4));
	cr_assert_eq(kernel_nfs_ready(tree.root, true, 3, &why), -ENOENT);
	tree_free(&tree);
}

Test(nfs, own_address)
{
	struct addr to;
	char text[ADDR_TEXT];

	cr_assert_eq(addr_parse(&to, "127.0.0.1:20049", 0, NULL), 0);
	cr_assert_eq(kernel_source_addr(&to, text, &why), 0);
	cr_assert_str_eq(text, "127.0.0.1");
}
