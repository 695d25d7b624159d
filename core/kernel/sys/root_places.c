/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the mounts of the running system: its root, where an initramfs mounts it or moves the former
 * one, live media, and the layers of an overlay. */
#include "root_places.h"
#include "grow.h"
#include "sys.h"
#include <stdlib.h>
#include <string.h>

struct place {
	unsigned id;
	const char *dir, *type, *super;
	bool stands, looked; /* stands: the system is on it; looked: its layers were handled */
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
static bool read_line(char *line, struct place *place)
{
	char *rest = line, *field[5], *end;

	for (int i = 0; i < 5; i++)
		field[i] = strsep(&rest, " ");
	end = rest ? strstr(rest, " - ") : NULL;
	if (!end)
		return false;
	end += 3;
	*place = (struct place){ .id = (unsigned)strtoul(field[0], NULL, 10),
		.dir = kernel_sys_unescape(field[4]),
		.type = strsep(&end, " ") };
	strsep(&end, " ");
	place->super = end ? end : "";
	place->stands = is_one_of(place->dir, dirs, sizeof(dirs) / sizeof(*dirs));
	return true;
}

static bool read_view(struct root_places *all, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct place one, *more;

		if (!read_line(line, &one))
			continue;
		more = grow(all->place, all->count);
		if (!more)
			return false;
		*more = one;
	}
	return true;
}

/* The last of those with the longest path, as a later mount covers earlier ones. */
static struct place *covering(const struct root_places *all, const char *path)
{
	struct place *best = NULL;
	size_t best_len = 0;

	for (unsigned i = 0; i < all->count; i++) {
		size_t len = strlen(all->place[i].dir);

		if (len == 1)
			len = 0;
		if (!strncmp(all->place[i].dir, path, len) && (!path[len] || path[len] == '/') &&
			(!best || len >= best_len)) {
			best = &all->place[i];
			best_len = len;
		}
	}
	return best;
}

/* If the layers of a live system can't be found by path any more, recognise them by file system
 * type. */
static void stands_on_images(struct root_places *all)
{
	static const char *const kinds[] = { "squashfs", "erofs", "iso9660", "udf" };

	for (unsigned i = 0; i < all->count; i++)
		all->place[i].stands |=
			is_one_of(all->place[i].type, kinds, sizeof(kinds) / sizeof(*kinds));
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

static void look_below(struct root_places *all, const struct place *overlay, char *layers)
{
	for (char *rest = layers; rest;) {
		const char *path = next_layer(&rest);
		struct place *below = *path == '/' ? covering(all, path) : NULL;

		if (below && below->id != overlay->id)
			below->stands = true;
		else if (*path)
			stands_on_images(all);
	}
}

/* "rw,lowerdir=/a:/b,upperdir=/c,workdir=/d"; since Linux 6.8 each layer may be in its own
 * lowerdir+= */
static bool look_into(struct root_places *all, const struct place *overlay)
{
	static const char *const keys[] = { "lowerdir=", "lowerdir+=", "datadir+=", "upperdir=" };
	char *super = strdup(overlay->super), *rest = super, *word;

	while ((word = strsep(&rest, ",")))
		for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (!strncmp(word, keys[i], strlen(keys[i])))
				look_below(
					all, overlay, kernel_sys_unescape(word + strlen(keys[i])));
	free(super);
	return super;
}

bool kernel_root_places_read(int root, struct root_places *all)
{
	static const char *const views[] = { "proc/self/mountinfo", "proc/1/mountinfo" };
	bool whole = true;

	*all = (struct root_places){ 0 };
	for (unsigned i = 0; i < 2; i++) {
		all->text[i] = kernel_sys_read_all(root, views[i]);
		whole &= !all->text[i] || read_view(all, all->text[i]);
	}
	for (unsigned i = 0; i < all->count; i++) {
		struct place *place = &all->place[i];

		if (!place->stands || place->looked || strcmp(place->type, "overlay"))
			continue;
		place->looked = true;
		whole &= look_into(all, place);
		i = (unsigned)-1; /* restart: the new one may precede the current one */
	}
	return whole;
}

bool kernel_root_places_has(const struct root_places *all, unsigned id)
{
	for (unsigned i = 0; i < all->count; i++)
		if (all->place[i].id == id && all->place[i].stands)
			return true;
	return false;
}

unsigned kernel_root_places_of(const struct root_places *all, const char *path)
{
	const struct place *place = *path == '/' ? covering(all, path) : NULL;

	return place ? place->id : 0;
}

void kernel_root_places_free(struct root_places *all)
{
	for (unsigned i = 0; i < 2; i++)
		free(all->text[i]);
	free(all->place);
}
