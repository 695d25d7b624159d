/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables in text, with columns as wide as what is in them. Rows are put twice, once to measure and
 * once to print: while (table_pass(&table, head)) table_row(…) for each. */
#pragma once
#include "out.h"

#define TABLE_COLUMNS 14
#define TABLE_LINE    4096

struct table {
	struct out *out;
	unsigned columns, width[TABLE_COLUMNS], passes;
	bool print; /* false: measure */
};
#define TABLE(out, head)                                                                           \
	{                                                                                          \
		out, sizeof(head) / sizeof(*(head)), { 0 }, 0, false                               \
	}
/* Puts the row of heads. False: both passes are over. */
bool table_pass(struct table *, const char *const *head);
/* "" is printed as "-"; the last column has no width */
void table_row(struct table *, const char *const *cell);
