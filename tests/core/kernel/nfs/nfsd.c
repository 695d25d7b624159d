/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is written to the kernel's NFS server and its caches, on a tree of files; how its settings
 * are restored. */
#include "kernel_nfsd.h"
#include "kernel_sys.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static struct tree tree;
static struct diag why;
static struct kernel_nfsd nfsd = {
	.control = "nfsd", .path = "/a b", .client = "10.0.0.1", .port = 20049
};

static void begin(void)
{
	tree = tree_new();
	tree_file(&tree, "nfsd/threads", "0\n");
	tree_file(&tree, "nfsd/portlist", "");
	tree_file(&tree, "nfsd/versions", "+3 +4 +4.1 +4.2\n");
	tree_file(&tree, "nfsd/nfsv4gracetime", "90\n");
	tree_file(&tree, "nfsd/v4_end_grace", "N\n");
	tree_file(&tree, "proc/net/rpc/auth.unix.ip/channel", "");
	tree_file(&tree, "proc/net/rpc/nfsd.export/channel", "");
	tree_file(&tree, "proc/net/rpc/nfsd.fh/channel", "");
	tree_file(&tree, "proc/net/rpc/auth.unix.ip/flush", "");
	tree_file(&tree, "proc/net/rpc/nfsd.export/flush", "");
	tree_file(&tree, "proc/net/rpc/nfsd.fh/flush", "");
	tree_file(&tree, "proc/net/rpc/auth.unix.gid/flush", "");
}

static void end(void)
{
	tree_free(&tree);
}

static void holds(const char *path, const char *text)
{
	char got[200];

	cr_assert_geq(kernel_sys_read(tree.root, got, sizeof(got), "%s", path), 0, "%s", path);
	cr_assert_str_eq(got, text, "%s", path);
}

static void is_flushed(const char *path)
{
	char got[200];

	cr_assert_gt(kernel_sys_read(tree.root, got, sizeof(got), "%s", path), 0, "%s", path);
	cr_assert_gt(atoll(got), 1000000000, "%s: %s", path, got);
}

/* A file of the tree keeps what is behind the bytes that are written. */
Test(nfsd, one_client_gets_one_export, .init = begin, .fini = end)
{
	cr_assert_eq(kernel_nfsd_start(tree.root, &nfsd, &why), 0, "%s", why.text);
	holds("nfsd/versions", "-3 +4.2\n.1 +4.2");
	holds("nfsd/portlist", "rdma 20049");
	holds("nfsd/threads", "4");
	holds("proc/net/rpc/auth.unix.ip/channel", "nfsd 10.0.0.1 2147483647 rdmastor");
	holds("proc/net/rpc/nfsd.export/channel",
		"rdmastor \\x2f612062 2147483647 9234 65534 65534 0");
	holds("proc/net/rpc/nfsd.fh/channel", "rdmastor 1 \\x00000000 2147483647 \\x2f612062");
	holds("nfsd/v4_end_grace", "Y");
	cr_assert_not(kernel_nfsd_in_grace(tree.root, &nfsd));

	cr_assert_eq(kernel_nfsd_stop(tree.root, &nfsd, &why), 0, "%s", why.text);
	holds("nfsd/threads", "0");
	holds("nfsd/versions", "+3 +4 +4.1 +4.2");
	holds("nfsd/nfsv4gracetime", "90");
	is_flushed("proc/net/rpc/auth.unix.ip/flush");
	is_flushed("proc/net/rpc/nfsd.export/flush");
	is_flushed("proc/net/rpc/nfsd.fh/flush");
	is_flushed("proc/net/rpc/auth.unix.gid/flush");
}

Test(nfsd, grace, .init = begin, .fini = end)
{
	cr_assert(kernel_nfsd_in_grace(tree.root, &nfsd));
	unlinkat(tree.root, "nfsd/v4_end_grace", 0);
	cr_assert_not(kernel_nfsd_in_grace(tree.root, &nfsd));
}

Test(nfsd, a_server_is_found_before_anything_is_mounted, .init = begin, .fini = end)
{
	cr_assert_eq(kernel_nfsd_check(tree.root, &why), 0, "without the module");
	tree_file(
		&tree, "proc/net/rpc/nfsd", "rc 0 0 0\nfh 0 0 0 0 0\nio 0 0\nth 0 0 0.000\nra 0\n");
	cr_assert_eq(kernel_nfsd_check(tree.root, &why), 0);
	tree_file(
		&tree, "proc/net/rpc/nfsd", "rc 0 0 0\nfh 0 0 0 0 0\nio 0 0\nth 8 0 0.000\nra 0\n");
	cr_assert_eq(kernel_nfsd_check(tree.root, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "NFS_server already");
}

/* Of another server nothing is changed, also by a stop. */
Test(nfsd, another_server, .init = begin, .fini = end)
{
	tree_file(&tree, "nfsd/threads", "8\n");
	cr_assert_eq(kernel_nfsd_start(tree.root, &nfsd, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "NFS_server already");
	tree_file(&tree, "nfsd/threads", "0\n");
	tree_file(&tree, "nfsd/portlist", "tcp 2049\n");
	cr_assert_eq(kernel_nfsd_start(tree.root, &nfsd, &why), -EBUSY);
	cr_assert_eq(kernel_nfsd_stop(tree.root, &nfsd, &why), 0);
	holds("nfsd/portlist", "tcp 2049");
	holds("nfsd/versions", "+3 +4 +4.1 +4.2");
	holds("proc/net/rpc/auth.unix.ip/channel", "");
	holds("proc/net/rpc/auth.unix.ip/flush", "");
}

Test(nfsd, a_failure_restores_the_settings, .init = begin, .fini = end)
{
	unlinkat(tree.root, "proc/net/rpc/nfsd.fh/channel", 0);
	cr_assert_eq(kernel_nfsd_start(tree.root, &nfsd, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "/proc/net/rpc/nfsd.fh/channel");
	holds("nfsd/threads", "0");
	holds("nfsd/versions", "+3 +4 +4.1 +4.2");
	holds("nfsd/nfsv4gracetime", "90");
	is_flushed("proc/net/rpc/nfsd.export/flush");
}

Test(nfsd, not_mounted, .init = begin, .fini = end)
{
	nfsd.control = "elsewhere";
	cr_assert_eq(kernel_nfsd_start(tree.root, &nfsd, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "state NFS_server");
}

/* What can't be restored is reported, and the rest is restored. */
Test(nfsd, a_stop_that_fails, .init = begin, .fini = end)
{
	cr_assert_eq(kernel_nfsd_start(tree.root, &nfsd, &why), 0, "%s", why.text);
	unlinkat(tree.root, "nfsd/threads", 0);
	cr_assert_eq(kernel_nfsd_stop(tree.root, &nfsd, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "nfsd/threads");
	holds("nfsd/nfsv4gracetime", "90");
}
