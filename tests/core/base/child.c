/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands: their words, their environment, their end. */
#include "child.h"
#include "says.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(unsigned count, char **words)
{
	struct child_command command = { words, count, "uri", 0, -1 };
	struct diag diag = { 0 };
	int status = -1;

	cr_assert_eq(child_prepare(&command, &diag), 0);
	if (child_begin(&command, "nbd://x/?a=b c", &diag))
		return -diag.err;
	WAIT_UNTIL(child_reap(command.pid, &status));
	return status;
}

Test(child, one_word_is_a_line_for_the_shell)
{
	char *line = "test \"$uri\" = 'nbd://x/?a=b c' && exit 7";

	cr_assert_eq(run(1, &line), 7);
}

Test(child, several_words_are_expanded_and_not_split)
{
	char *words[] = { "test", "<nbd://x/?a=b c,nbd://x/?a=b c>", "=", "<$uri,$uri>" };
	char *other[] = { "test", "$ur", "=", "$ur" };

	cr_assert_eq(run(4, words), 0);
	cr_assert_eq(run(4, other), 0);
}

Test(child, the_variable_replaces_an_older_one)
{
	char *words[] = { "sh", "-c", "test \"$(env | grep -c ^uri=)\" = 1" };

	setenv("uri", "old", 1);
	setenv("uri2", "other", 1);
	cr_assert_eq(run(3, words), 0);
}

Test(child, signals_are_as_a_shell_tells_them)
{
	char *words[] = { "sh", "-c", "kill -TERM $$" };

	cr_assert_eq(run(3, words), 128 + SIGTERM);
}

Test(child, signals_are_not_blocked_in_it)
{
	char *words[] = { "sh", "-c", "kill -PIPE $$; exit 3" };
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(run(3, words), 128 + SIGPIPE);
}

Test(child, a_program_that_is_not_there_is_named)
{
	char *words[] = { "no-such-program", "x" };
	struct child_command command = { words, 2, "uri", 0, -1 };
	struct diag diag = { 0 };

	cr_assert_eq(child_prepare(&command, &diag), 0);
	cr_assert_eq(child_begin(&command, "", &diag), -ENOENT);
	cr_assert_eq(command.pid, 0);
	diag_says(&diag, DIAG_NOT_FOUND, NULL, "no-such-program");
}

Test(child, runs_end_in_time)
{
	char *const argv[] = { "sh", "-c", "echo seen; exit 7", NULL };
	char *const killed[] = { "sh", "-c", "kill -TERM $$", NULL };
	char *const missing[] = { "/nonexistent/command", NULL };
	char *const slow[] = { "sleep", "600", NULL };

	cr_assert_eq(child_run(argv, NO_LIMIT_MS), 7);
	cr_assert_eq(child_run(killed, NO_LIMIT_MS), 128 + SIGTERM);
	cr_assert_eq(child_run(missing, NO_LIMIT_MS), -ENOENT);
	cr_assert_eq(child_run(slow, 50), -ETIMEDOUT);
}

/* A daemon that reports that it runs in a pipe; it ends by itself if it is ready. */
static pid_t start_daemon(int *from, bool ready)
{
	int pipes[2], parent;
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		signal(SIGTERM, SIG_DFL);
		if (child_daemon(&parent, NULL))
			_exit(1);
		if (ready)
			child_daemon_ready(parent);
		if (write(pipes[1], "+", 1) == 1 && !ready)
			pause();
		_exit(0);
	}
	close(pipes[1]);
	*from = pipes[0];
	return pid;
}

Test(child, a_daemon_ends_with_its_parent_until_it_is_ready)
{
	int from, status;
	pid_t pid = start_daemon(&from, false);
	char byte;

	cr_assert_eq(read(from, &byte, 1), 1);
	kill(pid, SIGTERM);
	WAIT_UNTIL(child_reap(pid, &status));
	cr_assert_eq(status, 128 + SIGTERM);
	cr_assert_eq(read(from, &byte, 1), 0, "the daemon holds the pipe");
	close(from);
	pid = start_daemon(&from, true);
	WAIT_UNTIL(child_reap(pid, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(read(from, &byte, 1), 1, "it continues");
	close(from);
}
