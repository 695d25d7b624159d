/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Maps of dm-multipath: found above their paths, and removed with those of their partitions. */
/* Link: ioctl fstatat unlinkat */
#include "kernel_multipath.h"
#include "multipath_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UUID "mpath-36001405abc"

static struct tree tree;
static char calls[400]; /* of the device mapper: "remove part1-mpath-3…, " */
static const char *busy;
static unsigned node_minor; /* 253:N, of block devices in /dev/mapper; 0: these are links */

int __wrap_ioctl(int, unsigned long, ...);
int __real_fstatat(int, const char *, struct stat *, int);
int __wrap_fstatat(int, const char *, struct stat *, int);
int __real_unlinkat(int, const char *, int);
int __wrap_unlinkat(int, const char *, int);

int __wrap_fstatat(int root, const char *path, struct stat *st, int flags)
{
	if (strncmp(path, "dev/mapper/", 11) != 0)
		return __real_fstatat(root, path, st, flags);
	*st = (struct stat){ .st_mode = node_minor ? S_IFBLK : S_IFLNK,
		.st_rdev = makedev(253, node_minor) };
	return 0;
}

int __wrap_unlinkat(int root, const char *path, int flags)
{
	size_t at = strlen(calls);

	if (strncmp(path, "dev/mapper/", 11) != 0)
		return __real_unlinkat(root, path, flags);
	snprintf(calls + at, sizeof(calls) - at, "unlink %s, ", path + 11);
	return 0;
}

/* Return the text of a message that is well-formed (ctl_ioctl(), target_message()). */
static const char *message_of(const struct dm_ioctl *head)
{
	const char *text = (const char *)head + head->data_start + sizeof(uint64_t);
	uint64_t sector;

	cr_assert_geq(head->data_start, sizeof(*head));
	cr_assert_gt(head->data_size, head->data_start + sizeof(sector));
	memcpy(&sector, (const char *)head + head->data_start, sizeof(sector));
	cr_assert_eq(sector, 0);
	cr_assert(memchr(text, 0, head->data_size - head->data_start - sizeof(sector)));
	return text;
}

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
	cr_assert_geq(head->data_size, sizeof(*head));
	cr_assert_str_eq(head->name, "", "the kernel refuses a name with a UUID");
	if (request == DM_DEV_REMOVE)
		snprintf(calls + at, sizeof(calls) - at, "remove %s, ", head->uuid);
	else if (request == DM_TARGET_MSG)
		snprintf(calls + at, sizeof(calls) - at, "%s %s, ", message_of(head), head->uuid);
	else
		cr_assert(false, "another request");
	errno = EBUSY;
	return busy && !strcmp(head->uuid, busy) ? -1 : 0;
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
	node_minor = 0;
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
	cr_assert_str_eq(calls, "remove part1-" UUID ", remove " UUID ", ");
	calls[0] = 0;
	busy = "part1-" UUID;
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), -EBUSY);
	cr_assert_str_eq(calls, "remove part1-" UUID ", ");
}

/* Its node "dm-0" has become another map's, with a partition. */
Test(multipath, partitions_of_another_map_stay)
{
	struct multipath_map map;

	cr_assert(kernel_multipath_of(tree.root, "sda", &map));
	tree_file(&tree, "sys/devices/dm-1/dm/uuid", "part1-mpath-3another\n");
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), 0);
	cr_assert_str_eq(calls, "remove " UUID ", ");
}

Test(multipath, its_own_node_is_removed)
{
	struct multipath_map map;

	multipath_tree_map(&tree, "dm-4", "253:4", "mpathc", "mpath-3c", "sdc");
	cr_assert(kernel_multipath_of(tree.root, "sdc", &map));
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), 0);
	cr_assert_str_eq(calls, "remove mpath-3c, ", "a link goes by udev's rules");
	calls[0] = 0;
	node_minor = 4;
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), 0);
	cr_assert_str_eq(calls, "remove mpath-3c, unlink mpathc, ");
	calls[0] = 0;
	node_minor = 5;
	cr_assert_eq(kernel_multipath_remove(tree.root, &map), 0);
	cr_assert_str_eq(calls, "remove mpath-3c, ", "the node of another map");
}

Test(multipath, queued_io_fails)
{
	struct multipath_map map;

	cr_assert(kernel_multipath_of(tree.root, "sda", &map));
	cr_assert_eq(kernel_multipath_fail_queued(tree.root, &map), 0);
	cr_assert_str_eq(calls, "fail_if_no_path " UUID ", ");
}
