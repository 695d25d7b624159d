/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read /sys, /proc and /etc below a root descriptor. */
#include "kernel_sys.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_FILES 64

static ssize_t read_fd(int fd, char *text, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t rc = read(fd, text + got, len - got);

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return -errno;
		if (rc == 0)
			break;
		got += rc;
	}
	return got;
}

ssize_t kernel_sys_read(int root, char *text, size_t len, const char *fmt, ...)
{
	char path[512];
	va_list args;
	ssize_t got;
	int fd;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	got = fd < 0 ? -errno : read_fd(fd, text, len - 1);
	if (fd >= 0)
		close(fd);
	while (got > 0 && strchr(" \t\r\n", text[got - 1]))
		got--;
	text[got > 0 ? got : 0] = 0;
	return got;
}

ssize_t kernel_sys_read_bytes(int root, const char *path, void *to, size_t len)
{
	int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -errno : read_fd(fd, to, len);

	if (fd >= 0)
		close(fd);
	return got;
}

static char *read_whole(int root, const char *path, size_t max)
{
	int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t room = 16384, len = 0;
	char *text = NULL;
	struct stat st;
	ssize_t got = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) /* a pipe, such as a shell's <(command) */
		fcntl(fd, F_SETFL, 0);
	do {
		char *more = realloc(text, room + 1);

		if (!more) {
			got = -ENOMEM;
			break;
		}
		text = more;
		got = read_fd(fd, text + len, room - len);
		len += got > 0 ? got : 0;
		room *= 2;
		if (len > max)
			got = -EFBIG;
	} while (got > 0);
	close(fd);
	if (got < 0) {
		free(text);
		errno = (int)-got;
		return NULL;
	}
	text[len] = 0;
	return text;
}

char *kernel_sys_read_all(int root, const char *path)
{
	return read_whole(root, path, SIZE_MAX);
}

char *kernel_sys_read_conf(int root, const char *path)
{
	return read_whole(root, path, SYS_CONF_MAX);
}

bool kernel_sys_exists(int root, const char *path)
{
	return faccessat(root, path, F_OK, 0) == 0;
}

bool kernel_sys_list(
	int root, const char *path, void (*each)(const char *name, void *arg), void *arg)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			each(entry->d_name, arg);
	closedir(dir);
	return true;
}

char *kernel_sys_unescape(char *text)
{
	char *to = text;

	for (char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
			from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
	return text;
}

struct names {
	char *name[CONF_FILES];
	unsigned count;
};

static void keep_conf(const char *name, void *arg)
{
	struct names *names = arg;
	size_t len = strlen(name);

	if (len > 5 && !strcmp(name + len - 5, ".conf") && names->count < CONF_FILES)
		names->name[names->count] = strdup(name);
	if (names->count < CONF_FILES && names->name[names->count])
		names->count++;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *append(char *text, char *more)
{
	size_t len = text ? strlen(text) : 0, more_len = more ? strlen(more) : 0;
	char *both = more ? realloc(text, len + more_len + 2) : text;

	if (both && more) {
		memcpy(both + len, more, more_len);
		memcpy(both + len + more_len, "\n", 2);
	} else if (more) {
		free(text);
	}
	if (more)
		explicit_bzero(more, more_len);
	free(more);
	return both;
}

char *kernel_sys_cmdline(int root)
{
	char *text = NULL, *kernel;
	struct names names = { 0 };

	kernel_sys_list(root, "etc/cmdline.d", keep_conf, &names);
	qsort(names.name, names.count, sizeof(*names.name), by_name);
	for (unsigned i = 0; i < names.count; i++) {
		char path[300];

		snprintf(path, sizeof(path), "etc/cmdline.d/%s", names.name[i]);
		text = append(text, kernel_sys_read_conf(root, path));
		free(names.name[i]);
	}
	text = append(text, kernel_sys_read_conf(root, "etc/cmdline"));
	kernel = kernel_sys_read_all(root, "proc/cmdline");
	if (!kernel) {
		int err = errno;

		free(text);
		errno = err;
		return NULL;
	}
	return append(text, kernel);
}

int kernel_sys_no_cmdline(struct diag *diag)
{
	int err = errno;

	diag_sys(diag, err, "read /proc/cmdline");
	if (err == ENOENT)
		diag_hint(diag, "mount -t proc proc /proc");
	return -err;
}
