/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print messages on stderr without blocking an event loop. */
#include "applet.h"
#include "out.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t dropped;
static bool cut;      /* the last message ended in the middle of a line */
static char bar[256]; /* the progress line on the screen; "" = none */

#define COLUMNS 80 /* if the width is unknown */

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
 * PIPE_BUF bytes. False: not enough room. */
static bool put_to(int fd, const char *text, size_t len)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t done;

	for (; len; cut = true) {
		if (poll(&room, 1, 0) < 1 || !(room.revents & POLLOUT))
			return false;
		done = write(fd, text, len < PIPE_BUF ? len : PIPE_BUF);
		if (done < 0)
			return errno != EAGAIN; /* a broken stderr can't be reported */
		text += done;
		len -= (size_t)done;
	}
	cut = false;
	return true;
}

static bool put(const char *text, size_t len)
{
	int own = open_own();
	bool fits = put_to(own < 0 ? STDERR_FILENO : own, text, len);

	if (own >= 0)
		close(own);
	return fits;
}

static void put_count(void)
{
	char text[96];
	int len = snprintf(text, sizeof(text),
		"%srdmastor: %llu message%s dropped: stderr was full\n", cut ? "\n" : "",
		(unsigned long long)dropped, dropped == 1 ? "" : "s");

	if (put(text, (size_t)len))
		dropped = 0;
}

unsigned out_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? COLUMNS : size.ws_col;
}

/* Erase with blanks, which work on any terminal, not with an escape sequence. */
static void put_bar(const char *text)
{
	char line[3 * sizeof(bar)];
	size_t was = strlen(bar), len = strlen(text);

	if (!was && !len)
		return;
	len = (size_t)snprintf(line, sizeof(line), "\r%-*s%s", (int)was, text, len ? "" : "\r");
	put(line, len);
}

void out_bar(const char *text)
{
	unsigned most = out_columns() - 1;
	char line[sizeof(bar)];

	snprintf(line, sizeof(line), "%.*s", (int)most, text);
	pthread_mutex_lock(&lock);
	put_bar(line);
	memcpy(bar, line, sizeof(bar));
	pthread_mutex_unlock(&lock);
}

void out_stderr(const char *text, size_t len)
{
	pthread_mutex_lock(&lock);
	put_bar("");
	if (dropped)
		put_count();
	if (dropped || !put(text, len))
		dropped++;
	if (bar[0])
		put(bar, strlen(bar));
	pthread_mutex_unlock(&lock);
}

void out_message(const char *fmt, ...)
{
	char *text, *line;
	size_t len;
	va_list args;
	FILE *to;

	va_start(args, fmt);
	int formatted = vasprintf(&text, fmt, args);

	va_end(args);
	if (formatted < 0)
		return;
	uri_hide(text);
	to = open_memstream(&line, &len);
	if (to) {
		out_plain(to, text);
		fputc('\n', to);
		if (!fclose(to))
			out_stderr(line, len);
		free(line);
	}
	free(text);
}

void out_progress(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(text, sizeof(text), fmt, args);

	va_end(args);
	pthread_mutex_lock(&lock);
	put(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
	pthread_mutex_unlock(&lock);
}

void call_note(const struct call *call, const char *fmt, ...)
{
	const struct opt_common *common = call->opts;
	char *text;
	va_list args;

	if (common->quiet)
		return;
	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);

	va_end(args);
	if (len < 0)
		return;
	out_message("rdmastor %s: %s", call->name, text);
	free(text);
}
