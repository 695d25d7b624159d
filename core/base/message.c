/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print messages without blocking an event loop; log.c knows where. */
#include "log.h"
#include "out.h"
#include "uri.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t dropped;
static char bar[256]; /* the progress line on the screen; "" = none */
static bool timed;

#define COLUMNS 80 /* if the width is unknown */
#define STAMP   32 /* room for the time before a message */
#define ONCE    64 /* messages that are remembered as printed */

static void put_count(void)
{
	char text[96];
	int len = snprintf(text, sizeof(text), "%srdmastor: %llu message%s dropped: %s was full\n",
		log_is_cut() ? "\n" : "", (unsigned long long)dropped, dropped == 1 ? "" : "s",
		log_place() == LOG_STDERR ? "stderr" : "the log");

	if (log_put(OUT_WARNING, text, (size_t)len))
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

	if ((!was && !len) || log_place() != LOG_STDERR)
		return;
	len = (size_t)snprintf(line, sizeof(line), "\r%-*s%s", (int)was, text, len ? "" : "\r");
	log_put(OUT_INFO, line, len);
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

/* With the lock held. */
static void put_message(enum out_level level, const char *text, size_t len)
{
	put_bar("");
	if (dropped)
		put_count();
	if (dropped || !log_put(level, text, len))
		dropped++;
	if (bar[0] && log_place() == LOG_STDERR)
		log_put(OUT_INFO, bar, strlen(bar));
}

void out_lines(const char *text, size_t len)
{
	pthread_mutex_lock(&lock);
	put_message(OUT_INFO, text, len);
	pthread_mutex_unlock(&lock);
}

/* "12:34:56.789 ", with the date in a file; "" where the log has its own. */
static void stamp_text(char text[STAMP])
{
	const bool file = log_place() == LOG_FILE;
	struct timespec now;
	struct tm tm;
	size_t at;

	text[0] = 0;
	if (!file && (!timed || log_place() != LOG_STDERR))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!localtime_r(&now.tv_sec, &tm))
		return;
	at = strftime(text, STAMP, file ? "%F %T" : "%T", &tm);
	if (timed)
		at += (size_t)snprintf(text + at, STAMP - at, ".%03ld", now.tv_nsec / 1000000);
	snprintf(text + at, STAMP - at, " ");
}

/* One line behind STAMP blanks, as out_plain() has it. NULL: no memory. */
static char *make_line(size_t *len, bool hide, const char *fmt, va_list args)
{
	char *text, *line = NULL;
	FILE *to;

	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	if (hide)
		uri_hide(text);
	to = open_memstream(&line, len);
	if (to) {
		fprintf(to, "%*s", STAMP, "");
		out_plain(to, text);
		fputc('\n', to);
		if (fclose(to)) {
			free(line);
			line = NULL;
		}
	}
	free(text);
	return line;
}

/* With the lock held. */
static void put_line(enum out_level level, char *line, size_t len)
{
	char stamp[STAMP];
	size_t at;

	stamp_text(stamp);
	at = STAMP - strlen(stamp);
	memcpy(line + at, stamp, strlen(stamp));
	put_message(level, line + at, len - at);
}

void out_message(enum out_level level, const char *fmt, ...)
{
	va_list args;
	char *line;
	size_t len;

	va_start(args, fmt);
	line = make_line(&len, true, fmt, args);
	va_end(args);
	if (!line)
		return;
	pthread_mutex_lock(&lock);
	put_line(level, line, len);
	pthread_mutex_unlock(&lock);
	free(line);
}

static void put_failure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void put_failure(const char *fmt, ...)
{
	bool foreground;
	va_list args;
	char *line;
	size_t len;

	va_start(args, fmt);
	line = make_line(&len, false, fmt, args);
	va_end(args);
	if (!line)
		return;
	pthread_mutex_lock(&lock);
	foreground = !log_is_background();
	if (!foreground || log_place() != LOG_STDERR)
		put_line(OUT_ERROR, line, len);
	pthread_mutex_unlock(&lock);
	if (foreground)
		fputs(line + STAMP, stderr);
	free(line);
}

/* Passwords are searched for in each part: what follows a URI is not of its last key. */
void out_failure(const char *applet, const struct diag *diag)
{
	struct diag shown = *diag;

	uri_hide(shown.object);
	uri_hide(shown.text);
	uri_hide(shown.hint);
	put_failure("rdmastor%s%s: %s%s%s", applet ? " " : "", applet ? applet : "", shown.object,
		shown.object[0] ? ": " : "", shown.text);
	if (shown.hint[0])
		put_failure("hint: %s", shown.hint);
	explicit_bzero(&shown, sizeof(shown));
}

void out_progress(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(text, sizeof(text), fmt, args);

	va_end(args);
	pthread_mutex_lock(&lock);
	log_put(OUT_INFO, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
	pthread_mutex_unlock(&lock);
}

void out_times(bool on)
{
	timed = on;
}

int out_log_file(const char *path, struct diag *diag)
{
	int err;

	pthread_mutex_lock(&lock);
	err = log_open_file(path, diag);
	pthread_mutex_unlock(&lock);
	return err;
}

int out_log_system(int fd[2])
{
	int count;

	pthread_mutex_lock(&lock);
	log_open_system();
	count = log_fds(fd);
	pthread_mutex_unlock(&lock);
	return count;
}

bool out_log_background(void)
{
	bool keep;

	pthread_mutex_lock(&lock);
	keep = log_leave_terminal();
	pthread_mutex_unlock(&lock);
	return keep;
}

/* With the lock held. Of more than ONCE different messages the further ones are printed each time.
 */
static bool is_repeated(const char *text)
{
	static uint64_t printed[ONCE];
	static unsigned count;
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	for (unsigned i = 0; i < count; i++)
		if (printed[i] == hash)
			return true;
	if (count < ONCE)
		printed[count++] = hash;
	return false;
}

static void put_note(const struct out_notes *notes, enum out_level level, bool once,
	const char *fmt, va_list args)
{
	bool print;
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		return;
	pthread_mutex_lock(&lock);
	print = (!notes->quiet || log_place() == LOG_FILE) && !(once && is_repeated(text));
	pthread_mutex_unlock(&lock);
	if (print)
		out_message(level, "rdmastor %s: %s%s", notes->name,
			level == OUT_WARNING ? "warning: " : "", text);
	free(text);
}

void out_note(const struct out_notes *notes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_note(notes, OUT_INFO, false, fmt, args);
	va_end(args);
}

void out_warn(const struct out_notes *notes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_note(notes, OUT_WARNING, false, fmt, args);
	va_end(args);
}

void out_warn_once(const struct out_notes *notes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_note(notes, OUT_WARNING, true, fmt, args);
	va_end(args);
}
