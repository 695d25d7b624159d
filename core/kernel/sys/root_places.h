/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The mounts of the running system. */
#pragma once
#include <stdbool.h>

struct place;
struct root_places {
	char *text[2];       /* mountinfo of this process and of process 1 */
	struct place *place; /* every mount of both */
	unsigned count;
};
/* False: out of memory, the list is incomplete. Free it in either case. */
bool kernel_root_places_read(int root, struct root_places *);
/* id: the first number in mountinfo */
bool kernel_root_places_has(const struct root_places *, unsigned id);
/* The mount that contains a path; 0: none. */
unsigned kernel_root_places_of(const struct root_places *, const char *path);
void kernel_root_places_free(struct root_places *);
