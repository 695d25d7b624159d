/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the kernel's log from a mark on (/dev/kmsg, Documentation/ABI/testing/dev-kmsg). */
#include "kernel_log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void kernel_log_mark(int root, struct kernel_log *log)
{
	log->fd = openat(root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log->fd >= 0)
		lseek(log->fd, 0, SEEK_END);
}

/* "4,1234,98765,-;scsi host6: ib_srp: …", then lines about it that begin with a blank. */
static void add_record(char *record, bool (*match)(const char *line), char *text, size_t len)
{
	char *rest = record, *line, *message;

	while ((line = strsep(&rest, "\n"))) {
		size_t at = strlen(text);

		message = strchr(line, ';');
		if (line[0] != ' ' && message && match(message + 1) &&
			at + strlen(message + 1) + 2 <= len)
			snprintf(text + at, len - at, "%s\n", message + 1);
	}
}

void kernel_log_since(
	struct kernel_log *log, bool (*match)(const char *line), char *text, size_t len)
{
	char record[8192];
	ssize_t got;

	text[0] = 0;
	if (log->fd <= 0)
		return;
	/* Each read returns one record; EPIPE: some were lost */
	while (match && ((got = read(log->fd, record, sizeof(record) - 1)) > 0 ||
				(got < 0 && (errno == EPIPE || errno == EINTR)))) {
		if (got < 0)
			continue;
		record[got] = 0;
		add_record(record, match, text, len);
	}
	close(log->fd);
	log->fd = -1;
}
