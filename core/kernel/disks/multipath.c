/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the maps of dm-multipath in sysfs, and remove them by ioctls of the device mapper. */
#include "multipath.h"
#include "kernel_multipath.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct search {
	int root;
	struct multipath_map *map;
};

struct removal {
	int root;
	const struct multipath_map *map; /* whose partitions are removed */
	int err;
};

static bool read_uuid(int root, const char *node, char uuid[160])
{
	return kernel_sys_read(root, uuid, 160, "sys/class/block/%.31s/dm/uuid", node) > 0;
}

static bool read_map(int root, const char *node, struct multipath_map *map)
{
	char text[32];

	snprintf(map->node, sizeof(map->node), "%.31s", node);
	return read_uuid(root, node, map->uuid) &&
	       kernel_sys_read(root, text, sizeof(text), "sys/class/block/%.31s/dev", node) > 0 &&
	       sscanf(text, "%u:%u", &map->major, &map->minor) == 2 &&
	       kernel_sys_read(root, map->name, sizeof(map->name), "sys/class/block/%.31s/dm/name",
		       node) > 0;
}

static void find_map(const char *node, void *arg)
{
	struct search *search = arg;
	char uuid[160];

	if (read_uuid(search->root, node, uuid) && !strncmp(uuid, "mpath-", 6))
		read_map(search->root, node, search->map);
}

static void list_holders(int root, const char *node, void (*each)(const char *, void *), void *arg)
{
	char path[80];

	snprintf(path, sizeof(path), "sys/class/block/%.31s/holders", node);
	kernel_sys_list(root, path, each, arg);
}

bool kernel_multipath_of(int root, const char *node, struct multipath_map *map)
{
	struct search search = { .root = root, .map = map };

	*map = (struct multipath_map){ 0 };
	list_holders(root, node, find_map, &search);
	return map->name[0];
}

void kernel_multipath_paths(
	int root, const char *map, void (*each)(const char *node, void *arg), void *arg)
{
	char path[80];

	snprintf(path, sizeof(path), "sys/class/block/%.31s/slaves", map);
	kernel_sys_list(root, path, each, arg);
}

/* Return the UUID of the map that a partition's map is on: of "part1-mpath-36…". NULL: none. */
static const char *whole_uuid(const char *uuid)
{
	const char *dash =
		strncmp(uuid, "part", 4) ? "" : uuid + 4 + strspn(uuid + 4, "0123456789");

	return *dash == '-' ? dash + 1 : NULL;
}

bool kernel_multipath_partition(int root, const char *node)
{
	char uuid[160];
	const char *whole = read_uuid(root, node, uuid) ? whole_uuid(uuid) : NULL;

	return whole && !strncmp(whole, "mpath-", 6);
}

/* Its socket is abstract; since multipath-tools 0.10 it has one in /run, too. */
bool kernel_multipath_daemon(int root)
{
	static const char *const sockets[] = { "@/org/kernel/linux/storage/multipathd\n",
		"/run/multipathd.socket\n" };
	char *text = kernel_sys_read_all(root, "proc/net/unix");
	bool is = text && (strstr(text, sockets[0]) || strstr(text, sockets[1]));

	free(text);
	return is;
}

int kernel_multipath_control(
	int root, unsigned long request, const struct multipath_map *map, struct dm_ioctl *head)
{
	int fd, err = 0;

	fd = openat(root, "dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	head->version[0] = DM_VERSION_MAJOR;
	snprintf(head->uuid, sizeof(head->uuid), "%.128s", map->uuid);
	if (ioctl(fd, request, head) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* With udev /dev/mapper/NAME is a link, which goes by its rules; without it libdevmapper has made a
 * node. */
static int remove_map(int root, const struct multipath_map *map)
{
	struct dm_ioctl head = { .data_size = sizeof(head), .data_start = sizeof(head) };
	struct stat st;
	char path[160];
	int err;

	snprintf(path, sizeof(path), "dev/mapper/%.127s", map->name);
	err = kernel_multipath_control(root, DM_DEV_REMOVE, map, &head);
	if (!err && !fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) && S_ISBLK(st.st_mode) &&
		st.st_rdev == makedev(map->major, map->minor))
		unlinkat(root, path, 0);
	return err == -ENXIO ? 0 : err;
}

static void remove_partition(const char *node, void *arg)
{
	struct removal *removal = arg;
	struct multipath_map part;
	const char *whole;

	if (removal->err || !read_map(removal->root, node, &part))
		return;
	whole = whole_uuid(part.uuid);
	if (whole && !strcmp(whole, removal->map->uuid))
		removal->err = remove_map(removal->root, &part);
}

int kernel_multipath_remove(int root, const struct multipath_map *map)
{
	struct removal removal = { .root = root, .map = map };

	list_holders(root, map->node, remove_partition, &removal);
	return removal.err ? removal.err : remove_map(root, map);
}

int kernel_multipath_fail_queued(int root, const struct multipath_map *map)
{
	struct {
		struct dm_ioctl head;
		uint64_t sector; /* struct dm_target_msg */
		char text[24];
	} message = { .text = "fail_if_no_path" };

	message.head.data_size = sizeof(message);
	message.head.data_start = sizeof(message.head);
	return kernel_multipath_control(root, DM_TARGET_MSG, map, &message.head);
}
