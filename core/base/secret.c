/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read secrets from files and descriptors, as command lines are public. */
#include "applet.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_line(int fd, const char *from, char *secret, size_t room, struct diag *diag)
{
	size_t got = 0, len;
	ssize_t n = 1;

	secret_held();
	while (got < room - 1 && n) {
		n = read(fd, secret + got, room - 1 - got);
		if (n < 0 && errno != EINTR)
			return diag_sys(diag, errno, "read %s", from);
		got += n > 0 ? (size_t)n : 0;
	}
	secret[got] = 0;
	len = strcspn(secret, "\r\n");
	if (len == room - 1)
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"%s: first line too long: must be at most %zu bytes", from, room - 2);
	explicit_bzero(secret + len, room - len);
	return len ? 0
		   : diag_set(diag, DIAG_USAGE, EINVAL, "%s: no secret: the first line is empty",
			     from);
}

int secret_of_file(
	const struct call *call, const char *path, char *secret, size_t room, struct diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return diag_sys(diag, errno, "open %s", path);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_mode & (S_IRGRP | S_IROTH))
		call_note(call,
			"%s: secret file is readable by other users (mode %03o): chmod 600 %s",
			path, st.st_mode & 0777, path);
	err = read_line(fd, path, secret, room, diag);
	close(fd);
	return err;
}

int secret_of_fd(
	const char *option, const char *number, char *secret, size_t room, struct diag *diag)
{
	uint64_t fd;
	char from[32];

	if (parse_u64(number, 0, INT_MAX, &fd, NULL))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "%s: invalid descriptor '%s'", option, number);
	snprintf(from, sizeof(from), "descriptor %u", (unsigned)fd);
	return read_line((int)fd, from, secret, room, diag);
}
