/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The list of attached disks: build, sort and free it. */
#include "list.h"
#include "grow.h"
#include "kernel_disk.h"
#include "kernel_multipath.h"
#include "kernel_sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512 /* unit of /sys/class/block/X/size, independent of the disk's block size */

struct list_link kernel_list_link_new(const char *name, const char *protocol, const char *transport)
{
	struct list_link link = { .loss = { VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN,
					  VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN,
					  VALUE_UNKNOWN } };

	snprintf(link.name, sizeof(link.name), "%.31s", name);
	snprintf(link.protocol, sizeof(link.protocol), "%.7s", protocol);
	snprintf(link.transport, sizeof(link.transport), "%.7s", transport);
	return link;
}

int kernel_list_add_link(struct listing *list, const struct list_link *link)
{
	struct list_link *more = grow(list->to->link, list->to->links);

	list->failed |= !more;
	if (!more)
		return -1;
	*more = *link;
	return (int)list->to->links - 1;
}

static struct list_disk *new_disk(struct listing *list)
{
	struct list_disk *more = grow(list->to->disk, list->to->disks);

	list->failed |= !more;
	return more;
}

static void add_path(struct listing *list, const struct list_path *path)
{
	struct list_path *more = grow(list->to->path, list->to->paths);

	list->failed |= !more;
	if (more)
		*more = *path;
}

void kernel_list_add_mount(struct listing *list, int link, const char *dir)
{
	struct list_disk *disk = link < 0 ? NULL : new_disk(list);

	if (!disk)
		return;
	snprintf(disk->name, sizeof(disk->name), "%s", dir);
	add_path(list, &(struct list_path){ .link = link, .disk = (int)list->to->disks - 1 });
}

static void describe(int root, struct list_disk *disk)
{
	unsigned dev_major, dev_minor;
	char dir[80], text[140];

	snprintf(dir, sizeof(dir), "sys/class/block/%s", disk->node);
	if (kernel_sys_read(root, text, sizeof(text), "%s/dm/name", dir) > 0)
		snprintf(disk->name, sizeof(disk->name), "/dev/mapper/%s", text);
	else
		snprintf(disk->name, sizeof(disk->name), "/dev/%s", disk->node);
	if (kernel_sys_read(root, text, sizeof(text), "%s/size", dir) > 0)
		disk->size = strtoull(text, NULL, 10) * SECTOR;
	disk->block = kernel_list_number(root, dir, "queue/logical_block_size");
	if (kernel_sys_read(root, disk->wwid, sizeof(disk->wwid), "%s/wwid", dir) <= 0)
		kernel_sys_read(root, disk->wwid, sizeof(disk->wwid), "%s/device/wwid", dir);
	kernel_sys_read(root, disk->policy, sizeof(disk->policy), "%s/device/iopolicy", dir);
	if (kernel_sys_read(root, text, sizeof(text), "%s/dev", dir) > 0 &&
		sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2)
		kernel_holders_of(root, dev_major, dev_minor, &disk->holders, disk->used_by,
			sizeof(disk->used_by));
}

static int find_disk(struct listing *list, const char *node)
{
	struct list_disk *disk;

	for (unsigned i = 0; i < list->to->disks; i++)
		if (!strcmp(list->to->disk[i].node, node))
			return (int)i;
	disk = new_disk(list);
	if (!disk)
		return -1;
	snprintf(disk->node, sizeof(disk->node), "%s", node);
	describe(list->root, disk);
	return (int)list->to->disks - 1;
}

void kernel_list_add_path(struct listing *list, struct list_path path, const char *node)
{
	struct multipath_map map;
	bool mapped = node[0] && kernel_multipath_of(list->root, node, &map);

	if (path.link < 0)
		return;
	path.disk = node[0] ? find_disk(list, mapped ? map.node : node) : -1;
	if (mapped && path.disk >= 0)
		kernel_list_read_map(list->root, &map, &list->to->disk[path.disk], &path);
	add_path(list, &path);
}

unsigned kernel_list_number(int root, const char *dir, const char *name)
{
	char text[32];

	return kernel_sys_read(root, text, sizeof(text), "%s/%s", dir, name) > 0
		       ? (unsigned)strtoul(text, NULL, 0)
		       : 0;
}

ssize_t kernel_list_target(int root, char *text, size_t len, const char *path)
{
	ssize_t got = readlinkat(root, path, text, len - 1);

	text[got > 0 ? got : 0] = 0;
	return got < 0 ? -errno : got;
}

bool kernel_list_same_host(const char *text, const struct addr *addr)
{
	char left[ADDR_TEXT], right[ADDR_TEXT];
	struct addr other;

	if (addr_numeric(&other, text, 1, NULL) || other.ss.ss_family != addr->ss.ss_family)
		return false;
	addr_host(&other, left);
	addr_host(addr, right);
	left[strcspn(left, "%")] = right[strcspn(right, "%")] = 0; /* netlink reports no scope */
	return !strcmp(left, right);
}

/* Whether the GID of RoCE or iWARP corresponds to the address (RFC 4291, 2.5.5.2 for IPv4). */
static bool gid_is(const char *gid, const char *address)
{
	struct addr addr;
	char text[40];

	if (addr_numeric(&addr, gid, 1, NULL))
		return false;
	if (kernel_list_same_host(address, &addr))
		return true;
	snprintf(text, sizeof(text), "::ffff:%.20s", address);
	return !strchr(address, ':') && kernel_list_same_host(text, &addr);
}

static const struct list_port *port_of_source(const struct kernel_list *list, const char *source)
{
	for (unsigned i = 0; i < list->ports; i++)
		for (unsigned g = 0; g < list->port[i].gids; g++)
			if (gid_is(list->port[i].gid[g].gid, source))
				return &list->port[i];
	return NULL;
}

/* Several queues have several connections; if these use different ports, return none. */
static const struct list_cm *find_cm(
	const struct listing *list, const char *owner, const struct list_link *link)
{
	const struct list_cm *found = NULL;

	for (unsigned i = 0; i < list->cms; i++) {
		const struct list_cm *cm = &list->cm[i];

		if (strcmp(cm->owner, owner) || !kernel_list_same_host(link->address, &cm->peer) ||
			(link->source[0] && !kernel_list_same_host(link->source, &cm->source)))
			continue;
		if (found && (found->port != cm->port || strcmp(found->dev, cm->dev)))
			return NULL;
		found = cm;
	}
	return found;
}

void kernel_list_find_device(const struct listing *list, const char *owner, struct list_link *link)
{
	const struct list_cm *cm = find_cm(list, owner, link);
	const struct list_port *port;

	if (cm && !link->source[0])
		addr_host(&cm->source, link->source);
	if (link->rdma_dev[0])
		return;
	port = cm || !link->source[0] ? NULL : port_of_source(list->to, link->source);
	if (!cm && !port)
		return;
	snprintf(link->rdma_dev, sizeof(link->rdma_dev), "%s", cm ? cm->dev : port->dev);
	link->rdma_port = cm ? cm->port : port->port;
}

/* Order: disks, then mounts, then connections without either; the paths of a disk together;
 * otherwise as found. */
static int by_disk(const void *a, const void *b)
{
	const struct list_path *left = a, *right = b;

	if ((left->disk < 0) != (right->disk < 0))
		return left->disk < 0 ? 1 : -1;
	return left->disk != right->disk ? left->disk - right->disk : left->link - right->link;
}

int kernel_list(int root, struct kernel_list *to, struct diag *diag)
{
	struct listing list = { .root = root, .to = to };

	*to = (struct kernel_list){ 0 };
	kernel_list_rdma(&list);
	kernel_list_nvme(&list);
	kernel_list_srp(&list);
	kernel_list_iscsi(&list);
	kernel_list_fronts(&list);
	kernel_list_nfs(&list);
	free(list.cm);
	if (to->paths)
		qsort(to->path, to->paths, sizeof(*to->path), by_disk);
	if (!list.failed)
		return 0;
	kernel_list_clear(to);
	return diag_sys(diag, ENOMEM, "list of attached disks");
}

void kernel_list_clear(struct kernel_list *list)
{
	for (unsigned i = 0; i < list->ports; i++)
		free(list->port[i].gid);
	free(list->port);
	free(list->path);
	free(list->disk);
	free(list->link);
	*list = (struct kernel_list){ 0 };
}

int kernel_list_new(int root, struct kernel_list **out, struct diag *diag)
{
	struct kernel_list *list = calloc(1, sizeof(*list));
	int err = list ? kernel_list(root, list, diag)
		       : diag_sys(diag, ENOMEM, "list of attached disks");

	*out = err ? NULL : list;
	if (err)
		free(list);
	return err;
}

void kernel_list_free(struct kernel_list *list)
{
	if (list)
		kernel_list_clear(list);
	free(list);
}

void kernel_list_find_servers(struct kernel_list *list,
	bool (*find)(unsigned number, struct list_server *server, void *arg), void *arg)
{
	for (unsigned i = 0; i < list->links; i++) {
		struct list_link *link = &list->link[i];
		struct list_server server;
		unsigned number;

		if (strcmp(link->protocol, "ublk") || sscanf(link->name, "ublkb%u", &number) != 1 ||
			!find(number, &server, arg))
			continue;
		link->ours = server.ours;
		link->pid = server.pid;
		link->queues = server.queues;
		snprintf(link->state, sizeof(link->state), "%s", server.state);
	}
}
