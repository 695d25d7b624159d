/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the mounts of the running system: its root, where an initramfs mounts it or moves the former
 * one, live media, and the layers of an overlay. */
#include "root_mounts.h"
#include "grow.h"
#include "kernel_sys.h"
#include <stdlib.h>
#include <string.h>

struct mount {
	unsigned id;
	const char *dir, *type, *super;
	bool is_system, layers_done; /* the system is on it; its overlay layers were marked */
};

static const char *const dirs[] = { "/", "/usr",
	/* the future root, of dracut, initramfs-tools, mkinitcpio and others */
	"/sysroot", "/newroot", "/new_root", "/root",
	/* the former root: systemd-shutdown, dracut, pivot_root(8) */
	"/oldroot", "/oldsys", "/old_root", "/initrd",
	/* media: live-boot, dracut, casper, archiso */
	"/run/live/medium", "/lib/live/mount/medium", "/run/initramfs/live",
	"/run/initramfs/isoscan", "/run/rootfsbase", "/cdrom", "/isodevice",
	"/run/archiso/bootmnt" };

static bool is_one_of(const char *word, const char *const *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool read_line(char *line, struct mount *mount)
{
	char *rest = line, *field[5], *end;

	for (int i = 0; i < 5; i++)
		field[i] = strsep(&rest, " ");
	end = rest ? strstr(rest, " - ") : NULL;
	if (!end)
		return false;
	end += 3;
	*mount = (struct mount){ .id = (unsigned)strtoul(field[0], NULL, 10),
		.dir = kernel_sys_unescape(field[4]),
		.type = strsep(&end, " ") };
	strsep(&end, " ");
	mount->super = end ? end : "";
	mount->is_system = is_one_of(mount->dir, dirs, sizeof(dirs) / sizeof(*dirs));
	return true;
}

static bool read_view(struct root_mounts *all, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct mount one, *more;

		if (!read_line(line, &one))
			continue;
		more = grow(all->mount, all->count);
		if (!more)
			return false;
		*more = one;
	}
	return true;
}

/* The last of those with the longest path, as a later mount covers earlier ones. */
static struct mount *covering(const struct root_mounts *all, const char *path)
{
	struct mount *best = NULL;
	size_t best_len = 0;

	for (unsigned i = 0; i < all->count; i++) {
		size_t len = strlen(all->mount[i].dir);

		if (len == 1)
			len = 0;
		if (!strncmp(all->mount[i].dir, path, len) && (!path[len] || path[len] == '/') &&
			(!best || len >= best_len)) {
			best = &all->mount[i];
			best_len = len;
		}
	}
	return best;
}

/* If the layers of a live system can't be found by path any more, recognise them by file system
 * type. */
static void mark_images(struct root_mounts *all)
{
	static const char *const kinds[] = { "squashfs", "erofs", "iso9660", "udf" };

	for (unsigned i = 0; i < all->count; i++)
		all->mount[i].is_system |=
			is_one_of(all->mount[i].type, kinds, sizeof(kinds) / sizeof(*kinds));
}

/* Split "/a:/b\:c" in place: returns the first without backslashes, advances to the rest. */
static char *next_layer(char **list)
{
	char *from = *list, *to = from, *first = from;

	for (; *from && *from != ':'; from++) {
		from += *from == '\\' && from[1];
		*to++ = *from;
	}
	*list = *from ? from + 1 : NULL;
	*to = 0;
	return first;
}

static void mark_layers(struct root_mounts *all, const struct mount *overlay, char *layers)
{
	for (char *rest = layers; rest;) {
		const char *path = next_layer(&rest);
		struct mount *below = *path == '/' ? covering(all, path) : NULL;

		if (below && below->id != overlay->id)
			below->is_system = true;
		else if (*path)
			mark_images(all);
	}
}

/* "rw,lowerdir=/a:/b,upperdir=/c,workdir=/d"; since Linux 6.8 each layer may be in its own
 * lowerdir+= */
static bool mark_overlay(struct root_mounts *all, const struct mount *overlay)
{
	static const char *const keys[] = { "lowerdir=", "lowerdir+=", "datadir+=", "upperdir=" };
	char *super = strdup(overlay->super), *rest = super, *word;

	while ((word = strsep(&rest, ",")))
		for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (!strncmp(word, keys[i], strlen(keys[i])))
				mark_layers(
					all, overlay, kernel_sys_unescape(word + strlen(keys[i])));
	free(super);
	return super;
}

bool kernel_root_mounts_read(int root, struct root_mounts *all)
{
	static const char *const views[] = { "proc/self/mountinfo", "proc/1/mountinfo" };
	bool complete = true;

	*all = (struct root_mounts){ 0 };
	for (unsigned i = 0; i < 2; i++) {
		all->text[i] = kernel_sys_read_all(root, views[i]);
		complete &= !all->text[i] || read_view(all, all->text[i]);
	}
	for (unsigned i = 0; i < all->count; i++) {
		struct mount *mount = &all->mount[i];

		if (!mount->is_system || mount->layers_done || strcmp(mount->type, "overlay"))
			continue;
		mount->layers_done = true;
		complete &= mark_overlay(all, mount);
		i = (unsigned)-1; /* restart: the new one may precede the current one */
	}
	return complete;
}

bool kernel_root_mounts_has(const struct root_mounts *all, unsigned id)
{
	for (unsigned i = 0; i < all->count; i++)
		if (all->mount[i].id == id && all->mount[i].is_system)
			return true;
	return false;
}

unsigned kernel_root_mounts_of(const struct root_mounts *all, const char *path)
{
	const struct mount *mount = *path == '/' ? covering(all, path) : NULL;

	return mount ? mount->id : 0;
}

void kernel_root_mounts_free(struct root_mounts *all)
{
	for (unsigned i = 0; i < 2; i++)
		free(all->text[i]);
	free(all->mount);
}
