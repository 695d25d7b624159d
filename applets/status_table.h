/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Columns as wide as what is in them. Rows are put twice: once to measure, once to print. */
#pragma once
#include "out.h"

#define TABLE_COLUMNS 14
#define TABLE_LINE    4096

struct table {
	struct out *out;
	unsigned columns, width[TABLE_COLUMNS];
	bool print; /* false: measure */
};
/* "" is printed as "-"; the last column has no width */
void table_row(struct table *, const char *const *cell);
