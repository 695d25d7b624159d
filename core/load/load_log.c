/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keep the requests of a load in memory, and write them as fio does with --write_lat_log,
 * --log_offset and one file for all jobs. */
#include "load_log.h"
#include "report_file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PART_BYTES (sizeof(struct load_logged) * LOAD_LOG_ENTRIES)

int load_log_new(struct load_log **log, unsigned jobs, struct diag *diag)
{
	struct load_log *new = calloc(1, sizeof(*new) + jobs * sizeof(*new->part));

	*log = new;
	for (; new &&new->jobs < jobs; new->jobs++) {
		void *p = mmap(NULL, PART_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			break;
		new->part[new->jobs].entry = p;
	}
	return new &&new->jobs == jobs ? 0 : diag_sys(diag, ENOMEM, "log of requests");
}

void load_log_free(struct load_log *log)
{
	for (unsigned i = 0; log && i < log->jobs; i++)
		munmap(log->part[i].entry, PART_BYTES);
	free(log);
}

void load_log_add(struct load_log_part *part, const struct load_logged *logged)
{
	if (part->count < LOAD_LOG_ENTRIES)
		part->entry[part->count++] = *logged;
	else
		part->dropped++;
}

uint64_t load_log_dropped(const struct load_log *log)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < log->jobs; i++)
		sum += log->part[i].dropped;
	return sum;
}

/* The part whose next entry is the earliest; NULL: none has one. */
static const struct load_log_part *earliest(const struct load_log *log, const uint32_t *next)
{
	const struct load_log_part *first = NULL;
	uint64_t at = 0;

	for (unsigned i = 0; i < log->jobs; i++) {
		const struct load_log_part *part = &log->part[i];

		if (next[i] < part->count && (!first || part->entry[next[i]].at_ns < at)) {
			first = part;
			at = part->entry[next[i]].at_ns;
		}
	}
	return first;
}

int load_log_write(const struct load_log *log, const char *path, struct diag *diag)
{
	FILE *to = report_open(path, false, diag);
	uint32_t next[LOAD_JOBS_MAX] = { 0 };
	const struct load_log_part *part;

	if (!to)
		return -diag->err;
	while ((part = earliest(log, next))) {
		const struct load_logged *logged = &part->entry[next[part - log->part]++];

		fprintf(to, "%" PRIu64 ", %" PRIu64 ", %" PRIu32 ", %" PRIu32 ", %" PRIu64 ", 0\n",
			(uint64_t)(logged->at_ns / MSEC), logged->latency_ns, logged->direction,
			logged->len, logged->off);
	}
	return report_close(to, path, diag);
}
