/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Add block devices that a process serves: of the kernel's NBD client, and ublk. */
#include "kernel_nbd.h"
#include "kernel_sys.h"
#include "list.h"
#include <stdio.h>
#include <string.h>

static void add_device(struct listing *list, const struct list_link *link, const char *name)
{
	struct list_path path = { .link = kernel_list_add_link(list, link) };

	snprintf(path.node, sizeof(path.node), "%.31s", name);
	kernel_list_add_path(list, path, name);
}

static void add_nbd(struct listing *list, const char *name, unsigned index)
{
	struct list_link link = kernel_list_link_new(name, "nbd", "local");
	char text[1200], dir[48];

	if (kernel_nbd_backend(list->root, index, text, sizeof(text)))
		return;
	snprintf(dir, sizeof(dir), "sys/block/nbd%u", index);
	link.pid = (int)kernel_list_number(list->root, dir, "pid");
	link.ours = !strncmp(text, KERNEL_NBD_ID_PREFIX, strlen(KERNEL_NBD_ID_PREFIX));
	snprintf(link.target, sizeof(link.target), "%s",
		text + (link.ours ? strlen(KERNEL_NBD_ID_PREFIX) : 0));
	snprintf(link.state, sizeof(link.state), "connected");
	add_device(list, &link, name);
}

/* Only the driver knows the disk behind a ublk device: ublk_query() of export.h. */
static void add_front(const char *name, void *arg)
{
	struct list_link link = kernel_list_link_new(name, "ublk", "local");
	struct listing *list = arg;
	unsigned index;
	char end;

	if (sscanf(name, "nbd%u%c", &index, &end) == 1)
		add_nbd(list, name, index);
	else if (sscanf(name, "ublkb%u%c", &index, &end) == 1)
		add_device(list, &link, name);
}

void kernel_list_fronts(struct listing *list)
{
	kernel_sys_list(list->root, "sys/block", add_front, list);
}
