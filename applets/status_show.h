/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, as tables or JSON. */
#pragma once
#include "kernel.h"
#include "kernel_list.h"
#include "out.h"

struct status_show {
	bool verbose, gids, all; /* verbose: more columns; all: nothing was left out, so that "nothing" may be said */
	const struct identity *identity; /* NULL: not wanted */
};
void status_show(struct out *, const struct kernel_list *, const struct status_show *);
void status_json(struct out *, const struct kernel_list *); /* its part of it */
/* How long requests wait for a lost target, in the words of --on-loss; "" = not told. */
/* Of iSCSI sessions: tables, nothing where there is none; members of a path's object. */
void status_iscsi(struct out *, const struct kernel_list *, bool verbose);
void status_iscsi_json(struct out *, const struct list_iscsi *, const struct list_path *);
const char *status_policy(const struct list_loss *, char text[24]);
