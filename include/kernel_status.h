/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached and served, as tables or JSON. */
#pragma once
#include "kernel_identity.h"
#include "kernel_list.h"
#include "kernel_serving.h"
#include "out.h"

struct status_show {
	/* verbose: more columns; all: nothing was left out, so that "nothing" may be said */
	bool verbose, gids, all;
	const struct identity *identity;               /* NULL: not wanted */
	const struct kernel_serving *serving, *before; /* now, and an earlier sample or NULL */
};
void kernel_status_show(struct out *, const struct kernel_list *, const struct status_show *);

/* Keep the processes that serve what the word means: the disk as it was given or by another path,
 * an NQN, a device, the path of a socket. False: none. */
bool kernel_serving_select(struct kernel_serving *, const char *word);
