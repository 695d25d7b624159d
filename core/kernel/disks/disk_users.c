/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users of disks that end together. A multipath map over such disks alone ends with them, so what
 * uses the map counts, not the map. */
#include "holders.h"
#include "kernel_multipath.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BUSY_PAUSES   20
#define BUSY_PAUSE_NS 50000000

struct ending {
	int root;
	const struct disk_users *disks;
	unsigned count;
	bool others; /* a path of the map is another disk */
};

static void check_path(const char *node, void *arg)
{
	struct ending *ending = arg;
	unsigned i = 0;

	while (i < ending->count && strcmp(ending->disks[i].node, node) != 0)
		i++;
	ending->others |= i == ending->count;
}

/* Find the map above a disk if all of its paths are among the disks. */
static bool find_map(const struct ending *ending, const char *node, struct multipath_map *map)
{
	struct ending paths = *ending;

	if (!kernel_multipath_of(ending->root, node, map))
		return false;
	kernel_multipath_paths(ending->root, map->node, check_path, &paths);
	return !paths.others;
}

static void look_through(const struct ending *ending, struct disk_users *disk)
{
	struct multipath_map map;

	disk->map[0] = 0;
	snprintf(disk->name, sizeof(disk->name), "%s", disk->node);
	if (!find_map(ending, disk->node, &map))
		return;
	disk->map_major = map.major;
	disk->map_minor = map.minor;
	memcpy(disk->map, map.node, sizeof(disk->map));
	memcpy(disk->name, map.name, sizeof(disk->name));
}

static bool is_used(const struct disk_users *disks, unsigned count, unsigned owner)
{
	bool used = false;

	for (unsigned i = 0; i < count; i++)
		used |= disks[i].owner == owner && disks[i].text[0];
	return used;
}

/* The map of a disk stays if another owner of its paths stays. */
static bool map_stays(const struct disk_users *disks, unsigned count, const struct disk_users *disk)
{
	bool stays = false;

	for (unsigned i = 0; i < count && disk->map[0]; i++)
		stays |= !strcmp(disks[i].map, disk->map) && disks[i].owner != disk->owner &&
			 is_used(disks, count, disks[i].owner);
	return stays;
}

void kernel_disk_users(int root, struct disk_users *disks, unsigned count)
{
	const struct ending ending = { .root = root, .disks = disks, .count = count };
	bool changed = true;

	for (unsigned i = 0; i < count; i++)
		look_through(&ending, &disks[i]);
	kernel_holders_or_openers(root, disks, count);
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < count; i++) {
			struct disk_users *disk = &disks[i];

			if (disk->text[0] || !map_stays(disks, count, disk))
				continue;
			snprintf(disk->text, sizeof(disk->text), "%s (%s)", disk->map, disk->name);
			snprintf(disk->name, sizeof(disk->name), "%s", disk->node);
			changed = true;
		}
	}
}

void kernel_disk_users_text(
	const struct disk_users *disks, unsigned count, unsigned owner, char *text, size_t len)
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned i = 0; i < count && at < len; i++) {
		bool again = false;

		for (unsigned j = 0; j < i; j++)
			again |= disks[j].owner == owner && !strcmp(disks[j].name, disks[i].name) &&
				 !strcmp(disks[j].text, disks[i].text);
		if (disks[i].owner == owner && disks[i].text[0] && !again)
			at += (size_t)snprintf(text + at, len - at, "%s%s: %s", at ? "; " : "",
				disks[i].name, disks[i].text);
	}
}

static int remove_unused(int root, const struct multipath_map *map)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE_NS };
	int err = kernel_multipath_remove(root, map);

	for (unsigned i = 0; err == -EBUSY && i < BUSY_PAUSES; i++) {
		nanosleep(&pause, NULL);
		err = kernel_multipath_remove(root, map);
	}
	return err;
}

int kernel_disk_flush(int root, const struct disk_users *disks, unsigned count, const char *node,
	bool force, struct diag *diag)
{
	const struct ending ending = { .root = root, .disks = disks, .count = count };
	struct multipath_map map;
	int err;

	if (!find_map(&ending, node, &map))
		return 0;
	if (force) {
		kernel_multipath_fail_queued(root, &map);
		kernel_multipath_remove(root, &map);
		return 0;
	}
	err = remove_unused(root, &map);
	if (err != -EBUSY)
		return err ? diag_sys(diag, -err, "remove multipath device %s", map.name) : 0;
	diag_set(diag, DIAG_BUSY, EBUSY, "multipath device %s is in use", map.name);
	return diag_hint(diag, "list its users with: rdmastor status");
}
