/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print tables as text. */
#include "out.h"
#include <stdio.h>
#include <string.h>

/* Count characters of UTF-8, not bytes. */
static unsigned width(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

void table_row(struct table *table, const char *const *cell)
{
	char line[TABLE_LINE];
	size_t at = 0;

	line[0] = 0;
	for (unsigned i = 0; i < table->columns; i++) {
		const char *text = cell[i][0] ? cell[i] : "-";
		unsigned is = width(text);

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
