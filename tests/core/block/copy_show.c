/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The text of a copy's progress and result. */
#include "../../../core/block/copy_show.h"
#include <criterion/criterion.h>
#include <string.h>

Test(copy_show, the_bar_fits_and_keeps_its_width)
{
	struct copy_progress p = { .total = 1 << 30, .rate = 123 << 20, .left = 59 };
	char line[COPY_LINE];
	size_t columns, begin = 0;

	for (columns = 1; columns < 200; columns++) {
		copy_bar(&p, false, (unsigned)columns, line);
		cr_assert_eq(!!strchr(line, '['), columns >= 73, "%zu: %s", columns, line);
		cr_assert(columns < 73 || strlen(line) <= columns, "%zu: %s", columns, line);
	}
	for (p.done = 0; p.done <= p.total; p.done += 1 << 24) {
		copy_bar(&p, false, 200, line);
		begin = begin ? begin : strcspn(line, "]");
		cr_assert_eq(strcspn(line, "]"), begin, "%s", line);
	}
	cr_assert(strstr(line, "[========================================] 100%"), "%s", line);
}

Test(copy_show, the_bar_has_what_is_known)
{
	static const struct {
		struct copy_progress p;
		bool waiting;
		const char *line;
	} rows[] = {
		{ { .done = 1 << 20 }, false, "copying  1 MiB" },
		{ { .done = 1 << 20, .total = 1 << 21, .verifying = true }, false,
			"verifying  50%  1 MiB of 2 MiB" },
		{ { .done = 1 << 20, .rate = 1 << 20, .left = 61 }, false,
			"copying  1 MiB  1 MiB/s  1:01 left" },
		{ { .done = 1 << 20, .rate = 1 << 20, .left = 3661, .bad = 4096 }, false,
			"copying  1 MiB  1 MiB/s  1:01:01 left  4 KiB unreadable" },
		{ { .done = 1 << 20, .rate = 1 << 20, .left = 61 }, true,
			"copying  1 MiB  waiting for the connection" },
	};
	char line[COPY_LINE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(copy_bar(&rows[i].p, rows[i].waiting, 40, line), rows[i].line);
}

Test(copy_show, the_result_has_rate_zeroes_and_verification)
{
	const struct copy_progress p = { .read = 4 << 20,
		.copied = 3 << 20,
		.zeroed = 1 << 20,
		.copy_seconds = 2,
		.seconds = 2.25 };
	const struct copy_progress zeroes = { .skipped = 1 << 20, .copy_seconds = 0.0051 };
	char line[COPY_LINE];

	cr_assert_str_eq(copy_result_text(&p, true, line),
		"copied 4 MiB in 2.0 s (2 MiB/s), 1 MiB of it zeroes, verified in 250 ms");
	cr_assert_str_eq(
		copy_result_text(&zeroes, false, line), "copied 1 MiB in 5.1 ms, all of it zeroes");
}
