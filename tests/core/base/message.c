/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages never wait for the reader of stderr, and none is lost without being counted. */
#include "loop.h"
#include "out.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int reader;

static void init(void)
{
	int fd[2];

	cr_assert_eq(pipe(fd), 0);
	cr_assert_eq(dup2(fd[1], STDERR_FILENO), STDERR_FILENO);
	close(fd[1]);
	reader = fd[0];
}
TestSuite(message, .init = init);

static void fill(void)
{
	static const char page[PIPE_BUF];
	int flags = fcntl(STDERR_FILENO, F_GETFL);

	fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
	while (write(STDERR_FILENO, page, sizeof(page)) > 0)
		;
	cr_assert_eq(errno, EAGAIN);
	fcntl(STDERR_FILENO, F_SETFL, flags);
}

/* Read all that has arrived, without waiting. */
static const char *logged(void)
{
	static char text[1 << 20];
	ssize_t len;
	size_t at = 0;

	fcntl(reader, F_SETFL, O_NONBLOCK);
	while ((len = read(reader, text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)len;
	text[at] = 0;
	return text;
}

Test(message, is_one_plain_line)
{
	out_message(OUT_INFO, "iscsi://user%%secret@host/x: \x1b[2J%d\nmore", 7);
	cr_assert_str_eq(logged(), "iscsi://user@host/x: ?[2J7?more\n");
}

Test(message, progress_line_is_below_messages)
{
	char wide[100];

	out_bar("");
	cr_assert_str_eq(logged(), "", "nothing to erase");
	out_bar("half");
	cr_assert_str_eq(logged(), "\rhalf");
	out_bar("all");
	cr_assert_str_eq(logged(), "\rall ");
	out_message(OUT_INFO, "lost");
	cr_assert_str_eq(logged(), "\r   \rlost\nall");
	out_bar("");
	cr_assert_str_eq(logged(), "\r   \r");
	out_message(OUT_INFO, "back");
	cr_assert_str_eq(logged(), "back\n");
	memset(wide, 'x', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = 0;
	out_bar(wide);
	cr_assert_eq(strlen(logged()), 1 + 79, "not a line of 80 columns");
}

Test(message, full_pipe_drops_and_counts)
{
	struct loop *loop;
	const char *text;

	cr_assert_eq(
		loop_new(&loop, &(struct loop_options){ .verbose = true, .name = "test" }, NULL),
		0);
	out_message(OUT_INFO, "first");
	cr_assert_str_eq(logged(), "first\n");
	fill();
	out_message(OUT_INFO, "second");
	loop_trace(loop, "third");
	out_lines("fourth\n", 7);
	out_progress("\rprogress");
	cr_assert_null(strstr(logged(), "second"));
	loop_trace(loop, "fifth");
	text = logged();
	text_says(text, "rdmastor: 3_messages");
	cr_assert_str_eq(strchr(text, '\n'), "\ntest: fifth\n");
	out_message(OUT_INFO, "sixth");
	cr_assert_str_eq(logged(), "sixth\n", "the count begins again");
	loop_free(loop);
}

Test(message, longer_than_a_pipe)
{
	static char text[200000];
	const char *lines;

	memset(text, 'x', sizeof(text) - 1);
	out_lines(text, sizeof(text) - 1);
	cr_assert_eq(strspn(logged(), "x") % PIPE_BUF, 0);
	out_message(OUT_INFO, "next");
	lines = logged();
	cr_assert_eq(lines[0], '\n');
	text_says(lines, "rdmastor: 1_message");
	cr_assert_str_eq(strchr(lines + 1, '\n'), "\nnext\n");
}

Test(message, no_reader)
{
	signal(SIGPIPE, SIG_IGN);
	close(reader);
	out_message(OUT_INFO, "lost");
	out_message(OUT_INFO, "lost");
}

/* Write until nothing more fits, and read it all. */
static void fills_and_drains(int from)
{
	size_t lines = 0;
	const char *text;

	reader = from;
	for (unsigned i = 0; i < 20000; i++)
		out_message(OUT_INFO, "a line of the usual length, number %u", i);
	text = logged();
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	cr_assert_gt(lines, 10);
	cr_assert_lt(lines, 20000);
	out_message(OUT_INFO, "next");
	text = logged();
	text_says(text, "rdmastor: messages next");
}

Test(message, unread_terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	cr_assert(master >= 0 && !grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	cr_assert_eq(dup2(slave, STDERR_FILENO), STDERR_FILENO);
	fills_and_drains(master);
}

Test(message, unread_socket)
{
	int fd[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	cr_assert_eq(dup2(fd[1], STDERR_FILENO), STDERR_FILENO);
	fills_and_drains(fd[0]);
}

static void *many(void *arg)
{
	for (unsigned i = 0; i < 1000; i++)
		out_message(OUT_INFO, "%s", (const char *)arg);
	return NULL;
}

Test(message, threads)
{
	pthread_t thread[4];
	const char *text;
	size_t whole = 0;

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, many, (void *)"a whole line");
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	text = logged();
	while (!strncmp(text, "a whole line\n", 13)) {
		text += 13;
		whole++;
	}
	cr_assert_str_eq(text, "");
	cr_assert(whole > 1000 && whole <= 4000);
}

static bool matches(const char *text, const char *ere)
{
	regex_t re;
	bool is;

	cr_assert_eq(regcomp(&re, ere, REG_EXTENDED | REG_NOSUB), 0);
	is = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return is;
}

Test(message, verbose_lines_have_a_time)
{
	out_times(true);
	out_message(OUT_INFO, "step");
	cr_assert(matches(logged(), "^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3} step\n$"));
	out_lines("as it is\n", 9);
	cr_assert_str_eq(logged(), "as it is\n");
}

Test(message, warnings_have_a_prefix_and_some_come_once)
{
	struct out_notes notes = { .name = "serve" };

	out_note(&notes, "one");
	out_warn(&notes, "two");
	out_warn(&notes, "two");
	cr_assert_str_eq(logged(), "rdmastor serve: one\nrdmastor serve: warning: two\n"
				   "rdmastor serve: warning: two\n");
	for (unsigned i = 0; i < 6; i++)
		out_warn_once(&notes, "disk %u", i % 2);
	cr_assert_str_eq(
		logged(), "rdmastor serve: warning: disk 0\nrdmastor serve: warning: disk 1\n");
	notes.quiet = true;
	out_warn(&notes, "three");
	cr_assert_str_eq(logged(), "");
}

/* --- a log file */

static char *file_text(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[len > 0 ? len : 0] = 0;
	return text;
}

#define DATE "[0-9]{4}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]"

Test(message, log_file_is_appended_to_and_reopened)
{
	char dir[] = "/tmp/message-XXXXXX", path[64], old[64];
	struct diag diag = { 0 };
	struct stat st;

	umask(022);
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(old, sizeof(old), "%s/log.1", dir);
	cr_assert_eq(out_log_file(dir, &diag), -EISDIR);
	cr_assert_str_eq(diag.object, dir);
	out_message(OUT_INFO, "to stderr");
	cr_assert_str_eq(logged(), "to stderr\n");
	cr_assert_eq(out_log_file(path, &diag), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	out_message(OUT_INFO, "first");
	cr_assert(matches(file_text(path), "^" DATE " first\n$"), "%s", file_text(path));
	cr_assert_eq(rename(path, old), 0);
	out_message(OUT_INFO, "second");
	cr_assert(matches(file_text(old), "^" DATE " first\n" DATE " second\n$"));
	cr_assert_eq(out_log_file(dir, &diag), -EISDIR);
	out_message(OUT_INFO, "third");
	text_says(file_text(old), "third");
	cr_assert_eq(out_log_file(path, &diag), 0);
	out_message(OUT_WARNING, "fourth");
	cr_assert(matches(file_text(path), "^" DATE " fourth\n$"));
	cr_assert_str_eq(logged(), "");
	diag = (struct diag){ .object = "nvme+tcp://h/n?dhchap_secret=x", .text = "last" };
	out_failure("serve", &diag);
	text_says(file_text(path), "last");
	fflush(stderr);
	cr_assert_str_eq(logged(), "rdmastor serve: nvme+tcp://h/n?dhchap_secret=: last\n",
		"a command in the foreground tells its caller, too");
	unlink(path);
	unlink(old);
	rmdir(dir);
}

Test(message, log_that_is_a_full_pipe_drops_and_counts)
{
	char dir[] = "/tmp/message-XXXXXX", path[64];
	struct diag diag = { 0 };

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(out_log_file(path, &diag), -ENXIO, "nothing reads it");
	reader = open(path, O_RDONLY | O_NONBLOCK);
	cr_assert_eq(out_log_file(path, &diag), 0);
	fills_and_drains(reader);
	unlink(path);
	rmdir(dir);
}

/* --- the system's log */

/* A /dev of this process's own, with nothing in it. */
static void own_dev(void)
{
	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", "/dev", "tmpfs", 0, NULL))
		cr_skip_test("nothing can be mounted here");
}

static int start_syslog(void)
{
	const struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	unlink(un.sun_path);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

/* What is behind "<PRIORITY>Mmm dd hh:mm:ss rdmastor[PID]: " in the next datagram; "" = none. */
static const char *syslog_line(int fd, unsigned priority)
{
	static char line[2048];
	char head[96];
	ssize_t len = recv(fd, line, sizeof(line) - 1, 0);

	if (len < 0)
		return "";
	line[len] = 0;
	snprintf(head, sizeof(head),
		"^<%u>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} rdmastor\\[%d\\]: ", priority,
		(int)getpid());
	cr_assert(matches(line, head), "%s", line);
	return strstr(line, "]: ") + 3;
}

Test(message, syslog_gets_a_datagram_a_line_with_its_level)
{
	static char text[2500];
	int fds[2], fd;

	own_dev();
	fd = start_syslog();
	cr_assert_eq(out_log_system(fds), 1);
	out_message(OUT_INFO, "rdmastor serve: ready");
	out_message(OUT_WARNING, "rdmastor serve: warning: lost");
	cr_assert_str_eq(syslog_line(fd, 30), "serve: ready");
	cr_assert_str_eq(syslog_line(fd, 28), "serve: warning: lost");
	out_failure(
		"serve", &(struct diag){ .object = "disk", .text = "failed", .hint = "try again" });
	cr_assert_str_eq(syslog_line(fd, 27), "serve: disk: failed");
	cr_assert_str_eq(syslog_line(fd, 27), "hint: try again");
	out_lines("clients: 1\n\nerrors: 2\n", 22);
	cr_assert_str_eq(syslog_line(fd, 30), "clients: 1");
	cr_assert_str_eq(syslog_line(fd, 30), "errors: 2");
	for (unsigned i = 0; i < sizeof(text) - 2; i += 2)
		memcpy(text + i, "\u00e4", 2);
	out_message(OUT_INFO, "%s", text);
	for (size_t left = strlen(text), len; left; left -= len) {
		len = strlen(syslog_line(fd, 30));
		cr_assert(len > 0 && len <= 900 && len % 2 == 0, "%zu", len);
	}
	cr_assert_str_eq(syslog_line(fd, 30), "");
	close(fd);
}

Test(message, syslog_that_does_not_read_drops_and_counts)
{
	unsigned lines = 0, lost = 0;
	const char *line;
	int fds[2], fd;

	own_dev();
	fd = start_syslog();
	out_log_system(fds);
	for (unsigned i = 0; i < 5000; i++)
		out_message(OUT_INFO, "line %u", i);
	while (*(line = syslog_line(fd, 30)))
		lines++;
	cr_assert(lines > 0 && lines < 5000, "%u", lines);
	out_message(OUT_INFO, "next");
	cr_assert_eq(sscanf(syslog_line(fd, 28), "%u messages dropped", &lost), 1);
	cr_assert_eq(lines + lost, 5000);
	cr_assert_str_eq(syslog_line(fd, 30), "next");
	close(fd);
}

Test(message, kernel_log_takes_lines_while_syslog_is_away)
{
	char expected[200];
	int fds[2], fd;

	own_dev();
	close(open("/dev/kmsg", O_WRONLY | O_CREAT, 0600));
	cr_assert_eq(out_log_system(fds), 1);
	out_message(OUT_WARNING, "rdmastor export: warning: a\x1b[2Jb");
	snprintf(expected, sizeof(expected), "<28>rdmastor[%d]: export: warning: a?[2Jb\n",
		(int)getpid());
	cr_assert_str_eq(file_text("/dev/kmsg"), expected);
	fd = start_syslog();
	out_message(OUT_INFO, "begun");
	cr_assert_str_eq(syslog_line(fd, 30), "begun");
	close(fd);
	out_message(OUT_INFO, "ended");
	text_says(file_text("/dev/kmsg"), "ended");
	fd = start_syslog();
	out_message(OUT_INFO, "again");
	cr_assert_str_eq(syslog_line(fd, 30), "again");
	close(fd);
}

Test(message, stderr_that_nothing_reads_any_more_is_left_for_the_system_log)
{
	int fd;

	signal(SIGPIPE, SIG_IGN);
	cr_assert(out_log_background());
	own_dev();
	fd = start_syslog();
	out_message(OUT_INFO, "to the pipe");
	cr_assert_str_eq(logged(), "to the pipe\n");
	fill();
	close(reader);
	out_message(OUT_INFO, "to syslog");
	out_failure("serve", &(struct diag){ .text = "too" });
	cr_assert_str_eq(syslog_line(fd, 30), "to syslog");
	cr_assert_str_eq(syslog_line(fd, 27), "serve: too");
	close(fd);
}

Test(message, a_process_in_the_background_keeps_a_redirected_stderr)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), pair[2];
	struct {
		int fd;
		bool kept;
	} rows[5];

	cr_assert(master >= 0 && !grantpt(master) && !unlockpt(master));
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	rows[0].fd = dup(STDERR_FILENO);
	rows[1].fd = pair[0];
	rows[2].fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	rows[3].fd = open("/dev/null", O_WRONLY);
	rows[4].fd = open(ptsname(master), O_RDWR | O_NOCTTY);
	for (unsigned i = 0; i < 5; i++) {
		pid_t pid = fork();

		rows[i].kept = i < 2; /* an unlinked file can't be read later */
		if (!pid) {
			dup2(rows[i].fd, STDERR_FILENO);
			_exit(out_log_background());
		}
		cr_assert_eq(waitpid(pid, &rows[i].fd, 0), pid);
		cr_assert_eq(WEXITSTATUS(rows[i].fd), rows[i].kept, "row %u", i);
	}
}
