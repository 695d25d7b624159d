/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the iSCSI session monitor or iscsid, by /proc and a lock. */
#include "kernel_iscsi.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LOCK "sys/module/scsi_transport_iscsi/uevent"

static struct tree tree;
static struct diag why;

static void setup(void)
{
	tree = tree_new();
	why = (struct diag){ 0 };
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(iscsi_monitor, .init = setup, .fini = fini);

static void owned(int pid, const char *uids)
{
	char path[40], text[120];

	snprintf(path, sizeof(path), "proc/%d/status", pid);
	snprintf(text, sizeof(text),
		"Name:\tiscsid\nUmask:\t0022\nPid:\t%d\nUid:\t%s\nGid:\t0\t0\t0\t0\n", pid, uids);
	tree_file(&tree, path, text);
}

static void process(int pid, const char *comm, char state)
{
	char path[40], text[80];

	owned(pid, "0\t0\t0\t0");

	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	tree_file(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) %c 1 %d 0\n", pid, comm, state, pid);
	tree_file(&tree, path, text);
}

Test(iscsi_monitor, iscsid)
{
	cr_assert_eq(kernel_iscsid(tree.root), 0);
	process(7, "iscsiuio", 'S');
	process(8, "iscsid2", 'S');
	process(9, "iscsid", 'Z');
	tree_file(&tree, "proc/self/comm", "iscsid\n");
	tree_file(&tree, "proc/12x/comm", "iscsid\n");
	cr_assert_eq(kernel_iscsid(tree.root), 0, "none of these is it, or lives");
	process(10, "iscsid", 'D');
	cr_assert_eq(kernel_iscsid(tree.root), 10);
}

Test(iscsi_monitor, iscsid_is_roots)
{
	process(10, "iscsid", 'S');
	owned(10, "1000\t1000\t1000\t1000");
	process(11, "iscsid", 'S');
	owned(11, "1000\t0\t0\t0");
	cr_assert_eq(kernel_iscsid(tree.root), 0,
		"a process of a user, and a set-user-ID program run by a user");
	process(12, "iscsid", 'S');
	cr_assert_eq(kernel_iscsid(tree.root), 12);
}

Test(iscsi_monitor, iscsid_of_a_container)
{
	process(10, "iscsid", 'S');
	tree_file(&tree, "proc/self/ns/net", "");
	tree_file(&tree, "proc/10/ns/net", "");
	cr_assert_eq(
		kernel_iscsid(tree.root), 0, "in another network it hears nothing of the kernel");
	process(11, "iscsid", 'S');
	tree_link(&tree, "proc/11/ns/net", "../../self/ns/net");
	cr_assert_eq(kernel_iscsid(tree.root), 11);
}

Test(iscsi_monitor, processes)
{
	process(5, "a) Z (b", 'S');
	process(6, "gone", 'X');
	tree_file(&tree, "proc/7/stat", "7 (no");
	cr_assert(kernel_process_lives(tree.root, 5));
	cr_assert(!kernel_process_lives(tree.root, 6));
	cr_assert(!kernel_process_lives(tree.root, 7));
	cr_assert(!kernel_process_lives(tree.root, 8));
	cr_assert(!kernel_process_lives(tree.root, 0));
}

static void locks(int pid, unsigned long more)
{
	char text[300];
	struct stat st;

	cr_assert_eq(fstatat(tree.root, LOCK, &st, 0), 0);
	snprintf(text, sizeof(text),
		"1: POSIX  ADVISORY  WRITE 71 %02x:%02x:%lu 0 EOF\n2: FLOCK  ADVISORY  READ  72 "
		"%02x:%02x:%lu 0 EOF\n"
		"3: FLOCK  ADVISORY  WRITE %d %02x:%02x:%lu 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 74 "
		"%02x:%02x:%lu 0 EOF\n",
		major(st.st_dev), minor(st.st_dev), (unsigned long)st.st_ino, major(st.st_dev),
		minor(st.st_dev), (unsigned long)st.st_ino, pid, major(st.st_dev), minor(st.st_dev),
		(unsigned long)st.st_ino + more, major(st.st_dev), minor(st.st_dev),
		(unsigned long)st.st_ino);
	tree_file(&tree, "proc/locks", text);
}

Test(iscsi_monitor, is_found_by_its_lock)
{
	cr_assert_eq(kernel_iscsi_monitor(tree.root), 0, "no module");
	tree_file(&tree, LOCK, "");
	cr_assert_eq(kernel_iscsi_monitor(tree.root), 0, "no /proc/locks");
	locks(812, 0);
	cr_assert_eq(kernel_iscsi_monitor(tree.root), 812);
	locks(812, 1);
	cr_assert_eq(kernel_iscsi_monitor(tree.root), 0, "another file's");
	locks(-1, 0);
	cr_assert_eq(kernel_iscsi_monitor(tree.root), 0);
}

Test(iscsi_monitor, there_is_one)
{
	int fd;

	cr_assert_eq(kernel_iscsi_monitor_lock(tree.root, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "/" LOCK " no_such_file");
	tree_file(&tree, LOCK, "");
	fd = kernel_iscsi_monitor_lock(tree.root, &why);
	cr_assert_geq(fd, 0, "%s", why.text);
	cr_assert_eq(kernel_iscsi_monitor_lock(tree.root, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "iSCSI /" LOCK);
	locks(812, 0);
	cr_assert_eq(kernel_iscsi_monitor_lock(tree.root, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "812 iSCSI");
	close(fd);
	fd = kernel_iscsi_monitor_lock(tree.root, &why);
	cr_assert_geq(fd, 0, "it ended with its holder");
	close(fd);
}
