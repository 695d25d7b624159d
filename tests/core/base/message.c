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
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
static const char *heard(void)
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
	out_message("iscsi://user%%secret@host/x: \x1b[2J%d\nmore", 7);
	cr_assert_str_eq(heard(), "iscsi://user@host/x: ?[2J7?more\n");
}

Test(message, progress_line_is_below_messages)
{
	char wide[100];

	out_bar("");
	cr_assert_str_eq(heard(), "", "nothing to erase");
	out_bar("half");
	cr_assert_str_eq(heard(), "\rhalf");
	out_bar("all");
	cr_assert_str_eq(heard(), "\rall ");
	out_message("lost");
	cr_assert_str_eq(heard(), "\r   \rlost\nall");
	out_bar("");
	cr_assert_str_eq(heard(), "\r   \r");
	out_message("back");
	cr_assert_str_eq(heard(), "back\n");
	memset(wide, 'x', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = 0;
	out_bar(wide);
	cr_assert_eq(strlen(heard()), 1 + 79, "not a line of 80 columns");
}

Test(message, full_pipe_drops_and_counts)
{
	struct loop *loop;
	const char *text;

	cr_assert_eq(
		loop_new(&loop, &(struct loop_options){ .verbose = true, .name = "test" }, NULL),
		0);
	out_message("first");
	cr_assert_str_eq(heard(), "first\n");
	fill();
	out_message("second");
	loop_trace(loop, "third");
	out_stderr("fourth\n", 7);
	out_progress("\rprogress");
	cr_assert_null(strstr(heard(), "second"));
	loop_trace(loop, "fifth");
	text = heard();
	text_says(text, "rdmastor: 3_messages");
	cr_assert_str_eq(strchr(text, '\n'), "\ntest: fifth\n");
	out_message("sixth");
	cr_assert_str_eq(heard(), "sixth\n", "the count begins again");
	loop_free(loop);
}

Test(message, longer_than_a_pipe)
{
	static char text[200000];
	const char *lines;

	memset(text, 'x', sizeof(text) - 1);
	out_stderr(text, sizeof(text) - 1);
	cr_assert_eq(strspn(heard(), "x") % PIPE_BUF, 0);
	out_message("next");
	lines = heard();
	cr_assert_eq(lines[0], '\n');
	text_says(lines, "rdmastor: 1_message");
	cr_assert_str_eq(strchr(lines + 1, '\n'), "\nnext\n");
}

Test(message, no_reader)
{
	signal(SIGPIPE, SIG_IGN);
	close(reader);
	out_message("lost");
	out_message("lost");
}

/* Write until nothing more fits, and read it all. */
static void fills_and_drains(int from)
{
	size_t lines = 0;
	const char *text;

	reader = from;
	for (unsigned i = 0; i < 20000; i++)
		out_message("a line of the usual length, number %u", i);
	text = heard();
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	cr_assert_gt(lines, 10);
	cr_assert_lt(lines, 20000);
	out_message("next");
	text = heard();
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
		out_message("%s", (const char *)arg);
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
	text = heard();
	while (!strncmp(text, "a whole line\n", 13)) {
		text += 13;
		whole++;
	}
	cr_assert_str_eq(text, "");
	cr_assert(whole > 1000 && whole <= 4000);
}
