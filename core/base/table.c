/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print tables as text. */
#include "out.h"
#include <stdio.h>
#include <string.h>

void table_row(struct table *table, const char *const *cell)
{
	char line[TABLE_LINE];
	size_t at = 0;

	line[0] = 0;
	for (unsigned i = 0; i < table->columns; i++) {
		const char *text = cell[i][0] ? cell[i] : "-";
		unsigned is = out_characters(text);

		if (!table->print && is > table->width[i])
			table->width[i] = is;
		if (at < sizeof(line))
			at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s%*s",
				i ? "  " : "", text,
				i + 1 < table->columns && table->width[i] > is
					? (int)(table->width[i] - is)
					: 0,
				"");
	}
	if (table->print)
		out_line(table->out, "%s", line);
}

bool table_pass(struct table *table, const char *const *head)
{
	table->print = table->passes;
	if (table->passes++ == 2)
		return false;
	table_row(table, head);
	return true;
}
