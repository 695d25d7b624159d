/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Draw bars with text. */
#include "chart.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BAR_LEAST 10
#define BAR_MOST  40
#define VALUE     10 /* columns of a value */
#define BOUNDS    28 /* bytes for "1.23 MiB/s to 1.23 MiB/s" */

bool chart_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && locale[0])
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static void bounds_text(const struct chart_bar *bar, enum figure_kind kind, char text[BOUNDS])
{
	char low[24], high[24];

	text[0] = 0;
	if (bar->low < bar->high)
		snprintf(text, BOUNDS, "%s to %s", figure_text(bar->low, kind, low),
			figure_text(bar->high, kind, high));
}

/* Fill columns up to the lower bound, and shade those up to the upper one. */
static void draw(char *text, const struct chart_bar *bar, double most, unsigned width, bool utf8)
{
	double low = bar->low < bar->high ? bar->low : bar->value;
	double high = bar->low < bar->high ? bar->high : bar->value;

	text[0] = 0;
	for (unsigned i = 0; i < width; i++) {
		double middle = (i + 0.5) * most / width;

		strcat(text, middle < low    ? utf8 ? "█" : "#"
			     : middle < high ? utf8 ? "▒" : "="
					     : " ");
	}
}

void chart_bars(struct out *out, const struct chart_bar *bar, unsigned count, enum figure_kind kind,
	unsigned columns, bool utf8)
{
	char value[24], bounds[BOUNDS], drawn[BAR_MOST * 3 + 1];
	unsigned name = 0, text = 0, note = 0, fixed, width;
	double most = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned len = out_characters(bar[i].name);
		unsigned note_len = bar[i].note ? out_characters(bar[i].note) + 2 : 0;
		double high = bar[i].low < bar[i].high ? bar[i].high : bar[i].value;

		bounds_text(&bar[i], kind, bounds);
		name = len > name ? len : name;
		text = strlen(bounds) > text ? (unsigned)strlen(bounds) : text;
		note = note_len > note ? note_len : note;
		most = high > most ? high : most;
	}
	fixed = 2 + name + 2 + 2 + VALUE + (text ? text + 2 : 0) + note;
	width = columns > fixed + BAR_LEAST ? columns - fixed : BAR_LEAST;
	width = width < BAR_MOST ? width : BAR_MOST;
	for (unsigned i = 0; i < count; i++) {
		int pad = (int)(name - out_characters(bar[i].name));

		bounds_text(&bar[i], kind, bounds);
		draw(drawn, &bar[i], most, width, utf8);
		out_line(out, "  %s%*s |%s| %*s%s%-*s%s%s", bar[i].name, pad, "", drawn, VALUE,
			figure_text(bar[i].value, kind, value),
			bounds[0] || (text && bar[i].note) ? "  " : "", bar[i].note ? (int)text : 0,
			bounds, bar[i].note ? "  " : "", bar[i].note ? bar[i].note : "");
	}
}
