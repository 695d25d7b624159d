/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the kernel's statistics of waiting for a CPU, at the start and the end of a load only. */
#include "load_wait.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

bool load_wait_parse(const char *text, uint64_t *wait_ns)
{
	uint64_t run;

	return sscanf(text, "%" SCNu64 " %" SCNu64, &run, wait_ns) == 2;
}

/* user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user. */
bool load_steal_parse(const char *text, struct load_steal *to)
{
	uint64_t t[8];

	if (sscanf(text,
		    "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu64 " %" SCNu64,
		    &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return false;
	*to = (struct load_steal){ .steal = t[7] };
	for (unsigned i = 0; i < 8; i++)
		to->all += t[i];
	return true;
}

int load_wait_open(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

static bool read_text(int fd, char text[256])
{
	ssize_t len = fd < 0 ? -1 : pread(fd, text, 255, 0);

	text[len > 0 ? len : 0] = 0;
	return len > 0;
}

bool load_wait_read(int fd, uint64_t *wait_ns)
{
	char text[256];

	return read_text(fd, text) && load_wait_parse(text, wait_ns);
}

bool load_steal_read(struct load_steal *to)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	char text[256];
	bool known = read_text(fd, text) && load_steal_parse(text, to);

	if (fd >= 0)
		close(fd);
	return known;
}
