/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NFS roots on kernel command lines, in each of their forms. */
#include "kernel_nfs.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct nfs_root r;
static struct diag why;

Test(nfs_root, forms)
{
	static const struct {
		const char *cmdline, *source, *options;
	} row[] = {
		{ "quiet root=nfs:10.0.0.1:/srv/root", "10.0.0.1:/srv/root", "ro" },
		{ "root=nfs:10.0.0.1:/srv/root:rdma,vers=4.1 rw", "10.0.0.1:/srv/root",
			"rw,rdma,vers=4.1" },
		{ "root=nfs:10.0.0.1:/srv/root:rdma,vers=4.1:\n", "10.0.0.1:/srv/root",
			"ro,rdma,vers=4.1" },
		{ "root=nfs4:server:/", "server:/", "ro,vers=4" },
		{ "root=nfs:[fd00::1]:/srv:rdma,clientaddr=fd00::2", "[fd00::1]:/srv",
			"ro,rdma,clientaddr=fd00::2" },
		{ "netroot=nfs:10.0.0.1:/srv", "10.0.0.1:/srv", "ro" },
		{ "root=/dev/nfs nfsroot=10.0.0.1:/srv,rdma,nolock rw ro", "10.0.0.1:/srv",
			"ro,rdma,nolock" },
		{ "nfsroot=10.0.0.1:/srv boot=nfs nfsopts=-", "10.0.0.1:/srv", "ro,-" },
		{ "root=/dev/nfs nfsroot=/srv "
		  "ip=10.0.0.2:10.0.0.1:10.0.0.254:255.255.255.0:me:eth0:off",
			"10.0.0.1:/srv", "ro" },
		{ "root=nfs:/srv:rdma ip=[fd00::2]:[fd00::1]::64:me:eth0:off", "[fd00::1]:/srv",
			"ro,rdma" },
		{ "root=nfs:rdma,vers=3:10.0.0.1:/srv", "10.0.0.1:/srv", "ro,rdma,vers=3" },
		{ "root=nfs://10.0.0.1/srv/root", "10.0.0.1:/srv/root", "ro" },
		{ "root=nfs://10.0.0.1:2049/srv", "10.0.0.1:/srv", "ro" },
		{ "root=nfs+rdma://[fd00::1]:20050/srv", "[fd00::1]:/srv", "ro,port=20050" },
		{ "root=UUID=1234 root=\"nfs:10.0.0.1:/a b\"", "10.0.0.1:/a b", "ro" },
		{ "root=nfs:10.0.0.1:/srv root=UUID=1234", "10.0.0.1:/srv", "ro" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		why = (struct diag){ 0 };
		cr_assert_eq(kernel_nfs_root_read(row[i].cmdline, &r, &why), 0, "%s: %s",
			row[i].cmdline, why.text);
		cr_assert_str_eq(r.source, row[i].source, "%s: %s", row[i].cmdline, r.source);
		cr_assert_str_eq(r.options, row[i].options, "%s: %s", row[i].cmdline, r.options);
	}
}

Test(nfs_root, what_is_wrong)
{
	static const struct {
		const char *cmdline;
		int err;
		enum diag_code code;
		const char *words;
	} row[] = {
		{ "", ENOENT, DIAG_NOT_FOUND, "NFS_root root=nfs: nfsroot=" },
		{ "root=/dev/sda1 ip=dhcp", ENOENT, DIAG_NOT_FOUND, "NFS_root root=nfs: nfsroot=" },
		{ "root=nfs:/srv ip=dhcp", ENOENT, DIAG_NOT_FOUND, "'/srv' server" },
		{ "root=nfs:/srv ip=10.0.0.2::10.0.0.254", ENOENT, DIAG_NOT_FOUND,
			"'/srv' server" },
		{ "root=/dev/nfs nfsroot=auto", ENOTSUP, DIAG_UNSUPPORTED,
			"DHCP nfsroot=SERVER:/PATH" },
		{ "root=/dev/nfs", ENOTSUP, DIAG_UNSUPPORTED, "DHCP nfsroot=SERVER:/PATH" },
		{ "root=nfs:10.0.0.1", EINVAL, DIAG_USAGE, "'10.0.0.1' [SERVER:]/PATH[:OPTIONS]" },
		{ "root=nfs:10.0.0.1:srv", EINVAL, DIAG_USAGE,
			"'10.0.0.1:srv' [SERVER:]/PATH[:OPTIONS]" },
		{ "root=nfs://10.0.0.1", EINVAL, DIAG_USAGE,
			"'nfs://10.0.0.1' [SERVER:]/PATH[:OPTIONS]" },
		{ "root=nfs:[fd00::1:/srv", EINVAL, DIAG_USAGE,
			"'[fd00::1:/srv' [SERVER:]/PATH[:OPTIONS]" },
		{ "root=nfs:10.0.0.1:/srv/%s", ENOTSUP, DIAG_UNSUPPORTED,
			"'%s' '10.0.0.1:/srv/%s'" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cr_assert_eq(kernel_nfs_root_read(row[i].cmdline, &r, &why), -row[i].err, "%s",
			row[i].cmdline);
		diag_says(&why, row[i].code, NULL, row[i].words);
	}
}

Test(nfs_root, too_long)
{
	static char cmdline[8192];

	strcpy(cmdline, "root=nfs:10.0.0.1:/");
	memset(cmdline + strlen(cmdline), 'a', 4000);
	cr_assert_eq(kernel_nfs_root_read(cmdline, &r, &why), -E2BIG);
	strcpy(cmdline, "root=nfs:10.0.0.1:/srv:");
	memset(cmdline + strlen(cmdline), 'a', 4000);
	cr_assert_eq(kernel_nfs_root_read(cmdline, &r, &why), -E2BIG);
	cmdline[strlen("root=nfs:10.0.0.1:/srv:") + 1022] = 0;
	cr_assert_eq(kernel_nfs_root_read(cmdline, &r, &why), -E2BIG,
		"no option is cut off for the sake of \"ro,\"");
	cmdline[strlen("root=nfs:10.0.0.1:/srv:") + 1020] = 0;
	cr_assert_eq(kernel_nfs_root_read(cmdline, &r, &why), 0);
	cr_assert_eq(strlen(r.options), 1023);
}

Test(nfs_root, of_this_system)
{
	struct tree tree = tree_new();

	cr_assert_eq(kernel_nfs_root(tree.root, &r, &why), -ENOENT);
	tree_file(&tree, "proc/cmdline", "console=ttyS0 root=nfs:10.0.0.1:/srv:rdma\n");
	cr_assert_eq(kernel_nfs_root(tree.root, &r, &why), 0);
	cr_assert_str_eq(r.source, "10.0.0.1:/srv");
	cr_assert_str_eq(r.from, "root=nfs:10.0.0.1:/srv:rdma");
	tree_free(&tree);
}
