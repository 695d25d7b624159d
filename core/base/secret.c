/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read secrets from files, descriptors and terminals, as command lines are public. */
#include "secret.h"
#include "grow.h"
#include "helper.h"
#include "out.h"
#include "secret_mem.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REST_MS 1000

static bool never_waits;

void secret_never_wait(void)
{
	never_waits = true;
}

/* The rest of a line that has begun follows soon. */
static bool may_follow(int fd, size_t got)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return got && poll(&poll_fd, 1, REST_MS) == 1;
}

/* "--tls-key-fd": "tls key" */
static void name_secret(const char *option, char name[64])
{
	snprintf(name, 64, "%s", option + strspn(option, "-"));
	if (strrchr(name, '-'))
		*strrchr(name, '-') = 0;
	for (char *p = name; (p = strchr(p, '-'));)
		*p = ' ';
}

static ssize_t ask_for_line(
	int fd, const char *option, const char *from, char *secret, size_t room, struct diag *diag)
{
	char name[64];
	ssize_t n;

	if (never_waits)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: a terminal, where nothing is asked for here", from);
	name_secret(option, name);
	n = secret_prompt(fd, name, secret, room - 1);
	return n < 0 ? diag_sys(diag, (int)-n, "read %s", from) : n;
}

/* Leave what follows the line: it may be another secret. */
static ssize_t receive_line(int fd, const char *from, char *secret, size_t room, struct diag *diag)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < room - 1 && n && !(got && secret[got - 1] == '\n')) {
		n = read(fd, secret + got, 1);
		if (n < 0 && errno != EINTR && !(errno == EAGAIN && may_follow(fd, got)))
			return diag_sys(diag, errno, "read %s", from);
		got += n > 0 ? (size_t)n : 0;
	}
	if (never_waits && !got && lseek(fd, 0, SEEK_CUR) < 0) /* a pipe without a writer yet */
		return diag_sys(diag, EAGAIN, "read %s", from);
	return (ssize_t)got;
}

static int read_line(
	int fd, const char *option, const char *from, char *secret, size_t room, struct diag *diag)
{
	ssize_t got;
	size_t len;

	secret_disable_dumps();
	got = isatty(fd) ? ask_for_line(fd, option, from, secret, room, diag)
			 : receive_line(fd, from, secret, room, diag);
	if (got < 0)
		return (int)got;
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

/* Lines of pipes and descriptors, which can be read once, but may be needed for several targets. */
struct line {
	const char *option;
	dev_t dev;
	ino_t ino;
	char *secret;
};
static struct line *lines;
static unsigned nlines;

static bool copy_line(const char *option, const struct stat *st, char *secret, size_t room)
{
	for (unsigned i = 0; i < nlines; i++)
		if (!strcmp(lines[i].option, option) && lines[i].dev == st->st_dev &&
			lines[i].ino == st->st_ino && strlen(lines[i].secret) < room) {
			snprintf(secret, room, "%s", lines[i].secret);
			return true;
		}
	return false;
}

static int keep_line(
	const char *option, const struct stat *st, const char *secret, struct diag *diag)
{
	struct line line = { option, st->st_dev, st->st_ino, secret_alloc(strlen(secret) + 1) };
	struct line *more = line.secret ? grow(lines, nlines) : NULL;

	if (!more) {
		secret_free(line.secret);
		return diag_sys(diag, ENOMEM, "%s", option);
	}
	strcpy(line.secret, secret);
	secret_inherit(line.secret);
	*more = line;
	return 0;
}

void secret_forget(void)
{
	for (unsigned i = 0; i < nlines; i++)
		secret_free(lines[i].secret);
	free(lines);
	lines = NULL;
	nlines = 0;
}

static int read_once(
	const char *option, int fd, const char *from, char *secret, size_t room, struct diag *diag)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return diag_sys(diag, errno, "read %s", from);
	if (copy_line(option, &st, secret, room))
		return 0;
	err = read_line(fd, option, from, secret, room, diag);
	return err ? err : keep_line(option, &st, secret, diag);
}

static int read_descriptor(
	const char *option, const char *number, char *secret, size_t room, struct diag *diag)
{
	uint64_t fd;
	char from[32];

	if (parse_u64(number, 0, INT_MAX, &fd, NULL))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "%s: invalid descriptor '%s'", option, number);
	if (fd > STDERR_FILENO) /* commands of ours do not inherit it */
		fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	snprintf(from, sizeof(from), fd ? "descriptor %u" : "standard input", (unsigned)fd);
	return read_once(option, (int)fd, from, secret, room, diag);
}

static bool is_credential(const char *path)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t len = folder ? strlen(folder) : 0;

	return len && !strncmp(path, folder, len) && path[len] == '/' &&
	       !strchr(path + len + 1, '/');
}

mode_t secret_permissions(const char *path, const struct stat *st)
{
	return st->st_mode & (is_credential(path) ? S_IRWXO : S_IRWXG | S_IRWXO);
}

static void check_mode(const struct out_notes *notes, const char *path, const struct stat *st)
{
	if (S_ISREG(st->st_mode) && secret_permissions(path, st) & (S_IRGRP | S_IROTH))
		out_warn_once(notes,
			"%s: secret file is readable by other users (mode %03o): chmod 600 %s",
			path, st->st_mode & 0777, path);
}

struct secret_file { /* data of use_file() */
	bool open, waits;
	struct stat st;
};

/* A helper_fn: get the type of the file, or open it. */
static int use_file(const char *path, int *fd, void *data, size_t len)
{
	struct secret_file *file = data;

	if (len != sizeof(*file))
		return -EINVAL;
	if (!file->open)
		return stat(path, &file->st) ? -errno : 0;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (file->waits ? 0 : O_NONBLOCK));
	return *fd < 0 ? -errno : 0;
}

static bool is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

int secret_allow(const char *path)
{
	return is_stdin(path) ? 0 : helper_allow(HELPER_FILES, use_file, path);
}

void secret_check_file(const struct out_notes *notes, const char *path)
{
	struct stat st;

	if (!is_stdin(path) && !stat(path, &st))
		check_mode(notes, path, &st);
}

int secret_read(const struct out_notes *notes, const char *option, const char *number,
	const char *path, char *secret, size_t room, struct diag *diag)
{
	struct secret_file file = { .waits = !never_waits };
	struct stat st = { 0 };
	int fd = -1, err;

	if (number || is_stdin(path))
		return read_descriptor(option, number ? number : "0", secret, room, diag);
	/* opening a named pipe again would wait for another writer */
	if (!helper_call(use_file, path, &fd, &file, sizeof(file)) && S_ISFIFO(file.st.st_mode) &&
		copy_line(option, &file.st, secret, room))
		return 0;
	file.open = true;
	err = helper_call(use_file, path, &fd, &file, sizeof(file));
	if (err)
		return diag_sys(diag, -err, "open %s", path);
	if (!fstat(fd, &st) && notes)
		check_mode(notes, path, &st);
	err = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd)
		      ? read_once(option, fd, path, secret, room, diag)
		      : read_line(fd, option, path, secret, room, diag);
	close(fd);
	return err;
}
