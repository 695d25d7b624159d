/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory for secrets that live longer than the call that has read them. */
#pragma once
#include <stddef.h>

/* Return zeroed memory in pages of its own, which are in no core dump, are zero in child processes,
 * and are never swapped out as far as RLIMIT_MEMLOCK allows. Freed by secret_free(). NULL: no
 * memory. */
void *secret_alloc(size_t len);
/* Let child processes have copies of it, too. */
void secret_inherit(void *);
/* Wipe and free it. NULL is allowed. */
void secret_free(void *);
