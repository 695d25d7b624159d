/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* /sys/class/block and /sys/dev/block as a test says they are. */
#include "multipath_tree.h"
#include <stdio.h>
#include <string.h>

static void put(const struct tree *tree, const char *node, const char *name, const char *text)
{
	char path[160], line[200];

	snprintf(path, sizeof(path), "sys/devices/%s/%s", node, name);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_file(tree, path, line);
}

void multipath_tree_disk(const struct tree *tree, const char *node, const char *number)
{
	char path[160], to[160];

	snprintf(to, sizeof(to), "DEVNAME=%s", node);
	put(tree, node, "uevent", to);
	put(tree, node, "dev", number);
	put(tree, node, "size", "8192");
	snprintf(path, sizeof(path), "sys/devices/%s/holders", node);
	tree_dir(tree, path);
	snprintf(to, sizeof(to), "../../devices/%s", node);
	snprintf(path, sizeof(path), "sys/class/block/%s", node);
	tree_link(tree, path, to);
	snprintf(to, sizeof(to), "../../devices/%s", node);
	snprintf(path, sizeof(path), "sys/dev/block/%s", number);
	tree_link(tree, path, to);
}

void multipath_tree_map(const struct tree *tree, const char *node, const char *number,
	const char *name, const char *uuid, const char *over)
{
	char text[160], path[160], *rest = text, *lower;

	multipath_tree_disk(tree, node, number);
	put(tree, node, "dm/name", name);
	put(tree, node, "dm/uuid", uuid);
	snprintf(path, sizeof(path), "dev/mapper/%s", name);
	tree_file(tree, path, "");
	snprintf(text, sizeof(text), "%s", over);
	while ((lower = strsep(&rest, " "))) {
		snprintf(path, sizeof(path), "sys/devices/%s/holders/%s", lower, node);
		tree_dir(tree, path);
		snprintf(path, sizeof(path), "sys/devices/%s/slaves/%s", node, lower);
		tree_dir(tree, path);
	}
}

void multipath_tree_daemon(const struct tree *tree)
{
	tree_file(tree, "proc/net/unix",
		"Num       RefCount Protocol Flags    Type St Inode Path\n"
		"0000000000000000: 00000002 00000000 00010000 0001 01  8021 "
		"@/org/kernel/linux/storage/multipathd\n");
}
