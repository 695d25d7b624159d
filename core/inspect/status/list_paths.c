/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the kernel knows of a path besides its state: the access that its target reports, and how
 * many requests it has carried. */
#include "kernel_multipath.h"
#include "kernel_sys.h"
#include "list.h"
#include "wire.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VPD_ROOM 512

/* Completed reads, writes, discards and flushes (Documentation/block/stat.rst); the last two since
 * Linux 4.19 and 5.5. */
static void read_requests(int root, const char *dir, struct list_path *path)
{
	uint64_t count[4] = { 0 };
	char text[256];

	if (kernel_sys_read(root, text, sizeof(text), "%s/stat", dir) <= 0)
		return;
	path->counted = sscanf(text,
				"%" SCNu64 "%*u%*u%*u%" SCNu64 "%*u%*u%*u%*u%*u%*u%" SCNu64
				"%*u%*u%*u%" SCNu64,
				&count[0], &count[1], &count[2], &count[3]) >= 2;
	path->requests = count[0] + count[1] + count[2] + count[3];
}

void kernel_list_read_nvme_path(int root, const char *dir, struct list_path *path)
{
	char text[16];

	kernel_sys_read(root, path->state, sizeof(path->state), "%s/ana_state", dir);
	snprintf(path->access, sizeof(path->access), "%.19s", path->state);
	if (kernel_sys_read(root, text, sizeof(text), "%s/ana_grpid", dir) > 0) {
		path->group = (uint32_t)strtoul(text, NULL, 10);
		path->has_group = path->group;
	}
	read_requests(root, dir, path);
}

/* The kernel's "active/optimized", "LBA-dependent" and "transitioning". */
static void read_access(int root, struct list_path *path)
{
	char text[32], *word = text;

	if (kernel_sys_read(root, text, sizeof(text), "sys/class/block/%s/device/access_state",
		    path->node) <= 0)
		return;
	if (!strncmp(word, "active/", 7))
		word += 7;
	for (char *at = word; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	snprintf(path->access, sizeof(path->access), "%.19s",
		strcmp(word, "transitioning") ? word : "transition");
}

/* The target port group of the Device Identification page (SPC-4, 7.8.6.8). */
static void read_group(int root, struct list_path *path)
{
	uint8_t page[VPD_ROOM];
	char name[80];
	ssize_t got;
	size_t len;

	snprintf(name, sizeof(name), "sys/class/block/%s/device/vpd_pg83", path->node);
	got = kernel_sys_read_bytes(root, name, page, sizeof(page));
	for (size_t at = 4; got > 0 && at + 4 <= (size_t)got; at += 4 + len) {
		len = page[at + 3];
		if ((page[at + 1] & 0x3f) != 0x15 || len != 4 || at + 8 > (size_t)got)
			continue;
		path->group = (uint32_t)wire_be(page + at + 6, 2);
		path->has_group = true;
	}
}

void kernel_list_read_scsi_path(int root, struct list_path *path)
{
	char dir[64], text[8];

	snprintf(dir, sizeof(dir), "sys/class/block/%s", path->node);
	read_requests(root, dir, path);
	read_access(root, path);
	if (!path->access[0])
		return;
	read_group(root, path);
	path->preferred =
		kernel_sys_read(root, text, sizeof(text), "%s/device/preferred_path", dir) > 0 &&
		text[0] == '1';
}

static const char *word_of(const struct multipath_member *member)
{
	return member->failed         ? "failed"
	       : member->group == 'A' ? "active"
	       : member->group == 'E' ? "enabled"
				      : "disabled";
}

void kernel_list_read_map(
	int root, const struct multipath_map *map, struct list_disk *disk, struct list_path *path)
{
	struct multipath_status status;
	char dev[16];

	disk->is_map = true;
	if (kernel_multipath_status(root, map, &status))
		return;
	snprintf(disk->policy, sizeof(disk->policy), "%s", status.policy);
	disk->queues = status.queues;
	if (kernel_sys_read(root, dev, sizeof(dev), "sys/class/block/%s/dev", path->node) <= 0)
		return;
	for (unsigned i = 0; i < status.members; i++)
		if (!strcmp(status.member[i].dev, dev))
			snprintf(path->map_state, sizeof(path->map_state), "%s",
				word_of(&status.member[i]));
}

static void add_priority(int root, const struct multipath_daemon *daemon, struct list_path *path)
{
	char dev[16];

	if (kernel_sys_read(root, dev, sizeof(dev), "sys/class/block/%s/dev", path->node) <= 0)
		return;
	for (unsigned i = 0; i < daemon->paths; i++)
		if (!strcmp(daemon->path[i].dev, dev)) {
			path->has_priority = true;
			path->priority = daemon->path[i].priority;
		}
}

static void add_queueing(const struct multipath_daemon *daemon, struct list_disk *disk)
{
	for (unsigned i = 0; i < daemon->maps; i++)
		if (!strncmp(disk->name, "/dev/mapper/", 12) &&
			!strcmp(daemon->map[i].name, disk->name + 12)) {
			disk->waits = true;
			disk->fails_in_s = daemon->map[i].fails_in_s;
		}
}

void kernel_list_ask_multipathd(int root, struct kernel_list *list)
{
	struct multipath_daemon daemon;
	bool any = false;

	for (unsigned i = 0; i < list->disks; i++)
		any |= list->disk[i].is_map;
	if (!any || !kernel_multipath_ask(root, &daemon))
		return;
	for (unsigned i = 0; i < list->disks; i++)
		if (list->disk[i].is_map)
			add_queueing(&daemon, &list->disk[i]);
	for (unsigned i = 0; i < list->paths; i++)
		if (list->path[i].disk >= 0 && list->disk[list->path[i].disk].is_map)
			add_priority(root, &daemon, &list->path[i]);
}
