/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is mounted, on trees of files; and a mount(2) that is refused. */
#include "kernel_nfs.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kernel_mounted m;

static struct tree make(void)
{
	struct tree tree = tree_new();

	tree_file(&tree, "proc/self/mountinfo",
		"22 1 0:2 / / rw - rootfs rootfs rw\n"
		"36 22 0:50 / /mnt\\040a rw,noexec,relatime shared:1 master:2 - nfs4 "
		"10.0.0.1:/x\\040y rw,vers=4.2,proto=rdma,port=20049,addr=10.0.0.1\n"
		"37 22 0:51 / /tcp rw - nfs 10.0.0.1:/y rw,vers=3,proto=tcp\n"
		"38 22 0:52 / /two rw - tmpfs none rw\n"
		"39 38 0:53 / /two rw - nfs4 10.0.0.1:/z rw,vers=4.1,proto=rdma\n"
		"40 22 0:54 / /short\n"
		"41 22 0:55 / /half rw -\n");
	tree_file(&tree, "proc/self/mountstats",
		"device rootfs mounted on / with fstype rootfs\n"
		"device 10.0.0.1:/x\\040y mounted on /mnt\\040a with fstype nfs4 statvers=1.1\n"
		"\topts:\trw,vers=4.2\n"
		"\txprt:\trdma 0 0 1 0 11 12 12\n"
		"device 10.0.0.1:/y mounted on /tcp with fstype nfs statvers=1.1\n"
		"\txprt:\ttcp 0 0 1\n"
		"device 10.0.0.1:/z mounted on /two with fstype nfs4 statvers=1.1\n");
	return tree;
}

Test(mount, what_is_mounted)
{
	struct tree tree = make();

	cr_assert_eq(kernel_mounted(tree.root, "/mnt a", &m), 0);
	cr_assert_str_eq(m.source, "10.0.0.1:/x y");
	cr_assert_str_eq(m.type, "nfs4");
	cr_assert_str_eq(m.options, "rw,noexec,relatime");
	cr_assert_str_eq(m.super, "rw,vers=4.2,proto=rdma,port=20049,addr=10.0.0.1");
	cr_assert_str_eq(m.transport, "rdma");
	cr_assert_eq(kernel_mounted(tree.root, "/tcp", &m), 0);
	cr_assert_str_eq(m.transport, "tcp");
	cr_assert_eq(kernel_mounted(tree.root, "/two", &m), 0);
	cr_assert_str_eq(m.type, "nfs4", "the topmost");
	cr_assert_eq(m.id, 39);
	cr_assert_str_eq(m.transport, "");
	cr_assert_eq(kernel_mounted(tree.root, "/none", &m), -ENOENT);
	cr_assert_eq(kernel_mounted(tree.root, "/short", &m), -ENOENT);
	cr_assert_eq(kernel_mounted(tree.root, "/half", &m), -ENOENT);
	tree_free(&tree);
	tree = tree_new();
	cr_assert_eq(kernel_mounted(tree.root, "/", &m), -ENOENT, "no /proc");
	tree_free(&tree);
}

struct seen {
	unsigned count;
	char transport[8][16];
};

static void note(const char *dir, const struct kernel_mounted *mounted, void *arg)
{
	struct seen *seen = arg;

	(void)dir;
	if (seen->count < 8)
		memcpy(seen->transport[seen->count], mounted->transport, 16);
	seen->count++;
}

Test(mount, several_at_one_place_have_their_own_transports)
{
	struct tree tree = tree_new();
	struct seen seen = { 0 };

	tree_file(&tree, "proc/self/mountinfo",
		"30 1 0:50 / /a rw - nfs4 h:/x rw\n31 1 0:51 / /a rw - nfs h:/y rw\n32 1 0:52 / /b "
		"rw - nfs4 h:/z rw\n33 1 0:53 / /c rw - nfs h:/z rw\n");
	tree_file(&tree, "proc/self/mountstats",
		"device h:/x mounted on /a with fstype nfs4\n\txprt:\trdma 0\n\txprt:\ttcp "
		"0\ndevice h:/y mounted on /a with fstype nfs\n\txprt:\ttcp 0\n"
		"device h:/z mounted on /b with fstype nfs4\n\txprt:\trdma 0\n");
	kernel_nfs_mounts(tree.root, note, &seen);
	cr_assert_eq(seen.count, 4);
	cr_assert_str_eq(seen.transport[0], "rdma");
	cr_assert_str_eq(seen.transport[1], "tcp");
	cr_assert_str_eq(seen.transport[2], "rdma");
	cr_assert_str_eq(seen.transport[3], "");
	cr_assert_eq(kernel_mounted(tree.root, "/a", &m), 0);
	cr_assert_str_eq(m.transport, "tcp", "the topmost");
	tree_free(&tree);
}

#define MANY 20000

Test(mount, very_many)
{
	struct tree tree = tree_new();
	struct seen seen = { 0 };
	char *info = malloc(MANY * 100), *stats = malloc(MANY * 100);
	size_t a = 0, b = 0;

	for (unsigned i = 0; i < MANY; i++) {
		a += (size_t)sprintf(info + a, "%u 1 0:50 / /m/%u rw - nfs4 h:/x rw\n", i + 1, i);
		b += (size_t)sprintf(stats + b,
			"device h:/x mounted on /m/%u with fstype nfs4\n\txprt:\trdma 0\n", i);
	}
	tree_file(&tree, "proc/self/mountinfo", info);
	tree_file(&tree, "proc/self/mountstats", stats);
	kernel_nfs_mounts(tree.root, note, &seen);
	cr_assert_eq(seen.count, MANY);
	free(info);
	free(stats);
	tree_free(&tree);
}

Test(mount, values_in_options)
{
	char value[8];

	cr_assert(kernel_mount_option("rw,vers=4.2,proto=rdma", "vers", value, sizeof(value)));
	cr_assert_str_eq(value, "4.2");
	cr_assert(kernel_mount_option("rw,vers=4.2,proto=rdma", "rw", value, sizeof(value)));
	cr_assert_str_eq(value, "");
	cr_assert(kernel_mount_option("mountaddr=1,addr=10.0.0.123", "addr", value, sizeof(value)));
	cr_assert_str_eq(value, "10.0.0.", "cut, not overrun");
	cr_assert_not(kernel_mount_option("mountaddr=1,addrs=2", "addr", value, sizeof(value)));
	cr_assert_not(kernel_mount_option("", "rw", value, sizeof(value)));
	cr_assert_not(kernel_mount_option(",,", "rw", value, sizeof(value)));
}

Test(mount, the_directory)
{
	struct tree tree = tree_new();
	char dir[PATH_MAX];

	/* what is mounted is not touched: it need not even exist */
	tree_file(&tree, "proc/self/mountinfo",
		"36 22 0:50 / /tmp/no-such-folder rw - nfs4 10.0.0.1:/x rw\n");
	cr_assert_eq(kernel_mount_dir(tree.root, "/tmp/no-such-folder", dir), 0);
	cr_assert_str_eq(dir, "/tmp/no-such-folder");
	cr_assert_eq(kernel_mount_dir(tree.root, "/tmp/../tmp/no-such-folder", dir), 0);
	cr_assert_str_eq(dir, "/tmp/no-such-folder");
	cr_assert_eq(kernel_mount_dir(tree.root, "/tmp/no-such-folder//", dir), 0,
		"a slash behind it does not lead into it");
	cr_assert_str_eq(dir, "/tmp/no-such-folder");
	cr_assert_eq(kernel_mount_dir(tree.root, "//", dir), 0);
	cr_assert_str_eq(dir, "/");
	cr_assert_eq(kernel_mount_dir(tree.root, "/tmp/no-such-folder-either", dir), -ENOENT);
	cr_assert_eq(kernel_mount_dir(tree.root, "/tmp/", dir), 0);
	cr_assert_str_eq(dir, "/tmp");
	cr_assert_eq(kernel_mount_dir(tree.root, "/tmp/..", dir), 0);
	cr_assert_str_eq(dir, "/");
	cr_assert_eq(kernel_mount_dir(tree.root, "/", dir), 0);
	cr_assert_eq(kernel_mount_dir(tree.root, ".", dir), 0);
	cr_assert_eq(kernel_mount_dir(tree.root, "", dir), -ENOENT);
	tree_free(&tree);
}
