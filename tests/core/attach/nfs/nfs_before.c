/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is mounted on the directory before: the same, something else, or nothing. */
#include "../../../fake/tree.h"
#include "nfs_steps.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct nfs_mount m;

/* mounted: the part behind "- ", NULL = nothing. */
static int before(const char *mounted, const char *options)
{
	struct tree tree = tree_new();
	char line[400];
	int err;

	m.attach.root = tree.root;
	m.attach.why = (struct diag){ 0 };
	m.existed = false;
	strcpy(m.dir, "/tmp");
	snprintf(m.source.name, sizeof(m.source.name), "server:/exp");
	snprintf(m.source.path, sizeof(m.source.path), "/exp");
	addr_parse(&m.server, "10.0.0.1:20049", 0, NULL);
	kernel_nfs_options_init(&m.options);
	kernel_nfs_options_read(&m.options, options, NULL);
	snprintf(line, sizeof(line), "36 22 0:50 / /tmp rw - %s\n", mounted ? mounted : "");
	tree_file(&tree, "proc/self/mountinfo", mounted ? line : "");
	err = nfs_check_mounted(&m);
	tree_free(&tree);
	return err;
}

Test(nfs_before, nothing)
{
	cr_assert_eq(before(NULL, ""), 0);
	cr_assert_eq(before("autofs systemd-1 rw,fd=40", ""), 0);
	m = (struct nfs_mount){ .force = true };
	cr_assert_eq(before("tmpfs none rw", ""), 0);
}

Test(nfs_before, the_same)
{
	cr_assert_eq(before("nfs4 server:/exp rw,vers=4.2,proto=rdma,addr=10.0.0.9", ""), 1);
	cr_assert(m.existed && m.rdma && m.version == NFS_V42);
	cr_assert_eq(before("nfs4 10.0.0.1:/exp rw,vers=4.1,proto=rdma,addr=10.0.0.1", ""), 1,
		"by its address");
	cr_assert_eq(before("nfs server:/exp rw,vers=3,proto=rdma6", "vers=3"), 1);
	cr_assert_eq(m.version, NFS_V3);
	cr_assert_eq(before("nfs4 server:/exp rw,vers=4.1,proto=rdma", "vers=4"), 1,
		"any minor version");
	m.fallback_tcp = true;
	cr_assert_eq(before("nfs4 server:/exp rw,vers=4.2,proto=tcp", ""), 1);
	cr_assert_not(m.rdma);
}

Test(nfs_before, something_else)
{
	cr_assert_eq(before("tmpfs none rw", ""), -EBUSY);
	diag_says(&m.attach.why, DIAG_BUSY, "/tmp", "none tmpfs");
	text_says(m.attach.why.hint, "umount_/tmp --force");
	cr_assert_eq(before("nfs4 server:/other rw,vers=4.2,proto=rdma,addr=10.0.0.1", ""), -EBUSY);
	diag_says(&m.attach.why, DIAG_BUSY, "/tmp", "server:/other nfs4");
	cr_assert_eq(before("nfs4 other:/exp rw,vers=4.2,proto=rdma,addr=10.0.0.2", ""), -EBUSY);
	cr_assert_eq(before("nfs4 server:/exp rw,vers=4.2,proto=tcp", ""), -EBUSY);
	diag_says(&m.attach.why, DIAG_BUSY, "/tmp", "server:/exp 4.2 TCP");
	cr_assert_eq(before("nfs4 server:/exp rw,vers=4.2,proto=rdma", "vers=4.1"), -EBUSY);
	diag_says(&m.attach.why, DIAG_BUSY, "/tmp", "server:/exp 4.2 RDMA");
}

Test(nfs_before, versions_wanted)
{
	struct nfs_options o;

	kernel_nfs_options_init(&o);
	cr_assert_eq(nfs_requested_versions(&o), NFS_ALL);
	kernel_nfs_options_read(&o, "vers=4", NULL);
	cr_assert_eq(nfs_requested_versions(&o), NFS_V40 | NFS_V41 | NFS_V42);
	kernel_nfs_options_read(&o, "vers=4.0", NULL);
	cr_assert_eq(nfs_requested_versions(&o), NFS_V40);
	kernel_nfs_options_init(&o);
	kernel_nfs_options_read(&o, "v3", NULL);
	cr_assert_eq(nfs_requested_versions(&o), NFS_V3);
}
