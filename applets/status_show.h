/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, as tables or JSON. */
#pragma once
#include "kernel.h"
#include "kernel_list.h"
#include "out.h"

struct status_show {
	bool gids, all; /* all: nothing was left out, so that "nothing" may be said */
	const struct identity *identity; /* NULL: not wanted */
};
void status_show(struct out *, const struct kernel_list *, const struct status_show *);
void status_json(struct out *, const struct kernel_list *); /* its part of it */
/* How long requests wait for a lost target, in the words of --on-loss; "" = not told. */
const char *status_policy(const struct list_loss *, char text[24]);
