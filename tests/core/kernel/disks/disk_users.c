/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users of disks that end together: of a multipath map over them alone, its users count instead. */
/* Link: kernel_multipath_remove kernel_multipath_fail_queued nanosleep */
#include "holders.h"
#include "kernel_multipath.h"
#include "multipath_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define UUID "mpath-36001405abc"

static struct tree tree;
static struct disk_users disks[3];
static char text[400], calls[600];
static int remove_err;
static unsigned pauses, busy_pauses; /* so far; until the map is no longer open */
static struct diag why;

int __wrap_nanosleep(const struct timespec *, struct timespec *);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	cr_assert_eq(time->tv_sec, 0);
	if (++pauses == busy_pauses)
		remove_err = 0;
	return 0;
}

int __wrap_kernel_multipath_remove(int, const struct multipath_map *);
int __wrap_kernel_multipath_fail_queued(int, const struct multipath_map *);

int __wrap_kernel_multipath_remove(int root, const struct multipath_map *map)
{
	(void)root;
	strcat(strcat(calls, "remove "), map->name);
	return remove_err;
}

int __wrap_kernel_multipath_fail_queued(int root, const struct multipath_map *map)
{
	(void)root;
	strcat(strcat(strcat(calls, "fail "), map->name), " ");
	return 0;
}

/* Hosts 6 and 7 with a path to one disk each; host 7 has another disk. */
static void begin(void)
{
	tree = tree_new();
	multipath_tree_disk(&tree, "sda", "8:0");
	multipath_tree_disk(&tree, "sdb", "8:16");
	multipath_tree_disk(&tree, "sdc", "8:32");
	multipath_tree_map(&tree, "dm-0", "253:0", "mpatha", UUID, "sda sdb");
	multipath_tree_map(&tree, "dm-1", "253:1", "mpatha1", "part1-" UUID, "dm-0");
	disks[0] = (struct disk_users){ .node = "sda", .owner = 6, .major = 8, .minor = 0 };
	disks[1] = (struct disk_users){ .node = "sdb", .owner = 7, .major = 8, .minor = 16 };
	disks[2] = (struct disk_users){ .node = "sdc", .owner = 7, .major = 8, .minor = 32 };
	calls[0] = 0;
	remove_err = 0;
	pauses = busy_pauses = 0;
	why = (struct diag){ 0 };
}

static void end(void)
{
	tree_free(&tree);
}
TestSuite(disk_users, .init = begin, .fini = end);

static void mounted(const char *number)
{
	char line[100];

	snprintf(line, sizeof(line), "36 35 %s / /mnt rw - ext4 /dev/x rw\n", number);
	tree_file(&tree, "proc/self/mountinfo", line);
}

static const char *users(unsigned owner, unsigned count)
{
	kernel_disk_users(tree.root, disks, count);
	kernel_disk_users_text(disks, count, owner, text, sizeof(text));
	return text;
}

Test(disk_users, of_an_unused_map)
{
	cr_assert_str_eq(users(6, 3), "");
	cr_assert_str_eq(users(7, 3), "");
}

Test(disk_users, of_a_map)
{
	mounted("253:0");
	cr_assert_str_eq(users(6, 3), "mpatha: mounted on /mnt");
	begin();
	mounted("253:1");
	cr_assert_str_eq(users(6, 3), "mpatha: mounted on /mnt", "on its partition");
}

Test(disk_users, of_a_map_with_another_path)
{
	text_says(users(6, 1), "sda: dm-0_(mpatha)");
}

/* sdc is in use, so host 7 stays, with a path of the map. */
Test(disk_users, map_stays_with_one_of_its_hosts)
{
	mounted("8:32");
	text_says(users(7, 3), "sdc: mounted_on_/mnt sdb: dm-0_(mpatha)");
	begin();
	mounted("8:32");
	cr_assert_str_eq(users(6, 3), "sda: dm-0 (mpatha)");
}

static void opened(unsigned pid, const char *comm, const char *path)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%u/comm", pid);
	tree_file(&tree, name, comm);
	snprintf(name, sizeof(name), "proc/%u/fd/3", pid);
	tree_link(&tree, name, path);
}

/* multipathd has all of them open. */
Test(disk_users, openers_of_a_path)
{
	opened(7, "multipathd\n", "/dev/sda");
	opened(8, "multipathd\n", "/dev/sdb");
	cr_assert_str_eq(users(6, 3), "");
	opened(9, "dd\n", "/dev/sdb");
	cr_assert_str_eq(users(7, 3), "mpatha: dd (pid 9)");
	cr_assert_str_eq(users(6, 3), "sda: dm-0 (mpatha)", "the map stays");
	opened(10, "fio\n", "/dev/dm-1");
	cr_assert_str_eq(users(6, 3), "mpatha: fio (pid 10)", "and those of its partition");
}

/* Both paths are of one owner; only the second one is open. */
Test(disk_users, openers_of_another_path_of_the_owner)
{
	disks[0].owner = 7;
	opened(9, "dd\n", "/dev/sdb");
	cr_assert_str_eq(users(7, 3), "mpatha: dd (pid 9)");
}

static int flush(unsigned count, const char *node, bool force)
{
	calls[0] = 0;
	return kernel_disk_flush(tree.root, disks, count, node, force, &why);
}

Test(disk_users, flush)
{
	cr_assert_eq(flush(3, "sdc", false), 0);
	cr_assert_str_eq(calls, "", "no map");
	cr_assert_eq(flush(1, "sda", false), 0);
	cr_assert_str_eq(calls, "", "one with another path");
	cr_assert_eq(flush(2, "sda", false), 0);
	cr_assert_str_eq(calls, "remove mpatha");
	remove_err = -ENODEV;
	cr_assert_eq(flush(2, "sda", false), -ENODEV);
	text_says(why.text, "multipath mpatha");
	cr_assert_eq(pauses, 0);
}

/* By udev for a moment, or as another process is removing a map of its partitions. */
Test(disk_users, flush_of_what_is_in_use)
{
	remove_err = -EBUSY;
	busy_pauses = 2;
	cr_assert_eq(flush(2, "sda", false), 0, "%s", why.text);
	cr_assert_str_eq(calls, "remove mpatharemove mpatharemove mpatha");
	remove_err = -EBUSY;
	busy_pauses = 0;
	cr_assert_eq(flush(2, "sda", true), 0);
	cr_assert_str_eq(calls, "fail mpatha remove mpatha");
	cr_assert_eq(pauses, 2, "none with force");
}

Test(disk_users, flush_of_what_stays_in_use)
{
	remove_err = -EBUSY;
	cr_assert_eq(flush(2, "sda", false), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "multipath mpatha in_use");
	text_says(why.hint, "rdmastor_status");
	cr_assert_eq(pauses, 20, "a second");
}
