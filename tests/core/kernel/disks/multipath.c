/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Maps of dm-multipath: found above their paths, and removed with those of their partitions. */
/* Link: ioctl */
#include "kernel_multipath.h"
#include "multipath_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define UUID "mpath-36001405abc"

static struct tree tree;
static char calls[400]; /* of the device mapper: "remove mpatha1, remove mpatha, " */
static const char *busy;

int __wrap_ioctl(int, unsigned long, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	const struct dm_ioctl *head;
	va_list args;
	size_t at = strlen(calls);

	(void)fd;
	va_start(args, request);
	head = va_arg(args, const struct dm_ioctl *);
	va_end(args);
	cr_assert_eq(head->version[0], 4);
	if (request == DM_DEV_REMOVE)
		snprintf(calls + at, sizeof(calls) - at, "remove %s, ", head->name);
	else if (request == DM_TARGET_MSG)
		snprintf(calls + at, sizeof(calls) - at, "%s %s, ",
			(const char *)head + head->data_start + sizeof(uint64_t), head->name);
	else
		cr_assert(false, "another request");
	errno = EBUSY;
	return busy && !strcmp(head->name, busy) ? -1 : 0;
}

static void begin(void)
{
	tree = tree_new();
	multipath_tree_disk(&tree, "sda", "8:0");
	multipath_tree_disk(&tree, "sdb", "8:16");
	multipath_tree_disk(&tree, "sdc", "8:32");
	multipath_tree_map(&tree, "dm-3", "253:3", "vg-root", "LVM-abc", "sdc");
	multipath_tree_map(&tree, "dm-0", "253:0", "mpatha", UUID, "sda sdb");
	multipath_tree_map(&tree, "dm-1", "253:1", "mpatha1", "part1-" UUID, "dm-0");
	tree_file(&tree, "dev/mapper/control", "");
	calls[0] = 0;
	busy = NULL;
}

static void end(void)
{
	tree_free(&tree);
}
TestSuite(multipath, .init = begin, .fini = end);

static void add_name(const char *name, void *arg)
{
	strcat(strcat(arg, name), " ");
}

Test(multipath, map_of_a_path)
{
	struct multipath_map map;
	char paths[64] = "";

	cr_assert(kernel_multipath_of(tree.root, "sdb", &map));
	cr_assert_str_eq(map.node, "dm-0");
	cr_assert_str_eq(map.name, "mpatha");
	cr_assert_str_eq(map.uuid, UUID);
	kernel_multipath_paths(tree.root, "dm-0", add_name, paths);
	text_says(paths, "sda sdb");
	cr_assert(!kernel_multipath_of(tree.root, "sdc", &map), "a map of LVM");
	cr_assert(!kernel_multipath_of(tree.root, "dm-0", &map), "a map of its partition");
	cr_assert(!kernel_multipath_of(tree.root, "sdz", &map));
}

Test(multipath, daemon_by_its_sockets)
{
	cr_assert(!kernel_multipath_daemon(tree.root));
	tree_file(&tree, "proc/net/unix", "0: 2 0 0 1 1 8 @/org/other\n");
	cr_assert(!kernel_multipath_daemon(tree.root));
	multipath_tree_daemon(&tree);
	cr_assert(kernel_multipath_daemon(tree.root));
	tree_file(&tree, "proc/net/unix", "0: 2 0 0 1 1 8 /run/multipathd.socket\n");
	cr_assert(kernel_multipath_daemon(tree.root));
}

Test(multipath, partitions_are_removed_first)
{
	struct multipath_map map;

	cr_assert(kernel_multipath_of(tree.root, "sda", &map));
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), 0);
	cr_assert_str_eq(calls, "remove mpatha1, remove mpatha, ");
	calls[0] = 0;
	busy = "mpatha1";
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), -EBUSY);
	cr_assert_str_eq(calls, "remove mpatha1, ");
}

Test(multipath, queued_io_fails)
{
	struct multipath_map map;

	cr_assert(kernel_multipath_of(tree.root, "sda", &map));
	cr_assert_eq(kernel_multipath_fail_queued(tree.root, &map), 0);
	cr_assert_str_eq(calls, "fail_if_no_path mpatha, ");
}
