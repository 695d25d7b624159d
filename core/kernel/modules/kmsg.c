/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the kernel's log (/dev/kmsg, Documentation/ABI/testing/dev-kmsg). */
#include "kernel_log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void kernel_log_mark(int root, struct kernel_log *log)
{
	log->fd = openat(root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log->fd >= 0)
		lseek(log->fd, 0, SEEK_END);
}

/* "4,1234,98765,-;scsi host6: ib_srp: …", then lines about it that begin with a blank. Programs
 * write with facilities from 8 on. */
static void pass_record(char *record, void (*each)(const char *line, void *arg), void *arg)
{
	char *rest = record, *line, *message;

	while ((line = strsep(&rest, "\n"))) {
		message = strchr(line, ';');
		if (line[0] != ' ' && message && strtoul(line, NULL, 10) < 8)
			each(message + 1, arg);
	}
}

static void read_records(int fd, void (*each)(const char *line, void *arg), void *arg)
{
	char record[8192];
	ssize_t got;

	/* Each read returns one record; EPIPE: some were lost */
	while ((got = read(fd, record, sizeof(record) - 1)) > 0 ||
		(got < 0 && (errno == EPIPE || errno == EINTR))) {
		if (got < 0)
			continue;
		record[got] = 0;
		pass_record(record, each, arg);
	}
}

void kernel_log_each(int root, void (*each)(const char *line, void *arg), void *arg)
{
	int fd = openat(root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	read_records(fd, each, arg);
	close(fd);
}

struct copy {
	bool (*match)(const char *line);
	char *text;
	size_t len;
};

static void add_line(const char *line, void *arg)
{
	const struct copy *to = arg;
	size_t at = strlen(to->text);

	if (to->match(line) && at + strlen(line) + 2 <= to->len)
		snprintf(to->text + at, to->len - at, "%s\n", line);
}

void kernel_log_since(
	struct kernel_log *log, bool (*match)(const char *line), char *text, size_t len)
{
	struct copy to = { match, text, len };

	text[0] = 0;
	if (log->fd <= 0)
		return;
	if (match)
		read_records(log->fd, add_line, &to);
	close(log->fd);
	log->fd = -1;
}
