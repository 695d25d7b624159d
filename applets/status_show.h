/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, as tables or JSON. */
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
void status_show(struct out *, const struct kernel_list *, const struct status_show *);
void status_json(struct out *, const struct kernel_list *); /* its part of it */
/* Of iSCSI sessions: tables, nothing where there is none; members of a path's object. */
void status_iscsi(struct out *, const struct kernel_list *, bool verbose);
void status_iscsi_json(struct out *, const struct list_link *, const struct list_path *);
/* How long requests wait for a lost target, in the words of --on-loss; "" = unknown. */
const char *status_policy(const struct list_loss *, char text[24]);
/* JSON; nothing if it is off or unknown */
void status_seconds(struct out *, const char *key, int value);
const char *status_size(uint64_t bytes, char text[16]); /* "64MiB"; "" = 0 */
