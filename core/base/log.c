/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Write messages to stderr, a file, syslog or the kernel's log. Only the file system of a regular
 * file can block the caller, which may run an event loop. */
#include "log.h"
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FACILITY (3 << 3) /* daemon */
#define PIECE    900      /* bytes of a line: /dev/kmsg and RFC 3164 allow 1024 with the header */

static enum log_place place;
static int file = -1, syslog_fd = -1, kmsg = -1, held = -1;
static bool cut, broken, background;

enum log_place log_place(void)
{
	return place;
}

bool log_is_cut(void)
{
	return cut;
}

bool log_is_background(void)
{
	return background;
}

/* --- stderr, or a file */

/* O_NONBLOCK belongs to the open file, which the shell and other processes share. So open a
 * terminal or pipe again for each message, as --daemon may redirect stderr. A regular file would
 * get a second file offset. */
static int open_own(void)
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st) || S_ISREG(st.st_mode))
		return -1;
	return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* If stderr can't be opened again (a socket, no /proc), rely on POLLOUT, which promises room for
 * PIPE_BUF bytes. False: not enough room, or nothing can be written any more. */
static bool put_to(int fd, const char *text, size_t len)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t done;

	for (; len; cut = true) {
		if (poll(&room, 1, 0) < 1)
			return false;
		done = write(fd, text, len < PIPE_BUF ? len : PIPE_BUF);
		if (done < 0) {
			broken = errno != EAGAIN;
			return false;
		}
		text += done;
		len -= (size_t)done;
	}
	cut = false;
	return true;
}

/* Sets broken if there is no reader any more. */
static bool put_stderr(const char *text, size_t len)
{
	int own = held < 0 ? open_own() : held;
	bool fits;

	broken = false;
	fits = put_to(own < 0 ? STDERR_FILENO : own, text, len);
	if (own >= 0 && own != held)
		close(own);
	return fits;
}

/* A helper_fn. */
static int open_log(const char *path, int *fd, void *data, size_t len)
{
	(void)data;
	(void)len;
	*fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	return *fd < 0 ? -errno : 0;
}

int out_log_allow(const char *path)
{
	return helper_allow(HELPER_FILES, open_log, path);
}

int log_open_file(const char *path, struct diag *diag)
{
	int fd = -1, err = helper_call(open_log, path, &fd, NULL, 0);

	if (err) {
		diag_sys(diag, -err, "open the log");
		return diag_ctx(diag, "%s", path);
	}
	tzset(); /* its file can be on a disk that this process will serve */
	if (file >= 0)
		close(file);
	file = fd;
	place = LOG_FILE;
	return 0;
}

/* --- the system's log */

static void connect_syslog(void)
{
	const struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };

	syslog_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (syslog_fd < 0 || !connect(syslog_fd, (const struct sockaddr *)&un, sizeof(un)))
		return;
	close(syslog_fd);
	syslog_fd = -1;
}

static void open_kmsg(void)
{
	if (kmsg < 0)
		kmsg = open("/dev/kmsg", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void log_open_system(void)
{
	place = LOG_SYSTEM;
	tzset();
	if (syslog_fd < 0)
		connect_syslog();
	open_kmsg();
}

/* 0 or an errno: EAGAIN when syslog is full, another one when it does not run. */
static int put_syslog(const char *line, size_t len)
{
	for (unsigned attempt = 0;; attempt++) {
		if (syslog_fd < 0)
			connect_syslog();
		if (syslog_fd < 0)
			return ENOTCONN;
		if (send(syslog_fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno == EAGAIN || errno == ENOBUFS)
			return EAGAIN;
		close(syslog_fd); /* syslog was restarted, or has ended */
		syslog_fd = -1;
		if (attempt)
			return ENOTCONN;
	}
}

static bool put_piece(enum out_level level, const char *text, size_t len)
{
	static const int severity[] = { [OUT_ERROR] = 3, [OUT_WARNING] = 4, [OUT_INFO] = 6 };
	const int priority = FACILITY | severity[level];
	char line[PIECE + 80], when[24] = "";
	time_t now = time(NULL);
	struct tm tm;
	int err, n;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%b %e %T ", &tm);
	n = snprintf(line, sizeof(line), "<%d>%srdmastor[%d]: %.*s", priority, when, (int)getpid(),
		(int)len, text);
	err = put_syslog(line, (size_t)n);
	if (err != ENOTCONN)
		return !err;
	n = snprintf(line, sizeof(line), "<%d>rdmastor[%d]: %.*s\n", priority, (int)getpid(),
		(int)len, text);
	return kmsg >= 0 && write(kmsg, line, (size_t)n) == n;
}

/* The header names the program already. */
static size_t skip_name(const char *text, size_t len)
{
	static const char name[] = "rdmastor";
	size_t at = sizeof(name) - 1;

	if (len < at + 2 || memcmp(text, name, at))
		return 0;
	return text[at] == ' ' ? at + 1 : text[at] == ':' && text[at + 1] == ' ' ? at + 2 : 0;
}

static bool put_system(enum out_level level, const char *text, size_t len)
{
	const char *end = text + len, *line = text, *next;
	bool fits = true;

	for (; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t left = (size_t)((newline ? newline : end) - line), n;

		next = newline ? newline + 1 : end;
		for (n = skip_name(line, left), line += n, left -= n; left; line += n, left -= n) {
			n = left < PIECE ? left : PIECE;
			while (n < left && n > 1 && ((unsigned char)line[n] & 0xc0) == 0x80)
				n--; /* not within a character */
			fits &= put_piece(level, line, n);
		}
	}
	return fits;
}

int log_fds(int fd[2])
{
	int count = 0;

	if (syslog_fd >= 0)
		fd[count++] = syslog_fd;
	if (kmsg >= 0)
		fd[count++] = kmsg;
	return count;
}

/* --- */

bool log_put(enum out_level level, const char *text, size_t len)
{
	if (place == LOG_FILE)
		return put_to(file, text, len);
	if (place == LOG_STDERR) {
		bool fits = put_stderr(text, len);

		if (!broken)
			return fits;
		if (!background)
			return true; /* the reader wants no more */
		log_open_system();
		cut = false;
	}
	return put_system(level, text, len);
}

void out_log_hold(bool daemon)
{
	tzset();
	if (place == LOG_STDERR && held < 0)
		held = open_own();
	if (daemon)
		open_kmsg();
}

/* Whether a reader is possible. */
static bool stderr_is_redirected(void)
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st) || isatty(STDERR_FILENO))
		return false;
	if (S_ISREG(st.st_mode))
		return st.st_nlink; /* what is written to a deleted file is lost */
	return !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3); /* /dev/null */
}

bool log_leave_terminal(void)
{
	background = true;
	if (place == LOG_STDERR && !stderr_is_redirected())
		log_open_system();
	if (place != LOG_STDERR && held >= 0) {
		close(held);
		held = -1;
	}
	return place == LOG_STDERR;
}
