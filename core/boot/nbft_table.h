/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One NBFT. */
#pragma once
#include "kernel_nbft.h"

/* Parse a table. Invalid descriptors are left out and listed. Errors: -EBADMSG for a table that
 * is invalid as a whole. */
int kernel_nbft_table(const void *bytes, size_t len, struct nbft *, struct diag *);
const struct nbft_hfi_info *kernel_nbft_hfi(const struct nbft *, unsigned index); /* NULL: none */
