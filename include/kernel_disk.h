/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether a local block device can be opened, and what uses it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Check that block device NAME ("sda") can be opened and has a size. Creates its node unless
 * something else does. A drive without a medium counts as ready. Returns 0 or -errno (-ENODEV: no
 * size yet). May block. */
int kernel_disk_opens(int root, const char *name);

struct out;
#define HOLDERS 8
struct holders { /* what holds a block device or a file; more than fit are left out */
	bool known;
	unsigned count;
	struct holder {
		char kind[8];    /* mount, swap, device; unknown: there may be others */
		char name[256];  /* mount: directory; device: "dm-0"; swap: "" */
		char label[128]; /* dm device: "vg-root" */
	} item[HOLDERS];
};
/* List the holders as text: "mounted on /, swap, md0, dm-0 (vg-root)"; "": none; and in `list`,
 * which may be NULL. Like the next three, returns 0, or -errno if the path can't be examined. */
int kernel_holders(int root, const char *path, struct holders *list, char *text, size_t len);
/* The same for the block device of that number, without a device node. */
int kernel_holders_of(int root, unsigned dev_major, unsigned dev_minor, struct holders *list,
	char *text, size_t len);
/* Whether the root or /usr file system is on the disk, its partitions, or on devices built on them:
 * dm, md, loop devices on its files, layers of an overlay; also if an initramfs mounts the future
 * or the former root from it. True if that can't be determined. */
bool kernel_holders_root(int root, unsigned dev_major, unsigned dev_minor);
/* Print them as the JSON array "holders", if known. */
void kernel_holders_put(struct out *, const struct holders *);
/* List other processes whose image locks (core/block/file_lock.c) exclude a writer: "open in
 * qemu-nbd (process 123)"; "": none visible. */
int kernel_lockers(int root, const char *path, char *text, size_t len);
/* List possible writers of a file or device: file systems not mounted read-only, also on
 * partitions, dm, md and loop devices above it; swap; processes with a writer's image lock.
 * "": none known. */
int kernel_writers(int root, const char *path, char *text, size_t len);
/* List other processes that have it open, according to /proc: "open in fio (process 123), open in
 * qemu (process 99)"; and mounts in other mount namespaces, which are not holders. */
int kernel_openers(int root, const char *device, char *text, size_t len);
/* Return how block device NAME ("ublkb0") is used, with its holders or else its openers as text.
 * Needs no /dev. UNKNOWN: this root has no /sys or /proc. */
enum kernel_use { KERNEL_UNUSED, KERNEL_OPEN, KERNEL_HELD, KERNEL_UNKNOWN };
enum kernel_use kernel_use_of(int root, const char *name, char *text, size_t len);
