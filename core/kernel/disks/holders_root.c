/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check whether the running system is on a disk, through any layers of partitions, dm, md, loop
 * devices and overlays. root_mounts.c lists the mounts of the system. */
#include "grow.h"
#include "holders.h"
#include "kernel_sys.h"
#include "root_mounts.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layer {
	unsigned major, minor;
};

struct walk {
	int root;
	struct root_mounts system_mounts;
	struct layer *layer;
	unsigned count;
	unsigned *mount; /* IDs of mounts on the layers */
	unsigned mounts;
	bool holds_root; /* the system is on it, or that can't be determined */
};

static void add_number(struct walk *walk, unsigned dev_major, unsigned dev_minor)
{
	struct layer *more;

	for (unsigned i = 0; i < walk->count; i++)
		if (walk->layer[i].major == dev_major && walk->layer[i].minor == dev_minor)
			return;
	more = grow(walk->layer, walk->count);
	if (more)
		*more = (struct layer){ dev_major, dev_minor };
	else
		walk->holds_root = true;
}

static void add(struct walk *walk, const char *dir, const char *name)
{
	unsigned dev_major, dev_minor;
	char text[32];

	if (kernel_sys_read(walk->root, text, sizeof(text), "%s/%.60s/dev", dir, name) > 0 &&
		sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2)
		add_number(walk, dev_major, dev_minor);
}

static void holder(const char *name, void *arg)
{
	add(arg, "sys/class/block", name);
}

struct parts {
	struct walk *walk;
	char dir[64];
};

static void partition(const char *name, void *arg)
{
	struct parts *parts = arg;
	char path[200];

	snprintf(path, sizeof(path), "%s/%.60s/partition", parts->dir, name);
	if (kernel_sys_exists(parts->walk->root, path))
		add(parts->walk, parts->dir, name);
}

static void mounted(unsigned id, const char *dir, void *arg)
{
	struct walk *walk = arg;
	unsigned *more = grow(walk->mount, walk->mounts);

	(void)dir;
	walk->holds_root |= kernel_root_mounts_has(&walk->system_mounts, id) || !more;
	if (more)
		*more = id;
}

/* Add a loop device whose file is on one of the layers' file systems. */
static void loop(const char *name, void *arg)
{
	struct walk *walk = arg;
	char file[512];
	unsigned id;

	if (strncmp(name, "loop", 4) ||
		kernel_sys_read(walk->root, file, sizeof(file),
			"sys/class/block/%.60s/loop/backing_file", name) <= 0)
		return;
	id = kernel_root_mounts_of(&walk->system_mounts, file);
	for (unsigned i = 0; i < walk->mounts; i++)
		if (walk->mount[i] == id) {
			add(walk, "sys/class/block", name);
			return;
		}
}

static void check_layer(struct walk *walk, const struct layer *layer)
{
	struct parts parts = { .walk = walk };
	char path[80];

	snprintf(parts.dir, sizeof(parts.dir), "sys/dev/block/%u:%u", layer->major, layer->minor);
	walk->holds_root |= kernel_holders_mounts(walk->root, layer->major, layer->minor, mounted,
				    walk) == -ENOMEM;
	snprintf(path, sizeof(path), "%s/holders", parts.dir);
	kernel_sys_list(walk->root, path, holder, walk);
	kernel_sys_list(walk->root, parts.dir, partition, &parts);
	kernel_sys_list(walk->root, "sys/class/block", loop, walk);
}

bool kernel_holders_root(int root, unsigned dev_major, unsigned dev_minor)
{
	struct walk walk = { .root = root };

	walk.holds_root = !kernel_root_mounts_read(root, &walk.system_mounts);
	add_number(&walk, dev_major, dev_minor);
	for (unsigned i = 0; i < walk.count && !walk.holds_root; i++) {
		const struct layer layer = walk.layer[i];

		check_layer(&walk, &layer);
	}
	kernel_root_mounts_free(&walk.system_mounts);
	free(walk.layer);
	free(walk.mount);
	return walk.holds_root;
}
