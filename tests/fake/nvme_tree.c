/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* /sys/class/nvme and /sys/class/block as a test says they are. */
#include "nvme_tree.h"
#include <stdio.h>
#include <string.h>

static void put(const struct tree *tree, const char *dir, const char *name, const char *text)
{
	char path[256], line[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_file(tree, path, line);
}

void nvme_tree_ctrl(const struct tree *tree, const char *name, const char *transport,
	const char *nqn, const char *address)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "sys/class/nvme/%s", name);
	put(tree, dir, "state", "live");
	put(tree, dir, "transport", transport);
	put(tree, dir, "subsysnqn", nqn);
	put(tree, dir, "hostnqn", "nqn.host");
	put(tree, dir, "hostid", "abff48c0-ecbe-4d8c-a64a-54f12797e8c2");
	put(tree, dir, "address", address);
	put(tree, dir, "ctrl_loss_tmo", "60");
	put(tree, dir, "reconnect_delay", "10");
	put(tree, dir, "fast_io_fail_tmo", "off");
	put(tree, dir, "queue_count", "3");
	put(tree, dir, "delete_controller", "");
}

void nvme_tree_disk(const struct tree *tree, const char *ctrl, const char *path, const char *disk,
	unsigned nsid)
{
	char dir[128], text[32];

	snprintf(text, sizeof(text), "%u", nsid);
	snprintf(dir, sizeof(dir), "sys/class/nvme/%s/%s", ctrl, path);
	put(tree, dir, "nsid", text);
	snprintf(dir, sizeof(dir), "sys/class/block/%s", disk);
	put(tree, dir, "nsid", text);
	put(tree, dir, "size", "16384");
	put(tree, dir, "queue/logical_block_size", "4096");
	put(tree, dir, "wwid", "uuid.3817d9bc-9750-46fd-b17e-d1e5769402f7");
	snprintf(text, sizeof(text), "259:%u", nsid);
	put(tree, dir, "dev", text);
	snprintf(dir, sizeof(dir), "sys/dev/block/%s", text);
	put(tree, dir, "uevent", disk);
	snprintf(dir, sizeof(dir), "sys/dev/block/%s/holders", text);
	tree_dir(tree, dir);
}
