/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Bars of text: lengths, bounds, narrow terminals, locales. */
#include "chart.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *text;

static const char *bars(const struct chart_bar *bar, unsigned count, unsigned columns, bool utf8)
{
	struct out out;
	size_t len;

	free(text);
	out_init(&out, "bench", false);
	out.to = open_memstream(&text, &len);
	chart_bars(&out, bar, count, FIGURE_COUNT, columns, utf8);
	fclose(out.to);
	return text;
}

Test(chart_bars, lengths_and_bounds)
{
	static const struct chart_bar bar[] = { { "NVMe/TCP", 15000, 10000, 20000, "faster" },
		{ "iSCSI", 10000, 0, 0, NULL }, { "dead", 0, 0, 0, "refused" } };

	cr_assert_str_eq(bars(bar, 3, 69, false),
		"  NVMe/TCP |##########==========|      15.0k  10.0k to 20.0k  faster\n"
		"  iSCSI    |##########          |      10.0k\n"
		"  dead     |                    |          0                  refused\n",
		"%s", text);
	cr_assert_not_null(strstr(bars(bar, 3, 69, true), "|██████████▒▒▒▒▒▒▒▒▒▒|"), "%s", text);
}

Test(chart_bars, narrow_and_wide)
{
	static const struct chart_bar bar[] = { { "a", 1, 0, 0, NULL } };

	cr_assert_not_null(strstr(bars(bar, 1, 10, false), "|##########|"), "%s", text);
	cr_assert_not_null(
		strstr(bars(bar, 1, 500, false), "|########################################|"),
		"%s", text);
}

Test(chart_bars, names_from_outside)
{
	static const struct chart_bar bar[] = { { "ä\x1b[2J\n\xff", 1, 0, 0, "\a" },
		{ "bbbbbb", 1, 0, 0, NULL } };

	bars(bar, 2, 40, false);
	cr_assert_eq(strspn(text, "\x1b\xff\a"), 0);
	cr_assert_null(strpbrk(text, "\x1b\xff\a"), "%s", text);
	cr_assert_eq(strstr(text, "|") - text, 2 + 8 + 1, "%s", text);
}

Test(chart_bars, no_bar_at_all)
{
	cr_assert_eq(strlen(bars(NULL, 0, 80, false)), 0);
}

Test(chart_bars, locales)
{
	unsetenv("LC_ALL");
	unsetenv("LC_CTYPE");
	unsetenv("LANG");
	cr_assert_not(chart_utf8());
	setenv("LANG", "C.UTF-8", 1);
	cr_assert(chart_utf8());
	setenv("LC_CTYPE", "de_DE.utf8", 1);
	cr_assert(chart_utf8());
	setenv("LC_CTYPE", "", 1);
	cr_assert(chart_utf8());
	setenv("LC_ALL", "C", 1);
	cr_assert_not(chart_utf8());
}
