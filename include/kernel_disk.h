/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A block device of this machine: whether it opens, and who uses it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* 0: the block device has a node, made where nothing else makes it, and opens; a drive without a
 * medium counts, a disk whose size is not known yet does not. May block. */
int kernel_disk_opens(int root, const char *name);

struct out;
/* What holds a block device or a file; more than fit are left out. */
#define HOLDERS 8
struct holders {
	bool known;
	unsigned count;
	struct holder {
		char kind[8];    /* mount, swap, device; unknown: there may be others */
		char name[256];  /* of a mount: its directory; of a device: "dm-0"; swap: "" */
		char label[128]; /* of a dm device: "vg-root" */
	} item[HOLDERS];
};
/* "mounted on /, swap, md0, dm-0 (vg-root)"; "" = nothing does. list: the same; NULL is allowed. */
int kernel_holders(int root, const char *path, struct holders *list, char *text, size_t len);
/* JSON array "holders", if known */
void kernel_holders_put(struct out *, const struct holders *);
/* Other processes whose image locks (core/block/file_lock.c) hinder a writer: "open in qemu-nbd
 * (process 123)"; "" = none that can be seen. */
int kernel_lockers(int root, const char *path, char *text, size_t len);
/* What may write to a file or device while it is read: file systems that are not mounted read-only,
 * also above partitions, dm, md and loop devices; swap; processes with a writer's image lock.
 * "" = nothing known. */
int kernel_writers(int root, const char *path, char *text, size_t len);
/* Other processes that have it open, as far as /proc tells: "open in fio (process 123), open in
 * qemu (process 99)"; and mounts that are no holders, as they are in other mount namespaces. */
int kernel_openers(int root, const char *device, char *text, size_t len);
/* How the block device NAME ("ublkb0") is used, and by what: needs no /dev. UNKNOWN: this root does
 * not have /sys and /proc (any more). */
enum kernel_use { KERNEL_UNUSED, KERNEL_OPEN, KERNEL_HELD, KERNEL_UNKNOWN };
enum kernel_use kernel_use_of(int root, const char *name, char *text, size_t len);
