/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logs of requests: the parts of all jobs in order of time, and what has no room. */
#include "load_log.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000u

static struct load_log *new (unsigned jobs)
{
	struct load_log *log;

	cr_assert_eq(load_log_new(&log, jobs, NULL), 0);
	return log;
}

static bool warns(struct load_log *log)
{
	static struct load_report report;

	report = (struct load_report){ .load = { .log = log, .read_percent = 100 } };
	load_report_check(&report);
	for (unsigned i = 0; i < report.warnings; i++)
		if (!strcmp(report.warning[i].code, "log-full"))
			return true;
	return false;
}

Test(load_log, merges_the_jobs_by_time)
{
	char path[] = "/tmp/load_log.XXXXXX", text[512] = "";
	struct load_log *log = new (3);
	int fd = mkstemp(path);

	load_log_add(&log->part[2], &(struct load_logged){ 1 * MS, 7, 4096, 512, 1 });
	load_log_add(&log->part[2], &(struct load_logged){ 5 * MS, 8, 1ull << 40, 512, 2 });
	load_log_add(&log->part[0], &(struct load_logged){ 2 * MS, 9, 0, 4096, 0 });
	load_log_add(&log->part[0], &(struct load_logged){ 5 * MS - 1, 10, 512, 4096, 0 });
	cr_assert_not(warns(log));
	cr_assert_eq(load_log_write(log, path, NULL), 0);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	cr_assert_str_eq(text, "1, 7, 1, 512, 4096, 0\n"
			       "2, 9, 0, 4096, 0, 0\n"
			       "4, 10, 0, 4096, 512, 0\n"
			       "5, 8, 2, 512, 1099511627776, 0\n");
	close(fd);
	unlink(path);
	load_log_free(log);
}

Test(load_log, counts_what_has_no_room)
{
	struct load_log *log = new (2);

	log->part[1].count = LOAD_LOG_ENTRIES - 1;
	for (unsigned i = 0; i < 3; i++)
		load_log_add(&log->part[1], &(struct load_logged){ .at_ns = i });
	cr_assert_eq(log->part[1].count, LOAD_LOG_ENTRIES);
	cr_assert_eq(log->part[1].entry[LOAD_LOG_ENTRIES - 1].at_ns, 0);
	cr_assert_eq(load_log_dropped(log), 2);
	cr_assert(warns(log));
	load_log_free(log);
	load_log_free(NULL);
}
