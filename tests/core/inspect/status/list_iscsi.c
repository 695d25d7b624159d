/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI sessions in the list: their own fields, and the process that recovers them. */
#include "list.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define DEVICE "sys/devices/platform/host3/session5/iscsi_session/session5/"
#define CONN   "sys/class/iscsi_connection/connection5:0/"
#define LOCK   "sys/module/scsi_transport_iscsi/uevent"

static struct tree tree;
static struct kernel_list list;

static void setup(void)
{
	static const char *const file[][2] = { { DEVICE "state", "LOGGED_IN\n" },
		{ DEVICE "targetname", "iqn.2026-11.example:t1\n" },
		{ DEVICE "initiatorname", "iqn.2026-11.example:me\n" },
		{ DEVICE "recovery_tmo", "120\n" }, { DEVICE "target_id", "0\n" },
		{ DEVICE "max_burst_len", "262144\n" }, { CONN "state", "up\n" },
		{ CONN "persistent_address", "10.0.0.1\n" }, { CONN "persistent_port", "3260\n" },
		{ CONN "address", "10.0.0.2\n" }, { CONN "port", "3261\n" },
		{ CONN "recv_tmo", "5\n" },
		{ "sys/class/scsi_host/host3/proc_name", "iscsi_tcp\n" },
		{ "sys/class/iscsi_host/host3/netdev", "eth1\n" },
		{ "sys/class/scsi_device/3:0:0:1/device/type", "0\n" },
		{ "sys/class/scsi_device/3:0:0:1/device/state", "running\n" },
		{ "sys/class/scsi_device/3:0:0:1/device/block/sdb/dev", "8:16\n" },
		{ "sys/class/block/sdb/dev", "8:16\n" }, { LOCK, "" } };

	tree = tree_new();
	for (unsigned i = 0; i < sizeof(file) / sizeof(*file); i++)
		tree_file(&tree, file[i][0], file[i][1]);
	tree_link(&tree, "sys/class/iscsi_session/session5",
		"../../devices/platform/host3/session5/iscsi_session/session5");
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(kernel_list_iscsi, .init = setup, .fini = fini);

static const struct list_link *only(void)
{
	struct diag why = { 0 };

	cr_assert_eq(kernel_list(tree.root, &list, &why), 0, "%s", why.text);
	cr_assert_eq(list.paths, 1);
	return &list.link[list.path[0].link];
}

Test(kernel_list_iscsi, has_it_all)
{
	const struct list_link *link = only();

	cr_assert(link->iscsi.is && link->iscsi.sid == 5 && link->iscsi.cid == 0);
	cr_assert_str_eq(link->address, "10.0.0.2");
	cr_assert_str_eq(link->service, "3261");
	cr_assert_str_eq(link->iscsi.portal, "10.0.0.1");
	cr_assert_eq(link->iscsi.portal_port, 3260);
	cr_assert_str_eq(link->iscsi.connection_state, "up");
	cr_assert(
		link->iscsi.agreed.max_burst == 262144 && link->iscsi.agreed.erl == VALUE_UNKNOWN);
	cr_assert(link->iscsi.tmo.recv == 5 && link->loss.fail_s == 120);
	cr_assert_str_eq(link->netdev, "eth1");
	cr_assert_str_eq(list.path[0].hctl, "3:0:0:1");
	cr_assert_str_eq(list.path[0].node, "sdb");
	kernel_list_clear(&list);
}

/* How much of the time-out is left the kernel does not tell, but that nothing is. */
Test(kernel_list_iscsi, time_is_up)
{
	cr_assert_eq(only()->loss.fail_left_s, VALUE_UNKNOWN);
	kernel_list_clear(&list);
	tree_file(&tree, DEVICE "state", "FREE\n");
	cr_assert_eq(only()->loss.fail_left_s, 0);
	kernel_list_clear(&list);
}

static void locked(int pid)
{
	char text[80];
	struct stat st;

	cr_assert_eq(fstatat(tree.root, LOCK, &st, 0), 0);
	snprintf(text, sizeof(text), "1: FLOCK  ADVISORY  WRITE %d %02x:%02x:%lu 0 EOF\n", pid,
		major(st.st_dev), minor(st.st_dev), (unsigned long)st.st_ino);
	tree_file(&tree, "proc/locks", text);
}

static void kept(const char *by, int pid)
{
	const struct list_link *link = only();

	cr_assert_str_eq(link->iscsi.restored_by, by);
	cr_assert_eq(link->iscsi.restored_by_pid, pid);
	kernel_list_clear(&list);
}

Test(kernel_list_iscsi, is_kept)
{
	kept("none", 0);
	locked(812);
	kept("rdmastor", 812);
	tree_file(&tree, "proc/400/comm", "iscsid\n");
	tree_file(&tree, "proc/400/stat", "400 (iscsid) S 1\n");
	tree_file(&tree, "proc/400/status", "Name:\tiscsid\nUid:\t0\t0\t0\t0\n");
	kept("iscsid", 400);
}

static unsigned selected(const char *what)
{
	unsigned paths;

	only();
	paths = kernel_list_select(tree.root, &list, what, 1000, NULL) ? 0 : list.paths;
	kernel_list_clear(&list);
	return paths;
}

Test(kernel_list_iscsi, is_found_where_it_logs_in_and_where_it_is)
{
	cr_assert_eq(selected("iscsi://10.0.0.1/iqn.2026-11.example:t1"), 1);
	cr_assert_eq(selected("iscsi://10.0.0.1:3260/iqn.2026-11.example:t1"), 1);
	cr_assert_eq(selected("iscsi://10.0.0.2:3261/iqn.2026-11.example:t1"), 1);
	cr_assert_eq(selected("iscsi://10.0.0.1:3262/iqn.2026-11.example:t1"), 0);
	cr_assert_eq(selected("iscsi://10.0.0.3/iqn.2026-11.example:t1"), 0);
	cr_assert_eq(selected("iscsi://10.0.0.1/iqn.2026-11.example:t2"), 0);
	cr_assert_eq(selected("iscsi:10.0.0.1::::iqn.2026-11.example:t1"), 1);
	cr_assert_eq(selected("iscsi:10.0.0.1::3262::iqn.2026-11.example:t1"), 0);
	cr_assert_eq(selected("session5"), 1);
}

/* Its units are gone, and another session's may have the number. */
Test(kernel_list_iscsi, has_no_disk_while_it_has_no_target)
{
	tree_file(&tree, DEVICE "target_id", "-1\n");
	only();
	cr_assert_eq(list.path[0].disk, -1);
	cr_assert_str_eq(list.path[0].hctl, "");
	kernel_list_clear(&list);
}

Test(kernel_list_iscsi, is_none_before_it_has_a_target)
{
	struct diag why = { 0 };

	tree_file(&tree, DEVICE "targetname", "(null)\n");
	cr_assert_eq(kernel_list(tree.root, &list, &why), 0);
	cr_assert_eq(list.links, 0);
	kernel_list_clear(&list);
}
