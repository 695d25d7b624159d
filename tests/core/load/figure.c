/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Figures have three significant digits, and carry into the next unit. */
#include "figure.h"
#include <criterion/criterion.h>

static void prints(double value, enum figure_kind kind, const char *expected)
{
	char text[24];

	cr_assert_str_eq(figure_text(value, kind, text), expected, "%s, not %s", text, expected);
}

Test(figure, three_digits)
{
	prints(0, FIGURE_COUNT, "0");
	prints(7, FIGURE_COUNT, "7");
	prints(999.4, FIGURE_COUNT, "999");
	prints(999.6, FIGURE_COUNT, "1.00k");
	prints(12345, FIGURE_COUNT, "12.3k");
	prints(99960, FIGURE_COUNT, "100k");
	prints(1234567, FIGURE_COUNT, "1.23M");
	prints(5e15, FIGURE_COUNT, "5000T");
	prints(999, FIGURE_NS, "999 ns");
	prints(1000, FIGURE_NS, "1.00 us");
	prints(45678, FIGURE_NS, "45.7 us");
	prints(999.6e6, FIGURE_NS, "1.00 s");
	prints(61e9, FIGURE_NS, "61.0 s");
	prints(1000, FIGURE_RATE, "1000 byte/s");
	prints(1536, FIGURE_RATE, "1.50 KiB/s");
	prints(1023.6 * 1048576, FIGURE_RATE, "1.00 GiB/s");
	prints(99, FIGURE_PERCENT, "99 %");
}
