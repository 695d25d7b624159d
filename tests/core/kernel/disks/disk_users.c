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
static char text[400], calls[200];
static int remove_err;
static unsigned pauses, free_after; /* after that many pauses the map is no longer busy */

int __wrap_kernel_multipath_remove(int, const struct multipath_map *);
int __wrap_kernel_multipath_fail_queued(int, const struct multipath_map *);
int __wrap_nanosleep(const struct timespec *, struct timespec *);

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)time, (void)rest;
	calls[0] = 0;
	if (++pauses == free_after)
		remove_err = 0;
	return 0;
}

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
	pauses = free_after = 0;
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

Test(disk_users, openers_of_a_path_but_multipathd)
{
	tree_file(&tree, "proc/7/comm", "multipathd\n");
	tree_link(&tree, "proc/7/fd/3", "/dev/sda");
	tree_link(&tree, "proc/7/fd/4", "/dev/sdb");
	cr_assert_str_eq(users(6, 3), "");
	begin();
	tree_file(&tree, "proc/8/comm", "dd\n");
	tree_link(&tree, "proc/8/fd/3", "/dev/sda");
	cr_assert_str_eq(users(6, 3), "mpatha: dd (pid 8)");
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

Test(disk_users, flush)
{
	cr_assert_eq(kernel_disk_flush(tree.root, disks, 3, "sdc", false), 0);
	cr_assert_eq(kernel_disk_flush(tree.root, disks, 1, "sda", false), 0);
	cr_assert_str_eq(calls, "", "no map, and one with another path");
	cr_assert_eq(kernel_disk_flush(tree.root, disks, 2, "sda", false), 0);
	cr_assert_str_eq(calls, "remove mpatha");
	calls[0] = 0;
	remove_err = -EBUSY;
	cr_assert_eq(kernel_disk_flush(tree.root, disks, 2, "sda", false), -EBUSY);
	cr_assert_gt(pauses, 5);
	free_after = pauses + 3;
	cr_assert_eq(kernel_disk_flush(tree.root, disks, 2, "sda", false), 0);
	cr_assert_eq(pauses, free_after);
	calls[0] = 0;
	cr_assert_eq(kernel_disk_flush(tree.root, disks, 2, "sda", true), 0);
	cr_assert_str_eq(calls, "fail mpatha remove mpatha");
}
