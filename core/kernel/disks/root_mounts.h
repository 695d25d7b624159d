/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The mounts of the running system. */
#pragma once
#include <stdbool.h>

struct mount;
struct root_mounts {
	char *text[2];       /* mountinfo of this process and of process 1 */
	struct mount *mount; /* every mount of both */
	unsigned count;
};
/* Read both lists. False: out of memory, incomplete. Free it in either case. */
bool kernel_root_mounts_read(int root, struct root_mounts *);
/* Whether the running system is on the mount with this ID of mountinfo. */
bool kernel_root_mounts_has(const struct root_mounts *, unsigned id);
/* Return the ID of the mount that contains a path; 0: none. */
unsigned kernel_root_mounts_of(const struct root_mounts *, const char *path);
void kernel_root_mounts_free(struct root_mounts *);
