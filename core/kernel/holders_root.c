/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether the system itself stands on a disk, through any layers of partitions, dm and md. */
#include "holders.h"
#include "sys.h"
#include <stdio.h>
#include <string.h>

#define LAYERS 64

struct layers {
	int root;
	struct {
		unsigned major, minor;
	} device[LAYERS];
	unsigned count;
};

static void add(struct layers *layers, const char *fmt, const char *a, const char *b)
{
	unsigned dev_major, dev_minor;
	char path[200], text[32];

	snprintf(path, sizeof(path), fmt, a, b);
	if (layers->count == LAYERS || sys_read(layers->root, text, sizeof(text), "%s", path) <= 0 ||
		sscanf(text, "%u:%u", &dev_major, &dev_minor) != 2)
		return;
	for (unsigned i = 0; i < layers->count; i++)
		if (layers->device[i].major == dev_major && layers->device[i].minor == dev_minor)
			return;
	layers->device[layers->count].major = dev_major;
	layers->device[layers->count++].minor = dev_minor;
}

static void holder(const char *name, void *arg)
{
	add(arg, "sys/class/block/%.60s/dev%s", name, "");
}

struct parts {
	struct layers *layers;
	char dir[64];
};

static void partition(const char *name, void *arg)
{
	struct parts *parts = arg;
	char path[200];

	snprintf(path, sizeof(path), "%s/%.60s/partition", parts->dir, name);
	if (sys_exists(parts->layers->root, path))
		add(parts->layers, "%s/%.60s/dev", parts->dir, name);
}

/* Among "mounted on /boot, mounted on /, swap". */
static bool carries(const char *who)
{
	static const char *const places[] = { "mounted on /", "mounted on /usr", "mounted on /sysroot", "mounted on /newroot",
		"mounted on /root" };

	for (const char *at = who; *at; at += strspn(at, ", ")) {
		size_t len = strcspn(at, ",");

		for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
			if (len == strlen(places[i]) && !strncmp(at, places[i], len))
				return true;
		at += len;
	}
	return false;
}

bool holders_root(int root, unsigned dev_major, unsigned dev_minor)
{
	struct layers layers = { .root = root, .device[0] = { dev_major, dev_minor }, .count = 1 };

	for (unsigned i = 0; i < layers.count; i++) {
		struct parts parts = { .layers = &layers };
		char who[1000], path[80];

		snprintf(parts.dir, sizeof(parts.dir), "sys/dev/block/%u:%u", layers.device[i].major, layers.device[i].minor);
		if (holders_of(root, layers.device[i].major, layers.device[i].minor, who, sizeof(who)) == 0 && carries(who))
			return true;
		snprintf(path, sizeof(path), "%s/holders", parts.dir);
		sys_list(root, path, holder, &layers);
		sys_list(root, parts.dir, partition, &parts);
	}
	return false;
}
