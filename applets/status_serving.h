/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is served, as a table or JSON. */
#pragma once
#include "kernel_serving.h"
#include "out.h"

/* Keep the processes that serve what the word means: the disk as it was given or by another path,
 * an NQN, a device, the path of a socket. False: none. */
bool serving_select(struct kernel_serving *, const char *word);
/* Nothing where there is none. before: an earlier sample, for rates; may be NULL. */
void serving_text(struct out *, const struct kernel_serving *, const struct kernel_serving *before);
void serving_json(struct out *, const struct kernel_serving *);
