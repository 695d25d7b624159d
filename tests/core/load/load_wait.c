/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Waiting for a CPU: what the kernel's texts say, and when a report warns of it. */
#include "load_wait.h"
#include "load.h"
#include "says.h"
#include <criterion/criterion.h>
#include <stdlib.h>

Test(load_wait, texts_of_the_kernel)
{
	struct load_steal steal = { 0 };
	uint64_t ns = 0;

	cr_assert(load_wait_parse("1234567 890123 45\n", &ns));
	cr_assert_eq(ns, 890123);
	cr_assert_not(load_wait_parse("", &ns));
	cr_assert_not(load_wait_parse("12\n", &ns));
	cr_assert(load_steal_parse(
		"cpu  1 2 3 4 5 6 7 100 50 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n", &steal));
	cr_assert(steal.steal == 100 && steal.all == 128);
	cr_assert_not(load_steal_parse("cpu  1 2 3 4\n", &steal), "Linux before 2.6.11");
	cr_assert_not(load_steal_parse("intr 1 2 3 4 5 6 7 8 9", &steal));
}

static bool warns(double waiting, double stolen, const char *code, const char *words)
{
	struct load_report *report = calloc(1, sizeof(*report));
	bool found = false;

	report->result.seconds = 10;
	report->result.run_delay = waiting;
	report->result.steal = stolen;
	load_report_check(report);
	for (unsigned i = 0; i < report->warnings; i++)
		if (!strcmp(report->warning[i].code, code)) {
			text_says(report->warning[i].text, words);
			found = true;
		}
	free(report);
	return found;
}

Test(load_wait, a_busy_machine_is_reported)
{
	cr_assert(warns(.41, -1, "cpu-wait", "41 CPU other_processes"));
	cr_assert(warns(-1, .25, "steal", "25 CPU hypervisor"));
	cr_assert_not(warns(.02, .02, "cpu-wait", ""));
	cr_assert_not(warns(.02, .02, "steal", ""));
	cr_assert_not(warns(-1, -1, "cpu-wait", ""), "unknown");
}
